//! What the terminal does with keys while the model works: it shows none of them, and what was typed waits for the next message.
//!
//! The line editor sets modes of its own while it reads. Between two lines this module does: what is typed into a running turn
//! would otherwise stand in the middle of the reply, and an end of line in it would send half a thought.

use rustix::fs::{Mode, OFlags};
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};
use std::fs::File;
use std::io::{self, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// The modes in which the program found its terminal; set where a person edits lines on it.
static FOUND: OnceLock<Termios> = OnceLock::new();
/// Whether keys are kept now instead of shown.
static QUIET: AtomicBool = AtomicBool::new(false);
/// What was typed meanwhile, as it came.
static TYPED: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// The most bytes that are kept of what is typed during a turn.
const MOST_TYPED: usize = 4 << 20;

/// Remembers the modes that the terminal has. Gives whether there is a terminal whose modes can be set.
pub(super) fn remember() -> bool {
    match tcgetattr(io::stdin()) {
        Ok(modes) => {
            FOUND.get_or_init(|| modes);
            true
        }
        Err(_) => false,
    }
}

/// Gives the terminal back as it was found. For a program that ends in the middle of something.
pub(crate) fn restore() {
    if let Some(found) = FOUND.get() {
        set(found);
        // The line editor asks for marks around pastes; a shell that knows none would show them.
        let _ = io::stdout().write_all(b"\x1b[?2004l").and_then(|()| io::stdout().flush()); // a terminal that is gone needs nothing
    }
}

/// While it lives, nothing that is typed is shown, and all of it is kept.
#[derive(Debug)]
pub(crate) struct Quiet(());

impl Quiet {
    /// Nothing where nobody edits lines on the terminal.
    pub(crate) fn begin() -> Option<Quiet> {
        set(&quiet()?);
        QUIET.store(true, Ordering::SeqCst);
        Some(Quiet(()))
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        QUIET.store(false, Ordering::SeqCst);
        keep_typed();
        FOUND.get().into_iter().for_each(set);
    }
}

/// While it lives, the terminal is as it was found although a turn is under way: a question is answered, or an editor is open.
#[derive(Debug)]
pub(crate) struct Shown(bool);

impl Shown {
    /// What was typed until now was meant for the next message, and for no question.
    pub(crate) fn begin() -> Shown {
        let was_quiet = QUIET.swap(false, Ordering::SeqCst);
        if was_quiet {
            keep_typed();
            FOUND.get().into_iter().for_each(set);
        }
        Shown(was_quiet)
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        if self.0 {
            quiet().iter().for_each(set);
            QUIET.store(true, Ordering::SeqCst);
        }
    }
}

/// What was typed while nothing read a line, as the text that a line editor would have made of it.
pub(super) fn typed() -> String {
    if let (Some(found), Some(quiet)) = (FOUND.get(), quiet()) {
        // A line without its end can be read only in these modes.
        set(&quiet);
        keep_typed();
        set(found);
    }
    let typed = std::mem::take(&mut *TYPED.lock().unwrap_or_else(PoisonError::into_inner));
    text_of(&String::from_utf8_lossy(&typed))
}

/// Modes in which nothing is shown and every key can be read at once. Ctrl-C is still a signal, and drops nothing that was typed.
fn quiet() -> Option<Termios> {
    let mut modes = FOUND.get()?.clone();
    modes.local_modes.remove(LocalModes::ECHO | LocalModes::ECHONL | LocalModes::ICANON);
    modes.local_modes.insert(LocalModes::NOFLSH);
    modes.special_codes[SpecialCodeIndex::VMIN] = 1;
    modes.special_codes[SpecialCodeIndex::VTIME] = 0;
    Some(modes)
}

fn set(modes: &Termios) {
    // A terminal that is gone has no modes.
    let _ = tcsetattr(io::stdin(), OptionalActions::Now, modes);
}

/// Takes what the terminal has for us, without waiting.
fn keep_typed() {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let Ok(terminal) = rustix::fs::open("/dev/tty", flags, Mode::empty()) else { return };
    let mut terminal = File::from(terminal);
    let mut typed = TYPED.lock().unwrap_or_else(PoisonError::into_inner);
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = terminal.read(&mut buffer) {
        let room = MOST_TYPED.saturating_sub(typed.len());
        typed.extend_from_slice(&buffer[..count.min(room)]);
    }
}

/// The text that these keys write. Keys that move the cursor have no meaning here: nobody saw where it was.
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
            '\u{7f}' | '\u{8}' => drop(text.pop()),
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
    fn keys_are_the_text_that_they_write() {
        for (keys, want) in [
            ("and then\r", "and then"),
            ("one\ntwo\n\n", "one\ntwo"),
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
