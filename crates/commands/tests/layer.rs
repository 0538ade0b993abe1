//! Tests layers with commands on real overlays. A kept layer must equal a plain run of the same command.

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{CWD, Mode, OFlags};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use tempfile::TempDir;
use toolfence_commands::layer::{self, Change, ChangeKind, Entry, Limits, ReadError};
use toolfence_commands::{Layer, keep};
use toolfence_policy::rules::PathRules;
use toolfence_workspace::stash::{ExchangeError, Moment};
use toolfence_workspace::undo::{History, Limits as UndoLimits};
use toolfence_workspace::{Root, Workspace};

/// Mounts the layer as the sandbox does, and runs the command in it.
const MOUNT: &str = "\
mount -t overlay overlay -o \"lowerdir=$ROOT,upperdir=$LAYER/upper,workdir=$LAYER/work,userxattr,index=off,xino=off,volatile\" \
\"$MERGED\" || exit 90
cd \"$MERGED\" && exec bash -c \"$COMMAND\"";

/// A project, the same project for a plain run, and a folder for layers, all on one file system.
struct Scene {
    home: TempDir,
}

impl Scene {
    fn new() -> Scene {
        let home = tempfile::tempdir().expect("a temporary folder can be made");
        for folder in ["root", "plain", "merged", "layers"] {
            fs::create_dir(home.path().join(folder)).expect("a folder can be made");
        }
        let scene = Scene { home };
        for tree in ["root", "plain"] {
            scene.fill(&scene.home.path().join(tree));
        }
        scene
    }

    fn fill(&self, tree: &Path) {
        let files = [
            ("a.txt", "one\ntwo\n"),
            ("src/lib.rs", "pub fn f() {}\n"),
            ("src/main.rs", "fn main() {}\n"),
            ("src/deep/er/x", "x"),
            ("conf/.env", "SECRET=1\n"),
            ("conf/other", "o"),
            ("only/.env", "SECRET=2\n"),
            ("target/debug/out", "out"),
            ("empty", ""),
        ];
        for (name, text) in files {
            let path = tree.join(name);
            fs::create_dir_all(path.parent().expect("it has one")).expect("a folder can be made");
            fs::write(path, text).expect("it can be written");
        }
        symlink("a.txt", tree.join("link")).expect("a link can be made");
    }

    fn root(&self) -> PathBuf {
        self.home.path().join("root")
    }

    fn root_fd(&self) -> OwnedFd {
        rustix::fs::openat(CWD, self.root(), OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).expect("it is a folder")
    }

    fn layer(&self) -> Layer {
        Layer::create(&self.home.path().join("layers"), self.root_fd().as_fd()).expect("a layer can be made")
    }

    /// Runs a command on the layer.
    fn run(&self, layer: &Layer, command: &str) -> i32 {
        let status = Command::new("unshare")
            .args(["--user", "--map-root-user", "--mount", "bash", "-c", MOUNT])
            .env("ROOT", self.root())
            .env("LAYER", layer.path())
            .env("MERGED", self.home.path().join("merged"))
            .env("COMMAND", command)
            .stdin(Stdio::null())
            .status()
            .expect("unshare can be started");
        let code = status.code().expect("it ends by itself");
        assert_ne!(code, 90, "this kernel mounts no overlay in a user namespace");
        code
    }

    fn changes(&self, layer: &Layer) -> Result<Vec<Change>, ReadError> {
        layer.changes(self.root_fd().as_fd(), Limits::default(), &|| false)
    }

    /// Returns the changes of a command, one line per change.
    fn lines(&self, command: &str) -> Vec<String> {
        let layer = self.layer();
        self.run(&layer, command);
        self.changes(&layer).expect("it can be read").iter().map(line).collect()
    }
}

fn line(change: &Change) -> String {
    let entry = |entry: &Entry| match entry {
        Entry::File { mode, bytes } => format!("file {mode:o} {bytes}"),
        Entry::Link { target } => format!("link {}", target.display()),
        Entry::Folder { mode } => format!("folder {mode:o}"),
    };
    let kind = match &change.kind {
        ChangeKind::Removed => "removed".to_owned(),
        ChangeKind::Added(new) => format!("added {}", entry(new)),
        ChangeKind::Modified(new) => format!("modified {}", entry(new)),
        ChangeKind::Replaced(new) => format!("replaced {}", entry(new)),
        ChangeKind::Touched => "touched".to_owned(),
        ChangeKind::Special => "special".to_owned(),
        ChangeKind::Hidden => "hidden".to_owned(),
    };
    format!("{} {kind}", change.path.display())
}

