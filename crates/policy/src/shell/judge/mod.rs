//! The verdict on a parsed script: every simple command that could be reached, whatever the conditions.
//!
//! The walk through the shapes of the language is here, in [`compound`] and in [`redirects`]. What one simple command means is
//! put together in [`command`], step by step: the rules of the settings ([`deny_rules`]), what is never run ([`block_list`],
//! [`reach`]), what it does to a repository ([`git_lines`]), the files it names ([`files`]), what it runs in turn
//! ([`nested`]), and whether all of it is [`known`] to only read or to run code that the sandbox holds (by an
//! [`inspection`] of its words; [`expressions`] and [`git`] have rules of their own). What was found is held against what a
//! person has allowed before ([`approvals`]) and folded to the strictest ([`report`]).

mod approvals;
mod block_list;
mod command;
mod compound;
mod cwd;
mod deny_names;
mod deny_rules;
mod expressions;
mod files;
mod git;
mod git_calls;
mod git_config;
mod git_lines;
mod git_words;
mod inspection;
mod known;
mod nested;
mod reach;
mod redirects;
pub(crate) mod report;

use crate::ProgramFact;
use crate::shell::Ground;
use crate::shell::expand::{self, Variables, Word};
use crate::shell::syntax::{self, Fault, MOST_BYTES, MOST_DEPTH};
use crate::shell::{messages, programs, shown};
use brush_parser::ast;
use git_lines::GitCalls;
use report::{Finding, Report};
use std::rc::Rc;
use toolfence_protocol::Text;

/// The most simple commands of a script and of everything it holds as text.
const MOST_COMMANDS: usize = 1000;
/// The most words of a simple command: each is looked up as a name.
const MOST_ARGUMENTS: usize = 2000;
/// The most bytes that are parsed for one command, as text that is fed to a shell is parsed again.
const MOST_READ: usize = 2 * MOST_BYTES;

/// The most rounds of loops, taken together, in which commands may be started in the background.
const MOST_ROUNDS: usize = 16;
/// The rounds of a loop that nobody can count.
const UNCOUNTED: usize = usize::MAX;

/// What a command reads on its standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Input {
    /// What the whole command reads: nothing.
    Nothing,
    /// Text that is known.
    Text(Rc<str>),
    /// Text that another command was told to print. It is not followed, but it may say anything.
    Printed,
    /// What another command writes.
    Unknown,
}

/// A simple command, expanded as far as that can be done without running it.
#[derive(Debug)]
pub(crate) struct Simple {
    pub(crate) argv: Vec<Word>,
    /// The variables that are set before it, each with its value where that is certain.
    pub(crate) assigned: Vec<(String, Option<String>)>,
    pub(crate) input: Input,
}

pub(crate) struct Walker<'a> {
    pub(crate) ground: Ground<'a>,
    pub(crate) report: Report,
    /// What the commands so far do to a repository.
    pub(crate) git: GitCalls,
    pub(crate) variables: Variables,
    /// Every folder the script may be in; `None` once it cannot be known.
    pub(crate) folders: Option<Vec<String>>,
    /// What the first command of a pipeline reads.
    stdin: Input,
    /// Whether the command at hand runs beside another one.
    pub(crate) beside: bool,
    /// How many scripts are being read, one inside the other.
    pub(crate) depth: usize,
    /// How many groups, loops, functions and the like of them are open.
    pub(crate) groups: usize,
    commands: usize,
    bytes: usize,
    /// How often what is read runs, by the loops around it: also by what `xargs` and `find` start again and again.
    rounds: usize,
    /// The variables that are set for every command behind, but for those that change nothing but how output looks.
    pub(crate) exported: Vec<String>,
    /// Whether a file was read into the shell: its functions may stand for any program behind.
    pub(crate) sourced: bool,
    /// Whether the body of a loop is being read for one of its values.
    unrolling: bool,
    /// Whether the member of a pipeline at hand prints text that stands in the command line.
    pub(crate) prints: bool,
}

