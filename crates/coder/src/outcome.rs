//! Describes the outcome of a call for the user: a short text for the row of the call, a sentence if that is not
//! enough, and some lines of the tool's output or of its changes.
//!
//! The message of an error is written for the model and suggests its next step. This module replaces messages that
//! would confuse the user.

use crate::shown::Words;
use crate::style::Style;
use toolfence_protocol::{ErrorCode, Text, ToolFailure, ToolResult, text};
use toolfence_session::Refusal;
use toolfence_tools::PROJECT_CHECK;

/// Number of lines displayed from the beginning and from the end of a command's output. The model receives the complete
/// output. A failed command gets more lines at the end, where most programs report their error.
const SHOWN: (usize, usize) = (4, 4);
const SHOWN_OF_FAILURE: (usize, usize) = (3, 12);
/// Number of lines of a diff that are displayed.
const SHOWN_OF_DIFF: usize = 32;

/// The name of the tool that sets the plan of a turn; its results are displayed as a checklist.
const PLAN: &str = "plan";

/// Facts about a call in addition to its result.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CallFacts {
    /// Whether the user has ended the turn.
    pub(crate) ended: bool,
    /// The run time in milliseconds, if the call was stopped.
    pub(crate) ran: Option<u64>,
}

/// Summarizes a result in one row: `✓ 3 lines, 2 ms`, or `✗ not_found: ...`.
pub(crate) fn summary(result: &ToolResult, known: CallFacts) -> (Style, String) {
    let Some(error) = &result.error else {
        let size = match (changed(result), lines_of(result)) {
            (Some((added, removed)), _) => text!("+{added} -{removed} lines", added, removed),
            (None, 0) => text!("no output"),
            (None, count) => text!("{count} {count|line|lines}", count),
        };
        let size = if result.truncated { text!("{size}, cut", size) } else { size };
        let sentence = text!("{size}, {time}", size, time = took(result.execution_time_ms));
        return (Style::Good, format!("✓ {}", sentence.words()));
    };
    if let Some(sentence) = for_people(error, known) {
        return (Style::Bad, format!("✗ {}", sentence.words()));
    }
    if let (ErrorCode::ExitStatus, Some(status)) = (error.code, result.exit_code) {
        let sentence = text!("status {status}, {time}", status, time = took(result.execution_time_ms));
        return (Style::Bad, format!("✗ {}", sentence.words()));
    }
    let code = serde_json::to_value(error.code).ok().and_then(|code| code.as_str().map(String::from));
    let message = error.message.words();
    let message = message.lines().next().unwrap_or_default();
    let code = code.unwrap_or_default();
    // A call that did not run has no run time to display.
    match result.execution_time_ms {
        0 => (Style::Bad, format!("✗ {code}: {message}")),
        time => (Style::Bad, format!("✗ {code}, {}: {message}", took(time).words())),
    }
}

/// Returns a message for the user that replaces the one for the model; `None` if the user can read the original.
fn for_people(error: &ToolFailure, known: CallFacts) -> Option<Text> {
    if let Some(refusal) = Refusal::from_failure(error) {
        return Some(match refusal {
            Refusal::BrokeOff | Refusal::BrokeOffAgain if known.ended => {
                text!("stopped while it was written; it did not run")
            }
            Refusal::BrokeOff | Refusal::BrokeOffAgain => text!("the reply ended in the middle of it; it did not run"),
            Refusal::ToBeContinued => text!("the reply ended in the middle of it; the model is asked to continue"),
            Refusal::Skipped => text!("skipped: an earlier change or command failed"),
            Refusal::Cancelled => text!("stopped before it ran"),
            Refusal::Stopped => match known.ran {
                Some(ran) => text!("stopped after {time}; its effects so far remain", time = took(ran)),
                None => text!("stopped; its effects so far remain"),
            },
            _ => return None,
        });
    }
    let field = |wanted| error.message.fields().find(|(name, _)| *name == wanted).map(|(_, value)| value.clone());
    match error.code {
        // Display only the user's own reason; the rest of the message is advice for the model.
        ErrorCode::Denied => field("why").map(|why| text!("not run: {why}", why)),
        ErrorCode::MalformedCall => field("problem").map(|problem| text!("could not be read: {problem}", problem)),
        _ => None,
    }
}

