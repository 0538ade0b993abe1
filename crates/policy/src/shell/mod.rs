//! Decides whether a command may run: deny rules, blocked names, and commands that run without a sandbox.

mod block_list;
mod blocked_names;
mod commands;
pub mod deny;
mod harmless;
mod judge;
pub mod parse;
mod wrappers;

pub(crate) use crate::shown::escape;
pub(crate) use judge::{HARMLESS, WRITES, judge};

use crate::answers::Answers;
use crate::rules::PathRules;
use crate::{Facts, Settings};

/// The maximum length of a command in bytes.
const MAX_BYTES: usize = 64 * 1024;

/// How far a sandbox confines a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Confinement {
    /// It is not confined, or not completely.
    None,
    /// It can change only the files of the project.
    ProjectWritable,
    /// It can change only its private copy, or only build folders.
    Full,
}

/// The rules, and the host that answers questions about paths and programs.
#[derive(Clone, Copy)]
pub(crate) struct Ground<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) answers: &'a Answers,
    pub(crate) paths: &'a PathRules,
    pub(crate) facts: &'a dyn Facts,
}
