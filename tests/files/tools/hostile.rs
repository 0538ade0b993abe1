//! Tests projects that try to make read-only commands run a program of the project or reveal a secret. The commands
//! that need no approval run for real, and none may do either.

use super::Place;
use serde_json::json;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use toolfence_kit::Tools;
use toolfence_policy::{Facts, Policy, ProgramFact, Verdict};
use toolfence_tools as tools;
use toolfence_tools::CommandRunner;
use toolfence_workspace::Workspace;

/// Returns the output of `bash` if it runs without a question.
fn unasked(runner: CommandRunner, command: &str) -> Option<String> {
    let runner = Arc::new(runner);
    let tools = Tools::new(Arc::clone(&runner), tools::standard(runner)).under(Policy::default());
    match tools.review("bash", json!({"command": command})) {
        Verdict::Denied(_) | Verdict::Ask(_) => None,
        Verdict::Cleared(cleared) => Some(tools.carry_out(cleared).output),
    }
}

fn program(place: &Place, path: &str, text: &str) {
    place.file(path, text);
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(place.at(path), mode).expect("the mode can be set");
}

/// Returns other folders followed by the PATH of this process.
fn path_after(folders: &[&Path]) -> OsString {
    let own = std::env::var_os("PATH").unwrap_or_default();
    let folders = folders.iter().map(|folder| folder.to_path_buf());
    std::env::join_paths(folders.chain(std::env::split_paths(&own))).expect("no folder has a colon")
}

fn on_path(place: &Place, path: &OsString) -> CommandRunner {
    let workspace = Workspace::open_with_path(&place.root, Default::default(), Some(path));
    super::runner(workspace.expect("the root is there"))
}

#[test]
fn programs_of_the_project_in_the_path_do_not_run_unasked() {
    let place = Place::new();
    program(&place, "bin/ls", "#!/bin/sh\necho EVIL\n");
    program(&place, "bin/own", "#!/bin/sh\necho EVIL\n");
    std::os::unix::fs::symlink(place.at("bin"), place.beside.join("link")).expect("a link can be made");
    let open = || {
        let path = path_after(&[&place.at("bin"), &place.beside.join("link"), Path::new("bin")]);
        on_path(&place, &path)
    };
    assert_eq!(unasked(open(), "ls").as_deref(), Some("bin\n"));
    assert_eq!(unasked(open(), "own"), None);
    assert_eq!(open().program("own"), ProgramFact::Missing);
}

#[test]
fn a_program_of_the_host_is_judged_by_where_the_path_finds_it() {
    let place = Place::new();
    program(&place, "evil", "#!/bin/sh\necho EVIL\n");
    std::os::unix::fs::symlink(place.at("evil"), place.beside.join("ls")).expect("a link can be made");
    let open = || on_path(&place, &path_after(&[&place.beside]));
    assert_eq!(open().program("ls"), ProgramFact::Project);
    assert_eq!(unasked(open(), "ls"), None);
}

