//! The outcome of a call, in words for a person: one short text for the row of the call, a sentence where there is more to say, and
//! some lines of what the tool printed or changed.
//!
//! The message of an error is for the model, and says what it is to do next. Where that would puzzle a person, there are words of
//! our own here.

use crate::messages;
use crate::shown::Words;
use crate::style::Style;
use toolfence::program::tools::PROJECT_CHECK;
use toolfence::{ErrorCode, Text, ToolResult};

/// Lines of a command's output that are shown of its beginning and of its end; the model gets all of it. What went wrong is said
/// at the end.
const SHOWN: (usize, usize) = (4, 4);
const SHOWN_OF_FAILURE: (usize, usize) = (3, 12);
/// Lines of a diff that are shown.
const SHOWN_OF_DIFF: usize = 32;

/// The tool whose results are plans.
const PLAN: &str = "plan";

/// What is known of a call beside its result.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Known {
    /// The person has ended the turn.
    pub(crate) ended: bool,
    /// For how many milliseconds it ran, where it was stopped.
    pub(crate) ran: Option<u64>,
}

/// `✓ 3 lines, 2 ms`, or `✗ not_found: ...`.
pub(crate) fn summary(result: &ToolResult, known: Known) -> (Style, String) {
    let Some(error) = &result.error else {
        let size = match (changed(result), result.output.lines().count()) {
            (Some((added, removed)), _) => messages::lines_changed(added, removed),
            (None, 0) => messages::no_output(),
            (None, count) => messages::lines_of_output(count),
        };
        let size = if result.truncated { messages::output_cut(size) } else { size };
        let told = messages::output_in_time(size, took(result.execution_time_ms));
        return (Style::Good, format!("✓ {}", told.words()));
    };
    if let Some(told) = for_people(&error.message, known) {
        return (Style::Bad, format!("✗ {}", told.words()));
    }
    if let (ErrorCode::ExitStatus, Some(status)) = (error.code, result.exit_code) {
        let told = messages::ended_with_status(status, took(result.execution_time_ms));
        return (Style::Bad, format!("✗ {}", told.words()));
    }
    let code = serde_json::to_value(error.code).ok().and_then(|code| code.as_str().map(String::from));
    let message = error.message.words();
    let message = message.lines().next().unwrap_or_default();
    let code = code.unwrap_or_default();
    // What did not run took no time.
    match result.execution_time_ms {
        0 => (Style::Bad, format!("✗ {code}: {message}")),
        time => (Style::Bad, format!("✗ {code}, {}: {message}", took(time).words())),
    }
}

/// What a person is told instead of words that are for the model.
fn for_people(message: &Text, known: Known) -> Option<Text> {
    Some(match message.key()? {
        "session.block_broke_off" | "session.block_broke_off_again" if known.ended => messages::stopped_while_written(),
        "session.block_broke_off" | "session.block_broke_off_again" => messages::cut_while_written(),
        "session.block_to_be_continued" => messages::cut_and_continued(),
        "session.skipped_after_failure" => messages::skipped_after_failure(),
        "session.cancelled_before_running" => messages::stopped_before_running(),
        "session.stopped_while_running" => match known.ran {
            Some(ran) => messages::stopped_after(took(ran)),
            None => messages::stopped_while_running(),
        },
        // The person's own words; the model is told what to do then.
        "policy.denied_by_person" => {
            let (_, why) = message.fields().find(|(name, _)| *name == "why")?;
            messages::not_run_because(why.clone())
        }
        "parse.block_unreadable" => {
            let (_, problem) = message.fields().find(|(name, _)| *name == "problem")?;
            messages::could_not_be_read(problem.clone())
        }
        _ => return None,
    })
}

/// `2 ms`, `1.5 s`, `2 min 5 s`.
pub(crate) fn took(milliseconds: u64) -> Text {
    match milliseconds {
        0..1000 => messages::milliseconds(milliseconds),
        1000..60_000 => messages::seconds(format!("{}.{}", milliseconds / 1000, milliseconds % 1000 / 100)),
        _ => messages::minutes(milliseconds / 60_000, milliseconds / 1000 % 60),
    }
}

fn diff_of(result: &ToolResult) -> Option<&str> {
    result.data.as_ref()?.get("diff")?.as_str()
}

/// Lines that a change added and removed.
fn changed(result: &ToolResult) -> Option<(usize, usize)> {
    let lines = diff_of(result)?.lines();
    // The names of the files stand before the first hunk.
    let lines = lines.filter(|line| !line.starts_with("+++ ") && !line.starts_with("--- "));
    Some(lines.fold((0, 0), |(added, removed), line| match line.as_bytes().first() {
        Some(b'+') => (added + 1, removed),
        Some(b'-') => (added, removed + 1),
        _ => (added, removed),
    }))
}

