//! Replies that a client sends: their calls, questions and results, without a model.

use super::support::*;
use serde_json::{Value, json};

const NEW: &str = "/api/sessions/new/replies";

fn call(name: &str, args: &Value) -> Value {
    json!({"text": format!("So.\n```tool\n{}\n```\n", json!({"name": name, "args": args}))})
}

fn read(path: &str) -> Value {
    call("read_file", &json!({"path": path}))
}

fn edit(old: &str, new: &str) -> Value {
    call("replace_text", &json!({"path": "a.txt", "old": old, "new": new}))
}

fn route(answer: &Value) -> String {
    format!("/api/sessions/{}/replies", answer["data"]["session"].as_str().unwrap())
}

fn results(answer: &Value) -> &str {
    answer["data"]["results"].as_str().unwrap_or_else(|| panic!("{answer}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reply_is_answered_with_the_results_for_the_model() {
    let stage = Stage::new([]).await;
    let first = stage.post(NEW, &read("a.txt")).await;
    let first = (first.status, first.json());
    assert_eq!(
        (first.0, &first.1["success"], &first.1["data"]["stop"]),
        (200, &json!(true), &Value::Null),
        "{first:?}"
    );
    let first = first.1;
    assert!(results(&first).contains("hi") && results(&first).starts_with("```tool_result"), "{first}");
    assert_eq!(first["data"]["calls"][0]["tool"], "read_file", "{first}");
    assert_eq!(first["data"]["answer"].as_str().unwrap().trim(), "So.");
    let last = stage.post(&route(&first), &json!({"text": "It says hi."})).await.json();
    assert_eq!((&last["data"]["stop"], last["data"].get("results")), (&json!("answered"), None), "{last}");
    // The next reply begins another turn of the conversation.
    let next = stage.post(&route(&first), &read("b.txt")).await.json();
    assert!(next["data"]["session"] == first["data"]["session"] && results(&next).contains("not_found"), "{next}");
    assert!(stage.seen.lock().unwrap().messages.is_empty(), "no model is asked");
    let received = stage.get("/api/sessions/new/instructions").await.json();
    assert_eq!(received["data"]["text"], "Call the tools.");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reply_can_be_sent_in_pieces() {
    let stage = Stage::with([], |options| options.body = 1000).await;
    let whole = read("a.txt")["text"].as_str().unwrap().to_owned();
    let (start, end) = whole.split_at(20);
    let first = stage.post(NEW, &json!({"text": start, "more": true})).await;
    assert_eq!((first.status, &first.json()["data"]["pending"]), (202, &Value::Null), "{}", first.body);
    let path = route(&first.json());
    let last = stage.post(&path, &json!({"text": end})).await.json();
    assert!(results(&last).contains("hi"), "{last}");
    let piece = json!({"text": "x".repeat(700), "more": true});
    assert_eq!(stage.post(&path, &piece).await.status, 202);
    assert_eq!(stage.post(&path, &piece).await.status, 413);
    for (body, field) in [
        (json!({}), "text"),
        (json!({"text": "x", "finish": "over"}), "finish"),
        (json!({"text": "x", "more": "yes"}), "more"),
        (json!({"text": "x", "prompt": "x"}), "prompt"),
    ] {
        let answer = stage.post(&path, &body).await;
        assert_eq!((answer.status, &answer.json()["error"]["field"]), (400, &json!(field)), "{body}");
    }
    // A call that was cut off does not run, and the model is asked to continue it.
    let cut = stage.post(&path, &json!({"text": start, "finish": "cut"})).await.json();
    assert!(!results(&cut).contains("hi\n"), "{cut}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn questions_of_replies_are_answered_and_permissions_last() {
    let stage = Stage::new([]).await;
    let make = |name: &str| call("write_file", &json!({"path": name, "content": "all:\n"}));
    let asked = stage.post(NEW, &make("Makefile")).await;
    let waiting = asked.json();
    assert_eq!((asked.status, &waiting["data"]["pending"]["tool"]), (202, &json!("write_file")), "{waiting}");
    let path = route(&waiting);
    assert_eq!(stage.post(&path, &read("a.txt")).await.status, 409, "the reply is not answered yet");
    let approval =
        |answer: &Value| format!("/api/approvals/{}", answer["data"]["pending"]["approval"].as_str().unwrap());
    let answer = stage.post(&approval(&waiting), &json!({"decision": "approve", "always": true})).await.json();
    assert!(results(&answer).contains("Created Makefile"), "{answer}");
    // The same call in a later reply.
    let again = stage.post(&path, &call("write_file", &json!({"path": "Makefile", "content": "one:\n"}))).await;
    assert_eq!(again.status, 200, "{}", again.body);
    let denied = stage.post(&path, &make("Dockerfile")).await.json();
    let answer = stage.post(&approval(&denied), &json!({"decision": "deny", "reason": "Not today."})).await.json();
    assert!(results(&answer).contains("Not today.") && !stage.path().join("Dockerfile").exists(), "{answer}");
}

/// The agent stays in memory, so it knows which files the model has read.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_changed_between_two_replies_is_not_overwritten() {
    let stage = Stage::unasked().await;
    let first = stage.post(NEW, &read("a.txt")).await.json();
    let path = route(&first);
    let done = stage.post(&path, &edit("hi", "ho")).await.json();
    assert_eq!(done["data"]["calls"][0]["success"], true, "{done}");
    std::fs::write(stage.path().join("a.txt"), "ho\nsaved by another program\n").unwrap();
    let refused = stage.post(&path, &call("write_file", &json!({"path": "a.txt", "content": "lost\n"}))).await.json();
    assert_eq!(refused["data"]["calls"][0]["success"], false, "{refused}");
    let kept = std::fs::read_to_string(stage.path().join("a.txt")).unwrap();
    assert_eq!(kept, "ho\nsaved by another program\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reply_is_streamed_and_followed_as_a_turn_is() {
    let stage = Stage::new([]).await;
    let mut events = stage.open_at(NEW, call("write_file", &json!({"path": "Makefile", "content": "all:\n"}))).await;
    let session = events.session().await;
    let id = events.until("ask").await["approval"].as_str().unwrap().to_owned();
    drop(events);
    let mut events = stage.follow(&format!("/api/sessions/{session}/events"), "").await;
    events.until("ask").await;
    assert_eq!(stage.post(&format!("/api/approvals/{id}"), &json!({"decision": "approve"})).await.status, 200);
    assert!(events.until("results").await["text"].as_str().unwrap().contains("Created Makefile"));
    let path = format!("/api/sessions/{session}/replies");
    let mut events = stage.open_at(&path, json!({"text": "It is made."})).await;
    assert_eq!(events.until("stop").await["reason"], "answered");
    // A command of a reply can be cancelled, and the conversation continues.
    let mut events = stage.open_at(&path, call("bash", &json!({"command": "sleep 86.75"}))).await;
    events.until("running").await;
    let cancel = stage.post(&format!("/api/sessions/{session}/cancel"), &json!({})).await.json();
    assert_eq!(cancel["data"]["cancelled"], true);
    assert_eq!(events.until("stop").await["reason"], "cancelled");
    assert!(results(&stage.post(&path, &read("a.txt")).await.json()).contains("hi"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_agents_than_fit_are_resumed_from_their_transcripts() {
    let stage = Stage::new([]).await;
    let first = stage.post(NEW, &read("a.txt")).await.json();
    for _ in 0..64 {
        assert_eq!(stage.post(NEW, &json!({"text": "Hello."})).await.status, 200);
    }
    let again = stage.post(&route(&first), &read("a.txt")).await.json();
    assert!(again["data"]["session"] == first["data"]["session"] && results(&again).contains("hi"), "{again}");
    // A turn with the server's model can continue the conversation.
    let turn = format!("/api/sessions/{}/turns", first["data"]["session"].as_str().unwrap());
    let mut events = stage.open_at(&turn, json!({"prompt": "go"})).await;
    events.session().await;
    stage.until("the model is asked", |seen| seen.messages.len() == 1).await;
    let sent = stage.seen.lock().unwrap().messages[0].clone();
    assert!(sent.iter().any(|message| message.content.contains("read_file")), "{sent:?}");
}
