//! Whether what is hidden from a command that runs is still hidden.

use super::super::{Stop, Workspace, names, resolve};
use super::{Covers, Looking, Purpose};
use crate::walls::{How, Identity};
use rustix::fd::AsFd;
use std::collections::HashSet;

/// The name of a blocked file that is another one than was covered; with `new_ones_too` also of one that was not there.
pub(super) fn disturbed(workspace: &Workspace, before: &Covers, new_ones_too: bool, stop: &Stop) -> Option<String> {
    let is_another = |cover: &&super::Cover| {
        let now = resolve::stat_exact(workspace.root.as_fd(), &cover.path);
        now.is_ok_and(|stat| Identity::of(&stat) != cover.is)
    };
    // What stands in a folder that git ignores is the build's to replace.
    let is_hidden = |cover: &&super::Cover| cover.how == How::Hide;
    let hidden = || before.list.iter().filter(is_hidden);
    if let Some(cover) = hidden().find(is_another) {
        return Some(names::shown(&cover.path));
    }
    if !new_ones_too {
        return None;
    }
    let known: HashSet<Identity> = hidden().map(|cover| cover.is).collect();
    let mut looking = Looking::begin(workspace, Purpose::Watch);
    // A project that moves is looked at again the next time.
    looking.tree(stop).ok()?;
    let new = looking.covers.list.iter().find(|cover| is_hidden(cover) && !known.contains(&cover.is));
    new.map(|cover| names::shown(&cover.path))
}
