//! What one simple command means: the user's rules, the block list, the files it names, what it runs in turn, and whether
//! all of it is known to only read.

use super::report::{Finding, shown};
use super::walk::{Input, Simple, Walker};
use super::words::Word;
use super::wrappers::{self, Inner};
use super::{files, profiles, rules};
use crate::policy::{CommandRule, ProgramFact};

/// Variables that change nothing but how output looks.
const HARMLESS: &[&str] =
    &["LC_ALL", "LANG", "LC_COLLATE", "LC_CTYPE", "TZ", "NO_COLOR", "COLUMNS", "TERM", "CLICOLOR"];

/// Built into the shell: no program is looked up.
const BUILTINS: &[&str] =
    &["echo", "printf", "test", "[", "cd", "pwd", "true", "false", ":", "type", "command", "builtin"];

/// Judges a command and notes what there is to say of it.
pub(super) fn judge(walker: &mut Walker<'_>, simple: &Simple) {
    assignments(walker, simple);
    if !simple.argv.is_empty() {
        command(walker, &simple.argv, &simple.input);
    }
}

fn assignments(walker: &mut Walker<'_>, simple: &Simple) {
    if let Some(name) = simple.assigned.iter().find(|name| !HARMLESS.contains(&name.as_str())) {
        let reason = format!("It sets {}, and what that changes is not known.", shown(name, 40));
        walker.report.note(Finding::ask("assignment", reason));
    }
}

/// A command line: the one that was written, or one that a wrapper would run.
fn command(walker: &mut Walker<'_>, argv: &[Word], input: &Input) {
    let Some((name, args)) = argv.split_first() else { return };
    restrictions(walker, argv);
    let Some(name) = name.guess() else {
        walker.report.note(Finding::ask("unknown_program", "The program is a word that only a run would tell."));
        return names(walker, "", argv);
    };
    let program = name.rsplit('/').next().unwrap_or(name);
    walker.calls(name);
    let folders = walker.folders.clone().unwrap_or_default();
    if let Some(finding) = rules::blocked(program, args, &folders) {
        walker.report.note(finding);
    }
    let inners = wrappers::inner(program, argv);
    // What a wrapper would run looks at its own words.
    let own = inners.iter().find_map(|inner| match inner {
        Inner::Command { from, .. } => argv.get(1..*from),
        _ => None,
    });
    names(walker, program, own.unwrap_or(args));
    let known = inner(walker, program, argv, input, inners);
    if !known && !allowed(walker, argv) {
        unless_known(walker, name, program, argv, input);
    }
    if program == "cd" || program == "pushd" || program == "popd" {
        moves(walker, program, args);
    }
}

/// `commands.deny` and `commands.only`.
fn restrictions(walker: &mut Walker<'_>, argv: &[Word]) {
    let settings = &walker.ground.settings.commands;
    if let Some(rule) = settings.deny.iter().find(|rule| matches(rule, argv)) {
        let reason = format!("The settings deny commands that begin with {:?}.", rule.words().join(" "));
        walker.report.note(Finding::deny("commands.deny", reason));
    }
    if !settings.only.is_empty() && !settings.only.iter().any(|rule| matches(rule, argv)) {
        walker
            .report
            .note(Finding::deny("commands.only", "The settings allow only some commands; this is none of them."));
    }
}

/// `commands.allow`: the words decide, and every other rule still holds.
fn allowed(walker: &Walker<'_>, argv: &[Word]) -> bool {
    walker.ground.settings.commands.allow.iter().any(|rule| matches(rule, argv))
}

fn matches(rule: &CommandRule, argv: &[Word]) -> bool {
    rule.begins(argv.iter().map(Word::literal))
}

/// Blocked and protected names among the words.
fn names(walker: &mut Walker<'_>, program: &str, args: &[Word]) {
    let text = profiles::text_words(program, args);
    for (at, word) in args.iter().enumerate().filter(|(at, _)| !text.contains(at)) {
        let globs_matter = !profiles::tells_names_only(program) || word.guess().is_some();
        let found = files::blocked(walker.ground, walker.folders.as_deref(), word);
        if let Some(finding) =
            found.filter(|finding| globs_matter || finding.judgement == crate::policy::Judgement::Deny)
        {
            walker.report.note(finding);
        }
        if rules::is_writer(program)
            && let Some(finding) = files::protected(walker.ground, walker.folders.as_deref(), &args[at])
        {
            walker.report.note(finding);
        }
    }
}

/// Judges what the command would run in turn; whether that says all there is to say.
fn inner(walker: &mut Walker<'_>, program: &str, argv: &[Word], input: &Input, inners: Vec<Inner>) -> bool {
    let mut known = false;
    for inner in inners {
        match inner {
            Inner::Command { from, transparent } => {
                let mut argv = argv[from..].to_vec();
                if program == "xargs" {
                    fill(&mut argv, input);
                    walker.deeper(|walker| command(walker, &argv, &Input::Unknown));
                } else {
                    walker.deeper(|walker| command(walker, &argv, input));
                }
                known = transparent && is_system(walker, program);
            }
            Inner::Range { from, to } => {
                let argv = found_words(&argv[from..to], roots(argv));
                walker.deeper(|walker| command(walker, &argv, &Input::Unknown));
            }
            Inner::Script { text, transparent } => {
                walker.script(&text);
                known = transparent && is_system(walker, program);
            }
            Inner::Input => fed(walker, input),
            Inner::Untold => {
                let reason = format!("Nobody can tell what {} would run.", shown(program, 40));
                walker.report.note(Finding::ask("unknown_program", reason));
            }
        }
    }
    known
}

