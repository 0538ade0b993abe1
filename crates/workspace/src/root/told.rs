//! What whoever watches is told of a path: one event for each decision about one.
//!
//! Nothing is decided here, and nothing is looked at where nobody listens. The event is called `path` and has the target
//! `toolfence`. Its fields:
//!
//! | field | what it says |
//! |---|---|
//! | `step` | who wants to know: `judge` for the policy before a call runs, `open` and `write` for a tool |
//! | `root` | the project |
//! | `cwd` | the folder, from the root, that a relative path starts in; absent for the root |
//! | `asked` | the path as the model wrote it |
//! | `clean` | `asked` as an absolute path without `.` and `..`; links are not followed, and `~` is not expanded |
//! | `relative` | the real name below the root, links followed; absent where the path leads nowhere below it |
//! | `through` | the link that led out of the root; absent where none did |
//! | `verdict` | one of [`Verdict`] |

use super::Root;
use super::resolve::Trouble;
use crate::names;
use std::path::{Component, Path, PathBuf};
use toolfence_policy::PathFact;
use toolfence_protocol::{ErrorCode, ToolFailure};
use tracing::Level;

/// Who wants to know about a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Judge,
    Open,
    Write,
}

/// What became of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It is below the root, and no rule about names is against it.
    Inside,
    /// It is not below the root.
    Outside,
    /// It is written as one below the root, and a link leads out.
    LedOut,
    /// A rule about names blocks it, or protects it from being written.
    Blocked,
    /// Nothing is there.
    Missing,
    /// It is no path.
    Invalid,
    /// The system does not let it be read.
    Unreadable,
    /// It cannot be told without running something.
    Unknown,
}

impl Step {
    fn word(self) -> &'static str {
        match self {
            Step::Judge => "judge",
            Step::Open => "open",
            Step::Write => "write",
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

/// The policy asked about a path and was told this.
pub(crate) fn judged(root: &Root, cwd: &str, asked: &str, fact: &PathFact) {
    if !is_heard() {
        return;
    }
    let (verdict, relative, through) = match fact {
        PathFact::Inside { names } => (Verdict::Inside, names.first().cloned(), None),
        PathFact::Outside => {
            let (verdict, through) = left(root, asked_from(cwd, asked));
            (verdict, None, through)
        }
        _ => (Verdict::Unknown, None, None),
    };
    tell(root, Step::Judge, (cwd, asked), relative, through, verdict);
}

/// A tool wanted what is at a path: it has this name, or could not be had.
pub(crate) fn opened(root: &Root, step: Step, asked: &str, done: Result<&Path, &ToolFailure>) {
    if !is_heard() {
        return;
    }
    let (verdict, relative, through) = match done {
        Ok(name) => (Verdict::Inside, Some(names::text_of(name)), None),
        Err(failure) => {
            let (verdict, through) = match failure.code {
                ErrorCode::Denied => (Verdict::Blocked, None),
                ErrorCode::NotFound => (Verdict::Missing, None),
                ErrorCode::InvalidArgument => (Verdict::Invalid, None),
                ErrorCode::PermissionDenied => left(root, asked.to_owned()),
                _ => (Verdict::Unreadable, None),
            };
            (verdict, None, through)
        }
    };
    tell(root, step, ("", asked), relative, through, verdict);
}

fn is_heard() -> bool {
    tracing::enabled!(target: "toolfence", Level::DEBUG)
}

fn asked_from(cwd: &str, asked: &str) -> String {
    if cwd.is_empty() || asked.starts_with(['/', '~']) { asked.to_owned() } else { format!("{cwd}/{asked}") }
}

/// Why a path that was refused is not below the root, and the link that leads out of it.
fn left(root: &Root, asked: String) -> (Verdict, Option<String>) {
    let Ok(relative) = super::path_arg::relative(&asked, &root.spellings()) else { return (Verdict::Outside, None) };
    match (root.follow(&relative), root.link_of(&relative)) {
        (Err(Trouble::Outside), Some(link)) => (Verdict::LedOut, Some(link)),
        (Err(Trouble::Outside), None) => (Verdict::Outside, None),
        _ => (Verdict::Unreadable, None),
    }
}

fn tell(
    root: &Root,
    step: Step,
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
        clean = %clean(root.path(), &asked_from(cwd, asked)).display(),
        relative,
        through,
        verdict = verdict.word(),
    );
}

/// The path from the root without `.` and `..`, as text.
fn clean(root: &Path, asked: &str) -> PathBuf {
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
            // An absolute path takes the place of the root.
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
            assert_eq!(clean(root, asked), Path::new(wanted), "{asked}");
        }
    }
}
