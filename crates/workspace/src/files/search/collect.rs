//! What the searcher finds in one file, gathered up to the limit.

use crate::files::search::{Found, SearchLine, snippet};
use crate::names;
use crate::stop::Stop;
use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkContextKind, SinkMatch};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// A file whose reading can be stopped from another thread.
pub(crate) struct Stoppable<'a> {
    file: &'a File,
    stop: &'a Stop,
}

impl<'a> Stoppable<'a> {
    pub(crate) fn new(file: &'a File, stop: &'a Stop) -> Stoppable<'a> {
        Stoppable { file, stop }
    }
}

impl Read for Stoppable<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stop.is_stopped() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.file.read(buffer)
    }
}

/// Gathers the lines of one file.
pub(crate) struct Collector<'a> {
    matcher: &'a RegexMatcher,
    found: &'a mut Found,
    name: &'a Path,
    limit: usize,
    snippet_chars: usize,
    still_allowed: &'a dyn Fn() -> bool,
    asked: bool,
    /// Lines before a match that may be one too many.
    before: Vec<SearchLine>,
    gap: bool,
    pub(crate) binary: bool,
}

impl<'a> Collector<'a> {
    pub(crate) fn new(
        matcher: &'a RegexMatcher,
        found: &'a mut Found,
        name: &'a Path,
        (limit, snippet_chars): (usize, usize),
        still_allowed: &'a dyn Fn() -> bool,
    ) -> Collector<'a> {
        let gap = !found.lines.is_empty();
        Collector {
            matcher,
            found,
            name,
            limit,
            snippet_chars,
            still_allowed,
            asked: false,
            before: Vec::new(),
            gap,
            binary: false,
        }
    }

    fn line(&mut self, number: Option<u64>, text: String, matched: bool) -> SearchLine {
        let gap = std::mem::take(&mut self.gap);
        SearchLine {
            path: names::text_of(self.name),
            shown: names::shown(self.name),
            unnameable: !names::is_text(self.name),
            line: number.unwrap_or(0),
            text,
            matched,
            gap,
        }
    }

    fn may_tell(&mut self) -> bool {
        self.asked = self.asked || (self.still_allowed)();
        self.asked
    }
}

impl Sink for Collector<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        if !self.may_tell() {
            return Ok(false);
        }
        if self.found.matches == self.limit {
            self.found.truncated = true;
            return Ok(false);
        }
        let at = self.matcher.find(found.bytes()).ok().flatten().map_or(0, |found| found.start());
        let line = self.line(found.line_number(), snippet::around(found.bytes(), at, self.snippet_chars), true);
        self.found.lines.append(&mut self.before);
        self.found.lines.push(line);
        self.found.matches += 1;
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        let line = self.line(context.line_number(), snippet::around(context.bytes(), 0, self.snippet_chars), false);
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
        self.binary = true;
        Ok(false)
    }
}
