//! Every turn's changes to files, kept outside the project and outside of git, so that they can be taken back.
//!
//! A [`History`] is a folder of the host's own. While a [`Turn`] is open, the workspace tells it of every change before it is
//! made; what commands change is found by looking at the project before and after them, up to
//! the bounds of a snapshot in [`Limits`], but for those that run where the sandbox lets them write nothing of it.
//! [`History::undo`] puts back what the last turn changed, name by
//! name: one that is not what the turn left is left alone and told. An undo is recorded like a turn, so that
//! [`History::redo`] takes it back; a new turn that changes something ends what can be redone, as in editors.
//!
//! # What is not covered
//! Of what commands change: what git ignores and what is in `.git`; names that are blocked or protected, which are never
//! copied; files that are too large or that nobody may read, and what is beyond the limits of a snapshot. What a job does after
//! its turn has ended. Owners, times, hard links and holes. FIFOs, sockets and devices. Names in an index of git are never
//! ignored, and ignore rules count as they were when the session first looked.
//!
//! # A turn that was cut short
//! While commands run, the time is written down four times a second. After a crash, what was not clearly changed before the
//! last of these times is not counted to the turn ([`Refused`]): it may be what a
//! person did since. Nor is anything, where the clock was set in between or the files have another one.
//!
//! # On the disk
//! ```text
//! lock                 held by who writes
//! alive                when somebody last was alive while commands ran
//! turns/00000001.jsonl one file a turn, one line a change, written before the change is made
//! objects/2d/7116...   contents, each once, under its SHA-256
//! index                the last look at the project, which saves reading what has not changed
//! ```
//! What it takes to undo a change of a tool is on the disk before the change is made, its content as well as its line, so that
//! a loss of power takes nothing of it: one wait for the disk a change, and one for each content that the turn has not left
//! there itself. Contents found by looking at the project are left to the system's own pace, and so is the index: a record
//! names the one it means, and what a command did is told by no other. A torn last line is dropped. The files are for the
//! owner alone, and are read as if anybody had written them: names lead nowhere but below the root, and a content that is not
//! what its name says is not used.
//!
//! # A full disk
//! A turn goes on where its history cannot be written, and [`take_notes`](History::take_notes) says so: its changes up to there
//! can be undone, where nothing was changed after them. An undo leaves a name as it is where what stands there cannot be kept
//! and says so. With room again, the next turn is recorded as any other.
//!
//! ```
//! use std::sync::Arc;
//! use toolfence::policy::PathRules;
//! use toolfence::undo::{History, Limits};
//! use toolfence::workspace::Workspace;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let (project, state) = (tempfile::tempdir()?, tempfile::tempdir()?);
//! # let (root, state) = (project.path(), state.path());
//! let history = Arc::new(History::open(&History::folder(state, root), Limits::default())?);
//! let workspace = Arc::new(Workspace::open(root, PathRules::default())?.recorder(history.clone()));
//! workspace.changes().write("kept.txt", "before any turn\n")?; // is nobody's to take back
//!
//! let turn = history.begin(&workspace, "make a and change kept");
//! workspace.changes().write("a.txt", "one\n")?;
//! workspace.changes().write("kept.txt", "changed\n")?;
//! turn.end();
//!
//! assert_eq!(history.list(&workspace)?[0].title, "make a and change kept");
//! assert!(history.diff(&workspace, 1)?[0].text.to_string().contains("+one\n"));
//! let undone = history.undo(&workspace)?.expect("there is a turn");
//! assert_eq!((undone.done.len(), undone.refused.len()), (2, 0));
//! assert!(!root.join("a.txt").exists());
//! history.redo(&workspace)?;
//! assert_eq!(std::fs::read_to_string(root.join("kept.txt"))?, "changed\n");
//!
//! std::fs::write(root.join("a.txt"), "by somebody else")?;
//! let undone = history.undo(&workspace)?.expect("there is a turn");
//! assert_eq!(undone.refused[0].to_string(), "a.txt: it was changed since");
//! # Ok(())
//! # }
//! ```

pub use toolfence_workspace::undo::{Difference, Done, History, Limits, Listed, Outcome, Refused, Turn};
