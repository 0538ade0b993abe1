//! A runtime for one turn or many, and Ctrl-C.

use crate::failure::{Failure, INTERRUPTED};
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::runtime::Runtime;
use toolfence::agent::Canceller;

/// Runs one future to its end; Ctrl-C cancels the turn it drives.
pub(crate) fn run<T>(canceller: Canceller, future: impl Future<Output = T>) -> Result<T, Failure> {
    let turns = Turns::new()?;
    Ok(turns.run(canceller, future))
}

/// A runtime with a listener for Ctrl-C.
pub(crate) struct Turns {
    runtime: Option<Runtime>,
    under_way: Arc<Mutex<Option<Canceller>>>,
}

impl Turns {
    pub(crate) fn new() -> Result<Turns, Failure> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .map_err(|error| Failure::broken(format!("cannot start the runtime: {error}")))?;
        let under_way: Arc<Mutex<Option<Canceller>>> = Arc::default();
        runtime.spawn(listen(under_way.clone()));
        Ok(Turns { runtime: Some(runtime), under_way })
    }

    /// Runs a turn; Ctrl-C cancels it. Between turns Ctrl-C ends the program.
    pub(crate) fn run<T>(&self, canceller: Canceller, turn: impl Future<Output = T>) -> T {
        let runtime = self.runtime.as_ref().expect("it is taken in drop only");
        self.set(Some(canceller));
        let ended = runtime.block_on(turn);
        self.set(None);
        ended
    }

    fn set(&self, canceller: Option<Canceller>) {
        *self.under_way.lock().unwrap_or_else(PoisonError::into_inner) = canceller;
    }
}

impl Drop for Turns {
    /// Does not wait for work that blocks: everything that counts has ended with its turn.
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

async fn listen(under_way: Arc<Mutex<Option<Canceller>>>) {
    while tokio::signal::ctrl_c().await.is_ok() {
        match &*under_way.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(canceller) => canceller.cancel(),
            None => std::process::exit(INTERRUPTED.into()),
        }
    }
}