/// Runs git in the project as a person would; `None` if git is not installed.
fn git(place: &Place, args: &[&str]) -> Option<String> {
    let who = ["-c", "user.name=x", "-c", "user.email=x@x.example", "-c", "init.defaultBranch=main"];
    let output = Command::new("git").args(who).args(args).current_dir(&place.root).output().ok()?;
    assert!(output.status.success(), "git {args:?}: {output:?}");
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Creates a repository with a secret in its history, a changed file, and a program that leaves a mark when it runs.
fn repository() -> Option<Place> {
    let place = Place::new();
    place.file("sub/main.rs", "one\n");
    place.file("sub/.env", "KEY=SECRETVALUE\n");
    place.file("top.txt", "SECRETVALUE\n");
    if git(&place, &["init", "-q"]).is_none() {
        println!("skipped: there is no git");
        return None;
    }
    git(&place, &["add", "."]);
    git(&place, &["commit", "-qm", "first"]);
    place.file("sub/main.rs", "two\n");
    place.file("sub/.env", "KEY=SECRETVALUE2\n");
    let mark = place.beside.join("mark");
    std::fs::write(place.beside.join("evil.sh"), format!("#!/bin/sh\n: > {}\ncat\n", mark.display())).expect("written");
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(place.beside.join("evil.sh"), mode).expect("the mode can be set");
    Some(place)
}

const READING: [&str; 14] = [
    "git status -s",
    "git diff",
    "git diff --stat",
    "git diff -- sub/main.rs",
    "git log -p -1",
    "git log --stat -1",
    "git log -p -- sub/main.rs",
    "git show HEAD",
    "git show HEAD:sub/main.rs",
    "git blame sub/main.rs",
    "git ls-files -m",
    "git branch -a",
    "git rev-parse HEAD",
    "cd sub && git status",
];

/// Checks that commands that run unasked in a hostile repository leave no mark, and that the same commands in a plain
/// shell do.
fn assert_nothing_runs(what: &str, spoil: impl Fn(&Place, &str)) {
    let Some(place) = repository() else { return };
    let mark = place.beside.join("mark");
    spoil(&place, place.beside.join("evil.sh").to_str().expect("it is UTF-8"));
    std::fs::remove_file(&mark).ok();
    for command in READING {
        let answer = unasked(place.runner(), command);
        assert!(!mark.exists(), "{what}: {command} ran a program: {answer:?}");
    }
    make_look_changed(&place);
    for command in READING {
        Command::new("bash").args(["-c", command]).current_dir(&place.root).output().expect("there is bash");
    }
    assert!(mark.exists(), "{what} is harmless anyway: this proves nothing");
}

/// Makes an unchanged file look changed, because only then git writes the index and runs a hook. The new time is far in
/// the past, because git compares whole seconds and the last write of the index may be in the current one.
fn make_look_changed(place: &Place) {
    let top = std::fs::File::options().write(true).open(place.at("top.txt")).expect("it is there");
    top.set_modified(std::time::UNIX_EPOCH).expect("it is ours");
}

fn set(place: &Place, key: &str, value: &str) {
    git(place, &["config", key, value]);
}

#[test]
fn git_runs_no_program_of_the_repository() {
    assert_nothing_runs("a monitor", |place, evil| set(place, "core.fsmonitor", evil));
    assert_nothing_runs("an external diff", |place, evil| set(place, "diff.external", evil));
    assert_nothing_runs("a driver", |place, evil| {
        place.file(".gitattributes", "*.rs diff=x\n");
        set(place, "diff.x.textconv", evil);
    });
    assert_nothing_runs("a filter", |place, evil| {
        place.file(".git/info/attributes", "* filter=x\n");
        set(place, "filter.x.clean", evil);
    });
    assert_nothing_runs("settings elsewhere", |place, evil| {
        place.file(".git/more", format!("[diff]\n\texternal = {evil}\n"));
        set(place, "include.path", "more");
    });
    assert_nothing_runs("a hook", |place, evil| {
        std::fs::copy(evil, place.at(".git/hooks/post-index-change")).expect("it can be copied");
    });
}

#[test]
fn git_runs_no_program_of_a_repository_inside() {
    assert_nothing_runs("a submodule", |place, evil| {
        git(place, &["init", "-q", "inner"]);
        git(place, &["-C", "inner", "commit", "--allow-empty", "-qm", "first"]);
        place.file("inner/x", "x\n");
        git(place, &["-C", "inner", "add", "x"]);
        git(place, &["add", "inner"]);
        place.file("inner/.git/info/attributes", "* filter=x\n");
        git(place, &["-C", "inner", "config", "filter.x.clean", evil]);
        place.file("inner/x", "y\n");
    });
    assert_nothing_runs("a repository in files", |place, evil| {
        git(place, &["clone", "-q", "--bare", ".", "bare"]);
        git(place, &["-C", "bare", "config", "core.bare", "false"]);
        git(place, &["-C", "bare", "config", "core.worktree", ".."]);
        git(place, &["-C", "bare", "config", "core.fsmonitor", evil]);
        std::fs::rename(place.at("sub"), place.at("moved")).expect("it can be renamed");
        std::fs::rename(place.at("bare"), place.at("sub")).expect("it can be renamed");
    });
}

#[test]
fn git_shows_no_blocked_file() {
    let Some(place) = repository() else { return };
    let blob = git(&place, &["rev-parse", "HEAD:sub/.env"]).expect("there is git").trim().to_owned();
    let short = &blob[..8];
    let hidden = [
        format!("git show {blob}"),
        format!("git show {short}"),
        format!("git show --stat {short}"),
        format!("git diff {short} sub/main.rs"),
        format!("git diff {short} -- sub/main.rs"),
        format!("git log -p -1; git show {short}"),
    ];
    let fixed = [
        "git show ':(glob)**/.en*'",
        "git log -p -- 'sub/.e*'",
        "git show HEAD -- sub",
        "git diff -- sub",
        "git diff -U1",
    ];
    for command in hidden.iter().map(String::as_str).chain(fixed).chain(READING) {
        let answer = unasked(place.runner(), command).unwrap_or_default();
        assert!(!answer.contains("SECRETVALUE"), "{command}: {answer}");
    }
    assert!(unasked(place.runner(), "git diff -- sub/main.rs").is_some_and(|diff| diff.contains("+two")));
    assert_eq!(unasked(place.runner(), "git show HEAD:sub/main.rs").as_deref(), Some("one\n"));
    assert_eq!(unasked(place.runner(), "git status -s").as_deref(), Some(" M sub/.env\n M sub/main.rs\n"));
}

#[test]
fn git_shows_nothing_above_the_root() {
    let Some(place) = repository() else { return };
    let open = || super::runner(Workspace::open(place.at("sub"), Default::default()).expect("it is there"));
    for command in
        ["git show HEAD:top.txt", "git show HEAD:./../top.txt", "git log -p -- :/top.txt", "git diff -- ../top.txt"]
    {
        assert_eq!(unasked(open(), command), None, "{command}");
    }
}

#[test]
fn a_logical_change_of_folder_does_not_lead_out() {
    let place = Place::new();
    place.file("b/c/d/e/x", "");
    place.file("a/x", "");
    place.link("../b/c/d/e", "a/link");
    place.link("../../beside", "a/l");
    for command in [
        "cd a/link/.. && cat l/private.txt",
        "cd a/link && cd .. && cat l/private.txt",
        "cd a && cd link/..; cat l/private.txt",
    ] {
        assert_eq!(unasked(place.runner(), command), None, "{command}");
    }
    assert_eq!(unasked(place.runner(), "cd b && ls").as_deref(), Some("c\n"));
}

#[test]
fn a_listing_does_not_follow_links_out() {
    let place = Place::new();
    place.file("x", "");
    place.link("../beside", "out");
    for command in ["ls -LR .", "ls -RH out", "du -aL .", "ls -R", "du -a .", "find . -print", "tree", "find -L ."] {
        let answer = unasked(place.runner(), command).unwrap_or_default();
        assert!(!answer.contains("secret"), "{command}: {answer}");
    }
}
