//! Builds the questions about the files that a command wrote: a sentence, and the changes with their diffs.

use super::sorted::{Group, Sorted, loses};
use crate::layer::{Change, ChangeKind, Entry};
use crate::run::LayerRun;
use rustix::fs::{Mode, OFlags};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};
use toolfence_policy::Target;
use toolfence_protocol::{Language, Text, text};
use toolfence_workspace::{Workspace, names, unified_diff};

/// The most diffs that are displayed.
const MOST_DIFFS: usize = 20;

/// The most lines of a list, such as the folders in which the files without a diff are counted.
const MOST_LINES: usize = 40;

/// The most bytes of a file that gets a diff.
const MOST_BYTES: usize = 1 << 20;

/// The most bytes of text after which no further diff is added.
const MOST_OF_ALL: usize = 256 << 10;

/// The most files that are counted in a folder that was removed.
const MOST_COUNTED: u64 = 10_000;

/// The most characters of the command in the sentence.
const MOST_OF_COMMAND: usize = 60;

/// The most files that a question names for programs.
const MOST_TARGETS: usize = 200;

/// Returns the question about the changes of a command: the sentence, the files, and the changes with their diffs.
pub(super) fn about_changes(
    workspace: &Workspace,
    run: &LayerRun,
    sorted: &Sorted,
    command: &str,
    language: Language,
) -> (Text, Vec<Target>, String) {
    let (command, outcome, amount) = (short(command), &run.outcome, sorted.amount());
    let summary = if outcome.timed_out {
        text!("{command} did not end in time. It had changed {amount}. Keep the changes?", command, amount)
    } else if outcome.exit_code != 0 {
        let status = outcome.exit_code;
        text!("{command} ended with status {status} and changed {amount}. Keep the changes?", command, status, amount)
    } else {
        text!("{command} changed {amount}. Keep the changes?", command, amount)
    };
    let names = sorted.changed_names();
    let files = names.iter().take(MOST_TARGETS).map(|path| Target::named(path.to_string_lossy())).collect();
    let mut details = Details { workspace, run, language, text: String::new() };
    // Instructions come first, so that no limit on the lines leaves one out.
    for path in &sorted.instructions {
        details.line(&text!("instructions for agents: {path}", path = names::display(path)));
    }
    for (repository, summary) in &sorted.repositories.changed {
        for line in &summary.lines {
            let line = line.clone();
            details.line(&match repository == Path::new(".git") {
                true => text!("git: {line}", line),
                false => text!("git in {repository}: {line}", repository = names::display(repository), line),
            });
        }
    }
    for (_, repository) in &sorted.repositories.removed {
        details.line(&text!("repository removed: {path}", path = names::display(repository)));
    }
    for repository in &sorted.repositories.new {
        details.line(&text!("new repository: {path}", path = names::display(repository)));
    }
    let shown: Vec<Change> =
        sorted.changes.iter().filter(|change| !sorted.is_in_repository(&change.path)).cloned().collect();
    (summary, files, details.render(&shown))
}

/// Returns the question about the build output of a command: the sentence and the folders. Removed files are listed
/// first and never cut, because they may be data that no build recreates.
pub(super) fn about_output(
    workspace: &Workspace,
    run: &LayerRun,
    sorted: &Sorted,
    command: &str,
    language: Language,
) -> (Text, String) {
    let folders = |groups: &[&Group]| {
        let first = groups.first().map(|group| names::display(&group.path)).unwrap_or_default();
        match groups.len().saturating_sub(1) as u64 {
            0 => Text::from(first),
            more => text!("{folder} and {more} more {more|folder|folders}", folder = first, more),
        }
    };
    // Undo does not restore output, so removed files are named.
    let removed: Vec<&Group> = sorted.output.iter().filter(|group| group.removed > 0).collect();
    let written: Vec<&Group> = sorted.output.iter().filter(|group| group.files > 0 || group.removed == 0).collect();
    let files = written.iter().map(|group| group.files).sum::<usize>() as u64;
    let (command, folder) = (short(command), folders(&written));
    let summary = match (removed.is_empty(), written.is_empty()) {
        (true, _) => text!(
            "{command} wrote {files} {files|file|files} of build output to {folder}. Put the output of commands into the project in this session?",
            command,
            files,
            folder
        ),
        (false, true) => text!(
            "{command} removed ignored files: {names}. Undo does not bring them back. Remove them from the project too, and put the output of commands into the project in this session?",
            command,
            names = folders(&removed)
        ),
        (false, false) => text!(
            "{command} wrote {files} {files|file|files} of build output to {folder} and removed ignored files: {names}. Undo does not bring these back. Put the output of commands into the project in this session?",
            command,
            files,
            folder,
            names = folders(&removed)
        ),
    };
    let mut details = Details { workspace, run, language, text: String::new() };
    for change in run.changes.iter().filter(|change| sorted.is_output(&change.path) && loses(change)) {
        details.list_dangerous(change);
    }
    for group in written.iter().take(MOST_LINES) {
        let (path, count) = (names::display(&group.path), group.files as u64);
        details.line(&text!("output: {path} ({count} {count|file|files})", path, count));
    }
    if let Some(more) = written.len().checked_sub(MOST_LINES).filter(|more| *more > 0) {
        details.line(&text!("and {count} more", count = more as u64));
    }
    (summary, details.text)
}

