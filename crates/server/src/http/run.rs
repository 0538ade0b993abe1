//! Runs the turn of a request in its own task, and answers with events or with one JSON object.
//!
//! A turn outside of a conversation ends with its client. A turn in a conversation continues without clients until its
//! end, its time limit or a request that cancels it. This module makes no decisions: the agent judges calls, and a
//! client sends the answers of the person.

use super::ApiState;
use super::answer::{Trouble, json_response, success, with_headers};
use super::feed::{Feed, OpenFeed};
use super::outbox::Outbox;
use super::replies::{BroughtReply, Seat};
use super::request::{Order, Work};
use super::sessions;
use super::together::Member;
use super::types::{AgentAnswer, Answered, ApprovalRequest, Call, Failure, PendingCall, Tokens, TurnSoFar};
use crate::body::{self, Body, Pieces};
use crate::pipe::words;
use crate::question::Choices;
use axum::response::Response;
use hyper::header::HeaderValue;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::HashMap;
use std::future::pending;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};
use tokio::task::{AbortHandle, JoinHandle, spawn_blocking};
use tokio::time::{sleep, timeout};
use toolfence_agent::agent::{Agent, Canceller, Host, RoundEnd};
use toolfence_agent::backend::{Backend, Chunk, Sink, Usage};
use toolfence_policy::Pending;
use toolfence_policy::toolbox::BoxFuture;
use toolfence_protocol::parse::Event;
use toolfence_protocol::{
    Args, Error, ErrorCode, ErrorKind, FinishReason, Language, Message, Role, Text, ToolCall, ToolResult, text,
};
use toolfence_sandbox::project::random_name;
use toolfence_session::{Answer, Compacted, Note, StopReason, WindowUse};

/// The most bytes of a diff in a question. For a larger change the question has only the arguments.
const MOST_OF_DIFF: usize = 1 << 20;

/// The most bytes of events that wait for a slow reader; then the turn waits too.
const MOST_WAITING: usize = 64 << 10;

/// The error code for a backend that failed.
const BACKEND: &str = "backend";

/// Runs the task of a request. `conversation` is `None` outside of a conversation and `Some(None)` for a new one.
pub(super) async fn turn(
    shared: &Arc<ApiState>,
    order: Order,
    conversation: Option<Option<PathBuf>>,
) -> Result<Response, Trouble> {
    // Reserve the place first: a turn that is refused must not read the conversation from disk.
    let place = reserve_place(shared)?;
    let in_conversation = conversation.is_some();
    let mut agent = agent(shared, &order, conversation).await?;
    let recorded = agent.recorded().map(|transcript| (transcript.id().to_owned(), transcript.turn() + 1));
    let feed = match &recorded {
        Some((session, turn)) if in_conversation => Some(shared.feeds.begin(session, *turn).ok_or_else(conflict)?),
        _ => None,
    };
    let running = Running {
        shared: shared.clone(),
        agent: Some(agent),
        brought: None,
        together: None,
        used: Usage::default(),
        window: None,
        work: order.work,
        persona: order.persona,
        dropped: order.dropped,
        session: recorded.map(|(session, _)| session),
        _place: place,
    };
    running.respond(feed, order.stream).await
}

/// Reserves one of the turns that may run at a time.
pub(super) fn reserve_place(shared: &ApiState) -> Result<OwnedSemaphorePermit, Trouble> {
    let place = shared.places.clone().try_acquire_owned();
    place.map_err(|_| {
        Trouble::new(
            503,
            "busy",
            text!(
                "{most} {most|turn is|turns are} already running, which is the limit; try again later.",
                most = shared.options.turns
            ),
        )
    })
}

pub(super) fn conflict() -> Trouble {
    Trouble::new(409, "conflict", text!("A turn of this conversation is running."))
}

/// A response with events. Its head names the conversation.
fn event_stream(body: Body, session: Option<&str>) -> Response {
    let mut answer = with_headers(200, "text/event-stream", body);
    // Tell a reverse proxy not to buffer the stream.
    answer.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    if let Some(session) = session.and_then(|session| HeaderValue::from_str(session).ok()) {
        answer.headers_mut().insert("x-session", session);
    }
    answer
}

