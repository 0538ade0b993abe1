//! Recognises calls in a form that no dialect has: `<tool_call>read_file {"path": "a"}`,
//! `<read_file><path>a</path></read_file>`, `TOOL_CALL: read_file(path="a")`, closing tokens without a call.
//!
//! A reply without a call gets an [`Ignored::WrongForm`] event if it contains markup with the name of an offered tool
//! followed by something like arguments, or closing tokens of a dialect. Prose that mentions a token or a tool has no
//! arguments there.

use super::call::{self, is_args, is_name};
use super::dialect;
use super::event::{Event, Ignored, Span};
use crate::clip::floor_boundary;
use crate::fence;
use crate::tool::ToolSpec;
use crate::{Catalog, Dialects};
use std::borrow::Cow;

/// The maximum number of bytes of a paragraph that are examined. A name and its arguments are at the beginning of a
/// paragraph.
const MOST_BODY: usize = 4096;

/// The maximum number of bytes in a line in which the name of a tool is searched, and the maximum number of names that
/// are examined in it.
const MOST_LINE: usize = 512;
const MOST_NAMES: usize = 8;

/// The maximum number of bytes in a tool's name, and in a label before it.
const MOST_WORD: usize = 128;

/// The first call of the reply in a form that no dialect has, and the paragraph that may contain it.
#[derive(Debug, Default)]
pub(super) struct WrongForm {
    body: String,
    /// From the first line of the paragraph to the end of its last line.
    span: Span,
    /// Whether the paragraph is the content of a fenced code block.
    fenced: bool,
    /// Whether there was text outside of fenced code blocks.
    has_prose: bool,
    found: Option<(String, Span, bool)>,
}

impl WrongForm {
    /// Adds a line of prose or HTML, or of a fenced code block if `fenced`.
    pub(super) fn line(&mut self, text: &str, span: Span, fenced: bool, dialects: Dialects, catalog: Option<&Catalog>) {
        // After a call in a fence, the lines only show whether the reply has prose, in which the fence is an example.
        if dialects.is_empty() || self.found.as_ref().is_some_and(|(_, _, fenced)| !fenced) {
            return;
        }
        let blank = fence::is_blank(text);
        if blank || fenced != self.fenced {
            self.end_paragraph(dialects, catalog);
        }
        if blank {
            return;
        }
        self.has_prose |= !fenced;
        if self.body.is_empty() {
            let blanks = text.len() - text.trim_start().len();
            (self.span.start, self.fenced) = (span.end - text.len() + blanks, fenced);
        } else {
            self.body.push('\n');
        }
        let text = if self.body.is_empty() { text.trim_start() } else { text };
        self.body.push_str(&text[..floor_boundary(text, MOST_BODY.saturating_sub(self.body.len()))]);
        self.span.end = span.end;
    }

    pub(super) fn end_paragraph(&mut self, dialects: Dialects, catalog: Option<&Catalog>) {
        let body = std::mem::take(&mut self.body);
        let code = |text| if self.fenced { Cow::Borrowed(text) } else { without_code(text) };
        if self.found.is_none() && !body.is_empty() && is_call(&code(&body), dialects, catalog) {
            self.found = Some((body, self.span, self.fenced));
        }
    }

    /// Returns the event for the first call of the reply. In a fenced code block a call counts only if the reply has
    /// nothing else.
    pub(super) fn take(&mut self, dialects: Dialects, catalog: Option<&Catalog>) -> Option<Event<'static>> {
        self.end_paragraph(dialects, catalog);
        let (body, span, fenced) = self.found.take()?;
        let counts = !fenced || !self.has_prose;
        counts.then(|| Event::Ignored { why: Ignored::WrongForm, id: None, name: None, body: body.into(), span })
    }
}

/// Returns a paragraph without its code spans.
fn without_code(paragraph: &str) -> Cow<'_, str> {
    let mut kept = String::new();
    let (mut from, mut at) = (0, 0);
    while let Some(found) = paragraph[at..].find('`') {
        let start = at + found;
        let length = run_length(&paragraph[start..]);
        at = start + length;
        let mut runs = paragraph[at..].match_indices('`').map(|(run, _)| at + run);
        let is_match = |run: &usize| !paragraph[..*run].ends_with('`') && run_length(&paragraph[*run..]) == length;
        if let Some(end) = runs.find(is_match) {
            kept.push_str(&paragraph[from..start]);
            at = end + length;
            from = at;
        }
    }
    if from == 0 { Cow::Borrowed(paragraph) } else { Cow::Owned(kept + &paragraph[from..]) }
}

