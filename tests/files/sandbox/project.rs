//! Tests commands that check the whole project after the changes of a reply, with a real agent, real tools and a real
//! `cargo check`.

use super::{Place, block_on, has_sandbox};
use serde_json::json;
use std::fs;
use std::sync::Arc;
use toolfence_agent::agent::{Agent, Host};
use toolfence_agent::backend::Replay;
use toolfence_kit::Tools;
use toolfence_policy::toolbox::NoProgress;
use toolfence_policy::{AskMode, Policy};
use toolfence_protocol::{Message, ToolCall, ToolResult};
use toolfence_sandbox::isolation::Settings;
use toolfence_session::{Session, SessionOptions, StopReason};
use toolfence_tools as tools;
use toolfence_tools::CommandRunner;
use toolfence_tools::MadeChanges;
use toolfence_tools::PROJECT_CHECK;
use toolfence_tools::ProjectChecks;

/// Records results and progress notes.
#[derive(Default)]
struct Listener {
    results: Vec<ToolResult>,
    notes: Vec<String>,
    labels: Vec<String>,
}

impl Host for Listener {
    fn running(&mut self, call: &ToolCall) {
        self.labels.push(format!(
            "{} {}",
            call.name,
            call.args.get("command").map_or("", |text| text.as_str().unwrap())
        ));
    }

    fn progress(&mut self, id: &str, note: &str) {
        self.notes.push(format!("{id}: {note}"));
    }

    fn answered(&mut self, result: &ToolResult) {
        self.results.push(result.clone());
    }
}

impl Listener {
    /// Returns the reports of the project's commands, one per reply.
    fn found(&self) -> Vec<&str> {
        self.results.iter().filter(|result| result.tool == PROJECT_CHECK).map(|result| &*result.output).collect()
    }
}

/// Runs one turn with these replies, and returns the recorded events and the conversation.
fn turn(runner: &Arc<CommandRunner>, lines: &[&str], replies: &[String]) -> (Listener, Vec<Message>) {
    let checks = ProjectChecks::new(runner.clone(), lines.iter().map(|line| (*line).to_owned()));
    turn_with(runner, checks, replies)
}

fn turn_with(runner: &Arc<CommandRunner>, checks: ProjectChecks, replies: &[String]) -> (Listener, Vec<Message>) {
    let toolbox = tools::standard(runner.clone());
    let policy = Policy::default().ask(AskMode::Never);
    let session = Session::new(SessionOptions::default(), Arc::new(toolbox.catalog()), policy, runner.clone());
    let backend = Replay::new(replies.iter().cloned());
    let mut agent = Agent::new(session, toolbox, Arc::new(backend)).checks(checks);
    let mut listener = Listener::default();
    let stopped = block_on(agent.run("begin", &mut listener)).expect("nothing fails for the host");
    assert_eq!(stopped, StopReason::Answered);
    (listener, agent.session().history().to_vec())
}

fn write(path: &str, content: &str) -> String {
    format!(
        "```tool\n{{\"name\": \"write_file\", \"args\": {{\"path\": \"{path}\", \"content\": \"{content}\"}}}}\n```\n\n"
    )
}

#[test]
fn new_errors_in_the_project_are_reported_after_the_results() {
    let place = Place::new();
    place.file("a.txt", "one\nWRONG an old one\n");
    let runner = Arc::new(place.on_copies(Settings::new()));
    if !has_sandbox(&runner) {
        return;
    }
    let look = "! grep -rn WRONG --include=*.txt .";
    let replies = [
        write("b.txt", "WRONG new") + &write("c.txt", "fine"),
        "```tool\n{\"name\": \"read_file\", \"args\": {\"path\": \"b.txt\"}}\n```\n".to_owned(),
        "```tool\n{\"name\": \"bash\", \"args\": {\"command\": \"ls -l | wc -l\"}}\n```\n".to_owned(),
        write("b.txt", "nothing") + &write("a.txt", "zero\\nzero\\nzero\\nWRONG an old one"),
        "```tool\n{\"name\": \"bash\", \"args\": {\"command\": \"rm a.txt\"}}\n```\n".to_owned(),
        "Done.".to_owned(),
    ];
    let (heard, history) = turn(&runner, &[look, look], &replies);
    let wanted = [
        format!("`{look}` finds 1 new error. 1 error was there before.\nb.txt: line 1: WRONG new\n"),
        format!("`{look}` finds nothing new. 1 error was there before.\n"),
        format!("`{look}` passes again.\n"),
    ];
    assert_eq!(heard.found(), wanted);
    assert_eq!(heard.notes[0], format!("call_1: {look}"), "{:?}", heard.notes);
    assert!(heard.labels.contains(&format!("{PROJECT_CHECK} {look}")), "{:?}", heard.labels);
    let results = toolfence_protocol::format::read_back(&history[2].content, None);
    let tools: Vec<&str> = results.iter().map(|result| &*result.tool).collect();
    assert_eq!(tools, ["write_file", "write_file", PROJECT_CHECK], "one message has them all: {}", history[2].content);
    assert!(!results[2].success && results[2].output == wanted[0]);
}

