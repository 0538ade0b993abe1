//! Drives a [`Session`] on tokio: calls the model, runs the tools, asks the host, and feeds back what came.
//!
//! This module decides nothing: what may run was judged, and what comes next the session says. It shows nothing itself: a
//! [`Host`] does.

mod hands;
mod kept;

use crate::backend::{Backend, Chunk, Request, Sink, Usage};
use crate::redact::Redactor;
use crate::transcript::{RecordedTimes, Transcript};
use futures_util::StreamExt;
use hands::{Hands, Noted};
use kept::Kept;
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::{oneshot, watch};
use toolfence_policy::toolbox::{BoxFuture, Toolbox};
use toolfence_policy::{Pending, Policy};
use toolfence_protocol::parse::Event;
use toolfence_protocol::{Error, ErrorKind, Image, Learned, Message, Role, Text, ToolCall, ToolResult, text};
use toolfence_sandbox::project::random_name;
use toolfence_session::{Action, Answer, Compacted, Input, Session, StopReason};
use toolfence_tools::ProjectChecks;
use toolfence_workspace::Workspace;
use toolfence_workspace::undo::{History, OpenTurn};

/// Where an agent shows what happens and asks what it may do. By default it shows nothing, and nobody is there to ask.
pub trait Host: Send {
    /// The model is being called with this conversation.
    fn calling(&mut self, _history: &[Message]) {}

    /// The conversation did not fit the model's window any more, and less of it is sent from now on.
    fn compacted(&mut self, _done: &Compacted) {}

    /// Something of the reply.
    fn show(&mut self, _event: &Event<'_>) {}

    /// The backend gave no reply, for this reason, and asks again after the wait.
    fn waits(&mut self, _why: &Text, _wait: Duration) {}

    /// The reply breaks off here, for this reason.
    fn broke_off(&mut self, _why: &Text) {}

    /// A call begins to run. Several may run at a time.
    fn running(&mut self, _call: &ToolCall) {}

    /// A running call says how far it is. Lines may be lost where they come too fast.
    fn progress(&mut self, _id: &str, _note: &str) {}

    /// The end of what a running call printed so far: a few lines as the command wrote them, of which the first one may be cut.
    fn printed(&mut self, _id: &str, _end: &str) {}

    /// Whether the results of calls may contain images. If not, a line of text replaces each of them.
    fn takes_images(&self) -> bool {
        true
    }

    /// A call has its answer, whether it ran or not: each once, in call order.
    fn answered(&mut self, _result: &ToolResult) {}

    /// Whether this may run.
    fn ask<'a>(&'a mut self, _pending: &'a Pending) -> BoxFuture<'a, Answer> {
        Box::pin(async { Answer::Nobody(text!("There is no user who could allow it.")) })
    }

    /// Whether [`ask_among`](Host::ask_among) is to be called with the calls behind the one that is asked about.
    fn asks_together(&self) -> bool {
        false
    }

    /// Whether this may run. `later` are the calls of the reply behind it that would ask too, as things stand now: a host can ask
    /// about all of them at once and give its answers when their turns come, to what is judged then. By default each is asked
    /// about by itself.
    fn ask_among<'a>(&'a mut self, pending: &'a Pending, _later: &'a [Pending]) -> BoxFuture<'a, Answer> {
        self.ask(pending)
    }
}

/// How [`Agent::round`] ended.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum RoundEnd {
    /// The model needs this message to continue: results, or what was wrong with its reply. The next round reads its next reply.
    Send(String),
    /// The turn has ended. The next round begins a new turn.
    Ended(StopReason),
}

/// A host that shows nothing and allows nothing that has to be asked for.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nobody;

impl Host for Nobody {}

/// Stops what an agent is doing, from anywhere. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Canceller {
    wish: Arc<watch::Sender<Wish>>,
    /// Whether the agent waits for tools that run.
    busy: Arc<AtomicBool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wish {
    GoOn,
    StopTools,
    StopAll,
}

impl Default for Canceller {
    fn default() -> Canceller {
        Canceller { wish: Arc::new(watch::Sender::new(Wish::GoOn)), busy: Arc::default() }
    }
}

impl Canceller {
    /// Until somebody wants all of it to end.
    pub async fn cancelled(&self) {
        self.wish(|wish| wish == Wish::StopAll).await;
    }

