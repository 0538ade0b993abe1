//! Emits a log event for each decision about a path.
//!
//! This module decides nothing, and does nothing if the event is disabled. The event is called `path` and has the
//! target `toolfence`. Its fields:
//!
//! | field | meaning |
//! |---|---|
//! | `step` | the origin of the request: `judge` for the policy before a call runs, `open` and `write` for a tool |
//! | `root` | the project |
//! | `cwd` | the folder, from the root, in which a relative path starts; absent for the root |
//! | `asked` | the path as the model wrote it |
//! | `clean` | `asked` as an absolute path without `.` and `..`; links are not followed, and `~` is not expanded |
//! | `relative` | the real name below the root, links followed; absent if the path leads nowhere below it |
//! | `through` | the link that led out of the root; absent if none did |
//! | `verdict` | one of [`Verdict`] |

use super::Root;
use super::resolve::ResolveError;
use crate::names;
use std::path::{Component, Path, PathBuf};
use toolfence_policy::PathFact;
use toolfence_protocol::{ErrorCode, ToolFailure};
use tracing::Level;

/// The origin of a request for a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    Judge,
    Open,
    Write,
}

/// The decision about a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is below the root, and no path rule matches it.
    Inside,
    /// It is not below the root.
    Outside,
    /// It is written as a path below the root, and a link leads out.
    LedOut,
    /// A path rule blocks it, or protects it from changes.
    Blocked,
    /// It does not exist.
    Missing,
    /// It is not a valid path.
    Invalid,
    /// The system refuses to read it.
    Unreadable,
    /// It cannot be determined without running a program.
    Unknown,
}

impl Origin {
    fn word(self) -> &'static str {
        match self {
            Origin::Judge => "judge",
            Origin::Open => "open",
            Origin::Write => "write",
        }
    }
}

impl Verdict {
    fn word(self) -> &'static str {
        match self {
            Verdict::Inside => "inside",
            Verdict::Outside => "outside",
            Verdict::LedOut => "led_out",
            Verdict::Blocked => "blocked",
            Verdict::Missing => "missing",
            Verdict::Invalid => "invalid",
            Verdict::Unreadable => "unreadable",
            Verdict::Unknown => "unknown",
        }
    }
}

/// Logs the policy's decision about a path.
pub(crate) fn log_decision(root: &Root, cwd: &str, asked: &str, fact: &PathFact) {
    if !is_enabled() {
        return;
    }
    let (verdict, relative, through) = match fact {
        PathFact::Inside { names } => (Verdict::Inside, names.first().cloned(), None),
        PathFact::Outside => {
            let (verdict, through) = explain_outside(root, join_cwd(cwd, asked));
            (verdict, None, through)
        }
        _ => (Verdict::Unknown, None, None),
    };
    emit(root, Origin::Judge, (cwd, asked), relative, through, verdict);
}

/// Logs that a tool opened a path with this real name, or could not.
pub(crate) fn log_access(root: &Root, step: Origin, asked: &str, done: Result<&Path, &ToolFailure>) {
    if !is_enabled() {
        return;
    }
    let (verdict, relative, through) = match done {
        Ok(name) => (Verdict::Inside, Some(names::text_of(name)), None),
        Err(failure) => {
            let (verdict, through) = match failure.code {
                ErrorCode::Denied => (Verdict::Blocked, None),
                ErrorCode::NotFound => (Verdict::Missing, None),
                ErrorCode::InvalidArgument => (Verdict::Invalid, None),
                ErrorCode::PermissionDenied => explain_outside(root, asked.to_owned()),
                _ => (Verdict::Unreadable, None),
            };
            (verdict, None, through)
        }
    };
    emit(root, step, ("", asked), relative, through, verdict);
}

fn is_enabled() -> bool {
    tracing::enabled!(target: "toolfence", Level::DEBUG)
}

fn join_cwd(cwd: &str, asked: &str) -> String {
    if cwd.is_empty() || asked.starts_with(['/', '~']) { asked.to_owned() } else { format!("{cwd}/{asked}") }
}

/// Returns the reason why a refused path is not below the root, and the link that leads out of it.
fn explain_outside(root: &Root, asked: String) -> (Verdict, Option<String>) {
    let Ok(relative) = super::path_arg::relative(&asked, &root.spellings()) else { return (Verdict::Outside, None) };
    match (root.follow(&relative), root.link_of(&relative)) {
        (Err(ResolveError::Outside), Some(link)) => (Verdict::LedOut, Some(link)),
        (Err(ResolveError::Outside), None) => (Verdict::Outside, None),
        _ => (Verdict::Unreadable, None),
    }
}

fn emit(
    root: &Root,
    step: Origin,
    (cwd, asked): (&str, &str),
    relative: Option<String>,
    through: Option<String>,
    verdict: Verdict,
) {
    let relative = relative.map(|name| if name.is_empty() { ".".to_owned() } else { name });
    tracing::debug!(
        name: "path",
        target: "toolfence",
        step = step.word(),
        root = %root.path().display(),
        cwd = Some(cwd).filter(|cwd| !cwd.is_empty()),
        asked,
        clean = %clean_path(root.path(), &join_cwd(cwd, asked)).display(),
        relative,
        through,
        verdict = verdict.word(),
    );
}

/// Returns the absolute path without `.` and `..`, without resolving links.
fn clean_path(root: &Path, asked: &str) -> PathBuf {
    let mut clean = PathBuf::new();
    if !asked.starts_with('~') {
        clean.push(root);
    }
    for part in Path::new(asked).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                clean.pop();
            }
            // An absolute path replaces the root.
            part => clean.push(part),
        }
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_cleaned_as_text() {
        let root = Path::new("/work/project");
        for (asked, wanted) in [
            ("./a/../b", "/work/project/b"),
            (".", "/work/project"),
            ("../x", "/work/x"),
            ("../../../../x", "/x"),
            ("/etc/./passwd", "/etc/passwd"),
            ("~/x", "~/x"),
        ] {
            assert_eq!(clean_path(root, asked), Path::new(wanted), "{asked}");
        }
    }
}
