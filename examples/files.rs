//! Uses only the workspace, for a program with its own tools: files below one root, without the protocol, the policy or
//! a runtime.
//!
//! `cargo run --example files -- [FOLDER]`: without a folder it creates one and changes
//! files in it; with a folder it only reads.

use std::error::Error;
use std::path::{Path, PathBuf};
use toolfence_policy::rules::PathRules;
use toolfence_protocol::ErrorCode;
use toolfence_workspace::Workspace;
use toolfence_workspace::{EditFile, EditLines, ListFiles, ReadFile, ReplaceText, SearchFiles, Stop};

fn main() -> Result<(), Box<dyn Error>> {
    match std::env::args_os().nth(1) {
        Some(folder) => look(&PathBuf::from(folder)),
        None => {
            let folder = tempfile::tempdir()?;
            change(folder.path())?;
            look(folder.path())
        }
    }
}

/// Reads files. Every path is below `base`, which stays the same folder even if it is renamed.
fn look(base: &Path) -> Result<(), Box<dyn Error>> {
    let workspace = Workspace::open(base, PathRules::default())?;
    // Another thread may use this to stop a long operation and to see its progress.
    let stop = Stop::default();

    let listing =
        workspace.files().list(&ListFiles { pattern: Some("*.{rs,toml,md}".into()), ..ListFiles::new(".") }, &stop)?;
    for entry in &listing.entries {
        println!("{:?} {} {:?}", entry.kind, entry.path, entry.size);
    }
    println!("truncated: {}", listing.truncated);

    let found = workspace.files().search(&SearchFiles { context: 1, ..SearchFiles::new(r"fn \w+") }, &stop)?;
    for line in found.lines.iter().filter(|line| line.matched) {
        println!("{}:{}: {}", line.path, line.line, line.text);
    }
    println!("{} matches in {} files", found.matches, found.files);

    // A failure is a value with a code, a message and suggestions.
    match workspace.files().read(&ReadFile::new("src/mian.rs"), &stop) {
        Err(failure) if failure.code == ErrorCode::NotFound => println!("{failure} {:?}", failure.suggestions),
        other => println!("{other:?}"),
    }
    Ok(())
}

/// Changes files. Each call makes all of its changes or none.
fn change(base: &Path) -> Result<(), Box<dyn Error>> {
    let workspace = Workspace::open(base, PathRules::default())?;
    workspace.changes().write("src/main.rs", "fn main() {\n    run(1);\n}\n")?;

    // The result has the version of the content. An edit that names another version is a conflict.
    let content = workspace.files().read(&ReadFile::new("src/main.rs"), &Stop::default())?;
    let edits = vec![EditLines { start_line: 1, end_line: 0, replacement: "mod run;\n\n".into() }];
    let mut edit = EditFile::new("src/main.rs", edits);
    (edit.base, edit.dry_run) = (content.version, true);
    println!("{}", workspace.changes().edit(&edit)?.diff.unwrap_or_default());
    edit.dry_run = false;
    workspace.changes().edit(&edit)?;
    assert_eq!(workspace.changes().edit(&edit).map_err(|failure| failure.code), Err(ErrorCode::Conflict));

    workspace.changes().replace_text(&ReplaceText::new("src/main.rs", "run(1)", "run::run(2)"))?;

    let patch = "*** Begin Patch\n*** Add File: src/run.rs\n+pub fn run(_: u8) {}\n*** Update File: src/main.rs\n@@ fn \
                 main\n-    run::run(2);\n+    run::run(3);\n*** End Patch\n";
    let done = workspace.changes().apply_patch(patch, false)?;
    println!("changed: {}", done.modified.join(", "));
    Ok(())
}