/// Returns every entry of a tree with its kind, mode and content.
fn picture(tree: &Path) -> BTreeMap<PathBuf, String> {
    let mut entries = BTreeMap::new();
    let mut pending = vec![tree.to_owned()];
    while let Some(folder) = pending.pop() {
        for path in fs::read_dir(&folder).expect("it can be read").map(|entry| entry.expect("it is there").path()) {
            let meta = fs::symlink_metadata(&path).expect("it is there");
            let mode = meta.mode() & 0o777;
            let what = if meta.is_symlink() {
                format!("link {}", fs::read_link(&path).expect("it is a link").display())
            } else if meta.is_dir() {
                pending.push(path.clone());
                format!("folder {mode:o}")
            } else if meta.is_file() {
                format!("file {mode:o} {}", String::from_utf8_lossy(&fs::read(&path).expect("it can be read")))
            } else {
                assert!(meta.file_type().is_fifo());
                continue;
            };
            entries.insert(path.strip_prefix(tree).expect("it is below").to_owned(), what);
        }
    }
    entries
}

/// Puts all changes into the project, and checks that undo and redo revert and repeat them.
fn keep(scene: &Scene, layer: &Layer, changes: &[Change], since: Moment) {
    let before = picture(&scene.root());
    let history = History::open(&scene.home.path().join("undo"), UndoLimits::default()).expect("there is randomness");
    let history = Arc::new(history);
    let workspace =
        Workspace::open(scene.root(), PathRules::default()).expect("it is a folder").recorder(history.clone());
    let place = scene.home.path().join("stashes");
    let turn = history.begin(&workspace, "a command");
    let stash = keep::plan(layer, workspace.root(), changes, &|_| true, &place, since).expect("it can be planned");
    workspace.changes().exchange(stash, &|_| true).expect("it can be kept");
    turn.end();
    let after = picture(&scene.root());
    if let Some(outcome) = history.undo(&workspace).expect("it can be undone") {
        assert!(outcome.refused.is_empty(), "{outcome:?}");
        assert_eq!(picture(&scene.root()), before, "what was kept was not taken back");
        let outcome = history.redo(&workspace).expect("it can be redone").expect("there is an undo");
        assert!(outcome.refused.is_empty(), "{outcome:?}");
        assert_eq!(picture(&scene.root()), after);
    }
    assert_eq!(marks(&scene.root()), "");
}

