//! One project: the folder that calls may touch.
//!
//! A [`Workspace`] is the only place where a model's string becomes a file. Every path is resolved below the descriptor of its
//! root, checked again on the open descriptor, and never used a second time. What the block rules forbid is forbidden here
//! too, whoever asks: the policy judges calls, the workspace judges files.
//!
//! The tools of [`tools::standard`](crate::tools::standard) work on a workspace. A host that has other tools uses
//! [`Workspace::files`] and [`Workspace::changes`] itself; the module [`parts::files`](crate::parts::files) has their types.

pub use toolfence_workspace::Workspace;
