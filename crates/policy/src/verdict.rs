//! The verdict about a call: it may run, it waits for the user, or it is refused.

use crate::answers::Rule;
use crate::changes::Consents;
use crate::decision::Decision;
use crate::shell::HARMLESS;
use toolfence_protocol::{Args, Effect, ErrorCode, Language, Text, ToolCall, ToolFailure, ToolResult, text};

/// The verdict about a call.
#[derive(Debug)]
#[must_use]
pub enum Verdict {
    /// It may run.
    Cleared(ClearedCall),
    /// The user must decide.
    Ask(Pending),
    /// It may not run, or it would need approval but is certain to fail. The value is the answer to the model.
    Denied(ToolResult),
}

/// A call that may run, once: it is not `Clone`, and only this crate makes one.
///
/// It cannot be made outside this crate:
/// ```compile_fail,E0451
/// # use toolfence_policy::ClearedCall;
/// # use toolfence_protocol::{Args, Effect, ToolCall};
/// let call = ToolCall::new("1", "bash", Args::new());
/// let cleared = ClearedCall { call, effect: Effect::Execute }; // the fields are private
/// ```
/// It cannot be copied, because a cleared call runs once:
/// ```compile_fail,E0599
/// # fn twice(cleared: toolfence_policy::ClearedCall) {
/// let copy = cleared.clone();
/// # }
/// ```
/// Reviews and approvals return it, and methods give read access to its fields:
/// ```
/// # use toolfence_policy::{ClearedCall, Pending};
/// # use toolfence_protocol::Effect;
/// # fn look(pending: Pending) {
/// let cleared: ClearedCall = pending.approve();
/// assert_eq!(cleared.effect(), Effect::Execute);
/// assert_eq!(cleared.call().name, "bash");
/// # }
/// ```
#[derive(Debug)]
pub struct ClearedCall {
    call: ToolCall,
    effect: Effect,
    decision: Decision,
    approved: bool,
    pub(crate) consents: Consents,
}

impl ClearedCall {
    /// Creates a call that the rules allow; only a review does so.
    pub(crate) fn by_rules(call: ToolCall, effect: Effect, decision: Decision, consents: Consents) -> ClearedCall {
        ClearedCall { call, effect, decision, approved: false, consents }
    }

    /// Returns the call under the taught names of tool and arguments.
    pub fn call(&self) -> &ToolCall {
        &self.call
    }

    /// Returns the possible effect of the call.
    pub fn effect(&self) -> Effect {
        self.effect
    }

    /// Returns whether the call may change anything. Calls that only read do not, and neither do the harmless commands
    /// that run without a sandbox.
    pub fn may_change(&self) -> bool {
        self.effect != Effect::Read && self.decision.rule != HARMLESS
    }

    /// Returns the decision of the rules.
    pub fn decision(&self) -> &Decision {
        &self.decision
    }

    /// Returns whether the user approved the call.
    pub fn is_approved(&self) -> bool {
        self.approved
    }
}

/// A call that waits for the user.
#[derive(Debug)]
#[must_use]
pub struct Pending {
    call: ToolCall,
    effect: Effect,
    decision: Decision,
    consents: Consents,
    /// The changes that the call would make, or has made if it has run.
    pub(crate) diff: Option<String>,
    /// Whether the call has run once already.
    pub(crate) has_run: bool,
    /// Whether "all changes in this project" is offered.
    pub(crate) offers_all: bool,
}

impl Pending {
    pub(crate) fn new(call: ToolCall, effect: Effect, decision: Decision, consents: Consents) -> Pending {
        Pending { call, effect, decision, consents, diff: None, has_run: false, offers_all: false }
    }

    pub(crate) fn about_changes(cleared: &ClearedCall, decision: Decision, changes: String) -> Pending {
        let ClearedCall { call, effect, .. } = cleared;
        // The command has run already, so an approval needs no further consents.
        let pending = Pending::new(call.clone(), *effect, decision, Consents::nothing());
        Pending { diff: Some(changes), has_run: true, ..pending }
    }

    /// Returns the call under the taught names of tool and arguments.
    pub fn call(&self) -> &ToolCall {
        &self.call
    }

    /// Returns the possible effect of the call.
    pub fn effect(&self) -> Effect {
        self.effect
    }

    /// Returns the decision that asks the user.
    pub fn decision(&self) -> &Decision {
        &self.decision
    }

    /// Returns the diff of the changes that the call would make, or has made on its private copy: unified diffs,
    /// removals and new files, as plain text with line feeds. The names and lines in it come from the model or its
    /// command. `None` if the call changes no file itself, or the texts cannot be compared.
    pub fn diff(&self) -> Option<&str> {
        self.diff.as_deref()
    }

    /// Approves the call.
    pub fn approve(self) -> ClearedCall {
        let Pending { call, effect, decision, consents, .. } = self;
        ClearedCall { call, effect, decision, approved: true, consents }
    }

    /// Returns the rules that [`Pending::approve_always`] would store: see [`Decision::always`].
    ///
    /// # Errors
    /// Returns why "always" is not offered.
    pub fn always(&self) -> std::result::Result<&[Rule], Text> {
        self.decision.always()
    }

    /// Approves the call and returns the rules for the rest of the session, for
    /// [`Policy::remember`](crate::Policy::remember); none if [`Pending::always`] offers nothing.
    pub fn approve_always(self) -> (ClearedCall, Vec<Rule>) {
        let rules = self.always().unwrap_or_default().to_vec();
        (self.approve(), rules)
    }

    /// Denies the call; `why` is sent to the model.
    pub fn deny(self, why: impl Into<Text>) -> ToolResult {
        let why = why.into();
        // The reason may have no full stop, and another sentence follows.
        let is_sentence = why.render(Language::English).ends_with(['.', '!', '?']);
        let message = text!(
            "{why} Do not repeat the call; ask, or do it another way.",
            why = if is_sentence { why } else { text!("{why}.", why) }
        );
        ToolResult::refused(self.call.id, self.call.name, ToolFailure::new(ErrorCode::Denied, message))
    }

    /// Changes the arguments and returns the new call, which needs another review.
    pub fn edit(self, args: Args) -> ToolCall {
        let mut call = self.call;
        call.args = args;
        call
    }
}
