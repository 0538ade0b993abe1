//! What happened since the server began, in the text format of Prometheus.
//!
//! Requests, turns and approvals are counted here while they come; what agents do is what their own [`Metrics`] say, once their turns
//! are over. The names of routes, tools, ends and codes are those of tables, so the number of lines has a bound.

use std::collections::BTreeMap;
use std::fmt::{Display, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use toolfence_agent::backend::Usage;
use toolfence_agent::metrics::{Metrics, Times, ToolCounts};
use toolfence_protocol::Catalog;

/// What calls of tools that do not exist are counted under: a model can make up any name.
const OTHER: &str = "other";

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
}

/// What is counted.
#[derive(Default)]
pub(super) struct Counters {
    requests: Counts,
    turns: Counts,
    approvals: Counts,
    /// Turns that run now.
    running: AtomicU64,
    /// What agents did whose turns are over.
    agents: Mutex<Metrics>,
}

impl Counters {
    pub(super) fn request(&self, route: &str, status: u16) {
        self.requests.add(route, &status.to_string());
    }

    pub(super) fn approval(&self, answer: &str) {
        self.approvals.add(answer, "");
    }

    /// A turn begins. It runs until what is given is dropped.
    pub(super) fn turn(&self) -> Running<'_> {
        self.running.fetch_add(1, Ordering::Relaxed);
        Running { counters: self, end: "cancelled" }
    }

    /// Adds what the agent of a turn did. For a direct call no model was asked.
    pub(super) fn agent(&self, mut did: Metrics, is_direct: bool, catalog: &Catalog) {
        if is_direct {
            did.usage = Usage::default();
            (did.rounds, did.model, did.first_byte) = (0, Times::default(), Times::default());
        }
        let mut agents = self.agents.lock().unwrap_or_else(PoisonError::into_inner);
        let mut tools: BTreeMap<String, ToolCounts> = BTreeMap::new();
        for (name, counts) in std::mem::take(&mut did.tools) {
            let known = catalog.find(&name).map_or(OTHER, |spec| spec.name.as_ref());
            tools.entry(known.to_owned()).or_default().add_all(&counts);
        }
        did.tools = tools;
        agents.add_all(&did);
    }

    pub(super) fn text(&self) -> String {
        let agents = self.agents.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut out = Page(String::new());
        out.counter("requests", "Requests that were answered.");
        for ((route, status), count) in &*self.requests.all() {
            out.line("requests_total", &[("route", route), ("status", status)], count);
        }
        out.counter("turns", "Turns that ended.");
        for ((end, _), count) in &*self.turns.all() {
            out.line("turns_total", &[("end", end)], count);
        }
        out.begin("turns_running", "Turns that run now.", "gauge");
        out.line("turns_running", &[], self.running.load(Ordering::Relaxed));
        out.counter("approvals", "Calls that a client was asked about.");
        for ((answer, _), count) in &*self.approvals.all() {
            out.line("approvals_total", &[("answer", answer)], count);
        }
        out.agents(&agents);
        out.0
    }
}

/// A page of counters under construction.
struct Page(String);

impl Page {
    /// What the agents of turns that are over did.
    fn agents(&mut self, agents: &Metrics) {
        let Metrics { rounds, usage, tools, failures, denied, repairs, malformed, model, first_byte, person, .. } =
            agents;
        self.counter("rounds", "Replies of models with calls that were answered.");
        self.line("rounds_total", &[], rounds);
        self.counter("replies", "Replies of models, by who counted their tokens.");
        self.line("replies_total", &[("tokens", "counted")], usage.replies.saturating_sub(usage.estimated));
        self.line("replies_total", &[("tokens", "estimated")], usage.estimated);
        self.counter(
            "tokens",
            "Tokens, as the backend counts them or as an estimate. Those of the kind cached are among the input.",
        );
        for (kind, count) in [("input", usage.input), ("cached", usage.cached), ("output", usage.output)] {
            self.line("tokens_total", &[("kind", kind)], count);
        }
        self.counter("calls", "Calls that were answered, whether they ran or not.");
        for (tool, counts) in tools {
            let succeeded = counts.calls.saturating_sub(counts.failed);
            self.line("calls_total", &[("tool", tool), ("outcome", "success")], succeeded);
            self.line("calls_total", &[("tool", tool), ("outcome", "failure")], counts.failed);
        }
        self.counts("failures", "Calls that did not succeed, by the code of the failure.", "code", failures);
        self.counts("denied", "Calls that were denied, by who did it.", "by", denied);
        self.counts("repairs", "What had to be repaired to read calls.", "repair", repairs);
        self.counter("malformed", "Blocks that were meant as calls and could not be read.");
        self.line("malformed_total", &[], malformed);
        self.times("reply_seconds", "How long replies of models took.", &[(&[], model)]);
        self.times("first_byte_seconds", "How long it was until the first piece of a reply.", &[(&[], first_byte)]);
        self.times("answer_seconds", "How long it took until a question was answered.", &[(&[], person)]);
        let labels: Vec<[(&str, &str); 1]> = tools.keys().map(|tool| [("tool", tool.as_str())]).collect();
        let times = labels.iter().map(|label| &label[..]).zip(tools.values().map(|counts| &counts.times));
        self.times("call_seconds", "How long calls took that ran.", &times.collect::<Vec<_>>());
    }

