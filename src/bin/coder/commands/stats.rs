//! `coder stats`: what conversations that were written down cost, which calls were made in them, and what became of those.

use super::sessions::{named, store};
use crate::args::{Options, StatsArguments};
use crate::failure::Failure;
use crate::messages;
use crate::setup::Setup;
use crate::shown::Words;
use crate::terminal::{Style, Terminal, tell};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashSet};
use std::process::ExitCode;
use std::time::SystemTime;
use toolfence::Text;
use toolfence::agent::Agent;
use toolfence::backend::Usage;
use toolfence::metrics::{Metrics, Times};
use toolfence::program::transcript::{Record, RecordedCall, RecordedResult, Role, Stored, Summary, rfc3339};

/// What is counted.
#[derive(Debug, Default)]
struct Stats {
    sessions: u64,
    /// By the model that answered; empty where it is not known.
    models: BTreeMap<String, Usage>,
    decisions: Decisions,
    metrics: Metrics,
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
    /// What an agent has done since it was made.
    fn of_agent(setup: &Setup, agent: &Agent) -> Stats {
        let metrics = agent.metrics();
        let denied = |by: &str| metrics.denied.get(by).copied().unwrap_or_default();
        let yes = ["yes", "always"].map(|answer| metrics.answers.get(answer).copied().unwrap_or_default());
        let ran = metrics.tool_times().count();
        let decisions = Decisions {
            allowed_by_policy: ran.saturating_sub(yes.iter().sum()),
            denied_by_policy: denied("policy"),
            allowed_by_person: yes.iter().sum(),
            denied_by_person: denied("person"),
            denied_by_nobody: denied("nobody"),
        };
        let models = BTreeMap::from([(setup.model().unwrap_or_default(), metrics.usage)]);
        Stats { sessions: 1, models, decisions, metrics }
    }

    fn session(&mut self, records: &[Record], since: Option<&str>) {
        // Times as they are written are in the order of time.
        let records: Vec<&Record> =
            records.iter().filter(|record| since.is_none_or(|since| record.timestamp.as_str() >= since)).collect();
        if records.is_empty() {
            return;
        }
        self.sessions += 1;
        let mut replied = false;
        for record in records {
            // Calls stand behind their reply.
            self.metrics.rounds += u64::from(record.role == Role::Tool && std::mem::take(&mut replied));
            replied |= record.role == Role::Assistant;
            self.record(record);
        }
    }

