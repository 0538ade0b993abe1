//! A turn as a person sees it: the words of the model as they come, and calls as one line each, with what came of them.
//!
//! A tool block is never shown as it was written. While a call is being written, while a tool runs and while the first piece of a
//! reply is awaited, a terminal shows so in its [`status`].

use crate::debug;
use crate::failure::Failure;
use crate::markdown::{cut, line_in_rows, width_of};
use crate::outcome::{Known, checklist, details, printed_line, summary, took};
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

/// Columns that are kept free behind the label of a call whose row is open, for what comes of it.
const KEPT_FREE: usize = 24;
/// Rows of a line of output, at most.
const MOST_ROWS: usize = 3;

/// Whoever answers questions.
pub(crate) trait Person: Send {
    /// Whether this may run.
    fn ask<'a>(&'a mut self, pending: &'a Pending) -> BoxFuture<'a, Answer>;

    /// What is shown of this, if a question about it can be one about several.
    fn shows(&self, _: &Pending) -> Option<String> {
        None
    }

    /// Whether the person was shown all that is to be seen of a call, where there was a question about it.
    fn has_seen(&self, _id: &str) -> bool {
        true
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
    /// The calls that run, in their order, and since when.
    running: Vec<(String, Instant)>,
    /// The last lines of what those have printed.
    printed: HashMap<String, String>,
    /// The calls whose change the person has seen and allowed.
    seen: HashSet<String>,
    /// When the person was last seen.
    alone_since: Instant,
    /// What the person chose for calls whose turn has not come: what was shown of each, and the answer.
    chosen: HashMap<String, (String, Answer)>,
    /// The person wants to be asked about each call of this reply by itself.
    singly: bool,
    /// Whether a person can ask for more of the last result.
    talks: bool,
    /// The last result, whole.
    last: Option<ToolResult>,
    thoughts: Thoughts,
    /// Text with a tool block that does not begin a line: the event that reports the block follows at once, and its JSON is not
    /// for a person.
    glued: Option<String>,
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
            // A call stands apart from the words above it, also while it is written.
            let parted =
                matches!(what, What::Call(_) | What::Thought(_)) && self.prose.has_begun() && self.work.is_none();
            self.work().wait(what, parted);
        }
        Ok(())
    }

    /// Shows the tool that runs, where one can be shown.
    fn wait_for_tool(&mut self) -> Result<(), Failure> {
        let runs = |id: &&String| self.running.iter().any(|(running, _)| running == *id);
        let shown = self.current.as_ref().filter(runs).or_else(|| self.running.first().map(|(id, _)| id));
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
        self.end_thought()?;
        self.prose.end_line()?;
        terminal::notify(self.alone_since.elapsed(), &text!("coder has an answer"));
        Ok(())
    }

    /// The last result of the turn, of which only the beginning may have been shown.
    pub(crate) fn last(&mut self) -> Option<ToolResult> {
        self.last.take()
    }

    /// All that the model thought in the turn.
    pub(crate) fn thoughts(&mut self) -> Option<String> {
        self.thoughts.take()
    }

    /// A piece of a thought.
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

    /// Something else than a thought comes: a long one that was folded is one line from here on.
    fn end_thought(&mut self) -> Result<(), Failure> {
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
        let told = text!("thought for {took}, {lines} {lines|line|lines}", took = time, lines);
        let told = if self.talks { text!("{thought}; /thoughts shows them", thought = told) } else { told };
        let parted = self.prose.has_begun();
        self.prose.interrupt()?;
        self.prose.introduce()?;
        self.prose.out.write(if parted { "\n" } else { "" })?;
        self.prose.out.styled_line(Style::Dim, &told)
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
        self.end_thought()?;
        self.labels.entry(id.to_owned()).or_insert_with(|| tool.to_owned());
        let parted = self.prose.has_begun() && self.work.is_none();
        self.prose.interrupt()?;
        self.prose.introduce()?;
        self.prose.out.write(if parted { "\n" } else { "" })?;
        self.current = Some(id.to_owned());
        // A line of --debug that comes meanwhile would stand in the open row.
        if !self.live && !debug::is_on() {
            self.open_row(id, KEPT_FREE)?;
        }
        Ok(())
    }

    fn open_row(&mut self, id: &str, kept_free: usize) -> Result<(), Failure> {
        let label = self.label_in_row(id, kept_free);
        self.work().open_row(Style::Action, &label)
    }

    /// `→` and the label of a call: on a terminal in one row, of whose columns so many stay free.
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
        let (style, text) = summary(result, Known { ended: self.canceller.is_cancelled(), ran });
        let text = match self.work().is_terminal() && !self.work().has_signs() {
            true => without_signs(&text),
            false => text,
        };
        let (columns, needs) = (self.work().look().width, 2 + width_of(&escaped(&text)));
        // What fits stands in the row of the call; a sentence stands below it.
        let is_short = needs <= columns / 2;
        // What else was printed meanwhile has ended the row.
        let kept_free = if status::go_on() {
            KEPT_FREE
        } else {
            let kept_free = if is_short { needs } else { 0 };
            self.open_row(&result.id, kept_free)?;
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
                status::written(id, arg, text);
                Ok(())
            }
            Event::Malformed { id, .. } | Event::Incomplete { id, .. } => {
                if let Some(label) = status::withdraw(id) {
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
                self.told = true;
                self.aside(Style::Bad, text!("the model invented a result; it and the rest of the reply are dropped"))
            }
            _ => Ok(()),
        }
    }

    /// A line about the reply, between prose and calls.
    fn aside(&mut self, style: Style, text: Text) -> Result<(), Failure> {
        self.end_thought()?;
        self.prose.interrupt()?;
        self.work().styled_line(style, &format!("! {}", text.words()))
    }

    /// Another reply begins. Where the one before was neither an answer nor answered, the model was told why not.
    fn begin_round(&mut self) -> Result<(), Failure> {
        // Ids may come again with another reply.
        self.labels.clear();
        self.printed.clear();
        self.chosen.clear();
        self.seen.clear();
        self.singly = false;
        self.rounds += 1;
        self.end_thought()?;
        self.prose.end_line()?;
        match std::mem::take(&mut self.told) || self.rounds == 1 {
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
        // The same is asked once more: there was no reply that could have held a call.
        self.told = true;
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
        self.told = true;
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
        self.printed.insert(id.to_owned(), end.to_owned());
    }

    fn answered(&mut self, result: &ToolResult) {
        debug::result(result);
        self.told = true;
        let ran = self.running.iter().position(|(id, _)| *id == result.id).map(|at| self.running.remove(at));
        let ran = ran.map(|(_, since)| since.elapsed());
        let mut result = result.clone();
        // What was stopped has no output; what was seen of it stays.
        let is_stopped = result.error.as_ref().is_some_and(|error| error.code == ErrorCode::Cancelled);
        if let Some(printed) = self.printed.remove(&result.id).filter(|_| is_stopped && result.output.is_empty()) {
            result.output = printed;
        }
        let mut written = self.end_call(&result, ran);
        self.last = Some(result);
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
        let written = self.end_thought().and_then(|()| self.prose.end_line());
        self.keep(written);
        terminal::notify(self.alone_since.elapsed(), &text!("coder has a question"));
        Box::pin(async move {
            let answer = self.answer(pending, later).await;
            self.alone_since = Instant::now();
            if matches!(answer, Answer::Yes | Answer::Always(_)) && self.person.has_seen(&pending.call().id) {
                self.seen.insert(pending.call().id.clone());
            }
            answer
        })
    }
}

/// The first tool block in the text that does not begin a line, with its fences.
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

/// Replaces the signs of success and failure in the outcome of a call by words, for a terminal that cannot show the signs.
fn without_signs(text: &str) -> String {
    [("✓", text!("[ok]")), ("✗", text!("[failed]"))]
        .into_iter()
        .find_map(|(sign, word)| text.strip_prefix(sign).map(|rest| format!("{}{rest}", word.words())))
        .unwrap_or_else(|| text.to_owned())
}

/// A line of output or of a change below a call. On a terminal it takes few rows, and nothing in it steers.
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
