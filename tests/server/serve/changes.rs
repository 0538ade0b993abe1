//! Questions about the changes of a command on its private copy of the project.

use super::support::{Reply, Stage, calls, says, until_no_turn_runs};
use serde_json::{Value, json};
use std::time::Duration;
use toolfence_server::http::ApiOptions;

const COMMAND: &str = "echo two > new.txt; rm a.txt";

fn bash(command: &str) -> Reply {
    calls("bash", &json!({"command": command}))
}

async fn stage(replies: impl IntoIterator<Item = Reply>) -> Option<Stage> {
    let stage = Stage::new(replies).await;
    stage.copies.then_some(stage)
}

fn path(question: &Value) -> String {
    format!("/api/approvals/{}", question["approval"].as_str().unwrap())
}

/// The question of a stream has the same fields as that of a whole answer.
#[tokio::test]
async fn a_question_about_changes_has_their_diff() {
    let Some(stage) = stage([bash(COMMAND), says("Done.")]).await else { return };
    let waiting = stage.turn(&json!({"prompt": "go"})).await;
    let pending = waiting.json()["data"]["pending"].clone();
    let Some(other) = self::stage([bash(COMMAND), says("Done.")]).await else { return };
    let mut events = other.open(json!({"prompt": "go"})).await;
    for question in [&pending, &events.until("ask").await] {
        assert_eq!((&question["about"], &question["project"]), (&json!("changes"), &json!(true)), "{question}");
        assert_eq!(question["why"], format!("`{COMMAND}` changed 2 files. Keep the changes?"));
        let diff = question["diff"].as_str().unwrap();
        assert!(diff.starts_with("removed: a.txt\n--- ") && diff.contains("\n+two\n"), "{diff}");
        assert_eq!(question.get("changes"), None, "they are there once: {question}");
    }
    assert!(stage.path().join("a.txt").exists() && !stage.path().join("new.txt").exists());
    let answer = stage.post(&path(&pending), &json!({"decision": "approve"})).await.json();
    assert_eq!(answer["data"]["calls"][0]["data"]["changes"]["kept"], json!(["a.txt", "new.txt"]), "{answer}");
    assert!(!stage.path().join("a.txt").exists() && stage.path().join("new.txt").exists());
}

#[tokio::test]
async fn changes_are_kept_as_they_are_answered() {
    for (body, kept, model_hears) in [
        (json!({"decision": "approve"}), true, "[Kept: 1 file]"),
        (json!({"decision": "approve", "always": true}), true, "[Kept: 1 file]"),
        (json!({"decision": "approve", "always": "project"}), true, "[Kept: 1 file]"),
        (json!({"decision": "deny", "reason": "Not on Fridays."}), false, "[Not kept: new.txt: Not on Fridays.]"),
        (json!({"decision": "deny"}), false, "[Not kept: new.txt: The user said no.]"),
    ] {
        let Some(stage) = stage([bash("touch new.txt"), bash("touch other.txt"), says("Done.")]).await else { return };
        let waiting = stage.turn(&json!({"prompt": "go"})).await.json();
        let answer = stage.post(&path(&waiting["data"]["pending"]), &body).await;
        assert_eq!(stage.path().join("new.txt").exists(), kept, "{body}");
        let heard = stage.seen.lock().unwrap().messages[1].last().unwrap().content.clone();
        assert!(heard.contains(model_hears), "{body}: {heard}");
        // Only the last answer applies to other commands too.
        let all = body["always"] == "project";
        assert_eq!(
            (answer.status, stage.path().join("other.txt").exists()),
            (if all { 200 } else { 202 }, all),
            "{body}"
        );
    }
}

#[tokio::test]
async fn an_invalid_answer_is_refused_and_leaves_the_question_open() {
    let Some(stage) = stage([bash("touch new.txt"), says("Done.")]).await else { return };
    let waiting = stage.turn(&json!({"prompt": "go"})).await.json();
    let path = path(&waiting["data"]["pending"]);
    for (body, field) in [
        (json!({"decision": "edit", "args": {"command": "true"}}), "decision"),
        (json!({"decision": "approve", "always": "ever"}), "always"),
        (json!({"decision": "deny", "always": "project"}), "always"),
    ] {
        let answer = stage.post(&path, &body).await;
        assert_eq!((answer.status, &answer.json()["error"]["field"]), (400, &json!(field)), "{body}");
    }
    assert_eq!(stage.post(&path, &json!({"decision": "approve"})).await.status, 200);
    assert!(stage.path().join("new.txt").exists());
    let Some(stage) = self::stage([calls("bash", &json!({"command": "true", "network": true})), says("Done.")]).await
    else {
        return;
    };
    let waiting = stage.turn(&json!({"prompt": "go"})).await.json();
    let pending = &waiting["data"]["pending"];
    assert_eq!((&pending["about"], &pending["project"]), (&json!("call"), &json!(false)));
    let answer = stage.post(&self::path(pending), &json!({"decision": "approve", "always": "project"})).await;
    assert_eq!((answer.status, &answer.json()["error"]["field"]), (400, &json!("always")), "it is not on offer");
}

/// The turn of a stream continues afterwards.
#[tokio::test]
async fn changes_are_not_kept_without_an_answer_in_time_or_when_the_client_leaves() {
    let short = |options: &mut ApiOptions| options.approval = Duration::from_secs(1);
    let stage = Stage::with([bash("touch new.txt"), says("Then not.")], short).await;
    if !stage.copies {
        return;
    }
    let mut events = stage.open(json!({"prompt": "go"})).await;
    events.until("ask").await;
    let result = events.until("result").await;
    assert_eq!(result["data"]["changes"]["not_kept"], json!(["new.txt"]), "{result}");
    assert_eq!(events.until("stop").await["reason"], "answered");
    assert!(!stage.path().join("new.txt").exists());

    let stage = Stage::with([bash("touch new.txt"), says("Never asked.")], short).await;
    stage.turn(&json!({"prompt": "go"})).await;
    until_no_turn_runs(&stage).await;
    assert_eq!(stage.seen.lock().unwrap().messages.len(), 1, "the model was not asked again");
    assert!(!stage.path().join("new.txt").exists());

    let stage = Stage::new([bash("touch new.txt"), says("Never asked.")]).await;
    let mut events = stage.open(json!({"prompt": "go"})).await;
    let question = events.until("ask").await;
    drop(events);
    until_no_turn_runs(&stage).await;
    let late = stage.post(&path(&question), &json!({"decision": "approve"})).await;
    assert_eq!(late.status, 404, "{}", late.body);
    assert!(!stage.path().join("new.txt").exists());
}
