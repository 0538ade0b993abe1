//! Produces one answer for a client, with one request to the upstream, or several if the model's replies are not
//! usable.
//!
//! It feeds the upstream's answer to the reply and passes on the reply's outputs. It does not depend on sockets or on
//! the client's headers.

use super::ProxyState;
use super::answer_format::AnswerFormat;
use super::offer::Offer;
use super::output::{Finish, FinishedBy, Output, Writer, append};
use super::piece::{Piece, Usage};
use super::reply::{Outcome, Reply};
use super::request::{Projected, asked_again, constrained, with_format};
use super::trouble::Trouble;
use crate::body::Pieces;
use hyper::body::Bytes;
use hyper::header::CONTENT_TYPE;
use hyper::{HeaderMap, Method};
use reqwest::Response;
use serde_json::Value;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::timeout;
use toolfence_agent::http::sse::{Events, TooLong};
use toolfence_protocol::parse::Options;
use toolfence_protocol::{FinishReason, Text, text};

/// The time without output after which a client gets a comment, so that it does not time out while a call is held back.
const MOST_QUIET: Duration = Duration::from_secs(10);

/// The most replies of one answer in which the model asks for tool descriptions.
const MOST_QUESTIONS: u32 = 8;

/// An answer in progress.
pub(super) struct Turn {
    pub(super) shared: Arc<ProxyState>,
    /// The URL of requests, with the client's query.
    url: reqwest::Url,
    headers: HeaderMap,
    body: String,
    pub(super) offer: Arc<Offer>,
    /// The model that answers, as named by the client.
    model: String,
    /// The format of the final answer. Text is held until it is known to match.
    format: Option<AnswerFormat>,
    held: String,
    /// Whether the client wants the answer as a stream.
    pub(super) streamed: bool,
    /// The prefix of the ids of calls.
    ids: String,
    usage: Usage,
    /// The bytes received from the upstream so far.
    received: u64,
}

/// The destination of the answer and its writer.
pub(super) struct Out {
    writer: Box<dyn Writer>,
    way: Way,
}

enum Way {
    Stream {
        pieces: Pieces,
        buffer: String,
        sent: Instant,
        /// Whether text was sent.
        has_text: bool,
    },
    /// The answer is sent when it is complete.
    Whole(Vec<Output>),
}

/// The reason why an answer ends early.
#[derive(Debug)]
pub(super) enum EarlyEnd {
    /// The client has disconnected.
    Gone,
    /// An error.
    Trouble(Trouble),
}

impl From<Trouble> for EarlyEnd {
    fn from(trouble: Trouble) -> EarlyEnd {
        EarlyEnd::Trouble(trouble)
    }
}

/// The form of the upstream's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Events,
    Json,
}

impl Out {
    pub(super) fn stream(writer: Box<dyn Writer>, pieces: Pieces) -> Out {
        let way = Way::Stream { pieces, buffer: String::new(), sent: Instant::now(), has_text: false };
        let mut out = Out { writer, way };
        if let Way::Stream { buffer, .. } = &mut out.way {
            out.writer.begin(buffer);
        }
        out
    }

    pub(super) fn for_complete_answer(writer: Box<dyn Writer>) -> Out {
        Out { writer, way: Way::Whole(Vec::new()) }
    }

    fn is_stream(&self) -> bool {
        matches!(self.way, Way::Stream { .. })
    }

    /// Discards the collected outputs, because another reply replaces the last one. A stream cannot take its outputs
    /// back.
    fn begin_again(&mut self) {
        if let Way::Whole(outputs) = &mut self.way {
            outputs.clear();
        }
    }

    fn take(&mut self, output: Output) {
        match &mut self.way {
            Way::Whole(outputs) => append(outputs, output),
            Way::Stream { buffer, has_text, .. } => {
                *has_text |= matches!(output, Output::Text(_));
                self.writer.event(&output, buffer);
            }
        }
    }

    /// Returns the whole answer.
    pub(super) fn into_whole(mut self) -> String {
        let Way::Whole(outputs) = self.way else { return String::new() };
        self.writer.complete_answer(outputs)
    }

    /// Sends the buffered events to the client. While the client does not read them, nothing more is read from the
    /// upstream.
    async fn flush(&mut self, shared: &ProxyState) -> Result<(), EarlyEnd> {
        let Way::Stream { pieces, buffer, sent, .. } = &mut self.way else { return Ok(()) };
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
            Ok(Err(_)) | Err(_) => Err(EarlyEnd::Gone),
        }
    }
}

