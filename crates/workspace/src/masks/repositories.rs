//! Finds the files of the project that the host's git would run or read, so that a command must not change them.
//!
//! Whole repositories are masked, not a list of dangerous names in them: the git directory, the one that a `.git` file
//! or link leads to, the common one, and the targets of links in them. Around them, the files are masked that the
//! configuration names in the work tree: folders of hooks, included files, programs.

use crate::git::config::{links_of, pointed};
use crate::git::made;
use crate::git::resolved_path::ResolvedPath;
use crate::masks::Masks;
use crate::root::ignores::Ignores;
use rustix::fs::FileType;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use toolfence_policy::rules::GIT_HOOKS;
use toolfence_sandbox::project::Number;

/// The access of a command to the repositories of the project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Access {
    /// Read access. The files that their configuration names in the work tree are read-only, too.
    Read,
    /// Write access on a private copy of the project: nothing is masked, and the changes are judged afterwards.
    Copy,
}

/// How a repository of the project is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protection {
    /// It is read-only to commands.
    Protected,
    /// It is in a folder that git ignores, and is as git creates it. A build may change and remove it, and afterwards
    /// it is judged like a new repository.
    OfBuild,
}

/// A repository as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Repository {
    /// `.git`, or the folder of a repository that has none, relative to the root.
    pub(super) at: PathBuf,
    pub(super) identity: Option<Number>,
    /// The target of `.git` if it is a link. A link cannot be read-only, and the next file may get the inode number of
    /// a removed one.
    pub(super) link: Option<PathBuf>,
    pub(super) standing: Protection,
}

/// The files of the project that the host's git used when a command began. All paths are relative to the root.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GitFiles {
    /// The git directories of repositories. One may contain others.
    pub git_dirs: BTreeSet<PathBuf>,
    /// Hooks, included files and programs that the configuration names, whether they exist or not, and links on the way
    /// to them; also `.git` if it is a file or a link.
    pub used: BTreeSet<PathBuf>,
}

/// The parts of a git directory that are masked if the project itself is one. Masking all of it would leave a command
/// nothing to write to.
const OF_A_BARE_PROJECT: &[&str] = &["HEAD", "config", "config.worktree", "commondir", "hooks", "modules", "worktrees"];

/// The masks that the repositories of the project need.
#[derive(Debug, Default)]
pub(super) struct WantedAccess {
    /// The read-only paths, relative to the root.
    frozen: BTreeSet<PathBuf>,
    /// The paths that git would use, with the links on the way.
    ways: Vec<UsedPath>,
    /// For a private copy: the git directories in the project, relative to the root.
    git_dirs: BTreeSet<PathBuf>,
}

/// A file that git on the host uses, or would use if it existed: a hook, an included file, or a program that its
/// configuration names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UsedPath {
    /// The absolute path that git's configuration names.
    pub(super) path: PathBuf,
    /// The resolution of the path when it was found.
    pub(super) resolved_path: ResolvedPath,
}

impl WantedAccess {
    /// Adds the masks for the repository that git finds in `folder`; `kind` is that of `.git`, or `None` if `folder`
    /// itself is the repository. Returns how it is protected.
    pub(super) fn add(&mut self, masks: &Masks, access: Access, folder: &Path, kind: Option<FileType>) -> Protection {
        let root = masks.root.path();
        let top = root.join(folder);
        let at = if kind.is_some() { folder.join(".git") } else { folder.to_owned() };
        let dirs = git_dirs(masks, folder, kind);
        if access == Access::Copy {
            let inside = dirs.iter().filter_map(|dir| dir.strip_prefix(root).ok()).map(Path::to_owned);
            self.git_dirs.extend(inside);
            // A `.git` that is a file or a link points to the git directory.
            if kind.is_some_and(|kind| kind != FileType::Directory) {
                self.freeze(at);
            }
            for target in dirs.iter().flat_map(|dir| links_of(dir)) {
                self.used(masks, &target);
            }
            self.configured(masks, &top, &dirs);
            return Protection::Protected;
        }
        let is_ignored = || Ignores::above(&masks.root, folder).is_within(folder);
        if !folder.as_os_str().is_empty() && is_ignored() && made::is_as_git_makes_it(&dirs[0], &top, None) {
            return Protection::OfBuild;
        }
        match kind {
            // A link cannot be read-only. Its target is made read-only below.
            Some(FileType::Symlink) => {}
            None if folder.as_os_str().is_empty() => {
                for name in OF_A_BARE_PROJECT {
                    self.used(masks, &root.join(name));
                }
            }
            _ => self.freeze(at),
        }
        for dir in &dirs {
            self.freeze_inside(masks, dir);
            for target in links_of(dir) {
                self.used(masks, &target);
            }
        }
        self.configured(masks, &top, &dirs);
        Protection::Protected
    }

    /// Adds the files in the project that a repository above the root uses.
    pub(super) fn add_above(&mut self, masks: &Masks) {
        // Git uses the nearest repository.
        let top = masks.root.path().ancestors().skip(1).find(|folder| folder.join(".git").exists());
        if let Some(top) = top {
            let dot_git = top.join(".git");
            let git_dir = if dot_git.is_file() { pointed(&dot_git, "gitdir:").unwrap_or(dot_git) } else { dot_git };
            let git_dir = git_dir.canonicalize().unwrap_or(git_dir);
            let common = pointed(&git_dir.join("commondir"), "").and_then(|dir| dir.canonicalize().ok());
            let dirs: Vec<PathBuf> = std::iter::once(git_dir).chain(common).collect();
            for link in dirs.iter().flat_map(|dir| links_of(dir)) {
                self.used(masks, &link);
            }
            self.configured(masks, top, &dirs);
        }
    }

