//! What a command line would run, and whether it may.
//!
//! The text passes a gate of our own ([`syntax`]), the parser reads it, and every simple command that could be reached is
//! held against the rules. Nothing is run and no file is opened; words that only a run would tell are asked about.

pub mod deny;
mod expand;
mod judge;
mod messages;
pub mod parse;
mod programs;
mod syntax;

pub(crate) use crate::shown::shown;
pub(crate) use programs::runs_others;

use crate::answers::Answers;
use crate::{Decision, Facts, Judgement, Settings};
use toolfence_rules::PathRules;

/// What commands are held against.
#[derive(Clone, Copy)]
pub(crate) struct Ground<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) answers: &'a Answers,
    pub(crate) paths: &'a PathRules,
    pub(crate) facts: &'a dyn Facts,
    /// Set where deny rules are compared word by word, as the others are: to try the examples that stand beside a rule.
    pub(crate) exact_deny: bool,
}

/// How a command would see the project.
#[derive(Clone, Copy)]
pub(crate) struct View {
    /// Whether a sandbox that holds is around the command, in which repositories are read-only except for calls of git alone.
    pub(crate) held: bool,
    /// Whether the project is read-only for the command, with its repositories.
    pub(crate) read_only: bool,
}

/// Judges a command that would run in `cwd`, a folder relative to the root.
pub(crate) fn judge(command: &str, cwd: &str, ground: Ground<'_>, View { held, read_only }: View) -> Decision {
    let mut walker = judge::Walker::new(ground, cwd);
    walker.script(command);
    walker.upset_variables();
    let git = std::mem::take(&mut walker.git);
    if let Some(finding) = git.mixed().filter(|_| held && !walker.report.unreadable) {
        walker.report.note(finding);
    }
    let beyond_sandbox = walker.report.beyond_sandbox;
    let mut decision = walker.report.decide(command);
    let can_write_git = !read_only && !decision.unreadable && decision.judgement != Judgement::Deny;
    decision.writes_git = git.writes_alone() && can_write_git;
    // The sandbox does not hold what a call may do to a repository that is writable for it, nor what is committed.
    decision.sandbox_suffice =
        !decision.unreadable && !decision.needs_person && !decision.writes_git && !beyond_sandbox;
    decision
}
