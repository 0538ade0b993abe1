//! Finds the errors that a change introduces.
//!
//! Two diagnostics are the same if their messages agree, apart from numbers, on the same line of the same file, tracked
//! through the change, or if both lie in changed lines. Doubtful cases count as old: a change must not be blamed for an
//! error that a checker only notices now.

use super::{Diagnostic, LineMap};
use std::collections::HashMap;

/// How many of the existing errors a checker reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sight {
    /// Only the first error of a text. Others may follow it.
    First,
    /// The checker guesses how to continue after an error, so that one error may be reported as several, in varying
    /// places.
    Guesses,
    /// Every error, except those that a syntax error hides.
    All,
}

/// Returns the diagnostics of `after` that have no counterpart in `before`, in their order. `lines` maps each changed
/// file to where its lines are now.
pub fn new_ones<'m>(
    before: &[Diagnostic],
    after: &[Diagnostic],
    lines: impl Fn(&str) -> Option<&'m LineMap>,
    sight: Sight,
) -> Vec<Diagnostic> {
    // After a syntax error the checker finds no other errors. If they appear once it is fixed, they may be old.
    let hidden = before.iter().any(|old| old.syntax);
    let mut unpaired =
        Unpaired { old: before.iter().collect(), new: after.iter().filter(|new| new.syntax || !hidden).collect() };
    let none = LineMap::default();
    let lines = |path: &str| lines(path).unwrap_or(&none);
    // First pass: the same message on the same line, tracked through the change.
    unpaired.pair_up(
        |old| Some((old.path.clone(), lines(&old.path).after(old.line)?, old.message_without_numbers())),
        |new| Some((new.path.clone(), new.line, new.message_without_numbers())),
    );
    // Second pass: the same message in changed lines, whose numbers cannot be tracked.
    unpaired.pair_up(
        |old| lines(&old.path).hunk_of_old(old.line).map(|_| (old.path.clone(), 0, old.message_without_numbers())),
        |new| lines(&new.path).hunk_of_new(new.line).map(|_| (new.path.clone(), 0, new.message_without_numbers())),
    );
    if sight != Sight::All {
        // Third pass, without the message: after a syntax error, any change nearby alters the message and the location
        // of later errors.
        let at = |path: &str, hunk: Option<usize>| hunk.map(|hunk| (path.to_owned(), hunk as u64, String::new()));
        unpaired.pair_up(
            |old| at(&old.path, lines(&old.path).hunk_of_old(old.line)),
            |new| at(&new.path, lines(&new.path).hunk_of_new(new.line)),
        );
        let has_more = after.len() > before.len();
        let blamed = |new: &&Diagnostic| match sight {
            Sight::First => !before.iter().any(|old| lines(&old.path).first_after(old.line) <= new.line),
            _ => before.is_empty() || has_more || lines(&new.path).hunk_of_new(new.line).is_some(),
        };
        unpaired.new.retain(blamed);
    }
    unpaired.new.into_iter().cloned().collect()
}

/// Returns the diagnostics of `after` that have no counterpart in `before`, if the changes in between are unknown. Two
/// diagnostics are the same if their messages for the same file agree, apart from numbers. Diagnostics on the same line
/// are paired first.
pub fn appeared(before: &[Diagnostic], after: &[Diagnostic]) -> Vec<Diagnostic> {
    let mut unpaired = Unpaired { old: before.iter().collect(), new: after.iter().collect() };
    let placed = |one: &Diagnostic| Some((one.path.clone(), one.line, one.message_without_numbers()));
    let anywhere = |one: &Diagnostic| Some((one.path.clone(), 0, one.message_without_numbers()));
    unpaired.pair_up(placed, placed);
    unpaired.pair_up(anywhere, anywhere);
    unpaired.new.into_iter().cloned().collect()
}

/// The diagnostics that have no counterpart yet.
struct Unpaired<'d> {
    old: Vec<&'d Diagnostic>,
    new: Vec<&'d Diagnostic>,
}

/// The key by which diagnostics are the same: file, line or hunk, and message.
type Key = (String, u64, String);

impl Unpaired<'_> {
    /// Removes pairs of an old and a new diagnostic with the same key.
    fn pair_up(&mut self, old: impl Fn(&Diagnostic) -> Option<Key>, new: impl Fn(&Diagnostic) -> Option<Key>) {
        let mut by_key: HashMap<Key, Vec<usize>> = HashMap::new();
        for (at, diagnostic) in self.old.iter().enumerate() {
            if let Some(key) = old(diagnostic) {
                by_key.entry(key).or_default().push(at);
            }
        }
        let mut paired = vec![false; self.old.len()];
        self.new.retain(|diagnostic| {
            let other = new(diagnostic).and_then(|key| by_key.get_mut(&key)?.pop());
            other.inspect(|at| paired[*at] = true).is_none()
        });
        let mut at = 0;
        self.old.retain(|_| {
            at += 1;
            !paired[at - 1]
        });
    }
}
