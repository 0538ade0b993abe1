//! Plans the cuts and insertions that replace, add or remove a value.

use super::read::{Document, Items, after_comment};
use super::write::{Layout, format_value};
use serde_json::Value;
use std::ops::Range;

/// The indentation to use if the text has none.
const UNIT: &str = "  ";

/// Cuts and insertions, sorted by position.
#[derive(Default)]
pub(super) struct Splices(Vec<(Range<usize>, String)>);

impl Splices {
    fn cut(&mut self, range: Range<usize>) {
        self.0.push((range, String::new()));
    }

    fn insert(&mut self, at: usize, text: String) {
        self.0.push((at..at, text));
    }

    /// Returns the text with the cuts and insertions made. Everything outside the cuts is unchanged.
    pub(super) fn apply(&self, text: &str) -> String {
        let (mut new, mut at) = (String::with_capacity(text.len() + 64), 0);
        for (range, inserted) in &self.0 {
            new.push_str(&text[at..range.start]);
            new.push_str(inserted);
            at = range.end;
        }
        new.push_str(&text[at..]);
        new
    }
}

/// Replaces a value. `parent` contains it, unless it is the whole document.
pub(super) fn replace(document: &Document<'_>, parent: Option<&Items<'_>>, old: Items<'_>, value: &Value) -> Splices {
    let (text, range) = (document.text, old.range());
    // The new value is laid out like the old one. A scalar or an empty value shows no layout, so its siblings decide.
    let has_lines = match (old.len(), parent) {
        (0, Some(parent)) => {
            (0..parent.len()).any(|at| begins_line(text, parent.item(at).map_or(0, |item| item.start)))
        }
        (0, None) => true,
        _ => text[range.start..range.end].contains('\n'),
    };
    let style = Style::from_document(document);
    let new = style.value(value, has_lines, indentation(text, range.start));
    Splices(vec![(range.start..range.end, new)])
}

/// Adds a value at the end of `items`, in an object under `name`. `outer` contains `items`.
pub(super) fn insert(
    document: &Document<'_>,
    outer: Option<&Items<'_>>,
    items: &Items<'_>,
    name: Option<&str>,
    value: &Value,
) -> Splices {
    let text = document.text;
    let style = Style::from_document(document);
    let (open, close) = (items.range().start + 1, items.range().end.saturating_sub(1));
    // The nearest name shows how this object writes its colons; the style of the whole text is the fallback.
    let colon = (0..items.len()).rev().find_map(|at| style.colon_of(items, at)).unwrap_or_else(|| style.colon.clone());
    let item = |has_lines: bool, base: &str| {
        let value = style.value(value, has_lines, base);
        name.map_or_else(|| value.clone(), |name| format!("{}{colon}{value}", Value::from(name)))
    };
    let inner = format!("{}{}", indentation(text, items.range().start), style.unit);
    let mut splices = Splices::default();
    // First case: no item shows the layout. The comments, the line breaks and the object around it do.
    let Some(last) = items.len().checked_sub(1).and_then(|at| items.item(at)) else {
        let (at, is_line) = after_comments(text, open, close);
        let rest = &text[at..close];
        let own_line = |outer: &Items<'_>| {
            (0..outer.len())
                .filter_map(|at| outer.item(at))
                .any(|item| (item.start..item.end).contains(&items.range().start) && begins_line(text, item.start))
        };
        let newline = style.newline;
        // After a line comment, text on the same line would belong to the comment.
        if is_line || rest.contains(['\n', '\r']) {
            splices.insert(at, format!("{newline}{inner}{}", item(true, &inner)));
        } else if at == open && outer.is_none_or(own_line) {
            let base = indentation(text, items.range().start);
            splices.0.push((at..close, format!("{newline}{inner}{}{newline}{base}", item(true, &inner))));
        } else {
            splices.insert(at, format!("{rest}{}", item(false, "")));
        }
        return splices;
    };
    // Second case: the new item follows the last one, and after the comments on its line, which describe that one.
    let comma = comma_in(text, last.end, close);
    let (at, after_line) = after_comments_of_line(text, comma.map_or(last.end, |comma| comma + 1), close);
    let has_lines = begins_line(text, last.start);
    let lead = if has_lines {
        format!("{}{}", style.newline, indentation(text, last.start))
    } else if after_line {
        format!("{}{inner}", style.newline)
    } else {
        let before = items.len().checked_sub(2).and_then(|at| items.item(at));
        let gap = before.and_then(|before| text[before.end..last.start].strip_prefix(','));
        let spaces = gap.filter(|gap| gap.bytes().all(|byte| byte == b' '));
        spaces.map_or_else(|| if style.spaced { " ".to_owned() } else { String::new() }, str::to_owned)
    };
    let base = if has_lines { indentation(text, last.start) } else { "" };
    if comma.is_none() {
        splices.insert(last.end, ",".to_owned());
    }
    // A trailing comma stays trailing.
    let tail = if comma.is_some() { "," } else { "" };
    splices.insert(at, format!("{lead}{}{tail}", item(has_lines, base)));
    splices
}

