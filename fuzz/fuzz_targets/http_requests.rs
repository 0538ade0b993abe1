//! Fuzzes the HTTP API on real sockets with any client. Answers are well-formed, and no turn begins for a request
//! without the token, for another host, from a page of another origin, or with an invalid body.
//!
//! The first byte chooses what is hostile: everything, the parts of a request, or only a body. The second byte chooses
//! the valid headers that precede the hostile ones. The parts are separated by 0xff: the method, the path, headers, the
//! body.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, LazyLock};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use toolfence_agent::agent::Agent;
use toolfence_agent::backend::Backend;
use toolfence_policy::rules::PathRules;
use toolfence_protocol::{Catalog, Error, Text, ToolSpec};
use toolfence_server::http::{Agents, Api, ApiOptions, ROUTES, random_token};
use toolfence_session::persona::Persona;
use toolfence_workspace::Workspace;
use toolfence_workspace::undo::OpenTurn;

/// Counts the turns that would begin, without answering them. Its project is a deleted folder.
struct NoTurns(AtomicUsize, Arc<Workspace>);

impl Agents for NoTurns {
    fn tools(&self) -> Catalog {
        ["look", "change"].into_iter().map(|name| ToolSpec::new(name, "Does it.")).collect()
    }

    fn personas(&self) -> Vec<Persona> {
        Vec::new()
    }

    fn workspace(&self) -> Arc<Workspace> {
        self.1.clone()
    }

    fn agent(&self, _: Option<&str>, _: Option<&str>, _: Option<Arc<dyn Backend>>) -> Result<Agent, Text> {
        self.0.fetch_add(1, Relaxed);
        Err("no agent".into())
    }

    fn conversation(
        &self,
        _: Option<&str>,
        _: Option<&str>,
        _: Option<&Path>,
        _: Option<Arc<dyn Backend>>,
    ) -> Result<Agent, Error> {
        self.0.fetch_add(1, Relaxed);
        Err(Error::new("no agent"))
    }

    fn instructions(&self) -> String {
        String::new()
    }

    fn begin(&self, _: &str) -> Option<OpenTurn> {
        None
    }

    fn undo(&self, _: bool) -> Result<Option<Value>, Text> {
        self.0.fetch_add(1, Relaxed);
        Ok(None)
    }

    fn turn_ended(&self, _: Option<&str>, _: Option<&mut Agent>) {}
}

/// One server for all inputs.
struct Stage {
    runtime: Runtime,
    address: String,
    token: String,
    begun: Arc<NoTurns>,
}

static STAGE: LazyLock<Stage> = LazyLock::new(|| {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let folder = std::env::temp_dir().join(format!("toolfence-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let workspace = Workspace::open(&folder, PathRules::default()).expect("it is a folder");
    let _ = std::fs::remove_dir(&folder);
    let begun = Arc::new(NoTurns(AtomicUsize::new(0), Arc::new(workspace)));
    // The fuzzer cannot guess this token.
    let token = random_token().expect("random numbers");
    let mut options = ApiOptions::new(token.clone());
    (options.body, options.arrival) = (8192, Duration::from_millis(20));
    let api = Api::new(options, begun.clone());
    let address = runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("bound").to_string();
        tokio::spawn(async move { api.serve(listener, std::future::pending()).await.expect("it listens") });
        address
    });
    Stage { runtime, address, token, begun }
});

fuzz_target!(|data: &[u8]| {
    let [kind, flags, rest @ ..] = data else { return };
    match kind % 3 {
        // Sends all bytes and then closes the sending side.
        0 => assert_eq!(ask(rest, true).1, 0, "a turn begins without the token"),
        1 => {
            let mut parts = rest.splitn(4, |byte| *byte == 0xff);
            let mut part = || parts.next().unwrap_or_default();
            check_parts(*flags, part(), part(), part(), part());
        }
        _ => {
            let posts: Vec<&str> =
                ROUTES.iter().filter(|(method, _)| *method == "POST").map(|(_, path)| *path).collect();
            let path = posts[usize::from(kind / 3) % posts.len()].replace("{id}", "new");
            check_parts(0xff, b"POST", path.as_bytes(), b"", rest);
        }
    }
});

