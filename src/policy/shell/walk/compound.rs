//! Groups, loops, conditions and functions: every branch of them is read.

use super::{Input, Walker};
use crate::policy::Judgement;
use crate::policy::shell::files;
use crate::policy::shell::report::Finding;
use crate::policy::shell::words::{MOST_VALUES, Word};
use brush_parser::ast;
use std::rc::Rc;

/// How often the body of a function is read again for the words of a call.
const MOST_CALLS: usize = 4;

/// A function that the script defines.
pub(super) struct Function {
    body: Rc<ast::FunctionBody>,
    calls: usize,
}

impl Walker<'_> {
    /// Gives back what the compound writes.
    pub(super) fn compound(&mut self, compound: &ast::CompoundCommand) -> Input {
        match compound {
            ast::CompoundCommand::BraceGroup(group) => return self.list(&group.list),
            ast::CompoundCommand::Subshell(subshell) => return self.list(&subshell.list),
            ast::CompoundCommand::IfClause(clause) => self.conditional(clause),
            ast::CompoundCommand::WhileClause(clause) | ast::CompoundCommand::UntilClause(clause) => {
                self.looped(|walker| {
                    walker.list(&clause.0);
                    walker.list(&clause.1.list);
                });
            }
            ast::CompoundCommand::ForClause(clause) => self.looped(|walker| walker.each(clause)),
            ast::CompoundCommand::CaseClause(clause) => self.case(clause),
            ast::CompoundCommand::Arithmetic(command) => {
                self.arithmetic(&command.expr);
                // The parser takes `( (ls) )` for arithmetic too.
                self.suspected(&command.expr.value);
            }
            ast::CompoundCommand::ArithmeticForClause(clause) => {
                let parts = [&clause.initializer, &clause.condition, &clause.updater];
                parts.into_iter().flatten().for_each(|expr| self.arithmetic(expr));
                self.looped(|walker| walker.list(&clause.body.list));
            }
            ast::CompoundCommand::Coprocess(clause) => {
                self.construct("coproc");
                self.command(&clause.body, Input::Unknown);
            }
        }
        Input::Unknown
    }

    fn conditional(&mut self, clause: &ast::IfClauseCommand) {
        self.list(&clause.condition);
        self.list(&clause.then);
        for part in clause.elses.iter().flatten() {
            part.condition.iter().for_each(|list| drop(self.list(list)));
            self.list(&part.body);
        }
    }

    fn each(&mut self, clause: &ast::ForClauseCommand) {
        let name = clause.variable_name.as_str();
        self.variable(name);
        let words = clause.values.iter().flatten().flat_map(|raw| self.words(&raw.value)).collect::<Vec<_>>();
        let values: Option<Vec<&str>> = words.iter().map(Word::literal).collect();
        match values.filter(|values| self.unrolls(name, values)) {
            Some(values) => self.unrolled(name, &values, &clause.body.list),
            None => {
                words.iter().for_each(|word| self.variables.may_be_word(name, word));
                self.list(&clause.body.list);
            }
        }
    }

    /// Whether the values of a loop can be gone through one by one: few, not inside of another such loop, and of a variable
    /// that nothing else has set.
    fn unrolls(&self, name: &str, values: &[&str]) -> bool {
        (1..=MOST_VALUES).contains(&values.len()) && !self.unrolling && !self.variables.is_set(name)
    }

    /// Reads the body once for each value: in one reading a value could pass for what an option takes.
    fn unrolled(&mut self, name: &str, values: &[&str], body: &ast::CompoundList) {
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
        values.iter().for_each(|value| self.variables.may_be(name, Some(value)));
    }

    /// A variable that a loop sets: those that the shell or programs look at are in capitals, but for a few.
    fn variable(&mut self, name: &str) {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        let special = ["_", "histchars", "auto_resume"];
        if special.contains(&name) || name.ends_with("_proxy") || !name.bytes().all(plain) {
            self.git.other("an assignment");
            let reason = format!("It sets {}, and what that changes is not known.", super::super::shown(name, 40));
            self.report.note(Finding::ask("assignment", reason));
        }
    }

    fn case(&mut self, clause: &ast::CaseClauseCommand) {
        self.construct("case");
        self.words(&clause.value.value);
        for item in &clause.cases {
            item.patterns.iter().for_each(|pattern| drop(self.words(&pattern.value)));
            item.cmd.iter().for_each(|list| drop(self.list(list)));
        }
    }

    pub(super) fn function(&mut self, function: &ast::FunctionDefinition) {
        self.construct("a function");
        let name = function.fname.value.clone();
        let body = Rc::new(function.body.clone());
        self.defined.insert(name.clone(), Function { body: Rc::clone(&body), calls: 0 });
        self.body(name, &body);
    }

    fn body(&mut self, name: String, body: &ast::FunctionBody) {
        self.functions.push(name);
        self.compound(&body.0);
        self.functions.pop();
        self.redirects(body.1.as_ref());
    }

    /// Reads the body of a function again, for the words it is called with.
    pub(in crate::policy::shell) fn called(&mut self, name: &str, words: &[Word]) {
        let inside = self.functions.iter().any(|open| open == name);
        let Some(function) = self.defined.get_mut(name).filter(|function| !inside && function.calls < MOST_CALLS)
        else {
            return;
        };
        function.calls += 1;
        let body = Rc::clone(&function.body);
        self.variables.arguments(words);
        self.deeper(|walker| walker.body(name.to_owned(), &body));
    }

    fn arithmetic(&mut self, expr: &ast::UnexpandedArithmeticExpr) {
        self.construct("arithmetic");
        self.words(&expr.value);
    }

    pub(super) fn test(&mut self, expr: &ast::ExtendedTestExpr) {
        match expr {
            ast::ExtendedTestExpr::And(left, right) | ast::ExtendedTestExpr::Or(left, right) => {
                self.test(left);
                self.test(right);
            }
            ast::ExtendedTestExpr::Not(inner) | ast::ExtendedTestExpr::Parenthesized(inner) => self.test(inner),
            ast::ExtendedTestExpr::UnaryTest(_, word) => self.tested(&word.value),
            ast::ExtendedTestExpr::BinaryTest(_, left, right) => {
                self.tested(&left.value);
                self.tested(&right.value);
            }
        }
    }

    fn tested(&mut self, raw: &str) {
        for word in self.words(raw) {
            let found = files::blocked(self.ground, self.folders.as_deref(), &word);
            if let Some(finding) = found.filter(|finding| finding.judgement == Judgement::Deny) {
                self.report.note(finding);
            }
            self.subscripts(&word);
        }
    }
}
