//! The enforcement around a command: namespaces, masks, Landlock, a filter of system calls and limits.
//!
//! This module judges no command and walks no project: its caller lists what to hide. It starts no command either: it
//! returns the helper to start and the message for it, and it is also the code of that helper. The host only spawns the
//! helper, and none of our code runs between fork and exec in the host. The helper enters the sandbox by itself.

#[cfg(target_os = "linux")]
mod attempts;
#[cfg(target_os = "linux")]
mod beside;
#[cfg(target_os = "linux")]
mod bubblewrap;
#[cfg(target_os = "linux")]
mod container;
#[cfg(target_os = "linux")]
mod descendants;
#[cfg(target_os = "linux")]
mod enter;
#[cfg(target_os = "linux")]
mod helper;
#[cfg(target_os = "linux")]
mod host_line;
#[cfg(target_os = "linux")]
mod landlock;
#[cfg(target_os = "linux")]
mod layout;
#[cfg(target_os = "linux")]
mod memory;
#[cfg(target_os = "linux")]
mod mounts;
#[cfg(target_os = "linux")]
mod plan;
#[cfg(target_os = "linux")]
mod rights;
#[cfg(target_os = "linux")]
mod seccomp;
#[cfg(target_os = "linux")]
mod session;
#[cfg(target_os = "linux")]
mod shared;
#[cfg(target_os = "linux")]
mod stage_one;
#[cfg(target_os = "linux")]
mod stage_two;
#[cfg(target_os = "linux")]
mod supervise;
#[cfg(target_os = "linux")]
mod sys;

#[cfg(target_os = "linux")]
mod enclosure;
#[cfg(not(target_os = "linux"))]
#[path = "unsupported.rs"]
mod enclosure;
mod types;

#[cfg(target_os = "linux")]
use crate::trouble::{Barrier, Cause, Trouble};
#[cfg(not(target_os = "linux"))]
pub use enclosure::Shared;
pub use enclosure::{Enclosure, InSession, enter_if_asked, supervised};
#[cfg(target_os = "linux")]
pub use shared::SharedPaths;
use types::Engine;
pub use types::{Container, Entry, Kind, Mode, Report, Request, Settings};