impl Turn {
    /// Creates an answer without sending a request. `ids`: the prefix of the ids of calls.
    pub(super) fn new(
        shared: Arc<ProxyState>,
        url: reqwest::Url,
        headers: HeaderMap,
        projected: Projected,
        ids: String,
    ) -> Turn {
        let Projected { body, model, offer, format, streamed, tokens: _ } = projected;
        let (held, usage) = (String::new(), Usage::default());
        Turn { shared, url, headers, body, offer, model, format, held, streamed, ids, usage, received: 0 }
    }

    /// Sends the request.
    pub(super) async fn ask(&self) -> Result<Response, Trouble> {
        tracing::debug!(target: "toolfence", request = self.body, "the upstream is asked");
        let upstream = &self.shared.upstream;
        upstream.send(Method::POST, self.url.clone(), self.headers.clone(), self.body.clone()).await
    }

    /// Sends the first request, with a grammar or the format of the answer if the upstream enforces one from the
    /// beginning.
    pub(super) async fn begin(&mut self) -> Result<Response, Trouble> {
        if self.offer.is_empty() {
            // Without tools there is no call that the format could suppress, so the upstream may enforce it at once.
            let formed = self.format.as_ref().map(|format| with_format(&self.body, &format.raw)).transpose()?;
            return self.ask_constrained(formed).await.map(|(response, _)| response);
        }
        // The format of the final answer is sent with the last request only: a server accepts a format or a grammar,
        // not both.
        let form = self.shared.models.grammar(&self.model).await.filter(|_| self.format.is_none());
        let constrained = form.and_then(|form| constrained(&self.body, form, &self.offer.grammar()));
        let (response, refused) = self.ask_constrained(constrained).await?;
        if refused {
            self.shared.models.give_up_grammar(&self.model);
        }
        Ok(response)
    }

    /// Sends the `constrained` form of the request. If the upstream refuses it, the request is sent without the
    /// constraint; the second value is `true` if that succeeds.
    async fn ask_constrained(&mut self, constrained: Option<String>) -> Result<(Response, bool), Trouble> {
        let Some(constrained) = constrained else { return Ok((self.ask().await?, false)) };
        // The accepted form stays in `body`, so later requests for this answer have the constraint too.
        let plain = std::mem::replace(&mut self.body, constrained);
        let response = self.ask().await?;
        if !matches!(response.status().as_u16(), 400 | 422 | 500 | 501) {
            return Ok((response, false));
        }
        self.body = plain;
        let response = self.ask().await?;
        let refused = response.status().is_success();
        if refused {
            tracing::info!(target: "toolfence", "the upstream refuses the grammar or the form of the answer and is asked without it");
        }
        Ok((response, refused))
    }

    /// Reads the answer, and further ones while the reply is not usable, and returns how it finished.
    pub(super) async fn run(&mut self, mut response: Response, out: &mut Out) -> Result<FinishedBy, EarlyEnd> {
        let mut reminded = false;
        let (mut left, mut questions) = (self.shared.options.asked_again, MOST_QUESTIONS);
        loop {
            let mut reply = self.reply(out.is_stream()).await;
            let finish = self.read(response, &mut reply, out).await?;
            // Each arm ends the answer, or returns the message with which the model is asked again.
            let message = match reply.outcome() {
                Outcome::Passed { calls: 0 } => return self.finish_formatted(finish, &reply, out).await,
                Outcome::Passed { .. } => {
                    self.emit_held(out);
                    return Ok(FinishedBy::Calls);
                }
                Outcome::Help { message } if questions > 0 && reply.text().is_some() => {
                    questions -= 1;
                    message
                }
                Outcome::Help { .. } => {
                    return Err(Trouble::reply(given_up(text!("it was asked too often"))).into());
                }
                // This reply has no fault and can itself be the answer, so the model is reminded only once.
                Outcome::Again { hard: false, .. } if left == 0 || reminded || reply.text().is_none() => {
                    return self.finish_formatted(finish, &reply, out).await;
                }
                Outcome::Again { message, hard, .. } if left > 0 && reply.text().is_some() => {
                    reminded |= !hard;
                    left -= 1;
                    message
                }
                Outcome::Again { why, .. } => return Err(Trouble::reply(given_up(why)).into()),
                Outcome::Broken(why) => {
                    return Err(Trouble::reply(text!(
                        "The reply began like a call and turned out not to be one. Send the request again. {why}",
                        why
                    ))
                    .into());
                }
            };
            tracing::info!(target: "toolfence", message, "the model is asked again");
            self.body = asked_again(&self.body, reply.text().unwrap_or_default(), &message)?;
            response = self.ask_again(None, out).await?;
        }
    }