/// What is worth showing of a result: the diff of a change that was not `seen`, beginning and end of a command's output. With
/// `hints` it is said how to see more.
pub(crate) fn details(result: &ToolResult, seen: bool, hints: bool) -> Vec<(Style, String)> {
    if let Some(diff) = diff_of(result) {
        let shown = if seen { "" } else { diff };
        return cut(shown, (SHOWN_OF_DIFF, 0), hints).map(|line| (line_style(&line), line)).collect();
    }
    let was_stopped = result.error.as_ref().is_some_and(|error| error.code == ErrorCode::Cancelled);
    if result.exit_code.is_none() && !was_stopped && result.tool != PROJECT_CHECK {
        return Vec::new();
    }
    let most = if result.success { SHOWN } else { SHOWN_OF_FAILURE };
    cut(&result.output, most, hints).map(|line| (Style::Dim, line)).collect()
}

/// All of a result: what went wrong, the change that was made, or what came out.
pub(crate) fn whole(result: &ToolResult) -> Vec<(Style, String)> {
    let error = result.error.iter().map(|error| (Style::Bad, error.message.words().into_owned()));
    let lines: Vec<_> = match diff_of(result) {
        Some(diff) => diff.lines().map(|line| (line_style(line), line.to_owned())).collect(),
        None => result.output.lines().map(|line| (Style::Plain, line.to_owned())).collect(),
    };
    error.chain(lines).collect()
}

/// The first and the last lines of a text, with how many are left out between them.
fn cut(text: &str, (head, tail): (usize, usize), hints: bool) -> impl Iterator<Item = String> {
    let count = text.lines().count();
    // The line that says so takes the place of one.
    let left = if count > head + tail + 1 { count - head - tail } else { 0 };
    let more = match (left, hints) {
        (0, _) => None,
        (left, true) => Some(messages::lines_more_to_see(left)),
        (left, false) => Some(messages::lines_more(left)),
    };
    let first: Vec<String> = text.lines().take(if left > 0 { head } else { count }).map(String::from).collect();
    let last: Vec<String> = text.lines().skip(if left > 0 { count - tail } else { count }).map(String::from).collect();
    first.into_iter().chain(more.map(|more| more.words().into_owned())).chain(last)
}

/// The steps of a plan: with signs where the terminal has them, else with marks of plain characters.
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

/// How a line of a diff looks.
pub(crate) fn line_style(line: &str) -> Style {
    match line.as_bytes().first() {
        Some(b'+') => Style::Good,
        Some(b'-') => Style::Bad,
        _ => Style::Dim,
    }
}

/// A line of what a program printed as a terminal would show it: progress bars write over themselves, and colours say nothing here.
pub(crate) fn printed_line(line: &str) -> String {
    let line = line.trim_end_matches('\r').rsplit('\r').next().unwrap_or_default();
    let (mut out, mut column) = (String::new(), 0);
    let mut rest = line.chars();
    while let Some(c) = rest.next() {
        match c {
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
    use toolfence::{ErrorCode, Output, ToolFailure};

    #[test]
    fn results_in_a_line() {
        let good = ToolResult::new("1", "read_file", Output::text("a\nb\n"), 2);
        assert_eq!(summary(&good, Known::default()), (Style::Good, "✓ 2 lines, 2 ms".into()));
        let failure = ToolFailure::new(ErrorCode::ExitStatus, "It ended with status 1.\nMore.");
        let bad = ToolResult::refused("1", "bash", failure);
        assert_eq!(summary(&bad, Known::default()), (Style::Bad, "✗ exit_status: It ended with status 1.".into()));
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
        assert_eq!(cut("1\n2\n3\n4\n5\n", (2, 2), true).count(), 5, "a line takes the place of no more than one");
    }

    #[test]
    fn a_change_that_was_allowed_is_not_shown_again() {
        let mut output = Output::text("Written.");
        output.data = Some(serde_json::json!({"diff": "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"}));
        let result = ToolResult::new("1", "write_file", output, 2);
        assert_eq!(details(&result, true, false), []);
        assert_eq!(details(&result, false, false)[4], (Style::Good, "+b".to_owned()));
    }

    #[test]
    fn times_are_told_in_their_size() {
        for (time, told) in [(999, "999 ms"), (1500, "1.5 s"), (59_999, "59.9 s"), (125_000, "2 min 5 s")] {
            assert_eq!(took(time).words(), told);
        }
    }
}
