//! Skips prose around the changes of a patch, and refuses lines of a change in it. Such a line would be lost silently,
//! or the hunk after it would be applied to another file.

use super::grammar::{self, Mark, WrittenName};
use super::head::GIT;
use super::model::Problem;
use super::{body, unified};
use toolfence_protocol::{Text, text};

/// The position of prose in a patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Position {
    /// Directly after a hunk, whose counts may be wrong: a line that adds or removes may be the rest of the hunk.
    InHunk,
    /// After a hunk and other prose, or after the signature of a mail.
    AfterHunk,
    /// Before the first hunk.
    Apart,
}

/// Refuses prose that contains a line of a change. The head of a file at its end is accepted, since nothing is lost
/// with it.
pub(super) fn refuse(lines: &[&str], from: usize, to: usize, position: Position) -> Result<(), Problem> {
    let signature = match position {
        Position::InHunk => body::signature(&lines[from..to]).map_or(to, |at| from + at),
        Position::AfterHunk | Position::Apart => from,
    };
    let last = (from..to).rfind(|at| !lines[*at].trim().is_empty());
    let mut at = from;
    while at < to {
        if position == Position::Apart && unified::is_pair(lines, at) {
            // A pair of names without a hunk loses nothing, unless one side is `/dev/null`: then a file would be
            // created or deleted.
            let keeps =
                lines[at..].iter().take(2).all(|line| matches!(grammar::file_name(&line[4..]), WrittenName::File(_)));
            if !keeps || last.is_some_and(|last| last > at + 1) {
                return Err(Problem::new(at + 1, line_outside_of_hunks()));
            }
            at += 2;
            continue;
        }
        let after_signature = position == Position::InHunk && at >= signature;
        refuse_line(lines, at, if after_signature { Position::AfterHunk } else { position })?;
        at += 1;
    }
    Ok(())
}

/// Refuses a line of prose that belongs to a change. The line must not be the first of a pair of names.
pub(super) fn refuse_line(lines: &[&str], at: usize, position: Position) -> Result<(), Problem> {
    // Directly after a hunk, one line that adds or removes is suspicious. In other prose only a pair of them is.
    let message = of_change(lines, at).or_else(|| {
        let stray = match position {
            Position::InHunk => is_stray(lines, at),
            Position::AfterHunk | Position::Apart => is_replacement(lines, at),
        };
        stray.then(line_outside_of_hunks)
    });
    let begins_other = || position != Position::Apart && begins_file(lines, at);
    let message = message.or_else(|| begins_other().then(other_file_begins));
    message.map_or(Ok(()), |message| Err(Problem::new(at + 1, message)))
}

/// Refuses the new name of another file, or a mark with a sign, among the lines of a body whose counts do not confirm
/// it. As a line of the body it would be added, and the hunk after it would be applied to this file.
pub(super) fn refuse_names(lines: &[&str], from: usize, to: usize) -> Result<(), Problem> {
    // A removed line that begins with `-- ` must occur in the file, so a pair with it is no head.
    let follows_old_name = |at: usize| at > from && lines[at - 1].starts_with("--- ");
    let begins_other = |at: &usize| {
        let line = lines[*at];
        let leads_to_hunk =
            || lines[*at + 1..].iter().find(|line| !line.trim().is_empty()).is_some_and(|next| next.starts_with("@@"));
        let is_path = || line.contains('/') && is_name(line, "");
        let is_new_name = line.starts_with("+++ ") && !follows_old_name(*at) && (is_path() || leads_to_hunk());
        is_new_name || line.strip_prefix('+').is_some_and(is_like_mark) && leads_to_hunk()
    };
    match (from..to).find(begins_other) {
        Some(at) => Err(Problem::new(at + 1, other_file_begins())),
        None => Ok(()),
    }
}

/// Refuses a heading that is a mark: the lines below it are those of another file.
pub(super) fn refuse_heading(heading: &str, line: usize) -> Result<(), Problem> {
    if is_like_mark(heading) { Err(Problem::new(line, mark_misspelt())) } else { Ok(()) }
}

fn is_like_mark(line: &str) -> bool {
    let line = line.trim();
    grammar::mark(line).is_some() || grammar::is_nearly_mark(line)
}

