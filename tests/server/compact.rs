//! Conversations that exceed the context window: a server with a small window over real HTTP, and real tools on real
//! files.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use toolfence_agent::agent::{Agent, Host};
use toolfence_agent::backend::Backend;
use toolfence_agent::backend::http::{Http, HttpOptions};
use toolfence_policy::rules::PathRules;
use toolfence_policy::toolbox::BoxFuture;
use toolfence_policy::{AskMode, Pending, Policy};
use toolfence_protocol::{ErrorKind, Message, Role, Text};
use toolfence_sandbox::isolation::Settings;
use toolfence_session::{Answer, Compacted, Session, SessionOptions, StopReason};
use toolfence_tools::{self as tools, CommandRunner};
use toolfence_workspace::Workspace;

/// A function of a request's tokens and the window. It returns the status and the body of the server's refusal.
type Refuses = fn(usize, usize) -> (&'static str, String);

fn llama(tokens: usize, window: usize) -> (&'static str, String) {
    let message =
        format!("request ({tokens} tokens) exceeds the available context size ({window} tokens), try increasing it");
    let error = serde_json::json!({"error": {"code": 400, "message": message, "type": "exceed_context_size_error",
        "n_prompt_tokens": tokens, "n_ctx": window}});
    ("400 Bad Request", error.to_string())
}

fn openai(tokens: usize, window: usize) -> (&'static str, String) {
    let message = format!(
        "This model's maximum context length is {window} tokens. However, your messages resulted in {tokens} tokens. Please \
         reduce the length of the messages."
    );
    let error = serde_json::json!({"error": {"message": message, "code": "context_length_exceeded"}});
    ("400 Bad Request", error.to_string())
}

fn vllm(tokens: usize, window: usize) -> (&'static str, String) {
    let message = format!("The decoder prompt (length {tokens}) is longer than the maximum model length of {window}.");
    ("400 Bad Request", serde_json::json!({"object": "error", "message": message}).to_string())
}

fn ollama(_: usize, _: usize) -> (&'static str, String) {
    ("400 Bad Request", r#"{"error":{"message":"the input length exceeds the context length"}}"#.to_owned())
}

fn gateway(tokens: usize, window: usize) -> (&'static str, String) {
    let message = format!("prompt is too long: {tokens} tokens > {window} maximum");
    ("413 Payload Too Large", serde_json::json!({"type": "error", "error": {"message": message}}).to_string())
}

fn old_llama(_: usize, _: usize) -> (&'static str, String) {
    let error = r#"{"error":{"code":500,"message":"the request exceeds the available context size"}}"#;
    ("500 Internal Server Error", error.to_owned())
}

const SHAPES: [(&str, Refuses); 6] = [
    ("llama.cpp", llama),
    ("OpenAI", openai),
    ("vLLM", vllm),
    ("Ollama", ollama),
    ("a gateway", gateway),
    ("an old llama.cpp", old_llama),
];

/// The number of tokens of each request, and whether the server refused it.
type Log = Arc<Mutex<Vec<(usize, bool)>>>;

/// Counts tokens like the server: four bytes each.
fn tokens_of(messages: &[Message]) -> usize {
    messages.iter().map(|message| message.content.len() / 4 + 4).sum()
}

/// Starts a server with a context window. It sends the replies in order, one for each request that fits.
async fn serve(window: usize, refuses: Refuses, replies: Vec<String>) -> (String, Log) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let log = Log::default();
    let seen = log.clone();
    tokio::spawn(async move {
        let mut replies = replies.into_iter();
        while let Ok((mut stream, _)) = listener.accept().await {
            let Some(messages) = request(&mut stream).await else {
                let answer = "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
                // The client may have disconnected.
                let _ = stream.write_all(answer.as_bytes()).await;
                continue;
            };
            let tokens = tokens_of(&messages);
            seen.lock().unwrap().push((tokens, tokens > window));
            let answer = if tokens > window {
                let (status, body) = refuses(tokens, window);
                format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len())
            } else {
                let reply = replies.next().unwrap_or_else(|| "Nothing more.".into());
                let piece = serde_json::json!({"choices": [{"index": 0, "delta": {"content": reply}}]});
                let end = serde_json::json!({"choices": [{"index": 0, "finish_reason": "stop", "delta": {}}],
                    "usage": {"prompt_tokens": tokens, "completion_tokens": 10}});
                let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
                format!("{head}data: {piece}\n\ndata: {end}\n\ndata: [DONE]\n\n")
            };
            // The client may have disconnected.
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    (url, log)
}

/// Reads the messages of a request; `None` for a request to an unknown path.
async fn request(stream: &mut TcpStream) -> Option<Vec<Message>> {
    let (mut bytes, mut buffer) = (Vec::new(), [0; 65536]);
    loop {
        let got = stream.read(&mut buffer).await.unwrap();
        assert!(got > 0, "the request breaks off");
        bytes.extend_from_slice(&buffer[..got]);
        let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
        if head.starts_with("get ") {
            return None;
        }
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
        if bytes.len() >= end + 4 + length.expect("a length") {
            let body: serde_json::Value = serde_json::from_slice(&bytes[end + 4..]).unwrap();
            let messages: Vec<Message> = serde_json::from_value(body["messages"].clone()).unwrap();
            let roles: Vec<Role> = messages.iter().map(|message| message.role).collect();
            let received = &roles[usize::from(roles[0] == Role::System)..];
            assert!(
                received.iter().step_by(2).all(|role| *role == Role::User),
                "user and assistant in turn: {roles:?}"
            );
            assert!(received.iter().skip(1).step_by(2).all(|role| *role == Role::Assistant), "{roles:?}");
            return Some(messages);
        }
    }
}

/// A host that approves all calls except commands, which it denies with a reason, and records compactions.
#[derive(Default)]
struct Person {
    compacted: Vec<Compacted>,
}

impl Host for Person {
    fn compacted(&mut self, done: &Compacted) {
        self.compacted.push(*done);
    }

    fn ask<'a>(&'a mut self, pending: &'a Pending) -> BoxFuture<'a, Answer> {
        let refuse = pending.call().name == "bash";
        let why = || Answer::No(Text::from("Nothing is pushed before Friday."));
        Box::pin(async move { if refuse { why() } else { Answer::Yes } })
    }
}

fn agent(folder: &Path, url: &str, window: Option<u64>) -> Agent {
    let workspace = Arc::new(Workspace::open(folder, PathRules::default()).unwrap());
    let runner = Arc::new(CommandRunner::new(workspace, Settings::new()));
    let toolbox = tools::standard(Arc::clone(&runner));
    let mut options = SessionOptions::default();
    options.system = "You are a careful agent.".into();
    options.limits.rounds = 100;
    options.window = window;
    let policy = Policy::default().ask(AskMode::Risky);
    let session = Session::new(options, Arc::new(toolbox.catalog()), policy, runner);
    let mut http = HttpOptions::new("small");
    http.base_url = Some(url.to_owned());
    http.retries = 0;
    Agent::new(session, toolbox, Arc::new(Http::new(http).unwrap()))
}

fn call(name: &str, args: &serde_json::Value) -> String {
    format!("I check.\n\n```tool\n{}\n```\n", serde_json::json!({"name": name, "args": args}))
}

/// Returns a task of 50 replies that read long files, write and edit, and once request a denied call.
fn fifty_replies() -> Vec<String> {
    let mut replies = Vec::new();
    for number in 0..49 {
        let module = format!("src/module_{}.py", number / 4);
        replies.push(match (number, number % 4) {
            (7, _) => call("bash", &serde_json::json!({"command": "git push", "outside_sandbox": true})),
            (_, 0) => call("read_file", &serde_json::json!({"path": format!("old/part_{}.txt", number / 4)})),
            (_, 1) => {
                call("write_file", &serde_json::json!({"path": module, "content": format!("VALUE = {number}\n")}))
            }
            (_, 2) => {
                let (old, new) = (format!("VALUE = {}", number - 1), format!("VALUE = {}", number * 10));
                call("replace_text", &serde_json::json!({"path": module, "old": old, "new": new}))
            }
            _ => call("search", &serde_json::json!({"pattern": "word", "path": "old", "context": 2})),
        });
    }
    replies.push("All modules are ported.".into());
    replies
}

fn project() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("old")).unwrap();
    for part in 0..13 {
        let lines: String = (0..120).map(|line| format!("part {part}, line {line}: one word and another\n")).collect();
        std::fs::write(folder.path().join(format!("old/part_{part}.txt")), lines).unwrap();
    }
    folder
}

fn tree(folder: &Path) -> BTreeMap<String, String> {
    let mut tree = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(folder).unwrap().display().to_string();
                tree.insert(name, std::fs::read_to_string(path).unwrap());
            }
        }
    }
    tree
}

