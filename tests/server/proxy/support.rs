//! A scripted upstream that controls every piece, and a client that sees every byte.

use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use toolfence_server::proxy::{Proxy, ProxyOptions};

/// A step of the upstream's script.
#[derive(Clone)]
pub(super) enum Step {
    Send(Vec<u8>),
    Wait(Arc<Notify>),
    Pause(u64),
    /// Repeats these bytes endlessly.
    Repeat(Vec<u8>),
}

pub(super) type Script = Vec<Step>;

#[derive(Default)]
pub(super) struct Seen {
    pub(super) requests: Vec<(String, String)>,
    /// The number of bytes of replies that the proxy has accepted.
    pub(super) sent: usize,
    /// The number of connections that the proxy closed during a reply.
    pub(super) gone: usize,
}

/// The upstream, the proxy in front of it, and the upstream's observations.
pub(super) struct Stage {
    /// The address of the proxy.
    pub(super) address: String,
    pub(super) upstream: String,
    pub(super) seen: Arc<Mutex<Seen>>,
    tasks: Vec<tokio::task::JoinHandle<()>>,
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.tasks.iter().for_each(tokio::task::JoinHandle::abort);
    }
}

impl Stage {
    /// Starts a stage with one script for each connection; the last one serves all further connections.
    pub(super) async fn new(scripts: Vec<Script>) -> Stage {
        Stage::with(scripts, |_| {}).await
    }

    pub(super) async fn with(scripts: Vec<Script>, change: impl FnOnce(&mut ProxyOptions)) -> Stage {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let upstream_address = listener.local_addr().unwrap().to_string();
        let mut options = ProxyOptions::new(format!("http://{upstream_address}/v1"));
        change(&mut options);
        let seen = Arc::new(Mutex::new(Seen::default()));
        let upstream = tokio::spawn(upstream(listener, scripts, seen.clone()));
        let front = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = front.local_addr().unwrap().to_string();
        let proxy = Proxy::new(options).unwrap();
        let serving = tokio::spawn(async move { proxy.serve(front, std::future::pending()).await.unwrap() });
        Stage { address, upstream: upstream_address, seen, tasks: vec![upstream, serving] }
    }

    /// Opens a connection and sends a chat request.
    pub(super) async fn open(&self, body: &str) -> TcpStream {
        self.send("POST", "/v1/chat/completions", "content-type: application/json\r\n", body).await
    }

    pub(super) async fn send(&self, method: &str, path: &str, headers: &str, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).await.unwrap();
        let host = if headers.contains("host: ") { String::new() } else { format!("host: {}\r\n", self.address) };
        let length = format!("content-length: {}\r\nconnection: close\r\n", body.len());
        let request = format!("{method} {path} HTTP/1.1\r\n{host}{headers}{length}\r\n{body}");
        let _ = stream.write_all(request.as_bytes()).await; // a refusal may come before all of it is read
        stream
    }

    pub(super) async fn ask(&self, body: &Value) -> Answer {
        Answer::read(&mut self.open(&body.to_string()).await).await
    }

    /// Posts JSON to a path.
    pub(super) async fn post(&self, path: &str, body: &Value) -> Answer {
        let headers = "content-type: application/json\r\n";
        Answer::read(&mut self.send("POST", path, headers, &body.to_string()).await).await
    }

    /// Sends the usual request and reads the answer as a stream.
    pub(super) async fn stream(&self) -> ReceivedStream {
        ReceivedStream::of(&self.ask(&request(true)).await)
    }

    pub(super) fn requests(&self) -> Vec<Value> {
        let seen = self.seen.lock().unwrap();
        seen.requests.iter().map(|(_, body)| serde_json::from_str(body).unwrap()).collect()
    }

    pub(super) async fn wait_until(&self, what: &str, holds: impl Fn(&Seen) -> bool) {
        for _ in 0..500 {
            if holds(&self.seen.lock().unwrap()) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("it never came: {what}");
    }
}

async fn upstream(listener: TcpListener, scripts: Vec<Script>, seen: Arc<Mutex<Seen>>) {
    let mut scripts = scripts.into_iter().peekable();
    let mut last = Script::new();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        last = scripts.next().unwrap_or(last);
        tokio::spawn(play(stream, last.clone(), seen.clone()));
    }
}

