//! Every turn's changes to files, kept outside the project and outside of git, so that they can be taken back.
//!
//! A [`History`] is a folder of the host's own. While a [`OpenTurn`] is open, the workspace reports every change before it is
//! made. [`History::undo`] puts back what the last turn changed, name by name, and skips and lists each name that is not what the
//! turn left. An undo is recorded like a turn, so that [`History::redo`] takes it back; a new turn that changes something ends what
//! can be redone, as in editors.
//!
//! # What is covered
//! What the tools change, and what commands change on a private copy of the project, whatever its size: the replaced files and folders
//! are moved aside and moved back. Not covered are commands that change the project itself, their build output, and git's own folders.
//! Owners, times and hard links of files that tools changed are not restored.
//!
//! # On the disk
//! ```text
//! lock                 held by who writes
//! turns/00000001.jsonl one file a turn, one line a change, written before the change is made
//! objects/2d/7116...   contents, each once, under its SHA-256
//! ```
//! What commands replaced is in the folder of the private copies, on the file system of the project.
//!
//! What it takes to undo a change of a tool is on the disk before the change is made, its content as well as its line, so that
//! a loss of power takes nothing of it: one wait for the disk a change, and one for each content that the turn has not left
//! there itself. A torn last line is dropped. The files are for the
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

pub use toolfence_workspace::undo::{Difference, Done, History, Limits, Listed, OpenTurn, Outcome, Refused};
