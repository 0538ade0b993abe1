//! Processes one reply of the upstream while it streams: text in, outputs for the client out.
//!
//! This module is a state machine without I/O on top of the parser. It does not depend on HTTP or on the JSON of an
//! API.

use super::answer_format::without_fence;
use super::answers;
use super::arguments::Arguments;
use super::held::HeldText;
use super::offer::{Choice, Offer};
use super::output::Output;
use super::plain::PlainReply;
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::Arc;
use toolfence_protocol::format::Format;
use toolfence_protocol::parse::{Event, Options, Parser, ReadError, Span};
use toolfence_protocol::reply::Summary;
use toolfence_protocol::{Dialect, ErrorCode, FinishReason, Repair, Text, ToolCall, ToolResult, json, text};

/// The most bytes of a reply that are kept for asking again.
const MOST_KEPT: usize = 1 << 20;

/// The most bytes of blank text that are held until other text follows.
const MOST_BLANK: usize = 4 << 10;

/// The most tools whose descriptions the model gets after wrong calls.
const MOST_DESCRIBED: usize = 4;

/// The most answers to the blocks of one reply when the model is asked again.
const MOST_ANSWERS: usize = 64;

/// The outcome of a complete reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The reply was passed on, with this number of calls.
    Passed { calls: usize },
    /// The model asks for the description of a tool and calls nothing else. `message` has it.
    Help { message: String },
    /// The reply is unusable, and no part of a call was passed on. `message` asks the model for another reply. `hard`
    /// means that this reply cannot be passed on instead.
    Again { message: String, hard: bool, why: Text },
    /// A part of a call was passed on before the call turned out to be unreadable.
    Broken(Text),
}

/// A reply that is being received.
pub(super) struct Reply {
    parser: Parser,
    /// The reader that replaces the parser if there are no tools.
    plain: Option<PlainReply>,
    offer: Arc<Offer>,
    /// The prefix of the ids of its calls.
    ids: String,
    /// Whether the outputs of a call are sent while it streams.
    streams: bool,
    out: VecDeque<Output>,
    /// The call whose outputs have begun.
    growing: Option<Growing>,
    calls: usize,
    /// Whether a call was begun, even if it is not complete.
    has_begun: bool,
    /// Results for complete calls, in case they are not passed on after all.
    whole: Vec<ToolResult>,
    /// Unreadable blocks that wait for the calls before them, which the parser still holds back.
    unread: Vec<Unread>,
    faults: Vec<ToolResult>,
    /// Answers to calls of the tool that describes the others.
    help: Vec<ToolResult>,
    /// Descriptions of tools with wrong calls, by name.
    described: Vec<(String, String)>,
    broken: Option<Text>,
    summary: Summary,
    /// Whether the reply was cut off through no fault of the model.
    cut: bool,
    /// Text that may turn out to be a call.
    held: HeldText,
    blank: String,
    lead: Lead,
    kept: Option<String>,
    /// Whether earlier replies, and not the configuration, have shown that the template opens the reasoning.
    guessed: bool,
    /// The dialects of its calls.
    dialects: Vec<Dialect>,
}

/// The beginning of the reply: empty lines between reasoning and answer are layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lead {
    Nothing,
    Reasoning,
    Text,
}

/// A call of which a part has been sent.
struct Growing {
    /// The parser's provisional id.
    provisional: String,
    name: String,
    arguments: Arguments,
    held: bool,
}

/// An unreadable block.
struct Unread {
    at: usize,
    id: String,
    tool: String,
    /// The error; `None` if the block was cut off.
    error: Option<Box<ReadError>>,
}

impl Reply {
    /// Creates a reply. `options`: parser options, to which the tools are added. `guessed`: other replies have shown
    /// that it begins in reasoning. `ids`: the prefix of the ids of its calls. `streams`: whether polled outputs reach
    /// the client at once.
    pub(super) fn new(offer: Arc<Offer>, mut options: Options, guessed: bool, ids: String, streams: bool) -> Reply {
        options.catalog = Some(offer.catalog.clone());
        let plain = offer.is_empty().then(|| PlainReply::new(options.reasoning));
        Reply {
            plain,
            parser: Parser::new(options),
            ids,
            streams,
            out: VecDeque::new(),
            growing: None,
            calls: 0,
            has_begun: false,
            whole: Vec::new(),
            unread: Vec::new(),
            faults: Vec::new(),
            help: Vec::new(),
            described: Vec::new(),
            broken: None,
            summary: Summary::default(),
            cut: false,
            held: HeldText::new(offer.forced().is_some()),
            blank: String::new(),
            lead: Lead::Nothing,
            kept: Some(String::new()),
            guessed,
            dialects: Vec::new(),
            offer,
        }
    }

