//! Calls through policy and toolbox.

use crate::call;
use serde_json::Value;
use std::sync::Arc;
use toolfence_policy::toolbox::{NoProgress, Toolbox};
use toolfence_policy::{AskMode, Cleared, Facts, Policy, Verdict};
use toolfence_protocol::ToolResult;

/// The tools of one conversation with the host that the policy asks about their calls.
pub struct Tools<H> {
    /// Whom the policy asks.
    pub host: Arc<H>,
    /// The tools.
    pub toolbox: Toolbox,
    policy: Policy,
}

impl<H: Facts> Tools<H> {
    /// These tools where nobody is there to be asked, as with `--yes`.
    pub fn new(host: Arc<H>, toolbox: Toolbox) -> Tools<H> {
        Tools { host, toolbox, policy: Policy::default().ask(AskMode::Never) }
    }

    /// The tools under another policy.
    pub fn under(self, policy: Policy) -> Tools<H> {
        Tools { policy, ..self }
    }

    /// What the policy says of a call.
    pub fn review(&self, tool: &str, args: Value) -> Verdict {
        self.policy.review(call(tool, args), &self.toolbox.catalog(), &*self.host)
    }

    /// The call, which the policy clears.
    ///
    /// # Panics
    ///
    /// If it does not.
    pub fn cleared(&self, tool: &str, args: Value) -> Cleared {
        match self.review(tool, args) {
            Verdict::Cleared(cleared) => cleared,
            other => panic!("{tool} is not cleared: {other:?}"),
        }
    }

    /// What the model is told of a call: what the tool answers, or why it was denied.
    ///
    /// # Panics
    ///
    /// If somebody is to be asked, or if the tool fails for the host.
    pub fn run(&self, tool: &str, args: Value) -> ToolResult {
        match self.review(tool, args) {
            Verdict::Cleared(cleared) => self.carry_out(cleared),
            Verdict::Denied(result) => result,
            Verdict::Ask(pending) => panic!("nobody is there to be asked: {:?}", pending.decision()),
        }
    }

    /// What the tool answers to a call that is cleared.
    ///
    /// # Panics
    ///
    /// If the tool fails for the host.
    pub fn carry_out(&self, cleared: Cleared) -> ToolResult {
        block_on(self.toolbox.run(cleared, &NoProgress)).expect("no tool fails for the host")
    }
}

/// Waits for a future on a runtime of its own.
pub fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(future)
}
