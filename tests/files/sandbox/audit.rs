//! Tests the decisions and results of `coder exec` in the output of `coder audit`.

use super::Place;
use serde_json::Value;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

const REPLY: &str = r#"
```tool
{"name": "bash", "args": {"command": "echo $((6*7)); echo ghp_0123456789abcdefghij0123456789abcdefgh; true deploy-secret-value"}}
```
```tool
{"name": "read_file", "args": {"path": ".env"}}
```
```tool
{"name": "read_file", "args": {"path": "plain"},}
```
```tool
{"name": "bash", "args": {"command": "rm -rf / ghp_0123456789abcdefghij0123456789abcdefgh"}}
```
```tool
{"name": "write_file", "args": {"path": "after", "content": "deploy-secret-value"}}
```
```tool
{{{ 5 deploy-secret-value
```
"#;

/// Runs the reply and returns the lines of the log.
fn logged(place: &Place, args: &[&str]) -> Option<Vec<Value>> {
    place.file(".env", "KEY=SECRETVALUE\n");
    place.file("plain", "plain\n");
    let mut child = Command::new(env!("CARGO_BIN_EXE_coder"))
        .args(["exec", "--no-session", "--yes"])
        .args(args)
        .current_dir(&place.root)
        .env("XDG_CONFIG_HOME", place.beside.join("config"))
        .env("XDG_STATE_HOME", place.beside.join("state"))
        .env("DEPLOY_TOKEN", "deploy-secret-value")
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it can be started");
    child.stdin.take().expect("it is a pipe").write_all(REPLY.as_bytes()).expect("it reads");
    assert_eq!(child.wait().expect("it is ours").code(), Some(1), "one call is denied");
    let projects = std::fs::read_dir(place.beside.join("state/toolfence/projects")).ok();
    for project in projects.into_iter().flatten().flatten() {
        for run in std::fs::read_dir(project.path().join("runs")).into_iter().flatten().flatten() {
            let text = std::fs::read_to_string(run.path()).expect("it can be read");
            for secret in ["ghp_0123456789", "deploy-secret-value", "SECRETVALUE"] {
                assert!(!text.contains(secret), "{text}");
            }
            assert_eq!(run.metadata().expect("it is there").permissions().mode() & 0o777, 0o600);
        }
    }
    let output = Command::new(env!("CARGO_BIN_EXE_coder"))
        .args(["audit", "--json"])
        .current_dir(&place.root)
        .env("XDG_CONFIG_HOME", place.beside.join("config"))
        .env("XDG_STATE_HOME", place.beside.join("state"))
        .output()
        .expect("it can be started");
    let text = String::from_utf8(output.stdout).expect("it is UTF-8");
    for secret in ["ghp_0123456789", "deploy-secret-value", "SECRETVALUE"] {
        assert!(!text.contains(secret), "{text}");
    }
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect();
    (!lines.is_empty()).then_some(lines)
}

#[test]
fn decisions_and_results_are_logged_without_secrets() {
    let place = Place::new();
    let lines = logged(&place, &[]).expect("there is a log");
    let short: Vec<String> = lines
        .iter()
        .map(|line| {
            let said = if line["event"] == "run" { &line["by"] } else { &line["success"] };
            format!("{} {} {said}", line["event"], line["tool"]).replace('"', "")
        })
        .collect();
    let want = [
        "session null null",
        "run bash policy",
        "result bash true",
        "result read_file false",
        "run read_file policy",
        "result read_file true",
        "result bash false",
        "result write_file false",
        "result unknown false",
    ];
    let mut sorted = short.clone();
    sorted.sort_unstable();
    let mut want = want.map(String::from).to_vec();
    want.sort_unstable();
    assert_eq!(sorted, want, "{lines:#?}");
    let run = lines.iter().find(|line| line["event"] == "run" && line["tool"] == "bash").expect("it ran");
    assert!(run["verdict"].is_string() && run["rule"].is_string() && run["reason"].is_string(), "{run}");
    assert!(
        run["args"]["command"].as_str().is_some_and(|command| command.contains("[redacted: GitHub token]")),
        "{run}"
    );
    let read = lines.iter().find(|line| line["event"] == "run" && line["tool"] == "read_file").expect("it ran");
    assert_eq!((&run["repairs"], &read["repairs"]), (&serde_json::json!([]), &serde_json::json!(["trailing_comma"])));
    let result = lines.iter().find(|line| line["event"] == "result" && line["tool"] == "bash").expect("it has ended");
    assert_eq!((&result["status"], &result["bytes"].as_u64().map(|bytes| bytes > 40)), (&0.into(), &Some(true)));
    // A refused call has no other line, so its result has the arguments.
    let refused: Vec<_> = lines.iter().filter(|line| line["success"] == false).collect();
    for (line, code, field, text) in [
        (refused[0], "denied", &refused[0]["args"]["path"], ".env"),
        (refused[1], "denied", &refused[1]["args"]["command"], "rm -rf / [redacted"),
        (refused[2], "cancelled", &refused[2]["args"]["path"], "after"),
        (refused[3], "malformed_call", &refused[3]["tool"], "unknown"),
    ] {
        let field = field.as_str().unwrap_or_default();
        assert!(line["code"] == code && field.contains(text), "{code}: {line}");
    }
    assert!(refused[0]["message"].as_str().is_some_and(|message| message.contains("blocked_path")), "{refused:?}");
    assert!(result.get("args").is_none(), "the line of its run has them: {result}");
    // A second session appends to the log.
    let again = logged(&place, &[]).expect("there is a log");
    assert!(again.len() == 2 * lines.len() && again[..lines.len()] == lines[..]);
    assert_ne!(again[0]["session"], again[lines.len()]["session"]);
}

#[test]
fn no_log_is_kept_if_transcripts_are_off() {
    let place = Place::new();
    std::fs::create_dir_all(place.beside.join("config/toolfence")).expect("a folder can be made");
    std::fs::write(
        place.beside.join("config/toolfence/config.toml"),
        "audit = \"on\"\n[sessions]\ntranscripts = \"off\"\n",
    )
    .expect("written");
    assert!(logged(&place, &[]).is_none());
}
