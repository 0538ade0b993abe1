//! The clipboard of the terminal, by the sequence OSC 52: it works over ssh, and needs no program.

use crate::messages;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::fs::OpenOptions;
use std::io::{self, IsTerminal, Write};
use toolfence_protocol::Text;

/// The most bytes that are put there: xterm takes about so many.
const MOST_BYTES: usize = 72 << 10;

/// Gives a text to the clipboard.
///
/// # Errors
/// Why it is not there, for the person.
pub(crate) fn put(text: &str) -> Result<(), Text> {
    if text.len() > MOST_BYTES {
        return Err(messages::too_long_to_copy(MOST_BYTES >> 10));
    }
    let is_terminal = io::stdout().is_terminal() && std::env::var_os("TERM").is_some_and(|term| term != "dumb");
    let terminal = is_terminal.then(|| OpenOptions::new().write(true).open("/dev/tty")).and_then(Result::ok);
    let mut terminal = terminal.ok_or_else(messages::nothing_copied_without_terminal)?;
    // Whoever pastes it into a terminal pastes text: no sequence that ends the paste.
    let plain: String = text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect();
    let sequence = format!("\x1b]52;c;{}\x07", STANDARD.encode(plain));
    terminal.write_all(sequence.as_bytes()).map_err(|error| Text::from(&error))
}