/// Answers with the events of the running or the last turn of a conversation that follow the id `after`.
pub(super) fn events(shared: &ApiState, session: &str, after: u64) -> Result<Response, Trouble> {
    let unknown =
        || Trouble::not_found(text!("The server no longer has a turn of this conversation; look at its messages."));
    let feed = shared.feeds.find(session).ok_or_else(unknown)?;
    Ok(event_stream(feed.body(after, shared.options.silence), Some(session)))
}

/// Cancels the running turn of a conversation and waits until it has ended. Returns whether one was running.
pub(super) async fn cancel(shared: &ApiState, session: &str) -> bool {
    let Some(feed) = shared.feeds.find(session).filter(|_| shared.feeds.is_running(session)) else { return false };
    // `notify_one` is not lost if the turn does not wait for it yet: the next wait returns at once.
    feed.cancelled.notify_one();
    feed.wait_for_end().await;
    true
}

/// Creates the agent for a task, in a conversation if one is named. This runs on a blocking thread, because it reads
/// the conversation and the files of the persona.
async fn agent(shared: &Arc<ApiState>, order: &Order, conversation: Option<Option<PathBuf>>) -> Result<Agent, Trouble> {
    let (agents, seats) = (shared.agents.clone(), shared.seats.clone());
    let (persona, work) = (order.persona.clone(), order.work.clone());
    let begun = spawn_blocking(move || {
        let persona = persona.as_deref();
        match (work, conversation) {
            (Work::Model { tool, .. }, Some(file)) => {
                let begin = || agents.conversation(persona, tool.as_deref(), file.as_deref(), None);
                match (begin(), file.as_deref().and_then(sessions::id_of)) {
                    // The agent that waits for a reply holds the lock of the transcript. End it only for a turn that
                    // can run.
                    (Err(error), Some(session)) if error.kind() == ErrorKind::Busy => {
                        seats.evict(&session);
                        begin()
                    }
                    (begun, _) => begun,
                }
            }
            (Work::Model { tool, .. }, None) => agents.agent(persona, tool.as_deref(), None).map_err(Error::new),
            // A reply already has its agent.
            (Work::Reply { .. }, _) => {
                Err(Error::new(text!("The server could not answer; its own output may say why.")))
            }
            (Work::Tool { name, args }, _) => {
                let call = ToolCall::new("call_1", name.clone(), args);
                let backend = Arc::new(Direct(Mutex::new(Some(call))));
                agents.agent(persona, Some(&name), Some(backend)).map_err(Error::new)
            }
        }
    });
    let begun = begun.await.map_err(|_| {
        Trouble::new(500, "internal", text!("The server could not answer; its own output may say why."))
    })?;
    begun.map_err(|error| agent_error(&error))
}

/// Returns the error for an agent that cannot be created. The kind `Other` means that no model is available; the other
/// kinds are about the conversation.
pub(super) fn agent_error(error: &Error) -> Trouble {
    match error.kind() {
        // Clients retry after a 503, so no other kind has this status.
        ErrorKind::Other => Trouble::new(503, "no_backend", error.text()),
        ErrorKind::Busy => Trouble::new(409, "conflict", error.text()),
        ErrorKind::NotFound => Trouble::not_found(error.text()),
        _ => Trouble::new(500, "internal", text!("The conversation cannot be read: {why}", why = error.text())),
    }
}

/// Passes the answer of a person to a waiting call. If no client waits for the outcome of the turn, this request does.
pub(super) async fn take_answer(
    shared: &Arc<ApiState>,
    id: &str,
    request: ApprovalRequest,
) -> Result<Response, Trouble> {
    let gone = || {
        Trouble::not_found(text!(
            "No question has the id {id}: it was answered, it expired, or its turn has ended.",
            id
        ))
    };
    let (waiting, answer, decided) = shared.approvals.answer(id, request)?;
    // The turn may have ended after the question was found.
    waiting.answer.send(answer).map_err(|_| gone())?;
    Ok(match waiting.turn {
        Some(turn) => turn.wait(shared).await,
        None => {
            success(&text!("The turn has received the answer."), Answered { answer: decided }, shared.options.language)
        }
    })
}

