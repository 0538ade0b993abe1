//! The HTTP backend against a scripted server that controls every byte and the pieces in which it is sent.

pub(crate) mod troubles;

use std::ops::ControlFlow;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use toolfence_agent::backend::http::Http;
use toolfence_agent::backend::http::HttpOptions;
use toolfence_agent::backend::{Backend, Chunk, Sink};
use toolfence_protocol::{Error, FinishReason, Message, Role};

/// The script of one connection: pieces to send, with a pause after each. Then the server closes it.
type Script = Vec<(Vec<u8>, u64)>;

fn sse(events: &[&str]) -> Vec<u8> {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let body: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
    format!("{head}{body}").into_bytes()
}

fn text(text: &str) -> String {
    serde_json::json!({"choices": [{"index": 0, "finish_reason": null, "delta": {"content": text}}]}).to_string()
}

fn end(reason: &str) -> String {
    serde_json::json!({"choices": [{"index": 0, "finish_reason": reason, "delta": {}}]}).to_string()
}

fn refusal(status: &str, extra: &str, body: &str) -> Script {
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\n{extra}content-length: {length}\r\nconnection: close\r\n\r\n{body}");
    vec![(head.into_bytes(), 0)]
}

/// Serves one script for each connection and returns the requests.
async fn serve(scripts: Vec<Script>) -> (String, tokio::task::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let task = tokio::spawn(async move {
        let mut requests = Vec::new();
        for script in scripts {
            let (mut stream, _) = listener.accept().await.unwrap();
            requests.push(request(&mut stream).await);
            for (piece, pause) in script {
                if stream.write_all(&piece).await.is_err() {
                    break;
                }
                tokio::time::sleep(Duration::from_millis(pause)).await;
            }
        }
        requests
    });
    (url, task)
}

async fn request(stream: &mut TcpStream) -> String {
    let (mut bytes, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        let got = stream.read(&mut buffer).await.unwrap();
        bytes.extend_from_slice(&buffer[..got]);
        let text = String::from_utf8_lossy(&bytes).to_lowercase();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
        if got == 0 || body.len() >= length.unwrap_or(0) {
            return String::from_utf8_lossy(&bytes).into_owned();
        }
    }
}

#[derive(Default)]
struct Seen {
    received: String,
    why: String,
    waits: Vec<String>,
    most: Option<usize>,
    pieces: usize,
}

