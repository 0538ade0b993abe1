//! The agent loop as a state machine: it takes the replies of the model and returns the actions to perform.
//!
//! This crate does not call a model, run a tool, ask a person, read a clock, sleep or spawn, and it depends on no
//! runtime and no files. A driver feeds [`Input`]s to a [`Session`] and performs the [`Action`]s that it returns.
//! [`persona`] parses personas from text that the host supplies.
//!
//! This crate is internal and its API is not stable; the crate `toolfence` re-exports the public items.

#![forbid(unsafe_code)]

mod announce;
mod compact;
mod guard;
mod ids;
pub mod persona;
mod refusals;
mod repetition;
mod reply;
mod round;
mod stitch;
mod turn;
mod window;
mod work;

pub use refusals::Refusal;
pub use turn::{Note, Reply, Turn, render};
pub use window::{Compacted, WindowUse};

use reply::IncomingReply;
use serde::Serialize;
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use toolfence_policy::{ClearedCall, Facts, Pending, Policy, Rule};
use toolfence_protocol::format::Format;
use toolfence_protocol::learned::{Learned, Learning};
use toolfence_protocol::limits::{Limits, size};
use toolfence_protocol::parse::{self, Event};
use toolfence_protocol::{Args, Catalog, FinishReason, Image, Message, Role, ToolCall, ToolResult};
use toolfence_protocol::{Language, Text, text};
use work::{Judge, Work};

/// The settings of a session.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct SessionOptions {
    /// The instructions, sent as the system message. If they are empty, none are sent, for example because the person
    /// pasted them elsewhere.
    pub system: String,
    /// The conversation so far.
    pub history: Vec<Turn>,
    /// The options of the parser. If it is unknown whether the template of the backend opens reasoning, the first reply
    /// that shows it decides for all later replies.
    pub parser: parse::Options,
    /// The traits of the backend that earlier sessions learned, from [`Session::learned`]. `parser` takes precedence
    /// over them.
    pub learned: Learned,
    /// How results are formatted. The session sets its language and its limit.
    pub format: Format,
    /// The language of the texts for the model: notes, failures, and the reminder of the protocol.
    pub language: Language,
    /// The limits of the session. They replace those of `parser` and of `format`.
    pub limits: Limits,
    /// Whether the driver checks the project after changes. If so, the session returns [`Action::Check`].
    pub checks: bool,
    /// The model's window in tokens, if it is known. Otherwise the conversation is only compacted after the backend has
    /// refused it, which the driver reports with [`Session::too_long`].
    pub window: Option<u64>,
}

