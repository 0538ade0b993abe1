//! `coder stats`: counts tokens, calls and outcomes in recorded conversations.

use super::sessions::{find_by_id, store};
use crate::args::{Options, StatsArguments};
use crate::failure::Failure;
use crate::model::Model;
use crate::model::describe_usage;
use crate::rules::{self, Rules};
use crate::shown::Words;
use crate::terminal::{Style, Terminal, print_note};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashSet};
use std::process::ExitCode;
use std::time::SystemTime;
use toolfence_agent::agent::Agent;
use toolfence_agent::backend::Usage;
use toolfence_agent::transcript::{Fork, Record, RecordedCall, RecordedResult, Role, StoredSession, rfc3339};
use toolfence_protocol::{Text, text};

/// Statistics of one or more conversations.
#[derive(Debug, Default)]
struct Stats {
    sessions: u64,
    /// Usage by the name of the model; the name is empty if it is unknown.
    models: BTreeMap<String, Usage>,
    decisions: Decisions,
    /// Turns of the user.
    turns: u64,
    /// Replies with at least one answered call.
    rounds: u64,
    usage: Usage,
    /// Calls by the name of the tool.
    tools: BTreeMap<String, ToolCounts>,
    /// Failed calls, by error code.
    failures: BTreeMap<String, u64>,
    /// Approval questions, and the number of each answer.
    asked: u64,
    answers: BTreeMap<String, u64>,
    repairs: BTreeMap<String, u64>,
    /// Blocks that were meant as calls but were unreadable or broke off.
    unreadable_blocks: u64,
    model: Times,
    first_byte: Times,
    person: Times,
}

/// The calls of one tool.
#[derive(Debug, Default)]
struct ToolCounts {
    calls: u64,
    failed: u64,
    /// The durations of the calls that ran.
    times: Times,
}

/// Durations in milliseconds.
#[derive(Debug, Default, Clone)]
struct Times(Vec<u64>);

impl Times {
    fn add(&mut self, ms: u64) {
        self.0.push(ms);
    }

    fn count(&self) -> u64 {
        self.0.len() as u64
    }

    /// Returns the median, the 90th percentile and the maximum.
    fn quantiles(&self) -> [u64; 3] {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        // The nearest-rank method rounds the rank up.
        [50, 90, 100].map(|percent| {
            let rank = (sorted.len() * percent).div_ceil(100);
            rank.checked_sub(1).map_or(0, |at| sorted[at])
        })
    }
}

/// Serializes as `{"count": .., "p50": .., "p90": .., "most": ..}`.
impl Serialize for Times {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let [p50, p90, most] = self.quantiles();
        json!({"count": self.count(), "p50": p50, "p90": p90, "most": most}).serialize(serializer)
    }
}

/// Returns `true` for a record that a fork has copied from its original.
pub(crate) fn is_copied(record: &Record, fork: &Fork) -> bool {
    let number = |id: &str| id.parse::<u64>().unwrap_or(0);
    number(&record.id) <= number(&fork.message)
}

/// Numbers of calls by decision and decider.
#[derive(Debug, Default, Serialize)]
struct Decisions {
    allowed_by_policy: u64,
    denied_by_policy: u64,
    allowed_by_person: u64,
    denied_by_person: u64,
    /// Calls denied because no person could be asked.
    denied_by_nobody: u64,
}

/// Prints the statistics of the selected conversations.
pub(crate) fn run(options: &Options, arguments: &StatsArguments) -> Result<ExitCode, Failure> {
    let (project, rules) = rules::open(options)?;
    let summaries = match &arguments.session {
        Some(name) => vec![find_by_id(&project, name)?],
        None => store(&project)?.list(if arguments.all { None } else { Some(project.workspace.root_path()) }),
    };
    let since = arguments.since.and_then(|age| SystemTime::now().checked_sub(age)).map(rfc3339);
    let mut stats = Stats::default();
    let counted: HashSet<&str> = summaries.iter().map(|summary| summary.id.as_str()).collect();
    for summary in &summaries {
        // A conversation that was removed meanwhile or cannot be read is reported and skipped.
        match StoredSession::read(&summary.path) {
            Ok(stored) => {
                let mut records = stored.records;
                // The copied records are counted with their original.
                if let Some(fork) = stored.head.fork.filter(|fork| counted.contains(&*fork.session)) {
                    records.retain(|record| !is_copied(record, &fork));
                }
                stats.add_session(&records, since.as_deref());
            }
            Err(error) => print_note(&error.text()),
        }
    }
    let mut out = Terminal::stdout();
    if arguments.json {
        out.line(&stats.as_value(&rules).to_string())?;
    } else {
        stats.print(&rules, &mut out)?;
    }
    Ok(ExitCode::SUCCESS)
}

