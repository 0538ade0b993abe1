//! A server for a folder with a scripted model, and a client that checks every answer and event.

use crate::proxy::support::Answer;
use boon::{Compiler, Schemas};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use toolfence_agent::agent::Agent;
use toolfence_agent::backend::{Backend, Chunk, Sink};
use toolfence_agent::transcript::{Store, Transcript};
use toolfence_policy::AskMode;
use toolfence_policy::toolbox::BoxFuture;
use toolfence_protocol::{Catalog, Error, FinishReason, Message, Text};
use toolfence_sandbox::isolation::Settings;
use toolfence_server::http::{Agents, Api, ApiOptions, OPENAPI, ROUTES};
use toolfence_session::persona::Persona;
use toolfence_session::{Session, SessionOptions, Turn};
use toolfence_tools::{self as tools, CommandRunner};
use toolfence_workspace::Workspace;
use toolfence_workspace::undo::OpenTurn;

pub(super) const TOKEN: &str = "a-token-for-tests";

/// A scripted reply of the model.
#[derive(Clone)]
pub(super) enum Reply {
    Says(String),
    /// Waits forever.
    Waits,
    /// Repeats a line forever.
    Floods(String),
    Fails,
    /// Sends a text, then waits forever.
    SaysAndWaits(String),
    /// Sends a text, then fails.
    SaysAndFails(String),
}

pub(super) fn says(text: &str) -> Reply {
    Reply::Says(text.to_owned())
}

/// Returns a reply with one call.
pub(super) fn calls(name: &str, args: &Value) -> Reply {
    Reply::Says(format!("So.\n```tool\n{}\n```\n", json!({"name": name, "args": args})))
}

/// The requests to the model, and the number of replies that were dropped before their end.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) messages: Vec<Vec<Message>>,
    pub(super) gone: usize,
    /// The number of bytes that floods have sent.
    pub(super) bytes: usize,
}

struct Model {
    replies: Mutex<VecDeque<Reply>>,
    seen: Arc<Mutex<Seen>>,
}

/// On drop, counts the reply as dropped unless the flag says that it has ended.
struct Ends<'a>(&'a Mutex<Seen>, bool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.lock().unwrap().gone += usize::from(!self.1);
    }
}

impl Backend for Model {
    fn stream<'a>(
        &'a self,
        messages: &'a [Message],
        sink: &'a mut dyn Sink,
    ) -> BoxFuture<'a, Result<FinishReason, Error>> {
        Box::pin(async move {
            self.seen.lock().unwrap().messages.push(messages.to_vec());
            let mut ends = Ends(&self.seen, false);
            let reply = {
                let mut replies = self.replies.lock().unwrap();
                // The last reply is repeated.
                let last = replies.len() == 1;
                if last { replies.front().cloned() } else { replies.pop_front() }
            };
            let reply = reply.unwrap_or(Reply::Waits);
            match reply {
                Reply::Says(text) => {
                    for piece in text.split_inclusive(' ') {
                        if sink.chunk(Chunk::Text(piece)) == ControlFlow::Break(()) {
                            break;
                        }
                    }
                }
                Reply::Waits => std::future::pending().await,
                Reply::Floods(line) => {
                    while sink.chunk(Chunk::Text(&line)) == ControlFlow::Continue(()) {
                        self.seen.lock().unwrap().bytes += line.len();
                        tokio::task::yield_now().await;
                    }
                }
                Reply::SaysAndWaits(text) => {
                    let _ = sink.chunk(Chunk::Text(&text));
                    std::future::pending::<()>().await;
                }
                Reply::SaysAndFails(text) => {
                    let _ = sink.chunk(Chunk::Text(&text));
                    ends.1 = true;
                    return Err(Error::new("the model is asleep"));
                }
                Reply::Fails => {
                    ends.1 = true;
                    return Err(Error::new("the model is asleep"));
                }
            }
            ends.1 = true;
            Ok(FinishReason::Stop)
        })
    }
}

struct Project {
    runner: Arc<CommandRunner>,
    model: Arc<Model>,
    mode: AskMode,
    /// The folder of the conversations.
    sessions: PathBuf,
}

impl Project {
    fn built(
        &self,
        persona: Option<&str>,
        tool: Option<&str>,
        backend: Option<Arc<dyn Backend>>,
        history: Vec<Turn>,
    ) -> Agent {
        let mut toolbox = tools::standard(self.runner.clone());
        if persona == Some("reader") {
            toolbox = toolbox.only(&["read_file".to_owned(), "search".to_owned()]);
        }
        if let Some(tool) = tool {
            toolbox = toolbox.only(&[tool.to_owned()]);
        }
        let mut options = SessionOptions::default();
        let names: Vec<String> = toolbox.catalog().specs().iter().map(|spec| spec.name.to_string()).collect();
        options.system = names.join(" ");
        options.limits.reply_bytes = 1 << 40;
        options.history = history;
        let policy = toolfence_kit::policy(self.mode);
        let session = Session::new(options, Arc::new(toolbox.catalog()), policy, self.runner.clone());
        Agent::new(session, toolbox, backend.unwrap_or_else(|| self.model.clone()))
    }
}

