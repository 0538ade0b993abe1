//! Compares the shell parser with bash: every program that bash starts is in the parser's list, with the same words if
//! the parser knows them, unless the text is unreadable.

use super::grammar::Grammar;
use super::shell::{Shell, Started};
use super::{FRAMES, PIECES};
use std::collections::BTreeMap;
use toolfence_kit::Random;
use toolfence_policy::shell_parser::{ShellWord, SimpleCommand, parse};

/// The number of readable texts to run, unless `PARSER_COMMANDS` sets another number, and the number that one bash
/// process runs.
const TEXTS: usize = 3_000;
const BATCH: usize = 250;

/// Small parts of the language, from which random texts are built and with which they are mutated.
const PARTS: &[&str] = &[
    " ",
    " ",
    " ",
    "\n",
    "\n",
    "\t",
    ";",
    "; ",
    "&",
    " && ",
    " || ",
    " | ",
    "|& ",
    "! ",
    "time ",
    "time -p ",
    "-- ",
    "a",
    "b",
    "E",
    "x=",
    "x+=",
    "X=1 ",
    "ls ",
    "cat ",
    "evil ",
    "evil",
    "wc a",
    "'",
    "\"",
    "\\",
    "\\\n",
    "$",
    "$'",
    "$\"",
    "`",
    "`evil`",
    "$(",
    ")",
    "$(evil)",
    "$(wc a)",
    "\"$(evil)\"",
    "'$(evil)'",
    "${x:-",
    "${x",
    "${x}",
    "}",
    "${x:-$(evil)}",
    "${x-a b}",
    "${#x}",
    "$x",
    "\"$x\"",
    "\"$@\"",
    "$#",
    "$((1+2))",
    "$((x",
    "))",
    "$((x+1))",
    "((",
    "( ",
    "(",
    "{ ",
    "; }",
    "{",
    "{a,b}",
    "{1..3}",
    "{ls,-l}",
    ",",
    "..",
    "{}",
    "if ",
    "; then ",
    "; elif ",
    "; else ",
    "; fi",
    "fi",
    "then ",
    "while no",
    "; do ",
    "; done",
    "for i in ",
    "for i",
    "case a in ",
    "case ",
    " in ",
    "a) ",
    "(a|b) ",
    "*) ",
    ";; ",
    ";& ",
    ";;& ",
    "esac",
    "[[ ",
    " ]]",
    "[ ",
    " ]",
    " == ",
    " =~ ",
    " -eq ",
    "-n ",
    "1",
    "<<E",
    "<<'E'",
    "<<-E",
    "<<\"E\"",
    "<<-\\E",
    "<<",
    "<<<",
    "\nE\n",
    "\n\tE\n",
    "\nE",
    "E\n",
    "<(evil)",
    ">(wc)",
    "<(",
    ">",
    ">>",
    ">x ",
    "2>&1 ",
    ">&",
    "&>x ",
    "<a.rs ",
    "<>",
    ">|",
    "{fd}>x ",
    "2",
    "#",
    " #",
    "~",
    "~/a",
    "*",
    "*.rs",
    "?",
    "[ab]",
    "[",
    "]",
    "%",
    "\\x41",
    "\\101",
    "\\cA",
    "\\u41",
    "é",
    "=",
    "+",
    "-",
    ":",
    "@",
    "!",
    "^",
    "export ",
    "export x=",
    "command ",
    "exec ",
    "eval ",
    "read x ",
    "set -- a b\n",
    "test ",
    "function ",
    "f() ",
    "select ",
    "coproc ",
    "@(a|b)",
    "a[0]",
    "a[$(evil)]",
    "${x%a}",
    "${!x}",
    "${x@P}",
    "$[1]",
    "\r",
    "\u{1}",
    "\u{b}",
    "RANDOM=",
    "SECONDS",
    "PS4=",
    "x='a[$(evil)]'; ",
];

