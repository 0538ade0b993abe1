//! Decides which of the two readings of its names a patch means, once for all of its files.

use super::model::{FilePatch, Kind, Name, Patch};
use std::collections::HashSet;

/// How the names of a patch are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Readings {
    /// As written in the heads: [`Name::path`].
    Path,
    /// The other reading of all names that have one: [`Name::other`].
    Other,
    /// Files exist under both readings of an ambiguous head: the index of that file in [`Patch::files`].
    Both(usize),
}

impl Readings {
    /// Returns the name under this reading.
    pub fn name(self, name: &Name) -> &str {
        match self {
            Readings::Other => name.other.as_deref().unwrap_or(&name.path),
            _ => &name.path,
        }
    }
}

/// Decides how to read the names of a patch by which files exist: the other reading is chosen if it alone names
/// existing files.
///
/// # Errors
/// Returns the errors of `exists`.
pub fn readings<E>(patch: &Patch<'_>, mut exists: impl FnMut(&str) -> Result<bool, E>) -> Result<Readings, E> {
    let (mut only_other, mut both) = (false, None);
    // Names that exist once earlier parts of the patch are applied.
    let mut made: HashSet<&str> = HashSet::new();
    for (at, file) in patch.files.iter().enumerate() {
        let is_made = made.contains(file.old.path.as_str());
        made.insert(&file.new.path);
        // Only files that must exist before the patch can show which reading is meant.
        if file.kind == Kind::Create || is_made || !has_other(file) {
            continue;
        }
        // Only a modified file can exist under its new name before the patch.
        let names: Vec<&Name> = if file.kind == Kind::Modify { vec![&file.old, &file.new] } else { vec![&file.old] };
        let (mut path, mut other) = (false, false);
        for name in names {
            path = path || exists(&name.path)?;
            // The second look is needed only if the head is ambiguous or no file exists under the first reading.
            if let Some(name) = name.other.as_deref().filter(|_| file.doubtful || !path) {
                other = other || exists(name)?;
            }
        }
        match (path, other) {
            (true, true) => both = both.or(Some(at)),
            // One file that exists only as written decides for the whole patch.
            (true, false) => return Ok(Readings::Path),
            (false, true) => only_other = true,
            (false, false) => {}
        }
    }
    Ok(match both {
        _ if only_other => Readings::Other,
        Some(at) => Readings::Both(at),
        None => Readings::Path,
    })
}

fn has_other(file: &FilePatch<'_>) -> bool {
    file.old.other.is_some() || file.new.other.is_some()
}
