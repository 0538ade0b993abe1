//! A file for output that exceeds the kept bytes. It is created when it is needed.

use std::fs::File;
use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use toolfence_protocol::clip::HeadTail;

/// The most bytes of an overflow file.
const MOST: u64 = 64 << 20;

/// Creates the file and returns it with its name.
type Make<'a> = Box<dyn Fn() -> io::Result<(File, String)> + Send + Sync + 'a>;

/// The file for all output of one [`Job`](super::Job) if it is too much to keep, up to 64 MiB.
pub struct Overflow<'a> {
    make: Make<'a>,
    state: Mutex<State>,
}

#[derive(Default)]
enum State {
    #[default]
    NotNeeded,
    Open {
        file: File,
        name: String,
        bytes: u64,
    },
    /// The file has reached its limit.
    Full(String),
    Failed,
}

impl std::fmt::Debug for Overflow<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Overflow").field("file", &self.file()).finish_non_exhaustive()
    }
}

/// Keeps a piece of output. Once a piece does not fit, also writes the whole output to the overflow file.
pub(super) fn keep(piece: &[u8], kept: &mut HeadTail, overflow: Option<&Overflow<'_>>) {
    if let Some(overflow) = overflow {
        if overflow.is_unused() && kept.complete_if_room(piece.len()).is_none() {
            // Nothing was dropped yet, so the file can begin with all that was kept.
            overflow.begin(kept.complete_if_room(0).unwrap_or_default());
        }
        overflow.push(piece);
    }
    kept.push(piece);
}

impl<'a> Overflow<'a> {
    /// Returns an overflow whose file is created by `make`.
    pub fn new(make: impl Fn() -> io::Result<(File, String)> + Send + Sync + 'a) -> Overflow<'a> {
        Overflow { make: Box::new(make), state: Mutex::default() }
    }

    /// Returns the name of the file, and whether it has all of the output.
    pub fn file(&self) -> Option<(String, bool)> {
        match &*self.state() {
            State::Open { name, .. } => Some((name.clone(), true)),
            State::Full(name) => Some((name.clone(), false)),
            State::NotNeeded | State::Failed => None,
        }
    }

    /// Creates the file with the output that was kept so far.
    fn begin(&self, so_far: [&[u8]; 2]) {
        *self.state() = match (self.make)() {
            Ok((file, name)) => State::Open { file, name, bytes: 0 },
            Err(error) => {
                tracing::debug!(%error, "no file for long output could be made");
                State::Failed
            }
        };
        so_far.iter().for_each(|bytes| self.push(bytes));
    }

    fn push(&self, chunk: &[u8]) {
        let mut state = self.state();
        let State::Open { file, name, bytes } = &mut *state else { return };
        let room = usize::try_from(MOST - *bytes).unwrap_or(usize::MAX).min(chunk.len());
        *bytes += room as u64;
        if file.write_all(&chunk[..room]).is_err() || room < chunk.len() {
            *state = State::Full(std::mem::take(name));
        }
    }

    fn is_unused(&self) -> bool {
        matches!(*self.state(), State::NotNeeded)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
