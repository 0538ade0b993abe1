//! Whether what is hidden from a command that runs is still hidden.

use super::super::{Workspace, names, resolve};
use super::Covers;
use rustix::fd::AsFd;
use toolfence_sandbox::isolation::{How, identity_of};

/// What a command finds without its cover, because somebody on the host has put another file in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Uncovered {
    /// A blocked file, which can be read.
    Blocked(String),
    /// A file that git or this program uses, which can be written.
    Used(String),
}

/// What is another file than was covered.
pub(super) fn disturbed(workspace: &Workspace, before: &Covers) -> Option<Uncovered> {
    let is_another = |cover: &&super::Cover| {
        let now = resolve::stat_exact(workspace.root.as_fd(), &cover.path);
        now.is_ok_and(|stat| identity_of(&stat) != cover.is)
    };
    // What stands in a folder that git ignores is the build's to replace.
    let covered = before.list.iter().filter(|cover| matches!(cover.how, How::Hide | How::Freeze));
    covered.clone().find(is_another).map(|cover| match cover.how {
        How::Hide => Uncovered::Blocked(names::shown(&cover.path)),
        _ => Uncovered::Used(names::shown(&cover.path)),
    })
}