fn run_length(text: &str) -> usize {
    text.bytes().take_while(|byte| *byte == b'`').count()
}

/// Returns `true` if a paragraph contains markup with the name of a tool and something like arguments, or a line of
/// closing tokens.
fn is_call(paragraph: &str, dialects: Dialects, catalog: Option<&Catalog>) -> bool {
    let mut at = 0;
    let mut is_markup = false;
    for line in paragraph.split('\n') {
        let end = at + line.len();
        let text = line.trim();
        if dialect::is_closing(text, dialects) || names_tool(paragraph, at, end, is_markup, dialects, catalog) {
            return true;
        }
        // A token alone on its line, or the first lines of an object.
        is_markup = text.starts_with(['<', '[', '{']) && text.ends_with(['>', ']', '{', '[', ','])
            || is_markup && text.starts_with(['"', '{']);
        at = end + 1;
    }
    false
}

/// Returns `true` if the line of the paragraph from `start` to `end` has the name of a tool in markup, followed by
/// arguments.
fn names_tool(
    paragraph: &str,
    start: usize,
    end: usize,
    after_markup: bool,
    dialects: Dialects,
    catalog: Option<&Catalog>,
) -> bool {
    let line = &paragraph[start..end];
    let near = &line[..floor_boundary(line, MOST_LINE)];
    let text = near.trim_start();
    let labelled = label_length(text);
    let marked = text.starts_with(['<', '[', '{']) || text.starts_with(MINIMAX) || after_markup || labelled.is_some();
    let python = text.starts_with(|c: char| c.is_ascii_alphabetic()) && line.trim_end().ends_with(')');
    // A token may also follow prose.
    let token = near.match_indices(['<', '[']).map(|(at, _)| at).find(|at| {
        matches!(dialect::special_token(&near[*at..], true, dialects), dialect::Token::Call { .. })
            && !near[..*at].contains('`')
    });
    if !marked && !python && token.is_none() {
        return false; // nearly every line
    }
    let mut at = match (marked, python, token) {
        (false, false, Some(token)) => token,
        _ => near.len() - text.len(),
    };
    let mut names = 0;
    while names < MOST_NAMES {
        let Some(skipped) = near[at..].find(is_word) else { return false };
        at += skipped;
        let (word, _) = split_word(&near[at..]);
        let name = word.trim_end_matches(['.', '/', '-']);
        let after = &paragraph[start + at + word.len()..];
        let before = near[..at].trim_end_matches(['"', '\'', '*', ' ']);
        // The name and the first key have merged: `<tool_call>bashcommand": "ls"}`.
        let fused = before.ends_with(['>', ']'])
            && after.starts_with('"')
            && catalog.is_some_and(|catalog| catalog.specs().iter().any(|spec| name.starts_with(&*spec.name)));
        if fused {
            return true;
        }
        if let Some(spec) = call::spec(catalog, name).or_else(|| find_qualified(catalog, name)) {
            let first = before.trim().is_empty();
            let is_call = match before.trim_start().chars().next() {
                None if !marked => python && begins_python_arguments(after),
                // A line of Python begins with the name.
                Some(_) if !marked && token.is_none() => false,
                _ if labelled.is_some_and(|label| before.trim_start().len() <= label) => {
                    begins_labelled_arguments(after)
                }
                Some('[') if !before.contains(['<', '{', ']']) => begins_python_arguments(after),
                // DeepSeek's arguments are in a fenced code block, which ends the paragraph.
                _ if token.is_some()
                    && before.ends_with(">")
                    && (fence::is_blank(after) || after.trim_start().starts_with("```")) =>
                {
                    true
                }
                _ => has_arguments(after, name, spec, dialects) || first && begins_python_arguments(after),
            };
            if is_call {
                return true;
            }
        }
        // The words in `<｜tool▁calls▁begin｜>` are not names.
        let is_in_token = near[..at].rfind('<').is_some_and(|open| is_token_begun(&near[open..at]));
        names += usize::from(!is_in_token);
        at += word.len().max(1);
    }
    false
}

/// Returns the length of a label before a name: `Action: `, `TOOL_CALL: `.
fn label_length(line: &str) -> Option<usize> {
    let end = line[..floor_boundary(line, 32)].find(':')?;
    let label = &line[..end];
    let is_label = is_name(label)
        || matches!(
            label.to_ascii_lowercase().as_str(),
            "action" | "tool_call" | "tool call" | "call" | "calling tool"
        );
    is_label.then_some(end + 1)
}

/// Returns `true` if arguments follow a name with a label: in parentheses, as an object, or as `Action Input:`.
fn begins_labelled_arguments(after: &str) -> bool {
    let rest = after.trim_start();
    begins_python_arguments(after) || rest.starts_with('{') || rest.starts_with("Action Input")
}

