//! Turns with whole answers and with events, with and without a model, and their approvals.

use super::support::*;
use serde_json::{Value, json};
use std::time::Duration;

fn kinds(events: &[Value]) -> Vec<&str> {
    let mut kinds: Vec<&str> = events.iter().map(|event| event["event"].as_str().unwrap()).collect();
    kinds.dedup();
    kinds
}

#[tokio::test]
async fn a_turn_is_answered_whole() {
    let replies = || [calls("read_file", &json!({"path": "a.txt"})), says("It says hi.")];
    let answer = Stage::new(replies()).await.turn(&json!({"prompt": "go"})).await.json();
    assert_eq!((&answer["success"], &answer["message"]), (&json!(true), &json!("The model answered after 1 call.")));
    let data = &answer["data"];
    assert_eq!(
        (&data["answer"], &data["rounds"], &data["stop"]),
        (&json!("It says hi."), &json!(2), &json!("answered"))
    );
    let call = &data["calls"][0];
    assert_eq!(
        (&call["tool"], &call["args"], &call["success"]),
        (&json!("read_file"), &json!({"path": "a.txt"}), &json!(true))
    );
    assert!(data["usage"]["output"].as_u64().unwrap() > 0);
}

/// Text that turns out to be reasoning is not part of the answer.
#[tokio::test]
async fn reasoning_without_an_opening_tag_is_not_the_answer() {
    let answer = Stage::new([says("Shall I read it? No.\n</think>\n\nIt says hi.")]).await;
    let answer = answer.turn(&json!({"prompt": "go"})).await.json();
    assert_eq!(answer["data"]["answer"].as_str().unwrap().trim(), "It says hi.", "{answer}");
}

/// The events are the lines of the pipe.
#[tokio::test]
async fn a_turn_is_streamed_as_events() {
    let stage = Stage::new([calls("read_file", &json!({"path": "a.txt"})), says("It says hi.")]).await;
    let events = stage.events(json!({"prompt": "go"})).await;
    assert_eq!(
        kinds(&events),
        ["text", "started", "progress", "text", "call", "running", "result", "text", "stop"],
        "{events:?}"
    );
    let stop = events.last().unwrap();
    assert_eq!((&stop["reason"], &stop["rounds"]), (&json!("answered"), &json!(2)));
    let accept = format!("{}accept: text/event-stream\r\n", stage.headers());
    let answer = stage.ask_with("POST", "/api/agent", &accept, "{\"prompt\": \"go\"}").await;
    assert!(answer.body.starts_with("event: text\ndata: {\"v\":1,"), "{}", answer.body);
}

#[tokio::test]
async fn a_turn_without_an_answer_gives_the_reason() {
    let long = || says(&"```tool\n{\"name\": }\n```\n".repeat(2));
    for (replies, stop, words) in [
        (vec![Reply::Fails], "failed", "the model is asleep"),
        (vec![says("")], "empty", "empty"),
        (vec![long(), long(), long(), long()], "format_errors", "no readable call"),
        (vec![calls("read_file", &json!({"path": "a.txt"}))], "loop", "repeats"),
    ] {
        let answer = Stage::new(replies.clone()).await.turn(&json!({"prompt": "go"})).await;
        let received = answer.json();
        assert_eq!(answer.status, if stop == "failed" { 502 } else { 200 });
        assert_eq!((&received["success"], &received["data"]["stop"]), (&json!(false), &json!(stop)), "{received}");
        assert!(received["message"].as_str().unwrap().contains(words), "{received}");
        assert_eq!(received["error"]["code"], if stop == "failed" { "backend" } else { stop });
        let events = Stage::new(replies).await.events(json!({"prompt": "go"})).await;
        assert_eq!(events.last().unwrap()["reason"], stop, "{events:?}");
        assert_eq!(events.iter().any(|event| event["event"] == "error"), stop == "failed", "{events:?}");
    }
}

