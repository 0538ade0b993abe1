//! Tests files that a command could plant so that git on the host runs them. The traps that use a real git are in
//! `traps`.

use super::{Place, runner};
use serde_json::json;
use std::fs;
use toolfence_sandbox::isolation::Settings;

/// Creates a repository as `git init` does, without git.
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
fn a_repository_cannot_be_changed_nor_moved() {
    let place = Place::new();
    repository(&place, "");
    repository(&place, "deep/er/");
    for (command, want) in [
        ("echo x > .git/refs/heads/main", "Read-only file system"),
        ("echo x > .git/index.lock", "Read-only file system"),
        ("echo x > .git/hooks/pre-commit", "Read-only file system"),
        ("mkdir deep/er/.git/modules", "Read-only file system"),
        ("echo x >> .git/config", "Read-only file system"),
        ("rm -f .git/config", "[1]"),
        ("mv .git other", "Device or resource busy"),
        ("mv deep/er/.git other", "Device or resource busy"),
        ("rm -rf .git", "[1]"),
    ] {
        refused(&place, command, want);
    }
    let Some(result) = place.run("cat .git/HEAD; echo x > .git/HEAD") else { return };
    assert!(result.output.starts_with("ref: refs/heads/main\n"), "{}", result.output);
    assert!(result.output.contains("[Repositories are read-only to commands"), "{}", result.output);
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
        format!("{plain}; mkdir sub/.git/rebase-merge; echo 'exec x' > sub/.git/rebase-merge/git-rebase-todo"),
        format!("{plain}; ln -s ../../x sub/.git/index"),
        "mkdir sub; echo 'gitdir: ../evil' > sub/.git".to_owned(),
        "mkdir sub; ln -s ../evil sub/.git".to_owned(),
    ] {
        let result = place.run(&evil).expect("the sandbox was available a moment ago");
        let said = "[sub/.git appeared while the command ran. It would let git run programs, so it is now named \
                    .git.set-aside-1.]";
        assert!(result.output.contains(said), "{evil}: {}", result.output);
        assert!(fs::symlink_metadata(place.at("sub/.git")).is_err(), "{evil}");
        // The folder is not a repository under its new name either.
        assert!(!place.at("sub/.git.set-aside-1/HEAD").exists(), "{evil}");
        fs::remove_dir_all(place.at("sub")).expect("it is there");
    }
}

#[test]
fn folders_that_git_treats_as_a_repository_are_protected() {
    let place = Place::new();
    place.file("docs/index.md", "# Docs\n");
    let bare = "mkdir -p docs/objects docs/refs; echo 'ref: refs/heads/main' > docs/HEAD";
    let Some(result) = place.run(bare) else { return };
    assert!(
        result.output.contains("[docs/HEAD appeared while the command ran. With it, git takes"),
        "{}",
        result.output
    );
    assert!(!place.at("docs/HEAD").exists() && place.at("docs/HEAD.set-aside-1").exists());
    // Once it is a repository before the command starts, it is read-only like any other.
    fs::rename(place.at("docs/HEAD.set-aside-1"), place.at("docs/HEAD")).expect("it is there");
    fs::remove_file(place.at("docs/index.md")).expect("it is there");
    refused(&place, "echo x > docs/config", "Read-only file system");
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
fn the_target_of_a_dot_git_file_or_link_is_protected() {
    let place = Place::new();
    repository(&place, "real/");
    place.file("tree/.git", "gitdir: ../bare\n");
    fs::rename(place.at("real/.git"), place.at("bare")).expect("it is there");
    fs::create_dir(place.at("linked")).expect("it can be made");
    std::os::unix::fs::symlink("../other", place.at("linked/.git")).expect("it can be made");
    repository(&place, "real/");
    fs::rename(place.at("real/.git"), place.at("other")).expect("it is there");
    refused(&place, "echo 'gitdir: ../evil' > tree/.git", "Read-only file system");
    refused(&place, "rm -f tree/.git", "Device or resource busy");
    refused(&place, "echo x > bare/hooks/pre-commit", "Read-only file system");
    refused(&place, "echo x > other/config", "Read-only file system");
    refused(&place, "mv other another", "Device or resource busy");
}

#[test]
fn ignored_folders_can_be_removed_with_their_masked_files() {
    let place = Place::new();
    place.file(".gitignore", "dist/\ntarget/\n");
    place.file("dist/.env", "A=SECRETVALUE\n");
    place.file("dist/app.js", "1\n");
    place.file(".env", "B=SECRETVALUE\n");
    repository(&place, "target/tmp/test/");
    let look = "cat dist/.env; mv dist/.env dist/x; cat dist/x; ln dist/x dist/y; cat < dist/x; rm -r dist target && ls; rm -f .env";
    let Some(result) = place.run(&format!("{{ {look}; }} 2>&1")) else { return };
    assert!(!result.output.contains("SECRETVALUE"), "{}", result.output);
    assert!(!place.at("dist").exists() && !place.at("target").exists(), "{}", result.output);
    // Blocked files outside such a folder belong to the user.
    assert!(place.at(".env").exists(), "{}", result.output);
    assert!(result.output.contains("[.env is kept as it is by the sandbox"), "{}", result.output);
}

#[test]
fn a_read_only_command_removes_nothing() {
    let place = Place::new();
    let mode = toolfence_sandbox::isolation::Mode::ReadOnly;
    let looking = runner(&place.root, Settings::new().mode(mode));
    if !super::has_sandbox(&looking) {
        return;
    }
    let root = place.root.clone();
    let person = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(300));
        fs::create_dir_all(root.join("mine/.git")).expect("it can be made");
        fs::write(root.join("mine/.git/HEAD"), "x").expect("it can be written");
        fs::write(root.join("mine/.git/config"), "[core]\n\tfsmonitor = mine\n").expect("it can be written");
    });
    let result = place.run_regardless(Settings::new().mode(mode), json!({"command": "sleep 1.5"}));
    person.join().expect("the person is there");
    assert!(result.success && place.at("mine/.git/config").exists(), "{result:?}");
}