/// The results of a turn so far.
#[derive(Debug, Default, Clone)]
struct Record {
    /// The prose of the last reply.
    answer: String,
    calls: Vec<Call>,
    /// The arguments of the last reply's calls, by their ids.
    args: HashMap<String, Args>,
    rounds: u32,
    /// The reason why the last reply broke off.
    broke_off: Option<Text>,
    /// The text for the model of a client that sends the replies.
    results: Option<String>,
}

/// A message from a turn to the client that waits for its whole answer.
enum News {
    /// A call waits for an approval under this name. `data` is the state of the turn so far.
    Asked {
        id: String,
        tool: String,
        data: Box<TurnSoFar>,
    },
    Ended {
        status: u16,
        answer: Box<AgentAnswer>,
    },
}

/// A turn that is answered with one JSON object.
pub(super) struct Whole {
    heard: mpsc::Receiver<News>,
    /// The task to abort on drop: that of a turn outside of a conversation.
    task: Option<AbortHandle>,
}

impl Whole {
    /// Waits for the answer or for a question. Dropping the future ends the turn, because its client has disconnected.
    async fn wait(mut self, shared: &Arc<ApiState>) -> Response {
        let language = shared.options.language;
        match self.heard.recv().await {
            Some(News::Asked { id, tool, data }) => {
                shared.approvals.leave(&id, self);
                let message = text!("`{tool}` is waiting for an approval.", tool).render(language);
                json_response(202, &AgentAnswer { success: false, message, data: *data, error: None })
            }
            Some(News::Ended { status, answer }) => json_response(status, &answer),
            None => Trouble::new(500, "internal", text!("The server could not answer; its own output may say why."))
                .response(language),
        }
    }

    /// Lets the turn continue without a client.
    fn detach(mut self) {
        self.task = None;
    }
}

impl Drop for Whole {
    fn drop(&mut self) {
        self.task.iter().for_each(AbortHandle::abort);
    }
}

/// A running turn.
pub(super) struct Running {
    shared: Arc<ApiState>,
    /// `None` once the turn has ended.
    agent: Option<Agent>,
    /// The backend of an agent that stays in memory for the next reply.
    brought: Option<Arc<BroughtReply>>,
    /// The membership among the turns that are undone together, while the turn runs.
    together: Option<Member>,
    /// The tokens that the turn used, once it has ended.
    used: Usage,
    /// The share of the context window that the next request takes.
    window: Option<WindowUse>,
    work: Work,
    /// The persona that answers, if the request names one.
    persona: Option<String>,
    dropped: usize,
    /// The conversation that records the turn.
    session: Option<String>,
    _place: OwnedSemaphorePermit,
}

impl Drop for Running {
    /// Ends the turn if its client has disconnected.
    fn drop(&mut self) {
        drop(self.finish_turn());
    }
}

/// How a turn ended.
struct End {
    /// `None` if the turn waits for the next reply.
    reason: Option<StopReason>,
    /// The reason why the turn has no answer: code and message.
    trouble: Option<(Cow<'static, str>, Text)>,
    status: u16,
}

impl Running {
    /// Creates one round of a conversation whose replies a client sends.
    pub(super) fn of_reply(
        shared: Arc<ApiState>,
        agent: Agent,
        brought: Arc<BroughtReply>,
        title: String,
        session: String,
        place: OwnedSemaphorePermit,
    ) -> Running {
        Running {
            shared,
            agent: Some(agent),
            brought: Some(brought),
            together: None,
            used: Usage::default(),
            window: None,
            work: Work::Reply { title },
            persona: None,
            dropped: 0,
            session: Some(session),
            _place: place,
        }
    }

