//! Sets the terminal modes for input during a turn: keys are not echoed, and typed text is kept for the next message.
//!
//! The line editor sets its own modes while it reads. This module sets them between two lines: otherwise input would be
//! echoed into the reply, and a line end would send an incomplete message. Paste marks stay enabled all the time, so
//! that a paste that begins in a turn and continues at a question does not answer it.

use crate::markdown::rub_out;
use rustix::fs::{Mode, OFlags};
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};
use std::fs::File;
use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// The terminal modes at the start of the program; set once a line editor is opened.
static FOUND: OnceLock<Termios> = OnceLock::new();
/// Whether keys are currently kept instead of echoed.
static QUIET: AtomicBool = AtomicBool::new(false);
/// The raw input typed during a turn.
static TYPED: Mutex<TypedInput> = Mutex::new(TypedInput::new());
/// The modes to restore after a question has changed them.
static ASKED: Mutex<Option<Termios>> = Mutex::new(None);

/// Maximum number of bytes kept of the input typed during a turn.
const MOST_TYPED: usize = 4 << 20;
/// Time without input after which the input so far is considered complete.
pub(crate) const SILENCE: Duration = Duration::from_millis(80);
/// Time without input after which an open paste is given up.
pub(crate) const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// Time between two reads of the terminal.
const GLANCE: Duration = Duration::from_millis(20);

/// Enables bracketed paste (DEC mode 2004), so that the lines of a paste are not mistaken for keys.
const MARK_PASTES: &[u8] = b"\x1b[?2004h";
const MARK_NO_PASTES: &[u8] = b"\x1b[?2004l";
pub(super) const PASTE_BEGINS: &[u8] = b"\x1b[200~";
pub(super) const PASTE_ENDS: &[u8] = b"\x1b[201~";

/// The typed input, and whether it ends inside a paste.
struct TypedInput {
    bytes: Vec<u8>,
    pasting: bool,
    /// The last bytes, which may be the beginning of a paste mark.
    end: Vec<u8>,
}

impl TypedInput {
    const fn new() -> TypedInput {
        TypedInput { bytes: Vec::new(), pasting: false, end: Vec::new() }
    }

    fn push(&mut self, bytes: &[u8], kept: bool) {
        let room = if kept { MOST_TYPED.saturating_sub(self.bytes.len()) } else { 0 };
        self.bytes.extend_from_slice(&bytes[..bytes.len().min(room)]);
        self.end.extend_from_slice(bytes);
        let mut seen = 0;
        loop {
            let mark = if self.pasting { PASTE_ENDS } else { PASTE_BEGINS };
            let Some(at) = self.end[seen..].windows(mark.len()).position(|piece| piece == mark) else { break };
            seen += at + mark.len();
            self.pasting = !self.pasting;
        }
        // A mark may be split between two reads, so keep what could be the beginning of one.
        let kept = (self.end.len() - seen).min(PASTE_BEGINS.len() - 1);
        self.end.drain(..self.end.len() - kept);
    }
}

fn is_pasting() -> bool {
    typed_input().pasting
}

fn typed_input() -> MutexGuard<'static, TypedInput> {
    TYPED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Stores the current terminal modes. Returns `false` if standard input is not a terminal.
pub(super) fn remember() -> bool {
    match tcgetattr(io::stdin()) {
        Ok(modes) => {
            FOUND.get_or_init(|| modes);
            true
        }
        Err(_) => false,
    }
}

/// Restores the original modes of the terminal, for a program that ends early.
pub(crate) fn restore() {
    if let Some(found) = FOUND.get() {
        set(found);
        mark_pastes(false);
    }
    let asked = ASKED.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let (Some(found), Ok(mut terminal)) = (asked, terminal()) {
        give_back(&mut terminal, &found);
    }
}

/// Enables or disables bracketed paste. A shell that does not support it would display the marks.
fn mark_pastes(wanted: bool) {
    let asks = if wanted { MARK_PASTES } else { MARK_NO_PASTES };
    // If the terminal is gone, there is nothing to set.
    let _ = io::stdout().write_all(asks).and_then(|()| io::stdout().flush());
}

fn give_back(terminal: &mut File, found: &Termios) {
    // If the terminal is gone, there are no modes to restore.
    let _ = tcsetattr(&*terminal, OptionalActions::Now, found);
    if has_cursor() {
        let _ = terminal.write_all(MARK_NO_PASTES);
    }
}

/// Returns `true` if the terminal can move its cursor.
pub(crate) fn has_cursor() -> bool {
    std::env::var_os("TERM").is_some_and(|term| !term.is_empty() && term != "dumb")
}

