//! Whether what is hidden from a command that runs is still hidden.

use super::super::{Workspace, names, resolve};
use super::Covers;
use crate::walls::{How, Identity};
use rustix::fd::AsFd;

/// The name of a blocked file that is another one than was covered.
pub(super) fn disturbed(workspace: &Workspace, before: &Covers) -> Option<String> {
    let is_another = |cover: &&super::Cover| {
        let now = resolve::stat_exact(workspace.root.as_fd(), &cover.path);
        now.is_ok_and(|stat| Identity::of(&stat) != cover.is)
    };
    // What stands in a folder that git ignores is the build's to replace.
    let hidden = before.list.iter().filter(|cover| cover.how == How::Hide);
    hidden.clone().find(is_another).map(|cover| names::shown(&cover.path))
}
