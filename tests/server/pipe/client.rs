//! A client that records the lines of the pipe and checks each one.

use boon::{Compiler, SchemaIndex, Schemas};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf, duplex, split};
use toolfence_agent::agent::Canceller;
use toolfence_policy::AskMode;
use toolfence_sandbox::isolation::Settings;
use toolfence_server::pipe::{Ending, Pipe, SCHEMA};
use toolfence_tools as tools;
use toolfence_tools::CommandRunner;
use toolfence_workspace::Workspace;

pub(super) struct Client {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    out: WriteHalf<DuplexStream>,
    schema: Schema,
    /// The lines since the last wait, with the line that ended it.
    received: Vec<Value>,
}

/// Returns a pipe for a folder that asks before changes.
pub(super) fn fixture(root: &Path) -> Pipe {
    let policy = toolfence_kit::policy(AskMode::Risky);
    let workspace = Arc::new(Workspace::open(root, policy.paths().clone()).unwrap());
    let runner = Arc::new(CommandRunner::new(workspace, Settings::new()));
    Pipe::new(tools::standard(runner.clone()), policy, runner)
}

/// Serves an in-memory client until its function returns; then it disconnects.
pub(super) fn served<T>(pipe: Pipe, client: impl AsyncFnOnce(&mut Client) -> T) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (here, there) = duplex(1 << 16);
        let (input, output) = split(there);
        let canceller = Canceller::default();
        let serve = pipe.serve(BufReader::new(input), output, &canceller);
        let ask = async {
            let (read, out) = split(here);
            let lines = BufReader::new(read).lines();
            let mut it = Client { lines, out, schema: Schema::new(), received: Vec::new() };
            client(&mut it).await
        };
        let both = async { tokio::join!(serve, ask) };
        let (ended, given) = tokio::time::timeout(Duration::from_secs(60), both).await.expect("it hangs");
        assert_eq!(ended.unwrap(), Ending::ClientGone);
        given
    })
}

impl Client {
    /// Sends a line after checking it against the schema.
    pub(super) async fn say(&mut self, line: Value) {
        self.schema.check("in", &line);
        self.say_raw(format!("{line}\n").as_bytes()).await;
    }

    pub(super) async fn say_raw(&mut self, bytes: &[u8]) {
        self.out.write_all(bytes).await.unwrap();
    }

    /// Reads the next line of the pipe.
    pub(super) async fn hear(&mut self) -> Value {
        let line = self.lines.next_line().await.unwrap().expect("the pipe is gone");
        let line: Value = serde_json::from_str(&line).unwrap();
        self.schema.check("out", &line);
        self.received.push(line.clone());
        line
    }

    /// Waits until the next line begins to arrive, without reading it.
    pub(super) async fn peek(&mut self) {
        assert!(!self.lines.get_mut().fill_buf().await.unwrap().is_empty(), "the pipe is gone");
    }

    /// Reads up to the next line of this kind.
    pub(super) async fn until(&mut self, kind: &str) -> Value {
        if self.received.last().is_some_and(|line| line["event"] != "ready") {
            self.received.clear();
        }
        loop {
            let line = self.hear().await;
            assert!(kind == "error" || line["event"] != "error", "{line}");
            if line["event"] == kind {
                return line;
            }
        }
    }

    /// Returns the kinds of the lines since the last wait.
    pub(super) fn kinds(&self) -> Vec<String> {
        self.received.iter().map(|line| line["event"].as_str().unwrap().to_owned()).collect()
    }

    /// Returns the lines since the last wait, without times and with pieces of text joined.
    pub(super) fn merged(&self) -> Vec<Value> {
        let mut merged: Vec<Value> = Vec::new();
        for line in &self.received {
            let mut line = line.clone();
            line["execution_time_ms"] = json!(0);
            match merged.last_mut() {
                Some(last)
                    if last["event"] == "text" && line["event"] == "text" && last["span"][1] == line["span"][0] =>
                {
                    last["text"] = format!("{}{}", text(last), text(&line)).into();
                    last["span"][1] = line["span"][1].clone();
                }
                _ if line["event"] == "results" => {}
                _ => merged.push(line),
            }
        }
        merged
    }
}

fn text(line: &Value) -> &str {
    line["text"].as_str().unwrap()
}

/// The compiled schema of the lines.
pub(super) struct Schema {
    schemas: Schemas,
    said: SchemaIndex,
    received: SchemaIndex,
}

impl Schema {
    pub(super) fn new() -> Schema {
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        compiler.add_resource("pipe.json", serde_json::from_str(SCHEMA).unwrap()).unwrap();
        let mut part = |name: &str| compiler.compile(&format!("pipe.json#/$defs/{name}"), &mut schemas).unwrap();
        let (said, received) = (part("in"), part("out"));
        Schema { schemas, said, received }
    }

    pub(super) fn check(&self, part: &str, line: &Value) {
        let index = if part == "in" { self.said } else { self.received };
        if let Err(error) = self.schemas.validate(line, index) {
            panic!("{line}: {error}");
        }
    }

    pub(super) fn knows(&self, line: &Value) -> bool {
        self.schemas.validate(line, self.said).is_ok()
    }
}
