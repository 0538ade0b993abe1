//! Prints the changes of turns as text.

use crate::Workspace;
use crate::stash::{Contents, Stash, StashedChange};
use crate::state::State;
use crate::undo::History;
use crate::undo::format::{self, RecordPart, lines, parts};
use crate::{diff, names};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use toolfence_protocol::{Error, Result, Text, text};

/// The change of one name.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Difference {
    /// The name for display on one line.
    pub name: String,
    /// A unified diff. Lines before it report changes that a diff does not show: `new mode 755`, `Folder a/b was made.`
    pub text: Text,
}

impl History {
    /// Returns the combined changes of the last `turns` turns that are not undone, sorted by name. Includes changes
    /// that other processes made between them.
    ///
    /// # Errors
    /// A record cannot be read.
    pub fn diff(&self, workspace: &Workspace, turns: usize) -> Result<Vec<Difference>> {
        let root = workspace.root();
        let stack = self.stack(root);
        let first = stack.done.len().saturating_sub(turns);
        let mut together: BTreeMap<PathBuf, (State, State)> = BTreeMap::new();
        let mut add = |name: PathBuf, before: State, after: State| {
            // The combined change goes from the first state to the last one.
            together.entry(name).and_modify(|(_, last)| last.clone_from(&after)).or_insert((before, after));
        };
        let (mut contents, mut outdated) = (Contents::default(), BTreeSet::new());
        for number in &stack.done[first..] {
            let path = format::path_of(&self.turns(), *number);
            let lines = lines(&path)
                .map_err(|cause| Error::because(text!("read {path}", path = path.display().to_string()), cause))?;
            for part in parts(&lines) {
                match part {
                    RecordPart::Names(net) => {
                        for (name, (before, after)) in net.changes {
                            // The state that this change left is recorded, so the project's current one no longer
                            // matters.
                            outdated.remove(&name);
                            add(name, before, after);
                        }
                    }
                    RecordPart::Exchange(stash, _) => {
                        let Ok(stash) = Stash::open_recorded(&stash, &path) else { continue };
                        for StashedChange { change, is_current } in stash.changes(root, &mut contents) {
                            outdated.remove(&change.name);
                            if !is_current {
                                outdated.insert(change.name.clone());
                            }
                            add(change.name, change.before, change.after);
                        }
                    }
                }
            }
        }
        let changed = together.iter().filter(|(_, (before, after))| !before.equals(after));
        let difference = |(name, (before, after)): (&PathBuf, &(State, State))| {
            let mut difference = self.difference(name, before, after, &contents);
            if outdated.contains(name) {
                let name = difference.name.as_str();
                let note = text!("{name} has changed since; this is its current content.\n", name);
                difference.text = Text::join([note, difference.text], "");
            }
            difference
        };
        Ok(changed.map(difference).collect())
    }

    fn difference(&self, path: &Path, before: &State, after: &State, contents: &Contents) -> Difference {
        let name = names::display(path);
        let content = |state: &State| {
            let (digest, bytes) = state.content()?;
            Some(contents.get(digest).map(<[u8]>::to_vec).or_else(|| self.objects.get(digest, bytes)))
        };
        if [before, after].iter().any(|state| matches!(state, State::Unkept { .. })) {
            let text = text!("{name} differs, and is no text or too large to compare.\n", name = &name);
            return Difference { name, text };
        }
        let mut text = describe_other_changes(&name, before, after);
        match (content(before), content(after)) {
            (None, None) => {}
            (Some(None), _) | (_, Some(None)) => {
                text.push(text!("The recorded content of {name} is missing or damaged.\n", name = &name));
            }
            (before, after) if before == after => {}
            (before, after) => {
                let (before, after) = (before.flatten(), after.flatten());
                let unified = diff::of_file(&names::text_of(path), before.as_deref(), after.as_deref());
                text.push(match unified {
                    // A file without lines has an empty diff.
                    Some(unified) if unified.is_empty() && before.is_none() => {
                        text!("Empty file {name} was made.\n", name = &name)
                    }
                    Some(unified) if unified.is_empty() && after.is_none() => {
                        text!("Empty file {name} was removed.\n", name = &name)
                    }
                    Some(unified) => unified.into(),
                    None => text!("{name} differs, and is no text or too large to compare.\n", name = &name),
                });
            }
        }
        Difference { name, text }
    }
}

/// Describes a change that a line diff cannot express.
fn describe_other_changes(name: &str, before: &State, after: &State) -> Text {
    let octal = |mode: &u32| format!("{mode:o}");
    let gone = match before {
        State::Link { target } => text!("Link {name} to {target} went.\n", name, target = names::display(target)),
        State::Folder { .. } if *after == State::Nothing => text!("Folder {name} was removed.\n", name),
        _ => Text::default(),
    };
    let come = match (before, after) {
        (_, State::Link { target }) => {
            text!("Link {name} to {target} was made.\n", name, target = names::display(target))
        }
        (State::Folder { mode: old, .. }, State::Folder { mode, .. }) if old != mode => {
            text!("Folder {name}: old mode {old}, new mode {new}\n", name, old = octal(old), new = octal(mode))
        }
        (State::Folder { .. }, State::Folder { .. }) => text!("Folder {name}: attributes changed\n", name),
        (_, State::Folder { .. }) => text!("Folder {name} was made.\n", name),
        (State::File { mode: old, .. }, State::File { mode, .. }) if old != mode => {
            text!("{name}: old mode {old}, new mode {new}\n", name, old = octal(old), new = octal(mode))
        }
        (State::File { content: old, .. }, State::File { content, .. }) if old == content => {
            text!("{name}: attributes changed\n", name)
        }
        _ => Text::default(),
    };
    Text::join([gone, come], "")
}
