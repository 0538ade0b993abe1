//! The APIs that clients can use. Each has a reader, which returns a neutral request, and a writer for the answers.

use super::chat::writer::ChatWriter;
use super::conversation::NeutralRequest;
use super::messages::writer::MessagesWriter;
use super::output::Writer;
use super::responses::texts::PastTexts;
use super::responses::writer::ResponsesWriter;
use super::trouble::Trouble;
use super::{chat, messages, responses};
use std::sync::Arc;
use toolfence_protocol::Language;

/// An API that clients can use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Api {
    /// Chat Completions of OpenAI, which the upstream uses too.
    Chat,
    /// Responses of OpenAI.
    Responses,
    /// Messages of Anthropic.
    Messages,
}

/// A parsed request and the writer of its answer.
pub(super) struct ApiRequest<'a> {
    pub(super) asked: NeutralRequest<'a>,
    pub(super) writer: Box<dyn Writer>,
}

/// The unique identity of an answer.
pub(super) struct Identity {
    /// Hexadecimal digits.
    pub(super) digits: String,
    /// Seconds since 1970.
    pub(super) created: u64,
}

impl Api {
    /// Returns the name in debug output.
    pub(super) fn name(self) -> &'static str {
        match self {
            Api::Chat => "chat",
            Api::Responses => "responses",
            Api::Messages => "messages",
        }
    }

    /// Reads the body of a request. Returns `None` if the request can be forwarded unchanged.
    pub(super) fn read<'a>(
        self,
        body: &'a str,
        identity: &Identity,
        language: Language,
        texts: &Arc<PastTexts>,
    ) -> Result<Option<ApiRequest<'a>>, Trouble> {
        let (digits, created) = (identity.digits.clone(), identity.created);
        match self {
            Api::Chat => {
                let Some((asked, wants_usage)) = chat::reader::read(body)? else { return Ok(None) };
                let id = format!("chatcmpl-{digits}");
                let writer = Box::new(ChatWriter::new(id, created, wants_usage, language));
                Ok(Some(ApiRequest { asked, writer }))
            }
            Api::Responses => {
                let mut request = responses::reader::read(body, texts)?;
                let writer = Box::new(ResponsesWriter::new(&mut request, digits, created, language, texts.clone()));
                Ok(Some(ApiRequest { asked: request.asked, writer }))
            }
            Api::Messages => {
                let asked = messages::reader::read(body)?;
                let writer = Box::new(MessagesWriter::new(&digits, asked.model.clone(), language));
                Ok(Some(ApiRequest { asked, writer }))
            }
        }
    }

    /// Returns the prefix of the ids of calls.
    pub(super) fn call_ids(self, identity: &Identity) -> String {
        let prefix = if self == Api::Messages { "toolu" } else { "call" };
        format!("{prefix}_{}", identity.digits)
    }

    /// Returns the body of an error answer.
    pub(super) fn error(self, trouble: &Trouble, language: Language) -> String {
        match self {
            Api::Chat | Api::Responses => chat::writer::error(trouble, language),
            Api::Messages => messages::writer::error(trouble, language),
        }
    }
}
