//! Measures the times to list, resume and export a conversation of growing length, as a table.
//!
//! `cargo bench --manifest-path benches/Cargo.toml --features cli --bench sessions`. The user waits for the first two,
//! so 10,000 turns should take less than 100 ms, and twice the turns should take twice the time. A turn has a question,
//! and in every third one a file is read before the answer. Times are wall time.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use toolfence_agent::agent::Agent;
use toolfence_agent::backend::Replay;
use toolfence_agent::transcript::Transcript;
use toolfence_agent::transcript::export::{Parts, html, markdown};
use toolfence_agent::transcript::{Record, Store, StoredSession};
use toolfence_policy::toolbox::Toolbox;
use toolfence_policy::{NoFacts, Policy};
use toolfence_session::{Session, SessionOptions};

const ROUNDS: usize = 5;

fn main() {
    println!("| ms | size | list | resume | as Markdown | as HTML |");
    println!("|---|---:|---:|---:|---:|---:|");
    for turns in [1_000, 10_000, 20_000] {
        let state = tempfile::tempdir().expect("a folder");
        let root = state.path().join("project");
        let store = Store::new(state.path());
        let path = store.folder(&root).join("0123456789abcdef.jsonl");
        write(&path, &root, turns);
        let size = std::fs::metadata(&path).expect("the transcript exists").len() as f64 / 1e6;
        let listed = timed(|| assert_eq!(store.list(Some(&root)).len(), 1));
        let resumed = timed(|| resume(&path));
        let stored = StoredSession::read(&path).expect("the transcript is valid");
        let records: Vec<&Record> = stored.records.iter().collect();
        let catalog = toolfence_policy::toolset::catalog();
        let read = timed(|| drop(markdown(&stored, &records, Parts::default(), &catalog)));
        let page = timed(|| drop(html(&stored, &records, Parts::default())));
        println!("| {turns} turns | {size:.1} MB | {listed} | {resumed} | {read} | {page} |");
    }
}

/// Returns the median time of some rounds.
fn timed(act: impl Fn()) -> String {
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let started = Instant::now();
            act();
            started.elapsed()
        })
        .collect();
    times.sort_unstable();
    format!("{:.1}", times[ROUNDS / 2].as_secs_f64() * 1000.0)
}

/// Resumes a conversation up to the user's next message.
fn resume(path: &Path) {
    let transcript = Transcript::resume(path).expect("the transcript is valid");
    let mut options = SessionOptions::default();
    options.history = transcript.history();
    let session = Session::new(options, toolfence_policy::toolset::catalog(), Policy::default(), Arc::new(NoFacts));
    let agent = Agent::new(session, Toolbox::new(), Arc::new(Replay::new(["Yes."]))).transcript(transcript);
    assert_eq!(agent.session().plan(), None);
}

fn write(path: &Path, root: &Path, turns: usize) {
    let mut text = String::new();
    let mut number = 0;
    let mut record = |role: &str, turn: usize, content: &str, more: serde_json::Value| {
        let parent = (number > 0).then(|| (number - 1).to_string());
        let mut line = serde_json::json!({
            "v": 1, "id": number.to_string(), "parent": parent, "role": role, "timestamp": "2026-01-01T00:00:00.000Z",
            "turn": turn, "content": content,
        });
        line.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        number += 1;
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{line}");
    };
    let session = serde_json::json!({"id": "0123456789abcdef", "root": root.display().to_string(), "title": "Begin."});
    record("head", 0, "Be brief.", serde_json::json!({"session": session}));
    let call = "I look.\n\n```tool\n{\"name\": \"read_file\", \"args\": {\"path\": \"a.txt\"}}\n```\n";
    let output: String =
        (1..12).map(|line| format!("{line:>6}\tlet total_{line} = prices.iter().sum::<f64>();\n")).collect();
    let result = serde_json::json!({
        "tool_call": {"id": "call_1", "name": "read_file", "args": {"path": "a.txt"}, "reason": null, "repairs": [],
            "decision": {"rule": "read", "verdict": "allow", "by": "policy"}},
        "tool_result": {"tool_name": "read_file", "success": true, "exit_code": null, "output": output, "truncated": false,
            "output_bytes": output.len(), "execution_time_ms": 1, "error": null, "data": null},
    });
    for turn in 1..=turns {
        let question = format!("Question {turn}: why does the parser read the block again? ").repeat(3);
        record("user", turn, &question, serde_json::json!({}));
        if turn % 3 == 0 {
            record("assistant", turn, "I look.\n\n", serde_json::json!({"raw": call, "model": "m"}));
            record("tool", turn, "", result.clone());
        }
        let answer =
            "It is **read again** because of `the fence`, which may have been content.\n\n- so it is\n".repeat(4);
        record("assistant", turn, &answer, serde_json::json!({"model": "m"}));
    }
    std::fs::create_dir_all(path.parent().expect("the path has a parent")).expect("the folder is created");
    std::fs::write(path, text).expect("the transcript is written");
}
