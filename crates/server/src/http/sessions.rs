//! The recorded conversations about the project, which `coder sessions` lists too.
//!
//! This module only reads; agents write. A name from a request is compared with the listed names and never becomes a
//! path.

use super::ApiState;
use super::access;
use super::answer::Trouble;
use super::types::{Messages, OneSession, Session, Sessions};
use axum::extract::FromRequestParts;
use hyper::http::request::Parts;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::task::spawn_blocking;
use toolfence_agent::transcript::{Store, StoredSession, Summary};
use toolfence_protocol::text;

#[cfg(test)]
use schemars::JsonSchema;

/// The default and the greatest number of entries in an answer.
const USUAL: usize = 50;
const MOST: usize = 500;

/// A stretch of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(test, derive(JsonSchema))]
pub(super) struct Stretch {
    pub(super) offset: usize,
    #[cfg_attr(test, schemars(range(min = 1, max = MOST)))]
    limit: usize,
    /// true for the last entries, instead of those from offset on.
    newest: bool,
}

impl Stretch {
    /// Parses the query of a request.
    pub(super) fn parse(query: Option<&str>) -> Result<Stretch, Trouble> {
        let mut stretch = Stretch { offset: 0, limit: USUAL, newest: false };
        for pair in query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (place, least, most) = match name {
                "offset" => (&mut stretch.offset, 0, u32::MAX as usize),
                "limit" => (&mut stretch.limit, 1, MOST),
                "newest" if value == "true" => {
                    stretch.newest = true;
                    continue;
                }
                _ => {
                    let name: String = name.chars().take(100).collect();
                    return Err(Trouble::field(name, text!("There is no field with this name.")));
                }
            };
            let number = value.parse::<usize>().ok().filter(|number| (least..=most).contains(number));
            *place = number
                .ok_or_else(|| Trouble::field(name, text!("Expected a number from {least} to {most}.", least, most)))?;
        }
        Ok(stretch)
    }

    /// Returns the first index in a list of this length.
    fn start(self, length: usize) -> usize {
        if self.newest { length.saturating_sub(self.limit) } else { self.offset }
    }

    fn cut<T>(self, all: Vec<T>) -> impl Iterator<Item = T> {
        let start = self.start(all.len());
        all.into_iter().skip(start).take(self.limit)
    }
}

impl<S: Sync> FromRequestParts<S> for Stretch {
    type Rejection = Trouble;

    async fn from_request_parts(head: &mut Parts, _: &S) -> Result<Stretch, Trouble> {
        Stretch::parse(head.uri.query())
    }
}

/// Lists the conversations, newest first.
pub(super) async fn list(shared: &Arc<ApiState>, stretch: Stretch) -> Result<Sessions, Trouble> {
    let (recording, feeds) = (shared.options.recording, shared.feeds.clone());
    reading(shared, move |store, root| {
        let all = store.list(Some(root));
        let (total, offset) = (all.len(), stretch.start(all.len()));
        let described = |session: Summary| Session::new(&session, feeds.is_running(&session.id));
        let sessions = stretch.cut(all).map(described).collect();
        Ok(Sessions { sessions, total, offset, recording })
    })
    .await
}

/// Finds the conversation whose name begins with `id`.
pub(super) async fn one(shared: &Arc<ApiState>, id: String) -> Result<OneSession, Trouble> {
    let feeds = shared.feeds.clone();
    reading(shared, move |store, root| {
        let session = find(store, root, &id)?;
        Ok(OneSession { session: Session::new(&session, feeds.is_running(&session.id)) })
    })
    .await
}

/// Returns the full id of the conversation whose id begins with `id`.
pub(super) async fn full_id(shared: &Arc<ApiState>, id: String) -> Result<String, Trouble> {
    // A conversation without a reply may not be on disk yet.
    if shared.feeds.find(&id).is_some() {
        return Ok(id);
    }
    reading(shared, move |store, root| Ok(find(store, root, &id)?.id)).await
}

/// The position at which a stream of events begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(test, derive(JsonSchema))]
pub(super) struct Start {
    /// The id of the last event that the client has; the header Last-Event-ID has precedence. Without either, the
    /// stream begins with the turn.
    pub(super) after: u64,
}

impl<S: Sync> FromRequestParts<S> for Start {
    type Rejection = Trouble;

    async fn from_request_parts(head: &mut Parts, _: &S) -> Result<Start, Trouble> {
        const HEADER: &str = "last-event-id";
        let number = |name: &str, value: &str| {
            value.parse().map_err(|_| Trouble::field(name, text!("This must be the id of an event.")))
        };
        let mut after = 0;
        for pair in head.uri.query().unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
            after = match pair.split_once('=') {
                Some(("after", value)) => number("after", value)?,
                _ => {
                    let name: String = pair.split('=').next().unwrap_or_default().chars().take(100).collect();
                    return Err(Trouble::field(name, text!("There is no field with this name.")));
                }
            };
        }
        if let Some(value) = access::header_text(&head.headers, HEADER) {
            after = number(HEADER, value)?;
        }
        Ok(Start { after })
    }
}

/// Returns the records of a conversation.
pub(super) async fn messages_of(shared: &Arc<ApiState>, id: String, stretch: Stretch) -> Result<Messages, Trouble> {
    reading(shared, move |store, root| {
        let session = find(store, root, &id)?;
        let stored = StoredSession::read(&session.path).map_err(|error| {
            Trouble::new(500, "internal", text!("The conversation cannot be read: {why}", why = error.text()))
        })?;
        let (total, offset) = (stored.records.len(), stretch.start(stored.records.len()));
        Ok(Messages { messages: stretch.cut(stored.records).collect(), total, offset })
    })
    .await
}

/// Returns the file of the conversation whose name begins with `id`.
pub(super) async fn file(shared: &Arc<ApiState>, id: String) -> Result<PathBuf, Trouble> {
    reading(shared, move |store, root| Ok(find(store, root, &id)?.path)).await
}

/// Returns the id of the conversation in this file.
pub(super) fn id_of(file: &Path) -> Option<String> {
    file.file_stem().and_then(OsStr::to_str).map(str::to_owned)
}

/// Reads files on a thread that may block.
async fn reading<T: Send + 'static>(
    shared: &Arc<ApiState>,
    read: impl FnOnce(&Store, &std::path::Path) -> Result<T, Trouble> + Send + 'static,
) -> Result<T, Trouble> {
    let shared = shared.clone();
    let read = spawn_blocking(move || match &shared.options.sessions {
        Some((store, root)) => read(store, root),
        None => Err(Trouble::not_found(text!("This server has no folder for conversations."))),
    });
    read.await
        .map_err(|_| Trouble::new(500, "internal", text!("The server could not answer; its own output may say why.")))?
}

fn find(store: &Store, root: &std::path::Path, id: &str) -> Result<Summary, Trouble> {
    let mut found = store.list(Some(root));
    found.retain(|session| session.id.starts_with(id));
    match found.len() {
        1 => Ok(found.remove(0)),
        0 => Err(Trouble::not_found(text!("No conversation has a name that begins with {id}.", id))),
        count => Err(Trouble::field(
            "id",
            text!("{count} conversations have names that begin with {id}; write more of the name.", id, count),
        )),
    }
}
