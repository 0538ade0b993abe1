//! Recorded conversations: their records, the messages of a resumed one, and `coder`'s commands for them.

mod images;
mod program;

use boon::{Compiler, Schemas};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use toolfence_agent::agent::{Agent, Host, Nobody};
use toolfence_agent::backend::{Backend, Chunk, Replay, Sink};
use toolfence_agent::transcript::Transcript;
use toolfence_agent::transcript::{SCHEMA, Store, StoredSession};
use toolfence_kit::CaseFiles;
use toolfence_policy::toolbox::{BoxFuture, Permit, Progress, Tool, ToolError, Toolbox};
use toolfence_policy::{AskMode, NoFacts, Pending};
use toolfence_protocol::{Effect, Error, ErrorKind, FinishReason, Message, Output, Param, ParamKind, ToolSpec};
use toolfence_session::{Answer, Session, SessionOptions};

/// A tool that returns its argument `word`. The word `fail` makes it fail with a host error.
struct Say(ToolSpec);

impl Tool for Say {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run<'a>(&'a self, permit: Permit<'a>, _: &'a dyn Progress) -> BoxFuture<'a, Result<Output, ToolError>> {
        Box::pin(async move {
            match permit.text("word").unwrap_or_default() {
                "fail" => Err(ToolError::Fatal(Error::new("the disk is gone"))),
                word => Ok(Output::text(word)),
            }
        })
    }
}

fn tool(name: &'static str, effect: Effect) -> Say {
    let word = Param::new("word", ParamKind::Text { content: false }, "a word");
    let spec = ToolSpec::new(name, "for tests").param(word);
    Say(if effect == Effect::Read { spec.effect(|_| Effect::Read) } else { spec.effect(|_| Effect::Write) })
}

fn toolbox() -> Toolbox {
    Toolbox::new().with(tool("look", Effect::Read)).with(tool("change", Effect::Write))
}

fn agent(backend: impl Backend + 'static, options: SessionOptions, transcript: Transcript) -> Agent {
    let toolbox = toolbox();
    let policy = toolfence_kit::policy(AskMode::Risky);
    let session = Session::new(options, Arc::new(toolbox.catalog()), policy, Arc::new(NoFacts));
    Agent::new(session, toolbox, Arc::new(backend)).transcript(transcript)
}

fn instructed() -> SessionOptions {
    let mut options = SessionOptions::default();
    options.system = "Be brief.".to_owned();
    options
}

/// The lines of a transcript, each checked against the schema.
fn records(path: &Path) -> Vec<Value> {
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    compiler.add_resource("record.json", serde_json::from_str(SCHEMA).unwrap()).unwrap();
    let index = compiler.compile("record.json", &mut schemas).unwrap();
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.ends_with('\n'), "the last line is whole");
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect();
    for (number, line) in lines.iter().enumerate() {
        if let Err(error) = schemas.validate(line, index) {
            panic!("{line} is no record: {error}");
        }
        assert_eq!(line["id"], *number.to_string(), "records are counted");
    }
    lines
}

/// A host that approves every second call.
#[derive(Default)]
struct Wavering(usize);

impl Host for Wavering {
    fn ask<'a>(&'a mut self, _: &'a Pending) -> BoxFuture<'a, Answer> {
        self.0 += 1;
        let answer = if self.0 % 2 == 1 { Answer::Yes } else { Answer::No("Use the other one.".into()) };
        Box::pin(async move { answer })
    }
}

/// Returns the messages that a session would send if it were resumed now.
fn resumed(path: &Path) -> Vec<Message> {
    let turns = Transcript::resume(path).unwrap().history();
    toolfence_session::render(&turns, &SessionOptions::default().format)
}

fn without_instructions(agent: &Agent) -> Vec<Message> {
    agent.session().history()[1..].to_vec()
}