#[test]
fn new_errors_of_a_command_roll_the_changes_of_a_reply_back() {
    let place = Place::new();
    place.file("a.txt", "one\n");
    let runner = Arc::new(place.on_copies(Settings::new()));
    if !has_sandbox(&runner) {
        return;
    }
    let look = "! grep -rn WRONG --include=*.txt .";
    let wrong_by_a_command = "```tool\n{\"name\": \"bash\", \"args\": {\"command\": \"echo WRONG >made.txt\"}}\n```\n";
    let replies = [
        write("a.txt", "WRONG") + &write("new/b.txt", "fine") + &write("a.txt", "WRONG twice"),
        write("new/b.txt", "stays"),
        wrong_by_a_command.to_owned(),
        write("c.txt", "stays too"),
        "Done.".to_owned(),
    ];
    let checks = ProjectChecks::new(runner.clone(), [look.to_owned()]).rolling_back([look.to_owned()]);
    let (heard, _) = turn_with(&runner, checks, &replies);
    let wanted = [
        format!(
            "`{look}` finds 1 new error.\na.txt: line 1: WRONG twice\nThe changes of this reply were rolled back: a.txt, \
             new/b.txt. Read the files again before you change them.\n"
        ),
        format!("`{look}` passes.\n"),
        format!(
            "`{look}` finds 1 new error.\nmade.txt: line 1: WRONG\nNo change was rolled back: only changes of the tools for \
             files can be.\n"
        ),
        format!("`{look}` finds nothing new. 1 error was there before.\n"),
    ];
    assert_eq!(heard.found(), wanted);
    let checked = heard.results.iter().find(|result| result.tool == PROJECT_CHECK).expect("it was checked");
    let data = checked.data.as_ref().expect("it has data");
    assert_eq!(data["rolled_back"], serde_json::json!(["a.txt", "new/b.txt"]));
    let text = |path: &str| fs::read_to_string(place.at(path)).expect("it is there");
    assert_eq!([text("a.txt"), text("new/b.txt"), text("c.txt")], ["one\n", "stays", "stays too"]);
}

/// Two turns run in one project, as in a server. A failed check rolls back only the changes of its own turn.
#[test]
fn a_roll_back_leaves_alone_what_another_turn_changed() {
    let place = Place::new();
    let runner = Arc::new(place.on_copies(Settings::new()));
    if !has_sandbox(&runner) {
        return;
    }
    let look = "! grep -rn WRONG --include=*.txt .";
    let checks = ProjectChecks::new(runner.clone(), [look.to_owned()]).rolling_back([look.to_owned()]);
    let tools = Tools::new(runner.clone(), tools::standard(runner.clone()));
    let (one, other) = (MadeChanges::default(), MadeChanges::default());
    let answers = block_on(async {
        let write = async |turn: &MadeChanges, path: &str, content: &str| {
            let cleared = tools.cleared("write_file", json!({"path": path, "content": content}));
            let written = turn.record(tools.toolbox.run(cleared, &NoProgress)).await.expect("no tool fails");
            assert!(written.success, "{written:?}");
        };
        checks.before_changes(&tools.toolbox, &NoProgress).await.expect("it can be looked at");
        write(&one, "x.txt", "fine\n").await;
        write(&other, "a.txt", "WRONG\n").await;
        let check = async |turn: &MadeChanges| {
            turn.record(checks.after_changes(&tools.toolbox, &NoProgress)).await.expect("it can be looked at").output
        };
        [check(&other).await, check(&one).await]
    });
    assert!(answers[0].contains("were rolled back: a.txt. Read"), "{answers:?}");
    assert!(!answers[1].contains("rolled back"), "{answers:?}");
    assert!(!place.at("a.txt").exists() && place.at("x.txt").exists());
}

#[test]
fn a_real_build_finds_what_a_change_broke_elsewhere() {
    let place = Place::new();
    place.file("Cargo.toml", "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2021\"\n");
    place.file("src/main.rs", "mod other;\n\nfn main() {\n    println!(\"{}\", other::word());\n}\n");
    place.file("src/other.rs", "pub fn word() -> &'static str {\n    \"word\"\n}\n");
    let runner = Arc::new(place.on_copies(Settings::new()));
    if !has_sandbox(&runner) {
        return;
    }
    let replies = [
        write("src/other.rs", "pub fn text() -> &'static str {\\n    \\\"word\\\"\\n}\\n"),
        write("src/main.rs", "mod other;\\n\\nfn main() {\\n    println!(\\\"{}\\\", other::text());\\n}\\n"),
        "Done.".to_owned(),
    ];
    let (heard, _) = turn(&runner, &["cargo check --offline"], &replies);
    let found = heard.found();
    println!("{}", found.concat());
    assert!(
        found[0].starts_with("`cargo check --offline` finds 1 new error.\nsrc/main.rs: line 4, column 27: cannot find"),
        "{}",
        found[0]
    );
    assert_eq!(found[1], "`cargo check --offline` passes again.\n");
}

#[test]
fn without_a_sandbox_no_check_runs_and_that_is_reported_once() {
    let place = Place::new();
    let open = super::runner(&place.root, Settings::new().mode(toolfence_sandbox::isolation::Mode::Off));
    let replies = [write("a.txt", "a"), write("b.txt", "b"), "Done.".to_owned()];
    let (heard, _) = turn(&Arc::new(open), &["touch looked"], &replies);
    let why = "No sandbox is available here to run it in, and it may execute code that you wrote.";
    let wanted = [format!("`touch looked` could not run: {why}\n"), "No check could run, as before.\n".into()];
    assert_eq!(heard.found(), wanted);
    assert!(!place.at("looked").exists() && fs::read_to_string(place.at("b.txt")).is_ok());
}
