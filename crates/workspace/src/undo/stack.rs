//! Determines from the records which turns can be undone and redone.

use crate::undo::ListedTurn;
use crate::undo::format::{Head, Kind, Note};
use std::collections::HashMap;
use toolfence_protocol::{Text, text};

/// The turns of a history.
#[derive(Debug, Default)]
pub(crate) struct Stack {
    /// Turns that can be undone, the next one last.
    pub(crate) done: Vec<u64>,
    /// Undos that can be reverted, each with the turn that it undid; the next one last.
    pub(crate) undone: Vec<(u64, u64)>,
    heads: HashMap<u64, Head>,
}

impl Stack {
    /// Evaluates records in their order.
    pub(crate) fn from_heads(heads: Vec<Head>) -> Stack {
        let mut stack = Stack::default();
        for head in heads {
            let cut_short = head.end.as_ref().is_none_or(|end| end.killed);
            match head.begin.kind {
                Kind::Turn => {
                    stack.done.push(head.number);
                    // A turn that changed something prevents the redo of all earlier undos.
                    stack.undone.clear();
                }
                // If either was cut short, the turn can be undone: names that are already restored are skipped.
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
        // The turn of an undo may have been dropped since.
        let Stack { undone, heads, .. } = &mut stack;
        undone.retain(|(_, turn)| heads.contains_key(turn));
        stack
    }

    /// Returns the turns that can be undone, newest first.
    pub(crate) fn undoable(&self) -> impl Iterator<Item = ListedTurn> {
        self.done.iter().rev().filter_map(|number| self.list_entry(*number))
    }

    pub(crate) fn head(&self, number: u64) -> Option<&Head> {
        self.heads.get(&number)
    }

    pub(crate) fn session(&self, number: u64) -> Option<&String> {
        Some(&self.head(number)?.begin.session)
    }

    pub(crate) fn list_entry(&self, number: u64) -> Option<ListedTurn> {
        let Head { number, begin, end, .. } = self.head(number)?;
        let end = end.clone().unwrap_or_default();
        let mut notes: Vec<Text> = end.notes.iter().map(Note::text).collect();
        if end.killed {
            notes.push(text!("It was cut short; the changes recorded until then can be undone."));
        }
        let (at, title) = (begin.at, begin.title.clone());
        Some(ListedTurn { number: *number, at, title, names: end.names, undone: false, notes })
    }
}