/// Formats a duration: `2 ms`, `1.5 s`, `2 min 5 s`.
pub(crate) fn took(milliseconds: u64) -> Text {
    match milliseconds {
        0..1000 => text!("{count} ms", count = milliseconds),
        1000..60_000 => text!("{count} s", count = format!("{}.{}", milliseconds / 1000, milliseconds % 1000 / 100)),
        _ => text!("{minutes} min {seconds} s", minutes = milliseconds / 60_000, seconds = milliseconds / 1000 % 60),
    }
}

fn diff_of(result: &ToolResult) -> Option<&str> {
    result.data.as_ref()?.get("diff")?.as_str()
}

/// Returns the id of the stored output, if the output was too long for the result.
pub(crate) fn overflow_of(result: &ToolResult) -> Option<&str> {
    result.data.as_ref()?.get("output_id")?.as_str()
}

/// Returns the number of lines of the complete output, including lines that the result leaves out.
fn lines_of(result: &ToolResult) -> usize {
    let all = overflow_of(result).and_then(|_| result.data.as_ref()?.get("output_lines")?.as_u64());
    all.and_then(|all| all.try_into().ok()).unwrap_or_else(|| result.output.lines().count())
}

/// The role of a line in a diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DiffLine {
    /// The names of the files, and remarks about them.
    Head,
    /// The header of a hunk, with the position of its lines.
    Place,
    Added,
    Removed,
    Same,
}

/// Splits a diff into lines with their roles. A line in a hunk may look like the name of a file, so the lengths in the
/// hunk's header decide where the hunk ends.
fn lines_of_diff(diff: &str) -> impl Iterator<Item = (DiffLine, &str)> {
    let (mut old, mut new) = (0_usize, 0_usize);
    // `lines()` would also remove a CR that belongs to the line.
    diff.split_inclusive('\n').map(move |line| {
        let line = line.strip_suffix('\n').unwrap_or(line);
        let kind = match line.as_bytes().first() {
            // `\ No newline at end of file` describes the line above it and does not count as a line of the hunk.
            Some(b'\\') => return (DiffLine::Same, line),
            _ if old == 0 && new == 0 => match hunk(line) {
                Some(lengths) => {
                    (old, new) = lengths;
                    return (DiffLine::Place, line);
                }
                None => DiffLine::Head,
            },
            Some(b'+') => DiffLine::Added,
            Some(b'-') => DiffLine::Removed,
            _ => DiffLine::Same,
        };
        old = old.saturating_sub(usize::from(matches!(kind, DiffLine::Removed | DiffLine::Same)));
        new = new.saturating_sub(usize::from(matches!(kind, DiffLine::Added | DiffLine::Same)));
        (kind, line)
    })
}

/// Parses the header of a hunk, such as `@@ -1,3 +1,4 @@`, and returns its number of old and of new lines.
fn hunk(line: &str) -> Option<(usize, usize)> {
    let (ranges, _) = line.strip_prefix("@@ -")?.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let length = |range: &str| range.split_once(',').map_or(Some(1), |(_, length)| length.parse().ok());
    Some((length(old)?, length(new)?))
}

/// Returns the lines of a diff with their styles.
pub(crate) fn styled_diff(diff: &str) -> impl Iterator<Item = (Style, &str)> {
    lines_of_diff(diff).map(|(kind, line)| (style_of(kind), line))
}

fn style_of(kind: DiffLine) -> Style {
    match kind {
        DiffLine::Head => Style::Name,
        DiffLine::Place => Style::Action,
        DiffLine::Added => Style::Good,
        DiffLine::Removed => Style::Bad,
        DiffLine::Same => Style::Dim,
    }
}