    /// Begins a reply, which is parsed according to the traits of the model that are known so far.
    async fn reply(&self, streams: bool) -> Reply {
        let configured = self.reading();
        let mut options = configured.clone();
        self.shared.models.apply(&self.model, &mut options).await;
        let guessed = options.reasoning != configured.reasoning;
        Reply::new(self.offer.clone(), options, guessed, self.ids.clone(), streams)
    }

    /// Returns the parser options of the host.
    fn reading(&self) -> Options {
        let mut options = Options::default();
        options.reasoning = self.shared.options.reasoning;
        options.limits = self.shared.options.limits;
        options.dialects = self.shared.options.dialects;
        options
    }

    /// Sends the changed request, at first in its `constrained` form.
    async fn ask_again(&mut self, constrained: Option<String>, out: &mut Out) -> Result<Response, EarlyEnd> {
        self.usage.next();
        self.held.clear();
        out.begin_again();
        let (response, _) = self.ask_constrained(constrained).await?;
        if !response.status().is_success() {
            let status = response.status();
            return Err(Trouble::upstream(
                502,
                text!("The upstream answered {status} to the second request", status = status.to_string()),
            )
            .into());
        }
        Ok(response)
    }

    /// Sends the held text.
    fn emit_held(&mut self, out: &mut Out) {
        let held = std::mem::take(&mut self.held);
        if !held.is_empty() {
            out.take(Output::Text(held));
        }
    }

    /// Ends a reply without a call: its text must match the format of the final answer. If it does not, the model is
    /// asked once more, and this time the upstream may enforce the format.
    async fn finish_formatted(&mut self, finish: String, reply: &Reply, out: &mut Out) -> Result<FinishedBy, EarlyEnd> {
        // With the format taken, the answer to the second request is passed on as it arrives, whether it fits or not.
        let Some(format) = self.format.take() else { return Ok(FinishedBy::of_upstream(&finish)) };
        if let Some(fitting) = format.fitting(&self.held) {
            self.held = fitting.to_owned();
        } else if let Some(answered) = reply.text().filter(|_| reason(&finish) == FinishReason::Stop) {
            let language = self.offer.language;
            let message =
                text!("Now give this answer as JSON in the requested form, and nothing else.").into_string(language);
            self.body = asked_again(&self.body, answered, &message)?;
            let formed = with_format(&self.body, &format.raw)?;
            let response = self.ask_again(Some(formed), out).await?;
            let mut reply = self.reply(out.is_stream()).await;
            let finish = self.read(response, &mut reply, out).await?;
            return match reply.outcome() {
                Outcome::Passed { calls: 0 } | Outcome::Again { hard: false, .. } => {
                    Ok(FinishedBy::of_upstream(&finish))
                }
                Outcome::Passed { .. } => Ok(FinishedBy::Calls),
                Outcome::Help { .. } => Err(Trouble::reply(given_up(text!("it was asked too often"))).into()),
                Outcome::Again { why, .. } => Err(Trouble::reply(given_up(why)).into()),
                Outcome::Broken(why) => Err(Trouble::reply(text!(
                    "The reply began like a call and turned out not to be one. Send the request again. {why}",
                    why
                ))
                .into()),
            };
        }
        self.emit_held(out);
        Ok(FinishedBy::of_upstream(&finish))
    }

