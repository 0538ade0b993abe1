//! Turns that run at the same time, which are undone together.
//!
//! There is one history of a project, and it records one turn at a time. Were each turn of a client one of it, the second that begins
//! would end the first, whose later changes nobody could take back.
//!
//! What is recorded begins and ends with work on files. It is done where threads may block, and whoever has to wait for it waits as
//! a task: a lock of threads would stand in the way of all other requests.

use std::sync::Arc;
use tokio::runtime::Handle;
use tokio::sync::{Mutex, OwnedMutexGuard, watch};
use tokio::task::{JoinError, JoinHandle, spawn_blocking};
use toolfence_workspace::undo::OpenTurn;

/// The turns that run, and what they are recorded as.
#[derive(Default)]
pub(super) struct Together {
    running: Arc<Mutex<Running>>,
    /// How many turns and undos there are whose work on files is not over.
    busy: watch::Sender<usize>,
}

#[derive(Default)]
struct Running {
    turns: usize,
    recorded: Option<OpenTurn>,
}

impl Together {
    /// A turn runs until what is given leaves or is dropped. The first one begins what is recorded, and the last one ends it.
    pub(super) async fn join(&self, begin: impl FnOnce() -> Option<OpenTurn> + Send + 'static) -> Member {
        let mut running = self.running.clone().lock_owned().await;
        let busy = Busy::new(&self.busy);
        if running.turns > 0 {
            return Member::of(running, busy);
        }
        // Where the future is dropped meanwhile the turn begins all the same, and ends with the member that nobody takes.
        let begun = spawn_blocking(move || {
            running.recorded = begin();
            Member::of(running, busy)
        });
        match begun.await {
            Ok(member) => member,
            // It failed in its middle, and nothing is recorded.
            Err(_) => Member::of(self.running.clone().lock_owned().await, Busy::new(&self.busy)),
        }
    }

    /// Does this while no turn runs and none can begin; `None` where one runs. Once begun it is done to its end.
    ///
    /// # Errors
    /// It failed in its middle.
    pub(super) async fn alone<T: Send + 'static>(
        &self,
        act: impl FnOnce() -> T + Send + 'static,
    ) -> Result<Option<T>, JoinError> {
        let running = self.running.clone().lock_owned().await;
        if running.turns > 0 {
            return Ok(None);
        }
        let busy = Busy::new(&self.busy);
        spawn_blocking(move || {
            let done = act();
            drop((running, busy));
            Some(done)
        })
        .await
    }

    /// Until no turn runs and what was recorded has ended.
    pub(super) async fn over(&self) {
        // The sender lives as long as this does, so the wait ends only with the count.
        let _ = self.busy.subscribe().wait_for(|busy| *busy == 0).await;
    }
}

/// Counted while it lives.
struct Busy(watch::Sender<usize>);

impl Busy {
    fn new(count: &watch::Sender<usize>) -> Busy {
        count.send_modify(|busy| *busy += 1);
        Busy(count.clone())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.send_modify(|busy| *busy -= 1);
    }
}

/// One of the turns that run.
pub(super) struct Member(Option<(Arc<Mutex<Running>>, Busy)>);

impl Member {
    fn of(mut running: OwnedMutexGuard<Running>, busy: Busy) -> Member {
        running.turns += 1;
        Member(Some((OwnedMutexGuard::mutex(&running).clone(), busy)))
    }

    /// Leaves, and waits until what was recorded has ended, where this was the last one.
    pub(super) async fn leave(mut self) {
        if let Some(left) = self.left() {
            // It fails with the runtime only.
            let _ = left.await;
        }
    }

    /// Leaves in a task of its own, so that a turn that is dropped leaves too.
    fn left(&mut self) -> Option<JoinHandle<()>> {
        let (running, busy) = self.0.take()?;
        // Without a runtime no turn runs any more.
        let runtime = Handle::try_current().ok()?;
        Some(runtime.spawn(async move {
            let mut running = running.lock_owned().await;
            running.turns -= 1;
            if running.turns == 0
                && let Some(recorded) = running.recorded.take()
            {
                // It ends while nobody can begin the next: the end of a turn ends whatever is recorded.
                let _ = spawn_blocking(move || drop((recorded, running))).await;
            }
            drop(busy);
        }))
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        drop(self.left());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;
    use std::time::Duration;

    /// One thread runs all tasks, so whoever blocks it stops the clock too.
    fn on_one_thread(test: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async { tokio::time::timeout(Duration::from_secs(60), test).await.expect("it hangs") });
    }

    #[test]
    fn who_waits_for_files_blocks_nobody_else() {
        on_one_thread(async {
            let together = Arc::new(Together::default());
            let (go, wait) = mpsc::channel::<()>();
            let begins = Arc::new(AtomicUsize::new(0));
            let first = tokio::spawn({
                let (together, begins) = (together.clone(), begins.clone());
                async move {
                    let begin = move || {
                        begins.fetch_add(1, Ordering::SeqCst);
                        wait.recv().unwrap();
                        None
                    };
                    together.join(begin).await
                }
            });
            while begins.load(Ordering::SeqCst) == 0 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            // The second waits for the first, an undo for both, and the clock goes on.
            let second = tokio::spawn({
                let together = together.clone();
                async move { together.join(|| panic!("one is recorded")).await }
            });
            let undo = tokio::spawn({
                let together = together.clone();
                async move { together.alone(|| ()).await }
            });
            tokio::time::sleep(Duration::from_millis(10)).await;
            assert!(!second.is_finished() && !undo.is_finished());
            go.send(()).unwrap();
            let (first, second) = (first.await.unwrap(), second.await.unwrap());
            assert_eq!(undo.await.unwrap().unwrap(), None, "two run");
            first.leave().await;
            assert_eq!(together.alone(|| ()).await.unwrap(), None, "one runs");
            drop(second);
            together.over().await;
            assert_eq!(together.alone(|| ()).await.unwrap(), Some(()));
        });
    }

    /// A turn whose client leaves while it begins is over all the same.
    #[test]
    fn a_turn_that_is_dropped_while_it_begins_leaves() {
        on_one_thread(async {
            let together = Arc::new(Together::default());
            let (go, wait) = mpsc::channel::<()>();
            let (say, mut said) = tokio::sync::mpsc::unbounded_channel();
            let joining = tokio::spawn({
                let together = together.clone();
                async move {
                    let begin = move || {
                        say.send(()).unwrap();
                        wait.recv().unwrap();
                        None
                    };
                    together.join(begin).await.leave().await;
                }
            });
            said.recv().await.unwrap();
            joining.abort();
            assert!(joining.await.unwrap_err().is_cancelled());
            go.send(()).unwrap();
            together.over().await;
            assert_eq!(together.alone(|| 1).await.unwrap(), Some(1));
        });
    }

    #[test]
    fn a_beginning_that_fails_records_nothing() {
        on_one_thread(async {
            let together = Together::default();
            let member = together.join(|| panic!("as a test wants it")).await;
            assert_eq!(together.alone(|| ()).await.unwrap(), None);
            member.leave().await;
            assert!(together.alone(|| panic!("as a test wants it")).await.is_err());
            assert_eq!(together.alone(|| ()).await.unwrap(), Some(()));
            together.over().await;
        });
    }
}
