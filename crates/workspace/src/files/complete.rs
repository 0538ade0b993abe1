//! Completes the beginning of a path in an input line.

use super::Files;
use super::list::{EntryKind, ListFiles};
use crate::stop::Stop;
use toolfence_protocol::invisible::steers_terminal;

/// The maximum number of entries of a folder that are read. A user waits for the list.
const MOST_ENTRIES: usize = 500;

impl Files {
    /// Returns the paths below the root that begin with `typed`, one level deep; a folder ends with `/`. The list has
    /// no ignored or blocked files, and hidden ones only if the last name of `typed` begins with a dot.
    pub fn complete(&self, typed: &str) -> Vec<String> {
        let (folder, begins) = typed.rsplit_once('/').unwrap_or(("", typed));
        // The workspace would refuse an absolute path, and interpret glob characters.
        if typed.starts_with('/') || folder.contains(['*', '?', '[', '{']) {
            return Vec::new();
        }
        let mut wanted = ListFiles::new(if folder.is_empty() { "." } else { folder });
        (wanted.max_depth, wanted.limit) = (Some(1), MOST_ENTRIES);
        wanted.include_hidden = begins.starts_with('.');
        // The glob finds the name even if the folder has more entries than are read. `?` replaces glob characters, so
        // the names are compared once more below.
        let literal = |c: char| if c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | ' ') { c } else { '?' };
        wanted.pattern = (!begins.is_empty()).then(|| begins.chars().map(literal).chain(['*']).collect());
        let Ok(listing) = self.list(&wanted, &Stop::default()) else { return Vec::new() };
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let mut found = Vec::new();
        for entry in listing.entries {
            let name = entry.path.rsplit('/').next().unwrap_or_default();
            let misleads = name.char_indices().any(|(at, c)| c == '\n' || steers_terminal(c, &name[at..]));
            if entry.blocked || entry.unnameable || misleads || !name.starts_with(begins) {
                continue;
            }
            let end = if entry.kind == EntryKind::Folder { "/" } else { "" };
            found.push(format!("{prefix}{name}{end}"));
        }
        found
    }
}