impl Agents for Project {
    fn tools(&self) -> Catalog {
        tools::standard(self.runner.clone()).catalog()
    }

    fn personas(&self) -> Vec<Persona> {
        let head = |name: &str, tools: &str| {
            format!("+++\nname = \"{name}\"\ndescription = \"It is {name}.\"\n{tools}+++\n{name}\n")
        };
        [head("maker", ""), head("reader", "tools = [\"read_file\", \"search\"]\n")]
            .map(|text| Persona::parse(&text).unwrap())
            .into()
    }

    fn agent(
        &self,
        persona: Option<&str>,
        tool: Option<&str>,
        backend: Option<Arc<dyn Backend>>,
    ) -> Result<Agent, Text> {
        Ok(self.built(persona, tool, backend, Vec::new()))
    }

    fn conversation(
        &self,
        persona: Option<&str>,
        tool: Option<&str>,
        file: Option<&Path>,
        backend: Option<Arc<dyn Backend>>,
    ) -> Result<Agent, Error> {
        let transcript = match file {
            Some(file) => Transcript::resume(file)?,
            None => Transcript::create(&self.sessions, self.runner.workspace().root_path())?,
        };
        Ok(self.built(persona, tool, backend, transcript.history()).transcript(transcript))
    }

    fn instructions(&self) -> String {
        "Call the tools.".to_owned()
    }

    fn workspace(&self) -> Arc<Workspace> {
        self.runner.workspace().clone()
    }

    fn begin(&self, _: &str) -> Option<OpenTurn> {
        None
    }

    fn undo(&self, _: bool) -> Result<Option<Value>, Text> {
        Ok(None)
    }

    fn turn_ended(&self, _: Option<&str>, _: Option<&mut Agent>) {}
}

/// The server and its folder.
pub(super) struct Stage {
    pub(super) folder: tempfile::TempDir,
    _state: tempfile::TempDir,
    /// Whether commands run on private copies here.
    pub(super) copies: bool,
    pub(super) address: String,
    pub(super) seen: Arc<Mutex<Seen>>,
    end: Option<oneshot::Sender<()>>,
    serving: Option<tokio::task::JoinHandle<()>>,
    checks: Checks,
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.serving.iter().for_each(tokio::task::JoinHandle::abort);
    }
}

impl Stage {
    /// Starts a server with one reply for each request to the model; the last one answers all further requests.
    pub(super) async fn new(replies: impl IntoIterator<Item = Reply>) -> Stage {
        Stage::with(replies, |_| {}).await
    }

    /// Starts a server that runs calls without asking.
    pub(super) async fn unasked() -> Stage {
        Stage::built([], AskMode::Never, |_| {}).await
    }

    pub(super) async fn with(replies: impl IntoIterator<Item = Reply>, change: impl FnOnce(&mut ApiOptions)) -> Stage {
        Stage::built(replies, AskMode::Risky, change).await
    }