/// Returns whether a line begins as only the head of another file does, without a complete head after it.
fn begins_file(lines: &[&str], at: usize) -> bool {
    /// Lines of Subversion, CVS and Mercurial between the first line of a head and its names.
    const MOST_LINES: usize = 8;
    let line = lines[at];
    let is_rule = line.trim_end().bytes().all(|byte| byte == b'*');
    let is_mark = |c: char| c.is_ascii_punctuation() && !matches!(c, '.' | '/' | '_' | '"');
    // A rule or a decorated title is no name: `--- ---`, `*****`.
    let half = line.strip_prefix("--- ").or_else(|| line.strip_prefix("+++ "));
    if line.starts_with("***") && !is_rule || half.is_some_and(|name| !name.starts_with(is_mark)) {
        return true;
    }
    let head = lines[at..].iter().take(MOST_LINES).take_while(|line| !line.trim().is_empty()).count();
    let leads_to_names = || (at..at + head).any(|at| unified::is_pair(lines, at));
    (line.starts_with("diff ") || line.starts_with("Index:")) && !leads_to_names()
}

fn of_change(lines: &[&str], at: usize) -> Option<Text> {
    let line = lines[at];
    let next = |offset: usize| lines.get(at + offset).copied().unwrap_or_default();
    if unified::is_binary(line) {
        return Some(text!(
            "a binary file, which a text patch cannot change. Leave it out, or make the file with a command."
        ));
    }
    if line.starts_with("diff --cc ") || line.starts_with("diff --combined ") || line.starts_with("@@@ ") {
        return Some(text!("this is the diff of a merge, with several old sides. Give a unified diff."));
    }
    if line.starts_with("*** ") && next(1).starts_with("--- ") && next(2).starts_with("*******") {
        return Some(text!("this is a context diff. Give a unified diff (diff -u)."));
    }
    let numbered = || grammar::hunk_head(line).is_some_and(|head| head.old_start.is_some() || head.counts.is_some());
    if line.starts_with("@@") && (line.trim_end() == "@@" || line.starts_with("@@ ") || numbered()) {
        return Some(text!("a hunk without the name of its file. Put \"--- a/path\" and \"+++ b/path\" before it."));
    }
    if grammar::is_nearly_mark(line) || matches!(grammar::mark(line), Some(Mark::MoveTo(_))) {
        return Some(mark_misspelt());
    }
    let of_git = [("rename from ", "rename to "), ("copy from ", "copy to ")];
    let without_head = of_git.iter().any(|(from, to)| line.starts_with(from) && next(1).starts_with(to));
    if without_head || line.starts_with(GIT) && unified::says_kind(next(1)) {
        return Some(text!(
            "lines of git about a file without the \"diff --git\" line before them, or in another form."
        ));
    }
    if is_name(line, next(1)) {
        return Some(text!(
            "half of the head of a file. Put \"--- a/path\" and \"+++ b/path\" directly below each other."
        ));
    }
    let indented = line.starts_with([' ', '\t']) && line.trim_start().starts_with("--- ");
    if indented && next(1).trim_start().starts_with("+++ ") && next(2).trim_start().starts_with("@@") {
        return Some(text!("a diff whose lines are indented. Write it from the beginning of the line."));
    }
    None
}

/// Returns `true` for one of the two lines that name a file, if the other one is missing. In prose, more words follow
/// such a name, and a rule between paragraphs may begin like the name of the old side.
fn is_name(line: &str, next: &str) -> bool {
    let text = match (line.strip_prefix("+++ "), line.strip_prefix("--- ")) {
        (Some(text), _) => text,
        (_, Some(text)) if next.starts_with("@@") => text,
        _ => return false,
    };
    match grammar::file_name(text) {
        WrittenName::File(name) => {
            !name.is_empty() && !name.contains(&b' ') && name.iter().any(|byte| !matches!(byte, b'-' | b'+'))
        }
        WrittenName::Nothing => true,
    }
}

/// Returns whether a line adds or removes something, and is neither an item of a list nor a line of a table.
fn is_stray(lines: &[&str], at: usize) -> bool {
    let line = lines[at];
    let Some(sign) = sign(line) else { return false };
    // No list alternates between two markers.
    let other = if sign == b'-' { b'+' } else { b'-' };
    if lines.get(at + 1).is_some_and(|next| next.as_bytes().first() == Some(&other)) {
        return true;
    }
    match line.as_bytes() {
        // An item of a list is no change: `- item`.
        [_, b' ', third, ..] => *third == b' ',
        // An option is no change, but a removed comment is one: `--option`, `-- a comment`.
        [_, second, third, ..] if *second == sign => *third == b' ',
        _ => true,
    }
}

/// Returns `true` if a line is removed and one is added below it, without a blank after the signs. A single such line
/// may be an option, the name of an error or a number: `-EINVAL`, `+5%`.
fn is_replacement(lines: &[&str], at: usize) -> bool {
    let changes = |line: &str, wanted: u8| match line.as_bytes() {
        [first, second, ..] => sign(line).is_some() && *first == wanted && *second != wanted && *second != b' ',
        _ => false,
    };
    changes(lines[at], b'-') && lines.get(at + 1).is_some_and(|next| changes(next, b'+'))
}