    /// Adds text.
    pub(super) fn push(&mut self, text: &str) {
        match &mut self.kept {
            Some(kept) if kept.len() + text.len() <= MOST_KEPT => kept.push_str(text),
            // A reply with a gap cannot be sent back to the model.
            kept => *kept = None,
        }
        if let Some(plain) = &mut self.plain {
            let outputs = plain.push(text);
            return self.out.extend(outputs);
        }
        self.parser.push(text);
        self.read();
    }

    /// Ends the reply.
    pub(super) fn finish(&mut self, reason: FinishReason) {
        self.cut = reason != FinishReason::Stop;
        if let Some(plain) = &mut self.plain {
            let outputs = plain.finish();
            return self.out.extend(outputs);
        }
        if self.broken.is_some() {
            return;
        }
        self.parser.finish(reason);
        self.read();
        if !self.take_bare_arguments() {
            self.release_held();
        }
        if !self.has_begun {
            self.emit_blank();
        }
    }

    /// Returns the next output for the client.
    pub(super) fn poll(&mut self) -> Option<Output> {
        self.out.pop_front()
    }

    /// Returns `true` if the rest of the reply is irrelevant: after a broken call, and after a forged result unless
    /// that may turn out to be part of the reasoning.
    pub(super) fn is_over(&self) -> bool {
        self.summary.forged.is_some() && !self.parser.is_undecided() || self.broken.is_some()
    }

    /// Returns the outcome of the reply.
    pub(super) fn outcome(&self) -> Outcome {
        if let Some(why) = &self.broken {
            return Outcome::Broken(why.clone());
        }
        if let Some(fault) = self.faults.first() {
            let why = fault.error.as_ref().map(|error| error.message.clone()).unwrap_or_default();
            // A call was already sent. The model would write it again, and the client would run it twice.
            if self.streams && self.calls > 0 {
                return Outcome::Broken(why);
            }
            return Outcome::Again { message: self.answers(), hard: true, why };
        }
        if !self.help.is_empty() {
            return Outcome::Help { message: self.answers() };
        }
        let asks = |message: Text| {
            let message = message.into_string(self.offer.language);
            Outcome::Again { message, hard: false, why: Text::default() }
        };
        match &self.offer.choice {
            // A reply that was cut off gets no reminder, because its finish reason reports the cut.
            _ if self.calls > 0 || self.cut => Outcome::Passed { calls: self.calls },
            // The learned rule was wrong this time, so the reply has no answer.
            _ if self.guessed && self.summary.unclosed => asks(text!(
                "Your reply has no closing reasoning tag, and your other replies have one: all of it was read as \
                 reasoning. Write your answer or your call again."
            )),
            Choice::Required | Choice::This(_) => asks(self.offer.no_call()),
            _ if self.summary.misplaced => {
                let own = self.summary.meant_call(&self.offer.catalog);
                asks(toolfence_protocol::prompt::reminder(self.offer.language, own.as_ref()).into())
            }
            _ => Outcome::Passed { calls: 0 },
        }
    }

    /// Returns the evidence in the reply for traits of the model: its summary, and the dialects of its calls.
    pub(super) fn observations(&self) -> (&Summary, impl Iterator<Item = Dialect>) {
        (&self.summary, self.dialects.iter().copied())
    }

    /// Returns the raw text, unless it is too long for asking again.
    pub(super) fn text(&self) -> Option<&str> {
        self.kept.as_deref()
    }

    fn read(&mut self) {
        while self.broken.is_none() {
            // Check before the step: the step that decides also queues the section's own events, and the calls follow
            // them.
            let undecided = self.parser.is_undecided();
            let Some(event) = self.parser.poll().map(Event::into_owned) else {
                if !self.parser.is_undecided() {
                    self.take_unread(usize::MAX);
                }
                return;
            };
            let exact = self.parser.is_exact();
            if !self.summary.follows_forgery(&event) {
                self.take(event, exact, undecided);
            }
        }
    }