const TASK: &str = "Port every part in old/ to a module in src/. Do not push.";

/// Runs the task on a server with this window. With `known`, the agent knows the window from the start.
async fn run(
    window: usize,
    known: bool,
) -> (BTreeMap<String, String>, Vec<(usize, bool)>, Person, Vec<Message>, Vec<Message>) {
    let folder = project();
    let (url, log) = serve(window, llama, fifty_replies()).await;
    let mut agent = agent(folder.path(), &url, known.then_some(window as u64));
    let mut person = Person::default();
    assert_eq!(agent.run(TASK, &mut person).await.unwrap(), StopReason::Answered);
    let log = log.lock().unwrap().clone();
    (tree(folder.path()), log, person, agent.session().messages(), agent.session().history())
}

#[tokio::test]
async fn fifty_replies_in_a_small_window_end_with_the_same_tree() {
    let (wanted, all, person, ..) = run(1 << 30, false).await;
    assert!(person.compacted.is_empty() && all.len() == 50, "{all:?}");
    assert_eq!(wanted["src/module_5.py"], "VALUE = 220\n");
    let most = all.iter().map(|(tokens, _)| *tokens).max().unwrap();
    let window = 9000;
    assert!(most > 3 * window, "{most} tokens without compaction");
    for known in [true, false] {
        let (tree, log, person, sent, history) = run(window, known).await;
        println!("window {window}, known: {known}; {most} tokens without compaction; requests {log:?}");
        println!("{:?}", person.compacted);
        assert_eq!(tree, wanted);
        let refused = log.iter().filter(|(_, refused)| *refused).count();
        // An agent that does not know the window learns it from the first refusal.
        assert_eq!(refused, usize::from(!known), "{log:?}");
        assert_eq!(log.len(), 50 + refused);
        // The server's counts calibrate the estimates, so at least 80 % of the window is used.
        let largest = log.iter().map(|(tokens, _)| *tokens).max().unwrap();
        assert!(!known || (6400..=7200).contains(&largest), "{largest}");
        assert!(person.compacted.len() > 1 && person.compacted.iter().all(|done| done.after < done.before));

        assert_eq!(history.len(), 101, "the history keeps all of it");
        assert!(sent.ends_with(&history[history.len() - 5..]), "the last replies stay verbatim");
        let task = sent.iter().find(|message| message.role == Role::User).unwrap();
        assert!(task.content.starts_with(TASK), "{}", task.content);
        for wanted in ["src/module_0.py", "src/module_5.py", "bash git push", "Nothing is pushed before Friday."] {
            assert!(task.content.contains(wanted), "{wanted} in {}", task.content);
        }
    }
}

