//! Tests files, patches and the sandbox with real files and processes.

mod marks;
mod patch;
#[cfg(target_os = "linux")]
mod sandbox;
mod tools;
mod undo;
mod validate;
