//! Recognises the lines of a patch that are not content, with one function each. The order of lines is checked
//! elsewhere.

use nom::branch::alt;
use nom::bytes::complete::{tag, take_till1, take_while, take_while_m_n, take_while1};
use nom::character::complete::{char, digit1, none_of, one_of, space0, space1};
use nom::combinator::{all_consuming, map, map_opt, opt, recognize, rest, value, verify};
use nom::multi::fold_many0;
use nom::sequence::{delimited, preceded, terminated};
use nom::{IResult, Parser};

/// The parsed text after `@@`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct HunkHead<'a> {
    /// The first old line; `None` if it is missing or out of range.
    pub(super) old_start: Option<u64>,
    /// The number of old and of new lines, if the head states both.
    pub(super) counts: Option<(u64, u64)>,
    pub(super) heading: &'a str,
}

/// Parses a `@@` line of a unified diff: with both ranges, with one of them, or bare.
pub(super) fn hunk_head(line: &str) -> Option<HunkHead<'_>> {
    let line = line.trim_end();
    numbered(line).or_else(|| all_consuming(bare).parse(line).ok().map(|found| found.1))
}

fn numbered(line: &str) -> Option<HunkHead<'_>> {
    let ranges = (preceded(char('-'), range), preceded((space1, char('+')), range));
    // A model may leave out the second `@@` if no heading follows.
    let closed = alt((preceded((space0, tag("@@")), rest), value("", verify(rest, str::is_empty))));
    let mut head = map((tag("@@"), space0, ranges, closed), |(_, _, (old, new), heading)| HunkHead {
        old_start: old.0,
        counts: old.1.zip(new.1),
        heading: heading.trim(),
    });
    all_consuming(|input| head.parse(input)).parse(line).ok().map(|found| found.1)
}

fn bare(input: &str) -> IResult<&str, HunkHead<'_>> {
    let (_, heading) = preceded(tag("@@"), verify(rest, |text: &str| !text.starts_with('@'))).parse(input)?;
    let heading = heading.trim();
    let heading = heading.strip_suffix("@@").unwrap_or(heading).trim();
    // Models write three dots or unfilled ranges for "somewhere".
    let heading = if matches!(heading, "..." | "-,+" | "-0,0 +0,0") { "" } else { heading };
    Ok(("", HunkHead { heading, ..HunkHead::default() }))
}

/// Parses `12,3`. A missing count means one line; a number out of range is ignored.
fn range(input: &str) -> IResult<&str, (Option<u64>, Option<u64>)> {
    let number = |digits: &str| digits.parse().ok().filter(|number| *number < u64::from(u32::MAX));
    // A negative number is no hint, but the hunk can still be placed by its lines.
    let start = map(opt((opt(char('-')), digit1)), move |found: Option<(Option<char>, &str)>| match found {
        Some((None, digits)) => number(digits),
        _ => None,
    });
    let count = map(opt(preceded(char(','), opt(digit1))), move |found| match found {
        None => Some(1),
        Some(digits) => digits.and_then(number),
    });
    (start, count).parse(input)
}

/// A name after `--- `, `+++ `, `rename from ` and so on, before any prefix is removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum WrittenName {
    /// `/dev/null`, or the time 0: the file does not exist on this side.
    Nothing,
    File(Vec<u8>),
}

/// Parses a name with or without quotes, and the time after it.
pub(super) fn file_name(text: &str) -> WrittenName {
    // POSIX, `diff -u`: a tab separates the name from the time. Some tools write a blank instead.
    let text = text.trim_end_matches(['\r', '\n']);
    if let Ok((after, name)) = quoted.parse(text) {
        return name_unless_never(name, after);
    }
    let (name, time) = match text.split_once('\t') {
        Some((name, time)) => (name, time),
        None => text.split_at(before_time(text)),
    };
    name_unless_never(name.as_bytes().to_vec(), time)
}

