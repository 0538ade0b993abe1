//! The way through a parsed script: every simple command that could be reached, whatever the conditions.
//!
//! Knows the shapes of the language; what a simple command means is [`super::simple`]'s business.

mod bombs;
mod compound;
mod redirects;

use super::git_calls::GitCalls;
use super::report::{Finding, Report};
use super::scan::{self, Fault, MOST_DEPTH};
use super::words::{self, Substitution, Variables, Word};
use super::{Ground, answered, simple, wrappers};
use brush_parser::ast;
use std::collections::HashMap;
use std::rc::Rc;

/// The most simple commands of a script and of everything it holds as text.
const MOST_COMMANDS: usize = 1000;
/// The most words of a simple command: each is looked up as a name.
const MOST_ARGUMENTS: usize = 2000;
/// The most bytes that are parsed for one command, as text that is fed to a shell is parsed again.
const MOST_READ: usize = 2 * scan::MOST_BYTES;

/// The most rounds of `for` loops, taken together, in which commands may be started in the background.
const MOST_ROUNDS: usize = 16;

const UNCOUNTED: &str =
    "It starts commands in the background in a loop, and how many of them run at once is not known.";

/// What a command reads on its standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Input {
    /// What the whole command reads: nothing.
    Nothing,
    /// Text that is known.
    Text(Rc<str>),
    /// Text that was followed through variables: good enough to refuse by.
    Guess(Rc<str>),
    /// What another command writes.
    Unknown,
}

/// Every folder the script may be in behind a pipeline, by how that ended; `None` where it cannot be known.
struct Ends {
    success: Option<Vec<String>>,
    failure: Option<Vec<String>>,
}

/// A simple command, expanded as far as that can be done without running it.
#[derive(Debug)]
pub(super) struct Simple {
    pub(super) argv: Vec<Word>,
    /// The variables that are set before it, each with its value where that is certain.
    pub(super) assigned: Vec<(String, Option<String>)>,
    pub(super) input: Input,
}

pub(super) struct Walker<'a> {
    pub(super) ground: Ground<'a>,
    pub(super) report: Report,
    /// What the commands so far do to a repository.
    pub(super) git: GitCalls,
    pub(super) variables: Variables,
    /// Every folder the script may be in; `None` once it cannot be known.
    pub(super) folders: Option<Vec<String>>,
    /// Where the script is if the last command was `cd` and succeeded.
    pub(super) arrived: Option<Option<Vec<String>>>,
    /// The functions whose bodies are being read.
    functions: Vec<String>,
    defined: HashMap<String, compound::Function>,
    edges: Vec<bombs::Edge>,
    /// What the first command of a pipeline reads.
    stdin: Input,
    /// Whether the command at hand runs beside another one.
    pub(super) beside: bool,
    /// How many scripts are being read, one inside the other.
    pub(super) depth: usize,
    /// How many groups, loops, functions and the like of them are open.
    pub(super) groups: usize,
    commands: usize,
    bytes: usize,
    suspicions: usize,
    /// How many loops are open around what is read whose rounds nobody counted: also what `xargs` and `find` start again and
    /// again.
    pub(super) loops: usize,
    /// How often the other loops that are open, `for` over literal words, run what is read, all of them taken together.
    rounds: usize,
    /// The variables that are set for every command behind, but for those that change nothing but how output looks.
    pub(super) exported: Vec<String>,
    /// Whether a file was read into the shell: its functions may stand for any program behind.
    pub(super) sourced: bool,
    /// Whether the body of a loop is being read for one of its values.
    unrolling: bool,
}

