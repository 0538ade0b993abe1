//! What may run: allow, ask or deny, with the rule that decided and why.
//!
//! Pure: this module opens no file and starts no program. What it must know of the world it asks of [`Facts`].
//! It is the only maker of [`Cleared`], and nothing runs without one.

mod facts;
mod paths;

pub use facts::{Facts, NoFacts, PathFact, ProgramFact, Walls};
pub use paths::PathRules;

use crate::{Effect, ErrorCode, ToolCall, ToolFailure, ToolResult};
use serde::{Deserialize, Serialize};

/// A judgement, the same in every mode. Ordered: the strictest of several is the greatest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Judgement {
    /// Nothing speaks against it.
    Allow,
    /// A person has to say yes.
    Ask,
    /// Not in any mode.
    Deny,
}

/// What is done with a judgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Runs what is allowed, asks for the rest.
    #[default]
    Dangerous,
    /// Asks for everything that is not denied.
    Always,
    /// Also runs what the walls fully hold.
    Walled,
    /// Asks for nothing: runs what would be asked, but for text that cannot be read, which is denied.
    Never,
}

/// A judgement with the rule that made it and the reason, written for the person and the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Decision {
    /// The strictest of the rules.
    #[serde(rename = "verdict")]
    pub judgement: Judgement,
    /// The name of the rule that decided.
    pub rule: String,
    /// Why, in a sentence.
    pub reason: String,
    /// The simple commands that would run, as the parse has them; empty for other tools.
    pub commands: Vec<String>,
    /// Set where the text could not be read at all: then `never` denies as well.
    #[serde(skip)]
    pub unreadable: bool,
}

/// What becomes of a call.
#[derive(Debug)]
#[must_use]
pub enum Verdict {
    /// It may run.
    Cleared(Cleared),
    /// A person has to say.
    Ask(Pending),
    /// It may not; this is the answer to the model.
    Denied(ToolResult),
}

/// A call that may run, once: it is not `Clone`, and only this module can make one.
///
/// ```compile_fail
/// # use toolfence::{Effect, ToolCall, Args, policy::Cleared};
/// let call = ToolCall::new("1", "bash", Args::new());
/// let cleared = Cleared { call, effect: Effect::Execute }; // the fields are private
/// ```
#[derive(Debug)]
pub struct Cleared {
    call: ToolCall,
    effect: Effect,
}

impl Cleared {
    /// The call under the taught names of tool and arguments.
    pub fn call(&self) -> &ToolCall {
        &self.call
    }

    /// What it can do.
    pub fn effect(&self) -> Effect {
        self.effect
    }
}

/// A call that waits for a person.
#[derive(Debug)]
#[must_use]
pub struct Pending {
    call: ToolCall,
    effect: Effect,
    decision: Decision,
}

impl Pending {
    /// The call under the taught names of tool and arguments.
    pub fn call(&self) -> &ToolCall {
        &self.call
    }

    /// What it could do.
    pub fn effect(&self) -> Effect {
        self.effect
    }

    /// Why a person is asked.
    pub fn decision(&self) -> &Decision {
        &self.decision
    }

    /// The person said yes.
    pub fn approve(self) -> Cleared {
        Cleared { call: self.call, effect: self.effect }
    }

    /// The person said no; `why` is told to the model.
    pub fn deny(self, why: &str) -> ToolResult {
        let message = format!("{why} Do not repeat the call; ask, or do it another way.");
        ToolResult::refused(self.call.id, self.call.name, ToolFailure::new(ErrorCode::Denied, message))
    }

    /// The person changed the arguments: the new call has to be reviewed again.
    pub fn edit(self, args: crate::Args) -> ToolCall {
        ToolCall { args, ..self.call }
    }
}
