//! What can be undone and what can be redone, read from the records there are.

use crate::messages;
use crate::undo::Listed;
use crate::undo::format::{End, Head, Kind, Note};
use crate::undo::snapshot::LeftOut;
use std::collections::HashMap;
use toolfence_protocol::Text;

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
                    // One that changed nothing that is covered is in nobody's way.
                    if !head.end.as_ref().is_some_and(End::is_bare) {
                        stack.undone.clear();
                    }
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

    /// The turns that an undo can do something about, the last one first. Those between them changed only what is not covered;
    /// each is told with the one below it. Where there are none but such, the last of them is given.
    pub(crate) fn undoable(&self) -> impl Iterator<Item = Listed> {
        let mut passed: Vec<Listed> = Vec::new();
        let mut all: Vec<Listed> = Vec::new();
        for turn in self.done.iter().rev().filter_map(|number| self.listed(*number)) {
            if turn.is_bare() {
                passed.push(turn);
                continue;
            }
            let told = passed.drain(..).map(|above| {
                let notes = Text::join(above.notes, " ");
                match above.title.is_empty() {
                    true => messages::came_after(above.number, notes),
                    false => messages::titled_came_after(above.number, above.title, notes),
                }
            });
            let notes = told.chain(turn.notes.iter().cloned()).collect();
            all.push(Listed { notes, ..turn });
        }
        if all.is_empty() {
            all.extend(passed.into_iter().next());
        }
        all.into_iter()
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
        let bare = end.is_bare();
        let mut notes: Vec<Text> = end.notes.iter().map(Note::text).collect();
        notes.extend(left_out(&end.left_out));
        if end.by_commands {
            notes.push(messages::not_told_apart());
        }
        if end.killed {
            notes.push(messages::cut_short());
        }
        let (at, title) = (begin.at, begin.title.clone());
        Some(Listed { number: *number, at, title, names: end.names, undone: false, notes, bare })
    }
}

/// What a person has to know of what commands may have changed.
fn left_out(left_out: &LeftOut) -> Option<Text> {
    let parts: Vec<Text> = [
        (left_out.repositories > 0).then(|| ".git".into()),
        (left_out.ignored > 0).then(|| messages::ignored_names(left_out.ignored)),
        (left_out.blocked > 0).then(|| messages::blocked_names(left_out.blocked)),
        (left_out.large > 0).then(|| messages::large_names(left_out.large)),
        (left_out.attributes > 0).then(|| messages::names_by_attributes(left_out.attributes)),
        left_out.more.then(messages::beyond_limits),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!parts.is_empty()).then(|| messages::not_covered(Text::join(parts, ", ")))
}
