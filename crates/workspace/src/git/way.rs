//! How a path is reached: through which folders and links, and what stands at its end.
//!
//! Git follows links in what its configuration names. A link cannot be made read-only by a mount, and a folder above a
//! read-only file can be renamed, so it is not enough to know where a path ends: the steps have to be the same afterwards.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

/// The most links that are followed, as in the kernel.
const MOST_LINKS: usize = 40;

/// A way to a file or folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Way {
    /// What is passed, the end included, from the root of the file system.
    pub steps: Vec<Step>,
    /// Where the path ends once every link is followed. Where nothing is there, the part that is missing stands behind the last
    /// folder that is.
    pub end: PathBuf,
    /// Whether something is at the end.
    pub is_there: bool,
}

/// A folder, a file or a link on the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The path of the step; no part of it is a link but the last.
    pub at: PathBuf,
    /// Device and inode.
    pub is: (u64, u64),
    /// Where it leads, where it is a link.
    pub link: Option<PathBuf>,
}

impl Way {
    /// The way of this absolute path as it is now.
    pub fn of(path: &Path) -> Way {
        let mut way = Way { end: PathBuf::from("/"), is_there: true, ..Way::default() };
        // The parts that are still to be passed, the next one last.
        let mut pending: Vec<OsString> = parts(path);
        let mut links = 0;
        while let Some(part) = pending.pop() {
            if part == ".." {
                way.end.pop();
                continue;
            }
            way.end.push(&part);
            let Ok(meta) = fs::symlink_metadata(&way.end) else {
                way.is_there = false;
                break;
            };
            let link = meta.is_symlink().then(|| fs::read_link(&way.end).unwrap_or_default());
            way.steps.push(Step { at: way.end.clone(), is: (meta.dev(), meta.ino()), link: link.clone() });
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
        // What is missing can still be made, under this name.
        for part in pending.into_iter().rev() {
            if part == ".." {
                way.end.pop();
            } else {
                way.end.push(part);
            }
        }
        way
    }

    /// What is at the end, where something is there.
    pub fn end_is(&self) -> Option<(u64, u64)> {
        self.steps.last().filter(|_| self.is_there).map(|step| step.is)
    }

    /// The step that leads from this way to another end than before: a link that is not one of before, or else the last step
    /// that is not. `None` where every step is one of before.
    pub fn leaves(&self, before: &Way) -> Option<&Step> {
        let is_new = |step: &&Step| !before.steps.contains(step);
        let link = self.steps.iter().filter(is_new).find(|step| step.link.is_some());
        link.or_else(|| self.steps.iter().rfind(is_new))
    }
}

/// The parts of a path, the first one last.
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
    fn a_way_names_every_link_and_where_it_ends() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let top = folder.path().canonicalize().expect("it is there");
        fs::create_dir_all(top.join("t2/hooks")).expect("it can be made");
        symlink("t2", top.join("tools")).expect("it can be made");
        symlink("../tools/hooks", top.join("t2/again")).expect("it can be made");
        symlink("missing/x", top.join("dangling")).expect("it can be made");
        symlink("loop", top.join("loop")).expect("it can be made");
        let before = Way::of(&top.join("t2/again"));
        assert_eq!((before.end.as_path(), before.is_there), (top.join("t2/hooks").as_path(), true));
        let links: Vec<&Path> =
            before.steps.iter().filter(|step| step.link.is_some()).map(|step| step.at.as_path()).collect();
        assert_eq!(links, [top.join("t2/again"), top.join("tools")]);
        assert_eq!(before.leaves(&before), None);
        let dangling = Way::of(&top.join("dangling"));
        assert_eq!((dangling.end, dangling.is_there), (top.join("missing/x"), false));
        assert!(!Way::of(&top.join("loop")).is_there);

        fs::remove_file(top.join("tools")).expect("it is ours");
        fs::create_dir_all(top.join("t3/hooks")).expect("it can be made");
        symlink("t3", top.join("tools")).expect("it can be made");
        let now = Way::of(&top.join("t2/again"));
        assert_eq!(now.leaves(&before).map(|step| step.at.clone()), Some(top.join("tools")), "the link was changed");
        assert_ne!(now.end_is(), before.end_is());
    }
}
