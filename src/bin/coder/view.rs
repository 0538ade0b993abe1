//! A turn as a person sees it: the words of the model as they come, and calls as one line each, with what came of them.
//!
//! A tool block is never shown as it was written. While a call is being written, while a tool runs and while the first piece of a
//! reply is awaited, a terminal shows so in its [`status`].

use crate::debug;
use crate::failure::Failure;
use crate::messages;
use crate::preview::{label, one_line};
use crate::prose::{Prose, Voice};
use crate::shown::Words;
use crate::status::{self, CallSoFar, ToolSoFar, What};
use crate::terminal::{self, Style, Terminal};
use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};
use toolfence::agent::{Canceller, Host};
use toolfence::parse::{Event, Ignored};
use toolfence::policy::Pending;
use toolfence::program::tools::PROJECT_CHECK;
use toolfence::session::{Answer, Compacted};
use toolfence::toolbox::BoxFuture;
use toolfence::{Message, Text, ToolCall, ToolResult};

/// Lines of a command's output that are shown of its beginning and of its end; the model gets all of it. What went wrong is said
/// at the end.
const SHOWN: (usize, usize) = (4, 4);
const SHOWN_OF_FAILURE: (usize, usize) = (3, 12);
/// Lines of a diff that are shown.
const SHOWN_OF_DIFF: usize = 32;

/// The tool whose results are plans.
const PLAN: &str = "plan";

/// Whoever answers questions.
pub(crate) trait Person: Send {
    /// Whether this may run.
    fn ask<'a>(&'a mut self, pending: &'a Pending) -> BoxFuture<'a, Answer>;

    /// What is shown of this, if a question about it can be one about several.
    fn shows(&self, _: &Pending) -> Option<String> {
        None
    }

    /// Whether these may run, in one question: an answer to each, or only one to the first, after which the others are no
    /// more asked about together. `None` where each is to be asked about by itself.
    fn ask_together<'a>(&'a mut self, _: Vec<&'a Pending>) -> BoxFuture<'a, Option<Vec<Answer>>> {
        Box::pin(async { None })
    }
}

