//! The judge beside the shell: commands made at random run through a real bash whose PATH holds nothing but stubs, and every
//! program that started must be one that the judge saw. What is allowed must start only what is allowed by itself.

mod grammar;
mod parser;
mod shell;

use super::World;
use grammar::Grammar;
use shell::{Shell, Started};
use std::cell::LazyCell;
use std::collections::BTreeMap;
use std::sync::LazyLock;
use toolfence_kit::Random;
use toolfence_policy::Met;
use toolfence_policy::{Decision, Judgement, Policy, Settings};

/// How many commands are made, unless `AGREEMENT_COMMANDS` says another number; and how many of them one bash runs.
const COMMANDS: usize = 2_000;
const BATCH: usize = 125;

/// Stubs of which no option writes or runs anything: in the sandbox their words may be whatever a run makes of them.
const ONLY_READ: &[&str] = &["ls", "cat", "wc", "grep", "head", "basename"];

static POLICY: LazyLock<Policy> = LazyLock::new(Policy::default);

/// How the judge saw a program that started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Seen {
    /// With exactly these words.
    Exactly,
    /// The program, but only a run would tell its words.
    ByName,
    /// Only that something runs which nobody can tell.
    AsUntold,
    NotAtAll,
}

#[test]
fn every_program_that_starts_was_seen() {
    let count = std::env::var("AGREEMENT_COMMANDS").map_or(COMMANDS, |count| count.parse().expect("a number"));
    let mut random = Random::new(42);
    let commands: Vec<String> = (0..count).map(|_| Grammar::new(&mut random).command()).collect();
    // Bash works on one half of them while it works on the other.
    let (first, second) = commands.split_at(commands.len() / 2);
    let mut started = std::thread::scope(|scope| {
        let beside = scope.spawn(|| run(second));
        let mut started = run(first);
        started.extend(beside.join().expect("the other half runs as well"));
        started
    });
    let mut counts: BTreeMap<Seen, usize> = BTreeMap::new();
    let (mut allowed, mut held, mut wrong) = (0, 0, Vec::new());
    for (command, started) in commands.iter().zip(started.drain(..)) {
        let decision = POLICY.judge_command(command, "", &World { sandbox: false });
        allowed += usize::from(decision.judgement == Judgement::Allow && !started.is_empty());
        // In the sandbox more is allowed, and the same law holds for it.
        let inside = POLICY.judge_command(command, "", &World { sandbox: true });
        held += usize::from(inside.judgement == Judgement::Allow && !started.is_empty());
        let any_words = |program: &Started| ONLY_READ.contains(&program.0[0].as_str());
        for program in started.iter().filter(|program| !any_words(program) && !holds(&inside, program, true)) {
            wrong.push(format!("{command}\n    started {program:?} in the sandbox: {}", inside.reason));
        }
        for (program, seen) in started.iter().zip(seen(command, &decision, &started)) {
            *counts.entry(seen).or_default() += 1;
            if seen == Seen::NotAtAll || !holds(&decision, program, false) {
                wrong
                    .push(format!("{command}\n    started {program:?}; {:?}: {}", decision.judgement, decision.reason));
            }
        }
    }
    let all: usize = counts.values().sum();
    println!(
        "{count} commands started {all} programs: {counts:?}; {allowed} commands were allowed, {held} in the sandbox"
    );
    assert!(wrong.is_empty(), "{} of {all}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(all > count / 2 && allowed > count / 20 && held > allowed, "too little was tried");
    assert!(counts[&Seen::Exactly] * 10 > all * 6, "too little was seen exactly");
}

/// What is put together to texts whose quotes, here-documents, braces and comments end where nobody would look for it.
const PIECES: &[&str] = &[
    "<<E",
    "<<'E'",
    "<<-E",
    "<<\\E",
    "<<",
    "<<<",
    "<",
    "<(",
    "\nE\n",
    "\nE",
    "E\n",
    "E",
    "\nE \n",
    "\n\tE\n",
    "\nE\\\n",
    "\\\nE\n",
    "\\\n",
    "\\",
    "\n",
    "\r",
    "\t",
    " ",
    "'",
    "\"",
    "`",
    "''",
    "\"\"",
    "$'",
    "$$",
    "$${",
    "\\$'",
    "  #",
    "#\\\n",
    "$(",
    "$((",
    "))",
    ")",
    "((",
    "( ",
    "${x:-",
    "${x}",
    "${#x}",
    "$[1]",
    "$x",
    "{a,",
    "{a}",
    "{",
    "}",
    "..",
    ",",
    "1",
    "#",
    " # ",
    "[[ ",
    " ]]",
    "case x in x) ",
    ";; esac",
    "if ",
    "then ",
    "fi",
    "for i in a b; do ",
    "; done",
    "f() ",
    "function f ",
    "{ ",
    "; }",
    "! ",
    "|",
    "&&",
    ";",
    "&",
    "2>&1",
    ">/dev/null ",
    "a=(",
    "x=",
    "x",
    "~",
    "*",
    "cat ",
    "echo ",
    "\nevil\n",
    "evil\n",
    "evil ",
    ";evil;",
    "evil",
];

/// Around such a text, which stands for `@`.
const FRAMES: &[&str] = &[
    "@",
    "echo @",
    "ls @",
    "echo \"@\"",
    "echo '@'",
    "echo $'@'",
    "echo `@`",
    "echo $(cat <<E\n@\nE\n)",
    "echo $((@))",
    "echo ${x:-@}",
    "echo {a@}",
    "cat <<E\n@\nE\n",
    "cat <<E @\nx\nE\n",
    "cat <<'E'\n@\nE\n",
    "cat <<-E\n\t@\n\tE\n",
    "cat <<E\n@\nE\ncat a.rs",
    "cat <<E | cat\n@\nE\n",
    "(cat <<E)\n@\nE\n",
    "[[ @ ]]",
    "echo a #@\ncat a.rs",
    "for i in @; do echo $i; done",
    "case x in @) ls;; esac",
    "cat <<E\n@\nevil\nE\n",
    "cat <<E @\nevil\nE\n",
    "echo ${x:-@\nevil\nE\n",
    "echo $(cat @\nevil\nE\n",
    "ls @\nevil\nE\n",
];

#[test]
fn what_is_allowed_starts_nothing_that_only_bash_sees() {
    let mut random = Random::new(7);
    let allowed = |command: &String| {
        let judged = |sandbox| POLICY.judge_command(command, "", &World { sandbox }).judgement == Judgement::Allow;
        command.contains("evil") && (judged(false) || judged(true))
    };
    let mut made = || random.pick(FRAMES).replace('@', &random.text(PIECES, 9));
    let commands: Vec<String> = std::iter::repeat_with(&mut made).take(2 * COMMANDS).filter(allowed).collect();
    let started = run(&commands);
    let is_evil = |program: &Started| program.0[0] == "evil";
    let wrong = commands.iter().zip(&started).filter(|(_, started)| started.iter().any(is_evil)).collect::<Vec<_>>();
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(commands.len() > COMMANDS / 20, "only {} were allowed", commands.len());
}

fn run(commands: &[String]) -> Vec<Vec<Started>> {
    let shell = Shell::new();
    commands.chunks(BATCH).flat_map(|batch| shell.run(batch)).collect()
}

/// Asks by rules that deny: what a rule for these words meets, the judge has seen.
fn seen(command: &str, decision: &Decision, started: &[Started]) -> Vec<Seen> {
    if started.is_empty() {
        return Vec::new();
    }
    let mut rules: Vec<&[String]> = started.iter().map(|program| program.0.as_slice()).collect();
    // The first rule that a command begins with is told: the longest, then.
    rules.sort_unstable_by_key(|words| std::cmp::Reverse(words.len()));
    let exact = denied(command, &rules);
    let names: Vec<&[String]> = started.iter().map(|program| &program.0[..1]).collect();
    // Most programs are seen with their words, and each question judges the command again.
    let named = LazyCell::new(|| denied(command, &names));
    let told = |met: &Met| {
        ["only a run would tell", "Nobody can tell"].iter().any(|text| met.reason.to_string().contains(text))
            || met.rule == "unreadable"
    };
    let open = decision.judgement != Judgement::Allow && decision.met.iter().any(told);
    let finds = command.contains(['*', '?', '[']) || command.contains("{}") || command.contains("xargs");
    let of = |program: &Started| match () {
        () if exact.contains(&reason(&program.0)) => Seen::Exactly,
        () if named.contains(&reason(&program.0[..1])) && (open || finds) => Seen::ByName,
        () if open => Seen::AsUntold,
        () => Seen::NotAtAll,
    };
    started.iter().map(of).collect()
}

/// The reasons of a policy that denies what begins with any of these words.
fn denied(command: &str, rules: &[&[String]]) -> Vec<String> {
    let settings =
        Settings::from_toml(&format!("[commands]\ndeny = {}", serde_json::to_string(rules).unwrap())).unwrap();
    let policy = Policy::new(settings).unwrap();
    let met = policy.judge_command(command, "", &World { sandbox: false }).met;
    met.into_iter().filter(|met| met.rule == "commands.deny").map(|met| met.reason.to_string()).collect()
}

fn reason(words: &[String]) -> String {
    format!("The settings deny commands that begin with {:?}.", words.join(" "))
}

/// What an allowed command starts has to be allowed when it stands alone.
fn holds(decision: &Decision, program: &Started, sandbox: bool) -> bool {
    if decision.judgement > Judgement::Allow {
        return true;
    }
    let quoted: Vec<String> = program.0.iter().map(|word| format!("'{}'", word.replace('\'', r"'\''"))).collect();
    let alone = POLICY.judge_command(&quoted.join(" "), "", &World { sandbox });
    alone.judgement == Judgement::Allow
}
