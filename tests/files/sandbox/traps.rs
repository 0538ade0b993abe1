//! Tests traps for the host's git. A command plants a trap and ends in one of several ways. Then git runs on the host,
//! as prompts, editors and people run it. No planted program may run.

use super::left::running;
use super::{Place, block_on, has_sandbox};
use crate::marks;
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};
use toolfence_policy::toolbox::NoProgress;
use toolfence_policy::{AskMode, Policy, Verdict};
use toolfence_protocol::{Args, ToolCall};
use toolfence_sandbox::isolation::Settings;
use toolfence_tools as tools;

/// A trap. `PWN` in the scripts is a command that creates a file outside the project, where the sandbox cannot write.
struct Trap {
    name: &'static str,
    /// A script that prepares the user's files on the host.
    before: &'static str,
    /// The script of the command.
    plant: &'static str,
}

const fn trap(name: &'static str, before: &'static str, plant: &'static str) -> Trap {
    Trap { name, before, plant }
}

const CONFIG: &str = "evil() { printf '[core]\\n\\trepositoryformatversion = 0\\n\\tbare = false\\n\\tfsmonitor = \"PWN; false\"\\n\
                      \\tsshCommand = \"PWN; false\"\\n\\teditor = \"PWN; false\"\\n[diff]\\n\\texternal = \"PWN; false\"\\n\
                      [filter \"x\"]\\n\\tclean = \"PWN; cat\"\\n\\tsmudge = \"PWN; cat\"\\n[alias]\\n\\tst = \"!PWN\"\\n'; };\n\
                      hook() { mkdir -p \"$1\"; for n in pre-commit post-checkout post-index-change pre-rebase post-commit reference-transaction \
                      post-merge post-rewrite; do rm -f \"$1/$n\"; printf '#!/bin/sh\\nPWN\\n' > \"$1/$n\"; chmod +x \"$1/$n\"; done; };\n";