const ROUND: &[&str] = &[
    "I look.\n\n```tool\n{\"name\": \"look\", \"args\": {\"word\": \"one\"},}\n```\n\n```tool\n{\"name\": \"look\", \"args\": {\"word\": \"two\"}, \"id\": \"x\"}\n```\nand on",
    "<think>I could call look.</think>Now I change.\n\n```tool\n{\"name\": \"change\", \"args\": {\"word\": \"a\"}}\n```\n\n```tool\n{\"name\": \"change\", \"args\": {\"word\": \"b\"}}\n```\n\n```tool\n{\"name\": \"change\", \"args\": {\"word\": \"c\"}}\n```\n",
    "```tool\n{\"name\": \"look\", \"args\": {\n```\n\n```tool\n{\"name\": \"no_such_tool\"}\n```\n",
    "Look what came:\n\n```tool_result\n{\"id\":\"1\",\"name\":\"look\",\"success\":true}\nmade up\n```\n\nSo it is.",
    "  ```tool\n  not a call\n\n    ```tool\n    {\"name\": \"look\"}\n    ```\n",
    "Done.",
];

#[tokio::test]
async fn a_resumed_session_sends_what_the_first_one_would_have_sent() {
    let folder = tempfile::tempdir().unwrap();
    let transcript = Transcript::create(folder.path(), folder.path()).unwrap();
    let path = transcript.path().to_owned();
    assert!(!path.exists(), "nothing was said yet");
    let mut first = agent(Replay::new(ROUND.iter().copied()), instructed(), transcript);
    first.note("Some files went back.");
    first.run("Do it.\nAll of it.", &mut Wavering::default()).await.unwrap();
    let failed = first.run("And now?", &mut Nobody).await;
    assert!(failed.is_err(), "the recording is over");
    let history = without_instructions(&first);
    assert!(history.len() > 8, "{history:?}");
    drop(first);
    assert_eq!(resumed(&path), history);

    let records = records(&path);
    assert_eq!(records[0]["content"], "Be brief.");
    assert_eq!(records[0]["session"]["title"], "Do it.");
    let of = |role: &str| records.iter().filter(|record| record["role"] == role).collect::<Vec<_>>();
    let tools = of("tool");
    assert_eq!(tools.len(), 8);
    let call = |number: usize| &tools[number]["tool_call"];
    assert_eq!(
        (&call(0)["args"]["word"], &call(0)["repairs"]),
        (&"one".into(), &serde_json::json!(["trailing_comma"]))
    );
    assert_eq!(tools[0]["tool_result"]["output"], "one");
    assert_eq!(call(0)["decision"]["by"], "policy");
    assert_eq!((&call(2)["decision"]["by"], &call(2)["decision"]["verdict"]), (&"person".into(), &"ask".into()));
    assert_eq!((&call(3)["decision"]["by"], &tools[3]["tool_result"]["success"]), (&"person".into(), &false.into()));
    assert_eq!(tools[3]["tool_result"]["error"]["code"], "denied");
    assert_eq!((&call(4)["decision"], &tools[4]["tool_result"]["error"]["code"]), (&Value::Null, &"cancelled".into()));
    assert_eq!(tools[5]["tool_result"]["error"]["code"], "malformed_call");
    assert_eq!(tools[6]["tool_result"]["error"]["code"], "cancelled");
    let replies = of("assistant");
    assert_eq!(replies[1]["thoughts"], "I could call look.");
    assert!(replies[1]["content"].as_str().unwrap().trim() == "Now I change.", "{}", replies[1]);
    for (reply, said) in replies.iter().zip(ROUND) {
        let raw = if reply["raw"].is_null() { &reply["content"] } else { &reply["raw"] };
        assert_eq!(raw, said, "the reply as it was written");
    }
    assert!(replies[3]["kept"].as_str().is_some_and(|kept| !kept.contains("made up")), "{}", replies[3]);
    assert!(of("note").iter().any(|note| note["kind"] == "end"), "the second turn has no answer");
}

/// For any reply, the resumed history is the same, and every record is valid.
#[tokio::test]
async fn a_resumed_history_has_any_reply_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let mut replies: Vec<String> = CaseFiles::of("parse").replies().into_iter().map(|case| case.reply).collect();
    assert!(replies.len() > 100);
    for (number, replies) in replies.chunks_mut(25).enumerate() {
        let transcript = Transcript::create(folder.path(), folder.path()).unwrap().redactor(None);
        let path = transcript.path().to_owned();
        let mut first = agent(Replay::new(replies.iter().cloned()), instructed(), transcript);
        let mut turns = 0;
        while first.run("continue", &mut Wavering::default()).await.is_ok() {
            turns += 1;
        }
        let history = without_instructions(&first);
        drop(first);
        assert_eq!(resumed(&path), history, "chunk {number}");
        let all = records(&path);
        assert!(all.len() > replies.len());
        assert_eq!(all.last().unwrap()["turn"], turns + 1);
    }
}

