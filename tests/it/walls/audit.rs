//! The log of decisions and results, as `coder exec` keeps it.

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
{"name": "read_file", "args": {"path": "plain"}}
```
"#;

/// Runs the reply; the lines of the log.
fn logged(place: &Place, args: &[&str]) -> Option<Vec<Value>> {
    place.file(".env", "KEY=SECRETVALUE\n");
    place.file("plain", "plain\n");
    let mut child = Command::new(env!("CARGO_BIN_EXE_coder"))
        .args(["exec", "--yes"])
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
    let path = place.beside.join("state/toolfence/audit.jsonl");
    let text = std::fs::read_to_string(&path).ok()?;
    let mode = std::fs::metadata(&path).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    for secret in ["ghp_0123456789", "deploy-secret-value", "SECRETVALUE"] {
        assert!(!text.contains(secret), "{text}");
    }
    Some(text.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect())
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
    ];
    let mut sorted = short.clone();
    sorted.sort_unstable();
    let mut want = want.map(String::from).to_vec();
    want.sort_unstable();
    assert_eq!(sorted, want, "{lines:#?}");
    let run = lines.iter().find(|line| line["event"] == "run" && line["tool"] == "bash").expect("it ran");
    assert!(run["walls"].is_string() && run["verdict"].is_string() && run["rule"].is_string(), "{run}");
    assert!(
        run["args"]["command"].as_str().is_some_and(|command| command.contains("[redacted: GitHub token]")),
        "{run}"
    );
    let result = lines.iter().find(|line| line["event"] == "result" && line["tool"] == "bash").expect("it has ended");
    assert_eq!((&result["status"], &result["bytes"].as_u64().map(|bytes| bytes > 40)), (&0.into(), &Some(true)));
    let denied = lines.iter().find(|line| line["success"] == false).expect("it is blocked");
    assert!(denied["message"].as_str().is_some_and(|message| message.contains("blocked_path")), "{denied}");
    // A second session adds to it.
    let again = logged(&place, &[]).expect("there is a log");
    assert!(again.len() == 2 * lines.len() && again[..lines.len()] == lines[..]);
    assert_ne!(again[0]["session"], again[lines.len()]["session"]);
}

#[test]
fn a_log_that_is_not_wanted_is_not_kept() {
    let place = Place::new();
    std::fs::create_dir_all(place.beside.join("config/toolfence")).expect("a folder can be made");
    std::fs::write(place.beside.join("config/toolfence/config.toml"), "audit = \"off\"\n").expect("written");
    assert!(logged(&place, &[]).is_none());
}