    fn record(&mut self, record: &Record) {
        match record.role {
            Role::User => self.metrics.turns += 1,
            Role::Assistant => {
                let tokens = record.tokens;
                let [input, cached, output] =
                    tokens.map_or([0; 3], |tokens| [tokens.input, tokens.cached, tokens.output]);
                let mut usage = Usage::counted(input, cached, output);
                usage.estimated = tokens.map_or(0, |tokens| u64::from(tokens.estimated));
                *self.models.entry(record.model.clone().unwrap_or_default()).or_default() += usage;
                self.metrics.usage += usage;
                if let Some(times) = record.times {
                    self.metrics.model.add(times.total_ms);
                    times.first_ms.into_iter().for_each(|ms| self.metrics.first_byte.add(ms));
                }
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
        let metrics = &mut self.metrics;
        let code = result.error.as_ref().map(|error| error.code.as_str());
        let verdict = call.decision.as_ref().map(|decision| decision.verdict.as_str());
        let denied = code == Some("denied") || verdict == Some("deny");
        let ran = !denied && matches!(verdict, Some("allow" | "ask"));
        if call.name.is_empty() {
            metrics.malformed += 1;
        } else {
            metrics.count_call(&result.tool_name, result.success, ran.then_some(result.execution_time_ms));
        }
        call.repairs.iter().for_each(|repair| metrics.count_repair(repair));
        code.into_iter().for_each(|code| metrics.count_failure(code));
        call.asked.iter().for_each(|asked| metrics.count_answer(Some(&asked.answer), asked.ms));
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
        let Metrics { turns, rounds, usage, tools, failures, asked, answers, repairs, malformed, .. } = &self.metrics;
        let tools: Map<String, Value> = tools
            .iter()
            .map(|(tool, counts)| {
                let told = json!({"calls": counts.calls, "failed": counts.failed, "ms": counts.times});
                (tool.clone(), told)
            })
            .collect();
        let times: Map<String, Value> =
            self.times().map(|(name, _, times)| (name.to_owned(), json!(times))).into_iter().collect();
        json!({
            "v": super::SCHEMA, "sessions": self.sessions, "turns": turns, "rounds": rounds,
            "tokens": told(usage, self.price(setup)), "models": models, "tools": tools, "failures": failures,
            "decisions": self.decisions, "asked": asked, "answers": answers, "repairs": repairs,
            "unreadable_blocks": malformed, "times": times,
        })
    }

    /// How long everything took that somebody waited for: its name in JSON, and for people.
    fn times(&self) -> [(&'static str, Text, Times); 4] {
        let Metrics { model, first_byte, person, .. } = &self.metrics;
        [
            ("model", messages::stats_times_of_model(), model.clone()),
            ("first_byte", messages::stats_times_to_first_byte(), first_byte.clone()),
            ("tools", messages::stats_times_of_tools(), self.metrics.tool_times()),
            ("person", messages::stats_times_of_person(), person.clone()),
        ]
    }

    fn shown(&self, setup: &Setup, out: &mut Terminal) -> Result<(), Failure> {
        let Metrics { turns, rounds, usage, tools, failures, asked, answers, repairs, malformed, .. } = &self.metrics;
        out.line(&messages::stats_of(self.sessions, *turns, *rounds))?;
        out.line(&messages::usage(usage, self.price(setup)))?;
        if !tools.is_empty() {
            let rows = tools.iter().map(|(tool, counts)| {
                let numbers = [counts.calls, counts.failed].into_iter().chain(quantiles(&counts.times));
                (tool.clone(), numbers.collect())
            });
            table(&messages::stats_columns(), &rows.collect::<Vec<_>>(), out)?;
        }
        if usage.replies > 0 {
            let rows = self.times().map(|(_, name, times)| {
                let numbers = [times.count()].into_iter().chain(quantiles(&times));
                (name.words().into_owned(), numbers.collect())
            });
            table(&messages::stats_columns_of_times(), &rows, out)?;
        }
        out.write("\n")?;
        let Decisions { allowed_by_policy, denied_by_policy, allowed_by_person, denied_by_person, denied_by_nobody } =
            self.decisions;
        out.line(&messages::stats_allowed(allowed_by_policy, allowed_by_person))?;
        out.line(&messages::stats_denied(denied_by_policy, denied_by_person, denied_by_nobody))?;
        let counts = |counts: &BTreeMap<String, u64>| {
            counts.iter().map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join(", ")
        };
        if !answers.is_empty() {
            out.line(&messages::stats_answers(*asked, counts(answers)))?;
        }
        if !failures.is_empty() {
            out.line(&messages::stats_failures(counts(failures)))?;
        }
        if !repairs.is_empty() {
            out.line(&messages::stats_repairs(counts(repairs)))?;
        }
        if *malformed > 0 {
            out.line(&messages::stats_unreadable(*malformed))?;
        }
        Ok(())
    }
}

/// Shows what an agent has done since it was made: `/stats` of a conversation.
pub(crate) fn show(setup: &Setup, agent: &Agent, out: &mut Terminal) -> Result<(), Failure> {
    Stats::of_agent(setup, agent).shown(setup, out)
}

fn quantiles(times: &Times) -> [u64; 3] {
    [times.p50(), times.p90(), times.most()]
}

/// A blank line, the names of the columns, which one text has with `|` between them, and the rows. Where the terminal is too narrow for
/// them, each row is a list.
fn table(columns: &Text, rows: &[(String, Vec<u64>)], out: &mut Terminal) -> Result<(), Failure> {
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
            out.told(&format!("  {}", cells.collect::<Vec<_>>().join(", ")))
        });
    }
    let row = |first: &str, cells: &[String]| {
        cells.iter().fold(format!("{first:<widest$}"), |row, cell| row + &format!("{cell:>CELL$}"))
    };
    out.styled_line(Style::Dim, &row(first, &heads.iter().map(ToString::to_string).collect::<Vec<_>>()))?;
    rows.iter()
        .try_for_each(|(name, cells)| out.line(&row(name, &cells.iter().map(ToString::to_string).collect::<Vec<_>>())))
}
