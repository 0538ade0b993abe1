//! Tests `Tools` for hosts that keep the conversation themselves: a reply goes in; questions, results and the next
//! message come out.

use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use toolfence_agent::agent::Nobody;
use toolfence_agent::backend::backend_fn;
use toolfence_agent::tools::{PendingReply, Question, ReplyStep, Tools, ToolsBuilder};
use toolfence_policy::toolbox::tool_fn;
use toolfence_protocol::{Effect, Error, ErrorCode, FinishReason, Output, ToolResult, ToolSpec};
use toolfence_sandbox::isolation::Settings;
use toolfence_session::StopReason;

fn builder(root: &Path) -> ToolsBuilder {
    Tools::builder(root).sandbox(Settings::new().helper(env!("CARGO_BIN_EXE_coder"))).state_folder(None)
}

fn block(name: &str, args: &Value) -> String {
    format!("```tool\n{}\n```\n", json!({"name": name, "args": args}))
}

fn write(path: &str, content: &str) -> String {
    block("write_file", &json!({"path": path, "content": content}))
}

/// Handles a reply to its end. Returns its results in order, and its last step.
async fn handled(reply: &mut PendingReply<'_>, mut answer: impl FnMut(Question)) -> (Vec<ToolResult>, ReplyStep) {
    let mut results = Vec::new();
    loop {
        match reply.next().await.expect("no tool fails for the host") {
            ReplyStep::Question(question) => answer(question),
            ReplyStep::Result(result) => results.push(result),
            last => return (results, last),
        }
    }
}

/// Returns the message of a last step.
fn message(last: &ReplyStep) -> &str {
    let ReplyStep::Send(message) = last else { panic!("the model is to be sent a message: {last:?}") };
    message
}

fn has_ended(last: &ReplyStep, why: &StopReason) -> bool {
    matches!(last, ReplyStep::Ended(reason) if reason == why)
}

fn codes(results: &[ToolResult]) -> Vec<Option<ErrorCode>> {
    results.iter().map(|result| result.error.as_ref().map(|error| error.code)).collect()
}

#[tokio::test]
async fn a_reply_gives_questions_with_diffs_results_and_the_next_message() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut tools = builder(folder.path()).open().expect("the folder opens");
    assert!(tools.instructions().contains("write_file"));

    let mut reply = tools.reply(format!("First.\n\n{}", write("a.txt", "hi\n")));
    let mut asked = Vec::new();
    let (results, last) = handled(&mut reply, |question| {
        asked.push((question.call().name.to_string(), question.diff().map(str::to_owned), question.has_run()));
        question.approve();
    })
    .await;
    let diff = "--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+hi\n".to_owned();
    assert_eq!((asked, codes(&results)), (vec![("write_file".to_owned(), Some(diff), false)], vec![None]));
    let message = message(&last);
    assert!(message.starts_with("```tool_result\n") && message.contains("a.txt"), "{message}");
    assert!(reply.next().await.is_err(), "that was the last step");

    // The model's answer to the user ends the turn; the next reply begins another one.
    for text in ["The file is there.", "Anything else?"] {
        let mut reply = tools.reply(text);
        let (results, last) = handled(&mut reply, |_| panic!("nothing asks")).await;
        assert!(results.is_empty() && has_ended(&last, &StopReason::Answered), "{last:?}");
    }
    assert_eq!(std::fs::read_to_string(folder.path().join("a.txt")).ok().as_deref(), Some("hi\n"));
}

#[tokio::test]
async fn later_changes_of_a_reply_are_cancelled_after_a_denial() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("seen.txt"), "one\n").expect("it can be written");
    let mut tools = builder(folder.path()).open().expect("the folder opens");
    let calls = [write("a.txt", "a"), write("b.txt", "b"), block("read_file", &json!({"path": "seen.txt"}))].concat();
    let mut reply = tools.reply(calls);
    let (results, last) = handled(&mut reply, |question| question.deny("not this one")).await;
    assert_eq!(codes(&results), [Some(ErrorCode::Denied), Some(ErrorCode::Cancelled), None]);
    assert!(
        message(&last).contains("not this one. Do not repeat the call") && message(&last).contains("1\tone"),
        "{last:?}"
    );
    assert!(!folder.path().join("a.txt").exists() && !folder.path().join("b.txt").exists());
}

