//! The HTTP backend against a real llama.cpp server, which the script named by `TOOLFENCE_LIVE_LLAMA` starts. Its
//! weights are random and a grammar determines its output, but the sampler, the stream and the errors are real.

mod grammar;
mod probe;
mod stitch;

use std::io::{BufRead, BufReader};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use toolfence_agent::agent::{Agent, Host, Nobody};
use toolfence_agent::backend::http::Http;
use toolfence_agent::backend::http::HttpOptions;
use toolfence_agent::backend::{Backend, Chunk, Sink};
use toolfence_policy::toolbox::{BoxFuture, Permit, Progress, Tool, ToolError, Toolbox};
use toolfence_policy::{AskMode, NoFacts};
use toolfence_protocol::{Effect, Error, FinishReason, Message, Output, Role, ToolSpec};
use toolfence_session::{Compacted, Session, SessionOptions, StopReason};

/// Only one server runs at a time, because each one uses all cores.
static TAKEN: Mutex<bool> = Mutex::new(false);
static FREED: Condvar = Condvar::new();

/// A guard that gives one test at a time the right to run a server.
struct Turn;

impl Turn {
    fn wait() -> Turn {
        let taken = TAKEN.lock().unwrap();
        *FREED.wait_while(taken, |taken| *taken).unwrap() = true;
        Turn
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        *TAKEN.lock().unwrap() = false;
        FREED.notify_one();
    }
}

/// A server that is stopped when this value is dropped.
struct Server {
    child: Child,
    url: String,
    _turn: Turn,
}

impl Server {
    /// Starts a server. Returns `None` and prints the reason if none is available.
    fn start(args: &[&str]) -> Option<Server> {
        let Some(script) = std::env::var_os("TOOLFENCE_LIVE_LLAMA").map(PathBuf::from) else {
            eprintln!("skipped: TOOLFENCE_LIVE_LLAMA does not name the script that starts a llama.cpp server");
            return None;
        };
        let turn = Turn::wait();
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
        let mut command = Command::new("python3");
        command.arg(script).args(["--port", &port]).args(args);
        // It stops when its standard input closes, so that it cannot outlive the test.
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("python3 starts");
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let listens = stdout.lines().map_while(Result::ok).any(|line| line.starts_with("listening "));
        assert!(listens, "the server ended before it listened");
        Some(Server { child, url: format!("http://127.0.0.1:{port}/v1"), _turn: turn })
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // This fails if the server was killed already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[derive(Default)]
struct Seen<'a> {
    text: String,
    pieces: usize,
    /// The server to kill at the first piece.
    victim: Option<&'a mut Server>,
}

impl Sink for Seen<'_> {
    fn chunk(&mut self, chunk: Chunk<'_>) -> ControlFlow<()> {
        if let Chunk::Text(text) = chunk {
            self.text.push_str(text);
            self.pieces += 1;
        }
        if let Some(victim) = self.victim.take() {
            victim.kill();
        }
        ControlFlow::Continue(())
    }
}

fn options(url: &str, grammar: Option<&str>) -> HttpOptions {
    let mut options = HttpOptions::new("tiny");
    options.base_url = Some(url.to_owned());
    options.retries = 0;
    if let Some(grammar) = grammar {
        options.body.insert("grammar".into(), grammar.into());
    }
    options
}

async fn ask(options: HttpOptions, user: &str, seen: &mut Seen<'_>) -> Result<FinishReason, Error> {
    Http::new(options)?.stream(&[Message::new(Role::User, user)], seen).await
}

#[tokio::test]
async fn a_reply_with_a_call_arrives_in_pieces() {
    let reply = "Ich schaue nach: ä€𐍈.\n\n```tool\n{\"name\": \"list_files\", \"args\": {\"path\": \"Bücher\"}}\n```\n";
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), reply).unwrap();
    let Some(server) = Server::start(&["--reply", file.path().to_str().unwrap()]) else { return };
    let mut seen = Seen::default();
    let finish = ask(options(&server.url, None), "list the files", &mut seen).await.unwrap();
    assert_eq!((seen.text.as_str(), finish), (reply, FinishReason::Stop));
    assert!(seen.pieces > 20, "{} pieces", seen.pieces);
}

#[tokio::test]
async fn replies_that_the_server_ends_early_report_the_reason() {
    let Some(mut server) = Server::start(&["--context", "1024"]) else { return };
    let long = "root ::= \"ä\" root";
    let mut limited = options(&server.url, Some(long));
    limited.max_tokens = Some(10);
    let mut seen = Seen::default();
    assert_eq!(ask(limited, "continue", &mut seen).await.unwrap(), FinishReason::Length);
    assert_eq!(seen.text, "äääää", "a byte is a token here");

    let mut seen = Seen::default();
    assert_eq!(ask(options(&server.url, Some(long)), "continue", &mut seen).await.unwrap(), FinishReason::Length);
    assert!(seen.text.len() > 500, "{} bytes until the window was full", seen.text.len());

    let error = ask(options(&server.url, None), &"x".repeat(2000), &mut seen).await.unwrap_err().to_string();
    assert!(error.contains("longer than the model's window"), "{error}");
    let error = ask(options(&format!("{}/nothing", server.url), None), "x", &mut seen).await.unwrap_err().to_string();
    assert!(error.contains("HTTP 404") && error.contains("end with /v1"), "{error}");

    let url = server.url.clone();
    let mut seen = Seen { victim: Some(&mut server), ..Seen::default() };
    assert_eq!(ask(options(&url, Some(long)), "continue", &mut seen).await.unwrap(), FinishReason::Cut);
    assert!(seen.text.starts_with('ä'), "{:?}", seen.text);
    let error = ask(options(&url, None), "x", &mut Seen::default()).await.unwrap_err().to_string();
    assert!(error.contains("No server listens there"), "{error}");
}