#[tokio::test]
async fn turns_undone_one_after_another_are_not_sent_again() {
    let folder = tempfile::tempdir().unwrap();
    let transcript = Transcript::create(folder.path(), folder.path()).unwrap();
    let path = transcript.path().to_owned();
    let mut first = agent(Replay::new(["One.", "Two.", "Other."]), instructed(), transcript);
    first.run("First.", &mut Nobody).await.unwrap();
    first.run("Second.", &mut Nobody).await.unwrap();
    assert_eq!([first.take_back(), first.take_back()], [Some("Second.".into()), Some("First.".into())]);
    assert_eq!(first.take_back(), None);
    first.run("Third.", &mut Nobody).await.unwrap();
    let history = without_instructions(&first);
    drop(first);
    assert_eq!((resumed(&path), history.len()), (history, 2));
    let transcript = Transcript::resume(&path).unwrap();
    let mut options = instructed();
    options.history = transcript.history();
    assert_eq!(agent(Replay::new([""]), options, transcript).take_back().as_deref(), Some("Third."));
}

/// Undone turns and cleared conversations stay in the file.
#[tokio::test]
async fn undone_or_cleared_turns_are_not_sent_again() {
    let folder = tempfile::tempdir().unwrap();
    let transcript = Transcript::create(folder.path(), folder.path()).unwrap();
    let path = transcript.path().to_owned();
    let mut first = agent(Replay::new(["One.", "Two.", "Other.", "Three."]), instructed(), transcript);
    first.run("First.", &mut Nobody).await.unwrap();
    first.run("Second.", &mut Nobody).await.unwrap();
    let said = first.take_back().unwrap();
    first.run(&said, &mut Nobody).await.unwrap();
    let (history, copy) = (without_instructions(&first), folder.path().join("copy.jsonl"));
    std::fs::copy(&path, &copy).unwrap();
    assert_eq!(resumed(&copy), history);
    assert_eq!(
        history.iter().map(|message| &*message.content).collect::<Vec<_>>(),
        ["First.", "One.", "Second.", "Other."]
    );
    first.clear();
    let next = first.recorded().unwrap().path().to_owned();
    assert!(next != path && !next.exists(), "nothing was said in the next one");
    first.clear();
    assert_eq!(first.recorded().unwrap().path(), next, "a conversation without a prompt continues");
    first.run("Third.", &mut Nobody).await.unwrap();
    let third = without_instructions(&first);
    drop(first);
    assert_eq!((resumed(&next), third.len()), (third, 2));
    assert_eq!(resumed(&path), history, "a cleared conversation can be resumed");
    let all = records(&path);
    let said: Vec<&Value> =
        all.iter().filter(|record| record["role"] == "user").map(|record| &record["content"]).collect();
    assert_eq!(said, ["First.", "Second.", "Second."]);
    assert!(all.iter().any(|record| record["content"] == "Two."), "what was said stays in the file");
    assert_eq!(all.last().unwrap()["kind"], "cleared");
    let third = records(&next);
    assert_eq!((&third[0]["session"]["title"], &third[1]["content"]), (&"Third.".into(), &"Third.".into()));
}

/// The record distinguishes a denial by a person from a denial because no person was present.
#[tokio::test]
async fn a_denial_without_a_person_is_recorded_as_such() {
    let folder = tempfile::tempdir().unwrap();
    let change = "```tool\n{\"name\": \"change\", \"args\": {\"word\": \"a\"}}\n```\n";
    for (host, by) in [(&mut Wavering(1) as &mut dyn Host, "person"), (&mut Nobody, "nobody")] {
        let transcript = Transcript::create(folder.path(), folder.path()).unwrap();
        let path = transcript.path().to_owned();
        agent(Replay::new([change, "Then not."]), instructed(), transcript).run("Do it.", host).await.unwrap();
        let all = records(&path);
        let tool = all.iter().find(|record| record["role"] == "tool").unwrap();
        let decision = &tool["tool_call"]["decision"];
        assert_eq!((&decision["by"], &decision["verdict"]), (&by.into(), &"ask".into()), "{tool}");
        assert_eq!(tool["tool_result"]["error"]["code"], "denied");
    }
}

