//! Judges the changes that a command made in repositories: those of one repository are kept as a whole or not at all.

use crate::layer::{Change, ChangeKind, Entry};
use crate::run::LayerRun;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use toolfence_protocol::{Text, text};
use toolfence_workspace::git::changes::{EntryChange, GitDirChanges, check_index};
use toolfence_workspace::git::config::{plain, pointed};
use toolfence_workspace::git::made::{is_as_git_makes_it, looks_bare};
use toolfence_workspace::git::summary::Summary;
use toolfence_workspace::{GitFiles, Workspace};

/// The entries by which git recognises a git directory.
const OF_A_GIT_DIR: &[&str] = &["HEAD", "objects", "refs", "commondir"];

/// Indexes of a new repository and its submodules that are checked.
const MOST_INDEXES: usize = 50;

/// The changes that a command made in repositories.
#[derive(Debug, Default)]
pub(super) struct Repositories {
    /// The repositories whose changes may be kept, each with a description.
    pub(super) changed: Vec<(PathBuf, Summary)>,
    /// Git directories that are new and as git creates them.
    pub(super) new: BTreeSet<PathBuf>,
    /// The removed folders that contained a repository, each with that repository.
    pub(super) removed: Vec<(PathBuf, PathBuf)>,
    /// Paths that are not kept, each with the reason.
    pub(super) refused: Vec<(PathBuf, Text)>,
    /// The judgement of each change that concerns a repository.
    places: HashMap<PathBuf, Judgement>,
}

/// The judgement of a change that concerns a repository.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Judgement {
    /// It belongs to an existing repository whose changes may be kept.
    Changed,
    /// It is not kept.
    Dropped,
}

impl Repositories {
    pub(super) fn judge(workspace: &Workspace, run: &LayerRun) -> Repositories {
        let files = run.masks.git_files();
        let mut judging = Judging { workspace, run, files, found: Repositories::default() };
        // The order matters: the later steps skip the changes that an earlier one has judged.
        judging.judge_existing();
        judging.judge_new();
        judging.drop_used();
        judging.found
    }

    /// Returns the judgement of a change; `None` if it is in no existing repository, and git is no reason to drop it.
    pub(super) fn judgement(&self, path: &Path) -> Option<Judgement> {
        self.places.get(path).copied()
    }

    /// Returns `true` if a repository was removed with this folder.
    pub(super) fn is_removed_with(&self, folder: &Path) -> bool {
        self.removed.iter().any(|(removed, _)| removed == folder)
    }

    /// Returns `true` if the changes to keep may lose history: commits, stashes or a whole repository.
    pub(super) fn lose_history(&self) -> bool {
        !self.removed.is_empty() || self.changed.iter().any(|(_, summary)| summary.loses_history)
    }
}

struct Judging<'a> {
    workspace: &'a Workspace,
    run: &'a LayerRun,
    files: &'a GitFiles,
    found: Repositories,
}

impl<'a> Judging<'a> {
    /// Judges the changes in the repositories that existed before.
    fn judge_existing(&mut self) {
        let mut by_repository: BTreeMap<&Path, Vec<&Change>> = BTreeMap::new();
        for change in &self.run.changes {
            if let Some(dir) = self.git_dir_of(&change.path) {
                by_repository.entry(dir).or_default().push(change);
            } else if matches!(change.kind, ChangeKind::Removed | ChangeKind::Replaced(_)) {
                let links = self.files.used.iter().filter(|used| is_git(used));
                let removed = self.files.git_dirs.iter().chain(links).filter(|dir| dir.starts_with(&change.path));
                self.found.removed.extend(removed.map(|dir| (change.path.clone(), dir.clone())));
            }
        }
        for (number, (dir, changes)) in by_repository.into_iter().enumerate() {
            let place = match self.summarize(dir, &changes, number) {
                Ok(Some(summary)) => {
                    self.found.changed.push((dir.to_owned(), summary));
                    Judgement::Changed
                }
                Ok(None) => Judgement::Dropped,
                Err((path, why)) => {
                    self.found.refused.push((path, why));
                    Judgement::Dropped
                }
            };
            // All changes of a repository share one judgement. An entry that was only touched needs no update in the
            // project.
            for change in changes {
                let is_kept = place == Judgement::Changed && change.kind != ChangeKind::Touched;
                self.found
                    .places
                    .insert(change.path.clone(), if is_kept { Judgement::Changed } else { Judgement::Dropped });
            }
        }
    }