/// Scripts that small changes make unusual.
const SCRIPTS: &[&str] = &[
    "for f in a.rs b.rs; do\n  if grep -q text \"$f\"; then\n    ls -l \"$f\" # a comment\n  else\n    evil $f\n  fi\ndone | sort\n",
    "cat > out <<'E'\ntext $(evil)\nE\ncat <<E | wc -l\n$(ls a) `wc b` ${x:-c} \\$x\nE\nhead -n 1 out\n",
    "x=$(basename a.rs .rs); y=\"${x:-none} $(cat <<E\n$x\nE\n)\"\nif [ -n \"$x\" ] && [[ $y == n* ]]; then evil \"$y\"; fi\n",
    "case \"$1\" in\n  (start|stop) evil \"$1\" ;;\n  '') ls -la {a,b}.rs ;&\n  *) wc -l < a.rs 2>/dev/null ;;\nesac\n",
    "( ls; { cat a.rs; } >out 2>&1; ) && ! grep x out || evil $'a\\tb' \"c\\\"d\" 'e'\\''f'\n",
    "while no; do evil; done\nsort <(cat a.rs) <<< \"$(ls)\" | head -n $((1 + 2))\n",
    "cat <<-A <<B <<'C' | wc -l & ls\n\ttext\n\tA\n$(evil 1)\nB\n$(evil 2)\nC\nevil 3; wait\n",
    "export X=1 Y=\"a b\"; n=3\nif ls \\\n  -l \\\n  a; then wc $((n * 2)) ${#X} \"${Y:-$(evil)}\"; elif cat; then :; fi\ntime -p ls; echo \"`evil 'a b'`\"\n",
];

/// Returns a readable text from a random source.
fn make_text(random: &mut Random) -> String {
    match random.below(8) {
        0 | 1 => Grammar::new(random).command(),
        2 => random.pick(FRAMES).replace('@', &random.text(PIECES, 9)),
        3 => random.text(PARTS, 8),
        4 => mutate(&Grammar::new(random).command(), random),
        _ => {
            let script = *random.pick(SCRIPTS);
            mutate(script, random)
        }
    }
}

/// Removes, doubles, swaps or inserts something at up to four places.
fn mutate(text: &str, random: &mut Random) -> String {
    let mut characters: Vec<char> = text.chars().collect();
    for _ in 0..=random.below(4) {
        let at = random.below(characters.len() + 1);
        let end = (at + random.below(4)).min(characters.len());
        match random.below(6) {
            0 => drop(characters.drain(at..end)),
            1 => {
                let copied: Vec<char> = characters[at..end].to_vec();
                let to = random.below(characters.len() + 1);
                drop(characters.splice(to..to, copied));
            }
            2 if at + 1 < characters.len() => characters.swap(at, at + 1),
            _ => drop(characters.splice(at..at, random.pick(PARTS).chars())),
        }
    }
    characters.into_iter().collect()
}

#[test]
fn every_program_that_bash_starts_is_in_the_parsed_list() {
    let count = std::env::var("PARSER_COMMANDS").map_or(TEXTS, |count| count.parse().expect("a number"));
    let seed = std::env::var("PARSER_SEED").map_or(12, |seed| seed.parse().expect("a number"));
    let mut random = Random::new(seed);
    let (mut made, mut readable) = (0, Vec::new());
    while readable.len() < count {
        let text = make_text(&mut random);
        made += 1;
        // Skip the text if a mutation may have removed the `break` of a loop.
        let count_of = |word: &str| text.matches(word).count();
        if count_of("while") + count_of("until") > count_of("break") {
            continue;
        }
        if let Ok(parsed) = parse(&text)
            && let Some(commands) = expand_eval(parsed.commands)
        {
            readable.push((text, commands));
        }
    }
    let (first, second) = readable.split_at(readable.len() / 2);
    let (mut outcome, other) = std::thread::scope(|scope| {
        let other = scope.spawn(|| compare(second));
        (compare(first), other.join().expect("the other half runs as well"))
    });
    outcome.wrong.extend(other.wrong);
    outcome.idle += other.idle;
    for (kind, number) in other.counts {
        *outcome.counts.entry(kind).or_default() += number;
    }
    println!("{made} texts, {count} of them readable, started {:?}; {} started nothing", outcome.counts, outcome.idle);
    assert!(outcome.wrong.is_empty(), "{}:\n{}", outcome.wrong.len(), outcome.wrong.join("\n"));
    let all: usize = outcome.counts.values().sum();
    assert!(all > count && outcome.idle < count / 2 && outcome.counts["exact"] * 2 > all, "too little was tried");
}

