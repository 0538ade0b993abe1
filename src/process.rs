//! A child and all it starts: a deadline, bounded output, nothing left behind.
//!
//! This module judges no command and sets up no sandbox. By itself it knows process groups: what leaves its group on purpose
//! (a daemon that calls setsid(2)) is out of its reach. With a *keeper*, a program that holds the command and all it
//! starts, nothing is: when the keeper is told to, or its line to us breaks, everything it holds has an end.

pub use toolfence_sandbox::process::{
    Ahead, Job, Live, Outcome, Overflow, Sent, environment, is_changed, run, run_kept, run_kept_ahead,
};
