//! What went wrong, in the words of no API. The writer of each API makes its error object of it, as an answer of its own or as an
//! event.
//!
//! Its reader is a program first and a person second: status and type are the API's, the message says what to do.

use toolfence_protocol::Text;

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Trouble {
    /// The status of an answer that has not begun.
    pub(super) status: u16,
    pub(super) kind: &'static str,
    pub(super) message: Text,
    /// Whether the same request may go better: clients of the API ask the header `x-should-retry`.
    pub(super) again: bool,
    /// A code by which clients of one API know what to do.
    pub(super) code: Option<&'static str>,
}

impl Trouble {
    /// The request is wrong.
    pub(super) fn request(message: impl Into<Text>) -> Trouble {
        Trouble::refused(400, message)
    }

    /// The same with a code.
    pub(super) fn with_code(mut self, code: &'static str) -> Trouble {
        self.code = Some(code);
        self
    }

    /// The request is refused with a status of its own.
    pub(super) fn refused(status: u16, message: impl Into<Text>) -> Trouble {
        let kind = if status == 401 { "authentication_error" } else { "invalid_request_error" };
        Trouble { status, kind, message: message.into(), again: false, code: None }
    }

    /// The upstream cannot be used: 502, or 504 where it is too slow.
    pub(super) fn upstream(status: u16, message: impl Into<Text>) -> Trouble {
        Trouble { status, kind: "upstream_error", message: message.into(), again: true, code: None }
    }

    /// The model's reply cannot be used, and it was asked often enough.
    pub(super) fn reply(message: impl Into<Text>) -> Trouble {
        Trouble { status: 502, kind: "malformed_call", message: message.into(), again: false, code: None }
    }
}