impl Stats {
    fn add_session(&mut self, records: &[Record], since: Option<&str>) {
        // RFC 3339 timestamps sort as strings.
        let records: Vec<&Record> =
            records.iter().filter(|record| since.is_none_or(|since| record.timestamp.as_str() >= since)).collect();
        if records.is_empty() {
            return;
        }
        self.sessions += 1;
        let mut replied = false;
        for record in records {
            // The records of calls follow the record of their reply.
            self.rounds += u64::from(record.role == Role::Tool && std::mem::take(&mut replied));
            replied |= record.role == Role::Assistant;
            self.add_record(record);
        }
    }

    fn add_record(&mut self, record: &Record) {
        match record.role {
            Role::User => self.turns += 1,
            Role::Assistant => {
                let tokens = record.tokens;
                let [input, cached, output] =
                    tokens.map_or([0; 3], |tokens| [tokens.input, tokens.cached, tokens.output]);
                let mut usage = Usage::counted(input, cached, output);
                usage.estimated = tokens.map_or(0, |tokens| u64::from(tokens.estimated));
                *self.models.entry(record.model.clone().unwrap_or_default()).or_default() += usage;
                self.usage += usage;
                if let Some(times) = record.times {
                    self.model.add(times.total_ms);
                    times.first_ms.into_iter().for_each(|ms| self.first_byte.add(ms));
                }
            }
            Role::Tool => {
                if let (Some(call), Some(result)) = (&record.tool_call, &record.tool_result) {
                    self.add_call(call, result);
                }
            }
            _ => {}
        }
    }

