//! Hooks that the person approved, in a call that is git alone: with a real git, in a sandbox that is set up.

use super::{Place, bash, runner_with, stands};
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::sync::Arc;
use toolfence::ToolResult;
use toolfence::policy::PathRules;
use toolfence::sandbox::Settings;
use toolfence::workspace::Workspace;

/// A project with a repository and one commit. `None`, said aloud, where there is no git or no sandbox is available.
fn project() -> Option<Place> {
    let place = Place::new();
    let git = Command::new("git").arg("--version").stdout(Stdio::null()).status().is_ok_and(|status| status.success());
    if !git {
        eprintln!("skipped: there is no git");
    }
    if !git || !stands(&place.runner()) {
        return None;
    }
    on_host(&place, "git init -q .; git config user.name n; git config user.email e@example.invalid");
    on_host(&place, "echo 1 > a; git add a; git commit -qm first");
    Some(place)
}

/// Runs a script as the person, outside of everything.
fn on_host(place: &Place, script: &str) -> String {
    let ran = Command::new("bash")
        .args(["-c", script])
        .current_dir(&place.root)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .stdin(Stdio::null())
        .output()
        .expect("there is a bash");
    String::from_utf8_lossy(&ran.stdout).into_owned()
}

fn hook(place: &Place, at: &str, script: &str) {
    place.file(at, format!("#!/bin/sh\n{script}\n"));
    fs::set_permissions(place.at(at), fs::Permissions::from_mode(0o755)).expect("it is there");
}

/// Runs git commands as a person who allowed them lets them run.
fn git(place: &Place, approved: &[&str], command: &str) -> ToolResult {
    bash(&Arc::new(runner_with(&place.root, approved, Settings::new())), json!({"command": command, "timeout": 60}))
}

fn subject(place: &Place) -> String {
    on_host(place, "git log -1 --format=%s").trim().to_owned()
}

#[test]
fn an_approved_hook_runs_and_can_reject_a_commit() {
    let Some(place) = project() else { return };
    hook(&place, ".git/hooks/pre-commit", "echo the hook ran; ! git diff --cached | grep -q REJECTED");
    hook(&place, ".git/hooks/commit-msg.sample", "exit 1");
    place.file("b", "fine\n");
    let result = git(&place, &["pre-commit"], "git add b && git commit -qm second 2>&1");
    assert!(result.success && result.output.contains("the hook ran"), "{result:?}");
    assert_eq!(subject(&place), "second");
    place.file("b", "REJECTED\n");
    let result = git(&place, &["pre-commit"], "git commit -qam third 2>&1");
    assert!(!result.success && result.exit_code == Some(1), "{result:?}");
    assert_eq!(subject(&place), "second");
}

#[test]
fn a_hook_that_is_not_approved_keeps_all_from_running() {
    let Some(place) = project() else { return };
    hook(&place, ".git/hooks/pre-commit", "touch ran");
    hook(&place, ".git/hooks/post-commit", "touch ran");
    let commit = "git commit -q --allow-empty -m second 2>&1";
    let result = git(&place, &["pre-commit", "commit-msg"], commit);
    let note = "[No hook ran in this call: post-commit stands in .git/hooks and is not in sandbox.git_hooks.]\n";
    assert_eq!((result.success, result.output.as_str()), (true, note));
    // Who approves none is told nothing.
    let result = git(&place, &[], commit);
    assert_eq!((result.success, result.output.as_str()), (true, ""));
    // One call can have git look into each repository of the project.
    fs::remove_file(place.at(".git/hooks/post-commit")).expect("it is there");
    on_host(&place, "git init -q --bare remote.git; git remote add here ./remote.git");
    hook(&place, "remote.git/hooks/post-receive", "touch ../ran");
    let result = git(&place, &["pre-commit"], "git push -q here HEAD:refs/heads/x 2>&1");
    assert!(result.output.contains("post-receive stands in remote.git/hooks"), "{}", result.output);
    // The file system monitor is off, whatever is approved, and a name that git does not know is no hook.
    fs::remove_file(place.at("remote.git/hooks/post-receive")).expect("it is there");
    hook(&place, ".git/hooks/fsmonitor-watchman", "touch ran");
    hook(&place, ".git/hooks/helper", "touch ran");
    assert!(!place.at("ran").exists());
    let result = git(&place, &["pre-commit"], commit);
    assert!(result.success && result.output.is_empty() && place.at("ran").exists(), "{result:?}");
}