    /// Starts the turn, and answers with its events or with its outcome. `feed` is present for a turn in a
    /// conversation.
    pub(super) async fn respond(self, feed: Option<OpenFeed>, stream: bool) -> Result<Response, Trouble> {
        let (shared, dropped, session) = (self.shared.clone(), self.dropped, self.session.clone());
        if !stream {
            let (news, heard) = mpsc::channel(1);
            let task = match feed {
                Some(feed) => {
                    shared.spawn(self.run_detached(feed, Some(news)));
                    None
                }
                None => Some(shared.spawn(self.answer(news))),
            };
            return Ok(Whole { heard, task }.wait(&shared).await);
        }
        let body = match feed {
            Some(feed) => {
                let events = feed.feed().clone();
                shared.spawn(self.run_detached(feed, None));
                events.body(0, shared.options.silence)
            }
            None => {
                // The outbox holds the events for a slow reader, so the channel needs no room.
                let (pieces, body) = body::pieces(1);
                shared.spawn(self.stream_events(pieces));
                body
            }
        };
        let mut answer = event_stream(body, session.as_deref());
        if dropped > 0 {
            answer.headers_mut().insert("x-context-dropped", HeaderValue::from(dropped));
        }
        Ok(answer)
    }

    /// Runs a turn of a conversation to its end, whether or not a client waits.
    async fn run_detached(mut self, open: OpenFeed, news: Option<mpsc::Sender<News>>) {
        let feed = open.feed().clone();
        let (record, end) = self.run(Out::Feed(feed.clone(), news.clone())).await;
        self.last_events(&record, &end).into_iter().for_each(|event| feed.push(event));
        // Close the feed before the answer: a client that receives the answer may begin the next turn at once.
        drop(open);
        if let Some(news) = news {
            self.send_answer(record, end, &news).await;
        }
    }

    /// Returns the events at the end of a turn.
    fn last_events(&self, record: &Record, end: &End) -> Vec<Value> {
        let error = end.trouble.as_ref().filter(|_| !end.reason.as_ref().is_some_and(is_plain));
        let error = error.map(|(_, why)| words::error(why, self.shared.options.language));
        let Some(reason) = &end.reason else {
            return vec![words::results(record.results.as_deref().unwrap_or_default())];
        };
        let mut stop = words::end_line(reason, record.results.as_deref());
        stop["rounds"] = record.rounds.into();
        stop["usage"] = json!(self.usage());
        stop["context_dropped"] = self.dropped.into();
        stop["window"] = json!(self.window);
        error.into_iter().chain([stop]).collect()
    }

    /// Runs the turn and streams its events, until it ends or the client disconnects.
    async fn stream_events(mut self, pieces: Pieces) {
        let shared = self.shared.clone();
        let outbox = Arc::new(Outbox::default());
        let silence = shared.options.silence;
        let mut run = pin!(async {
            let (record, end) = self.run(Out::Events(outbox.clone())).await;
            self.last_events(&record, &end).iter().for_each(|event| outbox.push_event(event));
        });
        let mut ended = false;
        // While events wait for the client, the turn is not polled, and so its own time limit does not apply.
        let mut late = pin!(sleep(shared.options.turn + shared.options.stalled));
        loop {
            let waiting = outbox.len();
            if ended && waiting == 0 {
                return;
            }
            // The turn waits for a client that does not read, until the connection times out.
            let may_continue = !ended && waiting < MOST_WAITING;
            tokio::select! {
                biased;
                () = pieces.closed() => return,
                () = &mut late => return,
                place = pieces.reserve(), if waiting > 0 => match place {
                    // The channel has room now, so everything that waits is sent as one piece.
                    Ok(place) => place.send(Ok(outbox.take().into())),
                    Err(_) => return,
                },
                () = &mut run, if may_continue => ended = true,
                () = outbox.wait_for_event(), if may_continue => {}
                () = sleep(silence), if may_continue && waiting == 0 => outbox.push_comment(),
            }
        }
    }

    /// Runs the turn and sends one answer.
    async fn answer(mut self, news: mpsc::Sender<News>) {
        let (record, end) = self.run(Out::Answer(news.clone())).await;
        self.send_answer(record, end, &news).await;
    }

    async fn send_answer(&self, record: Record, end: End, news: &mpsc::Sender<News>) {
        let language = self.shared.options.language;
        let sentence = self.sentence(&record);
        let so_far = record.turn_so_far(&self.work, self.dropped, self.session.clone());
        let stop = end.reason.as_ref().map(StopReason::name);
        let data = TurnSoFar { stop, usage: self.usage(), results: record.results, ..so_far };
        let message = end.trouble.as_ref().map_or(&sentence, |(_, why)| why).render(language);
        let error = end.trouble.map(|(code, _)| Failure { code, field: None, message: message.clone() });
        let answer = AgentAnswer { success: error.is_none(), message, data, error };
        // Sending fails if the client has disconnected.
        let _ = news.send(News::Ended { status: end.status, answer: Box::new(answer) }).await;
    }

