//! Fuzzes the pipe with any client. Each line is answered or ignored, calls run only if they were allowed, and the
//! pieces of the input do not matter.
//!
//! The first byte is the size of the pieces. Messages follow, separated by 0xff. The first byte of a message chooses
//! its kind.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::io::BufReader;
use toolfence_agent::agent::Canceller;
use toolfence_policy::toolbox::{BoxFuture, Permit, Progress, Tool, ToolError, Toolbox};
use toolfence_policy::{NoFacts, Policy};
use toolfence_protocol::{Effect, Output, Param, ParamKind, ToolSpec};
use toolfence_server::pipe::{Ending, Pipe, VERSION};

/// A tool that counts its runs.
struct Counting {
    spec: ToolSpec,
    ran: Arc<AtomicUsize>,
}

impl Counting {
    fn new(name: &'static str, effect: Effect, ran: &Arc<AtomicUsize>) -> Counting {
        let text = Param::new("text", ParamKind::Text { content: true }, "said back").required();
        let spec = ToolSpec::new(name, "Says it back.").param(text).effect(move |_| effect);
        Counting { spec, ran: ran.clone() }
    }
}

impl Tool for Counting {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run<'a>(&'a self, permit: Permit<'a>, _: &'a dyn Progress) -> BoxFuture<'a, Result<Output, ToolError>> {
        self.ran.fetch_add(1, Ordering::Relaxed);
        let text = permit.text("text").unwrap_or_default().to_owned();
        Box::pin(async move { Ok(Output::text(text)) })
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((&piece, message)) = data.split_first() else { return };
    let (mut input, mut yes, mut always) = (Vec::new(), 0, false);
    for message in message.split(|byte| *byte == 0xff) {
        let Some((&kind, rest)) = message.split_first() else { continue };
        let line = line(kind, rest);
        // A raw line may contain any message.
        always |= line.windows(6).any(|word| word == b"always");
        yes += usize::from(line.windows(7).any(|word| word == b"approve"));
        always |= kind % 12 == 11 && line.contains(&b'\\');
        input.extend(line);
        input.push(b'\n');
    }
    let (sent, ran) = serve(&input, 1 << 16);
    check(&sent);
    assert!(always || ran <= yes, "{ran} runs, {yes} times yes");
    let (pieces, ran_again) = serve(&input, usize::from(piece) + 1);
    assert_eq!((kinds(&sent), ran), (kinds(&pieces), ran_again), "in pieces of {}", usize::from(piece) + 1);
});

fn line(kind: u8, rest: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(rest);
    let first = usize::from(rest.first().copied().unwrap_or_default());
    let id = format!("call_{}", first % 4);
    let message = match kind % 12 {
        0..=3 => json!({"type": "chunk", "text": text}),
        4 => {
            let reason = ["stop", "length", "cut"][first % 3];
            json!({"type": "end", "reason": reason})
        }
        5 => json!({"type": "approve", "id": id}),
        6 => json!({"type": "deny", "id": id, "reason": text}),
        7 => json!({"type": "edit", "id": id, "args": {"text": text}}),
        8 => json!({"type": "tool_result", "id": id, "output": text}),
        9 => json!({"type": "cancel"}),
        10 => json!({"type": "tools", "tools": [{"name": "theirs", "effect": "read"}]}),
        _ => return rest.iter().copied().filter(|byte| *byte != b'\n').collect(),
    };
    message.to_string().into_bytes()
}

/// Returns the lines sent to one client, and how often the tool ran that needs approval.
fn serve(input: &[u8], piece: usize) -> (Vec<Value>, usize) {
    let (reads, writes) = (Arc::default(), Arc::default());
    let toolbox = Toolbox::new().with(Counting::new("look", Effect::Read, &reads)).with(Counting::new(
        "change",
        Effect::Execute,
        &writes,
    ));
    let mut pipe = Pipe::new(toolbox, Policy::default(), Arc::new(NoFacts));
    pipe.line_bytes = 1 << 16;
    let mut output = Vec::new();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    let input = BufReader::with_capacity(piece, input);
    let ending = runtime.block_on(pipe.serve(input, &mut output, &Canceller::default()));
    assert_eq!(ending.expect("memory can be read and written"), Ending::ClientGone);
    let output = String::from_utf8(output).expect("JSON is text");
    assert!(output.is_empty() || output.ends_with('\n'));
    let sent = output.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect();
    (sent, writes.load(Ordering::Relaxed))
}

/// Checks the lines sent to a client: every id is that of an announced call, each call is answered once, and only
/// announced calls run.
fn check(sent: &[Value]) {
    let mut calls = HashSet::new();
    let mut answered = HashSet::new();
    assert_eq!(sent.first().expect("a pipe sends `ready` first")["event"], "ready");
    for line in sent {
        assert_eq!(line["v"], VERSION);
        let id = line["id"].as_str().unwrap_or_default().to_owned();
        match line["event"].as_str().expect("every line has an event") {
            "results" | "stop" => {
                calls.clear();
                answered.clear();
            }
            "call" => assert!(calls.insert(id.clone()), "a second call {id}"),
            "ask" | "run" | "running" => assert!(calls.contains(&id) && !answered.contains(&id), "{line}"),
            "result" => assert!(answered.insert(id), "a second answer: {line}"),
            _ => {}
        }
    }
}

/// Returns the kinds of messages, without anything that depends on time or on the pieces of the input.
fn kinds(sent: &[Value]) -> Vec<String> {
    let word = |line: &Value| format!("{} {}", line["event"], line["id"]);
    sent.iter().map(word).collect()
}
