//! What can be undone and what can be redone, read from the records there are.

use crate::undo::Listed;
use crate::undo::format::{Head, Kind, Note};
use std::collections::HashMap;
use toolfence_protocol::{Text, text};

/// The turns of a history.
#[derive(Debug, Default)]
pub(crate) struct Stack {
    /// Turns that can be undone, the last one first to go.
    pub(crate) done: Vec<u64>,
    /// Undos that can be taken back, each with the turn it undid; the last one first.
    pub(crate) undone: Vec<(u64, u64)>,
    heads: HashMap<u64, Head>,
}

impl Stack {
    /// From records in their order.
    pub(crate) fn of(heads: Vec<Head>) -> Stack {
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
                    // A turn may have been undone before a newer one.
                    stack.done.sort_unstable();
                }
            }
            stack.heads.insert(head.number, head);
        }
        // An undo may be of a turn that was dropped since.
        let Stack { undone, heads, .. } = &mut stack;
        undone.retain(|(_, turn)| heads.contains_key(turn));
        stack
    }

    /// The turns that can be undone, the newest first.
    pub(crate) fn undoable(&self) -> impl Iterator<Item = Listed> {
        self.done.iter().rev().filter_map(|number| self.listed(*number))
    }

    pub(crate) fn head(&self, number: u64) -> Option<&Head> {
        self.heads.get(&number)
    }

    pub(crate) fn session(&self, number: u64) -> Option<&String> {
        Some(&self.head(number)?.begin.session)
    }

    pub(crate) fn listed(&self, number: u64) -> Option<Listed> {
        let Head { number, begin, end, .. } = self.head(number)?;
        let end = end.clone().unwrap_or_default();
        let mut notes: Vec<Text> = end.notes.iter().map(Note::text).collect();
        if end.killed {
            notes.push(text!("It was cut short; what was recorded until then can be undone."));
        }
        let (at, title) = (begin.at, begin.title.clone());
        Some(Listed { number: *number, at, title, names: end.names, undone: false, notes })
    }
}
