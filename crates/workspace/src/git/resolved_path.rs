//! Resolves a path into its steps: the folders and links on the way, and the entry at its end.
//!
//! Git follows links in the paths of its configuration. A mount cannot make a link read-only, and a folder above a
//! read-only file can be renamed, so it is not enough to compare where a path ends: all steps must be the same
//! afterwards.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// The maximum number of links that are followed, which is that of the kernel.
const MOST_LINKS: usize = 40;

/// The resolution of a path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResolvedPath {
    /// All folders, files and links on the way, including the last one, from the root of the file system.
    pub steps: Vec<Step>,
    /// The path after every link was followed. If it does not exist, the missing part follows the last existing folder.
    pub end: PathBuf,
    /// Whether the path exists.
    pub is_there: bool,
}

/// A folder, a file or a link on the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The path of the step. Only its last part can be a link.
    pub at: PathBuf,
    /// Device and inode.
    pub identity: (u64, u64),
    /// The target, if the step is a link.
    pub link: Option<PathBuf>,
}

impl ResolvedPath {
    /// Resolves this absolute path.
    pub fn resolve(path: &Path) -> ResolvedPath {
        let mut way = ResolvedPath { end: PathBuf::from("/"), is_there: true, ..ResolvedPath::default() };
        // The parts that remain, the next one last.
        let mut pending: Vec<OsString> = parts(path);
        let mut links = 0;
        while let Some(part) = pending.pop() {
            if part == ".." {
                // All links on the way were followed, so the folder above is the previous part.
                way.end.pop();
                continue;
            }
            way.end.push(&part);
            let Ok(meta) = fs::symlink_metadata(&way.end) else {
                way.is_there = false;
                break;
            };
            let link = meta.is_symlink().then(|| fs::read_link(&way.end).unwrap_or_default());
            way.steps.push(Step { at: way.end.clone(), identity: (meta.dev(), meta.ino()), link: link.clone() });
            if let Some(target) = link {
                links += 1;
                if links > MOST_LINKS {
                    way.is_there = false;
                    break;
                }
                way.end.pop();
                if target.is_absolute() {
                    way.end = PathBuf::from("/");
                }
                pending.extend(parts(&target));
            }
        }
        // The missing part can be created later under this name.
        for part in pending.into_iter().rev() {
            if part == ".." {
                way.end.pop();
            } else {
                way.end.push(part);
            }
        }
        way
    }

    /// Returns the identity of the entry at the end, if it exists.
    pub fn end_identity(&self) -> Option<(u64, u64)> {
        self.steps.last().filter(|_| self.is_there).map(|step| step.identity)
    }

    /// Returns the step by which this path now leads to another end than `before` did: the first new link, or else the
    /// last new step. Returns `None` if no step is new.
    pub fn leaves(&self, before: &ResolvedPath) -> Option<&Step> {
        let is_new = |step: &&Step| !before.steps.contains(step);
        let link = self.steps.iter().filter(is_new).find(|step| step.link.is_some());
        link.or_else(|| self.steps.iter().rfind(is_new))
    }
}

/// Returns the parts of a path in reverse order.
fn parts(path: &Path) -> Vec<OsString> {
    let part = |component: Component<'_>| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsStr::from_bytes(b"..").to_owned()),
        _ => None,
    };
    path.components().rev().filter_map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn resolution_lists_every_link_and_the_end() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let top = folder.path().canonicalize().expect("it is there");
        fs::create_dir_all(top.join("t2/hooks")).expect("it can be made");
        symlink("t2", top.join("tools")).expect("it can be made");
        symlink("../tools/hooks", top.join("t2/again")).expect("it can be made");
        symlink("missing/x", top.join("dangling")).expect("it can be made");
        symlink("loop", top.join("loop")).expect("it can be made");
        let before = ResolvedPath::resolve(&top.join("t2/again"));
        assert_eq!((before.end.as_path(), before.is_there), (top.join("t2/hooks").as_path(), true));
        let links: Vec<&Path> =
            before.steps.iter().filter(|step| step.link.is_some()).map(|step| step.at.as_path()).collect();
        assert_eq!(links, [top.join("t2/again"), top.join("tools")]);
        assert_eq!(before.leaves(&before), None);
        let dangling = ResolvedPath::resolve(&top.join("dangling"));
        assert_eq!((dangling.end, dangling.is_there), (top.join("missing/x"), false));
        assert!(!ResolvedPath::resolve(&top.join("loop")).is_there);

        fs::remove_file(top.join("tools")).expect("it is ours");
        fs::create_dir_all(top.join("t3/hooks")).expect("it can be made");
        symlink("t3", top.join("tools")).expect("it can be made");
        let now = ResolvedPath::resolve(&top.join("t2/again"));
        assert_eq!(now.leaves(&before).map(|step| step.at.clone()), Some(top.join("tools")), "the link was changed");
        assert_ne!(now.end_identity(), before.end_identity());
    }
}