/// A backend that stops in the middle of a reply and waits forever.
struct Stuck;

impl Backend for Stuck {
    fn stream<'a>(&'a self, _: &'a [Message], sink: &'a mut dyn Sink) -> BoxFuture<'a, Result<FinishReason, Error>> {
        Box::pin(async move {
            let _ = sink.chunk(Chunk::Text(ROUND[0]));
            std::future::pending().await
        })
    }
}

/// A host that cancels at the first event.
struct Impatient(toolfence_agent::agent::Canceller);

impl Host for Impatient {
    fn show(&mut self, _: &toolfence_protocol::parse::Event<'_>) {
        self.0.cancel();
    }
}

#[tokio::test]
async fn a_resumed_history_has_a_stopped_turn_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let transcript = Transcript::create(folder.path(), folder.path()).unwrap();
    let path = transcript.path().to_owned();
    let mut first = agent(Stuck, instructed(), transcript);
    for _ in 0..2 {
        let canceller = first.canceller();
        first.run("Begin.", &mut Impatient(canceller)).await.unwrap();
    }
    let history = without_instructions(&first);
    drop(first);
    assert_eq!(resumed(&path), history);
    let ends: Vec<Value> = records(&path).into_iter().filter(|record| record["kind"] == "end").collect();
    assert_eq!(ends.len(), 2);
    assert!(ends.iter().all(|end| end["content"] == "cancelled"));
}

#[tokio::test]
async fn secrets_are_not_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let transcript = Transcript::create(folder.path(), folder.path()).unwrap();
    let path = transcript.path().to_owned();
    let secret = "AKIAIOSFODNN7EXAMPLE";
    let reply =
        format!("It is {secret} today.\n```tool\n{{\"name\": \"look\", \"args\": {{\"word\": \"{secret}\"}}}}\n```\n");
    let mut first = agent(Replay::new([reply.as_str(), "Done."]), instructed(), transcript);
    first.run(&format!("The key is {secret} now."), &mut Nobody).await.unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(!text.contains(secret), "{text}");
    assert!(records(&path).len() >= 5);
    let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(&path).unwrap());
    assert_eq!(mode & 0o777, 0o600);
}

/// Records a small session in a folder.
async fn small(folder: &Path) -> PathBuf {
    let transcript = Transcript::create(folder, folder).unwrap();
    let path = transcript.path().to_owned();
    let mut first = agent(Replay::new(["One.", "Two."]), instructed(), transcript);
    first.run("First.", &mut Nobody).await.unwrap();
    first.run("Second.", &mut Nobody).await.unwrap();
    path
}

#[tokio::test]
async fn a_torn_last_line_is_dropped_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = small(folder.path()).await;
    let whole = std::fs::read(&path).unwrap();
    let last = whole[..whole.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    for cut in last..whole.len() {
        std::fs::write(&path, &whole[..cut]).unwrap();
        assert_eq!(StoredSession::read(&path).unwrap().records.len(), 3, "cut at {cut}");
        let transcript = Transcript::resume(&path).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), &whole[..last], "cut at {cut}");
        drop(transcript);
    }
    std::fs::write(&path, &whole[..last + 5]).unwrap();
    let transcript = Transcript::resume(&path).unwrap();
    let mut options = instructed();
    options.history = transcript.history();
    agent(Replay::new(["Again."]), options, transcript).run("Third.", &mut Nobody).await.unwrap();
    assert_eq!(records(&path).len(), 6);
}

#[tokio::test]
async fn an_invalid_line_is_left_out_and_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = small(folder.path()).await;
    let text = std::fs::read_to_string(&path).unwrap();
    let damaged: Vec<&str> = text.lines().enumerate().map(|(at, line)| if at == 2 { "\0\0" } else { line }).collect();
    std::fs::write(&path, damaged.join("\n") + "\n").unwrap();
    let transcript = Transcript::resume(&path).unwrap();
    assert_eq!((transcript.unreadable(), transcript.stored_records().len()), (1, 3));
}