    /// Returns the description of the changes of one repository if they may be kept; `None` if there is nothing to
    /// keep. The error is the path that prevents it, with the reason.
    fn summarize(&self, dir: &Path, changes: &[&Change], number: usize) -> Result<Option<Summary>, (PathBuf, Text)> {
        let refuse = |path: PathBuf, why: Text| {
            let why = text!("{why}. Nothing of this repository was kept; the user can run the command with `!`", why);
            (path, why)
        };
        let itself = changes.iter().find(|change| change.path == dir);
        if itself.is_some_and(|change| !matches!(change.kind, ChangeKind::Modified(_) | ChangeKind::Touched)) {
            return Err(refuse(dir.to_owned(), text!("the git directory itself was removed or replaced")));
        }
        let (before, after) = (self.workspace.root_path().join(dir), self.run.layer.path_of(dir));
        let entries = changes.iter().filter(|change| change.path != dir).filter_map(|change| {
            let path = change.path.strip_prefix(dir).ok()?.to_owned();
            Some((path, entry_change(&change.kind)?))
        });
        let all = GitDirChanges::new(&before, &after, entries);
        if all.is_empty() {
            return Ok(None);
        }
        let Some(git) = self.workspace.root().programs().git() else {
            return Err(refuse(dir.to_owned(), text!("there is no git on the host that could describe the changes")));
        };
        // The folder is next to the upper folder, so it is not a change, and it is deleted with the layer.
        let scratch = self.run.layer.path().join(format!("git-{number}"));
        fs::create_dir(&scratch).map_err(|_| refuse(dir.to_owned(), text!("there is no place for it")))?;
        let checked = all.check(git, self.workspace.root_path(), &scratch);
        checked.map_err(|refusal| refuse(dir.join(refusal.path), refusal.why))?;
        if all.is_bookkeeping(git, &scratch, self.run.outcome.exit_code != 0) {
            return Ok(None);
        }
        // A lock file means that the user's own git is at work. It has not read these changes and would overwrite them.
        if ["index.lock", "HEAD.lock"].iter().any(|lock| before.join(lock).exists()) {
            return Err(refuse(dir.to_owned(), text!("another git is changing the repository")));
        }
        Ok(Some(all.summary(git, &scratch)))
    }

