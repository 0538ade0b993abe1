//! A proxy for clients that insist on function calling, in front of an upstream that only talks.
//!
//! It speaks three APIs: Chat Completions and Responses of OpenAI, and Messages of Anthropic. Each has a reader, which makes a
//! neutral request, and a writer for the answers. The core in between knows no API: the tools of a request become instructions,
//! calls and results of its history become blocks, and the blocks of the reply become calls, emitted while they are still being
//! written. The proxy runs no tools and judges no calls: that is the client's business. It keeps nothing between two requests except
//! what replies have shown of the models: whether their template opens the reasoning, and in which dialect they write calls.
//!
//! ```text
//! client --> guard, route --> reader --> request + history --> upstream --> reply --> writer --> client
//!                               |                  ^                          |
//!                               |                  +-- asked again ----------+
//!                               |
//!                               +--- chat without tools ---> upstream --> client, byte for byte
//! ```
//!
//! What was sent cannot be taken back, so a call is streamed only as far as it was read strictly; the rest of it waits for
//! its end. A block that cannot be read is asked for again where nothing of it was sent; else the stream ends with an error
//! event, never with `finish_reason: tool_calls`. Readings that are a guess never pass.
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

/// Who is asked, who may ask, and how much.
#[derive(Clone)]
#[non_exhaustive]
pub struct ProxyOptions {
    /// The base URL of the upstream, with `/v1`; that is added where there is no path.
    pub upstream: String,
    /// The upstream's key, where the client sends none or sends the proxy's.
    pub upstream_key: Option<String>,
    /// What clients must send as a bearer token. Without it everybody may ask, and what they send goes to the upstream.
    pub key: Option<String>,
    /// More headers of every request to the upstream, by name. One that the client sends too gives way.
    pub headers: Vec<(String, String)>,
    /// The URL of a proxy on the way to the upstream, in the place of those that the environment names, or `none` for no proxy. An
    /// upstream on this machine is reached without one.
    pub proxy: Option<String>,
    /// Authorities that are trusted beside those of the system: certificates in PEM.
    pub authorities: Option<Vec<u8>>,
    /// The proxy's own certificate for the upstream, with those above it, and its private key, in PEM.
    pub identity: Option<Vec<u8>>,
    /// The language of the instructions, of what the model is answered, and of the errors that the client gets.
    pub language: Language,
    /// Whether the template of the upstream opens reasoning. Where it is unknown, a call is passed on when the reply is over, or
    /// when a section of reasoning has shown how the model thinks; else while it is still coming. The first reply with a closing
    /// tag and no opening one shows that it does, and later replies of the same model are read so.
    pub reasoning: Reasoning,
    /// How long a connection to the upstream may take.
    pub connect: Duration,
    /// How long the upstream may take to begin its answer. Without streaming it begins when the model is done.
    pub first_byte: Duration,
    /// How long the upstream may be silent, and how long a client may take to send the body of its request.
    pub between: Duration,
    /// How long a client may not read before it is given up.
    pub stalled: Duration,
    /// Bytes of a request, and of an answer of the upstream that is not passed on as a stream.
    pub body: usize,
    /// Bytes of one event of the upstream's stream.
    pub event: usize,
    /// Connections at a time. More clients wait. While more than half of them are in use, a request has to arrive within a few seconds.
    pub connections: usize,
    /// How often a reply that cannot be used is asked for again.
    pub asked_again: u32,
    /// How long answers that are under way may take when the proxy ends.
    pub grace: Duration,
    /// Origins of web pages that may use the proxy, such as `https://chat.example`. On a loopback address no other page may, unless it
    /// is of this machine.
    pub origins: Vec<String>,
    /// How much of a reply is read.
    pub limits: ParserLimits,
    /// The dialects in which calls of the model are read, beside the blocks that the instructions teach.
    pub dialects: Dialects,
    /// How the model learns the tools of a client.
    pub tool_details: ToolDetails,
    /// Who keeps what replies have shown of the upstream's models. Without anybody it is known as long as the proxy runs.
    pub profiles: Option<Arc<dyn Profiles>>,
}

impl ProxyOptions {
    /// The defaults for an upstream: 10 s to connect, 5 minutes to the first byte, 2 minutes of silence, 5 minutes for a
    /// client that does not read; 16 MiB a request, 8 MiB an event; 512 connections; two more tries; 10 s to end.
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
    /// Without the keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProxyOptions").field("upstream", &self.upstream).finish_non_exhaustive()
    }
}

/// The proxy, before it listens.
#[derive(Debug)]
pub struct Proxy {
    options: ProxyOptions,
    upstream: Upstream,
}

/// What all connections share.
#[derive(Debug)]
struct Shared {
    options: ProxyOptions,
    upstream: Upstream,
    connections: Connections,
    models: Models,
    /// The latest texts of answers of the API Responses.
    texts: Arc<responses::texts::PastTexts>,
    /// The lists of tools whose unchecked patterns were logged.
    reported: ReportedTools,
    /// Only this machine can ask.
    loopback: bool,
}

impl Proxy {
    /// Nothing is sent and nobody is listened to yet.
    ///
    /// # Errors
    /// The upstream is not a URL, or its key cannot stand in a header.
    pub fn new(options: ProxyOptions) -> Result<Proxy, Error> {
        let upstream = Upstream::new(&options)?;
        Ok(Proxy { options, upstream })
    }

    /// Answers clients until `end` is ready; then answers that are under way get their time to end.
    ///
    /// Where `listener` has a loopback address, only requests to a loopback name and of no foreign page are answered.
    /// Dropping the future ends everything at once.
    ///
    /// # Errors
    /// The listener has no address.
    pub async fn serve(self, listener: TcpListener, end: impl Future<Output = ()>) -> Result<(), Error> {
        let address = listener.local_addr().map_err(|error| Error::because("tell where the proxy listens", error))?;
        let Proxy { options, upstream } = self;
        let models = Models::new(options.profiles.clone());
        let connections = Connections::new(options.connections, options.stalled, options.grace);
        let shared = Arc::new(Shared {
            options,
            upstream,
            connections,
            models,
            reported: ReportedTools::default(),
            texts: Arc::default(),
            loopback: address.ip().is_loopback(),
        });
        // Its routes are those of several APIs, each with errors of its own form.
        let router = Router::new().fallback(server::answer).with_state(shared.clone());
        shared.connections.serve(listener, router, end).await;
        Ok(())
    }
}
