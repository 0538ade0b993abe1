//! The client in its three roles for an [`Agent`]: the model, the user, and the tools that the client runs.
//!
//! All three add lines to one [`Channel`]. This module does no I/O.

use super::words::{self, HostResult};
use crate::question::Choices;
use serde_json::Value;
use std::collections::HashMap;
use std::future::{pending, poll_fn};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use tokio::sync::{mpsc, oneshot};
use toolfence_agent::agent::{Agent, Host};
use toolfence_agent::backend::{Backend, Chunk, Sink};
use toolfence_policy::Pending;
use toolfence_policy::toolbox::{BoxFuture, Permit, Progress, Tool, ToolError};
use toolfence_protocol::parse::Event;
use toolfence_protocol::{
    Error, ErrorCode, FinishReason, Language, Message, Output, Role, Text, ToolCall, ToolFailure, ToolResult, ToolSpec,
    text,
};
use toolfence_session::{Answer, Compacted, Note, StopReason};

/// Bytes of unwritten lines beyond which notes about running calls are dropped.
const MOST_UNWRITTEN: usize = 64 << 10;

/// The state of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    Idle,
    /// The client's model is to reply.
    Reply,
    /// The first piece of the reply was read.
    Begun,
    /// The turn was cancelled in the middle of a reply, whose `end` has not been read yet.
    Dropped,
    /// The calls of the reply are being answered.
    Calls,
}

/// A piece of a reply.
pub(super) enum Piece {
    Text(String),
    End(FinishReason),
}

/// An open question.
struct OpenQuestion {
    id: String,
    choices: Choices,
    answer: oneshot::Sender<Answer>,
}

struct ChannelState {
    unwritten: String,
    phase: Phase,
    question: Option<OpenQuestion>,
    /// Senders for the results of the calls that the client runs, by the ids of the calls.
    awaited: HashMap<String, oneshot::Sender<HostResult>>,
    /// Receivers of these results, until the call takes its receiver.
    results: HashMap<String, oneshot::Receiver<HostResult>>,
}

/// The state that a client's turn shares with the reader of its lines. Cheap to clone.
#[derive(Clone)]
pub(super) struct Channel {
    state: Arc<Mutex<ChannelState>>,
    /// The language of questions, results and errors.
    language: Language,
}

impl Channel {
    pub(super) fn new(language: Language) -> Channel {
        let (awaited, results) = Default::default();
        let state = ChannelState { unwritten: String::new(), phase: Phase::Idle, question: None, awaited, results };
        Channel { state: Arc::new(Mutex::new(state)), language }
    }

    fn state(&self) -> MutexGuard<'_, ChannelState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a line for the client.
    pub(super) fn send(&self, line: &Value) {
        let mut state = self.state();
        state.unwritten.push_str(&line.to_string());
        state.unwritten.push('\n');
    }

    pub(super) fn send_error(&self, message: &Text) {
        self.send(&words::error(message, self.language));
    }

    /// Takes the lines that have not been written to the client.
    pub(super) fn take_unwritten(&self) -> String {
        std::mem::take(&mut self.state().unwritten)
    }

    /// Waits until there is a line to write. It registers no waker: only the waiting task itself adds lines, by polling
    /// the turn.
    pub(super) async fn has_unwritten(&self) {
        poll_fn(|_| if self.state().unwritten.is_empty() { Poll::Pending } else { Poll::Ready(()) }).await;
    }

    pub(super) fn phase(&self) -> Phase {
        self.state().phase
    }

    pub(super) fn set_phase(&self, phase: Phase) {
        self.state().phase = phase;
    }

    /// Answers the question about this call.
    ///
    /// # Errors
    /// Fails if there is no question about this call, or if the question does not accept the answer. It then stays
    /// open.
    pub(super) fn answer(&self, id: &str, answer: impl FnOnce(&Choices) -> Result<Answer, Text>) -> Result<(), Text> {
        let mut state = self.state();
        let Some(question) = state.question.take_if(|question| question.id == id) else {
            return Err(text!("there is no question about {id}", id = format!("{id:?}")));
        };
        match answer(&question.choices) {
            Ok(answer) => _ = question.answer.send(answer),
            Err(why) => {
                state.question = Some(question);
                return Err(why);
            }
        }
        Ok(())
    }

    /// Takes the result of a call that the client ran.
    ///
    /// # Errors
    /// Fails if no call with this id waits for a result.
    pub(super) fn take_result(&self, result: HostResult) -> Result<(), Text> {
        let awaited = self.state().awaited.remove(&result.id);
        let awaited = awaited.ok_or_else(|| {
            text!("no call with the id {id} is waiting for a result", id = format!("{:?}", result.id))
        })?;
        // The call may have ended meanwhile.
        _ = awaited.send(result);
        Ok(())
    }

    /// Starts to accept the result of a call that the client runs.
    fn await_result(&self, id: &str) {
        let (give, take) = oneshot::channel();
        let mut state = self.state();
        state.awaited.insert(id.to_owned(), give);
        state.results.insert(id.to_owned(), take);
    }

    /// Ends the turn: closes its open questions and calls.
    fn end_turn(&self) {
        let mut state = self.state();
        state.question = None;
        state.awaited.clear();
        state.results.clear();
        if state.phase != Phase::Dropped {
            state.phase = Phase::Idle;
        }
    }
}

/// The client's model: a backend whose replies are the `chunk` and `end` lines of one turn.
pub(super) struct ClientModel {
    channel: Channel,
    pieces: tokio::sync::Mutex<mpsc::UnboundedReceiver<Piece>>,
}

impl ClientModel {
    pub(super) fn new(channel: Channel, pieces: mpsc::UnboundedReceiver<Piece>) -> ClientModel {
        ClientModel { channel, pieces: tokio::sync::Mutex::new(pieces) }
    }
}

