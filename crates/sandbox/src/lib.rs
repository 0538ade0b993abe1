//! Runs child processes with a deadline and bounded output, ends their descendants, and sets up the sandbox around
//! them.
//!
//! [`process`] starts a command and ends all processes that it started. [`isolation`] selects the helper to start so
//! that the command runs in namespaces, with masks, Landlock and a filter of system calls. It is also the code of that
//! helper. This crate judges no command and walks no project: its caller lists what to hide. It is the only crate with
//! unsafe code.
//!
//! This crate is internal and its API is not stable. The crate `toolfence` re-exports the items for users.

pub mod environment;
pub mod isolation;
pub mod process;
pub mod project;
mod trouble;
