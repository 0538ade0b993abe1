//! Diagnostics of a text before and after a change, and the comparison that finds the new ones.
//!
//! This module parses the output of checkers, parses the syntax of some languages in process (feature `syntax`), and
//! compares two lists of [`Diagnostic`]s. It runs no checker and opens no file: texts come in, diagnostics come out.

mod checkers;
mod compare;
mod diagnostic;
mod lines;
mod output;
pub mod syntax;

pub use checkers::{Checker, Reads, Subject, built_in, is_unresolved, referenced_projects};
pub use compare::{Sight, appeared, new_ones};
pub use diagnostic::Diagnostic;
pub use lines::LineMap;
pub use output::read as read_output;
pub use output::{is_about_layout, is_about_no_files};
