//! Commands that change repositories on private copies: which changes are kept, which are asked about, and the state of
//! the repository afterwards.

use super::{Copied, Say};
use std::path::Path;
use std::process::Command;
use toolfence_policy::AskMode;

/// Prepares a repository with two commits.
const BEGIN: &str = "git init -q -b main && git config user.name a && git config user.email a@b && echo one > a.txt && mkdir -p src && \
                     echo 1 > src/x && git add . && git commit -qm first && echo two >> a.txt && git commit -qam second";

/// Fixes the dates, so that commit hashes are the same in both runs.
const DATES: &str = "export GIT_AUTHOR_DATE=2001-01-01T00:00:00Z GIT_COMMITTER_DATE=2001-01-01T00:00:00Z;";

/// A day of work with git. Each line runs as one command.
const DAY: &[&str] = &[
    "echo three >> a.txt && git commit -am third",
    "git add -A && git status --short",
    "printf '#!/bin/sh\\necho formatted >> log.txt; git add log.txt\\n' > check.sh && chmod +x check.sh",
    "git add check.sh && git commit -m 'add check'",
    "git commit --amend -m 'add a check'",
    "git checkout -b feature && echo f > f.txt && git add f.txt && git commit -m 'feature'",
    "echo g > g.txt && git add g.txt && git commit -m 'more'",
    "git switch main && echo m >> a.txt && git commit -am 'on main'",
    "git merge --no-edit feature",
    "git branch -m feature done && git branch side HEAD~1",
    "git switch side && echo side >> a.txt && git commit -am 'on side'",
    "git merge main; git status --short",
    "printf 'one\\nresolved\\n' > a.txt && git add a.txt && git commit --no-edit",
    "git switch -c topic HEAD~1 && echo t > t.txt && git add t.txt && git commit -m topic",
    "git rebase main || true",
    "git checkout --theirs a.txt; git add -A; GIT_EDITOR=: git rebase --continue || git rebase --skip || git rebase --abort",
    "echo dirty >> src/x && git stash",
    "git stash list && git stash pop",
    "git checkout -- src/x",
    "git mv t.txt u.txt && git commit -m 'rename'",
    "git rm -q u.txt && git commit -m 'remove'",
    "git revert --no-edit HEAD",
    "git cherry-pick -x HEAD~1 || git cherry-pick --skip || git cherry-pick --abort",
    "git tag v1 && git tag -a v2 -m 'second tag' && git tag -d v1",
    "git worktree add wt -b in-worktree && cd wt && echo w > w.txt && git add w.txt && git commit -m 'in a worktree'",
    "cd wt && echo w2 >> w.txt && git commit -am 'again'",
    "git worktree remove wt && git worktree prune",
    "git reset --soft HEAD~1 && git commit -m 'again'",
    "git reset --hard HEAD~1",
    "git sparse-checkout set src && git sparse-checkout disable",
    "git notes add -m note HEAD",
    "git config user.name b && git config pull.rebase true",
    "git remote add origin https://example.invalid/x.git && git remote set-url origin ssh://git@example.invalid/x",
    "git bisect start HEAD HEAD~3 && git bisect good && git bisect reset",
    "git pack-refs --all && git gc -q && git repack -adq",
    "git clean -fdq && git branch -D done && git switch main",
    "git init -q lib && cd lib && git config user.name c && git config user.email c@d && echo l > l && git add l && git commit -qm lib",
    "cd lib && echo l2 >> l && git commit -qam lib2",
    "git clone -q --no-hardlinks lib copy && rm -rf copy",
];

/// Returns git's description of a repository, without times and inode numbers.
fn state(root: &Path) -> String {
    let questions = "git for-each-ref; git symbolic-ref HEAD; git ls-files -s; git status --porcelain; git stash list; git config --local --list; \
                     git log --all --format='%H %P %s'; git worktree list --porcelain | sed 's#/.*/##'; git reflog --format='%H %gs'; git fsck --full 2>&1; \
                     find . -path ./.git -prune -o -type f -print | sort; [ ! -d lib ] || git -C lib log --format='%H %s'";
    let done = Command::new("sh").args(["-c", questions]).current_dir(root).output().expect("there is a shell");
    format!("{}{}", String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr))
}

fn plainly(root: &Path, command: &str) {
    let mut bash = Command::new("bash");
    bash.args(["-c", &format!("{DATES} {command}")]).current_dir(root).env("GIT_CONFIG_GLOBAL", "/dev/null");
    bash.env("GIT_EDITOR", ":").env("GIT_SEQUENCE_EDITOR", ":").output().expect("there is a shell");
}

