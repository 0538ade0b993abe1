//! Sorts the entries that a command wrote: changes, build output, and entries that are never kept.

use super::repositories::{Judgement, Repositories};
use crate::layer::{Change, ChangeKind, Entry};
use crate::run::LayerRun;
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use toolfence_policy::rules::{AGENTS_FILES, instructs_agents};
use toolfence_protocol::{Text, text};
use toolfence_workspace::Workspace;

/// The sorted entries that a command wrote.
#[derive(Debug)]
pub(super) struct Sorted {
    pub(super) changes: Vec<Change>,
    /// The output, grouped by the uppermost folder or file.
    pub(super) output: Vec<Group>,
    output_paths: HashSet<PathBuf>,
    /// Entries that are never kept, each with the reason.
    pub(super) left_out: Vec<(PathBuf, Text)>,
    pub(super) repositories: Repositories,
    /// The changes of files that instruct agents.
    pub(super) instructions: Vec<PathBuf>,
}

/// Output in one folder, or one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) path: PathBuf,
    /// Files that were written.
    pub(super) files: usize,
    /// Entries that were removed or replaced.
    pub(super) removed: usize,
}

impl Sorted {
    pub(super) fn new(workspace: &Workspace, run: &LayerRun) -> Sorted {
        let mut sorted = Sorted {
            changes: Vec::new(),
            output: Vec::new(),
            output_paths: HashSet::new(),
            left_out: Vec::new(),
            repositories: Repositories::judge(workspace, run),
            instructions: Vec::new(),
        };
        let linked = linked_instructions(workspace.root_path());
        let mut groups: BTreeMap<PathBuf, Group> = BTreeMap::new();
        for (change, is_output) in run.changes.iter().zip(&run.is_output) {
            match sorted.repositories.judgement(&change.path) {
                Some(Judgement::Changed) => {
                    sorted.changes.push(change.clone());
                    continue;
                }
                Some(Judgement::Dropped) => continue,
                None => {}
            }
            let reason = match change.kind {
                ChangeKind::Special => Some(text!("it is not a file, a link or a folder")),
                ChangeKind::Hidden => Some(text!("a blocked file is there, or in it")),
                _ => {
                    let root = workspace.root();
                    // `Repositories` has checked a new repository as a whole, so the rules that protect `.git` do not
                    // apply to it.
                    let rule = match sorted.is_in_new_repository(&change.path) {
                        true => root.rule_that_blocks(&change.path),
                        false => root.rule_against(&change.path),
                    };
                    rule.map(|rule| text!("it is blocked by the rule {rule}", rule))
                }
            };
            // A removed repository, or a file that instructs agents, is a change even if git ignores it, because output
            // is put into the project without a look at each file.
            if let Some(reason) = reason {
                sorted.left_out.push((change.path.clone(), reason));
            } else if *is_output
                && !sorted.repositories.is_removed_with(&change.path)
                && (!instructs_agents(&change.path.to_string_lossy()) || sorted.is_in_output(&change.path))
            {
                sorted.output_paths.insert(change.path.clone());
                let is_folder = matches!(change.kind, ChangeKind::Added(Entry::Folder { .. }));
                let path = group_of(&change.path).unwrap_or_default();
                let group = groups.entry(path.clone()).or_insert(Group { path, files: 0, removed: 0 });
                group.files += usize::from(!is_folder && change.kind != ChangeKind::Removed);
                group.removed += usize::from(loses(change));
            } else if change.kind != ChangeKind::Touched {
                // A change can also make other instructions apply: by a link on their path, or in the target of a
                // linked file.
                let leads = replaces_way(change) || linked.iter().any(|file| file.starts_with(&change.path));
                if leads || instructs_agents(&change.path.to_string_lossy()) {
                    sorted.instructions.push(change.path.clone());
                }
                sorted.changes.push(change.clone());
            }
        }
        sorted.left_out.append(&mut sorted.repositories.refused);
        sorted.output = groups.into_values().collect();
        sorted
    }

    /// Returns the number of changed files and links, and of removed folders. New folders only count if nothing else
    /// has changed.
    pub(super) fn count(&self) -> u64 {
        let counts = |change: &&Change| !self.is_in_repository(&change.path);
        let folders = self.changes.iter().filter(counts).filter(|change| is_new_folder(change)).count();
        let others = self.changes.iter().filter(counts).count() - folders;
        (if others == 0 { folders } else { others }) as u64
    }

