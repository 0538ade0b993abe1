//! `coder stats`: what conversations that were written down cost, which calls were made in them, and what became of those.

use super::sessions::{named, store};
use crate::args::{Options, StatsArguments};
use crate::failure::Failure;
use crate::messages;
use crate::setup::Setup;
use crate::shown::{Words, tell};
use crate::terminal::{Style, Terminal};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashSet};
use std::process::ExitCode;
use std::time::SystemTime;
use toolfence::backend::Usage;
use toolfence::program::transcript::{Record, RecordedCall, RecordedResult, Role, Stored, Summary, rfc3339};

/// What is counted.
#[derive(Debug, Default)]
struct Stats {
    sessions: u64,
    turns: u64,
    /// By the model that answered; empty where it is not known.
    models: BTreeMap<String, Usage>,
    tools: BTreeMap<String, Calls>,
    /// By the code of the failure.
    failures: BTreeMap<String, u64>,
    /// By the name of the repair: what had to be done to read a call.
    repairs: BTreeMap<String, u64>,
    decisions: Decisions,
    /// Blocks that were meant as calls and could not be read.
    unreadable: u64,
}

/// The calls of one tool.
#[derive(Debug, Default)]
struct Calls {
    failed: u64,
    /// The time of each, in milliseconds, as it was recorded.
    times: Vec<u64>,
}

/// Who decided about calls.
#[derive(Debug, Default, Serialize)]
struct Decisions {
    allowed_by_policy: u64,
    denied_by_policy: u64,
    allowed_by_person: u64,
    denied_by_person: u64,
    /// Nobody was there to be asked.
    denied_by_nobody: u64,
}

