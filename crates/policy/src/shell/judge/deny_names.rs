//! Other words for what a deny rule means: names of a program, of its subcommands, and programs that are reached through
//! another one.
//!
//! Rules are rewritten by the table of programs, and so are commands where words of their own stand in between. That a rule meets a
//! command it was not meant for costs a question; that it misses one is what it was written against.

use crate::shell::expand::Word;
use crate::shell::programs::{base_name, fact, facts, has, is};

/// Options of Python's interpreter that take a value.
const PYTHON_VALUES: &str = "-W -X --check-hash-based-pycs";

const PYTHONS: &str = "python pypy py";

/// The most rules that one is rewritten to.
const MOST: usize = 48;

/// The name without the version behind it: `python3.12`, `pip3`, `clang-15`.
pub(crate) fn unversioned(name: &str) -> &str {
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let plain = plain.strip_suffix('-').unwrap_or(plain);
    if plain.is_empty() { name } else { plain }
}

/// Whether both name the same program, in versions that may be the same.
pub(crate) fn are_versions(name: &str, other: &str) -> bool {
    let plain = unversioned(name);
    if plain != unversioned(other) {
        return false;
    }
    let (one, two) = (&name[plain.len()..], &other[plain.len()..]);
    let begins = |long: &str, short: &str| {
        long.strip_prefix(short).is_some_and(|rest| short.is_empty() || rest.is_empty() || rest.starts_with('.'))
    };
    begins(one, two) || begins(two, one)
}

/// A rule and all that mean the same, the rule first.
pub(crate) fn meanings(rule: &[String]) -> Vec<Vec<String>> {
    let mut all = vec![rule.to_vec()];
    let mut at = 0;
    while at < all.len() && all.len() < MOST {
        for other in rewritten(&all[at]) {
            if !all.contains(&other) {
                all.push(other);
            }
        }
        at += 1;
    }
    all
}

fn rewritten(rule: &[String]) -> Vec<Vec<String>> {
    let Some((program, rest)) = rule.split_first() else { return Vec::new() };
    let name = base_name(program);
    let mut out = Vec::new();
    let mut put = |program: &str, words: &str, rest: &[String]| {
        let words = std::iter::once(program).chain(words.split_ascii_whitespace()).map(str::to_owned);
        out.push(words.chain(rest.iter().cloned()).collect());
    };
    let begins = |form: &str| {
        form.split(' ').map(Some).eq(rest.iter().map(|word| Some(word.as_str())).take(form.split(' ').count()))
    };
    let behind = |form: &str| &rest[form.split(' ').count()..];
    for key in ["same", "also"] {
        for forms in facts(name, key).map(|forms| forms.split(" | ").map(str::trim).collect::<Vec<_>>()) {
            // What is the same, is so in both directions.
            let from = if key == "same" { &forms[..] } else { &forms[..1] };
            for form in from.iter().filter(|form| begins(form)) {
                forms.iter().for_each(|other| put(program, other, behind(form)));
            }
        }
    }
    for (noun, verbs) in facts(name, "below").filter_map(|text| text.split_once(' ')) {
        match rest {
            [verb, behind @ ..] if has(verbs, verb) => put(program, &format!("{noun} {verb}"), behind),
            [first, verb, behind @ ..] if first == noun && has(verbs, verb) => put(program, verb, behind),
            _ => {}
        }
    }
    if let [verb, behind @ ..] = rest
        && is(name, "joined")
        && verb.starts_with(|c: char| c.is_ascii_alphabetic())
    {
        put(&format!("{name}-{verb}"), "", behind);
        // A subcommand of cargo that is a program is started with its own name before its words.
        if name == "cargo" {
            put(&format!("{name}-{verb}"), verb, behind);
        }
    }
    if let Some((first, verb)) = name.split_once('-').filter(|(first, _)| is(first, "joined")) {
        put(first, verb, rest);
    }
    // A script of the project needs no `run`.
    if let ("yarn" | "pnpm", [run, behind @ ..]) = (name, rest)
        && run == "run"
        && !behind.is_empty()
    {
        put(program, "", behind);
    }
    out
}

/// Other command lines that a command line stands for: `pip` behind `python -m`, what yarn does in one of its workspaces.
pub(crate) fn readings(argv: &[Word]) -> Vec<Vec<Word>> {
    let Some((program, args)) = argv.split_first() else { return Vec::new() };
    let Some(name) = program.guess().map(|name| unversioned(base_name(name))) else { return Vec::new() };
    if has(PYTHONS, name) {
        return module(args).into_iter().collect();
    }
    let with = |rest: &[Word]| [std::slice::from_ref(program), rest].concat();
    let text = |at: usize| args.get(at).and_then(Word::guess).unwrap_or_default();
    match name {
        "uv" => operand(args, |word| word == "pip").map(|at| args[at..].to_vec()).into_iter().collect(),
        "yarn" | "pnpm" | "bun" => {
            let Some(at) = operand(args, |word| has("workspace workspaces run", word)) else { return Vec::new() };
            // The subcommand of `workspaces`, options and the globs they take come before the command.
            let (from, most) = match text(at) {
                "workspace" => (at + 2, 1),
                "workspaces" => (at + 1 + usize::from(has("foreach run", text(at + 1))), 4),
                _ => (at + 1, 1),
            };
            let starts = (from..args.len())
                .filter(|&at| most == 1 || args[at].guess().is_some_and(|word| !word.starts_with('-')));
            starts.take(most).flat_map(|at| both(with(&args[at..]))).collect()
        }
        _ => Vec::new(),
    }
}

