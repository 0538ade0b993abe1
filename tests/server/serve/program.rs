//! Tests `coder serve` as a process: its output, its conversations, its cleanup, and the memory of many streams.

use super::support::Checks;
use crate::proxy::support::Answer;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use toolfence_kit::Program;

const TOKEN: &str = "0123456789abcdef";

struct Server {
    child: Child,
    address: String,
    out: BufReader<ChildStdout>,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn command(home: &Path, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_coder"));
    command.args(["serve", "--listen", "127.0.0.1:0"]).args(more).current_dir(home.join("project"));
    command.env("HOME", home).env("XDG_CONFIG_HOME", home.join("config")).env("XDG_STATE_HOME", home.join("state"));
    command.env_remove("TOOLFENCE_API_KEY").env("TOOLFENCE_LOCAL_SERVERS", "");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn home() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join("project")).unwrap();
    home
}

fn started(home: &Path, more: &[&str]) -> Server {
    let mut child = command(home, more).env("TOOLFENCE_SERVE_TOKEN", TOKEN).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    let address = line.trim().rsplit('/').next().unwrap_or_default().to_owned();
    Server { child, address, out }
}

impl Server {
    async fn open(&self, method: &str, path: &str, body: &Value) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).await.unwrap();
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {TOKEN}\r\ncontent-type: application/json\r\n\
             content-length: {}\r\nconnection: close\r\n\r\n{body}",
            self.address,
            body.len()
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        stream
    }

    async fn ask(&self, method: &str, path: &str, body: &Value) -> Answer {
        let answer = Answer::read(&mut self.open(method, path, body).await).await;
        Checks::new().answer(method, path, &body.to_string(), &answer);
        answer
    }

    fn terminate(&mut self) -> Option<i32> {
        let killed = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status().unwrap();
        assert!(killed.success());
        self.child.wait().unwrap().code()
    }

    /// Returns the number of open descriptors. Each turn has at least the connection of its client.
    fn open_files(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.child.id())).unwrap().count()
    }

    /// Returns the memory of the process in KiB.
    fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }
}

/// Without a model, direct calls work and the server prints its warnings to stderr.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_serves_until_sigterm_and_leaves_no_process() {
    let home = home();
    let project = home.path().join("project");
    std::fs::write(project.join("a.txt"), "hi\n").unwrap();
    let mut server = started(home.path(), &["--yes"]);
    let direct = |command: &str| json!({"direct": true, "toolType": "bash", "args": {"command": command}});
    let answer = server.ask("POST", "/api/agent", &direct("cat a.txt")).await.json();
    assert_eq!(answer["data"]["calls"][0]["output"], "hi\n", "{answer}");
    let answer = server.ask("POST", "/api/agent", &json!({"prompt": "x"})).await;
    assert_eq!((answer.status, &answer.json()["error"]["code"]), (503, &json!("no_backend")), "{}", answer.body);
    // A long command, and a process that tries to outlive it.
    let _open = server.open("POST", "/api/agent", &direct("(setsid sleep 87.5 &) ; sleep 87.5")).await;
    let sleeping = || Command::new("pgrep").args(["-f", "^sleep 87.5$"]).output().unwrap().stdout;
    // The command runs on a private copy, so it leaves no trace in the project while it runs.
    for _ in 0..1000 {
        if sleeping().split(|byte| *byte == b'\n').count() > 2 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(sleeping().split(|byte| *byte == b'\n').count() > 2, "both run");
    assert_eq!(server.terminate(), Some(143));
    let mut rest = String::new();
    server.out.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "", "a token that was chosen is not printed");
    assert_eq!(String::from_utf8_lossy(&sleeping()), "", "something still runs");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_project_and_its_model_are_described() {
    let home = home();
    let project = home.path().join("project");
    std::fs::create_dir_all(home.path().join("config/toolfence")).unwrap();
    let settings = "[prices]\n\"m\" = { input = 2, cached = 0.5, output = 8 }\n";
    std::fs::write(home.path().join("config/toolfence/config.toml"), settings).unwrap();
    let server =
        started(home.path(), &["--base-url", "http://me:secret@127.0.0.1:9/v1", "--model", "m", "--window", "32000"]);
    let answer = server.ask("GET", "/api/project", &Value::Null).await.json();
    let folder = project.canonicalize().unwrap();
    let price = json!({"input": 2.0, "cached": 0.5, "output": 8.0});
    let described = json!({"folder": folder, "branch": null, "model": "m", "server": "http://127.0.0.1:9/v1", "window": 32000, "price": price});
    assert_eq!(answer["data"], described);
    let git =
        |arguments: &[&str]| Command::new("git").args(arguments).current_dir(&project).status().unwrap().success();
    assert!(git(&["init", "--quiet", "--initial-branch=feature/totals"]));
    let answer = server.ask("GET", "/api/project", &Value::Null).await.json();
    assert_eq!(answer["data"]["branch"], "feature/totals");
    // Without a model, the answer still describes the project.
    drop(server);
    let server = started(home.path(), &[]);
    let answer = server.ask("GET", "/api/project", &Value::Null).await.json();
    assert_eq!((&answer["data"]["model"], &answer["data"]["server"]), (&Value::Null, &Value::Null));
    assert_eq!(answer["data"]["branch"], "feature/totals");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_token_is_printed_and_weak_ones_are_refused() {
    let home = home();
    let mut child = command(home.path(), &["--lang", "pt"]).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let address = lines.next().unwrap();
    let token = lines.next().unwrap().rsplit(' ').next().unwrap().to_owned();
    assert!(address.starts_with("escutando em http://127.0.0.1:") && token.len() == 32, "{address} {token}");
    child.kill().unwrap();
    child.wait().unwrap();
    for weak in ["short", "0123456789 abcdef"] {
        let output = command(home.path(), &[]).env("TOOLFENCE_SERVE_TOKEN", weak).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && said.contains("at least 16 visible ASCII characters"), "{said}");
    }
}

