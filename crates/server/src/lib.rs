//! The faces for the clients of others: the pipe speaks JSON lines, the proxy speaks the HTTP of OpenAI's interface.
//!
//! The pipe judges and runs calls as a session anywhere else does. The proxy runs no tools and judges no calls: that is the
//! business of its client. Each is behind the feature of its name.
//!
//! It is internal: only the crate `toolfence`, which re-exports what is for users, makes promises.

#![forbid(unsafe_code)]

mod messages;
#[cfg(feature = "pipe")]
pub mod pipe;
#[cfg(feature = "proxy")]
pub mod proxy;
