//! Tests commands on private copies of the project in real turns of an agent: the questions, the kept changes and the
//! results for the model.

mod conflicts;
mod hostile;
mod never_kept;
mod repositories;
mod session_output;

use super::Place;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use toolfence_agent::agent::{Agent, Host};
use toolfence_agent::backend::Replay;
use toolfence_kit::{Picture, block_on, picture};
use toolfence_policy::rules::PathRules;
use toolfence_policy::toolbox::BoxFuture;
use toolfence_policy::{AskMode, Pending, Policy};
use toolfence_protocol::{ErrorCode, ToolResult};
use toolfence_sandbox::isolation::Settings;
use toolfence_session::{Answer, Session, SessionOptions};
use toolfence_tools as tools;
use toolfence_tools::CommandRunner;
use toolfence_workspace::Workspace;
use toolfence_workspace::undo::{History, Limits};

/// The user's answer to a question.
#[derive(Debug, Clone, Copy)]
enum Say {
    Yes,
    No(&'static str),
    Always,
    /// Keep all changes in this project for the session.
    Project,
}

/// A question that the user was asked.
#[derive(Debug)]
struct Question {
    rule: String,
    reason: String,
    /// The changes with their diffs; `None` if the command has not run yet.
    changes: Option<String>,
    offers_project: bool,
}

/// One turn: the user's answers in order, and the results. A question without an answer fails the test.
struct Turn<'a> {
    answers: VecDeque<Say>,
    when_asked: &'a mut (dyn FnMut() + Send),
    asked: Vec<Question>,
    results: Vec<ToolResult>,
}

impl Host for Turn<'_> {
    fn answered(&mut self, result: &ToolResult) {
        self.results.push(result.clone());
    }

    fn ask<'a>(&'a mut self, pending: &'a Pending) -> BoxFuture<'a, Answer> {
        let decision = pending.decision();
        self.asked.push(Question {
            rule: decision.rule.clone(),
            reason: decision.reason.to_string(),
            changes: pending.changes().map(str::to_owned),
            offers_project: pending.all_changes().is_some(),
        });
        (self.when_asked)();
        let say = self.answers.pop_front().unwrap_or_else(|| panic!("no answer to {:?}", self.asked));
        let answer = match say {
            Say::Yes => Answer::Yes,
            Say::No(why) => Answer::No(why.into()),
            Say::Always => Answer::Always(None),
            Say::Project => Answer::Always(Some(pending.all_changes().expect("it is offered"))),
        };
        Box::pin(async { answer })
    }
}

impl Turn<'_> {
    /// Returns the only question of the turn.
    fn question(&self) -> &Question {
        assert_eq!(self.asked.len(), 1, "{:?}", self.asked);
        &self.asked[0]
    }

    fn output(&self) -> &str {
        &self.results[0].output
    }

    /// Returns the list of paths that the result's data has under this key.
    fn paths(&self, name: &str) -> Vec<&str> {
        let data = self.results[0].data.as_ref().map(|data| &data["changes"][name]);
        data.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
    }
}

/// A session in a project whose commands run on private copies.
struct Copied {
    place: Place,
    workspace: Arc<Workspace>,
    history: Arc<History>,
    runner: Arc<CommandRunner>,
    policy: Policy,
}

impl Copied {
    fn new(mode: AskMode) -> Option<Copied> {
        Copied::with(Policy::default().ask(mode))
    }

    /// Prints the reason and returns `None` if private copies are not available here.
    fn with(policy: Policy) -> Option<Copied> {
        let place = Place::new();
        let state = place.home.join("state");
        Copied::at(place, &state, policy)
    }

    fn at(place: Place, state: &Path, policy: Policy) -> Option<Copied> {
        let history = History::open(&History::folder(state, &place.root), Limits::default());
        let history = Arc::new(history.expect("there is randomness"));
        let workspace = Workspace::open(&place.root, PathRules::default()).expect("it is a folder");
        let workspace = Arc::new(workspace.recorder(history.clone()));
        let runner = CommandRunner::new(workspace.clone(), Settings::new().helper(super::HELPER));
        let runner = Arc::new(runner.private_copies(state));
        if let Some(why) = runner.no_private_copies() {
            eprintln!("skipped: {why}");
            return None;
        }
        Some(Copied { place, workspace, history, runner, policy })
    }

