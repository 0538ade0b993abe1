//! Commands that run on a private copy of the project, and the questions about their changes.

use super::client::{Client, served};
use super::{answer, bash, call, end};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use toolfence_policy::AskMode;
use toolfence_sandbox::isolation::Settings;
use toolfence_server::pipe::Pipe;
use toolfence_tools::{self as tools, CommandRunner};
use toolfence_workspace::Workspace;

/// A project without git, so that everything a command writes is a change.
struct Project {
    home: tempfile::TempDir,
}

impl Project {
    fn new() -> Project {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir(home.path().join("project")).unwrap();
        std::fs::write(home.path().join("project/old.txt"), "one\n").unwrap();
        Project { home }
    }

    fn root(&self) -> PathBuf {
        self.home.path().join("project")
    }

    fn has(&self, name: &str) -> bool {
        self.root().join(name).exists()
    }

    /// Returns a pipe that asks in this mode; `None` if commands cannot run on private copies here.
    fn pipe(&self, ask: AskMode) -> Option<Pipe> {
        let policy = toolfence_kit::policy(ask);
        let workspace = Arc::new(Workspace::open(self.root(), policy.paths().clone()).unwrap());
        let settings = Settings::new().helper(env!("CARGO_BIN_EXE_coder"));
        let state = self.home.path().join("state");
        let runner = Arc::new(CommandRunner::new(workspace, settings).private_copies(&state));
        if let Some(why) = runner.no_private_copies() {
            eprintln!("skipped: {why}");
            return None;
        }
        Some(Pipe::new(tools::standard(runner.clone()), policy, runner))
    }
}

/// Lets the model run this command, and waits for the question about its changes.
async fn asked_about(client: &mut Client, command: &str) -> Value {
    client.say(bash(command)).await;
    client.say(end()).await;
    let ask = client.until("ask").await;
    assert!(client.kinds().contains(&"running".to_owned()), "it has run: {:?}", client.kinds());
    ask
}

async fn end_turn(client: &mut Client) {
    client.say(answer()).await;
    client.say(end()).await;
    assert_eq!(client.until("stop").await["reason"], "answered");
}

#[test]
fn changes_are_asked_about_after_the_command_and_kept_after_a_yes() {
    let project = Project::new();
    let Some(pipe) = project.pipe(AskMode::Risky) else { return };
    served(pipe, async |client: &mut Client| {
        let ask = asked_about(client, "echo two > new.txt; rm old.txt").await;
        assert_eq!(
            (&ask["about"], &ask["rule"], &ask["project"]),
            (&json!("changes"), &json!("changes"), &json!(true))
        );
        assert_eq!(ask["why"], "`echo two > new.txt; rm old.txt` changed 2 files. Keep the changes?");
        let changes = ask["changes"].as_str().unwrap();
        assert!(changes.starts_with("removed: old.txt\n--- ") && changes.contains("\n+two\n"), "{changes}");
        assert_eq!(ask["always"], json!(["the changes of echo two > new.txt; rm old.txt"]));
        assert!(project.has("old.txt") && !project.has("new.txt"), "nothing is in the project yet");
        client.say(json!({"type": "approve", "id": ask["id"]})).await;
        let results = client.until("results").await;
        assert!(results["text"].as_str().unwrap().contains("[Kept: 2 files]"), "{results}");
        assert!(!project.has("old.txt") && project.has("new.txt"));
        end_turn(client).await;
    });
}

#[test]
fn the_reason_of_a_denial_reaches_the_model_and_nothing_is_kept() {
    let project = Project::new();
    let Some(pipe) = project.pipe(AskMode::Risky) else { return };
    served(pipe, async |client: &mut Client| {
        let ask = asked_about(client, "touch new.txt").await;
        client.say(json!({"type": "deny", "id": ask["id"], "reason": "Not today."})).await;
        let result = client.until("result").await;
        assert_eq!((&result["success"], &result["data"]["changes"]["not_kept"]), (&json!(true), &json!(["new.txt"])));
        let results = client.until("results").await;
        assert!(results["text"].as_str().unwrap().contains("[Not kept: new.txt: Not today.]"), "{results}");
        end_turn(client).await;
    });
    assert!(!project.has("new.txt"));
}

