//! Groups turns that run at the same time: they are undone together.
//!
//! A project has one undo history, which records one turn at a time. If each client's turn were recorded separately,
//! the second one would end the record of the first, and the later changes of the first could not be undone.
//!
//! A record begins and ends with work on files, which runs on blocking threads. Other turns wait for it asynchronously:
//! a blocking lock would stop all other requests.

use std::sync::Arc;
use tokio::runtime::Handle;
use tokio::sync::{Mutex, OwnedMutexGuard, watch};
use tokio::task::{JoinError, JoinHandle, spawn_blocking};
use toolfence_workspace::undo::OpenTurn;

/// The running turns and their common record.
#[derive(Default)]
pub(super) struct Together {
    running: Arc<Mutex<Running>>,
    /// The number of turns and undos whose work on files is not complete.
    busy: watch::Sender<usize>,
}

#[derive(Default)]
struct Running {
    turns: usize,
    recorded: Option<OpenTurn>,
}

impl Together {
    /// Adds a turn to the group until the returned member leaves or is dropped. The first turn begins the record, and
    /// the last one ends it.
    pub(super) async fn join(&self, begin: impl FnOnce() -> Option<OpenTurn> + Send + 'static) -> Member {
        let mut running = self.running.clone().lock_owned().await;
        let busy = Busy::new(&self.busy);
        if running.turns > 0 {
            return Member::new(running, busy);
        }
        // If the future is dropped meanwhile, the record still begins, and ends when the unused member is dropped.
        let begun = spawn_blocking(move || {
            running.recorded = begin();
            Member::new(running, busy)
        });
        match begun.await {
            Ok(member) => member,
            // `begin` panicked: nothing is recorded.
            Err(_) => Member::new(self.running.clone().lock_owned().await, Busy::new(&self.busy)),
        }
    }

    /// Runs `act` while no turn runs and none can begin. Returns `None` if a turn is running. Once begun, `act` always
    /// completes.
    ///
    /// # Errors
    /// Fails if `act` panicked.
    pub(super) async fn run_exclusively<T: Send + 'static>(
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

    /// Waits until no turn runs and the record has ended.
    pub(super) async fn wait_until_idle(&self) {
        // `self` owns the sender, so the wait ends only when the count is zero.
        let _ = self.busy.subscribe().wait_for(|busy| *busy == 0).await;
    }
}

/// A guard that is counted until it is dropped.
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

/// One of the running turns.
pub(super) struct Member(Option<(Arc<Mutex<Running>>, Busy)>);

impl Member {
    fn new(mut running: OwnedMutexGuard<Running>, busy: Busy) -> Member {
        running.turns += 1;
        Member(Some((OwnedMutexGuard::mutex(&running).clone(), busy)))
    }

    /// Leaves the group. The last member waits until the record has ended.
    pub(super) async fn leave(mut self) {
        if let Some(left) = self.leave_in_task() {
            // This fails only when the runtime shuts down.
            let _ = left.await;
        }
    }

    /// Leaves in a separate task, so that a dropped turn leaves too.
    fn leave_in_task(&mut self) -> Option<JoinHandle<()>> {
        let (running, busy) = self.0.take()?;
        // Without a runtime, no turn runs any more.
        let runtime = Handle::try_current().ok()?;
        Some(runtime.spawn(async move {
            let mut running = running.lock_owned().await;
            running.turns -= 1;
            if running.turns == 0
                && let Some(recorded) = running.recorded.take()
            {
                // Hold the lock meanwhile, so that no other record begins: ending a turn ends the current record.
                let _ = spawn_blocking(move || drop((recorded, running))).await;
            }
            drop(busy);
        }))
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        drop(self.leave_in_task());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;
    use std::time::Duration;

    /// Runs all tasks on one thread, so that a task that blocks it stops the clock too.
    fn on_one_thread(test: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async { tokio::time::timeout(Duration::from_secs(60), test).await.expect("it hangs") });
    }

    #[test]
    fn waiting_for_files_blocks_no_other_request() {
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
            // The second turn waits for the first and an undo for both, while the clock continues.
            let second = tokio::spawn({
                let together = together.clone();
                async move { together.join(|| panic!("one is recorded")).await }
            });
            let undo = tokio::spawn({
                let together = together.clone();
                async move { together.run_exclusively(|| ()).await }
            });
            tokio::time::sleep(Duration::from_millis(10)).await;
            assert!(!second.is_finished() && !undo.is_finished());
            go.send(()).unwrap();
            let (first, second) = (first.await.unwrap(), second.await.unwrap());
            assert_eq!(undo.await.unwrap().unwrap(), None, "two run");
            first.leave().await;
            assert_eq!(together.run_exclusively(|| ()).await.unwrap(), None, "one runs");
            drop(second);
            together.wait_until_idle().await;
            assert_eq!(together.run_exclusively(|| ()).await.unwrap(), Some(()));
        });
    }

    /// A turn whose client disconnects while it begins still ends.
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
            together.wait_until_idle().await;
            assert_eq!(together.run_exclusively(|| 1).await.unwrap(), Some(1));
        });
    }

    #[test]
    fn a_beginning_that_fails_records_nothing() {
        on_one_thread(async {
            let together = Together::default();
            let member = together.join(|| panic!("as a test wants it")).await;
            assert_eq!(together.run_exclusively(|| ()).await.unwrap(), None);
            member.leave().await;
            assert!(together.run_exclusively(|| panic!("as a test wants it")).await.is_err());
            assert_eq!(together.run_exclusively(|| ()).await.unwrap(), Some(()));
            together.wait_until_idle().await;
        });
    }
}
