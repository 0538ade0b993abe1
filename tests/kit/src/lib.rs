//! Helpers for the tests, benches and fuzz targets of this repository.
//!
//! - [`CaseFiles`] reads the files in `tests/cases`, and [`Comparison`] compares their expectations with actual
//!   results. With `UPDATE=1` in the environment it writes the results into the files.
//! - [`Random`] generates reproducible pseudo-random numbers. [`Pieces`] splits a text as a stream would.
//! - [`Project`] is a temporary project, [`picture`] returns a snapshot of a tree of files as text, and [`Program`]
//!   runs a program to its end. [`made_anew`] replaces a file by another one with the same name and inode number.
//! - With the feature `policy`, `World` is a host for the policy, `policy` creates a policy from a mode, and `call` a
//!   call from JSON. With the feature `toolbox`, `Tools` lets a policy judge a call and runs it if it is cleared.
//! - With the feature `screen`, `Screen` is a terminal that a program runs on.
//!
//! Without features the kit depends on no crate of the workspace. Cargo builds a crate a second time for its unit
//! tests, and the types of the two builds differ, so unit tests use the kit without features.

#![forbid(unsafe_code)]

mod case_files;
mod comparison;
mod pieces;
mod program;
mod project;
mod random;
#[cfg(feature = "screen")]
mod screen;
pub mod signs;
#[cfg(feature = "toolbox")]
mod tools;
#[cfg(feature = "policy")]
mod world;

pub use case_files::{CaseFiles, Entry, Expected, Part, Reply, Row, Section, root};
pub use comparison::{Comparison, Update};
pub use pieces::Pieces;
pub use program::{Program, Ran};
pub use project::{Picture, Project, made_anew, picture};
pub use random::Random;
#[cfg(feature = "screen")]
pub use screen::Screen;
#[cfg(feature = "toolbox")]
pub use tools::{Tools, block_on};
#[cfg(feature = "policy")]
pub use world::{Linked, World, args, call, policy};
