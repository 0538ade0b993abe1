//! Displays a turn to the user: the prose of the model as it arrives, and each call on one line with its outcome.
//!
//! Tool blocks are never displayed as text. While a call is being written, a tool runs, or the program waits for the
//! first piece of a reply, a terminal displays the [`status`].

use crate::debug;
use crate::failure::Failure;
use crate::markdown::{cut, line_in_rows, width_of};
use crate::outcome::{CallFacts, checklist, details, printed_line, summary, took};
use crate::preview::{label, one_line};
use crate::prose::{Prose, Voice};
use crate::shown::{Words, escaped};
use crate::status::{self, CallSoFar, ThoughtSoFar, ToolSoFar, What};
use crate::terminal::{self, Style, Terminal};
use crate::thoughts::{self, Thoughts};
use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::time::{Duration, Instant};
use toolfence_agent::agent::{Canceller, Host};
use toolfence_policy::Pending;
use toolfence_policy::toolbox::BoxFuture;
use toolfence_protocol::parse::{Event, Ignored};
use toolfence_protocol::text;
use toolfence_protocol::{ErrorCode, Message, Text, ToolCall, ToolResult};
use toolfence_session::{Answer, Compacted};

/// Number of columns that remain free for the outcome after the label of a call in an open row.
const KEPT_FREE: usize = 24;
/// Maximum number of rows that a line of output takes.
const MOST_ROWS: usize = 3;

/// Answers questions about calls on behalf of the user.
pub(crate) trait Person: Send {
    /// Asks whether a call may run.
    fn ask<'a>(&'a mut self, pending: &'a Pending) -> BoxFuture<'a, Answer>;

    /// Returns the text displayed for this call, or `None` if a question about several calls cannot include it.
    fn question_text(&self, _: &Pending) -> Option<String> {
        None
    }

    /// Returns `true` if the user saw all of the call when allowing it.
    fn has_seen(&self, _id: &str) -> bool {
        true
    }

    /// Asks about several calls in one question. Returns an answer for each, or only the answer to the first, so that
    /// the others need questions of their own. Returns `None` if the user wants a question for each call.
    fn ask_together<'a>(&'a mut self, _: Vec<&'a Pending>) -> BoxFuture<'a, Option<Vec<Answer>>> {
        Box::pin(async { None })
    }
}

/// Displays a turn.
pub(crate) struct View<P> {
    prose: Prose,
    /// The output for calls and results: standard error if standard output is reserved for the answer.
    work: Option<Terminal>,
    person: P,
    canceller: Canceller,
    labels: HashMap<String, String>,
    /// The id of the call that was displayed last and has no result yet.
    current: Option<String>,
    trouble: Option<Failure>,
    /// Number of requests to the model.
    rounds: u32,
    /// Whether the reply had an answer or a result, or the view has explained why not.
    has_answer: bool,
    /// Whether calls are displayed on a terminal that can erase a line.
    live: bool,
    /// The ids of the running calls in their order, with their start times.
    running: Vec<(String, Instant)>,
    /// The latest lines printed by each running call.
    printed: HashMap<String, String>,
    /// The ids of the calls whose change the user has seen and allowed.
    seen: HashSet<String>,
    /// When the user was last active.
    alone_since: Instant,
    /// The user's answers to calls that have not been reached yet, with the text that was displayed for each.
    chosen: HashMap<String, (String, Answer)>,
    /// Whether the user wants a separate question about each call of this reply.
    singly: bool,
    /// Whether the user can ask for the rest of the last result, as in a conversation.
    talks: bool,
    /// The complete last result.
    last: Option<ToolResult>,
    thoughts: Thoughts,
    /// Text that contains a tool block in the middle of a line. It is held back until the next event reports the block,
    /// whose JSON is then removed.
    glued: Option<String>,
}

impl<P> Drop for View<P> {
    fn drop(&mut self) {
        status::end();
    }
}

