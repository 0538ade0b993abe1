//! A backend for models over HTTP: any server with an OpenAI-compatible API, by its base URL or by the name of a
//! provider.
//!
//! Each reply is one request, streamed as server-sent events. The module distinguishes ends from cuts, limits waits,
//! retries until a reply begins, and gives advice in errors. It reads no environment: the host supplies the key and the
//! address; [`Preset`] has the address of a provider and the usual variable for its key.

mod calls;
mod events;
mod failure;
mod local;
mod overflow;
mod preset;
mod quirks;
mod retry_after;
mod window;

use super::{Backend, Chunk, Sink, Usage};
use crate::http::{Route, sse};
use crate::redact::Redactor;
use calls::Calls;
use events::{StreamEvent, finish_of};
use failure::Failure;
pub use local::{LocalModel, LocalServer, choose_model, local_servers, models};
pub use preset::Preset;
use quirks::Quirks;
use reqwest::header::{
    ACCEPT, AUTHORIZATION, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue,
    TRANSFER_ENCODING, USER_AGENT,
};
use reqwest::{Client, Response, Url};
use serde_json::{Map, Value};
use std::fmt;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};
use tokio::time::{self, Instant};
use toolfence_policy::toolbox::BoxFuture;
use toolfence_protocol::{Error, ErrorKind, FinishReason, Message, Text, text};

/// The maximum number of bytes of one event, and of a reply that is not streamed.
const LONGEST_EVENT: usize = 8 << 20;

/// The maximum number of bytes of an error response that are read.
const LONGEST_REFUSAL: usize = 64 << 10;

/// The settings of a model over HTTP: its name, its address and its limits.
#[derive(Clone)]
#[non_exhaustive]
pub struct HttpOptions {
    /// The name of the model on the server. Without a base URL it also names the provider: [`Preset::of_model`].
    pub model: String,
    /// The base URL of the OpenAI-compatible API, such as `http://127.0.0.1:8080/v1`; `None` for a provider that the
    /// model's name determines.
    pub base_url: Option<String>,
    /// The bearer token; `None` sends none.
    pub key: Option<String>,
    /// The maximum time until the first piece of a reply.
    pub first_byte: Duration,
    /// The maximum time until each further piece.
    pub between: Duration,
    /// The maximum number of retries after status 429 or 5xx. A reply that has begun is never retried. A server that is
    /// loading its model is asked until the time for the first piece is over.
    pub retries: u32,
    /// The first wait before a retry; it doubles each time, up to a minute. A server's `Retry-After` takes precedence.
    /// If the server requests more than a minute, there is no retry.
    pub back_off: Duration,
    /// The maximum number of tokens in a reply; `None` leaves it to the server.
    pub max_tokens: Option<u32>,
    /// The sampling temperature; `None` leaves it to the server.
    pub temperature: Option<f64>,
    /// The nucleus sampling probability; `None` leaves it to the server.
    pub top_p: Option<f64>,
    /// Stop sequences: the reply ends before the first one that the model generates.
    pub stop: Vec<String>,
    /// Additional headers by name. A header of the same name as a default one replaces it.
    pub headers: Vec<(String, String)>,
    /// The maximum time to connect; `None` leaves it to the time for the first piece.
    pub connect: Option<Duration>,
    /// The URL of a proxy that replaces those of the environment, or `none` for no proxy. A server on this machine is
    /// reached without a proxy.
    pub proxy: Option<String>,
    /// Certificate authorities in PEM that are trusted in addition to those of the system.
    pub authorities: Option<Vec<u8>>,
    /// The client's certificate with its chain, and its private key, in PEM.
    pub identity: Option<Vec<u8>>,
    /// Additional members of the request's body, such as llama.cpp's `grammar`. They take precedence over all others.
    pub body: Map<String, Value>,
}

impl HttpOptions {
    /// Returns the defaults for a model: two minutes for the first piece, one for each further one, and three retries.
    pub fn new(model: impl Into<String>) -> HttpOptions {
        HttpOptions {
            model: model.into(),
            base_url: None,
            key: None,
            first_byte: Duration::from_secs(120),
            between: Duration::from_secs(60),
            retries: 3,
            back_off: Duration::from_secs(1),
            max_tokens: None,
            temperature: None,
            top_p: None,
            stop: Vec::new(),
            headers: Vec::new(),
            connect: None,
            proxy: None,
            authorities: None,
            identity: None,
            body: Map::new(),
        }
    }
}