    fn git(&self, args: &[&str]) {
        let identity = ["-c", "user.name=a", "-c", "user.email=a@b"];
        let git = Command::new("git").args(identity).args(args).current_dir(&self.place.root).output();
        let done = git.expect("git is installed");
        assert!(done.status.success(), "{args:?}: {done:?}");
    }

    fn picture(&self) -> Picture {
        picture(&self.place.root)
    }

    /// Returns the folder that contains the layers of running commands.
    fn layers(&self) -> PathBuf {
        let undo = History::folder(&self.place.home.join("state"), &self.place.root);
        undo.parent().expect("it is in a folder").join("private/layers")
    }

    /// Runs one reply with these calls and the user's answers. Permissions of the user also apply to the next turn.
    fn turn(&mut self, calls: &[(&str, Value)], answers: &[Say]) -> Turn<'static> {
        let Turn { asked, results, .. } = self.turn_while(calls, answers, &mut || {});
        Turn { answers: VecDeque::new(), when_asked: Box::leak(Box::new(|| {})), asked, results }
    }

    /// Runs a turn and calls `when_asked` while a question is open.
    fn turn_while<'a>(
        &mut self,
        calls: &[(&str, Value)],
        answers: &[Say],
        when_asked: &'a mut (dyn FnMut() + Send),
    ) -> Turn<'a> {
        let call = |(name, args): &(&str, Value)| format!("```tool\n{}\n```\n\n", json!({"name": name, "args": args}));
        let replies = [calls.iter().map(call).collect(), "Done.".to_owned()];
        let toolbox = tools::standard(self.runner.clone());
        let catalog = Arc::new(toolbox.catalog());
        let session = Session::new(SessionOptions::default(), catalog, self.policy.clone(), self.runner.clone());
        let agent = Agent::new(session, toolbox, Arc::new(Replay::new(replies)));
        let mut agent = agent.history(self.history.clone(), self.workspace.clone());
        let mut turn = Turn { answers: answers.iter().copied().collect(), when_asked, asked: vec![], results: vec![] };
        block_on(agent.run("begin", &mut turn)).expect("nothing fails for the host");
        assert!(turn.answers.is_empty(), "not asked: {:?}, but {:?}", turn.answers, turn.asked);
        self.policy = agent.session().policy().clone();
        turn
    }

    fn bash(&mut self, command: &str, answers: &[Say]) -> Turn<'static> {
        self.turn(&[("bash", json!({"command": command}))], answers)
    }
}

#[test]
fn changes_are_asked_about_with_their_diff_and_kept_on_yes() {
    let Some(mut copied) = Copied::new(AskMode::Risky) else { return };
    copied.place.file("a.txt", "one\n");
    copied.place.file("old.txt", "old\n");
    copied.place.file("tree/f", "f\n");
    let turn = copied.bash("echo two >> a.txt; rm -r old.txt tree; mkdir new; echo n > new/n; cat a.txt", &[Say::Yes]);
    let question = turn.question();
    assert_eq!(question.rule, "changes");
    assert!(question.reason.ends_with("changed 4 files. Keep the changes?"), "{question:?}");
    let details = question.changes.as_deref().expect("the command has run");
    assert!(
        details.starts_with("removed: old.txt\nremoved folder: tree (1 file)\n") && details.contains("+two\n"),
        "{details}"
    );
    assert!(question.offers_project);
    assert_eq!(turn.output(), "[Kept: 4 files]\none\ntwo\n");
    assert_eq!(turn.paths("kept"), ["a.txt", "new", "new/n", "old.txt", "tree"]);
    assert_eq!(copied.place.content("a.txt"), "one\ntwo\n");
    assert_eq!(copied.place.content("new/n"), "n\n");
    assert!(!copied.place.at("old.txt").exists() && !copied.place.at("tree").exists());
}