    /// Runs the turn to its end or its time limit.
    async fn run(&mut self, out: Out) -> (Record, End) {
        let shared = self.shared.clone();
        let (agents, title) = (shared.agents.clone(), self.work.title().to_owned());
        self.together = Some(shared.together.join(move || agents.begin(&title)).await);
        let Some(agent) = &mut self.agent else {
            return (
                Record::default(),
                failed(&Error::new(text!("The server could not answer; its own output may say why."))),
            );
        };
        let mut listener = Listener {
            shared: shared.clone(),
            out,
            record: Record::default(),
            work: self.work.clone(),
            dropped: self.dropped,
            session: self.session.clone(),
            canceller: agent.canceller(),
            sent: 0,
        };
        let said = match &self.work {
            Work::Model { message, .. } => message,
            Work::Tool { name, .. } | Work::Reply { title: name } => name,
        };
        let is_round = matches!(self.work, Work::Reply { .. });
        let feed = match &listener.out {
            Out::Feed(feed, _) => Some(feed.clone()),
            _ => None,
        };
        let canceller = agent.canceller();
        // A reply that begins a turn follows no message that could carry these notes.
        let notes: Vec<String> = match is_round && !agent.is_between_rounds() {
            true => agent.session().owed().iter().map(|note| note.text().to_owned()).collect(),
            false => Vec::new(),
        };
        let ended = timeout(shared.options.turn, async {
            let mut run = pin!(async {
                match is_round {
                    true => agent.round(said, &mut listener).await,
                    false => agent.run(said, &mut listener).await.map(RoundEnd::Ended),
                }
            });
            let cancelled = async {
                match &feed {
                    Some(feed) => feed.cancelled.notified().await,
                    None => pending().await,
                }
            };
            // Poll the turn first: its beginning clears an earlier cancellation.
            tokio::select! {
                biased;
                ended = &mut run => ended,
                () = cancelled => {
                    // Let the turn end by itself, so that the text of a reply that is cut stays in the conversation.
                    canceller.cancel();
                    run.await
                }
            }
        })
        .await;
        // The text for the next message to the model, if the client sends the replies.
        let results = match &ended {
            Ok(Ok(RoundEnd::Send(results))) => results.clone(),
            Ok(Ok(_)) if is_round => unsent(agent, listener.sent),
            _ => String::new(),
        };
        let results = match results.is_empty() {
            // Without results the client sends nothing, so the notes wait for the next ones.
            true => {
                notes.iter().for_each(|note| agent.note(note));
                None
            }
            false => Some(notes.into_iter().chain([results]).collect::<Vec<_>>().join("\n\n")),
        };
        // Finish the turn before reporting its end, because the client may then undo it at once. Even after a panic in
        // the blocking task, the membership ends.
        if let Some(finished) = self.finish_turn()
            && let Ok(Some(together)) = finished.await
        {
            together.leave().await;
        }
        let mut record = listener.record;
        record.results = results;
        let end = match ended {
            Ok(Ok(RoundEnd::Ended(reason))) => self.end(reason, &record),
            Ok(Ok(_)) => End { reason: None, trouble: None, status: 200 },
            Ok(Err(error)) => End { status: 502, ..failed(&error) },
            Err(_) => {
                let limit = shared.options.turn.as_secs();
                let why = text!(
                    "The turn took longer than {seconds} {seconds|second|seconds} and was ended.",
                    seconds = limit
                );
                End { reason: Some(StopReason::Cancelled), trouble: Some(("timeout".into(), why)), status: 200 }
            }
        };
        (record, end)
    }

