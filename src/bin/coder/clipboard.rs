//! The clipboard of the terminal, by the sequence OSC 52: it works over ssh, and needs no program.

use crate::messages;
use std::fs::OpenOptions;
use std::io::{self, IsTerminal, Write};
use toolfence::Text;

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
    let sequence = format!("\x1b]52;c;{}\x07", base64(text.as_bytes()));
    terminal.write_all(sequence.as_bytes()).map_err(|error| error.to_string().into())
}

/// Bytes as base64 (RFC 4648, section 4).
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let number = (0..3).fold(0, |number, at| number << 8 | u32::from(three.get(at).copied().unwrap_or(0)));
        for at in 0..4 {
            let digit = ALPHABET[(number >> (18 - 6 * at)) as usize & 63];
            out.push(if at <= three.len() { char::from(digit) } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vectors of RFC 4648, section 10.
    #[test]
    fn bytes_are_base64() {
        for (text, want) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(text.as_bytes()), want);
        }
        assert_eq!(base64(&[255, 254, 253]), "//79");
    }
}
