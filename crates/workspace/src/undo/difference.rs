//! What turns changed, as text.

use crate::root::Root;
use crate::state::State;
use crate::undo::History;
use crate::undo::format::{self, lines, net};
use crate::undo::restore::Unrestored;
use crate::{diff, names};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use toolfence_protocol::{Error, Result};

/// What became of one name.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Difference {
    /// The name as it can be shown on one line.
    pub name: String,
    /// A unified diff, with lines before it for what is no text: `new mode 755`, `Folder a/b was made.`
    pub text: String,
}

impl History {
    /// What the last `turns` turns that are not undone changed together, in the order of the names. What others changed
    /// between them is not told apart.
    ///
    /// # Errors
    /// A record cannot be read.
    pub fn diff(&self, root: &Root, turns: usize) -> Result<Vec<Difference>> {
        let stack = self.stack(root);
        let first = stack.done.len().saturating_sub(turns);
        let mut later: BTreeSet<PathBuf> = BTreeSet::new();
        let mut together: BTreeMap<PathBuf, (State, State)> = BTreeMap::new();
        for number in &stack.done[first..] {
            let path = format::path_of(&self.turns(), *number);
            let lines = lines(&path).map_err(|cause| Error::because(format!("read {}", path.display()), cause))?;
            let net = net(&lines);
            later.extend(net.later.keys().cloned());
            for (name, (before, after)) in net.changes.into_iter().chain(net.later) {
                together.entry(name).and_modify(|(_, last)| last.clone_from(&after)).or_insert((before, after));
            }
        }
        let changed = together.iter().filter(|(_, (before, after))| !before.is(after));
        let difference = |(name, (before, after)): (&PathBuf, &(State, State))| {
            let mut difference = self.difference(name, before, after);
            if later.contains(name) {
                difference.text.insert_str(
                    0,
                    &format!("{}: {}, so that no undo changes it\n", difference.name, Unrestored::Later),
                );
            }
            difference
        };
        Ok(changed.map(difference).collect())
    }

    fn difference(&self, path: &Path, before: &State, after: &State) -> Difference {
        let name = names::shown(path);
        let content = |state: &State| {
            let (digest, bytes) = state.content()?;
            Some(self.objects.get(digest, bytes))
        };
        let mut text = about(&name, before, after);
        match (content(before), content(after)) {
            (None, None) => {}
            (Some(None), _) | (_, Some(None)) => {
                text.push_str(&format!("What was kept of {name} is gone or damaged.\n"));
            }
            (before, after) if before == after => {}
            (before, after) => {
                let (before, after) = (before.flatten(), after.flatten());
                let unified = diff::of_file(&names::text_of(path), before.as_deref(), after.as_deref());
                text.push_str(
                    &unified.unwrap_or_else(|| format!("{name} differs, and is no text or too large to compare.\n")),
                );
            }
        }
        Difference { name, text }
    }
}

/// What a diff of lines cannot say.
fn about(name: &str, before: &State, after: &State) -> String {
    let gone = match before {
        State::Link { target } => format!("Link {name} to {} went.\n", names::shown(target)),
        State::Folder { .. } if *after == State::Nothing => format!("Folder {name} was removed.\n"),
        State::Unkept { .. } => format!("{name} differs; what it was is not known.\n"),
        _ => String::new(),
    };
    let come = match (before, after) {
        (_, State::Link { target }) => format!("Link {name} to {} was made.\n", names::shown(target)),
        (State::Folder { mode: old, .. }, State::Folder { mode, .. }) if old != mode => {
            format!("Folder {name}: old mode {old:o}, new mode {mode:o}\n")
        }
        (State::Folder { .. }, State::Folder { .. }) => format!("Folder {name}: attributes changed\n"),
        (_, State::Folder { .. }) => format!("Folder {name} was made.\n"),
        (State::File { mode: old, .. }, State::File { mode, .. }) if old != mode => {
            format!("{name}: old mode {old:o}, new mode {mode:o}\n")
        }
        (State::File { content: old, .. }, State::File { content, .. }) if old == content => {
            format!("{name}: attributes changed\n")
        }
        (State::Unkept { .. }, State::Unkept { .. }) => String::new(),
        (_, State::Unkept { .. }) => format!("What {name} is now is not known.\n"),
        _ => String::new(),
    };
    gone + &come
}