impl Sink for Seen {
    fn chunk(&mut self, chunk: Chunk<'_>) -> ControlFlow<()> {
        match chunk {
            Chunk::Text(text) => self.received.push_str(text),
            Chunk::Usage(usage) => {
                self.received.push_str(&format!(" {} ({}) {}", usage.input, usage.cached, usage.output));
            }
            Chunk::Waits { why, wait } => self.waits.push(format!("{why}: {} ms", wait.as_millis())),
            Chunk::BrokeOff(why) => self.why.push_str(&format!(": {why}")),
            Chunk::Reasoning(text) => self.received.push_str(&format!("<{text}>")),
            Chunk::Call(call) => self.received.push_str(&format!("[{}]", serde_json::to_string(&call).unwrap())),
            _ => {}
        }
        self.pieces += 1;
        if self.most == Some(self.pieces) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

fn options(url: &str) -> HttpOptions {
    let mut options = HttpOptions::new("tiny");
    options.base_url = Some(url.to_owned());
    options.back_off = Duration::from_millis(10);
    options.first_byte = Duration::from_secs(20);
    options
}

async fn ask(options: HttpOptions, seen: &mut Seen) -> Result<FinishReason, Error> {
    let messages = [Message::new(Role::System, "be brief"), Message::new(Role::User, "hello")];
    Http::new(options)?.stream(&messages, seen).await
}

/// Requests one reply. Returns its output, its finish reason or error, and the requests.
async fn reply(scripts: Vec<Script>) -> (String, String, Vec<String>) {
    reply_with(|_| {}, scripts).await
}

/// Requests a reply with time limits of half a second.
async fn reply_with_short_limits(script: Script) -> (String, String) {
    let half = Duration::from_millis(500);
    let (received, ended, _) =
        reply_with(|options| (options.first_byte, options.between) = (half, half), vec![script]).await;
    (received, ended)
}

async fn reply_with(change: impl Fn(&mut HttpOptions), scripts: Vec<Script>) -> (String, String, Vec<String>) {
    let (url, server) = serve(scripts).await;
    let mut seen = Seen::default();
    let mut options = options(&url);
    change(&mut options);
    let ended = ask(options, &mut seen).await;
    let ended =
        ended.map_or_else(|error| error.to_string().replace(&url, "URL"), |finish| format!("{finish:?}{}", seen.why));
    (seen.received, ended, server.await.unwrap())
}

#[tokio::test]
async fn each_end_of_a_reply_gives_its_finish_reason() {
    let (a, b) = (text("one "), text("two"));
    let (a, b) = (a.as_str(), b.as_str());
    let (stop, length, filter, odd) = (end("stop"), end("length"), end("content_filter"), end("abort"));
    let error = r#"{"error": {"message": "out of memory"}}"#;
    for (case, events, received, wanted) in [
        ("by itself", vec![a, b, &stop, "[DONE]"], "one two", "Stop"),
        ("without the last mark", vec![a, b, &stop], "one two", "Stop"),
        ("without a reason", vec![a, b, "[DONE]"], "one two", "Stop"),
        ("by its limit", vec![a, b, &length, "[DONE]"], "one two", "Length"),
        ("by a filter", vec![a, &filter, "[DONE]"], "one ", "Cut: the server's content filter ended it"),
        ("by something unknown", vec![a, &odd], "one ", "Cut: the server ended it with \"abort\""),
        ("in the middle", vec![a, b], "one two", "Cut: the connection was closed"),
        ("by an error of the server", vec![a, error], "one ", "Cut: the server said: out of memory"),
        (
            "by what is no JSON",
            vec![a, "{\"choi"],
            "one ",
            "Cut: an event of the server is not JSON: EOF while parsing a string at line 1 column 6",
        ),
    ] {
        let (got, ended, _) = reply(vec![vec![(sse(&events), 0)]]).await;
        assert_eq!((got.as_str(), ended.as_str()), (received, wanted), "{case}");
    }
}

#[tokio::test]
async fn a_broken_chunked_body_is_a_cut() {
    let event = format!("data: {}\n\n", text("one "));
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    let body = format!("{head}{:x}\r\n{event}\r\nff\r\ndata: ", event.len());
    let (received, ended, _) = reply(vec![vec![(body.into_bytes(), 0)]]).await;
    assert_eq!((received.as_str(), ended.as_str()), ("one ", "Cut: end of file before message length reached"));
}

#[tokio::test]
async fn a_server_that_does_not_stream_is_read_too() {
    let whole = |message: serde_json::Value, reason: &str| {
        let choice = serde_json::json!({"index": 0, "finish_reason": reason, "message": message});
        serde_json::json!({"choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": 3}}).to_string()
    };
    let said = serde_json::json!({"role": "assistant", "content": "one", "reasoning_content": "hm"});
    let call = serde_json::json!({"content": null, "tool_calls": [{"id": "a", "function": {"name": "ls", "arguments": "{}"}}]});
    for (body, received, ended) in [
        (whole(said.clone(), "stop"), "<hm>one 9 (0) 3", "Stop"),
        (whole(said, "length"), "<hm>one 9 (0) 3", "Length"),
        (
            whole(call, "tool_calls"),
            "[{\"id\":\"a\",\"name\":\"ls\",\"args\":{},\"reason\":null,\"repairs\":[]}] 9 (0) 3",
            "Stop",
        ),
    ] {
        let (head, rest) = body.split_at(20);
        let length = body.len();
        let head =
            format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{head}");
        let script = vec![(head.into_bytes(), 50), (rest.as_bytes().to_vec(), 0)];
        let (got, how, _) = reply(vec![script]).await;
        assert_eq!((got.as_str(), how.as_str()), (received, ended), "{body}");
    }
    let (received, ended, _) = reply(vec![refusal("200 OK", "", "{\"error\": {\"message\": \"full\"}}")]).await;
    assert!(received.is_empty() && ended.contains("the server said: full"), "{ended}");
    let (received, ended, _) = reply(vec![refusal("200 OK", "", "{\"choices\": [")]).await;
    assert!(received.is_empty() && ended.contains("not JSON"), "{ended}");
}

#[tokio::test]
async fn characters_may_be_divided_anywhere() {
    let whole = sse(&[&text("ä€𐍈"), &end("stop"), "[DONE]"]);
    let script = whole.chunks(1).map(|byte| (byte.to_vec(), 0)).collect();
    let (received, ended, _) = reply(vec![script]).await;
    assert_eq!((received.as_str(), ended.as_str()), ("ä€𐍈", "Stop"));
}

#[tokio::test]
async fn reasoning_and_calls_have_their_own_channels() {
    let thought = r#"{"choices":[{"delta":{"reasoning_content":"hm"}}]}"#;
    let call = r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"bash","arguments":"{\"command\""}}]}}]}"#;
    let more = r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":":\"ls\"}"}}]}}]}"#;
    let (answer, done, cut) = (text("so"), end("tool_calls"), end("length"));
    let (received, ended, _) = reply(vec![vec![(sse(&[thought, &answer, call, more, &done, "[DONE]"]), 0)]]).await;
    let wanted = r#"<hm>so[{"id":"a","name":"bash","args":{"command":"ls"},"reason":null,"repairs":[]}]"#;
    assert_eq!((received.as_str(), ended.as_str()), (wanted, "Stop"));
    let (received, ended, _) = reply(vec![vec![(sse(&[&answer, call, more, &cut, "[DONE]"]), 0)]]).await;
    assert_eq!((received.as_str(), ended.as_str()), ("so", "Length"), "a call of half a reply is not made");
}