impl fmt::Debug for HttpOptions {
    /// Leaves out the key, and the headers, proxy, identity and body, which may contain another one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = self.key.as_ref().map(|_| "...");
        f.debug_struct("HttpOptions")
            .field("model", &self.model)
            .field("base_url", &self.base_url)
            .field("key", &key)
            .finish_non_exhaustive()
    }
}

/// A model over HTTP.
pub struct Http {
    options: HttpOptions,
    client: Client,
    url: Url,
    /// The name of the model on the server.
    model: String,
    headers: HeaderMap,
    /// The known peculiarities of the server.
    quirks: Arc<Mutex<Quirks>>,
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Http").field(&self.options).finish()
    }
}

impl Http {
    /// Creates the backend without sending anything.
    ///
    /// # Errors
    /// Fails if no model is named, if it names no provider and there is no base URL, if the base URL is invalid, or if
    /// the key cannot be sent.
    pub fn new(options: HttpOptions) -> Result<Http, Error> {
        if options.model.trim().is_empty() {
            return Err(Error::with_kind(
                ErrorKind::InvalidInput,
                text!("No model is named. Name one; servers that have only one take any name."),
            ));
        }
        let named = Preset::of_model(&options.model);
        let (base, model, preset) = match (&options.base_url, named) {
            // A provider with an address per customer may still precede the model's name.
            (Some(base), Some((preset, model))) if preset.base_url.is_empty() => {
                (base.clone(), model.to_owned(), Some(preset))
            }
            (Some(base), _) => (base.clone(), options.model.clone(), Preset::by_url(base)),
            (None, Some((preset, _))) if preset.base_url.is_empty() => {
                return Err(Error::with_kind(
                    ErrorKind::InvalidInput,
                    text!(
                        "Every customer of {provider} has an address of their own: give it as the base URL, together \
                         with the model {provider}::NAME.",
                        provider = preset.name
                    ),
                ));
            }
            (None, Some((preset, model))) => (preset.base_url.to_owned(), model.to_owned(), Some(preset)),
            (None, None) => return Err(unknown_provider(&options.model)),
        };
        let url = url(&base)?;
        let route = Route {
            connect: options.connect,
            proxy: options.proxy.clone(),
            authorities: options.authorities.clone(),
            identity: options.identity.clone(),
        };
        let client = crate::http::client(&url, &route)?;
        let headers = headers(options.key.as_deref(), &options.headers)?;
        let quirks = Arc::new(Mutex::new(preset.map_or(Quirks::NONE, |preset| preset.quirks)));
        Ok(Http { options, client, url, model, headers, quirks })
    }

