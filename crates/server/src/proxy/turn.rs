//! One answer for a client: a request to the upstream, or several where the model's reply cannot be used.
//!
//! It reads what comes, gives it to the reply and passes on what the reply says. It knows no sockets and no headers of the
//! client.

use super::Shared;
use super::answer::{Piece, Stamp, Usage, Whole, delta};
use super::answer_format::AnswerFormat;
use super::offer::Offer;
use super::reply::{Delta, Outcome, Reply};
use super::request::asked_again;
use super::trouble::Trouble;
use crate::body::Pieces;
use crate::messages;
use hyper::body::Bytes;
use hyper::header::CONTENT_TYPE;
use hyper::{HeaderMap, Method};
use reqwest::Response;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::timeout;
use toolfence_agent::http::sse::{Events, TooLong};
use toolfence_protocol::parse::Options;
use toolfence_protocol::{FinishReason, Text};

/// How long a client hears nothing while a call is held back; then it gets a comment, so that it does not give up.
const MOST_QUIET: Duration = Duration::from_secs(10);

/// Where requests for chat go.
pub(super) const CHAT: &str = "/chat/completions";

/// An answer while it comes.
pub(super) struct Turn {
    pub(super) shared: Arc<Shared>,
    /// Where requests go, with the client's query.
    pub(super) url: reqwest::Url,
    pub(super) headers: HeaderMap,
    pub(super) body: String,
    pub(super) offer: Offer,
    /// The model that answers, by the name that the client gives it.
    pub(super) model: String,
    /// What the final answer has to be; text is held while it is not known to be that.
    pub(super) format: Option<AnswerFormat>,
    pub(super) held: String,
    pub(super) ids: String,
    pub(super) stamp: Stamp,
    pub(super) usage: Usage,
}

/// Where what is said goes.
pub(super) enum Out {
    Stream { pieces: Pieces, buffer: String, sent: Instant, role_told: bool, text_told: bool },
    Whole(Whole),
}

/// Why an answer ends before its end.
#[derive(Debug)]
pub(super) enum Ended {
    /// Nobody takes it any more.
    Gone,
    /// Something failed.
    Trouble(Trouble),
}

impl From<Trouble> for Ended {
    fn from(trouble: Trouble) -> Ended {
        Ended::Trouble(trouble)
    }
}

/// How the upstream's answer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Events,
    Json,
}

impl Out {
    pub(super) fn stream(pieces: Pieces) -> Out {
        Out::Stream { pieces, buffer: String::new(), sent: Instant::now(), role_told: false, text_told: false }
    }

    /// Another reply begins in place of the last one.
    fn again(&mut self) {
        match self {
            Out::Whole(whole) => *whole = Whole::default(),
            Out::Stream { .. } => {}
        }
    }

    fn take(&mut self, told: Delta, stamp: &Stamp) {
        match self {
            Out::Whole(whole) => whole.take(told),
            Out::Stream { buffer, role_told, text_told, .. } => {
                *text_told |= matches!(told, Delta::Text(_));
                let mut delta = delta(&told);
                if !std::mem::replace(role_told, true) {
                    delta["role"] = "assistant".into();
                }
                stamp.chunk(&delta, None, buffer);
            }
        }
    }

    /// Sends what is written. The upstream waits as long as the client does not read.
    async fn flush(&mut self, shared: &Shared) -> Result<(), Ended> {
        let Out::Stream { pieces, buffer, sent, .. } = self else { return Ok(()) };
        if buffer.is_empty() {
            if sent.elapsed() < MOST_QUIET {
                return Ok(());
            }
            buffer.push_str(": a call is being written\n\n");
        }
        *sent = Instant::now();
        let bytes = Bytes::from(std::mem::take(buffer));
        match timeout(shared.options.stalled, pieces.send(Ok(bytes))).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(Ended::Gone),
        }
    }
}

impl Turn {
    /// Sends the request.
    pub(super) async fn ask(&self) -> Result<Response, Trouble> {
        let upstream = &self.shared.upstream;
        upstream.send(Method::POST, self.url.clone(), self.headers.clone(), self.body.clone()).await
    }

