//! Runs 20 turns that read and edit large files, with a model whose window is small. Prints the size of each request,
//! the share of it that equals the previous request, and the compactions.
//!
//! ```text
//! cargo run --example long_day -- --window 16384
//! ```
//!
//! The replies are recorded; the files, the edits and the requests are real.

use serde_json::json;
use std::sync::{Arc, Mutex, PoisonError};
use toolfence_agent::agent::{Agent, Host};
use toolfence_agent::backend::{Backend, Replay, Sink};
use toolfence_policy::rules::PathRules;
use toolfence_policy::toolbox::BoxFuture;
use toolfence_policy::{AskMode, Policy};
use toolfence_protocol::{Error, FinishReason, Message, prompt};
use toolfence_sandbox::isolation::Settings;
use toolfence_session::{Compacted, Session, SessionOptions};
use toolfence_tools::{self as tools, CommandRunner};
use toolfence_workspace::Workspace;

const TURNS: usize = 20;
/// The number of lines of a file, and the number of lines that a turn reads.
const LINES: usize = 1200;
const READ: usize = 300;

/// A backend that records the text of each request.
struct RecordingBackend {
    replies: Replay,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Backend for RecordingBackend {
    fn stream<'a>(
        &'a self,
        messages: &'a [Message],
        sink: &'a mut dyn Sink,
    ) -> BoxFuture<'a, Result<FinishReason, Error>> {
        let text: String =
            messages.iter().map(|message| format!("{:?}\n{}\n", message.role, message.content)).collect();
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).push(text);
        self.replies.stream(messages, sink)
    }
}

/// Counts the compactions.
#[derive(Default)]
struct CompactionCounter {
    compactions: usize,
}

impl Host for CompactionCounter {
    fn compacted(&mut self, _done: &Compacted) {
        self.compactions += 1;
    }
}

fn call(tool: &str, args: &serde_json::Value) -> String {
    format!("Now the next step.\n\n```tool\n{}\n```\n", json!({"name": tool, "args": args}))
}

/// Returns the replies of all turns. Each turn reads a piece of a file, changes a line of it, and reports it.
fn replies() -> Vec<String> {
    let turn = |turn: usize| {
        let path = format!("src/file_{}.txt", turn % 5);
        let start = 1 + turn / 5 * READ;
        let edit = json!({"start_line": start, "end_line": start, "replacement": format!("changed in turn {turn}")});
        [
            call("read_file", &json!({"path": path, "start_line": start, "end_line": start + READ - 1})),
            call("edit_file", &json!({"path": path, "edits": [edit]})),
            format!("Line {start} of {path} is changed."),
        ]
    };
    (0..TURNS).flat_map(turn).collect()
}

/// Returns the number of bytes at the beginning that two requests have in common.
fn common_prefix(one: &str, other: &str) -> usize {
    one.bytes().zip(other.bytes()).take_while(|(one, other)| one == other).count()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let mut window = 16_384;
    while let Some(arg) = args.next() {
        match (arg.as_str(), args.next()) {
            ("--window", Some(tokens)) => window = tokens.parse()?,
            _ => return Err("usage: long_day [--window TOKENS]".into()),
        }
    }
    let folder = tempfile::tempdir()?;
    std::fs::create_dir(folder.path().join("src"))?;
    for file in 0..5 {
        let line = |line: usize| format!("    let value_{line} = compute(file_{file}, input[{line}])?;\n");
        std::fs::write(folder.path().join(format!("src/file_{file}.txt")), (0..LINES).map(line).collect::<String>())?;
    }
    let workspace = Arc::new(Workspace::open(folder.path(), PathRules::default())?);
    let commands = Arc::new(CommandRunner::new(workspace, Settings::new()));
    let toolbox = tools::standard(Arc::clone(&commands));
    let catalog = Arc::new(toolbox.catalog());
    let mut options = SessionOptions::default();
    options.system = prompt::instructions(&catalog, Default::default());
    options.window = Some(window);
    let session = Session::new(options, catalog, Policy::default().ask(AskMode::Never), commands);
    let requests = Arc::new(Mutex::new(Vec::new()));
    let backend = RecordingBackend { replies: Replay::new(replies()), requests: Arc::clone(&requests) };
    let mut agent = Agent::new(session, toolbox, Arc::new(backend));
    let mut host = CompactionCounter::default();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    println!("request  tokens  equal to the request before");
    let (mut before, mut number, mut bytes, mut equal, mut largest) = (String::new(), 0, 0, 0, 0);
    for turn in 0..TURNS {
        runtime.block_on(agent.run(&format!("Change the next piece, number {turn}."), &mut host))?;
        for request in std::mem::take(&mut *requests.lock().unwrap_or_else(PoisonError::into_inner)) {
            let common = common_prefix(&before, &request);
            // Estimates 3.5 bytes per token, as in code and English prose.
            let tokens = request.len() * 2 / 7;
            println!("{number:7}  {tokens:6}  {:3} %", common * 100 / before.len().max(1));
            (bytes, equal) = (bytes + request.len(), equal + common);
            largest = largest.max(tokens);
            (before, number) = (request, number + 1);
        }
    }
    println!("{number} requests, the largest of {largest} tokens in a window of {window}");
    println!(
        "{} compactions, {} % of all bytes equal to the request before",
        host.compactions,
        equal * 100 / bytes.max(1)
    );
    if largest as u64 > window {
        return Err("a request is larger than the window".into());
    }
    Ok(())
}
