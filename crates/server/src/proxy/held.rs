//! Holds text of a reply that may turn out to be a call.
//!
//! The parser reports a call in a `json` fence only at the end of the reply, because only the last such block counts,
//! and only if there is no other call. By then its text would have reached the client. So text is held from the opening
//! of such a fence until it is known not to be a call.
//!
//! This module does not decide what is a call: text that is held too long only reaches the client later.

use serde_json::Value;
use toolfence_protocol::clip::floor_boundary;
use toolfence_protocol::parse::Span;

/// The most bytes that are held; beyond that, all of it is text.
const MOST_HELD: usize = 1 << 20;

/// The most bytes before the first member of an object; beyond that, it is text.
const MOST_BEFORE: usize = 1 << 10;

/// The most bytes of a line that may open a fence.
const LONGEST_OPENING: usize = 64;

/// The members of a call.
const MEMBERS: [&str; 6] = ["name", "args", "arguments", "parameters", "reason", "id"];

/// The held text of a reply.
#[derive(Debug)]
pub(super) struct HeldText {
    state: HoldState,
    /// The text, with the offset of each piece in the reply.
    pieces: Vec<(usize, String)>,
    bytes: usize,
}

#[derive(Debug)]
enum HoldState {
    /// Nothing was received yet, and the reply may consist of only the arguments of the tool that must be called.
    Start,
    /// A line that may open a fence, as far as it was received.
    Opening(String),
    /// A line that opens no fence.
    Line,
    /// Inside of a fence that may be a call. `body` has the complete lines, and `line` the current one. `is_call` is
    /// `true` if the first member of the object is a member of a call.
    Fence { body: String, line: String, is_call: bool },
    /// The rest of the reply is held.
    Rest,
}

impl HeldText {
    /// Creates an empty buffer. `whole`: a reply that begins with an object or a fence is held to its end.
    pub(super) fn new(whole: bool) -> HeldText {
        let state = if whole { HoldState::Start } else { HoldState::Opening(String::new()) };
        HeldText { state, pieces: Vec::new(), bytes: 0 }
    }

    /// Adds text from offset `at` of the reply, and returns the text that need not wait. `is_tool`: whether a tool has
    /// this name.
    pub(super) fn push(&mut self, text: &str, at: usize, is_tool: impl Fn(&str) -> bool) -> String {
        let (mut out, mut at) = (String::new(), at);
        for part in text.split_inclusive('\n') {
            self.part(part, at, &is_tool, &mut out);
            at += part.len();
        }
        out
    }

    /// Adds a part of a line.
    fn part(&mut self, part: &str, at: usize, is_tool: impl Fn(&str) -> bool, out: &mut String) {
        if let (HoldState::Start, Some(first)) = (&self.state, part.trim_start().chars().next()) {
            let waits = matches!(first, '{' | '`' | '~');
            self.state = if waits { HoldState::Rest } else { HoldState::Opening(String::new()) };
        }
        if matches!(self.state, HoldState::Line) {
            out.push_str(part);
        } else {
            self.pieces.push((at, part.to_owned()));
            self.bytes += part.len();
        }
        let ends = part.ends_with('\n');
        let is_text = match &mut self.state {
            HoldState::Start | HoldState::Rest => false,
            HoldState::Line => true,
            HoldState::Opening(line) => {
                line.push_str(part);
                let may_open = may_open(line, ends);
                if may_open && ends {
                    self.state = HoldState::Fence { body: String::new(), line: String::new(), is_call: false };
                }
                !may_open
            }
            HoldState::Fence { body, line, is_call } => {
                line.push_str(part);
                let closes = ends && line.trim_start().starts_with(['`', '~']);
                if closes && names_tool(body, is_tool) {
                    // The parser decides at the end of the reply, and no text may overtake the call until then.
                    self.state = HoldState::Rest;
                    false
                } else if ends && !closes {
                    body.push_str(&std::mem::take(line));
                    let begins = if *is_call { Some(true) } else { begins_as_call(body) };
                    *is_call = begins == Some(true);
                    begins == Some(false)
                } else {
                    closes
                }
            }
        };
        if is_text || self.bytes > MOST_HELD {
            self.state = if ends { HoldState::Opening(String::new()) } else { HoldState::Line };
            out.push_str(&self.release());
        }
    }

    /// Returns the held text without releasing it.
    pub(super) fn text(&self) -> String {
        self.pieces.iter().map(|(_, text)| text.as_str()).collect()
    }

    /// Releases all held text.
    pub(super) fn release(&mut self) -> String {
        self.bytes = 0;
        std::mem::take(&mut self.pieces).into_iter().map(|(_, text)| text).collect()
    }

    /// If the `json` fence at this span is held, releases the text before and after it.
    pub(super) fn release_around(&mut self, span: Span) -> Option<(String, String)> {
        let (first, _) = self.pieces.first().filter(|(at, _)| *at <= span.start)?;
        let (start, end) = (span.start - first, span.end.checked_sub(*first)?);
        let (first, last) = (*first, self.pieces.last()?);
        // The fence must be held without gaps.
        let text = self.text();
        if last.0 + last.1.len() - first != text.len() {
            return None;
        }
        let (before, fence, after) = (text.get(..start)?, text.get(start..end)?, text.get(end..)?);
        let opening = fence.lines().next().unwrap_or_default();
        if !may_open(&format!("{opening}\n"), true) {
            return None;
        }
        let around = (before.to_owned(), after.to_owned());
        self.release();
        Some(around)
    }
}

