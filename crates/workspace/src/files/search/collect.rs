//! Collects the searcher's results in one file.

use crate::files::search::{SearchLine, snippet};
use crate::names;
use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkContextKind, SinkMatch};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// A file reader that can be stopped from another thread.
pub(crate) struct Stoppable<'a> {
    file: &'a File,
    is_stopped: &'a dyn Fn() -> bool,
}

impl<'a> Stoppable<'a> {
    pub(crate) fn new(file: &'a File, is_stopped: &'a dyn Fn() -> bool) -> Stoppable<'a> {
        Stoppable { file, is_stopped }
    }
}

impl Read for Stoppable<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if (self.is_stopped)() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.file.read(buffer)
    }
}

/// The matching lines of one file with their context.
#[derive(Debug, Default)]
pub(crate) struct FileLines {
    pub(crate) lines: Vec<SearchLine>,
    /// For each match, the index in `lines` of its first line, which can be context before it.
    pub(crate) starts: Vec<usize>,
    /// Whether there is a match beyond the limit.
    pub(crate) has_more: bool,
}

/// Collects the lines of one file.
pub(crate) struct Collector<'a> {
    matcher: &'a RegexMatcher,
    pub(crate) found: FileLines,
    name: &'a Path,
    /// The name as text and for display, computed for the first line.
    spelled: Option<(String, String)>,
    limit: usize,
    snippet_chars: usize,
    still_allowed: &'a dyn Fn() -> bool,
    asked: bool,
    /// Context before a match that may exceed the limit.
    before: Vec<SearchLine>,
    gap: bool,
    /// Whether the file is not text.
    pub(crate) is_binary: bool,
}

impl<'a> Collector<'a> {
    pub(crate) fn new(
        matcher: &'a RegexMatcher,
        name: &'a Path,
        (limit, snippet_chars): (usize, usize),
        still_allowed: &'a dyn Fn() -> bool,
    ) -> Collector<'a> {
        Collector {
            matcher,
            found: FileLines::default(),
            name,
            spelled: None,
            limit,
            snippet_chars,
            still_allowed,
            asked: false,
            before: Vec::new(),
            gap: false,
            is_binary: false,
        }
    }

    fn line(&mut self, number: Option<u64>, text: String, matched: bool) -> SearchLine {
        let gap = std::mem::take(&mut self.gap);
        let name = self.name;
        let (path, shown) = self.spelled.get_or_insert_with(|| (names::text_of(name), names::display(name))).clone();
        let unnameable = !names::is_text(name);
        SearchLine { path, shown, unnameable, line: number.unwrap_or(0), text, matched, gap }
    }

    fn may_report(&mut self) -> bool {
        // Asking costs system calls, so the rules are asked until they allow the file once.
        self.asked = self.asked || (self.still_allowed)();
        self.asked
    }
}

impl Sink for Collector<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        if !self.may_report() {
            return Ok(false);
        }
        if self.found.starts.len() == self.limit {
            self.found.has_more = true;
            return Ok(false);
        }
        // A short line is displayed whole, wherever the match is.
        let is_long = found.bytes().len() > self.snippet_chars;
        let place = if is_long { self.matcher.find(found.bytes()).ok().flatten() } else { None };
        let at = place.map_or(0, |place| place.start());
        let line = self.line(found.line_number(), snippet::excerpt(found.bytes(), at, self.snippet_chars), true);
        self.found.starts.push(self.found.lines.len());
        self.found.lines.append(&mut self.before);
        self.found.lines.push(line);
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        let line = self.line(context.line_number(), snippet::excerpt(context.bytes(), 0, self.snippet_chars), false);
        match context.kind() {
            SinkContextKind::Before => self.before.push(line),
            _ => self.found.lines.push(line),
        }
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        self.gap = true;
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> io::Result<bool> {
        self.is_binary = true;
        Ok(false)
    }
}
