//! Misbehaving peers: upstreams that fail, flood or send invalid answers, and clients that disconnect, do not read, or
//! have no access.

use super::support::*;
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::Notify;

fn plain(streamed: bool) -> String {
    json!({"model": "m", "messages": [{"role": "user", "content": "go"}], "stream": streamed}).to_string()
}

#[tokio::test]
async fn a_failed_upstream_is_reported_as_an_error() {
    let call = "```tool\n{\"name\": \"write\", \"args\": {\"path\": \"x\"}}\n```\n";
    let chunked = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    let (said, called) = (text("So. "), text(call));
    for (case, script) in [
        ("closed", format!("{STREAM}{said}{called}")),
        ("closed in an event", format!("{STREAM}{said}data: {{\"cho")),
        ("closed in a chunk", format!("{chunked}{:x}\r\n{said}\r\nff\r\ndata: ", said.len())),
        (
            "an error of its own",
            format!("{STREAM}{said}data: {{\"error\": {{\"message\": \"no memory\"}}}}\n\n{called}"),
        ),
        ("no JSON", format!("{STREAM}{said}data: {{\"choi\n\n{called}")),
    ] {
        let received = Stage::new(vec![vec![Step::Send(script.into_bytes())]]).await.stream().await;
        assert_eq!((received.finish, received.done), (None, false), "{case}");
        assert!(received.error.is_some() && received.text.starts_with("So. "), "{case}: {:?}", received.error);
    }
}

#[tokio::test]
async fn an_untouched_stream_that_breaks_off_is_not_ended_cleanly() {
    let chunked = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
    let said = text("So. ");
    let between = format!("{chunked}{:x}\r\n{said}\r\n", said.len());
    let stage = Stage::new(vec![vec![Step::Send(between.into_bytes()), Step::Pause(100)]]).await;
    let answer = Answer::read(&mut stage.open(&plain(true)).await).await;
    assert!(answer.body.contains("\"type\":\"upstream_error\""), "{}", answer.body);
    for kind in ["text/event-stream", "application/json"] {
        let head = format!("HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: 900\r\n\r\ndata: {{");
        let stage = Stage::new(vec![vec![Step::Send(head.into_bytes()), Step::Pause(100)]]).await;
        let answer = Answer::read(&mut stage.open(&plain(true)).await).await;
        assert!(!answer.whole && answer.body == "data: {", "{answer:?}");
    }
}

#[tokio::test]
async fn invalid_answers_of_the_upstream_are_errors() {
    for (case, script, wanted) in [
        ("a page", answer("200 OK", "text/html", "<html>"), "text/html"),
        ("no kind", vec![Step::Send("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}".into())], "instead of JSON"),
        ("no JSON", answer("200 OK", "application/json", "<html>"), "not JSON"),
        ("an error", answer("200 OK", "application/json", "{\"error\": \"no\"}"), "The upstream's message: no"),
        ("no choice", answer("200 OK", "application/json", "{\"choices\": []}"), "ended early"),
        ("no HTTP", vec![Step::Send("hello\r\n\r\n".into())], "cannot be reached"),
        ("nothing", vec![], "cannot be reached"),
    ] {
        let got = Stage::new(vec![script]).await.ask(&request(false)).await;
        assert_eq!(got.status, 502, "{case}");
        assert!(got.error().contains(wanted), "{case}: {}", got.body);
    }
    let stage = Stage::with(vec![], |options| options.upstream = "http://127.0.0.1:9".into()).await;
    assert_eq!(stage.ask(&request(true)).await.status, 502, "the upstream is down");
}

/// Errors are reported in the language of the proxy, as an answer and as an event of a stream.
#[tokio::test]
async fn errors_are_in_the_language_of_the_proxy() {
    let portuguese = |scripts: Vec<Script>, key: Option<&str>| {
        let key = key.map(str::to_owned);
        Stage::with(scripts, move |options| {
            (options.language, options.key) = (toolfence_protocol::Language::Portuguese, key);
        })
    };
    let keyless = portuguese(vec![], Some("secret")).await.ask(&request(false)).await;
    assert_eq!(keyless.status, 401);
    assert!(keyless.error().starts_with("Este proxy exige a sua chave"), "{}", keyless.body);
    let mut chosen = request(false);
    chosen["tool_choice"] = json!({"function": {"name": "x"}});
    let chosen = portuguese(vec![], None).await.ask(&chosen).await;
    assert_eq!(chosen.error(), "tool_choice indica \"x\", que não está entre as ferramentas");
    let page = portuguese(vec![answer("200 OK", "text/html", "<html>")], None).await.ask(&request(false)).await;
    assert!(page.error().starts_with("O upstream respondeu com \"text/html\" em vez de JSON"), "{}", page.body);
    let cut = vec![Step::Send(format!("{STREAM}{}", text("So. ")).into_bytes())];
    let cut = portuguese(vec![cut], None).await.stream().await;
    assert!(
        cut.error.as_ref().is_some_and(|error| error.to_string().contains("O upstream terminou")),
        "{:?}",
        cut.error
    );
}