    async fn built(
        replies: impl IntoIterator<Item = Reply>,
        mode: AskMode,
        change: impl FnOnce(&mut ApiOptions),
    ) -> Stage {
        let (folder, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        std::fs::write(folder.path().join("a.txt"), "hi\n").unwrap();
        let seen = Arc::new(Mutex::new(Seen::default()));
        let model = Arc::new(Model { replies: Mutex::new(replies.into_iter().collect()), seen: seen.clone() });
        let policy = toolfence_kit::policy(mode);
        let workspace = Arc::new(Workspace::open(folder.path(), policy.paths().clone()).unwrap());
        let settings = Settings::new().helper(env!("CARGO_BIN_EXE_coder"));
        let runner = Arc::new(CommandRunner::new(workspace, settings).private_copies(state.path()));
        let copies = runner.no_private_copies().is_none();
        let mut options = ApiOptions::new(TOKEN);
        let store = Store::new(state.path());
        let sessions = store.folder(runner.workspace().root_path());
        options.sessions = Some((store, runner.workspace().root_path().to_owned()));
        options.recording = true;
        change(&mut options);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let api = Api::new(options, Arc::new(Project { runner, model, mode, sessions }));
        let (end, ended) = oneshot::channel();
        let serving = tokio::spawn(async move { api.serve(listener, async { drop(ended.await) }).await.unwrap() });
        Stage {
            folder,
            _state: state,
            copies,
            address,
            seen,
            end: Some(end),
            serving: Some(serving),
            checks: Checks::new(),
        }
    }

    /// Shuts the server down and waits for its end.
    pub(super) async fn end(&mut self) {
        drop(self.end.take());
        let serving = self.serving.take().unwrap();
        tokio::time::timeout(Duration::from_secs(30), serving).await.expect("it ends").unwrap();
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Sends a request with these headers and a `Content-Length`, and no others.
    pub(super) async fn send(&self, method: &str, path: &str, headers: &str, body: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).await.unwrap();
        let length = if headers.contains("length: ") || headers.contains("transfer-encoding: ") {
            String::new()
        } else {
            format!("content-length: {}\r\n", body.len())
        };
        let head = format!("{method} {path} HTTP/1.1\r\n{headers}{length}connection: close\r\n\r\n");
        let _ = stream.write_all(head.as_bytes()).await; // a refusal may come before all of it is read
        let _ = stream.write_all(body).await;
        stream
    }

    /// Returns the headers of a client with the token.
    pub(super) fn headers(&self) -> String {
        format!("host: {}\r\nauthorization: Bearer {TOKEN}\r\ncontent-type: application/json\r\n", self.address)
    }

    pub(super) async fn ask_with(&self, method: &str, path: &str, headers: &str, body: &str) -> Answer {
        let mut stream = self.send(method, path, headers, body.as_bytes()).await;
        let answer = tokio::time::timeout(Duration::from_secs(60), Answer::read(&mut stream)).await;
        let answer = answer.unwrap_or_else(|_| panic!("{method} {path} {body} hangs"));
        self.checks.answer(method, path, body, &answer);
        answer
    }

    pub(super) async fn get(&self, path: &str) -> Answer {
        self.ask_with("GET", path, &self.headers(), "").await
    }

    pub(super) async fn post(&self, path: &str, body: &Value) -> Answer {
        self.ask_with("POST", path, &self.headers(), &body.to_string()).await
    }

    /// Runs a turn that is answered with one JSON object.
    pub(super) async fn turn(&self, body: &Value) -> Answer {
        self.post("/api/agent", body).await
    }

    /// Runs a turn and reads its events to the end.
    pub(super) async fn events(&self, mut body: Value) -> Vec<Value> {
        body["stream"] = true.into();
        let answer = self.turn(&body).await;
        assert_eq!((answer.status, answer.whole), (200, true), "{}", answer.body);
        self.checks.events(&answer.body)
    }

    /// Starts a turn that is answered with events.
    pub(super) async fn open(&self, body: Value) -> Events<'_> {
        self.open_at("/api/agent", body).await
    }

    /// Starts a turn at this route that is answered with events.
    pub(super) async fn open_at(&self, path: &str, mut body: Value) -> Events<'_> {
        body["stream"] = true.into();
        let stream = self.send("POST", path, &self.headers(), body.to_string().as_bytes()).await;
        Events { stage: self, stream, text: String::new(), id: String::new() }
    }

    /// Opens the events of a conversation, with these headers.
    pub(super) async fn follow(&self, path: &str, headers: &str) -> Events<'_> {
        let stream = self.send("GET", path, &(self.headers() + headers), b"").await;
        Events { stage: self, stream, text: String::new(), id: String::new() }
    }

    /// Waits until a condition holds.
    pub(super) async fn until(&self, what: &str, holds: impl Fn(&Seen) -> bool) {
        for _ in 0..1000 {
            if holds(&self.seen.lock().unwrap()) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("it never came: {what}");
    }
}

/// Waits until no turn runs, as undo requires.
pub(super) async fn until_no_turn_runs(stage: &Stage) {
    for _ in 0..1000 {
        if stage.post("/api/redo", &json!({})).await.status == 200 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("a turn still runs");
}

/// A stream of events.
pub(super) struct Events<'a> {
    stage: &'a Stage,
    pub(super) stream: TcpStream,
    text: String,
    /// The id of the last event that was read, if it had one.
    pub(super) id: String,
}