/// Returns an agent that does not know its server's window. The server has this window and this number of replies.
async fn agent_without_window(refuses: Refuses, window: usize, replies: usize) -> (Agent, Log, TempDir) {
    let folder = project();
    let mut said = fifty_replies();
    said.truncate(replies);
    said.push("Done.".into());
    let (url, log) = serve(window, refuses, said).await;
    (agent(folder.path(), &url, None), log, folder)
}

#[tokio::test]
async fn every_known_form_of_a_refusal_is_understood() {
    for (name, refuses) in SHAPES {
        let (mut agent, log, _folder) = agent_without_window(refuses, 9000, 20).await;
        let mut person = Person::default();
        assert_eq!(agent.run(TASK, &mut person).await.unwrap(), StopReason::Answered, "{name}");
        let log = log.lock().unwrap().clone();
        let refusals = log.iter().filter(|(_, refused)| *refused).count();
        assert!((1..=5).contains(&refusals), "{name}: {log:?}");
        assert!(log.windows(2).all(|pair| !(pair[0].1 && pair[1].1)), "{name}: never twice in a row");
        assert!(person.compacted.len() >= refusals, "{name}");
    }
}

#[tokio::test]
async fn the_error_gives_advice_if_nothing_can_be_compacted() {
    let (mut agent, log, _folder) = agent_without_window(llama, 60, 0).await;
    let error = agent.run(&"word ".repeat(200), &mut Person::default()).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::TooLong { tokens: Some(_), window: Some(60) }), "{error:?}");
    let message = error.to_string();
    assert!(message.contains("HTTP 400") && message.contains("begin a new one (`/clear` in `coder`)"), "{message}");
    assert_eq!(log.lock().unwrap().len(), 1, "the same is not sent again");

    agent.clear();
    let done = agent.run("hello", &mut Person::default()).await.unwrap();
    assert_eq!(done, StopReason::Answered, "a new conversation is refused nothing");
}

