//! What a model knows of files: which content it was shown with line numbers, and which it was shown or left itself.
//!
//! An edit by line numbers is made only on what the numbers belong to. A whole file is written only over what the model has
//! seen or written, so that no changes in between are lost. A file it never saw has no view, and nothing is compared.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use toolfence_workspace::{FileText, Patched, Version, Workspace, Written};

/// Files that are remembered; the half that was met longest ago is forgotten then.
const MOST: usize = 4096;

/// The views of one conversation, shared by its tools.
#[derive(Debug, Clone, Default)]
pub struct Views(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    files: HashMap<String, View>,
    clock: u64,
}

#[derive(Debug, Clone, Copy, Default)]
struct View {
    /// What the line numbers that the model has belong to.
    numbered: Option<Version>,
    /// What the model saw or left last.
    latest: Option<Version>,
    met: u64,
}

impl Views {
    /// Forgets all, as for a new conversation.
    pub fn forget(&self) {
        self.lock().files.clear();
    }

    /// Line numbers of this file were shown.
    pub(super) fn read(&self, file: &FileText) {
        self.set(&file.path, |view| (view.numbered, view.latest) = (file.version, file.version));
    }

    /// The model wrote all of it.
    pub(super) fn wrote(&self, written: &Written) {
        self.set(&written.path, |view| (view.numbered, view.latest) = (written.after, written.after));
    }

    /// A part was changed: the numbers it had before are those the model may have.
    pub(super) fn changed(&self, written: &Written) {
        if written.after.is_some() && written.changed {
            self.set(&written.path, |view| {
                (view.numbered, view.latest) = (view.numbered.or(written.before), written.after);
            });
        }
    }

    /// A patch left these contents, or no file.
    pub(super) fn patched(&self, done: &Patched) {
        for (name, after) in &done.after {
            if after.is_none() {
                self.lock().files.remove(name);
            } else if self.view(name).is_some() {
                self.set(name, |view| view.latest = *after);
            }
        }
    }

    /// What the line numbers belong to that the model has of a file.
    pub(super) fn numbered(&self, workspace: &Workspace, path: &str) -> Option<Version> {
        self.view(&workspace.root().real_name(path).ok()?)?.numbered
    }

    /// What the model knows of the content of a file.
    pub(super) fn latest(&self, workspace: &Workspace, path: &str) -> Option<Version> {
        self.view(&workspace.root().real_name(path).ok()?)?.latest
    }

    fn view(&self, name: &str) -> Option<View> {
        self.lock().files.get(name).copied()
    }

    fn set(&self, name: &str, change: impl FnOnce(&mut View)) {
        let mut known = self.lock();
        known.clock += 1;
        let clock = known.clock;
        let view = known.files.entry(name.to_owned()).or_default();
        view.met = clock;
        change(view);
        known.shrink();
    }

    /// A panic of another thread leaves whole views behind.
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn shrink(&mut self) {
        if self.files.len() > MOST {
            let mut times: Vec<u64> = self.files.values().map(|view| view.met).collect();
            times.sort_unstable();
            let middle = times[times.len() / 2];
            self.files.retain(|_, view| view.met > middle);
        }
    }
}