#[tokio::test]
async fn transient_errors_are_retried_until_the_reply_begins() {
    let busy = || refusal("503 Service Unavailable", "", "loading");
    let (one, done) = (text("one"), end("stop"));
    let good = || vec![(sse(&[&one, &done, "[DONE]"]), 0)];
    let (received, ended, requests) = reply(vec![busy(), refusal("429 Slow", "retry-after: 0\r\n", ""), good()]).await;
    assert_eq!((received.as_str(), ended.as_str(), requests.len()), ("one", "Stop", 3));
    let (_, ended, requests) = reply(vec![busy(), busy(), busy(), busy()]).await;
    assert!(ended.contains("HTTP 503: loading"), "{ended}");
    assert_eq!(requests.len(), 4);
    let (received, ended, requests) = reply(vec![vec![(sse(&[&one]), 0)]]).await;
    assert_eq!((received.as_str(), ended.as_str(), requests.len()), ("one", "Cut: the connection was closed", 1));
}

#[tokio::test]
async fn error_messages_explain_what_to_do() {
    let json = r#"{"error":{"message":"model \u001b[31m'x' not found"}}"#;
    for (script, wanted) in [
        (refusal("404 Not Found", "", json), "HTTP 404: model  [31m'x' not found. Check the model's name"),
        (refusal("401 Unauthorized", "", "{\"detail\": \"who?\"}"), "HTTP 401: who?. Check the key"),
        (refusal("400 Bad Request", "", "{\"error\": \"too long\"}"), "HTTP 400: too long. If the conversation"),
        (
            refusal("200 OK", "content-type: text/html\r\n", "<html>hi</html>"),
            "not a stream of events. Check the base URL",
        ),
        (refusal("200 OK", "", "{\"choices\": [{\"message\": {}}]}"), "not a stream of events. Check the base URL"),
        (vec![(sse(&["{\"error\": \"full\"}"]), 0)], "the server said: full. "),
        (vec![(sse(&[]), 0)], "the connection was closed. Check the server's log"),
    ] {
        let (received, ended, _) = reply(vec![script]).await;
        assert_eq!(received, "");
        assert!(ended.starts_with("cannot get an answer from URL: "), "{ended}");
        assert!(ended.contains(wanted), "{ended}");
    }
    let mut seen = Seen::default();
    let error = ask(options("http://127.0.0.1:1/v1"), &mut seen).await.unwrap_err().to_string();
    assert!(error.contains("127.0.0.1:1") && error.contains("No server listens there"), "{error}");
    assert!(Http::new(options("127.0.0.1:1")).unwrap_err().to_string().contains("http://"));
    assert!(Http::new(HttpOptions::new(" ")).is_err());
}