/// Creates a project with the repository of [`BEGIN`].
fn begun(mode: AskMode) -> Option<Copied> {
    let copied = Copied::new(mode)?;
    plainly(&copied.place.root, BEGIN);
    assert!(copied.place.at(".git/index").exists());
    Some(copied)
}

#[test]
fn a_day_of_git_leaves_the_repository_of_a_plain_run() {
    let Some(mut copied) = begun(AskMode::Never) else { return };
    let plain = super::Place::new();
    plainly(&plain.root, BEGIN);
    for command in DAY {
        plainly(&plain.root, command);
        let turn = copied.bash(&format!("{DATES} {command}"), &[]);
        assert!(!turn.output().contains("Not kept"), "{command}: {}", turn.output());
        assert_eq!(state(&copied.place.root), state(&plain.root), "{command}: {}", turn.output());
    }
}

#[test]
fn the_question_describes_the_changes_of_a_repository_in_terms_of_git() {
    let Some(mut copied) = begun(AskMode::Risky) else { return };
    for (command, summary, lines) in [
        ("echo x >> a.txt; git commit -qam 'Fix median'", "1 file and the repository", "' on main: 1 file\n"),
        ("git branch topic", "the repository", "git: branch topic created at "),
        ("git switch -q topic", "the repository", "git: switched to branch topic\n"),
        ("echo y > y; git add y; git commit -qm 'Add y'", "1 file and the repository", "'Add y' on topic: 1 file\n"),
        ("git reset -q --hard HEAD~1", "1 file and the repository", "; 1 commit is no longer on it\n"),
        ("git switch -q main; git branch -D topic", "the repository", "git: branch topic deleted, it was at "),
        ("echo z >> a.txt; git stash -q", "the repository", "git: changes stashed\n"),
        ("git stash drop -q", "the repository", "git: a stash dropped\n"),
        ("git tag v1", "the repository", "git: tag v1 created at "),
        ("git config user.name 'A B'", "the repository", "git: setting user.name = A B\n"),
        ("echo n > n; git add n", "1 file and the repository", "git: the list of staged files\n"),
        ("git rm -q --cached n", "the repository", "git: the list of staged files\n"),
    ] {
        let turn = copied.bash(command, &[Say::Yes]);
        let question = turn.question();
        assert!(
            question.reason.ends_with(&format!(" changed {summary}. Keep the changes?")),
            "{command}: {question:?}"
        );
        let details = question.changes.as_deref().expect("it has run");
        assert!(details.contains(lines), "{command}: {details}");
        assert!(turn.output().starts_with(&format!("[Kept: {summary}]")), "{command}: {}", turn.output());
    }
}

#[test]
fn a_repository_without_a_change_is_not_asked_about() {
    let Some(mut copied) = begun(AskMode::Risky) else { return };
    for command in ["touch a.txt && git status", "git diff", "git log --oneline", "git stash list", "git add ."] {
        copied.bash(command, &[]);
    }
    // These commands write only internal files of git.
    for command in ["touch a.txt && git commit -qam nothing", "git fetch -q nowhere", "git reset -q --hard HEAD"] {
        copied.bash(command, &[]);
    }
    let stored = copied.bash("echo x | git hash-object -w --stdin", &[Say::Yes]);
    assert!(stored.question().changes.as_deref().is_some_and(|changes| changes.contains("keeps for itself")));
}

#[test]
fn a_refused_commit_leaves_every_byte_as_it_was() {
    let Some(mut copied) = begun(AskMode::Risky) else { return };
    let before = copied.picture();
    let turn = copied.bash("echo x >> a.txt; git commit -qam no; git branch b", &[Say::No("not now")]);
    assert_eq!(turn.output(), "[Not kept: a.txt, .git: not now]\n");
    assert_eq!(copied.picture(), before);
}