/// Changes that no diff shows precede the diffs, and text that the user must see before approval is never cut.
#[test]
fn links_and_modes_are_shown_before_the_diffs() {
    let Some(mut copied) = Copied::new(AskMode::Risky) else { return };
    copied.place.file("run.sh", "echo 1\n");
    let command = "echo 'echo 2' > run.sh; chmod 777 run.sh; for i in $(seq 50); do ln -s run.sh a$i; done; ln -s /etc z; \
                   printf '\\0' > bin; : > empty; echo x > tool; chmod 755 tool";
    let turn = copied.bash(command, &[Say::No("no")]);
    let details = turn.question().changes.as_deref().expect("the command has run");
    assert!(details.starts_with("link: z -> /etc (outside the project)\nlink: a1 -> run.sh\n"), "{details}");
    let (head, diffs) = details.split_once("--- a/run.sh\n").expect("there is a diff");
    assert_eq!(head.lines().count(), 42, "{head}");
    assert!(head.ends_with("and 12 more links and modes\n"), "{head}");
    assert!(
        diffs.contains("new file, not text: bin (1 byte)\n") && diffs.contains("new empty file: empty\n"),
        "{diffs}"
    );

    let turn = copied.bash("echo 'echo 2' > run.sh; chmod 777 run.sh; echo x > tool; chmod 755 tool", &[Say::No("no")]);
    let details = turn.question().changes.as_deref().expect("the command has run");
    assert!(details.starts_with("mode 644 -> 777: run.sh\nmode 755: tool\n--- a/run.sh\n"), "{details}");
}

#[test]
fn discarded_changes_are_reported_and_later_writing_calls_are_cancelled() {
    let Some(mut copied) = Copied::new(AskMode::Risky) else { return };
    copied.place.file("a.txt", "one\n");
    let before = copied.picture();
    let calls = [
        ("bash", json!({"command": "echo two >> a.txt; echo ran"})),
        ("read_file", json!({"path": "a.txt"})),
        ("bash", json!({"command": "touch second"})),
        ("write_file", json!({"path": "third", "content": "x"})),
    ];
    let turn = copied.turn(&calls, &[Say::No("use tabs")]);
    assert_eq!(turn.output(), "[Not kept: a.txt: use tabs]\nran\n");
    assert!(turn.results[0].success, "{:?}", turn.results[0]);
    assert_eq!((turn.paths("kept"), turn.paths("not_kept")), (vec![], vec!["a.txt"]));
    assert!(turn.results[1].success && turn.results[1].output.contains("one"), "{:?}", turn.results[1]);
    for result in &turn.results[2..] {
        assert_eq!(result.error.as_ref().map(|error| error.code), Some(ErrorCode::Cancelled), "{result:?}");
    }
    assert_eq!(copied.picture(), before);
}

#[test]
fn always_keeps_the_changes_of_the_exact_command_only() {
    let Some(mut copied) = Copied::new(AskMode::Risky) else { return };
    copied.bash("echo x >> a.txt", &[Say::Always]);
    copied.bash("echo x >> a.txt", &[]);
    assert_eq!(copied.place.content("a.txt"), "x\nx\n");
    for other in [
        json!({"command": "echo x  >> a.txt"}),
        json!({"command": "echo x >> a.txt; echo y >> b.txt"}),
        json!({"command": "echo x >> a.txt", "cwd": "sub"}),
    ] {
        copied.place.file("sub/f", "f");
        copied.turn(&[("bash", other)], &[Say::No("no")]);
    }
    assert_eq!(copied.place.content("a.txt"), "x\nx\n");
    // In the mode that asks about everything, the first question precedes the run and so shows no changes.
    let Some(mut copied) = Copied::new(AskMode::Always) else { return };
    let turn = copied.bash("echo x >> a.txt", &[Say::Yes, Say::Always]);
    assert!(turn.asked[0].changes.is_none() && turn.asked[1].changes.is_some(), "{:?}", turn.asked);
    copied.bash("echo x >> a.txt", &[Say::Yes, Say::Yes]);
}

#[test]
fn the_answer_all_changes_in_this_project_sets_the_mode_to_sandboxed() {
    let Some(mut copied) = Copied::new(AskMode::Risky) else { return };
    copied.bash("echo x > a.txt", &[Say::Project]);
    assert_eq!(copied.policy.settings().ask, AskMode::Sandboxed);
    let calls = [
        ("bash", json!({"command": "echo y > b.txt"})),
        ("bash", json!({"command": "rm a.txt"})),
        ("bash", json!({"command": "echo z > c.txt; sleep 9", "timeout": 1})),
    ];
    let turn = copied.turn(&calls, &[Say::Yes]);
    assert!(turn.question().reason.starts_with("`echo z > c.txt; sleep 9` did not end in time."), "{:?}", turn.asked);
    assert!(
        copied.place.at("b.txt").exists() && copied.place.at("c.txt").exists() && !copied.place.at("a.txt").exists()
    );
}

