//! Why no reply came, and what the person can do about it.

use super::overflow::{self, TooLong};
use crate::http::causes;
use crate::messages;
use serde_json::Value;
use std::io;
use std::time::Duration;
use toolfence_protocol::{Error, ErrorKind, Text};

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
        let advice = if too_long.is_some() { messages::begin_anew() } else { self.advice() };
        let cause = messages::failure_and_advice(self.text(), advice);
        Error::because(messages::get_answer(whom), cause).of_kind(kind)
    }

    fn advice(&self) -> Text {
        match self {
            Failure::Closed => messages::look_at_log(),
            Failure::NoImages { .. } => messages::show_no_images(),
            Failure::NoStream => messages::check_page(),
            Failure::Silent(_) => messages::wait_longer(),
            Failure::Refused { status: 401 | 403, .. } => messages::check_key(),
            Failure::Refused { status: 300..=399, .. } => messages::give_new_address(),
            Failure::Refused { status: 404, .. } => messages::check_model(),
            Failure::Refused { status: 400 | 413 | 422, .. } => messages::shorten_conversation(),
            Failure::Refused { retry_after: Some(wished), .. } if *wished > LONGEST_WAIT => {
                messages::ask_in(wished.as_secs())
            }
            Failure::Refused { status: 429, .. } => messages::ask_less_often(),
            Failure::Refused { status: 500..=599, .. } => messages::try_later(),
            Failure::Connection(error) if is_refused(error) => messages::start_server(),
            Failure::Connection(error) if says(error, "dns error") => messages::check_host(),
            Failure::Connection(error) if says(error, "invalid peer certificate") => messages::check_certificate(),
            Failure::Connection(error) if says(error, "InvalidContentType") => messages::speaks_no_tls(),
            Failure::Connection(error) if says(error, "tunnel") || says(error, "proxy") => messages::check_proxy(),
            Failure::Connection(error) if !error.is_connect() => messages::look_at_log(),
            _ => messages::check_all(),
        }
    }

    /// What happened, without an end mark.
    pub(super) fn text(&self) -> Text {
        match self {
            Failure::Closed => messages::connection_closed(),
            Failure::NoStream => messages::no_stream(),
            Failure::Silent(limit) => messages::nothing_came(limit.as_secs_f32().to_string()),
            Failure::Refused { status, body, .. } => refused(*status, body),
            Failure::NoImages { refused: Some((status, body)) } => refused(*status, body),
            Failure::NoImages { refused: None } => messages::server_takes_no_images(),
            Failure::Said(error) => {
                let told = error.as_str().map_or_else(|| message(&error.to_string()), clean);
                messages::server_said(told)
            }
            Failure::NotJson(error) => messages::event_not_json(clean(&error.to_string())),
            Failure::TooLong => messages::event_too_long(),
            Failure::Connection(error) => innermost(error),
        }
    }
}

fn refused(status: u16, body: &str) -> Text {
    match message(body) {
        said if said.trim().is_empty() => messages::server_refused_silently(status),
        said => messages::server_refused(status, said),
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
        "" => messages::ended_without_reason(),
        "content_filter" => messages::ended_by_filter(),
        word => messages::ended_with(format!("{:?}", clean(word))),
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
