//! Tests which changes count as build output, with the real git.

use std::fs;
use std::path::Path;
use std::process::Command;
use toolfence_commands::layer::{Change, ChangeKind, Entry};
use toolfence_commands::output::is_output;
use toolfence_workspace::git::Git;

const FILE: Entry = Entry::File { mode: 0o644, bytes: 1 };
const FOLDER: Entry = Entry::Folder { mode: 0o755 };

fn git(folder: &Path, args: &[&str]) {
    let identity = ["-c", "user.name=a", "-c", "user.email=a@b"];
    let done = Command::new("git").args(identity).args(args).current_dir(folder).output().expect("git is installed");
    assert!(done.status.success(), "{args:?}: {done:?}");
}

fn project() -> tempfile::TempDir {
    let root = tempfile::tempdir().expect("a temporary folder can be made");
    for (name, text) in [
        (
            ".gitignore",
            "/target\n*.log\n*.sqlite\n/build/\nnode_modules/\n/program\n/script\n*.tsbuildinfo\n/.coverage\n",
        ),
        ("src/lib.rs", "x"),
        ("target/old", "x"),
        ("build/kept.txt", "x"),
        ("build/made", "x"),
        ("app.log", "x"),
        ("data.sqlite", "x"),
        ("program", "\u{7f}ELF\u{2}"),
        ("script", "#!/bin/sh\n"),
        ("tsconfig.tsbuildinfo", "{}"),
        (".coverage", "SQLite format 3"),
        ("src/.coverage", "SQLite format 3"),
        ("vendor/.gitignore", "*.o\n"),
        ("vendor/a.o", "x"),
        ("vendor/a.log", "x"),
    ] {
        let path = root.path().join(name);
        fs::create_dir_all(path.parent().expect("it has one")).expect("a folder can be made");
        fs::write(path, text).expect("it can be written");
    }
    std::os::unix::fs::symlink("src", root.path().join("link")).expect("a link can be made");
    git(root.path(), &["init", "-q"]);
    git(root.path(), &["add", "-f", ".gitignore", "src", "build/kept.txt", "link"]);
    git(root.path(), &["commit", "-qm", "one"]);
    git(&root.path().join("vendor"), &["init", "-q"]);
    root
}

#[test]
fn output_is_what_git_ignores_and_does_not_track() {
    let root = project();
    let program = Git::find(&std::env::var_os("PATH").expect("there is a PATH")).expect("git is installed");
    let cases = [
        ("src/lib.rs", ChangeKind::Modified(FILE), false),
        ("src/new.rs", ChangeKind::Added(FILE), false),
        ("src/new", ChangeKind::Added(FOLDER), false),
        ("src/new/debug.log", ChangeKind::Added(FILE), true),
        ("target/debug", ChangeKind::Added(FOLDER), true),
        ("target/debug/deps/x", ChangeKind::Added(FILE), true),
        ("target/old", ChangeKind::Modified(FILE), true),
        ("target", ChangeKind::Removed, true),
        ("target", ChangeKind::Replaced(FILE), true),
        ("target", ChangeKind::Replaced(Entry::Link { target: "/etc".into() }), false),
        ("build", ChangeKind::Replaced(FILE), false),
        ("build", ChangeKind::Replaced(Entry::Link { target: "/etc".into() }), false),
        ("node_modules", ChangeKind::Added(FOLDER), true),
        ("src/node_modules/x/index.js", ChangeKind::Added(FILE), true),
        // Only a folder with this name is ignored, not a file.
        ("src/node_modules", ChangeKind::Added(FILE), false),
        // A local database existed before, and is not in a folder of output.
        ("data.sqlite", ChangeKind::Modified(FILE), false),
        ("data.sqlite", ChangeKind::Removed, false),
        ("app.log", ChangeKind::Removed, false),
        ("new.log", ChangeKind::Added(FILE), true),
        // Tools can create these files again. They are detected by their content, by their extension and by their name.
        ("program", ChangeKind::Modified(FILE), true),
        ("program", ChangeKind::Removed, false),
        ("tsconfig.tsbuildinfo", ChangeKind::Modified(FILE), true),
        (".coverage", ChangeKind::Replaced(FOLDER), false),
        ("src/.coverage", ChangeKind::Modified(FILE), false),
        ("script", ChangeKind::Modified(FILE), false),
        // In this ignored folder, git tracks one file.
        ("build/kept.txt", ChangeKind::Modified(FILE), false),
        ("build/made", ChangeKind::Modified(FILE), true),
        ("build/new", ChangeKind::Added(FILE), true),
        ("build", ChangeKind::Removed, false),
        // Another repository has other rules.
        ("vendor/a.o", ChangeKind::Modified(FILE), true),
        ("vendor/b.o", ChangeKind::Added(FILE), true),
        ("vendor/b.log", ChangeKind::Added(FILE), false),
        // An entry that replaces a link is a change of the link, and so are the entries below it.
        ("link", ChangeKind::Replaced(FOLDER), false),
        ("link/x.log", ChangeKind::Added(FILE), false),
        ("src/lib.rs/x.log", ChangeKind::Added(FILE), false),
    ];
    let changes: Vec<Change> =
        cases.iter().map(|(path, kind, _)| Change { path: path.into(), kind: kind.clone(), is_copy: false }).collect();
    let found = is_output(Some(&program), root.path(), &changes);
    for ((path, kind, expected), found) in cases.iter().zip(found) {
        assert_eq!(found, *expected, "{path} {kind:?}");
    }
    assert!(is_output(None, root.path(), &changes).iter().all(|is_output| !is_output));
}

