//! What a command could leave for git to run outside.

use super::Place;
use std::fs;

/// A repository as `git init` makes it, made by hand: the test needs no git.
fn repository(place: &Place, at: &str) {
    let at = |name: &str| format!("{at}.git/{name}");
    place.file(&at("HEAD"), "ref: refs/heads/main\n");
    place.file(&at("config"), "[core]\n\trepositoryformatversion = 0\n\tbare = false\n");
    place.file(&at("objects/info/keep"), "");
    place.file(&at("refs/heads/keep"), "");
    place.file(&at("hooks/pre-commit.sample"), "#!/bin/sh\n");
}

fn refused(place: &Place, command: &str, want: &str) {
    let Some(result) = place.run(&format!("{{ {command}; }} 2>&1; echo \"[$?]\"")) else { return };
    assert!(result.output.contains(want) && !result.output.contains("[0]"), "{command}: {}", result.output);
}

#[test]
fn hooks_and_settings_cannot_be_changed_nor_the_repository_moved() {
    let place = Place::new();
    repository(&place, "");
    repository(&place, "deep/er/");
    place.file(".husky/pre-push", "#!/bin/sh\n");
    place.file(".git/config", "[core]\n\thooksPath = .husky\n");
    fs::remove_dir_all(place.at("deep/er/.git/hooks")).expect("it is there");
    // What is not named may be written: a commit needs it.
    let Some(result) = place.run("echo x > .git/refs/heads/main && echo y > .git/index.lock && cat .git/index.lock")
    else {
        return;
    };
    assert_eq!((result.output.as_str(), result.success), ("y\n", true), "{result:?}");
    for (command, want) in [
        ("echo x > .git/hooks/pre-commit", "Read-only file system"),
        ("echo x > deep/er/.git/hooks/pre-commit", "Read-only file system"),
        ("echo x >> .git/config", "Read-only file system"),
        ("echo x > .git/c && mv .git/c .git/config", "[1]"),
        ("rm -f .git/config", "[1]"),
        ("echo x > .husky/pre-push", "Read-only file system"),
        ("mv .husky other", "Device or resource busy"),
        ("mv .git other", "Device or resource busy"),
        ("mv deep/er/.git other", "Device or resource busy"),
        ("mv .git/hooks .git/other", "Device or resource busy"),
        ("rm -rf .git", "[1]"),
    ] {
        refused(&place, command, want);
    }
}

#[test]
fn what_appears_in_a_repository_and_leads_git_elsewhere_is_removed() {
    let place = Place::new();
    repository(&place, "");
    let Some(result) = place.run("mkdir evil; echo ../evil > .git/commondir; echo x > .git/config.worktree") else {
        return;
    };
    assert!(result.output.contains("[.git/commondir, which the command made,"), "{}", result.output);
    assert!(!place.at(".git/commondir").exists() && !place.at(".git/config.worktree").exists());
}

#[test]
fn a_new_repository_that_would_run_something_is_set_aside() {
    let place = Place::new();
    let init = "mkdir -p sub/.git/objects sub/.git/refs; echo 'ref: refs/heads/main' > sub/.git/HEAD;";
    let plain = format!("{init} printf '[core]\\n\\tbare = false\\n' > sub/.git/config");
    let Some(result) = place.run(&plain) else { return };
    assert!(result.output.is_empty() && place.at("sub/.git/HEAD").exists(), "{}", result.output);
    fs::remove_dir_all(place.at("sub")).expect("it is there");
    for evil in [
        format!("{init} printf '[core]\\n\\tfsmonitor = x\\n[filter \"a\"]\\n\\tclean = x\\n' > sub/.git/config"),
        format!("{plain}; mkdir sub/.git/hooks; echo x > sub/.git/hooks/pre-commit"),
        "mkdir sub; echo 'gitdir: ../evil' > sub/.git".to_owned(),
        "mkdir sub; ln -s ../evil sub/.git".to_owned(),
    ] {
        let result = place.run(&evil).expect("the walls stood a moment ago");
        assert!(result.output.contains("it is now named .git.set-aside-1"), "{evil}: {}", result.output);
        assert!(fs::symlink_metadata(place.at("sub/.git")).is_err(), "{evil}");
        fs::remove_dir_all(place.at("sub")).expect("it is there");
    }
}

#[test]
fn a_repository_cannot_be_swapped_by_its_parent() {
    let place = Place::new();
    repository(&place, "sub/");
    let swap = "mv sub old; mkdir -p sub/.git/hooks; echo x > sub/.git/hooks/pre-commit; echo x > sub/.git/HEAD";
    let Some(result) = place.run(swap) else { return };
    assert!(result.output.contains("it is now named .git.set-aside-1"), "{}", result.output);
    assert!(place.at("old/.git/HEAD").exists() && !place.at("sub/.git").exists());
}

#[test]
fn a_repository_that_is_a_file_stays_what_it_is() {
    let place = Place::new();
    repository(&place, "real/");
    place.file("tree/.git", "gitdir: ../real/.git\n");
    refused(&place, "echo 'gitdir: ../evil' > tree/.git", "Read-only file system");
    refused(&place, "rm -f tree/.git", "Device or resource busy");
}
