//! Undoes changes made to a whole patch: quoting in a mail, colours for a terminal, escaping for HTML, line numbers,
//! backslashes in names, and missing signs of empty lines.
//!
//! Each function undoes one such form in the whole text, or returns `None` if the text does not have it. The forms are
//! tried only if the original text cannot be read or does not apply, and a result is used only if it is the only one.

use super::grammar;
use super::model::{FilePatch, Hunk, Line, Patch, Sign};
use super::{body, unified};
use std::collections::HashSet;

/// Returns one text for each form that the text may have, with this form undone. The escaping that [`unescaped`] undoes
/// is not among the forms.
pub(super) fn undone(text: &str) -> impl Iterator<Item = String> {
    const FORMS: [fn(&str) -> Option<String>; 4] =
        [without_quote_marks, without_colours, with_plus_before_blanks, with_slashes];
    FORMS.into_iter().filter_map(move |form| form(text))
}

/// Removes `> ` from every line that is not blank.
fn without_quote_marks(text: &str) -> Option<String> {
    let bare = |line: &str| match line.strip_prefix('>') {
        Some(rest) => Some(rest.strip_prefix(' ').unwrap_or(rest).to_owned()),
        None => line.trim().is_empty().then(|| line.to_owned()),
    };
    let lines: Option<Vec<String>> = text.split('\n').map(bare).collect();
    text.contains('>').then_some(lines?.join("\n"))
}

/// Removes the colours of `git diff --color` where git puts them.
fn without_colours(text: &str) -> Option<String> {
    if !text.contains("\x1b[") {
        return None;
    }
    let lines: Option<Vec<String>> = text.split('\n').map(without_colours_of_line).collect();
    lines.map(|lines| lines.join("\n"))
}

fn without_colours_of_line(line: &str) -> Option<String> {
    const RESET: &str = "\x1b[m";
    let (line, end) = line.strip_suffix('\r').map_or((line, ""), |line| (line, "\r"));
    let (colour, rest) = split_colour(line).unwrap_or(("", line));
    let rest = if rest.starts_with("@@") { rest.replacen(RESET, "", 1) } else { rest.to_owned() };
    let rest = rest.strip_suffix(RESET).unwrap_or(&rest);
    // Git colours the sign and the text of an added line separately.
    let rest = match rest.split_at_checked(1) {
        Some((sign, text)) => {
            let text = text.strip_prefix(RESET).map_or(text, |text| text.strip_prefix(colour).unwrap_or(text));
            format!("{sign}{text}{end}")
        }
        None => format!("{rest}{end}"),
    };
    (!rest.contains("\x1b[")).then_some(rest)
}

/// Splits off the escape sequence that selects a colour at the beginning of a line.
fn split_colour(line: &str) -> Option<(&str, &str)> {
    let rest = line.strip_prefix("\x1b[")?;
    let length = rest.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b';').count();
    (rest.as_bytes().get(length) == Some(&b'm')).then(|| line.split_at(2 + length + 1))
}

const ENTITIES: [(&str, char); 7] = [
    ("&lt;", '<'),
    ("&gt;", '>'),
    ("&amp;", '&'),
    ("&quot;", '"'),
    ("&#39;", '\''),
    ("&#x27;", '\''),
    ("&apos;", '\''),
];

/// Decodes the entities of a text that was escaped as a whole: it contains no `<` and no `>`, and each `&` begins an
/// entity.
pub(super) fn unescaped(text: &str) -> Option<String> {
    // A text that was escaped as a whole has no bare bracket left.
    if !text.contains('&') || text.contains(['<', '>']) {
        return None;
    }
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        let (entity, character) = ENTITIES.iter().find(|(entity, _)| rest[at..].starts_with(entity))?;
        out.push(*character);
        rest = &rest[at + entity.len()..];
    }
    out.push_str(rest);
    Some(out)
}

/// Returns whether the entities in the added lines of `file` certainly come from escaping the patch and are not
/// content. `file` is the patch before decoding, and `old` the content of the file, or `None` if the patch creates it.
///
/// If the file has entities of its own, added ones may be content. So each hunk that adds some must have an old line
/// that is certainly escaped: it has an entity and does not occur in the file in that form.
pub(super) fn entities_are_escapes(file: &FilePatch<'_>, old: Option<&[u8]>) -> bool {
    let has_entity = |line: &&Line<'_>| line.text.contains('&');
    let adds_entity =
        |hunk: &&Hunk<'_>| hunk.lines.iter().filter(|line| line.sign == Sign::Add).any(|line| has_entity(&line));
    let mut doubtful = file.hunks.iter().filter(adds_entity).peekable();
    if doubtful.peek().is_none() {
        return true;
    }
    // A new file has no lines that could show how the entities are meant.
    let Some(old) = old else { return false };
    let old = String::from_utf8_lossy(old);
    let known: HashSet<&str> =
        old.lines().filter(|line| ENTITIES.iter().any(|(entity, _)| line.contains(entity))).map(str::trim).collect();
    known.is_empty()
        || doubtful.all(|hunk| hunk.old().any(|line| has_entity(&line) && !known.contains(line.text.trim())))
}