#[test]
fn hooks_stay_off_where_git_may_look_elsewhere_for_them() {
    let Some(place) = project() else { return };
    hook(&place, ".git/hooks/pre-commit", "touch ran");
    hook(&place, "evil/post-commit", "touch ran");
    let commit = "git commit -q --allow-empty -m more 2>&1";
    for (script, want) in [
        ("git config includeIf.onbranch:x.path ../inc", ".git includes configuration under a condition."),
        ("git config --unset includeIf.onbranch:x.path; git config core.hooksPath ''", "cannot be followed"),
        ("git config core.hooksPath evil", "post-commit stands in evil and is not"),
        ("git config core.hooksPath ../beside; cp .git/hooks/pre-commit ../beside", "of .git is not in the project"),
    ] {
        on_host(&place, script);
        let result = git(&place, &["pre-commit"], commit);
        assert!(result.success && result.output.contains(want), "{script}: {result:?}");
    }
    assert!(!place.at("ran").exists());
}

#[test]
fn a_folder_of_hooks_in_the_work_tree_is_one() {
    let Some(place) = project() else { return };
    hook(
        &place,
        ".githooks/pre-commit",
        "echo it ran; echo exit 0 > .githooks/pre-commit; echo x > .githooks/post-commit",
    );
    on_host(&place, "git config core.hooksPath .githooks; git add .; git -c core.hooksPath=/dev/null commit -qm hooks");
    let result = git(&place, &["pre-commit"], "git commit -q --allow-empty -m second 2>&1");
    assert!(result.output.contains("it ran") && result.output.contains("Read-only file system"), "{result:?}");
    assert!(result.output.contains("[In a call in which hooks run, the folders of hooks"), "{}", result.output);
    assert!(!place.at(".githooks/post-commit").exists());
    assert_eq!(on_host(&place, "git status --short"), "");
    // A checkout cannot bring a hook that is not approved and then start it.
    on_host(&place, "git switch -qc evil; printf '#!/bin/sh\\ntouch ran\\n' > .githooks/post-checkout");
    on_host(&place, "chmod +x .githooks/post-checkout; git add .; git -c core.hooksPath=/dev/null commit -qm evil");
    on_host(&place, "git -c core.hooksPath=/dev/null switch -q -");
    let result = git(&place, &["pre-commit"], "git switch evil 2>&1");
    assert!(!place.at("ran").exists() && !place.at(".githooks/post-checkout").exists(), "{}", result.output);
}

#[test]
fn the_hooks_of_husky_count_where_the_project_has_a_script_for_them() {
    let Some(place) = project() else { return };
    let reads = "#!/usr/bin/env sh\n[ \"$HUSKY\" = \"2\" ] && set -x\nn=$(basename \"$0\")\ns=$(dirname \"$(dirname \
                 \"$0\")\")/$n\n\n[ ! -f \"$s\" ] && exit 0\n\nsh -e \"$s\" \"$@\"\n";
    place.file(".husky/_/h", reads);
    for name in ["pre-commit", "post-commit", "post-checkout"] {
        place.file(&format!(".husky/_/{name}"), "#!/usr/bin/env sh\n. \"$(dirname \"$0\")/h\"");
        fs::set_permissions(place.at(&format!(".husky/_/{name}")), fs::Permissions::from_mode(0o755))
            .expect("it is there");
    }
    place.file(".husky/pre-commit", "echo husky ran; echo touch ran > .husky/post-commit\n");
    on_host(&place, "git config core.hooksPath .husky/_");
    let commit = "git commit -q --allow-empty -m second 2>&1; true";
    let result = git(&place, &["pre-commit"], commit);
    assert!(result.output.contains("husky ran") && !place.at(".husky/post-commit").exists(), "{}", result.output);
    place.file(".husky/post-commit", "touch ran\n");
    let result = git(&place, &["pre-commit"], commit);
    assert!(result.output.contains("post-commit stands in .husky/_ and is not"), "{}", result.output);
    assert!(!place.at("ran").exists());
}