#[test]
fn an_invalid_answer_leaves_the_question_open() {
    let project = Project::new();
    let Some(pipe) = project.pipe(AskMode::Always) else { return };
    served(pipe, async |client: &mut Client| {
        client.say(bash("touch new.txt")).await;
        client.say(end()).await;
        let before = client.until("ask").await;
        assert_eq!(
            (&before["about"], &before["project"], &before["changes"]),
            (&json!("call"), &json!(false), &Value::Null)
        );
        client.say(json!({"type": "approve", "id": "call_1"})).await;
        assert_eq!(client.until("ask").await["about"], "changes");
        client.say(json!({"type": "edit", "id": "call_1", "args": {"command": "true"}})).await;
        assert_eq!(client.until("error").await["message"], "A command that has run cannot be edited.");
        client.say(json!({"type": "approve", "id": "call_1", "always": "project"})).await;
        assert!(client.until("error").await["message"].as_str().unwrap().contains("has no answer that keeps"));
        client.say_raw(b"{\"type\": \"approve\", \"id\": \"call_1\", \"always\": \"ever\"}\n").await;
        assert!(client.until("error").await["message"].as_str().unwrap().contains("true, false or \"project\""));
        assert!(!project.has("new.txt"));
        client.say(json!({"type": "approve", "id": "call_1"})).await;
        client.until("results").await;
        assert!(project.has("new.txt"));
    });
}

#[test]
fn always_applies_to_the_same_command_and_project_to_every_call() {
    let project = Project::new();
    let Some(pipe) = project.pipe(AskMode::Risky) else { return };
    served(pipe, async |client: &mut Client| {
        let ask = asked_about(client, "date +%N > same.txt").await;
        client.say(json!({"type": "approve", "id": ask["id"], "always": true})).await;
        client.until("results").await;
        end_turn(client).await;
        let unasked = async |client: &mut Client, reply: Value| {
            client.say(reply).await;
            client.say(end()).await;
            client.until("results").await;
            assert!(!client.kinds().contains(&"ask".to_owned()), "{:?}", client.kinds());
            end_turn(client).await;
        };
        let first = std::fs::read(project.root().join("same.txt")).unwrap();
        unasked(client, bash("date +%N > same.txt")).await;
        assert_ne!(std::fs::read(project.root().join("same.txt")).unwrap(), first, "it is kept unasked");

        let ask = asked_about(client, "touch one.txt").await;
        client.say(json!({"type": "approve", "id": ask["id"], "always": "project"})).await;
        client.until("results").await;
        end_turn(client).await;
        unasked(client, bash("touch two.txt")).await;
        unasked(client, call(&json!({"name": "write_file", "args": {"path": "three.txt", "content": "x\n"}}))).await;
        assert!(["one.txt", "two.txt", "three.txt"].iter().all(|name| project.has(name)));
    });
}

#[test]
fn build_output_is_asked_about_once_a_session() {
    let project = Project::new();
    std::fs::write(project.root().join(".gitignore"), "out/\n").unwrap();
    let init = std::process::Command::new("git").args(["init", "-q"]).current_dir(project.root()).status().unwrap();
    assert!(init.success());
    let Some(pipe) = project.pipe(AskMode::Risky) else { return };
    served(pipe, async |client: &mut Client| {
        let ask = asked_about(client, "mkdir -p out; touch out/a").await;
        assert_eq!((&ask["about"], &ask["project"], &ask["always"]), (&json!("output"), &json!(false), &json!([])));
        assert_eq!(ask["changes"], "output: out (1 file)\n");
        client.say(json!({"type": "approve", "id": ask["id"]})).await;
        client.until("results").await;
        end_turn(client).await;
        client.say(bash("mkdir -p out; touch out/b")).await;
        client.say(end()).await;
        client.until("results").await;
        assert!(!client.kinds().contains(&"ask".to_owned()), "{:?}", client.kinds());
        assert!(project.has("out/a") && project.has("out/b"));
    });
}

