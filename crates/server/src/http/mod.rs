//! Turns and tools over HTTP, for clients in any language and for the built-in page.
//!
//! A request is a turn: the prompt of a user, with the client's record of earlier turns. A model answers it with the
//! tools of the project, or the request names one tool and its arguments, and no model is involved. Either way, calls
//! are judged, approved and logged like everywhere else. Between two requests the server keeps turns that wait for an
//! approval, conversations on disk, and the state described in `replies` and `feed`.
//!
//! ```text
//! client --> access --> routes --+-- POST /api/agent ----------> request --> run --> answer: JSON, or the events of the pipe
//!                                |                                           ^
//!                                +-- POST /api/approvals/{id} --> approvals --+
//!                                +-- POST /api/sessions/{id}/turns --> the same, in a recorded conversation
//!                                +-- tools, sessions, health, openapi.json, the page
//! ```
//!
//! Architecture invariant: a client without the token gets only the server's health and the files of the page. A turn
//! of `POST /api/agent` ends with its connection; a turn in a conversation continues until it is cancelled. Both end
//! with their time limit and with the server.
//!
//! This module does not create agents: [`Agents`] does, which knows the project, the model and the settings.

mod access;
mod answer;
mod approvals;
mod feed;
#[cfg(test)]
mod openapi;
mod outbox;
mod outputs;
mod page;
mod project;
mod replies;
mod request;
mod routes;
mod run;
mod sessions;
mod together;
mod types;

pub use project::ModelFacts;
pub use routes::{OPENAPI, ROUTES};

use crate::connections::Connections;
use access::Access;
use answer::Trouble;
use approvals::Approvals;
use feed::Feeds;
use replies::Seats;
use run::Whole;
use serde_json::Value;
use std::fmt;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use together::Together;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::{AbortHandle, JoinSet, spawn_blocking};
use toolfence_agent::agent::Agent;
use toolfence_agent::backend::Backend;
use toolfence_agent::transcript::Store;
use toolfence_protocol::{Catalog, Error, Language, Text, text};
use toolfence_sandbox::project::random_name;
use toolfence_session::persona::Persona;
use toolfence_workspace::Workspace;
use toolfence_workspace::undo::OpenTurn;

/// Creates the agents that answer requests.
pub trait Agents: Send + Sync {
    /// Returns the tools that requests can name.
    fn tools(&self) -> Catalog;

    /// Returns the personas that requests can name now. The first one answers if a request names none. The server calls
    /// this on a thread that may block.
    fn personas(&self) -> Vec<Persona>;

    /// Returns an agent for one request. Its model can call only `tool`, or all tools of its persona. `backend`
    /// replaces the persona's model.
    ///
    /// # Errors
    /// Fails if no agent can be created. The message gives the reason and a remedy.
    fn agent(
        &self,
        persona: Option<&str>,
        tool: Option<&str>,
        backend: Option<Arc<dyn Backend>>,
    ) -> Result<Agent, Text>;

    /// Returns an agent that resumes the conversation in this file, or begins a new one that is recorded. `backend`
    /// replaces the model with the replies that a client sends, whose number is not limited.
    ///
    /// # Errors
    /// Fails with [`Busy`](toolfence_protocol::ErrorKind::Busy) if another process uses the conversation, with
    /// [`NotFound`](toolfence_protocol::ErrorKind::NotFound) if it does not exist, and with
    /// [`Other`](toolfence_protocol::ErrorKind::Other) if no model is available. Any other kind means that the
    /// conversation cannot be read.
    fn conversation(
        &self,
        persona: Option<&str>,
        tool: Option<&str>,
        file: Option<&Path>,
        backend: Option<Arc<dyn Backend>>,
    ) -> Result<Agent, Error>;

    /// Returns the persona and the instructions, for a model that the client talks to.
    fn instructions(&self) -> String;

    /// Returns the project, whose long outputs clients may read.
    fn workspace(&self) -> Arc<Workspace>;

