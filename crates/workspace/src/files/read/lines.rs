//! Reads lines of a file through one buffer: skips them by counting, returns them one at a time, and never holds the
//! whole file.

use crate::stop::Stop;
use crate::version::{Hashing, PIECE, Version};
use memchr::{memchr, memchr_iter};
use std::fs::File;
use std::io::{self, Read};
use toolfence_protocol::{Language, text};

/// The length of the pieces that are hashed, so that reading and hashing share a buffer.
const BUFFER: usize = PIECE;

/// One line without its ending.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TextLine {
    pub(crate) text: String,
    pub(crate) shown_chars: usize,
    pub(crate) crlf: bool,
    pub(crate) lossy: bool,
    pub(crate) cut: bool,
}

/// A reader of the lines of a file. Between two calls, it is between two lines.
pub(crate) struct Lines<'s> {
    file: File,
    stop: &'s Stop,
    buffer: Vec<u8>,
    at: usize,
    filled: usize,
    ended: bool,
    bom: bool,
    /// Bytes that may still be read from the file.
    budget: u64,
    hashing: Option<Hashing>,
}

impl<'s> Lines<'s> {
    pub(crate) fn new(file: File, stop: &'s Stop) -> Lines<'s> {
        let buffer = vec![0; BUFFER];
        Lines { file, stop, buffer, at: 0, filled: 0, ended: false, bom: false, budget: u64::MAX, hashing: None }
    }

    /// Hashes the bytes that are read from now on.
    pub(crate) fn hash(&mut self) {
        self.hashing = Some(Hashing::default());
    }

    /// Returns the version of the content, if the whole file was read.
    pub(crate) fn version(&self) -> Option<Version> {
        self.hashing.as_ref().filter(|_| self.ended).map(Hashing::finish)
    }

    /// Returns the beginning of the file without consuming it.
    pub(crate) fn first(&mut self) -> io::Result<&[u8]> {
        self.fill()?;
        Ok(&self.buffer[..self.filled])
    }

    /// Skips the byte order mark.
    pub(crate) fn drop_front(&mut self, bytes: usize) {
        self.at += bytes;
        self.bom = bytes > 0;
    }

    pub(crate) fn had_bom(&self) -> bool {
        self.bom
    }

    /// Limits the bytes that are read from now on. Reading then stops before the end.
    pub(crate) fn limit(&mut self, budget: Option<u64>) {
        self.budget = budget.unwrap_or(u64::MAX);
    }

    /// Returns `true` if everything was read.
    pub(crate) fn at_end(&self) -> bool {
        self.ended && self.at == self.filled
    }

    /// Skips `wanted` lines, or as many as there are. Returns their number.
    pub(crate) fn skip(&mut self, wanted: u64) -> io::Result<u64> {
        let (mut skipped, mut open) = (0, false);
        while skipped < wanted && self.more()? {
            let there = memchr_iter(b'\n', self.rest()).count() as u64;
            if there < wanted - skipped {
                skipped += there;
                // At the end of the file, a line without a line ending counts, too.
                open = self.rest().last() != Some(&b'\n');
                self.at = self.filled;
                continue;
            }
            let last = usize::try_from(wanted - skipped - 1).unwrap_or(usize::MAX);
            let end = memchr_iter(b'\n', self.rest()).nth(last).map_or(self.filled - self.at, |end| end + 1);
            self.at += end;
            return self.read_ahead(wanted);
        }
        self.read_ahead(skipped + u64::from(open))
    }

    /// Reads ahead, so that [`at_end`](Lines::at_end) is correct after the last line.
    fn read_ahead(&mut self, skipped: u64) -> io::Result<u64> {
        self.more()?;
        Ok(skipped)
    }

    /// Returns the next line, cut after `most` characters with a note in this language; `None` at the end.
    pub(crate) fn next(&mut self, most: usize, language: Language) -> io::Result<Option<TextLine>> {
        if !self.more()? {
            return Ok(None);
        }
        let mut raw = RawLine::new(most);
        while self.more()? {
            let end = memchr(b'\n', self.rest());
            let piece = end.unwrap_or(self.filled - self.at);
            raw.add(&self.buffer[self.at..self.at + piece]);
            self.at += piece + usize::from(end.is_some());
            if end.is_some() {
                raw.ended = true;
                break;
            }
        }
        self.more()?;
        Ok(Some(raw.into_line(most, language)))
    }

    /// Counts the remaining lines up to the end.
    pub(crate) fn count_rest(&mut self) -> io::Result<u64> {
        self.skip(u64::MAX)
    }

    /// Counts the remaining lines in the buffer.
    pub(crate) fn count_buffered(&mut self) -> u64 {
        let rest = self.rest();
        let open = rest.last().is_some_and(|byte| *byte != b'\n');
        let count = memchr_iter(b'\n', rest).count() as u64 + u64::from(open);
        if self.ended {
            self.at = self.filled;
        }
        count
    }

    fn rest(&self) -> &[u8] {
        &self.buffer[self.at..self.filled]
    }

    /// Returns `true` if there are more bytes. Refills the buffer if it is used up.
    fn more(&mut self) -> io::Result<bool> {
        if self.at == self.filled && !self.ended {
            self.fill()?;
        }
        Ok(self.at < self.filled)
    }

    fn fill(&mut self) -> io::Result<()> {
        (self.at, self.filled) = (0, 0);
        let room = usize::try_from(self.budget).unwrap_or(BUFFER).min(BUFFER);
        while self.filled < room {
            if self.stop.is_stopped() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            match self.file.read(&mut self.buffer[self.filled..room]) {
                Ok(0) => {
                    self.ended = true;
                    break;
                }
                Ok(read) => self.filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.budget -= self.filled as u64;
        if let Some(hashing) = &mut self.hashing {
            hashing.add(&self.buffer[..self.filled]);
        }
        Ok(())
    }
}

/// The bytes of a line, as many as can be displayed, and the number of the others.
struct RawLine {
    bytes: Vec<u8>,
    room: usize,
    chars: u64,
    last: u8,
    ended: bool,
}

impl RawLine {
    fn new(most: usize) -> RawLine {
        // A character has at most four bytes. Two more bytes are for a CR, and to detect that the line is longer.
        RawLine { bytes: Vec::new(), room: most.saturating_mul(4).saturating_add(2), chars: 0, last: 0, ended: false }
    }

    fn add(&mut self, piece: &[u8]) {
        let kept = piece.len().min(self.room - self.bytes.len());
        self.bytes.extend_from_slice(&piece[..kept]);
        // Each character has one byte that is not a continuation byte.
        self.chars += piece.iter().filter(|byte| !matches!(byte, 0x80..=0xBF)).count() as u64;
        self.last = piece.last().copied().unwrap_or(self.last);
    }

    fn into_line(mut self, most: usize, language: Language) -> TextLine {
        let crlf = self.ended && self.last == b'\r';
        if crlf {
            self.chars -= 1;
            // In a long line, the CR is not one of the kept bytes.
            if self.bytes.last() == Some(&b'\r') {
                self.bytes.pop();
            }
        }
        // The kept bytes of a long line may end within a character, which is not an error of the file.
        let lossy = std::str::from_utf8(&self.bytes).is_err_and(|error| error.error_len().is_some())
            || memchr(0, &self.bytes).is_some();
        let decoded = String::from_utf8_lossy(&self.bytes).replace('\0', "\u{FFFD}");
        match decoded.char_indices().nth(most) {
            None => TextLine { shown_chars: decoded.chars().count(), text: decoded, crlf, lossy, cut: false },
            Some((end, _)) => TextLine {
                text: text!(
                    "{line} [line cut: {shown} of {chars} characters shown]",
                    line = &decoded[..end],
                    shown = most,
                    chars = self.chars.max(most as u64 + 1)
                )
                .into_string(language),
                shown_chars: most,
                crlf,
                lossy,
                cut: true,
            },
        }
    }
}
