//! What a command left behind that git would run later, outside the walls.
//!
//! What was there is covered while the command runs; this is about what was not. A `.git` that the command made is fine as
//! `git init` makes it; one with hooks or with settings that name programs is set aside under another name.

use super::super::{Stop, Workspace, names, repository, resolve};
use super::repositories::{Repository, WATCHED};
use super::{Covers, Looking};
use crate::policy::RepositoryFact;
use rustix::fd::AsFd;
use rustix::fs::{AtFlags, FileType, RenameFlags};
use std::path::Path;

/// What stands behind the name of a `.git` that was set aside, with a number.
const ASIDE: &str = ".git.set-aside";

pub(super) fn settle(workspace: &Workspace, before: &Covers) -> Vec<String> {
    let mut looking = Looking::begin(workspace, true);
    if looking.tree(&Stop::default()).is_err() {
        return vec![
            "The project is too big to be looked over after the command. Look for new .git folders in it.".into(),
        ];
    }
    let known = |now: &Repository| before.repositories.iter().find(|then| then.at == now.at && then.is == now.is);
    let mut said = Vec::new();
    for now in &looking.covers.repositories {
        match known(now) {
            Some(then) => said.extend(appeared(workspace, then, now)),
            None if is_harmless(workspace, &now.at) => {}
            None => said.push(set_aside(workspace, &now.at)),
        }
    }
    said
}

/// Removes files that send git to other settings.
fn appeared(workspace: &Workspace, then: &Repository, now: &Repository) -> Vec<String> {
    let new = WATCHED.iter().filter(|name| now.had.contains(name) && !then.had.contains(name));
    let removed = new.map(|name| {
        let path = now.at.join(name);
        let done = resolve::open_exact(workspace.root.as_fd(), &now.at)
            .and_then(|folder| rustix::fs::unlinkat(folder, *name, AtFlags::empty()));
        let shown = names::shown(&path);
        match done {
            Ok(()) => format!("{shown}, which the command made, would let git use other settings; it was removed."),
            Err(errno) => format!(
                "{shown}, which the command made, lets git use other settings and could not be removed: {errno}."
            ),
        }
    });
    removed.collect()
}

/// What `git init` and `git clone` make: no hooks but the samples, no settings that name programs.
fn is_harmless(workspace: &Workspace, at: &Path) -> bool {
    let folder = at.parent().unwrap_or(Path::new(""));
    let Some(folder) = folder.to_str() else { return false };
    let stat = resolve::stat_exact(workspace.root.as_fd(), at);
    let is_folder = stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Directory);
    let plain = matches!(repository::fact(workspace, folder), RepositoryFact::Plain | RepositoryFact::Above);
    is_folder
        && plain
        && !WATCHED.iter().any(|name| there(workspace, &at.join(name)))
        && has_only_samples(workspace, at)
}

fn there(workspace: &Workspace, path: &Path) -> bool {
    resolve::stat_exact(workspace.root.as_fd(), path).is_ok()
}

fn has_only_samples(workspace: &Workspace, at: &Path) -> bool {
    const MOST_HOOKS: usize = 1000;
    let hooks = at.join("hooks");
    let Ok(folder) = resolve::open_exact(workspace.root.as_fd(), &hooks) else { return !there(workspace, &hooks) };
    let Ok((items, complete)) = super::super::folder::items(folder.as_fd(), MOST_HOOKS) else { return false };
    complete && items.iter().all(|item| item.name.as_encoded_bytes().ends_with(b".sample"))
}

fn set_aside(workspace: &Workspace, at: &Path) -> String {
    const MOST_TRIES: u32 = 1000;
    let shown = names::shown(at);
    let folder = at.parent().unwrap_or(Path::new(""));
    let Ok(folder) = resolve::open_exact(workspace.root.as_fd(), folder) else {
        return format!("{shown}, which the command made, could not be looked at. Do not use it.");
    };
    for number in 1..=MOST_TRIES {
        let name = format!("{ASIDE}-{number}");
        match rustix::fs::renameat_with(&folder, ".git", &folder, &*name, RenameFlags::NOREPLACE) {
            Ok(()) => {
                return format!("{shown}, which the command made, would let git run programs; it is now named {name}.");
            }
            Err(rustix::io::Errno::EXIST) => {}
            Err(_) => break,
        }
    }
    format!("{shown}, which the command made, lets git run programs and could not be set aside. Do not use it.")
}
