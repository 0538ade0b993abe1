//! Other words for what a deny rule means: names of a program, of its subcommands, and programs that are reached through
//! another one.
//!
//! Rules are rewritten by the table of programs, and so are commands where words of their own stand in between. That a rule meets a
//! command it was not meant for costs a question; that it misses one is what it was written against.

use crate::shell::expand::Word;
use crate::shell::programs::{base_name, fact, facts, has, is};

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

/// Other command lines that a command line stands for: `pip` behind `python -m`, what yarn does in one of its workspaces. With
/// options in between, the words of a rule are found in a row, and a person is asked.
pub(crate) fn readings(argv: &[Word]) -> Vec<Vec<Word>> {
    let texts: Vec<&str> = argv.iter().take(3).map(|word| word.guess().unwrap_or_default()).collect();
    let name = texts.first().map_or("", |name| unversioned(base_name(name)));
    // Where a subcommand of the same program may begin.
    let tails = match (name, texts.get(1..).unwrap_or(&[])) {
        ("python" | "pypy" | "py", ["-m", _]) => return vec![argv[2..].to_vec()],
        ("uv", ["pip", ..]) => return vec![argv[1..].to_vec()],
        ("yarn" | "pnpm" | "bun", ["run", _]) => 2..3,
        ("yarn" | "pnpm" | "bun", ["workspace", _]) => 3..5,
        ("yarn" | "pnpm" | "bun", ["workspaces", _]) => 2..6,
        _ => 0..0,
    };
    tails.filter(|at| *at < argv.len()).map(|at| [&argv[..1], &argv[at..]].concat()).collect()
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