/// The server lists the same conversations as `coder sessions`, without those of other projects.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn conversations_are_listed_and_continued_as_recorded() {
    let home = home();
    let (project, other) = (home.path().join("project"), home.path().join("other"));
    std::fs::create_dir(&other).unwrap();
    std::fs::write(home.path().join("replies"), "%%% reply\nIt is a test.\n").unwrap();
    let replies = home.path().join("replies").display().to_string();
    for (folder, prompt) in [(&project, "What is this?"), (&project, "And that?"), (&other, "Elsewhere?")] {
        let ran = Program::new(env!("CARGO_BIN_EXE_coder"), home.path())
            .args(&["--backend", "replay", "--replies", &replies, "-p", prompt])
            .run(folder, "");
        assert_eq!(ran.status, 0, "{}", ran.said());
    }
    let server = started(home.path(), &["--backend", "replay", "--replies", &replies]);
    let all = server.ask("GET", "/api/sessions", &Value::Null).await.json();
    let titles: Vec<&str> =
        all["data"]["sessions"].as_array().unwrap().iter().map(|one| one["title"].as_str().unwrap()).collect();
    assert_eq!(titles, ["And that?", "What is this?"]);
    let second = server.ask("GET", "/api/sessions?offset=1&limit=1", &Value::Null).await.json();
    assert_eq!(
        (&second["data"]["sessions"][0]["title"], &second["data"]["total"]),
        (&json!("What is this?"), &json!(2))
    );
    let id = second["data"]["sessions"][0]["id"].as_str().unwrap();
    let one = server.ask("GET", &format!("/api/sessions/{}", &id[..10]), &Value::Null).await.json();
    assert_eq!(one["data"]["session"], second["data"]["sessions"][0]);
    let said = server.ask("GET", &format!("/api/sessions/{id}/messages"), &Value::Null).await.json();
    let said = said["data"]["messages"].as_array().unwrap();
    let newest = server.ask("GET", &format!("/api/sessions/{id}/messages?newest=true&limit=1"), &Value::Null).await;
    let newest = newest.json()["data"].clone();
    assert_eq!((&newest["messages"][0], &newest["offset"]), (said.last().unwrap(), &json!(said.len() - 1)));
    assert_eq!(second["data"]["recording"], true);
    let roles: Vec<&str> = said.iter().map(|record| record["role"].as_str().unwrap()).collect();
    assert_eq!(roles[..2], ["user", "assistant"], "{said:?}");
    assert_eq!((&said[0]["content"], &said[1]["content"]), (&json!("What is this?"), &json!("It is a test.")));
    for (path, status, field) in [
        ("/api/sessions/zzz", 404, Value::Null),
        ("/api/sessions/zzz/messages", 404, Value::Null),
        ("/api/sessions?limit=0", 400, json!("limit")),
        ("/api/sessions?limit=501", 400, json!("limit")),
        ("/api/sessions?offset=-1", 400, json!("offset")),
        ("/api/sessions?page=1", 400, json!("page")),
        ("/api/sessions?newest=1", 400, json!("newest")),
    ] {
        let answer = server.ask("GET", path, &Value::Null).await;
        assert_eq!((answer.status, &answer.json()["error"]["field"]), (status, &field), "{path}");
    }
    // The model gets the whole conversation, and the turn is recorded there.
    let path = format!("/api/sessions/{id}/turns");
    for (body, field) in [
        (json!({"prompt": "x", "contextHistory": []}), "contextHistory"),
        (json!({"direct": true, "toolType": "read_file", "args": {}}), "direct"),
        (json!({}), "prompt"),
    ] {
        let answer = server.ask("POST", &path, &body).await;
        assert_eq!((answer.status, &answer.json()["error"]["field"]), (400, &json!(field)), "{body}");
    }
    assert_eq!(server.ask("POST", "/api/sessions/zzz/turns", &json!({"prompt": "x"})).await.status, 404);
    let answer = server.ask("POST", &path, &json!({"prompt": "Continue."})).await.json();
    assert_eq!(
        (&answer["data"]["answer"], &answer["data"]["session"]),
        (&json!("It is a test."), &json!(id)),
        "{answer}"
    );
    let said = server.ask("GET", &format!("/api/sessions/{id}/messages"), &Value::Null).await.json();
    assert!(
        said["data"]["messages"].as_array().unwrap().iter().any(|record| record["content"] == "Continue."),
        "{said}"
    );
    drop(server);
    let replies = home.path().join("more").display().to_string();
    let call = "```tool\n{\"name\": \"write_file\", \"args\": {\"path\": \"Makefile\", \"content\": \"all:\\n\"}}\n```";
    let said: String = ["One.", "Two.", call, "Written.", "Three."].map(|text| format!("%%% reply\n{text}\n")).concat();
    std::fs::write(&replies, said).unwrap();
    let server = started(home.path(), &["--backend", "replay", "--replies", &replies]);
    let answer = server.ask("POST", "/api/sessions/new/turns", &json!({"prompt": "A new one."})).await.json();
    let new = answer["data"]["session"].as_str().unwrap().to_owned();
    assert!(answer["data"]["answer"] == "One." && new != id, "{answer}");
    let resumed = Program::new(env!("CARGO_BIN_EXE_coder"), home.path()).args(&["export", &new]).run(&project, "");
    assert!(resumed.out.contains("A new one."), "{}", resumed.said());
    // The head of a stream names the conversation.
    let path = format!("/api/sessions/{new}/turns");
    let answer = server.ask("POST", &path, &json!({"prompt": "More.", "stream": true})).await;
    assert_eq!(crate::proxy::support::header(&answer.head, "x-session").as_deref(), Some(new.as_str()));
    assert!(answer.body.contains("Two."), "{}", answer.body);
    // While a turn waits, no other turn can begin.
    let waiting = server.ask("POST", &path, &json!({"prompt": "Write."})).await;
    assert_eq!(waiting.status, 202, "{}", waiting.body);
    let second = server.ask("POST", &path, &json!({"prompt": "Me too."})).await;
    assert_eq!((second.status, &second.json()["error"]["code"]), (409, &json!("conflict")), "{}", second.body);
    let approval = waiting.json()["data"]["pending"]["approval"].as_str().unwrap().to_owned();
    let approval = format!("/api/approvals/{approval}");
    let answer = server.ask("POST", &approval, &json!({"decision": "approve"})).await.json();
    assert_eq!((&answer["data"]["answer"], &answer["data"]["session"]), (&json!("Written."), &json!(new)), "{answer}");
    // A turn of `/api/agent` is not recorded.
    let answer = server.ask("POST", "/api/agent", &json!({"prompt": "x"})).await.json();
    assert_eq!(answer["data"]["answer"], "Three.", "{answer}");
    assert_eq!(server.ask("GET", "/api/sessions", &Value::Null).await.json()["data"]["total"], 3);
}

