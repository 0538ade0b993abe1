//! The private layer on which a command runs.
//!
//! A command sees the project through an overlay: it writes to a folder of its own, the *upper* folder, and the project stays as it
//! is. [`Layer`] makes that folder and hides blocked files in it; the sandbox mounts it. When every process of the command has ended,
//! [`Layer::changes`] compares the folder with the project and lists what the command changed. [`run`] does all of this for one
//! command, [`output`] tells build output from changes, and [`keep`] plans what the project gets.
//!
//! This crate mounts nothing and changes nothing in the project. Architecture invariant: a layer is read only after
//! its command has ended, and by descriptors, so that no link in it leads anywhere.
//!
//! It is internal: only the crate `toolfence`, which re-exports what is for users, makes promises.

#![forbid(unsafe_code)]
#![cfg(target_os = "linux")]

pub mod git_settings;
pub mod keep;
pub mod layer;
pub mod output;
pub mod run;
pub mod session_output;
pub mod trial;

pub use layer::Layer;
