//! Runs calls through policy and toolbox.

use crate::call;
use serde_json::Value;
use std::sync::Arc;
use toolfence_policy::toolbox::{NoProgress, Toolbox};
use toolfence_policy::{AskMode, ClearedCall, Facts, Policy, Verdict};
use toolfence_protocol::ToolResult;

/// The tools of one conversation, and the host that the policy asks about their calls.
pub struct Tools<H> {
    /// The host that the policy asks.
    pub host: Arc<H>,
    /// The tools.
    pub toolbox: Toolbox,
    policy: Policy,
}

impl<H: Facts> Tools<H> {
    /// Creates tools under a policy that never asks the user, as with `--yes`.
    pub fn new(host: Arc<H>, toolbox: Toolbox) -> Tools<H> {
        Tools { host, toolbox, policy: Policy::default().ask(AskMode::Never) }
    }

    /// Replaces the policy.
    pub fn under(self, policy: Policy) -> Tools<H> {
        Tools { policy, ..self }
    }

    /// Returns the policy's verdict on a call.
    pub fn review(&self, tool: &str, args: Value) -> Verdict {
        self.policy.review(call(tool, args), &self.toolbox.catalog(), &*self.host)
    }

    /// Returns a call that the policy cleared.
    ///
    /// # Panics
    ///
    /// Panics if the policy does not clear it.
    pub fn cleared(&self, tool: &str, args: Value) -> ClearedCall {
        match self.review(tool, args) {
            Verdict::Cleared(cleared) => cleared,
            other => panic!("{tool} is not cleared: {other:?}"),
        }
    }

    /// Runs a call and returns the result for the model: that of the tool, or the reason for a denial.
    ///
    /// # Panics
    ///
    /// Panics if the call needs an approval, or if the tool fails with a fatal error.
    pub fn run(&self, tool: &str, args: Value) -> ToolResult {
        match self.review(tool, args) {
            Verdict::Cleared(cleared) => self.carry_out(cleared),
            Verdict::Denied(result) => result,
            Verdict::Ask(pending) => panic!("the call needs an approval: {:?}", pending.decision()),
        }
    }

    /// Runs a cleared call and returns the tool's result.
    ///
    /// # Panics
    ///
    /// Panics if the tool fails with a fatal error.
    pub fn carry_out(&self, cleared: ClearedCall) -> ToolResult {
        block_on(self.toolbox.run(cleared, &NoProgress)).expect("tools do not fail with fatal errors")
    }
}

/// Runs a future to completion on a new runtime.
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(future)
}
