//! Drives a [`Session`] on tokio: calls the model, runs the tools, asks the host, and feeds the results back.
//!
//! This module decides nothing: the policy judges what may run, and the session determines the next step. It also
//! displays nothing; the [`Host`] does.

mod hands;
mod kept;

use crate::backend::{Backend, Chunk, Request, Sink, Usage};
use crate::redact::Redactor;
use crate::transcript::{RecordedTimes, Transcript};
use futures_util::StreamExt;
use hands::{Noted, RunningCalls};
use kept::KeptConversation;
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

/// Displays what an agent does, and answers its questions. By default nothing is displayed and calls that need approval
/// are denied.
pub trait Host: Send {
    /// The model is called with this conversation.
    fn calling(&mut self, _history: &[Message]) {}

    /// The conversation no longer fitted the model's window and was compacted.
    fn compacted(&mut self, _done: &Compacted) {}

    /// The reply has this event.
    fn show(&mut self, _event: &Event<'_>) {}

    /// The backend returned no reply for this reason, and retries after the wait.
    fn waits(&mut self, _why: &Text, _wait: Duration) {}

    /// The reply breaks off here for this reason.
    fn broke_off(&mut self, _why: &Text) {}

    /// A call starts to run. Several may run at a time.
    fn running(&mut self, _call: &ToolCall) {}

    /// A running call reports its progress. Lines may be lost if they arrive too fast.
    fn progress(&mut self, _id: &str, _note: &str) {}

    /// The end of the output of a running call: a few lines as the command wrote them, the first of which may be cut.
    fn printed(&mut self, _id: &str, _end: &str) {}

    /// Returns `true` if the results of calls may contain images. If not, a line of text replaces each of them.
    fn takes_images(&self) -> bool {
        true
    }

    /// A call was answered, whether it ran or not. Each call is answered once, in call order.
    fn answered(&mut self, _result: &ToolResult) {}

    /// Asks whether this call may run.
    fn ask<'a>(&'a mut self, _pending: &'a Pending) -> BoxFuture<'a, Answer> {
        Box::pin(async { Answer::Nobody(text!("There is no user who could allow it.")) })
    }

    /// Returns `true` if [`ask_among`](Host::ask_among) receives the later calls of the reply that need approval.
    fn asks_together(&self) -> bool {
        false
    }

    /// Asks whether this call may run. `later` are the later calls of the reply that would need approval now: a host
    /// can ask about all of them at once and return its answers in their turns, for the calls as they are judged then.
    /// By default each call is asked about separately.
    fn ask_among<'a>(&'a mut self, pending: &'a Pending, _later: &'a [Pending]) -> BoxFuture<'a, Answer> {
        self.ask(pending)
    }
}

/// How [`Agent::round`] ended.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum RoundEnd {
    /// The model needs this message to continue: results, or the errors in its reply. The next round reads its next
    /// reply.
    Send(String),
    /// The turn has ended. The next round begins a new turn.
    Ended(StopReason),
}

/// A host that displays nothing and denies every call that needs approval.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nobody;

impl Host for Nobody {}

/// Stops what an agent is doing, from anywhere. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Canceller {
    wish: Arc<watch::Sender<StopRequest>>,
    /// Whether the agent waits for tools that run.
    busy: Arc<AtomicBool>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StopRequest {
    Continue,
    StopTools,
    StopAll,
}

impl Default for Canceller {
    fn default() -> Canceller {
        Canceller { wish: Arc::new(watch::Sender::new(StopRequest::Continue)), busy: Arc::default() }
    }
}

impl Canceller {
    /// Waits until the whole turn is cancelled.
    pub async fn cancelled(&self) {
        self.wait_for_request(|wish| wish == StopRequest::StopAll).await;
    }

    /// Returns `true` if the whole turn is cancelled.
    pub fn is_cancelled(&self) -> bool {
        *self.wish.borrow() == StopRequest::StopAll
    }

    /// Ends the turn by stopping the model's stream and the running tools. Does nothing without a turn.
    pub fn cancel(&self) {
        self.wish.send_replace(StopRequest::StopAll);
    }

