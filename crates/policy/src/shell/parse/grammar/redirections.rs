//! Reads redirections: the descriptor before the operator, the operator, and the delimiter of a here-document.

use super::super::documents::Document;
use super::super::{Assignment, Redirection, ShellWord, is_name};
use super::{Closer, ListPosition, ParseResult, Reader};

impl Reader<'_, '_> {
    /// Accepts a word such as `2` or `{name}` that is the descriptor of the redirection after it.
    pub(super) fn begin_descriptor(&mut self, name: String) -> ParseResult {
        let is_input = self.source.peek() == Some('<');
        let list = self.list();
        list.command.names_input |= is_input;
        if is_name(&name) {
            // Bash puts the number of the descriptor into the variable.
            let value = ShellWord::Unknown { prefix: String::new(), several: false, number: true };
            list.command.assignments.push(Assignment { name, value });
        }
        if list.spot != ListPosition::Compound {
            list.spot = ListPosition::Words;
        }
        Ok(())
    }

    pub(super) fn read_redirection(&mut self) -> ParseResult {
        let first = self.source.take();
        let source = &mut self.source;
        let operator = match first {
            Some('<') if source.take_if('<') => {
                if source.take_if('<') {
                    "<<<"
                } else {
                    let strip = source.take_if('-');
                    return self.begin_document(strip);
                }
            }
            Some('<') if source.take_if('>') => "<>",
            Some('<') if source.take_if('&') => "<&",
            Some('<') => "<",
            _ if source.take_if('>') => ">>",
            _ if source.take_if('&') => ">&",
            _ if source.take_if('|') => ">|",
            _ => ">",
        };
        self.begin_redirection(operator)
    }

    pub(super) fn begin_redirection(&mut self, operator: &'static str) -> ParseResult {
        let position = self.source.position();
        let list = self.list();
        if list.redirect.is_some() {
            return self.refuse("a redirection without a target");
        }
        if list.spot != ListPosition::Compound {
            list.spot = ListPosition::Words;
        }
        let command = &mut list.command;
        if command.words.is_empty() && command.assignments.is_empty() && command.redirections.is_empty() {
            command.position = position;
        }
        list.redirect = Some(operator);
        Ok(())
    }

    /// Reads the delimiter of a here-document, whose text follows the line.
    pub(super) fn begin_document(&mut self, strip: bool) -> ParseResult {
        self.begin_redirection("<<")?;
        let list = self.list();
        // `read_delimiter` takes the delimiter at once, because nothing in it is expanded: POSIX, Shell Command
        // Language 2.7.4.
        list.redirect = None;
        list.ends_with_document = list.in_substitution;
        if list.in_substitution && (list.closer != Closer::Substitution || list.spot == ListPosition::Compound) {
            return self.refuse("a here-document of a compound command in a substitution");
        }
        // The text follows the line. `finish` moves it into the redirection, whose target is unknown until then.
        let index = self.parser.documents.len();
        let target = ShellWord::Unknown { prefix: String::new(), several: false, number: false };
        self.parser.documents.push(target.clone());
        self.list().command.redirections.push(Redirection { operator: "<<", target, document: Some(index) });
        let Some(document) = Document::read_delimiter(&mut self.source, strip, index) else {
            return self.refuse("the delimiter of a here-document");
        };
        self.pending.push(document);
        Ok(())
    }
}

/// Reports whether a word directly before `<` or `>` is its descriptor. `Some(false)` means that this depends on the
/// version of bash.
pub(super) fn descriptor(text: &str) -> Option<bool> {
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(text.len() <= 9);
    }
    let name = text.strip_prefix('{')?.strip_suffix('}')?;
    if is_name(name) { Some(true) } else { name.contains('[').then_some(false) }
}