    fn begin(&mut self, name: &str, help: &str, kind: &str) {
        let _ = writeln!(self.0, "# HELP toolfence_{name} {help}\n# TYPE toolfence_{name} {kind}");
    }

    /// Begins the lines of a counter, whose name ends with `_total`.
    fn counter(&mut self, name: &str, help: &str) {
        self.begin(&format!("{name}_total"), help, "counter");
    }

    fn counts(&mut self, name: &str, help: &str, label: &str, counts: &BTreeMap<String, u64>) {
        self.counter(name, help);
        for (value, count) in counts {
            self.line(&format!("{name}_total"), &[(label, value)], count);
        }
    }

    /// Times, each with its labels, as summaries in seconds. The quantile 1 is the longest time.
    fn times(&mut self, name: &str, help: &str, all: &[(&[(&str, &str)], &Times)]) {
        self.begin(name, help, "summary");
        for (labels, times) in all {
            for (quantile, ms) in [("0.5", times.p50()), ("0.9", times.p90()), ("1", times.most())] {
                self.line(name, &[labels, &[("quantile", quantile)][..]].concat(), seconds(ms));
            }
            self.line(&format!("{name}_sum"), labels, seconds(times.sum()));
            self.line(&format!("{name}_count"), labels, times.count());
        }
    }

    /// A value. The labels' values need no escapes: they are words of tables.
    fn line(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        let labels: Vec<String> = labels.iter().map(|(label, value)| format!("{label}=\"{value}\"")).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let _ = writeln!(self.0, "toolfence_{name}{labels} {value}");
    }
}

/// Milliseconds as seconds, exactly.
fn seconds(ms: u64) -> String {
    format!("{}.{:03}", ms / 1000, ms % 1000)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn tools() -> Catalog {
        ["look", "change"].into_iter().map(|name| toolfence_protocol::ToolSpec::new(name, "")).collect()
    }

    /// Names that models make up are one line, and a direct call is no reply of a model.
    #[test]
    fn agents_are_added_up_under_names_that_are_known() {
        let counters = Counters::default();
        let mut did = Metrics::default();
        (did.rounds, did.usage.replies, did.usage.input) = (1, 1, 100);
        did.model.add(1500);
        did.count_call("look", true, Some(20));
        did.count_call("x\"} 1\n", false, None);
        did.count_call("y", false, None);
        counters.agent(did.clone(), false, &tools());
        counters.agent(did, true, &tools());
        let text = counters.text();
        for line in [
            "toolfence_replies_total{tokens=\"counted\"} 1",
            "toolfence_rounds_total 1",
            "toolfence_tokens_total{kind=\"input\"} 100",
            "toolfence_calls_total{tool=\"look\",outcome=\"success\"} 2",
            "toolfence_calls_total{tool=\"other\",outcome=\"failure\"} 4",
            "toolfence_reply_seconds{quantile=\"0.5\"} 1.500",
            "toolfence_reply_seconds_sum 1.500",
            "toolfence_call_seconds{tool=\"look\",quantile=\"1\"} 0.020",
            "toolfence_call_seconds_sum{tool=\"look\"} 0.040",
            "toolfence_call_seconds_count{tool=\"look\"} 2",
        ] {
            assert!(text.lines().any(|told| told == line), "{line} in\n{text}");
        }
        let mut series: Vec<&str> = text.lines().filter_map(|line| Some(line.rsplit_once(' ')?.0)).collect();
        let all = series.len();
        series.sort_unstable();
        series.dedup();
        assert_eq!(series.len(), all, "{text}");
    }
}