fn name_unless_never(name: Vec<u8>, time: &str) -> WrittenName {
    // Tools without /dev/null write a time at or before the epoch.
    let never = ["1970-01-01 ", "1969-12-31 ", "Thu Jan  1 "].iter().any(|day| time.trim_start().starts_with(day));
    if matches!(name.trim_ascii(), b"/dev/null" | b"dev/null") || (never && time.contains("00:00")) {
        return WrittenName::Nothing;
    }
    WrittenName::File(name)
}

/// Returns the position of a time after a name, if only blanks separate them; otherwise the length of the text.
fn before_time(text: &str) -> usize {
    let mut starts = text.match_indices(' ').map(|(at, _)| at);
    starts.rfind(|at| date.parse(&text[at + 1..]).is_ok()).unwrap_or(text.len())
}

/// Parses `2024-01-31 12:00` and ignores the rest.
fn date(input: &str) -> IResult<&str, &str> {
    let digits = |count: usize| take_while_m_n(count, count, |c: char| c.is_ascii_digit());
    recognize((digits(4), char('-'), digits(2), char('-'), digits(2), one_of(" T"), digits(2), char(':'), digits(2)))
        .parse(input)
}

/// Parses a name in double quotes with C escapes, as git writes it. It returns bytes, since the encoding is unknown.
pub(super) fn quoted(input: &str) -> IResult<&str, Vec<u8>> {
    let piece = alt((
        map(take_till1(|c| c == '"' || c == '\\' || c == '\n'), |text: &str| text.as_bytes().to_vec()),
        map(preceded(char('\\'), escaped), |byte| vec![byte]),
    ));
    let content = fold_many0(piece, Vec::new, |mut all: Vec<u8>, piece| {
        all.extend(piece);
        all
    });
    delimited(char('"'), content, char('"')).parse(input)
}

fn escaped(input: &str) -> IResult<&str, u8> {
    let octal = map_opt(take_while_m_n(3, 3, |c: char| c.is_digit(8)), |digits| u8::from_str_radix(digits, 8).ok());
    let letter = map_opt(none_of("01234567"), |c| match c {
        'n' => Some(b'\n'),
        't' => Some(b'\t'),
        'r' => Some(b'\r'),
        'a' => Some(7),
        'b' => Some(8),
        'v' => Some(11),
        'f' => Some(12),
        '"' | '\\' => u8::try_from(c).ok(),
        _ => None,
    });
    alt((octal, letter)).parse(input)
}

/// Parses the two names of `diff --git`, if one of them is in quotes.
pub(super) fn quoted_git_names(line: &str) -> Option<(Vec<u8>, Vec<u8>)> {
    let names = line.strip_prefix("diff --git ")?.trim_end_matches('\r');
    if let Ok((_, (old, new))) =
        all_consuming((terminated(quoted, char(' ')), alt((quoted, map(rest, |text: &str| text.into()))))).parse(names)
    {
        return Some((old, new));
    }
    // A name without quotes contains no quotation mark.
    let (old, new) = names.split_at(names.find('"')?);
    let (_, new) = all_consuming(quoted).parse(new).ok()?;
    Some((old.strip_suffix(' ')?.into(), new))
}

/// Parses the two names of `diff --git` if they are two words, or equal.
fn git_names(line: &str) -> Option<(Vec<u8>, Vec<u8>)> {
    if let Some(names) = quoted_git_names(line) {
        return Some(names);
    }
    let names = line.strip_prefix("diff --git ")?.trim_end();
    let middle = names.len() / 2;
    // Two equal names are separated in the middle, even if they contain blanks. Prefixes shift that place by one at
    // most.
    let near = (middle.saturating_sub(1)..=middle + 1).filter(|at| names.as_bytes().get(*at) == Some(&b' '));
    let at = near.min_by_key(|at| at.abs_diff(middle)).or_else(|| names.find(' '))?;
    Some((names[..at].into(), names[at + 1..].into()))
}

/// Parses the octal mode after `new file mode `, `new mode ` and the like: `100644`.
pub(super) fn mode(text: &str) -> Option<u32> {
    u32::from_str_radix(text.trim(), 8).ok().filter(|_| text.trim().len() <= 6)
}