    fn take(&mut self, event: Event<'_>, exact: bool, undecided: bool) {
        let tool = self.summary.note(&event).unwrap_or_default();
        match event {
            Event::Text { text, span } => {
                let offer = self.offer.clone();
                let passed = self.held.push(&text, span.start, |name| offer.exact(name).is_some());
                self.emit_text(&passed);
            }
            Event::Reasoning { unopened: true, .. } => self.reclassify_as_reasoning(),
            Event::Reasoning { text, .. } => self.emit_reasoning(text.into_owned()),
            // A `json` fence is a call only if the reply has no other call, so the held text is released as text.
            Event::Started { id, name } => {
                self.release_held();
                self.started(&id, &name);
            }
            Event::Progress { id, arg, text } => self.progress(&id, &arg, &text, exact),
            Event::Call { call, body, span, .. } if call.repairs.contains(&Repair::WrongWord) => {
                self.handle_wrong_word(*call, &body, span);
            }
            Event::Call { call, span, .. } => {
                self.release_held();
                self.take_unread(span.start);
                self.dialects.extend(call.dialect);
                self.call(*call);
            }
            Event::Malformed { id, error, span, .. } => {
                self.release_held();
                self.queue_unread(Unread { at: span.start, id: id.into_owned(), tool, error: Some(error) }, undecided);
            }
            Event::Incomplete { id, span, .. } => {
                self.release_held();
                self.queue_unread(Unread { at: span.start, id: id.into_owned(), tool, error: None }, undecided);
            }
            // Events that the summary covers, and those that later versions of the parser may add.
            _ => {}
        }
    }

    fn queue_unread(&mut self, block: Unread, waits: bool) {
        if self.unread.len() < MOST_ANSWERS {
            self.unread.push(block);
        }
        if !waits {
            self.take_unread(usize::MAX);
        }
    }

    /// Reports the unreadable blocks before `at`.
    fn take_unread(&mut self, at: usize) {
        let count = self.unread.iter().take_while(|block| block.at < at).count();
        for Unread { id, tool, error, .. } in self.unread.drain(..count).collect::<Vec<_>>() {
            match error {
                Some(error) => self.malformed(&id, &tool, &error),
                None => self.incomplete(&id, &tool),
            }
        }
    }

    /// Handles a call in a fence whose info word is not `tool`. A call in a `json` fence is passed on: the proxy runs
    /// nothing, and the client asks before it runs a call. The text of any other fence was already sent, because an
    /// answer may contain such a block. The model is then reminded that a call needs the word `tool`.
    fn handle_wrong_word(&mut self, mut call: ToolCall, body: &str, span: Span) {
        let is_plain = call.repairs == [Repair::WrongWord] && self.faults.is_empty() && self.help.is_empty();
        let Some((before, after)) = Some(span).filter(|_| is_plain).and_then(|span| self.held.release_around(span))
        else {
            return self.summary.note_misplaced(body);
        };
        self.emit_text(&before);
        call.repairs.clear();
        tracing::debug!(target: "toolfence", tool = call.name, repairs = Repair::WrongWord.name(), "a call was repaired");
        self.call(call);
        self.emit_text(&after);
    }

    /// Takes a reply that is only an object with the tool's arguments as the call, if the client forces a call of one
    /// tool.
    fn take_bare_arguments(&mut self) -> bool {
        let is_open = self.calls == 0 && !self.cut && self.faults.is_empty() && self.help.is_empty();
        let Some(spec) = self.offer.forced().filter(|_| is_open && self.lead != Lead::Text) else { return false };
        let text = self.held.text();
        let Ok(Value::Object(args)) = json::strict(without_fence(text.trim())) else { return false };
        // An object with another member may be anything.
        if !args.keys().all(|name| spec.find(name).is_some_and(|param| param.name == *name)) {
            return false;
        }
        let mut call = ToolCall::new("", spec.name.clone(), args);
        if self.offer.catalog.resolve(&mut call).is_err() {
            return false;
        }
        self.held.release();
        tracing::debug!(target: "toolfence", tool = call.name, repairs = "bare_arguments", "a call was repaired");
        self.call(call);
        true
    }