/// Returns the attributes of the overlay below a folder.
fn marks(tree: &Path) -> String {
    let script = "import os, sys
for folder, _, names in os.walk(sys.argv[1]):
    for path in [folder] + [os.path.join(folder, name) for name in names]:
        print(end=''.join(path + ' ' + mark for mark in os.listxattr(path, follow_symlinks=False)))";
    let output = Command::new("python3").args(["-c", script]).arg(tree).output().expect("python3 can be started");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Commands for which a kept layer must give the same tree as a plain run.
const COMMANDS: &[&str] = &[
    "true",
    "echo three >> a.txt",
    "rm a.txt",
    "rm -rf src",
    "rm -rf src && mkdir src && echo new > src/lib.rs",
    "rm -rf src && mkdir -p src/deep && echo x > src/deep/y && echo 'pub fn f() {}' > src/lib.rs",
    "mv src other",
    "mv src/lib.rs src/deep/lib.rs && mv src/deep src/shallow",
    "rm a.txt && mkdir a.txt && echo x > a.txt/inner",
    "rm -rf src && echo file > src",
    "rm -rf src && ln -s target src",
    "rm link && echo file > link",
    "rm link && mkdir link",
    "ln -sfn b.txt link",
    "chmod +x a.txt; chmod 700 src; chmod 755 target/debug",
    "mkdir -p new/one/two && echo 2 > new/one/two/f && ln -s ../x new/one/l && mkfifo new/pipe",
    "cp -a src copy && rm -rf copy/deep && chmod 500 copy",
    "sed -i s/one/1/ a.txt; : > empty; truncate -s 100000 large",
    "ln a.txt hard && echo more >> hard",
    "printf 'x' > $'with\\nline' && printf y > $'caf\\xe9' && mkdir -- '-rf' && touch -- '-rf/--'",
    "rm -rf target && mkdir target && rmdir target && mkdir -p target/debug && printf out > target/debug/out",
    "for i in $(seq 300); do mkdir -p many/$i && echo $i > many/$i/f; done; rm -rf many/1*",
];

#[test]
fn a_kept_layer_equals_a_plain_run() {
    for command in COMMANDS {
        let scene = Scene::new();
        let since = Moment::next(scene.home.path()).expect("a file can be made");
        let layer = scene.layer();
        let before = picture(&scene.root());
        let plain = scene.home.path().join("plain");
        let status = Command::new("bash").args(["-c", command]).current_dir(&plain).stdin(Stdio::null()).status();
        assert_eq!(
            scene.run(&layer, command),
            status.expect("bash can be started").code().expect("it ends"),
            "{command}"
        );
        assert_eq!(picture(&scene.root()), before, "{command}: the project changed while the command ran");
        let changes = scene.changes(&layer).expect(command);
        let lines: Vec<String> = changes.iter().map(line).collect();
        keep(&scene, &layer, &changes, since);
        assert_eq!(picture(&scene.root()), picture(&plain), "{command}: {lines:#?}");
    }
}

/// Random sequences of small commands over a few names, so that names are removed, created again and replaced.
#[test]
fn any_sequence_of_commands_that_is_kept_equals_a_plain_run() {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % below as u64).expect("it is small")
    };
    let names =
        ["a.txt", "src", "src/lib.rs", "src/deep", "target", "link", "new", "new/in", "src/deep/er", "new/in/deep"];
    for round in 0..60 {
        let mut script = Vec::new();
        for _ in 0..2 + random(7) {
            let (one, other) = (names[random(names.len())], names[random(names.len())]);
            script.push(match random(9) {
                0 => format!("rm -rf {one}"),
                1 => format!("mkdir -p {one}"),
                2 => format!("echo {one} > {other}"),
                3 => format!("mv -T {one} {other}"),
                4 => format!("cp -rT {one} {other}"),
                5 => format!("ln -sfn {one} {other}"),
                6 => format!("chmod 70{} {one}", random(8)),
                7 => format!("echo more >> {one}"),
                _ => format!("touch {one}"),
            });
        }
        let command = format!("exec 2> /dev/null; {}; true", script.join("; "));
        let scene = Scene::new();
        let since = Moment::next(scene.home.path()).expect("a file can be made");
        let (layer, plain) = (scene.layer(), scene.home.path().join("plain"));
        let status = Command::new("bash").args(["-c", &command]).current_dir(&plain).status();
        assert!(status.expect("bash can be started").success() && scene.run(&layer, &command) == 0, "{command}");
        let changes = scene.changes(&layer).expect(&command);
        keep(&scene, &layer, &changes, since);
        let lines: Vec<String> = changes.iter().map(line).collect();
        assert_eq!(picture(&scene.root()), picture(&plain), "round {round}: {command}: {lines:#?}");
    }
}

/// Entries that the user removes or renames while a command runs are not restored.
#[test]
fn paths_that_the_user_removed_meanwhile_are_conflicts() {
    for act in ["rm a.txt", "mv src lib", "mv a.txt b.txt", "rm -rf src"] {
        let scene = Scene::new();
        let since = Moment::next(scene.home.path()).expect("a file can be made");
        let layer = scene.layer();
        scene.run(&layer, "echo more >> a.txt; echo x >> src/lib.rs; mv src/main.rs src/moved.rs");
        let by_user = Command::new("bash").args(["-c", act]).current_dir(scene.root()).status();
        assert!(by_user.expect("bash can be started").success());
        let before = picture(&scene.root());
        let changes = scene.changes(&layer).expect(act);
        let root = Root::open(&scene.root(), PathRules::default(), None).expect("it is a folder");
        let place = scene.home.path().join("stashes");
        let mut stash = keep::plan(&layer, &root, &changes, &|_| true, &place, since).expect("it can be planned");
        assert!(matches!(stash.exchange(&root), Err(ExchangeError::Conflict(_))), "{act}");
        assert_eq!(picture(&scene.root()), before, "{act}");
    }
}

#[test]
fn writing_the_same_bytes_is_not_a_change() {
    let scene = Scene::new();
    for (command, expected) in [
        ("cat a.txt > /dev/null; ls -R > /dev/null", &[][..]),
        ("printf 'one\\ntwo\\n' > b && mv b a.txt && touch -d 2001-01-01 a.txt", &["a.txt touched"]),
        ("touch -d 2001-01-01 src/lib.rs", &["src/lib.rs touched"]),
        ("cp -a src copy && rm -rf src && mv copy src", &[]),
        ("chmod 755 src; chmod 700 src; chmod 755 src", &[]),
        ("ln -sfn a.txt link", &[]),
        ("rm -rf src/deep", &["src/deep removed"]),
        ("rm -rf src && mkdir src", &["src/deep removed", "src/lib.rs removed", "src/main.rs removed"]),
        ("mkfifo src/lib.pipe", &["src/lib.pipe special"]),
        ("chmod u+s a.txt", &[]),
    ] {
        let mut lines = scene.lines(command);
        if expected.is_empty() {
            // A copied file gets a new time, which is not a change here.
            lines.retain(|line| !line.ends_with(" touched"));
        }
        assert_eq!(lines, expected, "{command}");
    }
}

