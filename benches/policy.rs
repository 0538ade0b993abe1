//! The judge on the commands of `tests/cases/policy`, beside its parser alone. `benches/policy-peers` has another parser.

use criterion::{Criterion, Throughput, criterion_group};
use std::hint::black_box;
use std::time::Instant;
use toolfence::policy::{Facts, PathFact, Policy, ProgramFact};
use toolfence::program::policy::RepositoryFact;
use toolfence_kit::{CaseFiles, signs};

/// The goal is told of commands up to this many bytes.
const SHORT: usize = 80;

/// A host that answers at once: what it costs to ask a file system is not measured here.
struct World;

impl Facts for World {
    fn path(&self, _: &str, path: &str) -> PathFact {
        let outside = path.starts_with('/') || path.starts_with("..");
        if outside { PathFact::Outside } else { PathFact::Inside { names: vec![path.to_owned()] } }
    }

    fn program(&self, _: &str) -> ProgramFact {
        ProgramFact::System
    }

    fn repository(&self, _: &str) -> RepositoryFact {
        RepositoryFact::Plain
    }

    fn sandbox_holds(&self) -> bool {
        false
    }
}

/// The commands of a folder of cases, up to so many bytes, but for those that the gate keeps from the parser, which would
/// not survive them.
fn commands(folder: &str, most: usize) -> Vec<String> {
    let pairs = CaseFiles::of(&format!("policy/{folder}")).pairs();
    let mut all: Vec<String> = pairs.iter().map(|(_, command)| signs::read_command(command.text())).collect();
    all.retain(|command| command.len() <= most);
    let policy = Policy::default();
    let read = |command: &String| {
        let decision = policy.judge_command(command, "", &World);
        !decision.unreadable && decision.rule != "too_large"
    };
    all.retain(read);
    all.sort_unstable();
    all
}

fn judge(policy: &Policy, commands: &[String]) -> usize {
    commands.iter().map(|command| policy.judge_command(black_box(command), "", &World).met.len()).sum()
}

/// The parser that the judge uses, with nothing around it.
fn parse(commands: &[String]) -> usize {
    let options = brush_parser::ParserOptions::default();
    let read = |command: &String| {
        let tokens = brush_parser::uncached_tokenize_str(black_box(command), &options.tokenizer_options()).ok()?;
        brush_parser::parse_tokens(&tokens, &options).ok().map(|program| program.complete_commands.len())
    };
    commands.iter().filter_map(read).sum()
}

fn policy(criterion: &mut Criterion) {
    let policy = Policy::default();
    for folder in ["everyday", "hostile"] {
        let short = commands(folder, SHORT);
        let mut group = criterion.benchmark_group(format!("{folder}, up to {SHORT} bytes"));
        group.throughput(Throughput::Elements(short.len() as u64));
        group.bench_function("brush-parser alone", |b| b.iter(|| parse(&short)));
        group.bench_function("toolfence", |b| b.iter(|| judge(&policy, &short)));
        group.finish();
    }
}

criterion_group!(benches, policy);

fn main() {
    benches();
    table();
}

/// Prints the time of a verdict beside that of the parser alone, measured in turns so that a busy moment falls on both; the
/// best of each counts.
fn table() {
    let policy = Policy::default();
    println!("| commands | toolfence, µs | verdicts/s | brush-parser alone, µs |\n|---|---|---|---|");
    for folder in ["everyday", "hostile"] {
        for (name, most) in [(format!("up to {SHORT} bytes"), SHORT), ("all".to_owned(), usize::MAX)] {
            let commands = commands(folder, most);
            let micros = |seconds: f64| seconds / commands.len() as f64 * 1e6;
            let ours = micros(best(|| judge(&policy, &commands)));
            let parser = micros(best(|| parse(&commands)));
            println!("| {folder}, {name} ({}) | {ours:.2} | {:.0} | {parser:.2} |", commands.len(), 1e6 / ours);
        }
    }
}

/// Seconds of the fastest of a few runs.
fn best(work: impl Fn() -> usize) -> f64 {
    let run = || {
        let started = Instant::now();
        black_box(work());
        started.elapsed().as_secs_f64()
    };
    (0..15).map(|_| run()).fold(f64::INFINITY, f64::min)
}