#[tokio::test]
async fn silence_is_an_error_before_a_reply_and_truncates_a_begun_one() {
    let (received, ended) = reply_with_short_limits(vec![(sse(&[&text("one")]), 1500)]).await;
    assert_eq!((received.as_str(), ended.as_str()), ("one", "Cut: nothing arrived for 0.5 s"));
    let (received, ended) = reply_with_short_limits(vec![(sse(&[]), 1500)]).await;
    assert_eq!(received, "");
    assert!(ended.contains("nothing arrived for 0.5 s. Loading a model"), "{ended}");
}

#[tokio::test]
async fn a_sink_that_breaks_ends_the_stream() {
    let (one, done) = (text("one"), end("stop"));
    let (url, server) = serve(vec![vec![(sse(&[&one, &one, &done, "[DONE]"]), 0)]]).await;
    let mut seen = Seen { most: Some(1), ..Seen::default() };
    assert_eq!(ask(options(&url), &mut seen).await.unwrap(), FinishReason::Cut);
    assert_eq!(seen.received, "one");
    server.await.unwrap();
}

#[tokio::test]
async fn the_request_has_the_configured_parameters() {
    let done = end("stop");
    let script = || vec![(sse(&[&text("x"), &done, "[DONE]"]), 0)];
    let (url, server) = serve(vec![script(), script()]).await;
    let mut odd = options(&format!("{url}/"));
    odd.model = "org::thinker-high".into();
    odd.max_tokens = Some(7);
    odd.body.insert("grammar".into(), "root ::= \"x\"".into());
    ask(odd, &mut Seen::default()).await.unwrap();
    let mut keyed = options(&url);
    keyed.key = Some("secret".into());
    keyed.headers = vec![("X-Tenant".into(), "secret too".into())];
    (keyed.temperature, keyed.top_p, keyed.stop) = (Some(0.5), Some(0.25), vec!["END".into()]);
    assert!(!format!("{keyed:?} {:?}", Http::new(keyed.clone()).unwrap()).contains("secret"));
    ask(keyed, &mut Seen::default()).await.unwrap();
    let requests = server.await.unwrap();
    let body = |request: &str| -> serde_json::Value {
        serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap()
    };
    assert_eq!(
        body(&requests[0]),
        serde_json::json!({
            "model": "org::thinker-high", "stream": true, "max_tokens": 7, "grammar": "root ::= \"x\"",
            "stream_options": {"include_usage": true},
            "messages": [{"role": "system", "content": "be brief"}, {"role": "user", "content": "hello"}],
        })
    );
    assert!(requests[0].starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{}", requests[0]);
    assert!(!requests[0].to_lowercase().contains("authorization"), "{}", requests[0]);
    assert!(requests[1].to_lowercase().contains("authorization: bearer secret"), "{}", requests[1]);
    assert!(requests[1].to_lowercase().contains("x-tenant: secret too\r\n"), "{}", requests[1]);
    let sent = body(&requests[1]);
    assert_eq!((&sent["model"], &sent["temperature"]), (&"tiny".into(), &0.5.into()));
    assert_eq!((&sent["top_p"], &sent["stop"]), (&0.25.into(), &serde_json::json!(["END"])));
}

#[tokio::test]
async fn usage_is_reported_once() {
    let a = text("one");
    let usage = |output: u32| {
        serde_json::json!({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": output}}).to_string()
    };
    let (some, all, stop) = (usage(1), usage(3), end("stop"));
    for (events, received) in [
        (vec![a.as_str(), &stop, &all, "[DONE]"], "one 9 (0) 3"),
        // Some servers send the usage in every event, and some close the connection instead of sending an end marker.
        (vec![&some, &a, &some, &stop, &all], "one 9 (0) 3"),
        (vec![&a, &stop, "[DONE]"], "one"),
        (vec![&a, &some], "one 9 (0) 1"),
    ] {
        assert_eq!(reply(vec![vec![(sse(&events), 0)]]).await.0, received);
    }
}

#[tokio::test]
async fn usage_is_not_requested_again_after_a_refusal() {
    let answer = || vec![(sse(&[&text("x"), &end("stop"), "[DONE]"]), 0)];
    let refused = refusal("422 Unprocessable Entity", "", "{\"detail\": \"extra_forbidden: stream_options\"}");
    let (url, server) = serve(vec![refused, answer(), answer()]).await;
    let mut options = options(&url);
    options.retries = 0;
    let http = Http::new(options).unwrap();
    for _ in 0..2 {
        let mut seen = Seen::default();
        let finish = http.stream(&[Message::new(Role::User, "hello")], &mut seen).await.unwrap();
        assert_eq!((finish, seen.received.as_str()), (FinishReason::Stop, "x"));
    }
    let asked: Vec<bool> = server.await.unwrap().iter().map(|request| request.contains("stream_options")).collect();
    assert_eq!(asked, [true, false, false]);
}

fn messages_of(request: &str) -> serde_json::Value {
    let body: serde_json::Value = serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap();
    body["messages"].clone()
}

/// If the server's template refuses system messages, they are sent as user messages from then on.
#[tokio::test]
async fn a_server_without_a_system_role_gets_user_messages() {
    let answer = || vec![(sse(&[&text("x"), &end("stop"), "[DONE]"]), 0)];
    let refusal = refusal("500 Internal Server Error", "", "{\"error\":{\"message\":\"System role not supported\"}}");
    let (url, server) = serve(vec![refusal, answer(), answer()]).await;
    let mut options = options(&url);
    options.retries = 0;
    let http = Http::new(options).unwrap();
    let talk = [Message::new(Role::System, "be brief"), Message::new(Role::User, "hello")];
    for _ in 0..2 {
        let mut seen = Seen::default();
        assert_eq!(http.stream(&talk, &mut seen).await.unwrap(), FinishReason::Stop);
    }
    let requests = server.await.unwrap();
    assert_eq!(messages_of(&requests[0])[0]["role"], "system");
    let received = serde_json::json!([{"role": "user", "content": "be brief\n\nhello"}]);
    assert_eq!([messages_of(&requests[1]), messages_of(&requests[2])], [received.clone(), received]);
}

#[tokio::test]
async fn the_newer_name_of_the_limit_is_learned() {
    let refused = "{\"error\":{\"message\":\"Unsupported parameter: 'max_tokens' is not supported with this model. Use \
                   'max_completion_tokens' instead.\"}}";
    let answer = vec![(sse(&[&text("x"), &end("stop"), "[DONE]"]), 0)];
    let scripts = vec![refusal("400 Bad Request", "", refused), answer];
    let (_, ended, requests) = reply_with(|options| options.max_tokens = Some(7), scripts).await;
    assert_eq!(ended, "Stop");
    assert!(requests[0].contains("\"max_tokens\":7") && !requests[0].contains("max_completion_tokens"), "{requests:?}");
    assert!(
        requests[1].contains("\"max_completion_tokens\":7") && !requests[1].contains("\"max_tokens\""),
        "{requests:?}"
    );
}

#[test]
fn a_provider_without_an_address_requires_one() {
    let error = Http::new(HttpOptions::new("azure::mine")).unwrap_err().to_string();
    assert!(error.contains("give it as the base URL, together with the model azure::NAME"), "{error}");
    let mut given = HttpOptions::new("azure::mine");
    given.base_url = Some("https://mine.example/openai/v1".to_owned());
    assert!(Http::new(given).is_ok());
}