/// Without recording there is no conversation to continue, however often a client asks.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn turns_in_conversations_need_recording() {
    let home = home();
    let (url, _) = model("Yes.").await;
    let server = started(home.path(), &["--base-url", &url, "--model", "m", "--no-transcript"]);
    let answer = server.ask("POST", "/api/sessions/new/turns", &json!({"prompt": "x"})).await;
    let received = answer.json();
    assert_eq!((answer.status, &received["error"]["code"]), (404, &json!("not_found")), "{received}");
    assert!(received["message"].as_str().unwrap().contains("--no-transcript"), "{received}");
}

/// Replies that a client sends need no model. The program keeps its state between them, and each can be undone
/// separately.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replies_of_a_client_need_no_model() {
    let home = home();
    let project = home.path().join("project");
    std::fs::write(project.join("a.txt"), "hi\n").unwrap();
    let mut server = started(home.path(), &["--yes"]);
    let received = server.ask("GET", "/api/sessions/new/instructions", &Value::Null).await.json();
    let prompt = Program::new(env!("CARGO_BIN_EXE_coder"), home.path()).args(&["prompt", "--yes"]).run(&project, "");
    assert_eq!(received["data"]["text"].as_str().unwrap().trim_end(), prompt.out.trim_end());
    let call =
        |name: &str, args: &Value| json!({"text": format!("```tool\n{}\n```\n", json!({"name": name, "args": args}))});
    let job = json!({"command": "sleep 87.75", "background": true});
    let first = server.ask("POST", "/api/sessions/new/replies", &call("bash", &job)).await.json();
    let session = first["data"]["session"].as_str().unwrap().to_owned();
    let path = format!("/api/sessions/{session}/replies");
    let answer = server.ask("POST", &path, &call("job", &json!({"action": "poll", "id": "j1"}))).await.json();
    assert_eq!(answer["data"]["calls"][0]["success"], true, "{answer}");
    for name in ["one.txt", "two.txt"] {
        let write = call("write_file", &json!({"path": name, "content": "x\n"}));
        let answer = server.ask("POST", &path, &write).await.json();
        assert_eq!(answer["data"]["calls"][0]["success"], true, "{answer}");
    }
    let undone = server.ask("POST", "/api/undo", &json!({})).await.json();
    assert_eq!(undone["data"]["undone"]["done"].as_array().map(Vec::len), Some(1), "{undone}");
    assert!(project.join("one.txt").exists() && !project.join("two.txt").exists());
    let answer = server.ask("POST", &path, &call("read_file", &json!({"path": "a.txt"}))).await.json();
    assert!(answer["data"]["results"].as_str().unwrap().contains("undone changes"), "{answer}");
    // The client may send more replies than a turn has rounds.
    for number in 0..25 {
        let read = call("bash", &json!({"command": format!("echo {number}")}));
        let answer = server.ask("POST", &path, &read).await.json();
        assert_eq!(answer["data"]["stop"], Value::Null, "{answer}");
    }
    assert_eq!(server.terminate(), Some(143));
    let server = started(home.path(), &["--yes"]);
    let answer = server.ask("POST", &path, &call("read_file", &json!({"path": "a.txt"}))).await.json();
    let results = answer["data"]["results"].as_str().unwrap();
    assert!(results.contains("hi") && results.contains("this conversation was resumed later"), "{answer}");
}