impl<'a> Walker<'a> {
    pub(super) fn new(ground: Ground<'a>, cwd: &str) -> Walker<'a> {
        Walker {
            ground,
            report: Report::default(),
            git: GitCalls::default(),
            variables: Variables::default(),
            folders: Some(vec![cwd.to_owned()]),
            arrived: None,
            functions: Vec::new(),
            defined: HashMap::new(),
            edges: Vec::new(),
            stdin: Input::Nothing,
            beside: false,
            depth: 0,
            groups: 0,
            commands: 0,
            bytes: 0,
            suspicions: 0,
            loops: 0,
            rounds: 1,
            exported: Vec::new(),
            sourced: false,
            unrolling: false,
        }
    }

    /// Reads a script: the command itself, a substitution, or text that is fed to a shell.
    pub(super) fn script(&mut self, text: &str) {
        self.bytes += text.len();
        if self.bytes > MOST_READ {
            let reason = format!("It holds more than {MOST_READ} bytes of commands inside commands.");
            return self.report.note(Fault::TooLarge(reason));
        }
        self.deeper(|walker| match parse(text) {
            Ok(program) => walker.program(text, &program),
            Err(fault) => walker.report.note(fault),
        });
    }

    /// A variable that was judged by what it was, and then set to something else: whether before or after cannot be told.
    pub(super) fn upset_variables(&mut self) {
        if let Some(name) = self.variables.upset() {
            let name = super::report::shown(name, 40);
            self.report
                .note(Finding::ask("assignment", format!("It sets {name} after it was used for what it was before.")));
        }
    }

    /// Reads a script that is fed something.
    pub(super) fn script_on(&mut self, text: &str, input: &Input) {
        let before = std::mem::replace(&mut self.stdin, input.clone());
        self.script(text);
        self.stdin = before;
    }

    /// Reads text that may be a script, where it is a question anyway: only what is refused counts.
    pub(super) fn suspected(&mut self, text: &str) {
        self.suspicions += text.len();
        if self.suspicions > scan::MOST_BYTES || self.depth >= MOST_DEPTH {
            return;
        }
        let (commands, bytes) = (self.commands, self.bytes);
        let before = std::mem::take(&mut self.report);
        let git = self.git.clone();
        self.script(text);
        let found = std::mem::replace(&mut self.report, before);
        self.git = git;
        self.report.note_refusal(found);
        (self.commands, self.bytes) = (commands, bytes);
    }

    /// Commands in the subscripts of a word that the shell takes for the name of a variable or for arithmetic.
    pub(super) fn subscripts(&mut self, word: &Word) {
        let Some(text) = word.guess().filter(|text| text.contains("$(") || text.contains('`')) else { return };
        let mut found = Vec::new();
        words::heredoc(text, &mut found);
        found.iter().for_each(|substitution| self.suspected(&substitution.text));
    }

    /// One level further in, where the limit of nesting lets it.
    pub(super) fn deeper(&mut self, go: impl FnOnce(&mut Self)) {
        self.depth += 1;
        if self.depth > MOST_DEPTH {
            self.report.note(Fault::TooLarge(format!("The command is nested deeper than {MOST_DEPTH}.")));
        } else {
            go(self);
        }
        self.depth -= 1;
    }

    fn program(&mut self, text: &str, program: &ast::Program) {
        if let Some(hidden) = scan::hidden(text) {
            self.report.note(hidden);
        }
        if program.complete_commands.is_empty() && self.depth == 1 {
            self.report.note(Finding::ask("unreadable", "There is no command in it."));
        }
        program.complete_commands.iter().for_each(|list| drop(self.list(list)));
    }

    /// The commands of a process substitution run beside the one that reads what they write, and go to folders of their own.
    fn substituted(&mut self, list: &ast::CompoundList) -> Input {
        let before = (self.folders.clone(), std::mem::replace(&mut self.beside, true));
        self.groups += 1;
        let output = self.list(list);
        self.groups -= 1;
        (self.folders, self.beside) = before;
        output
    }

    /// Reads what may run again and again.
    pub(super) fn looped<T>(&mut self, go: impl FnOnce(&mut Self) -> T) -> T {
        self.loops += 1;
        let done = go(self);
        self.loops -= 1;
        done
    }

    /// Gives back what all of it writes.
    fn list(&mut self, list: &ast::CompoundList) -> Input {
        let mut output = Input::Nothing;
        for ast::CompoundListItem(and_or, separator) in &list.0 {
            let before = self.beside;
            let in_background = matches!(separator, ast::SeparatorOperator::Async);
            let folders = self.folders.clone();
            self.beside |= in_background;
            if in_background && self.loops > 0 {
                self.report.note(Finding::ask("background_in_loop", UNCOUNTED));
            } else if in_background && self.rounds > MOST_ROUNDS {
                let reason = format!(
                    "It starts commands in the background in {} rounds of a loop; up to {MOST_ROUNDS} need no question.",
                    self.rounds
                );
                self.report.note(Finding::ask("background_in_loop", reason));
            }
            let (text, mut ends) = self.ended(&and_or.first);
            output = output.and(text);
            for next in &and_or.additional {
                // Behind `&&` what stands before has succeeded, behind `||` it has failed.
                let (pipeline, skips) = match next {
                    ast::AndOr::And(pipeline) => {
                        self.folders.clone_from(&ends.success);
                        (pipeline, Ends { success: Some(Vec::new()), failure: ends.failure })
                    }
                    ast::AndOr::Or(pipeline) => {
                        self.folders.clone_from(&ends.failure);
                        (pipeline, Ends { success: ends.success, failure: Some(Vec::new()) })
                    }
                };
                let (text, ran) = self.ended(pipeline);
                output = output.and(text);
                ends = Ends {
                    success: simple::either(ran.success, skips.success),
                    failure: simple::either(ran.failure, skips.failure),
                };
            }
            self.folders = simple::either(ends.success, ends.failure);
            if in_background {
                // Where it goes is its own.
                self.folders = folders;
            }
            self.beside = before;
        }
        output
    }

    /// Reads a pipeline; gives back what it writes, and where the script is where it succeeds and where it fails.
    fn ended(&mut self, pipeline: &ast::Pipeline) -> (Input, Ends) {
        self.arrived = None;
        let before = self.folders.clone();
        let output = self.pipeline(pipeline);
        let alone = matches!(pipeline.seq.as_slice(), [ast::Command::Simple(_)]) && !pipeline.bang;
        let ends = match self.arrived.take().filter(|_| alone) {
            Some(arrived) => Ends { success: arrived, failure: before },
            None => Ends { success: self.folders.clone(), failure: self.folders.clone() },
        };
        (output, ends)
    }

    fn pipeline(&mut self, pipeline: &ast::Pipeline) -> Input {
        if self.commands > MOST_COMMANDS {
            return Input::Unknown;
        }
        let before = self.beside;
        self.beside |= pipeline.seq.len() > 1;
        let mut input = self.stdin.clone();
        for command in pipeline.seq.iter().take(MOST_COMMANDS + 1) {
            input = self.command(command, input);
        }
        self.beside = before;
        input
    }

    /// Gives back what the next command of a pipeline would read.
    fn command(&mut self, command: &ast::Command, input: Input) -> Input {
        if let ast::Command::Simple(command) = command {
            return self.simple(command, input);
        }
        self.groups += 1;
        let output = self.grouped(command, input);
        self.groups -= 1;
        output
    }

    fn grouped(&mut self, command: &ast::Command, input: Input) -> Input {
        match command {
            ast::Command::Simple(_) => Input::Unknown,
            ast::Command::Compound(compound, redirects) => {
                let input = match self.redirects(redirects.as_ref()) {
                    Input::Unknown if redirects.is_none() => input,
                    redirected => redirected,
                };
                let before = std::mem::replace(&mut self.stdin, input);
                let output = self.compound(compound);
                self.stdin = before;
                output
            }
            ast::Command::Function(function) => {
                self.function(function);
                Input::Nothing
            }
            ast::Command::ExtendedTest(test, redirects) => {
                self.unheld("[[ ]]");
                self.test(&test.expr);
                self.redirects(redirects.as_ref());
                Input::Nothing
            }
        }
    }

    /// A construct that the sandbox holds, where it is around the command. It is never git alone.
    fn unheld(&mut self, what: &str) {
        self.git.other(what);
        if !self.ground.facts.walls().hold {
            self.construct(what);
        }
    }

    /// A construct that is read, but not known to only read.
    fn construct(&mut self, what: &str) {
        let reason = format!("It uses {what}, which is not on the list of what only reads.");
        self.git.other(what);
        self.report.note(Finding::ask("not_known_read_only", reason));
    }

    /// Judges a command by itself, then holds what was found against what the person has answered before.
    fn simple(&mut self, command: &ast::SimpleCommand, input: Input) -> Input {
        let before = std::mem::take(&mut self.report);
        let given = answered::Given { folders: self.folders.clone(), fed: input != Input::Nothing };
        let simple = self.alone(command, input);
        // What a wrapper runs is another process, which goes nowhere for the script.
        let goes = simple.as_ref().and_then(|simple| simple.argv.first()?.literal()) == Some("cd");
        self.arrived = self.arrived.take().filter(|_| goes);
        let own = std::mem::replace(&mut self.report, before);
        answered::settle(self, own, command, simple.as_ref(), &given);
        simple.as_ref().map_or(Input::Unknown, simple::output)
    }

    /// `None` where a limit is passed.
    fn alone(&mut self, command: &ast::SimpleCommand, input: Input) -> Option<Simple> {
        self.commands += 1;
        if self.commands > MOST_COMMANDS {
            self.report.note(Fault::TooLarge(format!("It holds more than {MOST_COMMANDS} commands.")));
            return None;
        }
        self.report.command(&raw(command));
        let mut simple = Simple { argv: Vec::new(), assigned: Vec::new(), input };
        let prefix = command.prefix.iter().flat_map(|prefix| &prefix.0);
        prefix.for_each(|item| self.item(item, &mut simple, true));
        if let Some(name) = &command.word_or_name {
            simple.argv.extend(self.arguments(&name.value));
        }
        let suffix = command.suffix.iter().flat_map(|suffix| &suffix.0);
        suffix.for_each(|item| self.item(item, &mut simple, false));
        if simple.argv.len() > MOST_ARGUMENTS {
            self.report.note(Fault::TooLarge(format!("A command has more than {MOST_ARGUMENTS} words.")));
            return None;
        }
        simple::judge(self, &simple);
        Some(simple)
    }

    fn item(&mut self, item: &ast::CommandPrefixOrSuffixItem, simple: &mut Simple, before: bool) {
        match item {
            ast::CommandPrefixOrSuffixItem::IoRedirect(redirect) => self.redirect(redirect, &mut simple.input),
            ast::CommandPrefixOrSuffixItem::Word(word) => simple.argv.extend(self.arguments(&word.value)),
            ast::CommandPrefixOrSuffixItem::AssignmentWord(assignment, word) => {
                let words = self.words(&word.value);
                words.iter().for_each(|word| self.subscripts(word));
                let assigned = self.assign(assignment);
                match before {
                    true => simple.assigned.push(assigned),
                    false => simple.argv.extend(words),
                }
            }
            ast::CommandPrefixOrSuffixItem::ProcessSubstitution(kind, subshell) => {
                let output = self.stream(kind, subshell);
                if let (Input::Text(text) | Input::Guess(text), true) = (output, simple::runs_files(&simple.argv)) {
                    self.suspected(&text);
                }
                let reads = matches!(kind, ast::ProcessSubstitutionKind::Read) && self.ground.facts.walls().hold;
                simple.argv.push(if reads { Word::stream() } else { Word::unknown() });
            }
        }
    }

    /// A command beside, whose output is read like a file, or that is written to like one.
    fn stream(&mut self, kind: &ast::ProcessSubstitutionKind, subshell: &ast::SubshellCommand) -> Input {
        match kind {
            ast::ProcessSubstitutionKind::Read => self.unheld("a process substitution"),
            ast::ProcessSubstitutionKind::Write => self.construct("a process substitution"),
        }
        self.substituted(&subshell.list)
    }

    /// The name that is assigned, and its value where that is certain; what it may be is followed.
    fn assign(&mut self, assignment: &ast::Assignment) -> (String, Option<String>) {
        let (ast::AssignmentName::VariableName(name) | ast::AssignmentName::ArrayElementName(name, _)) =
            &assignment.name;
        simple::renames(self, name);
        match (&assignment.name, &assignment.value) {
            (ast::AssignmentName::VariableName(name), ast::AssignmentValue::Scalar(value)) if !assignment.append => {
                // Its substitutions were met with the whole word.
                let values = words::read(&value.value, &self.variables, &mut Vec::new());
                for value in &values {
                    self.variables.may_be_word(name, value);
                    self.subscripts(value);
                    if let Some(text) = value.guess().filter(|_| wrappers::is_command_line(name)) {
                        self.suspected(text.trim_start_matches('|'));
                    }
                }
                // In front of a command, no name is looked for by a pattern.
                let certain = |word: &Word| match word.is_glob() {
                    true => Some(word.pattern().into_owned()),
                    false => word.literal().map(str::to_owned),
                };
                let value = if let [value] = values.as_slice() { certain(value) } else { None };
                (name.clone(), value)
            }
            (ast::AssignmentName::VariableName(name), ast::AssignmentValue::Array(elements)) => {
                self.construct("an array or `+=`");
                let words =
                    elements.iter().flat_map(|(_, word)| words::read(&word.value, &self.variables, &mut Vec::new()));
                let text: Vec<String> = words.map(|word| word.pattern().into_owned()).collect();
                self.variables.may_be(name, Some(&text.join(" ")));
                (name.clone(), None)
            }
            (ast::AssignmentName::VariableName(name) | ast::AssignmentName::ArrayElementName(name, _), _) => {
                self.construct("an array or `+=`");
                (name.clone(), None)
            }
        }
    }

    /// The words a raw word stands for, where without a sandbox nothing but a literal word or a pattern is sure to only
    /// read; what its substitutions would run is judged on the way.
    fn words(&mut self, raw: &str) -> Vec<Word> {
        let words = self.arguments(raw);
        if words.iter().any(|word| word.literal().is_none() && !word.is_glob()) {
            self.unheld("a word that only a run would tell");
        }
        words
    }

    /// The same for the words of a simple command, which know more of what may stand in each place.
    fn arguments(&mut self, raw: &str) -> Vec<Word> {
        let mut found = Vec::new();
        let words = words::read(raw, &self.variables, &mut found);
        if words.iter().any(Word::is_hidden) {
            self.construct("a word that only a run would tell");
        } else if words.iter().any(Word::is_uncertain) {
            // In the sandbox its place says what it may be: text, what is read, or an option.
            self.unheld("a word that only a run would tell");
        }
        self.substitutions(found);
        words
    }

    fn substitutions(&mut self, found: Vec<Substitution>) {
        for substitution in found {
            let beside = std::mem::replace(&mut self.beside, true);
            self.groups += 1;
            match substitution.certain {
                true => self.script(&substitution.text),
                false => {
                    self.git.other("text that may be a command");
                    self.suspected(&substitution.text);
                }
            }
            self.groups -= 1;
            self.beside = beside;
        }
    }
}

impl Input {
    /// Both, one after the other.
    fn and(self, more: Input) -> Input {
        match (self, more) {
            (Input::Nothing, more) => more,
            (text, Input::Nothing) => text,
            (Input::Text(text), Input::Text(more)) if text.len() + more.len() < scan::MOST_BYTES => {
                Input::Text(format!("{text}\n{more}").into())
            }
            (Input::Text(text) | Input::Guess(text), Input::Text(more) | Input::Guess(more))
                if text.len() + more.len() < scan::MOST_BYTES =>
            {
                Input::Guess(format!("{text}\n{more}").into())
            }
            _ => Input::Unknown,
        }
    }
}

/// The words of a command as they were written.
fn raw(command: &ast::SimpleCommand) -> String {
    let mut out = String::new();
    let items = |items: &[ast::CommandPrefixOrSuffixItem], out: &mut String| {
        for item in items {
            if !out.is_empty() {
                out.push(' ');
            }
            match item {
                ast::CommandPrefixOrSuffixItem::IoRedirect(redirect) => out.push_str(&redirect.to_string()),
                ast::CommandPrefixOrSuffixItem::Word(word)
                | ast::CommandPrefixOrSuffixItem::AssignmentWord(_, word) => out.push_str(&word.value),
                ast::CommandPrefixOrSuffixItem::ProcessSubstitution(..) => out.push_str("<(...)"),
            }
        }
    };
    command.prefix.iter().for_each(|prefix| items(&prefix.0, &mut out));
    if let Some(name) = &command.word_or_name {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(&name.value);
    }
    command.suffix.iter().for_each(|suffix| items(&suffix.0, &mut out));
    out
}

/// The parser is somebody else's: what it does not survive is not the end of the host.
fn parse(text: &str) -> Result<ast::Program, Fault> {
    scan::text(text)?;
    std::panic::catch_unwind(|| parse_gated(text))
        .unwrap_or_else(|_| Err(Fault::Unreadable("The parser failed on it.".to_owned())))
}

fn parse_gated(text: &str) -> Result<ast::Program, Fault> {
    let options = brush_parser::ParserOptions {
        // As `bash -c` starts: a pattern such as `@(a|b)` is a syntax error there.
        enable_extended_globbing: false,
        ..brush_parser::ParserOptions::default()
    };
    let unreadable = |error: String| Fault::Unreadable(format!("It cannot be read as a command: {error}."));
    let tokens = brush_parser::uncached_tokenize_str(text, &options.tokenizer_options())
        .map_err(|error| unreadable(error.to_string()))?;
    scan::tokens(&tokens)?;
    brush_parser::parse_tokens(&tokens, &options).map_err(|error| unreadable(error.to_string()))
}