#[tokio::test]
async fn a_line_that_never_ends_is_not_kept() {
    let endless = vec![Step::Send(format!("{STREAM}data: {{\"x\": \"").into_bytes()), Step::Repeat(vec![b'x'; 65536])];
    let stage = Stage::new(vec![endless]).await;
    let received = stage.stream().await;
    assert!(received.error.unwrap().contains("longer than 8388608 bytes") && received.finish.is_none());
    let ten = format!("data: {{\"x\": \"{}\"}}\n\n", "x".repeat(10_000_000));
    let received = Stage::new(vec![vec![Step::Send(format!("{STREAM}{ten}").into_bytes())]]).await.stream().await;
    assert!(received.error.is_some());
    let large = answer("200 OK", "application/json", &"x".repeat(17 << 20));
    let got = Stage::new(vec![large]).await.ask(&request(false)).await;
    assert_eq!((got.status, got.error().contains("longer than 16777216")), (502, true));
}

#[tokio::test]
async fn an_unrequested_stream_is_bounded() {
    let small = |options: &mut toolfence_server::proxy::ProxyOptions| options.body = 100_000;
    let words = "words ".repeat(100);
    let thought = chunk(&json!({"reasoning_content": words}), None);
    let call = text("```tool\n{\"name\": \"write\", \"args\": {\"content\": \"");
    for (case, begin, more) in [
        ("text", "", text(&words)),
        ("reasoning", "", thought),
        ("a call", call.as_str(), text(&words)),
        ("nothing", "", ": still here\n\n".to_owned()),
    ] {
        let flood = vec![Step::Send(format!("{STREAM}{begin}").into_bytes()), Step::Repeat(more.clone().into_bytes())];
        let stage = Stage::with(vec![flood], small).await;
        let body = request(false);
        let got = tokio::time::timeout(Duration::from_secs(5), stage.ask(&body)).await.expect(case);
        let wanted = "The upstream's answer is longer than 100000 bytes".to_owned();
        assert_eq!((got.status, got.error()), (502, wanted), "{case}");
        let held = format!("{STREAM}{begin}{}", more.repeat(100_000 / more.len() + 1));
        let held = vec![Step::Send(held.into_bytes()), Step::Wait(Arc::new(Notify::new()))];
        let stage = Stage::with(vec![held], small).await;
        assert_eq!(stage.ask(&body).await.status, 502, "{case}");
        stage.wait_until("the end of the upstream's connection", |seen| seen.gone == 1).await;
    }
    let long = reply(&words.repeat(200), 600, "stop");
    let received = Stage::with(vec![long], small).await.stream().await;
    assert_eq!(
        (received.finish.as_deref(), received.text.len()),
        (Some("stop"), 120_000),
        "what is passed on has no end"
    );
}

#[tokio::test]
async fn a_slow_upstream_times_out() {
    let hasty = |options: &mut toolfence_server::proxy::ProxyOptions| {
        (options.first_byte, options.between) = (Duration::from_millis(200), Duration::from_millis(200));
    };
    let stage = Stage::with(vec![vec![Step::Pause(5000)]], hasty).await;
    assert_eq!(stage.ask(&request(true)).await.status, 504);
    let begun = vec![Step::Send(format!("{STREAM}{}", text("So.")).into_bytes()), Step::Pause(5000)];
    let stage = Stage::with(vec![begun], hasty).await;
    let received = stage.stream().await;
    assert!(received.error.unwrap().contains("sent nothing for 200ms") && received.text == "So.");
}

#[tokio::test]
async fn a_disconnect_ends_the_upstream_request() {
    let ways = [(true, true, true), (true, false, false), (false, true, true), (true, true, false)];
    for ((tools, streamed, begun), half) in ways.into_iter().flat_map(|way| [(way, false), (way, true)]) {
        let gate = Arc::new(Notify::new());
        let head = if begun { format!("{STREAM}{}", text("So.")) } else { String::new() };
        let stage = Stage::new(vec![vec![Step::Send(head.into_bytes()), Step::Wait(gate)]]).await;
        let body = if tools { request(streamed).to_string() } else { plain(streamed) };
        let mut stream = stage.open(&body).await;
        stage.wait_until("the request", |seen| seen.requests.len() == 1).await;
        if begun {
            stream.read_exact(&mut [0; 12]).await.unwrap();
        }
        if half {
            stream.shutdown().await.unwrap();
        } else {
            drop(stream);
        }
        stage.wait_until("the end of the upstream's connection", |seen| seen.gone == 1).await;
    }
}

