//! Why no reply came, and what the person can do about it.

use super::overflow::{self, TooLong};
use crate::http::causes;
use serde_json::Value;
use std::io;
use std::time::Duration;
use toolfence_protocol::{Error, ErrorKind, Text, text};

/// The longest that is waited before trying again, whatever the server wishes.
pub(super) const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// The longest that is waited before a server is asked again that is loading its model: it is there soon, and the person waits.
pub(super) const LONGEST_WAIT_TO_LOAD: Duration = Duration::from_secs(10);

/// Parts of refusals with 503, in lower case, that say that the model is being loaded.
const LOADING: &[&str] = &[
    "loading model",     // llama.cpp
    "model is loading",  // gateways
    "currently loading", // Hugging Face
];

/// Characters of a server's own message that are shown.
const SHOWN: usize = 400;

#[derive(Debug)]
pub(super) enum Failure {
    /// The connection could not be made, or broke.
    Connection(reqwest::Error),
    /// The server refused, with this HTTP status and what it said.
    Refused { status: u16, body: String, retry_after: Option<Duration> },
    /// The server refused with this HTTP status because it takes no images; or it is not asked because it has said so before.
    NoImages { refused: Option<(u16, String)> },
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
    /// Whether it is worth trying again soon.
    pub(super) fn is_passing(&self) -> bool {
        matches!(self, Failure::Refused { status: 429 | 500..=599, .. })
            && self.too_long().is_none()
            && self.retry_after().is_none_or(|wished| wished <= LONGEST_WAIT)
    }

    /// Whether the server is there and has to load its model first.
    pub(super) fn is_loading(&self) -> bool {
        let Failure::Refused { status: 503, body, .. } = self else { return false };
        says_loading(body) && self.is_passing()
    }

    /// Whether the conversation is longer than the model's window.
    fn too_long(&self) -> Option<TooLong> {
        match self {
            Failure::Refused { status, body, .. } => overflow::of(*status, body),
            // Some servers have begun to answer before they count.
            Failure::Said(error) => overflow::of(400, &error.to_string()),
            _ => None,
        }
    }

    /// What the server wishes.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        match self {
            Failure::Refused { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// For the person who runs the host.
    pub(super) fn told(self, whom: &str) -> Error {
        let too_long = self.too_long();
        let kind = match (&too_long, &self) {
            (Some(TooLong { tokens, window }), _) => ErrorKind::TooLong { tokens: *tokens, window: *window },
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
                text!("The model takes no images: say it again without the image, or choose a model that takes some.")
            }
            Failure::NoStream => {
                text!("Check the base URL: it may be the address of a web page; most servers want it to end with /v1.")
            }
            Failure::Silent(_) => text!(
                "A model that is being loaded or a long prompt takes its time: wait longer for it (`http.first_byte` \
                 in the settings of `coder`), or look at the server."
            ),
            Failure::Refused { status: 401 | 403, .. } => {
                text!("Check the key: it is missing, wrong, or not for this model.")
            }
            Failure::Refused { status: 300..=399, .. } => {
                text!("Give the address it names as the base URL: the key is not sent on to another one.")
            }
            Failure::Refused { status: 404, .. } => {
                text!("Check the model's name and the base URL; most servers want it to end with /v1.")
            }
            Failure::Refused { status: 400 | 413 | 422, .. } => text!(
                "Where the conversation is longer than the model's window, begin a new one or give the server a bigger \
                 window."
            ),
            Failure::Refused { retry_after: Some(wished), .. } if *wished > LONGEST_WAIT => {
                text!(
                    "The server wants to be asked again in {seconds} s and no sooner: wait, or look at your limits \
                     there.",
                    seconds = wished.as_secs()
                )
            }
            Failure::Refused { status: 429, .. } => {
                text!("The server wants fewer requests: wait, or look at your limits there.")
            }
            Failure::Refused { status: 500..=599, .. } => {
                text!("The server has a trouble of its own: try again later, or look at its log.")
            }
            Failure::Connection(error) if is_refused(error) => {
                text!("No server listens there: start it, or check host and port of the base URL.")
            }
            Failure::Connection(error) if says(error, "dns error") => {
                text!("No address was found for the host of that name: check the base URL and the network.")
            }
            Failure::Connection(error) if says(error, "invalid peer certificate") => text!(
                "The server's certificate does not hold here: check the base URL, or give the certificate of the \
                 authority that made it (`http.ca_file` in the settings of `coder`)."
            ),
            Failure::Connection(error) if says(error, "InvalidContentType") => {
                text!("The server does not speak TLS there: begin the base URL with http://.")
            }
            Failure::Connection(error) if says(error, "tunnel") || says(error, "proxy") => text!(
                "The proxy did not let it through: check HTTPS_PROXY, HTTP_PROXY and NO_PROXY, or `http.proxy` in the \
                 settings of `coder`."
            ),
            Failure::Connection(error) if !error.is_connect() => look_at_log(),
            _ => text!("Check the base URL, the model's name and the network."),
        }
    }

    /// What happened, without an end mark.
    pub(super) fn text(&self) -> Text {
        match self {
            Failure::Closed => text!("the connection was closed"),
            Failure::NoStream => text!("what answered is no stream of events"),
            Failure::Silent(limit) => text!("nothing came for {seconds} s", seconds = limit.as_secs_f32().to_string()),
            Failure::Refused { status, body, .. } => refused(*status, body),
            Failure::NoImages { refused: Some((status, body)) } => refused(*status, body),
            Failure::NoImages { refused: None } => text!("it takes no images, as it said before"),
            Failure::Said(error) => {
                let told = error.as_str().map_or_else(|| message(&error.to_string()), clean);
                text!("the server said: {said}", said = told)
            }
            Failure::NotJson(error) => {
                text!("an event of the server is no JSON: {problem}", problem = clean(&error.to_string()))
            }
            Failure::TooLong => text!("an event of the server is too long"),
            Failure::Connection(error) => innermost(error),
        }
    }
}

fn refused(status: u16, body: &str) -> Text {
    match message(body) {
        said if said.trim().is_empty() => text!("it refused with HTTP {status} and said no more", status),
        said => text!("it refused with HTTP {status}: {said}", status, said),
    }
}

/// Whether the body of a refusal with 503 says that the model is being loaded.
pub(super) fn says_loading(body: &str) -> bool {
    let body = body.to_lowercase();
    LOADING.iter().any(|sign| body.contains(sign))
}

/// Why a reply is cut that the server ended with this word; empty for none.
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

/// Whether one of the causes says this: a name without an address, a proxy and TLS have no type here to be known by.
fn says(error: &reqwest::Error, what: &str) -> bool {
    causes(error).any(|cause| cause.to_string().contains(what))
}

/// `reqwest` says "error sending request" and leaves the cause to its sources.
fn innermost(error: &reqwest::Error) -> Text {
    let Some(cause) = causes(error).last() else { return Text::default() };
    match cause.downcast_ref::<io::Error>().filter(|error| error.raw_os_error().is_some()) {
        Some(error) => error.into(),
        None => clean(&cause.to_string()).into(),
    }
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

#[cfg(feature = "http")]
fn look_at_log() -> Text {
    text!("Look at the server's log: it closed the connection without an answer.")
}