/// If a repository is inside another one, its ignore rules do not apply to files that the outer one tracks.
#[test]
fn rules_of_a_nested_repository_do_not_make_tracked_files_output() {
    let root = project();
    let program = Git::find(&std::env::var_os("PATH").expect("there is a PATH")).expect("git is installed");
    let inner = root.path().join("src");
    git(&inner, &["init", "-q"]);
    fs::write(inner.join(".git/info/exclude"), "*\n").expect("it can be written");
    let change = |path: &str| Change { path: path.into(), kind: ChangeKind::Modified(FILE), is_copy: true };
    assert_eq!(is_output(Some(&program), root.path(), &[change("src/lib.rs")]), [false]);
    // The outer repository tracks nothing in `vendor`.
    assert_eq!(is_output(Some(&program), root.path(), &[change("vendor/b.o")]), [true]);
}

#[test]
fn without_a_repository_nothing_is_output() {
    let root = tempfile::tempdir().expect("a temporary folder can be made");
    fs::write(root.path().join(".gitignore"), "target\n").expect("it can be written");
    let program = Git::find(&std::env::var_os("PATH").expect("there is a PATH")).expect("git is installed");
    let change = Change { path: "target/x".into(), kind: ChangeKind::Added(FILE), is_copy: false };
    assert_eq!(is_output(Some(&program), root.path(), &[change]), [false]);
}

/// The paths have bytes that git would quote, and together they exceed the buffer of a pipe.
#[test]
fn git_classifies_any_number_of_paths_with_any_bytes() {
    use std::os::unix::ffi::OsStrExt;
    let root = project();
    let program = Git::find(&std::env::var_os("PATH").expect("there is a PATH")).expect("git is installed");
    let names: [&[u8]; 6] = [b"caf\xe9", b"with \"quotes\"", b"new\nline", b"-rf", b":(glob)x", b":!x"];
    let mut changes: Vec<Change> = Vec::new();
    for name in names {
        let name = Path::new(std::ffi::OsStr::from_bytes(name));
        for folder in ["target", "src"] {
            changes.push(Change { path: Path::new(folder).join(name), kind: ChangeKind::Added(FILE), is_copy: false });
        }
    }
    for number in 0..20_000 {
        let path = format!("target/a/folder/with/a/long/name/{number}").into();
        changes.push(Change { path, kind: ChangeKind::Added(FILE), is_copy: false });
    }
    let found = is_output(Some(&program), root.path(), &changes);
    assert!(found[..12].chunks(2).all(|pair| *pair == [true, false]), "{:?}", &found[..12]);
    assert!(found[12..].iter().all(|is_output| *is_output));
}

/// Git refuses a path in a submodule whose repository does not exist. Then the other paths of the outer repository
/// count as changes too.
#[test]
fn a_path_that_git_refuses_is_a_change() {
    let root = project();
    git(
        root.path(),
        &["update-index", "--add", "--cacheinfo", "160000,0123456789012345678901234567890123456789,module"],
    );
    let program = Git::find(&std::env::var_os("PATH").expect("there is a PATH")).expect("git is installed");
    let change = |path: &str| Change { path: path.into(), kind: ChangeKind::Added(FILE), is_copy: false };
    let found = is_output(Some(&program), root.path(), &[change("module/f"), change("target/x")]);
    assert!(!found[0], "{found:?}");
}
