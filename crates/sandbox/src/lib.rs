//! Child processes and what holds them: a deadline, bounded output, nothing left behind, and the sandbox around them.
//!
//! [`process`] starts a command and ends all that it started. [`isolation`] says which helper to start so that the command runs
//! behind namespaces, masks, Landlock and a filter of system calls, and is that helper when it is started as such. This
//! crate judges no command and walks no project: it is told what to hide. It is the only crate with unsafe code.
//!
//! It is internal: only the crate `toolfence`, which re-exports what is for users, makes promises.

pub mod environment;
pub mod isolation;
pub mod process;
pub mod project;
mod trouble;
