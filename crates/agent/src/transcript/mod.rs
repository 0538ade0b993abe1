//! Records a session as JSON lines while it runs, and reads it again to resume it.
//!
//! [`Transcript`] writes the records of one session, [`Store`] finds the sessions of a project, [`StoredSession`] is a session
//! read from a file, and `export` renders it as a page (feature `pages`). `schema.json` in this folder describes a
//! record.
//!
//! This module makes no decisions about a conversation, and no model sees a transcript until a session is resumed.
//!
//! # On the disk
//! ```text
//! projects/DIGEST/sessions/ID.jsonl   one file a session, for the owner alone; the first line is the head
//! projects/DIGEST/runs/ID.jsonl       one file a run that is not continued: `coder exec`, the pipe, a single request
//! ```
//! A record is one line and one `write` to an append-only file. A killed process leaves at most one line without its
//! newline, and readers drop only that line. The file is synchronised with the disk when a turn ends, so a power
//! failure may lose the records of the current turn. While a session is open its file is locked (`flock`), so that no
//! second program writes to it; readers need no lock.
//!
//! # Versions
//! Every line has its version as `v`. Fields that this version does not know are ignored, and kept when lines are
//! copied. A line of a newer version is refused, because its fields may have another meaning.

#[cfg(feature = "pages")]
pub mod export;
mod read;
mod record;
mod recording;
mod rfc3339;
mod store;
mod write;

pub use read::{StoredSession, lines};
pub use record::{
    Fork, Head, HistoryImage, Kind, Record, RecordedAnswer, RecordedCall, RecordedDecision, RecordedError,
    RecordedResult, RecordedTimes, Role, Tokens,
};
pub use rfc3339::rfc3339;
pub use store::{Store, Summary};
pub use write::Transcript;

/// The version of the written records. The reader accepts this one and earlier ones. In version 1 the ids of calls are
/// only unique within a reply, and decisions have no reason.
pub const VERSION: u32 = 2;

/// The JSON Schema of a record.
pub const SCHEMA: &str = include_str!("schema.json");
