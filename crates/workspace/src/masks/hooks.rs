//! Hooks in a call that is git alone: whether they run in it, and what they must not leave behind.
//!
//! A hook is a program of the project. In its call it may write the data of a repository, for git does that too. So more is
//! read-only in such a call than in one where only git runs, and afterwards the git directories are looked over.

use crate::encoding::{path_bytes, path_from};
use crate::masks::Masks;
use crate::masks::repositories::{git_dirs, hook_folders};
use crate::masks::set::MaskSet;
use crate::masks::settle::{Suspect, is_theirs, set_aside};
use crate::{messages, names};
use rustix::fs::FileType;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use toolfence_git::config::{Configured, keys_of};
use toolfence_git::{Git, hooks, made};
use toolfence_protocol::Text;

/// The most hooks that are named in a sentence.
const MOST_NAMED: usize = 8;

/// What becomes of the hooks of the project's repositories in a call that is git alone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Hooks {
    /// These may run, in the order of their names: the settings approve each. Empty where none runs.
    pub run: Vec<&'static str>,
    /// Why none runs although the settings approve some: one sentence.
    pub off: Option<Text>,
}

/// Why no hook of a repository can run.
enum Hindrance {
    /// A sentence.
    Because(Text),
    /// These stand there and are not approved, in this folder.
    NotApproved(Vec<&'static str>, PathBuf),
}

/// What becomes of hooks in a call that is git alone, for the repositories that were found for a call in which hooks would run.
pub(super) fn of(masks: &Masks, set: &MaskSet) -> Hooks {
    let Some(git) = masks.host_git() else { return Hooks::default() };
    let mut run = BTreeSet::new();
    let (mut why, mut others, mut folders) = (None, BTreeSet::new(), BTreeSet::new());
    for repository in &set.repositories {
        match approved_in(masks, git, &repository.at) {
            Ok(found) => run.extend(found),
            Err(Hindrance::Because(sentence)) => why = why.or(Some(sentence)),
            Err(Hindrance::NotApproved(found, folder)) => {
                others.extend(found);
                folders.insert(names::shown(folder.strip_prefix(masks.root.path()).unwrap_or(&folder)));
            }
        }
    }
    if !others.is_empty() {
        let list = |of: &BTreeSet<String>| {
            let named = of.iter().take(MOST_NAMED).cloned().collect::<Vec<_>>().join(", ");
            match of.len().saturating_sub(MOST_NAMED) {
                0 => Text::from(named),
                more => messages::and_more(named, more),
            }
        };
        let others: BTreeSet<String> = others.into_iter().map(str::to_owned).collect();
        why = Some(messages::none_ran(messages::not_approved(list(&others), others.len(), list(&folders))));
    }
    match why {
        Some(off) => Hooks { run: Vec::new(), off: Some(off) },
        None => Hooks { run: run.into_iter().collect(), off: None },
    }
}

/// The hooks that stand in the repository at `at` and its submodules, where each is approved.
fn approved_in(masks: &Masks, git: &Git, at: &Path) -> Result<BTreeSet<&'static str>, Hindrance> {
    let shown = || names::shown(at);
    let because = |why: Text| Err(Hindrance::Because(messages::none_ran(why)));
    if at.as_os_str().is_empty() {
        return because(messages::no_work_tree());
    }
    let has_dot_git = at.file_name().is_some_and(|name| name == ".git");
    let folder = if has_dot_git { at.parent().unwrap_or(Path::new("")) } else { at };
    let kind = fs::symlink_metadata(masks.root.path().join(at)).ok().map(|meta| {
        let kind = meta.file_type();
        match (kind.is_symlink(), kind.is_file()) {
            (true, _) => FileType::Symlink,
            (_, true) => FileType::RegularFile,
            _ => FileType::Directory,
        }
    });
    let dirs = git_dirs(masks, folder, kind.filter(|_| has_dot_git));
    // A file or link that leads nowhere is no repository to git.
    if fs::metadata(&dirs[0]).is_err() {
        return Ok(BTreeSet::new());
    }
    let top = masks.root.path().join(folder);
    let Some(configured) = masks.configured(&top, &dirs) else {
        return because(messages::not_listed(shown()));
    };
    let mut folders = match where_hooks_stand(&configured, &shown()) {
        Ok(Some(value)) => hook_folders(value, &top, &dirs),
        Ok(None) => dirs.last().map(|common| common.join("hooks")).into_iter().collect(),
        Err(why) => return because(why),
    };
    for dir in &dirs {
        let Some(inner) = hooks::inner(dir) else {
            return because(messages::too_many_inside(shown()));
        };
        // The first is the directory itself.
        for dir in inner.dirs.iter().skip(1).filter(|dir| !dirs.contains(dir)) {
            for file in ["config", "config.worktree"].map(|name| dir.join(name)) {
                let names_more = |key: &str| key == "core.hookspath" || key.starts_with("include");
                let is_plain = fs::symlink_metadata(&file).is_err()
                    || keys_of(git, &file).is_ok_and(|keys| !keys.iter().any(|(key, _)| names_more(key)));
                if !is_plain {
                    let file = names::shown(file.strip_prefix(masks.root.path()).unwrap_or(&file));
                    return because(messages::file_names_more(file));
                }
            }
            folders.insert(dir.join("hooks"));
        }
    }
    let mut run = BTreeSet::new();
    for folder in folders {
        let standing = hooks::standing(&folder);
        let is_inside = folder.canonicalize().is_ok_and(|real| real.starts_with(masks.root.path()));
        if !standing.is_empty() && !is_inside {
            return because(messages::hooks_outside(shown()));
        }
        let others: Vec<&str> = standing.iter().copied().filter(|name| !masks.git.approves_hook(name)).collect();
        if !others.is_empty() {
            return Err(Hindrance::NotApproved(others, folder));
        }
        run.extend(standing);
    }
    Ok(run)
}