#[tokio::test]
async fn a_newer_version_is_refused_and_unknown_fields_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = small(folder.path()).await;
    let text = std::fs::read_to_string(&path).unwrap();
    for line in [0, 2] {
        let newer: Vec<String> = text
            .lines()
            .enumerate()
            .map(|(at, text)| if at == line { text.replacen("\"v\":2", "\"v\":3", 1) } else { text.to_owned() })
            .collect();
        std::fs::write(&path, newer.join("\n") + "\n").unwrap();
        let error = Transcript::resume(&path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
        let said = error.to_string();
        assert!(said.contains("version 3") && said.contains("Update coder"), "{said}");
    }
    std::fs::write(&path, text.replace("\"role\":\"user\"", "\"mood\":\"good\",\"role\":\"user\"")).unwrap();
    let fork = Transcript::fork(&path, Some("3")).unwrap();
    assert_eq!(fork.stored_records().len(), 3);
    let copy = std::fs::read_to_string(fork.path()).unwrap();
    assert_eq!(copy.matches("\"mood\":\"good\"").count(), 2);
}

#[tokio::test]
async fn a_session_has_one_writer() {
    let folder = tempfile::tempdir().unwrap();
    let path = small(folder.path()).await;
    let first = Transcript::resume(&path).unwrap();
    let error = Transcript::resume(&path).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy);
    let process = format!("process {}", std::process::id());
    assert!(error.to_string().contains(&process), "{error}");
    assert_eq!(StoredSession::read(&path).unwrap().records.len(), 4, "readers need no lock");
    let fork = Transcript::fork(&path, None).unwrap();
    assert_eq!(fork.stored_records().len(), 4);
    drop(first);
    Transcript::resume(&path).unwrap();
}

#[tokio::test]
async fn a_fork_has_the_messages_up_to_the_chosen_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = small(folder.path()).await;
    let fork = Transcript::fork(&path, Some("2")).unwrap();
    let copy = fork.path().to_owned();
    let mut options = instructed();
    options.history = fork.history();
    assert_eq!((options.history.len(), options.history[0].replies.len()), (1, 1));
    agent(Replay::new(["Other."]), options, fork).run("Instead.", &mut Nobody).await.unwrap();
    let (all, before) = (records(&copy), records(&path));
    assert_eq!(all[0]["session"]["fork"], serde_json::json!({"session": before[0]["session"]["id"], "message": "2"}));
    assert_eq!((&all[1..3], all.len(), &all[3]["parent"]), (&before[1..3], 5, &"2".into()));
    let error = Transcript::fork(&path, Some("99")).unwrap_err();
    assert!(error.to_string().contains("1 to 4"), "{error}");
}

/// A store finds sessions by a prefix of the name and lists the newest first, without reading whole files.
#[tokio::test]
async fn sessions_are_found() {
    let state = tempfile::tempdir().unwrap();
    let (one, two) = (state.path().join("one"), state.path().join("two"));
    let store = Store::new(state.path());
    for root in [&one, &two] {
        std::fs::create_dir(root).unwrap();
        for question in ["Question", "A very long answer"] {
            let transcript = Transcript::create(&store.folder(root), root).unwrap().model(Some("m".to_owned()));
            let reply = "long ".repeat(40_000);
            agent(Replay::new([reply]), instructed(), transcript).run(question, &mut Nobody).await.unwrap();
        }
    }
    let listed = store.list(Some(&one));
    assert_eq!(listed.len(), 2);
    assert_eq!(
        (listed[0].title.as_str(), listed[0].turns, listed[0].model.as_deref()),
        ("A very long answer", 1, Some("m"))
    );
    assert!(listed[0].changed >= listed[1].changed);
    assert_eq!(store.list(None).len(), 4);
    assert_eq!(store.find(&two, &listed[1].id[..10]).unwrap(), listed[1], "that of another project");
    assert_eq!(store.find(&two, "").unwrap_err().kind(), ErrorKind::InvalidInput);
    assert_eq!(store.find(&two, "zz").unwrap_err().kind(), ErrorKind::NotFound);

    std::fs::write(listed[0].path.with_file_name("noise.jsonl"), "no session\n").unwrap();
    std::os::unix::fs::symlink(&listed[0].path, listed[0].path.with_file_name("link.jsonl")).unwrap();
    assert_eq!(store.list(Some(&one)).len(), 2);

    // An open session is kept, however old it is.
    let open = Transcript::resume(&listed[0].path).unwrap();
    store.drop_older(&one, std::time::Duration::ZERO);
    assert_eq!(store.list(Some(&one)).iter().map(|session| &*session.id).collect::<Vec<_>>(), [open.id()]);
    assert_eq!(store.list(Some(&two)).len(), 2);
}