#[tokio::test]
async fn a_client_that_does_not_read_stops_the_upstream() {
    for tools in [true, false] {
        let flood = vec![Step::Send(STREAM.into()), Step::Repeat(text(&"words ".repeat(1000)).into_bytes())];
        let stage = Stage::new(vec![flood]).await;
        let body = if tools { request(true).to_string() } else { plain(true) };
        let _stream = stage.open(&body).await;
        let mut before = usize::MAX;
        for _ in 0..50 {
            tokio::time::sleep(Duration::from_millis(100)).await;
            let now = stage.seen.lock().unwrap().sent;
            if now == before {
                break;
            }
            before = now;
        }
        // The upstream can send only as much as the socket buffers hold, because the proxy queues nothing.
        assert!(before < 24 << 20 && stage.seen.lock().unwrap().sent == before, "{before} bytes");
    }
}

#[tokio::test]
async fn requests_without_access_are_refused() {
    let json = "content-type: application/json\r\n";
    let stage = Stage::with(vec![whole("Yes.", "stop")], |options| options.key = Some("secret".into())).await;
    let body = request(false).to_string();
    let key = format!("{json}authorization: Bearer secret\r\n");
    for (case, method, path, headers, status) in [
        ("no key", "POST", "/v1/chat/completions", json.to_owned(), 401),
        ("another key", "POST", "/v1/chat/completions", format!("{json}authorization: Bearer secres\r\n"), 401),
        ("another name", "POST", "/v1/chat/completions", format!("{key}host: evil.example\r\n"), 403),
        ("another page", "POST", "/v1/chat/completions", format!("{key}origin: https://evil.example\r\n"), 403),
        (
            "no JSON",
            "POST",
            "/v1/chat/completions",
            "content-type: text/plain\r\nauthorization: Bearer secret\r\n".into(),
            415,
        ),
        ("another way", "GET", "/v1/chat/completions", key.clone(), 405),
        ("another place", "POST", "/v1/files", key.clone(), 404),
        ("out of its place", "GET", "/v1/models/../../slots", key.clone(), 404),
        ("models", "DELETE", "/v1/models/x", key.clone(), 405),
        ("all is well", "POST", "/v1/chat/completions", format!("{key}origin: http://localhost:3000\r\n"), 200),
    ] {
        let answer = Answer::read(&mut stage.send(method, path, &headers, &body).await).await;
        assert_eq!(answer.status, status, "{case}: {}", answer.body);
    }
    let seen = stage.seen.lock().unwrap();
    assert_eq!(
        (seen.requests.len(), header(&seen.requests[0].0, "authorization")),
        (1, None),
        "its key goes no further"
    );
}

/// Because the upstream's request carries the key, its path must be `/models` or one model, however often it is
/// decoded.
#[tokio::test]
async fn no_path_leads_out_of_models() {
    let decoded = |path: &str| {
        let mut path = path.to_owned();
        for _ in 0..5 {
            path = path.replace("%25", "%").replace("%2e", ".").replace("%2E", ".");
            path =
                path.replace("%2f", "/").replace("%2F", "/").replace("%5c", "/").replace("%5C", "/").replace('\\', "/");
        }
        path
    };
    let steps = [
        "..",
        "%2e%2e",
        ".%2e",
        "%2E.",
        "%252e%252e",
        "%25252e.",
        "..;",
        "..;x=1",
        "..%00",
        "%c0%ae%c0%ae",
        "\u{ff0e}.",
    ];
    let slashes = ["/", "%2f", "%2F", "%252f", "\\", "%5c", "%255c", "//", ";/", "/./", "%2f/"];
    let mut paths: Vec<String> = Vec::new();
    for step in steps {
        for slash in slashes {
            paths.push(format!("/v1/models/{step}{slash}{step}{slash}admin"));
            paths.push(format!("/v1/models/a{slash}{step}"));
            paths.push(format!("/v1/models{slash}{step}{slash}files?limit=1"));
        }
    }
    let odd = [
        "//h/v1/models",
        "/v1//models",
        "/v1/models//h/x",
        "/v1/models/",
        "/v1/models/a%23b",
        "/v1/models/a%3Fb",
        "/v1/models/a;b",
        "/v1/modelsx",
        "/v1/models%2fa",
        "/v1/models/a%20b",
        "/v1/models/%61",
        "/v1/chat/completions/../../files",
        "/v1/./models",
        "/V1/models",
    ];
    paths.extend(odd.map(str::to_owned));
    let stage = Stage::with(vec![answer("200 OK", "application/json", "{}")], |options| {
        options.upstream_key = Some("sk-UPSTREAM".into());
    })
    .await;
    for path in &paths {
        let answer = Answer::read(&mut stage.send("GET", path, "", "").await).await;
        assert!(answer.status == 404 || answer.status == 400, "{path}: {}", answer.status);
    }
    for (path, want) in [
        ("/v1/models", "/v1/models"),
        ("/v1/models?limit=2&after=%2e%2e/x", "/v1/models?limit=2&after=%2e%2e/x"),
        ("/v1/models/gpt-4o.1:latest", "/v1/models/gpt-4o.1:latest"),
        ("/v1/models/org/name@main~x_y", "/v1/models/org/name@main~x_y"),
        ("/v1/models/org%2fname?x=1#/../..", "/v1/models/org%2Fname?x=1"),
        ("/v1/models/a..b", "/v1/models/a..b"),
    ] {
        let answer = Answer::read(&mut stage.send("GET", path, "", "").await).await;
        assert_eq!(answer.status, 200, "{path}");
        let (head, _) = stage.seen.lock().unwrap().requests.last().cloned().expect("it was asked");
        assert!(head.starts_with(&format!("GET {want} ")), "{path}: {head}");
    }
    for (head, _) in &stage.seen.lock().unwrap().requests {
        let path = head.split(' ').nth(1).unwrap_or_default();
        let path = path.split('?').next().unwrap_or_default();
        assert!(path.starts_with("/v1/models"), "{head}");
        assert!(!decoded(path).split('/').any(|name| matches!(name, "." | "..")), "{head}");
    }
}

