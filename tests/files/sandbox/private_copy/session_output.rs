//! Build output that is not put into the project: it stays in the session until the project's folder changes or the
//! user keeps it.

use super::{Copied, Say};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use toolfence_policy::AskMode;
use toolfence_policy::rules::PathRules;
use toolfence_sandbox::isolation::Settings;
use toolfence_tools::CommandRunner;
use toolfence_workspace::Workspace;

/// Creates a project that ignores some folders, in a session whose user does not want output in the project.
fn without_output() -> Option<Copied> {
    let mut copied = Copied::new(AskMode::Risky)?;
    copied.place.file(".gitignore", "target/\ndist/\nnode_modules/\n*.log\n/db.sqlite3\n");
    copied.git(&["init", "-q"]);
    copied.bash("mkdir -p dist; echo x > dist/first; rm -r dist/first", &[Say::No("no")]);
    Some(copied)
}

fn is_missing(copied: &Copied, path: &str) -> bool {
    !copied.place.at(path).exists()
}

#[test]
fn later_commands_see_the_output_of_earlier_ones() {
    let Some(mut copied) = without_output() else { return };
    let turn = copied.bash(
        "mkdir -p target/debug sub/node_modules; echo 1 > target/debug/app; echo m > sub/node_modules/m",
        &[Say::Yes],
    );
    assert!(turn.output().contains("[Not in the project: target (1 file)]"), "{}", turn.output());
    let turn = copied.bash("cat target/debug/app; echo 2 >> target/debug/app; rm -f none", &[]);
    assert_eq!(turn.output(), "1\n");
    // A read-only command sees it too.
    assert_eq!(copied.bash("cat target/debug/app", &[]).output(), "1\n2\n");
    copied.bash("rm -r target; echo x > one.log", &[]);
    assert_eq!(copied.bash("ls; cat one.log", &[]).output().lines().last(), Some("x"));
    assert!(is_missing(&copied, "target") && is_missing(&copied, "one.log") && is_missing(&copied, "sub/node_modules"));
}

/// The program that an earlier command built must not hide the one that the user built since.
#[test]
fn output_is_dropped_when_the_project_has_a_newer_build() {
    let Some(mut copied) = without_output() else { return };
    copied.place.file("target/debug/app", "old\n");
    copied.bash("echo agent > target/debug/app", &[]);
    assert_eq!(copied.bash("cat target/debug/app", &[]).output(), "agent\n");
    fs::write(copied.place.at("target/debug/app"), "user\n").expect("it can be written");
    let turn = copied.bash("cat target/debug/app", &[]);
    assert!(turn.output().starts_with("user\n") && turn.output().contains("was dropped"), "{}", turn.output());
    assert_eq!(copied.bash("cat target/debug/app", &[]).output(), "user\n");
}

#[test]
fn a_removed_folder_of_the_session_does_not_hide_the_users_new_one() {
    let Some(mut copied) = without_output() else { return };
    copied.place.file("target/debug/app", "old\n");
    copied.bash("rm -r target", &[]);
    assert_eq!(copied.bash("ls -d targe[t] || echo none", &[]).output().lines().last(), Some("none"));
    assert!(copied.place.at("target/debug/app").exists());
    fs::write(copied.place.at("target/debug/new"), "user\n").expect("it can be written");
    assert!(copied.bash("ls target/debug", &[]).output().starts_with("app\nnew\n"));
}

/// A command fails like `npm ci`, after it removed the installed files. That must not hide the files that the user
/// installs afterwards.
#[test]
fn a_failed_installation_does_not_hide_files_that_the_user_installs() {
    let Some(mut copied) = without_output() else { return };
    copied.place.file("node_modules/a/index.js", "a\n");
    copied.bash("rm -r node_modules; mkdir -p node_modules/half; echo x > node_modules/half/f; exit 1", &[]);
    assert!(copied.bash("ls node_modules; :", &[]).output().starts_with("half\n"));
    copied.place.file("node_modules/b/index.js", "b\n");
    assert!(copied.bash("ls node_modules; :", &[]).output().starts_with("a\nb\n"));
}

#[test]
fn kept_output_gets_into_the_project() {
    let Some(mut copied) = without_output() else { return };
    copied.bash("mkdir -p target/debug dist; echo 1 > target/debug/app; echo d > dist/d; echo l > dist/l", &[]);
    let listed = copied.runner.output_of_session().expect("it can be listed");
    assert_eq!(listed, [("dist".into(), 2), ("target".into(), 1)]);
    let (kept, notes) = copied.runner.keep_output(Path::new("dist")).expect("it can be kept");
    assert_eq!((kept, notes), (vec![("dist".into(), 2)], vec![]));
    assert_eq!(copied.place.content("dist/d"), "d\n");
    assert!(is_missing(&copied, "target"));
    assert!(copied.runner.keep_output(Path::new("dist")).is_err());
    // The other output folder is still in the session.
    assert_eq!(copied.bash("cat target/debug/app dist/d", &[]).output(), "1\nd\n");
}