/// Starts a model server that always sends the same reply. Returns its base URL and the bodies of its requests.
async fn model(says: &'static str) -> (String, Arc<Mutex<Vec<Value>>>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let asked = Arc::<Mutex<Vec<Value>>>::default();
    let received = asked.clone();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut bytes = Vec::new();
            let body = loop {
                let text = String::from_utf8_lossy(&bytes).into_owned();
                if let Some((head, body)) = text.split_once("\r\n\r\n") {
                    let length = crate::proxy::support::header(head, "content-length");
                    if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                        break body.to_owned();
                    }
                }
                let mut buffer = vec![0; 65536];
                let read = stream.read(&mut buffer).await.unwrap();
                assert!(read > 0, "a request breaks off: {text}");
                bytes.extend_from_slice(&buffer[..read]);
            };
            received.lock().unwrap().push(serde_json::from_str(&body).unwrap_or_default());
            let choice = json!({"choices": [{"index": 0, "delta": {"content": says}, "finish_reason": "stop"}]});
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
            let _ = stream.write_all(format!("{head}data: {choice}\n\ndata: [DONE]\n\n").as_bytes()).await;
        }
    });
    (url, asked)
}

/// The grammar for a model has only the tools that it may use.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_grammar_has_the_tools_of_its_turn() {
    let home = home();
    let (url, asked) = model("Yes.").await;
    let server = started(home.path(), &["--base-url", &url, "--model", "m", "--grammar", "on"]);
    for (tool, others) in [("auto", true), ("read_file", false), ("auto", true)] {
        let answer = server.ask("POST", "/api/agent", &json!({"prompt": "go", "toolType": tool})).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        let request = asked.lock().unwrap().last().unwrap().clone();
        let grammar = request["grammar"].as_str().unwrap_or_else(|| panic!("{request}"));
        assert!(grammar.contains("read_file"), "{grammar}");
        assert_eq!(grammar.contains("write_file"), others, "{grammar}");
    }
}