/// Shows a turn.
pub(crate) struct View<P> {
    prose: Prose,
    /// Where the lines of calls and results go: standard error where standard output is for the answer alone.
    work: Option<Terminal>,
    person: P,
    canceller: Canceller,
    labels: HashMap<String, String>,
    /// The call that was shown last and has no answer yet.
    current: Option<String>,
    trouble: Option<Failure>,
    /// How often the model was called.
    rounds: u32,
    /// Whether the reply had an answer, or something was said of why it has none.
    told: bool,
    /// Whether the lines of calls go to a terminal that can take a line back.
    live: bool,
    /// The calls that run, in their order.
    running: Vec<String>,
    /// The calls whose change the person has seen and allowed.
    seen: HashSet<String>,
    begun: Instant,
    /// What the person chose for calls whose turn has not come: what was shown of each, and the answer.
    chosen: HashMap<String, (String, Answer)>,
    /// The person wants to be asked about each call of this reply by itself.
    singly: bool,
    /// Whether a person can ask for more of the last result.
    talks: bool,
    /// The last result, whole.
    last: Option<ToolResult>,
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
            prose: Prose::new(out),
            work,
            person,
            canceller,
            labels: HashMap::new(),
            current: None,
            trouble: None,
            rounds: 0,
            told: false,
            live,
            running: Vec::new(),
            seen: HashSet::new(),
            begun: Instant::now(),
            chosen: HashMap::new(),
            singly: false,
            talks: false,
            last: None,
        }
    }

    /// For a conversation: a person sees once a turn under which name the model speaks, and can ask for more of what was shown.
    pub(crate) fn speaker(mut self, name: &str) -> View<P> {
        self.prose.speaker(name);
        self.talks = true;
        self
    }

    fn work(&mut self) -> &mut Terminal {
        self.work.as_mut().unwrap_or(&mut self.prose.out)
    }

    /// Shows what is being waited for from here on.
    fn wait(&mut self, what: What) -> Result<(), Failure> {
        if self.live {
            self.prose.end_line()?;
            self.work().wait(what);
        }
        Ok(())
    }

    /// Shows the tool that runs, where one can be shown.
    fn wait_for_tool(&mut self) -> Result<(), Failure> {
        let shown = self.current.iter().chain(&self.running).find(|id| self.running.contains(id));
        let Some(id) = shown.cloned() else { return Ok(()) };
        let label = self.labels.get(&id).cloned().unwrap_or_default();
        self.wait(What::Tools(ToolSoFar::new(&id, &label)))
    }

    /// Ends the line of a turn. Whoever looked away while a turn took long is called back.
    ///
    /// # Errors
    /// What could not be written during the turn.
    pub(crate) fn end(&mut self) -> Result<(), Failure> {
        status::end();
        if let Some(trouble) = self.trouble.take() {
            return Err(trouble);
        }
        self.prose.end_line()?;
        terminal::notify(self.begun.elapsed());
        Ok(())
    }

    /// The last result of the turn, of which only the beginning may have been shown.
    pub(crate) fn last(&mut self) -> Option<ToolResult> {
        self.last.take()
    }

    /// Output that cannot be written ends the turn.
    fn keep(&mut self, written: Result<(), Failure>) {
        if let Err(failure) = written {
            self.trouble.get_or_insert(failure);
            self.canceller.cancel();
        }
    }

    /// A call stands here from now on: its label, which is followed by what came of it.
    fn begin_call(&mut self, id: &str, tool: &str) -> Result<(), Failure> {
        self.labels.entry(id.to_owned()).or_insert_with(|| tool.to_owned());
        let parted = self.prose.has_begun() && self.work.is_none();
        self.prose.interrupt()?;
        self.prose.introduce()?;
        self.prose.out.write(if parted { "\n" } else { "" })?;
        self.current = Some(id.to_owned());
        // A line of --debug that comes meanwhile would stand in the open row.
        if !self.live && !debug::is_on() {
            self.open_row(id)?;
        }
        Ok(())
    }

    fn open_row(&mut self, id: &str) -> Result<(), Failure> {
        let label = format!("→ {}", self.labels.get(id).map_or("", |label| label));
        self.work().open_row(Style::Action, &label)
    }

    fn end_call(&mut self, result: &ToolResult) -> Result<(), Failure> {
        if self.current.as_deref() != Some(&result.id) {
            self.begin_call(&result.id, &result.tool)?;
        }
        self.current = None;
        // What else was printed meanwhile has ended the row.
        if !status::go_on() {
            self.open_row(&result.id)?;
            status::go_on();
        }
        let label = self.labels.get(&result.id).cloned().unwrap_or_default();
        let (style, text) = summary(result);
        let is_wide = 4 + width(&label) + width(&text) > self.work().look().width;
        if is_wide {
            self.work().write("\n")?;
        }
        let (seen, hints) = (self.seen.contains(&result.id), self.talks);
        let work = self.work();
        work.styled_line(style, &format!("  {text}"))?;
        for (style, line) in checklist(result, work.has_signs()) {
            work.styled_line(style, &format!("    {line}"))?;
        }
        for (style, line) in details(result, seen, hints) {
            work.styled_line(style, &format!("    {line}"))?;
        }
        Ok(())
    }

    /// What the person says to a call, or has said to it where nothing has changed since.
    async fn answer(&mut self, pending: &Pending, later: &[Pending]) -> Answer {
        let chosen = self.chosen.remove(&pending.call().id);
        if let Some((shown, answer)) = chosen
            && self.person.shows(pending) == Some(shown)
        {
            return answer;
        }
        if later.is_empty() || self.singly {
            return self.person.ask(pending).await;
        }
        let all: Vec<&Pending> = std::iter::once(pending).chain(later).collect();
        let shown: Vec<Option<String>> = all.iter().map(|pending| self.person.shows(pending)).collect();
        let Some(answers) = self.person.ask_together(all.clone()).await else {
            self.singly = true;
            return self.person.ask(pending).await;
        };
        let mut answers = answers.into_iter();
        let first = answers.next().unwrap_or_else(|| Answer::No(messages::user_said_no()));
        let rest = all.iter().zip(shown).skip(1).zip(answers);
        self.chosen
            .extend(rest.filter_map(|((pending, shown), answer)| Some((pending.call().id.clone(), (shown?, answer)))));
        first
    }

    fn say(&mut self, voice: Voice, text: &str) -> Result<(), Failure> {
        self.prose.write(voice, text)
    }

    fn event(&mut self, event: &Event<'_>) -> Result<(), Failure> {
        match event {
            Event::Text { text, .. } => self.say(Voice::Answer, text),
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
            Event::Reasoning { text, .. } => self.say(Voice::Reasoning, text),
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
        self.work().styled_line(style, &format!("! {}", text.words()))
    }

    /// Another reply begins. Where the one before was neither an answer nor answered, the model was told why not.
    fn begin_round(&mut self) -> Result<(), Failure> {
        // Ids may come again with another reply.
        self.labels.clear();
        self.chosen.clear();
        self.seen.clear();
        self.singly = false;
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
        self.running.push(call.id.clone());
        if self.current.is_none() {
            let written = self.begin_call(&call.id, &call.name).and_then(|()| self.wait_for_tool());
            self.keep(written);
        }
    }

    fn progress(&mut self, id: &str, note: &str) {
        status::said(id, &one_line(note));
    }

    fn printed(&mut self, id: &str, end: &str) {
        status::printed(id, end);
    }

    fn answered(&mut self, result: &ToolResult) {
        debug::result(result);
        self.told = true;
        let ran = self.running.iter().position(|id| *id == result.id).map(|at| self.running.remove(at));
        self.last = Some(result.clone());
        let mut written = self.end_call(result);
        if ran.is_some() {
            written = written.and_then(|()| self.wait_for_tool());
        }
        self.keep(written);
    }

    fn ask<'a>(&'a mut self, pending: &'a Pending) -> BoxFuture<'a, Answer> {
        self.ask_among(pending, &[])
    }

    fn asks_together(&self) -> bool {
        true
    }

    fn ask_among<'a>(&'a mut self, pending: &'a Pending, later: &'a [Pending]) -> BoxFuture<'a, Answer> {
        let written = self.prose.end_line();
        self.keep(written);
        Box::pin(async move {
            let answer = self.answer(pending, later).await;
            if matches!(answer, Answer::Yes | Answer::Always(_)) {
                self.seen.insert(pending.call().id.clone());
            }
            answer
        })
    }
}

