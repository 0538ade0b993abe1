//! The versions of files that the model has seen: the version whose line numbers it received, and the latest version
//! that it read or wrote.
//!
//! An edit by line numbers applies only to the version that the numbers belong to. A whole file is overwritten only if
//! the model has seen or written its current content, so that no change in between is lost. A file that the model never
//! saw has no view, and no comparison is made.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use toolfence_workspace::{FileText, Patched, Version, Workspace, WriteReport};

/// The maximum number of files that are remembered. Above this number the half that was used least recently is dropped.
const MOST: usize = 4096;

/// The views of one conversation, shared by its tools.
#[derive(Debug, Clone, Default)]
pub struct Views(Arc<Mutex<ViewTable>>);

#[derive(Debug, Default)]
struct ViewTable {
    files: HashMap<String, View>,
    clock: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct View {
    /// The version whose line numbers the model has.
    numbered: Option<Version>,
    /// The latest version that the model saw or wrote.
    latest: Option<Version>,
    last_used: u64,
}

impl Views {
    /// Forgets all views, as for a new conversation.
    pub fn forget(&self) {
        self.lock().files.clear();
    }

    /// Records that the model received line numbers of this file.
    pub(super) fn record_read(&self, file: &FileText) {
        self.update(&file.path, |view| (view.numbered, view.latest) = (file.version, file.version));
    }

    /// Records that the model wrote the whole file.
    pub(super) fn record_write(&self, written: &WriteReport) {
        self.update(&written.path, |view| (view.numbered, view.latest) = (written.after, written.after));
    }

    /// Records an edit of part of a file. The edit may have moved lines, so the model's line numbers still belong to
    /// the version before it, and an edit by these numbers is refused.
    pub(super) fn record_edit(&self, written: &WriteReport) {
        // Nothing was written in a dry run, and then `after` is `None`.
        if written.after.is_some() && written.changed {
            self.update(&written.path, |view| {
                (view.numbered, view.latest) = (view.numbered.or(written.before), written.after);
            });
        }
    }

    /// Records the contents after a patch, or the removal of files.
    pub(super) fn record_patch(&self, done: &Patched) {
        // A patch shows the model parts of a file, so it creates no view. As after an edit, the line numbers stay with
        // their version.
        for (name, after) in &done.after {
            if after.is_none() {
                self.lock().files.remove(name);
            } else if self.view(name).is_some() {
                self.update(name, |view| view.latest = *after);
            }
        }
    }

    /// Returns the version of a file whose line numbers the model has.
    pub(super) fn numbered_version(&self, workspace: &Workspace, path: &str) -> Option<Version> {
        // Views have real names as keys, so a path through a link finds the view of its target.
        self.view(&workspace.root().real_name(path).ok()?)?.numbered
    }

    /// Returns the latest version of a file that the model saw or wrote.
    pub(super) fn latest_version(&self, workspace: &Workspace, path: &str) -> Option<Version> {
        self.view(&workspace.root().real_name(path).ok()?)?.latest
    }

    fn view(&self, name: &str) -> Option<View> {
        self.lock().files.get(name).copied()
    }

    fn update(&self, name: &str, change: impl FnOnce(&mut View)) {
        let mut table = self.lock();
        table.clock += 1;
        let clock = table.clock;
        let view = table.files.entry(name.to_owned()).or_default();
        view.last_used = clock;
        change(view);
        table.shrink();
    }

    /// Locks the table. A poisoned lock is ignored because a panic cannot leave a view half updated.
    fn lock(&self) -> MutexGuard<'_, ViewTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ViewTable {
    fn shrink(&mut self) {
        if self.files.len() > MOST {
            let mut times: Vec<u64> = self.files.values().map(|view| view.last_used).collect();
            times.sort_unstable();
            let middle = times[times.len() / 2];
            self.files.retain(|_, view| view.last_used > middle);
        }
    }
}