    /// Ends the turn, once, and saves what the agent has learned. This writes files, so it runs on a blocking thread,
    /// and it always completes. Returns the membership, which the caller must leave afterwards.
    fn finish_turn(&mut self) -> Option<JoinHandle<Option<Member>>> {
        let mut agent = self.agent.take()?;
        let together = self.together.take();
        let asks_model = matches!(self.work, Work::Model { .. });
        self.used = agent.turn_usage();
        self.window = asks_model.then(|| agent.session().window_use());
        // Without a runtime, the server has ended.
        let runtime = Handle::try_current().ok()?;
        let (agents, persona, ending) = (self.shared.agents.clone(), self.persona.clone(), self.shared.ending.clone());
        let seat = self.session.clone().zip(self.brought.take()).map(|seat| (self.shared.seats.clone(), seat));
        Some(runtime.spawn(async move {
            // A turn that never began has nothing to record.
            together.as_ref()?;
            let _right = ending.acquire_owned().await;
            let ended = spawn_blocking(move || {
                // Records the text of a reply that was cut off: it is part of the conversation.
                agent.abandon_turn();
                agents.turn_ended(persona.as_deref(), Some(&mut agent).filter(|_| asks_model));
                if let Some((seats, (session, brought))) = seat {
                    seats.keep(session, Seat::new(agent, brought));
                }
            });
            // A panic in the blocking task was already reported. The membership is returned in any case.
            let _ = ended.await;
            together
        }))
    }

    /// Converts the reason for the end of a turn.
    fn end(&self, reason: StopReason, record: &Record) -> End {
        let (reason, trouble) = match (&self.work, reason) {
            // No model was involved.
            (Work::Tool { name, .. }, StopReason::Empty | StopReason::Answered) => {
                let error = record.calls.last().and_then(|call| call.error.as_ref());
                let trouble = error.map(|error| {
                    (word(error.code), text!("`{tool}` failed: {why}", tool = name, why = &error.message))
                });
                (StopReason::Answered, trouble)
            }
            (_, reason) => {
                let code = if matches!(reason, StopReason::Failed(_)) { BACKEND } else { reason.name() };
                let trouble = missing_answer_reason(&reason, record).map(|why| (code.into(), why));
                (reason, trouble)
            }
        };
        let status = if matches!(reason, StopReason::Failed(_)) { 502 } else { 200 };
        End { reason: Some(reason), trouble, status }
    }

    /// Summarizes the turn in one sentence.
    fn sentence(&self, record: &Record) -> Text {
        match (&self.work, record.calls.len()) {
            (Work::Tool { name, .. }, _) => text!("`{tool}` succeeded.", tool = name),
            (Work::Reply { .. }, 0) => text!("The reply was read."),
            (Work::Reply { .. }, count) => {
                text!("{count} {count|call|calls} of the reply {count|has|have} a result.", count)
            }
            (_, 0) => text!("The model answered."),
            (_, calls) => text!("The model answered after {calls} {calls|call|calls}.", calls),
        }
    }

    /// Returns the tokens that the turn used, if a model was involved.
    fn usage(&self) -> Option<Tokens> {
        let Usage { input, cached, output, estimated, .. } = self.used;
        let tokens = Tokens { input, cached, output, estimated: estimated > 0 };
        matches!(self.work, Work::Model { .. }).then_some(tokens)
    }
}

fn failed(error: &Error) -> End {
    let why = error.text();
    End { reason: Some(StopReason::Failed(why.clone())), trouble: Some((BACKEND.into(), why)), status: 502 }
}

/// Returns the name of a code in JSON.
fn word(code: ErrorCode) -> Cow<'static, str> {
    json!(code).as_str().map(str::to_owned).unwrap_or_default().into()
}

/// Returns `true` if the name of the reason is enough, without a message.
fn is_plain(reason: &StopReason) -> bool {
    !matches!(reason, StopReason::Failed(_) | StopReason::Cancelled | StopReason::Unfinished(_))
}

fn missing_answer_reason(reason: &StopReason, record: &Record) -> Option<Text> {
    Some(match reason {
        StopReason::Answered => return None,
        StopReason::Failed(why) => why.clone(),
        StopReason::Empty => text!("The reply of the model was empty."),
        StopReason::Unfinished(FinishReason::Length) => {
            text!("The answer breaks off: the reply reached the limit of its length.")
        }
        StopReason::Unfinished(_) => {
            let broke_off = text!("The answer broke off.");
            record.broke_off.iter().cloned().fold(broke_off, |text, why| Text::join([text, why], " "))
        }
        StopReason::FormatErrors => text!("The model wrote no readable call, several times in a row."),
        StopReason::RoundLimit => text!("The turn reached its limit of rounds."),
        StopReason::Loop => text!("The model repeats itself."),
        _ => text!("The turn was cancelled."),
    })
}

