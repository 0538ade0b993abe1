//! What the policy asks about the world, answered for the project of the commands.

use super::CommandRunner;
use crate::preview;
use toolfence_policy::{Facts, HistoryFact, PathFact, ProgramFact, RepositoryFact, Seen};
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

    fn program_paths(&self, cwd: &str, program: &str) -> Vec<String> {
        self.workspace().program_paths(cwd, program)
    }

    fn repository(&self, cwd: &str) -> RepositoryFact {
        self.workspace().repository(cwd)
    }

    fn is_used_by_git(&self, path: &str) -> bool {
        self.workspace().is_used_by_git(path)
    }

    fn history_has_blocked(&self, cwd: &str) -> HistoryFact {
        self.workspace().history_has_blocked(cwd)
    }

    fn seen(&self, cwd: &str, path: &str) -> Seen {
        self.workspace().seen(cwd, path)
    }

    fn certain_failure(&self, call: &ToolCall) -> Option<ToolFailure> {
        preview::certain_failure(self.workspace(), call)
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
        // The workspace begins to look into the history of repositories when it is asked.
        self.workspace().sandbox_holds() || self.enclosure().report().holds
    }
}
