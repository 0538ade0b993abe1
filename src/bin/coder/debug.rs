//! `--debug`: what happens inside, as JSON lines on stderr.

use crate::shown::steers;
use std::fmt::Write as _;
use std::io::{self, Write};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::util::SubscriberInitExt;

/// Turns it on. The events of our own crates only: those of the HTTP client would show keys.
pub(crate) fn start() {
    let filter = EnvFilter::new("off,toolfence=debug,coder=debug");
    let subscriber =
        tracing_subscriber::fmt().json().with_env_filter(filter).with_writer(|| Safe(io::stderr())).finish();
    // Where another subscriber is set already, an earlier call of this function has set it.
    let _ = subscriber.try_init();
}

/// Writes JSON on, with what steers a terminal written out, which changes no value of the JSON.
struct Safe<W>(W);

impl<W: Write> Write for Safe<W> {
    /// Takes whole lines, as the subscriber writes them: a character that is split would be lost.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        crate::status::end();
        self.0.write_all(safe(&String::from_utf8_lossy(line)).as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// A string of JSON may say any character by its UTF-16 units, and outside of strings there is none that steers.
fn safe(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    for (at, c) in line.char_indices() {
        if !steers(c, &line[at..]) {
            out.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            // Writing to a String cannot fail.
            let _ = write!(out, "\\u{unit:04x}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_json_stays_the_same_and_steers_nothing() {
        let text = "a\u{9b}31m \u{202e}b \u{e0041} \u{7f} ä";
        let line = serde_json::to_string(text).unwrap() + "\n";
        let mut out = Safe(Vec::new());
        out.write_all(line.as_bytes()).unwrap();
        let written = String::from_utf8(out.0).unwrap();
        assert_eq!(written, "\"a\\u009b31m \\u202eb \\udb40\\udc41 \\u007f ä\"\n");
        assert_eq!(serde_json::from_str::<String>(&written).unwrap(), text);
    }
}
