//! What is looked at around a change: whether the files are worse afterwards than they were.
//!
//! What can be known of the text alone is known before anything is written. The tools say what they would write as
//! [`Draft`]s, and write them only if these pass.

mod words;

use super::blocking;
use crate::toolbox::ToolError;
use crate::validate::{Diagnostic, LineMap, new_ones, syntax};
use crate::workspace::{Draft, Stop, Workspace};
use crate::{Output, ToolFailure};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The checks of one conversation, shared by its tools.
#[derive(Debug, Clone)]
pub struct Checks {
    workspace: Arc<Workspace>,
}

/// How long the files of a change are read in process. A text that takes longer was made to.
const PATIENCE: Duration = Duration::from_secs(2);

/// How a change is to be made.
#[derive(Debug, Clone, Copy)]
pub(super) struct How {
    pub(super) validate: bool,
    pub(super) dry_run: bool,
}

/// What came of a change.
pub(super) enum Checked<T> {
    Made(T),
    /// It would have made a file worse: nothing was changed, and this is the answer.
    Refused(Output),
}

/// An edited file that would be worse.
#[derive(Debug)]
struct Worse<'d> {
    draft: &'d Draft,
    lines: LineMap,
    errors: Vec<Diagnostic>,
    /// Who says so.
    by: String,
}

impl Checks {
    /// Of one workspace.
    pub fn new(workspace: Arc<Workspace>) -> Checks {
        Checks { workspace }
    }

    /// Makes a change of files, if it makes none of them worse.
    pub(super) async fn change<T: Send + 'static>(
        &self,
        drafts: Vec<Draft>,
        how: How,
        make: impl FnOnce(&Workspace) -> Result<T, ToolFailure> + Send + 'static,
    ) -> Result<Checked<T>, ToolError> {
        if how.validate {
            let read = blocking(&self.workspace, move |_, stop| Ok(refused(&drafts, how.dry_run, stop)));
            // A parser may not come to where it is asked to give up. Nothing waits for it then.
            if let Ok(read) = tokio::time::timeout(2 * PATIENCE, read).await
                && let Some(output) = read?
            {
                return Ok(Checked::Refused(output));
            }
        }
        blocking(&self.workspace, move |workspace, _| make(workspace)).await.map(Checked::Made)
    }
}

fn refused(drafts: &[Draft], dry_run: bool, stop: &Stop) -> Option<Output> {
    let started = Instant::now();
    let give_up = || stop.is_stopped() || started.elapsed() > PATIENCE;
    let worse: Vec<Worse<'_>> = drafts.iter().filter_map(|draft| worse(draft, &give_up)).collect();
    (!worse.is_empty()).then(|| words::refused(&worse, dry_run))
}

/// What is new in the syntax of one file.
fn worse<'d>(draft: &'d Draft, give_up: &dyn Fn() -> bool) -> Option<Worse<'d>> {
    draft.after.as_ref()?;
    let [before, after] = draft.texts();
    let found = syntax::check_until(&draft.path, &after, give_up).filter(|found| !found.is_empty())?;
    // What cannot be judged as it is has nothing to be compared with.
    let old = syntax::check_until(&draft.path, &before, give_up)?;
    let lines = LineMap::of(&before, &after);
    let language = syntax::language(&draft.path)?;
    let errors = new_ones(&old, &found, |_| Some(&lines), language.sight);
    (!errors.is_empty()).then(|| Worse { draft, lines, errors, by: format!("as {}", language.name) })
}