    /// Reads one answer to its end and returns its finish reason.
    async fn read(&mut self, mut response: Response, reply: &mut Reply, out: &mut Out) -> Result<String, EarlyEnd> {
        let shared = self.shared.clone();
        let shape = shape(&response)?;
        let before = matches!(out.way, Way::Stream { has_text: true, .. });
        let mut reading = Reading { turn: self, reply, out, finish: None, done: false, needs_gap: before };
        let mut room = reading.room(shape);
        let mut events = Events::new(shared.options.event);
        let mut whole = Vec::new();
        while !reading.is_over() {
            let next = shared.upstream.next(&mut response).await;
            // Some servers close the connection right after the finish reason.
            let next = if reading.finish.is_some() { Ok(next.unwrap_or_default()) } else { next };
            let Some(bytes) = reading.or_emit_first(next).await? else { break };
            reading.turn.received += bytes.len() as u64;
            room = room.checked_sub(bytes.len() as u64).ok_or_else(|| answer_too_long(shared.options.body))?;
            match shape {
                Shape::Json => whole.extend_from_slice(&bytes),
                Shape::Events => {
                    let ended = reading
                        .or_emit_first(events.feed(&bytes).map_err(|TooLong| event_too_long(shared.options.event)))
                        .await?;
                    for event in ended {
                        let handled = reading.event(&event);
                        reading.or_emit_first(handled).await?;
                    }
                    reading.out.flush(&shared).await?;
                }
            }
        }
        // The last event of a stream may lack the blank line that ends it. A JSON answer is read like one event.
        let last = match shape {
            Shape::Json => Some(String::from_utf8_lossy(&whole).into_owned()),
            Shape::Events => events.finish(),
        };
        if let Some(last) = last {
            let handled = reading.event(&last);
            reading.or_emit_first(handled).await?;
        }
        let finish = reading.end(&shared).await?;
        tracing::debug!(target: "toolfence", reply = reply.text(), finish, "the model has replied");
        if self.offer.is_empty() {
            // A plain reply shows nothing about the model.
            return Ok(finish);
        }
        let (summary, dialects) = reply.observations();
        if let Some(new) = shared.models.note(&self.model, &self.reading(), summary, reason(&finish), dialects) {
            shared.models.keep(&self.model, new).await;
        }
        Ok(finish)
    }

    /// Completes the answer, also with an error. Fails only if the client has disconnected.
    async fn finish(&mut self, response: Response, out: &mut Out) -> Result<(), EarlyEnd> {
        let reason = self.run(response, out).await?;
        out.take(Output::Finished(Finish { reason, usage: self.usage.sum() }));
        Ok(())
    }

    /// Reads the answer, and returns it when it is complete.
    pub(super) async fn read_complete(
        mut self,
        response: Response,
        writer: Box<dyn Writer>,
    ) -> Result<String, EarlyEnd> {
        let mut out = Out::for_complete_answer(writer);
        self.finish(response, &mut out).await?;
        Ok(out.into_whole())
    }

    /// Runs a stream to its end. A failure becomes the last event.
    pub(super) async fn stream(mut self, response: Response, writer: Box<dyn Writer>, pieces: Pieces) {
        let mut out = Out::stream(writer, pieces);
        match self.finish(response, &mut out).await {
            Ok(()) => {}
            Err(EarlyEnd::Gone) => return,
            Err(EarlyEnd::Trouble(trouble)) => out.take(Output::Failed(trouble)),
        }
        // This fails only if the client has disconnected.
        let _ = out.flush(&self.shared).await;
    }
}

/// One answer of the upstream in progress.
struct Reading<'a> {
    turn: &'a mut Turn,
    reply: &'a mut Reply,
    out: &'a mut Out,
    finish: Option<String>,
    /// Whether the end marker of the stream was received.
    done: bool,
    /// Whether text of an earlier reply was sent, so that a gap is needed.
    needs_gap: bool,
}