#[tokio::test]
async fn malformed_and_cut_blocks_are_reported_to_the_model() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut tools = builder(folder.path()).open().expect("the folder opens");
    let mut reply = tools.reply("```tool\n{]}\n```\n");
    let (results, last) = handled(&mut reply, |_| panic!("nothing asks")).await;
    assert_eq!(codes(&results), [Some(ErrorCode::MalformedCall)]);
    assert!(message(&last).contains("line 2"), "{last:?}");

    let whole = write("cut.txt", &"x".repeat(200));
    let mut reply = tools.reply(&whole[..150]).finished(FinishReason::Length);
    let (results, last) = handled(&mut reply, |_| panic!("a cut call does not ask")).await;
    assert_eq!(codes(&results), [Some(ErrorCode::MalformedCall)]);
    assert!(message(&last).contains("broke off"), "the model is asked for the rest: {last:?}");
    assert!(!folder.path().join("cut.txt").exists());
}

#[tokio::test]
async fn editing_a_file_that_changed_since_it_was_read_is_a_conflict() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("a.txt");
    std::fs::write(&file, "one\ntwo\n").expect("it can be written");
    let mut tools = builder(folder.path()).open().expect("the folder opens");
    let mut reply = tools.reply(block("read_file", &json!({"path": "a.txt"})));
    assert_eq!(codes(&handled(&mut reply, |_| panic!("reading does not ask")).await.0), [None]);

    std::fs::write(&file, "zero\none\ntwo\n").expect("it can be written");
    let edit = json!({"path": "a.txt", "edits": [{"start_line": 1, "end_line": 1, "replacement": "1"}]});
    let mut reply = tools.reply(block("edit_file", &edit));
    assert_eq!(codes(&handled(&mut reply, Question::approve).await.0), [Some(ErrorCode::Conflict)]);
    assert_eq!(std::fs::read_to_string(&file).ok().as_deref(), Some("zero\none\ntwo\n"));
}

#[tokio::test]
async fn a_reply_that_is_not_handled_to_its_end_is_cancelled_by_the_next_one() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut tools = builder(folder.path()).open().expect("the folder opens");
    let mut first = tools.reply(write("a.txt", "a"));
    let Ok(ReplyStep::Question(question)) = first.next().await else { panic!("it asks") };
    let mut second = tools.reply(write("b.txt", "b"));
    assert_eq!(codes(&handled(&mut second, Question::approve).await.0), [None]);
    // Its turn is over, so this answer has no effect.
    question.approve();
    assert!(!folder.path().join("a.txt").exists() && folder.path().join("b.txt").exists());

    // A reply that was dropped before it was polled does not end the turn.
    drop(tools.reply(write("c.txt", "c")));
    let mut last = tools.reply("Done.");
    let (results, last) = handled(&mut last, |_| panic!("nothing asks")).await;
    assert!(results.is_empty() && has_ended(&last, &StopReason::Answered), "{last:?}");
    assert!(!folder.path().join("c.txt").exists());
}

#[tokio::test]
async fn the_changes_of_a_command_are_asked_about_and_can_be_undone() {
    let (folder, state) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let mut tools = builder(folder.path()).state_folder(state.path().to_owned()).open().expect("the folder opens");
    let mut reply =
        tools.reply(block("bash", &json!({"command": "echo made > new.txt; printf '\\033[31m' >> new.txt"})));
    let mut diffs = Vec::new();
    let (results, _) = handled(&mut reply, |question| {
        diffs.push((question.has_run(), question.diff().unwrap_or_default().to_owned()));
        question.approve();
    })
    .await;
    if results[0].data.as_ref().is_none_or(|data| data["changes"].is_null()) {
        println!("skipped: there are no private copies here: {}", results[0].output);
        return;
    }
    assert!(diffs.len() == 1 && diffs[0].0 && diffs[0].1.contains("+made\n+\\u{1b}[31m"), "{diffs:?}");
    assert!(folder.path().join("new.txt").exists());
    // The model has not answered, so the turn still runs.
    let undone = tools.undo().await.expect("the turn can be undone").expect("something changed");
    assert!(undone.turn.title.starts_with("bash echo made"), "{undone:?}");
    assert!(!folder.path().join("new.txt").exists());
    assert!(tools.undo().await.expect("the history can be read").is_none());
}