    /// Sends the first request, with a grammar where there is one. An upstream that refuses that is asked without it.
    pub(super) async fn begin(&mut self, held: Option<String>) -> Result<Response, Trouble> {
        let Some(held) = held else { return self.ask().await };
        let plain = std::mem::replace(&mut self.body, held);
        let response = self.ask().await?;
        if !matches!(response.status().as_u16(), 400 | 422 | 500 | 501) {
            return Ok(response);
        }
        self.body = plain;
        let without = self.ask().await?;
        if without.status().is_success() {
            tracing::info!(target: "toolfence", "the upstream refuses the grammar and is asked without it");
            self.shared.models.give_up_grammar(&self.model);
        }
        Ok(without)
    }

    /// Reads the answer, and further ones where the reply cannot be used; gives the reason it finished with.
    pub(super) async fn run(&mut self, mut response: Response, out: &mut Out) -> Result<String, Ended> {
        let mut reminded = false;
        for left in (0..=self.shared.options.asked_again).rev() {
            let mut reply = self.reply(matches!(out, Out::Stream { .. })).await;
            let finish = self.read(response, &mut reply, out).await?;
            let message = match reply.outcome() {
                Outcome::Passed { calls: 0 } => return self.formatted(finish, &reply, out).await,
                Outcome::Passed { .. } => {
                    self.tell_held(out);
                    return Ok("tool_calls".into());
                }
                Outcome::Again { hard: false, .. } if left == 0 || reminded || reply.text().is_none() => {
                    return self.formatted(finish, &reply, out).await;
                }
                Outcome::Again { message, hard, .. } if left > 0 && reply.text().is_some() => {
                    reminded |= !hard;
                    message
                }
                Outcome::Again { why, .. } => return Err(Trouble::reply(messages::given_up(why)).into()),
                Outcome::Broken(why) => return Err(Trouble::reply(messages::turned_out_no_call(why)).into()),
            };
            tracing::info!(target: "toolfence", message, "the model is asked again");
            self.body = asked_again(&self.body, reply.text().unwrap_or_default(), &message, None)?;
            response = self.ask_again(out).await?;
        }
        Err(Trouble::reply(messages::given_up(messages::asked_too_often())).into())
    }

    /// A reply that begins, to be read by what is known of the model by now.
    async fn reply(&self, streams: bool) -> Reply {
        let said = self.reading();
        let mut options = said.clone();
        self.shared.models.apply(&self.model, &mut options).await;
        let guessed = options.reasoning != said.reasoning;
        Reply::new(self.offer.clone(), options, guessed, self.ids.clone(), streams)
    }

    /// How the host wants replies to be read.
    fn reading(&self) -> Options {
        let mut options = Options::default();
        options.reasoning = self.shared.options.reasoning;
        options.limits = self.shared.options.limits;
        options.dialects = self.shared.options.dialects;
        options
    }

    /// Sends the changed request.
    async fn ask_again(&mut self, out: &mut Out) -> Result<Response, Ended> {
        self.usage.next();
        self.held.clear();
        out.again();
        let response = self.ask().await?;
        if !response.status().is_success() {
            let status = response.status();
            return Err(Trouble::upstream(502, messages::answered_status(status.to_string())).into());
        }
        Ok(response)
    }

    /// Tells the text that was held.
    fn tell_held(&mut self, out: &mut Out) {
        let held = std::mem::take(&mut self.held);
        if !held.is_empty() {
            out.take(Delta::Text(held), &self.stamp);
        }
    }

    /// Ends a reply without a call: its text has to be what the client wants of the final answer. Where it is not, the model
    /// is asked once more, and then the upstream may enforce it.
    async fn formatted(&mut self, finish: String, reply: &Reply, out: &mut Out) -> Result<String, Ended> {
        let Some(format) = self.format.take() else { return Ok(plain_finish(finish)) };
        if let Some(fitting) = format.fitting(&self.held) {
            self.held = fitting.to_owned();
        } else if let Some(said) = reply.text().filter(|_| reason(&finish) == FinishReason::Stop) {
            let language = self.offer.language;
            let message = messages::give_the_answer_as_json().into_string(language);
            self.body = asked_again(&self.body, said, &message, Some(&format.raw))?;
            let response = self.ask_again(out).await?;
            let mut reply = self.reply(matches!(out, Out::Stream { .. })).await;
            let finish = self.read(response, &mut reply, out).await?;
            return match reply.outcome() {
                Outcome::Passed { calls: 0 } | Outcome::Again { hard: false, .. } => Ok(plain_finish(finish)),
                Outcome::Passed { .. } => Ok("tool_calls".into()),
                Outcome::Again { why, .. } => Err(Trouble::reply(messages::given_up(why)).into()),
                Outcome::Broken(why) => Err(Trouble::reply(messages::turned_out_no_call(why)).into()),
            };
        }
        self.tell_held(out);
        Ok(plain_finish(finish))
    }