    /// Returns facts about the default persona's model, for display. The default implementation returns none.
    fn model(&self) -> ModelFacts {
        ModelFacts::default()
    }

    /// Begins a turn that can be undone, if undo is available. The server calls this while no other turn runs, on a
    /// thread that may block: turns that run at the same time are undone together. `title` is one line; it may hold
    /// secrets that the client wrote into its prompt.
    fn begin(&self, title: &str) -> Option<OpenTurn>;

    /// Undoes the last turn, or with `redo` the last undo, while no turn runs. Returns the outcome for each file as
    /// JSON, or `None` if there is nothing to undo.
    ///
    /// # Errors
    /// Fails if nothing could be undone. The message gives the reason.
    fn undo(&self, redo: bool) -> Result<Option<Value>, Text>;

    /// Notes the end of a turn, also if its client has disconnected. `agent` is `None` if no model was involved. The
    /// server calls this on a thread that may block.
    fn turn_ended(&self, persona: Option<&str>, agent: Option<&mut Agent>);
}

/// Returns a random token.
///
/// # Errors
/// Fails if the operating system provides no random numbers.
pub fn random_token() -> Result<String, Error> {
    let random = || random_name().map_err(|error| Error::because("make a token", error));
    Ok(random()? + &random()?)
}

/// Access rules and limits.
#[derive(Clone)]
#[non_exhaustive]
pub struct ApiOptions {
    /// The bearer token that clients must send. A page exchanges it for a cookie.
    pub token: String,
    /// The language of errors, status messages and notes to the model about its context.
    pub language: Language,
    /// Names of this server in addition to the loopback names, such as that of a reverse proxy in front of it.
    pub hosts: Vec<String>,
    /// Origins of pages of other servers that may use this one with its token, such as `https://chat.example`.
    pub origins: Vec<String>,
    /// The recorded conversations, and the root of their project.
    pub sessions: Option<(Store, PathBuf)>,
    /// Whether new conversations are recorded, so that a turn can belong to one.
    pub recording: bool,
    /// The most bytes of a request body.
    pub body: usize,
    /// How long the body of a request may take on a server with free connections.
    pub arrival: Duration,
    /// The most turns at a time; more are refused.
    pub turns: usize,
    /// How long a turn may take.
    pub turn: Duration,
    /// How long the server waits for an approval; then the call does not run.
    pub approval: Duration,
    /// The most connections at a time. Further clients wait. While more than half of them are in use, a request must
    /// arrive within a few seconds.
    pub connections: usize,
    /// How long a client may read nothing before its connection is closed.
    pub stalled: Duration,
    /// How long a stream may be silent before the server sends a keep-alive comment.
    pub silence: Duration,
    /// How long answers in progress may take when the server shuts down.
    pub grace: Duration,
}

impl ApiOptions {
    /// Returns the defaults: 4 MiB and 60 s a request; 64 turns of at most 30 minutes; 5 minutes for an approval; 2048
    /// connections; a minute for a client that does not read; a comment every 15 s; 10 s to end.
    pub fn new(token: impl Into<String>) -> ApiOptions {
        ApiOptions {
            token: token.into(),
            language: Language::English,
            hosts: Vec::new(),
            origins: Vec::new(),
            sessions: None,
            recording: false,
            body: 4 << 20,
            arrival: Duration::from_secs(60),
            turns: 64,
            turn: Duration::from_secs(1800),
            approval: Duration::from_secs(300),
            connections: 2048,
            stalled: Duration::from_secs(60),
            silence: Duration::from_secs(15),
            grace: Duration::from_secs(10),
        }
    }
}

impl fmt::Debug for ApiOptions {
    /// Prints the options without the token.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiOptions").field("hosts", &self.hosts).finish_non_exhaustive()
    }
}

/// The configured API. [`Api::serve`] starts it.
pub struct Api {
    options: ApiOptions,
    agents: Arc<dyn Agents>,
}

impl fmt::Debug for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Api").field("options", &self.options).finish_non_exhaustive()
    }
}