/// Returns the command on one line.
fn short(command: &str) -> String {
    let line = command.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MOST_OF_COMMAND) {
        Some((end, _)) => format!("`{} ...`", &line[..end]),
        None => format!("`{line}`"),
    }
}

struct Details<'a> {
    workspace: &'a Workspace,
    run: &'a LayerRun,
    language: Language,
    text: String,
}

impl Details<'_> {
    /// Lists removals and links out of the project first, and never cuts them. Other links and modes follow, then
    /// changed files with their diffs, then new files.
    fn render(mut self, changes: &[Change]) -> String {
        for change in changes {
            self.list_dangerous(change);
        }
        // Links out of the project are already listed, so a limit on these lines hides none of them.
        let attributes: Vec<Text> = changes.iter().filter_map(|change| self.attribute(change)).collect();
        for attribute in attributes.iter().take(MOST_LINES) {
            self.line(attribute);
        }
        if let Some(more) = attributes.len().checked_sub(MOST_LINES).filter(|more| *more > 0) {
            self.line(&text!("and {count} more links and modes", count = more as u64));
        }
        let mut diffs = 0;
        let mut rest = Vec::new();
        let is_modified = |change: &&Change| matches!(change.kind, ChangeKind::Modified(_));
        let is_added = |change: &&Change| matches!(change.kind, ChangeKind::Added(_) | ChangeKind::Replaced(_));
        for change in changes.iter().filter(is_modified).chain(changes.iter().filter(is_added)) {
            let path = names::display(&change.path);
            match &change.kind {
                // The line of each entry shows its folder, so only an empty new folder has a line of its own.
                ChangeKind::Added(Entry::Folder { .. }) | ChangeKind::Replaced(Entry::Folder { .. })
                    if is_empty(change, changes) =>
                {
                    self.line(&text!("new folder: {path}", path));
                }
                ChangeKind::Modified(Entry::File { bytes, .. })
                | ChangeKind::Added(Entry::File { bytes, .. })
                | ChangeKind::Replaced(Entry::File { bytes, .. }) => {
                    if diffs >= MOST_DIFFS || self.text.len() > MOST_OF_ALL {
                        rest.push(change.path.as_path());
                        continue;
                    }
                    let is_new = !matches!(change.kind, ChangeKind::Modified(_));
                    match self.diff(change) {
                        Some(diff) if diff.is_empty() && is_new => self.line(&text!("new empty file: {path}", path)),
                        Some(diff) if diff.is_empty() => {}
                        Some(diff) => {
                            diffs += 1;
                            self.text += &diff;
                        }
                        None if is_new => {
                            self.line(&text!(
                                "new file, not text: {path} ({count} {count|byte|bytes})",
                                path,
                                count = *bytes
                            ));
                        }
                        None => {
                            self.line(&text!(
                                "changed, not text: {path} ({count} {count|byte|bytes})",
                                path,
                                count = *bytes
                            ));
                        }
                    }
                }
                _ => {}
            }
        }
        self.count(&rest);
        self.text
    }

    /// Lists a removed or replaced entry, or a link that leads out of the project. The user must see these before
    /// agreeing.
    fn list_dangerous(&mut self, change: &Change) {
        let path = names::display(&change.path);
        let old = self.workspace.root_path().join(&change.path);
        match &change.kind {
            // `is_dir` follows links, but a removed link to a folder loses no files.
            ChangeKind::Removed if old.is_dir() && !old.is_symlink() => match count_files(&old) {
                Some(count) => self.line(&text!("removed folder: {path} ({count} {count|file|files})", path, count)),
                None => self.line(&text!("removed folder: {path} (more than {most} files)", path, most = MOST_COUNTED)),
            },
            ChangeKind::Removed => self.line(&text!("removed: {path}", path)),
            ChangeKind::Replaced(entry) => {
                let kind = kind(entry);
                self.line(&text!("replaced by {kind}: {path}", kind, path));
            }
            _ => {}
        }
        if let Some(target) = link_target(&change.kind)
            && leaves_project(&change.path, target)
        {
            let (path, to) = (names::display(&change.path), names::display(target));
            self.line(&text!("link: {path} -> {to} (outside the project)", path, to));
        }
    }

    /// Returns the line for a link in the project or a change of permission bits, which no diff shows.
    fn attribute(&self, change: &Change) -> Option<Text> {
        let path = names::display(&change.path);
        if let Some(target) = link_target(&change.kind) {
            let to = names::display(target);
            return (!leaves_project(&change.path, target)).then(|| text!("link: {path} -> {to}", path, to));
        }
        match &change.kind {
            ChangeKind::Modified(Entry::File { mode, .. } | Entry::Folder { mode }) => {
                let old = self.workspace.root_path().join(&change.path).symlink_metadata();
                let before = old.map_or(*mode, |meta| meta.permissions().mode() & 0o777);
                let (was, is) = (format!("{before:o}"), format!("{mode:o}"));
                (before != *mode).then(|| text!("mode {before} -> {mode}: {path}", before = was, mode = is, path))
            }
            ChangeKind::Added(Entry::File { mode, .. }) | ChangeKind::Replaced(Entry::File { mode, .. }) => {
                (mode & 0o111 != 0).then(|| text!("mode {mode}: {path}", mode = format!("{mode:o}"), path))
            }
            _ => None,
        }
    }

    fn line(&mut self, text: &Text) {
        self.text += &text.render(self.language);
        self.text.push('\n');
    }

    /// Counts the files without a diff by folder.
    fn count(&mut self, rest: &[&Path]) {
        let mut folders: BTreeMap<&Path, u64> = BTreeMap::new();
        for path in rest {
            *folders.entry(path.parent().unwrap_or(Path::new(""))).or_default() += 1;
        }
        for (folder, count) in folders.iter().take(MOST_LINES) {
            let name = if folder.as_os_str().is_empty() { ".".to_owned() } else { names::display(folder) };
            self.line(&text!("{count} more {count|file|files} in {folder}", count = *count, folder = name));
        }
        let more: u64 = folders.values().skip(MOST_LINES).sum();
        if more > 0 {
            self.line(&text!("{count} more {count|file|files} in other folders", count = more));
        }
    }

    /// Returns the diff of a file; `None` if it is not text or too large.
    fn diff(&self, change: &Change) -> Option<String> {
        let new = self.new_bytes(&change.path)?;
        let name = change.path.to_str()?;
        let old = match change.kind {
            ChangeKind::Modified(_) => Some(self.workspace.root().bytes(name, MOST_BYTES).ok()?),
            _ => None,
        };
        if new.len() > MOST_BYTES || old.as_ref().is_some_and(|old| old.len() > MOST_BYTES) {
            return None;
        }
        unified_diff(name, old.as_deref(), &new)
    }

    fn new_bytes(&self, path: &Path) -> Option<Vec<u8>> {
        let folder = self.run.layer.folder_of(path).ok()?;
        // The command wrote the layer, so the entry may be a link or a FIFO.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&folder, path.file_name()?, flags, Mode::empty()).ok()?;
        let mut bytes = Vec::new();
        // One byte more than the limit shows `diff` that the file is too large.
        File::from(file).take(MOST_BYTES as u64 + 1).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }
}

