//! `plan`: the steps of a task and the progress of each, for the user to see and for later requests to the model.
//!
//! The tool checks a plan and stores nothing. The session finds the last plan of a conversation in its history.

use toolfence_policy::plan;
use toolfence_policy::toolbox::{BoxFuture, Permit, Progress, Tool, ToolError};
use toolfence_protocol::{ErrorCode, Output, ToolFailure, ToolSpec, text};

/// The tool `plan`, which is offered only if a host adds it.
#[derive(Debug)]
pub struct Plan {
    spec: ToolSpec,
}

impl Default for Plan {
    fn default() -> Plan {
        Plan { spec: toolfence_policy::toolset::plan() }
    }
}

impl Tool for Plan {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run<'a>(&'a self, permit: Permit<'a>, _: &'a dyn Progress) -> BoxFuture<'a, Result<Output, ToolError>> {
        Box::pin(async move {
            let refused = |why| ToolFailure::new(ErrorCode::InvalidArgument, why);
            let plan = plan::Plan::read(permit.args()).map_err(refused)?;
            let mut output = Output::text(text!(
                "The plan is kept: {done} of {count} {count|step is|steps are} done. Send all its steps again when one \
                 changes.",
                done = plan.done_steps(),
                count = plan.steps.len()
            ));
            output.data = serde_json::to_value(&plan).ok();
            Ok(output)
        })
    }
}
