//! Builds the requests to the upstream, which does not support function calling. This module does not depend on HTTP.

use super::answer_format::AnswerFormat;
use super::conversation::NeutralRequest;
use super::history::History;
use super::offer::{Offer, ToolDetails};
use super::raw::Members;
use super::trouble::Trouble;
use serde_json::json;
use serde_json::value::RawValue;
use std::sync::Arc;
use toolfence_protocol::grammar::Form;
use toolfence_protocol::{Language, prompt, text};

/// The request to the upstream that replaces the client's.
#[derive(Debug)]
pub(super) struct Projected {
    pub(super) body: String,
    /// The estimated tokens of its messages.
    pub(super) tokens: u64,
    /// The requested model.
    pub(super) model: String,
    pub(super) offer: Arc<Offer>,
    /// The format of the final answer, if it is held back.
    pub(super) format: Option<AnswerFormat>,
    /// Whether the client wants the answer as a stream.
    pub(super) streamed: bool,
}

/// Builds the request to the upstream: tools become instructions, and calls and results become text.
pub(super) fn project(
    mut asked: NeutralRequest<'_>,
    language: Language,
    details: ToolDetails,
) -> Result<Projected, Trouble> {
    let offer = Offer::new(&mut asked, language, details)?;
    let NeutralRequest { mut members, model, messages, format: wanted, streamed, .. } = asked;
    let format = wanted.as_deref().and_then(AnswerFormat::read);
    if let Some(wanted) = wanted.filter(|_| format.is_none()) {
        // This format allows any text, so it suppresses no call and need not be held back.
        members.set("response_format", &wanted);
    }
    let form = format.as_ref().map(|format| format.instructions(offer.is_empty()));
    let form = form.map(|form| form.into_string(language)).unwrap_or_default();
    let instructions = format!("{}\n{form}", offer.instructions());
    // Past calls have the form that the instructions teach.
    let bodies = Some(&*offer.catalog).filter(|catalog| prompt::teaches_bodies(catalog));
    let (messages, tokens) = History::project(messages, instructions.trim(), bodies);
    members.set("messages", &RawValue::from_string(messages).map_err(wrong)?);
    Ok(Projected { body: members.print(), model, tokens, offer: Arc::new(offer), format, streamed })
}

/// Adds a grammar to the request. Returns `None` if the request already constrains its answer.
pub(super) fn constrained(body: &str, form: Form, gbnf: &str) -> Option<String> {
    let mut request: Members<'_> = serde_json::from_str(body).ok()?;
    // With these members, clients of vLLM and llama.cpp constrain the answer themselves.
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

/// Adds the required format of the answer to the request.
pub(super) fn with_format(body: &str, format: &RawValue) -> Result<String, Trouble> {
    let mut request: Members<'_> = serde_json::from_str(body).map_err(wrong)?;
    request.set("response_format", &format);
    Ok(request.print())
}

/// Builds the request that asks again: `body`, the previous request, with the model's `reply` and an `answer` to it
/// after its messages.
pub(super) fn asked_again(body: &str, reply: &str, answer: &str) -> Result<String, Trouble> {
    let mut request: Members<'_> = serde_json::from_str(body).map_err(wrong)?;
    let messages = request.get("messages").map_or("[]", RawValue::get);
    let before = messages.trim_end().strip_suffix(']').unwrap_or("[").trim_end();
    let comma = if before.ends_with('[') { "" } else { "," };
    let (reply, answer) = (json!({"role": "assistant", "content": reply}), json!({"role": "user", "content": answer}));
    // The array is edited as text, so the earlier messages stay as they are, byte for byte.
    let messages = format!("{before}{comma}{reply},{answer}]");
    request.set("messages", &RawValue::from_string(messages).map_err(wrong)?);
    Ok(request.print())
}

fn wrong(error: serde_json::Error) -> Trouble {
    Trouble::request(text!("The body is not a chat request: {error}", error = error.to_string()))
}
