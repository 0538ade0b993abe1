//! Drives a session on tokio: calls the model, runs the tools, asks the host, and feeds the results back.
//!
//! [`tools`] opens a project for an existing chat or for a whole loop. [`agent`] is the driver, [`backend`] has the
//! backends, and [`probe`] asks a backend five questions. [`transcript`] records each turn: messages, decisions,
//! results, times and tokens. Sessions are resumed from transcripts, and the audit and the statistics use them.
//! [`redact`] removes secrets from records and logs.
//!
//! This crate decides nothing: the policy judges what may run, and the session determines the next step.
//!
//! This crate is internal and makes no promises; the crate `toolfence` re-exports what is for users.

#![forbid(unsafe_code)]

pub mod agent;
pub mod backend;
#[cfg(feature = "http")]
pub mod http;
pub mod probe;
pub mod redact;
pub mod tools;
pub mod transcript;