#[test]
fn a_newer_folder_of_the_project_wins_over_kept_output() {
    let Some(mut copied) = without_output() else { return };
    copied.place.file("dist/d", "old\n");
    copied.bash("echo agent > dist/d", &[]);
    fs::write(copied.place.at("dist/d"), "user\n").expect("it can be written");
    let failure = copied.runner.keep_output(Path::new("dist")).expect_err("the project has changed");
    assert!(failure.message.to_string().starts_with("dist/d in the project is newer"), "{failure}");
    assert_eq!(copied.place.content("dist/d"), "user\n");
}

#[test]
fn another_process_keeps_output_also_after_the_session_and_the_next_session_deletes_it() {
    let Some(mut copied) = without_output() else { return };
    copied.bash("mkdir -p target dist; echo 1 > target/app; echo d > dist/d", &[]);
    let open = |place: &super::Place| {
        let workspace = Arc::new(Workspace::open(&place.root, PathRules::default()).expect("it is a folder"));
        let runner = CommandRunner::new(workspace, Settings::new().helper(super::super::HELPER));
        Arc::new(runner.private_copies(&place.home.join("state")))
    };
    open(&copied.place).keep_output(Path::new("dist")).expect("the session is alive");
    assert_eq!(copied.place.content("dist/d"), "d\n");
    assert_eq!(copied.bash("cat target/app", &[]).output(), "1\n");
    let Copied { place, runner, workspace, history, policy } = copied;
    drop((runner, workspace, history, policy));
    assert_eq!(open(&place).output_of_session().expect("it can be listed"), [("target".into(), 1)]);
    let runner = open(&place);
    let next = toolfence_kit::Tools::new(runner.clone(), toolfence_tools::standard(runner));
    assert!(open(&place).output_of_session().is_ok_and(|listed| !listed.is_empty()));
    next.run("bash", serde_json::json!({"command": "echo x > a; rm a"}));
    assert_eq!(open(&place).output_of_session().expect("it can be listed"), []);
}

/// A package can contain a file with a blocked name. The folder is kept without it.
#[test]
fn blocked_names_do_not_stay_with_the_session() {
    let Some(mut copied) = without_output() else { return };
    copied.bash(
        "mkdir -p node_modules/p; sh -c \"echo x > node_modules/p/.$(printf env)\"; echo y > node_modules/p/f",
        &[],
    );
    assert!(copied.bash("ls -A node_modules/p; :", &[]).output().starts_with("f\n"));
    copied.runner.keep_output(Path::new("node_modules")).expect("it can be kept");
    assert!(is_missing(&copied, "node_modules/p/.env") && !is_missing(&copied, "node_modules/p/f"));
}

/// The user's build between two commands is newer than the output of the second one.
#[test]
fn a_build_of_the_user_during_a_command_wins() {
    let Some(mut copied) = Copied::new(AskMode::Risky) else { return };
    copied.place.file(".gitignore", "/target/\n");
    copied.place.file("target/app", "old\n");
    copied.git(&["init", "-q"]);
    let app = copied.place.at("target/app");
    let mut build = || fs::write(&app, "user\n").expect("it can be written");
    let call = [("bash", serde_json::json!({"command": "echo agent > target/app"}))];
    let turn = copied.turn_while(&call, &[Say::Yes], &mut build);
    assert!(turn.output().contains("target/app"), "{}", turn.output());
    assert_eq!(copied.place.content("target/app"), "user\n");
}

#[test]
fn an_ignored_database_at_the_top_is_a_change() {
    let Some(mut copied) = without_output() else { return };
    copied.place.file("db.sqlite3", "old\n");
    let turn = copied.bash("echo new > db.sqlite3", &[Say::No("no")]);
    assert_eq!(turn.question().rule, "changes");
    assert_eq!(copied.place.content("db.sqlite3"), "old\n");
}

#[test]
fn a_new_folder_with_many_files_is_put_into_the_project_as_a_whole() {
    let Some(mut copied) = Copied::new(AskMode::Sandboxed) else { return };
    copied.place.file(".gitignore", "node_modules/\n");
    copied.git(&["init", "-q"]);
    let command =
        "mkdir node_modules; cd node_modules; mkdir $(seq 100); for d in *; do (cd $d; touch $(seq 100)); done";
    let turn = copied.bash(command, &[]);
    assert_eq!(turn.paths("output"), ["node_modules"]);
    let folders = fs::read_dir(copied.place.at("node_modules")).expect("it is there");
    assert_eq!(
        folders
            .map(|folder| fs::read_dir(folder.expect("it can be read").path()).expect("a folder").count())
            .sum::<usize>(),
        10_000
    );
}

/// After the command, the user may configure git to run programs from a folder of the output.
#[test]
fn output_that_git_would_run_is_not_put_into_the_project() {
    let Some(mut copied) = without_output() else { return };
    copied.bash("mkdir -p target/hk; echo x > target/hk/pre-commit; echo y > target/f", &[]);
    copied.git(&["config", "core.hooksPath", "target/hk"]);
    let (_, notes) = copied.runner.keep_output(Path::new("target")).expect("it can be kept");
    assert!(notes.iter().any(|note| note.to_string().contains("target/hk/pre-commit")), "{notes:?}");
    assert_eq!(copied.place.content("target/f"), "y\n");
    assert!(is_missing(&copied, "target/hk/pre-commit"));
}
