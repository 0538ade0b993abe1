//! Describes why there is no reply, and what the person can do about it.

use super::overflow::{self, TooLong};
use crate::http::causes;
use serde_json::Value;
use std::io;
use std::time::Duration;
use toolfence_protocol::{Error, ErrorKind, Text, text};

/// The longest wait before another try, even if the server requests more.
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// The longest wait before another request to a server that is loading its model. The server will be ready soon, and
/// the user waits for it.
pub(super) const LONGEST_WAIT_TO_LOAD: Duration = Duration::from_secs(10);

/// Parts of responses with status 503, in lower case, that mean that the model is being loaded.
const LOADING: &[&str] = &[
    "loading model",     // llama.cpp
    "model is loading",  // gateways
    "currently loading", // Hugging Face
];

/// The maximum number of characters of a server's message that errors show.
const SHOWN: usize = 400;

#[derive(Debug)]
pub(super) enum Failure {
    /// The connection failed or broke.
    Connection(reqwest::Error),
    /// The server refused with this HTTP status and body.
    Refused { status: u16, body: String, retry_after: Option<Duration> },
    /// The server accepts no images. It refused with this HTTP status and body; `None` if it refused images before, so
    /// that this request was not sent.
    NoImages { refused: Option<(u16, String)> },
    /// The server reported an error in the stream.
    Reported(Value),
    /// An event of the stream cannot be read.
    NotJson(serde_json::Error),
    /// An event of the stream is longer than the limit.
    TooLong,
    /// The server closed the connection.
    Closed,
    /// The response is not a stream of events.
    NoStream,
    /// The server sent nothing for this long.
    Silent(Duration),
}

impl Failure {
    /// Returns `true` if a retry may soon succeed.
    pub(super) fn is_passing(&self) -> bool {
        matches!(self, Failure::Refused { status: 429 | 500..=599, .. })
            // Some servers report a conversation that is too long as an internal error. It would be too long again.
            && self.too_long().is_none()
            && self.retry_after().is_none_or(|wished| wished <= LONGEST_WAIT)
    }

    /// Returns `true` if the server is still loading its model.
    pub(super) fn is_loading(&self) -> bool {
        let Failure::Refused { status: 503, body, .. } = self else { return false };
        says_loading(body) && self.is_passing()
    }

    /// Returns the numbers if the conversation is longer than the model's window.
    fn too_long(&self) -> Option<TooLong> {
        match self {
            Failure::Refused { status, body, .. } => overflow::parse(*status, body),
            // Some servers begin the response with status 200 before they count the tokens.
            Failure::Reported(error) => overflow::parse(400, &error.to_string()),
            _ => None,
        }
    }