/// Adds `+` to empty lines next to added ones inside a hunk.
fn with_plus_before_blanks(text: &str) -> Option<String> {
    let lines: Vec<&str> = text.split('\n').collect();
    let is_blank = |line: &str| matches!(line, "" | "\r");
    let is_added = |at: usize| lines[at].starts_with('+') && !(at > 0 && unified::is_pair(&lines, at - 1));
    let is_body = |at: usize| body::is_body(lines[at]) && !unified::is_pair(&lines, at);
    let (mut out, mut changed) = (Vec::with_capacity(lines.len()), false);
    let mut at = 0;
    while at < lines.len() {
        let run = lines[at..].iter().take_while(|line| is_blank(line)).count();
        let (before, after) = (at.checked_sub(1), Some(at + run).filter(|at| *at < lines.len()));
        // An empty line at the beginning of a hunk is more likely context that lost its blank.
        let is_body_above = |at: usize| body::is_body(lines[at]) && !(at > 0 && unified::is_pair(&lines, at - 1));
        let inside = before.is_some_and(is_body_above) && after.is_some_and(is_body);
        let is_next_to_added = before.is_some_and(is_added) || after.is_some_and(is_added);
        let adds = run > 0 && inside && is_next_to_added;
        changed |= adds;
        let taken = run.max(1);
        out.extend(lines[at..at + taken].iter().map(|line| if adds { format!("+{line}") } else { (*line).to_owned() }));
        at += taken;
    }
    changed.then(|| out.join("\n"))
}

/// Replaces backslashes by slashes in names of heads that have only backslashes.
fn with_slashes(text: &str) -> Option<String> {
    const HEADS: [&str; 7] = ["diff --git ", "--- ", "+++ ", "rename from ", "rename to ", "copy from ", "copy to "];
    if !text.contains('\\') {
        return None;
    }
    let lines: Vec<&str> = text.split('\n').collect();
    let is_head = |at: usize| {
        let line = lines[at];
        let of_pair = unified::is_pair(&lines, at) || at > 0 && unified::is_pair(&lines, at - 1);
        let is_sign = line.starts_with("--- ") || line.starts_with("+++ ");
        grammar::mark(line).is_some() || of_pair || !is_sign && HEADS.iter().any(|head| line.starts_with(head))
    };
    let (mut out, mut changed) = (Vec::with_capacity(lines.len()), false);
    for (at, line) in lines.iter().enumerate() {
        // With a slash, a backslash may be part of a name; in quotes it begins an escape.
        let replaces = line.contains('\\') && !line.contains(['/', '"']) && is_head(at);
        changed |= replaces;
        out.push(if replaces { line.replace('\\', "/") } else { (*line).to_owned() });
    }
    changed.then(|| out.join("\n"))
}

/// Removes line numbers in the format of `read_file`, if every old line has one and they count up. Either all added
/// lines have one or none. In a hunk without old lines, numbers may be content, so its added lines must have none.
pub(super) fn without_line_numbers<'a>(patch: &Patch<'a>) -> Option<Patch<'a>> {
    let mut patch = patch.clone();
    for hunk in patch.files.iter_mut().flat_map(|file| &mut file.hunks) {
        let numbers: Option<Vec<u64>> =
            hunk.old().map(|line| split_number(line.text).map(|(number, _)| number)).collect();
        let count_up = numbers?.windows(2).all(|pair| pair[0] + 1 == pair[1]);
        let has_number = |line: &&Line<'_>| split_number(line.text).is_some();
        let added = hunk.lines.iter().filter(|line| line.sign == Sign::Add);
        let (numbered, all) = (added.clone().filter(has_number).count(), added.count());
        let is_shown = hunk.old().next().is_some();
        if !count_up || numbered != 0 && (numbered != all || !is_shown) {
            return None;
        }
        for line in &mut hunk.lines {
            line.text = split_number(line.text).map_or(line.text, |(_, text)| text);
        }
    }
    Some(patch)
}

/// Splits `     7<tab>text` if the number is aligned as by `read_file`; other numbers before a tab may be content.
fn split_number(text: &str) -> Option<(u64, &str)> {
    let (written, text) = text.split_once('\t')?;
    let number: u64 = written.trim_start_matches(' ').parse().ok()?;
    (number > 0 && format!("{number:>6}") == written).then_some((number, text))
}
