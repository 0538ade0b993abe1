//! What one simple command means: the user's rules, the block list, the files it names, what it runs in turn, and whether
//! all of it is known to only read.

use super::report::{Deeds, Finding};
use super::{Input, Simple, Walker, block_list, cwd, deny_rules, files, git_lines, inspection, known, nested};
use crate::shell::expand::Word;
use crate::shell::programs::{self, Inner, base_name, has, options, wrappers};
use crate::shell::{messages, shown};
use crate::{CommandRule, Judgement};
use std::ops::Range;

/// Builtins that start no program and that no variable steers but those that steer the shell.
const UNSTEERED: &str = "echo printf test [ cd pwd true false : exit set wait break continue read return export";

/// Judges a command and notes what there is to say of it.
pub(crate) fn judge(walker: &mut Walker<'_>, simple: &Simple) {
    assignments(walker, simple);
    if !simple.argv.is_empty() {
        command(walker, &simple.argv, &simple.input);
    }
}

fn assignments(walker: &mut Walker<'_>, simple: &Simple) {
    let program = simple.argv.first().and_then(Word::literal);
    let held = walker.ground.facts.sandbox_holds();
    let inspection = inspection::Inspection::new(walker.ground, walker.folders.as_deref(), false);
    let known = |name: &str, value: Option<&str>| match (program, value) {
        (_, Some(_)) if wrappers::is_harmless_variable(name) => true,
        _ if !held => wrappers::is_harmless_variable(name),
        // A variable of the script itself: each place that it is put into says what it may be there.
        (None, _) if simple.argv.is_empty() => !options::steers(name),
        // For this one line alone: how it is taken apart.
        (Some("read"), Some(_)) if name == "IFS" => true,
        (_, Some(value)) => inspection.holds_variable(&simple.argv, (name, value)),
        _ => false,
    };
    let first = simple.assigned.iter().find(|(name, value)| !known(name, value.as_deref()));
    if let Some((name, _)) = first {
        walker.report.note(Finding::ask("assignment", messages::sets_variable(shown(name, 40))));
    }
    // What was set for all that follows is judged as what stands in front of this command alone.
    let argv = simple.argv.as_slice();
    let steered = argv.first().is_some_and(|word| !word.literal().is_some_and(|name| has(UNSTEERED, name)));
    let exported = walker.exported.iter().find(|name| steered && !inspection.holds_variable(argv, (name, "")));
    if let Some(name) = exported {
        walker.report.note(Finding::ask("assignment", messages::sets_variable_for_all(shown(name, 40))));
    }
    if simple.assigned.iter().any(|(name, _)| !wrappers::is_harmless_variable(name)) {
        walker.git.other(messages::assignment());
    }
}

/// Whether `export` only sets variables that change nothing but how output looks, or that the sandbox holds in front of what
/// runs code of the project, whatever their value is. Those are looked at again with every command behind.
fn exports(walker: &mut Walker<'_>, args: &[Word]) -> bool {
    // What runs again and again, or only perhaps, runs before it too.
    if walker.depth != 1 || walker.groups > 0 || args.is_empty() {
        return false;
    }
    let mut names = Vec::new();
    for word in args {
        let Some(text) = word.literal() else { return false };
        let name = text.split('=').next().unwrap_or(text);
        if wrappers::is_harmless_variable(name) {
            continue;
        }
        if !walker.ground.facts.sandbox_holds() || !options::any_value(name) {
            return false;
        }
        names.push(name.to_owned());
    }
    walker.exported.append(&mut names);
    true
}

/// In these arrays the shell keeps which program a name stands for.
pub(crate) fn renames(walker: &mut Walker<'_>, variable: &str) {
    if !["BASH_CMDS", "BASH_ALIASES"].iter().any(|name| variable.starts_with(name)) {
        return;
    }
    walker.report.note(Finding::ask("unknown_program", messages::renames_program()));
    walker.report.note_any(deny_rules::unknown_program(walker.ground));
}

/// A command line: the one that was written, or one that a wrapper would run.
pub(crate) fn command(walker: &mut Walker<'_>, argv: &[Word], input: &Input) {
    let Some((name, args)) = argv.split_first() else { return };
    restrictions(walker, argv);
    let Some(name) = name.guess() else {
        walker.git.other(messages::untold_program());
        walker.report.note(Finding::ask("unknown_program", messages::program_not_told()));
        names(walker, "", argv, &[]);
        return suspect_tail(walker, "", argv);
    };
    let program = base_name(name);
    let folders = walker.folders.clone().unwrap_or_default();
    blocked(walker, block_list::blocked(program, args, &folders));
    if programs::is(program, "subscripts") {
        args.iter().for_each(|word| renames(walker, &word.pattern()));
    }
    git_lines::count(walker, program, argv, input, is_of_the_system(name, program));
    let inners = wrappers::inner(program, argv);
    // What a wrapper or `find` would run looks at its own words.
    let range = |inner: &Inner| match inner {
        Inner::Command { from, .. } => Some(from - 1..args.len()),
        Inner::Range { from, to } => Some(from - 1..to - 1),
        _ => None,
    };
    let executed: Vec<Range<usize>> = inners.iter().filter_map(range).collect();
    // What other commands are fed with names may be files that they open.
    let alone = !walker.beside && walker.depth == 1 && is_of_the_system(name, program) && walker.is_system(program);
    if !(alone && executed.is_empty() && known::shows_no_content(program, args)) {
        names(walker, program, args, &executed);
    }
    // A wrapper is only one where the system has it: `./timeout` is anything.
    let exports = name == "export" && exports(walker, args);
    let known = exports || nested::judge(walker, program, argv, input, inners) && is_of_the_system(name, program);
    if !known && allowed(walker, argv) {
        walker.report.does(Deeds::WRITES);
        // A rule that denies counts over one that allows, also where what is allowed runs what is denied.
        denied_tail(walker, program, argv);
    } else if !known {
        unless_known(walker, name, program, argv, input);
    }
    cwd::follow(walker, argv);
    walker.prints |= match program {
        "echo" | "printf" => args.iter().all(|word| word.guess().is_some()),
        "cat" | "tee" => matches!(input, Input::Text(_) | Input::Printed),
        _ => false,
    };
    if program == "read" {
        // It may read more lines than one, or share one out among several names.
        let names = args.iter().filter_map(Word::guess).filter(|name| !name.starts_with('-'));
        names.for_each(|name| walker.variables.may_be(name, None));
    }
}