#[test]
fn output_is_asked_about_once_a_session() {
    for (answer, is_kept) in [(Say::Yes, true), (Say::No("no"), false)] {
        let Some(mut copied) = Copied::new(AskMode::Risky) else { return };
        copied.place.file(".gitignore", "/target\n/dist\n");
        copied.git(&["init", "-q"]);
        let turn = copied.bash("mkdir target; echo o > target/o; echo p > target/p", &[answer]);
        let question = turn.question();
        assert_eq!(
            (question.rule.as_str(), question.changes.as_deref()),
            ("output", Some("output: target (2 files)\n"))
        );
        let note = "\n[Not in the project: target (2 files)]\n";
        assert_eq!(turn.output().contains(note.trim()), !is_kept, "{}", turn.output());
        let turn = copied.bash("mkdir -p dist target; echo q > dist/q; echo o > target/o", &[]);
        assert_eq!(turn.output().contains("[Not in the project: dist (1 file)]"), !is_kept, "{}", turn.output());
        for path in ["target/o", "dist/q"] {
            assert_eq!(copied.place.at(path).exists(), is_kept, "{path}");
        }
        // The user is still asked about a change. The answer does not affect the output.
        let turn = copied.bash("echo x > a.txt; mkdir -p target; echo r > target/r", &[Say::No("no")]);
        assert_eq!(turn.question().rule, "changes");
        assert_eq!(copied.place.at("target/r").exists(), is_kept);
    }
}

/// Output in a new folder is kept only if the folder is kept.
#[test]
fn output_in_a_folder_that_is_not_kept_is_reported_as_not_in_the_project() {
    let Some(mut copied) = Copied::new(AskMode::Risky) else { return };
    copied.place.file(".gitignore", "target\n");
    copied.git(&["init", "-q"]);
    let command = "mkdir -p new/target; echo f > new/f; echo o > new/target/o";
    let turn = copied.bash(command, &[Say::No("no"), Say::Yes]);
    assert!(!copied.place.at("new").exists());
    assert!(turn.paths("output").is_empty(), "{:?}", turn.results[0].data);
    assert!(turn.output().contains("[Not in the project: new (1 file)]"), "{}", turn.output());
    let turn = copied.bash(command, &[Say::Yes]);
    assert_eq!(copied.place.content("new/target/o"), "o\n");
    assert_eq!(turn.paths("output"), ["new"]);
}

/// Ignored data may not be reproducible by a build, and undo does not cover files that git ignores.
#[test]
fn the_question_says_that_ignored_data_was_removed() {
    let Some(mut copied) = Copied::new(AskMode::Risky) else { return };
    copied.place.file(".gitignore", "data/\ntarget/\n");
    copied.git(&["init", "-q"]);
    for path in ["data/a", "data/deep/b", "target/old"] {
        copied.place.file(path, "x");
    }
    let ends = "put the output of commands into the project in this session?";
    let turn = copied.bash("rm -rf data/", &[Say::No("no")]);
    let question = turn.question();
    assert_eq!(
        question.reason,
        format!(
            "`rm -rf data/` removed ignored files: data. Undo does not bring them back. Remove them from the project too, and {ends}"
        )
    );
    assert_eq!(question.changes.as_deref(), Some("removed folder: data (2 files)\n"));
    assert_eq!(turn.output(), "[Still in the project: data, of which the command removed files on its private copy]\n");
    assert!(copied.place.at("data/deep/b").exists());

    let Some(mut copied) = Copied::new(AskMode::Risky) else { return };
    copied.place.file(".gitignore", "data/\ntarget/\n");
    copied.git(&["init", "-q"]);
    for path in ["data/a", "data/deep/b", "target/old"] {
        copied.place.file(path, "x");
    }
    let turn = copied.bash("rm -r data target/old; echo o > target/new", &[Say::Yes]);
    assert_eq!(
        turn.question().reason,
        "`rm -r data target/old; echo o > target/new` wrote 1 file of build output to target and removed ignored files: data and 1 \
         more folder. Undo does not bring these back. Put the output of commands into the project in this session?"
    );
    let listed = "removed folder: data (2 files)\nremoved: target/old\noutput: target (1 file)\n";
    assert_eq!(turn.question().changes.as_deref(), Some(listed));
    assert!(!copied.place.at("data").exists() && copied.place.at("target/new").exists());
}