async fn play(mut stream: TcpStream, script: Script, seen: Arc<Mutex<Seen>>) {
    let Some(request) = read_request(&mut stream).await else { return };
    seen.lock().unwrap().requests.push(request);
    let (mut reader, mut writer) = stream.into_split();
    let received = seen.clone();
    let play = async move {
        for step in script {
            match step {
                Step::Send(bytes) if writer.write_all(&bytes).await.is_err() => return,
                Step::Send(bytes) => received.lock().unwrap().sent += bytes.len(),
                Step::Wait(notify) => notify.notified().await,
                Step::Pause(ms) => tokio::time::sleep(Duration::from_millis(ms)).await,
                Step::Repeat(bytes) => {
                    while writer.write_all(&bytes).await.is_ok() {
                        received.lock().unwrap().sent += bytes.len();
                    }
                }
            }
        }
    };
    let mut rest = [0; 64];
    tokio::select! {
        () = play => {}
        _ = reader.read(&mut rest) => seen.lock().unwrap().gone += 1,
    }
}

async fn read_request(stream: &mut TcpStream) -> Option<(String, String)> {
    let (mut bytes, mut buffer) = (Vec::new(), vec![0; 65536]);
    loop {
        let got = stream.read(&mut buffer).await.ok()?;
        bytes.extend_from_slice(&buffer[..got]);
        if let Some(end) = find(&bytes, b"\r\n\r\n") {
            let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
            let length = header(&head, "content-length").map_or(0, |length| length.parse().unwrap());
            if bytes.len() >= end + 4 + length {
                return Some((head, String::from_utf8(bytes[end + 4..].to_vec()).unwrap()));
            }
        }
        if got == 0 {
            return None;
        }
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

pub(crate) fn header(head: &str, name: &str) -> Option<String> {
    let lines = head.lines().filter_map(|line| line.split_once(':'));
    let mut found = lines.filter(|(key, _)| key.eq_ignore_ascii_case(name));
    found.next().map(|(_, value)| value.trim().to_owned())
}

/// A received answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
    /// Whether the body is complete, not only the connection closed.
    pub(crate) whole: bool,
}

impl Answer {
    pub(crate) async fn read(stream: &mut TcpStream) -> Answer {
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes).await; // a reset ends it too
        let end =
            find(&bytes, b"\r\n\r\n").unwrap_or_else(|| panic!("no head in {:?}", String::from_utf8_lossy(&bytes)));
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let rest = &bytes[end + 4..];
        let (body, whole) = match header(&head, "content-length") {
            Some(length) => (rest.to_vec(), rest.len() == length.parse::<usize>().unwrap()),
            None => dechunked(rest),
        };
        let status = head[9..12].parse().unwrap();
        Answer { status, head, body: String::from_utf8(body).unwrap(), whole }
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    pub(crate) fn error(&self) -> String {
        self.json()["error"]["message"].as_str().unwrap_or_default().to_owned()
    }
}

/// Returns the events of a stream of a newer API. Each has its name in a separate line and again in its data.
pub(super) fn named_events(answer: &Answer) -> Vec<Value> {
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!(header(&answer.head, "content-type").as_deref(), Some("text/event-stream"));
    assert!(answer.whole, "{}", answer.body);
    let events = answer.body.split("\n\n").filter(|event| !event.is_empty()).map(|event| {
        let (name, data) = event.split_once('\n').unwrap_or_else(|| panic!("{event}"));
        let data = data.strip_prefix("data: ").unwrap_or_else(|| panic!("{event}"));
        let data: Value = serde_json::from_str(data).unwrap_or_else(|error| panic!("{error}: {data}"));
        assert_eq!(name.strip_prefix("event: "), data["type"].as_str(), "{event}");
        data
    });
    events.collect()
}

fn dechunked(mut rest: &[u8]) -> (Vec<u8>, bool) {
    let mut body = Vec::new();
    while let Some(end) = find(rest, b"\r\n") {
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..end]).unwrap(), 16).unwrap();
        let from = end + 2;
        if size == 0 {
            return (body, true);
        }
        let to = (from + size).min(rest.len());
        body.extend_from_slice(&rest[from..to]);
        rest = rest.get(to + 2..).unwrap_or_default();
    }
    (body, false)
}

/// The content that a client has received in a stream.
#[derive(Debug, Default)]
pub(super) struct ReceivedStream {
    pub(super) text: String,
    pub(super) reasoning: String,
    /// Id, name, arguments.
    pub(super) calls: Vec<(String, String, String)>,
    /// Pieces of arguments.
    pub(super) pieces: usize,
    pub(super) finish: Option<String>,
    pub(super) usage: Option<Value>,
    pub(super) error: Option<String>,
    pub(super) done: bool,
}