/// The folder of hooks that the own configuration of the repository `shown` names, or why that cannot be told.
fn where_hooks_stand<'c>(configured: &'c Configured, shown: &str) -> Result<Option<&'c str>, Text> {
    let is_hooks_path = |(key, _): &&(String, Option<String>)| key == "core.hookspath";
    if configured.local.iter().any(|(key, _)| key.starts_with("includeif.")) {
        // What git does in the call may change whether it holds.
        return Err(messages::includes_under_condition(shown));
    }
    match (configured.local.iter().rfind(is_hooks_path), &configured.hooks) {
        // A value that git reads in a way of its own is not followed.
        (Some((_, Some(value))), _) if value.is_empty() || value.starts_with(['%', ':']) => {
            Err(messages::hooks_not_followed(shown))
        }
        (Some((_, None)), _) => Err(messages::hooks_not_named(shown)),
        (Some(_), Some(value)) => Ok(Some(value)),
        // The person's own configuration is hidden from commands, with the home it stands in.
        _ if configured.global.iter().any(|(key, _)| key == "core.hookspath") => {
            Err(messages::hooks_from_outside(shown))
        }
        _ => Ok(None),
    }
}

/// The git directories of a call in which hooks run, as they were before it. Paths are bytes: names need not be text.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Guarded {
    tops: Vec<Vec<u8>>,
    dirs: BTreeSet<Vec<u8>>,
    /// Where links stand, and where they lead.
    links: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Guarded {
    /// Of the repositories that are writable in this call.
    pub fn before(masks: &Masks, set: &MaskSet) -> Guarded {
        let mut guarded = Guarded::default();
        for top in set.kept().map(|at| masks.root.path().join(at)) {
            let inner = hooks::inner(&top).unwrap_or_default();
            guarded.dirs.extend(inner.dirs.iter().map(|dir| path_bytes(dir)));
            guarded.links.extend(inner.links.iter().map(|(at, leads)| (path_bytes(at), path_bytes(leads))));
            guarded.tops.push(path_bytes(&top));
        }
        guarded
    }

    /// Takes away what appeared in the git directories and would make git run something: other git directories that are not
    /// as git makes them, links, and lists of a rebase with programs in them. The sentences say what.
    pub fn settle(&self, masks: &Masks) -> Vec<Text> {
        self.settle_until(masks, None)
    }

    /// Takes away like [`Guarded::settle`], but only what appeared until a time, where that is known: what came later is another
    /// process's work.
    pub(super) fn settle_until(&self, masks: &Masks, until: Option<SystemTime>) -> Vec<Text> {
        let known: HashSet<(&[u8], &[u8])> = self.links.iter().map(|(at, leads)| (&at[..], &leads[..])).collect();
        let mut suspects = Vec::new();
        let mut said = Vec::new();
        for top in self.tops.iter().map(|top| path_from(top.clone())) {
            let top = top.as_path();
            let relative = |path: &Path| path.strip_prefix(masks.root.path()).ok().map(Path::to_owned);
            let Some(inner) = hooks::inner(top) else {
                let shown = names::shown(top.strip_prefix(masks.root.path()).unwrap_or(top));
                said.push(messages::too_much_to_look_over(shown));
                continue;
            };
            let new_links = inner
                .links
                .iter()
                .filter(|(at, leads)| !known.contains(&(at.as_os_str().as_bytes(), leads.as_os_str().as_bytes())));
            suspects.extend(new_links.filter_map(|(at, _)| relative(at)).map(Suspect::Made));
            for dir in &inner.dirs {
                let of_work_tree = dir.parent().and_then(Path::file_name).is_some_and(|name| name == "worktrees");
                let is_made = || match of_work_tree {
                    true => made::is_made_worktree(dir),
                    false => made::is_as_git_makes_it(dir, dir, None),
                };
                if !self.dirs.contains(dir.as_os_str().as_bytes()) && !is_made() {
                    suspects.extend(relative(dir).map(Suspect::Repository));
                } else if made::has_programs_to_run(dir) {
                    let lists = made::LISTS.iter().map(|list| dir.join(list));
                    let there = lists.filter(|list| fs::symlink_metadata(list).is_ok());
                    suspects.extend(there.filter_map(|list| relative(&list)).map(Suspect::Made));
                }
            }
        }
        suspects.retain(|suspect| !is_theirs(masks, suspect, until));
        // A git directory goes before what is in it, and nothing goes twice.
        suspects.sort_by(|a, b| a.path().cmp(b.path()));
        suspects.dedup_by(|later, earlier| later.path().starts_with(earlier.path()));
        said.extend(suspects.iter().map(|suspect| set_aside(masks, suspect)));
        said
    }
}
