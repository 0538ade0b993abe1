//! What the tests, benches and fuzz targets of this repository share.
//!
//! - [`CaseFiles`] reads the files in `tests/cases`, and [`Comparison`] holds what they expect against what came out. With
//!   `UPDATE=1` in the environment it writes what came out into the files.
//! - [`Random`] makes numbers that look random and are the same on every run, [`Pieces`] cuts a text as a stream would.
//! - [`Project`] is a temporary project, [`picture`] a tree of files as text, [`Program`] a program that is run to its end;
//!   [`made_anew`] puts another file under the name and the inode number of one.
//! - With the feature `policy`, `World` is a host that a policy asks, `policy` makes a policy of a mode and `call` a call out of
//!   JSON; with the feature `toolbox`, `Tools` lets a policy judge a call and runs what it clears.
//! - With the feature `screen`, `Screen` is a terminal with a program on it.
//!
//! Without its features the kit depends on no crate of the workspace. Cargo builds a crate a second time for its unit tests,
//! and a type of the first build is not that of the second; so unit tests use the kit without features.

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
