//! What can be undone and what can be redone, read from the records there are.

use super::Listed;
use super::record::{Head, Kind};
use crate::workspace::LeftOut;
use std::collections::HashMap;

/// What is said of a turn whose program was killed.
const CUT_SHORT: &str = "It was cut short. What was changed after its last sign of life counts as somebody else's work and is \
                         left as it is; commands that ran outside of the walls may have gone on.";

/// The turns of a history.
#[derive(Debug, Default)]
pub(super) struct Stack {
    /// Turns that can be undone, the last one first to go.
    pub(super) done: Vec<u64>,
    /// Undos that can be taken back, each with the turn it undid; the last one first.
    pub(super) undone: Vec<(u64, u64)>,
    heads: HashMap<u64, Head>,
}

impl Stack {
    /// From records in their order.
    pub(super) fn of(heads: Vec<Head>) -> Stack {
        let mut stack = Stack::default();
        for head in heads {
            let cut_short = head.end.as_ref().is_none_or(|end| end.killed);
            match head.begin.kind {
                Kind::Turn => {
                    stack.done.push(head.number);
                    stack.undone.clear();
                }
                // What was cut short, either way, can be undone: what is so already is left out then.
                Kind::Undo(_) if cut_short => {}
                Kind::Undo(turn) => {
                    stack.done.retain(|done| *done != turn);
                    stack.undone.push((head.number, turn));
                }
                Kind::Redo(undo) => {
                    let turn = stack.undone.iter().position(|(number, _)| *number == undo);
                    stack.done.extend(turn.map(|at| stack.undone.remove(at).1));
                }
            }
            stack.heads.insert(head.number, head);
        }
        // An undo may be of a turn that was dropped since.
        let Stack { undone, heads, .. } = &mut stack;
        undone.retain(|(_, turn)| heads.contains_key(turn));
        stack
    }

    pub(super) fn head(&self, number: u64) -> Option<&Head> {
        self.heads.get(&number)
    }

    pub(super) fn session(&self, number: u64) -> Option<&String> {
        Some(&self.head(number)?.begin.session)
    }

    pub(super) fn listed(&self, number: u64) -> Option<Listed> {
        let Head { number, begin, end, .. } = self.head(number)?;
        let end = end.clone().unwrap_or_default();
        let mut notes = end.notes;
        notes.extend(left_out(&end.left_out));
        if end.killed {
            notes.push(CUT_SHORT.into());
        }
        let (at, title) = (begin.at, begin.title.clone());
        Some(Listed { number: *number, at, title, names: end.names, undone: false, notes })
    }
}

/// What a person has to know of what commands may have changed.
fn left_out(left_out: &LeftOut) -> Option<String> {
    let counted = |number: u64, what: &str| (number > 0).then(|| format!("{number} {what}"));
    let parts: Vec<String> = [
        counted(left_out.ignored, "that git ignores"),
        counted(left_out.blocked, "blocked"),
        counted(left_out.large, "too large or not to be read"),
        left_out.more.then(|| "whatever is beyond the limits of a snapshot".to_owned()),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!parts.is_empty())
        .then(|| format!("It ran commands; what they did to these names is not covered: {}.", parts.join(", ")))
}
