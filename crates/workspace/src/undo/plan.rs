//! Sorts the steps of an undo.
//!
//! Entries are created before others are removed, so that a crash in between loses nothing; only an entry that is
//! replaced by one of another kind is removed first. Folders are created before their entries, and removed after them.

use crate::state::{Change, State};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Returns the steps that change names from the first state to the second.
pub(crate) fn steps(wanted: &BTreeMap<PathBuf, (State, State)>) -> Vec<Change> {
    let step = |name: &Path, from: &State, to: &State| Change::new(name.to_owned(), from.clone(), to.clone());
    // In sorted order, the entries of a folder directly follow it. Checking every folder above every name would take
    // quadratic time in a deep tree.
    let mut swapped: Option<&Path> = None;
    let (mut in_the_way, mut made, mut gone, mut modes) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (name, (from, to)) in wanted {
        let in_swapped = swapped.is_some_and(|above| name.starts_with(above));
        if !in_swapped {
            swapped = is_swap(from, to).then_some(name);
        }
        match (from, to) {
            (from, State::Nothing) if in_swapped => {
                in_the_way.push(step(name, from, &State::Nothing));
            }
            (from, State::Nothing) => gone.push(step(name, from, &State::Nothing)),
            (from, to) if is_swap(from, to) => {
                in_the_way.push(step(name, from, &State::Nothing));
                made.push(step(name, &State::Nothing, to));
            }
            (State::Folder { .. }, State::Folder { .. }) => modes.push(step(name, from, to)),
            // The owner must be able to write until all entries are in it.
            (State::Nothing, State::Folder { mode, attributes }) if mode & 0o300 != 0o300 => {
                let open = State::Folder { mode: mode | 0o700, attributes: attributes.clone() };
                made.push(step(name, &State::Nothing, &open));
                modes.push(step(name, &open, to));
            }
            _ => made.push(step(name, from, to)),
        }
    }
    let (closing, opening): (Vec<Change>, Vec<Change>) = modes.into_iter().partition(|step| !is_writable(&step.after));
    let backwards = |steps: Vec<Change>| steps.into_iter().rev();
    // Folders become writable before their entries change, and read-only after that.
    opening
        .into_iter()
        .chain(backwards(in_the_way))
        .chain(made)
        .chain(backwards(gone))
        .chain(backwards(closing))
        .collect()
}

/// Returns `true` if a folder replaces an entry of another kind, or the other way round.
fn is_swap(from: &State, to: &State) -> bool {
    let is_folder = |state: &State| matches!(state, State::Folder { .. });
    *from != State::Nothing && *to != State::Nothing && is_folder(from) != is_folder(to)
}

/// Returns `true` if the owner of such a folder may change its entries.
fn is_writable(state: &State) -> bool {
    matches!(state, State::Folder { mode, .. } if mode & 0o300 == 0o300)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::Digest;

    #[test]
    fn entries_are_created_before_others_are_removed() {
        let file = State::File { content: Digest::compute(b""), bytes: 0, mode: 0o644, attributes: None };
        let folder = State::Folder { mode: 0o755, attributes: None };
        let shut = State::Folder { mode: 0o555, attributes: None };
        let none = State::Nothing;
        let wanted = [
            ("a", &file, &none),
            ("b", &none, &shut),
            ("b/c", &none, &file),
            ("d", &folder, &file),
            ("d/e", &file, &none),
            ("f", &folder, &none),
            ("f/g", &file, &none),
            ("h", &folder, &shut),
            ("i", &shut, &folder),
        ];
        let wanted = wanted.map(|(name, from, to)| (PathBuf::from(name), (from.clone(), to.clone()))).into();
        let order: Vec<String> = steps(&wanted).iter().map(|step| step.name.display().to_string()).collect();
        assert_eq!(order, ["i", "d/e", "d", "b", "b/c", "d", "f/g", "f", "a", "h", "b"]);
    }
}
