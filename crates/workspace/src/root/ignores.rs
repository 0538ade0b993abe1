//! What git would ignore, read from the `.gitignore` files of the tree and from `.git/info/exclude`.
//!
//! A person's global ignore file is not read: the same tree must give the same answer everywhere.

use crate::digest::Digest;
use crate::names;
use crate::root::Root;
use crate::root::folder::Item;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::FileType;
use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file of patterns beyond this is not read: its patterns are compiled, which costs far more than its bytes.
const MOST_BYTES: u64 = 128 << 10;

/// The patterns that hold in one folder, and those of the folders above.
#[derive(Debug)]
pub(crate) struct Ignores {
    above: Option<Arc<Ignores>>,
    folder: PathBuf,
    now: Arc<Gitignore>,
    /// As they were when a session first looked; `None` where no session remembers.
    first: Option<Arc<Gitignore>>,
}

/// The files of patterns as they were when a session first looked. What is changed after that must not take names out of
/// sight that were in it.
#[derive(Debug, Default)]
pub(crate) struct Remembered {
    files: HashMap<PathBuf, (Option<Digest>, Arc<Gitignore>)>,
    /// Whether the first look is over: files that come up later were not there.
    is_complete: bool,
}

impl Remembered {
    /// The first look is over.
    pub(crate) fn complete(&mut self) {
        self.is_complete = true;
    }

    pub(crate) fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// What stood in a file before it was changed, where that was before the first look.
    pub(crate) fn was(&mut self, file: &Path, content: Option<&[u8]>) {
        if !self.is_complete && !self.files.contains_key(file) {
            let text = content.map(String::from_utf8_lossy);
            let kept = (text.as_ref().map(|text| Digest::of(text.as_bytes())), compiled(text.as_deref()));
            self.files.insert(file.to_owned(), kept);
        }
    }

    /// The patterns of a file by now, and as they were first.
    fn patterns(&mut self, root: &Root, file: &Path) -> [Arc<Gitignore>; 2] {
        let text = text_of(root, file);
        let digest = text.as_ref().map(|text| Digest::of(text.as_bytes()));
        let now = || compiled(text.as_deref());
        match self.files.get(file) {
            Some((was, first)) if *was == digest => [Arc::clone(first), Arc::clone(first)],
            Some((_, first)) => [now(), Arc::clone(first)],
            None if self.is_complete => [now(), compiled(None)],
            None => {
                let now = now();
                self.files.insert(file.to_owned(), (digest, Arc::clone(&now)));
                [Arc::clone(&now), now]
            }
        }
    }
}

impl Ignores {
    /// What holds from the root down to `folder`, its own file not yet read.
    pub(crate) fn above(root: &Root, folder: &Path) -> Arc<Ignores> {
        let mut ignores = Ignores::of_repository(root, Path::new(""), None);
        let mut ancestors: Vec<&Path> = folder.ancestors().skip(1).collect();
        while let Some(ancestor) = ancestors.pop() {
            ignores = ignores.with_file_of(root, ancestor, None);
        }
        ignores
    }

    /// What holds in a repository before any file of its folders is read. What is ignored around it does not count in it.
    pub(crate) fn of_repository(root: &Root, folder: &Path, remembered: Option<&mut Remembered>) -> Arc<Ignores> {
        let (now, first) = patterns_of(root, &folder.join(".git/info/exclude"), remembered);
        Arc::new(Ignores { above: None, folder: folder.to_owned(), now, first })
    }

    /// What holds in `folder`, which has these entries.
    pub(crate) fn below(
        above: &Arc<Ignores>,
        root: &Root,
        folder: &Path,
        items: &[Item],
        remembered: Option<&mut Remembered>,
    ) -> Arc<Ignores> {
        let there = items.binary_search_by(|item| item.name.as_os_str().cmp(".gitignore".as_ref())).is_ok();
        let was = remembered.as_ref().is_some_and(|all| all.files.contains_key(&folder.join(".gitignore")));
        if there || was { above.with_file_of(root, folder, remembered) } else { Arc::clone(above) }
    }

    fn with_file_of(
        self: &Arc<Ignores>,
        root: &Root,
        folder: &Path,
        remembered: Option<&mut Remembered>,
    ) -> Arc<Ignores> {
        let (now, first) = patterns_of(root, &folder.join(".gitignore"), remembered);
        if now.is_empty() && first.as_ref().is_none_or(|first| first.is_empty()) {
            return Arc::clone(self);
        }
        Arc::new(Ignores { above: Some(Arc::clone(self)), folder: folder.to_owned(), now, first })
    }

    /// Whether a folder, or one of those above it, is ignored: then all below is, whatever other rules say of it.
    pub(crate) fn is_within(&self, folder: &Path) -> bool {
        folder.ancestors().filter(|above| !above.as_os_str().is_empty()).any(|above| self.matches(above, true))
    }

    /// Whether the nearest file that has something to say of `name` says that it is ignored: now, and also at the first look
    /// where that is remembered.
    pub(crate) fn matches(&self, name: &Path, is_folder: bool) -> bool {
        self.says(name, is_folder, |level| Some(&level.now))
            && (self.first.is_none() || self.says(name, is_folder, |level| level.first.as_ref()))
    }

    fn says(&self, name: &Path, is_folder: bool, patterns: impl Fn(&Ignores) -> Option<&Arc<Gitignore>>) -> bool {
        let mut level = Some(self);
        while let Some(ignores) = level {
            // A file of patterns says nothing of its own folder, nor of what is above it.
            let verdict = names::below(&ignores.folder, name)
                .and_then(|inside| patterns(ignores).map(|patterns| patterns.matched(inside, is_folder)));
            if let Some(verdict) = verdict.filter(|verdict| !verdict.is_none()) {
                return verdict.is_ignore();
            }
            level = ignores.above.as_deref();
        }
        false
    }
}

fn patterns_of(
    root: &Root,
    file: &Path,
    remembered: Option<&mut Remembered>,
) -> (Arc<Gitignore>, Option<Arc<Gitignore>>) {
    match remembered {
        Some(remembered) => {
            let [now, first] = remembered.patterns(root, file);
            (now, Some(first))
        }
        None => (compiled(text_of(root, file).as_deref()), None),
    }
}

/// The patterns of a text. A wrong pattern is left out, as git does.
fn compiled(text: Option<&str>) -> Arc<Gitignore> {
    let mut builder = GitignoreBuilder::new("");
    for line in text.into_iter().flat_map(str::lines) {
        let _ = builder.add_line(None, line);
    }
    Arc::new(builder.build().unwrap_or_else(|_| Gitignore::empty()))
}

/// What stands in a file of patterns; `None` if it is not there or not readable.
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
