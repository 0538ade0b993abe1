//! A client that keeps what it is told, and checks each line.

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
    /// What it was told since the last thing it waited for, and that.
    told: Vec<Value>,
}

/// A pipe to a folder, that asks for changes.
pub(super) fn fixture(root: &Path) -> Pipe {
    let policy = toolfence_kit::policy(AskMode::Risky);
    let workspace = Arc::new(Workspace::open(root, policy.paths().clone()).unwrap());
    let runner = Arc::new(CommandRunner::new(workspace, Settings::new()));
    Pipe::new(tools::standard(runner.clone()), policy, runner)
}

/// Serves a client in memory until it has done what it does; then it is gone.
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
            let mut it = Client { lines, out, schema: Schema::new(), told: Vec::new() };
            client(&mut it).await
        };
        let both = async { tokio::join!(serve, ask) };
        let (ended, given) = tokio::time::timeout(Duration::from_secs(60), both).await.expect("it hangs");
        assert_eq!(ended.unwrap(), Ending::ClientGone);
        given
    })
}

impl Client {
    /// Says a line that the schema knows.
    pub(super) async fn say(&mut self, line: Value) {
        self.schema.check("in", &line);
        self.say_raw(format!("{line}\n").as_bytes()).await;
    }

    pub(super) async fn say_raw(&mut self, bytes: &[u8]) {
        self.out.write_all(bytes).await.unwrap();
    }

    /// The next line that the client is told.
    pub(super) async fn hear(&mut self) -> Value {
        let line = self.lines.next_line().await.unwrap().expect("the pipe is gone");
        let line: Value = serde_json::from_str(&line).unwrap();
        self.schema.check("out", &line);
        self.told.push(line.clone());
        line
    }

    /// Waits until the next line begins to come, and does not read it.
    pub(super) async fn peek(&mut self) {
        assert!(!self.lines.get_mut().fill_buf().await.unwrap().is_empty(), "the pipe is gone");
    }

    /// The next line of this kind.
    pub(super) async fn until(&mut self, kind: &str) -> Value {
        if self.told.last().is_some_and(|line| line["event"] != "ready") {
            self.told.clear();
        }
        loop {
            let line = self.hear().await;
            assert!(kind == "error" || line["event"] != "error", "{line}");
            if line["event"] == kind {
                return line;
            }
        }
    }

    /// The kinds of the lines since the last wait.
    pub(super) fn kinds(&self) -> Vec<String> {
        self.told.iter().map(|line| line["event"].as_str().unwrap().to_owned()).collect()
    }

    /// The lines since the last wait without times, pieces of text joined.
    pub(super) fn merged(&self) -> Vec<Value> {
        let mut merged: Vec<Value> = Vec::new();
        for line in &self.told {
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

/// The schema of the lines, compiled.
pub(super) struct Schema {
    schemas: Schemas,
    said: SchemaIndex,
    told: SchemaIndex,
}

impl Schema {
    pub(super) fn new() -> Schema {
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        compiler.add_resource("pipe.json", serde_json::from_str(SCHEMA).unwrap()).unwrap();
        let mut part = |name: &str| compiler.compile(&format!("pipe.json#/$defs/{name}"), &mut schemas).unwrap();
        let (said, told) = (part("in"), part("out"));
        Schema { schemas, said, told }
    }

    pub(super) fn check(&self, part: &str, line: &Value) {
        let index = if part == "in" { self.said } else { self.told };
        if let Err(error) = self.schemas.validate(line, index) {
            panic!("{line}: {error}");
        }
    }

    pub(super) fn knows(&self, line: &Value) -> bool {
        self.schemas.validate(line, self.said).is_ok()
    }
}
