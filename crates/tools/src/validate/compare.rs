//! What is wrong after a change and was not before.
//!
//! Two diagnostics are the same when they say the same, numbers aside, on the same line of the same file, followed through
//! the change; or when both stand in what was changed. In doubt nothing is new: a change must not be held to blame for what
//! a checker only sees now.

use super::{Diagnostic, LineMap};
use std::collections::HashMap;

/// How much a checker sees of what is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sight {
    /// The first error of a text; behind it there may be others.
    First,
    /// It goes on after an error by a guess, and one error may look like several, here or there.
    Guesses,
    /// Every error, but for those that an unreadable text hides.
    All,
}

/// What of `after` has no counterpart in `before`, in the order it is told. `lines` gives for each file that was changed
/// where its lines are now.
pub fn new_ones<'m>(
    before: &[Diagnostic],
    after: &[Diagnostic],
    lines: impl Fn(&str) -> Option<&'m LineMap>,
    sight: Sight,
) -> Vec<Diagnostic> {
    let hidden = before.iter().any(|old| old.syntax);
    let mut left =
        Left { old: before.iter().collect(), new: after.iter().filter(|new| new.syntax || !hidden).collect() };
    let none = LineMap::default();
    let lines = |path: &str| lines(path).unwrap_or(&none);
    left.pair_up(
        |old| Some((old.path.clone(), lines(&old.path).after(old.line)?, old.saying())),
        |new| Some((new.path.clone(), new.line, new.saying())),
    );
    left.pair_up(
        |old| lines(&old.path).hunk_of_old(old.line).map(|_| (old.path.clone(), 0, old.saying())),
        |new| lines(&new.path).hunk_of_new(new.line).map(|_| (new.path.clone(), 0, new.saying())),
    );
    if sight != Sight::All {
        // A text that cannot be read is wrong in other words and places as soon as anything near is changed.
        let at = |path: &str, hunk: Option<usize>| hunk.map(|hunk| (path.to_owned(), hunk as u64, String::new()));
        left.pair_up(
            |old| at(&old.path, lines(&old.path).hunk_of_old(old.line)),
            |new| at(&new.path, lines(&new.path).hunk_of_new(new.line)),
        );
        let worse = after.len() > before.len();
        let blamed = |new: &&Diagnostic| match sight {
            Sight::First => !before.iter().any(|old| lines(&old.path).first_after(old.line) <= new.line),
            _ => before.is_empty() || worse || lines(&new.path).hunk_of_new(new.line).is_some(),
        };
        left.new.retain(blamed);
    }
    left.new.into_iter().cloned().collect()
}

/// What of `after` has no counterpart in `before` where nobody knows what was changed in between: two are the same when they
/// say the same of the same file, numbers aside; those on the same line first.
pub fn appeared(before: &[Diagnostic], after: &[Diagnostic]) -> Vec<Diagnostic> {
    let mut left = Left { old: before.iter().collect(), new: after.iter().collect() };
    let placed = |one: &Diagnostic| Some((one.path.clone(), one.line, one.saying()));
    let anywhere = |one: &Diagnostic| Some((one.path.clone(), 0, one.saying()));
    left.pair_up(placed, placed);
    left.pair_up(anywhere, anywhere);
    left.new.into_iter().cloned().collect()
}

/// What has no counterpart yet.
struct Left<'d> {
    old: Vec<&'d Diagnostic>,
    new: Vec<&'d Diagnostic>,
}

/// File, place, words: what makes two the same.
type Mark = (String, u64, String);

impl Left<'_> {
    /// Takes away those that have the same mark, one for one.
    fn pair_up(&mut self, old: impl Fn(&Diagnostic) -> Option<Mark>, new: impl Fn(&Diagnostic) -> Option<Mark>) {
        let mut marked: HashMap<Mark, Vec<usize>> = HashMap::new();
        for (at, diagnostic) in self.old.iter().enumerate() {
            if let Some(mark) = old(diagnostic) {
                marked.entry(mark).or_default().push(at);
            }
        }
        let mut paired = vec![false; self.old.len()];
        self.new.retain(|diagnostic| {
            let other = new(diagnostic).and_then(|mark| marked.get_mut(&mark)?.pop());
            other.inspect(|at| paired[*at] = true).is_none()
        });
        let mut at = 0;
        self.old.retain(|_| {
            at += 1;
            !paired[at - 1]
        });
    }
}
