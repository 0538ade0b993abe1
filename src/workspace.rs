//! The only place where a model's string becomes a file.
//!
//! A [`Workspace`] holds the descriptor of one root. Every path is resolved below it, checked again on the open
//! descriptor, and never used a second time. It knows no tools, no protocol and no runtime: its functions block.
//!
//! What the block rules forbid is forbidden here too, whoever asks: the policy judges calls, this module judges files.
//!
//! # Without a protocol
//! The functions of a [`Workspace`] are what the tools call, and a host that wants no protocol calls them itself: strings
//! in, typed results or a [`ToolFailure`](crate::ToolFailure) with its code out. [`list`](Workspace::list), [`read`](Workspace::read) and
//! [`search`](Workspace::search) look; [`write`](Workspace::write), [`edit`](Workspace::edit),
//! [`replace_text`](Workspace::replace_text) and [`apply_patch`](Workspace::apply_patch) change all they were asked to or
//! nothing. The root is the base of every path: `src/main.rs` and the absolute path of the same file are one, and nothing
//! leads out of it, whatever links do meanwhile. A host that wants a narrower base opens a workspace on that folder.
//!
//! A workspace remembers nothing of what was read. [`FileText::version`] says which content that was; given back as `base`
//! it makes an edit of any other content a `conflict`.
//!
//! ```
//! use toolfence::policy::PathRules;
//! use toolfence::workspace::{EditFile, EditLines, ReadFile, ReplaceText, SearchFiles, Stop, Workspace};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let root = folder.path();
//! let workspace = Workspace::open(root, PathRules::default())?;
//! workspace.write("src/main.rs", "fn main() {\n    run(1);\n}\n")?;
//!
//! let stop = Stop::default(); // for another thread
//! let seen = workspace.read(&ReadFile { start_line: Some(2), ..ReadFile::new("src/main.rs") }, &stop)?;
//! assert_eq!(seen.text, "    run(1);\n}\n");
//!
//! let edits = vec![EditLines { start_line: 2, end_line: 2, replacement: "    run(2);".into() }];
//! let edit = EditFile { base: seen.version, ..EditFile::new("src/main.rs", edits) };
//! assert_eq!(workspace.edit(&edit)?.first_line, 2);
//! assert_eq!(workspace.edit(&edit).unwrap_err().code, toolfence::ErrorCode::Conflict);
//!
//! workspace.replace_text(&ReplaceText::new("src/main.rs", "run(2)", "run(3)"))?;
//! let found = workspace.search(&SearchFiles::new(r"run\(\d"), &stop)?;
//! assert_eq!(found.lines[0].text, "    run(3);");
//! let failure = workspace.read(&ReadFile::new("main.rs"), &stop).unwrap_err();
//! assert_eq!(failure.suggestions, ["src/main.rs"]);
//! # Ok(())
//! # }
//! ```

pub use toolfence_workspace::{
    Access, Attributes, Change, Coverage, Digest, Draft, EditFile, EditLines, Entry, EntryKind, FileText, Found,
    LeftOut, ListFiles, Listing, Looked, MaskSet, Patched, PatchedFile, ReadFile, ReadLimits, Recorder, Refusal,
    ReplaceText, SearchFiles, SearchLine, Snapshot, SnapshotLimits, Stamp, State, Stop, Total, Version, Withheld,
    Workspace, Written, quoted,
};