impl Events<'_> {
    /// Reads the head of the response, before any event, and returns the conversation that it names.
    pub(super) async fn session(&mut self) -> String {
        while !self.text.contains("\r\n\r\n") {
            let mut buffer = [0; 4096];
            let got = self.stream.read(&mut buffer).await.unwrap();
            assert!(got > 0, "no head in {}", self.text);
            self.text.push_str(std::str::from_utf8(&buffer[..got]).expect("text in ASCII"));
        }
        crate::proxy::support::header(&self.text, "x-session").expect("a session")
    }

    /// Reads up to the next event of this name and returns it.
    pub(super) async fn until(&mut self, name: &str) -> Value {
        let read = async {
            loop {
                let start = format!("event: {name}\n");
                if let Some(at) = self.text.find(&start)
                    && let Some(end) = self.text[at..].find("\n\n")
                {
                    let event = self.text[at..at + end].to_owned();
                    self.text.drain(..at + end);
                    let (head, line) = event.split_once("\ndata: ").expect("data");
                    self.id = head.split_once("\nid: ").map(|(_, id)| id.to_owned()).unwrap_or_default();
                    return serde_json::from_str(line).expect("JSON");
                }
                let mut buffer = [0; 4096];
                let got = self.stream.read(&mut buffer).await.unwrap();
                assert!(got > 0, "no {name} in {}", self.text);
                self.text.push_str(std::str::from_utf8(&buffer[..got]).expect("text in ASCII"));
            }
        };
        let event = tokio::time::timeout(Duration::from_secs(60), read).await.expect("it hangs");
        self.stage.checks.event(&event);
        event
    }
}

/// The compiled schemas of the API and of the pipe.
pub(super) struct Checks {
    api: Value,
    compiled: Mutex<(Compiler, Schemas)>,
}

impl Checks {
    pub(super) fn new() -> Checks {
        let api: Value = serde_json::from_str(OPENAPI).expect("JSON");
        let mut compiler = Compiler::new();
        compiler.add_resource("http://api/", api.clone()).unwrap();
        compiler.add_resource("http://pipe/", serde_json::from_str(toolfence_server::pipe::SCHEMA).unwrap()).unwrap();
        Checks { api, compiled: Mutex::new((compiler, Schemas::new())) }
    }

    /// Checks a value against the schema at this path.
    fn fits(&self, place: &str, value: &Value) -> Result<(), String> {
        let mut compiled = self.compiled.lock().unwrap();
        let (compiler, schemas) = &mut *compiled;
        let index = compiler.compile(place, schemas).unwrap_or_else(|error| panic!("{place}: {error}"));
        schemas.validate(value, index).map_err(|error| format!("{value}\ndoes not fit {place}:\n{error}"))
    }

    /// Checks an answer, and a request that was not refused, against the description of the route.
    pub(super) fn answer(&self, method: &str, path: &str, body: &str, answer: &Answer) {
        let kind = crate::proxy::support::header(&answer.head, "content-type").unwrap_or_default();
        let path = path.split('?').next().unwrap();
        let route = ROUTES.iter().find(|(known, pattern)| {
            let (start, end) = pattern.split_once("{id}").unwrap_or((pattern, ""));
            let named = path.len() > start.len() + end.len() || !pattern.contains('{');
            *known == method
                && path.starts_with(start)
                && path.ends_with(end)
                && named
                && (end.is_empty() != path[start.len()..].contains('/'))
        });
        let Some((_, route)) = route else { return };
        let place =
            |rest: &str| format!("http://api/#/paths/{}/{}/{rest}", route.replace('/', "~1"), method.to_lowercase());
        let responses = &self.api["paths"][route][method.to_lowercase()]["responses"];
        let status = answer.status.to_string();
        let status = if responses.get(&status).is_some() { status.as_str() } else { "default" };
        if kind == "application/json" {
            let schema = place(&format!("responses/{status}/content/application~1json/schema"));
            self.fits(&schema, &answer.json()).unwrap_or_else(|error| panic!("{error}"));
        } else {
            let kind = kind.split(';').next().unwrap();
            assert!(responses[status]["content"].get(kind).is_some(), "{route} has no {kind} for {status}");
        }
        if method == "POST" && status != "default" {
            let request = serde_json::from_str(body).unwrap();
            let schema = place("requestBody/content/application~1json/schema");
            self.fits(&schema, &request).unwrap_or_else(|error| panic!("{error}"));
        }
    }

    fn event(&self, event: &Value) {
        self.fits("http://pipe/#/$defs/out", event).unwrap_or_else(|error| panic!("{error}"));
    }

    /// Returns the events of a complete stream.
    fn events(&self, text: &str) -> Vec<Value> {
        let mut events = Vec::new();
        for block in text.split_terminator("\n\n").filter(|block| !block.starts_with(':')) {
            let (name, data) = block.split_once("\ndata: ").unwrap_or_else(|| panic!("{block:?}"));
            let event: Value = serde_json::from_str(data).unwrap();
            let name = name.split('\n').next().unwrap();
            assert_eq!(name, format!("event: {}", event["event"].as_str().unwrap()));
            self.event(&event);
            events.push(event);
        }
        events
    }
}
