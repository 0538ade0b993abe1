//! Why no reply came, and what the person can do about it.

use serde_json::Value;
use std::time::Duration;
use std::{fmt, io};
use toolfence_http::causes;
use toolfence_protocol::{Error, ErrorKind};

/// The longest that is waited before trying again, whatever the server wishes.
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Characters of a server's own message that are shown.
const SHOWN: usize = 400;

#[derive(Debug)]
pub(super) enum Failure {
    /// The connection could not be made, or broke.
    Connection(reqwest::Error),
    /// The server refused, with this HTTP status and what it said.
    Refused { status: u16, body: String, retry_after: Option<Duration> },
    /// The server reported an error in the stream.
    Said(Value),
    /// An event of the stream cannot be read.
    NotJson(serde_json::Error),
    /// An event of the stream is longer than the limit.
    TooLong,
    /// The server closed the connection.
    Closed,
    /// It answered with something that is no stream of events.
    NoStream,
    /// Nothing came for so long.
    Silent(Duration),
}

impl Failure {
    /// Whether it is worth trying again.
    pub(super) fn is_passing(&self) -> bool {
        matches!(self, Failure::Refused { status: 429 | 500..=599, .. })
    }

    /// What the server wishes, in seconds; dates are not read.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        match self {
            Failure::Refused { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// For the person who runs the host.
    pub(super) fn told(self, whom: &str) -> Error {
        let kind = match &self {
            Failure::Refused { status: 300..=499, .. } => ErrorKind::Rejected,
            _ => ErrorKind::Unreachable,
        };
        Error::because(format!("get an answer from {whom}"), format!("{self}. {}", self.advice())).of_kind(kind)
    }

    fn advice(&self) -> &'static str {
        match self {
            Failure::Closed => "Look at the server's log: it closed the connection without an answer.",
            Failure::NoStream => {
                "Check the base URL: a web page may stand there; most servers want it to end with /v1, and it must stream."
            }
            Failure::Silent(_) => {
                "A model that is being loaded or a long prompt takes its time: wait longer for it, or look at the server."
            }
            Failure::Refused { status: 401 | 403, .. } => "Check the key: it is missing, wrong, or not for this model.",
            Failure::Refused { status: 300..=399, .. } => {
                "Give the address it names as the base URL: the key is not sent on to another one."
            }
            Failure::Refused { status: 404, .. } => {
                "Check the model's name and the base URL; most servers want it to end with /v1."
            }
            Failure::Refused { status: 400 | 413 | 422, .. } => {
                "Where the conversation is longer than the model's window, begin a new one or give the server a bigger window."
            }
            Failure::Refused { status: 429, .. } => {
                "The server wants fewer requests: wait, or look at your limits there."
            }
            Failure::Refused { status: 500..=599, .. } => {
                "The server has a trouble of its own: try again later, or look at its log."
            }
            Failure::Connection(error) if is_refused(error) => {
                "Nobody listens there: start the server, or check host and port of the base URL."
            }
            _ => "Check the base URL, the model's name and the network.",
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Closed => f.write_str("the connection was closed"),
            Failure::NoStream => f.write_str("what answered is no stream of events"),
            Failure::Silent(limit) => write!(f, "nothing came for {} s", limit.as_secs_f32()),
            Failure::Refused { status, body, .. } => write!(f, "it refused with HTTP {status}: {}", message(body)),
            Failure::Said(error) => {
                let told = error.as_str().map_or_else(|| message(&error.to_string()), clean);
                write!(f, "the server said: {told}")
            }
            Failure::NotJson(error) => write!(f, "an event of the server is no JSON: {}", clean(&error.to_string())),
            Failure::TooLong => f.write_str("an event of the server is too long"),
            Failure::Connection(error) => f.write_str(&clean(&innermost(error))),
        }
    }
}

/// Why a reply is cut that the server ended with this word; empty for none.
pub(super) fn ended_as(reason: &str) -> String {
    match reason {
        "" => "the server ended it without a reason".into(),
        "content_filter" => "the server's content filter ended it".into(),
        word => format!("the server ended it with {:?}", clean(word)),
    }
}

fn is_refused(error: &reqwest::Error) -> bool {
    causes(error).any(|cause| {
        let io = cause.downcast_ref::<io::Error>();
        io.is_some_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
    })
}

/// `reqwest` says "error sending request" and leaves the cause to its sources.
fn innermost(error: &reqwest::Error) -> String {
    causes(error).last().map(ToString::to_string).unwrap_or_default()
}

/// What the server said, out of the JSON that most wrap it in.
fn message(body: &str) -> String {
    let json: Option<serde_json::Value> = serde_json::from_str(body).ok();
    let told = json.as_ref().and_then(|json| {
        ["/error/message", "/error", "/message", "/detail", "/0/error/message"]
            .iter()
            .find_map(|path| json.pointer(path)?.as_str())
    });
    clean(told.unwrap_or(body))
}

/// One line, without control characters: it comes from somebody else and goes to a terminal.
fn clean(text: &str) -> String {
    let line: String = text.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).take(SHOWN).collect();
    line.trim_end_matches('.').to_owned()
}
