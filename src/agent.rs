//! Drives a [`Session`](crate::session::Session) on tokio: calls the model, runs the tools, asks the host, and feeds back what came.
//!
//! This module decides nothing: what may run was judged, and what comes next the session says. It shows nothing
//! itself: a [`Host`] does.

pub use toolfence_agent::agent::{Agent, Canceller, Host, Nobody};