    fn quirks(&self) -> Quirks {
        *self.quirks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the name of the server for messages, without a password in the base URL.
    fn server_name(&self) -> String {
        let whom = self.options.base_url.as_deref().unwrap_or(&self.options.model);
        Redactor::new().text(whom).into_owned()
    }

    async fn answer(&self, messages: &[Message], sink: &mut dyn Sink) -> Result<FinishReason, Error> {
        let (mut wait, mut retries) = (self.options.back_off, self.options.retries);
        let begun = Instant::now();
        loop {
            let failure = match self.try_once(messages, sink).await {
                Ok(finish) => return Ok(finish),
                Err(failure) => failure,
            };
            let loads = failure.is_loading() && begun.elapsed() < self.options.first_byte;
            if !loads && (retries == 0 || !failure.is_passing()) {
                return Err(failure.into_error(&self.server_name()));
            }
            let mut pause = failure.retry_after().unwrap_or(wait);
            if loads {
                // A server that is loading uses no retry, so a wait of zero would repeat the request without end.
                let left = self.options.first_byte.saturating_sub(begun.elapsed());
                pause = pause.max(wait).min(failure::LONGEST_WAIT_TO_LOAD).min(left);
            }
            let why = failure.text();
            let wait_ms = u64::try_from(pause.as_millis()).unwrap_or(u64::MAX);
            tracing::info!(server = self.server_name(), failure = %why, wait_ms, "trying again");
            if sink.chunk(Chunk::Waits { why: &why, wait: pause }).is_break() {
                return Ok(FinishReason::Cut);
            }
            time::sleep(pause).await;
            let longest = if loads { failure::LONGEST_WAIT_TO_LOAD } else { failure::LONGEST_WAIT };
            wait = wait.saturating_mul(2).min(longest);
            retries -= u32::from(!loads);
        }
    }

    /// Sends one request. It fails only if no part of the reply was received.
    async fn try_once(&self, messages: &[Message], sink: &mut dyn Sink) -> Result<FinishReason, Failure> {
        if self.quirks().no_images && messages.iter().any(|message| !message.images.is_empty()) {
            return Err(Failure::NoImages { refused: None });
        }
        let body = self.body(messages).to_string();
        let request = self.client.post(self.url.clone()).headers(self.headers.clone()).body(body);
        let limit = self.options.first_byte;
        let response = match time::timeout(limit, request.send()).await {
            Ok(response) => response.map_err(Failure::Connection)?,
            Err(_) => return Err(Failure::Silent(limit)),
        };
        if !response.status().is_success() {
            let refused = refusal(response, limit).await;
            // Some servers refuse what most accept. The request is repeated in their form, which is used from then on.
            // Each repetition needs a peculiarity that was not known before, so there are only a few.
            let learned = self.quirks().learn_from(&refused, messages);
            let Some(learned) = learned else { return Err(refused) };
            *self.quirks.lock().unwrap_or_else(PoisonError::into_inner) = learned;
            if let (true, Failure::Refused { status, body, .. }) = (learned.no_images, &refused) {
                return Err(Failure::NoImages { refused: Some((*status, body.clone())) });
            }
            return Box::pin(self.try_once(messages, sink)).await;
        }
        ResponseReader::new(sink).read(response, &self.options).await
    }

    /// Returns the request's body. The host's own members take precedence.
    fn body(&self, messages: &[Message]) -> Value {
        let quirks = self.quirks();
        let mut body = Map::new();
        body.insert("model".into(), self.model.as_str().into());
        body.insert("stream".into(), true.into());
        body.insert("messages".into(), quirks.messages(messages));
        quirks.write(&mut body, self.options.max_tokens);
        if let Some(temperature) = self.options.temperature {
            body.insert("temperature".into(), temperature.into());
        }
        if let Some(top_p) = self.options.top_p {
            body.insert("top_p".into(), top_p.into());
        }
        if !self.options.stop.is_empty() {
            body.insert("stop".into(), self.options.stop.clone().into());
        }
        body.extend(self.options.body.clone());
        Value::Object(body)
    }
}

impl Backend for Http {
    fn stream<'a>(
        &'a self,
        messages: &'a [Message],
        sink: &'a mut dyn Sink,
    ) -> BoxFuture<'a, Result<FinishReason, Error>> {
        Box::pin(self.answer(messages, sink))
    }

    /// The server reports whether the model accepts images when it receives one.
    fn takes_images(&self) -> bool {
        !self.quirks().no_images
    }

    fn window(&self) -> BoxFuture<'_, Option<u64>> {
        Box::pin(self.probe())
    }

    fn with_members(&self, members: &Map<String, Value>) -> Option<Arc<dyn Backend>> {
        let mut options = self.options.clone();
        options.body.extend(members.clone());
        let (client, url, model, headers) =
            (self.client.clone(), self.url.clone(), self.model.clone(), self.headers.clone());
        // The two backends share what they learn about the server.
        Some(Arc::new(Http { options, client, url, model, headers, quirks: self.quirks.clone() }))
    }
}

/// A reply that is being received.
struct ResponseReader<'a> {
    sink: &'a mut dyn Sink,
    calls: Calls,
    /// Whether a part of the reply was received.
    begun: bool,
    /// The server's reason for the end of the reply, once it is known.
    reason: Option<String>,
    /// The usage that the server reported.
    usage: Option<Usage>,
    /// Whether the server has sent its end marker of the stream.
    done: bool,
    /// Whether an event was received.
    events: bool,
    /// Whether anything but white space was received.
    bytes: bool,
}