/// A persona that is added or changed while the server runs takes effect.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_persona_added_later_takes_effect() {
    let home = home();
    let (url, asked) = model("Yes.").await;
    let server = started(home.path(), &["--base-url", &url, "--model", "m"]);
    let body = json!({"prompt": "go", "persona": "poet"});
    assert_eq!(server.ask("POST", "/api/agent", &body).await.status, 400);
    let own = home.path().join("config/toolfence/personas");
    std::fs::create_dir_all(&own).unwrap();
    for says in ["You rhyme.", "You rhyme no more."] {
        std::fs::write(own.join("poet.md"), format!("+++\nname = \"poet\"\n+++\n{says}\n")).unwrap();
        let received = server.ask("GET", "/api/personas", &Value::Null).await.json();
        assert!(received["data"]["personas"].as_array().unwrap().iter().any(|one| one["name"] == "poet"), "{received}");
        assert_eq!(server.ask("POST", "/api/agent", &body).await.status, 200);
        let request = asked.lock().unwrap().last().unwrap().clone();
        let system = request["messages"][0]["content"].as_str().unwrap();
        assert!(system.starts_with(says), "{system}");
    }
    std::fs::remove_file(own.join("poet.md")).unwrap();
    assert_eq!(server.ask("POST", "/api/agent", &body).await.status, 400);
}

/// The model gets a note about an interruption only after a restart of the server or an undo.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_conversation_is_resumed_after_a_break_only() {
    let home = home();
    let (url, asked) = model("Yes.").await;
    let options = ["--base-url", &url, "--model", "m"];
    let mut server = started(home.path(), &options);
    let resumed = || {
        let request = asked.lock().unwrap().last().unwrap().clone();
        let messages = request["messages"].as_array().unwrap().clone();
        messages.last().unwrap()["content"].as_str().unwrap().contains("was resumed after a break")
    };
    let answer = server.ask("POST", "/api/sessions/new/turns", &json!({"prompt": "One."})).await.json();
    let path = format!("/api/sessions/{}/turns", answer["data"]["session"].as_str().unwrap());
    assert!(!resumed());
    let continues_with_note = async |server: &Server| {
        assert_eq!(server.ask("POST", &path, &json!({"prompt": "More."})).await.status, 200);
        resumed()
    };
    assert!(
        !continues_with_note(&server).await && !continues_with_note(&server).await,
        "the conversation continues without a note"
    );
    assert_eq!(server.ask("POST", "/api/undo", &json!({})).await.status, 200);
    assert!(continues_with_note(&server).await, "files may have been put back");
    assert!(!continues_with_note(&server).await);
    let coder =
        Program::new(env!("CARGO_BIN_EXE_coder"), home.path()).args(&options).args(&["--continue", "-p", "Here."]);
    assert_eq!(coder.run(&home.path().join("project"), "").status, 0);
    assert!(continues_with_note(&server).await, "another process has used the conversation");
    server.terminate();
    let server = started(home.path(), &options);
    assert!(continues_with_note(&server).await, "the server is another one");
    assert!(!continues_with_note(&server).await);
}

