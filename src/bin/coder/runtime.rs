//! A runtime for one turn or many, and the signals that stop what it does.

use crate::failure::{Failure, HUNG_UP, INTERRUPTED, TERMINATED};
use crate::messages;
use crate::shown::Words;
use crate::terminal::Terminal;
use std::future::{Future, poll_fn};
use std::io::{self, IsTerminal};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;
use toolfence::agent::Canceller;

/// Ctrl-C again within this time ends the turn, whatever it does by then.
pub(crate) const TWICE: Duration = Duration::from_secs(2);

/// Runs one future to its end; signals stop the turn it drives.
pub(crate) fn run<T>(canceller: Canceller, future: impl Future<Output = T>) -> Result<T, Failure> {
    Turns::new()?.run(canceller, future)
}

/// Runs a server until it ends by itself or a signal asks it to, which readies what `server` is given. A second signal ends
/// the program at once.
///
/// # Errors
/// The program was told to end. What the server had under way has ended by then.
pub(crate) fn serve<F: Future<Output = Result<(), Failure>>>(
    server: impl FnOnce(oneshot::Receiver<()>) -> F,
) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(cannot_start)?;
    let (asked, wait) = oneshot::channel();
    let status = Arc::new(AtomicU8::new(0));
    let seen = status.clone();
    let served = runtime.block_on(async {
        let mut signals = Signals::new()?;
        tokio::spawn(async move {
            seen.store(signals.next().await, Ordering::SeqCst);
            let _ = asked.send(()); // nobody waits where the server has ended already
            std::process::exit(signals.next().await.into());
        });
        server(wait).await
    });
    runtime.shutdown_background();
    match status.load(Ordering::SeqCst) {
        0 => served,
        status => Err(Failure::signalled(status)),
    }
}

/// Why there is no runtime.
pub(crate) fn cannot_start(error: std::io::Error) -> Failure {
    Failure::broken(messages::cannot_start_runtime(error.to_string()))
}

/// A runtime with a listener for signals.
pub(crate) struct Turns {
    runtime: Option<Runtime>,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    under_way: Mutex<Option<Canceller>>,
    /// Whether a person is at a prompt on a terminal.
    at_prompt: AtomicBool,
    /// The status to end with, once somebody wants the whole program to end.
    ending: AtomicU8,
}

impl Turns {
    pub(crate) fn new() -> Result<Turns, Failure> {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().map_err(cannot_start)?;
        let state: Arc<State> = Arc::default();
        let signals = runtime.block_on(async { Signals::new() })?;
        runtime.spawn(listen(signals, state.clone()));
        Ok(Turns { runtime: Some(runtime), state })
    }

    /// Whether a person types a line now. On a terminal, Ctrl-C drops what was typed of it, as the terminal does by itself, and
    /// says how to leave; a second one within moments leaves.
    pub(crate) fn at_prompt(&self, is: bool) {
        self.state.at_prompt.store(is && io::stdin().is_terminal(), Ordering::SeqCst);
    }

    /// Runs a turn. Ctrl-C stops its tools, or ends it; between turns it ends the program, but for a prompt on a terminal.
    ///
    /// # Errors
    /// The program was told to end. What the turn had started has ended by then.
    pub(crate) fn run<T>(&self, canceller: Canceller, turn: impl Future<Output = T>) -> Result<T, Failure> {
        let runtime = self.runtime.as_ref().expect("it is taken in drop only");
        self.set(Some(canceller));
        let ended = runtime.block_on(turn);
        self.set(None);
        match self.state.ending.load(Ordering::SeqCst) {
            0 => Ok(ended),
            status => Err(Failure::signalled(status)),
        }
    }

    fn set(&self, canceller: Option<Canceller>) {
        *self.state.under_way.lock().unwrap_or_else(PoisonError::into_inner) = canceller;
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

async fn listen(mut signals: Signals, state: Arc<State>) {
    let mut last: Option<Instant> = None;
    loop {
        let status = signals.next().await;
        let under_way = state.under_way.lock().unwrap_or_else(PoisonError::into_inner);
        let again = last.is_some_and(|last| last.elapsed() < TWICE);
        let Some(canceller) = &*under_way else {
            if status == INTERRUPTED && !again && state.at_prompt.load(Ordering::SeqCst) {
                last = Some(Instant::now());
                // Where the terminal is gone there is nobody to tell.
                let _ = Terminal::stdout().write(&format!("\n{}\n> ", messages::how_to_leave().words()));
                continue;
            }
            crate::input::modes::restore();
            std::process::exit(status.into())
        };
        if status != INTERRUPTED {
            state.ending.store(status, Ordering::SeqCst);
            canceller.cancel();
        } else if last.replace(Instant::now()).is_some_and(|last| last.elapsed() < TWICE) {
            canceller.cancel();
        } else {
            canceller.interrupt();
        }
    }
}

/// The signals that are listened to, each with the status of whoever ends by it.
struct Signals(Vec<(u8, Signal)>);

impl Signals {
    /// Whoever started the program with a signal ignored, as `nohup` does, wants it so.
    fn new() -> Result<Signals, Failure> {
        let ignored = ignored_signals();
        let wanted = [
            (INTERRUPTED, SignalKind::interrupt()),
            (TERMINATED, SignalKind::terminate()),
            (HUNG_UP, SignalKind::hangup()),
        ];
        let heard = wanted.into_iter().filter(|(_, kind)| ignored >> (kind.as_raw_value() - 1) & 1 == 0);
        let signals = heard.map(|(status, kind)| signal(kind).map(|signal| (status, signal)));
        let signals = signals.collect::<Result<_, _>>();
        signals.map(Signals).map_err(|error| Failure::broken(messages::cannot_listen_to_signals(error.to_string())))
    }

    async fn next(&mut self) -> u8 {
        poll_fn(|context| {
            let mut came = self.0.iter_mut().filter_map(|(status, signal)| match signal.poll_recv(context) {
                Poll::Ready(Some(())) => Some(*status),
                _ => None,
            });
            came.next().map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }
}

/// The signals that this program was started with as ignored, the first one in the lowest bit.
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
