//! Fuzzes the proxy on real sockets with any client and any upstream. Its output is well-formed, every call in it
//! occurs in the reply, and everything else is an error.
//!
//! The first byte chooses the hostile part: the reply, the upstream's stream, its whole answer, or the request. The
//! second byte chooses the size of the pieces.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use toolfence_protocol::parse::{Event, Options, for_each};
use toolfence_protocol::{Catalog, Dialects, FinishReason, Repair, ToolSpec};
use toolfence_server::proxy::{Proxy, ProxyOptions};

/// One proxy for all inputs, in front of an upstream that sends `script`.
struct Stage {
    runtime: Runtime,
    proxy: String,
    shared: Arc<Mutex<Shared>>,
}

#[derive(Default)]
struct Shared {
    /// Pieces of the upstream's answers.
    script: Vec<Vec<u8>>,
    /// Bodies of the requests to it.
    requests: Vec<Vec<u8>>,
}

static STAGE: LazyLock<Stage> = LazyLock::new(|| {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let shared = Arc::<Mutex<Shared>>::default();
    let proxy = runtime.block_on(async {
        let upstream = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let mut options = ProxyOptions::new(format!("http://{}/v1", upstream.local_addr().expect("bound")));
        (options.body, options.event, options.asked_again) = (1 << 20, 1 << 16, 1);
        let front = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = front.local_addr().expect("bound").to_string();
        let proxy = Proxy::new(options).expect("it is a URL");
        tokio::spawn(async move { proxy.serve(front, std::future::pending()).await.expect("it listens") });
        let shared = shared.clone();
        tokio::spawn(async move {
            loop {
                let (stream, _) = upstream.accept().await.expect("a connection");
                tokio::spawn(play(stream, shared.clone()));
            }
        });
        address
    });
    Stage { runtime, proxy, shared }
});

async fn play(mut stream: TcpStream, shared: Arc<Mutex<Shared>>) -> Option<()> {
    let request = read_request(&mut stream).await?;
    let script = {
        let mut shared = shared.lock().expect("no panic");
        shared.requests.push(request);
        shared.script.clone()
    };
    for piece in script {
        stream.write_all(&piece).await.ok()?;
        tokio::task::yield_now().await;
    }
    Some(())
}