/// Runs a script on the host, outside the sandbox.
fn host(folder: &std::path::Path, script: &str) {
    let mut command = std::process::Command::new("bash");
    command.args(["-c", script]).current_dir(folder).env("HOME", folder).env_remove("XDG_CONFIG_HOME");
    let output = command.output().expect("there is a bash");
    assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_repository_above_the_root_keeps_its_hooks() {
    let place = Place::new();
    let above = place.root.parent().expect("it is not the root").to_owned();
    host(
        &above,
        "git init -q .; mkdir -p project/scripts project/hk; echo '#!/bin/sh' > project/scripts/pc.sh; chmod +x \
         project/scripts/pc.sh; ln -s ../../project/scripts/pc.sh .git/hooks/pre-commit; ln -s ../../project/later.sh \
         .git/hooks/pre-push",
    );
    refused(&place, "echo evil >> scripts/pc.sh", "Read-only file system");
    let Some(result) = place.run("echo '#!/bin/sh' > later.sh; chmod +x later.sh") else { return };
    assert!(result.output.contains("later.sh appeared while the command ran"), "{}", result.output);
    host(&above, "rm -rf .git/hooks; ln -s ../project/hk .git/hooks");
    refused(&place, "echo evil > hk/pre-commit", "Read-only file system");
}

#[test]
fn only_a_person_can_change_the_files_that_git_uses() {
    use toolfence_policy::Effective;
    use toolfence_policy::{AskMode, Policy};
    use toolfence_protocol::{Args, ToolCall};
    let place = Place::new();
    host(
        &place.root,
        "git init -q .; mkdir hk t2; ln -s t2 tools; git config core.hooksPath hk; git config include.path ../inc; git config \
         filter.x.clean 'sh tools/c.sh'; touch free",
    );
    let runner = runner(&place.root, Settings::new());
    let catalog = toolfence_tools::standard(std::sync::Arc::new(runner)).catalog();
    let runner = super::runner(&place.root, Settings::new());
    let policy = Policy::default().ask(AskMode::Never);
    let decision = |path: &str| {
        let args = json!({"path": path, "content": "x"}).as_object().expect("an object").clone();
        let call = ToolCall::new("1", "write_file", Args::from_iter(args));
        policy.judge(&call, catalog.find("write_file").expect("it is there"), &runner)
    };
    for (path, rule) in [
        ("hk/pre-commit", "used_by_git"),
        ("./hk/../hk/new", "used_by_git"),
        ("inc", "used_by_git"),
        ("tools/c.sh", "used_by_git"),
        ("t2/c.sh", "used_by_git"),
        ("free", "write"),
        ("t2/other", "write"),
    ] {
        let decision = decision(path);
        assert_eq!(decision.rule, rule, "{path}");
        let unattended = if rule == "write" { Effective::Run } else { Effective::Deny };
        assert_eq!(policy.effective(&decision), unattended, "{path}: no user can answer");
    }
}
