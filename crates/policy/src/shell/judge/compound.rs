//! Groups, loops, conditions and functions: every branch of them is read.

use super::report::{Deeds, Finding};
use super::{Input, UNCOUNTED, Walker, files};
use crate::Judgement;
use crate::shell::expand::{MOST_VALUES, Word};
use crate::shell::programs::{has, options};
use crate::shell::{messages, shown, syntax};
use brush_parser::ast;

impl Walker<'_> {
    pub(crate) fn compound(&mut self, compound: &ast::CompoundCommand) {
        match compound {
            ast::CompoundCommand::BraceGroup(group) => self.list(&group.list),
            ast::CompoundCommand::Subshell(subshell) => {
                // Where it goes is its own.
                let before = self.folders.clone();
                self.list(&subshell.list);
                self.folders = before;
            }
            ast::CompoundCommand::IfClause(clause) => self.conditional(clause),
            ast::CompoundCommand::WhileClause(clause) | ast::CompoundCommand::UntilClause(clause) => {
                self.repeated(UNCOUNTED, |walker| {
                    walker.list(&clause.0);
                    walker.list(&clause.1.list);
                });
            }
            ast::CompoundCommand::ForClause(clause) => self.each(clause),
            ast::CompoundCommand::CaseClause(clause) => self.case(clause),
            ast::CompoundCommand::Arithmetic(command) => {
                self.arithmetic(&command.expr);
                // The parser takes `( (ls) )` for arithmetic too. It is a question in either reading.
                let text = &command.expr.value;
                if let Ok(program) = syntax::parse(text) {
                    self.deeper(|walker| walker.program(text, &program));
                }
            }
            ast::CompoundCommand::ArithmeticForClause(clause) => {
                let parts = [&clause.initializer, &clause.condition, &clause.updater];
                parts.into_iter().flatten().for_each(|expr| self.arithmetic(expr));
                self.repeated(UNCOUNTED, |walker| walker.list(&clause.body.list));
            }
            ast::CompoundCommand::Coprocess(clause) => {
                self.construct(messages::coproc());
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
        let name = clause.variable_name.as_str();
        self.variable(name);
        let words = clause.values.iter().flatten().flat_map(|raw| self.words(&raw.value)).collect::<Vec<_>>();
        let mut rounds = words.len();
        if words.iter().any(|word| word.literal().is_none()) || clause.values.is_none() {
            self.git.other(messages::untold_loop());
            rounds = UNCOUNTED;
        }
        if self.unrolls(name, &words) && !words.iter().any(Word::is_glob) {
            return self.looped(rounds, |walker| walker.unrolled(name, &words, &clause.body.list));
        }
        self.repeated(rounds, |walker| {
            if walker.unrolls(name, &words) {
                return walker.unrolled(name, &words, &clause.body.list);
            }
            words.iter().for_each(|word| walker.variables.may_be_word(name, word));
            // Without `in` it goes through the words that the script was given.
            if clause.values.is_none() {
                walker.variables.may_be(name, None);
            }
            walker.list(&clause.body.list);
        });
    }

    /// Whether the values of a loop can be gone through one by one: few, not inside of another such loop, and of a variable
    /// that nothing else has set. The names that a pattern matches are gone through as one.
    fn unrolls(&self, name: &str, values: &[Word]) -> bool {
        let certain = |word: &Word| word.literal().is_some() || word.is_glob() && self.ground.facts.sandbox_holds();
        (1..=MOST_VALUES).contains(&values.len())
            && !self.unrolling
            && !self.variables.is_set(name)
            && values.iter().all(certain)
    }

    /// Reads the body once for each value: in one reading a value could pass for what an option takes.
    fn unrolled(&mut self, name: &str, values: &[Word], body: &ast::CompoundList) {
        self.unrolling = true;
        for (at, value) in values.iter().enumerate() {
            self.variables.is_now(name, value);
            if at == 0 {
                self.list(body);
                continue;
            }
            let before = std::mem::take(&mut self.report);
            self.list(body);
            let again = std::mem::replace(&mut self.report, before);
            self.report.absorb_again(again);
        }
        self.unrolling = false;
        self.variables.was(name, values);
    }

    /// A variable that a loop sets: those that the shell or programs look at are in capitals, but for a few.
    fn variable(&mut self, name: &str) {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        if options::steers(name) || !name.bytes().all(plain) {
            self.git.other(messages::assignment());
            self.report.note(Finding::ask("assignment", messages::sets_variable(shown(name, 40))));
        }
    }

    fn case(&mut self, clause: &ast::CaseClauseCommand) {
        self.unheld(messages::case());
        self.words(&clause.value.value);
        for item in &clause.cases {
            item.patterns.iter().for_each(|pattern| drop(self.words(&pattern.value)));
            item.cmd.iter().for_each(|list| self.list(list));
        }
    }

    pub(crate) fn function(&mut self, function: &ast::FunctionDefinition) {
        self.construct(messages::function());
        let name = &function.fname.value;
        // The classic fork bomb, `:(){ :|:& };:`. One in disguise is asked about, as every function is.
        let body: String = function.body.0.to_string().split_whitespace().collect();
        if body.contains(&format!("{name}|{name}&")) {
            self.report.note(Finding::deny("fork_bomb", messages::fork_bomb(shown(name, 40))));
        }
        self.compound(&function.body.0);
        self.redirects(function.body.1.as_ref());
    }

    fn arithmetic(&mut self, expr: &ast::UnexpandedArithmeticExpr) {
        self.construct(messages::arithmetic());
        self.words(&expr.value);
    }

    pub(crate) fn test(&mut self, expr: &ast::ExtendedTestExpr) {
        match expr {
            ast::ExtendedTestExpr::And(left, right) | ast::ExtendedTestExpr::Or(left, right) => {
                self.test(left);
                self.test(right);
            }
            ast::ExtendedTestExpr::Not(inner) | ast::ExtendedTestExpr::Parenthesized(inner) => self.test(inner),
            ast::ExtendedTestExpr::UnaryTest(test, word) => {
                use ast::UnaryPredicate as Test;
                self.tested(&word.value);
                match test {
                    // The name of a variable, in whose subscript commands could hide.
                    Test::ShellVariableIsSetAndAssigned | Test::ShellVariableIsSetAndNameRef => {
                        self.construct(messages::test_of_name());
                    }
                    // The answer would be another one where nothing can be written.
                    Test::FileExistsAndIsWritable => self.report.does(Deeds::WRITES),
                    _ => {}
                }
            }
            ast::ExtendedTestExpr::BinaryTest(test, left, right) => {
                let words = [self.tested(&left.value), self.tested(&right.value)].concat();
                let compares_numbers = has("-eq -ne -lt -le -gt -ge", &test.to_string());
                // What is no number is itself read as a sum, in which commands could hide.
                let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
                if compares_numbers && !words.iter().all(|word| word.is_number() || word.literal().is_some_and(digits))
                {
                    self.construct(messages::arithmetic());
                }
            }
        }
    }

    /// Gives back the words that are tested.
    fn tested(&mut self, raw: &str) -> Vec<Word> {
        let words = self.words(raw);
        for word in &words {
            let found = files::blocked(self.ground, self.folders.as_deref(), word);
            self.report.note_any(found.filter(|finding| finding.judgement == Judgement::Deny));
        }
        words
    }
}