/// Returns the word that ends the here-document which `<<EOF`, `<<-'EOF'` or `<< "EOF"` begins.
pub(super) fn heredoc_tag(line: &str) -> Option<&str> {
    let at = line.find("<<")?;
    let word = take_while1(|c: char| c.is_ascii_alphanumeric() || c == '_');
    let mut opener =
        preceded((tag("<<"), opt(char('-')), space0, take_while(|c| c == '\'' || c == '"' || c == '\\')), word);
    let found: IResult<&str, &str> = opener.parse(&line[at..]);
    found.ok().map(|found| found.1)
}

/// The marks of the `*** Begin Patch` form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark<'a> {
    Begin,
    End,
    Add(&'a str),
    Update(&'a str),
    Delete(&'a str),
    MoveTo(&'a str),
    EndOfFile,
}

/// Parses a line that begins with three asterisks, if it is one of the marks.
pub(super) fn mark(line: &str) -> Option<Mark<'_>> {
    let text = line.strip_prefix("*** ")?.trim_start().trim_end_matches('\r');
    // Some models close a mark with asterisks too.
    let text = text.trim_end().strip_suffix(" ***").map_or(text, str::trim_end);
    let named = |word: &str| text.strip_prefix(word).map(str::trim_start);
    match text.trim_end() {
        "Begin Patch" => return Some(Mark::Begin),
        "End Patch" => return Some(Mark::End),
        "End of File" | "End Of File" => return Some(Mark::EndOfFile),
        _ => {}
    }
    named("Add File:")
        .or_else(|| named("Create File:"))
        .map(Mark::Add)
        .or_else(|| named("Update File:").map(Mark::Update))
        .or_else(|| named("Delete File:").map(Mark::Delete))
        .or_else(|| named("Move to:").or_else(|| named("Move To:")).map(Mark::MoveTo))
}

/// Returns whether a line looks like a misspelt mark: `*** Modify File: x`, `*** update file: x`, `***Delete File: x`.
pub(super) fn is_nearly_mark(line: &str) -> bool {
    const VERBS: [&str; 12] =
        ["add", "change", "copy", "create", "delete", "edit", "modify", "move", "new", "remove", "rename", "update"];
    let text = line.trim_start_matches('*');
    if line.len() - text.len() < 3 || mark(line).is_some() {
        return false;
    }
    let text = text.trim().to_ascii_lowercase();
    let mut words = text.split([' ', '\t', ':']).filter(|word| !word.is_empty());
    match (words.next(), words.next(), words.next()) {
        (Some("begin" | "end"), Some("patch"), _) | (Some("end"), Some("of"), Some("file")) => true,
        (Some("move" | "rename"), Some("to"), Some(name)) => !name.starts_with('*'),
        (Some(verb), Some("file" | "files"), Some(name)) => VERBS.contains(&verb) && !name.starts_with('*'),
        _ => false,
    }
}

/// Returns every text at the place of a file name in a text that cannot be read as a patch: as written, and without its
/// first folder if that can be a prefix.
pub(super) fn loose_names(text: &str) -> Vec<String> {
    const HEADS: [&str; 6] = ["--- ", "+++ ", "rename from ", "rename to ", "copy from ", "copy to "];
    let mut all: Vec<Vec<u8>> = Vec::new();
    for line in text.lines().map(str::trim_start) {
        if let Some(Mark::Add(name) | Mark::Update(name) | Mark::Delete(name) | Mark::MoveTo(name)) = mark(line) {
            all.push(name.as_bytes().to_vec());
        }
        if let Some(WrittenName::File(name)) = HEADS.iter().find_map(|head| line.strip_prefix(head)).map(file_name) {
            all.push(name);
        }
        if let Some((old, new)) = git_names(line) {
            all.extend([old, new]);
        }
    }
    let mut names = Vec::new();
    let is_name = |name: &str| !name.trim().is_empty() && name != "/dev/null";
    for name in all.iter().map(|name| String::from_utf8_lossy(name)).filter(|name| is_name(name)) {
        // Git puts these letters before names: git-diff(1), `diff.mnemonicPrefix`.
        let rest = name.split_once('/').filter(|(first, rest)| {
            first.len() == 1 && first.bytes().all(|byte| byte.is_ascii_lowercase()) && !rest.is_empty()
        });
        names.extend(rest.map(|(_, rest)| rest.to_owned()));
        names.push(name.into_owned());
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hunk_heads() {
        let head = |old_start, counts, heading| Some(HunkHead { old_start, counts, heading });
        assert_eq!(hunk_head("@@ -1,2 +3,4 @@ fn f()\r"), head(Some(1), Some((2, 4)), "fn f()"));
        assert_eq!(hunk_head("@@ -1 +1 @@"), head(Some(1), Some((1, 1)), ""));
        assert_eq!(hunk_head("@@ -7,3 +7,4"), head(Some(7), Some((3, 4)), ""));
        assert_eq!(hunk_head("@@ -, +, @@"), head(None, None, ""));
        assert_eq!(hunk_head("@@ -99999999999999999999,1 +1,1 @@"), head(None, Some((1, 1)), ""));
        assert_eq!(hunk_head("@@ -1,99999999999999999999 +1 @@"), head(Some(1), None, ""));
        assert_eq!(hunk_head("@@"), head(None, None, ""));
        assert_eq!(hunk_head("@@ ... @@"), head(None, None, ""));
        assert_eq!(hunk_head("@@ class A @@"), head(None, None, "class A"));
        assert_eq!(hunk_head("@@@ -1 -1 +1 @@@"), None);
        assert_eq!(hunk_head("x @@"), None);
    }

    #[test]
    fn names_and_times() {
        let file = |name: &str| WrittenName::File(name.as_bytes().to_vec());
        assert_eq!(file_name("a/x y.rs\t2024-01-31 12:00:00.0 +0100"), file("a/x y.rs"));
        assert_eq!(file_name("a/x 2024-01-31 12:00:00"), file("a/x"));
        assert_eq!(file_name("\"a/\\303\\251\\\"\\t\""), file("a/\u{e9}\"\t"));
        assert_eq!(file_name("/dev/null\t1970"), WrittenName::Nothing);
        assert_eq!(file_name("x\t1970-01-01 00:00:00.000000000 +0000"), WrittenName::Nothing);
        assert_eq!(file_name("2024-01-31 notes.md\r"), file("2024-01-31 notes.md"));
    }

    #[test]
    fn names_of_git() {
        let names =
            |line| quoted_git_names(line).map(|(a, b)| (String::from_utf8(a).unwrap(), String::from_utf8(b).unwrap()));
        let both = |a: &str, b: &str| Some((a.to_owned(), b.to_owned()));
        assert_eq!(names("diff --git \"a/\\t\" \"b/\\t\""), both("a/\t", "b/\t"));
        assert_eq!(names("diff --git \"a/\\t\" b/x y"), both("a/\t", "b/x y"));
        assert_eq!(names("diff --git a/x y \"b/\\t\""), both("a/x y", "b/\t"));
        assert_eq!(names("diff --git a/x b/x"), None);
    }

    #[test]
    fn heredocs_and_marks() {
        assert_eq!(heredoc_tag("apply_patch <<'EOF'"), Some("EOF"));
        assert_eq!(heredoc_tag("cat << PATCH | git apply"), Some("PATCH"));
        assert_eq!(heredoc_tag("1 < 2"), None);
        assert_eq!(mark("*** Move to:  a b \r"), Some(Mark::MoveTo("a b ")));
        assert_eq!(mark("*** a/file.c"), None);
        assert_eq!((mark("*** Begin Patch ***"), mark("*** End Patch *** ")), (Some(Mark::Begin), Some(Mark::End)));
        assert_eq!(mark("*** Update File: a *** b ***"), Some(Mark::Update("a *** b")));
    }
}
