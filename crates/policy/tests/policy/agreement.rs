//! Compares the shell parser and the judge with a real bash whose PATH contains only stubs.

mod grammar;
mod parser;
mod shell;

use super::World;
use grammar::Grammar;
use shell::{Shell, Started};
use std::sync::LazyLock;
use toolfence_kit::Random;
use toolfence_policy::{Judgement, Policy};

/// The number of generated commands, unless `AGREEMENT_COMMANDS` sets another number, and the number that one bash
/// process runs.
const COMMANDS: usize = 3_000;
const BATCH: usize = 125;

static POLICY: LazyLock<Policy> = LazyLock::new(Policy::default);

/// Without a sandbox, a command that runs without a question starts only programs that run without a question by
/// themselves.
#[test]
fn commands_without_a_sandbox_start_only_harmless_programs() {
    let count = std::env::var("AGREEMENT_COMMANDS").map_or(COMMANDS, |count| count.parse().expect("a number"));
    let mut random = Random::new(42);
    let is_allowed = |text: &str| POLICY.judge_command(text, "", &World::default()).judgement == Judgement::Allow;
    let made = (0..count * 8).map(|at| match at % 2 {
        0 => Grammar::new(&mut random).command(),
        _ => random.pick(FRAMES).replace('@', &random.text(PIECES, 9)),
    });
    let allowed: Vec<String> = made.filter(|command| is_allowed(command)).take(count).collect();
    let mut wrong = Vec::new();
    let (shell, mut programs) = (Shell::new(), 0);
    for batch in allowed.chunks(BATCH) {
        for (command, started) in batch.iter().zip(shell.run(batch)) {
            for Started(words) in &started {
                programs += 1;
                let alone: Vec<String> =
                    words.iter().map(|word| format!("'{}'", word.replace('\'', r"'\''"))).collect();
                if !is_allowed(&alone.join(" ")) {
                    wrong.push(format!("{command}\n    started {words:?}"));
                }
            }
        }
    }
    println!("{} of {} commands run, and started {programs} programs", allowed.len(), count * 8);
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(allowed.len() * 10 > count && programs > allowed.len() / 4, "too little was tried");
}

/// Pieces of texts whose quotes, here-documents, braces and comments end at unexpected places.
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

/// Frames for such a text, which replaces `@`.
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