#[test]
fn the_mode_sandboxed_asks_about_lost_history() {
    let Some(mut copied) = begun(AskMode::Sandboxed) else { return };
    copied.place.file(".git/info/exclude", "build\n");
    copied.bash("git init -q build/lib; git branch x/y; git tag v1; git worktree add -q wt", &[]);
    copied.bash("echo x >> a.txt; git commit -qam x; git branch b; git switch -q b; echo y >> a.txt; git stash -q; git init -q lib", &[]);
    for command in [
        "git commit -q --amend -m y",
        "git reset -q --hard HEAD~1",
        "git switch -q main; git branch -D b",
        "git update-ref refs/heads/main HEAD~1",
        "git stash drop -q",
        "git stash pop -q",
        "rm -rf .git/logs",
        "git branch -q -D x/y; git branch x",
        "git tag -f v1 HEAD",
        "rm -rf .git/refs/heads/x; git rev-parse main > .git/refs/heads/x",
        "rm .git/logs/refs/stash; mkdir .git/logs/refs/stash",
        "for f in .git/objects/??/*; do rm -f $f; mkdir $f; done",
        "git rev-parse HEAD > .git/shallow",
        "git worktree remove --force wt",
        "rm -rf build",
        "git reflog expire --expire=now --all; git gc -q --prune=now",
        "rm -rf lib",
    ] {
        copied.place.file("attempt.sh", command);
        let before = copied.picture();
        let turn = copied.bash(". ./attempt.sh", &[Say::No("no")]);
        assert!(turn.question().changes.is_some(), "{command}");
        assert_eq!(copied.picture(), before, "{command}");
    }
    // Commits on a detached HEAD.
    let turn = copied.bash("git switch -q --detach; git commit -q --allow-empty -m lost", &[]);
    assert_eq!(turn.output(), "[Kept: the repository]\n");
    assert!(copied.bash("git switch -q main", &[Say::No("no")]).question().changes.is_some());
    let Some(mut copied) = begun(AskMode::Never) else { return };
    copied.bash("git commit -q --amend -m y", &[]);
    assert!(state(&copied.place.root).contains(" y\n"));
}

/// Returns an index with one file, whose path git would not accept (gitformat-index(5), version 2).
fn index_with_path(path: &str) -> Vec<u8> {
    let mut index = b"DIRC\0\0\0\x02\0\0\0\x01".to_vec();
    index.extend([0; 24]);
    index.extend(0o100_644_u32.to_be_bytes());
    index.extend([0; 12]);
    // The hash of the empty blob.
    index.extend(*b"\xe6\x9d\xe2\x9b\xb2\xd1\xd6\x43\x4b\x8b\x29\xae\x77\x5a\xd8\xc2\xe4\x8c\x53\x91");
    index.extend(u16::try_from(path.len()).expect("it is short").to_be_bytes());
    index.extend(path.as_bytes());
    index.extend(vec![0; 8 - (62 + path.len()) % 8]);
    // Git does not verify a checksum of zeros (`index.skipHash`).
    index.extend([0; 20]);
    index
}