    /// Whether somebody wants all of it to end.
    pub fn is_cancelled(&self) -> bool {
        *self.wish.borrow() == Wish::StopAll
    }

    /// Ends the turn: the model's stream and the running tools are stopped. Without a turn under way nothing happens.
    pub fn cancel(&self) {
        self.wish.send_replace(Wish::StopAll);
    }

    /// Stops the running tools; the model is told and the turn goes on. While no tool runs nothing happens.
    pub fn stop_tools(&self) {
        self.wish.send_if_modified(|wish| {
            let change = *wish == Wish::GoOn;
            if change {
                *wish = Wish::StopTools;
            }
            change
        });
    }

    /// What Ctrl-C means: stops the running tools, or ends the turn where none runs or they were told to stop already.
    pub fn interrupt(&self) {
        let busy = self.busy.load(Ordering::SeqCst);
        self.wish.send_modify(|wish| {
            *wish = if busy && *wish == Wish::GoOn { Wish::StopTools } else { Wish::StopAll };
        });
    }

    /// A wish to stop tools is for those that ran when it was made.
    fn forget_tools(&self) {
        self.wish
            .send_if_modified(|wish| *wish == Wish::StopTools && std::mem::replace(wish, Wish::GoOn) != Wish::GoOn);
    }

    async fn wish(&self, wanted: impl Fn(Wish) -> bool) -> Wish {
        let mut wish = self.wish.subscribe();
        let seen = wish.wait_for(|wish| wanted(*wish)).await.map(|wish| *wish);
        // The sender lives in this handle, so the channel cannot be closed while somebody waits.
        seen.unwrap_or(Wish::StopAll)
    }
}

/// A session with hands: the tools it runs, and the model it talks to.
pub struct Agent {
    session: Session,
    toolbox: Toolbox,
    backend: Arc<dyn Backend>,
    canceller: Canceller,
    history: Option<(Arc<History>, Arc<Workspace>)>,
    checks: Option<Arc<ProjectChecks>>,
    /// Of the turn, and of the turns before it.
    usage: (Usage, Usage),
    /// The backend was asked how much the model can read.
    window_asked: bool,
    transcript: Option<Transcript>,
    /// What the backend keeps of the conversation by itself.
    kept: Kept,
    /// The name of the session, where no transcript has one.
    name: String,
    /// The turn of the user, counted from 1.
    turn: u64,
    /// What the next message of the user shows.
    images: Vec<Image>,
    /// Whether the message of the turn under way shows some.
    shows: bool,
    /// The turn waits for the next [`round`](Agent::round).
    between_rounds: bool,
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent").field("session", &self.session).field("toolbox", &self.toolbox).finish_non_exhaustive()
    }
}

impl Agent {
    /// An agent that waits for the user. Its tools answer in the language of the session.
    pub fn new(session: Session, toolbox: Toolbox, backend: Arc<dyn Backend>) -> Agent {
        let toolbox = toolbox.in_language(session.language()).with_limits(*session.limits());
        let (canceller, usage) = Default::default();
        Agent {
            session,
            toolbox,
            backend,
            canceller,
            history: None,
            checks: None,
            usage,
            window_asked: false,
            transcript: None,
            kept: Kept::default(),
            // Without randomness the backend is told no name.
            name: random_name().unwrap_or_default(),
            turn: 0,
            images: Vec::new(),
            shows: false,
            between_rounds: false,
        }
    }

    /// Sets the history, so that what each turn changes in this workspace can be undone. The workspace must have the history as its
    /// recorder.
    #[must_use]
    pub fn history(self, history: Arc<History>, workspace: Arc<Workspace>) -> Agent {
        Agent { history: Some((history, workspace)), ..self }
    }

    /// Sets the commands that check the project after the changes of each reply.
    #[must_use]
    pub fn checks(mut self, checks: impl Into<Arc<ProjectChecks>>) -> Agent {
        self.session.check_after_changes();
        Agent { checks: Some(checks.into()), ..self }
    }

