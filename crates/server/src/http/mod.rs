//! Turns and tools over HTTP, for a client in any language, and for a page.
//!
//! A request is a turn: the prompt of a user, with what the client remembers of earlier ones. A model answers it with the tools of the
//! project, or the request names one tool and its arguments, and no model is asked. Either way the calls are judged, asked about and
//! logged as anywhere else. Nothing is kept between two requests but turns that wait for an approval, and conversations on the disk.
//!
//! ```text
//! client --> access --> routes --+-- POST /api/agent ----------> request --> run --> answer: JSON, or the events of the pipe
//!                                |                                           ^
//!                                +-- POST /api/approvals/{id} --> approvals --+
//!                                +-- POST /api/sessions/{id}/turns --> the same, in a conversation that is written down
//!                                +-- tools, sessions, health, openapi.json, the page
//! ```
//!
//! Architecture invariant: a client without the token gets only the health of the server and the files of the page. A turn of
//! `POST /api/agent` ends with its connection; a turn in a conversation continues until it is cancelled. Both end with their time limit and
//! with the server.
//!
//! It makes no agents: [`Agents`] does, which knows the project, the model and the settings.

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

/// Who makes the agents that answer.
pub trait Agents: Send + Sync {
    /// The tools that requests can name.
    fn tools(&self) -> Catalog;

    /// The personas that requests can name now. The first one answers where none is named. The server asks on a thread that may block.
    fn personas(&self) -> Vec<Persona>;

    /// An agent for one request, whose model has this tool alone or all of its persona. Where a backend is given, that one answers.
    ///
    /// # Errors
    /// Why nobody can answer, and what to do.
    fn agent(
        &self,
        persona: Option<&str>,
        tool: Option<&str>,
        backend: Option<Arc<dyn Backend>>,
    ) -> Result<Agent, Text>;

    /// An agent that goes on with the conversation in this file, or begins a new one that is written down. Where a backend is given, that one
    /// answers: with the replies that a client brings, whose number is not limited.
    ///
    /// # Errors
    /// Why not: of the kind [`Busy`](toolfence_protocol::ErrorKind::Busy) where somebody else is in that conversation, of
    /// [`NotFound`](toolfence_protocol::ErrorKind::NotFound) where there is none, and of
    /// [`Other`](toolfence_protocol::ErrorKind::Other) where nobody can answer. Any other kind says that it cannot be read.
    fn conversation(
        &self,
        persona: Option<&str>,
        tool: Option<&str>,
        file: Option<&Path>,
        backend: Option<Arc<dyn Backend>>,
    ) -> Result<Agent, Error>;

    /// The persona and the instructions, for a model to which a client brings them.
    fn instructions(&self) -> String;

    /// The project, whose long outputs clients may read.
    fn workspace(&self) -> Arc<Workspace>;

    /// The model that answers if a request names no persona, for display. By default nothing is known of it.
    fn model(&self) -> ModelFacts {
        ModelFacts::default()
    }

    /// Begins a turn that can be undone, if turns can. The server calls it when nothing else runs, on a thread that may block: turns
    /// that run at the same time are undone together. `title` is what it is called: one line, with whatever secrets the client wrote into it.
    fn begin(&self, title: &str) -> Option<OpenTurn>;

    /// Takes back what the last turn changed, or the last undo, while no turn runs. Gives what was done; `None` where there is nothing.
    ///
    /// # Errors
    /// Why nothing was done.
    fn undo(&self, redo: bool) -> Result<Option<Value>, Text>;

    /// A turn is over, also where its client left: that of this agent of a persona, where a model was asked. It is told on a thread
    /// that may block.
    fn ended(&self, persona: Option<&str>, agent: Option<&mut Agent>);
}

/// A token that nobody can guess.
///
/// # Errors
/// The system gives no random numbers.
pub fn random_token() -> Result<String, Error> {
    let random = || random_name().map_err(|error| Error::because("make a token", error));
    Ok(random()? + &random()?)
}

