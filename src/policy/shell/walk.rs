//! The way through a parsed script: every simple command that could be reached, whatever the conditions.
//!
//! Knows the shapes of the language; what a simple command means is [`super::simple`]'s business.

use super::report::{Finding, Report};
use super::scan::{self, Fault, MOST_DEPTH};
use super::words::{self, Substitution, Variables, Word};
use super::{Ground, answered, simple};
use brush_parser::ast;
use std::collections::{BTreeMap, BTreeSet};

/// The most simple commands of a script and of everything it holds as text.
const MOST_COMMANDS: usize = 1000;
/// The most words of a simple command: each is looked up as a name.
const MOST_ARGUMENTS: usize = 2000;
/// The most bytes that are parsed for one command, as text that is fed to a shell is parsed again.
const MOST_READ: usize = 2 * scan::MOST_BYTES;

/// What a command reads on its standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Input {
    /// What the whole command reads: nothing.
    Nothing,
    /// Text that is known.
    Text(String),
    /// What another command writes.
    Unknown,
}

/// A simple command, expanded as far as that can be done without running it.
#[derive(Debug)]
pub(super) struct Simple {
    pub(super) argv: Vec<Word>,
    pub(super) assigned: Vec<String>,
    pub(super) input: Input,
}

pub(super) struct Walker<'a> {
    pub(super) ground: Ground<'a>,
    pub(super) report: Report,
    pub(super) variables: Variables,
    /// Every folder the script may be in; `None` once it cannot be known.
    pub(super) folders: Option<Vec<String>>,
    /// The functions whose bodies are being read.
    functions: Vec<String>,
    /// Which function calls which, and whether beside something else.
    edges: Vec<(String, String, bool)>,
    /// Whether the command at hand runs beside another one.
    beside: bool,
    /// How many scripts are being read, one inside the other.
    pub(super) depth: usize,
    /// How many groups, loops, functions and the like of them are open.
    pub(super) groups: usize,
    commands: usize,
    bytes: usize,
}

