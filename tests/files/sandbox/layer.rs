//! A command on a private layer, through the real helper: it writes where it likes, and the project stays as it is.

use super::{Place, block_on, stands};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{CWD, Mode, OFlags};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use toolfence::parts::files::Stop;
use toolfence::program::environment;
use toolfence::program::process::{Job, run_supervised};
use toolfence::program::sandbox::Request;
use toolfence::program::workspace::Access;
use toolfence::tools::CommandRunner;
use toolfence_commands::Layer;
use toolfence_commands::layer::Limits;
use toolfence_project::{Mask, MaskKind};

/// Runs commands of a project, each on a layer of its own next to the project.
struct Layered {
    runner: CommandRunner,
    root: PathBuf,
}

impl Layered {
    fn new(place: &Place) -> Option<Layered> {
        let runner = place.runner();
        stands(&runner).then(|| Layered { runner, root: place.root.clone() })
    }

    fn root_fd(&self) -> OwnedFd {
        rustix::fs::openat(CWD, &self.root, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).expect("it is a folder")
    }

    fn layer(&self) -> Layer {
        let place = self.root.parent().expect("the project is in a folder").join("layers");
        Layer::create(&place, self.root_fd().as_fd()).expect("a layer can be made")
    }

    /// What the command writes, and the paths that it changed with the first word of how.
    fn run(&self, layer: &Layer, command: &str) -> (String, Vec<String>) {
        let words = ["/bin/bash", "--noprofile", "--norc", "-c", command].map(OsStr::new);
        let masks = self.runner.workspace().masks().find(Access::Read, &Stop::default()).expect("the project is small");
        let is_hidden = |mask: &&Mask| matches!(mask.how, MaskKind::Hide | MaskKind::HideRemovable);
        let guards: Vec<Mask> = masks.list().iter().filter(|mask| !is_hidden(mask)).cloned().collect();
        let request = Request {
            command: &words,
            folder: Path::new(""),
            masks: &guards,
            layer: Some(layer.path()),
            network: false,
            looks: false,
            only_git: false,
            variables: &[],
        };
        let entry = self.runner.enclosure().entry(&request).expect("the sandbox mounts layers");
        let arguments: Vec<&OsStr> = entry.arguments.iter().map(OsString::as_os_str).collect();
        let folder = self.runner.workspace().root().folder(".").expect("it is the root");
        let search_path = self.runner.workspace().root().programs().search_path().to_owned();
        let environment = environment::outside(std::env::vars_os(), &search_path);
        let job = Job {
            program: &entry.program,
            args: &arguments,
            folder: folder.as_fd(),
            environment: &environment,
            limit: Duration::from_secs(60),
            keep: 10_000,
            overflow: None,
            live: None,
        };
        let outcome = block_on(run_supervised(&job, &entry.told)).expect("it can be started");
        let changes = layer.changes(self.root_fd().as_fd(), Limits::default(), &|| false).expect("it can be read");
        let line = |change: &toolfence_commands::layer::Change| {
            let kind = format!("{:?}", change.kind);
            let word = kind.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_owned();
            format!("{word} {}", change.path.display())
        };
        (outcome.output, changes.iter().map(line).collect())
    }
}

fn tree(root: &Path) -> Vec<(PathBuf, Option<Vec<u8>>)> {
    let mut found = Vec::new();
    let mut pending = vec![root.to_owned()];
    while let Some(folder) = pending.pop() {
        for path in fs::read_dir(folder).expect("it can be read").map(|entry| entry.expect("it is there").path()) {
            found.push((path.clone(), fs::read(&path).ok()));
            if path.is_dir() {
                pending.push(path);
            }
        }
    }
    found.sort();
    found
}