const TRAPS: &[Trap] = &[
    trap("hooks", "", "hook .git/hooks"),
    trap("config", "", "evil > .git/config; evil >> .git/config; evil > c; mv c .git/config"),
    trap("git config", "", "git config core.fsmonitor 'PWN; false'; git config core.hooksPath hk; hook hk"),
    trap("commondir", "", "cp -r .git e; evil > e/config; echo ../e > .git/commondir"),
    trap("config.worktree", "git config extensions.worktreeConfig true", "evil > .git/config.worktree"),
    trap("moved away", "", "cp -r .git e; evil > e/config; hook e/hooks; mv .git x; mv e .git"),
    trap(
        ".git is a file",
        "mv .git .bare; echo 'gitdir: ./.bare' > .git",
        "evil > .bare/config; hook .bare/hooks; cp -r .bare e; evil > e/config; mv .bare x; mv e .bare; echo 'gitdir: ./e' > .git",
    ),
    trap(
        ".git is a link",
        "mv .git real.git; ln -s real.git .git",
        "evil > real.git/config; hook real.git/hooks; cp -r real.git e; evil > e/config; rm -f .git; ln -s e .git",
    ),
    trap(
        ".git is a link that becomes a folder",
        "mv .git real.git; ln -s real.git .git",
        "rm .git; cp -r real.git .git; git config -f .git/config core.fsmonitor 'PWN; false'",
    ),
    trap("hooksPath is a link", "mkdir hk; ln -s hk hkl; git config core.hooksPath hkl", "rm hkl; mkdir hkl; hook hkl"),
    trap(
        "hooksPath is a link that leads elsewhere",
        "mkdir hk hk3; ln -s hk hkl; git config core.hooksPath hkl",
        "hook hk3; rm hkl; ln -s hk3 hkl",
    ),
    trap(
        "hooksPath below a link",
        "mkdir -p t2/hooks; ln -s t2 tools; git config core.hooksPath tools/hooks",
        "rm tools; mkdir -p tools/hooks; hook tools/hooks",
    ),
    trap(
        "hooksPath below a folder that becomes a link",
        "mkdir -p tools/hooks; git config core.hooksPath tools/hooks",
        "mkdir -p evil/hooks; hook evil/hooks; mv tools old; ln -s evil tools",
    ),
    trap(
        "hooks are a link to a link",
        "mkdir hk2; ln -s hk2 hk; rm -rf .git/hooks; ln -s ../hk .git/hooks",
        "rm hk; mkdir hk; hook hk",
    ),
    trap(
        "a hook through two links",
        "mkdir scripts impl; printf '#!/bin/sh\n' > impl/x; chmod +x impl/x; ln -s ../impl/x scripts/pc.sh; ln -s ../../scripts/pc.sh .git/hooks/pre-commit",
        "rm scripts/pc.sh; printf '#!/bin/sh\nPWN\n' > scripts/pc.sh; chmod +x scripts/pc.sh",
    ),
    trap(
        "include.path below a link",
        "mkdir inc inc2; echo > inc/c; ln -s inc incl; git config include.path ../incl/c",
        "evil > inc2/c; rm incl; ln -s inc2 incl",
    ),
    trap(
        "a filter below a link",
        "mkdir t2; echo cat > t2/c.sh; ln -s t2 tools; git config filter.z.clean 'sh tools/c.sh'; echo '* filter=z' > .gitattributes",
        "rm tools; mkdir tools; echo 'PWN; cat' > tools/c.sh; echo 2 > a",
    ),
    trap("hooks are a link that leads nowhere", "rm -rf .git/hooks; ln -s ../hk .git/hooks", "mkdir hk; hook hk"),
    trap(
        "a hook is a link that leads nowhere",
        "ln -s ../../scripts/pc.sh .git/hooks/pre-commit",
        "mkdir scripts; printf '#!/bin/sh\nPWN\n' > scripts/pc.sh; chmod +x scripts/pc.sh",
    ),
    trap(
        "a program by its whole path",
        "git config diff.external \"$PWD/t/x\"",
        "mkdir t; printf '#!/bin/sh\nPWN\n' > t/x; chmod +x t/x; echo 2 > a",
    ),
    trap(
        "a program in a folder that is entered",
        "mkdir tools; echo cat > tools/c.sh; git config filter.y.clean 'cd tools && sh c.sh'; echo '* filter=y' > .gitattributes",
        "echo 'PWN; cat' > tools/c.sh; echo 2 > a",
    ),
    trap(
        "the template of new repositories",
        "git config --global init.templateDir \"$PWD/tpl\"; mkdir -p tpl/hooks",
        "hook tpl/hooks",
    ),
    trap(
        "the template of new repositories is missing",
        "git config --global init.templateDir \"$PWD/tpl\"",
        "mkdir tpl; hook tpl/hooks",
    ),
    trap(
        "hooksPath with a comment",
        "mkdir hk; printf '[core]\\n\\thooksPath = hk ; comment\\n' >> .git/config",
        "hook hk",
    ),
    trap("hooksPath in part quotes", "mkdir hk; printf '[core]\\n\\thooksPath = h\"k\"\\n' >> .git/config", "hook hk"),
    trap("hooksPath that is missing", "git config core.hooksPath .husky", "hook .husky"),
    trap(
        "hooksPath of husky",
        "mkdir -p .husky/_; git config core.hooksPath .husky/_; printf '#!/bin/sh\\nsh .husky/pre-commit\\n' > \
          .husky/_/pre-commit; chmod +x .husky/_/pre-commit; echo true > .husky/pre-commit",
        "echo PWN > .husky/pre-commit; hook .husky/_",
    ),
    trap(
        "hooksPath included",
        "mkdir hk; printf '[core]\\n\\thooksPath = hk\\n' > .git/inc; git config include.path inc",
        "hook hk",
    ),
    trap("hooksPath of the person", "mkdir hk; git config --global core.hooksPath hk", "hook hk; mv hk x; hook hk"),
    trap(
        "hooksPath of the person, a new repository",
        "git config --global core.hooksPath hk",
        "mkdir sub; cd sub; git init -q .; hook hk",
    ),
    trap(
        "hooksPath below a folder that moves",
        "mkdir -p a/b/hk; git config core.hooksPath a/b/hk",
        "hook a/b/hk; mv a x; hook a/b/hk",
    ),
    trap(
        "include.path",
        "printf '[user]\\n\\tname = n\\n' > .gitconfig; git config include.path ../.gitconfig",
        "evil > .gitconfig; evil > c; mv c .gitconfig",
    ),
    trap("include.path that is missing", "git config include.path ../team.gitconfig", "evil > team.gitconfig"),
    trap(
        "config is a link",
        "mkdir cfg; mv .git/config cfg/gitconfig; ln -s ../cfg/gitconfig .git/config",
        "evil > cfg/gitconfig; mv cfg x; mkdir cfg; evil > cfg/gitconfig",
    ),
    trap("hooks are a link", "mkdir hk; rm -rf .git/hooks; ln -s ../hk .git/hooks", "hook hk; mv hk x; hook hk"),
    trap(
        "a hook is a link",
        "mkdir scripts; printf '#!/bin/sh\\ntrue\\n' > scripts/pc.sh; chmod +x scripts/pc.sh; ln -s ../../scripts/pc.sh .git/hooks/pre-commit",
        "echo PWN > scripts/pc.sh; mv scripts x; mkdir scripts; printf '#!/bin/sh\\nPWN\\n' > scripts/pc.sh; chmod +x scripts/pc.sh",
    ),
    trap(
        "a program of the configuration",
        "mkdir tools; echo cat > tools/clean.sh; git config filter.x.clean 'sh ./tools/clean.sh'; echo '*.x filter=x' > .gitattributes; echo 1 > a.x",
        "echo PWN > tools/clean.sh; mv tools y; mkdir tools; echo PWN > tools/clean.sh; echo 2 > a.x",
    ),
    trap(
        "a bare repository",
        "",
        "mkdir -p docs/objects docs/refs; echo 'ref: refs/heads/master' > docs/HEAD; evil | sed 's/bare = false/bare = false\\n\\tworktree = ./' > docs/config; hook docs/hooks",
    ),
    trap(
        "a bare repository by commondir",
        "",
        "mkdir -p docs c/objects c/refs; echo 'ref: refs/heads/master' > docs/HEAD; cp docs/HEAD c; echo ../c > docs/commondir; evil > c/config",
    ),
    trap(
        "modules",
        "printf '[submodule \"sub\"]\\n\\tpath = sub\\n\\turl = ./origin.git\\n' > .gitmodules; git -c protocol.file.allow=always clone -q --bare . origin.git; git add .gitmodules; git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),sub; git commit -qm sub",
        "mkdir -p .git/modules/sub; (cd .git; cp -r HEAD config objects refs hooks index modules/sub); hook .git/modules/sub/hooks",
    ),
    trap(
        "a new repository",
        "",
        "mkdir sub; cd sub; git init -q .; evil > .git/config; hook .git/hooks; echo '* filter=x' > .gitattributes; echo 1 > f",
    ),
    trap("a new repository with hooks", "", "mkdir sub; cd sub; git init -q .; hook .git/hooks"),
    trap(
        "a new repository with a link",
        "",
        "mkdir sub; cd sub; git init -q .; evil > ../conf; rm .git/config; ln -s ../../conf .git/config",
    ),
    trap(
        "a new repository with an unfinished rebase",
        "",
        "mkdir sub; cd sub; git init -q .; git -c user.name=n -c user.email=e commit -q --allow-empty -m x; mkdir .git/rebase-merge; \
          git rev-parse HEAD > .git/rebase-merge/onto; git rev-parse HEAD > .git/rebase-merge/orig-head; echo refs/heads/master > .git/rebase-merge/head-name; \
          echo 'exec PWN' > .git/rebase-merge/git-rebase-todo; touch .git/rebase-merge/interactive .git/rebase-merge/done; echo 1 > .git/rebase-merge/msgnum; echo 1 > .git/rebase-merge/end",
    ),
    trap(
        "an unfinished rebase",
        "",
        "mkdir -p .git/rebase-merge; git rev-parse HEAD > .git/rebase-merge/onto; cp .git/rebase-merge/onto .git/rebase-merge/orig-head; echo refs/heads/master > .git/rebase-merge/head-name; \
          echo 'exec PWN' > .git/rebase-merge/git-rebase-todo; touch .git/rebase-merge/interactive .git/rebase-merge/done",
    ),
    trap("in a folder that cannot be listed", "", "mkdir -p d; cd d; git init -q .; evil > .git/config; chmod 0311 ."),
    trap(
        "a worktree of another",
        "git worktree add -q wt",
        "evil > .git/worktrees/wt/config.worktree; cp -r .git e; evil > e/config; echo \"gitdir: $PWD/e\" > wt/.git; mkdir sub; echo \"gitdir: $PWD/e\" > sub/.git",
    ),
    trap(
        "swapped with its folder",
        "mkdir sub; cd sub; git init -q .",
        "cp -r sub y; evil > y/.git/config; mv sub x; mv y sub",
    ),
    trap(
        "a strategy of an unfinished rebase",
        "echo 2 > b; git add b; git commit -qm b; git checkout -q -b t; echo 3 > a; git commit -qam t; echo 3 > b; git commit -qam t2; git checkout -q master; echo 4 > a; git commit -qam m; git checkout -q t; git rebase -q master; git checkout -q --theirs a; git add a",
        "mkdir -p git-merge-x; printf '#!/bin/sh\nPWN\n' > git-merge-x/e; chmod +x git-merge-x/e; echo x/e > .git/rebase-merge/strategy",
    ),
    trap(
        "a strategy of an unfinished cherry-pick",
        "git checkout -q -b t; echo 3 > a; git commit -qam t; echo 3 > b; git add b; git commit -qm t2; git checkout -q master; echo 4 > a; git commit -qam m; git cherry-pick t~1 t; git checkout -q --theirs a; git add a",
        "mkdir -p git-merge-x; printf '#!/bin/sh\nPWN\n' > git-merge-x/e; chmod +x git-merge-x/e; printf '[options]\n\tstrategy = x/e\n' > .git/sequencer/opts",
    ),
    trap("after a set-aside name", "", "mkdir sub; cd sub; git init -q .; evil > .git/config; cd .git; evil > config"),
];