/// Sessions of every earlier version can be resumed.
#[tokio::test]
async fn sessions_of_every_version_can_be_resumed() {
    for version in ["v1", "v2"] {
        let folder = tempfile::tempdir().unwrap();
        let samples = toolfence_kit::root().join("tests/data/sessions");
        let path = folder.path().join("0123456789abcdef.jsonl");
        std::fs::copy(samples.join(format!("{version}.jsonl")), &path).unwrap();
        assert!(records(&path).len() > 8);
        let transcript = Transcript::resume(&path).unwrap();
        assert_eq!(transcript.unreadable(), 0);
        let mut options = instructed();
        options.history = transcript.history();
        let messages = toolfence_session::render(&options.history, &options.format);
        let roles: Vec<_> = messages.iter().map(|message| message.role).collect();
        assert!(
            roles.chunks(2).all(|two| two == [toolfence_protocol::Role::User, toolfence_protocol::Role::Assistant]),
            "{roles:?}"
        );
        agent(Replay::new(["Yes."]), options, transcript).run("Is it?", &mut Nobody).await.unwrap();
        assert_eq!(records(&path).last().unwrap()["content"], "Yes.");
    }
}

/// A backend that fails once before its reply begins, and then answers.
struct Fails(std::sync::atomic::AtomicBool);

impl Backend for Fails {
    fn stream<'a>(&'a self, _: &'a [Message], sink: &'a mut dyn Sink) -> BoxFuture<'a, Result<FinishReason, Error>> {
        let fails = self.0.swap(false, std::sync::atomic::Ordering::Relaxed);
        let answered = if fails { Err(Error::new("no server listens")) } else { Ok(FinishReason::Stop) };
        if !fails {
            let _ = sink.chunk(Chunk::Text("Yes."));
        }
        Box::pin(async { answered })
    }
}

#[tokio::test]
async fn a_conversation_without_a_reply_is_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    let fails = || Fails(true.into());
    let transcript = Transcript::create(folder.path(), folder.path()).unwrap();
    let path = transcript.path().to_owned();
    let mut first = agent(fails(), instructed(), transcript);
    first.run("Is it?", &mut Nobody).await.unwrap_err();
    assert!(path.exists(), "the user may continue");
    drop(first);
    assert!(!path.exists());
    let transcript = Transcript::create(folder.path(), folder.path()).unwrap();
    let path = transcript.path().to_owned();
    let mut second = agent(fails(), instructed(), transcript);
    second.run("Is it?", &mut Nobody).await.unwrap_err();
    second.run("And now?", &mut Nobody).await.unwrap();
    drop(second);
    assert_eq!(records(&path).last().unwrap()["content"], "Yes.");
}

#[tokio::test]
async fn a_resumed_conversation_repeats_no_id() {
    let folder = tempfile::tempdir().unwrap();
    let transcript = Transcript::create(folder.path(), folder.path()).unwrap();
    let path = transcript.path().to_owned();
    agent(Replay::new([ROUND[0], "Done."]), instructed(), transcript).run("One.", &mut Nobody).await.unwrap();
    let transcript = Transcript::resume(&path).unwrap();
    let mut options = instructed();
    options.history = transcript.history();
    agent(Replay::new([ROUND[0], "Done."]), options, transcript).run("Two.", &mut Nobody).await.unwrap();
    let all = records(&path);
    let ids: Vec<&str> = all.iter().filter_map(|record| record["tool_call"]["id"].as_str()).collect();
    let unique: std::collections::BTreeSet<&str> = ids.iter().copied().collect();
    assert!(ids.len() == 4 && unique.len() == 4, "{ids:?}");
}

/// A record that cannot be written does not stop the session.
#[tokio::test]
async fn an_unwritable_folder_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("file"), "").unwrap();
    let transcript = Transcript::create(&folder.path().join("file/sessions"), folder.path()).unwrap();
    let mut first = agent(Replay::new(["One."]), instructed(), transcript);
    first.run("First.", &mut Nobody).await.unwrap();
    let trouble = first.recorded().unwrap().trouble().unwrap().to_string();
    assert!(trouble.contains("write down the session"), "{trouble}");
}
