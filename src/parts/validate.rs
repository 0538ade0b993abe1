//! What is wrong with a text before and after a change, and what of it is new.
//!
//! Nothing here runs a program or opens a file: texts and what checkers printed come in, [`Diagnostic`]s come out. A change
//! is judged by what it made worse. A file that was broken before and is broken in the same way passes; so does an edit that
//! mends one of two errors, and one after which an error stands on another line because lines came before it.
//!
//! ```
//! use toolfence::parts::validate::{LineMap, Sight, new_ones, syntax};
//!
//! let (before, after) = ("{\"a\": 1}\n", "{\"a\": 1,}\n");
//! let check = |text| syntax::check("package.json", text).expect("JSON can be checked");
//! let lines = LineMap::of(before, after);
//! let new = new_ones(&check(before), &check(after), |_| Some(&lines), Sight::First);
//! assert_eq!((new[0].line, new[0].column), (1, 9));
//! assert!(new_ones(&check(after), &check(after), |_| None, Sight::First).is_empty());
//! ```

pub use toolfence_tools::validate::{Diagnostic, LineMap, Reads, Sight, new_ones, read_output};

/// What is wrong with the syntax of a text, found in process.
pub mod syntax {
    pub use toolfence_tools::validate::syntax::{LANGUAGES, Language, Reader, check, language};
}