    /// Reads one answer to its end and gives its finish reason.
    async fn read(&mut self, mut response: Response, reply: &mut Reply, out: &mut Out) -> Result<String, Ended> {
        let shared = self.shared.clone();
        let shape = shape(&response)?;
        let before = matches!(out, Out::Stream { text_told: true, .. });
        let mut reading = Reading { turn: self, reply, out, finish: None, done: false, apart: before };
        let mut room = reading.room(shape);
        let mut events = Events::new(shared.options.event);
        let mut whole = Vec::new();
        while !reading.is_over() {
            let next = shared.upstream.next(&mut response).await;
            // Some servers just close behind the finish reason.
            let next = if reading.finish.is_some() { Ok(next.unwrap_or_default()) } else { next };
            let Some(bytes) = reading.or_cut(next).await? else { break };
            room = room.checked_sub(bytes.len() as u64).ok_or_else(|| too_long(shared.options.body))?;
            match shape {
                Shape::Json => whole.extend_from_slice(&bytes),
                Shape::Events => {
                    let ended =
                        reading.or_cut(events.feed(&bytes).map_err(|TooLong| long(shared.options.event))).await?;
                    for event in ended {
                        let said = reading.event(&event);
                        reading.or_cut(said).await?;
                    }
                    reading.out.flush(&shared).await?;
                }
            }
        }
        let last = match shape {
            Shape::Json => Some(String::from_utf8_lossy(&whole).into_owned()),
            Shape::Events => events.finish(),
        };
        if let Some(last) = last {
            let said = reading.event(&last);
            reading.or_cut(said).await?;
        }
        let finish = reading.end(&shared).await?;
        let (summary, dialects) = reply.shown();
        if let Some(new) = shared.models.note(&self.model, &self.reading(), summary, reason(&finish), dialects) {
            shared.models.keep(&self.model, new).await;
        }
        Ok(finish)
    }

    /// The answer as the last thing a stream tells.
    pub(super) fn last_words(&self, finish: &str, wants_usage: bool, out: &mut Out) {
        let Out::Stream { buffer, role_told, .. } = out else { return };
        let delta = if *role_told { json!({}) } else { json!({"role": "assistant", "content": ""}) };
        self.stamp.chunk(&delta, Some(finish), buffer);
        if let Some(usage) = self.usage.sum().filter(|_| wants_usage) {
            self.stamp.usage(&usage, buffer);
        }
        buffer.push_str("data: [DONE]\n\n");
    }

    /// Drives a stream to its end; what fails is told as an event, and nothing follows it.
    pub(super) async fn stream(mut self, response: Response, pieces: Pieces, wants_usage: bool) {
        let mut out = Out::stream(pieces);
        match self.run(response, &mut out).await {
            Ok(finish) => self.last_words(&finish, wants_usage, &mut out),
            Err(Ended::Gone) => return,
            Err(Ended::Trouble(trouble)) => {
                if let Out::Stream { buffer, .. } = &mut out {
                    buffer.push_str(&format!("data: {}\n\n", trouble.body(self.shared.options.language)));
                }
            }
        }
        // Where nobody takes it any more there is nobody to tell.
        let _ = out.flush(&self.shared).await;
    }
}

/// One answer of the upstream while it is read.
struct Reading<'a> {
    turn: &'a mut Turn,
    reply: &'a mut Reply,
    out: &'a mut Out,
    finish: Option<String>,
    /// The last mark of the stream was there.
    done: bool,
    /// Text of a reply before this one was told.
    apart: bool,
}

