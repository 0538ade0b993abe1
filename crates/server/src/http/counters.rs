//! What happened since the server began, as Prometheus reads it.
//!
//! The names of routes, tools and ends are those of tables, so the number of lines has a bound.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use toolfence_agent::backend::Usage;

/// Counts by their labels.
#[derive(Default)]
struct Counts(Mutex<BTreeMap<(String, String), u64>>);

impl Counts {
    fn all(&self) -> MutexGuard<'_, BTreeMap<(String, String), u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, first: &str, second: &str) {
        *self.all().entry((first.to_owned(), second.to_owned())).or_default() += 1;
    }

    fn write(&self, out: &mut String, name: &str, help: &str, labels: [&str; 2]) {
        begin(out, name, help, "counter");
        for ((first, second), count) in &*self.all() {
            let second = if labels[1].is_empty() { String::new() } else { format!(",{}=\"{second}\"", labels[1]) };
            let _ = writeln!(out, "{name}{{{}=\"{first}\"{second}}} {count}", labels[0]);
        }
    }
}

/// What is counted.
#[derive(Default)]
pub(super) struct Counters {
    requests: Counts,
    turns: Counts,
    calls: Counts,
    approvals: Counts,
    input: AtomicU64,
    output: AtomicU64,
    /// Turns that run now.
    running: AtomicU64,
}

impl Counters {
    pub(super) fn request(&self, route: &str, status: u16) {
        self.requests.add(route, &status.to_string());
    }

    /// A call of a tool there is.
    pub(super) fn call(&self, tool: &str, success: bool) {
        self.calls.add(tool, if success { "success" } else { "failure" });
    }

    pub(super) fn approval(&self, answer: &str) {
        self.approvals.add(answer, "");
    }

    /// A turn begins. It runs until what is given is dropped.
    pub(super) fn turn(&self) -> Running<'_> {
        self.running.fetch_add(1, Ordering::Relaxed);
        Running { counters: self, end: "cancelled" }
    }

    pub(super) fn tokens(&self, usage: Usage) {
        self.input.fetch_add(usage.input, Ordering::Relaxed);
        self.output.fetch_add(usage.output, Ordering::Relaxed);
    }

    pub(super) fn text(&self) -> String {
        let mut out = String::new();
        self.requests.write(&mut out, "toolfence_requests_total", "Requests that were answered.", ["route", "status"]);
        self.turns.write(&mut out, "toolfence_turns_total", "Turns that ended.", ["end", ""]);
        begin(&mut out, "toolfence_turns_running", "Turns that run now.", "gauge");
        let _ = writeln!(out, "toolfence_turns_running {}", self.running.load(Ordering::Relaxed));
        self.calls.write(&mut out, "toolfence_calls_total", "Calls that were answered.", ["tool", "outcome"]);
        self.approvals.write(&mut out, "toolfence_approvals_total", "Calls that were asked about.", ["answer", ""]);
        begin(&mut out, "toolfence_tokens_total", "Tokens, as the backend counts them or as an estimate.", "counter");
        for (kind, count) in [("input", &self.input), ("output", &self.output)] {
            let _ = writeln!(out, "toolfence_tokens_total{{kind=\"{kind}\"}} {}", count.load(Ordering::Relaxed));
        }
        out
    }
}

fn begin(out: &mut String, name: &str, help: &str, kind: &str) {
    let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

/// A turn that runs. One that is dropped in its middle was cancelled.
pub(super) struct Running<'a> {
    counters: &'a Counters,
    end: &'static str,
}

impl Running<'_> {
    pub(super) fn ended(&mut self, end: &'static str) {
        self.end = end;
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.counters.running.fetch_sub(1, Ordering::Relaxed);
        self.counters.turns.add(self.end, "");
    }
}