/// An input that the driver feeds to the session.
#[derive(Debug)]
#[non_exhaustive]
pub enum Input<'a> {
    /// The user sent a message. During a turn it is kept for the next message to the model.
    User(&'a str),
    /// An image for the first message of the next turn.
    Image(Image),
    /// A note of the host for the model. It precedes the next message of the user.
    Note(&'a str),
    /// A piece of the reply arrived.
    Chunk(&'a str),
    /// A piece of the backend's separate reasoning channel arrived. It is displayed, but neither parsed nor sent back.
    Reasoning(&'a str),
    /// A call of the backend's native function calling arrived.
    NativeCall(ToolCall),
    /// The reply ended.
    End(FinishReason),
    /// The result of an [`Action::Run`] or an [`Action::Check`].
    Result(ToolResult),
    /// The person approved the call with [`Pending::approve`].
    Approved(ClearedCall),
    /// The person approved the call for the rest of the session with [`Pending::approve_always`].
    Always(ClearedCall, Vec<Rule>),
    /// The person denied the call with [`Pending::deny`].
    Denied(ToolResult),
    /// The person denied this call with [`Pending::deny`] but approved others of the reply, which may still run.
    Skipped(ToolResult),
    /// The person changed the arguments with [`Pending::edit`]. The call is reviewed again.
    Edited(ToolCall),
    /// The backend failed. The session keeps the reply received so far and does not run its calls.
    Failed(Text),
    /// The user cancels the turn, in any state.
    Cancel,
}

/// An action that the driver performs.
#[derive(Debug)]
#[non_exhaustive]
pub enum Action {
    /// Send [`messages`](Session::messages) to the model and feed its reply back.
    CallModel,
    /// The conversation no longer fitted and was compacted, for display.
    Compacted(Compacted),
    /// End the model's stream.
    StopModel,
    /// Show this event to the person.
    Show(Event<'static>),
    /// Run this call. If several arrive before a result is needed, they only read and may run side by side.
    Run(ClearedCall),
    /// Ask a person.
    Ask(Pending),
    /// The answer to a call or a broken block, for display. Each is returned once, in the order of the calls. The
    /// session keeps its own copy.
    Answered(ToolResult),
    /// Check the project as a whole: every call of the reply has its answer, and one that ran may have changed
    /// something. The result is placed below those of the calls. Only sent with [`SessionOptions::checks`].
    Check,
    /// The turn is over; the session waits for the user.
    Stop(StopReason),
}

/// Why a turn ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StopReason {
    /// The model answered in plain text.
    Answered,
    /// The model's reply was empty. The model is not called again, because the user knows better what to say.
    Empty,
    /// The answer is incomplete because the length limit was reached or the stream broke off.
    Unfinished(FinishReason),
    /// Too many replies in a row held nothing but unreadable blocks.
    FormatErrors,
    /// The rounds of the turn are used up; the last answer was shown as text.
    RoundLimit,
    /// The same call had the same result again and again, or a reply repeated the same text.
    Loop,
    /// The user cancelled.
    Cancelled,
    /// The backend failed with this message.
    Failed(Text),
}

impl StopReason {
    /// Returns the name of the variant in snake case, as used in the pipe, the HTTP API and the transcript.
    pub fn name(&self) -> &'static str {
        match self {
            StopReason::Answered => "answered",
            StopReason::Empty => "empty",
            StopReason::Unfinished(_) => "unfinished",
            StopReason::FormatErrors => "format_errors",
            StopReason::RoundLimit => "round_limit",
            StopReason::Loop => "loop",
            StopReason::Cancelled => "cancelled",
            StopReason::Failed(_) => "failed",
        }
    }
}

/// The answer to a [`Pending`], from a person, or from the host if there is no person.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Answer {
    /// Run the call.
    Yes,
    /// Run the call, and do not ask again in this session for exactly this call, or for every command that begins with
    /// the prefix the person typed. If no rule can be stored, this is the same as `Yes`.
    Always(Option<Rule>),
    /// Do not run the call; the text is the reason for the model.
    No(Text),
    /// Do not run the call, but continue with the other calls of the reply that the person chose; the text is the
    /// reason for the model.
    Skip(Text),
    /// Do not run the call, because there is no person to ask; the text is the reason for the model.
    Nobody(Text),
    /// Run the call with these arguments instead, if the policy agrees.
    Edit(Args),
}

impl Answer {
    /// Interprets the answer to the question whether to keep a command's changes. Returns whether to keep them, or the
    /// reason not to, and the rules to remember in the [policy](Policy::remember).
    pub fn to_changes(self, question: &Pending) -> (Result<(), Text>, Vec<Rule>) {
        let kept = match &self {
            Answer::Yes | Answer::Always(_) => Ok(()),
            Answer::No(why) | Answer::Skip(why) | Answer::Nobody(why) => Err(why.clone()),
            Answer::Edit(_) => Err(text!("A command that has run cannot be edited.")),
        };
        let mut rules = match self {
            Answer::Always(Some(rule)) => vec![rule],
            Answer::Always(None) => question.always().unwrap_or_default().to_vec(),
            // No person decided, so nothing is remembered, not even that the output was not kept.
            Answer::Nobody(_) => return (kept, Vec::new()),
            _ => Vec::new(),
        };
        rules.extend(question.rules_about_output(kept.is_ok()));
        (kept, rules)
    }

    /// Converts the answer into an input for the session.
    pub fn to(self, pending: Pending) -> Input<'static> {
        match self {
            Answer::Yes => Input::Approved(pending.approve()),
            Answer::Always(Some(beginning)) => Input::Always(pending.approve(), vec![beginning]),
            Answer::Always(None) => {
                let (cleared, rules) = pending.approve_always();
                Input::Always(cleared, rules)
            }
            Answer::No(why) | Answer::Nobody(why) => Input::Denied(pending.deny(why)),
            Answer::Skip(why) => Input::Skipped(pending.deny(why)),
            Answer::Edit(args) => Input::Edited(pending.edit(args)),
        }
    }
}

/// The agent loop. See the [module](self).
pub struct Session {
    options: SessionOptions,
    judge: Judge,
    turns: Vec<Turn>,
    state: State,
    counters: round::Counters,
    actions: VecDeque<Action>,
    /// The notes that precede the next message of the user.
    owed: Vec<Note>,
    /// The images for the first message of the next turn.
    images: Vec<Image>,
    /// The traits of the backend that the replies so far have shown.
    learning: Learning,
    /// The ids of the conversation's calls.
    ids: ids::Ids,
    window: window::Window,
}

enum State {
    Idle,
    Streaming(Box<IncomingReply>),
    /// The calls run; the notes go below their results.
    Working(Work, Vec<Text>),
    /// All calls have their answers, and the driver checks the project.
    Checking(Work, Vec<Text>),
}

