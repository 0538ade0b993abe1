//! The verdicts on the commands of `tests/cases/policy`, beside parsers that only read: the judge's own, and tree-sitter's.
//!
//! `cargo bench --manifest-path benches/Cargo.toml --features policy --bench policy`

use std::hint::black_box;
use std::time::Instant;
use toolfence::policy::{Facts, PathFact, Policy, ProgramFact};
use toolfence::program::policy::RepositoryFact;
use toolfence_kit::{CaseFiles, signs};

/// The goal is told of commands up to this many bytes.
const SHORT: usize = 80;
const RUNS: usize = 15;

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
    let read =
        |command: &String| parser.parse(black_box(command), None).map(|tree| tree.root_node().child_count() as usize);
    commands.iter().filter_map(read).sum()
}

/// Each figure is the best of some runs, taken in turns so that a busy moment falls on all.
fn main() {
    let policy = Policy::default();
    println!(
        "| µs a command | toolfence, verdict | brush-parser, parse | tree-sitter-bash, parse |\n|---|---:|---:|---:|"
    );
    for folder in ["everyday", "hostile"] {
        for (name, most) in [(format!("up to {SHORT} bytes"), SHORT), ("all".to_owned(), usize::MAX)] {
            let commands = commands(folder, most);
            let mut times = [f64::INFINITY; 3];
            for _ in 0..RUNS {
                let turns = [
                    seconds(|| judge(&policy, &commands)),
                    seconds(|| brush(&commands)),
                    seconds(|| tree_sitter(&commands)),
                ];
                times.iter_mut().zip(turns).for_each(|(best, time)| *best = best.min(time));
            }
            let [ours, brush, tree] = times.map(|time| time / commands.len() as f64 * 1e6);
            println!("| {folder}, {name} ({}) | {ours:.2} | {brush:.2} | {tree:.2} |", commands.len());
        }
    }
}

fn seconds(work: impl FnOnce() -> usize) -> f64 {
    let started = Instant::now();
    black_box(work());
    started.elapsed().as_secs_f64()
}
