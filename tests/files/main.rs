//! Files, patches and the sandbox: real files, real processes.

mod marks;
mod patch;
#[cfg(target_os = "linux")]
mod sandbox;
mod tools;
mod undo;
mod validate;