    /// Returns the wait that the server requested.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        match self {
            Failure::Refused { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// Converts the failure into an error for the person who runs the host.
    pub(super) fn into_error(self, whom: &str) -> Error {
        let too_long = self.too_long();
        let kind = match (&too_long, &self) {
            (Some(TooLong { tokens, window }), _) => ErrorKind::TooLong { tokens: *tokens, window: *window },
            // Redirects are not followed, so a status 3xx is a refusal too.
            (None, Failure::Refused { status: 300..=499, .. } | Failure::NoImages { .. }) => ErrorKind::Rejected,
            _ => ErrorKind::Unreachable,
        };
        let advice = if too_long.is_some() {
            text!(
                "The conversation is longer than the model's window: begin a new one (`/clear` in `coder`), send less \
                 at once, or give the server a bigger window."
            )
        } else {
            self.advice()
        };
        let cause = text!("{failure}. {advice}", failure = self.text(), advice);
        Error::because(text!("get an answer from {whom}", whom), cause).of_kind(kind)
    }

    fn advice(&self) -> Text {
        match self {
            Failure::Closed => look_at_log(),
            Failure::NoImages { .. } => {
                text!("The model accepts no images: send the message again without the image, or choose another model.")
            }
            Failure::NoStream => {
                text!("Check the base URL: it may be the address of a web page; most servers want it to end with /v1.")
            }
            Failure::Silent(_) => text!(
                "Loading a model or reading a long prompt takes time: raise the limit (`http.first_byte` in the settings of `coder`), or check the server."
            ),
            Failure::Refused { status: 401 | 403, .. } => {
                text!("Check the key: it is missing, wrong, or not for this model.")
            }
            Failure::Refused { status: 300..=399, .. } => {
                text!("Use the address it redirects to as the base URL: the key is not sent to another server.")
            }
            Failure::Refused { status: 404, .. } => {
                text!("Check the model's name and the base URL; most servers want it to end with /v1.")
            }
            Failure::Refused { status: 400 | 413 | 422, .. } => text!(
                "If the conversation is longer than the model's window, begin a new one or give the server a larger window."
            ),
            Failure::Refused { retry_after: Some(wished), .. } if *wished > LONGEST_WAIT => {
                text!(
                    "The server asks to wait {seconds} s before the next request: wait, or check your limits there.",
                    seconds = wished.as_secs()
                )
            }
            Failure::Refused { status: 429, .. } => {
                text!("The server limits the rate of requests: wait, or check your limits there.")
            }
            Failure::Refused { status: 500..=599, .. } => {
                text!("The server has an internal error: try again later, or check its log.")
            }
            Failure::Connection(error) if is_refused(error) => {
                text!("No server listens there: start it, or check host and port of the base URL.")
            }
            Failure::Connection(error) if mentions(error, "dns error") => {
                text!("The host name has no address: check the base URL and the network.")
            }
            Failure::Connection(error) if mentions(error, "invalid peer certificate") => text!(
                "The server's certificate is not trusted: check the base URL, or add the certificate of its authority (`http.ca_file` in the settings of `coder`)."
            ),
            Failure::Connection(error) if mentions(error, "InvalidContentType") => {
                text!("The server does not use TLS: begin the base URL with http://.")
            }
            Failure::Connection(error) if mentions(error, "tunnel") || mentions(error, "proxy") => text!(
                "The proxy refused the connection: check HTTPS_PROXY, HTTP_PROXY and NO_PROXY, or `http.proxy` in the settings of `coder`."
            ),
            Failure::Connection(error) if !error.is_connect() => look_at_log(),
            _ => text!("Check the base URL, the model's name and the network."),
        }
    }

    /// Describes the failure, without a full stop.
    pub(super) fn text(&self) -> Text {
        match self {
            Failure::Closed => text!("the connection was closed"),
            Failure::NoStream => text!("the response is not a stream of events"),
            Failure::Silent(limit) => {
                text!("nothing arrived for {seconds} s", seconds = limit.as_secs_f32().to_string())
            }
            Failure::Refused { status, body, .. } => refused(*status, body),
            Failure::NoImages { refused: Some((status, body)) } => refused(*status, body),
            Failure::NoImages { refused: None } => text!("it refused images before"),
            Failure::Reported(error) => {
                let message = error.as_str().map_or_else(|| message(&error.to_string()), clean);
                text!("the server said: {said}", said = message)
            }
            Failure::NotJson(error) => {
                text!("an event of the server is not JSON: {problem}", problem = clean(&error.to_string()))
            }
            Failure::TooLong => text!("an event of the server is too long"),
            Failure::Connection(error) => innermost(error),
        }
    }
}

fn refused(status: u16, body: &str) -> Text {
    match message(body) {
        said if said.trim().is_empty() => text!("it refused with HTTP {status} without a message", status),
        said => text!("it refused with HTTP {status}: {said}", status, said),
    }
}

/// Returns `true` if the body of a response with status 503 says that the model is being loaded.
pub(super) fn says_loading(body: &str) -> bool {
    let body = body.to_lowercase();
    LOADING.iter().any(|sign| body.contains(sign))
}

/// Returns why a reply was cut off if the server ended it with this word, which may be empty.
pub(super) fn ended_as(reason: &str) -> Text {
    match reason {
        "" => text!("the server ended it without a reason"),
        "content_filter" => text!("the server's content filter ended it"),
        word => text!("the server ended it with {word}", word = format!("{:?}", clean(word))),
    }
}

fn is_refused(error: &reqwest::Error) -> bool {
    causes(error).any(|cause| {
        let io = cause.downcast_ref::<io::Error>();
        io.is_some_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
    })
}

/// Returns `true` if one of the causes contains this text. A host name without an address, a proxy and TLS have no
/// error type here.
fn mentions(error: &reqwest::Error, what: &str) -> bool {
    causes(error).any(|cause| cause.to_string().contains(what))
}

/// Returns the innermost cause. `reqwest` only says "error sending request" and leaves the cause to its sources.
fn innermost(error: &reqwest::Error) -> Text {
    let Some(cause) = causes(error).last() else { return Text::default() };
    match cause.downcast_ref::<io::Error>().filter(|error| error.raw_os_error().is_some()) {
        Some(error) => error.into(),
        None => clean(&cause.to_string()).into(),
    }
}

/// Returns the server's message, unwrapped from JSON if possible.
fn message(body: &str) -> String {
    let json: Option<serde_json::Value> = serde_json::from_str(body).ok();
    let message = json.as_ref().and_then(|json| {
        ["/error/message", "/error", "/message", "/detail", "/0/error/message"]
            .iter()
            .find_map(|path| json.pointer(path)?.as_str())
    });
    clean(message.unwrap_or(body))
}

/// Returns one line without control characters, because the text comes from outside and may go to a terminal.
fn clean(text: &str) -> String {
    let line: String = text.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).take(SHOWN).collect();
    line.trim_end_matches('.').to_owned()
}

#[cfg(feature = "http")]
fn look_at_log() -> Text {
    text!("Check the server's log: it closed the connection without an answer.")
}