/// How a command ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    ByItself,
    TimedOut,
    Cancelled,
    /// SIGKILL ends the host.
    HostKilled,
    /// The command still runs while git runs on the host.
    Running,
}

const ALL_ENDS: &[End] = &[End::ByItself, End::TimedOut, End::Cancelled, End::HostKilled, End::Running];

/// How a command sees the project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    /// On a private copy, whose changes are kept if possible.
    Copy,
    /// Without private copies, read-only.
    ReadOnly,
    /// Without private copies, with `write: true`.
    Write,
}

/// The git commands that prompts, editors and people run, in every folder where git could find a repository.
const BATTERY: &str = "for at in $(find . -type d \\( -name objects -o -name refs -o -name hooks -o -name info -o -name logs -o -name branches \\) -prune -o -type d -print 2>/dev/null); do (cd \"$at\" 2>/dev/null || exit 0; \
    git submodule update --init; git status; git diff; git log -1 -p; git st; git add -A; git commit -q --allow-empty -m x; git commit -q --amend --allow-empty; git fetch; \
    git rebase --continue; git cherry-pick --continue; git checkout -q -b z$$; git stash) >/dev/null 2>&1 </dev/null; [ ! -e PLACE ] || break; done; \
    d=$(mktemp -d); (cd $d && git init -q . && git commit -q --allow-empty -m x) >/dev/null 2>&1 </dev/null; rm -rf $d";

