//! Whether what is masked for a command that runs is still what was masked.

use crate::masks::set::MaskSet;
use crate::names;
use crate::root::Root;
use toolfence_sandbox::project::{Mask, MaskKind};

/// What a command finds without its mask, because another process on the host has put another file in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unmasked {
    /// A blocked file, which can be read.
    Blocked(String),
    /// A file that git or this program uses, which can be written.
    Used(String),
}

/// Finds a file that is another one than was masked.
pub(super) fn find(root: &Root, before: &MaskSet) -> Option<Unmasked> {
    let is_another = |mask: &&Mask| {
        let now = root.identity_exact(&mask.path);
        now.is_ok_and(|is| is != mask.is)
    };
    // What stands in a folder that git ignores is the build's to replace.
    let masked = before.list.iter().filter(|mask| matches!(mask.how, MaskKind::Hide | MaskKind::Freeze));
    masked.clone().find(is_another).map(|mask| match mask.how {
        MaskKind::Hide => Unmasked::Blocked(names::shown(&mask.path)),
        _ => Unmasked::Used(names::shown(&mask.path)),
    })
}