/// A tool that always returns the same list.
struct List(ToolSpec);

impl Tool for List {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run<'a>(&'a self, _: Permit<'a>, _: &'a dyn Progress) -> BoxFuture<'a, Result<Output, ToolError>> {
        Box::pin(async { Ok(Output::text("a.txt\nb.txt\n")) })
    }
}

/// The grammar allows only one reply, so the loop guard ends the turn after five calls with their results.
#[tokio::test]
async fn a_turn_goes_all_the_way() {
    let reply = "Let me look.\n\n```tool\n{\"name\": \"list\"}\n```\n";
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), reply).unwrap();
    let Some(server) = Server::start(&["--reply", file.path().to_str().unwrap()]) else { return };
    let toolbox = Toolbox::new().with(List(ToolSpec::new("list", "List the files.").effect(|_| Effect::Read)));
    let policy = toolfence_kit::policy(AskMode::Risky);
    let session = Session::new(SessionOptions::default(), Arc::new(toolbox.catalog()), policy, Arc::new(NoFacts));
    let backend = Http::new(options(&server.url, None)).unwrap();
    let mut agent = Agent::new(session, toolbox, Arc::new(backend));
    assert_eq!(agent.run("list the files", &mut Nobody).await.unwrap(), StopReason::Loop);
    let history = agent.session().history();
    assert_eq!(history.len(), 11);
    assert!(history.iter().skip(1).step_by(2).all(|message| message.content == reply));
    assert!(history.iter().skip(2).step_by(2).all(|message| message.content.contains("\na.txt\nb.txt\n")));
}

/// A tool that returns a different long list for each call.
struct LongList(ToolSpec, AtomicUsize);

impl Tool for LongList {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn run<'a>(&'a self, _: Permit<'a>, _: &'a dyn Progress) -> BoxFuture<'a, Result<Output, ToolError>> {
        let number = self.1.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move { Ok(Output::text(format!("list {number}\n{}", "a-file.txt\n".repeat(60)))) })
    }
}

/// A host that records compactions.
#[derive(Default)]
struct Watcher(Vec<Compacted>);

impl Host for Watcher {
    fn compacted(&mut self, done: &Compacted) {
        self.0.push(*done);
    }
}

/// A backend that hides the server's window, so that the agent learns it only from a refusal.
struct Reserved(Http);

impl Backend for Reserved {
    fn stream<'a>(
        &'a self,
        messages: &'a [Message],
        sink: &'a mut dyn Sink,
    ) -> BoxFuture<'a, Result<FinishReason, Error>> {
        self.0.stream(messages, sink)
    }
}

/// Twenty rounds of long results exceed the window four times. The agent learns the window from the server's report or
/// from one refusal. After that, the conversation is compacted before the server refuses it.
#[tokio::test]
async fn a_conversation_that_overflows_the_window_continues() {
    let reply = "Let me look.\n\n```tool\n{\"name\": \"list\"}\n```\n";
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), reply).unwrap();
    let Some(server) = Server::start(&["--reply", file.path().to_str().unwrap(), "--context", "4096"]) else { return };
    let http = || Http::new(options(&server.url, None)).unwrap();
    assert_eq!(http().window().await, Some(4096));
    let backends: [(&str, Arc<dyn Backend>); 2] =
        [("reported", Arc::new(http())), ("refused", Arc::new(Reserved(http())))];
    for (how, backend) in backends {
        let list = ToolSpec::new("list", "List the files.").effect(|_| Effect::Read);
        let toolbox = Toolbox::new().with(LongList(list, AtomicUsize::new(0)));
        let policy = toolfence_kit::policy(AskMode::Risky);
        let session = Session::new(SessionOptions::default(), Arc::new(toolbox.catalog()), policy, Arc::new(NoFacts));
        let mut agent = Agent::new(session, toolbox, backend);
        let mut watcher = Watcher::default();
        assert_eq!(agent.run("list the files", &mut watcher).await.unwrap(), StopReason::RoundLimit, "{how}");
        let bytes = |messages: &[Message]| messages.iter().map(|message| message.content.len()).sum::<usize>();
        let (all, sent) = (bytes(&agent.session().history()), bytes(&agent.session().messages()));
        println!("{how}: {all} bytes in all, {sent} sent at the end; first {:?}", watcher.0.first());
        assert!(all > 3 * 4096 && sent < 4096 && watcher.0.len() > 3, "{how}: {all} {sent} {:?}", watcher.0);
        // The conversation exceeds the window only if the agent has to learn it from a refusal.
        assert_eq!(watcher.0[0].before > 4096, how == "refused", "{how}: {:?}", watcher.0[0]);
        assert!(agent.session().messages()[0].content.starts_with("list the files\n\n[COMPACTED: "));
        // The conversation stays usable: the next message of the user is answered too.
        assert!(agent.run("and now?", &mut watcher).await.is_ok(), "{how}");
    }
}
