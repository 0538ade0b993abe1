//! Conversations whose replies a client sends: from a chat page, or from a model that only the client can reach.
//!
//! Between two replies the agent of such a conversation stays in memory, with its record of read files and its
//! approvals. The number of agents and their idle time are limited; after that, the next reply resumes the conversation
//! from its transcript.

use super::ApiState;
use super::answer::{Trouble, json_response};
use super::routes::NEW;
use super::run::{self, Running};
use super::sessions;
use super::types::{AgentAnswer, ReplyRequest, TurnSoFar};
use axum::response::Response;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::task::spawn_blocking;
use tokio::time::sleep;
use toolfence_agent::agent::Agent;
use toolfence_agent::backend::{Backend, Chunk, Sink};
use toolfence_policy::toolbox::BoxFuture;
use toolfence_protocol::{Error, FinishReason, Message, text};

/// The most agents that stay in memory.
const MOST_AGENTS: usize = 64;

/// How long an agent stays in memory without a reply.
const IDLE: Duration = Duration::from_secs(30 * 60);

/// A backend whose next reply was sent by a client.
#[derive(Default)]
pub(super) struct BroughtReply(Mutex<Option<(String, FinishReason)>>);

impl BroughtReply {
    fn set(&self, text: String, finish: FinishReason) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((text, finish));
    }
}

impl Backend for BroughtReply {
    fn stream<'a>(&'a self, _: &'a [Message], sink: &'a mut dyn Sink) -> BoxFuture<'a, Result<FinishReason, Error>> {
        let reply = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        Box::pin(async move {
            let Some((text, finish)) = reply else { return Ok(FinishReason::Cut) };
            let is_wanted = sink.chunk(Chunk::Text(&text)).is_continue();
            Ok(if is_wanted { finish } else { FinishReason::Cut })
        })
    }
}

/// The agent of a conversation between two replies.
pub(super) struct Seat {
    agent: Agent,
    backend: Arc<BroughtReply>,
    /// The pieces of a reply whose end has not arrived.
    pieces: String,
    used: Instant,
}

impl Seat {
    pub(super) fn new(agent: Agent, backend: Arc<BroughtReply>) -> Seat {
        Seat { agent, backend, pieces: String::new(), used: Instant::now() }
    }
}

/// The agents that stay in memory, by the ids of their conversations.
#[derive(Default)]
pub(super) struct Seats(Mutex<HashMap<String, Seat>>);

impl Seats {
    fn all(&self) -> MutexGuard<'_, HashMap<String, Seat>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, session: &str) -> Option<Seat> {
        self.all().remove(session)
    }

    /// Keeps an agent until its next reply. Call it on a thread that may block, because it may end the agent that was
    /// idle the longest.
    pub(super) fn keep(&self, session: String, seat: Seat) {
        let mut all = self.all();
        let oldest = (all.len() >= MOST_AGENTS).then(|| all.iter().min_by_key(|(_, seat)| seat.used));
        let evicted = oldest.flatten().map(|(session, _)| session.clone()).and_then(|session| all.remove(&session));
        all.insert(session, seat);
        drop(all);
        // Ending an agent blocks, so the map is unlocked first.
        drop(evicted);
    }

    /// Ends the agent of this conversation, which unlocks its transcript. Call it on a thread that may block.
    pub(super) fn evict(&self, session: &str) {
        drop(self.take(session));
    }

    /// Adds a note for all models about changes to files between two replies.
    pub(super) fn note(&self, note: &str) {
        self.all().values_mut().for_each(|seat| seat.agent.note(note));
    }

    /// Ends agents that were idle for too long. Runs until the future is dropped.
    pub(super) async fn sweep(self: Arc<Seats>) {
        loop {
            sleep(IDLE / 30).await;
            let seats = self.clone();
            let swept = spawn_blocking(move || seats.clear(IDLE));
            let _ = swept.await;
        }
    }

    /// Ends agents that were idle for this time.
    pub(super) fn clear(&self, idle: Duration) {
        let mut all = self.all();
        let old: Vec<_> = all.extract_if(|_, seat| seat.used.elapsed() >= idle).collect();
        drop(all);
        drop(old);
    }
}

/// Reads a reply, or a piece of one, in the conversation whose id begins with `id`, or in a new one.
pub(super) async fn reply(
    shared: &Arc<ApiState>,
    id: String,
    request: ReplyRequest,
    stream: bool,
) -> Result<Response, Trouble> {
    let place = run::reserve_place(shared)?;
    // A full id finds the agent in memory without reading the list of conversations from disk.
    let (mut known, mut file) = (take_agent(shared, &id)?, None);
    if known.is_none() && id != NEW {
        let found = sessions::file(shared, id).await?;
        known = sessions::id_of(&found).map(|session| take_agent(shared, &session)).transpose()?.flatten();
        file = Some(found);
    }
    let (mut seat, session) = match known {
        Some(known) => known,
        None => begin(shared, file).await?,
    };
    seat.used = Instant::now();
    // All pieces of a reply together have the size limit of one body.
    let bytes = seat.pieces.len() + request.text.len();
    if bytes > shared.options.body {
        seat.pieces.clear();
        keep(shared, session, seat).await;
        return Err(Trouble::new(
            413,
            "too_large",
            text!("The body has more than {bytes} bytes.", bytes = shared.options.body),
        ));
    }
    seat.pieces.push_str(&request.text);
    if request.more {
        let message = text!("The reply has {bytes} {bytes|byte|bytes} so far.", bytes).render(shared.options.language);
        let data = TurnSoFar::new(session.clone());
        keep(shared, session, seat).await;
        return Ok(json_response(202, &AgentAnswer { success: true, message, data, error: None }));
    }
    let Seat { mut agent, backend, pieces, .. } = seat;
    // A reply between two rounds continues the last turn, and any other reply begins the next one.
    let turn = agent.recorded().map_or(0, |transcript| transcript.turn()) + u64::from(!agent.is_between_rounds());
    // The seat was taken, so no other reply of this conversation runs.
    let feed = shared.feeds.begin(&session, turn).ok_or_else(run::conflict)?;
    let title = pieces.trim_start().lines().next().unwrap_or_default().to_owned();
    backend.set(pieces, request.finish);
    Running::of_reply(shared.clone(), agent, backend, title, session, place).respond(Some(feed), stream).await
}

/// Takes the agent of this conversation out of memory, if it is there.
fn take_agent(shared: &ApiState, session: &str) -> Result<Option<(Seat, String)>, Trouble> {
    match shared.feeds.is_running(session) {
        true => Err(run::conflict()),
        false => Ok(shared.seats.take(session).map(|seat| (seat, session.to_owned()))),
    }
}

/// Resumes the conversation in a file, or begins a new one.
async fn begin(shared: &Arc<ApiState>, file: Option<PathBuf>) -> Result<(Seat, String), Trouble> {
    let failed = || Trouble::new(500, "internal", text!("The server could not answer; its own output may say why."));
    let (agents, backend) = (shared.agents.clone(), Arc::new(BroughtReply::default()));
    let brought = backend.clone();
    let begun = spawn_blocking(move || agents.conversation(None, None, file.as_deref(), Some(brought))).await;
    let mut agent = begun.map_err(|_| failed())?.map_err(|error| run::agent_error(&error))?;
    let session = agent.recorded().map(|transcript| transcript.id().to_owned());
    Ok((Seat::new(agent, backend), session.ok_or_else(failed)?))
}

async fn keep(shared: &Arc<ApiState>, session: String, seat: Seat) {
    let seats = shared.seats.clone();
    let _ = spawn_blocking(move || seats.keep(session, seat)).await;
}
