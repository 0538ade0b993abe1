//! The servers for other programs: the pipe (JSON lines), the proxy (the HTTP APIs of OpenAI and Anthropic), and the
//! HTTP API with its page.
//!
//! The pipe and the API judge and run calls like every other session. The proxy does neither, because its client judges
//! and runs them. Each server has a cargo feature of its name.
//!
//! This crate is internal and has no stable API: the crate `toolfence` re-exports the public items.

#![forbid(unsafe_code)]

#[cfg(feature = "server")]
mod body;
#[cfg(feature = "server")]
mod connections;
#[cfg(feature = "server")]
mod headers;
#[cfg(feature = "http")]
pub mod http;
#[cfg(feature = "pipe")]
pub mod pipe;
/// Builds the pipe's lines about a turn, for a host that only reports events.
#[cfg(feature = "pipe")]
pub mod event_json {
    pub use crate::pipe::words::{ask, begins, compacted, end_line, error, progress, reply_event, result};
}
#[cfg(feature = "proxy")]
pub mod proxy;
#[cfg(feature = "pipe")]
mod question;