/// `commands.deny` and `commands.only`.
fn restrictions(walker: &mut Walker<'_>, argv: &[Word]) {
    let folders = walker.folders.clone().unwrap_or_default();
    // What is refused is refused where it was only followed, too.
    walker.report.note_any(deny_rules::finding(walker.ground, &folders, argv));
    let settings = &walker.ground.settings.commands;
    if !settings.only.is_empty() && !settings.only.iter().any(|rule| matches(rule, argv)) {
        walker.report.note(Finding::deny("commands.only", messages::only_some_commands()));
    }
}

/// `commands.allow`: the words decide, and every other rule still holds.
fn allowed(walker: &mut Walker<'_>, argv: &[Word]) -> bool {
    let allowed = walker.ground.settings.commands.allow.iter().any(|rule| matches(rule, argv));
    if allowed && argv.iter().any(|word| word.literal().is_none() && !word.is_glob()) {
        walker.report.note(inspection::ask(messages::holds_untold_word()));
    }
    allowed
}

fn matches(rule: &CommandRule, argv: &[Word]) -> bool {
    rule.begins(argv.iter().map(Word::literal))
}

/// Blocked and protected names among the words, but for those that are `elsewhere` judged.
fn names(walker: &mut Walker<'_>, program: &str, args: &[Word], elsewhere: &[Range<usize>]) {
    let text = known::text_words(program, args);
    let judged = |at: &usize| !text.contains(at) && !elsewhere.iter().any(|range| range.contains(at));
    for (_, word) in args.iter().enumerate().filter(|(at, _)| judged(at)) {
        // In the sandbox a mask is over what a pattern could match.
        let globs_matter = !known::tells_names_only(program) && !walker.ground.facts.sandbox_holds();
        let matters = globs_matter || word.guess().is_some();
        let found = files::blocked(walker.ground, walker.folders.as_deref(), word);
        walker.report.note_any(found.filter(|finding| matters || finding.judgement == Judgement::Deny));
    }
    for at in block_list::written(program, args) {
        walker.report.note_any(files::protected(walker.ground, walker.folders.as_deref(), &args[at]));
    }
}

/// Whether the name has no place in it, or one where the system's programs are.
fn is_of_the_system(name: &str, program: &str) -> bool {
    matches!(name.strip_suffix(program).unwrap_or(""), "" | "/bin/" | "/usr/bin/")
}

/// Notes why a command is not known to only read, unless it is.
fn unless_known(walker: &mut Walker<'_>, name: &str, program: &str, argv: &[Word], input: &Input) {
    if argv[0].literal().is_none() {
        walker.report.note(inspection::ask(messages::program_not_literal()));
        return suspect_tail(walker, program, argv);
    }
    let fed = *input != Input::Nothing;
    let inspection = inspection::Inspection::new(walker.ground, walker.folders.as_deref(), fed);
    let system = is_of_the_system(name, program);
    let checked =
        if system { inspection.check(program, &argv[1..]) } else { inspection.program_of_its_own(&argv[0], argv) };
    let deeds = inspection.deeds();
    if !system || known::runs_a_file(program) {
        // A script of the project may run what it is given.
        denied_tail(walker, program, argv);
    }
    if let Err(mut finding) = checked {
        let advice = programs::text(program, "advice").filter(|_| finding.rule == "not_known_read_only");
        if let Some(advice) = advice {
            finding.reason = finding.reason.then(advice);
        }
        walker.report.note(finding);
        return suspect_tail(walker, program, argv);
    }
    walker.report.does(deeds);
    if system && !walker.is_system(program) {
        walker.report.note(Finding::ask("unknown_program", messages::not_of_system(shown(name, 40))));
    }
}

/// A program that nobody knows may be a wrapper: `valgrind rm -rf /`.
fn suspect_tail(walker: &mut Walker<'_>, program: &str, argv: &[Word]) {
    denied_tail(walker, program, argv);
    if matches!(program, "echo" | "printf") {
        return;
    }
    let folders = walker.folders.clone().unwrap_or_default();
    blocked(walker, block_list::blocked_behind(argv, &folders));
}

/// Notes what the block list says. What only may reach everything, the sandbox holds where it is around the command.
fn blocked(walker: &mut Walker<'_>, finding: Option<Finding>) {
    let held = walker.ground.facts.sandbox_holds();
    walker.report.note_any(finding.filter(|finding| finding.judgement == Judgement::Deny || !held));
}

fn denied_tail(walker: &mut Walker<'_>, program: &str, argv: &[Word]) {
    walker.report.note_any(deny_rules::among(walker.ground, program, argv));
}
