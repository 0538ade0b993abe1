//! What may run: allow, ask or deny, with the rule that decided and why.
//!
//! This crate judges calls: command lines on a full parse of the shell language in `shell/`, files by the path rules, and both
//! by the settings of the user. It opens no file, starts no program and asks no clock: what it must know of the world it asks
//! of [`Facts`], which the host implements. It is the only maker of [`Cleared`], and nothing runs without one.
//!
//! It is internal: only the crate `toolfence`, which re-exports what is for users, makes promises.

#![forbid(unsafe_code)]

mod answers;
mod changes;
mod decision;
mod facts;
mod messages;
mod paths;
mod policy;
pub mod settings;
mod shell;
mod shown;
mod targets;
mod verdict;

pub use answers::Rule;
pub use changes::Consent;
pub use decision::{AskMode, Decision, Effective, Judgement, Met, Target};
pub use facts::{Facts, HistoryFact, NoFacts, PathFact, ProgramFact, RepositoryFact, Seen};
pub use policy::Policy;
use settings::CommandRule;
pub use settings::Settings;
#[doc(hidden)]
pub use shell::{deny as deny_matcher, parse as shell_parser};
pub use targets::changed_names;
pub use verdict::{Cleared, Pending, Verdict};