    /// Sets the transcript, to which the agent writes while it works. To resume a session, make the session with the
    /// [history](Transcript::history) of its transcript.
    #[must_use]
    pub fn transcript(self, mut transcript: Transcript) -> Agent {
        let messages = self.session.messages();
        let instructions = messages.first().filter(|message| message.role == Role::System);
        let system = usize::from(instructions.is_some());
        let told = instructions.map_or("", |message| &message.content);
        let same = transcript.has_instructions(told);
        let kept = transcript.stored_state(self.session.format()).and_then(|(known, state)| {
            let kept = Kept::new(messages.get(..system + known.checked_sub(1)?)?, state);
            Some(if same { kept } else { kept.with_other_instructions() })
        });
        transcript.attach(&self.session);
        let turn = transcript.turn();
        Agent { transcript: Some(transcript), kept: kept.unwrap_or_default(), turn, ..self }
    }

    /// Returns the session and the transcript, for another agent that continues to use them.
    pub fn into_parts(self) -> (Session, Option<Transcript>) {
        (self.session, self.transcript)
    }

    /// The transcript that is written, if one is.
    pub fn recorded(&mut self) -> Option<&mut Transcript> {
        self.transcript.as_mut()
    }

    /// Until it is dropped, what changes is of the turn that has this for a question.
    fn undone_together(&self, user: &str) -> Option<OpenTurn> {
        let (history, workspace) = self.history.as_ref()?;
        Some(history.begin(workspace, &Redactor::new().text(user.trim_start().lines().next().unwrap_or_default())))
    }

    /// What the model has to be told with the next message: what the user did meanwhile to files it knows, say.
    pub fn note(&mut self, text: &str) {
        self.session.handle(Input::Note(text));
    }

    /// The next message of the user shows the model this image.
    ///
    /// # Errors
    /// The backend takes no images, as far as is known, or the message shows [`Image::MOST`] already. Then nothing is different.
    pub fn attach_image(&mut self, image: Image) -> Result<(), Error> {
        self.attach_images([image])
    }

    /// The next message of the user shows the model these images, or none of them.
    ///
    /// # Errors
    /// Those of [`attach_image`](Agent::attach_image). Then nothing is different.
    pub fn attach_images(&mut self, images: impl IntoIterator<Item = Image>) -> Result<(), Error> {
        let before = self.images.len();
        self.images.extend(images.into_iter().take(Image::MOST + 1));
        if self.images.len() == before {
            return Ok(());
        }
        let refused = if !self.backend.takes_images() {
            text!("this backend takes no images: leave the image out, or choose a server and a model that take some")
        } else if self.images.len() > Image::MOST {
            text!("a message shows at most {most} images", most = Image::MOST as u64)
        } else {
            return Ok(());
        };
        self.images.truncate(before);
        Err(Error::with_kind(ErrorKind::InvalidInput, refused))
    }

    /// Goes on with the conversation of another agent in its place, which has an empty one from then on: with its messages, its
    /// transcript, its counts, and what the person has allowed for good. The instructions, the tools, the policy and the
    /// backend of this agent hold from here on, and its model is told `note`, where there is one, with what the user says next: that it
    /// is somebody else now, say.
    ///
    /// Jobs that the tools of the other agent began end when it is dropped.
    #[must_use]
    pub fn take_over(mut self, before: &mut Agent, note: &str) -> Agent {
        before.end_dropped_turn();
        self.session.take_over(&mut before.session);
        if !note.is_empty() {
            self.note(note);
        }
        self.transcript = before.transcript.take();
        self.name = std::mem::take(&mut before.name);
        self.usage = std::mem::take(&mut before.usage);
        self.turn = std::mem::take(&mut before.turn);
        self.kept = std::mem::take(&mut before.kept);
        self.images = std::mem::take(&mut before.images);
        self
    }

    /// Compacts the conversation now: see [`Session::compact`].
    pub fn compact(&mut self) -> Option<Compacted> {
        self.session.compact()
    }

    /// Takes the last message of the user back, with all that came of it in the conversation, and gives it: see
    /// [`Session::take_back`].
    pub fn take_back(&mut self) -> Option<String> {
        let said = self.session.take_back()?;
        // What was attached since then stays.
        let mut images = self.session.take_images();
        images.append(&mut self.images);
        images.truncate(Image::MOST);
        self.images = images;
        Some(said)
    }