impl ReceivedStream {
    pub(super) fn of(answer: &Answer) -> ReceivedStream {
        assert_eq!(answer.status, 200, "{}", answer.body);
        let mut received = ReceivedStream::default();
        for line in answer.body.lines().filter(|line| !line.is_empty()) {
            assert!(!received.done && received.error.is_none(), "nothing follows the end: {line}");
            let data = line.strip_prefix("data: ").unwrap_or_else(|| panic!("{line}"));
            match data {
                "[DONE]" => received.done = true,
                data => received.event(&serde_json::from_str(data).unwrap()),
            }
        }
        received
    }

    fn event(&mut self, event: &Value) {
        if let Some(error) = event.get("error") {
            self.error = Some(error["message"].as_str().unwrap().to_owned());
            return;
        }
        assert_eq!(event["object"], "chat.completion.chunk");
        if event.get("usage").is_some_and(Value::is_object) {
            self.usage = Some(event["usage"].clone());
        }
        let Some(choice) = event["choices"].get(0) else { return };
        let delta = &choice["delta"];
        self.text.push_str(delta["content"].as_str().unwrap_or_default());
        self.reasoning.push_str(delta["reasoning_content"].as_str().unwrap_or_default());
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            self.call(call);
        }
        self.finish = choice["finish_reason"].as_str().map(str::to_owned).or(self.finish.take());
    }

    fn call(&mut self, call: &Value) {
        let index = usize::try_from(call["index"].as_u64().unwrap()).unwrap();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        if index == self.calls.len() {
            assert_eq!(call["type"], "function");
            self.calls.push((text(&call["id"]), text(&call["function"]["name"]), String::new()));
        }
        assert_eq!(index + 1, self.calls.len(), "one call after the other");
        let arguments = text(&call["function"]["arguments"]);
        self.pieces += usize::from(!arguments.is_empty());
        self.calls[index].2.push_str(&arguments);
    }

    /// Returns names and arguments, and checks that all calls have distinct ids.
    pub(super) fn named(&self) -> Vec<(String, Value)> {
        let mut ids: Vec<&str> = self.calls.iter().map(|call| call.0.as_str()).collect();
        ids.sort_unstable();
        ids.dedup();
        assert!(ids.len() == self.calls.len() && !ids.contains(&""), "{ids:?}");
        let args = |text: &str| serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
        self.calls.iter().map(|(_, name, arguments)| (name.clone(), args(arguments))).collect()
    }
}

/// Returns the tools of most cases: one with a single text argument, one with several arguments.
pub(super) fn tools() -> Value {
    let weather = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    let write = json!({"type": "object", "properties": {
        "path": {"type": "string"}, "content": {"type": "string"}, "mode": {"type": "integer"},
        "deep": {"type": "array", "items": {"type": "object"}},
    }});
    json!([
        {"type": "function", "function": {"name": "weather", "description": "Tell it.", "parameters": weather}},
        {"type": "function", "function": {"name": "write", "description": "Write it.", "parameters": write}},
    ])
}

pub(super) fn request(streamed: bool) -> Value {
    let messages = json!([{"role": "user", "content": "go"}]);
    let mut request = json!({"model": "m", "messages": messages, "tools": tools(), "stream": streamed});
    if streamed {
        request["stream_options"] = json!({"include_usage": true});
    }
    request
}

pub(super) fn chunk(delta: &Value, finish: Option<&str>) -> String {
    let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
    let chunk =
        json!({"id": "u-1", "object": "chat.completion.chunk", "created": 7, "model": "m", "choices": [choice]});
    format!("data: {chunk}\n\n")
}

pub(super) fn text(text: &str) -> String {
    chunk(&json!({"content": text}), None)
}

pub(super) const STREAM: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";

/// Returns a reply as a stream in pieces of `size` characters, with its end and usage.
pub(super) fn reply(said: &str, size: usize, finish: &str) -> Script {
    let chars: Vec<char> = said.chars().collect();
    let pieces = chars.chunks(size).map(|piece| text(&piece.iter().collect::<String>()));
    let usage = json!({"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12, "details": {"cached": 3}});
    let usage = format!("data: {}\n\n", json!({"choices": [], "usage": usage}));
    let body: String = pieces.chain([chunk(&json!({}), Some(finish)), usage, "data: [DONE]\n\n".into()]).collect();
    vec![Step::Send(format!("{STREAM}{body}").into_bytes())]
}

/// Returns the reply as a single answer that is not streamed.
pub(super) fn whole(said: &str, finish: &str) -> Script {
    let message = json!({"role": "assistant", "content": said});
    let body = json!({"id": "u-1", "object": "chat.completion", "created": 7, "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}});
    answer("200 OK", "application/json", &body.to_string())
}

pub(super) fn answer(status: &str, kind: &str, body: &str) -> Script {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\nx-own: 1\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
    );
    vec![Step::Send(format!("{head}{body}").into_bytes())]
}