/// Returns `true` if arguments follow in parentheses: none, an object, a text, or `key=value`.
fn begins_python_arguments(after: &str) -> bool {
    let Some(inside) = after.strip_prefix('(') else { return false };
    let inside = inside.trim_start();
    let (key, value) = split_word(inside);
    inside.starts_with([')', '{', '"', '\'']) || !key.is_empty() && value.trim_start().starts_with('=')
}

/// Returns `true` if the text after the name of a tool looks like arguments for it.
fn has_arguments(after: &str, name: &str, spec: &ToolSpec, dialects: Dialects) -> bool {
    if begins_python_arguments(after) {
        return true;
    }
    if after.starts_with("](") {
        return false; // a link
    }
    if after.starts_with('>') && after.contains(&format!("</{name}>")) {
        return true;
    }
    let after = after.strip_prefix("\">").filter(|rest| rest.starts_with(MINIMAX)).map_or(after, after_tokens);
    let mut rest = after
        .trim_start_matches(|c: char| is_around(c) && c != '{' && c != '<' || matches!(c, '>' | ']' | ',' | ':' | ')'));
    rest = after_tokens(rest);
    // The element of the name ends before that of the arguments begins.
    if rest.starts_with("</")
        && !dialect::is_closing(rest.split_inclusive('>').next().unwrap_or_default(), dialects)
        && let Some(end) = rest.find('>')
    {
        rest = rest[end + 1..].trim_start();
    }
    if rest.starts_with('{') || rest.starts_with("ARGS]") || rest.starts_with("Action Input") {
        return true;
    }
    let tag = rest.strip_prefix('<').filter(|tag| tag.starts_with(char::is_alphabetic));
    if dialect::has_closing(after, dialects) {
        // A call of a tool that requires no arguments, or other text before the closing token.
        let alone = tag.is_none() && rest.starts_with(['<', '|', '[']);
        return !alone || spec.params.iter().all(|param| !param.required);
    }
    if rest.starts_with('<') && rest.split('>').next().unwrap_or_default().contains(" name=") {
        return true; // the tag of a parameter with an unknown prefix
    }
    let (key, value) = split_word(tag.unwrap_or(rest));
    let is_value = value.trim_start_matches(is_around).starts_with([':', '=', '>']);
    is_value && (tag.is_some() || spec.find(key).is_some() || is_args(key))
}

/// The mark that MiniMax M3 writes before each of its tags.
const MINIMAX: &str = "]<]minimax[>[";

/// Returns the tool for a name with a namespace before it or a method after it: `functions.bash`, `bash.call`.
fn find_qualified<'c>(catalog: Option<&'c Catalog>, name: &str) -> Option<&'c ToolSpec> {
    match name.split_once('.')? {
        ("functions", after) => call::spec(catalog, after),
        (before, "call") => call::spec(catalog, before),
        _ => None,
    }
}

/// Returns the text without its leading tokens, such as `:0<|tool_call_argument_begin|>` and `<｜tool▁sep｜>`.
fn after_tokens(text: &str) -> &str {
    let mut rest = text;
    loop {
        let unnumbered = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c.is_ascii_whitespace());
        if let Some(after) = unnumbered.strip_prefix(MINIMAX) {
            return after;
        }
        match unnumbered.split_once('>') {
            Some((token, after)) if is_token(token) => rest = after.trim_start(),
            _ => return rest,
        }
    }
}

/// Returns `true` if a text is a token such as `<|sep|>` without its last character. A tag with an attribute is not a
/// token.
fn is_token(text: &str) -> bool {
    (text.starts_with("<|") || text.starts_with("<｜")) && text.ends_with(['|', '｜'])
}

/// Returns `true` if a text is the beginning of a token such as `<｜tool▁sep｜>`.
fn is_token_begun(text: &str) -> bool {
    (text.starts_with("<|") || text.starts_with("<｜")) && !text.contains('>')
}

/// Returns `true` for characters that models write around names: brackets, quotes, white space.
fn is_around(c: char) -> bool {
    c.is_ascii_whitespace() || matches!(c, '{' | '[' | '<' | '"' | '\'' | '`' | '*')
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '\\' | '/')
}

/// Splits off the word at the beginning of a text. A word longer than [`MOST_WORD`] is cut, because it cannot be a
/// name.
fn split_word(text: &str) -> (&str, &str) {
    let near = &text[..floor_boundary(text, MOST_WORD)];
    text.split_at(near.find(|c| !is_word(c)).unwrap_or(near.len()))
}