    /// Begins a new conversation with the same settings: see [`Session::clear`]. A transcript in which something was said ends,
    /// and what is said from here on stands in a new one.
    pub fn clear(&mut self) {
        self.end_dropped_turn();
        self.session.clear();
        self.images.clear();
        (self.kept, self.name, self.turn) = (Kept::default(), random_name().unwrap_or_default(), 0);
        if let Some(transcript) = self.transcript.take() {
            let mut next = transcript.cleared();
            next.attach(&self.session);
            self.transcript = Some(next);
        }
    }

    /// The conversation, and what else the session tells of itself.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Sets what decides about calls from here on: see [`Session::set_policy`].
    pub fn set_policy(&mut self, policy: Policy) {
        self.session.set_policy(policy);
    }

    /// What is known of the backend from here on: see [`Session::set_learned`].
    pub fn set_learned(&mut self, learned: Learned) {
        self.session.set_learned(learned);
    }

    /// What the replies of the last turn have cost, or of the one that is under way.
    pub fn turn_usage(&self) -> Usage {
        self.usage.0
    }

    /// What all replies have cost so far.
    pub fn usage(&self) -> Usage {
        let (mut sum, before) = self.usage;
        sum += before;
        sum
    }

    /// The name under which the session is told of: that of its transcript, where it has one.
    fn session_name(&self) -> String {
        self.transcript.as_ref().map_or(&*self.name, Transcript::id).to_owned()
    }

    /// A handle that stops this agent.
    pub fn canceller(&self) -> Canceller {
        self.canceller.clone()
    }

    /// One user turn: until the model answers, a limit is reached or somebody cancels.
    ///
    /// Dropping the future stops the model and the tools; the next turn begins with a history that a backend accepts.
    ///
    /// # Errors
    /// The backend failed before its reply began, or a tool failed in a way the model can do nothing about. The session
    /// can be used further. Or the backend takes no images and the message shows some: then nothing was said.
    pub async fn run(&mut self, user: &str, host: &mut dyn Host) -> Result<StopReason, Error> {
        self.end_dropped_turn();
        let images = std::mem::take(&mut self.images);
        if !images.is_empty() && !self.backend.takes_images() {
            // It has said so since they were attached.
            return Err(Error::with_kind(
                ErrorKind::InvalidInput,
                text!(
                    "this backend takes no images: leave the image out, or choose a server and a model that take some"
                ),
            ));
        }
        let _turn = self.undone_together(user);
        self.begin_turn(user, &images);
        let ended = self.run_rounds(host).await;
        self.record_end(&ended, host);
        ended
    }

    /// One round of a turn whose replies a person or another program brings one at a time: reads one reply of the backend and answers its
    /// calls. The turn stays open until its next reply, with everything that counts within a turn: the loop guard, the reminders, and a
    /// block to be continued. What each round changes is undone by itself. `title` names it in the history.
    ///
    /// Dropping the future ends the turn.
    ///
    /// # Errors
    /// The errors of [`run`](Agent::run). They end the turn.
    pub async fn round(&mut self, title: &str, host: &mut dyn Host) -> Result<RoundEnd, Error> {
        let _changes = self.undone_together(title);
        if std::mem::take(&mut self.between_rounds) {
            self.canceller.wish.send_replace(Wish::GoOn);
        } else {
            self.end_dropped_turn();
            self.begin_turn("", &[]);
            // The session asks for the first reply.
            self.drive(host).await?;
        }
        let ended = match self.run_round(host).await {
            Ok(None) => {
                self.between_rounds = true;
                let message = self.session.messages().pop().map(|message| message.content);
                return Ok(RoundEnd::Send(message.unwrap_or_default()));
            }
            Ok(Some(reason)) => Ok(reason),
            Err(error) => Err(error),
        };
        self.record_end(&ended, host);
        ended.map(RoundEnd::Ended)
    }

    /// Whether a turn waits for the next [`round`](Agent::round).
    pub fn is_between_rounds(&self) -> bool {
        self.between_rounds
    }

    /// Sets how many rounds a turn may have: see `limits.rounds` of the settings.
    pub fn set_most_rounds(&mut self, rounds: u64) {
        self.session.set_most_rounds(rounds);
    }

    async fn run_rounds(&mut self, host: &mut dyn Host) -> Result<StopReason, Error> {
        self.drive(host).await?;
        loop {
            if let Some(reason) = self.run_round(host).await? {
                return Ok(reason);
            }
        }
    }