    /// Stops the running tools. The model is informed and the turn continues. Does nothing while no tool runs.
    pub fn stop_tools(&self) {
        self.wish.send_if_modified(|wish| {
            let change = *wish == StopRequest::Continue;
            if change {
                *wish = StopRequest::StopTools;
            }
            change
        });
    }

    /// Handles Ctrl-C: stops the running tools, or ends the turn if none runs or they were stopped already.
    pub fn interrupt(&self) {
        let busy = self.busy.load(Ordering::SeqCst);
        self.wish.send_modify(|wish| {
            *wish = if busy && *wish == StopRequest::Continue { StopRequest::StopTools } else { StopRequest::StopAll };
        });
    }

    /// Clears a request to stop tools. It applies only to the tools that ran when it was made.
    fn forget_tools(&self) {
        self.wish.send_if_modified(|wish| {
            *wish == StopRequest::StopTools && std::mem::replace(wish, StopRequest::Continue) != StopRequest::Continue
        });
    }

    async fn wait_for_request(&self, is_wanted: impl Fn(StopRequest) -> bool) -> StopRequest {
        let mut wish = self.wish.subscribe();
        let request = wish.wait_for(|wish| is_wanted(*wish)).await.map(|wish| *wish);
        // The sender lives in this handle, so the channel cannot be closed during the wait.
        request.unwrap_or(StopRequest::StopAll)
    }
}

/// A session with its tools and its backend.
pub struct Agent {
    session: Session,
    toolbox: Toolbox,
    backend: Arc<dyn Backend>,
    canceller: Canceller,
    history: Option<(Arc<History>, Arc<Workspace>)>,
    checks: Option<Arc<ProjectChecks>>,
    /// The usage of the turn, and of the turns before it.
    usage: (Usage, Usage),
    /// Whether the backend was asked for the model's window.
    window_asked: bool,
    transcript: Option<Transcript>,
    /// The conversation that the backend keeps by itself.
    kept: KeptConversation,
    /// The name of the session, used if there is no transcript.
    name: String,
    /// The turn of the user, counted from 1.
    turn: u64,
    /// The images for the next message of the user.
    images: Vec<Image>,
    /// Whether the message of the current turn has images.
    shows: bool,
    /// Whether the turn waits for the next [`round`](Agent::round).
    between_rounds: bool,
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent").field("session", &self.session).field("toolbox", &self.toolbox).finish_non_exhaustive()
    }
}