async fn read_request(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let (mut bytes, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        let got = stream.read(&mut buffer).await.ok().filter(|got| *got > 0)?;
        bytes.extend_from_slice(&buffer[..got]);
        let Some(end) = find(&bytes, b"\r\n\r\n") else { continue };
        let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
        let length = length.map_or(0, |length| length.trim().parse().expect("the proxy counts"));
        if bytes.len() >= end + 4 + length {
            return Some(bytes.split_off(end + 4));
        }
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

fuzz_target!(|data: &[u8]| {
    let [kind, piece, rest @ ..] = data else { return };
    let piece = usize::from(*piece) + 1;
    match kind % 4 {
        0 => any_reply(rest, piece),
        1 => drop(check_events(&say(STREAM, rest, piece), &request(kind & 4 != 0))),
        2 => drop(check_events(
            &say("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n", rest, piece),
            &request(false),
        )),
        _ => check_request(rest, PATHS[usize::from(kind / 4) % PATHS.len()]),
    }
});

/// Paths of requests, one for each API.
const PATHS: [&str; 4] = ["/v1/chat/completions", "/v1/responses", "/v1/messages", "/messages/count_tokens"];

const STREAM: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";

fn say(head: &str, body: &[u8], piece: usize) -> Vec<Vec<u8>> {
    let body = body.chunks(piece).map(<[u8]>::to_vec);
    std::iter::once(head.as_bytes().to_vec()).chain(body).collect()
}

fn event(delta: &Value, finish: Option<&str>) -> Vec<u8> {
    let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
    format!("data: {}\n\n", json!({"id": "u", "object": "chat.completion.chunk", "choices": [choice]})).into_bytes()
}

/// For any pieces, the client gets the calls and the text that the parser finds in the whole reply.
fn any_reply(reply: &[u8], piece: usize) {
    let Ok(reply) = std::str::from_utf8(reply) else { return };
    let mut script = vec![STREAM.as_bytes().to_vec()];
    let chars: Vec<char> = reply.chars().collect();
    script.extend(chars.chunks(piece).map(|piece| event(&json!({"content": String::from_iter(piece)}), None)));
    script.extend([event(&json!({}), Some("stop")), b"data: [DONE]\n\n".to_vec()]);
    let read = check_events(&script, &request(true));
    let Some(read) = read.filter(|read| read.finish.is_some()) else { return };
    let (wanted, in_json) = calls_of(reply);
    assert!(read.calls == wanted || read.calls == in_json || read.asked_again, "{read:?} for {wanted:?}");
}

/// Calls by the name of the tool, with their arguments.
type Calls = Vec<(String, Value)>;

/// Returns the calls in the reply before a forged result, with their canonical names. They are read as the proxy reads
/// them: in every dialect, and with the tools of the request.
///
/// The second list also has calls in `json` fences. Such a call passes if the reply has no other call and the fence
/// begins a line.
fn calls_of(reply: &str) -> (Calls, Calls) {
    let catalog = Arc::new(catalog());
    let mut options = Options::default();
    (options.dialects, options.catalog, options.settled_only) = (Dialects::ALL, Some(catalog.clone()), true);
    let (mut calls, mut forged) = (Vec::new(), None);
    for_each(reply, options, FinishReason::Stop, |event| match event {
        // All text before this event was reasoning, including the forged result.
        Event::Reasoning { unopened: true, .. } => forged = None,
        Event::ForgedResult { span, .. } => forged = forged.or(Some(span.start)),
        Event::Call { call, span, .. } => calls.push((span.start, *call)),
        _ => {}
    });
    // A call is emitted when it cannot be part of reasoning, which may be after the forged result, so compare
    // positions.
    let real = calls.into_iter().filter(|(at, _)| forged.is_none_or(|forged| *at < forged));
    let (mut wanted, mut in_json) = (Vec::new(), Vec::new());
    for (at, mut call) in real {
        // The proxy sends a call in another fence as text, because an answer may contain such a block, and reminds the
        // model of the right fence.
        let is_other_word = call.repairs.contains(&Repair::WrongWord);
        let is_json = reply[at..].trim_start_matches(['`', '~', ' ']).to_ascii_lowercase().starts_with("json");
        let _ = catalog.resolve(&mut call);
        let call = (call.name, Value::Object(call.args));
        if !is_other_word {
            wanted.push(call.clone());
        }
        if !is_other_word || is_json {
            in_json.push(call);
        }
    }
    (wanted, in_json)
}

/// For any request, the upstream gets tools only as text, and the client gets JSON.
fn check_request(body: &[u8], path: &str) {
    let message = json!({"choices": [{"index": 0, "message": {"role": "assistant", "content": "Yes."}, "finish_reason": "stop"}]});
    let script = say("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n", message.to_string().as_bytes(), 4096);
    let (answer, requests) = ask(&script, path, body);
    let status: u16 = answer.get(9..12).and_then(|status| status.parse().ok()).expect("a status");
    assert!(matches!(status, 200 | 400..=499 | 502), "{answer}");
    let given: Option<Value> = serde_json::from_slice(body).ok();
    let has_tools = given.is_some_and(|given| given["tools"].as_array().is_some_and(|tools| !tools.is_empty()));
    for request in requests.iter().filter(|_| has_tools) {
        let request: Value = serde_json::from_slice(request).expect("what is made new is JSON");
        assert!(request.get("tools").is_none() && request["messages"].is_array(), "{request}");
    }
}

/// The output to a client.
#[derive(Debug, Default)]
struct ClientOutput {
    calls: Vec<(String, Value)>,
    finish: Option<String>,
    asked_again: bool,
}

/// Sends a request, and checks that every event is well-formed and that a clean end has only complete calls.
fn check_events(script: &[Vec<u8>], request: &Value) -> Option<ClientOutput> {
    let (answer, requests) = ask(script, PATHS[0], request.to_string().as_bytes());
    let (head, body) = answer.split_once("\r\n\r\n").expect("an answer has a head");
    if !head.to_lowercase().contains("text/event-stream") {
        let answer: Value =
            serde_json::from_str(&body_of(head, body)).unwrap_or_else(|error| panic!("{error}: {body}"));
        assert!(answer.get("error").is_some() || answer["choices"].is_array(), "{answer}");
        return None;
    }
    let body = body_of(head, body);
    let (mut output, mut calls, mut over) =
        (ClientOutput { asked_again: requests.len() > 1, ..ClientOutput::default() }, Vec::new(), false);
    for line in body.lines().filter(|line| !line.is_empty()) {
        assert!(!over, "something follows the end: {body}");
        let data = line.strip_prefix("data: ").unwrap_or_else(|| panic!("{body}"));
        if data == "[DONE]" {
            over = true;
            continue;
        }
        let event: Value = serde_json::from_str(data).unwrap_or_else(|error| panic!("{error}: {data}"));
        over = event.get("error").is_some();
        assert!(!over || output.finish.is_none(), "an error after the end: {body}");
        take(&event["choices"][0], &mut output, &mut calls);
    }
    assert_eq!(output.finish.as_deref() == Some("tool_calls"), output.finish.is_some() && !calls.is_empty(), "{body}");
    if output.finish.is_some() {
        output.calls =
            calls.into_iter().map(|(name, text)| (name, serde_json::from_str(&text).expect("whole"))).collect();
    }
    for (name, args) in &output.calls {
        assert!(args.is_object() && ["weather", "write"].contains(&name.as_str()), "{name} {args}");
    }
    Some(output)
}

fn take(choice: &Value, output: &mut ClientOutput, calls: &mut Vec<(String, String)>) {
    for call in choice["delta"]["tool_calls"].as_array().into_iter().flatten() {
        let index = call["index"].as_u64().expect("a place") as usize;
        let function = &call["function"];
        if index == calls.len() {
            calls.push((function["name"].as_str().expect("a name").to_owned(), String::new()));
        }
        assert_eq!(index + 1, calls.len(), "one call after the other");
        calls[index].1.push_str(function["arguments"].as_str().unwrap_or_default());
    }
    output.finish = choice["finish_reason"].as_str().map(str::to_owned).or(output.finish.take());
}

/// Returns the answer as text, and the requests to the upstream.
fn ask(script: &[Vec<u8>], path: &str, body: &[u8]) -> (String, Vec<Vec<u8>>) {
    let stage = &*STAGE;
    *stage.shared.lock().expect("no panic") = Shared { script: script.to_vec(), requests: Vec::new() };
    let answer = stage.runtime.block_on(async {
        let mut stream = TcpStream::connect(&stage.proxy).await.expect("the proxy listens");
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
             connection: close\r\n\r\n",
            stage.proxy,
            body.len()
        );
        stream.write_all(&[head.as_bytes(), body].concat()).await.expect("it is read");
        let mut answer = Vec::new();
        let read = stream.read_to_end(&mut answer);
        tokio::time::timeout(Duration::from_secs(10), read).await.expect("an end").expect("it can be read");
        answer
    });
    let requests = std::mem::take(&mut stage.shared.lock().expect("no panic").requests);
    (String::from_utf8(answer).expect("what passes is text"), requests)
}

fn body_of(head: &str, body: &str) -> String {
    if !head.to_lowercase().contains("transfer-encoding: chunked") {
        return body.to_owned();
    }
    let (mut whole, mut rest) = (Vec::new(), body.as_bytes());
    while let Some(end) = find(rest, b"\r\n") {
        let size = std::str::from_utf8(&rest[..end]).ok().and_then(|size| usize::from_str_radix(size, 16).ok());
        let size = size.expect("the size of a chunk");
        whole.extend_from_slice(&rest[end + 2..end + 2 + size]);
        rest = &rest[end + 4 + size..];
    }
    String::from_utf8(whole).expect("what passes is text")
}

fn tools() -> Value {
    let weather = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    let write = json!({"type": "object", "properties": {
        "path": {"type": "string"}, "content": {"type": "string"}, "mode": {"type": "integer"},
    }});
    json!([
        {"type": "function", "function": {"name": "weather", "description": "Tell it.", "parameters": weather}},
        {"type": "function", "function": {"name": "write", "description": "Write it.", "parameters": write}},
    ])
}

fn catalog() -> Catalog {
    let spec = |tool: &Value| {
        let function = &tool["function"];
        let name = function["name"].as_str().unwrap_or_default().to_owned();
        ToolSpec::from_json_schema(name, "", &function["parameters"])
    };
    tools().as_array().into_iter().flatten().map(spec).collect()
}

/// Each request has its own model: the proxy's knowledge of a model from one input must not affect the next.
fn request(streamed: bool) -> Value {
    static MODELS: AtomicU64 = AtomicU64::new(0);
    let model = format!("m{}", MODELS.fetch_add(1, Relaxed));
    let messages = json!([{"role": "user", "content": "go"}]);
    json!({"model": model, "messages": messages, "tools": tools(), "stream": streamed})
}