fn check_parts(flags: u8, method: &[u8], path: &[u8], headers: &[u8], body: &[u8]) {
    let stage = &*STAGE;
    let mut head = [method, b" ", path, b" HTTP/1.1\r\n"].concat();
    let good = [
        format!("host: {}\r\n", stage.address),
        format!("authorization: Bearer {}\r\n", stage.token),
        "content-type: application/json\r\n".to_owned(),
        format!("content-length: {}\r\n", body.len()),
    ];
    for (bit, header) in good.iter().enumerate() {
        if flags & (1 << bit) != 0 {
            head.extend_from_slice(header.as_bytes());
        }
    }
    head.extend_from_slice(headers);
    head.extend_from_slice(b"\r\n\r\n");
    let (answers, begun) = ask(&[&head, body].concat(), flags & 8 == 0);
    if begun == 0 {
        return;
    }
    // A client that has closed its side may get no answer.
    assert!(matches!(answers[..], [200 | 503, ..] | []) && (!answers.is_empty() || flags & 8 == 0), "{answers:?}");
    assert!(flags & 2 != 0, "a turn begins without the token");
    let head = String::from_utf8_lossy(&head).to_lowercase();
    let end = ["\r\n\r\n", "\n\n", "\n\r\n"].into_iter().filter_map(|end| head.find(end)).min();
    let lines = || head[..end.unwrap_or(head.len())].lines().skip(1);
    let named = |name: &'static str| lines().filter_map(move |line| Some(line.strip_prefix(name)?.trim()));
    let hosts: Vec<&str> = named("host:").collect();
    let [host] = hosts[..] else { panic!("a turn begins for {hosts:?}") };
    assert!(is_loopback_host(host), "a turn begins for {host:?}");
    for origin in named("origin:") {
        let place = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        assert_eq!(place, Some(host), "a page of {origin:?} begins a turn");
    }
    let site = named("sec-fetch-site:").next();
    assert!(matches!(site, None | Some("same-origin" | "none")), "a page of another site begins a turn: {site:?}");
    assert!(named("content-type:").any(|kind| kind.starts_with("application/json")), "no JSON begins a turn");
}

/// Returns whether a host with an optional port is loopback. This is written independently of the server's check.
fn is_loopback_host(host: &str) -> bool {
    let name = match host.rfind("]") {
        Some(end) => host[..end].trim_start_matches('['),
        None => host.split(':').next().unwrap_or_default(),
    };
    let name = name.trim_end_matches('.');
    name == "localhost"
        || name.ends_with(".localhost")
        || name.parse::<std::net::Ipv4Addr>().is_ok_and(|ip| ip.octets()[0] == 127)
        || name.parse::<std::net::Ipv6Addr>().is_ok_and(|ip| ip.is_loopback())
}

/// Sends a request. Returns the statuses of the answers, after checking that each is well-formed, and the number of
/// turns begun. With `closes`, the client sends nothing else and reads all answers; otherwise it reads the first.
fn ask(request: &[u8], closes: bool) -> (Vec<u16>, usize) {
    let stage = &*STAGE;
    let before = stage.begun.0.load(Relaxed);
    let received = stage.runtime.block_on(async {
        let mut stream = TcpStream::connect(&stage.address).await.expect("the server listens");
        // Reset the connection at its end, because otherwise its port stays occupied for a minute.
        stream.set_zero_linger().expect("it is open");
        // The server may close early without reading all of a request that it refuses.
        let _ = stream.write_all(request).await;
        if closes {
            let _ = stream.shutdown().await;
        }
        let (mut received, mut buffer) = (Vec::new(), [0; 4096]);
        let read = async {
            while closes || read_answers(&received).is_empty() {
                match stream.read(&mut buffer).await {
                    Ok(got) if got > 0 => received.extend_from_slice(&buffer[..got]),
                    _ => break,
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(10), read).await.expect("it hangs");
        received
    });
    let answers = read_answers(&received);
    assert!(closes || !answers.is_empty(), "no answer, and no end: {}", String::from_utf8_lossy(&received));
    let statuses = answers.iter().map(|(head, body)| check_answer(head, body)).collect();
    (statuses, stage.begun.0.load(Relaxed) - before)
}

/// Returns the heads and bodies of the complete answers.
fn read_answers(received: &[u8]) -> Vec<(&str, &str)> {
    let (mut rest, mut answers) = (received, Vec::new());
    while let Some(end) = find(rest, b"\r\n\r\n") {
        let (head, after) = (std::str::from_utf8(&rest[..end]).expect("heads are text"), &rest[end + 4..]);
        assert!(head.starts_with("HTTP/1."), "{head}");
        rest = after;
        // The server sends `100 Continue` only to a client that expects it.
        if head.starts_with("HTTP/1.1 100 ") {
            continue;
        }
        let length = head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
        let length: usize = length.unwrap_or_else(|| panic!("no length: {head}"));
        // An answer to HEAD has no body.
        let body =
            if rest.is_empty() || rest.starts_with(b"HTTP/1.") { &[][..] } else { rest.get(..length).unwrap_or(&[]) };
        if body.is_empty() && !rest.is_empty() && !rest.starts_with(b"HTTP/1.") {
            break;
        }
        answers.push((head, std::str::from_utf8(body).expect("bodies are text")));
        rest = &rest[body.len()..];
    }
    answers
}

/// Checks an answer and returns its status.
fn check_answer(head: &str, body: &str) -> u16 {
    let status: u16 = head.get(9..12).and_then(|status| status.parse().ok()).unwrap_or_else(|| panic!("{head}"));
    assert!(matches!(status, 200 | 400..=431 | 503), "{head} {body}");
    let is_json = head.to_lowercase().contains("content-type: application/json");
    // Only a text that is no request gets an answer without JSON, because no handler reads it.
    assert!(is_json || matches!(status, 200 | 400 | 414 | 431), "{head}");
    if is_json && !body.is_empty() {
        let received: Value = serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {body}"));
        let described = received.get("openapi").is_some();
        assert!(described || received["success"] == (status == 200), "{head} {body}");
        assert!(described || received["error"].is_null() == (status == 200), "{head} {body}");
        assert!(described || received["message"].as_str().is_some_and(|message| !message.is_empty()), "{head} {body}");
    }
    status
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}