/// What an approved hook tries, what is said of it, and what must not be there afterwards.
const TRIED: &[(&str, &str, &[&str])] = &[
    (
        "a hook",
        "rm -f .git/hooks/*; echo x > .git/hooks/post-commit; mv .git/hooks .git/h",
        &[".git/hooks/post-commit", ".git/h"],
    ),
    ("a key", "git config core.fsmonitor ./evil; git config user.name m", &[]),
    (
        "a key for later",
        "git config alias.st '!./evil'; git config include.path ../x; git config hook.x.command ./evil",
        &[],
    ),
    ("a configuration that git cannot list", "printf '[core]\\n\\tfsmonitor = ./evil\\n[' > .git/config", &[]),
    (
        "a configuration that is too long",
        "printf '[core]\\n\\tfsmonitor = ./evil\\n[x]\\n' > .git/config; yes 'a = 0123456789012345678901234567890123456789' | head -c 6000000 >> .git/config",
        &[],
    ),
    (
        "a configuration that is a link",
        "cp .git/config c; printf '[core]\\n\\tfsmonitor = ./evil\\n' >> c; rm .git/config; ln -s ../c .git/config",
        &[],
    ),
    ("a configuration that is gone", "rm .git/config", &[]),
    (
        "a common directory",
        "cp -r .git e; printf '[core]\\n\\tfsmonitor = ./evil\\n' >> e/config; echo ../e > .git/commondir",
        &[".git/commondir"],
    ),
    ("another repository", "mv .git x; cp -r x .git", &[".git/x", "x"]),
    (
        "a rebase",
        "mkdir .git/rebase-merge; echo 'exec ./evil' > .git/rebase-merge/git-rebase-todo",
        &[".git/rebase-merge/git-rebase-todo"],
    ),
    (
        "a rebase by a link",
        "mkdir .git/rebase-merge; echo pick > t; ln -s ../../t .git/rebase-merge/git-rebase-todo",
        &[".git/rebase-merge/git-rebase-todo"],
    ),
    (
        "a submodule",
        "mkdir .git/modules; cp -r .git x; mv x .git/modules/sub; git config -f .git/modules/sub/config core.fsmonitor ./evil",
        &[".git/modules/sub"],
    ),
    (
        "a work tree",
        "mkdir -p .git/worktrees/w wt; cp -r .git/HEAD .git/objects .git/refs .git/worktrees/w; printf '[core]\\n\\tfsmonitor = ./evil\\n' > .git/worktrees/w/config; \
         echo \"$PWD/wt/.git\" > .git/worktrees/w/gitdir; echo 'gitdir: ../.git/worktrees/w' > wt/.git",
        &[".git/worktrees/w", "wt/.git"],
    ),
    (
        "a git directory in another",
        "mkdir -p .git/e wt; cp -r .git/HEAD .git/objects .git/refs .git/e; printf '[core]\\n\\tfsmonitor = ./evil\\n' > .git/e/config; \
         echo \"$PWD/wt/.git\" > .git/e/gitdir; echo 'gitdir: ../.git/e' > wt/.git",
        &["wt/.git"],
    ),
];

#[test]
fn an_approved_hook_leaves_nothing_that_git_would_run() {
    for (what, script, gone) in TRIED {
        let Some(place) = project() else { return };
        hook(&place, ".git/hooks/pre-commit", &format!("( {script} ) 2>&1; true"));
        hook(&place, "evil", "touch ../beside/pwned");
        let before = fs::read_to_string(place.at(".git/config")).expect("it is there");
        let result = git(&place, &["pre-commit"], "git commit -q --allow-empty -m second 2>&1; true");
        let said = format!("{what}: {}{:?}", result.output, result.error);
        for name in *gone {
            assert!(fs::symlink_metadata(place.at(name)).is_err(), "{name} stays: {said}");
        }
        assert!(!place.at(".git/hooks/post-commit").exists(), "{said}");
        assert!(place.at(".git/hooks/pre-commit").exists(), "{said}");
        let after = fs::read_to_string(place.at(".git/config")).expect("it is a file");
        let names = ["fsmonitor", "alias", "include", "hook"];
        assert!(!names.iter().any(|name| after.contains(name)), "{after} {said}");
        assert!(after.contains("bare = false"), "{after} {said}");
        if what.contains("key") {
            assert!(said.contains("[.git/config got the key "), "{said}");
        } else if what.contains("configuration") {
            assert!(after == before && said.contains("It was put back as it was before the call"), "{said}");
        }
        // On the host the hook itself would do it all again.
        fs::remove_file(place.at(".git/hooks/pre-commit")).expect("it is there");
        on_host(
            &place,
            "for at in . wt .git/modules/sub e; do (cd $at && git status; git st; git rebase --continue; git commit -am x); done 2>&1",
        );
        assert!(!place.beside.join("pwned").exists(), "{said}");
    }
}

