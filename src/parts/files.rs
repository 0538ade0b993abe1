//! Reads, lists, searches and changes the files below one root.
//!
//! A [`Workspace`](crate::workspace::Workspace) gives both halves: [`Files`] looks at the files, [`Changes`] changes them. None of
//! it knows tools, a protocol or a runtime: the functions block.
//!
//! These functions are what the tools call, and a host that wants no protocol calls them itself: strings in, typed results or
//! a [`ToolFailure`](crate::ToolFailure) with its code out. [`list`](Files::list), [`read`](Files::read) and
//! [`search`](Files::search) look; [`write`](Changes::write), [`edit`](Changes::edit),
//! [`replace_text`](Changes::replace_text) and [`apply_patch`](Changes::apply_patch) change all they were asked to or
//! nothing. Each of the latter is a draft that is committed; who wants to look at a change before it is made takes the two
//! steps, such as [`draft_patch`](Changes::draft_patch) and [`commit`](Changes::commit). The root is the base of every path: `src/main.rs` and the absolute path of the same file are one, and nothing
//! leads out of it, whatever links do meanwhile. A host that wants a narrower base opens a workspace on that folder.
//!
//! A workspace remembers nothing of what was read. [`FileText::version`] says which content that was; given back as `base`
//! it makes an edit of any other content a `conflict`.
//!
//! ```
//! use toolfence::policy::PathRules;
//! use toolfence::parts::files::{EditFile, EditLines, ReadFile, ReplaceText, SearchFiles, Stop};
//! use toolfence::workspace::Workspace;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let root = folder.path();
//! let workspace = Workspace::open(root, PathRules::default())?;
//! workspace.changes().write("src/main.rs", "fn main() {\n    run(1);\n}\n")?;
//!
//! let stop = Stop::default(); // for another thread
//! let seen = workspace.files().read(&ReadFile { start_line: Some(2), ..ReadFile::new("src/main.rs") }, &stop)?;
//! assert_eq!(seen.text, "    run(1);\n}\n");
//!
//! let edits = vec![EditLines { start_line: 2, end_line: 2, replacement: "    run(2);".into() }];
//! let edit = EditFile { base: seen.version, ..EditFile::new("src/main.rs", edits) };
//! assert_eq!(workspace.changes().edit(&edit)?.first_line, 2);
//! assert_eq!(workspace.changes().edit(&edit).unwrap_err().code, toolfence::ErrorCode::Conflict);
//!
//! workspace.changes().replace_text(&ReplaceText::new("src/main.rs", "run(2)", "run(3)"))?;
//! let found = workspace.files().search(&SearchFiles::new(r"run\(\d"), &stop)?;
//! assert_eq!(found.lines[0].text, "    run(3);");
//! let failure = workspace.files().read(&ReadFile::new("main.rs"), &stop).unwrap_err();
//! assert_eq!(failure.suggestions, ["src/main.rs"]);
//! # Ok(())
//! # }
//! ```

pub use toolfence_workspace::{
    Changes, Draft, EditData, EditFile, EditLines, EditValue, Entry, EntryKind, FileDraft, FileText, Files, Found,
    ListFiles, Listing, Patched, PatchedFile, ReadFile, ReadLimits, ReplaceText, Report, SearchFiles, SearchLine, Stop,
    Total, Version, Written,
};