impl<P: Person> View<P> {
    /// Returns a view on standard output. With `apart`, calls are displayed on standard error.
    pub(crate) fn new(person: P, canceller: Canceller, apart: bool) -> View<P> {
        let (out, work) = (Terminal::stdout(), apart.then(Terminal::stderr));
        // If a program reads the answer, it may print to the same terminal at any time, so nothing there is redrawn.
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
            has_answer: false,
            live,
            running: Vec::new(),
            printed: HashMap::new(),
            seen: HashSet::new(),
            alone_since: Instant::now(),
            chosen: HashMap::new(),
            singly: false,
            talks: false,
            last: None,
            thoughts: Thoughts::default(),
            glued: None,
        }
    }

    /// Sets up the view for a conversation: it displays the model's name once in each turn and mentions the commands
    /// for the rest of a result.
    pub(crate) fn speaker(mut self, name: &str) -> View<P> {
        self.prose.speaker(name);
        self.talks = true;
        self
    }

    fn work(&mut self) -> &mut Terminal {
        self.work.as_mut().unwrap_or(&mut self.prose.out)
    }

    /// Displays in the status what the program is waiting for.
    fn wait(&mut self, what: What) -> Result<(), Failure> {
        if self.live {
            self.prose.end_line()?;
            // An empty row separates the status of a call from the prose above it.
            let parted =
                matches!(what, What::Call(_) | What::Thought(_)) && self.prose.has_begun() && self.work.is_none();
            self.work().wait(what, parted);
        }
        Ok(())
    }

    /// Displays a running tool in the status, if there is one.
    fn wait_for_tool(&mut self) -> Result<(), Failure> {
        let runs = |id: &&String| self.running.iter().any(|(running, _)| running == *id);
        let shown = self.current.as_ref().filter(runs).or_else(|| self.running.first().map(|(id, _)| id));
        let Some(id) = shown.cloned() else { return Ok(()) };
        let label = self.labels.get(&id).cloned().unwrap_or_default();
        self.wait(What::Tools(ToolSoFar::new(&id, &label)))
    }

    /// Ends the output of a turn. After a long turn, this notifies the user, who may have looked away.
    ///
    /// # Errors
    /// Output failed during the turn.
    pub(crate) fn end(&mut self) -> Result<(), Failure> {
        status::end();
        if let Some(trouble) = self.trouble.take() {
            return Err(trouble);
        }
        self.end_thought()?;
        self.prose.end_line()?;
        terminal::notify(self.alone_since.elapsed(), &text!("coder has an answer"));
        Ok(())
    }

    /// Returns the last result of the turn, which may have been displayed only in part.
    pub(crate) fn last(&mut self) -> Option<ToolResult> {
        self.last.take()
    }

    /// Returns all thoughts of the model in this turn.
    pub(crate) fn thoughts(&mut self) -> Option<String> {
        self.thoughts.take()
    }

    /// Displays a piece of a thought, or only its progress if long thoughts are folded.
    fn think(&mut self, text: &str) -> Result<(), Failure> {
        let begins = self.thoughts.push(text);
        if !(self.live && self.prose.is_rendered() && thoughts::are_folded()) {
            return self.say(Voice::Reasoning, text);
        }
        if begins {
            self.wait(What::Thought(ThoughtSoFar::default()))?;
        }
        status::thought(text);
        Ok(())
    }

    /// Ends the current thought. If thoughts are folded, this prints a short one in full and a summary line for a long
    /// one.
    fn end_thought(&mut self) -> Result<(), Failure> {
        // Text with a glued tool block is held back for one event, which `event` has seen by now.
        if let Some(text) = self.glued.take() {
            self.say(Voice::Answer, &text)?;
        }
        let is_folded = self.live && self.prose.is_rendered() && thoughts::are_folded();
        let Some((text, time, lines)) = self.thoughts.end() else { return Ok(()) };
        if !is_folded || text.is_empty() {
            return Ok(());
        }
        if thoughts::is_short(text, self.prose.out.look().width) {
            return self.prose.write(Voice::Reasoning, text);
        }
        let time = took(time.as_millis().try_into().unwrap_or(u64::MAX));
        let summary = text!("thought for {took}, {lines} {lines|line|lines}", took = time, lines);
        let summary = if self.talks { text!("{thought}; /thoughts shows them", thought = summary) } else { summary };
        let parted = self.prose.has_begun();
        self.prose.interrupt()?;
        self.prose.introduce()?;
        self.prose.out.write(if parted { "\n" } else { "" })?;
        self.prose.out.styled_line(Style::Dim, &summary)
    }

    /// Stores an output error and cancels the turn.
    fn keep(&mut self, written: Result<(), Failure>) {
        if let Err(failure) = written {
            self.trouble.get_or_insert(failure);
            self.canceller.cancel();
        }
    }

    /// Begins the display of a call. Its outcome will follow in the same row.
    fn begin_call(&mut self, id: &str, tool: &str) -> Result<(), Failure> {
        self.end_thought()?;
        self.labels.entry(id.to_owned()).or_insert_with(|| tool.to_owned());
        let parted = self.prose.has_begun() && self.work.is_none();
        self.prose.interrupt()?;
        self.prose.introduce()?;
        self.prose.out.write(if parted { "\n" } else { "" })?;
        self.current = Some(id.to_owned());
        // A line of `--debug` would break into an open row.
        if !self.live && !debug::is_on() {
            self.open_row(id, KEPT_FREE)?;
        }
        Ok(())
    }

    fn open_row(&mut self, id: &str, kept_free: usize) -> Result<(), Failure> {
        let label = self.label_in_row(id, kept_free);
        self.work().open_row(Style::Action, &label)
    }

    /// Returns `→` and the label of a call. On a terminal they fit in one row with `kept_free` columns to spare.
    fn label_in_row(&mut self, id: &str, kept_free: usize) -> String {
        let label = self.labels.get(id).cloned().unwrap_or_default();
        let work = self.work();
        let label = format!("{} {label}", status::arrow(work.has_signs() || !work.is_terminal()));
        if !work.is_terminal() {
            return label;
        }
        let (most, signs) = (work.look().width.saturating_sub(kept_free), work.has_signs());
        cut(&escaped(&label), most, signs).into_owned()
    }

    fn end_call(&mut self, result: &ToolResult, ran: Option<Duration>) -> Result<(), Failure> {
        if self.current.as_deref() != Some(&result.id) {
            self.begin_call(&result.id, &result.tool)?;
        }
        self.current = None;
        let ran = ran.and_then(|ran| ran.as_millis().try_into().ok());
        let (style, text) = summary(result, CallFacts { ended: self.canceller.is_cancelled(), ran });
        let text = match self.work().is_terminal() && !self.work().has_signs() {
            true => without_signs(&text),
            false => text,
        };
        let (columns, needs) = (self.work().look().width, 2 + width_of(&escaped(&text)));
        // A short outcome follows the label in its row; a sentence is printed below the label.
        let is_short = needs <= columns / 2;
        // Other output may have ended the row since; then the label is printed again.
        let kept_free = if status::go_on() {
            KEPT_FREE
        } else {
            let kept_free = if is_short { needs } else { 0 };
            self.open_row(&result.id, kept_free)?;
            // The outcome follows in the new row, so other output must not end that row.
            status::go_on();
            kept_free
        };
        let label = self.label_in_row(&result.id, kept_free);
        let is_wide = width_of(&label) + needs > columns;
        if is_wide {
            self.work().write("\n")?;
        }
        let (seen, hints) = (self.seen.contains(&result.id), self.talks);
        let work = self.work();
        match is_wide {
            true => work.styled_line(style, &format!("  {text}"))?,
            false => work.exact_line(style, &format!("  {text}"))?,
        }
        for (style, line) in checklist(result, work.has_signs()) {
            work.styled_line(style, &format!("    {line}"))?;
        }
        for (style, line) in details(result, seen, hints) {
            let line = printed(&line, work);
            work.exact_line(style, &*line)?;
        }
        Ok(())
    }

    /// Returns the user's answer to a call. An answer from an earlier question applies only if the call would be
    /// displayed as it was then.
    async fn answer(&mut self, pending: &Pending, later: &[Pending]) -> Answer {
        let chosen = self.chosen.remove(&pending.call().id);
        if let Some((shown, answer)) = chosen
            && self.person.question_text(pending) == Some(shown)
        {
            return answer;
        }
        if later.is_empty() || self.singly {
            return self.person.ask(pending).await;
        }
        let all: Vec<&Pending> = std::iter::once(pending).chain(later).collect();
        let shown: Vec<Option<String>> = all.iter().map(|pending| self.person.question_text(pending)).collect();
        let Some(answers) = self.person.ask_together(all.clone()).await else {
            self.singly = true;
            return self.person.ask(pending).await;
        };
        let mut answers = answers.into_iter();
        // A missing answer must not run the call.
        let first = answers.next().unwrap_or_else(|| Answer::No(text!("The user said no.")));
        let rest = all.iter().zip(shown).skip(1).zip(answers);
        self.chosen
            .extend(rest.filter_map(|((pending, shown), answer)| Some((pending.call().id.clone(), (shown?, answer)))));
        first
    }

    fn say(&mut self, voice: Voice, text: &str) -> Result<(), Failure> {
        self.prose.write(voice, text)
    }

    fn event(&mut self, event: &Event<'_>) -> Result<(), Failure> {
        if let (Some(text), Event::Ignored { why: Ignored::NotAtLineStart, .. }) = (&mut self.glued, event)
            && let Some(block) = glued_block(text)
        {
            text.replace_range(block, "");
        }
        if !matches!(event, Event::Reasoning { unopened: false, .. } | Event::Progress { .. }) {
            self.end_thought()?;
        }
        match event {
            Event::Text { text, .. } if glued_block(text).is_some() => {
                self.glued = Some(text.clone().into_owned());
                Ok(())
            }
            Event::Text { text, .. } => self.say(Voice::Answer, text),
            Event::Started { id, name } => self.wait(What::Call(CallSoFar::new(id, name))),
            Event::Progress { id, arg, text } => {
                status::add_text(id, arg, text);
                Ok(())
            }
            Event::Malformed { id, .. } | Event::Incomplete { id, .. } => {
                if let Some(label) = status::withdraw(id) {
                    // Such a call has no `Call` event, so the row of its error uses the label from the status.
                    self.labels.insert((**id).to_owned(), label);
                }
                Ok(())
            }
            Event::Reasoning { unopened: true, .. } => self.aside(
                Style::Dim,
                text!(
                    "everything above was reasoning: the backend opens the reasoning section itself; its replies are \
                     read that way from now on"
                ),
            ),
            Event::Reasoning { text, .. } => self.think(text),
            Event::Call { call, .. } => {
                debug::call(call);
                self.labels.insert(call.id.clone(), label(call));
                Ok(())
            }
            Event::Ignored { why: Ignored::Html, .. } => self.aside(Style::Dim, text!("a call in HTML does not count")),
            Event::Ignored { why: Ignored::Indentation, .. } => {
                self.aside(Style::Dim, text!("an indented call does not count"))
            }
            Event::Ignored { why: Ignored::InfoWord, .. } => {
                self.aside(Style::Dim, text!("a call in a block of another kind does not count"))
            }
            Event::Ignored { why: Ignored::Unfenced, .. } => {
                self.aside(Style::Dim, text!("a call outside of a tool block does not count"))
            }
            Event::Ignored { why: Ignored::NotAtLineStart, .. } => {
                self.aside(Style::Dim, text!("a tool block that does not begin a line does not count"))
            }
            Event::Ignored { why: Ignored::WrongForm, .. } => {
                self.aside(Style::Dim, text!("a call in an unknown form does not count"))
            }
            Event::Ignored { why: Ignored::LastRound, .. } => {
                self.aside(Style::Dim, text!("a call after the last round does not run"))
            }
            Event::Ignored { why: Ignored::Reasoning, name, .. } => {
                let tool = one_line(name.as_deref().unwrap_or("unknown"));
                self.aside(Style::Dim, text!("a call of {tool} above is in the reasoning and does not count", tool))
            }
            Event::ForgedResult { .. } => {
                // This remark explains why the reply has no answer.
                self.has_answer = true;
                self.aside(Style::Bad, text!("the model invented a result; it and the rest of the reply are dropped"))
            }
            _ => Ok(()),
        }
    }

    /// Prints a remark about the reply between prose and calls.
    fn aside(&mut self, style: Style, text: Text) -> Result<(), Failure> {
        self.end_thought()?;
        self.prose.interrupt()?;
        self.work().styled_line(style, &format!("! {}", text.words()))
    }

    /// Begins another reply. If the previous one had neither an answer nor results, the model has been reminded of the
    /// format, and this informs the user.
    fn begin_round(&mut self) -> Result<(), Failure> {
        // Another reply may reuse the ids of calls.
        self.labels.clear();
        self.printed.clear();
        self.chosen.clear();
        self.seen.clear();
        self.singly = false;
        self.rounds += 1;
        self.end_thought()?;
        self.prose.end_line()?;
        match std::mem::take(&mut self.has_answer) || self.rounds == 1 {
            true => Ok(()),
            false => {
                self.aside(Style::Dim, text!("no call in this reply counts; the model is reminded how to write one"))
            }
        }
    }
}

