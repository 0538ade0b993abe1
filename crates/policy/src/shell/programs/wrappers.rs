//! Programs whose arguments are a command: what they would run.

use super::arguments::Arguments;
use super::{Adds, Inner, Profile, entry, fact, has, shells};
use crate::shell::expand::Word;

/// Whether the variable changes nothing but how output looks.
pub(crate) fn is_harmless_variable(name: &str) -> bool {
    fact("variable-harmless", "are").is_some_and(|names| has(names, name))
}

/// What the program of `argv` would run, if it is one that runs others.
pub(crate) fn inner(program: &str, argv: &[Word]) -> Vec<Inner> {
    if let Some(shell) = entry(program, "shell") {
        return shells::inner(shell, argv).into_iter().collect();
    }
    if let Some(joins) = entry(program, "joins") {
        return vec![joined(joins, argv)];
    }
    if let Some(inners) = special(program, argv) {
        return inners;
    }
    let verb = argv.get(1).and_then(Word::guess).unwrap_or_default();
    let with_verb = entry(&[program, verb].join(":"), "runner").map(|runner| (runner, 2));
    let alone = || Some((entry(program, "runner").or_else(|| entry(program, "wraps"))?, 1));
    with_verb.or_else(alone).map(|(wrapper, from)| command(wrapper, argv, from)).into_iter().collect()
}

/// Programs whose arguments fit into no table.
fn special(program: &str, argv: &[Word]) -> Option<Vec<Inner>> {
    match program {
        "find" => Some(executed(argv)),
        "trap" => Some(trapped(argv)),
        "alias" => Some(aliases(argv)),
        "hash" | "parallel" | "sem" | "env_parallel" => Some(vec![Inner::Untold]),
        _ if is_loader(program) => entry("ld.so", "wraps").map(|loader| vec![command(loader, argv, 1)]),
        "command" => looks_up(argv).then(Vec::new),
        "env" if argv.len() == 1 => Some(Vec::new()),
        "su" | "script" => Some(vec![shells::option_c(argv).unwrap_or(Inner::Untold)]),
        "runuser" => shells::option_c(argv).map(|inner| vec![inner]),
        "source" | "." => match argv.get(1) {
            Some(word) if shells::is_input(word) => Some(vec![Inner::Input]),
            // A name without a slash is looked for in PATH first.
            Some(word) if word.literal().is_some_and(|text| text.contains('/')) => Some(vec![Inner::File { at: 1 }]),
            _ => None,
        },
        "at" | "batch" | "crontab" => Some(vec![Inner::Input]),
        _ => None,
    }
}

/// The command behind the options of a wrapper, which begin at a place.
fn command(wrapper: &Profile, argv: &[Word], first: usize) -> Inner {
    let Ok(read) = Arguments::leading("", wrapper, argv.get(first..).unwrap_or(&[])) else { return Inner::Untold };
    let mut from = first + read.leading + wrapper.skips;
    let mut transparent = wrapper.is("transparent") && !read.has_any(wrapper.list("asks"));
    let assigned = argv.get(from..).unwrap_or(&[]).iter().map_while(Word::guess).filter(|_| wrapper.is("assigns"));
    for text in assigned.take_while(|text| is_assignment(text)) {
        from += 1;
        transparent &= is_harmless_variable(text.split('=').next().unwrap_or(text));
    }
    if from >= argv.len() {
        return Inner::Untold;
    }
    // An empty mark is no mark, and what is fed then stands anywhere.
    let replace =
        read.has_any(wrapper.list("replace")).then(|| read.value(wrapper.list("replace")).unwrap_or("{}").to_owned());
    transparent &= replace.as_deref() != Some("");
    let adds = match argv[from].guess() {
        // Options may go on behind `--`.
        Some(name) if wrapper.kind == "runner" && name.starts_with('-') => return Inner::Untold,
        // Names of packages hold versions and addresses: those are fetched.
        Some(name) if wrapper.kind == "runner" && !name.contains(['@', ':', '/']) => Adds::Project,
        _ if transparent => Adds::Nothing,
        _ => Adds::Unknown,
    };
    let folder = read.value(wrapper.list("folder")).map(str::to_owned);
    Inner::Command { from, adds, folder, replace: replace.filter(|mark| !mark.is_empty()) }
}

fn is_assignment(text: &str) -> bool {
    text.split_once('=').is_some_and(|(name, _)| !name.is_empty() && !name.starts_with('-'))
}

/// `command -v NAME` runs nothing.
fn looks_up(argv: &[Word]) -> bool {
    matches!(argv.get(1).and_then(Word::literal), Some("-v" | "-V" | "-pv" | "-pV"))
}

/// What a program would run that hands its operands to a shell, whose script is its input where there are none behind a host.
fn joined(profile: &Profile, argv: &[Word]) -> Inner {
    let Ok(read) = Arguments::leading("", profile, &argv[1..]) else { return Inner::Untold };
    let from = 1 + read.leading + profile.skips;
    if from >= argv.len() && profile.skips > 0 {
        return Inner::Input;
    }
    let words: Option<Vec<&str>> = argv.iter().skip(from).map(Word::guess).collect();
    words.map_or(Inner::Untold, |words| Inner::script(words.join(" ")))
}

/// The commands of `find -exec` and its kin, each up to `;` or `+`.
fn executed(words: &[Word]) -> Vec<Inner> {
    let starts = ["-exec", "-execdir", "-ok", "-okdir"];
    let mut out = Vec::new();
    let mut at = 0;
    while at < words.len() {
        if words[at].guess().is_some_and(|text| starts.contains(&text)) {
            let ends = |word: &Word| matches!(word.guess(), Some(";" | "+"));
            let to = words[at + 1..].iter().position(ends).map_or(words.len(), |end| at + 1 + end);
            out.push(Inner::Range { from: at + 1, to });
            at = to;
        }
        at += 1;
    }
    out
}

/// The arguments of `find` without the commands that it would run.
pub(crate) fn without_executed(args: &[Word]) -> Vec<Word> {
    let mut own = args.to_vec();
    for inner in executed(args).into_iter().rev() {
        if let Inner::Range { from, to } = inner {
            // With the word that ends it.
            own.drain(from..(to + 1).min(args.len()));
        }
    }
    own
}

/// The text behind the names that `alias` gives: it runs when the name is met.
fn aliases(argv: &[Word]) -> Vec<Inner> {
    let texts = argv.iter().skip(1).filter_map(|word| word.guess()?.split_once('='));
    texts.map(|(_, text)| Inner::script(text)).collect()
}

/// The loader of the system's programs under any of its names: what it is told to load, it runs.
fn is_loader(program: &str) -> bool {
    program.starts_with("ld-linux") || program.starts_with("ld-musl") || program.starts_with("ld64.so")
}

fn trapped(argv: &[Word]) -> Vec<Inner> {
    let action = argv.iter().skip(1).find(|word| word.guess() != Some("--"));
    action.map(|word| word.guess().map_or(Inner::Untold, Inner::script)).into_iter().collect()
}