    fn add_call(&mut self, call: &RecordedCall, result: &RecordedResult) {
        let code = result.error.as_ref().map(|error| error.code.as_str());
        let verdict = call.decision.as_ref().map(|decision| decision.verdict.as_str());
        let denied = code == Some("denied") || verdict == Some("deny");
        let ran = !denied && matches!(verdict, Some("allow" | "ask"));
        // A block that could not be read has no tool name.
        if call.name.is_empty() {
            self.unreadable_blocks += 1;
        } else {
            let counts = self.tools.entry(result.tool_name.clone()).or_default();
            counts.calls += 1;
            counts.failed += u64::from(!result.success);
            if ran {
                counts.times.add(result.execution_time_ms);
            }
        }
        for repair in &call.repairs {
            *self.repairs.entry(repair.clone()).or_default() += 1;
        }
        if let Some(code) = code {
            *self.failures.entry(code.to_owned()).or_default() += 1;
        }
        for asked in &call.asked {
            self.asked += 1;
            *self.answers.entry(asked.answer.clone()).or_default() += 1;
            // Without a user, this is not the time of an answer.
            if asked.answer != "nobody" {
                self.person.add(asked.ms);
            }
        }
        let Some(decision) = &call.decision else { return };
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

    /// Returns the total price, or `None` if the settings lack a price of one of the models.
    fn price(&self, rules: &Rules) -> Option<f64> {
        let prices = self.models.iter().map(|(model, usage)| rules.price(model, usage));
        prices.sum::<Option<f64>>().filter(|_| !self.models.is_empty())
    }

    fn as_value(&self, rules: &Rules) -> Value {
        let usage_as_json = |usage: &Usage, price: Option<f64>| {
            json!({
                "replies": usage.replies, "estimated_replies": usage.estimated, "input": usage.input,
                "cached": usage.cached, "output": usage.output, "price": price,
            })
        };
        let models: Map<String, Value> = self
            .models
            .iter()
            .map(|(model, usage)| (model.clone(), usage_as_json(usage, rules.price(model, usage))))
            .collect();
        let Stats { turns, rounds, usage, tools, failures, asked, answers, repairs, unreadable_blocks, .. } = self;
        let tools: Map<String, Value> = tools
            .iter()
            .map(|(tool, counts)| {
                let counts = json!({"calls": counts.calls, "failed": counts.failed, "ms": counts.times});
                (tool.clone(), counts)
            })
            .collect();
        let times: Map<String, Value> =
            self.times().map(|(name, _, times)| (name.to_owned(), json!(times))).into_iter().collect();
        json!({
            "v": super::SCHEMA, "sessions": self.sessions, "turns": turns, "rounds": rounds,
            "tokens": usage_as_json(usage, self.price(rules)), "models": models, "tools": tools, "failures": failures,
            "decisions": self.decisions, "asked": asked, "answers": answers, "repairs": repairs,
            "unreadable_blocks": unreadable_blocks, "times": times,
        })
    }

    /// Returns all durations with their names in JSON and for people.
    fn times(&self) -> [(&'static str, Text, Times); 4] {
        let Stats { model, first_byte, person, tools, .. } = self;
        let tool_times = Times(tools.values().flat_map(|counts| &counts.times.0).copied().collect());
        [
            ("model", text!("replies"), model.clone()),
            ("first_byte", text!("first bytes"), first_byte.clone()),
            ("tools", text!("tools"), tool_times),
            ("person", text!("your answers"), person.clone()),
        ]
    }

    fn print(&self, rules: &Rules, out: &mut Terminal) -> Result<(), Failure> {
        let Stats { turns, rounds, usage, tools, failures, asked, answers, repairs, unreadable_blocks, .. } = self;
        out.line(&text!(
            "{sessions} {sessions|conversation|conversations} with {turns} {turns|turn|turns} and {rounds} \
             {rounds|round|rounds} of calls",
            sessions = self.sessions,
            turns = *turns,
            rounds = *rounds
        ))?;
        out.line(&describe_usage(usage, self.price(rules)))?;
        if !tools.is_empty() {
            let rows = tools.iter().map(|(tool, counts)| {
                let numbers = [counts.calls, counts.failed].into_iter().chain(counts.times.quantiles());
                (tool.clone(), numbers.collect())
            });
            print_table(&text!("tool|calls|failed|p50 ms|p90 ms|most ms"), &rows.collect::<Vec<_>>(), out)?;
        }
        if usage.replies > 0 {
            let rows = self.times().map(|(_, name, times)| {
                let numbers = [times.count()].into_iter().chain(times.quantiles());
                (name.words().into_owned(), numbers.collect())
            });
            print_table(&text!("time of|count|p50 ms|p90 ms|most ms"), &rows, out)?;
        }
        out.write("\n")?;
        let Decisions { allowed_by_policy, denied_by_policy, allowed_by_person, denied_by_person, denied_by_nobody } =
            self.decisions;
        out.line(&text!(
            "allowed: {policy} by the policy, {person} by a person",
            policy = allowed_by_policy,
            person = allowed_by_person
        ))?;
        out.line(&text!(
            "denied: {policy} by the policy, {person} by a person, {unasked} because no person could be asked",
            policy = denied_by_policy,
            person = denied_by_person,
            unasked = denied_by_nobody
        ))?;
        let counts = |counts: &BTreeMap<String, u64>| {
            counts.iter().map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join(", ")
        };
        if !answers.is_empty() {
            out.line(&text!("{asked} {asked|question|questions}: {counts}", asked = *asked, counts = counts(answers)))?;
        }
        if !failures.is_empty() {
            out.line(&text!("failures: {counts}", counts = counts(failures)))?;
        }
        if !repairs.is_empty() {
            out.line(&text!("repairs: {counts}", counts = counts(repairs)))?;
        }
        if *unreadable_blocks > 0 {
            out.line(&text!("blocks that could not be read: {count}", count = *unreadable_blocks))?;
        }
        Ok(())
    }
}

/// `/stats`: prints the statistics of the current conversation. Without a transcript, only its usage is known.
pub(crate) fn show(rules: &Rules, model: &Model, agent: &mut Agent, out: &mut Terminal) -> Result<(), Failure> {
    let mut stats = Stats::default();
    let recorded = agent.recorded().and_then(|transcript| StoredSession::read(transcript.path()).ok());
    if let Some(stored) = recorded {
        stats.add_session(&stored.records, None);
    } else {
        stats.sessions = 1;
        stats.usage = agent.usage();
        stats.models = BTreeMap::from([(model.name().unwrap_or_default(), stats.usage)]);
    }
    stats.print(rules, out)
}

/// Prints a blank line and a table. `columns` contains the column names, separated by `|`. On a terminal that is too
/// narrow, each row becomes a list.
fn print_table(columns: &Text, rows: &[(String, Vec<u64>)], out: &mut Terminal) -> Result<(), Failure> {
    const NARROWEST: usize = 16;
    const CELL: usize = 10;
    let columns = columns.words();
    let mut heads = columns.split('|');
    let first = heads.next().unwrap_or_default();
    let heads: Vec<&str> = heads.collect();
    out.write("\n")?;
    let widest = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default().max(NARROWEST);
    if out.is_terminal() && widest + CELL * heads.len() > out.look().width {
        return rows.iter().try_for_each(|(name, cells)| {
            let cells = heads.iter().zip(cells).map(|(head, cell)| format!("{head} {cell}"));
            out.line(name)?;
            out.wrapped(&format!("  {}", cells.collect::<Vec<_>>().join(", ")))
        });
    }
    let row = |first: &str, cells: &[String]| {
        cells.iter().fold(format!("{first:<widest$}"), |row, cell| row + &format!("{cell:>CELL$}"))
    };
    out.styled_line(Style::Dim, &row(first, &heads.iter().map(ToString::to_string).collect::<Vec<_>>()))?;
    rows.iter()
        .try_for_each(|(name, cells)| out.line(&row(name, &cells.iter().map(ToString::to_string).collect::<Vec<_>>())))
}