/// Opens the terminal itself, even if stdin is redirected. Reads do not block.
fn terminal() -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::open("/dev/tty", flags, Mode::empty())?))
}

/// Suppresses the echo of typed keys and keeps them, until it is dropped.
#[derive(Debug)]
pub(crate) struct Quiet(());

impl Quiet {
    /// Returns `None` if no line is edited on the terminal.
    pub(crate) fn begin() -> Option<Quiet> {
        set(&quiet()?);
        mark_pastes(true);
        QUIET.store(true, Ordering::SeqCst);
        Some(Quiet(()))
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        QUIET.store(false, Ordering::SeqCst);
        keep_typed();
        mark_pastes(false);
        FOUND.get().into_iter().for_each(set);
    }
}

/// Restores the original modes during a turn while an editor is open, until it is dropped.
#[derive(Debug)]
pub(crate) struct OriginalModes(bool);

impl OriginalModes {
    /// Keeps the input typed so far for the next message, and restores the original modes.
    pub(crate) fn begin() -> OriginalModes {
        let was_quiet = QUIET.swap(false, Ordering::SeqCst);
        if was_quiet {
            keep_typed();
            mark_pastes(false);
            FOUND.get().into_iter().for_each(set);
        }
        OriginalModes(was_quiet)
    }
}

impl Drop for OriginalModes {
    fn drop(&mut self) {
        if self.0 {
            quiet().iter().for_each(set);
            mark_pastes(true);
            QUIET.store(true, Ordering::SeqCst);
        }
    }
}

/// Reads single keys from the terminal while a question is open. Until this value is dropped, keys are not echoed and
/// pastes are marked.
pub(crate) struct Keys {
    terminal: File,
    /// Whether a turn is running. Then the terminal already has these modes, and earlier input belongs to the next
    /// message.
    in_turn: bool,
}

impl Keys {
    /// Sets the modes of the terminal.
    ///
    /// # Errors
    /// There is no terminal.
    pub(crate) fn begin() -> io::Result<Keys> {
        let mut terminal = terminal()?;
        let in_turn = QUIET.load(Ordering::SeqCst);
        if !in_turn {
            let found = tcgetattr(&terminal)?;
            tcsetattr(&terminal, OptionalActions::Now, &without_echo(&found))?;
            if has_cursor() {
                terminal.write_all(MARK_PASTES)?;
            }
            // The modes must also be restored if a signal ends the program while the question is open.
            *ASKED.lock().unwrap_or_else(PoisonError::into_inner) = Some(found);
        }
        Ok(Keys { terminal, in_turn })
    }

    /// Waits until all earlier input has arrived, which was not meant for the question. Returns `true` if a paste has
    /// begun whose end has not arrived.
    pub(crate) async fn drain_typed(&mut self) -> io::Result<bool> {
        let (mut buffer, mut since) = ([0; 4096], Instant::now());
        loop {
            match self.read(&mut buffer)? {
                Some(0) => return Ok(false),
                Some(count) => {
                    typed_input().push(&buffer[..count], self.in_turn);
                    since = Instant::now();
                }
                None if since.elapsed() >= if is_pasting() { LONGEST_PAUSE } else { SILENCE } => {
                    return Ok(std::mem::take(&mut typed_input().pasting));
                }
                None => tokio::time::sleep(GLANCE).await,
            }
        }
    }

    /// Sets these modes again after the program was stopped with Ctrl-Z, because a shell disables bracketed paste.
    ///
    /// # Errors
    /// The terminal is gone.
    pub(crate) fn set_again(&mut self) -> io::Result<()> {
        tcsetattr(&self.terminal, OptionalActions::Now, &without_echo(&tcgetattr(&self.terminal)?))?;
        if has_cursor() { self.terminal.write_all(MARK_PASTES) } else { Ok(()) }
    }