struct Host {
    place: Place,
    home: PathBuf,
}

impl Host {
    /// Creates a home, and a project with a commit and two remotes.
    fn new() -> Host {
        let host = Host::empty();
        fs::create_dir(&host.home).expect("it can be made");
        host.runs(
            "git config --global maintenance.autoDetach false; git config --global user.name n; git config --global user.email e@example.invalid; git config --global \
             safe.directory '*'; git config --global init.defaultBranch master; git config --global protocol.file.allow always; git config --global core.fsync none; git init -q .; echo 1 > a; git add a; git commit \
             -qm a; git init -q --bare ../beside/origin.git; git remote add origin ../beside/origin.git; git push -q origin master; git \
             remote add by-ssh ssh://host.invalid/x; git config remotes.default 'origin by-ssh'",
        );
        host
    }

    /// Copies this home and project to new folders, which is faster than to create them with git.
    fn copy(&self) -> Host {
        let copy = Host::empty();
        for (from, to) in [(&self.place.root, &copy.place.root), (&self.place.beside, &copy.place.beside)] {
            let copied = Command::new("cp").args(["-a", "--"]).arg(from.join(".")).arg(to).status();
            assert!(copied.expect("there is a cp").success());
        }
        copy
    }

    fn empty() -> Host {
        let place = Place::new();
        let home = place.beside.join("home");
        Host { place, home }
    }