impl<P: Person> Host for View<P> {
    fn calling(&mut self, _: &[Message]) {
        let written = self.begin_round().and_then(|()| self.wait(What::Model));
        self.keep(written);
    }

    fn compacted(&mut self, done: &Compacted) {
        // The conversation was compacted before a reply arrived, so the previous round has no answer to explain.
        self.has_answer = true;
        let written = self.aside(Style::Dim, describe_compaction(done));
        self.keep(written);
    }

    fn waits(&mut self, why: &Text, wait: Duration) {
        let why = one_line(&why.words());
        let written = self.aside(
            Style::Dim,
            text!("{why}; asking again in {seconds} s", why, seconds = wait.as_secs_f32().to_string()),
        );
        self.keep(written);
    }

    fn broke_off(&mut self, why: &Text) {
        // The remark below explains why there is no answer.
        self.has_answer = true;
        let written = self.aside(Style::Bad, text!("the reply ended early: {why}", why = one_line(&why.words())));
        self.keep(written);
    }

    fn show(&mut self, event: &Event<'_>) {
        let written = self.event(event);
        self.keep(written);
    }

    fn running(&mut self, call: &ToolCall) {
        self.labels.insert(call.id.clone(), label(call));
        self.running.push((call.id.clone(), Instant::now()));
        // Only one call is displayed at a time; `end_call` begins the display of the others.
        if self.current.is_none() {
            let written = self.begin_call(&call.id, &call.name).and_then(|()| self.wait_for_tool());
            self.keep(written);
        }
    }