impl fmt::Debug for Session {
    /// Leaves out the texts of the conversation.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.state {
            State::Idle => "idle",
            State::Streaming(_) => "streaming",
            State::Working(..) => "working",
            State::Checking(..) => "checking",
        };
        f.debug_struct("Session").field("state", &state).field("turns", &self.turns.len()).finish_non_exhaustive()
    }
}

impl Session {
    /// Creates a session that waits for the user.
    pub fn new(options: SessionOptions, catalog: Arc<Catalog>, policy: Policy, facts: Arc<dyn Facts>) -> Session {
        let mut options = options;
        let turns = std::mem::take(&mut options.history);
        let mut ids = ids::Ids::default();
        // A resumed conversation must not reuse the ids of its earlier calls.
        for reply in turns.iter().flat_map(|turn| &turn.replies) {
            reply.calls.iter().for_each(|call| ids.reserve(call.id.clone()));
            reply.results.iter().for_each(|result| ids.reserve(result.id.clone()));
        }
        options.limits = options.limits.in_force();
        options.format.language = options.language;
        options.format.message_limit = size(options.limits.message_bytes);
        options.parser.limits = (&options.limits).into();
        let catalog = Arc::new(catalog.with_limits(&options.limits));
        options.parser.catalog.get_or_insert_with(|| catalog.clone());
        let learning = Learning::from(options.learned);
        Session {
            options,
            judge: Judge { catalog, policy, facts },
            turns,
            state: State::Idle,
            counters: round::Counters::default(),
            actions: VecDeque::new(),
            owed: Vec::new(),
            images: Vec::new(),
            learning,
            ids,
            window: window::Window::default(),
        }
    }

    /// Returns the conversation as data. [`messages`](Session::messages) renders it for a backend.
    pub fn turns(&self) -> &[Turn] {
        &self.turns
    }

    /// Returns the instructions, or an empty string without any.
    pub fn instructions(&self) -> &str {
        &self.options.system
    }

    /// Renders the whole conversation as chat messages: the instructions, then user and assistant in turn.
    pub fn history(&self) -> Vec<Message> {
        let system =
            (!self.options.system.is_empty()).then(|| Message::new(Role::System, self.options.system.as_str()));
        system.into_iter().chain(render(&self.turns, &self.options.format)).collect()
    }

    /// Returns the notes that precede the next message of the user. The session adds them itself; a host that keeps the
    /// conversation elsewhere needs them.
    pub fn owed(&self) -> &[Note] {
        &self.owed
    }

    /// Returns the language of the texts for the model.
    pub fn language(&self) -> Language {
        self.options.language
    }

    /// Returns the limits in force.
    pub fn limits(&self) -> &Limits {
        &self.options.limits
    }

    /// Sets the most rounds of a turn.
    pub fn set_most_rounds(&mut self, rounds: u64) {
        self.options.limits.rounds = rounds;
    }

    /// Returns how results are formatted for the model.
    pub fn format(&self) -> &Format {
        &self.options.format
    }

    /// Returns the tools on offer.
    pub fn catalog(&self) -> &Catalog {
        &self.judge.catalog
    }

    /// Returns the traits of the backend that the replies of this session and [`SessionOptions::learned`] have shown. A
    /// host that stores them by backend and model can pass them to the next session.
    pub fn learned(&self) -> Learned {
        self.learning.learned()
    }

    /// Replaces the traits of the backend, for example after a change of the model.
    pub fn set_learned(&mut self, learned: Learned) {
        self.learning = Learning::from(learned);
    }

    /// Returns the policy, including what the person has allowed so far.
    pub fn policy(&self) -> &Policy {
        &self.judge.policy
    }

    /// Replaces the policy. Start from the current [`policy`](Session::policy), which includes what the person has
    /// allowed so far.
    pub fn set_policy(&mut self, policy: Policy) {
        self.judge.policy = policy;
    }

    /// Makes the driver check the project after changes, as [`SessionOptions::checks`] does.
    pub fn check_after_changes(&mut self) {
        self.options.checks = true;
    }

    /// Takes over the traits of the backend that an earlier session has learned, and the ids of its calls.
    pub fn follows(&mut self, before: &mut Session) {
        self.learning = std::mem::take(&mut before.learning);
        self.ids = std::mem::take(&mut before.ids);
    }

