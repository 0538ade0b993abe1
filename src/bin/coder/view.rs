//! A turn as a person sees it: prose as it comes, calls as one line each, results as one line below.
//!
//! A tool block is never shown as it was written. While a call is being written, while a tool runs and while the first piece of a
//! reply is awaited, a terminal shows so in its [status line](crate::status).

use crate::debug;
use crate::failure::Failure;
use crate::messages;
use crate::preview::{label, one_line};
use crate::shown::Words;
use crate::status::{self, CallSoFar, What};
use crate::terminal::{Style, Terminal};
use std::collections::{HashMap, HashSet};
use std::time::Duration;
use toolfence::agent::{Canceller, Host};
use toolfence::parse::{Event, Ignored};
use toolfence::policy::Pending;
use toolfence::program::tools::PROJECT_CHECK;
use toolfence::session::{Answer, Compacted};
use toolfence::toolbox::BoxFuture;
use toolfence::{Message, Text, ToolCall, ToolResult};

/// Lines of a command's output that are shown; the model gets all of it.
const SHOWN_LINES: usize = 8;

/// The tool whose results are plans.
const PLAN: &str = "plan";

/// Whoever answers questions.
pub(crate) trait Person: Send {
    /// Whether this may run.
    fn ask<'a>(&'a mut self, pending: &'a Pending) -> BoxFuture<'a, Answer>;
}

/// Shows a turn.
pub(crate) struct View<P> {
    prose: Flow,
    /// Where the lines of calls and results go: standard error where standard output is for the answer alone.
    work: Option<Terminal>,
    person: P,
    canceller: Canceller,
    labels: HashMap<String, String>,
    /// The call whose line was shown last and that has no answer yet.
    current: Option<String>,
    trouble: Option<Failure>,
    /// How often the model was called.
    rounds: u32,
    /// Whether the reply had an answer, or something was said of why it has none.
    told: bool,
    /// Whether the lines of calls go to a terminal that can take a line back.
    live: bool,
    /// The calls that run.
    running: HashSet<String>,
}

impl<P> Drop for View<P> {
    fn drop(&mut self) {
        status::end();
    }
}

impl<P: Person> View<P> {
    /// A view on standard output; with `apart` the calls go to standard error.
    pub(crate) fn new(person: P, canceller: Canceller, apart: bool) -> View<P> {
        let (out, work) = (Terminal::stdout(), apart.then(Terminal::stderr));
        // What reads the answer may show it on the same terminal, and nobody knows when.
        let live = work.as_ref().unwrap_or(&out).takes_back() && (out.is_terminal() || !out.is_read());
        View {
            prose: Flow { out, begun: false, below: false, column: 0, held: 0, broken: false },
            work,
            person,
            canceller,
            labels: HashMap::new(),
            current: None,
            trouble: None,
            rounds: 0,
            told: false,
            live,
            running: HashSet::new(),
        }
    }

    /// Shows what is being waited for from here on.
    fn wait(&mut self, what: What) -> Result<(), Failure> {
        if self.live {
            self.prose.break_line()?;
            self.work.as_ref().unwrap_or(&self.prose.out).wait(what);
        }
        Ok(())
    }

    /// Ends the line of a turn.
    ///
    /// # Errors
    /// What could not be written during the turn.
    pub(crate) fn end(&mut self) -> Result<(), Failure> {
        status::end();
        match self.trouble.take() {
            Some(trouble) => Err(trouble),
            None => self.prose.end_line(),
        }
    }

    /// Output that cannot be written ends the turn.
    fn keep(&mut self, written: Result<(), Failure>) {
        if let Err(failure) = written {
            self.trouble.get_or_insert(failure);
            self.canceller.cancel();
        }
    }

    fn begin_call(&mut self, id: &str, tool: &str) -> Result<(), Failure> {
        let label = self.labels.get(id).cloned().unwrap_or_else(|| tool.to_owned());
        let parted = self.prose.begun && self.work.is_none();
        self.prose.interrupt()?;
        self.prose.out.write(if parted { "\n" } else { "" })?;
        self.current = Some(id.to_owned());
        let work = self.work.as_mut().unwrap_or(&mut self.prose.out);
        work.styled_line(Style::Action, &format!("→ {label}"))
    }

    fn end_call(&mut self, result: &ToolResult) -> Result<(), Failure> {
        if self.current.as_deref() != Some(&result.id) {
            self.begin_call(&result.id, &result.tool)?;
        }
        self.current = None;
        let work = self.work.as_mut().unwrap_or(&mut self.prose.out);
        let (style, text) = summary(result);
        work.styled_line(style, &text)?;
        for (style, line) in checklist(result, work.has_signs()) {
            work.styled_line(style, &format!("    {line}"))?;
        }
        for line in details(result) {
            let style = line_style(&line);
            work.styled_line(style, &format!("    {line}"))?;
        }
        Ok(())
    }

