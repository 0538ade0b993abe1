//! Rules about names: blocked and protected paths, names of credentials, harmless keys of git's configuration, and user
//! globs.
//!
//! This module looks only at names. It opens no file and runs no program.

mod copies;
mod credentials;
pub mod git_config;
mod git_hooks;
mod globs;
mod paths;

pub use git_hooks::GIT_HOOKS;
pub use globs::UserGlob;
pub use paths::{Blocked, Harmless, PathRules};

/// Files that instruct agents in a project. If a folder has several, only the first counts, because the others usually
/// have the same text or are links to it. The user is always asked about a change that a command makes to one of them.
pub const AGENTS_FILES: &[&str] = &["AGENTS.md", "CLAUDE.md", "GEMINI.md", ".github/copilot-instructions.md"];

/// Returns `true` if a path, relative to the root, is one of [`AGENTS_FILES`] in any folder and in any case.
pub fn instructs_agents(path: &str) -> bool {
    let path = path.to_lowercase();
    AGENTS_FILES.iter().any(|name| {
        let before = path.strip_suffix(&name.to_lowercase());
        before.is_some_and(|before| before.is_empty() || before.ends_with('/'))
    })
}
