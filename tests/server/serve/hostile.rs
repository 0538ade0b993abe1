//! Misbehaving clients: they disconnect, do not read, or send too much, too slowly, or too many requests at once.

use super::support::*;
use crate::proxy::support::Answer;
use serde_json::{Value, json};
use std::process::Command;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::sleep;

fn go() -> Value {
    json!({"prompt": "go"})
}

/// Waits until a process with this command line runs, or no longer runs.
async fn until_runs(line: &str, runs: bool) {
    for _ in 0..1000 {
        let found = Command::new("pgrep").args(["-f", &format!("^{line}$")]).status().unwrap().success();
        if found == runs {
            return;
        }
        sleep(Duration::from_millis(10)).await;
    }
    panic!("never: {line} runs: {runs}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disconnect_ends_the_turn() {
    for streamed in [false, true] {
        let stage = Stage::new([Reply::Waits]).await;
        let mut body = go();
        body["stream"] = streamed.into();
        let stream = stage.send("POST", "/api/agent", &stage.headers(), body.to_string().as_bytes()).await;
        stage.until("the model is asked", |seen| seen.messages.len() == 1).await;
        drop(stream);
        stage.until("the reply is dropped", |seen| seen.gone == 1).await;
        // A half-closed connection counts as a disconnect, because the server cannot distinguish the two.
        let mut stream = stage.send("POST", "/api/agent", &stage.headers(), body.to_string().as_bytes()).await;
        stage.until("the model is asked", |seen| seen.messages.len() == 2).await;
        stream.shutdown().await.unwrap();
        stage.until("the reply is dropped", |seen| seen.gone == 2).await;
    }
}

/// Bytes after the request, which the server does not read before it has answered, do not hide a disconnect.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disconnect_after_extra_bytes_ends_the_turn() {
    for streamed in [false, true] {
        for extra in ["\n", "GET /api/health HTTP/1.1\r\n\r\n", &"x".repeat(100_000)] {
            let stage = Stage::new([Reply::Waits]).await;
            let mut body = go();
            body["stream"] = streamed.into();
            let body = body.to_string();
            let headers = format!("{}content-length: {}\r\n", stage.headers(), body.len());
            let stream = stage.send("POST", "/api/agent", &headers, format!("{body}{extra}").as_bytes()).await;
            stage.until("the model is asked", |seen| seen.messages.len() == 1).await;
            sleep(Duration::from_millis(1500)).await;
            assert_eq!(stage.seen.lock().unwrap().gone, 0, "it waits for its answer");
            drop(stream);
            stage.until("the reply is dropped", |seen| seen.gone == 1).await;
        }
    }
}

/// Two requests that arrive together are answered one after the other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pipelined_requests_are_answered_in_order() {
    let stage = Stage::new([says("Yes.")]).await;
    let mut stream = tokio::net::TcpStream::connect(&stage.address).await.unwrap();
    let body = go().to_string();
    let first = format!("POST /api/agent HTTP/1.1\r\n{}content-length: {}\r\n\r\n{body}", stage.headers(), body.len());
    let second = format!("GET /api/health HTTP/1.1\r\n{}connection: close\r\n\r\n", stage.headers());
    stream.write_all(format!("{first}{second}").as_bytes()).await.unwrap();
    let mut answers = String::new();
    let read = stream.read_to_string(&mut answers);
    tokio::time::timeout(Duration::from_secs(60), read).await.expect("it hangs").unwrap();
    let (first, second) = (answers.find("The model answered.").unwrap(), answers.find("\"status\":\"ok\"").unwrap());
    assert!(first < second && answers.matches("HTTP/1.1 200 OK").count() == 2, "{answers}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disconnect_ends_the_command() {
    let mut stage = Stage::unasked().await;
    let command = "touch began; sleep 86.25; touch ended";
    let body = json!({"direct": true, "toolType": "bash", "args": {"command": command}});
    let stream = stage.send("POST", "/api/agent", &stage.headers(), body.to_string().as_bytes()).await;
    until_runs("sleep 86.25", true).await;
    drop(stream);
    until_runs("sleep 86.25", false).await;
    stage.end().await;
    assert!(!stage.path().join("began").exists(), "a command that is ended leaves nothing in the project");
}

/// A waiting call of a stream cannot be answered after its client has disconnected.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disconnect_withdraws_the_question() {
    let stage = Stage::new([calls("write_file", &json!({"path": "Makefile", "content": "x\n"})), says("Done.")]).await;
    let mut events = stage.open(go()).await;
    let id = events.until("ask").await["approval"].as_str().unwrap().to_owned();
    drop(events);
    let path = format!("/api/approvals/{id}");
    until_no_turn_runs(&stage).await;
    let answer = stage.post(&path, &json!({"decision": "approve"})).await;
    assert_eq!(answer.status, 404);
    assert!(!stage.path().join("Makefile").exists());
}