#[test]
fn a_command_on_a_layer_changes_nothing_in_the_project() {
    let place = Place::new();
    let Some(layered) = Layered::new(&place) else { return };
    place.file("a.txt", "one\n");
    place.file("src/lib.rs", "pub fn f() {}\n");
    place.file("src/main.rs", "fn main() {}\n");
    let before = tree(&place.root);
    for (command, output, changed) in [
        ("cat a.txt", "one\n", &[][..]),
        ("echo two >> a.txt && cat a.txt", "one\ntwo\n", &["Modified a.txt"]),
        ("rm -rf src; ls", "a.txt\n", &["Removed src"]),
        (
            "mkdir -p new/deep && echo x > new/deep/f && mv a.txt new && ls new",
            "a.txt\ndeep\n",
            &["Removed a.txt", "Added new", "Added new/a.txt", "Added new/deep", "Added new/deep/f"],
        ),
        // The second command has a layer of its own.
        ("cat new/a.txt", "cat: new/a.txt: No such file or directory\n", &[]),
    ] {
        let layer = layered.layer();
        let (said, changes) = layered.run(&layer, command);
        assert_eq!((said.as_str(), changes), (output, changed.iter().map(ToString::to_string).collect()), "{command}");
        assert_eq!(tree(&place.root), before, "{command}");
    }
}

#[test]
fn a_hidden_file_is_absent_from_the_layer() {
    let place = Place::new();
    let Some(layered) = Layered::new(&place) else { return };
    place.file("conf/.env", "SECRETVALUE\n");
    place.file("conf/other", "x");
    let mut layer = layered.layer();
    layer.hide(layered.root_fd().as_fd(), Path::new("conf/.env")).expect("it can be hidden");
    let (said, changes) = layered
        .run(&layer, "ls -A conf; cat conf/.env; mv conf moved; find moved; grep -rs SECRETVALUE . /tmp /dev/shm");
    assert_eq!(said, "other\ncat: conf/.env: No such file or directory\nmoved\nmoved/other\n");
    assert_eq!(changes, ["Hidden conf/.env", "Removed conf/other", "Added moved", "Added moved/other"]);
}

/// The folder of a layer is outside of what the command sees, and the command can make no whiteout and no mark of its own.
#[test]
fn a_command_cannot_reach_its_layer() {
    let place = Place::new();
    let Some(layered) = Layered::new(&place) else { return };
    place.file("a.txt", "one\n");
    let layer = layered.layer();
    let script = format!(
        "ls {0} {0}/upper 2>&1 | grep -c 'No such file'; ls -d /.store 2>&1; mknod w c 0 0 2>&1; \
         mkdir d; python3 -c 'import os; os.setxattr(\"d\", \"user.overlay.opaque\", b\"y\")' 2>&1; true",
        layer.path().display()
    );
    let (said, changes) = layered.run(&layer, &script);
    assert!(said.starts_with("2\nls: cannot access '/.store': No such file or directory\nmknod: w: "), "{said}");
    assert_eq!(changes, ["Added d"]);
}

#[test]
fn a_project_of_any_name_can_have_a_layer() {
    let place = Place::new();
    let Some(_) = Layered::new(&place) else { return };
    for name in ["with:colon", "with,comma", "with\\backslash", "with \"quote\"", "with\nline"] {
        let root = place.root.join(name);
        fs::create_dir(&root).expect("a folder can be made");
        fs::write(root.join("a.txt"), "one\n").expect("it can be written");
        let layered = Layered { runner: super::runner(&root, super::Settings::new()), root };
        let layer = layered.layer();
        let (said, changes) = layered.run(&layer, "echo two >> a.txt; cat a.txt");
        assert_eq!((said.as_str(), changes), ("one\ntwo\n", vec!["Modified a.txt".to_owned()]), "{name:?}");
    }
}

#[test]
fn a_repository_is_read_only_on_the_layer() {
    let place = Place::new();
    let Some(layered) = Layered::new(&place) else { return };
    place.file("a.txt", "one\n");
    let git = |args: &[&str]| {
        let done = Command::new("git").args(args).current_dir(&place.root).output().expect("git is installed");
        assert!(done.status.success(), "{done:?}");
    };
    git(&["init", "-q"]);
    git(&["add", "."]);
    git(&["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "one"]);
    let layer = layered.layer();
    let (said, changes) = layered.run(
        &layer,
        "echo two >> a.txt; git status --short; git add a.txt 2>&1 | head -1; rm -rf .git 2> /dev/null; ls -d .git",
    );
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.first(), Some(&" M a.txt"), "{said}");
    assert!(said.contains("Read-only file system") && lines.last() == Some(&".git"), "{said}");
    assert_eq!(changes, ["Modified a.txt"]);
}
