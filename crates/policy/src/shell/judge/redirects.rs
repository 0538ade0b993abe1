//! Where a command reads and writes, and what it reads there where the script itself says so.

use super::report::Deeds;
use super::{Input, Walker, files};
use crate::shell::syntax::Fault;
use crate::shell::{expand, messages};
use brush_parser::ast;

impl Walker<'_> {
    pub(crate) fn redirects(&mut self, redirects: Option<&ast::RedirectList>) -> Input {
        let mut input = Input::Unknown;
        redirects.iter().flat_map(|list| &list.0).for_each(|redirect| self.redirect(redirect, &mut input));
        input
    }

    pub(crate) fn redirect(&mut self, redirect: &ast::IoRedirect, input: &mut Input) {
        match redirect {
            ast::IoRedirect::File(number, kind, target) => {
                match (self.file_redirect(kind, target), number) {
                    (Some(read), _) if is_input(*number) => *input = read,
                    // What is opened to be written has nothing to read.
                    (None, Some(0)) => *input = Input::Nothing,
                    _ => {}
                }
            }
            ast::IoRedirect::OutputAndError(word, _) => self.target(&word.value, true),
            ast::IoRedirect::HereString(number, word) => {
                let read = match self.words(&word.value).as_slice() {
                    [word] => word.literal().map_or(Input::Unknown, |text| Input::Text(text.into())),
                    _ => Input::Unknown,
                };
                if is_input(*number) {
                    *input = read;
                }
            }
            ast::IoRedirect::HereDocument(number, document) => {
                let read = self.document(document);
                if is_input(*number) {
                    *input = read;
                }
            }
        }
    }

    fn document(&mut self, document: &ast::IoHereDocument) -> Input {
        let text = document.doc.value.as_str();
        if !document.requires_expansion || !text.contains(['$', '`', '\\']) {
            return Input::Text(text.into());
        }
        // A line that goes on may end it together with the next one, and the last one takes the end away: in both cases what
        // follows is something else than what was read.
        let ends = |line: &str| document.here_end.value.starts_with(line.trim_start_matches('\t'));
        let mut lines = text.lines();
        let takes_the_end = lines.next_back().is_some_and(goes_on);
        if takes_the_end || text.lines().filter(|line| goes_on(line)).any(|line| ends(&line[..line.len() - 1])) {
            self.report.note(Fault::Unreadable(messages::document_without_end()));
        }
        let mut found = Vec::new();
        let text = expand::heredoc(&joined(text), &mut found);
        if text.is_none() {
            self.construct(messages::expanding_document());
        }
        self.substitutions(found);
        text.map_or(Input::Unknown, |text| Input::Text(text.into()))
    }

    /// What is read there, if anything is. A descriptor that is closed or that of nothing is as good as nothing: programs
    /// then look for their input elsewhere.
    fn file_redirect(&mut self, kind: &ast::IoFileRedirectKind, target: &ast::IoFileRedirectTarget) -> Option<Input> {
        use ast::IoFileRedirectKind::{DuplicateInput, DuplicateOutput, Read};
        let reads = matches!(kind, Read | DuplicateInput);
        let read = match target {
            ast::IoFileRedirectTarget::Fd(_) => Input::Nothing,
            ast::IoFileRedirectTarget::Duplicate(word) if is_descriptor(&word.value) => Input::Nothing,
            ast::IoFileRedirectTarget::Filename(word) | ast::IoFileRedirectTarget::Duplicate(word) => {
                self.target(&word.value, !reads || matches!(kind, DuplicateOutput));
                if word.value == "/dev/null" { Input::Nothing } else { Input::Unknown }
            }
            ast::IoFileRedirectTarget::ProcessSubstitution(kind, subshell) => {
                self.stream(kind, subshell);
                Input::Unknown
            }
        };
        reads.then_some(read)
    }

    fn target(&mut self, raw: &str, writes: bool) {
        if raw != "/dev/null" {
            self.git.other(messages::redirect());
        }
        for word in self.words(raw) {
            if writes && word.literal().is_some_and(|path| files::is_private(self.ground, path)) {
                self.report.does(Deeds::STORES);
            }
            let findings = files::redirect(self.ground, self.folders.as_deref(), &word, writes);
            self.report.note_any(findings);
        }
    }
}

/// Whether the next line belongs to this one: it ends in a backslash that no other one escapes.
fn goes_on(line: &str) -> bool {
    line.bytes().rev().take_while(|byte| *byte == b'\\').count() % 2 == 1
}

/// The text of a here-document as a shell reads it: lines that go on are put together before anything in them is expanded.
fn joined(text: &str) -> String {
    let pieces = text.split_inclusive('\n').map(|line| match line.strip_suffix('\n') {
        Some(text) if goes_on(text) => &text[..text.len() - 1],
        _ => line,
    });
    pieces.collect()
}

/// Whether a redirect with this number, or none, is one of the standard input.
fn is_input(number: Option<ast::IoFd>) -> bool {
    number.unwrap_or(0) == 0
}

fn is_descriptor(word: &str) -> bool {
    let number = word.strip_suffix('-').unwrap_or(word);
    number.len() <= 3 && number.bytes().all(|byte| byte.is_ascii_digit()) && !word.is_empty()
}