/// Returns `true` if a line opens a `json` fence or may do so when it is complete.
fn may_open(line: &str, is_complete: bool) -> bool {
    let spaces = line.len() - line.trim_start_matches(' ').len();
    let rest = line.trim_start_matches(' ').trim_end_matches(['\r', '\n']);
    let Some(mark) = rest.chars().next() else { return !is_complete && line.len() <= 3 };
    let info = rest.trim_start_matches(mark);
    let marks = rest.len() - info.len();
    if spaces > 3 || line.len() > LONGEST_OPENING || !matches!(mark, '`' | '~') {
        return false;
    }
    let info = info.trim_start();
    let word = info.split([' ', '\t']).next().unwrap_or_default();
    match (is_complete, marks >= 3) {
        (false, false) => info.is_empty(),
        (false, true) => word.eq_ignore_ascii_case("json".get(..word.len()).unwrap_or_default()),
        (true, enough) => enough && word.eq_ignore_ascii_case("json"),
    }
}

/// Returns whether the first member of the object is one of a call; `None` if it was not received yet.
fn begins_as_call(body: &str) -> Option<bool> {
    // This runs for each line until it is decided, so it must not search a long text each time.
    if body.len() > MOST_BEFORE && !body[..floor_boundary(body, MOST_BEFORE)].contains('"') {
        return Some(false);
    }
    let body = body.trim_start();
    if body.is_empty() {
        return None;
    }
    let Some(inside) = body.strip_prefix('{') else { return Some(false) };
    let inside = inside.trim_start();
    if inside.is_empty() {
        return None;
    }
    let Some(key) = inside.strip_prefix('"') else { return Some(false) };
    // A line break inside of the name means that it is not the member of a call.
    Some(key.split_once('"').is_some_and(|(key, _)| MEMBERS.contains(&key)))
}

/// Returns `true` if an object names a tool.
fn names_tool(body: &str, is_tool: impl Fn(&str) -> bool) -> bool {
    let object: Option<Value> = serde_json::from_str(body).ok();
    object.as_ref().and_then(|object| object.get("name")?.as_str()).is_some_and(is_tool)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns what passes at once and what is held, for pieces of `size` characters.
    fn split_held(text: &str, size: usize, whole: bool) -> (String, String) {
        let mut held = HeldText::new(whole);
        let (mut out, mut at) = (String::new(), 0);
        let chars: Vec<char> = text.chars().collect();
        for piece in chars.chunks(size) {
            let piece: String = piece.iter().collect();
            out.push_str(&held.push(&piece, at, |name| name == "f"));
            at += piece.len();
        }
        (out, held.release())
    }

    #[test]
    fn only_what_may_be_a_call_waits() {
        let call = "```json\n{\"name\": \"f\", \"args\": {}}\n```\n";
        for (passes, waits) in [
            ("So.\n", ""),
            ("So.\n", call),
            ("So.\n", "```json\n{\"name\": \"f\", \"args\": {}}\n```\nThen more.\n```json\n"),
            ("So.\n```json\n{\"name\": \"g\", \"args\": {}}\n```\nMore.\n", ""),
            ("```json\n{\"a\": 1,\n", ""),
            ("```json\n[1]\n```\n", ""),
            ("```python\n", ""),
            ("a ```json\n", ""),
            ("", "  ```js"),
            ("    ```js", ""),
            ("", "~~~~ JSON x\n{"),
            ("``x\n", ""),
        ] {
            for size in [1, 3, 1000] {
                let text = format!("{passes}{waits}");
                assert_eq!(split_held(&text, size, false), (passes.to_owned(), waits.to_owned()), "{text:?} {size}");
            }
        }
        for size in [1, 1000] {
            assert_eq!(split_held("{\"a\": 1}\nx", size, true), (String::new(), "{\"a\": 1}\nx".to_owned()));
            assert_eq!(split_held("So. {\"a\": 1}\nx\n", size, true).0, "So. {\"a\": 1}\nx\n");
        }
    }

    #[test]
    fn a_fence_is_taken_out_of_the_text() {
        let mut held = HeldText::new(false);
        let text = "```json\n{\"name\": \"f\"}\n```\nEnd.";
        assert_eq!(held.push(text, 10, |_| true), "");
        assert_eq!(held.release_around(Span { start: 9, end: 12 }), None);
        assert_eq!(held.release_around(Span { start: 10, end: 36 }), Some((String::new(), "End.".to_owned())));
        assert_eq!(held.release(), "");
    }

    #[test]
    fn blank_lines_in_a_fence_do_not_wait_for_ever() {
        let text = format!("```json\n{}", "\n".repeat(5000));
        let (passes, waits) = split_held(&text, 1000, false);
        assert!(passes.len() > 1000 && waits.is_empty(), "{} {}", passes.len(), waits.len());
    }

    #[test]
    fn held_text_is_bounded() {
        let mut held = HeldText::new(false);
        let mut out = held.push("```json\n{\"name\": \"", 0, |_| true);
        for n in 0..20 {
            out.push_str(&held.push(&"x".repeat(100_000), 100_000 * n, |_| true));
        }
        assert!(out.len() > MOST_HELD && held.release().len() < MOST_HELD);
    }
}