    /// Reads the input since the last call: `None` without input, 0 if the terminal is gone.
    ///
    /// # Errors
    /// The terminal cannot be read.
    pub(crate) fn read(&mut self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match self.terminal.read(buffer) {
            Ok(count) => Ok(Some(count)),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        if let Some(found) = ASKED.lock().unwrap_or_else(PoisonError::into_inner).take() {
            give_back(&mut self.terminal, &found);
        }
    }
}

/// Returns the input typed while no line was read, as the text that a line editor would have made of it.
pub(super) fn typed() -> String {
    if let (Some(found), Some(quiet)) = (FOUND.get(), quiet()) {
        // In canonical mode, a line without its end could not be read.
        set(&quiet);
        keep_typed();
        // The terminal buffers a few KiB. The rest of a long paste arrives once these are read, and its lines must not
        // be mistaken for keys.
        let mut since = Instant::now();
        while is_pasting() && since.elapsed() < LONGEST_PAUSE {
            std::thread::sleep(GLANCE);
            since = if keep_typed() { Instant::now() } else { since };
        }
        set(found);
    }
    let typed = std::mem::replace(&mut *typed_input(), TypedInput::new()).bytes;
    text_of(&String::from_utf8_lossy(&typed))
}

/// Returns modes without echo, in which each key is available at once. Ctrl-C still raises a signal, without discarding
/// pending input (`NOFLSH`).
fn quiet() -> Option<Termios> {
    FOUND.get().map(without_echo)
}

fn without_echo(found: &Termios) -> Termios {
    let mut modes = found.clone();
    modes.local_modes.remove(LocalModes::ECHO | LocalModes::ECHONL | LocalModes::ICANON);
    modes.local_modes.insert(LocalModes::NOFLSH);
    modes.special_codes[SpecialCodeIndex::VMIN] = 1;
    modes.special_codes[SpecialCodeIndex::VTIME] = 0;
    modes
}

fn set(modes: &Termios) {
    // If the terminal is gone, there are no modes to set.
    let _ = tcsetattr(io::stdin(), OptionalActions::Now, modes);
}

/// Stores the available terminal input without waiting. Returns `true` if there was any.
fn keep_typed() -> bool {
    let Ok(mut terminal) = terminal() else { return false };
    let (mut buffer, mut came) = ([0; 4096], false);
    while let Ok(count @ 1..) = terminal.read(&mut buffer) {
        typed_input().push(&buffer[..count], true);
        came = true;
    }
    came
}

/// Converts keys to text. Cursor keys are ignored, because the user could not see the cursor.
fn text_of(keys: &str) -> String {
    let mut text = String::new();
    let mut keys = keys.chars().peekable();
    while let Some(key) = keys.next() {
        match key {
            '\u{1b}' => {
                if keys.next_if(|c| matches!(c, '[' | 'O')).is_some() {
                    // A sequence ends with the first byte of this range (ECMA-48, 5.4).
                    while keys.next().is_some_and(|c| !('@'..='~').contains(&c)) {}
                } else {
                    keys.next();
                }
            }
            '\r' | '\n' => text.push('\n'),
            '\u{7f}' | '\u{8}' => rub_out(&mut text),
            // Ctrl-U deletes the line, and Ctrl-W the last word.
            '\u{15}' => text.truncate(text.rfind('\n').map_or(0, |at| at + 1)),
            '\u{17}' => {
                let rest = text.trim_end();
                text.truncate(rest.rfind(char::is_whitespace).map_or(0, |at| at + 1));
            }
            '\t' => text.push('\t'),
            key if key.is_control() => {}
            key => text.push(key),
        }
    }
    text.truncate(text.trim_end_matches('\n').len());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paste_goes_on_until_its_mark_however_it_is_divided() {
        let keys = b"a\x1b[200~b\x1b[200~\r\x1b[201~c\x1b[201~\x1b[200~d";
        for size in 1..keys.len() {
            let mut typed = TypedInput::new();
            let mut inside = Vec::new();
            for piece in keys.chunks(size) {
                typed.push(piece, true);
                inside.push(typed.pasting);
                assert!(typed.end.len() < 6);
            }
            assert_eq!(typed.bytes, keys);
            assert!(typed.pasting, "{size}");
            if size == 1 {
                assert_eq!(inside.iter().filter(|inside| **inside).count(), 16);
            }
        }
    }

    #[test]
    fn keys_are_the_text_that_they_write() {
        for (keys, want) in [
            ("and then\r", "and then"),
            ("one\ntwo\n\n", "one\ntwo"),
            ("e\u{301}👨\u{200d}👩\u{7f}\u{7f}o", "o"),
            ("one\n\u{301}\u{7f}\u{7f}", "one"),
            ("helol\u{7f}\u{7f}lo", "hello"),
            ("a\u{1b}[Db\u{1b}OA\u{1b}[1;5Cc\u{1b}xd", "abcd"),
            ("first\nsecond\u{15}third", "first\nthird"),
            ("one two\u{17}2", "one 2"),
            ("\u{7f}\u{17}\u{15}\u{4}\u{1b}", ""),
            ("\u{1b}[", ""),
        ] {
            assert_eq!(text_of(keys), want, "{keys:?}");
        }
    }
}