    /// Judges git directories that are new, and `.git` files and links.
    fn judge_new(&mut self) {
        let mut halves: BTreeMap<PathBuf, BTreeSet<&str>> = BTreeMap::new();
        let mut dropped: BTreeSet<PathBuf> = BTreeSet::new();
        for change in &self.run.changes {
            let path = &change.path;
            let is_judged = self.found.places.contains_key(path) || matches!(change.kind, ChangeKind::Removed);
            if is_judged || is_within(path, &self.found.new) || is_within(path, &dropped) {
                continue;
            }
            if is_git(path) {
                let is_fine = match &change.kind {
                    ChangeKind::Added(Entry::Folder { .. }) => self.is_made(path, path.parent().unwrap_or(path)),
                    ChangeKind::Added(Entry::File { .. }) => self.leads_to_repository(path),
                    ChangeKind::Touched => continue,
                    _ => false,
                };
                match is_fine {
                    true => _ = self.found.new.insert(path.clone()),
                    false => _ = dropped.insert(path.clone()),
                }
            } else if let Some(name) = OF_A_GIT_DIR.iter().find(|name| path.file_name() == Some(OsStr::new(name)))
                && matches!(change.kind, ChangeKind::Added(_) | ChangeKind::Replaced(_))
            {
                // Git also recognises a bare repository, which has no `.git`, by its entries. An earlier command may
                // have created some of them.
                halves.entry(path.parent().unwrap_or(path).to_owned()).or_default().insert(name);
            }
        }
        for (folder, names) in halves {
            let there =
                |name: &&&str| names.contains(**name) || self.workspace.root_path().join(&folder).join(name).exists();
            let all = OF_A_GIT_DIR.iter().filter(there).map(|name| name.as_bytes());
            if !looks_bare(all) || is_within(&folder, &self.found.new) || is_within(&folder, &dropped) {
                continue;
            }
            // `is_made` checks only the entries of the layer, so the folder must be new.
            let is_new = self.workspace.root_path().join(&folder).symlink_metadata().is_err();
            match is_new && self.is_made(&folder, &folder) {
                true => _ = self.found.new.insert(folder),
                // Without these entries, git does not treat the folder as a git directory.
                false => dropped.extend(names.into_iter().map(|name| folder.join(name))),
            }
        }
        if dropped.is_empty() {
            return;
        }
        for change in &self.run.changes {
            if is_within(&change.path, &dropped) {
                self.found.places.insert(change.path.clone(), Judgement::Dropped);
            }
        }
        let why = text!("a repository like this could make git run a program. The user can run the command with `!`");
        self.found.refused.extend(dropped.into_iter().map(|path| (path, why.clone())));
        // The command may have moved a removed repository into a new one that is dropped here, so no such removal is
        // kept.
        let why = text!("a repository is in it, and one that the command made is not kept");
        for (folder, _) in std::mem::take(&mut self.found.removed) {
            self.found.places.insert(folder.clone(), Judgement::Dropped);
            self.found.refused.push((folder, why.clone()));
        }
    }

    /// Returns `true` if a new git directory is as `git init` and `git clone` create it. `top` is the folder of its
    /// work tree.
    fn is_made(&self, dir: &Path, top: &Path) -> bool {
        let (before, after) = (self.workspace.root_path().join(top), self.run.layer.path_of(top));
        let everywhere = self.workspace.masks().hooks_everywhere();
        // The user's own git may have a relative folder of hooks for every repository. Such a folder must exist neither
        // in the project nor in the layer.
        everywhere.as_ref().is_none_or(|hooks| plain(&before.join(hooks)).symlink_metadata().is_err())
            && is_as_git_makes_it(&self.run.layer.path_of(dir), &after, everywhere.as_deref())
            && self.has_plain_entries(dir)
    }

    /// Returns `true` if a new git directory has no links, and git accepts the paths in each index.
    fn has_plain_entries(&self, dir: &Path) -> bool {
        let Some(git) = self.workspace.root().programs().git() else { return false };
        let first = self.run.changes.partition_point(|change| change.path.as_path() < dir);
        let inside = self.run.changes[first..].iter().take_while(|change| change.path.starts_with(dir));
        let mut indexes = 0;
        for change in inside {
            let inside = change.path.strip_prefix(dir).unwrap_or(&change.path);
            let is_ref = inside.iter().any(|part| part == "refs" || part == "logs");
            match &change.kind {
                ChangeKind::Added(Entry::Link { .. }) | ChangeKind::Special | ChangeKind::Hidden => return false,
                ChangeKind::Added(Entry::File { .. }) if change.path.ends_with("index") && !is_ref => {
                    indexes += 1;
                    let scratch = self.run.layer.path().join(format!("index-{}-{indexes}", self.found.new.len()));
                    let index = self.run.layer.path_of(&change.path);
                    if indexes > MOST_INDEXES
                        || fs::create_dir_all(&scratch).is_err()
                        || check_index(git, &index, &scratch, false).is_err()
                    {
                        return false;
                    }
                }
                _ => {}
            }
        }
        true
    }

