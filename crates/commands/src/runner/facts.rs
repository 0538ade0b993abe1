//! Answers the policy's questions about the project of the commands.

use super::CommandRunner;
use crate::plan;
use toolfence_policy::{EntryKind, Facts, PathFact, ProgramFact};
use toolfence_protocol::{ToolCall, ToolFailure};

impl Facts for CommandRunner {
    fn path(&self, cwd: &str, path: &str) -> PathFact {
        self.workspace().path(cwd, path)
    }

    fn is_there(&self, path: &str) -> Option<bool> {
        self.workspace().is_there(path)
    }

    fn link(&self, path: &str) -> Option<String> {
        self.workspace().link(path)
    }

    fn instead(&self, path: &str) -> Vec<String> {
        self.workspace().instead(path)
    }

    fn program(&self, program: &str) -> ProgramFact {
        self.workspace().program(program)
    }

    fn is_plain_repository(&self, cwd: &str) -> bool {
        self.workspace().is_plain_repository(cwd)
    }

    fn is_used_by_git(&self, path: &str) -> bool {
        self.workspace().is_used_by_git(path)
    }

    fn entry_kind(&self, cwd: &str, path: &str) -> EntryKind {
        self.workspace().entry_kind(cwd, path)
    }

    fn plan(&self, call: &ToolCall) -> Result<Option<String>, ToolFailure> {
        plan::plan(self.workspace(), call)
    }

    fn has_private_copy(&self) -> bool {
        self.no_private_copies().is_none()
    }

    fn written_to(&self, job: &str) -> String {
        self.written().get(job).cloned().unwrap_or_default()
    }

    fn is_project_read_only(&self) -> bool {
        self.project.is_read_only(&self.environment)
    }

    fn sandbox_holds(&self) -> bool {
        self.enclosure().report().holds
    }
}
