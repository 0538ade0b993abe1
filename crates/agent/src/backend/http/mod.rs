//! A model behind HTTP: any server of the OpenAI shape by its base URL, or a provider that `genai` knows by the model's
//! name.
//!
//! The wire is `genai`'s. What is added here: which ends are ends and which are cuts, waiting with a limit, trying again
//! while nothing has come, and errors that say what to do. This module reads no environment; where no base URL and no
//! key are given, `genai` takes the provider's key from its own variable.

mod calls;
mod failure;
mod frames;

use super::{Backend, Chunk, Sink};
use calls::Calls;
use failure::Failure;
use frames::Frames;
use futures_util::StreamExt;
use genai::adapter::AdapterKind;
use genai::chat::{ChatMessage, ChatOptions, ChatRequest, ChatStream, ChatStreamEvent, StopReason, StreamEnd};
use genai::resolver::{AuthData, Endpoint};
use genai::{Client, Headers, ModelIden, ModelSpec, ServiceTarget};
use serde_json::{Map, Value};
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;
use tokio::time;
use toolfence_protocol::{Error, FinishReason, Message, Role};
use toolfence_toolbox::BoxFuture;

/// Which model, where, and how patiently.
#[derive(Clone)]
#[non_exhaustive]
pub struct HttpOptions {
    /// The model's name as the server knows it. Without a base URL it also chooses the provider.
    pub model: String,
    /// Where the OpenAI-shaped API begins, such as `http://127.0.0.1:8080/v1`; `None` for a provider by name.
    pub base_url: Option<String>,
    /// Sent as a bearer token; `None` sends none.
    pub key: Option<String>,
    /// How long the first piece of a reply may take.
    pub first_byte: Duration,
    /// How long every further piece may take.
    pub between: Duration,
    /// How often it is tried again after 429 or a 5xx status. Never once the reply has begun.
    pub retries: u32,
    /// The first wait before trying again; it doubles each time. A server's `Retry-After` goes before it, up to a minute.
    pub back_off: Duration,
    /// The most tokens of a reply; `None` leaves it to the server.
    pub max_tokens: Option<u32>,
    /// The sampling temperature; `None` leaves it to the server.
    pub temperature: Option<f64>,
    /// More members of the request's body, such as llama.cpp's `grammar`. They go before everything else.
    pub body: Map<String, Value>,
}

impl HttpOptions {
    /// The defaults for a model: two minutes for the first piece, one for every further one, three more tries.
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
            body: Map::new(),
        }
    }
}

impl fmt::Debug for HttpOptions {
    /// Without the key, and without the body, which may hold another.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = self.key.as_ref().map(|_| "...");
        f.debug_struct("HttpOptions")
            .field("model", &self.model)
            .field("base_url", &self.base_url)
            .field("key", &key)
            .finish_non_exhaustive()
    }
}

/// A model behind HTTP.
pub struct Http {
    options: HttpOptions,
    client: Client,
    target: ModelSpec,
    chat: ChatOptions,
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Http").field(&self.options).finish()
    }
}

impl Http {
    /// Nothing is sent yet.
    ///
    /// # Errors
    /// There is no model, or the base URL is not one.
    pub fn new(options: HttpOptions) -> Result<Http, Error> {
        if options.model.trim().is_empty() {
            return Err(Error::new("No model is named. Name one; servers that have only one take any name."));
        }
        let target = match &options.base_url {
            Some(url) => target(url, &options)?,
            None => ModelSpec::from_name(options.model.as_str()),
        };
        let (client, chat) = (client(&options)?, chat(&options));
        Ok(Http { options, client, target, chat })
    }

    /// Who is talked to, for messages to the person.
    fn whom(&self) -> &str {
        self.options.base_url.as_deref().unwrap_or(&self.options.model)
    }

    async fn answer(&self, messages: &[Message], sink: &mut dyn Sink) -> Result<FinishReason, Error> {
        let mut wait = self.options.back_off;
        for _ in 0..self.options.retries {
            match self.try_once(messages, sink).await {
                Ok(finish) => return Ok(finish),
                Err(failure) if failure.is_passing() => {
                    let wished = failure.retry_after().unwrap_or(wait);
                    tracing::info!(server = self.whom(), %failure, wait = ?wished, "trying again");
                    time::sleep(wished).await;
                    wait = wait.saturating_mul(2).min(failure::LONGEST_WAIT);
                }
                Err(failure) => return Err(failure.told(self.whom())),
            }
        }
        self.try_once(messages, sink).await.map_err(|failure| failure.told(self.whom()))
    }

    /// One request. It fails only where nothing of the reply came.
    async fn try_once(&self, messages: &[Message], sink: &mut dyn Sink) -> Result<FinishReason, Failure> {
        let request = ChatRequest::from_messages(messages.iter().map(chat_message).collect());
        let frames = Arc::new(Frames::default());
        let chat = self.chat.clone().with_raw_frame_sink_arc(frames.clone());
        let response = self.client.exec_chat_stream(self.target.clone(), request, Some(&chat)).await;
        let stream = response.map_err(Failure::Genai)?.stream;
        let mut reading = Reading { sink, frames, calls: Calls::default(), begun: false };
        reading.read(stream, &self.options).await
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
}

/// A reply while it comes.
struct Reading<'a> {
    sink: &'a mut dyn Sink,
    frames: Arc<Frames>,
    calls: Calls,
    begun: bool,
}