    /// Calls the model and answers the calls of its reply. Returns why the turn ended, or `None` if the model is to be called again.
    async fn run_round(&mut self, host: &mut dyn Host) -> Result<Option<StopReason>, Error> {
        self.call_model(host).await?;
        self.drive(host).await
    }

    fn record_end(&mut self, ended: &Result<StopReason, Error>, host: &mut dyn Host) {
        if let Err(error) = ended {
            self.session.handle(Input::Failed(error.text()));
            while let Some(action) = self.session.poll() {
                self.record(&action);
                show(action, host);
            }
        }
        if let Some(transcript) = &mut self.transcript {
            transcript.ended(ended);
        }
    }

    fn begin_turn(&mut self, user: &str, images: &[Image]) {
        self.canceller.wish.send_replace(Wish::GoOn);
        let turn = std::mem::take(&mut self.usage.0);
        self.usage.1 += turn;
        self.turn += 1;
        self.shows = !images.is_empty();
        if let Some(transcript) = &mut self.transcript {
            transcript.follow(&self.session);
        }
        images.iter().for_each(|image| self.session.handle(Input::Image(image.clone())));
        self.session.handle(Input::User(user));
        if let Some(transcript) = &mut self.transcript {
            transcript.user(user, &self.session);
        }
    }

    /// Ends the turn whose future was dropped, as the next turn would do. What the model wrote until then is in the conversation and in the
    /// transcript. Without such a turn nothing happens.
    pub fn abandon_turn(&mut self) {
        if !self.between_rounds && !self.session.is_idle() {
            self.end_dropped_turn();
            self.transcript.iter_mut().for_each(|transcript| transcript.ended(&Ok(StopReason::Cancelled)));
        }
    }

    /// Ends the turn whose future was dropped, or that waits for another round.
    fn end_dropped_turn(&mut self) {
        self.between_rounds = false;
        self.session.handle(Input::Cancel);
        while let Some(action) = self.session.poll() {
            self.record(&action);
        }
    }

    fn record(&mut self, action: &Action) {
        if let Some(transcript) = &mut self.transcript {
            transcript.action(action, &self.session);
        }
    }

    /// Does what the session asks for until the model is to be called, or until the turn ends for the returned reason.
    async fn drive(&mut self, host: &mut dyn Host) -> Result<Option<StopReason>, Error> {
        let toolbox = self.toolbox.clone();
        let mut hands = Hands::new(&toolbox, self.checks.clone());
        loop {
            let action = self.session.poll();
            action.iter().for_each(|action| self.record(action));
            match action {
                Some(Action::CallModel) => return Ok(None),
                Some(Action::Ask(pending)) => self.ask(pending, host).await,
                Some(Action::Run(cleared)) => {
                    self.canceller.forget_tools();
                    host.running(cleared.call());
                    if let Some((history, _)) = &self.history {
                        history.entitle(&hands::title_of(&cleared, self.session.catalog()));
                    }
                    hands.start(cleared);
                }
                Some(Action::Check) => {
                    self.canceller.forget_tools();
                    hands.check().iter().for_each(|call| host.running(call));
                }
                Some(Action::Stop(reason)) => return Ok(Some(reason)),
                Some(action) => show(action, host),
                None if hands.open.is_empty() => {
                    return Err(Error::with_kind(
                        ErrorKind::Internal,
                        text!("The session waits for an input that never comes."),
                    ));
                }
                None => {
                    let _busy = Busy::new(&self.canceller);
                    self.wait(&mut hands, host).await?;
                }
            }
        }
    }

    /// Asks the backend, once, how much the model can read, where that begins to matter.
    async fn find_window(&mut self) {
        if self.window_asked || !self.session.wants_window() {
            return;
        }
        self.window_asked = true;
        let window = tokio::select! {
            biased;
            _ = self.canceller.wish(|wish| wish == Wish::StopAll) => None,
            window = self.backend.window() => window,
        };
        window.into_iter().for_each(|window| self.session.learn_window(window));
    }

    async fn call_model(&mut self, host: &mut dyn Host) -> Result<(), Error> {
        self.request(host, true).await
    }