impl<'a> Walker<'a> {
    pub(crate) fn new(ground: Ground<'a>, cwd: &str) -> Walker<'a> {
        Walker {
            ground,
            report: Report::default(),
            git: GitCalls::default(),
            variables: Variables::default(),
            folders: Some(vec![cwd.to_owned()]),
            stdin: Input::Nothing,
            beside: false,
            depth: 0,
            groups: 0,
            commands: 0,
            bytes: 0,
            rounds: 1,
            exported: Vec::new(),
            sourced: false,
            unrolling: false,
            prints: false,
        }
    }

    /// Reads a script: the command itself, a substitution, or text that is fed to a shell.
    pub(crate) fn script(&mut self, text: &str) {
        self.bytes += text.len();
        if self.bytes > MOST_READ {
            return self.report.note(Fault::TooLarge(messages::too_much_inside(MOST_READ)));
        }
        self.deeper(|walker| match syntax::parse(text) {
            Ok(program) => walker.program(text, &program),
            Err(fault) => walker.report.note(fault),
        });
    }

    /// Whether the name is that of a program of the system, or is built into the shell.
    pub(crate) fn is_system(&self, program: &str) -> bool {
        programs::is(program, "builtin") || self.ground.facts.program(program) == ProgramFact::System
    }

    /// A variable that was judged by what it was, and then set to something else: whether before or after cannot be told.
    pub(crate) fn upset_variables(&mut self) {
        if let Some(name) = self.variables.upset() {
            self.report.note(Finding::ask("assignment", messages::set_after_use(shown(name, 40))));
        }
    }

    /// One level further in, where the limit of nesting lets it.
    pub(crate) fn deeper(&mut self, go: impl FnOnce(&mut Self)) {
        self.depth += 1;
        if self.depth > MOST_DEPTH {
            self.report.note(Fault::TooLarge(messages::too_deep(MOST_DEPTH)));
        } else {
            go(self);
        }
        self.depth -= 1;
    }

    fn program(&mut self, text: &str, program: &ast::Program) {
        if let Some(hidden) = syntax::hidden(text) {
            self.report.note(hidden);
        }
        if program.complete_commands.is_empty() && self.depth == 1 {
            self.report.note(Finding::ask("unreadable", messages::no_command()));
        }
        program.complete_commands.iter().for_each(|list| self.list(list));
    }

    /// Reads the commands of a substitution: they run beside the one that it stands in, and go to folders of their own.
    fn substituted(&mut self, go: impl FnOnce(&mut Self)) {
        let before = (self.folders.clone(), std::mem::replace(&mut self.beside, true));
        self.groups += 1;
        go(self);
        self.groups -= 1;
        (self.folders, self.beside) = before;
    }

    /// Reads what runs so many times.
    pub(crate) fn looped(&mut self, rounds: usize, go: impl FnOnce(&mut Self)) {
        let before = self.rounds;
        self.rounds = before.saturating_mul(rounds.max(1));
        go(self);
        self.rounds = before;
    }

    /// Reads the body of a loop. Where it leaves the script in another folder, the next round begins there, and so on: it is read
    /// again as in a folder that is not known.
    pub(crate) fn repeated(&mut self, rounds: usize, mut body: impl FnMut(&mut Self)) {
        let folders = self.folders.clone();
        self.looped(rounds, &mut body);
        if rounds > 1 && self.folders != folders {
            self.folders = None;
            let before = std::mem::take(&mut self.report);
            self.looped(rounds, body);
            let again = std::mem::replace(&mut self.report, before);
            self.report.absorb_again(again);
            self.folders = None;
        }
    }

    fn list(&mut self, list: &ast::CompoundList) {
        for ast::CompoundListItem(and_or, separator) in &list.0 {
            let (beside, folders) = (self.beside, self.folders.clone());
            let in_background = matches!(separator, ast::SeparatorOperator::Async);
            self.beside |= in_background;
            if in_background && self.rounds > MOST_ROUNDS {
                self.report.note(Finding::ask("background_in_loop", messages::background_in_loop(MOST_ROUNDS)));
            }
            self.pipeline(&and_or.first);
            // Every folder that one of the pipelines so far may have left the script in.
            let mut anywhere = cwd::either(folders.clone(), self.folders.clone());
            for next in &and_or.additional {
                // Behind `&&` what stands before has succeeded; behind `||` something has failed, or all of it is left out.
                let (ast::AndOr::And(pipeline) | ast::AndOr::Or(pipeline)) = next;
                let alternative = matches!(next, ast::AndOr::Or(_));
                if alternative {
                    self.folders.clone_from(&anywhere);
                }
                self.pipeline(pipeline);
                anywhere = cwd::either(anywhere, self.folders.clone());
                if alternative {
                    self.folders.clone_from(&anywhere);
                }
            }
            // Where a command in the background goes is its own.
            self.folders = if in_background { folders } else { anywhere };
            self.beside = beside;
        }
    }

    /// Reads a pipeline. Behind it the script is where it is if that succeeds.
    fn pipeline(&mut self, pipeline: &ast::Pipeline) {
        if self.commands > MOST_COMMANDS {
            return;
        }
        let (beside, folders) = (self.beside, self.folders.clone());
        self.beside |= pipeline.seq.len() > 1;
        let mut input = self.stdin.clone();
        for command in pipeline.seq.iter().take(MOST_COMMANDS + 1) {
            let printed = std::mem::take(&mut self.prints);
            self.command(command, input);
            input = if self.prints { Input::Printed } else { Input::Unknown };
            self.prints |= printed;
            // A `cd` that ends in success did not get there, or only in a shell of its own.
            if pipeline.bang || pipeline.seq.len() > 1 {
                self.folders = cwd::either(folders.clone(), self.folders.take());
            }
        }
        self.beside = beside;
    }

    fn command(&mut self, command: &ast::Command, input: Input) {
        let groups = self.groups;
        self.groups += usize::from(!matches!(command, ast::Command::Simple(_)));
        match command {
            ast::Command::Simple(command) => self.simple(command, input),
            ast::Command::Compound(compound, redirects) => {
                let input = match self.redirects(redirects.as_ref()) {
                    Input::Unknown if redirects.is_none() => input,
                    redirected => redirected,
                };
                let before = std::mem::replace(&mut self.stdin, input);
                self.compound(compound);
                self.stdin = before;
            }
            ast::Command::Function(function) => self.function(function),
            ast::Command::ExtendedTest(test, redirects) => {
                self.unheld(messages::extended_test());
                self.test(&test.expr);
                self.redirects(redirects.as_ref());
            }
        }
        self.groups = groups;
    }

    /// A construct that the sandbox holds, where it is around the command. It is never git alone.
    fn unheld(&mut self, what: Text) {
        self.git.other(what.clone());
        if !self.ground.facts.sandbox_holds() {
            self.construct(what);
        }
    }

    /// A construct that is read, but not known to only read.
    fn construct(&mut self, what: Text) {
        self.git.other(what.clone());
        self.report.note(inspection::ask(messages::unlisted_construct(what)));
    }

    /// Judges a command by itself, then holds what was found against what the person has answered before.
    fn simple(&mut self, command: &ast::SimpleCommand, input: Input) {
        let before = std::mem::take(&mut self.report);
        let given = approvals::Given { folders: self.folders.clone(), fed: input != Input::Nothing };
        let simple = self.alone(command, input);
        let own = std::mem::replace(&mut self.report, before);
        approvals::settle(self, own, command, simple.as_ref(), &given);
    }

    /// `None` where a limit is passed.
    fn alone(&mut self, command: &ast::SimpleCommand, input: Input) -> Option<Simple> {
        self.commands += 1;
        if self.commands > MOST_COMMANDS {
            self.report.note(Fault::TooLarge(messages::too_many_commands(MOST_COMMANDS)));
            return None;
        }
        self.report.command(&command.to_string());
        let mut simple = Simple { argv: Vec::new(), assigned: Vec::new(), input };
        let prefix = command.prefix.iter().flat_map(|prefix| &prefix.0);
        prefix.for_each(|item| self.item(item, &mut simple, true));
        if let Some(name) = &command.word_or_name {
            simple.argv.extend(self.arguments(&name.value));
        }
        let suffix = command.suffix.iter().flat_map(|suffix| &suffix.0);
        suffix.for_each(|item| self.item(item, &mut simple, false));
        if simple.argv.len() > MOST_ARGUMENTS {
            self.report.note(Fault::TooLarge(messages::too_many_words(MOST_ARGUMENTS)));
            return None;
        }
        command::judge(self, &simple);
        Some(simple)
    }

    fn item(&mut self, item: &ast::CommandPrefixOrSuffixItem, simple: &mut Simple, before: bool) {
        match item {
            ast::CommandPrefixOrSuffixItem::IoRedirect(redirect) => self.redirect(redirect, &mut simple.input),
            ast::CommandPrefixOrSuffixItem::Word(word) => simple.argv.extend(self.arguments(&word.value)),
            ast::CommandPrefixOrSuffixItem::AssignmentWord(assignment, word) => {
                let words = self.words(&word.value);
                let assigned = self.assign(assignment);
                match before {
                    true => simple.assigned.push(assigned),
                    false => simple.argv.extend(words),
                }
            }
            ast::CommandPrefixOrSuffixItem::ProcessSubstitution(kind, subshell) => {
                self.stream(kind, subshell);
                let reads = matches!(kind, ast::ProcessSubstitutionKind::Read) && self.ground.facts.sandbox_holds();
                simple.argv.push(if reads { Word::stream() } else { Word::unknown() });
            }
        }
    }

    /// A command beside, whose output is read like a file, or that is written to like one.
    fn stream(&mut self, kind: &ast::ProcessSubstitutionKind, subshell: &ast::SubshellCommand) {
        match kind {
            ast::ProcessSubstitutionKind::Read => self.unheld(messages::process_substitution()),
            ast::ProcessSubstitutionKind::Write => self.construct(messages::process_substitution()),
        }
        self.substituted(|walker| walker.list(&subshell.list));
    }

    /// The name that is assigned, and its value where that is certain; what it may be is followed.
    fn assign(&mut self, assignment: &ast::Assignment) -> (String, Option<String>) {
        let (ast::AssignmentName::VariableName(name) | ast::AssignmentName::ArrayElementName(name, _)) =
            &assignment.name;
        command::renames(self, name);
        let (ast::AssignmentName::VariableName(_), ast::AssignmentValue::Scalar(value), false) =
            (&assignment.name, &assignment.value, assignment.append)
        else {
            self.construct(messages::array());
            self.variables.may_be(name, None);
            return (name.clone(), None);
        };
        // Its substitutions were met with the whole word.
        let values = expand::read(&value.value, &self.variables, &mut Vec::new());
        values.iter().for_each(|value| self.variables.may_be_word(name, value));
        // In front of a command, no name is looked for by a pattern.
        let certain = match values.as_slice() {
            [word] if word.is_glob() => Some(word.pattern().into_owned()),
            [word] => word.literal().map(str::to_owned),
            _ => None,
        };
        (name.clone(), certain)
    }

    /// The words a raw word stands for, where without a sandbox nothing but a literal word or a pattern is sure to only
    /// read; what its substitutions would run is judged on the way.
    fn words(&mut self, raw: &str) -> Vec<Word> {
        let words = self.arguments(raw);
        if words.iter().any(|word| word.literal().is_none() && !word.is_glob()) {
            self.unheld(messages::untold_word());
        }
        words
    }

    /// The words that a raw word of a simple command stands for. What may stand in each place is judged with the command.
    fn arguments(&mut self, raw: &str) -> Vec<Word> {
        let mut found = Vec::new();
        let words = expand::read(raw, &self.variables, &mut found);
        if words.iter().any(Word::is_hidden) {
            self.construct(messages::untold_word());
        } else if words.iter().any(Word::is_uncertain) {
            // In the sandbox its place says what it may be: text, what is read, or an option.
            self.unheld(messages::untold_word());
        }
        self.substitutions(found);
        words
    }

    fn substitutions(&mut self, found: Vec<String>) {
        for text in found {
            self.substituted(|walker| walker.script(&text));
        }
    }
}