impl Reading<'_> {
    /// Returns the most bytes of the answer. Only a streamed answer has no limit: any other is kept in memory.
    fn room(&self, shape: Shape) -> u64 {
        let most = self.turn.shared.options.body as u64;
        match (self.out.is_stream(), shape) {
            // The limit applies to all replies of the answer together.
            (true, Shape::Events) if self.out.writer.keeps_text() => most.saturating_sub(self.turn.received),
            (true, Shape::Events) => u64::MAX,
            (false, _) | (_, Shape::Json) => most,
        }
    }

    fn is_over(&self) -> bool {
        self.done || self.reply.is_over()
    }

    /// Handles one event.
    fn event(&mut self, data: &str) -> Result<(), Trouble> {
        if self.is_over() || data.trim() == "[DONE]" {
            self.done = true;
            return Ok(());
        }
        let piece: Piece<'_> = serde_json::from_str(data).map_err(|error| {
            Trouble::upstream(
                502,
                text!("The upstream's answer is not JSON of this API: {error}", error = error.to_string()),
            )
        })?;
        if let Some(error) = piece.error {
            return Err(Trouble::upstream(502, upstream_message(error.get())));
        }
        self.out.writer.note_upstream(&piece);
        self.turn.usage.add_piece(&piece);
        let content = piece.content();
        self.finish = content.finish.or(self.finish.take());
        if !content.reasoning.is_empty() {
            self.out.take(Output::Reasoning(content.reasoning));
        }
        if !content.text.is_empty() {
            self.reply.push(&content.text);
            self.emit_outputs();
        }
        Ok(())
    }

    fn emit_outputs(&mut self) {
        while let Some(output) = self.reply.poll() {
            if let (Some(_), Output::Text(text)) = (&self.turn.format, &output) {
                self.turn.held.push_str(text);
                continue;
            }
            if self.needs_gap && matches!(output, Output::Text(_)) {
                self.needs_gap = false;
                self.out.take(Output::Text("\n\n".into()));
            }
            self.out.take(output);
        }
    }

    /// On failure, first sends the outputs that precede it.
    async fn or_emit_first<T>(&mut self, got: Result<T, Trouble>) -> Result<T, EarlyEnd> {
        if let Err(trouble) = got {
            // `Cut` keeps an incomplete block from becoming a call.
            self.reply.finish(FinishReason::Cut);
            self.emit_outputs();
            self.out.flush(&self.turn.shared.clone()).await?;
            return Err(trouble.into());
        }
        got.map_err(EarlyEnd::Trouble)
    }

    async fn end(mut self, shared: &ProxyState) -> Result<String, EarlyEnd> {
        if self.reply.is_over() {
            // Text that may be a call in a `json` fence is held until the reply ends.
            self.reply.finish(FinishReason::Stop);
            self.emit_outputs();
            self.out.flush(shared).await?;
            return Ok("stop".into());
        }
        let cut = self.finish.is_none() && !self.done;
        if cut {
            let trouble = Trouble::upstream(502, text!("The upstream's answer ended early: it has no finish reason"));
            return self.or_emit_first(Err(trouble)).await;
        }
        let finish = self.finish.take().unwrap_or_else(|| "stop".into());
        self.reply.finish(reason(&finish));
        self.emit_outputs();
        self.out.flush(shared).await?;
        Ok(finish)
    }
}

/// Converts the finish reason. An unknown reason counts as a cut, so that an incomplete block never becomes a call.
fn reason(finish: &str) -> FinishReason {
    match finish {
        "stop" | "eos" | "eos_token" | "stop_token" | "end_turn" | "tool_calls" | "function_call" => FinishReason::Stop,
        "length" => FinishReason::Length,
        _ => FinishReason::Cut,
    }
}

fn shape(response: &Response) -> Result<Shape, Trouble> {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match kind.as_str() {
        "text/event-stream" => Ok(Shape::Events),
        "application/json" => Ok(Shape::Json),
        _ => Err(Trouble::upstream(
            502,
            text!(
                "The upstream answered with {kind} instead of JSON or an event stream",
                kind = format!("{kind:.64?}")
            ),
        )),
    }
}

/// Checks that the answer can be read, before the client gets its head.
pub(super) fn readable(response: &Response) -> Result<(), Trouble> {
    shape(response).map(|_| ())
}

fn event_too_long(limit: usize) -> Trouble {
    Trouble::upstream(502, text!("An event of the upstream is longer than {limit} bytes", limit = limit as u64))
}

fn answer_too_long(limit: usize) -> EarlyEnd {
    Trouble::upstream(502, text!("The upstream's answer is longer than {limit} bytes", limit = limit as u64)).into()
}

/// Returns the message of an upstream's error, shortened.
pub(super) fn upstream_message(error: &str) -> Text {
    let value: Value = serde_json::from_str(error).unwrap_or_else(|_| error.into());
    let value = value.get("error").unwrap_or(&value);
    let message = value.get("message").unwrap_or(value);
    let message = message.as_str().map_or_else(|| message.to_string(), str::to_owned);
    let short: String = message.chars().take(2000).collect();
    text!("The upstream's message: {message}", message = short)
}

fn given_up(why: Text) -> Text {
    text!("The model was asked again and still wrote no usable call. {why}", why)
}