#[test]
fn a_command_that_failed_without_network_is_asked_about_and_cannot_be_edited() {
    let project = Project::new();
    let Some(pipe) = project.pipe(AskMode::Risky) else { return };
    served(pipe, async |client: &mut Client| {
        let ask = asked_about(client, "touch new.txt; echo Could not resolve host: x; exit 6").await;
        assert_eq!((&ask["about"], &ask["project"], &ask["changes"]), (&json!("network"), &json!(false), &Value::Null));
        client.say(json!({"type": "edit", "id": "call_1", "args": {"command": "true"}})).await;
        assert_eq!(client.until("error").await["message"], "A command that has run cannot be edited.");
        client.say(json!({"type": "deny", "id": "call_1"})).await;
        assert_eq!(client.until("ask").await["about"], "changes");
        client.say(json!({"type": "deny", "id": "call_1"})).await;
        assert_eq!(client.until("result").await["exit_code"], 6);
        client.until("results").await;
    });
}

#[test]
fn a_turn_that_is_cancelled_at_the_question_keeps_nothing_and_the_pipe_serves_the_next_one() {
    let project = Project::new();
    let Some(pipe) = project.pipe(AskMode::Risky) else { return };
    served(pipe, async |client: &mut Client| {
        asked_about(client, "touch new.txt").await;
        client.say(json!({"type": "cancel"})).await;
        assert_eq!(client.until("stop").await["reason"], "cancelled");
        client.say(json!({"type": "approve", "id": "call_1"})).await;
        assert!(client.until("error").await["message"].as_str().unwrap().contains("there is no question about"));
        let ask = asked_about(client, "touch next.txt").await;
        client.say(json!({"type": "approve", "id": ask["id"]})).await;
        client.until("results").await;
        assert!(!project.has("new.txt") && project.has("next.txt"));
    });
}

/// A command whose question does not fit into the stream buffers, so that the pipe cannot write all of it at once.
const LONG: &str = "seq 1 30000 > new.txt";

#[test]
fn a_client_that_reads_the_question_late_can_answer_it() {
    let project = Project::new();
    let Some(pipe) = project.pipe(AskMode::Risky) else { return };
    served(pipe, async |client: &mut Client| {
        client.say(bash(LONG)).await;
        client.say(end()).await;
        client.until("running").await;
        client.peek().await;
        let ask = client.until("ask").await;
        assert!(ask["changes"].as_str().unwrap().len() > 1 << 17);
        client.say(json!({"type": "approve", "id": ask["id"]})).await;
        client.until("results").await;
        assert!(project.has("new.txt"));
    });
}

#[test]
fn a_client_that_leaves_at_the_question_keeps_nothing() {
    for command in ["touch new.txt", LONG] {
        let project = Project::new();
        let Some(pipe) = project.pipe(AskMode::Risky) else { return };
        served(pipe, async |client: &mut Client| {
            client.say(bash(command)).await;
            client.say(end()).await;
            client.until("running").await;
            client.peek().await;
        });
        assert!(!project.has("new.txt"), "{command}");
        assert_eq!(layers(&project.home.path().join("state")), 0, "{command}: its layer is deleted");
    }
}

/// Counts layers and stashes below the folder of private copies.
fn layers(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let inside = |path: PathBuf| match path.file_name().and_then(|name| name.to_str()) {
        Some("layers" | "stashes") => std::fs::read_dir(&path).unwrap().count(),
        _ if path.is_dir() => layers(&path),
        _ => 0,
    };
    entries.map(inside).sum()
}