#[tokio::test]
async fn a_user_message_names_the_turn_and_carries_unsent_results() {
    let (folder, state) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let mut tools = builder(folder.path()).state_folder(state.path().to_owned()).open().expect("the folder opens");
    assert_eq!(tools.user_message("Make a file.").await, "Make a file.");
    assert_eq!(codes(&handled(&mut tools.reply(write("a.txt", "a")), Question::approve).await.0), [None]);
    assert_eq!(
        tools.undo().await.expect("it can be undone").map(|undone| undone.turn.title),
        Some("Make a file.".into())
    );

    assert_eq!(tools.user_message("Look around.").await, "Look around.");
    for round in 1..=5 {
        let (results, last) =
            handled(&mut tools.reply(block("list_files", &json!({}))), |_| panic!("listing does not ask")).await;
        assert_eq!(codes(&results), [None]);
        assert_eq!(has_ended(&last, &StopReason::Loop), round == 5, "round {round}: {last:?}");
    }
    let sent = tools.user_message("Stop that.").await;
    assert!(sent.starts_with("```tool_result\n") && sent.ends_with("\n\nStop that."), "{sent}");
}

#[tokio::test]
async fn results_of_an_abandoned_reply_are_sent_with_the_next_user_message() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut tools = builder(folder.path()).open().expect("the folder opens");
    let mut reply = tools.reply([write("a.txt", "a"), write("b.txt", "b")].concat());
    let Ok(ReplyStep::Question(question)) = reply.next().await else { panic!("it asks") };
    question.approve();
    while !matches!(reply.next().await, Ok(ReplyStep::Question(_))) {}
    let sent = tools.user_message("Stop.").await;
    assert!(folder.path().join("a.txt").exists() && !folder.path().join("b.txt").exists());
    assert!(sent.contains("a.txt") && sent.ends_with("\n\nStop."), "{sent}");
    // The results are sent only once.
    assert_eq!(tools.user_message("Again.").await, "Again.");
}

#[tokio::test]
async fn a_program_without_the_helper_entry_gets_advice() {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let has = |name: &str| std::env::split_paths(&path).any(|folder| folder.join(name).exists());
    if has("toolfence-sandbox") || has("coder") {
        println!("skipped: a helper is installed");
        return;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let error = Tools::builder(folder.path()).state_folder(None).open().expect_err("this program is no helper");
    assert!(error.to_string().contains("toolfence::enter_if_asked();"), "{error}");
}

#[tokio::test]
async fn tools_are_made_from_closures_and_backends_from_streams() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    let spec = || ToolSpec::from_json_schema("weather", "Tells the weather.", &schema).effect(|_| Effect::Read);
    let weather = || tool_fn(spec(), |args| async move { Ok(Output::text(format!("Sunny in {}.", args["city"]))) });
    let mut tools = builder(folder.path()).tool(weather()).open().expect("the folder opens");
    let mut reply = tools.reply(block("weather", &json!({"city": "Ulm"})));
    assert_eq!(handled(&mut reply, |_| panic!("reading does not ask")).await.0[0].output, "Sunny in \"Ulm\".");

    let call = block("weather", &json!({"city": "Ulm"}));
    let backend = backend_fn(move |messages| {
        let last = messages.last().map(|message| message.content.clone()).unwrap_or_default();
        let reply = if last.contains("Sunny") { "It is sunny.".to_owned() } else { call.clone() };
        futures_util::stream::iter(reply.split_inclusive(' ').map(|piece| Ok(piece.to_owned())).collect::<Vec<_>>())
    });
    let mut agent = builder(folder.path()).tool(weather()).agent(Arc::new(backend)).expect("the folder opens");
    assert_eq!(agent.run("How is the weather?", &mut Nobody).await.expect("it answers"), StopReason::Answered);
    assert_eq!(agent.session().messages().last().map(|message| message.content.clone()), Some("It is sunny.".into()));

    let fails = |pieces: fn() -> Vec<Result<String, Error>>| {
        let backend = backend_fn(move |_| futures_util::stream::iter(pieces()));
        builder(folder.path()).agent(Arc::new(backend)).expect("the folder opens")
    };
    let mut agent = fails(|| vec![Err(Error::new("no server"))]);
    assert!(agent.run("Hello?", &mut Nobody).await.is_err());
    let mut agent = fails(|| vec![Ok("Half".into()), Err(Error::new("gone"))]);
    let ended = agent.run("Hello?", &mut Nobody).await.expect("half an answer is one");
    assert_eq!(ended, StopReason::Unfinished(FinishReason::Cut));
}
