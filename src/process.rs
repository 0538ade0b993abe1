//! A child and all it starts: a deadline, bounded output, nothing left behind.
//!
//! This module judges no command and sets up no sandbox. By itself it knows process groups: what leaves its group on purpose
//! (a daemon that calls setsid(2)) is out of its reach. With a *supervisor*, a program that holds the command and all it
//! starts, nothing is: when the supervisor is told to, or its line to us breaks, everything it holds has an end.

pub use toolfence_sandbox::process::{
    Background, Job, Outcome, Overflow, Prespawn, Sent, environment, is_changed, run, run_prespawned, run_supervised,
};
