//! What the person has allowed before, and what "always" would store of a command.
//!
//! A stored command is compared in all that makes it what it is: words, folder, redirects, assignments. It counts only
//! where nothing around it can change what it does: in a list or first in a pipeline of the script itself, not in a
//! group, a loop, a function or text that is fed to a shell.

use super::report::Report;
use super::{Simple, Walker};
use crate::answers::{self, Exact};
use crate::shell::expand::Word;
use crate::shell::programs::{base_name, runs_others, wrappers};
use crate::shell::{messages, shown};
use crate::{Judgement, PathFact, Rule};
use brush_parser::SourceSpan;
use brush_parser::ast::{self, CommandPrefixOrSuffixItem as Item, SourceLocation};
use std::ops::Range;
use toolfence_protocol::Text;

/// What a command is given by what stands around it.
pub(crate) struct Given {
    /// The folders it may run in; `None` where they cannot be known.
    pub(crate) folders: Option<Vec<String>>,
    /// Whether another command writes what it reads.
    pub(crate) fed: bool,
}

/// Puts what was found in one command into the report, or leaves it where the person has answered it before.
pub(crate) fn settle(
    walker: &mut Walker<'_>,
    own: Report,
    command: &ast::SimpleCommand,
    simple: Option<&Simple>,
    given: &Given,
) {
    let mark = span(command).filter(|_| walker.depth == 1);
    if own.judgement() != Judgement::Ask {
        return match simple.filter(|_| own.judgement() == Judgement::Allow).and_then(|simple| named(walker, simple)) {
            Some(reason) => walker.report.allow(own, "commands.allow", reason),
            None => walker.report.absorb(own, Err(Text::default()), mark),
        };
    }
    let exact = match simple {
        _ if own.needs_person => Err(messages::only_a_person()),
        Some(simple) if !own.unreadable => exact(walker, command, simple, given),
        _ => Err(messages::not_certain()),
    };
    match exact {
        Ok(exact) if walker.ground.answers.holds(&exact) => {
            walker.report.allow(own, answers::ANSWERED, messages::allowed_before());
        }
        exact => walker.report.absorb(own, exact.map(Rule::command), mark),
    }
}

/// The rule of the settings that allows the command, in a sentence.
fn named(walker: &Walker<'_>, simple: &Simple) -> Option<Text> {
    let mut rules = walker.ground.settings.commands.allow.iter();
    let rule = rules.find(|rule| rule.begins(simple.argv.iter().map(Word::literal)))?;
    Some(messages::rule_allows(format!("{:?}", shown(&rule.words().join(" "), 80))))
}

/// The command as it would be stored; or why it would not be.
fn exact(walker: &Walker<'_>, command: &ast::SimpleCommand, simple: &Simple, given: &Given) -> Result<Exact, Text> {
    if walker.depth != 1 || walker.groups > 0 {
        return Err(messages::inside_another());
    }
    if walker.sourced || !walker.exported.is_empty() {
        return Err(messages::changed_before());
    }
    if given.fed {
        return Err(messages::reads_given());
    }
    let words: Option<Vec<&str>> = simple.argv.iter().map(|word| word.literal()).collect();
    let Some(words) = words.filter(|words| !words.is_empty()) else {
        return Err(messages::words_not_literal());
    };
    let cwd = folder(walker, given.folders.as_deref())?;
    if !walker.ground.facts.sandbox_holds() {
        harmless(walker, words[0], simple)?;
    }
    let (assignments, redirects) = around(command)?;
    Ok(Exact { words: words.into_iter().map(str::to_owned).collect(), cwd, redirects, assignments })
}

/// The real name of the one folder it runs in.
fn folder(walker: &Walker<'_>, folders: Option<&[String]>) -> Result<String, Text> {
    let Some([folder]) = folders else { return Err(messages::several_folders()) };
    if folder.is_empty() {
        return Ok(String::new());
    }
    match walker.ground.facts.path("", folder) {
        PathFact::Inside { names } => names.into_iter().next().ok_or_else(messages::folder_unknown),
        _ => Err(messages::folder_outside()),
    }
}

/// Refuses what would run more than its own words say.
fn harmless(walker: &Walker<'_>, name: &str, simple: &Simple) -> Result<(), Text> {
    let program = base_name(name);
    let place = name.strip_suffix(program).unwrap_or("");
    if let Some(kind) = runs_others(program) {
        return Err(messages::is_kind(shown(program, 40), kind));
    }
    if !wrappers::inner(program, &simple.argv).is_empty() {
        return Err(messages::runs_another(shown(program, 40)));
    }
    if !matches!(place, "" | "/bin/" | "/usr/bin/") || !walker.is_system(program) {
        return Err(messages::foreign_program(shown(name, 40)));
    }
    Ok(())
}

/// Assignments and redirects as they were written, where nothing in them expands.
fn around(command: &ast::SimpleCommand) -> Result<(Vec<String>, Vec<String>), Text> {
    let (mut assignments, mut redirects) = (Vec::new(), Vec::new());
    let before = command.prefix.iter().flat_map(|prefix| &prefix.0).count();
    for (at, item) in items(command).enumerate() {
        match item {
            Item::AssignmentWord(_, word) if at < before => assignments.push(word.value.clone()),
            Item::IoRedirect(ast::IoRedirect::HereDocument(..) | ast::IoRedirect::HereString(..)) => {
                return Err(messages::reads_given());
            }
            Item::IoRedirect(redirect) => redirects.push(redirect.to_string()),
            _ => {}
        }
    }
    let expands = |text: &String| text.contains(['$', '`', '*', '?', '[', '{', '~', '(']);
    if assignments.iter().chain(&redirects).any(expands) {
        return Err(messages::around_not_literal());
    }
    Ok((assignments, redirects))
}

fn items(command: &ast::SimpleCommand) -> impl Iterator<Item = &Item> {
    let prefix = command.prefix.iter().flat_map(|prefix| &prefix.0);
    prefix.chain(command.suffix.iter().flat_map(|suffix| &suffix.0))
}

/// Where the command stands in its script, in characters. The parser does not say where a redirect begins.
fn span(command: &ast::SimpleCommand) -> Option<Range<usize>> {
    let name = command.word_or_name.iter().filter_map(SourceLocation::location);
    let places = items(command).filter_map(place).chain(name);
    places.map(|place| place.start.index..place.end.index).reduce(|a, b| a.start.min(b.start)..a.end.max(b.end))
}

fn place(item: &Item) -> Option<SourceSpan> {
    let Item::IoRedirect(redirect) = item else { return item.location() };
    match redirect {
        ast::IoRedirect::File(_, _, target) => match target {
            ast::IoFileRedirectTarget::Filename(word) | ast::IoFileRedirectTarget::Duplicate(word) => word.location(),
            _ => None,
        },
        ast::IoRedirect::OutputAndError(word, _) | ast::IoRedirect::HereString(_, word) => word.location(),
        ast::IoRedirect::HereDocument(_, document) => document.here_end.location(),
    }
}
