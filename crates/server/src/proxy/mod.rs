//! A proxy that provides function calling to clients, in front of an upstream that supports only text.
//!
//! It supports three APIs: OpenAI's Chat Completions and Responses, and Anthropic's Messages. Each has a reader, which
//! returns a neutral request, and a writer for the answers. The core is independent of the API. It converts the tools
//! of a request to instructions, the calls and results of its history to blocks, and the blocks of the reply to calls,
//! which are emitted while the model still writes them. The proxy runs no tools and judges no calls: the client does.
//! Between two requests, the proxy stores only two things: the learned traits of the models (whether their template
//! opens the reasoning, and the dialect of their calls), and the latest texts that Responses clients may refer to.
//!
//! ```text
//! client --> guard, route --> reader --> request + history --> upstream --> reply --> writer --> client
//!                               |                  ^                          |
//!                               |                  +-- asked again ----------+
//!                               |
//!                               +--- chat without tools ---> upstream --> client, byte for byte
//! ```
//!
//! Text that was sent cannot be taken back, so a call is streamed only as far as it was read strictly; the rest waits
//! for its end. If a block cannot be read, the proxy asks the model again, unless a part of it was sent: then the
//! stream ends with an error event, never with `finish_reason: tool_calls`. Calls that could only be read by guessing
//! are never passed on.
//!
//! ```no_run
//! # async fn serve() -> toolfence_protocol::Result<()> {
//! use toolfence_server::proxy::{Proxy, ProxyOptions};
//!
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:4141").await.expect("a free port");
//! Proxy::new(ProxyOptions::new("http://127.0.0.1:8080/v1"))?.serve(listener, std::future::pending()).await
//! # }
//! ```

mod answer_format;
mod answers;
mod api;
mod arguments;
mod chat;
mod conversation;
mod guard;
mod held;
mod history;
mod messages;
mod models;
mod offer;
mod output;
mod piece;
mod plain;
mod raw;
mod reply;
mod request;
mod responses;
mod route;
mod server;
mod trouble;
mod turn;
mod upstream;

pub use models::Profiles;
pub use offer::ToolDetails;

use crate::connections::Connections;
use axum::Router;
use models::Models;
use offer::ReportedTools;
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use toolfence_protocol::parse::{ParserLimits, Reasoning};
use toolfence_protocol::{Dialects, Error, Language};
use upstream::Upstream;

/// The upstream, access rules and limits.
#[derive(Clone)]
#[non_exhaustive]
pub struct ProxyOptions {
    /// The base URL of the upstream, with `/v1`, which is added if the URL has no path.
    pub upstream: String,
    /// The key for the upstream. It is sent if the client sends no key, or sends the key of the proxy.
    pub upstream_key: Option<String>,
    /// The bearer token that clients must send. Without it, anyone may use the proxy, and the clients' own keys go to
    /// the upstream.
    pub key: Option<String>,
    /// Additional headers of every request to the upstream, by name. They replace those of the client.
    pub headers: Vec<(String, String)>,
    /// The URL of an HTTP proxy for the upstream, which replaces those from the environment, or `none` for no proxy. An
    /// upstream on this machine is always reached directly.
    pub proxy: Option<String>,
    /// Certificate authorities that are trusted in addition to those of the system, in PEM.
    pub authorities: Option<Vec<u8>>,
    /// The client certificate for the upstream with its chain and private key, in PEM.
    pub identity: Option<Vec<u8>>,
    /// The language of the instructions, of answers to the model, and of errors to the client.
    pub language: Language,
    /// Whether the template of the upstream opens reasoning. If that is unknown, a call is passed on only after a
    /// section of reasoning or at the end of the reply; otherwise while it is being received. The first reply with a
    /// closing tag and no opening tag shows that the template opens reasoning, and later replies of the same model are
    /// read accordingly.
    pub reasoning: Reasoning,
    /// How long a connection to the upstream may take.
    pub connect: Duration,
    /// How long the upstream may take to begin its answer. Without streaming, the answer begins when the model is done.
    pub first_byte: Duration,
    /// How long the upstream may be silent, and how long a client may take to send the body of its request.
    pub between: Duration,
    /// How long a client may read nothing before its connection is closed.
    pub stalled: Duration,
    /// The most bytes of a request, and of an upstream answer that is not streamed to the client.
    pub body: usize,
    /// The most bytes of one event of the upstream's stream.
    pub event: usize,
    /// The most connections at a time. Further clients wait. While more than half of them are in use, a request must
    /// arrive within a few seconds.
    pub connections: usize,
    /// How often the proxy asks again after an unusable reply.
    pub asked_again: u32,
    /// How long answers in progress may take when the proxy shuts down.
    pub grace: Duration,
    /// Origins of web pages that may use the proxy, such as `https://chat.example`. On a loopback address, other pages
    /// may use it only if they are served by this machine.
    pub origins: Vec<String>,
    /// The limits of the parser for replies.
    pub limits: ParserLimits,
    /// The dialects in which calls are read, in addition to the blocks that the instructions teach.
    pub dialects: Dialects,
    /// How the model learns the tools of a client.
    pub tool_details: ToolDetails,
    /// Stores the learned traits of the upstream's models. Without it, they are lost when the proxy ends.
    pub profiles: Option<Arc<dyn Profiles>>,
}

