//! What drives a session on tokio: it calls the model, runs the tools, asks the host, and feeds back what came.
//!
//! [`tools`] opens a project for a chat that exists already, or for a whole loop. [`agent`] is the driver, [`backend`] has the backends, [`probe`] asks a backend five questions. [`transcript`]
//! records each turn: messages, decisions, results, times and tokens. A session is resumed from it, and the audit and the statistics
//! read it. [`redact`] removes secrets from what is written down.
//! This crate decides nothing: what may run was judged by the policy, and what comes next the session says.
//!
//! It is internal: only the crate `toolfence`, which re-exports what is for users, makes promises.

#![forbid(unsafe_code)]

pub mod agent;
pub mod backend;
#[cfg(feature = "http")]
pub mod http;
pub mod probe;
pub mod redact;
pub mod tools;
pub mod transcript;