impl Backend for ClientModel {
    fn stream<'a>(&'a self, _: &'a [Message], sink: &'a mut dyn Sink) -> BoxFuture<'a, Result<FinishReason, Error>> {
        Box::pin(async move {
            let mut pieces = self.pieces.lock().await;
            let mut reply = OpenReply { channel: &self.channel, is_wanted: true };
            while let Some(piece) = pieces.recv().await {
                match piece {
                    Piece::Text(text) => {
                        // After `stop_model`, the client still sends the rest up to its `end`, which is dropped here.
                        if reply.is_wanted && sink.chunk(Chunk::Text(&text)).is_break() {
                            reply.stop();
                        }
                    }
                    Piece::End(reason) => {
                        reply.is_wanted = false;
                        return Ok(reason);
                    }
                }
            }
            Ok(FinishReason::Cut)
        })
    }
}

/// A reply whose `end` has not been read yet. Dropping it asks the client to stop its model.
struct OpenReply<'a> {
    channel: &'a Channel,
    is_wanted: bool,
}

impl OpenReply<'_> {
    /// Asks the client, once, to stop its model.
    fn stop(&mut self) {
        if std::mem::replace(&mut self.is_wanted, false) {
            self.channel.send(&words::stop_model());
        }
    }
}

impl Drop for OpenReply<'_> {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The client's user, and the display of one turn.
pub(super) struct ClientHost {
    channel: Channel,
    /// The tools that the client runs.
    theirs: Arc<[ToolSpec]>,
    /// The number of messages that the client has.
    sent: usize,
    /// A compaction that the client has not been sent.
    compacted: Option<Compacted>,
}

impl ClientHost {
    pub(super) fn new(channel: Channel, theirs: Arc<[ToolSpec]>) -> ClientHost {
        ClientHost { channel, theirs, sent: 0, compacted: None }
    }

    /// Ends the turn of this agent and sends the text that the client must put before its next message.
    pub(super) fn end(&self, agent: &Agent, ended: Result<StopReason, Error>) {
        let reason = ended.unwrap_or_else(|error| {
            let why = error.text();
            self.channel.send_error(&why);
            StopReason::Failed(why)
        });
        let (session, messages) = (agent.session(), agent.session().messages());
        let unsent = messages.get(self.sent..).unwrap_or_default().iter();
        let unsent = unsent.filter(|message| message.role == Role::User).map(|message| message.content.as_str());
        let text = unsent.chain(session.owed().iter().map(Note::text)).collect::<Vec<_>>().join("\n\n");
        self.channel.end_turn();
        self.channel.send(&words::end_line(&reason, (!text.is_empty()).then_some(&text)));
    }
}

impl Host for ClientHost {
    fn calling(&mut self, history: &[Message]) {
        let is_first = self.sent == 0;
        let compacted = self.compacted.take();
        self.sent = history.len();
        // The client itself sends the first message of a turn to its model.
        let Some((results, before)) = history.split_last().filter(|_| !is_first) else { return };
        if let Some(done) = compacted {
            self.channel.send(&words::compacted(&done, before));
        }
        self.channel.set_phase(Phase::Reply);
        self.channel.send(&words::results(&results.content));
    }

    fn compacted(&mut self, done: &Compacted) {
        self.compacted = Some(*done);
    }

    fn show(&mut self, event: &Event<'_>) {
        self.channel.send(&words::reply_event(event, self.channel.language));
    }

    fn running(&mut self, call: &ToolCall) {
        let is_theirs = self.theirs.iter().any(|spec| spec.name == call.name);
        if is_theirs {
            // Accept results before the line is sent: the client may answer before the call waits.
            self.channel.await_result(&call.id);
        }
        self.channel.send(&words::begins(if is_theirs { "run" } else { "running" }, call));
    }

    fn progress(&mut self, id: &str, note: &str) {
        // The notes of a long command must not fill the memory while the client reads nothing.
        if self.channel.state().unwritten.len() < MOST_UNWRITTEN {
            self.channel.send(&words::progress(id, note));
        }
    }

    /// Returns `false`: the client's model gets only text.
    fn takes_images(&self) -> bool {
        false
    }

    fn answered(&mut self, result: &ToolResult) {
        self.channel.send(&words::result(result, self.channel.language));
    }

    fn ask<'a>(&'a mut self, question: &'a Pending) -> BoxFuture<'a, Answer> {
        let (answer, answered) = oneshot::channel();
        let open = OpenQuestion { id: question.call().id.clone(), choices: Choices::offered(question), answer };
        self.channel.state().question = Some(open);
        self.channel.send(&words::ask(question, self.channel.language));
        Box::pin(async {
            match answered.await {
                Ok(answer) => answer,
                // The turn has ended, and drops this future.
                Err(_) => pending().await,
            }
        })
    }
}

/// A tool that the client runs.
pub(super) struct ClientTool {
    spec: ToolSpec,
    channel: Channel,
}

impl ClientTool {
    pub(super) fn new(spec: ToolSpec, channel: Channel) -> ClientTool {
        ClientTool { spec, channel }
    }
}

impl Tool for ClientTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run<'a>(&'a self, permit: Permit<'a>, _: &'a dyn Progress) -> BoxFuture<'a, Result<Output, ToolError>> {
        let result = self.channel.state().results.remove(permit.id());
        Box::pin(async move {
            let lost = || {
                ToolFailure::new(
                    ErrorCode::Cancelled,
                    text!("no call with the id {id} is waiting for a result", id = format!("{:?}", permit.id())),
                )
            };
            Ok(result.ok_or_else(lost)?.await.map_err(|_| lost())?.output())
        })
    }
}
