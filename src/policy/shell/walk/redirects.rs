//! Where a command reads and writes, and what it reads there where the script itself says so.

use super::{Input, Walker};
use crate::policy::shell::{files, words};
use brush_parser::ast;

impl Walker<'_> {
    pub(super) fn redirects(&mut self, redirects: Option<&ast::RedirectList>) -> Input {
        let mut input = Input::Unknown;
        redirects.iter().flat_map(|list| &list.0).for_each(|redirect| self.redirect(redirect, &mut input));
        input
    }

    pub(super) fn redirect(&mut self, redirect: &ast::IoRedirect, input: &mut Input) {
        match redirect {
            ast::IoRedirect::File(_, kind, target) => self.file_redirect(kind, target, input),
            ast::IoRedirect::OutputAndError(word, _) => self.target(&word.value, true),
            ast::IoRedirect::HereString(_, word) => {
                *input = match self.words(&word.value).as_slice() {
                    [word] => word.guess().map_or(Input::Unknown, |text| Input::Text(text.into())),
                    _ => Input::Unknown,
                };
            }
            ast::IoRedirect::HereDocument(_, document) => *input = self.document(document),
        }
    }

    fn document(&mut self, document: &ast::IoHereDocument) -> Input {
        let text = document.doc.value.as_str();
        if !document.requires_expansion || !text.contains(['$', '`', '\\']) {
            return Input::Text(text.into());
        }
        let mut found = Vec::new();
        let text = words::heredoc(text, &mut found);
        if text.is_none() {
            self.construct("a here-document that expands");
        }
        self.substitutions(found);
        text.map_or(Input::Unknown, |text| Input::Text(text.into()))
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
                let output = self.list(&subshell.list);
                if matches!(kind, Read) {
                    *input = output;
                }
            }
        }
    }

    fn target(&mut self, raw: &str, writes: bool) {
        for word in self.words(raw) {
            let findings = files::redirect(self.ground, self.folders.as_deref(), &word, writes);
            findings.into_iter().for_each(|finding| self.report.note(finding));
        }
    }
}

fn is_descriptor(word: &str) -> bool {
    let number = word.strip_suffix('-').unwrap_or(word);
    number.len() <= 3 && number.bytes().all(|byte| byte.is_ascii_digit()) && !word.is_empty()
}
