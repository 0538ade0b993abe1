//! `coder proxy`: its address, access control, and shutdown.

use super::support::*;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use toolfence_kit::Program;

fn coder(upstream: &str, more: &[&str]) -> (Child, String) {
    started(Path::new(env!("CARGO_TARGET_TMPDIR")), upstream, more)
}

fn started(home: &Path, upstream: &str, more: &[&str]) -> (Child, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_coder"));
    command.args(["proxy", "--upstream", upstream, "--listen", "127.0.0.1:0"]).args(more);
    command.env("HOME", home).env("XDG_CONFIG_HOME", home.join("config")).env("XDG_STATE_HOME", home.join("state"));
    command.env("TOOLFENCE_PROXY_KEY", "front").env("TOOLFENCE_API_KEY", "back");
    listening(command)
}

/// Starts a proxy and returns its address.
fn listening(mut command: Command) -> (Child, String) {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let address = line.split(['/', ',']).find(|part| part.starts_with("127.0.0.1:")).unwrap_or_default().to_owned();
    (child, address)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_serves_until_sigterm() {
    let mut stage = Stage::new(vec![reply("Yes.", 2, "stop")]).await;
    let (mut child, address) = coder(&format!("http://{}/v1", stage.upstream), &["--lang", "pt"]);
    stage.address = address;
    let headers = "content-type: application/json\r\nauthorization: Bearer front\r\n";
    let asked = request(true).to_string();
    let answer = Answer::read(&mut stage.send("POST", "/v1/chat/completions", headers, &asked).await).await;
    assert_eq!(ReceivedStream::of(&answer).text, "Yes.");
    let (head, body) = stage.seen.lock().unwrap().requests.remove(0);
    assert_eq!(header(&head, "authorization").as_deref(), Some("Bearer back"));
    assert!(body.contains("# Ferramentas"), "{body}");
    let refused = Answer::read(&mut stage.send("GET", "/v1/models", "", "").await).await;
    assert_eq!(refused.status, 401);
    let killed = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    assert_eq!(child.wait().unwrap().code(), Some(143));
}

/// The next run of the proxy and `coder config` know what one run has learned about a model.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_next_run_uses_the_learned_profile() {
    let said = "I think.\n</think>\n\nYes.";
    let mut stage = Stage::new(vec![reply(said, 2, "stop")]).await;
    let home = tempfile::tempdir().unwrap();
    let mut reasoning = Vec::new();
    for _ in 0..2 {
        let (mut child, address) = started(home.path(), &format!("http://{}", stage.upstream), &[]);
        stage.address = address;
        let headers = "content-type: application/json\r\nauthorization: Bearer front\r\n";
        let asked = request(true).to_string();
        let answer = Answer::read(&mut stage.send("POST", "/v1/chat/completions", headers, &asked).await).await;
        reasoning.push(ReceivedStream::of(&answer).reasoning);
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert_eq!(reasoning, ["", "I think.\n"]);
    let url = format!("http://{}/v1", stage.upstream);
    let shown = Program::new(env!("CARGO_BIN_EXE_coder"), home.path())
        .args(&["config", "profile", "--base-url", &url, "--model", "m"])
        .run(home.path(), "");
    assert!(shown.out.contains("reasoning              opened"), "{}", shown.said());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn debug_shows_requests_replies_and_repairs_but_no_key() {
    let said = "```tool\n{\"name\": \"write\", \"args\": {\"path\": \"x\",}}\n```\n";
    let mut stage = Stage::new(vec![reply(said, 2, "stop")]).await;
    let home = tempfile::tempdir().unwrap();
    let (mut child, address) = started(home.path(), &format!("http://{}", stage.upstream), &["--debug"]);
    stage.address = address;
    let headers = "content-type: application/json\r\nauthorization: Bearer front\r\n";
    let asked = request(true).to_string();
    let answer = Answer::read(&mut stage.send("POST", "/v1/chat/completions", headers, &asked).await).await;
    assert_eq!(ReceivedStream::of(&answer).named().len(), 1);
    child.kill().unwrap();
    let output = child.wait_with_output().unwrap();
    let lines = String::from_utf8(output.stderr).unwrap();
    let field = |message: &str, name: &str| {
        let mut read = lines.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let line = read.find(|line| line["message"] == message);
        line.unwrap_or_else(|| panic!("{message}: {lines:?}"))["fields"][name].as_str().unwrap().to_owned()
    };
    assert_eq!(field("a client asks", "request"), asked);
    assert!(field("the upstream is asked", "request").contains("# Tools"));
    assert_eq!(field("the model has replied", "reply"), said);
    assert_eq!(field("a call was repaired", "repairs"), "trailing_comma");
    assert!(!lines.contains("front") && !lines.contains("back\""), "{lines}");
}

/// The connection settings of `coder` apply to the proxy too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn settings_determine_the_connection_to_the_upstream() {
    let mut stage = Stage::new(vec![reply("Yes.", 2, "stop")]).await;
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("config/toolfence");
    std::fs::create_dir_all(&folder).unwrap();
    let settings = |text: &str| std::fs::write(folder.join("config.toml"), text).unwrap();
    let own_key = |upstream: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_coder"));
        command.args(["proxy", "--upstream", upstream, "--listen", "127.0.0.1:0"]).current_dir(home.path());
        command.env("HOME", home.path()).env_remove("TOOLFENCE_API_KEY").env("TOOLFENCE_PROXY_KEY", "front");
        command.env("XDG_CONFIG_HOME", home.path().join("config")).env("XDG_STATE_HOME", home.path().join("state"));
        listening(command)
    };
    let headers = "content-type: application/json\r\nauthorization: Bearer front\r\nx-tenant: red\r\n";
    settings(&format!(
        "api_key_command = \"echo printed\"\n[http]\nproxy = \"http://{}\"\n[http.headers]\nX-Tenant = \"blue\"\n",
        stage.upstream
    ));
    let (mut child, address) = own_key("http://model.example/v1");
    stage.address = address;
    let answer = stage.send("POST", "/v1/chat/completions", headers, &request(true).to_string()).await;
    assert_eq!(ReceivedStream::of(&Answer::read(&mut { answer }).await).text, "Yes.");
    let (head, _) = stage.seen.lock().unwrap().requests.remove(0);
    assert!(head.starts_with("POST http://model.example/v1/chat/completions HTTP/1.1"), "{head}");
    assert_eq!(header(&head, "authorization").as_deref(), Some("Bearer printed"));
    assert_eq!(header(&head, "x-tenant").as_deref(), Some("blue"), "{head}");
    child.kill().unwrap();
    child.wait().unwrap();

    for (file, pem) in [("ca.pem", "ca"), ("client.pem", "client")] {
        std::fs::copy(toolfence_kit::root().join(format!("tests/data/tls/{pem}.pem")), folder.join(file)).unwrap();
    }
    settings("[http]\nca_file = \"ca.pem\"\nclient_certificate = \"client.pem\"\n");
    let (mut child, address) = own_key(&crate::http::troubles::https(true));
    stage.address = address;
    let answer = Answer::read(&mut stage.send("GET", "/v1/models", headers, "").await).await;
    assert_eq!(answer.status, 200, "the certificates of both hold");
    child.kill().unwrap();
    child.wait().unwrap();

    settings("[http]\nca_file = \"missing.pem\"\n");
    let (child, address) = own_key("https://model.example/v1");
    let output = child.wait_with_output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && address.is_empty() && message.contains("missing.pem"), "{message}");
}

#[test]
fn an_invalid_upstream_is_refused() {
    let (child, address) = coder("somewhere", &[]);
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), address.as_str()), (Some(2), ""));
    assert!(String::from_utf8_lossy(&output.stderr).contains("not a server's URL"));
}
