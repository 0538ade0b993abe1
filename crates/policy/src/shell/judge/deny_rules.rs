//! `commands.deny`: whether a rule of the settings meets a command, however the command is spelled.
//!
//! `commands.allow` and `commands.only` compare words exactly. A deny rule errs on the side of denying: the folder before
//! the program's name does not count, nor what the name is a link to, nor options that stand between the words of the rule.

use super::cwd::below;
use super::report::Finding;
use super::{deny_names as names, reach};
use crate::CommandRule;
use crate::shell::Ground;
use crate::shell::expand::{Part, Word};
use crate::shell::programs::{base_name, fact, has, is};
use crate::shell::{messages, shown};

/// Whether a rule meets a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Meets {
    No,
    /// Only a run would tell.
    Maybe,
    Yes,
}

/// What the deny rules of the settings say of a command that may run in one of the folders.
pub(crate) fn finding(ground: Ground<'_>, folders: &[String], argv: &[Word]) -> Option<Finding> {
    let deny = &ground.settings.commands.deny;
    let program = argv.first().filter(|_| !deny.is_empty())?;
    if ground.exact_deny {
        let met = deny.iter().find(|rule| rule.begins(argv.iter().map(Word::guess)));
        return met.map(denied);
    }
    // A variable that may hold several programs stands as several words, each of them a guess.
    let guesses = argv.iter().take_while(|word| word.literal().is_none() && word.guess().is_some()).count();
    let mut worst = if program.literal().is_none() { Some(untold()) } else { None };
    let rules = Rules::of(deny);
    for from in 0..=guesses.min(argv.len() - 1) {
        let Some(name) = argv[from].guess() else { break };
        let spellings = Spellings::of(ground, folders, name);
        let others = names::readings(&argv[from..]);
        let others = others.iter().filter_map(|words| Some((Spellings::written(words.first()?.guess()?), &words[1..])));
        for (spellings, args) in std::iter::once((spellings, &argv[from + 1..])).chain(others) {
            match rules.meet(&spellings, args) {
                Some((rule, Meets::Yes)) => return Some(denied(rule)),
                Some((rule, _)) => worst = worst.or_else(|| Some(perhaps(rule))),
                None => {}
            }
        }
    }
    worst
}

/// A deny rule that meets the words behind a wrapper of which nobody can tell where its command begins.
pub(crate) fn behind(ground: Ground<'_>, argv: &[Word]) -> Option<Finding> {
    let deny = &ground.settings.commands.deny;
    let met = tails(deny, argv, 1).find(|(_, how)| *how == Meets::Yes);
    met.map(|(rule, _)| denied(rule)).or_else(|| (!deny.is_empty()).then(untold))
}

/// A deny rule whose words stand in a row among the arguments of a program that is not known to only read: it may be a
/// wrapper that no table knows.
pub(crate) fn among(ground: Ground<'_>, program: &str, argv: &[Word]) -> Option<Finding> {
    let deny = &ground.settings.commands.deny;
    if deny.is_empty() || ground.exact_deny {
        return None;
    }
    let from = 1 + names::subcommands(program, argv.get(1..).unwrap_or(&[]));
    tails(deny, argv, from).next().map(|(rule, _)| perhaps(rule))
}

/// The rules that are met where one of the words from a place on is taken for a program.
fn tails<'a>(deny: &'a [CommandRule], argv: &'a [Word], from: usize) -> impl Iterator<Item = (&'a CommandRule, Meets)> {
    /// The most of them that are looked at: each is held against every word behind it.
    const MOST: usize = 64;
    let rules = Rules::of(deny);
    let named = (from..argv.len()).filter_map(|at| Some((Spellings::written(argv[at].guess()?), at)));
    let met = named
        .filter_map(move |(spellings, at)| rules.begin(&spellings).then(|| rules.meet(&spellings, &argv[at + 1..])));
    met.take(MOST).flatten()
}