/// Returns the number of lines that a change added and removed.
fn changed(result: &ToolResult) -> Option<(usize, usize)> {
    Some(lines_of_diff(diff_of(result)?).fold((0, 0), |(added, removed), (kind, _)| match kind {
        DiffLine::Added => (added + 1, removed),
        DiffLine::Removed => (added, removed + 1),
        _ => (added, removed),
    }))
}

/// Selects the part of a result to display: the diff of a change that the user has not `seen`, or the beginning and the
/// end of a command's output. With `hints`, the text explains how to see the rest.
pub(crate) fn details(result: &ToolResult, seen: bool, hints: bool) -> Vec<(Style, String)> {
    if let Some(diff) = diff_of(result).filter(|_| !seen) {
        let lines: Vec<(DiffLine, &str)> = lines_of_diff(diff).collect();
        // The label of the call already names a single file.
        let is_one =
            lines.iter().filter(|(kind, line)| *kind == DiffLine::Head && line.starts_with("+++ ")).count() == 1;
        let is_shown = |kind: DiffLine| kind != DiffLine::Head || !is_one;
        let lines: Vec<_> =
            lines.into_iter().filter(|(kind, _)| is_shown(*kind)).map(|(kind, line)| (style_of(kind), line)).collect();
        let count = lines.len();
        return cut(lines, count, (SHOWN_OF_DIFF, 0), hints);
    }
    let was_stopped = result.error.as_ref().is_some_and(|error| error.code == ErrorCode::Cancelled);
    let is_command = result.exit_code.is_some() || was_stopped || result.tool == PROJECT_CHECK;
    // The output of other tools, such as the content of a file, is only for the model.
    if diff_of(result).is_some() || !is_command {
        return Vec::new();
    }
    let most = if result.success { SHOWN } else { SHOWN_OF_FAILURE };
    // This line is a hint for the model where the complete output is; the user gets a different one.
    let is_pointer = |line: &str| overflow_of(result).is_some_and(|id| line.starts_with('[') && line.contains(id));
    let lines: Vec<&str> = result.output.lines().filter(|line| !hints || !is_pointer(line)).collect();
    let tail = lines.len().saturating_sub(most.1);
    // Most programs print the reason of a failure last, so these lines are not dimmed.
    let style = |at: usize| if !result.success && at >= tail { Style::Plain } else { Style::Dim };
    let lines: Vec<_> = lines.into_iter().enumerate().map(|(at, line)| (style(at), line)).collect();
    let count = lines_of(result).max(lines.len());
    cut(lines, count, most, hints)
}

/// Returns the error and the complete diff or output of a result.
pub(crate) fn full_rows(result: &ToolResult) -> Vec<(Style, String)> {
    let error = result.error.iter().map(|error| (Style::Bad, error.message.words().into_owned()));
    let lines: Vec<_> = match diff_of(result) {
        Some(diff) => styled_diff(diff).map(|(style, line)| (style, line.to_owned())).collect(),
        None => result.output.lines().map(|line| (Style::Plain, line.to_owned())).collect(),
    };
    error.chain(lines).collect()
}

/// Returns the first `head` and the last `tail` lines, and between them the number of lines left out. `count` is the
/// number of all lines, including any that the result has cut from `lines`.
fn cut(lines: Vec<(Style, &str)>, count: usize, (head, tail): (usize, usize), hints: bool) -> Vec<(Style, String)> {
    let own = |(style, line): &(Style, &str)| (*style, (*line).to_owned());
    // The row with the number of hidden lines would take the place of a single hidden line.
    if lines.len() <= head + tail + 1 && count == lines.len() || lines.len() < head + tail {
        return lines.iter().map(own).collect();
    }
    let left = count - head - tail;
    let more = if hints {
        text!("... {count} {count|line|lines} more; /last shows all", count = left)
    } else {
        text!("... {count} {count|line|lines} more", count = left)
    };
    let (first, last) = (lines[..head].iter(), lines[lines.len() - tail..].iter());
    first.map(own).chain([(Style::Dim, more.words().into_owned())]).chain(last.map(own)).collect()
}