/// The changes of a turn can be undone, also if two turns ran at the same time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_of_turns_can_be_undone() {
    let home = home();
    let server = started(home.path(), &["--yes"]);
    let write = |path: &str| json!({"direct": true, "toolType": "bash", "args": {"command": format!("sleep 0.5; echo x > {path}")}});
    let (first, second) = (write("one"), write("two"));
    let (first, second) =
        tokio::join!(server.ask("POST", "/api/agent", &first), server.ask("POST", "/api/agent", &second));
    assert!(first.json()["success"] == true && second.json()["success"] == true);
    let there = |name: &str| home.path().join("project").join(name).exists();
    assert!(there("one") && there("two"));
    let answer = server.ask("POST", "/api/undo", &json!({})).await.json();
    assert_eq!(answer["data"]["undone"]["done"].as_array().map(Vec::len), Some(2), "{answer}");
    assert!(!there("one") && !there("two"));
    assert_eq!(server.ask("POST", "/api/redo", &json!({})).await.status, 200);
    assert!(there("one") && there("two"));
    // `coder undo` undoes what the server recorded.
    let coder = Program::new(env!("CARGO_BIN_EXE_coder"), home.path());
    let ran = coder.args(&["undo"]).run(&home.path().join("project"), "");
    assert_eq!((ran.status, there("one"), there("two")), (0, false, false), "{}", ran.said());
    let answer = server.ask("POST", "/api/undo", &json!({})).await.json();
    assert_eq!(answer["data"]["undone"], Value::Null, "{answer}");
    assert_eq!(server.ask("POST", "/api/undo", &json!({"turns": 2})).await.status, 400);
    // Undo is refused while a turn runs.
    let long = json!({"direct": true, "toolType": "bash", "args": {"command": "touch began; sleep 60"}});
    let _open = server.open("POST", "/api/agent", &long).await;
    for _ in 0..1000 {
        if there("began") {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(server.ask("POST", "/api/undo", &json!({})).await.status, 409);
}

/// Idle streams take a bounded amount of memory each, which is freed when they end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_idle_streams_cost_little_and_leave_nothing() {
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", silent.local_addr().unwrap());
    let accepting = tokio::spawn(async move {
        let mut held = Vec::new();
        loop {
            held.push(silent.accept().await.unwrap().0);
        }
    });
    let home = home();
    let server = started(home.path(), &["--base-url", &url, "--model", "m", "--turns", "400"]);
    let mut memory = Vec::new();
    for _ in 0..3 {
        let mut open = Vec::new();
        for _ in 0..200 {
            let mut stream = server.open("POST", "/api/agent", &json!({"prompt": "x", "stream": true})).await;
            let mut head = [0; 12];
            stream.read_exact(&mut head).await.unwrap();
            assert_eq!(&head, b"HTTP/1.1 200");
            open.push(stream);
        }
        memory.push(server.memory());
        drop(open);
        for _ in 0..1000 {
            if server.open_files() < 100 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    accepting.abort();
    let idle = server.memory();
    println!("200 idle streams: {memory:?} KiB, then {idle} KiB");
    assert!(memory[2] < memory[0] + 20 * 1024, "it grows from round to round: {memory:?}");
    assert!(memory[0] < 250 * 1024, "{memory:?}");
}
