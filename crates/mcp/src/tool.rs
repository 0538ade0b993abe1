//! The adapter that makes a tool of an MCP server a tool of a session.

use crate::server::Server;
use std::sync::Arc;
use toolfence_policy::toolbox::{BoxFuture, Permit, Progress, Tool, ToolError};
use toolfence_protocol::{Output, ToolSpec};

/// A tool of a [`Server`]. Its spec is [served](ToolSpec::served): the policy asks before a call.
#[derive(Debug, Clone)]
pub struct ServedTool {
    pub(crate) server: Arc<Server>,
    /// The name by which the server knows the tool.
    pub(crate) name: String,
    pub(crate) spec: ToolSpec,
}

impl Tool for ServedTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run<'a>(&'a self, permit: Permit<'a>, progress: &'a dyn Progress) -> BoxFuture<'a, Result<Output, ToolError>> {
        Box::pin(async move { self.server.call(&self.name, &permit, progress).await })
    }
}
