//! What was said and done in a session, as JSON lines: written while it happens, and read again to go on with it.
//!
//! [`Transcript`] writes the records of one session, [`Store`] finds the sessions of a project, [`Stored`] is a session that was
//! read, and `export` makes pages of it (feature `pages`). The form of a record is in `schema.json` beside this file.
//!
//! This module decides nothing about a conversation, and no model sees what it writes until a session is resumed.
//!
//! # On the disk
//! ```text
//! projects/DIGEST/sessions/ID.jsonl   one file a session, for the owner alone; the first line is the head
//! projects/DIGEST/runs/ID.jsonl       the same for runs that are not continued: `coder exec`, the pipe, single requests
//! ```
//! A record is one line and one `write` to a file that is only added to. A process that is killed leaves at most one line without
//! its newline, and readers drop that line and nothing else. The file is synchronised with the disk when a turn ends, so a loss
//! of power can take the records of the turn under way. While a session is open its file is locked (`flock`), so that no second
//! program writes to it; readers need no lock.
//!
//! # Versions
//! Every line says its version as `v`. Fields that this version does not know are ignored and kept where lines are copied; a line
//! of a newer version is refused, for its fields may mean something else.

#[cfg(feature = "pages")]
pub mod export;
mod read;
mod record;
mod recording;
mod rfc3339;
mod store;
mod write;

pub use read::{Stored, lines};
pub use record::{
    Fork, Head, HistoryImage, Kind, Record, RecordedAnswer, RecordedCall, RecordedDecision, RecordedError,
    RecordedResult, RecordedTimes, Role, Tokens,
};
pub use rfc3339::rfc3339;
pub use store::{Store, Summary};
pub use write::Transcript;

/// The version of the records that are written. The reader knows this one and those before it. In version 1 the ids of calls are unique
/// in a reply only, and decisions have no reason.
pub const VERSION: u32 = 2;

/// The JSON Schema of a record.
pub const SCHEMA: &str = include_str!("schema.json");