/// Counts the files and links in a folder; `None` if there are too many. Does not count paths that are too long.
fn count_files(folder: &Path) -> Option<u64> {
    let (mut count, mut waiting) = (0, vec![folder.to_owned()]);
    while let Some(folder) = waiting.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => waiting.push(entry.path()),
                _ => count += 1,
            }
            if count + waiting.len() as u64 > MOST_COUNTED {
                return None;
            }
        }
    }
    Some(count)
}

/// Returns `true` if none of the changes is in this folder.
fn is_empty(folder: &Change, changes: &[Change]) -> bool {
    // The changes are sorted by path, a folder directly before its entries.
    let next = changes.partition_point(|change| change.path <= folder.path);
    changes.get(next).is_none_or(|change| !change.path.starts_with(&folder.path))
}

fn link_target(kind: &ChangeKind) -> Option<&Path> {
    match kind {
        ChangeKind::Modified(Entry::Link { target })
        | ChangeKind::Added(Entry::Link { target })
        | ChangeKind::Replaced(Entry::Link { target }) => Some(target),
        _ => None,
    }
}

fn kind(entry: &Entry) -> Text {
    match entry {
        Entry::File { .. } => text!("a file"),
        Entry::Link { .. } => text!("a link"),
        Entry::Folder { .. } => text!("a folder"),
    }
}

/// Returns `true` if a link at `path` with this target leads out of the project, judged by its text.
fn leaves_project(path: &Path, target: &Path) -> bool {
    let mut place: Vec<PathBuf> = Vec::new();
    for part in path.parent().into_iter().flat_map(Path::components).chain(target.components()) {
        match part {
            Component::RootDir | Component::Prefix(_) => return true,
            Component::ParentDir => {
                if place.pop().is_none() {
                    return true;
                }
            }
            Component::CurDir => {}
            Component::Normal(name) => place.push(name.into()),
        }
    }
    false
}
