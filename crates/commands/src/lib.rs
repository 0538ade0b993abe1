//! Runs one command for a project.
//!
//! [`runner::CommandRunner`] runs it, and [`jobs::Jobs`] holds those that run in the background. A command sees the
//! project through an overlay: it writes to a folder of its own, the *upper* folder, and the project stays as it is.
//! [`Layer`] creates that folder and hides blocked files in it; the sandbox mounts it. When every process of the
//! command has ended, [`Layer::changes`] compares the folder with the project and lists the changes. [`output`]
//! distinguishes build output from changes, and [`keep`] plans the changes of the project that the permit or an answer
//! of the user accepts.
//!
//! This crate mounts nothing. Architecture invariants: a layer is read only after its command has ended, and by
//! descriptors, so that no link in it is followed; files that a command wrote reach the project only if the permit or
//! an answer accepts them.
//!
//! This crate is internal and its API is not stable. The crate `toolfence` re-exports the items for users.

#![forbid(unsafe_code)]
#![cfg(target_os = "linux")]

mod blocking;
pub mod git_settings;
pub mod jobs;
pub mod keep;
pub mod layer;
pub mod output;
mod plan;
mod private_copy;
pub mod run;
pub mod runner;
pub mod session_output;
mod terminal;
pub mod trial;

pub use blocking::{blocking, watched};
pub use layer::Layer;
