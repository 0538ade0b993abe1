//! What may run: allow, ask or deny, with the rule that decided and why.
//!
//! Pure: this module opens no file and starts no program. What it must know of the world it asks of [`Facts`].
//! It is the only maker of [`Cleared`], and nothing runs without one.

pub use toolfence_policy::rules::PathRules;
pub use toolfence_policy::{
    AskMode, Cleared, Decision, Effective, Facts, Judgement, NoFacts, PathFact, Pending, Policy, ProgramFact, Rule,
    Settings, Target, Verdict,
};