impl<'a> ResponseReader<'a> {
    fn new(sink: &'a mut dyn Sink) -> ResponseReader<'a> {
        let calls = Calls::default();
        ResponseReader {
            sink,
            calls,
            begun: false,
            reason: None,
            usage: None,
            done: false,
            events: false,
            bytes: false,
        }
    }

    async fn read(mut self, mut response: Response, options: &HttpOptions) -> Result<FinishReason, Failure> {
        let mut events = sse::Events::new(LONGEST_EVENT);
        loop {
            // Before the first piece the server may load the model or read a long prompt.
            let limit = if self.begun { options.between } else { options.first_byte };
            let bytes = match time::timeout(limit, response.chunk()).await {
                Ok(Ok(Some(bytes))) => bytes,
                Ok(Ok(None)) => {
                    // The last event may lack the empty line after it.
                    let last = events.finish();
                    return match last.map(|data| self.event(&data)) {
                        Some(Ok(ControlFlow::Break(finish))) => Ok(finish),
                        Some(Err(failure)) => self.broken(failure),
                        _ => self.broken(Failure::Closed),
                    };
                }
                Ok(Err(error)) => return self.broken(Failure::Connection(error)),
                Err(_) => return self.broken(Failure::Silent(limit)),
            };
            // A stream of events does not begin like this: the server cannot stream and sends the whole reply at once.
            if !self.bytes && bytes.trim_ascii_start().first() == Some(&b'{') {
                return self.read_object(bytes.to_vec(), response, options).await;
            }
            self.bytes |= !bytes.trim_ascii().is_empty();
            let Ok(ended) = events.feed(&bytes) else { return self.broken(Failure::TooLong) };
            for data in ended {
                match self.event(&data) {
                    Ok(ControlFlow::Continue(())) => {}
                    Ok(ControlFlow::Break(finish)) => return Ok(finish),
                    Err(failure) => return self.broken(failure),
                }
            }
        }
    }

    /// Receives a reply that is one object, whose beginning is given.
    async fn read_object(
        mut self,
        mut body: Vec<u8>,
        mut response: Response,
        options: &HttpOptions,
    ) -> Result<FinishReason, Failure> {
        loop {
            match time::timeout(options.first_byte, response.chunk()).await {
                Ok(Ok(Some(bytes))) if body.len() + bytes.len() <= LONGEST_EVENT => body.extend_from_slice(&bytes),
                Ok(Ok(Some(_))) => return Err(Failure::TooLong),
                Ok(Ok(None)) => break,
                Ok(Err(error)) => return Err(Failure::Connection(error)),
                Err(_) => return Err(Failure::Silent(options.first_byte)),
            }
        }
        if let ControlFlow::Break(finish) = self.event(&String::from_utf8_lossy(&body))? {
            return Ok(finish);
        }
        if !self.begun && self.reason.is_none() {
            return Err(Failure::NoStream);
        }
        // A whole object needs no end marker.
        self.done = true;
        Ok(self.end_reply())
    }

    /// Processes the data of one event. Breaks at the end of the reply, or if the sink wants no more.
    fn event(&mut self, data: &str) -> Result<ControlFlow<FinishReason>, Failure> {
        self.events = true;
        if data.trim() == "[DONE]" {
            self.done = true;
            return Ok(ControlFlow::Break(self.end_reply()));
        }
        let StreamEvent { texts, calls, reason, usage, error } = events::read(data).map_err(Failure::NotJson)?;
        if let Some(error) = error {
            return Err(Failure::Reported(error));
        }
        self.begun |= !texts.is_empty() || !calls.is_empty();
        for text in texts {
            if self.sink.chunk(text.as_chunk()).is_break() {
                return Ok(ControlFlow::Break(FinishReason::Cut));
            }
        }
        // Calls are kept until the reply has ended, because a call of an incomplete reply must not run.
        for piece in calls {
            self.calls.add(piece);
        }
        if reason.is_some() {
            self.reason = reason;
        }
        // Servers that count while they stream report the total last.
        self.usage = usage.or(self.usage);
        Ok(ControlFlow::Continue(()))
    }

    /// Returns how the reply ended, or `None` if the server sent neither a reason nor its end marker.
    fn finish(&self) -> Option<FinishReason> {
        match &self.reason {
            Some(reason) => Some(finish_of(reason)),
            None => self.done.then_some(FinishReason::Stop),
        }
    }

    /// Handles a stream that stopped without its end marker. Some servers just close the connection after the reason.
    fn broken(&mut self, failure: Failure) -> Result<FinishReason, Failure> {
        if self.finish().is_some() {
            return Ok(self.end_reply());
        }
        if !self.begun {
            let odd = matches!(failure, Failure::Closed) && self.bytes && !self.events;
            return Err(if odd { Failure::NoStream } else { failure });
        }
        Ok(self.cut(&failure.text()))
    }

    /// Ends the reply. Calls of the server's own channel are only complete if the reply is.
    fn end_reply(&mut self) -> FinishReason {
        let finish = self.finish().unwrap_or(FinishReason::Cut);
        if finish == FinishReason::Cut {
            let reason = self.reason.take().unwrap_or_default();
            return self.cut(&failure::ended_as(&reason));
        }
        if finish == FinishReason::Stop {
            for piece in std::mem::take(&mut self.calls).assemble_all() {
                if self.sink.chunk(piece.as_chunk()).is_break() {
                    return FinishReason::Cut;
                }
            }
        }
        self.count();
        finish
    }

    fn count(&mut self) {
        if let Some(usage) = self.usage.take() {
            let _ = self.sink.chunk(Chunk::Usage(usage)); // nothing follows that a break could suppress
        }
    }

    fn cut(&mut self, why: &Text) -> FinishReason {
        tracing::warn!(%why, "the reply broke off");
        // `BrokeOff` must be the last piece, so the usage precedes it.
        self.count();
        // The reply ends here, even if the sink wants more.
        let _ = self.sink.chunk(Chunk::BrokeOff(why));
        FinishReason::Cut
    }
}

/// Reads an error response. A body that does not end, or is very long, is cut.
async fn refusal(mut response: Response, limit: Duration) -> Failure {
    let retry_after = retry_after::requested_wait(response.headers(), SystemTime::now());
    let status = response.status().as_u16();
    let mut body = Vec::new();
    while let Ok(Ok(Some(bytes))) = time::timeout(limit, response.chunk()).await {
        body.extend_from_slice(&bytes);
        if body.len() >= LONGEST_REFUSAL {
            break;
        }
    }
    body.truncate(LONGEST_REFUSAL);
    Failure::Refused { status, body: String::from_utf8_lossy(&body).into_owned(), retry_after }
}

fn unknown_provider(model: &str) -> Error {
    let names: Vec<&str> = Preset::all().iter().map(|preset| preset.name).collect();
    let short = model.rsplit("::").next().unwrap_or(model);
    let message = text!(
        "The model's name {model} tells no provider. Give a base URL, or name the provider in front of it, such as \
         groq::{short}; known are {known}.",
        model = format!("{model:?}"),
        short,
        known = names.join(", ")
    );
    Error::with_kind(ErrorKind::InvalidInput, message)
}

fn url(base: &str) -> Result<Url, Error> {
    if !(base.starts_with("http://") || base.starts_with("https://")) {
        return Err(Error::with_kind(
            ErrorKind::InvalidInput,
            text!("The base URL {url} begins with neither http:// nor https://.", url = format!("{base:?}")),
        ));
    }
    let url = format!("{}/chat/completions", base.trim_end_matches('/'));
    let doing = || text!("read the base URL {url}", url = format!("{base:?}"));
    url.parse().map_err(|error| Error::because(doing(), error).of_kind(ErrorKind::InvalidInput))
}

fn headers(key: Option<&str>, more: &[(String, String)]) -> Result<HeaderMap, Error> {
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(USER_AGENT, HeaderValue::from_static(concat!("toolfence/", env!("CARGO_PKG_VERSION"))));
    if let Some(key) = key {
        let mut value = HeaderValue::from_str(&format!("Bearer {}", key.trim())).map_err(|_| {
            Error::with_kind(
                ErrorKind::InvalidInput,
                text!("The key contains a character that cannot be sent. Copy the key again from the provider."),
            )
        })?;
        // `Debug` of the header map prints no sensitive values, so the key stays out of logs.
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    for (name, value) in more {
        let wrong = || {
            Error::with_kind(
                ErrorKind::InvalidInput,
                text!(
                    "The header {name} cannot be sent: its name or its value has a forbidden character, or it controls \
                     how the request is sent.",
                    name = format!("{name:?}")
                ),
            )
        };
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong())?;
        // These headers determine where a request ends and who receives it.
        if matches!(name, HOST | CONTENT_LENGTH | TRANSFER_ENCODING | CONNECTION) {
            return Err(wrong());
        }
        let mut value = HeaderValue::from_str(value).map_err(|_| wrong())?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}
