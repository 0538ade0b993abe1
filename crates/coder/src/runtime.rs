//! Runs turns on an async runtime, and handles the signals that stop them.

use crate::failure::{Failure, HUNG_UP, INTERRUPTED, TERMINATED};
use crate::shown::Words;
use crate::terminal::Terminal;
use std::future::{Future, poll_fn};
use std::io::{self, IsTerminal};
use std::pin::pin;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;
use toolfence_agent::agent::Canceller;
use toolfence_protocol::{Text, text};

/// A second Ctrl-C within this time cancels the turn, even if its tools are still running.
pub(crate) const TWICE: Duration = Duration::from_secs(2);

/// Runs one future to its end. Signals stop the turn that it drives.
pub(crate) fn run<T>(canceller: Canceller, future: impl Future<Output = T>) -> Result<T, Failure> {
    Turns::new()?.run(canceller, future)
}

/// Runs a server until it ends by itself or a signal asks it to end, which resolves the receiver passed to `server`. A
/// second signal ends the program at once.
///
/// # Errors
/// A signal ended the program. The server's work has ended by then.
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
            let _ = asked.send(()); // the receiver is gone if the server has ended already
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

/// Runs a future that handles the signals itself.
pub(crate) fn run_with_signals<T>(future: impl AsyncFnOnce(&mut Signals) -> Result<T, Failure>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.map_err(cannot_start)?;
    let ended = runtime.block_on(async { future(&mut Signals::new()?).await });
    // All work that must complete has ended with the future.
    runtime.shutdown_background();
    ended
}

/// Describes why the runtime could not start.
pub(crate) fn cannot_start(error: std::io::Error) -> Failure {
    Failure::broken(text!("cannot start the runtime: {error}", error = Text::from(&error)))
}

/// A runtime with a listener for signals.
pub(crate) struct Turns {
    runtime: Option<Runtime>,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    phase: Mutex<Phase>,
    /// The exit status of the program, once a signal has asked it to end; 0 before.
    ending: AtomicU8,
}

/// What the program is doing when a signal arrives.
#[derive(Debug, Default)]
enum Phase {
    /// There is nothing to stop, so the program ends.
    #[default]
    Idle,
    /// The user types a line after this mark, on a terminal in its normal mode.
    Prompt(&'static str),
    /// A conversation at a terminal is between its prompt and a turn. `stop` means that Ctrl-C was pressed and will
    /// stop the next turn.
    Between { stop: bool },
    /// A turn that has not started yet. Its start clears earlier cancellations, so a signal is held until then.
    Beginning(Option<u8>),
    /// A running turn.
    Turn(Canceller),
}

/// The effect of a signal.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    /// The program ends.
    Ends,
    /// Explains how to leave, and prints the mark again.
    Tells(&'static str),
    /// The turn was cancelled, or will be once it has started.
    Stops,
}

impl State {
    fn phase(&self) -> MutexGuard<'_, Phase> {
        self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Decides the effect of a signal. `again` means that the previous Ctrl-C was only moments ago.
    fn heard(&self, status: u8, again: bool) -> Outcome {
        let mut phase = self.phase();
        match &mut *phase {
            Phase::Idle => Outcome::Ends,
            Phase::Prompt(_) | Phase::Between { .. } if status != INTERRUPTED || again => Outcome::Ends,
            Phase::Prompt(mark) => Outcome::Tells(mark),
            Phase::Between { stop } => {
                *stop = true;
                Outcome::Stops
            }
            Phase::Beginning(waiting) => {
                // A signal that ends the program takes precedence over one that stops the turn.
                if waiting.is_none_or(|waiting| waiting == INTERRUPTED) {
                    *waiting = Some(status);
                }
                Outcome::Stops
            }
            Phase::Turn(canceller) => {
                self.notify(canceller, status, again);
                Outcome::Stops
            }
        }
    }

    fn notify(&self, canceller: &Canceller, status: u8, again: bool) {
        if status != INTERRUPTED {
            self.ending.store(status, Ordering::SeqCst);
            canceller.cancel();
        } else if again {
            canceller.cancel();
        } else {
            canceller.interrupt();
        }
    }

    /// Announces a turn. Returns the phase to set after it.
    fn begins(&self) -> Phase {
        let mut phase = self.phase();
        let before = std::mem::take(&mut *phase);
        let stop = matches!(before, Phase::Between { stop: true });
        *phase = Phase::Beginning(stop.then_some(INTERRUPTED));
        if matches!(before, Phase::Idle) { Phase::Idle } else { Phase::Between { stop: false } }
    }

    /// Records that the turn has started.
    fn record_start(&self, canceller: Canceller) {
        let mut phase = self.phase();
        if let Phase::Beginning(Some(status)) = *phase {
            self.notify(&canceller, status, false);
        }
        *phase = Phase::Turn(canceller);
    }
}

impl Turns {
    pub(crate) fn new() -> Result<Turns, Failure> {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().map_err(cannot_start)?;
        let state: Arc<State> = Arc::default();
        let signals = runtime.block_on(async { Signals::new() })?;
        // The worker thread handles signals even while the main thread reads a line.
        runtime.spawn(listen(signals, state.clone()));
        Ok(Turns { runtime: Some(runtime), state })
    }

    /// Reads a line of a conversation without a line editor. On a terminal, the first Ctrl-C discards the typed input
    /// and explains how to leave; a second one within moments ends the program.
    pub(crate) fn at_prompt<T>(&self, mark: &'static str, read: impl FnOnce() -> T) -> T {
        self.reading(Phase::Prompt(mark), read)
    }

    /// Reads a message in a line editor, which handles Ctrl-C as a key. A Ctrl-C that arrives as a signal was pressed
    /// before the editor was ready.
    pub(crate) fn in_editor<T>(&self, read: impl FnOnce() -> T) -> T {
        self.reading(Phase::Between { stop: false }, read)
    }

