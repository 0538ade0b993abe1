//! Rules over names: which paths are blocked or protected, which names are those of credentials, which keys of git's
//! configuration are harmless, and the globs that people write for them.
//!
//! This module looks at names only. It opens no file and asks no program.

mod copies;
mod credentials;
pub mod git_config;
mod git_hooks;
mod globs;
mod paths;

pub use git_hooks::GIT_HOOKS;
pub use globs::UserGlob;
pub use paths::{Blocked, Harmless, PathRules};

/// Files that instruct agents in a project. Of those in one folder only the first counts: the others usually have the same text, or
/// are links to it. A command's change to one of them is always asked about.
pub const AGENTS_FILES: &[&str] = &["AGENTS.md", "CLAUDE.md", "GEMINI.md", ".github/copilot-instructions.md"];

/// Returns `true` if a path, relative to the root, is one of [`AGENTS_FILES`] in any folder and in any case.
pub fn instructs_agents(path: &str) -> bool {
    let path = path.to_lowercase();
    AGENTS_FILES.iter().any(|name| {
        let before = path.strip_suffix(&name.to_lowercase());
        before.is_some_and(|before| before.is_empty() || before.ends_with('/'))
    })
}