/// Adds the words that `xargs` would: those of its input where it is known, at the end and in place of `{}`.
fn fill(argv: &mut Vec<Word>, input: &Input) {
    const MOST: usize = 64;
    let mut more = vec![Word::unknown()];
    if let Input::Text(text) = input {
        more = text.split_whitespace().take(MOST).map(|word| Word::text(word.trim_matches(['\'', '"']))).collect();
    }
    *argv = found_words(argv, &more);
    argv.extend(more);
}

/// Where `find` begins to look.
fn roots(argv: &[Word]) -> &[Word] {
    let starts = |prefix: &'static [char]| move |word: &Word| word.guess().is_some_and(|text| text.starts_with(prefix));
    let options = argv.iter().skip(1).take_while(|word| matches!(word.guess(), Some("-H" | "-L" | "-P"))).count();
    let rest = argv.get(1 + options..).unwrap_or(&[]);
    let end = rest.iter().position(starts(&['-', '(', '!'])).unwrap_or(rest.len());
    &rest[..end]
}

/// The words of `find -exec`, where `{}` is any name, and what it begins with may be one of `names`.
fn found_words(words: &[Word], names: &[Word]) -> Vec<Word> {
    let mut out = Vec::new();
    for word in words {
        match word.guess() {
            Some("{}") => out.extend(names.iter().cloned().chain([Word::unknown()])),
            Some(text) if text.contains("{}") => out.push(Word::unknown()),
            _ => out.push(word.clone()),
        }
    }
    out
}

/// A shell that reads its script from its input.
fn fed(walker: &mut Walker<'_>, input: &Input) {
    match input {
        Input::Text(text) => walker.script(text),
        Input::Unknown => {
            walker.report.note(Finding::ask("unknown_program", "A shell would run text that only a run would tell."));
        }
        Input::Nothing => {}
    }
}

pub(super) fn is_system(walker: &Walker<'_>, program: &str) -> bool {
    BUILTINS.contains(&program) || walker.ground.facts.program(program) == ProgramFact::System
}

/// Notes why a command is not known to only read, unless it is.
fn unless_known(walker: &mut Walker<'_>, name: &str, program: &str, argv: &[Word], input: &Input) {
    let shown_name = shown(name, 40);
    let place = name.strip_suffix(program).unwrap_or("");
    if !matches!(place, "" | "/bin/" | "/usr/bin/") {
        let reason = format!("{shown_name} is a program at a place of its own.");
        return walker.report.note(Finding::ask("not_known_read_only", reason));
    }
    if argv[0].literal().is_none() {
        return walker.report.note(Finding::ask("not_known_read_only", "The program is not a literal word."));
    }
    let reader =
        profiles::Reader { ground: walker.ground, folders: walker.folders.as_deref(), fed: *input != Input::Nothing };
    if let Err(finding) = reader.check(program, &argv[1..]) {
        return walker.report.note(finding);
    }
    if !is_system(walker, program) {
        let reason = format!("{shown_name} is not known to be a program of the system.");
        walker.report.note(Finding::ask("unknown_program", reason));
    }
}

/// After `cd`, the script may be there or, where it failed, still here.
fn moves(walker: &mut Walker<'_>, program: &str, args: &[Word]) {
    const MOST_FOLDERS: usize = 8;
    let target = args.iter().map(Word::guess).find(|arg| *arg != Some("--"));
    let (Some(Some(target)), "cd", Some(mut folders)) = (target, program, walker.folders.take()) else { return };
    if target.starts_with('-') || target.is_empty() {
        return;
    }
    // The shell takes `..` for the folder in the text, the system for the one above where a link has led.
    let both = |folder: &String| {
        let joined = below(folder, target);
        [rules::collapsed(&joined), joined]
    };
    let more: Vec<String> = folders.iter().flat_map(both).collect();
    folders.extend(more);
    folders.sort_unstable();
    folders.dedup();
    walker.folders = (folders.len() <= MOST_FOLDERS).then_some(folders);
}

/// A folder that `target` names in `folder`.
pub(super) fn below(folder: &str, target: &str) -> String {
    match (target.starts_with('/'), folder) {
        (true, _) | (false, "") => target.to_owned(),
        (false, folder) => format!("{folder}/{target}"),
    }
}

/// What the next command of a pipeline would read.
pub(super) fn output(simple: &Simple) -> Input {
    let words: Option<Vec<&str>> = simple.argv.iter().map(Word::guess).collect();
    let Some(words) = words else { return Input::Unknown };
    match words.as_slice() {
        ["echo", options @ .., _] if options.iter().any(|word| word.starts_with('-')) => Input::Text(
            words[1..].iter().skip_while(|word| word.starts_with('-')).copied().collect::<Vec<_>>().join(" "),
        ),
        ["echo", text @ ..] => Input::Text(text.join(" ")),
        ["printf", text] => Input::Text((*text).to_owned()),
        ["printf", "%s" | "%s\\n" | "%b", text @ ..] => Input::Text(text.join("\n")),
        ["cat"] | ["tee", ..] => match &simple.input {
            Input::Text(text) => Input::Text(text.clone()),
            _ => Input::Unknown,
        },
        _ => Input::Unknown,
    }
}