/// Removes an item. Comments next to it stay.
pub(super) fn remove(document: &Document<'_>, items: &Items<'_>, at: usize) -> Splices {
    let text = document.text;
    let (open, close) = (items.range().start + 1, items.range().end.saturating_sub(1));
    let mut splices = Splices::default();
    let Some(item) = items.item(at) else { return splices };
    let after = items.item(at + 1).map_or(close, |next| next.start);
    let comma = comma_in(text, item.end, after);
    // The last item is removed with the comma before it, if no comma follows it.
    let before = match (comma, at.checked_sub(1).and_then(|at| items.item(at))) {
        (None, Some(previous)) => comma_in(text, previous.end, item.start),
        _ => None,
    };
    if let Some(before) = before {
        let (_, has_comment) = rest_of_line(text, item.end, close);
        if is_blank(&text[before + 1..item.start]) && !has_comment {
            splices.cut(before..item.end);
            return splices;
        }
        splices.cut(before..before + 1);
    }
    let mut end = item.end;
    if let Some(comma) = comma {
        match is_blank(&text[item.end..comma]) {
            true => end = comma + 1,
            false => {
                // A comment between the item and its comma stays, so two pieces are cut.
                splices.cut(item.start..item.end);
                splices.cut(comma..comma + 1);
                return splices;
            }
        }
    }
    if items.len() == 1 && is_blank(&text[open..item.start]) && is_blank(&text[end..close]) {
        splices.cut(open..close);
        return splices;
    }
    let (line_end, _) = rest_of_line(text, end, close);
    // An item alone on its line takes the line with it; otherwise only the item and the blanks next to it go.
    let ends_line = line_end == text.len() || text[line_end..].starts_with(['\n', '\r']);
    let start = text[..item.start].trim_end_matches([' ', '\t']).len();
    if begins_line(text, item.start) && ends_line {
        let newline = if text[line_end..].starts_with("\r\n") { 2 } else { usize::from(line_end < text.len()) };
        splices.cut(start..line_end + newline);
    } else if ends_line && line_end < close {
        splices.cut(start..end);
    } else {
        splices.cut(item.start..line_end.min(close));
    }
    splices
}

/// The formatting of a text.
struct Style<'d> {
    text: &'d str,
    newline: &'static str,
    unit: String,
    /// The text between a name and its value.
    colon: String,
    /// Whether a space follows commas and colons on one line.
    spaced: bool,
}

