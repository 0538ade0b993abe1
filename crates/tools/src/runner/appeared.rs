//! What a command must not tell: lines of blocked files that appeared while it ran.

use super::super::blocking;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use toolfence_protocol::{Language, Text};
use toolfence_sandbox::process::Background;
use toolfence_toolbox::ToolError;
use toolfence_workspace::{MaskSet, Withheld, Workspace, overflow_file};

/// What appeared since one command was started; shared between the one who runs it and those who deliver its output.
#[derive(Debug, Clone, Default)]
pub(crate) struct Appeared {
    found: Arc<Mutex<(Option<Arc<MaskSet>>, Withheld)>>,
    language: Language,
}

impl Appeared {
    /// Nothing yet; what is told of it later is in `language`.
    pub(crate) fn new(language: Language) -> Appeared {
        Appeared { language, ..Appeared::default() }
    }

    /// A command starts, and this is hidden from it.
    pub(crate) fn begin(&self, masks: &Arc<MaskSet>) {
        self.lock().0 = Some(Arc::clone(masks));
    }

    /// Looks for what appeared by now. Output that was taken before this holds nothing of what is found later.
    pub(crate) async fn look(&self, workspace: &Arc<Workspace>) -> Result<(), ToolError> {
        let this = self.clone();
        let look = move |workspace: &Workspace, stop: &_| {
            let Some(before) = this.lock().0.clone() else { return Ok(()) };
            // Whoever delivers at the same time waits for the look, which is what it needs.
            workspace.masks().appeared(&before, &mut this.lock().1, stop);
            Ok(())
        };
        blocking(workspace, look).await
    }

    /// What may be delivered of this output, with a word on what may not.
    pub(crate) fn deliver(&self, text: String) -> String {
        self.lock().1.from(text, self.language)
    }

    /// What is to be said besides.
    pub(crate) fn note(&self) -> Option<Text> {
        self.lock().1.note()
    }

    /// Takes the file with all of a job's output away where a line of what appeared may be in it; `true` if it is gone.
    pub(crate) fn takes_file(&self, workspace: &Workspace, name: &str) -> bool {
        let takes = !self.lock().1.is_empty();
        if takes {
            overflow_file::remove(workspace.root(), name);
        }
        takes
    }

    /// Takes the overflow file of a running job away where a line of a blocked file may be in it. What the job writes from now
    /// on goes to a file without a name.
    pub(crate) fn takes_file_of(&self, workspace: &Workspace, live: Option<&Background>) {
        if let Some((name, _)) = live.and_then(Background::file) {
            self.takes_file(workspace, &name);
        }
    }

    fn lock(&self) -> MutexGuard<'_, (Option<Arc<MaskSet>>, Withheld)> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
