//! The agent loop as a state machine: what the model says goes in, what is to be done comes out.
//!
//! This crate does not call a model, run a tool, ask a person, read a clock, sleep or spawn; it knows no runtime and no disk.
//! A driver gives a [`Session`] its [`Input`]s and does the [`Action`]s that come out. [`persona`] reads the texts of personas,
//! which the host hands in.
//!
//! It is internal: only the crate `toolfence`, which re-exports what is for users, makes promises.

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
use toolfence_policy::{Cleared, Facts, Pending, Policy, Rule};
use toolfence_protocol::format::Format;
use toolfence_protocol::learned::{Learned, Learning};
use toolfence_protocol::limits::{Limits, size};
use toolfence_protocol::parse::{self, Event};
use toolfence_protocol::{Args, Catalog, FinishReason, Image, Message, Role, ToolCall, ToolResult};
use toolfence_protocol::{Language, Text, text};
use work::{Judge, Work};

/// How a session behaves.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct SessionOptions {
    /// The instructions: the system message. Empty for none, where the person pasted them elsewhere.
    pub system: String,
    /// The conversation so far.
    pub history: Vec<Turn>,
    /// How replies are read. Where it is unknown whether the template of the backend opens reasoning, the first reply that
    /// shows it makes the session read those after it accordingly.
    pub parser: parse::Options,
    /// What earlier sessions have shown of the backend: their [`Session::learned`]. What `parser` says counts over it.
    pub learned: Learned,
    /// How results are written. Its language and its limit become those of the session.
    pub format: Format,
    /// The language of what the model is told: notes, failures, and the reminder of the protocol.
    pub language: Language,
    /// How much there may be of everything. The limits of `parser` and of `format` become these.
    pub limits: Limits,
    /// Whether the driver looks at the project after changes: then [`Action::Check`] is given.
    pub checks: bool,
    /// Tokens that the model can read, where it is known. Without it a conversation is only compacted once the backend has
    /// refused it, by a driver that tells of it with [`Session::too_long`].
    pub window: Option<u64>,
}