#[tokio::test]
async fn requests_that_are_too_large_or_never_end() {
    let small = |options: &mut toolfence_server::proxy::ProxyOptions| {
        (options.body, options.between) = (1000, Duration::from_millis(300));
    };
    let stage = Stage::with(vec![whole("Yes.", "stop")], small).await;
    let large = Answer::read(&mut stage.open(&"x".repeat(1001)).await).await;
    assert_eq!((large.status, large.error()), (413, "The request is larger than 1000 bytes; send less".into()));
    let head =
        format!("POST /v1/chat/completions HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\n", stage.address);
    let chunk = format!("64\r\n{}\r\n", "x".repeat(100));
    for (case, rest, status) in [
        ("in chunks", format!("transfer-encoding: chunked\r\n\r\n{}", chunk.repeat(11)), 413),
        ("no end", "content-length: 50\r\n\r\n{".to_owned(), 408),
    ] {
        let mut stream = tokio::net::TcpStream::connect(&stage.address).await.unwrap();
        stream.write_all(format!("{head}connection: close\r\n{rest}").as_bytes()).await.unwrap();
        assert_eq!(Answer::read(&mut stream).await.status, status, "{case}");
    }
    assert_eq!(stage.requests().len(), 0);
}

#[tokio::test]
async fn more_clients_than_connections_are_all_answered() {
    let call =
        "```tool\n{\"name\": \"write\", \"args\": {\"path\": \"x\", \"content\": \"some words of text\"}}\n```\n";
    let stage = Arc::new(Stage::with(vec![reply(call, 2, "stop")], |options| options.connections = 20).await);
    let asked: Vec<_> = (0..100)
        .map(|_| {
            let stage = stage.clone();
            tokio::spawn(async move { stage.stream().await.named().len() })
        })
        .collect();
    for one in asked {
        assert_eq!(one.await.unwrap(), 1);
    }
}

#[tokio::test]
async fn shutdown_completes_answers_in_progress() {
    let gate = Arc::new(Notify::new());
    let end = Arc::new(Notify::new());
    let upstream = Stage::new(vec![vec![
        Step::Send(format!("{STREAM}{}", text("one ")).into_bytes()),
        Step::Wait(gate.clone()),
        Step::Send(format!("{}data: [DONE]\n\n", chunk(&json!({"content": "two"}), Some("stop"))).into_bytes()),
    ]])
    .await;
    // A second proxy in front of the stage's: the answer passes through both.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let options = toolfence_server::proxy::ProxyOptions::new(format!("http://{}/v1", upstream.address));
    let ended = end.clone();
    let proxy = toolfence_server::proxy::Proxy::new(options).unwrap();
    let serving = tokio::spawn(async move { proxy.serve(listener, ended.notified()).await });
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let body = request(true).to_string();
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    upstream.wait_until("the request", |seen| seen.requests.len() == 1).await;
    stream.read_exact(&mut [0; 12]).await.unwrap();
    end.notify_one();
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(tokio::net::TcpStream::connect(address).await.is_err(), "no new connection is accepted");
    gate.notify_one();
    let mut rest = String::new();
    stream.read_to_string(&mut rest).await.unwrap();
    assert!(rest.contains("two") && rest.contains("[DONE]"), "{rest}");
    serving.await.unwrap().unwrap();
}
