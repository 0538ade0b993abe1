//! Incremental parsing: texts without errors are kept with their trees, so that after a change only the changed part is
//! parsed.
//!
//! An incremental tree without errors proves that its text has none. An incremental tree with errors may report them
//! differently from a tree of the whole text, so the whole text is parsed then.

use super::tree::{self, Grammar};
use crate::validate::Diagnostic;
use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use tree_sitter::{InputEdit, Point, Tree};

/// The maximum number of files that are kept.
const MOST_FILES: usize = 8;
/// The maximum number of bytes of the kept texts. A tree takes up to a hundred times the memory of its text.
const MOST_BYTES: usize = 256 << 10;

/// The most recently parsed files, the latest one last.
#[derive(Debug, Default)]
pub(super) struct ParsedFiles(Mutex<VecDeque<ParsedFile>>);

#[derive(Debug)]
struct ParsedFile {
    path: String,
    text: String,
    /// The tree of the text, without errors.
    tree: Tree,
}

impl ParsedFiles {
    /// Returns the errors of the text, or `None` if parsing exceeds its bounds or `give_up` returns `true`.
    pub(super) fn check(
        &self,
        path: &str,
        grammar: Grammar,
        text: &str,
        give_up: &dyn Fn() -> bool,
    ) -> Option<Vec<Diagnostic>> {
        // Taken out while it is in use, so that the lock is not held during the parse.
        let last = self.take(path);
        let again = last.as_ref().and_then(|last| tree::read(grammar, text, Some(&last.edited_tree(text)), give_up));
        let tree = match again.filter(|tree| !tree.root_node().has_error()) {
            Some(tree) => Some(tree),
            None => tree::read(grammar, text, None, give_up),
        };
        let found = tree.as_ref().map(|tree| tree::errors(grammar, tree, text));
        let right = tree.filter(|tree| !tree.root_node().has_error());
        let right = right.map(|tree| ParsedFile { path: path.to_owned(), text: text.to_owned(), tree });
        // A text with errors does not replace the last one without, so that the next version is still parsed
        // incrementally.
        self.keep(right.or(last));
        found
    }

    fn take(&self, path: &str) -> Option<ParsedFile> {
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = files.iter().position(|file| file.path == path)?;
        files.remove(at)
    }

    fn keep(&self, file: Option<ParsedFile>) {
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        files.extend(file);
        while files.len() > MOST_FILES || files.iter().map(|file| file.text.len()).sum::<usize>() > MOST_BYTES {
            files.pop_front();
        }
    }
}

impl ParsedFile {
    /// Returns the old tree with the range marked in which `text` differs from the old text.
    fn edited_tree(&self, text: &str) -> Tree {
        let (old, new) = (self.text.as_bytes(), text.as_bytes());
        let same = |one: &mut dyn Iterator<Item = (&u8, &u8)>| one.take_while(|(one, two)| one == two).count();
        let start = char_start(text, same(&mut old.iter().zip(new)));
        // The suffix is compared from `start` on, so that it never overlaps the prefix in a text that repeats itself.
        let suffix = same(&mut old[start..].iter().rev().zip(new[start..].iter().rev()));
        let suffix = new.len() - char_end(text, new.len() - suffix);
        let (old_end, new_end) = (old.len() - suffix, new.len() - suffix);
        let mut tree = self.tree.clone();
        tree.edit(&InputEdit {
            start_byte: start,
            old_end_byte: old_end,
            new_end_byte: new_end,
            start_position: point(old, start),
            old_end_position: point(old, old_end),
            new_end_position: point(new, new_end),
        });
        tree
    }
}

fn char_start(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn char_end(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}

fn point(text: &[u8], at: usize) -> Point {
    let before = &text[..at];
    let line = memchr::memrchr(b'\n', before).map_or(0, |end| end + 1);
    Point { row: memchr::memchr_iter(b'\n', before).count(), column: at - line }
}