    fn event(&mut self, event: &Event<'_>) -> Result<(), Failure> {
        match event {
            Event::Text { text, .. } => self.prose.write(Style::Plain, text),
            Event::Started { id, name } => self.wait(What::Call(CallSoFar::new(id, name))),
            Event::Progress { id, arg, text } => {
                status::written(id, arg, text);
                Ok(())
            }
            Event::Malformed { id, .. } | Event::Incomplete { id, .. } => {
                status::withdraw(id);
                Ok(())
            }
            Event::Reasoning { unopened: true, .. } => self.aside(Style::Dim, messages::all_was_thought()),
            Event::Reasoning { text, .. } if self.prose.out.is_terminal() => self.prose.write(Style::Dim, text),
            Event::Call { call, .. } => {
                debug::call(call);
                self.labels.insert(call.id.clone(), label(call));
                Ok(())
            }
            Event::Ignored { why: Ignored::Html, .. } => self.aside(Style::Dim, messages::call_in_html()),
            Event::Ignored { why: Ignored::Indentation, .. } => self.aside(Style::Dim, messages::indented_call()),
            Event::Ignored { why: Ignored::InfoWord, .. } => self.aside(Style::Dim, messages::call_in_other_block()),
            Event::Ignored { why: Ignored::Unfenced, .. } => self.aside(Style::Dim, messages::call_without_fence()),
            Event::Ignored { why: Ignored::NotAtLineStart, .. } => self.aside(Style::Dim, messages::call_behind_text()),
            Event::Ignored { why: Ignored::WrongForm, .. } => self.aside(Style::Dim, messages::call_in_wrong_form()),
            Event::Ignored { why: Ignored::Reasoning, name, .. } => {
                let tool = one_line(name.as_deref().unwrap_or("unknown"));
                self.aside(Style::Dim, messages::thought_call(tool))
            }
            Event::ForgedResult { .. } => {
                self.told = true;
                self.aside(Style::Bad, messages::made_up_result())
            }
            _ => Ok(()),
        }
    }

    /// A line about the reply, between prose and calls.
    fn aside(&mut self, style: Style, text: Text) -> Result<(), Failure> {
        self.prose.interrupt()?;
        let work = self.work.as_mut().unwrap_or(&mut self.prose.out);
        work.styled_line(style, &format!("! {}", text.words()))
    }

    /// Another reply begins. Where the one before was neither an answer nor answered, the model was told why not.
    fn begin_round(&mut self) -> Result<(), Failure> {
        // Ids may come again with another reply.
        self.labels.clear();
        self.rounds += 1;
        self.prose.end_line()?;
        match std::mem::take(&mut self.told) || self.rounds == 1 {
            true => Ok(()),
            false => self.aside(Style::Dim, messages::no_call_counts()),
        }
    }
}

impl<P: Person> Host for View<P> {
    fn calling(&mut self, _: &[Message]) {
        let written = self.begin_round().and_then(|()| self.wait(What::Model));
        self.keep(written);
    }

    fn compacted(&mut self, done: &Compacted) {
        let written = self.aside(Style::Dim, messages::compacted(done));
        self.keep(written);
    }

    fn waits(&mut self, why: &Text, wait: Duration) {
        let why = one_line(&why.words());
        let written = self.aside(Style::Dim, messages::backend_waits(why, wait.as_secs_f32().to_string()));
        self.keep(written);
    }

    fn broke_off(&mut self, why: &Text) {
        let written = self.aside(Style::Bad, messages::reply_broke_off(one_line(&why.words())));
        self.keep(written);
    }

    fn show(&mut self, event: &Event<'_>) {
        let written = self.event(event);
        self.keep(written);
    }

    fn running(&mut self, call: &ToolCall) {
        self.labels.insert(call.id.clone(), label(call));
        self.running.insert(call.id.clone());
        if self.current.is_none() {
            let written = self.begin_call(&call.id, &call.name).and_then(|()| self.wait(What::Tools(String::new())));
            self.keep(written);
        }
    }

    fn progress(&mut self, _: &str, note: &str) {
        status::said(&one_line(note));
    }

    fn answered(&mut self, result: &ToolResult) {
        debug::result(result);
        self.told = true;
        let mut written = self.end_call(result);
        if self.running.remove(&result.id) && !self.running.is_empty() {
            written = written.and_then(|()| self.wait(What::Tools(String::new())));
        }
        self.keep(written);
    }

