//! Why no reply came, and what the person can do about it.

use genai::Error as Genai;
use std::error::Error as StdError;
use std::time::Duration;
use std::{fmt, io};
use toolfence_protocol::Error;

/// The longest that is waited before trying again, whatever the server wishes.
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Characters of a server's own message that are shown.
const SHOWN: usize = 400;

#[derive(Debug)]
pub(super) enum Failure {
    /// The request could not be made, was refused, or the connection failed.
    Genai(Genai),
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
        matches!(self.status(), Some((429 | 500..=599, _)))
    }

    /// What the server wishes, in seconds; dates are not read.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        let Failure::Genai(error) = self else { return None };
        let seconds = refusal(error)?.headers()?.get("retry-after")?.to_str().ok()?.trim().parse().ok()?;
        Some(Duration::from_secs(seconds).min(LONGEST_WAIT))
    }

    /// For the person who runs the host.
    pub(super) fn told(self, whom: &str) -> Error {
        Error::because(format!("get an answer from {whom}"), format!("{self}. {}", self.advice()))
    }

    fn advice(&self) -> &'static str {
        match (self, self.status()) {
            (Failure::Closed, _) => "Look at the server's log: it closed the connection without an answer.",
            (Failure::NoStream, _) => {
                "Check the base URL: a web page may stand there; most servers want it to end with /v1, and it must stream."
            }
            (Failure::Silent(_), _) => {
                "A model that is being loaded or a long prompt takes its time: wait longer for it, or look at the server."
            }
            (_, Some((401 | 403, _))) => "Check the key: it is missing, wrong, or not for this model.",
            (_, Some((404, _))) => "Check the model's name and the base URL; most servers want it to end with /v1.",
            (_, Some((400 | 413 | 422, _))) => {
                "Where the conversation is longer than the model's window, begin a new one or give the server a bigger window."
            }
            (_, Some((429, _))) => "The server wants fewer requests: wait, or look at your limits there.",
            (_, Some((500..=599, _))) => "The server has a trouble of its own: try again later, or look at its log.",
            (Failure::Genai(error), _) if is_refused(error) => {
                "Nobody listens there: start the server, or check host and port of the base URL."
            }
            (_, _) => "Check the base URL, the model's name and the network.",
        }
    }

    /// The HTTP status and the body, where the server refused.
    fn status(&self) -> Option<(u16, &str)> {
        let Failure::Genai(error) = self else { return None };
        match refusal(error)? {
            Genai::HttpError { status, body, .. } => Some((status.as_u16(), body)),
            other => Some((other.status()?.as_u16(), "")),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self, self.status()) {
            (Failure::Closed, _) => f.write_str("the connection was closed"),
            (Failure::NoStream, _) => f.write_str("what answered is no stream of events"),
            (Failure::Silent(limit), _) => write!(f, "nothing came for {} s", limit.as_secs_f32()),
            (_, Some((status, body))) => write!(f, "it refused with HTTP {status}: {}", message(body)),
            (Failure::Genai(Genai::ChatResponse { body, .. }), None) => {
                let told = body.as_str().map_or_else(|| message(&body.to_string()), clean);
                write!(f, "the server said: {told}")
            }
            (Failure::Genai(Genai::StreamParse { serde_error, .. }), None) => {
                write!(f, "an event of the server is no JSON: {}", clean(&serde_error.to_string()))
            }
            (Failure::Genai(error), None) => f.write_str(&clean(&innermost(error))),
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

/// The error with the status: a stream that is refused comes as a stream error around it.
fn refusal(error: &Genai) -> Option<&Genai> {
    match error {
        Genai::WebStream { error, .. } => error.downcast_ref::<Genai>(),
        error => error.status().map(|_| error),
    }
}

fn is_refused(error: &Genai) -> bool {
    let Genai::WebStream { error, .. } = error else { return false };
    chain(&**error).any(|cause| {
        let io = cause.downcast_ref::<io::Error>();
        io.is_some_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
    })
}

/// `reqwest` says "error sending request" and leaves the cause to its sources.
fn innermost(error: &Genai) -> String {
    match error {
        Genai::WebStream { error, .. } => chain(&**error).last().map(ToString::to_string).unwrap_or_default(),
        error => error.to_string(),
    }
}

fn chain<'a>(error: &'a (dyn StdError + 'static)) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |error| (**error).source())
}

/// What the server said, out of the JSON that most wrap it in.
fn message(body: &str) -> String {
    let json: Option<serde_json::Value> = serde_json::from_str(body).ok();
    let told = json.as_ref().and_then(|json| {
        ["/error/message", "/error", "/message", "/detail"].iter().find_map(|path| json.pointer(path)?.as_str())
    });
    clean(told.unwrap_or(body))
}

/// One line, without control characters: it comes from somebody else and goes to a terminal.
fn clean(text: &str) -> String {
    let line: String = text.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).take(SHOWN).collect();
    line.trim_end_matches('.').to_owned()
}
