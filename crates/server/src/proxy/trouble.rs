//! Errors, independent of any API. The writer of each API converts them to its error object, as an answer or as an
//! event.
//!
//! Programs read the status and the type, which follow the API. The message tells a person what to do.

use toolfence_protocol::Text;

/// The error that a client receives instead of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Trouble {
    /// The HTTP status, if the answer has not begun.
    pub(super) status: u16,
    pub(super) kind: &'static str,
    pub(super) message: Text,
    /// Whether a retry may succeed: clients read the header `x-should-retry`.
    pub(super) again: bool,
    /// An error code to which clients of one API react.
    pub(super) code: Option<&'static str>,
}

impl Trouble {
    /// Returns the error for an invalid request.
    pub(super) fn request(message: impl Into<Text>) -> Trouble {
        Trouble::refused(400, message)
    }

    /// Adds a code.
    pub(super) fn with_code(mut self, code: &'static str) -> Trouble {
        self.code = Some(code);
        self
    }

    /// Returns the error for a request that is refused with this status.
    pub(super) fn refused(status: u16, message: impl Into<Text>) -> Trouble {
        let kind = if status == 401 { "authentication_error" } else { "invalid_request_error" };
        Trouble { status, kind, message: message.into(), again: false, code: None }
    }

    /// Returns the error for an upstream that fails (502) or is too slow (504).
    pub(super) fn upstream(status: u16, message: impl Into<Text>) -> Trouble {
        Trouble { status, kind: "upstream_error", message: message.into(), again: true, code: None }
    }

    /// Returns the error for an unusable reply after the last attempt.
    pub(super) fn reply(message: impl Into<Text>) -> Trouble {
        Trouble { status: 502, kind: "malformed_call", message: message.into(), again: false, code: None }
    }
}
