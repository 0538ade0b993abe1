//! What may run: allow, ask or deny, with the rule that decided and why.
//!
//! Pure: this module opens no file and starts no program. What it must know of the world it asks of [`Facts`].
//! It is the only maker of [`Cleared`], and nothing runs without one.

pub use toolfence_policy::{
    AskMode, Cleared, CommandRule, CommandSettings, Decision, Effective, Facts, HistoryFact, Judgement, Met, NoFacts,
    PathFact, PathSettings, Pending, Policy, ProgramFact, RepositoryFact, Rule, Sandbox, Seen, Settings, Target,
    Verdict,
};
pub use toolfence_rules::{Blocked, Harmless, PathRules};