    /// Adds the files in the project that the configuration names. Without a git on the host, nothing runs them.
    fn configured(&mut self, masks: &Masks, top: &Path, dirs: &[PathBuf]) {
        let Some(configured) = masks.configured(top, dirs) else { return };
        for path in &configured.used {
            self.used(masks, path);
        }
    }

    /// Adds a file that git would use: read-only if it exists, and otherwise it must not appear.
    fn used(&mut self, masks: &Masks, path: &Path) {
        let root = masks.root.path();
        let resolved_path = ResolvedPath::resolve(path);
        if resolved_path.is_there && root.starts_with(&resolved_path.end) {
            // The whole project cannot be read-only, so only the files that git would run as hooks are.
            for name in GIT_HOOKS {
                self.used(masks, &root.join(name));
            }
            return;
        }
        if let Ok(inside) = resolved_path.end.strip_prefix(root)
            && resolved_path.is_there
        {
            self.freeze(inside.to_owned());
        }
        // A command could put a file at the end of the path, or replace a link on the way.
        if resolved_path.end.starts_with(root)
            || resolved_path.steps.iter().any(|step| step.at != *root && step.at.starts_with(root))
        {
            self.ways.push(UsedPath { path: path.to_owned(), resolved_path });
        }
    }

    /// Makes the target of a path read-only, if it is in the project.
    fn freeze_inside(&mut self, masks: &Masks, path: &Path) {
        let Ok(real) = path.canonicalize() else { return };
        if let Ok(relative) = real.strip_prefix(masks.root.path())
            && !relative.as_os_str().is_empty()
        {
            self.freeze(relative.to_owned());
        }
    }

    fn freeze(&mut self, path: PathBuf) {
        self.frozen.insert(path);
    }

    /// Returns, for a private copy, the files of the project that the host's git uses.
    pub(super) fn into_git_files(self, root: &Path) -> GitFiles {
        let links =
            self.ways.iter().flat_map(|used| used.resolved_path.steps.iter().filter(|step| step.link.is_some()));
        let ends = self.ways.iter().flat_map(|used| [&used.path, &used.resolved_path.end]);
        let relative = |path: &PathBuf| path.strip_prefix(root).ok().map(Path::to_owned);
        let named =
            links.map(|step| &step.at).chain(ends).filter_map(relative).filter(|path| !path.as_os_str().is_empty());
        let used: BTreeSet<PathBuf> = named.chain(self.frozen).collect();
        GitFiles { git_dirs: self.git_dirs, used }
    }

    /// Returns the paths sorted, each folder before its entries. Entries of a read-only folder need no mask of their
    /// own.
    pub(super) fn into_parts(self) -> (Vec<PathBuf>, Vec<UsedPath>) {
        let mut frozen: Vec<PathBuf> = Vec::new();
        for path in self.frozen {
            if !frozen.iter().any(|above| path.starts_with(above)) {
                frozen.push(path);
            }
        }
        let mut ways = self.ways;
        ways.sort_by(|a, b| a.path.cmp(&b.path));
        ways.dedup_by(|a, b| a.path == b.path);
        (frozen, ways)
    }
}

/// Returns `true` if git on the host would run or read the file at this absolute path because of a repository in a
/// folder above it.
pub(super) fn is_used_by_git(masks: &Masks, path: &Path) -> bool {
    let mut wanted = WantedAccess::default();
    for folder in path.ancestors().skip(1).take_while(|folder| folder.starts_with(masks.root.path())) {
        let Ok(inside) = folder.strip_prefix(masks.root.path()) else { continue };
        let kind = rustix::fs::lstat(folder.join(".git")).ok().map(|stat| FileType::from_raw_mode(stat.st_mode));
        if kind.is_some() {
            wanted.add(masks, Access::Read, inside, kind);
        }
    }
    wanted.add_above(masks);
    let leads_there = |used: &UsedPath| {
        // The path can be in a folder of hooks, or be a link on the way to such a folder.
        path.starts_with(&used.resolved_path.end) || used.resolved_path.steps.iter().any(|step| step.at == path)
    };
    wanted.ways.iter().any(leads_there)
}

/// Returns the git directory of the repository at `folder` and the common one; `kind` is that of `.git`, or `None` if
/// `folder` itself is the repository.
fn git_dirs(masks: &Masks, folder: &Path, kind: Option<FileType>) -> Vec<PathBuf> {
    let top = masks.root.path().join(folder);
    let at = if kind.is_some() { top.join(".git") } else { top };
    let git_dir = match kind {
        Some(FileType::RegularFile) => pointed(&at, "gitdir:").unwrap_or(at),
        _ => at,
    };
    let git_dir = git_dir.canonicalize().unwrap_or(git_dir);
    let common = pointed(&git_dir.join("commondir"), "").and_then(|dir| dir.canonicalize().ok());
    std::iter::once(git_dir).chain(common).collect()
}
