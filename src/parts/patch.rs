//! Turns patch text into hunks, finds where they stand, and makes the new text; replaces ranges of lines, passages, and values of a JSON text, too.
//!
//! This module opens no file: a [`Source`] gives the texts, and a [`Plan`] holds what would be written. A hunk that fits in two
//! places is refused, and then nothing is changed.

pub use toolfence_patch::{
    Applied, Change, Closest, DataEdit, DataProblem, Done, Failure, FilePatch, Hunk, Indentation, Kind, Line, LineEdit,
    LineProblem, Miss, Name, Nearest, PassageProblem, Patch, Placed, Plan, Problem, Reason, Refusal, Replaced, Sign,
    Source, Why, apply, edit_data, edit_lines, parse, plan, replace_passage,
};