/// A command line, and what it is without `run`.
fn both(argv: Vec<Word>) -> Vec<Vec<Word>> {
    let run = argv.get(1).and_then(Word::guess) == Some("run") && argv.len() > 2;
    let without = run.then(|| [&argv[..1], &argv[2..]].concat());
    std::iter::once(argv).chain(without).collect()
}

/// The module that Python runs, as a program with its words.
fn module(args: &[Word]) -> Option<Vec<Word>> {
    let mut at = 0;
    while let Some(text) = args.get(at)?.guess().filter(|text| text.starts_with('-')) {
        if has(PYTHON_VALUES, text) {
            at += 2;
            continue;
        }
        at += 1;
        let Some((flags, attached)) = text.strip_prefix('-').and_then(|flags| flags.split_once('m')) else { continue };
        if text.starts_with("--") || !flags.bytes().all(|byte| byte.is_ascii_alphabetic() && !b"cWX".contains(&byte)) {
            continue;
        }
        let rest = args.get(at..).unwrap_or(&[]);
        return Some(match attached {
            "" => rest.to_vec(),
            name => std::iter::once(Word::text(name)).chain(rest.iter().cloned()).collect(),
        });
    }
    None
}

/// The place of the first word that is one, where only options and what they may take stand before it.
fn operand(args: &[Word], is_one: impl Fn(&str) -> bool) -> Option<usize> {
    let text = |at: usize| args[at].guess().unwrap_or_default();
    let passes =
        |at: &usize| text(*at).starts_with('-') || at.checked_sub(1).is_some_and(|at| text(at).starts_with('-'));
    let end = (0..args.len()).find(|at| !passes(at)).unwrap_or(args.len());
    (0..args.len().min(end + 1)).find(|&at| is_one(text(at)))
}

/// How many of the first arguments are options and subcommands of a program that has some: they name no other program.
pub(crate) fn subcommands(program: &str, args: &[Word]) -> usize {
    let name = unversioned(program);
    if !is(name, "subcommands") {
        return 0;
    }
    let takes_value = |text: &str| fact(name, "values").is_some_and(|words| has(words, text));
    let text = |at: usize| args.get(at).and_then(Word::guess).unwrap_or_default();
    let mut at = 0;
    while text(at).starts_with('-') {
        at += 1 + usize::from(takes_value(text(at)));
    }
    let noun = fact(name, "nouns").is_some_and(|words| has(words, text(at)));
    args.len().min(at + 1 + usize::from(noun))
}

/// Whether the subcommand of a git command is none of git's own.
pub(crate) fn may_be_alias(names: &[String], args: &[Word]) -> bool {
    let git = names.iter().any(|name| name == "git");
    let first = subcommands("git", args).checked_sub(1).and_then(|at| args.get(at)?.literal());
    git && first.is_some_and(|name| !name.starts_with('-') && !fact("git", "own").is_some_and(|words| has(words, name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_a_program_are_one_program() {
        for (one, two) in [("pip3", "pip"), ("pip", "pip3.12"), ("python3", "python3.12"), ("clang-15", "clang")] {
            assert!(are_versions(one, two) && are_versions(two, one), "{one} {two}");
        }
        for (one, two) in [("python2", "python3"), ("python3.1", "python3.12"), ("pipx", "pip"), ("7z", "z")] {
            assert!(!are_versions(one, two) && !are_versions(two, one), "{one} {two}");
        }
    }

    #[test]
    fn rules_are_rewritten_to_what_means_the_same() {
        let all = |rule: &str| {
            let words: Vec<String> = rule.split(' ').map(str::to_owned).collect();
            meanings(&words).iter().map(|words| words.join(" ")).collect::<Vec<_>>()
        };
        assert!(all("docker image push x").contains(&"docker push x".to_owned()));
        assert!(all("npm test").contains(&"npm run-script test".to_owned()));
        assert!(all("docker-compose up").contains(&"docker compose up".to_owned()));
        assert!(all("cargo nextest run").contains(&"cargo-nextest nextest run".to_owned()));
        assert!(all("git subtree push").iter().all(|rule| rule != "git push"));
        assert_eq!(all("rm"), ["rm"]);
    }
}