    fn pwned(&self) -> PathBuf {
        self.place.beside.join("pwned")
    }

    fn script(&self, text: &str) -> String {
        let pwned = self.pwned().display().to_string();
        text.replace("PWN", &format!("touch {pwned}")).replace("PLACE", &pwned)
    }

    /// Runs a script on the host as the user, outside the sandbox.
    fn runs(&self, script: &str) {
        let mut child = Command::new("timeout")
            .args(["60", "bash", "-c", &self.script(script)])
            .current_dir(&self.place.root)
            .env("HOME", &self.home)
            .env("GIT_TERMINAL_PROMPT", "0")
            // The configuration may name no editor.
            .env("EDITOR", "true")
            .env_remove("XDG_CONFIG_HOME")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("there is a bash");
        let _ = child.wait();
    }

    /// Plants the trap with a command that has this access and ends in this way, and then runs git. Returns `true` if a
    /// planted program ran.
    fn falls(&self, trap: &Trap, end: End, access: Access) -> bool {
        self.runs(trap.before);
        // The script is in a file, because the policy judges the command line and not what a script does.
        let script = format!("{CONFIG}\n( {} )\nsleep ${{1:-0}}\n", trap.plant);
        self.place.file("attempt.sh", self.script(&script));
        // Each command sleeps for a unique number of seconds, by which its process is found.
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let fraction = format!("0{}{:04}", marks::run(), NUMBER.fetch_add(1, Relaxed));
        let seconds = match end {
            End::ByItself => "0".to_owned(),
            End::Running => format!("6.{fraction}"),
            _ => format!("60.{fraction}"),
        };
        // The host is a separate process, because each needs its own home.
        let mut host = Command::new(std::env::current_exe().expect("this program has a file"))
            .args(["--exact", "sandbox::traps::a_host_for_the_trap", "--nocapture"])
            .env(HOST, &self.place.root)
            .env(END, format!("{end:?}"))
            .env(ACCESS, format!("{access:?}"))
            .env(SECONDS, &seconds)
            .env("HOME", &self.home)
            .env_remove("XDG_CONFIG_HOME")
            .env_remove("XDG_STATE_HOME")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("this program can be started");
        let began = Instant::now();
        if matches!(end, End::HostKilled | End::Running) {
            while running(&format!("sleep {seconds}")) == 0 && began.elapsed() < Duration::from_secs(20) {
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        match end {
            End::HostKilled => {
                host.kill().expect("it runs");
                host.wait().expect("it is ours");
            }
            End::Running => {
                self.runs(BATTERY);
                host.wait().expect("it is ours");
            }
            End::ByItself | End::TimedOut | End::Cancelled => drop(host.wait().expect("it is ours")),
        }
        self.runs(BATTERY);
        self.pwned().exists()
    }
}

const HOST: &str = "TOOLFENCE_TEST_TRAP_HOST";
const END: &str = "TOOLFENCE_TEST_TRAP_END";
const ACCESS: &str = "TOOLFENCE_TEST_TRAP_ACCESS";
const SECONDS: &str = "TOOLFENCE_TEST_TRAP_SECONDS";

/// The host whose command plants the trap.
#[test]
fn a_host_for_the_trap() {
    let (Some(root), Ok(end)) = (std::env::var_os(HOST), std::env::var(END)) else { return };
    let (Ok(access), Ok(seconds)) = (std::env::var(ACCESS), std::env::var(SECONDS)) else { return };
    let runner = super::runner(Path::new(&root), Settings::new());
    let runner = match (access.as_str(), std::env::var_os("HOME")) {
        ("Copy", Some(home)) => {
            let runner = runner.private_copies(&Path::new(&home).join("state"));
            assert_eq!(runner.no_private_copies(), None);
            runner
        }
        _ => runner,
    };
    let runner = Arc::new(runner);
    let (timeout, patience) = match end.as_str() {
        "TimedOut" => (1, None),
        "Cancelled" => (30, Some(Duration::from_millis(700))),
        _ => (60, None),
    };
    let command = format!("bash ./attempt.sh {seconds} >/dev/null 2>&1");
    let mut args = json!({"command": command, "timeout": timeout});
    if access == "Write" {
        args["write"] = true.into();
    }
    let args: Args = args.as_object().expect("an object").clone().into_iter().collect();
    let toolbox = tools::standard(Arc::clone(&runner));
    let call = ToolCall::new("1", "bash", args);
    let policy = Policy::default().ask(AskMode::Never);
    let Verdict::Cleared(cleared) = policy.review(call, &toolbox.catalog(), runner.as_ref()) else {
        panic!("the policy does not clear it");
    };
    block_on(async {
        let run = toolbox.run(cleared, &NoProgress);
        match patience {
            Some(patience) => drop(tokio::time::timeout(patience, run).await),
            None => drop(run.await),
        }
    });
}

fn is_here() -> bool {
    let git = Command::new("git").arg("--version").stdout(Stdio::null()).status().is_ok_and(|status| status.success());
    if !git {
        eprintln!("skipped: there is no git");
    }
    git && has_sandbox(&Place::new().runner())
}

/// Without a sandbox every trap works. If one did not, the other tests would prove nothing about it.
#[test]
fn every_trap_works_without_a_sandbox() {
    if !is_here() {
        return;
    }
    let first = Host::new();
    let fell: Vec<&str> = in_parallel(TRAPS, |trap| {
        let host = first.copy();
        host.runs(trap.before);
        let script = format!("{CONFIG}\n( {} )\n", trap.plant);
        host.place.file("attempt.sh", host.script(&script));
        host.runs("bash ./attempt.sh >/dev/null 2>&1");
        host.runs(BATTERY);
        (!host.pwned().exists()).then_some(trap.name)
    });
    assert!(fell.is_empty(), "these traps do not work: {fell:?}");
}

/// The mode `never` keeps every change that can be kept, without a question.
#[test]
fn no_planted_program_runs_when_changes_of_a_command_are_kept() {
    try_all(Access::Copy, ALL_ENDS);
}

#[test]
fn no_planted_program_runs_after_a_command_in_a_read_only_project() {
    try_all(Access::ReadOnly, ALL_ENDS);
}

/// The host sets the planted files aside when the command ends, so the ends that kill the host are left out.
#[test]
fn no_planted_program_runs_after_a_command_that_may_write_the_project() {
    try_all(Access::Write, &[End::ByItself, End::TimedOut, End::Cancelled]);
}

/// Tries all traps with the first of `ends`, or with all of them if `TOOLFENCE_TRAPS` is set.
fn try_all(access: Access, ends: &[End]) {
    if !is_here() {
        return;
    }
    let first = Host::new();
    let all = std::env::var_os("TOOLFENCE_TRAPS").is_some();
    for &end in ends.iter().take(if all { ends.len() } else { 1 }) {
        let fell: Vec<&str> = in_parallel(TRAPS, |trap| first.copy().falls(trap, end, access).then_some(trap.name));
        println!("{access:?}, {end:?}: {} traps, {} planted programs ran", TRAPS.len(), fell.len());
        assert!(fell.is_empty(), "{access:?}, {end:?}: {fell:?}");
    }
}

/// Tries several traps at the same time, because each spends most of its time waiting.
fn in_parallel(
    traps: &'static [Trap],
    work: impl Fn(&'static Trap) -> Option<&'static str> + Sync,
) -> Vec<&'static str> {
    const AT_A_TIME: usize = 6;
    let next = std::sync::atomic::AtomicUsize::new(0);
    let found = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(|| {
                while let Some(trap) = traps.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
                    // This is a separate statement, because otherwise the lock would be held while the trap is tried.
                    let fell = work(trap);
                    found.lock().expect("no thread panics while it holds the lock").extend(fell);
                }
            });
        }
    });
    found.into_inner().expect("no thread panics while it holds the lock")
}