/// Columns of a text, none of which steers.
fn width(text: &str) -> usize {
    crate::markdown::width_of(text)
}

/// `✓ 3 lines, 2 ms`, or `✗ exit_status: ...`.
fn summary(result: &ToolResult) -> (Style, String) {
    let Some(error) = &result.error else {
        let size = match result.output.lines().count() {
            0 => messages::no_output(),
            count => messages::lines_of_output(count),
        };
        let size = if result.truncated { messages::output_cut(size) } else { size };
        let told = messages::output_in_time(size, took(result.execution_time_ms));
        return (Style::Good, format!("✓ {}", told.words()));
    };
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

/// `2 ms`, `1.5 s`, `2 min 5 s`.
fn took(milliseconds: u64) -> Text {
    match milliseconds {
        0..1000 => messages::milliseconds(milliseconds),
        1000..60_000 => messages::seconds(format!("{}.{}", milliseconds / 1000, milliseconds % 1000 / 100)),
        _ => messages::minutes(milliseconds / 60_000, milliseconds / 1000 % 60),
    }
}

/// What is worth showing of a result: the diff of a change that was not `seen`, beginning and end of a command's output. With
/// `hints` it is said how to see more.
fn details(result: &ToolResult, seen: bool, hints: bool) -> Vec<(Style, String)> {
    let diff = result.data.as_ref().and_then(|data| data.get("diff")).and_then(|diff| diff.as_str());
    if let Some(diff) = diff {
        let shown = if seen { "" } else { diff };
        return cut(shown, (SHOWN_OF_DIFF, 0), hints).map(|line| (line_style(&line), line)).collect();
    }
    if result.exit_code.is_none() && result.tool != PROJECT_CHECK {
        return Vec::new();
    }
    let most = if result.success { SHOWN } else { SHOWN_OF_FAILURE };
    cut(&result.output, most, hints).map(|line| (Style::Dim, line)).collect()
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
        assert_eq!(summary(&good), (Style::Good, "✓ 2 lines, 2 ms".into()));
        let failure = ToolFailure::new(ErrorCode::ExitStatus, "It ended with status 1.\nMore.");
        let bad = ToolResult::refused("1", "bash", failure);
        assert_eq!(summary(&bad), (Style::Bad, "✗ exit_status: It ended with status 1.".into()));
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