#[tokio::test]
async fn a_turn_that_takes_too_long_is_ended() {
    let stage = Stage::with([Reply::Waits], |options| options.turn = Duration::from_secs(1)).await;
    let answer = stage.turn(&json!({"prompt": "go"})).await.json();
    assert_eq!((&answer["error"]["code"], &answer["data"]["stop"]), (&json!("timeout"), &json!("cancelled")));
    assert!(answer["message"].as_str().unwrap().contains("longer than 1 second "), "{answer}");
    let events = stage.events(json!({"prompt": "go"})).await;
    assert_eq!(kinds(&events), ["error", "stop"]);
    stage.until("the end of both replies", |seen| seen.gone == 2).await;
}

/// A direct call involves no model, and is judged like any other call.
#[tokio::test]
async fn a_tool_runs_without_a_model() {
    let stage = Stage::new([says("Never said.")]).await;
    let direct = |tool: &str, args: Value| json!({"direct": true, "toolType": tool, "args": args});
    let answer = stage.turn(&direct("readFile", json!({"path": "a.txt"}))).await.json();
    assert_eq!((&answer["success"], &answer["data"]["answer"]), (&json!(true), &Value::Null), "{answer}");
    assert!(answer["data"]["calls"][0]["output"].as_str().unwrap().contains("hi"));
    for (tool, args, code) in [
        ("read_file", json!({"path": "b.txt"}), "not_found"),
        ("read_file", json!({"path": "../b.txt"}), "permission_denied"),
        ("read_file", json!({"path": ".env"}), "denied"),
        ("read_file", json!({}), "invalid_argument"),
        ("read_file", json!({"path": "a.txt", "more": 1}), "invalid_argument"),
        ("bash", json!({"command": "rm -rf /"}), "denied"),
    ] {
        let answer = stage.turn(&direct(tool, args)).await;
        let received = answer.json();
        assert_eq!((answer.status, &received["success"]), (200, &json!(false)), "{received}");
        assert_eq!(received["error"]["code"], code, "{received}");
        assert_eq!(received["data"]["calls"][0]["error"]["code"], code, "{received}");
    }
    let waiting = stage.turn(&direct("write_file", json!({"path": "Makefile", "content": "all:\n"}))).await;
    let pending = waiting.json()["data"]["pending"].clone();
    assert_eq!((waiting.status, &pending["tool"]), (202, &json!("write_file")), "{pending}");
    assert!(!stage.path().join("Makefile").exists());
    let path = format!("/api/approvals/{}", pending["approval"].as_str().unwrap());
    let answer = stage.post(&path, &json!({"decision": "approve"})).await.json();
    assert_eq!(answer["message"], "`write_file` succeeded.");
    assert!(stage.path().join("Makefile").exists() && stage.seen.lock().unwrap().messages.is_empty());
}

fn write(path: &str) -> Reply {
    calls("write_file", &json!({"path": path, "content": "all:\n"}))
}

#[tokio::test]
async fn an_approval_is_given_in_every_way() {
    for (body, made, model_hears) in [
        (json!({"decision": "approve"}), "Makefile", "Created Makefile"),
        (json!({"decision": "approve", "always": true}), "Makefile", "Created Makefile"),
        (json!({"decision": "edit", "args": {"path": "b.txt", "content": "x\n"}}), "b.txt", "Created b.txt"),
        (json!({"decision": "deny", "reason": "Not on Fridays."}), "", "Not on Fridays."),
        (json!({"decision": "deny"}), "", "The user said no."),
    ] {
        for streamed in [false, true] {
            let stage = Stage::new([write("Makefile"), says("Done.")]).await;
            let mut events = None;
            let id = if streamed {
                let events = events.insert(stage.open(json!({"prompt": "go"})).await);
                events.until("ask").await["approval"].as_str().unwrap().to_owned()
            } else {
                let waiting = stage.turn(&json!({"prompt": "go"})).await.json();
                assert_eq!(waiting["data"]["stop"], Value::Null);
                waiting["data"]["pending"]["approval"].as_str().unwrap().to_owned()
            };
            let path = format!("/api/approvals/{id}");
            let mut answer = stage.post(&path, &body).await.json();
            if body["decision"] == "edit" {
                // Edited arguments are judged again, and this edit needs an approval as well.
                let pending = match &mut events {
                    Some(events) => events.until("ask").await,
                    None => answer["data"]["pending"].clone(),
                };
                assert_eq!(pending["args"], body["args"]);
                let path = format!("/api/approvals/{}", pending["approval"].as_str().unwrap());
                answer = stage.post(&path, &json!({"decision": "approve"})).await.json();
            }
            match &mut events {
                Some(events) => assert_eq!(events.until("stop").await["reason"], "answered"),
                None => assert_eq!(answer["data"]["answer"], "Done.", "{answer}"),
            }
            let heard = stage.seen.lock().unwrap().messages[1].last().unwrap().content.clone();
            assert!(heard.contains(model_hears), "{body}: {heard}");
            assert!(made.is_empty() || stage.path().join(made).exists(), "{body}");
            assert_eq!(stage.path().join("Makefile").exists(), made == "Makefile", "{body}");
            assert_eq!(stage.post(&path, &body).await.status, 404, "it is answered once");
        }
    }
}

