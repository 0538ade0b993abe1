//! The faces for the clients of others: the pipe speaks JSON lines, the proxy the HTTP of OpenAI's interface, and the API an HTTP of
//! its own.
//!
//! The pipe and the API judge and run calls as a session anywhere else does. The proxy runs no tools and judges no calls: that is the
//! business of its client. Each is behind the feature of its name.
//!
//! It is internal: only the crate `toolfence`, which re-exports what is for users, makes promises.

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
/// The lines of the pipe about a turn, for a host that only tells of it.
#[cfg(feature = "pipe")]
pub mod told {
    pub use crate::pipe::words::{ask, begins, compacted, error, over, progress, result, shown};
}
#[cfg(feature = "proxy")]
pub mod proxy;
#[cfg(feature = "pipe")]
mod question;