/// Returns the steps of a plan, with signs if the terminal supports them and with ASCII marks otherwise.
pub(crate) fn checklist(result: &ToolResult, signs: bool) -> Vec<(Style, String)> {
    let steps = result.data.as_ref().filter(|_| result.tool == PLAN).and_then(|data| data["steps"].as_array());
    let steps = steps.map_or(&[][..], Vec::as_slice);
    let row = |step: &serde_json::Value| {
        let (style, sign, mark) = match step["state"].as_str() {
            Some("done") => (Style::Good, "✓", "[x]"),
            Some("active") => (Style::Action, "→", "[>]"),
            _ => (Style::Dim, "·", "[ ]"),
        };
        (style, format!("{} {}", if signs { sign } else { mark }, step["text"].as_str().unwrap_or_default()))
    };
    steps.iter().map(row).collect()
}

/// Returns a line of program output as a terminal would display it: only the text after the last CR, because progress
/// bars overwrite themselves, and without colour codes.
pub(crate) fn printed_line(line: &str) -> String {
    let line = line.trim_end_matches('\r').rsplit('\r').next().unwrap_or_default();
    let (mut out, mut column) = (String::new(), 0);
    let mut rest = line.chars();
    while let Some(c) = rest.next() {
        match c {
            // A control sequence extends to its first byte in this range (ECMA-48, 5.4).
            '\u{1b}' if rest.as_str().starts_with('[') => {
                rest.next();
                rest.by_ref().find(|c| ('@'..='~').contains(c));
            }
            '\t' => {
                let blanks = 8 - column % 8;
                out.extend(std::iter::repeat_n(' ', blanks));
                column += blanks;
            }
            c => {
                column += 1;
                out.push(c);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolfence_protocol::{ErrorCode, Output, ToolFailure};

    #[test]
    fn results_in_a_line() {
        let good = ToolResult::new("1", "read_file", Output::text("a\nb\n"), 2);
        assert_eq!(summary(&good, CallFacts::default()), (Style::Good, "✓ 2 lines, 2 ms".into()));
        let failure = ToolFailure::new(ErrorCode::ExitStatus, "It ended with status 1.\nMore.");
        let bad = ToolResult::refused("1", "bash", failure);
        assert_eq!(summary(&bad, CallFacts::default()), (Style::Bad, "✗ exit_status: It ended with status 1.".into()));
    }

    #[test]
    fn a_plan_is_a_checklist() {
        let mut output = Output::text("Kept.");
        let steps = [("read", "done"), ("write", "active"), ("test", "pending")];
        let steps: Vec<_> =
            steps.iter().map(|(text, state)| serde_json::json!({"text": text, "state": state})).collect();
        output.data = Some(serde_json::json!({ "steps": steps }));
        let result = ToolResult::new("1", "plan", output, 2);
        let lines = |signs| checklist(&result, signs).into_iter().map(|(_, line)| line).collect::<Vec<_>>();
        assert_eq!(lines(true), ["✓ read", "→ write", "· test"]);
        assert_eq!(lines(false), ["[x] read", "[>] write", "[ ] test"]);
    }

    #[test]
    fn of_long_output_the_beginning_and_the_end_are_shown() {
        let lines: String = (1..=30).map(|line| format!("line {line}\n")).collect();
        let shown = |code: i32, failure: Option<ToolFailure>| -> Vec<String> {
            let mut output = Output::text(lines.clone());
            (output.exit_code, output.failure) = (Some(code), failure);
            let lines = details(&ToolResult::new("1", "bash", output, 2), false, false);
            lines.into_iter().map(|(_, line)| line).collect()
        };
        let good = shown(0, None);
        let wanted =
            ["line 1", "line 2", "line 3", "line 4", "... 22 lines more", "line 27", "line 28", "line 29", "line 30"];
        assert_eq!(good, wanted);
        let bad = shown(1, Some(ToolFailure::new(ErrorCode::ExitStatus, "It ended with status 1.")));
        assert_eq!((bad.len(), bad[3].as_str(), bad[15].as_str()), (16, "... 15 lines more", "line 30"));
        let five = |count| cut(vec![(Style::Dim, "x"); 5], count, (2, 2), true).len();
        assert_eq!((five(5), five(9)), (5, 5), "a line takes the place of no more than one");
    }

    #[test]
    fn a_change_that_was_allowed_is_not_shown_again() {
        let mut output = Output::text("Written.");
        output.data = Some(serde_json::json!({"diff": "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"}));
        let result = ToolResult::new("1", "write_file", output, 2);
        assert_eq!(details(&result, true, false), []);
        let shown = details(&result, false, false);
        assert_eq!(shown[0], (Style::Action, "@@ -1 +1 @@".to_owned()), "the call has named the file");
        assert_eq!(shown[2], (Style::Good, "+b".to_owned()));
    }

    /// A removed line that begins with two hyphens looks like the name of a file.
    #[test]
    fn lines_of_a_hunk_are_no_names_of_files() {
        let diff = "--- a/x.sql\n+++ b/x.sql\n@@ -1,2 +1,2 @@ f\n--- old\n+++ new\n same\n\\ No newline at end of file\n\
                    --- a/y\n+++ b/y\n@@ -1 +0,0 @@\n-gone\n";
        let mut output = Output::text("Written.");
        output.data = Some(serde_json::json!({ "diff": diff }));
        let result = ToolResult::new("1", "apply_patch", output, 2);
        assert_eq!(summary(&result, CallFacts::default()).1, "✓ +1 -2 lines, 2 ms");
        let styles: Vec<Style> = details(&result, false, false).into_iter().map(|(style, _)| style).collect();
        use Style::{Action, Bad, Dim, Good, Name};
        assert_eq!(styles, [Name, Name, Action, Bad, Good, Dim, Dim, Name, Name, Action, Bad]);
    }

    #[test]
    fn omitted_lines_are_counted_and_a_failure_shows_its_last_lines() {
        let mut output =
            Output::text("1\n2\n[... 9 bytes (96 lines) left out ...]\n99\n100\n[All of it is in output/abc.txt.]\n");
        (output.exit_code, output.truncated) = (Some(0), true);
        output.data = Some(serde_json::json!({"output_id": "abc", "output_lines": 100}));
        let result = ToolResult::new("1", "bash", output.clone(), 2);
        assert_eq!(summary(&result, CallFacts::default()).1, "✓ 100 lines, cut, 2 ms");
        output.failure = Some(ToolFailure::new(ErrorCode::ExitStatus, "It ended with status 1."));
        let long: String = (1..=100).map(|line| format!("{line}\n")).collect();
        output.text = format!("{long}[All of it is in output/abc.txt.]\n").into();
        let failed = ToolResult::new("1", "bash", output, 2);
        let shown = details(&failed, false, true);
        assert_eq!((&shown[2], &shown[4]), (&(Style::Dim, "3".to_owned()), &(Style::Plain, "89".to_owned())));
        assert_eq!(shown[3].1, "... 85 lines more; /last shows all");
        assert_eq!(shown.last().map(|(_, line)| line.as_str()), Some("100"));
        let apart = details(&failed, false, false);
        assert_eq!(apart.last().map(|(_, line)| line.as_str()), Some("[All of it is in output/abc.txt.]"));
    }

    #[test]
    fn times_are_told_in_their_size() {
        for (time, sentence) in [(999, "999 ms"), (1500, "1.5 s"), (59_999, "59.9 s"), (125_000, "2 min 5 s")] {
            assert_eq!(took(time).words(), sentence);
        }
    }
}