impl Record {
    /// Returns the state of the turn so far.
    fn turn_so_far(&self, work: &Work, dropped: usize, session: Option<String>) -> TurnSoFar {
        TurnSoFar {
            answer: (!matches!(work, Work::Tool { .. })).then(|| self.answer.clone()),
            calls: self.calls.clone(),
            rounds: self.rounds,
            stop: None,
            usage: None,
            context_dropped: dropped,
            session,
            results: None,
            pending: None,
        }
    }
}

/// The destination of a turn's events.
enum Out {
    Events(Arc<Outbox>),
    Answer(mpsc::Sender<News>),
    /// The feed of a conversation. A client may also wait for the whole answer.
    Feed(Arc<Feed>, Option<mpsc::Sender<News>>),
}

impl Out {
    /// Returns the channel to the client that waits for a whole answer.
    fn news(&self) -> Option<&mpsc::Sender<News>> {
        match self {
            Out::Events(_) => None,
            Out::Answer(news) => Some(news),
            Out::Feed(_, news) => news.as_ref(),
        }
    }
}

/// The host of a turn: reports events to the client and asks it questions.
struct Listener {
    shared: Arc<ApiState>,
    out: Out,
    record: Record,
    work: Work,
    dropped: usize,
    session: Option<String>,
    canceller: Canceller,
    /// The number of messages that were sent to the model.
    sent: usize,
}

impl Listener {
    fn language(&self) -> Language {
        self.shared.options.language
    }

    fn emit(&self, line: impl FnOnce() -> Value) {
        match &self.out {
            Out::Events(outbox) => outbox.push_event(&line()),
            Out::Answer(_) => {}
            Out::Feed(feed, _) => feed.push(line()),
        }
    }
}

impl Host for Listener {
    fn calling(&mut self, history: &[Message]) {
        self.sent = history.len();
        self.record.rounds += 1;
        self.record.answer.clear();
        self.record.args.clear();
        if matches!(self.work, Work::Tool { .. }) {
            // A direct call makes no request to a model.
            self.record.rounds = 0;
        }
    }

    fn takes_images(&self) -> bool {
        // A client that sends the replies passes only text to its model.
        !matches!(self.work, Work::Reply { .. })
    }

    fn compacted(&mut self, done: &Compacted) {
        // The server keeps the conversation, so the client needs no messages to replace its own.
        self.emit(|| words::compacted(done, &[]));
    }

    fn show(&mut self, event: &Event<'_>) {
        match event {
            Event::Text { text, .. } => self.record.answer.push_str(text),
            // The text so far turned out to be reasoning.
            Event::Reasoning { unopened: true, .. } => self.record.answer.clear(),
            Event::Call { call, .. } => {
                self.record.args.insert(call.id.clone(), call.args.clone());
            }
            _ => {}
        }
        self.emit(|| words::reply_event(event, self.language()));
    }

    fn broke_off(&mut self, why: &Text) {
        self.record.broke_off = Some(why.clone());
    }

    fn running(&mut self, call: &ToolCall) {
        // These are the canonical arguments, after names and types were fitted to the tool.
        self.record.args.insert(call.id.clone(), call.args.clone());
        self.emit(|| words::begins("running", call));
    }

    fn progress(&mut self, id: &str, note: &str) {
        self.emit(|| words::progress(id, note));
    }

    fn answered(&mut self, result: &ToolResult) {
        // A stream has sent its results already; only a direct call needs its result again at the end.
        if self.out.news().is_some() || matches!(self.work, Work::Tool { .. }) {
            let args = self.record.args.get(&result.id).cloned();
            self.record.calls.push(Call::new(result, args, self.language()));
        }
        self.emit(|| words::result(result, self.language()));
    }