#[tokio::test]
async fn a_turn_may_ask_several_times() {
    let stage = Stage::new([write("Makefile"), write("Dockerfile"), says("Done.")]).await;
    let mut answer = stage.turn(&json!({"prompt": "go"})).await;
    for _ in 0..2 {
        assert_eq!(answer.status, 202, "{}", answer.body);
        let id = answer.json()["data"]["pending"]["approval"].as_str().unwrap().to_owned();
        answer = stage.post(&format!("/api/approvals/{id}"), &json!({"decision": "approve"})).await;
    }
    let received = answer.json();
    assert_eq!((answer.status, received["data"]["calls"].as_array().unwrap().len()), (200, 2), "{received}");
}

/// An approval that does not arrive in time counts as a denial. A streamed turn continues. A turn with a single answer
/// ends, because its client no longer waits.
#[tokio::test]
async fn a_missing_approval_denies_the_call() {
    let short = |options: &mut toolfence_server::http::ApiOptions| options.approval = Duration::from_secs(1);
    let stage = Stage::with([write("Makefile"), says("Then not.")], short).await;
    let mut events = stage.open(json!({"prompt": "go"})).await;
    let id = events.until("ask").await["approval"].as_str().unwrap().to_owned();
    let result = events.until("result").await;
    assert_eq!(result["error"]["code"], "denied", "{result}");
    assert_eq!(events.until("stop").await["reason"], "answered");
    let late = stage.post(&format!("/api/approvals/{id}"), &json!({"decision": "approve"})).await;
    assert_eq!((late.status, &late.json()["error"]["code"]), (404, &json!("not_found")));
    let stage = Stage::with([write("Makefile"), says("Never asked.")], short).await;
    let waiting = stage.turn(&json!({"prompt": "go"})).await.json();
    let id = waiting["data"]["pending"]["approval"].as_str().unwrap().to_owned();
    until_no_turn_runs(&stage).await;
    assert_eq!(stage.post(&format!("/api/approvals/{id}"), &json!({"decision": "approve"})).await.status, 404);
    assert_eq!(stage.seen.lock().unwrap().messages.len(), 1, "the model was not asked again");
    assert!(!stage.path().join("Makefile").exists());
}

#[tokio::test]
async fn an_invalid_approval_leaves_the_call_waiting() {
    let stage = Stage::new([write("Makefile"), says("Done.")]).await;
    let waiting = stage.turn(&json!({"prompt": "go"})).await.json();
    let path = format!("/api/approvals/{}", waiting["data"]["pending"]["approval"].as_str().unwrap());
    for (body, field) in [
        (json!({}), "decision"),
        (json!({"decision": "yes"}), "decision"),
        (json!({"decision": "edit"}), "args"),
        (json!({"decision": "approve", "args": {}}), "args"),
        (json!({"decision": "deny", "always": true}), "always"),
        (json!({"decision": "approve", "reason": "x"}), "reason"),
        (json!({"decision": "approve", "more": 1}), "more"),
    ] {
        let answer = stage.post(&path, &body).await;
        assert_eq!((answer.status, &answer.json()["error"]["field"]), (400, &json!(field)), "{body}");
    }
    assert_eq!(stage.post("/api/approvals/0123", &json!({"decision": "approve"})).await.status, 404);
    assert_eq!(stage.post(&path, &json!({"decision": "approve"})).await.status, 200);
}