    /// Begins a conversation. At a terminal, Ctrl-C stops only its current work from here on.
    pub(crate) fn converse(&self) {
        if io::stdin().is_terminal() {
            *self.state.phase() = Phase::Between { stop: false };
        }
    }

    /// Returns `true` if the whole program has been asked to end.
    pub(crate) fn is_ending(&self) -> bool {
        self.state.ending.load(Ordering::SeqCst) != 0
    }

    /// Calls `read` in this phase. Once the user at a terminal has entered a line, Ctrl-C stops the work of that line,
    /// even if it has not started.
    fn reading<T>(&self, phase: Phase, read: impl FnOnce() -> T) -> T {
        let terminal = io::stdin().is_terminal();
        let [during, after] =
            if terminal { [phase, Phase::Between { stop: false }] } else { [Phase::Idle, Phase::Idle] };
        *self.state.phase() = during;
        let read = read();
        *self.state.phase() = after;
        read
    }

    /// Runs a turn. Ctrl-C stops its tools, or the turn if no tool runs. Between turns it ends the program, except in a
    /// conversation at a terminal.
    ///
    /// # Errors
    /// A signal ended the program. The work of the turn has ended by then.
    pub(crate) fn run<T>(&self, canceller: Canceller, turn: impl Future<Output = T>) -> Result<T, Failure> {
        let runtime = self.runtime.as_ref().expect("it is taken in drop only");
        let after = self.state.begins();
        let mut turn = pin!(turn);
        let mut canceller = Some(canceller);
        let ended = runtime.block_on(poll_fn(|context| {
            let polled = turn.as_mut().poll(context);
            // The first poll starts the turn, which clears earlier cancellations. A signal held until now is delivered
            // after it.
            if let Some(canceller) = canceller.take() {
                self.state.record_start(canceller);
            }
            polled
        }));
        *self.state.phase() = after;
        match self.state.ending.load(Ordering::SeqCst) {
            0 => Ok(ended),
            status => Err(Failure::signalled(status)),
        }
    }
}

impl Drop for Turns {
    /// Does not wait for blocking tasks: all work that must complete has ended with its turn.
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
        let again = last.is_some_and(|last| last.elapsed() < TWICE);
        if status == INTERRUPTED {
            last = Some(Instant::now());
        }
        match state.heard(status, again) {
            Outcome::Stops => {}
            Outcome::Tells(mark) => {
                // If the terminal is gone, there is no other output for the error.
                let _ = Terminal::stdout().write(&format!(
                    "\n{}\n{mark}",
                    text!("Ctrl-C again, /quit or Ctrl-D ends the conversation; `coder --continue` continues it.")
                        .words()
                ));
            }
            Outcome::Ends => {
                crate::input::modes::restore();
                std::process::exit(status.into())
            }
        }
    }
}

/// The signals that the program handles, each with its exit status.
pub(crate) struct Signals(Vec<(u8, Signal)>);

impl Signals {
    /// Listens to the signals, except those that were ignored at the start, as with `nohup`.
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
        signals
            .map(Signals)
            .map_err(|error| Failure::broken(text!("cannot listen to signals: {error}", error = Text::from(&error))))
    }

    /// Waits for the next signal and returns its exit status.
    pub(crate) async fn next(&mut self) -> u8 {
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

/// Returns the set of signals that were ignored when this program started. The lowest bit is signal 1.
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    /// Runs a turn that lasts until it is cancelled. Like an agent's turn, it clears earlier cancellations first.
    fn stopped_within(turns: &Turns, canceller: &Canceller) -> bool {
        let turn = async { tokio::time::timeout(Duration::from_secs(20), canceller.cancelled()).await.is_ok() };
        turns.run(canceller.clone(), turn).is_ok_and(|stopped| stopped)
    }

    #[test]
    fn ctrl_c_behind_a_line_stops_what_the_line_begins() {
        let turns = Turns::new().unwrap();
        *turns.state.phase() = Phase::Between { stop: false };
        assert_eq!(turns.state.heard(INTERRUPTED, false), Outcome::Stops);
        assert!(stopped_within(&turns, &Canceller::default()));
        assert!(matches!(*turns.state.phase(), Phase::Between { stop: false }));
    }

    #[test]
    fn a_signal_at_the_beginning_of_a_turn_waits_for_it() {
        let turns = Turns::new().unwrap();
        let canceller = Canceller::default();
        let turn = async {
            assert_eq!(turns.state.heard(INTERRUPTED, false), Outcome::Stops);
            assert_eq!(turns.state.heard(TERMINATED, false), Outcome::Stops);
            assert_eq!(turns.state.heard(INTERRUPTED, false), Outcome::Stops);
            canceller.cancelled().await;
        };
        assert!(turns.run(canceller.clone(), turn).is_err());
        assert_eq!(turns.state.ending.load(Ordering::SeqCst), TERMINATED);
        assert_eq!(turns.state.heard(INTERRUPTED, false), Outcome::Ends);
    }

    #[test]
    fn between_turns_a_second_ctrl_c_ends_the_program_and_another_signal_does_at_once() {
        let state = State::default();
        *state.phase() = Phase::Between { stop: false };
        assert_eq!(state.heard(INTERRUPTED, false), Outcome::Stops);
        assert_eq!(state.heard(INTERRUPTED, true), Outcome::Ends);
        assert_eq!(state.heard(TERMINATED, false), Outcome::Ends);
        *state.phase() = Phase::Prompt("plan> ");
        assert_eq!(state.heard(INTERRUPTED, false), Outcome::Tells("plan> "));
        assert_eq!(state.heard(HUNG_UP, false), Outcome::Ends);
    }
}