    /// Describes the amount of changes: a number of files, the repository, or both.
    pub(super) fn amount(&self) -> Text {
        let count = self.count();
        match (self.repositories.changed.len() as u64, count) {
            (0, _) => text!("{count} {count|file|files}", count),
            (repositories, 0) => text!("{repositories|the repository|repositories}", repositories),
            (repositories, _) => {
                text!("{count} {count|file|files} and {repositories|the repository|repositories}", count, repositories)
            }
        }
    }

    /// Returns the names of the changes. All changes of a repository have one name, its path.
    pub(super) fn changed_names(&self) -> Vec<PathBuf> {
        let files = self.changes.iter().filter(|change| self.repositories.judgement(&change.path).is_none());
        let repositories = self.repositories.changed.iter().map(|(path, _)| path.clone());
        files.map(|change| change.path.clone()).chain(repositories).collect()
    }

    /// Returns `true` for a new git directory and everything in it.
    pub(super) fn is_in_new_repository(&self, path: &Path) -> bool {
        path.ancestors().any(|above| self.repositories.new.contains(above))
    }

    /// Returns `true` for entries of a repository, which is described as a whole.
    pub(super) fn is_in_repository(&self, path: &Path) -> bool {
        self.repositories.judgement(path).is_some() || self.is_in_new_repository(path)
    }

    pub(super) fn is_output(&self, path: &Path) -> bool {
        self.output_paths.contains(path)
    }

    pub(super) fn output_paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.output_paths.iter()
    }

    /// Returns `true` if the path is in a folder that is output. Installed packages may contain files that instruct the
    /// agents of their authors, and these are no reason for a question.
    fn is_in_output(&self, path: &Path) -> bool {
        path.parent().is_some_and(|folder| self.is_output(folder))
    }

    /// Returns the paths of the changes, which are kept together. With `output`, adds the output in new folders,
    /// because a new folder is moved as a whole.
    pub(super) fn paths_of_changes(&self, output: bool) -> HashSet<&Path> {
        let mut paths: HashSet<&Path> = self.changes.iter().map(|change| change.path.as_path()).collect();
        if output {
            let new = self.changes.iter().filter(|change| is_new_folder(change)).map(|change| change.path.as_path());
            let new: HashSet<&Path> = new.collect();
            let is_inside = |path: &Path| path.ancestors().skip(1).any(|above| new.contains(above));
            paths.extend(self.output_paths.iter().map(PathBuf::as_path).filter(|path| is_inside(path)));
        }
        paths
    }

    /// Returns the output to keep, except the paths that were already `kept` and those in a new folder that is not
    /// kept.
    pub(super) fn paths_of_output<'p>(&'p self, all: &[Change], kept: &HashSet<&Path>) -> HashSet<&'p Path> {
        let new: HashSet<&Path> =
            all.iter().filter(|change| is_new_folder(change)).map(|change| change.path.as_path()).collect();
        let is_dropped = |path: &Path| {
            path.ancestors().skip(1).any(|above| new.contains(above) && !self.output_paths.contains(above))
        };
        let output = self.output_paths.iter().map(PathBuf::as_path);
        output.filter(|path| !kept.contains(path) && !is_dropped(path)).collect()
    }
}

/// Returns the name of the group of output that a path belongs to.
pub(super) fn group_of(path: &Path) -> Option<PathBuf> {
    path.iter().next().map(PathBuf::from)
}

/// Returns `true` if a change removes an entry from the project.
pub(super) fn loses(change: &Change) -> bool {
    matches!(change.kind, ChangeKind::Removed | ChangeKind::Replaced(_))
}

pub(super) fn is_new_folder(change: &Change) -> bool {
    matches!(change.kind, ChangeKind::Added(Entry::Folder { .. }) | ChangeKind::Replaced(Entry::Folder { .. }))
}

/// Returns the targets of links among the project's files of instructions.
fn linked_instructions(root: &Path) -> Vec<PathBuf> {
    let real = AGENTS_FILES.iter().filter_map(|name| root.join(name).canonicalize().ok());
    real.filter_map(|path| Some(path.strip_prefix(root).ok()?.to_owned())).collect()
}

/// Returns `true` if instructions may come from another folder after the change, because a folder above them was
/// removed or is now a link.
fn replaces_way(change: &Change) -> bool {
    let stays =
        matches!(change.kind, ChangeKind::Added(Entry::Folder { .. }) | ChangeKind::Modified(Entry::Folder { .. }));
    !stays && AGENTS_FILES.iter().any(|name| Path::new(name).starts_with(&change.path))
}