/// Returns more lines than the repetition limit, all different.
fn lines() -> String {
    (0..40).map(|number| format!("the line {number} of a text that is written again and again\n")).collect()
}

/// A client that reads slowly slows the model down, and one that does not read is disconnected. Events do not pile up
/// in memory.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_does_not_read_is_disconnected() {
    let line = lines();
    let stage = Stage::with([Reply::Floods(line)], |options| options.stalled = Duration::from_secs(1)).await;
    let mut events = stage.open(go()).await;
    let mut read = 0;
    for _ in 0..20 {
        sleep(Duration::from_millis(100)).await;
        read += events.stream.read(&mut vec![0; 512 << 10]).await.unwrap();
    }
    assert!(read > 1 << 20, "{read}");
    assert_eq!(stage.seen.lock().unwrap().gone, 0, "a slow one is served");
    stage.until("the reply is dropped", |seen| seen.gone == 1).await;
}

/// A client that reads a little now and then does not prolong a turn beyond its time limit.
#[tokio::test]
async fn a_slow_reader_does_not_outlast_the_time_of_a_turn() {
    let line = lines();
    let quick = |options: &mut toolfence_server::http::ApiOptions| {
        (options.turn, options.stalled) = (Duration::from_secs(1), Duration::from_secs(1));
    };
    let stage = Stage::with([Reply::Floods(line)], quick).await;
    let mut events = stage.open(go()).await;
    let started = std::time::Instant::now();
    while stage.seen.lock().unwrap().gone == 0 {
        assert!(started.elapsed() < Duration::from_secs(20), "the turn did not end");
        sleep(Duration::from_millis(100)).await;
        // The stream may have ended.
        let _ = events.stream.read(&mut vec![0; 2 << 10]).await;
    }
}

#[tokio::test]
async fn bodies_that_are_too_large_or_too_slow_are_refused() {
    let small = |options: &mut toolfence_server::http::ApiOptions| {
        (options.body, options.arrival) = (1000, Duration::from_secs(1));
    };
    let stage = Stage::with([says("Yes.")], small).await;
    let large = json!({"prompt": "x".repeat(2000)}).to_string();
    assert_eq!(stage.ask_with("POST", "/api/agent", &stage.headers(), &large).await.status, 413);
    let received = format!("{}content-length: 99999999999\r\n", stage.headers());
    assert_eq!(stage.ask_with("POST", "/api/agent", &received, "{").await.status, 413, "before it came");
    let chunked = format!("{}transfer-encoding: chunked\r\n", stage.headers());
    let pieces = format!("{:x}\r\n{large}\r\n0\r\n\r\n", large.len());
    assert_eq!(stage.ask_with("POST", "/api/agent", &chunked, &pieces).await.status, 413);
    let slow = format!("{}content-length: 100\r\n", stage.headers());
    assert_eq!(stage.ask_with("POST", "/api/agent", &slow, "{\"prompt\"").await.status, 408);
    let just = json!({"prompt": "x".repeat(900)});
    assert_eq!(stage.turn(&just).await.status, 200);
    let mut headers = stage.headers();
    headers.push_str(&format!("x-much: {}\r\n", "x".repeat(1 << 20)));
    let mut stream = stage.send("GET", "/api/tools", &headers, b"").await;
    let mut head = Vec::new();
    let _ = stream.read_to_end(&mut head).await; // it may be reset before all of it was sent
    assert!(head.is_empty() || head.starts_with(b"HTTP/1.1 4"), "{}", String::from_utf8_lossy(&head));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn turns_beyond_the_limit_are_refused_and_find_a_place_later() {
    let stage = Stage::with([Reply::Waits], |options| options.turns = 3).await;
    let mut open = Vec::new();
    for _ in 0..3 {
        open.push(stage.open(go()).await);
    }
    stage.until("all are asked", |seen| seen.messages.len() == 3).await;
    for _ in 0..200 {
        let answer = stage.turn(&go()).await;
        assert_eq!((answer.status, &answer.json()["error"]["code"]), (503, &json!("busy")));
        assert!(answer.head.to_lowercase().contains("retry-after: 1"));
    }
    assert_eq!(stage.get("/api/health").await.status, 200);
    open.pop();
    stage.until("one is dropped", |seen| seen.gone == 1).await;
    let direct = json!({"direct": true, "toolType": "read_file", "args": {"path": "a.txt"}});
    for _ in 0..100 {
        if stage.turn(&direct).await.status == 200 {
            return;
        }
        sleep(Duration::from_millis(10)).await;
    }
    panic!("no place became free");
}

/// Invalid requests and the maximum number of silent connections do not block other clients.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invalid_requests_do_not_block_other_clients() {
    let stage = Stage::new([says("Yes.")]).await;
    let mut silent = Vec::new();
    for _ in 0..200 {
        silent.push(tokio::net::TcpStream::connect(&stage.address).await.unwrap());
    }
    let mut random = toolfence_kit::Random::new(7);
    for _ in 0..200 {
        let mut stream = tokio::net::TcpStream::connect(&stage.address).await.unwrap();
        let noise: Vec<u8> = (0..random.below(300)).map(|_| random.below(256) as u8).collect();
        let _ = stream.write_all(&noise).await;
        let _ = stream.shutdown().await;
        let mut said = Vec::new();
        let _ = tokio::time::timeout(Duration::from_secs(20), stream.read_to_end(&mut said)).await.expect("it hangs");
        assert!(said.is_empty() || said.starts_with(b"HTTP/1.1 4"), "{}", String::from_utf8_lossy(&said));
    }
    // Valid bodies with random changes of bytes.
    let good = json!({"prompt": "x", "toolType": "auto", "contextHistory": [], "stream": false}).to_string();
    for _ in 0..300 {
        let mut body = good.clone().into_bytes();
        for _ in 0..=random.below(4) {
            let at = random.below(body.len());
            body[at] = random.below(256) as u8;
        }
        let mut stream = stage.send("POST", "/api/agent", &stage.headers(), &body).await;
        let answer = Answer::read(&mut stream).await;
        assert!(matches!(answer.status, 200 | 400), "{} to {}", answer.body, String::from_utf8_lossy(&body));
    }
    assert_eq!(stage.turn(&go()).await.status, 200);
}