impl<'d> Style<'d> {
    fn from_document(document: &Document<'d>) -> Style<'d> {
        let (text, root) = (document.text, document.root());
        let newline = match memchr::memchr(b'\n', text.as_bytes()) {
            Some(at) if text[..at].ends_with('\r') => "\r\n",
            _ => "\n",
        };
        let first = (0..root.len()).filter_map(|at| root.item(at)).find(|item| begins_line(text, item.start));
        let outer = indentation(text, root.range().start);
        let unit = first.and_then(|item| indentation(text, item.start).strip_prefix(outer));
        let unit = unit.filter(|unit| !unit.is_empty()).unwrap_or(UNIT).to_owned();
        let mut style = Style { text, newline, unit, colon: ": ".to_owned(), spaced: true };
        if let Some(colon) = (0..root.len()).find_map(|at| style.colon_of(&root, at)) {
            style.colon = colon;
        }
        style.spaced = match (root, root.item(0)) {
            (Items::List(list), Some(first)) if list.elements.len() > 1 => {
                let gap = text[first.end..].strip_prefix(',');
                gap.is_none_or(|gap| gap.starts_with([' ', '\t', '\n', '\r']))
            }
            _ => style.colon != ":",
        };
        style
    }

    /// Returns the text between the name and the value of an item, if that is a colon with only spaces around it.
    fn colon_of(&self, items: &Items<'_>, at: usize) -> Option<String> {
        let (start, end) = items.around_colon(at)?;
        let between = &self.text[start..end];
        (between.trim_matches(' ') == ":").then(|| between.to_owned())
    }

    /// Formats a value for a line with this indentation.
    fn value(&self, value: &Value, has_lines: bool, base: &str) -> String {
        format_value(
            value,
            &match has_lines {
                true => Layout::Lines { newline: self.newline, base, unit: &self.unit },
                false => Layout::Line { spaced: self.spaced },
            },
        )
    }
}

fn is_blank(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_whitespace())
}

/// Returns the spaces and tabs at the beginning of the line of a position.
fn indentation(text: &str, at: usize) -> &str {
    let line = text[..at].rfind(['\n', '\r']).map_or(0, |end| end + 1);
    let rest = &text[line..at];
    &rest[..rest.len() - rest.trim_start_matches([' ', '\t']).len()]
}

/// Returns whether only spaces and tabs precede a position on its line. Returns `false` on the first line.
fn begins_line(text: &str, at: usize) -> bool {
    text[..at].trim_end_matches([' ', '\t']).ends_with(['\n', '\r'])
}

/// Returns the first comma between two positions that is in no comment.
fn comma_in(text: &str, from: usize, to: usize) -> Option<usize> {
    let mut at = from;
    while at < to {
        match text.as_bytes()[at] {
            b',' => return Some(at),
            b'/' => at = after_comment(text, at).map_or(at + 1, |comment| comment.end),
            _ => at += 1,
        }
    }
    None
}

/// Returns the end of the last comment between two positions, and whether that is a line comment; `from` without a
/// comment.
fn after_comments(text: &str, from: usize, to: usize) -> (usize, bool) {
    let (mut at, mut end) = (from, (from, false));
    while at < to {
        match after_comment(text, at) {
            Some(comment) => (at, end) = (comment.end, (comment.end, comment.is_line)),
            None => at += text[at..].chars().next().map_or(1, char::len_utf8),
        }
    }
    end
}

/// Returns the end of the last comment that follows a position on its line, and whether that is a line comment; `from`
/// if none does.
fn after_comments_of_line(text: &str, from: usize, to: usize) -> (usize, bool) {
    let mut end = (from, false);
    loop {
        let at = rest_of_line(text, end.0, to).0;
        match after_comment(text, at).filter(|_| at < to) {
            Some(comment) if comment.is_line => return (comment.end, true),
            Some(comment) if !text[at..comment.end].contains(['\n', '\r']) => end = (comment.end, false),
            _ => return end,
        }
    }
}

/// Returns the position after the spaces and tabs at a position, and whether a comment begins there.
fn rest_of_line(text: &str, from: usize, to: usize) -> (usize, bool) {
    let at = to.max(from) - text[from..to.max(from)].trim_start_matches([' ', '\t']).len();
    (at, at < to && after_comment(text, at).is_some())
}