#[test]
fn plan_mode_runs_commands_and_discards_their_changes() {
    let Some(mut copied) = Copied::with(Policy::default().read_only(true)) else { return };
    copied.place.file("a.txt", "one\n");
    let before = copied.picture();
    let turn = copied.bash("echo two >> a.txt; cat a.txt", &[]);
    assert_eq!(turn.output(), "[Not kept: a.txt: this conversation is in plan mode]\none\ntwo\n");
    assert_eq!(copied.picture(), before);
}

#[test]
fn the_modes_sandboxed_and_never_keep_changes_unasked() {
    for mode in [AskMode::Sandboxed, AskMode::Never] {
        let Some(mut copied) = Copied::new(mode) else { return };
        copied.place.file(".gitignore", "/target\n");
        copied.git(&["init", "-q"]);
        let turn = copied.bash("echo x > a.txt; mkdir target; echo o > target/o; exit 3", &[]);
        assert!(turn.output().starts_with("[Kept: 1 file]\n"), "{}", turn.output());
        assert!(copied.place.at("a.txt").exists() && copied.place.at("target/o").exists());
    }
}

#[test]
fn the_changes_of_a_failed_command_are_asked_about() {
    let Some(mut copied) = Copied::new(AskMode::Risky) else { return };
    let turn = copied.bash("echo x > a.txt; exit 3", &[Say::Yes]);
    assert_eq!(
        turn.question().reason,
        "`echo x > a.txt; exit 3` ended with status 3 and changed 1 file. Keep the changes?"
    );
    assert_eq!(turn.results[0].exit_code, Some(3));
    assert_eq!(copied.place.content("a.txt"), "x\n");
}

#[test]
fn the_changes_of_a_command_that_ran_out_of_time_are_not_kept_without_a_user() {
    let Some(mut copied) = Copied::new(AskMode::Never) else { return };
    let late = json!({"command": "echo x > a.txt; sleep 9", "timeout": 1});
    let turn = copied.turn(&[("bash", late.clone())], &[Say::No("later")]);
    assert!(turn.output().starts_with("[Not kept: a.txt: later]\n"), "{}", turn.output());
    assert!(!copied.place.at("a.txt").exists());
    // As in `coder -p`, there is no user to ask.
    let toolbox = tools::standard(copied.runner.clone());
    let unasked = toolfence_kit::Tools::new(copied.runner.clone(), toolbox);
    let result = unasked.run("bash", late);
    assert_eq!(result.data.expect("it has data")["changes"]["not_kept"], json!(["a.txt"]));
    assert!(!copied.place.at("a.txt").exists());
}

#[test]
fn commands_of_one_reply_see_what_was_kept_before() {
    let Some(mut copied) = Copied::new(AskMode::Risky) else { return };
    let calls = [
        ("bash", json!({"command": "echo one > a.txt"})),
        ("bash", json!({"command": "cat a.txt; echo two >> a.txt; rm -f b.txt"})),
        ("bash", json!({"command": "cat a.txt"})),
    ];
    let turn = copied.turn(&calls, &[Say::Yes, Say::Yes]);
    assert_eq!(turn.results[1].output, "[Kept: 1 file]\none\n");
    assert_eq!(turn.results[2].output, "one\ntwo\n");
}

#[test]
fn undo_of_the_turn_restores_the_tree() {
    let Some(mut copied) = Copied::new(AskMode::Sandboxed) else { return };
    for path in ["a.txt", "b.txt", "tree/deep/c.txt", "tree/d.txt", "run.sh"] {
        copied.place.file(path, format!("{path}\n"));
    }
    copied.place.link("a.txt", "link");
    let before = copied.picture();
    let script =
        "echo x >> a.txt; rm b.txt link; mv tree moved; mkdir tree; echo x > tree/new; chmod +x run.sh; ln -s b.txt l2";
    let turn = copied.bash(script, &[]);
    assert!(turn.output().starts_with("[Kept: "), "{}", turn.output());
    let after = copied.picture();
    assert_ne!(after, before);
    copied.history.undo(&copied.workspace).expect("it can be written").expect("there is a turn");
    assert_eq!(copied.picture(), before);
    copied.history.redo(&copied.workspace).expect("it can be written").expect("there is an undo");
    assert_eq!(copied.picture(), after);
}