/// Connections with no request or an incomplete one give way to clients with a request. Streams keep their connections.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idle_connections_give_way_to_requests() {
    let few = |options: &mut toolfence_server::http::ApiOptions| {
        (options.connections, options.silence) = (15, Duration::from_secs(1));
    };
    let stage = Stage::with([Reply::Waits], few).await;
    let mut streams = Vec::new();
    for _ in 0..10 {
        streams.push(stage.open(go()).await);
    }
    stage.until("all are asked", |seen| seen.messages.len() == 10).await;
    let login = format!("host: {}\r\ncontent-type: application/json\r\n", stage.address);
    let begins =
        ["", "GET / HTTP/1.1\r\n", &format!("POST /api/login HTTP/1.1\r\n{login}content-length: 100\r\n\r\n{{")];
    let mut owing = Vec::new();
    for begin in begins.iter().cycle().take(12) {
        let mut stream = tokio::net::TcpStream::connect(&stage.address).await.unwrap();
        stream.write_all(begin.as_bytes()).await.unwrap();
        owing.push(stream);
    }
    // Each idle connection may stay silent for 30 or 60 seconds, so waiting for one would exceed the limit below.
    let started = std::time::Instant::now();
    for _ in 0..3 {
        assert_eq!(stage.get("/api/health").await.status, 200);
    }
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
    for events in &mut streams {
        let mut received = String::new();
        while !received.contains(": still here") {
            let mut buffer = [0; 4096];
            let read = tokio::time::timeout(Duration::from_secs(60), events.stream.read(&mut buffer));
            let got = read.await.expect("it hangs").unwrap();
            assert!(got > 0, "a stream is closed after {received}");
            received.push_str(std::str::from_utf8(&buffer[..got]).unwrap());
        }
    }
    assert_eq!(stage.seen.lock().unwrap().gone, 0);
}

/// If every connection is a stream, a new client waits until one ends.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_do_not_give_way_to_requests() {
    let stage = Stage::with([Reply::Waits], |options| options.connections = 3).await;
    let mut streams = Vec::new();
    for _ in 0..3 {
        streams.push(stage.open(go()).await);
    }
    stage.until("all are asked", |seen| seen.messages.len() == 3).await;
    let mut asked = std::pin::pin!(stage.get("/api/health"));
    assert!(tokio::time::timeout(Duration::from_secs(3), &mut asked).await.is_err(), "there is no room");
    assert_eq!(stage.seen.lock().unwrap().gone, 0);
    streams.pop();
    assert_eq!(asked.await.status, 200);
    stage.until("one is dropped", |seen| seen.gone == 1).await;
}

/// Shutting down the server ends all turns, including those that wait for an approval.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_of_the_server_ends_every_turn() {
    let replies = [calls("write_file", &json!({"path": "Makefile", "content": "x\n"})), Reply::Waits];
    let mut stage = Stage::with(replies, |options| options.grace = Duration::from_millis(500)).await;
    assert_eq!(stage.turn(&go()).await.status, 202);
    let stream = stage.send("POST", "/api/agent", &stage.headers(), go().to_string().as_bytes()).await;
    stage.until("the second is asked", |seen| seen.messages.len() == 2).await;
    stage.end().await;
    assert_eq!(stage.seen.lock().unwrap().gone, 1);
    drop(stream);
    assert!(tokio::net::TcpStream::connect(&stage.address).await.is_err());
}
