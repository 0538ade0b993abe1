//! Evaluates git's ignore rules in the `.gitignore` files of the tree and in `.git/info/exclude`.
//!
//! The user's global ignore file is not read: the same tree must give the same result everywhere.

use crate::names;
use crate::root::Root;
use crate::root::folder::Item;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::FileType;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The maximum size in bytes of a file of patterns. Larger files are not read, because compiling patterns costs far
/// more than reading them.
const MOST_BYTES: u64 = 128 << 10;

/// The patterns of one folder and of the folders above it.
#[derive(Debug)]
pub(crate) struct Ignores {
    above: Option<Arc<Ignores>>,
    folder: PathBuf,
    patterns: Gitignore,
}

impl Ignores {
    /// Returns the patterns for `folder` without those in its own file.
    pub(crate) fn above(root: &Root, folder: &Path) -> Arc<Ignores> {
        let patterns = patterns_of(root, Path::new(".git/info/exclude"));
        let mut ignores = Arc::new(Ignores { above: None, folder: PathBuf::new(), patterns });
        let mut ancestors: Vec<&Path> = folder.ancestors().skip(1).collect();
        while let Some(ancestor) = ancestors.pop() {
            ignores = ignores.with_file_of(root, ancestor);
        }
        ignores
    }

    /// Returns the patterns for `folder`, which has these entries.
    pub(crate) fn below(above: &Arc<Ignores>, root: &Root, folder: &Path, items: &[Item]) -> Arc<Ignores> {
        // The items are sorted by name.
        let there = items.binary_search_by(|item| item.name.as_os_str().cmp(".gitignore".as_ref())).is_ok();
        if there { above.with_file_of(root, folder) } else { Arc::clone(above) }
    }

    fn with_file_of(self: &Arc<Ignores>, root: &Root, folder: &Path) -> Arc<Ignores> {
        let patterns = patterns_of(root, &folder.join(".gitignore"));
        if patterns.is_empty() {
            return Arc::clone(self);
        }
        Arc::new(Ignores { above: Some(Arc::clone(self)), folder: folder.to_owned(), patterns })
    }

    /// Returns `true` if the folder, or one above it, is ignored. Then everything below it is ignored, regardless of
    /// other rules.
    pub(crate) fn is_within(&self, folder: &Path) -> bool {
        folder.ancestors().filter(|above| !above.as_os_str().is_empty()).any(|above| self.matches(above, true))
    }

    /// Returns `true` if the nearest file with a pattern for `name` ignores it.
    pub(crate) fn matches(&self, name: &Path, is_folder: bool) -> bool {
        let mut level = Some(self);
        while let Some(ignores) = level {
            // A file of patterns does not apply to its own folder or to those above it.
            let verdict =
                names::relative_to(&ignores.folder, name).map(|inside| ignores.patterns.matched(inside, is_folder));
            if let Some(verdict) = verdict.filter(|verdict| !verdict.is_none()) {
                return verdict.is_ignore();
            }
            level = ignores.above.as_deref();
        }
        false
    }
}

/// Returns the patterns of a file. Skips invalid patterns, as git does.
fn patterns_of(root: &Root, file: &Path) -> Gitignore {
    let text = text_of(root, file);
    let mut builder = GitignoreBuilder::new("");
    for line in text.iter().flat_map(|text| text.lines()) {
        let _ = builder.add_line(None, line);
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

/// Reads a file of patterns. Returns `None` if it does not exist or cannot be read.
fn text_of(root: &Root, file: &Path) -> Option<String> {
    let fd = root.open_exact(file).ok()?;
    let stat = rustix::fs::fstat(&fd).ok()?;
    let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    if !is_file || stat.st_size > i64::try_from(MOST_BYTES).unwrap_or(i64::MAX) {
        return None;
    }
    let mut bytes = Vec::new();
    std::fs::File::from(fd).take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