/// Counts what is asked for.
pub(crate) fn run(options: &Options, arguments: &StatsArguments) -> Result<ExitCode, Failure> {
    let setup = Setup::new(options)?;
    let summaries = match &arguments.session {
        Some(name) => vec![named(&setup, name)?],
        None => store(&setup)?.list(if arguments.all { None } else { Some(setup.workspace.root_path()) }),
    };
    let since = arguments.since.and_then(|age| SystemTime::now().checked_sub(age)).map(rfc3339);
    let mut stats = Stats::default();
    let counted: HashSet<&str> = summaries.iter().map(|summary| summary.id.as_str()).collect();
    for summary in &summaries {
        // One that somebody removed meanwhile, or that cannot be read, takes the others nothing.
        match Stored::read(&summary.path) {
            Ok(stored) => stats.session(&own_records(summary, stored, &counted), since.as_deref()),
            Err(error) => tell(&error.text()),
        }
    }
    let mut out = Terminal::stdout();
    if arguments.json {
        out.line(&stats.as_value(&setup).to_string())?;
    } else {
        stats.shown(&setup, &mut out)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The records of a session without those that it has from one that is counted by itself.
fn own_records(summary: &Summary, stored: Stored, counted: &HashSet<&str>) -> Vec<Record> {
    let copied = summary.fork.as_ref().filter(|fork| counted.contains(fork.session.as_str()));
    let from = copied.and_then(|fork| stored.records.iter().position(|record| record.id == fork.message));
    stored.records.into_iter().skip(from.map_or(0, |at| at + 1)).collect()
}

impl Stats {
    fn session(&mut self, records: &[Record], since: Option<&str>) {
        // Times as they are written are in the order of time.
        let records: Vec<&Record> =
            records.iter().filter(|record| since.is_none_or(|since| record.timestamp.as_str() >= since)).collect();
        if records.is_empty() {
            return;
        }
        self.sessions += 1;
        records.iter().for_each(|record| self.record(record));
    }

    fn record(&mut self, record: &Record) {
        match record.role {
            Role::User => self.turns += 1,
            Role::Assistant => {
                let tokens = record.tokens;
                let [input, cached, output] =
                    tokens.map_or([0; 3], |tokens| [tokens.input, tokens.cached, tokens.output]);
                let mut usage = Usage::counted(input, cached, output);
                usage.estimated = tokens.map_or(0, |tokens| u64::from(tokens.estimated));
                *self.models.entry(record.model.clone().unwrap_or_default()).or_default() += usage;
            }
            Role::Tool => {
                if let (Some(call), Some(result)) = (&record.tool_call, &record.tool_result) {
                    self.call(call, result);
                }
            }
            _ => {}
        }
    }

    fn call(&mut self, call: &RecordedCall, result: &RecordedResult) {
        if call.name.is_empty() {
            self.unreadable += 1;
        } else {
            let calls = self.tools.entry(result.tool_name.clone()).or_default();
            calls.failed += u64::from(!result.success);
            calls.times.push(result.execution_time_ms);
        }
        for repair in &call.repairs {
            *self.repairs.entry(repair.clone()).or_default() += 1;
        }
        let code = result.error.as_ref().map(|error| error.code.as_str().to_owned());
        if let Some(code) = &code {
            *self.failures.entry(code.clone()).or_default() += 1;
        }
        let Some(decision) = &call.decision else { return };
        let denied = code.as_deref() == Some("denied");
        let decisions = &mut self.decisions;
        let count = match (decision.by.as_str(), denied) {
            ("nobody", _) => &mut decisions.denied_by_nobody,
            ("person", true) => &mut decisions.denied_by_person,
            ("person", false) => &mut decisions.allowed_by_person,
            (_, true) => &mut decisions.denied_by_policy,
            (_, false) => &mut decisions.allowed_by_policy,
        };
        *count += 1;
    }

    /// All replies together.
    fn usage(&self) -> Usage {
        let mut all = Usage::default();
        self.models.values().for_each(|usage| all += *usage);
        all
    }

    /// What all of them cost; `None` where the settings have no price of a model that answered.
    fn price(&self, setup: &Setup) -> Option<f64> {
        let prices = self.models.iter().map(|(model, usage)| setup.price(model, usage));
        prices.sum::<Option<f64>>().filter(|_| !self.models.is_empty())
    }

    fn as_value(&self, setup: &Setup) -> Value {
        let told = |usage: &Usage, price: Option<f64>| {
            json!({
                "replies": usage.replies, "estimated_replies": usage.estimated, "input": usage.input,
                "cached": usage.cached, "output": usage.output, "price": price,
            })
        };
        let models: Map<String, Value> =
            self.models.iter().map(|(model, usage)| (model.clone(), told(usage, setup.price(model, usage)))).collect();
        let tools: Map<String, Value> =
            self.tools.iter().map(|(tool, calls)| (tool.clone(), calls.as_value())).collect();
        json!({
            "v": super::SCHEMA, "sessions": self.sessions, "turns": self.turns,
            "tokens": told(&self.usage(), self.price(setup)), "models": models, "tools": tools,
            "failures": self.failures, "decisions": self.decisions, "repairs": self.repairs,
            "unreadable_blocks": self.unreadable,
        })
    }

    fn shown(&self, setup: &Setup, out: &mut Terminal) -> Result<(), Failure> {
        out.line(&messages::stats_of(self.sessions, self.turns))?;
        out.line(&messages::usage(&self.usage(), self.price(setup)))?;
        if !self.tools.is_empty() {
            let columns = messages::stats_columns().words().into_owned();
            let columns: Vec<&str> = columns.split('|').collect();
            out.write("\n")?;
            out.styled_line(Style::Dim, &row(&columns))?;
            for (tool, calls) in &self.tools {
                let [p50, p90, most] = calls.quantiles().map(|time| time.to_string());
                out.line(&row(&[tool, &calls.times.len().to_string(), &calls.failed.to_string(), &p50, &p90, &most]))?;
            }
        }
        out.write("\n")?;
        let Decisions { allowed_by_policy, denied_by_policy, allowed_by_person, denied_by_person, denied_by_nobody } =
            self.decisions;
        out.line(&messages::stats_allowed(allowed_by_policy, allowed_by_person))?;
        out.line(&messages::stats_denied(denied_by_policy, denied_by_person, denied_by_nobody))?;
        let counts = |counts: &BTreeMap<String, u64>| {
            counts.iter().map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join(", ")
        };
        if !self.failures.is_empty() {
            out.line(&messages::stats_failures(counts(&self.failures)))?;
        }
        if !self.repairs.is_empty() {
            out.line(&messages::stats_repairs(counts(&self.repairs)))?;
        }
        if self.unreadable > 0 {
            out.line(&messages::stats_unreadable(self.unreadable))?;
        }
        Ok(())
    }
}

impl Calls {
    /// The time that half of the calls took at most, that nine of ten took, and the longest.
    fn quantiles(&self) -> [u64; 3] {
        let mut times = self.times.clone();
        times.sort_unstable();
        // The rank is rounded up, as for the nearest-rank method: the result is one of the times.
        let at = |percent: usize| times.get((times.len() * percent).div_ceil(100).saturating_sub(1)).copied();
        [at(50), at(90), at(100)].map(Option::unwrap_or_default)
    }

    fn as_value(&self) -> Value {
        let [p50, p90, most] = self.quantiles();
        json!({"calls": self.times.len(), "failed": self.failed, "ms": {"p50": p50, "p90": p90, "most": most}})
    }
}

fn row(cells: &[impl AsRef<str>]) -> String {
    let (first, rest) = cells.split_first().map_or(("", &[][..]), |(first, rest)| (first.as_ref(), rest));
    rest.iter().fold(format!("{first:<16}"), |row, cell| row + &format!("{:>10}", cell.as_ref()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_times_that_were_measured() {
        let of = |times: &[u64]| Calls { failed: 0, times: times.to_vec() }.quantiles();
        assert_eq!(of(&[]), [0, 0, 0]);
        assert_eq!(of(&[7]), [7, 7, 7]);
        assert_eq!(of(&[3, 1, 2]), [2, 3, 3]);
        assert_eq!(of(&(1..=100).rev().collect::<Vec<_>>()), [50, 90, 100]);
    }
}