    /// Calls the model, with the images or with lines in their places.
    async fn request(&mut self, host: &mut dyn Host, with_images: bool) -> Result<(), Error> {
        self.find_window().await;
        let mut messages = self.session.messages();
        let mut shows = messages.iter().any(|message| !message.images.is_empty());
        if shows && !(with_images && self.backend.takes_images()) {
            let (is_refused, language) = (self.backend.takes_images(), self.session.language());
            without_images(&mut messages, |image| match is_refused {
                true => text!(
                    "[The image {name} is not shown: the server refused the request with it.]",
                    name = image.name()
                )
                .render(language),
                false => text!("[The image {name} is not shown: this backend takes no images.]", name = image.name())
                    .render(language),
            });
            // A failure of this request is not about images, so it is not made once more without them.
            shows = false;
        }
        host.calling(&messages);
        let known = self.kept.of(&messages);
        let name = self.session_name();
        let request = Request {
            messages: &messages,
            session: &name,
            turn: self.turn,
            known: known.messages,
            knows_instructions: known.instructions,
            state: known.state,
            goes_on: self.session.goes_on(),
        };
        let (session, transcript) = (&mut self.session, self.transcript.as_mut());
        let began = Instant::now();
        let mut feed = Feed { session, transcript, host, first_piece: None, bytes: 0, usage: None, kept: None };
        let end = tokio::select! {
            biased;
            _ = self.canceller.wish(|wish| wish == Wish::StopAll) => None,
            end = self.backend.answer(request, &mut feed) => Some(end),
        };
        let Feed { usage, kept, bytes, first_piece, .. } = feed;
        let first_ms = first_piece.map(|first| milliseconds(first.duration_since(began)));
        let times = RecordedTimes { total_ms: milliseconds(began.elapsed()), first_ms };
        match (&end, kept) {
            (Some(Ok(_)), Some(state)) => {
                self.transcript.iter_mut().for_each(|transcript| transcript.kept(&state));
                self.kept = Kept::new(&messages, state);
            }
            (Some(Ok(_)), None) => {}
            // What the backend has of its conversation now is unknown.
            (Some(Err(_)) | None, _) => self.kept = Kept::default(),
        }
        // A server counts when its reply is over: one that was stopped has cost something all the same.
        if !matches!(end, Some(Err(_))) {
            let usage = usage.unwrap_or_else(|| Usage::estimated(&messages, bytes));
            self.usage.0 += usage;
            self.transcript.iter_mut().for_each(|transcript| transcript.cost(usage, times));
        }
        // Of the next conversation only its bytes are known.
        usage.iter().for_each(|usage| self.session.measured(usage.input));
        match end {
            None => self.session.handle(Input::Cancel),
            Some(Ok(end)) => self.session.handle(Input::End(end)),
            Some(Err(error)) => match error.kind() {
                ErrorKind::TooLong { tokens, window } if self.session.too_long(tokens, window) => {}
                // The server takes no images, or one of these is broken or too large: it would refuse all that is said from
                // here on. Those of earlier turns can be left out; without those of this one the question would be another.
                ErrorKind::Rejected if shows && !self.shows => {
                    return Box::pin(self.request(host, false)).await;
                }
                _ if shows && !self.backend.takes_images() && !self.shows => {
                    return Box::pin(self.request(host, false)).await;
                }
                _ => return Err(error),
            },
        }
        Ok(())
    }

    async fn ask(&mut self, pending: Pending, host: &mut dyn Host) {
        let later = if host.asks_together() { self.session.asked_later() } else { Vec::new() };
        let answer = self.ask_host(&pending, &later, host).await;
        self.session.handle(answer.map_or(Input::Cancel, |answer| answer.to(pending)));
    }

    /// Asks whether to keep what a running command changed.
    async fn ask_about_changes(
        &mut self,
        question: &Pending,
        answer: oneshot::Sender<Result<(), Text>>,
        host: &mut dyn Host,
    ) {
        // Without an answer the turn is being cancelled.
        let Some(given) = self.ask_host(question, &[], host).await else { return };
        let (kept, rules) = given.to_changes(question);
        if !rules.is_empty() {
            let mut policy = self.session.policy().clone();
            policy.remember(rules);
            self.session.set_policy(policy);
        }
        // A call that was stopped in the meantime needs no answer.
        let _ = answer.send(kept);
    }

