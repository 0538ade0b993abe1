//! A request of the client, made one that an upstream without function calling understands.
//!
//! What is not about tools is passed on as the text it was. This module knows no HTTP.

use super::answer_format::AnswerFormat;
use super::history::History;
use super::offer::Offer;
use super::raw::{Elements, Members};
use super::trouble::Trouble;
use crate::messages;
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use std::borrow::Cow;
use toolfence_protocol::grammar::Form;
use toolfence_protocol::{Language, prompt};

/// What the upstream is asked in place of the request.
#[derive(Debug)]
pub(super) struct Projected {
    pub(super) body: String,
    /// The model that is asked for.
    pub(super) model: String,
    /// The tools on offer; `None` where only the history told of some.
    pub(super) offer: Option<Offer>,
    /// What the client wants of the final answer, where that is held back.
    pub(super) format: Option<AnswerFormat>,
    /// Whether the client wants the answer as a stream.
    pub(super) streamed: bool,
    /// Whether it wants the usage at the end of it.
    pub(super) wants_usage: bool,
}

/// Reads the body of a request. `None`: it has nothing to do with tools and goes on as it is.
pub(super) fn project(body: &str, language: Language) -> Result<Option<Projected>, Trouble> {
    let wrong = |error: serde_json::Error| Trouble::request(messages::no_chat_request(error.to_string()));
    let mut request: Members<'_> = serde_json::from_str(body).map_err(wrong)?;
    let messages: Elements<'_> = match request.get("messages") {
        Some(messages) => serde_json::from_str(messages.get()).map_err(wrong)?,
        None => Elements(Vec::new()),
    };
    let offer = Offer::read(&request, language)?;
    let tools = request.get("tools").is_some_and(|tools| tools.get() != "[]");
    if !tools && !messages.0.iter().any(|message| tells_of_tools(message)) {
        return Ok(None);
    }
    if offer.is_some() && request.get("n").is_some_and(|n| n.get() != "1") {
        return Err(Trouble::request(messages::several_answers()));
    }
    let format = request.get("response_format").filter(|_| offer.is_some()).and_then(AnswerFormat::read);
    let told = offer.as_ref().map(|offer| {
        let form = format.as_ref().map(|format| format.told().into_string(language)).unwrap_or_default();
        format!("{}\n{form}", offer.told()).trim_end().to_owned()
    });
    // What the model wrote is shown to it in the form that it is taught.
    let bodies = offer.as_ref().map(|offer| &*offer.catalog).filter(|catalog| prompt::teaches_bodies(catalog));
    let messages = History::project(&messages.0, told.as_deref(), bodies)?;
    let streamed = request.get("stream").is_some_and(|value| value.get() == "true");
    let usage =
        request.get("stream_options").and_then(|options| serde_json::from_str::<StreamOptions>(options.get()).ok());
    request.remove(&["tools", "tool_choice", "parallel_tool_calls"]);
    if format.is_some() {
        // A server that enforces it would let the model write no call.
        request.remove(&["response_format"]);
    }
    request.set("messages", &RawValue::from_string(messages).map_err(wrong)?);
    let wants_usage = usage.is_some_and(|options| options.include_usage);
    let model = request.text("model").unwrap_or_default().into_owned();
    Ok(Some(Projected { body: request.print(), model, offer, format, streamed, wants_usage }))
}

/// The request to the upstream with a grammar; `None` where it says itself what its answer has to be.
pub(super) fn constrained(body: &str, form: Form, gbnf: &str) -> Option<String> {
    let mut request: Members<'_> = serde_json::from_str(body).ok()?;
    let own = ["guided_json", "guided_regex", "guided_choice", "json_schema"];
    let plain = |format: &RawValue| format.get().contains("\"text\"");
    let says = own.iter().any(|name| request.get(name).is_some())
        || Form::ALL.iter().any(|form| request.get(form.name()).is_some())
        || request.get("response_format").is_some_and(|format| !plain(format));
    if says {
        return None;
    }
    let (member, value) = form.member(gbnf);
    request.set(member, &value);
    Some(request.print())
}

/// The request to the upstream that asks again: `body`, the request before, with the model's `reply` and an `answer` to it behind
/// its messages. `format`: the form that the next reply must have.
pub(super) fn asked_again(body: &str, reply: &str, answer: &str, format: Option<&RawValue>) -> Result<String, Trouble> {
    let wrong = |error: serde_json::Error| Trouble::request(messages::no_chat_request(error.to_string()));
    let mut request: Members<'_> = serde_json::from_str(body).map_err(wrong)?;
    let messages = request.get("messages").map_or("[]", RawValue::get);
    let before = messages.trim_end().strip_suffix(']').unwrap_or("[").trim_end();
    let comma = if before.ends_with('[') { "" } else { "," };
    let (reply, answer) = (json!({"role": "assistant", "content": reply}), json!({"role": "user", "content": answer}));
    let messages = format!("{before}{comma}{reply},{answer}]");
    request.set("messages", &RawValue::from_string(messages).map_err(wrong)?);
    if let Some(format) = format {
        request.set("response_format", &format);
    }
    Ok(request.print())
}

#[derive(Deserialize)]
struct StreamOptions {
    #[serde(default)]
    include_usage: bool,
}

/// What says whether a message is of function calling.
#[derive(Deserialize)]
struct Head<'a> {
    #[serde(default, borrow)]
    role: Option<Cow<'a, str>>,
    #[serde(default, borrow)]
    tool_calls: Option<&'a RawValue>,
    #[serde(default, borrow)]
    function_call: Option<&'a RawValue>,
}

fn tells_of_tools(message: &RawValue) -> bool {
    let Ok(head) = serde_json::from_str::<Head<'_>>(message.get()) else { return false };
    let is_answer = matches!(head.role.as_deref(), Some("tool" | "function"));
    is_answer || head.tool_calls.is_some() || head.function_call.is_some()
}