    /// Returns `true` if a new `.git` file belongs to a new worktree of a repository that existed before. Git would
    /// look for hooks and programs with relative names in the new work tree, too, so the configuration must name none.
    fn leads_to_repository(&self, file: &Path) -> bool {
        let root = self.workspace.root_path();
        let Some(target) = pointed(&self.run.layer.path_of(file), "gitdir:") else { return false };
        let Ok(inside) = target.strip_prefix(root) else { return false };
        let Some(dir) = inside.parent().filter(|above| above.ends_with("worktrees")).and_then(Path::parent) else {
            return false;
        };
        let gitdir = self.run.layer.path_of(&inside.join("gitdir"));
        self.files.git_dirs.contains(dir)
            && self.files.used.iter().all(|path| is_git(path) || self.git_dir_of(path).is_some())
            && self.found.places.get(inside) == Some(&Judgement::Changed)
            && pointed(&gitdir, "").is_some_and(|place| place == root.join(file))
    }

    /// Drops the files that git on the host would use outside of the git directories: hooks, included files and
    /// programs.
    fn drop_used(&mut self) {
        // The entries of a git directory are judged with the repository.
        let used: Vec<&PathBuf> = self.files.used.iter().filter(|used| self.git_dir_of(used).is_none()).collect();
        if used.is_empty() {
            return;
        }
        for change in &self.run.changes {
            let path = &change.path;
            let is_folder = matches!(
                change.kind,
                ChangeKind::Added(Entry::Folder { .. }) | ChangeKind::Modified(Entry::Folder { .. })
            );
            // A removal is not harmless: a command could remove a hook, and the next one could create it anew.
            let is_harmless = matches!(change.kind, ChangeKind::Touched) || is_folder;
            // The removal of a folder with the `.git` file of a work tree is an exception, because the work tree goes
            // with it.
            let is_gone = change.kind == ChangeKind::Removed;
            let leads_there =
                |used: &&PathBuf| path.starts_with(used) || used.starts_with(path) && !(is_gone && is_git(used));
            if is_harmless || self.found.places.contains_key(path) || !used.iter().any(leads_there) {
                continue;
            }
            let why = text!("git on the host would run or read it. The user can run the command with `!`");
            self.found.refused.push((path.clone(), why));
            self.found.places.insert(path.clone(), Judgement::Dropped);
        }
    }

    /// Returns the outermost git directory that existed before and that a path is in.
    fn git_dir_of(&self, path: &Path) -> Option<&'a Path> {
        let files: &'a GitFiles = self.files;
        let outermost = path.ancestors().filter_map(|above| files.git_dirs.get(above)).last();
        outermost.map(PathBuf::as_path)
    }
}

/// Returns `true` if a path is one of these, or in one.
fn is_within(path: &Path, folders: &BTreeSet<PathBuf>) -> bool {
    path.ancestors().any(|above| folders.contains(above))
}

fn entry_change(kind: &ChangeKind) -> Option<EntryChange> {
    match kind {
        ChangeKind::Removed => Some(EntryChange::Removed),
        ChangeKind::Added(entry) | ChangeKind::Modified(entry) | ChangeKind::Replaced(entry) => Some(match entry {
            Entry::File { .. } => EntryChange::Written,
            // The folder replaced another entry, which counts as removed. The entries of the folder are changes of
            // their own.
            Entry::Folder { .. } if matches!(kind, ChangeKind::Replaced(_)) => EntryChange::Removed,
            Entry::Folder { .. } => EntryChange::Folder,
            Entry::Link { .. } => EntryChange::Other,
        }),
        ChangeKind::Touched => None,
        ChangeKind::Special | ChangeKind::Hidden => Some(EntryChange::Other),
    }
}

/// Returns `true` if a path has the name of a git directory. Some file systems ignore case.
fn is_git(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.eq_ignore_ascii_case(".git"))
}