#[test]
fn a_hidden_file_is_absent_and_never_removed() {
    let scene = Scene::new();
    for (command, expected) in [
        ("cat conf/.env only/.env; ls -A conf only", &[][..]),
        ("test ! -e conf/.env && test ! -e only/.env && test \"$(stat -c %a conf)\" = 755", &[]),
        ("rm -rf conf", &["conf/.env hidden", "conf/other removed"]),
        (
            "mv conf config",
            &["conf/.env hidden", "conf/other removed", "config added folder 755", "config/other added file 644 1"],
        ),
        ("mv only gone && mkdir only", &["gone added folder 755", "only/.env hidden"]),
        ("rm -rf only && echo x > only", &["only hidden"]),
        ("rmdir only", &["only/.env hidden"]),
        ("echo STOLEN > conf/.env", &["conf/.env hidden"]),
        ("mkdir only/.env && touch only/.env/x", &["only/.env hidden"]),
        ("echo x > only/new", &["only/new added file 644 2"]),
    ] {
        let mut layer = scene.layer();
        for hidden in ["conf/.env", "only/.env"] {
            layer.hide(scene.root_fd().as_fd(), Path::new(hidden)).expect("it can be hidden");
        }
        scene.run(&layer, command);
        let changes = scene.changes(&layer).expect("it can be read");
        let lines: Vec<String> = changes.iter().map(line).filter(|line| !line.ends_with(" touched")).collect();
        assert_eq!(lines, expected, "{command}");
    }
}

#[test]
fn a_layer_with_too_many_entries_or_too_deep_folders_is_refused() {
    let scene = Scene::new();
    let layer = scene.layer();
    scene.run(&layer, "mkdir many && cd many && touch $(seq 50); for i in $(seq 300); do mkdir d && cd d; done");
    let read = |entries, depth, stop: bool| {
        layer.changes(scene.root_fd().as_fd(), Limits { entries, depth }, &|| stop).map(|changes| changes.len())
    };
    assert!(matches!(read(40, 400, false), Err(ReadError::TooManyEntries(40))));
    assert!(matches!(read(1000, 256, false), Err(ReadError::TooDeep(256))));
    assert_eq!(read(1000, 400, false).ok(), Some(351));
}

/// Layers can have folders without any permission, and folders too deep for a path.
#[test]
fn every_layer_can_be_read_and_deleted() {
    let scene = Scene::new();
    let layer = scene.layer();
    let name = "n".repeat(250);
    scene.run(
        &layer,
        &format!("for i in $(seq 40); do mkdir {name} && cd {name}; done; touch f; cd \"$MERGED\"; mkdir -p c/d/e; touch c/f; chmod 0 c/d c/f; chmod 0 c"),
    );
    let changes = scene.changes(&layer).expect("it can be read");
    assert_eq!(changes.iter().map(|change| change.path.as_os_str().len()).max(), Some(40 * 251 + 1));
    assert!(changes.iter().any(|change| line(change) == "c added folder 0"), "{:?}", changes.last());
    assert_eq!(fs::metadata(layer.path().join("upper/c")).expect("it is there").mode() & 0o777, 0);
    drop(layer);
    assert_eq!(fs::read_dir(scene.home.path().join("layers")).expect("it is there").count(), 0);
}

#[test]
fn leftovers_of_a_killed_process_are_deleted_and_layers_in_use_stay() {
    let scene = Scene::new();
    let place = scene.home.path().join("layers");
    let layer = scene.layer();
    let left = scene.layer();
    scene.run(&left, "mkdir x && touch x/y && chmod 0 x");
    // A layer that is only forgotten would still be locked, so the test creates the leftover itself.
    fs::create_dir(place.join("0123456789abcdef")).expect("a folder can be made");
    fs::rename(left.path().join("upper"), place.join("0123456789abcdef/upper")).expect("it can be moved");
    assert_eq!(layer::delete_leftovers(&place), 1);
    assert_eq!(fs::read_dir(&place).expect("it is there").count(), 2);
    assert!(layer.path().join("upper").is_dir());
}

#[test]
fn layers_are_on_the_file_system_of_the_project() {
    let scene = Scene::new();
    let state = scene.home.path().join("layers");
    assert_eq!(layer::private_folder(&scene.root(), &state).expect("both are there"), state.join("private"));
    assert_eq!(
        layer::private_folder(&scene.root(), Path::new("/proc")).expect("both are there"),
        scene.root().join(".toolfence/private")
    );
}