    /// Takes over the conversation of another idle session: its messages without the instructions, its pending notes
    /// and images, the rules that the person allowed for good, and what [`follows`](Session::follows) takes. This
    /// session keeps its own instructions, tools and settings.
    pub fn take_over(&mut self, before: &mut Session) {
        self.follows(before);
        self.turns = std::mem::take(&mut before.turns);
        self.owed = std::mem::take(&mut before.owed);
        self.images = std::mem::take(&mut before.images);
        self.judge.policy.remember(before.judge.policy.remembered().to_vec());
    }

    /// Returns `true` if the model is called to continue a reply that broke off inside a call. Constraints on a whole
    /// reply, such as a grammar, do not apply to such a piece.
    pub fn goes_on(&self) -> bool {
        matches!(&self.state, State::Streaming(reply) if reply.may_continue_block())
    }

    /// While a person is asked about a call, returns the later calls that would also need approval now. The session
    /// judges each of these calls again in its turn, so an approval always applies to the call as it is then.
    pub fn asked_later(&mut self) -> Vec<Pending> {
        match &self.state {
            State::Working(work, _) => work.asked_later(&mut self.judge),
            _ => Vec::new(),
        }
    }

    /// Returns `true` if the session waits for the user.
    pub fn is_idle(&self) -> bool {
        // The state is idle before the driver has polled the last actions, such as `Stop`.
        matches!(self.state, State::Idle) && self.actions.is_empty()
    }

    /// Takes an input, or ignores it if it does not fit the state. [`poll`](Session::poll) does the work.
    pub fn handle(&mut self, input: Input<'_>) {
        match (&mut self.state, input) {
            (_, Input::Image(image)) => self.images.push(image),
            (State::Idle, Input::User(text)) => self.begin(text),
            (_, Input::User(text)) => self.owed.push(Note::User(text.to_owned())),
            (_, Input::Note(text)) => self.owed.push(Note::Session(text.to_owned())),
            (_, Input::Cancel) => self.abandon(StopReason::Cancelled),
            (_, Input::Failed(message)) => self.abandon(StopReason::Failed(message)),
            (State::Streaming(reply), Input::End(reason)) => reply.finish(reason),
            // After a cut or a forged result, the backend may send more until it stops. The last arm drops that.
            (State::Streaming(reply), input) if reply.is_open() => {
                let event = feed_reply(reply, input, &mut self.ids);
                self.actions.extend(event.map(Action::Show));
                self.enforce_reply_limit();
            }
            (State::Working(work, _), Input::Always(cleared, rules)) => {
                if let Some(cleared) = work.approve(cleared) {
                    // An approval that fits no open question must not leave rules, so they are stored only here.
                    self.judge.policy.remember(rules);
                    self.actions.push_back(Action::Run(cleared));
                }
            }
            (State::Checking(..), Input::Result(found)) => self.finish_check(found),
            (State::Working(work, _), input) => {
                let cleared = apply_answer(work, input);
                self.actions.extend(cleared.map(Action::Run));
            }
            _ => {}
        }
    }

    /// Returns the next action, or `None` if an input is needed.
    #[must_use = "an action that is not done stalls the session"]
    pub fn poll(&mut self) -> Option<Action> {
        loop {
            if let Some(action) = self.actions.pop_front() {
                return Some(action);
            }
            match &mut self.state {
                State::Idle => return None,
                State::Streaming(_) => self.read()?,
                State::Working(..) => self.work()?,
                State::Checking(..) => return None,
            }
        }
    }

    /// Ends a reply beyond the session's own limit as if the backend's limit had ended it.
    fn enforce_reply_limit(&mut self) {
        let State::Streaming(reply) = &mut self.state else { return };
        if reply.len() > size(self.options.limits.reply_bytes) {
            reply.cut(FinishReason::Length);
            self.actions.push_back(Action::StopModel);
        }
    }
}

/// Feeds an input to the reply and returns the event to show at once.
fn feed_reply(reply: &mut IncomingReply, input: Input<'_>, ids: &mut ids::Ids) -> Option<Event<'static>> {
    match input {
        Input::Chunk(chunk) => {
            reply.push(chunk);
            None
        }
        Input::Reasoning(text) => {
            let (text, span) = (text.to_owned().into(), parse::Span::default());
            Some(Event::Reasoning { text, span, closed: None, unopened: false })
        }
        Input::NativeCall(call) => Some(reply.native(call, ids)),
        _ => None,
    }
}

/// Applies an answer or a result to the calls and returns a call that may run now.
fn apply_answer(work: &mut Work, input: Input<'_>) -> Option<ClearedCall> {
    match input {
        Input::Approved(cleared) => return work.approve(cleared),
        Input::Result(result) => work.record_result(result),
        Input::Denied(result) => work.deny(result),
        Input::Skipped(result) => work.skip(result),
        Input::Edited(call) => work.edit(call),
        _ => {}
    }
    None
}
