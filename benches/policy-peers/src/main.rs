//! Verdicts per second beside parsers that only read: `cargo run --release --manifest-path benches/policy-peers/Cargo.toml`.
//! The commands are those of `tests/cases/policy`; each figure is the best of some runs, taken in turns.

use std::hint::black_box;
use std::time::Instant;
use toolfence::program::policy::RepositoryFact;
use toolfence::policy::{Facts, PathFact, Policy, ProgramFact};
use toolfence_kit::{CaseFiles, signs};

const RUNS: usize = 15;
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

fn main() {
    let policy = Policy::default();
    println!("| commands up to {SHORT} bytes | toolfence, verdict | brush-parser, parse | tree-sitter-bash, parse |");
    println!("|---|---|---|---|");
    for folder in ["everyday", "hostile"] {
        let commands = commands(folder, &policy);
        let mut times = [f64::INFINITY; 3];
        for _ in 0..RUNS {
            let turns = [seconds(|| judged(&policy, &commands)), seconds(|| brush(&commands)), seconds(|| tree_sitter(&commands))];
            times.iter_mut().zip(turns).for_each(|(best, time)| *best = best.min(time));
        }
        let [ours, brush, tree] = times.map(|time| {
            let micros = time / commands.len() as f64 * 1e6;
            format!("{micros:.2} µs, {:.0}/s", 1e6 / micros)
        });
        println!("| {folder} ({}) | {ours} | {brush} | {tree} |", commands.len());
    }
}

/// The commands of a folder of cases that the gate lets through to the parser.
fn commands(folder: &str, policy: &Policy) -> Vec<String> {
    let pairs = CaseFiles::of(&format!("policy/{folder}")).pairs();
    let mut all: Vec<String> = pairs.iter().map(|(_, command)| signs::read_command(command.text())).collect();
    all.retain(|command| command.len() <= SHORT);
    all.retain(|command| {
        let decision = policy.judge_command(command, "", &World);
        !decision.unreadable && decision.rule != "too_large"
    });
    all
}

fn judged(policy: &Policy, commands: &[String]) -> usize {
    commands.iter().map(|command| policy.judge_command(black_box(command), "", &World).met.len()).sum()
}

fn brush(commands: &[String]) -> usize {
    let options = brush_parser::ParserOptions::default();
    let read = |command: &String| {
        let tokens = brush_parser::uncached_tokenize_str(black_box(command), &options.tokenizer_options()).ok()?;
        brush_parser::parse_tokens(&tokens, &options).ok().map(|program| program.complete_commands.len())
    };
    commands.iter().filter_map(read).sum()
}

fn tree_sitter(commands: &[String]) -> usize {
    let mut parser = tree_sitter::Parser::new();
    parser.set_language(&tree_sitter_bash::LANGUAGE.into()).expect("the grammar is of this runtime's version");
    let read = |command: &String| parser.parse(black_box(command), None).map(|tree| tree.root_node().child_count());
    commands.iter().filter_map(read).sum()
}

fn seconds(work: impl FnOnce() -> usize) -> f64 {
    let started = Instant::now();
    black_box(work());
    started.elapsed().as_secs_f64()
}