/// What goes in.
#[derive(Debug)]
#[non_exhaustive]
pub enum Input<'a> {
    /// What the user says. While a turn is under way it is kept for the next message to the model.
    User(&'a str),
    /// The message with which the next turn begins shows the model this image.
    Image(Image),
    /// What the host has to say to the model. It stands before what the user says next.
    Note(&'a str),
    /// A piece of the reply.
    Chunk(&'a str),
    /// A piece of the backend's own reasoning channel: shown, never read, never sent back.
    Reasoning(&'a str),
    /// A call of the backend's own channel.
    NativeCall(ToolCall),
    /// The reply is over.
    End(FinishReason),
    /// What came of an [`Action::Run`], or of an [`Action::Check`].
    Result(ToolResult),
    /// The person said yes: what [`Pending::approve`] gave.
    Approved(Cleared),
    /// The person said yes for the rest of the session: what [`Pending::approve_always`] gave.
    Always(Cleared, Vec<Rule>),
    /// The person said no: what [`Pending::deny`] gave.
    Denied(ToolResult),
    /// The person said no to this call and yes to others of the reply: what [`Pending::deny`] gave. Those may still run.
    Skipped(ToolResult),
    /// The person changed the arguments: what [`Pending::edit`] gave. It is reviewed again.
    Edited(ToolCall),
    /// The backend failed. What had come of the reply is kept, its calls are not run.
    Failed(Text),
    /// The user wants it to end, whatever the state.
    Cancel,
}

/// What is to be done.
#[derive(Debug)]
#[non_exhaustive]
pub enum Action {
    /// Send [`messages`](Session::messages) to the model and feed its reply back.
    CallModel,
    /// The conversation did not fit any more, and from now on less of it is sent. For showing.
    Compacted(Compacted),
    /// End the model's stream.
    StopModel,
    /// Show this to the person.
    Show(Event<'static>),
    /// Run this. Several may come before a result is needed: they only read and may run side by side.
    Run(Cleared),
    /// Ask a person.
    Ask(Pending),
    /// A call or a broken block has its answer: each once, in call order. For showing; the session keeps its own.
    Answered(ToolResult),
    /// Every call of the reply has its answer, and one ran that may have changed something: look at the project as a whole.
    /// The result stands below those of the calls. Only where [`SessionOptions::checks`] asks for it.
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
    /// The model's reply was empty. It is not asked again: the user knows better what to say.
    Empty,
    /// The answer is there as far as it came: the length limit was reached or the stream broke off.
    Unfinished(FinishReason),
    /// Too many replies in a row held nothing but unreadable blocks.
    FormatErrors,
    /// The rounds of a turn are used up; the last answer was shown as text.
    RoundLimit,
    /// The same call had the same result again and again, or a reply repeated the same text.
    Loop,
    /// The user cancelled.
    Cancelled,
    /// The backend failed, and this is what it said.
    Failed(Text),
}

impl StopReason {
    /// The reason in a word, as the pipe, the HTTP API and the transcript have it: the name of the variant in snake case.
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

/// What becomes of a [`Pending`]: what a person says to it, or that nobody is there to say anything.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Answer {
    /// Run it.
    Yes,
    /// Run it, and do not ask again in this session: for exactly this, or, where the person typed a beginning of one of
    /// its commands, for every command that begins so. Where nothing can be stored it is a yes.
    Always(Option<Rule>),
    /// Do not; the model is told why.
    No(Text),
    /// Do not, but go on with the other calls of the reply, which the person chose; the model is told why.
    Skip(Text),
    /// Nobody is there to be asked, so it does not run; the model is told this.
    Nobody(Text),
    /// Run it with these arguments instead, if the policy agrees.
    Edit(Args),
}

impl Answer {
    /// What the answer means for a question about what a command changed: whether to keep it, or why not, and what to remember in the
    /// [policy](Policy::remember).
    pub fn to_changes(self, question: &Pending) -> (Result<(), Text>, Vec<Rule>) {
        let kept = match &self {
            Answer::Yes | Answer::Always(_) => Ok(()),
            Answer::No(why) | Answer::Skip(why) | Answer::Nobody(why) => Err(why.clone()),
            Answer::Edit(_) => Err(text!("A command that has run cannot be edited.")),
        };
        let mut rules = match self {
            Answer::Always(Some(rule)) => vec![rule],
            Answer::Always(None) => question.always().unwrap_or_default().to_vec(),
            Answer::Nobody(_) => return (kept, Vec::new()),
            _ => Vec::new(),
        };
        rules.extend(question.rules_about_output(kept.is_ok()));
        (kept, rules)
    }

    /// The answer as the session takes it.
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

/// The loop. See the [module](self).
pub struct Session {
    options: SessionOptions,
    judge: Judge,
    turns: Vec<Turn>,
    state: State,
    counters: round::Counters,
    actions: VecDeque<Action>,
    /// The notes that precede the next message of the user.
    owed: Vec<Note>,
    /// What the message shows with which the next turn begins.
    images: Vec<Image>,
    /// What the replies have shown of the backend.
    learning: Learning,
    /// The ids of the conversation's calls.
    ids: ids::Ids,
    window: window::Window,
}

enum State {
    Idle,
    Streaming(Box<IncomingReply>),
    /// With the notes that go below the results.
    Working(Work, Vec<Text>),
    /// All calls have their answers, and the project is looked at.
    Checking(Work, Vec<Text>),
}

impl fmt::Debug for Session {
    /// Without what was said.
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
    /// A session that waits for the user.
    pub fn new(options: SessionOptions, catalog: Arc<Catalog>, policy: Policy, facts: Arc<dyn Facts>) -> Session {
        let mut options = options;
        let turns = std::mem::take(&mut options.history);
        let mut ids = ids::Ids::default();
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

    /// The conversation as data. [`messages`](Session::messages) renders what a backend gets of it.
    pub fn turns(&self) -> &[Turn] {
        &self.turns
    }

    /// The instructions; empty if there are none.
    pub fn instructions(&self) -> &str {
        &self.options.system
    }

    /// Renders the whole conversation as chat messages: the instructions, then user and assistant in turn.
    pub fn history(&self) -> Vec<Message> {
        let system =
            (!self.options.system.is_empty()).then(|| Message::new(Role::System, self.options.system.as_str()));
        system.into_iter().chain(render(&self.turns, &self.options.format)).collect()
    }

    /// The notes that precede the next message of the user. The session adds them itself; a host that keeps the conversation elsewhere
    /// needs them.
    pub fn owed(&self) -> &[Note] {
        &self.owed
    }

    /// The language of what the model is told.
    pub fn language(&self) -> Language {
        self.options.language
    }

    /// How much there may be of everything.
    pub fn limits(&self) -> &Limits {
        &self.options.limits
    }

    /// Sets how many rounds a turn may have.
    pub fn set_most_rounds(&mut self, rounds: u64) {
        self.options.limits.rounds = rounds;
    }

    /// How results are written for the model.
    pub fn format(&self) -> &Format {
        &self.options.format
    }

    /// The tools on offer.
    pub fn catalog(&self) -> &Catalog {
        &self.judge.catalog
    }

    /// What the replies of this session, and those of [`SessionOptions::learned`], have shown of the backend. A host that keeps
    /// it by backend and model can hand it to the next session.
    pub fn learned(&self) -> Learned {
        self.learning.learned()
    }

    /// What is known of the backend from here on, in the place of what the replies so far have shown: those were another model's,
    /// say.
    pub fn set_learned(&mut self, learned: Learned) {
        self.learning = Learning::from(learned);
    }

    /// What decides about calls, with what the person has allowed so far.
    pub fn policy(&self) -> &Policy {
        &self.judge.policy
    }

    /// Sets what decides about calls from here on. Begin with the [`policy`](Session::policy) there is: it knows what the person
    /// has allowed so far.
    pub fn set_policy(&mut self, policy: Policy) {
        self.judge.policy = policy;
    }

    /// From now on the driver looks at the project after changes, as with [`SessionOptions::checks`].
    pub fn check_after_changes(&mut self) {
        self.options.checks = true;
    }

    /// Takes over what the replies of an earlier session have shown of the backend, and the ids that they used.
    pub fn follows(&mut self, before: &mut Session) {
        self.learning = std::mem::take(&mut before.learning);
        self.ids = std::mem::take(&mut before.ids);
    }

    /// Takes over the conversation of another session that waits for its user: its messages, but for its instructions, what its
    /// model has to be told yet, what the person has allowed for good, and what [`follows`](Session::follows) does. The
    /// instructions, the tools and the settings of this session hold from here on.
    pub fn take_over(&mut self, before: &mut Session) {
        self.follows(before);
        self.turns = std::mem::take(&mut before.turns);
        self.owed = std::mem::take(&mut before.owed);
        self.images = std::mem::take(&mut before.images);
        self.judge.policy.remember(before.judge.policy.remembered().to_vec());
    }

    /// Whether the reply that the model is called for is to go on in the middle of the one before, which broke off in a call. What a
    /// reply may be as a whole, a grammar say, does not hold for such a piece.
    pub fn goes_on(&self) -> bool {
        matches!(&self.state, State::Streaming(reply) if reply.goes_on())
    }

    /// While a person is asked: the calls behind that one which would ask too, as things stand now. They are judged again when
    /// their turn comes, so that nothing but what is asked about then can be allowed.
    pub fn asked_later(&mut self) -> Vec<Pending> {
        match &self.state {
            State::Working(work, _) => work.asked_later(&mut self.judge),
            _ => Vec::new(),
        }
    }

    /// Whether the session waits for the user.
    pub fn is_idle(&self) -> bool {
        matches!(self.state, State::Idle) && self.actions.is_empty()
    }

    /// Takes an input; the work is done in [`poll`](Session::poll). What does not fit the state is ignored.
    pub fn handle(&mut self, input: Input<'_>) {
        match (&mut self.state, input) {
            (_, Input::Image(image)) => self.images.push(image),
            (State::Idle, Input::User(text)) => self.begin(text),
            (_, Input::User(text)) => self.owed.push(Note::User(text.to_owned())),
            (_, Input::Note(text)) => self.owed.push(Note::Session(text.to_owned())),
            (_, Input::Cancel) => self.abandon(StopReason::Cancelled),
            (_, Input::Failed(message)) => self.abandon(StopReason::Failed(message)),
            (State::Streaming(reply), Input::End(reason)) => reply.finish(reason),
            (State::Streaming(reply), input) if reply.is_open() => {
                let shown = listen(reply, input, &mut self.ids);
                self.actions.extend(shown.map(Action::Show));
                self.stop_what_is_too_long();
            }
            (State::Working(work, _), Input::Always(cleared, rules)) => {
                if let Some(cleared) = work.approved(cleared) {
                    self.judge.policy.remember(rules);
                    self.actions.push_back(Action::Run(cleared));
                }
            }
            (State::Checking(..), Input::Result(found)) => self.checked(found),
            (State::Working(work, _), input) => {
                let cleared = answer(work, input);
                self.actions.extend(cleared.map(Action::Run));
            }
            _ => {}
        }
    }

    /// The next thing to do; `None` when an input is needed.
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

    /// A limit of ours ends the reply as the backend's own would.
    fn stop_what_is_too_long(&mut self) {
        let State::Streaming(reply) = &mut self.state else { return };
        if reply.len() > size(self.options.limits.reply_bytes) {
            reply.cut(FinishReason::Length);
            self.actions.push_back(Action::StopModel);
        }
    }
}

/// Takes a piece of a reply; gives what is to be shown at once.
fn listen(reply: &mut IncomingReply, input: Input<'_>, ids: &mut ids::Ids) -> Option<Event<'static>> {
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

/// Takes what came of a call or a question; gives what may run now.
fn answer(work: &mut Work, input: Input<'_>) -> Option<Cleared> {
    match input {
        Input::Approved(cleared) => return work.approved(cleared),
        Input::Result(result) => work.result(result),
        Input::Denied(result) => work.denied(result),
        Input::Skipped(result) => work.skipped(result),
        Input::Edited(call) => work.edited(call),
        _ => {}
    }
    None
}