    fn progress(&mut self, id: &str, note: &str) {
        status::note_progress(id, &one_line(note));
    }

    fn printed(&mut self, id: &str, end: &str) {
        status::printed(id, end);
        self.printed.insert(id.to_owned(), end.to_owned());
    }

    fn answered(&mut self, result: &ToolResult) {
        debug::result(result);
        self.has_answer = true;
        let ran = self.running.iter().position(|(id, _)| *id == result.id).map(|at| self.running.remove(at));
        let ran = ran.map(|(_, since)| since.elapsed());
        let mut result = result.clone();
        // The result of a stopped call has no output, so keep the lines that were displayed while it ran.
        let is_stopped = result.error.as_ref().is_some_and(|error| error.code == ErrorCode::Cancelled);
        if let Some(printed) = self.printed.remove(&result.id).filter(|_| is_stopped && result.output.is_empty()) {
            result.output = printed;
        }
        let mut written = self.end_call(&result, ran);
        self.last = Some(result);
        if ran.is_some() {
            // Other calls may still run; the status shows one of them again.
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
        let written = self.end_thought().and_then(|()| self.prose.end_line());
        self.keep(written);
        terminal::notify(self.alone_since.elapsed(), &text!("coder has a question"));
        Box::pin(async move {
            let answer = self.answer(pending, later).await;
            // The user has just answered, so the end of the turn notifies only after another long wait.
            self.alone_since = Instant::now();
            if matches!(answer, Answer::Yes | Answer::Always(_)) && self.person.has_seen(&pending.call().id) {
                self.seen.insert(pending.call().id.clone());
            }
            answer
        })
    }
}

/// Returns the range of the first tool block that does not begin a line, with its fences.
fn glued_block(text: &str) -> Option<Range<usize>> {
    const OPENING: &str = "```tool";
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        let Some(before) = line.trim_end().strip_suffix(OPENING).filter(|before| !before.trim().is_empty()) else {
            continue;
        };
        let inside = text[at..].split_inclusive('\n').scan(at, |at, line| {
            *at += line.len();
            Some((*at, line))
        });
        let closing = inside.into_iter().find(|(_, line)| line.trim_start().starts_with("```"));
        let end = closing.map_or(text.len(), |(end, line)| end - line.len() + line.trim_end().len());
        return Some(start + before.trim_end().len()..end);
    }
    None
}