/// Deny rules with all that mean the same.
struct Rules<'a>(Vec<(&'a CommandRule, Vec<Vec<String>>)>);

impl<'a> Rules<'a> {
    fn of(deny: &'a [CommandRule]) -> Rules<'a> {
        Rules(deny.iter().map(|rule| (rule, names::meanings(rule.words()))).collect())
    }

    fn begin(&self, spellings: &Spellings) -> bool {
        let mut all = self.0.iter().flat_map(|(_, all)| all);
        all.any(|words| words.first().is_some_and(|program| spellings.are(program)))
    }

    /// The first rule that surely meets a command, else the first that may.
    fn meet(&self, spellings: &Spellings, args: &[Word]) -> Option<(&'a CommandRule, Meets)> {
        let mut perhaps = None;
        for (rule, all) in &self.0 {
            match all.iter().map(|words| meets(words, spellings, args)).max() {
                Some(Meets::Yes) => return Some((rule, Meets::Yes)),
                Some(Meets::Maybe) => perhaps = perhaps.or(Some((*rule, Meets::Maybe))),
                Some(Meets::No) | None => {}
            }
        }
        perhaps
    }
}

/// What is to be said where only a run would tell which program runs, and some are denied.
pub(crate) fn unknown_program(ground: Ground<'_>) -> Option<Finding> {
    (!ground.settings.commands.deny.is_empty()).then(untold)
}

fn denied(rule: &CommandRule) -> Finding {
    Finding::deny("commands.deny", messages::rule_denies(format!("{:?}", rule.words().join(" "))))
}

fn untold() -> Finding {
    Finding::ask_person("commands.deny", messages::rules_may_deny())
}

fn perhaps(rule: &CommandRule) -> Finding {
    let words = shown(&rule.words().join(" "), 80);
    Finding::ask_person("commands.deny", messages::rule_may_deny(format!("{words:?}")))
}

/// What the program of a command can be called.
struct Spellings {
    /// The last part of its name, as it is written and of every link on the way to the file.
    names: Vec<String>,
    /// The paths it stands for, from the root of the project where they are relative.
    paths: Vec<String>,
}

impl Spellings {
    fn written(name: &str) -> Spellings {
        Spellings { names: vec![base_name(name).to_owned()], paths: vec![name.to_owned(), reach::collapsed(name)] }
    }

    fn of(ground: Ground<'_>, folders: &[String], name: &str) -> Spellings {
        let mut all = Spellings::written(name);
        if name.contains('/') {
            all.paths.extend(folders.iter().map(|folder| reach::collapsed(&below(folder, name))));
        }
        let here = [String::new()];
        let folders = if folders.is_empty() || !name.contains('/') { &here[..] } else { folders };
        for path in folders.iter().flat_map(|folder| ground.facts.program_paths(folder, name)) {
            all.names.push(base_name(&path).to_owned());
            all.paths.push(path);
        }
        all
    }

    fn are(&self, word: &str) -> bool {
        match word.contains('/') {
            true => self.paths.iter().any(|path| path == word || *path == reach::collapsed(word)),
            false => self.names.iter().any(|name| name == word || names::are_versions(name, word)),
        }
    }

