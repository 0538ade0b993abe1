//! What a command line would run, and whether it may.
//!
//! The text passes a gate of our own ([`scan`]), the parser reads it, and every simple command that could be reached is
//! held against the rules. Nothing is run and no file is opened; words that only a run would tell are asked about.

mod advice;
mod answered;
mod files;
mod profiles;
mod report;
mod rules;
mod scan;
mod simple;
mod walk;
mod words;
mod wrappers;

pub(super) use report::shown;

use super::{Answers, Decision, Facts, PathRules, Settings};

/// What commands are held against.
#[derive(Clone, Copy)]
pub(super) struct Ground<'a> {
    pub(super) settings: &'a Settings,
    pub(super) answers: &'a Answers,
    pub(super) paths: &'a PathRules,
    pub(super) facts: &'a dyn Facts,
}

/// Judges a command that would run in `cwd`, a folder relative to the root.
pub(super) fn judge(command: &str, cwd: &str, ground: Ground<'_>) -> Decision {
    let mut walker = walk::Walker::new(ground, cwd);
    walker.script(command);
    walker.fork_bombs();
    let beyond_walls = walker.report.beyond_walls;
    let decision = walker.report.decide(command);
    Decision { walls_suffice: !decision.unreadable && !decision.needs_person && !beyond_walls, ..decision }
}