#[derive(Default)]
struct Outcome {
    counts: BTreeMap<&'static str, usize>,
    idle: usize,
    wrong: Vec<String>,
}

/// Runs the texts and looks for each started program in the commands of its text.
fn compare(texts: &[(String, Vec<SimpleCommand>)]) -> Outcome {
    let shell = Shell::with_stubs_alone();
    let mut outcome = Outcome::default();
    for batch in texts.chunks(BATCH) {
        let scripts: Vec<String> = batch.iter().map(|(text, _)| text.clone()).collect();
        for ((text, commands), started) in batch.iter().zip(shell.run(&scripts)) {
            outcome.idle += usize::from(started.is_empty());
            for program in &started {
                let mut matching =
                    commands.iter().map(|command| own_words(&command.words)).filter(|words| fits(words, program));
                let names_anything = || {
                    commands.iter().any(|it| own_words(&it.words).first().is_some_and(|name| name.literal().is_none()))
                };
                let kind = match matching.next() {
                    Some(words) if words.iter().all(|word| word.literal().is_some()) => "exact",
                    Some(words) if words[0].literal().is_some() => "named",
                    Some(_) => "unknown",
                    // A command whose name is unknown could be `eval`, which can start any program.
                    None if names_anything() => "unknown",
                    None => {
                        outcome.wrong.push(format!("{text:?}\n    started {program:?}\n    parsed {commands:?}"));
                        "missing"
                    }
                };
                *outcome.counts.entry(kind).or_default() += 1;
            }
        }
    }
    outcome
}

/// Returns the words of the command that `command`, `exec` and `builtin` start.
fn own_words(mut words: &[ShellWord]) -> &[ShellWord] {
    while let Some((name, rest)) = words.split_first()
        && matches!(name.literal(), Some("command" | "exec" | "builtin" | "-p" | "--"))
    {
        words = rest;
    }
    words
}

/// Returns the commands, including those inside `eval`. Returns `None` if the parser cannot read an evaluated text.
fn expand_eval(commands: Vec<SimpleCommand>) -> Option<Vec<SimpleCommand>> {
    let mut all = Vec::new();
    let mut rest = commands;
    while let Some(command) = rest.pop() {
        let words = own_words(&command.words);
        match words.first().map(ShellWord::literal) {
            Some(Some("eval")) => {
                let texts: Vec<&str> = words[1..].iter().map(ShellWord::literal).collect::<Option<_>>()?;
                rest.extend(parse(&texts.join(" ")).ok()?.commands);
            }
            Some(Some("trap" | "source" | "." | "-c" | "-l" | "-a")) => return None,
            _ => {}
        }
        all.push(command);
    }
    Some(all)
}

/// Returns whether the parsed words can expand to the words of the started program.
fn fits(words: &[ShellWord], program: &Started) -> bool {
    // `matched[n]` is true if the words so far can expand to the first `n` words of the program.
    let mut matched = vec![false; program.0.len() + 1];
    matched[0] = true;
    for word in words {
        let mut next = vec![false; matched.len()];
        for at in 0..matched.len() {
            if !matched[at] {
                continue;
            }
            match word {
                ShellWord::Literal(text) => {
                    if program.0.get(at) == Some(text) {
                        next[at + 1] = true;
                    }
                }
                ShellWord::Unknown { prefix, several: false, .. } => {
                    if program.0.get(at).is_some_and(|word| word.starts_with(prefix.as_str())) {
                        next[at + 1] = true;
                    }
                }
                ShellWord::Home(text) => {
                    if program.0.get(at).is_some_and(|word| word.starts_with('/') && word.ends_with(&text[1..])) {
                        next[at + 1] = true;
                    }
                }
                ShellWord::Pattern(_) => next[at + 1..].fill(true),
                ShellWord::Unknown { .. } => next[at..].fill(true),
            }
        }
        matched = next;
    }
    matched[program.0.len()]
}
