//! Tests the reasons why a command gets no private copy of the project, and the notes about them in results.

use super::{HELPER, Place, bash, has_sandbox, runner};
use serde_json::json;
use std::os::unix::fs::chown;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use toolfence_policy::rules::PathRules;
use toolfence_protocol::Language;
use toolfence_protocol::text;
use toolfence_sandbox::isolation::{Mode, Settings};
use toolfence_tools::CommandRunner;
use toolfence_workspace::Workspace;

/// An id of no user or group here.
const FOREIGN: u32 = 54_321;

impl Place {
    /// Returns the state folder of `coder`, on the file system of the project.
    pub(super) fn state(&self) -> PathBuf {
        self.root.parent().expect("the project is in a folder").join("state")
    }

    pub(super) fn on_copies(&self, settings: Settings) -> CommandRunner {
        runner(&self.root, settings).private_copies(&self.state())
    }
}

fn reason(runner: &CommandRunner) -> Option<String> {
    runner.no_private_copies().map(|why| why.render(Language::English))
}

#[test]
fn a_folder_that_cannot_be_renamed_in_one_step_is_explained() {
    let place = Place::new();
    let runner = Arc::new(place.on_copies(Settings::new()));
    if !has_sandbox(&runner) {
        return;
    }
    assert_eq!(reason(&runner), None);
    place.file("lib/a.py", "a = 1\n");
    let renames = json!({"command": "python3 -c 'import os; os.rename(\"lib\", \"other\")'"});
    let failed = bash(&runner, renames).output;
    assert!(failed.contains("Invalid cross-device link"), "{failed}");
    assert!(
        failed.contains("[On the private copy of the project, a folder cannot be renamed in one step. Use `mv`"),
        "{failed}"
    );
    let moved = bash(&runner, json!({"command": "mv lib other"}));
    assert!(moved.success && moved.output.starts_with("[Kept: "), "{}", moved.output);
    assert!(place.root.join("other/a.py").is_file() && !place.root.join("lib").exists());
    let prints = bash(&runner, json!({"command": "echo Invalid cross-device link; touch new"})).output;
    assert!(!prints.contains("in one step"), "{prints}");
}

#[test]
fn a_clone_that_cannot_link_to_the_files_of_the_project_is_explained() {
    let place = Place::new();
    let workspace = Workspace::open(&place.root, PathRules::default()).expect("the root is there");
    // A masked repository in the copy is another mount, across which git cannot link.
    let runner = CommandRunner::new(Arc::new(workspace), Settings::new().helper(HELPER));
    let runner = Arc::new(runner.private_copies(&place.state()));
    if !has_sandbox(&runner) {
        return;
    }
    let git = |args: &[&str]| {
        let own = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"];
        let git = Command::new("git").current_dir(&place.root).args(own).args(args).output().expect("git is installed");
        assert!(git.status.success(), "{git:?}");
    };
    place.file("source/a.txt", "a\n");
    git(&["init", "-q", "-b", "main", "source"]);
    git(&["-C", "source", "add", "a.txt"]);
    git(&["-C", "source", "commit", "-qm", "a"]);
    // A local clone links the objects, so each of these files has a second name in `source`. The command turns the
    // folder into a repository only on the private copy.
    git(&["clone", "-q", "--bare", "source", "linked"]);
    std::fs::remove_file(place.at("linked/HEAD")).expect("it is there");
    place.file(
        "clone.sh",
        "echo 'ref: refs/heads/main' > linked/HEAD && git clone -q $1 linked copy && cat copy/a.txt\n",
    );
    let advice = "Use `git clone --no-hardlinks`.]";
    let failed = bash(&runner, json!({"command": "sh clone.sh"}));
    assert!(!failed.success && failed.output.contains("hardlink different from source"), "{}", failed.output);
    assert!(failed.output.contains(advice), "{}", failed.output);
    let made = bash(&runner, json!({"command": "sh clone.sh --no-hardlinks"}));
    assert!(made.success && made.output.contains("\na\n") && !made.output.contains(advice), "{}", made.output);
    let prints = bash(&runner, json!({"command": "echo hardlink different from source"})).output;
    assert!(!prints.contains(advice), "{prints}");
}

#[test]
fn the_first_result_explains_why_there_is_no_private_copy() {
    let place = Place::new();
    let switched_off = runner(&place.root, Settings::new()).without_private_copies(text!("It is switched off."));
    let without_sandbox = place.on_copies(Settings::new().mode(Mode::Off));
    let read_only =
        if has_sandbox(&switched_off) { ", which is read-only for them except for build folders" } else { "" };
    for (runner, read_only, why) in [
        (switched_off, read_only, "It is switched off."),
        (without_sandbox, "", "The sandbox that is used here mounts no private copies."),
    ] {
        let runner = Arc::new(runner);
        let note = format!("[Commands do not run on a private copy of the project{read_only}: {why}]\n");
        let first = bash(&runner, json!({"command": "python3 -c 1"})).output;
        assert!(first.ends_with(&note), "{first}");
        let second = bash(&runner, json!({"command": "echo two > two"})).output;
        assert!(!second.contains("private copy"), "{second}");
    }
}

/// An overlay in a user namespace cannot copy files of another user or group (`EOVERFLOW`).
#[test]
fn entries_of_other_users_and_groups_are_a_reason_against_private_copies() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: it takes root");
        return;
    }
    let of_group: fn(&std::path::Path) = |path| chown(path, None, Some(FOREIGN)).expect("root may");
    let of_user: fn(&std::path::Path) = |path| chown(path, Some(FOREIGN), None).expect("root may");
    for (name, give, counts) in [
        ("src/deep/a.txt", of_group, true),
        ("src/deep/a.txt", of_user, true),
        ("src", of_group, true),
        (".hidden/a.txt", of_group, true),
        // Commands on private copies write no repository.
        (".git/a.txt", of_group, false),
    ] {
        let place = Place::new();
        place.file("src/deep/a.txt", "a\n");
        place.file(".hidden/a.txt", "a\n");
        place.file(".git/a.txt", "a\n");
        let runner = place.on_copies(Settings::new());
        if !has_sandbox(&runner) {
            return;
        }
        give(&place.root.join(name));
        let why = format!("{name} belongs to another user or group, so a private copy of it cannot be changed.");
        assert_eq!(reason(&runner), counts.then_some(why), "{name}");
    }
}