/// The other changes of the command are kept.
#[test]
fn a_repository_with_a_change_that_could_run_a_program_is_not_kept() {
    for (command, named) in [
        ("git config core.fsmonitor ./x", ".git/config"),
        ("git config --unset user.name; git config core.hooksPath hooks", ".git/config"),
        ("git config remote.origin.url 'ext::sh -c x'", ".git/config"),
        ("git config branch.main.mergeOptions -sx", ".git/config"),
        ("echo x > .git/hooks/post-commit", ".git/hooks/post-commit"),
        ("mkdir -p .git/info; echo '* filter=x' > .git/info/attributes", ".git/info/attributes"),
        ("mkdir -p .git/objects/info; echo /tmp/o > .git/objects/info/alternates", ".git/objects/info/alternates"),
        ("ln -s /etc/passwd .git/refs/heads/x", ".git/refs/heads/x"),
        ("rm -rf .git", ".git"),
        (
            "mkdir .git/rebase-merge; echo 'exec ./x' > .git/rebase-merge/git-rebase-todo",
            ".git/rebase-merge/git-rebase-todo",
        ),
        ("mkdir .git/rebase-merge; echo x/y > .git/rebase-merge/strategy", ".git/rebase-merge/strategy"),
        (
            "mkdir .git/sequencer; printf '[options]\\n\\tstrategy = x/y\\n' > .git/sequencer/opts",
            ".git/sequencer/opts",
        ),
        ("mkdir -p .git/worktrees/w; echo ../../../e > .git/worktrees/w/commondir", ".git/worktrees/w/commondir"),
        ("mkdir -p .git/worktrees/w; echo /etc/.git > .git/worktrees/w/gitdir", ".git/worktrees/w/gitdir"),
        (
            "mkdir -p .git/modules/m; cp -r .git/HEAD .git/objects .git/refs .git/hooks .git/modules/m; echo x > .git/modules/m/hooks/x",
            ".git/modules/m",
        ),
        ("git commit --allow-empty -m x; echo x > .git/hooks/pre-push", ".git/hooks/pre-push"),
        ("mkdir sub; echo \"gitdir: $PWD/e\" > sub/.git; cp -r .git e; echo x > e/hooks/pre-commit", "sub/.git"),
        ("git init -q sub; echo x > sub/.git/hooks/pre-commit", "sub/.git"),
        ("git init -q sub; mkdir sub/.git/logs; ln -s /etc/passwd sub/.git/logs/HEAD", "sub/.git"),
        ("git init -q sub; git -C sub config core.worktree ../../../x", "sub/.git"),
        ("git init -q sub; cp bad-index sub/.git/index", "sub/.git"),
        ("cp bad-index .git/index", ".git/index"),
        ("head -c 40 .git/index > i; cat i > .git/index; rm i", ".git/index"),
        (
            "mkdir -p .git/objects/zz/objects .git/objects/zz/refs; cp .git/HEAD .git/objects/zz; echo \"gitdir: $PWD/.git/objects/zz\" > src/.git",
            ".git/objects/zz/HEAD",
        ),
        ("for f in $(find .git/objects -type f); do chmod u+w $f; : > $f; done", ".git/objects/"),
        ("echo \"gitdir: ../.git\" > src/.git", "src/.git"),
        ("mkdir logs; git init -q logs/sub; cp bad-index logs/sub/.git/index", "logs/sub/.git"),
        ("echo \"$(git rev-parse HEAD~1) refs/replace/$(git rev-parse HEAD)\" > .git/packed-refs", ".git/packed-refs"),
        (
            "h=$(git rev-parse HEAD); printf '%s refs/heads/b\\n%s refs/heads/a\\n' $h $h > .git/packed-refs",
            ".git/packed-refs",
        ),
        ("rm .git/config; mkdir .git/config", ".git/config"),
        (": > .git/objects/pack/multi-pack-index", ".git/objects/pack/multi-pack-index"),
        ("printf 'x\\t/etc/passwd\\0' > .git/MERGE_RR", ".git/MERGE_RR"),
        // At the next commit, git would copy the blocked file to where a command can read it.
        (
            "h=0123456789012345678901234567890123456789; mkdir -p .git/rr-cache/$h; echo x > .git/rr-cache/$h/preimage; \
             printf '%s\\t.env\\0' $h > .git/MERGE_RR",
            ".git/MERGE_RR",
        ),
        // A split index keeps entries in a second file, which could be missing in the project.
        ("echo s > s; git add s; git update-index --split-index; rm -f s", ".git/index"),
        (
            "mkdir .git/rebase-apply; echo \" '--build-fake-ancestor=/tmp/x'\" > .git/rebase-apply/apply-opt",
            ".git/rebase-apply/apply-opt",
        ),
        ("git replace HEAD HEAD~1", ".git/refs/replace/"),
        ("ln -s ../.git src/.git", "src/.git"),
    ] {
        let Some(mut copied) = begun(AskMode::Never) else { return };
        let before = super::picture(&copied.place.at(".git"));
        std::fs::write(copied.place.at("bad-index"), index_with_path(".git/hooks/pre-commit"))
            .expect("it can be written");
        copied.place.file("attempt.sh", format!("{command}; echo kept > kept.txt"));
        let turn = copied.bash(". ./attempt.sh", &[]);
        assert!(turn.output().contains(&format!("[Not kept: {named}")), "{command}: {}", turn.output());
        assert_eq!(super::picture(&copied.place.at(".git")), before, "{command}: {}", turn.output());
        assert!(copied.place.at("kept.txt").exists(), "{command}: {}", turn.output());
        assert!(
            !copied.place.at(named).exists() || copied.place.at(named).starts_with(copied.place.at(".git")),
            "{command}"
        );
    }
}

#[test]
fn hooks_run_confined_and_their_changes_are_kept_with_the_commit() {
    let Some(mut copied) = begun(AskMode::Never) else { return };
    copied
        .place
        .file(".git/hooks/pre-commit", "#!/bin/sh\necho hook > from-hook; git add from-hook; touch ../outside\n");
    plainly(&copied.place.root, "chmod +x .git/hooks/pre-commit");
    copied.bash("git commit -qm hooked --allow-empty", &[]);
    assert_eq!(copied.place.content("from-hook"), "hook\n");
    assert!(state(&copied.place.root).contains(" hooked\n"));
    assert!(!copied.place.root.with_file_name("outside").exists());
}

/// A second command cannot complete the files that make a folder a repository.
#[test]
fn an_existing_folder_does_not_become_a_repository() {
    let Some(mut copied) = begun(AskMode::Never) else { return };
    copied.bash("mkdir x; printf '[core]\\n\\tworktree = ..\\n\\tfsmonitor = x\\n' > x/config", &[]);
    assert!(copied.place.at("x/config").exists());
    let turn = copied.bash("cd x; mkdir objects refs; echo 'ref: refs/heads/main' > HEAD", &[]);
    assert!(turn.output().contains("[Not kept: x/HEAD: "), "{}", turn.output());
    assert!(!copied.place.at("x/HEAD").exists());
}