/// Returns the sign of a line that is neither a rule nor a line of a table.
fn sign(line: &str) -> Option<u8> {
    let sign = line.bytes().next().filter(|byte| matches!(byte, b'-' | b'+'))?;
    let is_rule = line.bytes().all(|byte| matches!(byte, b'-' | b'+' | b'=' | b'|' | b' ' | b'\r'));
    (!is_rule).then_some(sign)
}

fn mark_misspelt() -> Text {
    text!(
        "this is nearly a mark. Write \"*** Add File: path\", \"*** Update File: path\", \"*** Delete File: path\" or \
         \"*** Move to: path\", or leave the line out."
    )
}

fn line_outside_of_hunks() -> Text {
    text!(
        "a line that adds or removes something is outside of any hunk. Correct the numbers after the @@ above, put a \
         blank before every line of context, or put \"--- a/path\", \"+++ b/path\" and \"@@\" before the line."
    )
}

fn other_file_begins() -> Text {
    text!(
        "another file begins here, but the head is incomplete. Put \"--- a/path\" and \"+++ b/path\" directly below \
         each other, or leave the line out."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first_refused(text: &str, position: Position) -> Option<usize> {
        let lines: Vec<&str> = text.lines().collect();
        refuse(&lines, 0, lines.len(), position).err().map(|problem| problem.line)
    }

    #[test]
    fn prose() {
        let anywhere = [
            "And that is:\n- item\n- other",
            "---\n src/a | 2 +-\n 1 file changed",
            "+-----+----+\n| a   | b  |\n+-----+----+",
            "--force is needed\nand ++i too\n++i",
            "***\n**bold** text",
            "-- \n2.39.0\n\nFrom 0123 Mon Sep 17\nSubject: x\n\n-EINVAL here\nand\n+5% throughput",
            "rename to something better\n@param x\ndeleted file mode 100644",
        ];
        for text in anywhere {
            assert_eq!(first_refused(text, Position::InHunk), None, "{text}");
            assert_eq!(first_refused(text, Position::Apart), None, "{text}");
        }
        let before = [
            "***bold*** text\n*** NOTE: mind this ***\n*** End of message ***\n**** NEW FILE ****\n***Update:*** see below",
            "--- end of patch ---\n+++ all done +++\n",
            "--- snip\n--- Changes",
            "diff --git a/x b/x\n--- a/x\n+++ b/x",
            "diff is next",
        ];
        for text in before {
            assert_eq!(first_refused(text, Position::Apart), None, "{text}");
            for position in [Position::InHunk, Position::AfterHunk] {
                assert!(first_refused(text, position).is_some(), "{text}");
            }
        }
        for text in [
            "-ENOMEM as documented.",
            "- Expected\n+ Received",
            "-   name: x",
            "-- John",
            "-> b",
            "+1 from me",
            "1\n-2",
        ] {
            assert_eq!(first_refused(text, Position::Apart), None, "{text}");
        }
    }

    #[test]
    fn lines_of_changes() {
        for text in ["-    old()", "- a\n+ b", "-- comment", "+x", "-x"] {
            assert_eq!(first_refused(text, Position::InHunk), Some(1), "{text}");
        }
        assert_eq!(first_refused("fn lost() {\n+new();\n }", Position::InHunk), Some(2), "half a hunk is refused");
        let anywhere = [
            "@@\n-two\n+2",
            "@@ -1 +1 @@",
            "@@-2,1 +2,0@@",
            "@@ def f",
            "-two\n+2",
            "+++ b/x",
            "--- a/x\n@@ -1 +1 @@",
            "--- a/x\n+++ b/x\n- a",
            "--- a/x\n+++ /dev/null",
            "--- my todo.md\n+++ my todo.md\n- a",
            "  --- a/x\n  +++ b/x\n  @@ -1 +1 @@",
            "diff --git a/x b/x\nold mode 100644\nnew mode 100755",
            "*** Modify File: x",
            "*** update file: x",
            "***Update File: x",
            "**** Delete File: x",
            "*** Rename File: x to y",
            "*** Move to: y",
            "rename from x\nrename to y",
            "*** x\n--- y\n***************",
        ];
        for text in anywhere {
            assert_eq!(first_refused(text, Position::InHunk), Some(1), "{text}");
            assert_eq!(first_refused(text, Position::Apart), Some(1), "{text}");
        }
    }
}