    fn release_held(&mut self) {
        let text = self.held.release();
        if !text.is_empty() {
            self.emit_text(&text);
        }
    }

    /// Queues an output. After a fault, or a question that the proxy answers, the model is asked again, so nothing more
    /// of this reply is passed on.
    fn emit(&mut self, delta: Output) {
        if self.faults.is_empty() && self.help.is_empty() {
            self.out.push_back(delta);
        }
    }

    fn emit_reasoning(&mut self, text: String) {
        if self.lead == Lead::Nothing {
            self.lead = Lead::Reasoning;
        }
        if !text.is_empty() {
            self.emit(Output::Reasoning(text));
        }
    }

    /// Treats everything so far as reasoning. The client has received it as text, but no call from it, because the
    /// parser has delivered none.
    fn reclassify_as_reasoning(&mut self) {
        self.unread.clear();
        self.growing = None;
        self.held = HeldText::new(self.offer.forced().is_some());
        self.blank.clear();
        self.lead = Lead::Reasoning;
    }

    /// Sends text. Blank text around calls is layout and is sent only if text follows.
    fn emit_text(&mut self, text: &str) {
        let shown = text.trim_end().len();
        if shown > 0 {
            self.blank.push_str(&text[..shown]);
            self.emit_blank();
        }
        self.blank.push_str(&text[shown..]);
        if self.blank.len() > MOST_BLANK {
            self.emit_blank();
        }
    }

    fn emit_blank(&mut self) {
        let mut text = std::mem::take(&mut self.blank);
        if self.lead == Lead::Reasoning {
            let layout = text.len() - text.trim_start_matches(['\n', '\r']).len();
            text.drain(..layout);
        }
        if !text.is_empty() {
            self.lead = Lead::Text;
            self.emit(Output::Text(text));
        }
    }

    /// Returns `true` if another call is passed on.
    fn wants_calls(&self) -> bool {
        self.faults.is_empty() && self.help.is_empty() && (self.offer.several || self.calls == 0)
    }

    fn started(&mut self, id: &str, name: &str) {
        // Only an exact name is streamed: an alias is resolved when the call is complete.
        if self.streams && self.wants_calls() && !self.offer.is_help(name) && self.offer.exact(name).is_some() {
            let (provisional, name) = (id.to_owned(), name.to_owned());
            self.growing = Some(Growing { provisional, name, arguments: Arguments::default(), held: false });
        }
    }

    fn progress(&mut self, id: &str, arg: &str, text: &str, exact: bool) {
        let index = self.calls;
        let Some(growing) = self.growing.as_mut().filter(|growing| growing.provisional == id) else { return };
        growing.held |= !exact;
        let takes_text = || self.offer.exact(&growing.name).is_some_and(|spec| spec.takes_text(arg));
        if growing.held || !(growing.arguments.grows(arg) || takes_text()) {
            return;
        }
        let begins = growing.arguments.is_empty();
        let name = begins.then(|| growing.name.clone());
        let Some(text) = growing.arguments.add(arg, text) else {
            growing.held = true;
            return;
        };
        if let Some(name) = name {
            self.begin(index, name);
        }
        self.emit(Output::Arguments { index, text });
    }

    fn begin(&mut self, index: usize, name: String) {
        self.has_begun = true;
        let id = format!("{}_{}", self.ids, index + 1);
        self.emit(Output::CallStarted { index, id, name });
    }

    fn call(&mut self, mut call: ToolCall) {
        let growing = self.growing.take_if(|growing| growing.provisional == call.id);
        // A call that is being streamed must be completed, even if no further call is wanted.
        if !self.wants_calls() && growing.is_none() {
            return self.remember_unpassed(&call);
        }
        let lossy = call.is_lossy();
        let failure = match self.offer.catalog.resolve(&mut call) {
            // A guess is refused even if its arguments fit the tool.
            _ if lossy => Some((ErrorCode::MalformedCall, answers::lossy(&call))),
            Ok(_) => None,
            Err(failure) => Some((failure.code, failure.message)),
        };
        if !call.repairs.is_empty() {
            let repairs: Vec<&str> = call.repairs.iter().map(|repair| repair.name()).collect();
            tracing::debug!(target: "toolfence", tool = call.name, repairs = repairs.join(", "), lossy, "a call was repaired");
        }
        if self.offer.is_help(&call.name) && !lossy {
            return self.answer_help(&call);
        }
        if let Some((code, why)) = failure {
            return self.fault(&call.id, &call.name, code, why, growing.as_ref());
        }
        self.pass_on(&call, growing);
    }

