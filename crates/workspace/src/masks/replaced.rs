//! Detects whether a masked file was replaced while a command runs.

use crate::masks::set::MaskSet;
use crate::names;
use crate::root::Root;
use toolfence_sandbox::project::{Mask, MaskKind};

/// A file that another process on the host has replaced, so that a command finds it without its mask.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unmasked {
    /// A blocked file, which can be read.
    Blocked(String),
    /// A file that git or this program uses, which can be written.
    Used(String),
}

/// Finds a masked file that was replaced by another one.
pub(super) fn find(root: &Root, before: &MaskSet) -> Option<Unmasked> {
    let is_another = |mask: &&Mask| {
        let now = root.identity_exact(&mask.path);
        now.is_ok_and(|identity| identity != mask.identity)
    };
    // A build may replace the files in a folder that git ignores.
    let masked = before.list.iter().filter(|mask| matches!(mask.how, MaskKind::Hide | MaskKind::Freeze));
    masked.clone().find(is_another).map(|mask| match mask.how {
        MaskKind::Hide => Unmasked::Blocked(names::display(&mask.path)),
        _ => Unmasked::Used(names::display(&mask.path)),
    })
}