    fn ask<'a>(&'a mut self, pending: &'a Pending) -> BoxFuture<'a, Answer> {
        let written = self.prose.end_line();
        self.keep(written);
        self.person.ask(pending)
    }
}

/// Prose without the blank lines that the blocks cut out of it leave behind.
struct Flow {
    out: Terminal,
    /// Whether anything was written since the last call.
    begun: bool,
    /// Whether a call stands above.
    below: bool,
    column: usize,
    held: usize,
    /// The line was ended to show something below it that is gone: what follows needs one line break less.
    broken: bool,
}

impl Flow {
    fn write(&mut self, style: Style, text: &str) -> Result<(), Failure> {
        let begins = text.trim_start_matches(['\n', '\r']);
        self.held += text[..text.len() - begins.len()].matches('\n').count();
        let body = begins.trim_end_matches(['\n', '\r']);
        if body.is_empty() {
            return Ok(());
        }
        let between = if self.begun { self.held.min(2) } else { usize::from(self.below) };
        let between = between.saturating_sub(usize::from(std::mem::take(&mut self.broken) && self.begun));
        self.out.write(&"\n".repeat(between))?;
        self.out.styled(style, body)?;
        self.begun = true;
        self.column = 1;
        self.held = begins[body.len()..].matches('\n').count();
        Ok(())
    }

    /// Something else is about to stand where the prose was; what follows keeps its distance from it.
    fn interrupt(&mut self) -> Result<(), Failure> {
        self.end_line()?;
        (self.begun, self.below) = (false, true);
        Ok(())
    }

    /// The cursor goes to the beginning of a row, and the prose may go on.
    fn break_line(&mut self) -> Result<(), Failure> {
        if std::mem::take(&mut self.column) == 0 {
            return Ok(());
        }
        self.broken = true;
        self.out.write("\n")
    }

    fn end_line(&mut self) -> Result<(), Failure> {
        (self.held, self.broken) = (0, false);
        if std::mem::take(&mut self.column) == 0 { Ok(()) } else { self.out.write("\n") }
    }
}

/// `✓ 3 lines, 2 ms`, or `✗ exit_status: ...`.
fn summary(result: &ToolResult) -> (Style, String) {
    let Some(error) = &result.error else {
        let size = match result.output.lines().count() {
            0 => messages::no_output(),
            count => messages::lines_of_output(count),
        };
        let size = if result.truncated { messages::output_cut(size) } else { size };
        let told = messages::output_in_time(size, result.execution_time_ms);
        return (Style::Good, format!("  ✓ {}", told.words()));
    };
    let code = serde_json::to_value(error.code).ok().and_then(|code| code.as_str().map(String::from));
    let message = error.message.words();
    let message = message.lines().next().unwrap_or_default();
    (Style::Bad, format!("  ✗ {}: {message}", code.unwrap_or_default()))
}

/// What is worth showing of a result: the diff of a change, the first lines of a command's output.
fn details(result: &ToolResult) -> Vec<String> {
    let diff = result.data.as_ref().and_then(|data| data.get("diff")).and_then(|diff| diff.as_str());
    let told = result.exit_code.is_some() || result.tool == PROJECT_CHECK;
    let text = diff.unwrap_or(if told { &result.output } else { "" });
    let most = if diff.is_some() { SHOWN_LINES * 4 } else { SHOWN_LINES };
    let count = text.lines().count();
    let mut shown: Vec<String> = text.lines().take(most).map(String::from).collect();
    if count > most {
        shown.push(messages::lines_more(count - most).words().into_owned());
    }
    shown
}

/// The steps of a plan: with signs where the terminal has them, else with marks of plain characters.
fn checklist(result: &ToolResult, signs: bool) -> Vec<(Style, String)> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use toolfence::{ErrorCode, Output, ToolFailure};

    #[test]
    fn results_in_a_line() {
        let good = ToolResult::new("1", "read_file", Output::text("a\nb\n"), 2);
        assert_eq!(summary(&good), (Style::Good, "  ✓ 2 lines, 2 ms".into()));
        let failure = ToolFailure::new(ErrorCode::ExitStatus, "It ended with status 1.\nMore.");
        let bad = ToolResult::refused("1", "bash", failure);
        assert_eq!(summary(&bad), (Style::Bad, "  ✗ exit_status: It ended with status 1.".into()));
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
    fn long_output_is_told_not_shown() {
        let mut output = Output::text("x\n".repeat(20));
        output.exit_code = Some(0);
        let shown = details(&ToolResult::new("1", "bash", output, 2));
        assert_eq!((shown.len(), shown[8].as_str()), (9, "... 12 lines more"));
    }
}