/// The state that all connections share.
struct ApiState {
    options: ApiOptions,
    agents: Arc<dyn Agents>,
    /// The tools that requests can name.
    catalog: Catalog,
    access: Access,
    connections: Connections,
    approvals: Approvals<Whole>,
    /// The events of turns in conversations.
    feeds: Arc<Feeds>,
    /// The agents whose replies come from clients.
    seats: Arc<Seats>,
    together: Together,
    /// One permit for each turn that may run at a time.
    places: Arc<Semaphore>,
    /// The turns that run.
    running: Mutex<JoinSet<()>>,
    /// Permits for recording the end of a turn. Without them, each of many turns that end at once would block a thread
    /// while it waits for the files.
    ending: Arc<Semaphore>,
}

impl ApiState {
    /// Returns the personas that requests can name now: their files may have changed since the last request.
    async fn personas(&self) -> Result<Vec<Persona>, Trouble> {
        let agents = self.agents.clone();
        let read = spawn_blocking(move || agents.personas()).await;
        read.map_err(|_| {
            Trouble::new(500, "internal", text!("The server could not answer; its own output may say why."))
        })
    }

    /// Runs a turn in a task that does not belong to a connection, so that the server can end all turns when it shuts
    /// down.
    fn spawn(&self, turn: impl Future<Output = ()> + Send + 'static) -> AbortHandle {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        // Remove the turns that have ended, or the set would grow as long as the server runs.
        while running.try_join_next().is_some() {}
        running.spawn(turn)
    }
}

/// Aborts the running turns when it is dropped. Dropping `ApiState` would not: a turn that waits for an approval holds a
/// reference to it.
struct EndsAll(Arc<ApiState>);

impl Drop for EndsAll {
    fn drop(&mut self) {
        self.0.running.lock().unwrap_or_else(PoisonError::into_inner).abort_all();
    }
}

impl Api {
    /// Creates an API with these options, whose agents come from `agents`. It accepts no connection before
    /// [`Api::serve`] is called.
    pub fn new(options: ApiOptions, agents: Arc<dyn Agents>) -> Api {
        Api { options, agents }
    }

    /// Answers clients until `end` is ready; then answers in progress get their grace period. When the future is ready,
    /// everything that turns have started has ended. Dropping the future ends everything at once.
    ///
    /// # Errors
    /// Fails if the listener has no address, or if the operating system provides no random numbers.
    pub async fn serve(self, listener: TcpListener, end: impl Future<Output = ()>) -> Result<(), Error> {
        let Api { options, agents } = self;
        let address = listener.local_addr().map_err(|error| Error::because("tell where the server listens", error))?;
        let access = Access::new(&options, address)?;
        let connections = Connections::new(options.connections, options.stalled, options.grace);
        let places = Arc::new(Semaphore::new(options.turns));
        let shared = Arc::new(ApiState {
            options,
            catalog: agents.tools(),
            agents,
            access,
            connections,
            approvals: Approvals::default(),
            feeds: Arc::default(),
            seats: Arc::default(),
            together: Together::default(),
            places,
            running: Mutex::default(),
            ending: Arc::new(Semaphore::new(1)),
        });
        let _ends = EndsAll(shared.clone());
        shared.spawn(shared.seats.clone().sweep());
        shared.connections.serve(listener, routes::router(shared.clone()), end).await;
        // The connections are closed. Turns of conversations run without one, so they are aborted here.
        let mut running = std::mem::take(&mut *shared.running.lock().unwrap_or_else(PoisonError::into_inner));
        running.shutdown().await;
        // An aborted turn leaves its group in a task of its own, and the last one still has to end the undo record.
        shared.together.wait_until_idle().await;
        // Agents that wait for a reply still hold their transcripts and background commands.
        let cleared = spawn_blocking(move || shared.seats.clear(Duration::ZERO)).await;
        cleared.map_err(|error| Error::because("end the conversations", error))
    }
}