#[test]
fn with_the_state_on_another_file_system_undo_moves_within_the_project() {
    let (place, memory) = (Place::new(), tempfile::tempdir_in("/dev/shm"));
    let device = |path: &Path| fs::metadata(path).map(|metadata| metadata.dev()).ok();
    let Some(state) = memory.ok().filter(|state| device(state.path()) != device(&place.root)) else {
        return eprintln!("skipped: no other file system");
    };
    let Some(mut copied) = Copied::at(place, state.path(), Policy::default().ask(AskMode::Sandboxed)) else { return };
    copied.git(&["init", "-q"]);
    copied.place.file("tree/a", "a\n");
    copied.bash("rm -r tree", &[]);
    assert!(!copied.place.at("tree").exists() && copied.place.at(".toolfence/private/stashes").exists());
    let status = Command::new("git").args(["status", "--porcelain"]).current_dir(&copied.place.root).output();
    assert_eq!(status.expect("git is installed").stdout, b"", "git sees nothing of it");
    let undone = copied.history.undo(&copied.workspace).expect("it can be written").expect("there is a turn");
    assert!(undone.refused.is_empty(), "{undone:?}");
    assert_eq!(copied.place.content("tree/a"), "a\n");
}

#[test]
fn the_removal_of_a_large_folder_is_kept() {
    let Some(mut copied) = Copied::new(AskMode::Risky) else { return };
    copied.place.file("keep.txt", "x");
    for folder in 0..80 {
        let folder = copied.place.at(&format!("many/{folder}"));
        fs::create_dir_all(&folder).expect("a folder can be made");
        (0..100).for_each(|file| fs::write(folder.join(file.to_string()), "x").expect("it can be written"));
    }
    let turn = copied.bash("rm -rf many", &[Say::Yes]);
    assert_eq!(turn.question().changes.as_deref(), Some("removed folder: many (8000 files)\n"));
    assert_eq!(copied.picture().len(), 1);
}

#[test]
fn the_network_is_asked_about_before_a_command_runs() {
    let Some(mut copied) = Copied::new(AskMode::Risky) else { return };
    let call = json!({"command": "echo begun > made", "network": true});
    let turn = copied.turn(&[("bash", call)], &[Say::No("no")]);
    let question = turn.question();
    assert!(question.changes.is_none() && question.reason.contains("use the network"), "{question:?}");
    assert!(!turn.results[0].success && !copied.place.at("made").exists());
    // The approval of the network does not cover the changes. They need an answer after the run.
    let call = json!({"command": "echo x > made", "network": true});
    let turn = copied.turn(&[("bash", call)], &[Say::Yes, Say::No("no")]);
    assert!(turn.asked[0].changes.is_none() && turn.asked[1].changes.is_some(), "{:?}", turn.asked);
    assert!(!copied.place.at("made").exists());
}

/// When a session begins, it completes the exchanges that a killed process left half-finished, because undo reads the
/// project.
#[test]
fn exchanges_of_a_killed_process_are_finished_before_the_first_command() {
    let place = super::Place::new();
    let state = place.beside.join("state");
    let project = toolfence_workspace::undo::History::folder(&state, &place.root);
    let stashes = project.parent().expect("it is in a folder").join("private/stashes");
    drop(toolfence_workspace::stash::Stash::create(&stashes).expect("it can be made"));
    assert_eq!(fs::read_dir(&stashes).expect("it is there").count(), 1);
    let _commands = super::runner(&place.root, Settings::new()).private_copies(&state);
    assert_eq!(fs::read_dir(&stashes).expect("it is there").count(), 0);
}

/// A file that the command moved into an output folder is not lost, and the new folder does not count as a change by
/// another process.
#[test]
fn files_are_moved_into_new_folders() {
    let Some(mut copied) = Copied::new(AskMode::Never) else { return };
    copied.place.file(".gitignore", "build/\n");
    copied.place.file("src/x", "x\n");
    copied.place.file("src/y", "y\n");
    copied.git(&["init", "-q"]);
    let turn = copied.bash("mkdir -p build/n d; mv src/x build/n/; mv src/y d/", &[]);
    assert_eq!(turn.output(), "[Kept: 3 files]\n");
    assert_eq!(copied.place.content("build/n/x") + &copied.place.content("d/y"), "x\ny\n");
    assert!(!copied.place.at("src/x").exists() && !copied.place.at("src/y").exists());
}