/// Replaces the signs of success and failure in the outcome of a call by words, for a terminal that cannot show the
/// signs.
fn without_signs(text: &str) -> String {
    [("✓", text!("[ok]")), ("✗", text!("[failed]"))]
        .into_iter()
        .find_map(|(sign, word)| text.strip_prefix(sign).map(|rest| format!("{}{rest}", word.words())))
        .unwrap_or_else(|| text.to_owned())
}

/// Prepares a line of output or of a change for display below a call. On a terminal, it is escaped and limited to a few
/// rows.
fn printed<'l>(line: &'l str, work: &Terminal) -> Cow<'l, str> {
    const BEFORE: usize = 4;
    if !work.is_terminal() {
        return format!("    {line}").into();
    }
    let columns = work.look().width;
    let shown = printed_line(line);
    let shown = escaped(&shown);
    let shown = cut(&shown, MOST_ROWS * columns.saturating_sub(BEFORE + 2), work.has_signs());
    let words = shown.trim_start_matches(' ');
    let first = format!("    {}", &shown[..shown.len() - words.len()]);
    line_in_rows(&first, words, BEFORE + 2, columns).into()
}

/// Describes how a conversation was compacted.
pub(crate) fn describe_compaction(done: &Compacted) -> Text {
    let Compacted { before, after, outputs, messages, images, .. } = *done;
    let mut sentence = text!(
        "compacted from about {before} to {after} tokens: {outputs} old {outputs|output|outputs} shortened, {messages} \
         old {messages|message|messages} summed up",
        before,
        after,
        outputs,
        messages
    );
    if images > 0 {
        sentence.push(text!("{count} {count|image is|images are} no longer shown to the model", count = images));
    }
    sentence
}