    /// The name under which the table says this of the program, whatever its version.
    fn of_which(&self, key: &str) -> Option<&str> {
        let names = self.names.iter().flat_map(|name| [name.as_str(), names::unversioned(name)]);
        names.into_iter().find(|name| is(name, key))
    }
}

/// Holds a rule against a command. Every way to read an option, with a value behind it or without, is followed at once: the
/// places where the next word of the rule may stand are marked from left to right, so that it takes time in the words of
/// the command times those of the rule.
fn meets(rule: &[String], spellings: &Spellings, args: &[Word]) -> Meets {
    let Some((program, rest)) = rule.split_first() else { return Meets::No };
    if !spellings.are(program) {
        return Meets::No;
    }
    let globals = spellings.of_which("subcommands");
    let many = spellings.of_which("each-operand").is_some();
    let mut here = vec![Meets::No; args.len() + 1];
    here[0] = Meets::Yes;
    for (at, wanted) in rest.iter().enumerate() {
        let mut next = vec![Meets::No; args.len() + 1];
        let mut any = false;
        for place in 0..args.len() {
            let so_far = here[place];
            if so_far == Meets::No {
                continue;
            }
            let word = &args[place];
            let mark = |to: &mut Vec<Meets>, place: usize, how: Meets| {
                if let Some(known) = to.get_mut(place) {
                    *known = (*known).max(how);
                }
            };
            match word.guess() {
                Some(text) if text == wanted || is_short_for(spellings, at, text, wanted) => {
                    mark(&mut next, place + 1, so_far);
                    any = true;
                }
                Some(_) => {}
                None => {
                    mark(&mut next, place + 1, Meets::Maybe);
                    if may_split(word) {
                        mark(&mut next, place, Meets::Maybe);
                    }
                    any = true;
                }
            }
            if many && word.guess().is_some_and(|text| !text.starts_with('-')) {
                mark(&mut here, place + 1, so_far);
                continue;
            }
            // What may stand between the words of the rule.
            let skips = skipped(word, globals.filter(|_| at == 0), wanted);
            skips.iter().for_each(|count| mark(&mut here, place + count, so_far));
            // The value of an option may be no word at all.
            if skips == [2] && args.get(place + 1).is_some_and(may_split) {
                mark(&mut here, place + 1, Meets::Maybe);
            }
        }
        if !any {
            // The word that is wanted may be one that an alias stands for, of the settings on this line or of those in files.
            let alias = at == 0 && (gives_alias(spellings, args) || names::may_be_alias(&spellings.names, args));
            return if alias { Meets::Maybe } else { Meets::No };
        }
        here = next;
    }
    here.into_iter().max().unwrap_or(Meets::No)
}

/// How many words may be passed over from one on that is not the one that is wanted: an option that takes no value, or one that
/// takes the next word; both where nobody knows.
fn skipped(word: &Word, program: Option<&str>, wanted: &str) -> &'static [usize] {
    let Some(text) = word.guess() else { return &[1] };
    // A guess may as well be empty; and an option that is denied may stand behind operands.
    if word.literal().is_none() || wanted.starts_with('-') || text.is_empty() || text == "--" {
        return &[1];
    }
    if text.starts_with('+') || text.starts_with('-') && text.contains('=') {
        return &[1];
    }
    if !text.starts_with('-') {
        return &[];
    }
    let listed = |key: &str| program.and_then(|program| fact(program, key)).is_some_and(|words| has(words, text));
    match (listed("flags"), listed("values")) {
        (true, _) => &[1],
        (_, true) => &[2],
        _ => &[1, 2],
    }
}

/// Whether an unquoted word may become several.
fn may_split(word: &Word) -> bool {
    word.is_loose() || word.parts.iter().any(|part| matches!(part, Part::Unknown | Part::Found))
}

/// npm takes the beginning of a subcommand for all of it.
fn is_short_for(spellings: &Spellings, at: usize, text: &str, wanted: &str) -> bool {
    at == 0 && text.len() > 1 && wanted.starts_with(text) && spellings.names.iter().any(|name| name == "npm")
}

/// Whether words of a git command give its subcommands other names.
fn gives_alias(spellings: &Spellings, args: &[Word]) -> bool {
    let alias = |word: &Word| {
        let text = word.pattern().to_ascii_lowercase();
        text.starts_with("alias.")
            || text.starts_with("-calias.")
            || text.contains("=alias.")
            || text.contains("include.path")
            || text.starts_with("--config-env")
            || text.starts_with("includeif.")
    };
    spellings.names.iter().any(|name| name == "git") && args.iter().any(alias)
}