/// A key is seen while the hook that wrote it runs, and ends the call.
#[test]
fn a_key_ends_the_call_while_a_hook_goes_on() {
    let Some(place) = project() else { return };
    hook(&place, ".git/hooks/pre-commit", "git config core.fsmonitor ./evil; sleep 30");
    let began = std::time::Instant::now();
    let result = git(&place, &["pre-commit"], "git commit -q --allow-empty -m second");
    let failure = result.error.expect("it was ended").message;
    assert!(failure.to_string().contains(".git/config got a key while a hook ran"), "{failure}");
    assert!(failure.to_string().contains("It was taken out again") && began.elapsed().as_secs() < 20, "{failure}");
}

const HOST: &str = "TOOLFENCE_TEST_HOOK_HOST";

/// The host that is killed while a hook runs.
#[test]
fn a_host_for_the_hook() {
    if let Some(root) = std::env::var_os(HOST) {
        let runner = runner_with(std::path::Path::new(&root), &["pre-commit"], Settings::new());
        bash(&Arc::new(runner), json!({"command": "git commit -q --allow-empty -m second", "timeout": 60}));
    }
}

#[test]
fn what_a_hook_left_is_taken_away_where_the_host_is_killed() {
    let Some(place) = project() else { return };
    let rebase = "mkdir .git/rebase-merge; echo 'exec ./evil' > .git/rebase-merge/git-rebase-todo";
    hook(
        &place,
        ".git/hooks/pre-commit",
        &format!("git config core.fsmonitor ./evil; {rebase}; touch begun; sleep 30"),
    );
    let mut host = Command::new(std::env::current_exe().expect("this program has a file"))
        .args(["--exact", "sandbox::hooks::a_host_for_the_hook", "--nocapture"])
        .env(HOST, &place.root)
        .env("XDG_STATE_HOME", place.beside.join("state"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("this program can be started");
    let began = std::time::Instant::now();
    while !place.at("begun").exists() && began.elapsed().as_secs() < 20 {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    host.kill().expect("it runs");
    host.wait().expect("it is ours");
    let todo = place.at(".git/rebase-merge/git-rebase-todo");
    let stays = || fs::read_to_string(place.at(".git/config")).expect("it is there").contains("evil") || todo.exists();
    // The helper waits for the end of all processes first.
    while stays() && began.elapsed().as_secs() < 30 {
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    assert!(place.at("begun").exists() && !stays());
}

/// What git itself does in such a call goes on as in any other.
#[test]
fn git_works_as_usual_where_hooks_run() {
    let Some(place) = project() else { return };
    hook(&place, ".git/hooks/pre-commit", "true");
    on_host(
        &place,
        "git branch -m main; git init -q --bare ../beside/o.git; git init -q --bare remote.git; git remote add o ./remote.git",
    );
    on_host(&place, "echo remote.git > .git/info/exclude; echo wt >> .git/info/exclude");
    place.file("b", "1\n");
    for command in [
        "git add b && git commit -qm b",
        "git switch -qc topic && git push -qu o topic",
        "git worktree add -q -b w wt",
        "git -C wt commit -q --allow-empty -m inside",
        "git switch -q main && git merge -q --no-ff -m both w",
        "git stash -q; git branch -d w topic; git tag v1; git gc -q",
    ] {
        let result = git(&place, &["pre-commit"], command);
        let fine = result.success || command.contains("stash");
        assert!(
            fine && !result.output.contains("set-aside") && !result.output.contains("[No hook"),
            "{command}: {result:?}"
        );
    }
    assert_eq!((subject(&place), place.at("wt/.git").exists()), ("both".into(), true));
}

#[test]
fn a_name_that_is_no_hook_is_told_with_the_closest() {
    let workspace = Workspace::open(std::env::temp_dir(), PathRules::default()).expect("it is a folder");
    let error = workspace.git_hooks(["pre-comit"]).expect_err("it is no hook").to_string();
    assert!(error.contains("Did you mean pre-commit?"), "{error}");
}
