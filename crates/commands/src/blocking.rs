//! Runs blocking work of a tool on a thread: a walk, a command, a comparison.

use std::sync::Arc;
use std::time::Duration;
use toolfence_policy::toolbox::{NoProgress, Progress, ToolError};
use toolfence_protocol::text::Field;
use toolfence_protocol::{Error, Language, ToolFailure, text};
use toolfence_workspace::Stop;

/// The time between two progress notes of a walk.
const BETWEEN_NOTES: Duration = Duration::from_secs(1);

/// Runs blocking work on a new thread. Dropping the future asks the work to stop.
pub async fn blocking<C, T, W>(context: &Arc<C>, work: W) -> Result<T, ToolError>
where
    C: Send + Sync + 'static,
    T: Send + 'static,
    W: FnOnce(&C, &Stop) -> Result<T, ToolFailure> + Send + 'static,
{
    watched(context, &NoProgress, Language::default(), work).await
}

/// Runs blocking work that walks a tree, like [`blocking`], and reports from time to time how many entries it has
/// visited.
pub async fn watched<C, T, W>(
    context: &Arc<C>,
    progress: &dyn Progress,
    language: Language,
    work: W,
) -> Result<T, ToolError>
where
    C: Send + Sync + 'static,
    T: Send + 'static,
    W: FnOnce(&C, &Stop) -> Result<T, ToolFailure> + Send + 'static,
{
    let stop = Arc::new(Stop::default());
    let guard = StopOnDrop(Arc::clone(&stop));
    let context = Arc::clone(context);
    // The thread enters the span of the caller, so that its log events belong to the call.
    let span = tracing::Span::current();
    let mut working = tokio::task::spawn_blocking(move || span.in_scope(|| work(&context, &stop)));
    let done = loop {
        match tokio::time::timeout(BETWEEN_NOTES, &mut working).await {
            Ok(done) => break done,
            Err(_) if guard.0.visited() == 0 => {}
            Err(_) => progress.note(
                &text!("{count} files and folders so far", count = Field::Grouped(guard.0.visited()))
                    .into_string(language),
            ),
        }
    };
    // The guard lives until here, so that dropping the future stops the work, which no runtime can cancel.
    drop(guard);
    let result = done.map_err(|cause| ToolError::Fatal(Error::because(text!("finish a tool"), cause)))?;
    result.map_err(ToolError::Respond)
}

struct StopOnDrop(Arc<Stop>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;
    use toolfence_policy::rules::PathRules;
    use toolfence_workspace::{ListFiles, Workspace};

    #[derive(Default)]
    struct Notes(Mutex<Vec<String>>);

    impl Progress for Notes {
        fn note(&self, text: &str) {
            self.0.lock().expect("no test panics with it").push(text.to_owned());
        }
    }

    #[test]
    fn long_walks_report_their_progress() {
        let home = tempfile::tempdir().expect("a temporary folder can be made");
        (0..3).for_each(|n| std::fs::write(home.path().join(n.to_string()), "").expect("it can be written"));
        let workspace = Arc::new(Workspace::open(home.path(), PathRules::default()).expect("it is a folder"));
        let notes = Notes::default();
        let work = |workspace: &Workspace, stop: &Stop| {
            let listing = workspace.files().list(&ListFiles::new("."), stop)?;
            std::thread::sleep(BETWEEN_NOTES + BETWEEN_NOTES / 2);
            Ok(listing.entries.len())
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        let done = runtime.block_on(watched(&workspace, &notes, Language::English, work));
        assert_eq!(done.ok(), Some(3));
        assert_eq!(*notes.0.lock().expect("no test panics with it"), ["3 files and folders so far"]);
    }
}
