//! Tests turns in conversations: they continue without a client, any client can follow them, and a request cancels
//! them.

use super::support::*;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::io::AsyncReadExt;

const NEW: &str = "/api/sessions/new/turns";

fn go() -> Value {
    json!({"prompt": "go"})
}

fn write() -> Reply {
    calls("write_file", &json!({"path": "Makefile", "content": "all:\n"}))
}

/// Returns the texts of this role in a conversation, oldest first.
async fn texts(stage: &Stage, session: &str, role: &str) -> Vec<String> {
    let records = stage.get(&format!("/api/sessions/{session}/messages")).await.json();
    let records = records["data"]["messages"].as_array().unwrap().clone();
    let texts = records.iter().filter(|record| record["role"] == role);
    texts.map(|record| record["content"].as_str().unwrap_or_default().to_owned()).collect()
}

async fn is_running(stage: &Stage, session: &str) -> bool {
    stage.get(&format!("/api/sessions/{session}")).await.json()["data"]["session"]["running"] == true
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_continues_without_its_client_and_its_question_stays_open() {
    for streamed in [true, false] {
        let stage = Stage::new([write(), says("Made.")]).await;
        let session = if streamed {
            let mut events = stage.open_at(NEW, go()).await;
            let session = events.session().await;
            events.until("ask").await;
            session
        } else {
            let stream = stage.send("POST", NEW, &stage.headers(), go().to_string().as_bytes()).await;
            stage.until("the model is asked", |seen| seen.messages.len() == 1).await;
            drop(stream);
            let listed = stage.get("/api/sessions").await.json();
            listed["data"]["sessions"][0]["id"].as_str().unwrap().to_owned()
        };
        let path = format!("/api/sessions/{session}/events");
        let (mut one, mut other) = (stage.follow(&path, "").await, stage.follow(&path, "").await);
        let question = one.until("ask").await;
        assert_eq!(other.until("ask").await, question);
        assert!(is_running(&stage, &session).await);
        let second = stage.post(&format!("/api/sessions/{session}/turns"), &go()).await;
        assert_eq!((second.status, &second.json()["error"]["code"]), (409, &json!("conflict")), "{}", second.body);
        let approval = format!("/api/approvals/{}", question["approval"].as_str().unwrap());
        assert_eq!(stage.post(&approval, &json!({"decision": "approve"})).await.status, 200);
        for events in [&mut one, &mut other] {
            assert_eq!(events.until("result").await["success"], true);
            assert_eq!(events.until("stop").await["reason"], "answered");
        }
        assert!(stage.path().join("Makefile").exists());
        assert!(!is_running(&stage, &session).await);
        assert_eq!(texts(&stage, &session, "assistant").await[1], "Made.");
        assert_eq!(stage.post(&format!("/api/sessions/{session}/turns"), &go()).await.status, 200);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_resumes_after_its_last_event() {
    let stage = Stage::new([write(), says("Made.")]).await;
    let mut events = stage.open_at(NEW, go()).await;
    let session = events.session().await;
    let question = events.until("ask").await;
    let seen = events.id.clone();
    drop(events);
    let path = format!("/api/sessions/{session}/events");
    let mut query = stage.follow(&format!("{path}?after={seen}"), "").await;
    let mut header = stage.follow(&format!("{path}?after=0"), &format!("last-event-id: {seen}\r\n")).await;
    let approval = format!("/api/approvals/{}", question["approval"].as_str().unwrap());
    assert_eq!(stage.post(&approval, &json!({"decision": "approve"})).await.status, 200);
    for events in [&mut query, &mut header] {
        let mut read = String::new();
        events.stream.read_to_string(&mut read).await.unwrap();
        assert!(read.contains("event: running\n") && read.contains("event: stop\n"), "{read}");
        assert!(!read.contains("event: ask\n"), "{read}");
    }
    // The events of the last turn are kept for a while.
    let again = stage.get(&path).await;
    let events = again.body.matches("\nid: ").count();
    assert!(again.body.contains("event: ask\n") && events == again.body.matches("event: ").count(), "{}", again.body);
    for (path, status, field) in [
        ("/api/sessions/zzz/events".to_owned(), 404, Value::Null),
        (format!("{path}?after=x"), 400, json!("after")),
        (format!("{path}?from=1"), 400, json!("from")),
    ] {
        let answer = stage.get(&path).await;
        assert_eq!((answer.status, &answer.json()["error"]["field"]), (status, &field), "{path}");
    }
}

/// Without its own earlier text, the model would repeat or contradict it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_text_of_a_reply_that_was_cut_stays_in_the_conversation() {
    let text = "This is half of";
    let waits = || Reply::SaysAndWaits(text.to_owned());
    for (reply, reason, turn) in
        [(waits(), "cancelled", 60), (waits(), "cancelled", 1), (Reply::SaysAndFails(text.to_owned()), "failed", 60)]
    {
        let replies = [reply, says("And the rest.")];
        let stage = Stage::with(replies, |options| options.turn = Duration::from_secs(turn)).await;
        let mut events = stage.open_at(NEW, go()).await;
        let session = events.session().await;
        events.until("text").await;
        if reason == "cancelled" && turn == 60 {
            let cancel = format!("/api/sessions/{session}/cancel");
            let answer = stage.post(&cancel, &json!({})).await;
            assert_eq!((answer.status, &answer.json()["data"]["cancelled"]), (200, &json!(true)), "{}", answer.body);
            assert!(!is_running(&stage, &session).await, "the answer comes after the end of the turn");
            assert_eq!(stage.post(&cancel, &json!({})).await.json()["data"]["cancelled"], false);
        }
        assert_eq!(events.until("stop").await["reason"], reason);
        assert_eq!(texts(&stage, &session, "assistant").await, [text]);
        let answer = stage.post(&format!("/api/sessions/{session}/turns"), &json!({"prompt": "More."})).await;
        assert_eq!(answer.json()["data"]["answer"], "And the rest.", "{}", answer.body);
        let sent = stage.seen.lock().unwrap().messages.last().unwrap().clone();
        assert!(sent.iter().any(|message| message.content.contains(text)), "{sent:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_that_is_not_answered_in_time_does_not_end_the_turn() {
    for streamed in [true, false] {
        let short = |options: &mut toolfence_server::http::ApiOptions| options.approval = Duration::from_secs(1);
        let stage = Stage::with([write(), says("Then not.")], short).await;
        let mut body = go();
        body["stream"] = streamed.into();
        let stream = stage.send("POST", NEW, &stage.headers(), body.to_string().as_bytes()).await;
        stage.until("the model is asked", |seen| seen.messages.len() == 1).await;
        drop(stream);
        stage.until("the model is asked again", |seen| seen.messages.len() == 2).await;
        until_no_turn_runs(&stage).await;
        assert!(!stage.path().join("Makefile").exists());
    }
}

/// A turn does not wait for a reader. A late one gets `gap` instead of the first events.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_late_reader_gets_a_gap() {
    let line: String = (0..40).map(|number| format!("the line {number} of a text that is written again\n")).collect();
    let stage = Stage::new([Reply::Floods(line)]).await;
    let mut events = stage.open_at(NEW, go()).await;
    let session = events.session().await;
    stage.until("the text is longer than what is kept", |seen| seen.bytes > 3 << 20).await;
    assert_eq!(stage.post(&format!("/api/sessions/{session}/cancel"), &json!({})).await.status, 200);
    let mut late = stage.follow(&format!("/api/sessions/{session}/events"), "").await;
    let mut read = String::new();
    late.stream.read_to_string(&mut read).await.unwrap();
    let (_, body) = read.split_once("\r\n\r\n").unwrap();
    let first = body.lines().find(|line| line.starts_with("event: "));
    assert_eq!(first, Some("event: gap"), "{body:.300}");
    assert!(body.contains("\"turn\":1}") && body.contains("event: stop\n"), "{body:.300}");
    assert!(body.len() < 2 << 20, "{}", body.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_of_the_server_ends_turns_without_clients() {
    let mut stage = Stage::with([Reply::Waits], |options| options.grace = Duration::from_millis(500)).await;
    let mut events = stage.open_at(NEW, go()).await;
    events.session().await;
    stage.until("the model is asked", |seen| seen.messages.len() == 1).await;
    drop(events);
    stage.end().await;
    assert_eq!(stage.seen.lock().unwrap().gone, 1);
}
