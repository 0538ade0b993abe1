//! Decides what may run: allow, ask or deny, with the deciding rule and the reason.
//!
//! This crate judges calls: command lines by a small parser of the shell language in `shell/`, files by the path rules,
//! and both by the settings of the user. It does not predict what a command does: the sandbox confines it, and the user
//! is asked about what it changed. The crate opens no file, starts no program and reads no clock; [`Facts`], which the
//! host implements, answers its questions. Only this crate makes [`ClearedCall`], and nothing runs without one.
//!
//! It is internal: only the crate `toolfence`, which re-exports what is for users, makes promises.

#![forbid(unsafe_code)]

mod answers;
mod changes;
mod decision;
mod facts;
mod paths;
pub mod plan;
mod policy;
pub mod rules;
pub mod settings;
mod shell;
mod shown;
mod targets;
pub mod toolbox;
pub mod toolset;
mod verdict;

pub use answers::Rule;
pub use changes::Consent;
pub use decision::{AskMode, Decision, Effective, Judgement, Met, Question, Target};
pub use facts::{EntryKind, Facts, NoFacts, PathFact, ProgramFact};
pub use policy::Policy;
pub use settings::Settings;
#[doc(hidden)]
pub use shell::{deny as deny_matcher, parse as shell_parser};
pub use targets::changed_names;
pub use verdict::{ClearedCall, Pending, Verdict};
