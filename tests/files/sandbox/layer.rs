//! Tests a command on a private layer with the real helper: the command can write anywhere, and the project does not
//! change.

use super::{Place, block_on, has_sandbox};
use rustix::fd::AsFd;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use toolfence_commands::layer::{Change, Limits};
use toolfence_commands::run::{LayerRun, LayeredProject, RunError};
use toolfence_kit::picture;
use toolfence_sandbox::environment;
use toolfence_sandbox::process::Job;
use toolfence_tools::CommandRunner;

/// Runs commands of a project, each on its own layer next to the project.
struct Layered {
    runner: CommandRunner,
    root: PathBuf,
}

impl Layered {
    fn new(place: &Place) -> Option<Layered> {
        let runner = place.runner();
        has_sandbox(&runner).then(|| Layered { runner, root: place.root.clone() })
    }

    fn place(&self) -> PathBuf {
        self.root.parent().expect("the project is in a folder").join("layers")
    }

    fn try_to_run(&self, command: &str) -> Result<LayerRun, RunError> {
        let workspace = self.runner.workspace();
        let environment = environment::without_sandbox(std::env::vars_os(), workspace.root().programs().search_path());
        let (place, enclosure) = (self.place(), self.runner.enclosure());
        let project = LayeredProject { workspace, enclosure, place: &place, output: None, limits: Limits::default() };
        let folder = workspace.root().folder(".").expect("it is the root");
        let job = Job {
            program: OsStr::new("/bin/bash"),
            args: &["--noprofile", "--norc", "-c", command].map(OsStr::new),
            folder: folder.as_fd(),
            environment: &environment,
            limit: Duration::from_secs(60),
            keep: 10_000,
            overflow: None,
            live: None,
        };
        let ended = block_on(project.run(&job, Path::new(""), false))?;
        project.read(ended)
    }

    /// Returns the output of the command and the paths that it changed, each with the first word of the kind of change.
    /// Build output ends with `(output)`.
    fn run(&self, command: &str) -> (String, Vec<String>) {
        let ran = self.try_to_run(command).expect(command);
        let line = |(change, is_output): (&Change, &bool)| {
            let kind = format!("{:?}", change.kind);
            let word = kind.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
            format!("{word} {}{}", change.path.display(), if *is_output { " (output)" } else { "" })
        };
        (ran.outcome.output, ran.changes.iter().zip(&ran.is_output).map(line).collect())
    }
}

fn git(root: &Path, args: &[&str]) {
    let identity = ["-c", "user.name=a", "-c", "user.email=a@b"];
    let done = Command::new("git").args(identity).args(args).current_dir(root).output().expect("git is installed");
    assert!(done.status.success(), "{args:?}: {done:?}");
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
    let made = ["Removed a.txt", "Added new", "Added new/a.txt", "Added new/deep", "Added new/deep/f"];
    for (command, output, changed) in [
        ("cat a.txt", "one\n", &[][..]),
        ("echo two >> a.txt && cat a.txt", "one\ntwo\n", &["Modified a.txt"]),
        ("rm -rf src; ls", "a.txt\n", &["Removed src"]),
        ("mkdir -p new/deep && echo x > new/deep/f && mv a.txt new && ls new", "a.txt\ndeep\n", &made),
        // Every command has its own layer.
        ("cat new/a.txt", "cat: new/a.txt: No such file or directory\n", &[]),
    ] {
        let (said, changes) = layered.run(command);
        assert_eq!((said.as_str(), changes), (output, changed.iter().map(ToString::to_string).collect()), "{command}");
        assert_eq!(tree(&place.root), before, "{command}");
    }
    let layers = layered.place().join("layers");
    assert_eq!(fs::read_dir(layers).expect("it is there").count(), 0, "a layer is left");
}

#[test]
fn a_blocked_file_is_absent_from_the_layer() {
    let place = Place::new();
    let Some(layered) = Layered::new(&place) else { return };
    place.file("conf/.env", "SECRETVALUE\n");
    place.file("conf/other", "x");
    place.file("only/.ssh/id_rsa", "SECRETVALUE\n");
    let script = "ls -A conf only/.ssh; cat conf/.env; mv conf moved; find moved; grep -rs SECRETVALUE . /tmp /dev/shm";
    let (said, changes) = layered.run(script);
    assert!(
        said.contains("conf:\nother\n") && said.contains("\ncat: conf/.env: No such file or directory\n"),
        "{said}"
    );
    assert!(said.ends_with("\nmoved\nmoved/other\n"), "{said}");
    assert_eq!(changes, ["Hidden conf/.env", "Removed conf/other", "Added moved", "Added moved/other"]);
}

/// The folder of a layer is not visible to the command, and the command cannot create whiteouts or overlay attributes.
#[test]
fn a_command_cannot_reach_its_layer() {
    let place = Place::new();
    let Some(layered) = Layered::new(&place) else { return };
    place.file("a.txt", "one\n");
    let script = format!(
        "ls {0} 2>&1; ls -d /.store 2>&1; mknod w c 0 0 2>&1; mkdir d; \
         python3 -c 'import os; os.setxattr(\"d\", \"user.overlay.opaque\", b\"y\")' 2>&1; true",
        layered.place().display()
    );
    let (said, changes) = layered.run(&script);
    let lines: Vec<&str> = said.lines().collect();
    assert!(lines[0].ends_with("layers': No such file or directory"), "{said}");
    assert!(lines[1].ends_with("'/.store': No such file or directory") && lines[2].starts_with("mknod: w: "), "{said}");
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
        let (said, changes) = layered.run("echo two >> a.txt; cat a.txt");
        assert_eq!((said.as_str(), changes), ("one\ntwo\n", vec!["Modified a.txt".to_owned()]), "{name:?}");
    }
}

#[test]
fn a_repository_is_written_on_the_layer() {
    let place = Place::new();
    let Some(layered) = Layered::new(&place) else { return };
    place.file("a.txt", "one\n");
    git(&place.root, &["init", "-q"]);
    git(&place.root, &["add", "."]);
    git(&place.root, &["commit", "-qm", "one"]);
    let before = picture(&place.root);
    let (said, changes) = layered.run("echo two >> a.txt; git status --short; git tag v1; rm .git/index");
    assert_eq!(said.lines().next(), Some(" M a.txt"), "{said}");
    assert_eq!(changes, ["Removed .git/index", "Added .git/refs/tags/v1", "Modified a.txt"]);
    assert_eq!(picture(&place.root), before);
}

/// Runs a build with the real tools: the files that it writes are output, and a new lock file is a change.
#[test]
fn files_that_a_build_writes_are_output() {
    let place = Place::new();
    let Some(layered) = Layered::new(&place) else { return };
    place.file(".gitignore", "/target\n__pycache__/\n");
    place.file("Cargo.toml", "[package]\nname = \"demo\"\nversion = \"0.1.0\"\nedition = \"2024\"\n");
    place.file("src/main.rs", "fn main() {}\n");
    place.file("m.py", "x = 1\n");
    git(&place.root, &["init", "-q"]);
    git(&place.root, &["add", "."]);
    let before = tree(&place.root);
    let (said, changes) =
        layered.run("cargo build -q --offline && ./target/debug/demo && python3 -c 'import m' && echo done");
    assert_eq!(said, "done\n");
    let changed: Vec<&String> = changes.iter().filter(|line| !line.ends_with(" (output)")).collect();
    assert_eq!(changed, ["Added Cargo.lock"]);
    assert!(changes.len() > 20 && changes.iter().any(|line| line == "Added target (output)"), "{changes:?}");
    assert_eq!(tree(&place.root), before);
}