impl Agent {
    /// Creates an agent that waits for the user. Its tools answer in the language of the session.
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
            kept: KeptConversation::default(),
            // If there is no randomness, the name is empty.
            name: random_name().unwrap_or_default(),
            turn: 0,
            images: Vec::new(),
            shows: false,
            between_rounds: false,
        }
    }

    /// Sets the history, so that what each turn changes in this workspace can be undone. The workspace must have the
    /// history as its recorder.
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
        let sent = instructions.map_or("", |message| &message.content);
        let same = transcript.has_instructions(sent);
        // `known` includes the backend's reply, which a `KeptConversation` does not store. This must precede `attach`,
        // which frees the stored records.
        let kept = transcript.stored_state(self.session.format()).and_then(|(known, state)| {
            let kept = KeptConversation::new(messages.get(..system + known.checked_sub(1)?)?, state);
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

    /// Returns the transcript, if there is one.
    pub fn recorded(&mut self) -> Option<&mut Transcript> {
        self.transcript.as_mut()
    }

    /// Groups changes under the turn of this message until the returned guard is dropped.
    fn undone_together(&self, user: &str) -> Option<OpenTurn> {
        let (history, workspace) = self.history.as_ref()?;
        // The history stores the title on disk, so the title must not contain a secret.
        Some(history.begin(workspace, &Redactor::new().text(user.trim_start().lines().next().unwrap_or_default())))
    }

    /// Adds a note to the next message to the model, for example about changes of the user to files that the model
    /// knows.
    pub fn note(&mut self, text: &str) {
        self.session.handle(Input::Note(text));
    }

    /// Attaches an image to the next message of the user.
    ///
    /// # Errors
    /// Fails if the backend is known to accept no images, or if the message has [`Image::MOST`] already. Nothing is
    /// attached then.
    pub fn attach_image(&mut self, image: Image) -> Result<(), Error> {
        self.attach_images([image])
    }

    /// Attaches images to the next message of the user: all of them or none.
    ///
    /// # Errors
    /// Returns the errors of [`attach_image`](Agent::attach_image). Nothing is attached then.
    pub fn attach_images(&mut self, images: impl IntoIterator<Item = Image>) -> Result<(), Error> {
        let before = self.images.len();
        // One image too many is enough to refuse them all, however many the caller offers.
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

    /// Continues the conversation of the agent `before` in its place. Takes its messages, its transcript, its counts,
    /// and the rules that the user approved permanently, and empties its conversation. This agent keeps its own
    /// instructions, tools, policy and backend. Its model receives `note`, unless it is empty, with the next message of
    /// the user, for example that it has a new role.
    ///
    /// Jobs that the tools of the other agent started end when it is dropped.
    #[must_use]
    pub fn take_over(mut self, before: &mut Agent, note: &str) -> Agent {
        // If its last turn was dropped, that turn must end in the transcript before the transcript moves here.
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

    /// Compacts the conversation now, with [`Session::compact`].
    pub fn compact(&mut self) -> Option<Compacted> {
        self.session.compact()
    }

    /// Removes the last message of the user with its replies and returns its text, with [`Session::take_back`].
    pub fn take_back(&mut self) -> Option<String> {
        let text = self.session.take_back()?;
        // Images attached since then stay.
        let mut images = self.session.take_images();
        images.append(&mut self.images);
        images.truncate(Image::MOST);
        self.images = images;
        Some(text)
    }

    /// Begins a new conversation with the same settings, with [`Session::clear`]. A transcript with messages ends, and
    /// the new conversation is recorded in a new one.
    pub fn clear(&mut self) {
        self.end_dropped_turn();
        self.session.clear();
        self.images.clear();
        (self.kept, self.name, self.turn) = (KeptConversation::default(), random_name().unwrap_or_default(), 0);
        if let Some(transcript) = self.transcript.take() {
            let mut next = transcript.start_next();
            next.attach(&self.session);
            self.transcript = Some(next);
        }
    }

    /// Returns the session.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Replaces the policy, with [`Session::set_policy`].
    pub fn set_policy(&mut self, policy: Policy) {
        self.session.set_policy(policy);
    }

    /// Replaces the knowledge about the backend, with [`Session::set_learned`].
    pub fn set_learned(&mut self, learned: Learned) {
        self.session.set_learned(learned);
    }

    /// Returns the usage of the current turn, or of the last one.
    pub fn turn_usage(&self) -> Usage {
        self.usage.0
    }

    /// Returns the usage of all replies so far.
    pub fn usage(&self) -> Usage {
        let (mut sum, before) = self.usage;
        sum += before;
        sum
    }

    /// Returns the name of the session: that of its transcript, if it has one.
    fn session_name(&self) -> String {
        self.transcript.as_ref().map_or(&*self.name, Transcript::id).to_owned()
    }

    /// Returns a handle that stops this agent.
    pub fn canceller(&self) -> Canceller {
        self.canceller.clone()
    }

    /// Runs one user turn until the model answers, a limit is reached or the turn is cancelled.
    ///
    /// Dropping the future stops the model and the tools; the next turn begins with a history that a backend accepts.
    ///
    /// # Errors
    /// Fails if the backend failed before its reply began, or if a tool failed in a way that the model cannot correct.
    /// The session remains usable. Also fails, without sending the message, if the message has images and the backend
    /// accepts none.
    pub async fn run(&mut self, user: &str, host: &mut dyn Host) -> Result<StopReason, Error> {
        self.end_dropped_turn();
        let images = std::mem::take(&mut self.images);
        if !images.is_empty() && !self.backend.takes_images() {
            // The backend has refused images since these were attached.
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

    /// Runs one round of a turn whose replies a person or another program supplies one at a time: reads one reply of
    /// the backend and answers its calls. The turn stays open until its next reply, with everything that counts within
    /// a turn: the loop guard, the reminders, and a block to be continued. The changes of each round are undone
    /// separately. `title` names the round in the history.
    ///
    /// Dropping the future ends the turn.
    ///
    /// # Errors
    /// Returns the errors of [`run`](Agent::run). They end the turn.
    pub async fn round(&mut self, title: &str, host: &mut dyn Host) -> Result<RoundEnd, Error> {
        let _changes = self.undone_together(title);
        if std::mem::take(&mut self.between_rounds) {
            // A request to stop the previous round does not apply to this one.
            self.canceller.wish.send_replace(StopRequest::Continue);
        } else {
            self.end_dropped_turn();
            self.begin_turn("", &[]);
            // The session requests the first reply.
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

    /// Returns `true` if a turn waits for the next [`round`](Agent::round).
    pub fn is_between_rounds(&self) -> bool {
        self.between_rounds
    }

    /// Sets the maximum number of rounds of a turn: see `limits.rounds` of the settings.
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

    /// Calls the model and answers the calls of its reply. Returns why the turn ended, or `None` if the model must be
    /// called again.
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
            transcript.record_end(ended);
        }
    }

    fn begin_turn(&mut self, user: &str, images: &[Image]) {
        // A request from before this turn must not end it.
        self.canceller.wish.send_replace(StopRequest::Continue);
        let turn = std::mem::take(&mut self.usage.0);
        self.usage.1 += turn;
        self.turn += 1;
        self.shows = !images.is_empty();
        if let Some(transcript) = &mut self.transcript {
            // Records a turn that was taken back. After the new turn begins, the number of turns is as before, and the
            // removal would go unnoticed.
            transcript.record_turns(&self.session);
        }
        images.iter().for_each(|image| self.session.handle(Input::Image(image.clone())));
        self.session.handle(Input::User(user));
        if let Some(transcript) = &mut self.transcript {
            transcript.record_user(user, &self.session);
        }
    }

    /// Ends a turn whose future was dropped, as the next turn would. The model's text so far is in the conversation and
    /// in the transcript. Does nothing without such a turn.
    pub fn abandon_turn(&mut self) {
        if !self.between_rounds && !self.session.is_idle() {
            self.end_dropped_turn();
            self.transcript.iter_mut().for_each(|transcript| transcript.record_end(&Ok(StopReason::Cancelled)));
        }
    }

    /// Ends a turn whose future was dropped, or that waits for another round.
    fn end_dropped_turn(&mut self) {
        self.between_rounds = false;
        self.session.handle(Input::Cancel);
        while let Some(action) = self.session.poll() {
            self.record(&action);
        }
    }

    fn record(&mut self, action: &Action) {
        if let Some(transcript) = &mut self.transcript {
            transcript.record_action(action, &self.session);
        }
    }

    /// Performs the actions of the session until the model must be called, or until the turn ends for the returned
    /// reason.
    async fn drive(&mut self, host: &mut dyn Host) -> Result<Option<StopReason>, Error> {
        // The running calls borrow the toolbox while `self` is borrowed mutably, so they get a clone.
        let toolbox = self.toolbox.clone();
        let mut calls = RunningCalls::new(&toolbox, self.checks.clone());
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
                        // A turn without a message of the user gets its title from its first call that changes files.
                        history.entitle(&hands::title_of(&cleared, self.session.catalog()));
                    }
                    calls.start(cleared);
                }
                Some(Action::Check) => {
                    self.canceller.forget_tools();
                    calls.check().iter().for_each(|call| host.running(call));
                }
                Some(Action::Stop(reason)) => return Ok(Some(reason)),
                Some(action) => show(action, host),
                // No call runs that could produce an input, so waiting would never end.
                None if calls.open.is_empty() => {
                    return Err(Error::with_kind(
                        ErrorKind::Internal,
                        text!("The session waits for input that will not come."),
                    ));
                }
                None => {
                    let _busy = Busy::new(&self.canceller);
                    self.wait(&mut calls, host).await?;
                }
            }
        }
    }

    /// Asks the backend once for the model's window, when the conversation has become long.
    async fn find_window(&mut self) {
        if self.window_asked || !self.session.wants_window() {
            return;
        }
        // Set before the request, so that a server that does not answer is not asked again.
        self.window_asked = true;
        let window = tokio::select! {
            biased;
            _ = self.canceller.wait_for_request(|wish| wish == StopRequest::StopAll) => None,
            window = self.backend.window() => window,
        };
        window.into_iter().for_each(|window| self.session.learn_window(window));
    }

    async fn call_model(&mut self, host: &mut dyn Host) -> Result<(), Error> {
        self.request(host, true).await
    }

    /// Calls the model, with the images or with lines that replace them.
    async fn request(&mut self, host: &mut dyn Host, with_images: bool) -> Result<(), Error> {
        self.find_window().await;
        let mut messages = self.session.messages();
        let mut shows = messages.iter().any(|message| !message.images.is_empty());
        if shows && !(with_images && self.backend.takes_images()) {
            let (is_refused, language) = (self.backend.takes_images(), self.session.language());
            replace_images(&mut messages, |image| match is_refused {
                true => text!(
                    "[The image {name} is not shown: the server refused the request with it.]",
                    name = image.name()
                )
                .render(language),
                false => text!("[The image {name} is not shown: this backend takes no images.]", name = image.name())
                    .render(language),
            });
            // A failure of this request has no relation to images, so it is not repeated without them.
            shows = false;
        }
        host.calling(&messages);
        let known = self.kept.known_part(&messages);
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
        // `biased` polls the canceller first, so a cancelled turn sends no request.
        let mut feed = Feed { session, transcript, host, first_piece: None, bytes: 0, usage: None, kept: None };
        let end = tokio::select! {
            biased;
            _ = self.canceller.wait_for_request(|wish| wish == StopRequest::StopAll) => None,
            end = self.backend.answer(request, &mut feed) => Some(end),
        };
        let Feed { usage, kept, bytes, first_piece, .. } = feed;
        let first_ms = first_piece.map(|first| milliseconds(first.duration_since(began)));
        let times = RecordedTimes { total_ms: milliseconds(began.elapsed()), first_ms };
        match (&end, kept) {
            (Some(Ok(_)), Some(state)) => {
                self.transcript.iter_mut().for_each(|transcript| transcript.set_backend_state(&state));
                self.kept = KeptConversation::new(&messages, state);
            }
            (Some(Ok(_)), None) => {}
            // The backend's part of the conversation is unknown now.
            (Some(Err(_)) | None, _) => self.kept = KeptConversation::default(),
        }
        // Servers report usage at the end of a reply, but a stopped reply has a cost too.
        if !matches!(end, Some(Err(_))) {
            let usage = usage.unwrap_or_else(|| Usage::estimated(&messages, bytes));
            self.usage.0 += usage;
            self.transcript.iter_mut().for_each(|transcript| transcript.set_usage(usage, times));
        }
        // Only a server's own count improves the session's estimates; an estimate would confirm itself.
        usage.iter().for_each(|usage| self.session.measured(usage.input));
        match end {
            None => self.session.handle(Input::Cancel),
            Some(Ok(end)) => self.session.handle(Input::End(end)),
            Some(Err(error)) => match error.kind() {
                ErrorKind::TooLong { tokens, window } if self.session.too_long(tokens, window) => {}
                // An image is broken or too large, or the server accepts none, so it would refuse every later request
                // too. Images of earlier turns can be left out, but the message of this turn may be about its images.
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

    /// Asks whether to keep the changes of a running command.
    async fn ask_about_changes(
        &mut self,
        question: &Pending,
        answer: oneshot::Sender<Result<(), Text>>,
        host: &mut dyn Host,
    ) {
        // No answer means that the turn is being cancelled.
        let Some(response) = self.ask_host(question, &[], host).await else { return };
        let (kept, rules) = response.to_changes(question);
        if !rules.is_empty() {
            let mut policy = self.session.policy().clone();
            policy.remember(rules);
            self.session.set_policy(policy);
        }
        // A call that was stopped in the meantime needs no answer.
        let _ = answer.send(kept);
    }

    /// Returns the user's answer, or `None` if the turn is cancelled.
    async fn ask_host(&mut self, pending: &Pending, later: &[Pending], host: &mut dyn Host) -> Option<Answer> {
        let began = Instant::now();
        let answer = tokio::select! {
            biased;
            _ = self.canceller.wait_for_request(|wish| wish == StopRequest::StopAll) => None,
            answer = host.ask_among(pending, later) => Some(answer),
        };
        let ms = milliseconds(began.elapsed());
        if let (Some(answer), Some(transcript)) = (&answer, &mut self.transcript) {
            transcript.record_answer(pending, answer, ms);
        }
        answer
    }

    /// Waits until a running call has its result or is stopped.
    async fn wait(&mut self, calls: &mut RunningCalls<'_>, host: &mut dyn Host) -> Result<(), Error> {
        tokio::select! {
            biased;
            // In this order, because of `biased`: after a request to stop, no further result counts, and the progress
            // of a call is displayed before its result.
            wish = self.canceller.wait_for_request(|wish| wish != StopRequest::Continue) => {
                let stopped = calls.stop();
                match wish {
                    StopRequest::StopAll => self.session.handle(Input::Cancel),
                    _ => stopped.into_iter().for_each(|result| self.session.handle(Input::Result(result))),
                }
            }
            Some(note) = calls.noted.recv() => match note {
                Noted::Progress { id, note } => host.progress(&id, &note),
                Noted::Printed { id, end } => host.printed(&id, &end),
                Noted::Asked { question, answer } => self.ask_about_changes(&question, answer, host).await,
            },
            Some(result) = calls.running.next() => {
                let result: ToolResult = result?;
                calls.open.retain(|call| call.id != result.id);
                let is_kept = result.images.is_empty() || host.takes_images();
                let result = if is_kept { result } else { result.without_images(self.session.language()) };
                self.session.handle(Input::Result(result));
            }
        }
        Ok(())
    }
}

/// Replaces each image by a line, for a backend that accepts no images.
fn replace_images(messages: &mut [Message], line: impl Fn(&Image) -> String) {
    for message in messages {
        for image in std::mem::take(&mut message.images) {
            message.content.extend(["\n\n", &line(&image)]);
        }
    }
}

/// While this value exists, [`Canceller::interrupt`] stops tools before it ends the turn.
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

/// Feeds a streamed reply to the session and shows the events that the session finds in it.
struct Feed<'a> {
    session: &'a mut Session,
    transcript: Option<&'a mut Transcript>,
    host: &'a mut dyn Host,
    first_piece: Option<Instant>,
    /// Bytes of text received.
    bytes: usize,
    usage: Option<Usage>,
    kept: Option<String>,
}

impl Sink for Feed<'_> {
    fn chunk(&mut self, chunk: Chunk<'_>) -> ControlFlow<()> {
        // A retry or a count of tokens is not part of the reply, so it does not stop the clock.
        if matches!(chunk, Chunk::Text(_) | Chunk::Reasoning(_) | Chunk::Call(_)) {
            self.first_piece.get_or_insert_with(Instant::now);
        }
        match chunk {
            Chunk::Text(text) => {
                self.bytes += text.len();
                self.transcript.iter_mut().for_each(|transcript| transcript.add_chunk(text));
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
        // Polled after every piece, so that the host displays events while the reply streams. The actions after a
        // `StopModel` are still due.
        let mut flow = ControlFlow::Continue(());
        while let Some(action) = self.session.poll() {
            self.transcript.iter_mut().for_each(|transcript| transcript.record_action(&action, self.session));
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