    /// The user's answer; `None` if the turn is cancelled.
    async fn ask_host(&mut self, pending: &Pending, later: &[Pending], host: &mut dyn Host) -> Option<Answer> {
        let began = Instant::now();
        let answer = tokio::select! {
            biased;
            _ = self.canceller.wish(|wish| wish == Wish::StopAll) => None,
            answer = host.ask_among(pending, later) => Some(answer),
        };
        let ms = milliseconds(began.elapsed());
        if let (Some(answer), Some(transcript)) = (&answer, &mut self.transcript) {
            transcript.asked(pending, answer, ms);
        }
        answer
    }

    /// Until a running call has its result, or somebody stops it.
    async fn wait(&mut self, hands: &mut Hands<'_>, host: &mut dyn Host) -> Result<(), Error> {
        tokio::select! {
            biased;
            wish = self.canceller.wish(|wish| wish != Wish::GoOn) => {
                let stopped = hands.stop();
                match wish {
                    Wish::StopAll => self.session.handle(Input::Cancel),
                    _ => stopped.into_iter().for_each(|result| self.session.handle(Input::Result(result))),
                }
            }
            Some(note) = hands.noted.recv() => match note {
                Noted::Said { id, note } => host.progress(&id, &note),
                Noted::Printed { id, end } => host.printed(&id, &end),
                Noted::Asked { question, answer } => self.ask_about_changes(&question, answer, host).await,
            },
            Some(result) = hands.running.next() => {
                let result: ToolResult = result?;
                hands.open.retain(|call| call.id != result.id);
                let is_kept = result.images.is_empty() || host.takes_images();
                let result = if is_kept { result } else { result.without_images(self.session.language()) };
                self.session.handle(Input::Result(result));
            }
        }
        Ok(())
    }
}

/// Puts a line in the place of each image, for a backend that takes none.
fn without_images(messages: &mut [Message], line: impl Fn(&Image) -> String) {
    for message in messages {
        for image in std::mem::take(&mut message.images) {
            message.content.extend(["\n\n", &line(&image)]);
        }
    }
}

/// While it lives, tools run that can be stopped.
struct Busy(Arc<AtomicBool>);

impl Busy {
    fn new(canceller: &Canceller) -> Busy {
        canceller.busy.store(true, Ordering::SeqCst);
        Busy(canceller.busy.clone())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.store(false, Ordering::SeqCst);
    }
}

/// Feeds a reply to the session while it comes, and shows what the session finds in it.
struct Feed<'a> {
    session: &'a mut Session,
    transcript: Option<&'a mut Transcript>,
    host: &'a mut dyn Host,
    first_piece: Option<Instant>,
    /// Of texts that came.
    bytes: usize,
    usage: Option<Usage>,
    kept: Option<String>,
}

impl Sink for Feed<'_> {
    fn chunk(&mut self, chunk: Chunk<'_>) -> ControlFlow<()> {
        if matches!(chunk, Chunk::Text(_) | Chunk::Reasoning(_) | Chunk::Call(_)) {
            self.first_piece.get_or_insert_with(Instant::now);
        }
        match chunk {
            Chunk::Text(text) => {
                self.bytes += text.len();
                self.transcript.iter_mut().for_each(|transcript| transcript.chunk(text));
                self.session.handle(Input::Chunk(text));
            }
            Chunk::Reasoning(text) => {
                self.bytes += text.len();
                self.session.handle(Input::Reasoning(text));
            }
            Chunk::Call(call) => self.session.handle(Input::NativeCall(call)),
            Chunk::Usage(usage) => self.usage = Some(usage),
            Chunk::Kept(state) => self.kept = Some(state.to_owned()),
            Chunk::Waits { why, wait } => self.host.waits(why, wait),
            Chunk::BrokeOff(why) => self.host.broke_off(why),
        }
        let mut flow = ControlFlow::Continue(());
        while let Some(action) = self.session.poll() {
            self.transcript.iter_mut().for_each(|transcript| transcript.action(&action, self.session));
            match action {
                Action::StopModel => flow = ControlFlow::Break(()),
                action => show(action, self.host),
            }
        }
        flow
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Reports an action that needs no work to the host.
fn show(action: Action, host: &mut dyn Host) {
    match action {
        Action::Show(event) => host.show(&event),
        Action::Answered(result) => host.answered(&result),
        Action::Compacted(done) => host.compacted(&done),
        _ => {}
    }
}