/// Who may ask, and how much.
#[derive(Clone)]
#[non_exhaustive]
pub struct ApiOptions {
    /// What clients must send as a bearer token. A page exchanges it for a cookie.
    pub token: String,
    /// The language of errors and of what happened, and of what the model is told of the context.
    pub language: Language,
    /// Names of this server beside those of loopback: what a reverse proxy in front of it is called.
    pub hosts: Vec<String>,
    /// Origins of pages of other servers that may use this one with its token, such as `https://chat.example`.
    pub origins: Vec<String>,
    /// The conversations that were written down, and the root of the project whose they are.
    pub sessions: Option<(Store, PathBuf)>,
    /// Whether new conversations are written down, so that a turn can belong to one.
    pub recording: bool,
    /// Bytes of a request.
    pub body: usize,
    /// How long the body of a request may take on a server with free connections.
    pub arrival: Duration,
    /// Turns at a time; more are refused.
    pub turns: usize,
    /// How long a turn may take.
    pub turn: Duration,
    /// How long an approval is waited for; then the call does not run.
    pub approval: Duration,
    /// Connections at a time. More clients wait. While more than half of them are in use, a request has to arrive within a few seconds.
    pub connections: usize,
    /// How long a client may not read before it is given up.
    pub stalled: Duration,
    /// How long a stream may be silent before a comment says that it goes on.
    pub silence: Duration,
    /// How long answers that are under way may take when the server ends.
    pub grace: Duration,
}

impl ApiOptions {
    /// The defaults: 4 MiB and 60 s a request; 64 turns of at most 30 minutes; 5 minutes for an approval; 2048 connections; a minute
    /// for a client that does not read; a comment every 15 s; 10 s to end.
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
    /// Without the token.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiOptions").field("hosts", &self.hosts).finish_non_exhaustive()
    }
}

/// The API, before it listens.
pub struct Api {
    options: ApiOptions,
    agents: Arc<dyn Agents>,
}

impl fmt::Debug for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Api").field("options", &self.options).finish_non_exhaustive()
    }
}

/// What all connections share.
struct Shared {
    options: ApiOptions,
    agents: Arc<dyn Agents>,
    /// The tools that requests can name.
    catalog: Catalog,
    access: Access,
    connections: Connections,
    approvals: Approvals<Whole>,
    /// The events of turns in conversations.
    feeds: Arc<Feeds>,
    /// The agents whose replies clients bring.
    seats: Arc<Seats>,
    together: Together,
    /// A place for each turn at a time.
    places: Arc<Semaphore>,
    /// The turns that run.
    running: Mutex<JoinSet<()>>,
    /// The right to write down how a turn ended: of many that end at once, each would take a thread, and wait there for the files.
    ending: Arc<Semaphore>,
}

impl Shared {
    /// The personas that requests can name now: a person may have written one since the last request.
    async fn personas(&self) -> Result<Vec<Persona>, Trouble> {
        let agents = self.agents.clone();
        let read = spawn_blocking(move || agents.personas()).await;
        read.map_err(|_| {
            Trouble::new(500, "internal", text!("The server could not answer; its own output may say why."))
        })
    }

    /// Runs a turn beside the connections, so that all turns can be ended with the server.
    fn spawn(&self, turn: impl Future<Output = ()> + Send + 'static) -> AbortHandle {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        while running.try_join_next().is_some() {}
        running.spawn(turn)
    }
}

/// Ends the turns that run when it is dropped. A turn that waits for an approval holds what is shared, and nobody waits for it.
struct EndsAll(Arc<Shared>);

impl Drop for EndsAll {
    fn drop(&mut self) {
        self.0.running.lock().unwrap_or_else(PoisonError::into_inner).abort_all();
    }
}

impl Api {
    /// An API with these options, whose agents come from `agents`. It listens to nobody before [`Api::serve`] is called.
    pub fn new(options: ApiOptions, agents: Arc<dyn Agents>) -> Api {
        Api { options, agents }
    }

    /// Answers clients until `end` is ready; then answers that are under way get their time to end. When the future is ready, all that
    /// turns have started has ended. Dropping it ends everything at once.
    ///
    /// # Errors
    /// The listener has no address, or the system gives no random numbers.
    pub async fn serve(self, listener: TcpListener, end: impl Future<Output = ()>) -> Result<(), Error> {
        let Api { options, agents } = self;
        let address = listener.local_addr().map_err(|error| Error::because("tell where the server listens", error))?;
        let access = Access::new(&options, address)?;
        let connections = Connections::new(options.connections, options.stalled, options.grace);
        let places = Arc::new(Semaphore::new(options.turns));
        let shared = Arc::new(Shared {
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
        let mut running = std::mem::take(&mut *shared.running.lock().unwrap_or_else(PoisonError::into_inner));
        running.shutdown().await;
        shared.together.over().await;
        let cleared = spawn_blocking(move || shared.seats.clear(Duration::ZERO)).await;
        cleared.map_err(|error| Error::because("end the conversations", error))
    }
}