    /// Answers a call of the tool that describes the others. After a call that was passed on, there is no answer,
    /// because the client sends the results next. The model may ask again.
    fn answer_help(&mut self, call: &ToolCall) {
        if self.calls == 0 && self.help.len() < MOST_ANSWERS {
            let answer = self.offer.help(call);
            self.help.push(answer);
        }
    }

    fn pass_on(&mut self, call: &ToolCall, growing: Option<Growing>) {
        let index = self.calls;
        let given = growing.map(|growing| (growing.name, growing.arguments)).unwrap_or_default();
        let begun = !given.1.is_empty();
        let rest = given.1.rest(&call.args);
        // Arguments of another call were already sent, and a stream has no way to take them back.
        let other = self.growing.take().is_some_and(|other| !other.arguments.is_empty());
        let Some(rest) = rest.ok().filter(|_| !other && (!begun || given.0 == call.name)) else {
            self.broken = Some("the call differs from the part of it that was sent".into());
            return;
        };
        if !begun {
            self.begin(index, call.name.clone());
        }
        for text in rest {
            self.emit(Output::Arguments { index, text });
        }
        self.emit(Output::CallDone { index });
        self.calls += 1;
        self.remember_unpassed(call);
    }

    /// Remembers the call in case the model is asked again.
    fn remember_unpassed(&mut self, call: &ToolCall) {
        if self.whole.len() < MOST_ANSWERS {
            self.whole.push(answers::refused(
                &call.id,
                &call.name,
                ErrorCode::Cancelled,
                text!(
                    "Not run: another block of this reply could not be used. Send this call again too if it is still \
                     right."
                ),
            ));
        }
    }

    fn malformed(&mut self, id: &str, tool: &str, error: &ReadError) {
        let growing = self.growing.take();
        // After a fault the model is asked again anyway, so the answer covers every unreadable block.
        if growing.is_some() || self.wants_calls() || !self.faults.is_empty() {
            self.fault(id, tool, ErrorCode::MalformedCall, error.answer(), growing.as_ref());
        }
    }

    /// Handles a block without an end. In a reply that was cut off this is no fault: the finish reason reports it.
    fn incomplete(&mut self, id: &str, tool: &str) {
        let growing = self.growing.take();
        if !self.cut && (growing.is_some() || self.wants_calls()) {
            self.fault(
                id,
                tool,
                ErrorCode::MalformedCall,
                text!("The reply ended inside this block. Send the whole block again from its opening fence."),
                growing.as_ref(),
            );
        }
    }

    /// Records an unusable block. `growing` is the part of it that was sent: if that includes arguments, the model
    /// cannot be asked again.
    fn fault(&mut self, id: &str, tool: &str, code: ErrorCode, why: Text, growing: Option<&Growing>) {
        if growing.is_some_and(|growing| !growing.arguments.is_empty()) {
            self.broken = Some(why);
        } else if self.faults.len() < MOST_ANSWERS {
            self.faults.push(answers::refused(id, tool, code, why));
            let is_new = !self.described.iter().any(|(name, _)| name == tool);
            let described = self.offer.described(tool).filter(|_| is_new && self.described.len() < MOST_DESCRIBED);
            self.described.extend(described.map(|text| (tool.to_owned(), text)));
        }
    }

    /// Returns one message that answers all blocks of the reply.
    fn answers(&self) -> String {
        let all: Vec<ToolResult> = self.whole.iter().chain(&self.faults).chain(&self.help).cloned().collect();
        let mut format = Format::default();
        format.language = self.offer.language;
        let mut message = toolfence_protocol::format::results(&all, &format);
        for (_, description) in &self.described {
            message.push_str("\n\n");
            message.push_str(description.trim_end());
        }
        message
    }
}