impl<'a> Walker<'a> {
    pub(super) fn new(ground: Ground<'a>, cwd: &str) -> Walker<'a> {
        Walker {
            ground,
            report: Report::default(),
            variables: Variables::default(),
            folders: Some(vec![cwd.to_owned()]),
            functions: Vec::new(),
            edges: Vec::new(),
            beside: false,
            depth: 0,
            groups: 0,
            commands: 0,
            bytes: 0,
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

    /// Notes that a name is called, for [`Walker::fork_bombs`].
    pub(super) fn calls(&mut self, name: &str) {
        for function in &self.functions {
            self.edges.push((function.clone(), name.to_owned(), self.beside));
        }
    }

    /// Finds functions that start each other again and again, when all is read.
    pub(super) fn fork_bombs(&mut self) {
        let mut callees: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (from, to, _) in &self.edges {
            callees.entry(from).or_default().insert(to);
        }
        let beside: BTreeSet<(&str, &str)> =
            self.edges.iter().filter(|edge| edge.2).map(|(from, to, _)| (from.as_str(), to.as_str())).collect();
        // What calls nothing leads back to nothing.
        let mut bombs =
            beside.iter().filter(|(from, to)| from == to || callees.contains_key(to) && reaches(&callees, to, from));
        let bomb = bombs.next().map(|(name, _)| super::rules::fork_bomb(name));
        bomb.into_iter().for_each(|bomb| self.report.note(bomb));
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
        program.complete_commands.iter().for_each(|list| self.list(list));
    }

    fn list(&mut self, list: &ast::CompoundList) {
        for ast::CompoundListItem(and_or, separator) in &list.0 {
            let before = self.beside;
            self.beside |= matches!(separator, ast::SeparatorOperator::Async);
            self.pipeline(&and_or.first);
            for ast::AndOr::And(pipeline) | ast::AndOr::Or(pipeline) in &and_or.additional {
                self.pipeline(pipeline);
            }
            self.beside = before;
        }
    }

    fn pipeline(&mut self, pipeline: &ast::Pipeline) {
        if self.commands > MOST_COMMANDS {
            return;
        }
        let before = self.beside;
        self.beside |= pipeline.seq.len() > 1;
        let mut input = Input::Nothing;
        for command in pipeline.seq.iter().take(MOST_COMMANDS + 1) {
            input = self.command(command, input);
        }
        self.beside = before;
    }

    /// Gives back what the next command of a pipeline would read.
    fn command(&mut self, command: &ast::Command, input: Input) -> Input {
        if let ast::Command::Simple(command) = command {
            return self.simple(command, input);
        }
        self.groups += 1;
        self.grouped(command);
        self.groups -= 1;
        Input::Unknown
    }

    fn grouped(&mut self, command: &ast::Command) {
        match command {
            ast::Command::Simple(_) => {}
            ast::Command::Compound(compound, redirects) => {
                self.compound(compound);
                self.redirects(redirects.as_ref());
            }
            ast::Command::Function(function) => self.function(function),
            ast::Command::ExtendedTest(test, redirects) => {
                self.construct("[[ ]]");
                self.test(&test.expr);
                self.redirects(redirects.as_ref());
            }
        }
    }

    fn compound(&mut self, compound: &ast::CompoundCommand) {
        match compound {
            ast::CompoundCommand::BraceGroup(group) => self.list(&group.list),
            ast::CompoundCommand::Subshell(subshell) => self.list(&subshell.list),
            ast::CompoundCommand::IfClause(clause) => self.conditional(clause),
            ast::CompoundCommand::WhileClause(clause) | ast::CompoundCommand::UntilClause(clause) => {
                self.list(&clause.0);
                self.list(&clause.1.list);
            }
            ast::CompoundCommand::ForClause(clause) => self.each(clause),
            ast::CompoundCommand::CaseClause(clause) => self.case(clause),
            ast::CompoundCommand::Arithmetic(command) => self.arithmetic(&command.expr),
            ast::CompoundCommand::ArithmeticForClause(clause) => {
                let parts = [&clause.initializer, &clause.condition, &clause.updater];
                parts.into_iter().flatten().for_each(|expr| self.arithmetic(expr));
                self.list(&clause.body.list);
            }
            ast::CompoundCommand::Coprocess(clause) => {
                self.construct("coproc");
                self.command(&clause.body, Input::Unknown);
            }
        }
    }

    fn conditional(&mut self, clause: &ast::IfClauseCommand) {
        self.list(&clause.condition);
        self.list(&clause.then);
        for part in clause.elses.iter().flatten() {
            part.condition.iter().for_each(|list| self.list(list));
            self.list(&part.body);
        }
    }

    fn each(&mut self, clause: &ast::ForClauseCommand) {
        for raw in clause.values.iter().flatten() {
            for word in self.words(&raw.value) {
                self.variables.may_be(&clause.variable_name, word.guess());
            }
        }
        self.list(&clause.body.list);
    }

    fn case(&mut self, clause: &ast::CaseClauseCommand) {
        self.construct("case");
        self.words(&clause.value.value);
        for item in &clause.cases {
            item.patterns.iter().for_each(|pattern| drop(self.words(&pattern.value)));
            item.cmd.iter().for_each(|list| self.list(list));
        }
    }

    fn function(&mut self, function: &ast::FunctionDefinition) {
        self.construct("a function");
        self.functions.push(function.fname.value.clone());
        self.compound(&function.body.0);
        self.functions.pop();
        self.redirects(function.body.1.as_ref());
    }

    fn arithmetic(&mut self, expr: &ast::UnexpandedArithmeticExpr) {
        self.construct("arithmetic");
        self.words(&expr.value);
    }

    fn test(&mut self, expr: &ast::ExtendedTestExpr) {
        match expr {
            ast::ExtendedTestExpr::And(left, right) | ast::ExtendedTestExpr::Or(left, right) => {
                self.test(left);
                self.test(right);
            }
            ast::ExtendedTestExpr::Not(inner) | ast::ExtendedTestExpr::Parenthesized(inner) => self.test(inner),
            ast::ExtendedTestExpr::UnaryTest(_, word) => drop(self.words(&word.value)),
            ast::ExtendedTestExpr::BinaryTest(_, left, right) => {
                self.words(&left.value);
                self.words(&right.value);
            }
        }
    }

    /// A construct that is read, but not known to only read.
    fn construct(&mut self, what: &str) {
        let reason = format!("It uses {what}, which is not on the list of what only reads.");
        self.report.note(Finding::ask("not_known_read_only", reason));
    }

    /// Judges a command by itself, then holds what was found against what the person has answered before.
    fn simple(&mut self, command: &ast::SimpleCommand, input: Input) -> Input {
        let before = std::mem::take(&mut self.report);
        let given = answered::Given { folders: self.folders.clone(), fed: input != Input::Nothing };
        let simple = self.alone(command, input);
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
            simple.argv.extend(self.words(&name.value));
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
            ast::CommandPrefixOrSuffixItem::Word(word) => simple.argv.extend(self.words(&word.value)),
            ast::CommandPrefixOrSuffixItem::AssignmentWord(assignment, word) => {
                let words = self.words(&word.value);
                simple.assigned.push(self.assign(assignment));
                if !before {
                    simple.assigned.pop();
                    simple.argv.extend(words);
                }
            }
            ast::CommandPrefixOrSuffixItem::ProcessSubstitution(_, subshell) => {
                self.construct("a process substitution");
                simple.argv.push(Word::unknown());
                self.list(&subshell.list);
            }
        }
    }

    /// The name that is assigned; its value is followed where it is literal.
    fn assign(&mut self, assignment: &ast::Assignment) -> String {
        match (&assignment.name, &assignment.value) {
            (ast::AssignmentName::VariableName(name), ast::AssignmentValue::Scalar(value)) if !assignment.append => {
                // Its substitutions were met with the whole word.
                let values = words::read(&value.value, &self.variables, &mut Vec::new());
                values.iter().for_each(|value| self.variables.may_be(name, value.guess()));
                name.clone()
            }
            (ast::AssignmentName::VariableName(name), ast::AssignmentValue::Array(elements)) => {
                self.construct("an array or `+=`");
                let words =
                    elements.iter().flat_map(|(_, word)| words::read(&word.value, &self.variables, &mut Vec::new()));
                let text: Vec<String> = words.map(|word| word.pattern()).collect();
                self.variables.may_be(name, Some(&text.join(" ")));
                name.clone()
            }
            (ast::AssignmentName::VariableName(name) | ast::AssignmentName::ArrayElementName(name, _), _) => {
                self.construct("an array or `+=`");
                name.clone()
            }
        }
    }

    fn redirects(&mut self, redirects: Option<&ast::RedirectList>) {
        let mut input = Input::Unknown;
        redirects.iter().flat_map(|list| &list.0).for_each(|redirect| self.redirect(redirect, &mut input));
    }

    fn redirect(&mut self, redirect: &ast::IoRedirect, input: &mut Input) {
        match redirect {
            ast::IoRedirect::File(_, kind, target) => self.file_redirect(kind, target, input),
            ast::IoRedirect::OutputAndError(word, _) => self.target(&word.value, true),
            ast::IoRedirect::HereString(_, word) => {
                self.construct("a here-string");
                *input = match self.words(&word.value).as_slice() {
                    [word] => word.guess().map_or(Input::Unknown, |text| Input::Text(text.to_owned())),
                    _ => Input::Unknown,
                };
            }
            ast::IoRedirect::HereDocument(_, document) => {
                self.construct("a here-document");
                let expands = document.requires_expansion && document.doc.value.contains(['$', '`']);
                *input = if expands { Input::Unknown } else { Input::Text(document.doc.value.clone()) };
                if expands {
                    let mut found = Vec::new();
                    words::heredoc(&document.doc.value, &mut found);
                    self.substitutions(found);
                }
            }
        }
    }

    fn file_redirect(&mut self, kind: &ast::IoFileRedirectKind, target: &ast::IoFileRedirectTarget, input: &mut Input) {
        use ast::IoFileRedirectKind::{DuplicateInput, DuplicateOutput, Read};
        let writes = !matches!(kind, Read | DuplicateInput);
        if matches!(kind, Read) {
            *input = Input::Unknown;
        }
        match target {
            ast::IoFileRedirectTarget::Fd(_) => {}
            ast::IoFileRedirectTarget::Duplicate(word) if is_descriptor(&word.value) => {}
            ast::IoFileRedirectTarget::Filename(word) | ast::IoFileRedirectTarget::Duplicate(word) => {
                self.target(&word.value, writes || matches!(kind, DuplicateOutput));
            }
            ast::IoFileRedirectTarget::ProcessSubstitution(_, subshell) => {
                self.construct("a process substitution");
                self.list(&subshell.list);
            }
        }
    }

    fn target(&mut self, raw: &str, writes: bool) {
        for word in self.words(raw) {
            let findings = super::files::redirect(self.ground, self.folders.as_deref(), &word, writes);
            findings.into_iter().for_each(|finding| self.report.note(finding));
        }
    }

    /// The words a raw word stands for; what its substitutions would run is judged on the way.
    fn words(&mut self, raw: &str) -> Vec<Word> {
        let mut found = Vec::new();
        let words = words::read(raw, &self.variables, &mut found);
        if words.len() > 1 || words.iter().any(|word| word.literal().is_none() && !word.is_glob()) {
            let known = "a word that only a run would tell";
            if words.iter().any(|word| word.literal().is_none() && !word.is_glob()) {
                self.construct(known);
            }
        }
        self.substitutions(found);
        words
    }

    fn substitutions(&mut self, found: Vec<Substitution>) {
        for substitution in found {
            self.construct("a command substitution");
            let beside = std::mem::replace(&mut self.beside, true);
            self.script(&substitution.text);
            self.beside = beside;
        }
    }
}

fn reaches<'a>(callees: &BTreeMap<&'a str, BTreeSet<&'a str>>, start: &'a str, goal: &str) -> bool {
    let (mut seen, mut pending) = (BTreeSet::from([start]), vec![start]);
    while let Some(name) = pending.pop() {
        if name == goal {
            return true;
        }
        pending.extend(callees.get(name).into_iter().flatten().filter(|name| seen.insert(name)));
    }
    false
}

fn is_descriptor(word: &str) -> bool {
    let number = word.strip_suffix('-').unwrap_or(word);
    number.len() <= 3 && number.bytes().all(|byte| byte.is_ascii_digit()) && !word.is_empty()
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

fn parse(text: &str) -> Result<ast::Program, Fault> {
    scan::text(text)?;
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