impl Reading<'_> {
    async fn read(&mut self, mut stream: ChatStream, options: &HttpOptions) -> Result<FinishReason, Failure> {
        loop {
            let limit = if self.begun { options.between } else { options.first_byte };
            let event = match time::timeout(limit, stream.next()).await {
                Ok(Some(Ok(event))) => event,
                Ok(Some(Err(error))) => return self.broken(Failure::Genai(error)),
                Ok(None) => return self.broken(Failure::Closed),
                Err(_) => return self.broken(Failure::Silent(limit)),
            };
            if let ControlFlow::Break(finish) = self.take(event) {
                return Ok(finish);
            }
        }
    }

    fn take(&mut self, event: ChatStreamEvent) -> ControlFlow<FinishReason> {
        let piece = match &event {
            ChatStreamEvent::Chunk(chunk) => Chunk::Text(&chunk.content),
            ChatStreamEvent::ReasoningChunk(chunk) => Chunk::Reasoning(&chunk.content),
            ChatStreamEvent::ToolCallChunk(chunk) => {
                self.begun = true;
                self.calls.add(&chunk.tool_call);
                return ControlFlow::Continue(());
            }
            ChatStreamEvent::End(end) => return ControlFlow::Break(self.end(end)),
            _ => return ControlFlow::Continue(()),
        };
        self.begun = true;
        self.sink.chunk(piece).map_break(|()| FinishReason::Cut)
    }

    fn end(&mut self, end: &StreamEnd) -> FinishReason {
        let finish = match &end.captured_stop_reason {
            Some(reason) => finish_of(reason),
            None => self.frames.finish().unwrap_or(FinishReason::Cut),
        };
        self.finished(finish)
    }

    /// The stream stopped without saying that it was done. Some servers just close behind the finish reason.
    fn broken(&mut self, failure: Failure) -> Result<FinishReason, Failure> {
        if let Some(finish) = self.frames.finish() {
            return Ok(self.finished(finish));
        }
        if !self.begun {
            let odd = matches!(failure, Failure::Closed) && self.frames.are_odd();
            return Err(if odd { Failure::NoStream } else { failure });
        }
        Ok(self.cut(&failure.to_string()))
    }

    /// Calls of the other channel are whole only where the reply is.
    fn finished(&mut self, finish: FinishReason) -> FinishReason {
        if finish == FinishReason::Cut {
            return self.cut(&failure::ended_as(&self.frames.reason()));
        }
        if finish == FinishReason::Stop {
            for piece in std::mem::take(&mut self.calls).whole() {
                if self.sink.chunk(piece.as_chunk()).is_break() {
                    return FinishReason::Cut;
                }
            }
        }
        finish
    }

    fn cut(&mut self, why: &str) -> FinishReason {
        tracing::warn!(why, "the reply broke off");
        // It ends here, whether or not the sink wants more.
        let _ = self.sink.chunk(Chunk::BrokeOff(why));
        FinishReason::Cut
    }
}

/// What is not known to be an end by the model itself is taken as a cut: a call is never made from half of one.
fn finish_of(reason: &StopReason) -> FinishReason {
    match reason {
        StopReason::Completed(_) | StopReason::ToolCall(_) | StopReason::StopSequence(_) => FinishReason::Stop,
        StopReason::MaxTokens(_) => FinishReason::Length,
        StopReason::Other(word) if matches!(word.as_str(), "eos" | "eos_token" | "stop_token") => FinishReason::Stop,
        StopReason::ContentFilter(_) | StopReason::Other(_) => FinishReason::Cut,
    }
}

fn chat_message(message: &Message) -> ChatMessage {
    let text = message.content.as_str();
    match message.role {
        Role::System => ChatMessage::system(text),
        Role::User => ChatMessage::user(text),
        Role::Assistant => ChatMessage::assistant(text),
    }
}

fn client(options: &HttpOptions) -> Result<Client, Error> {
    let builder = Client::builder();
    let built = match options.key.clone() {
        Some(key) => builder.with_auth_resolver_fn(move |_: ModelIden| Ok(Some(AuthData::from_single(key)))).build(),
        None => builder.build(),
    };
    built.map_err(|error| Error::because("make an HTTP client", error))
}

fn target(url: &str, options: &HttpOptions) -> Result<ModelSpec, Error> {
    if !(url.starts_with("http://") || url.starts_with("https://")) {
        return Err(Error::new(format!("The base URL {url:?} begins with neither http:// nor https://.")));
    }
    let base = format!("{}/", url.trim_end_matches('/'));
    let auth = match &options.key {
        Some(key) => AuthData::from_single(key.as_str()),
        // Without this a header with an empty key would be sent.
        None => AuthData::RequestOverride { url: format!("{base}chat/completions"), headers: Headers::default() },
    };
    let model = ModelIden::new(AdapterKind::OpenAI, plain_name(&options.model));
    Ok(ModelSpec::from_target(ServiceTarget { endpoint: Endpoint::from_owned(base), auth, model }))
}

/// `genai` reads meaning into names (`::` and endings such as `-high`). Of a name that has such, it is told another one;
/// the true name stands in the body.
fn plain_name(name: &str) -> &str {
    let ending = genai::chat::ReasoningEffort::from_model_name(name).0.is_some();
    if ending || name.contains("::") { "model" } else { name }
}

fn chat(options: &HttpOptions) -> ChatOptions {
    let mut body = Map::new();
    if options.base_url.is_some() {
        body.insert("model".into(), options.model.as_str().into());
    }
    body.extend(options.body.clone());
    let mut chat = ChatOptions::default().with_normalize_reasoning_content(false);
    chat.max_tokens = options.max_tokens;
    chat.temperature = options.temperature;
    chat.extra_body = (!body.is_empty()).then_some(Value::Object(body));
    chat
}
