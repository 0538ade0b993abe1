//! CommonMark's reading of the reply beside the parser's, where a block has ended at a place that CommonMark does not see.
//!
//! Behind a complete object the parser ends a block at the fence of the next one, at a closing fence glued to the object,
//! and at a closing fence with text behind it. For CommonMark the block is still open there. The parser reads on as the
//! model most likely meant it, and follows CommonMark's fences as well until both readings are in the same state.
//!
//! Invariant: while the two differ, one of them is CommonMark's own. So a call that both see is one for CommonMark too.

use super::containers::{Containers, LineKind};
use crate::fence::{self, Opening};

/// The reading that is not the parser's at the moment.
#[derive(Debug, Clone)]
pub(super) struct OtherReading {
    containers: Containers,
    /// This is CommonMark's reading; otherwise the parser's is.
    is_commonmark: bool,
    /// A block has ended where CommonMark sees no end. Before that, the readings differ only because a fence inside a
    /// string or a body turned out to be content.
    is_doubtful: bool,
    /// There were only blank lines since the last block ended.
    only_blanks: bool,
}

/// A block ends where CommonMark sees no end: for CommonMark it stays open. `own` is the parser's reading before the end.
pub(super) fn part(own: &Containers, other: &mut Option<OtherReading>) {
    match other {
        Some(reading) if reading.is_commonmark => reading.is_doubtful = true,
        _ => {
            let containers = own.clone();
            *other = Some(OtherReading { containers, is_commonmark: true, is_doubtful: true, only_blanks: false });
        }
    }
}

/// Reads a line of prose in both readings. Says what it is, and whether only one reading sees the fence of a call in it.
/// `is_call` says so of an opening fence. Where only the other reading sees one, the two change places: the parser reads that
/// block.
pub(super) fn read_line<'a>(
    own: &mut Containers,
    other: &mut Option<OtherReading>,
    line: &'a str,
    is_call: impl Fn(&Opening<'_>) -> bool,
) -> (LineKind<'a>, bool) {
    let kind = own.line(line);
    let Some(reading) = other else { return (kind, false) };
    let its_kind = reading.containers.line(line);
    let only_blanks = reading.only_blanks;
    reading.only_blanks &= fence::is_blank(line);
    if matches!((&kind, &its_kind), (LineKind::Opens(..), LineKind::Opens(..))) && *own == reading.containers {
        // Compared only here: the states are as large as the containers are deep, and an opening fence is as long as that.
        *other = None;
        return (kind, false);
    }
    if !reading.is_doubtful {
        return (kind, false);
    }
    if reading.is_commonmark
        && only_blanks
        && matches!(&kind, LineKind::Opens(opening, _) if opening.info.is_empty())
        && matches!(its_kind, LineKind::Closes(_))
    {
        // The closing fence, for CommonMark, of the block that the parser has ended already. Where the parser follows CommonMark
        // itself, no block of its own has ended early, and the fence is what CommonMark makes of it.
        own.close_leaf();
        return (LineKind::Prose, false);
    }
    let sees = |kind: &LineKind<'_>, containers: &Containers| match kind {
        LineKind::Opens(opening, _) => is_call(opening) && !containers.in_quote(),
        _ => false,
    };
    match (sees(&kind, own), sees(&its_kind, &reading.containers)) {
        (true, false) => (kind, true),
        (false, true) => {
            std::mem::swap(own, &mut reading.containers);
            reading.is_commonmark = !reading.is_commonmark;
            (its_kind, true)
        }
        _ => (kind, false),
    }
}

impl OtherReading {
    /// CommonMark's reading behind a closing fence that may be content of the block that `own` has open.
    pub(super) fn behind_candidate(own: &Containers) -> OtherReading {
        let mut containers = own.clone();
        containers.close_leaf();
        OtherReading { containers, is_commonmark: true, is_doubtful: false, only_blanks: false }
    }

    /// A line of the block that the parser has open.
    pub(super) fn line(&mut self, line: &str) {
        self.containers.line(line);
    }

    /// Whether a block has ended where CommonMark sees no end.
    pub(super) fn is_doubtful(&self) -> bool {
        self.is_doubtful
    }

    /// The parser's block is over.
    pub(super) fn block_ends(&mut self) {
        self.only_blanks = true;
    }

    /// CommonMark's reading, where it is this one.
    pub(super) fn into_commonmark(self) -> Option<Containers> {
        self.is_commonmark.then_some(self.containers)
    }
}