impl ProxyOptions {
    /// Returns the defaults for an upstream: 10 s to connect, 5 minutes to the first byte, 2 minutes of silence, 5
    /// minutes for a client that does not read; 16 MiB a request, 8 MiB an event; 512 connections; two more tries; 10 s
    /// to end.
    pub fn new(upstream: impl Into<String>) -> ProxyOptions {
        ProxyOptions {
            upstream: upstream.into(),
            upstream_key: None,
            key: None,
            headers: Vec::new(),
            proxy: None,
            authorities: None,
            identity: None,
            language: Language::English,
            reasoning: Reasoning::Unknown,
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(300),
            between: Duration::from_secs(120),
            stalled: Duration::from_secs(300),
            body: 16 << 20,
            event: 8 << 20,
            connections: 512,
            asked_again: 2,
            grace: Duration::from_secs(10),
            origins: Vec::new(),
            limits: ParserLimits::default(),
            dialects: Dialects::ALL,
            tool_details: ToolDetails::Auto,
            profiles: None,
        }
    }
}

impl fmt::Debug for ProxyOptions {
    /// Prints the options without the keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProxyOptions").field("upstream", &self.upstream).finish_non_exhaustive()
    }
}

/// The configured proxy. [`Proxy::serve`] starts it.
#[derive(Debug)]
pub struct Proxy {
    options: ProxyOptions,
    upstream: Upstream,
}

/// The state that all connections share.
#[derive(Debug)]
struct ProxyState {
    options: ProxyOptions,
    upstream: Upstream,
    connections: Connections,
    models: Models,
    /// The latest texts of answers of the API Responses.
    texts: Arc<responses::texts::PastTexts>,
    /// The lists of tools whose unchecked patterns were logged.
    reported: ReportedTools,
    /// Whether the listener has a loopback address.
    loopback: bool,
}

impl Proxy {
    /// Creates a proxy without opening a connection.
    ///
    /// # Errors
    /// Fails if the upstream is not a URL, or if its key is not a valid header value.
    pub fn new(options: ProxyOptions) -> Result<Proxy, Error> {
        let upstream = Upstream::new(&options)?;
        Ok(Proxy { options, upstream })
    }

    /// Answers clients until `end` is ready; then answers in progress get their grace period.
    ///
    /// If `listener` has a loopback address, only requests to a loopback name that do not come from a foreign page are
    /// answered. Dropping the future ends everything at once.
    ///
    /// # Errors
    /// Fails if the listener has no address.
    pub async fn serve(self, listener: TcpListener, end: impl Future<Output = ()>) -> Result<(), Error> {
        let address = listener.local_addr().map_err(|error| Error::because("tell where the proxy listens", error))?;
        let Proxy { options, upstream } = self;
        let models = Models::new(options.profiles.clone());
        let connections = Connections::new(options.connections, options.stalled, options.grace);
        let shared = Arc::new(ProxyState {
            options,
            upstream,
            connections,
            models,
            reported: ReportedTools::default(),
            texts: Arc::default(),
            loopback: address.ip().is_loopback(),
        });
        // Each API has its own form of errors, also for unknown paths and methods, so one fallback handles all routes.
        let router = Router::new().fallback(server::answer).with_state(shared.clone());
        shared.connections.serve(listener, router, end).await;
        Ok(())
    }
}