    fn ask<'a>(&'a mut self, question: &'a Pending) -> BoxFuture<'a, Answer> {
        Box::pin(async move {
            let unanswered =
                || Answer::Nobody(text!("This call needs an approval, and this request cannot ask for one."));
            // Without random numbers, another client could guess the id and answer.
            let Ok(id) = random_name() else { return unanswered() };
            let (answer, answered) = oneshot::channel();
            // Register the call before its event is sent: a client may answer at once.
            let open = self.shared.approvals.open(&id, Choices::offered(question), answer);
            let diff = match question.changes() {
                Some(changes) => Some(beginning(changes, self.language())),
                None => question.diff().filter(|diff| diff.len() <= MOST_OF_DIFF).map(str::to_owned),
            };
            self.emit(|| {
                let mut line = words::ask(question, self.language());
                // The question has the changes as its diff already.
                line.as_object_mut().map(|line| line.remove("changes"));
                line["diff"] = diff.clone().into();
                line["approval"] = id.as_str().into();
                line
            });
            if let Some(news) = self.out.news() {
                let pending = PendingCall::new(question, &id, diff, self.language());
                let so_far = self.record.turn_so_far(&self.work, self.dropped, self.session.clone());
                let data = TurnSoFar { pending: Some(pending), ..so_far };
                let tool = question.call().name.clone();
                let asked = News::Asked { id: id.clone(), tool, data: Box::new(data) };
                // In a conversation, another client may still answer.
                if news.send(asked).await.is_err() && matches!(self.out, Out::Answer(_)) {
                    return unanswered();
                }
            }
            let wait = self.shared.options.approval;
            match timeout(wait, answered).await {
                Ok(Ok(answer)) => answer,
                _ => {
                    // Outside of a conversation, no client waits for the end of the turn either.
                    if let Some(turn) = open.expire()
                        && matches!(self.out, Out::Answer(_))
                    {
                        self.canceller.cancel();
                        turn.detach();
                    }
                    Answer::Nobody(text!(
                        "The question whether this may run was not answered within {seconds} {seconds|second|seconds}, \
                         so it did not run.",
                        seconds = wait.as_secs()
                    ))
                }
            }
        })
    }
}

/// Returns the texts that were not sent to the model before the turn ended: results without another round, and notes.
fn unsent(agent: &Agent, sent: usize) -> String {
    let messages = agent.session().messages();
    let rest = messages.get(sent..).unwrap_or_default().iter().filter(|message| message.role == Role::User);
    let notes = agent.session().owed().iter().map(Note::text);
    rest.map(|message| message.content.as_str()).chain(notes).collect::<Vec<_>>().join("\n\n")
}

/// Cuts the changes of a command to the size limit of a diff. Removals come first, so they are kept.
fn beginning(changes: &str, language: Language) -> String {
    if changes.len() <= MOST_OF_DIFF {
        return changes.to_owned();
    }
    let end = changes.as_bytes()[..MOST_OF_DIFF].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let count = changes[end..].lines().count() as u64;
    let rest = text!("and {count} more {count|line|lines}", count);
    format!("{}{}\n", &changes[..end], rest.render(language))
}

/// A backend that makes one call, and ends the turn after its result.
struct Direct(Mutex<Option<ToolCall>>);

impl Backend for Direct {
    fn stream<'a>(&'a self, _: &'a [Message], sink: &'a mut dyn Sink) -> BoxFuture<'a, Result<FinishReason, Error>> {
        // The second request gets an empty reply, which ends the turn.
        if let Some(call) = self.0.lock().unwrap_or_else(PoisonError::into_inner).take() {
            // The sink may stop the reply, but nothing follows anyway.
            let _ = sink.chunk(Chunk::Call(call));
        }
        Box::pin(async { Ok(FinishReason::Stop) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    /// A conversation that is missing, locked or damaged has another status than a missing backend, for which clients
    /// retry.
    #[test]
    fn each_reason_for_a_missing_agent_has_its_status() {
        let of = |kind| Error::with_kind(kind, "why");
        for (error, status) in [
            (Error::new("no model answers"), 503),
            (of(ErrorKind::Busy), 409),
            (of(ErrorKind::NotFound), 404),
            (of(ErrorKind::InvalidInput), 500),
            (Error::because("read it", io::Error::from(io::ErrorKind::PermissionDenied)), 500),
        ] {
            assert_eq!(agent_error(&error).status, status, "{error}");
        }
    }
}