#[tokio::test]
async fn a_second_refusal_is_not_retried() {
    // Half of the refused request is still too much.
    let (mut agent, log, _folder) = agent_without_window(ollama, 500, 1).await;
    let error = agent.run(TASK, &mut Person::default()).await.unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::TooLong { tokens: None, window: None }), "{error:?}");
    assert!(error.to_string().contains("send less at once"), "{error}");
    let log = log.lock().unwrap().clone();
    let [.., (_, before), (first, true), (second, true)] = log[..] else { panic!("{log:?}") };
    assert!(!before && second < first, "{log:?}");
    // Each further message of the user compacts once more, so the conversation stays usable.
    let mut ended = agent.run("again", &mut Person::default()).await;
    for _ in 0..5 {
        if ended.is_ok() {
            break;
        }
        ended = agent.run("again", &mut Person::default()).await;
    }
    assert!(ended.is_ok(), "{ended:?}");
}

#[tokio::test]
async fn a_compacted_turn_can_be_undone() {
    let (mut agent, _log, _folder) = agent_without_window(llama, 1 << 30, 13).await;
    agent.run(TASK, &mut Person::default()).await.unwrap();
    let whole = agent.session().messages();
    let done = agent.compact().unwrap();
    assert!(done.after < done.before && done.outputs > 0, "{done:?}");
    let less = agent.session().messages();
    assert!(tokens_of(&less) <= tokens_of(&whole) / 2 + 100, "{done:?}");
    assert_eq!(agent.session().history(), whole, "nothing is lost");

    assert_eq!(agent.take_back().as_deref(), Some(TASK));
    assert_eq!(agent.session().messages().len(), 1, "the instructions are left");
    assert!(
        agent.session().owed()[0].text().contains("src/module_0.py, src/module_1.py"),
        "{:?}",
        agent.session().owed()
    );
    assert_eq!(agent.take_back(), None, "once");
    agent.run(TASK, &mut Person::default()).await.unwrap();
    let first = &agent.session().messages()[1].content;
    assert!(first.ends_with(TASK) && first.contains("Its changes remain"), "{first}");
}

/// Starts a server that reports its window at this path, in this form.
async fn reporting(place: &'static str, report: &'static str) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = asked.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut buffer = [0; 4096];
            let got = stream.read(&mut buffer).await.unwrap();
            let line = String::from_utf8_lossy(&buffer[..got]).lines().next().unwrap_or_default().to_owned();
            let (status, body) =
                if line.contains(&format!(" {place} ")) { ("200 OK", report) } else { ("404 No", "{}") };
            seen.lock().unwrap().push(line);
            let answer =
                format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len());
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    (url, asked)
}

#[tokio::test]
async fn servers_are_asked_for_their_window() {
    for (place, report, wanted) in [
        ("/v1/models", r#"{"data": [{"id": "small", "max_model_len": 8192}]}"#, Some(8192)),
        ("/props", r#"{"default_generation_settings": {"n_ctx": 4096}}"#, Some(4096)),
        ("/api/ps", r#"{"models": [{"name": "small:latest", "context_length": 2048}]}"#, Some(2048)),
        ("/api/ps", "no JSON", None),
        ("/nowhere", "{}", None),
    ] {
        let (url, asked) = reporting(place, report).await;
        let mut options = HttpOptions::new("small");
        options.base_url = Some(url);
        let http = Http::new(options).unwrap();
        assert_eq!(http.window().await, wanted, "{place}");
        assert!(asked.lock().unwrap().len() <= 3);
    }
}