impl Reading<'_> {
    /// Bytes of the answer that may come. Only what is told at once has no end: all else is kept.
    fn room(&self, shape: Shape) -> u64 {
        match (&self.out, shape) {
            (Out::Stream { .. }, Shape::Events) => u64::MAX,
            (Out::Whole(_), _) | (_, Shape::Json) => self.turn.shared.options.body as u64,
        }
    }

    fn is_over(&self) -> bool {
        self.done || self.reply.is_over()
    }

    /// What one event says.
    fn event(&mut self, data: &str) -> Result<(), Trouble> {
        if self.is_over() || data.trim() == "[DONE]" {
            self.done = true;
            return Ok(());
        }
        let piece: Piece<'_> = serde_json::from_str(data)
            .map_err(|error| Trouble::upstream(502, messages::no_json_of_the_api(error.to_string())))?;
        if let Some(error) = piece.error {
            return Err(Trouble::upstream(502, said(error.get())));
        }
        self.turn.stamp.seen(&piece);
        self.turn.usage.seen(&piece);
        let said = piece.said();
        self.finish = said.finish.or(self.finish.take());
        if !said.reasoning.is_empty() {
            self.out.take(Delta::Reasoning(said.reasoning), &self.turn.stamp);
        }
        if !said.text.is_empty() {
            self.reply.push(&said.text);
            self.tell();
        }
        Ok(())
    }

    fn tell(&mut self) {
        while let Some(told) = self.reply.poll() {
            if let (Some(_), Delta::Text(text)) = (&self.turn.format, &told) {
                self.turn.held.push_str(text);
                continue;
            }
            if self.apart && matches!(told, Delta::Text(_)) {
                self.apart = false;
                self.out.take(Delta::Text("\n\n".into()), &self.turn.stamp);
            }
            self.out.take(told, &self.turn.stamp);
        }
    }

    /// What came before a failure is told before it.
    async fn or_cut<T>(&mut self, got: Result<T, Trouble>) -> Result<T, Ended> {
        if let Err(trouble) = got {
            self.reply.finish(FinishReason::Cut);
            self.tell();
            self.out.flush(&self.turn.shared.clone()).await?;
            return Err(trouble.into());
        }
        got.map_err(Ended::Trouble)
    }

    async fn end(mut self, shared: &Shared) -> Result<String, Ended> {
        if self.reply.is_over() {
            return Ok("stop".into());
        }
        let cut = self.finish.is_none() && !self.done;
        if cut {
            let trouble = Trouble::upstream(502, messages::no_finish_reason());
            return self.or_cut(Err(trouble)).await;
        }
        let finish = self.finish.take().unwrap_or_else(|| "stop".into());
        self.reply.finish(reason(&finish));
        self.tell();
        self.out.flush(shared).await?;
        Ok(finish)
    }
}

/// What is not known to be an end by the model itself is taken as a cut: half a block is never a call.
fn reason(finish: &str) -> FinishReason {
    match finish {
        "stop" | "eos" | "eos_token" | "stop_token" | "end_turn" | "tool_calls" | "function_call" => FinishReason::Stop,
        "length" => FinishReason::Length,
        _ => FinishReason::Cut,
    }
}

/// The upstream's reason, where no call was passed on.
fn plain_finish(finish: String) -> String {
    if matches!(finish.as_str(), "tool_calls" | "function_call") { "stop".into() } else { finish }
}

fn shape(response: &Response) -> Result<Shape, Trouble> {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match kind.as_str() {
        "text/event-stream" => Ok(Shape::Events),
        "application/json" => Ok(Shape::Json),
        _ => Err(Trouble::upstream(502, messages::unknown_content_type(format!("{kind:.64?}")))),
    }
}

/// Whether the answer can be read, before the client is told that it begins.
pub(super) fn readable(response: &Response) -> Result<(), Trouble> {
    shape(response).map(|_| ())
}

fn long(limit: usize) -> Trouble {
    Trouble::upstream(502, messages::event_too_long(limit as u64))
}

fn too_long(limit: usize) -> Ended {
    Trouble::upstream(502, messages::answer_too_long(limit as u64)).into()
}

/// What the upstream says went wrong, short.
fn said(error: &str) -> Text {
    let value: Value = serde_json::from_str(error).unwrap_or_default();
    let message = value.get("message").unwrap_or(&value);
    let message = message.as_str().map_or_else(|| message.to_string(), str::to_owned);
    let short: String = message.chars().take(2000).collect();
    messages::upstream_said(short)
}
