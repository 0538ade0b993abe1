//! What can happen at all: namespaces, masks, Landlock, a filter of system calls and limits around a command.
//!
//! This module judges no command and walks no project: it is told what to hide. It starts no command either: it says which
//! helper to start and what to tell it, and is that helper when it is started as such. Nothing runs between fork and exec
//! in the host, which only spawns; the helper enters the sandbox by itself.
//!
//! # What stands
//! | kind | files | processes | network |
//! |---|---|---|---|
//! | [`Kind::Namespaces`] | a tree of its own: the system read-only, the home hidden but for toolchains, blocked files masked, repositories guarded; Landlock behind it | a process namespace of its own, which ends as a whole; no capabilities, a filter of system calls | none, unless it is asked for |
//! | [`Kind::Bubblewrap`] | the same by `bwrap` of the system, but for private layers over toolchains | the same | the same |
//! | [`Kind::Landlock`] | Landlock: nothing outside the system, the toolchains and the project; blocked files are *not* hidden | a filter of system calls | no sockets but those of files |
//! | [`Kind::Container`] | those of an image and the project, where it was asked for: blocked files masked, repositories guarded | those of the container, without capabilities; the engine's own filter | none, unless it is asked for |
//! | [`Kind::Nothing`] | | | |
//!
//! All but [`Kind::Landlock`] and [`Kind::Nothing`] are said to hold. A container is never tried where none was asked for, and
//! nothing else in its place where one was.
//!
//! # For embedders
//! The helper is the program itself, started again. The first line of its `main`, before any thread is started, is:
//! ```
//! toolfence::sandbox::enter_if_asked();
//! ```
//! Without that line, `toolfence-sandbox` or `coder` is looked for beside the program and in the PATH; without those, there
//! is no sandbox, and [`CommandRunner::sandbox_report`](crate::tools::CommandRunner::sandbox_report) says so.

pub use toolfence_sandbox::isolation::{Container, Kind, Mode, Report, Settings};

/// Must be the first thing that a `main` does whose program sets up its own sandbox. It comes back where the program was
/// started by a person; where it was started as the helper, it becomes the command and ends with it.
pub fn enter_if_asked() {
    toolfence_sandbox::isolation::enter_if_asked();
}
