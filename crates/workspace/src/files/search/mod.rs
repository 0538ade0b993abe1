//! Lines that match, in files below a folder.

mod collect;
mod snippet;

use crate::files::globs::Glob;
use crate::files::list::start_of;
use crate::root::opened::Opened;
use crate::root::path_arg::{invalid, shown};
use crate::root::twins::Twins;
use crate::root::walk::{Node, Order, Walk};
use crate::root::{Root, not_a_file};
use crate::stop::Stop;
use crate::{messages, names};
use collect::{Collector, Stoppable};
use grep_matcher::LineTerminator;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use rustix::fd::AsFd;
use rustix::fs::FileType;
use std::fs::File;
use std::path::Path;
use toolfence_protocol::limits::size;
use toolfence_protocol::{ErrorCode, Limits, ToolFailure};

/// The longest line that is searched, in bytes: memory is bounded by it.
const LONGEST_LINE: usize = 8 << 20;

/// Bytes a compiled pattern may take.
const PATTERN_SIZE: usize = 4 << 20;

/// The longest pattern in bytes.
const LONGEST_PATTERN: usize = 8 << 10;

/// Binary files that are named in the result.
const MOST_NAMED: usize = 5;

/// What to look for, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchFiles {
    /// What a line must hold: a regular expression as of the `regex` crate, or plain text.
    pub pattern: String,
    /// Whether `pattern` is plain text.
    pub literal: bool,
    /// A file or folder, relative to the root, or absolute and inside it; may hold a glob.
    pub path: String,
    /// Only files matching this glob, relative to the folder.
    pub glob: Option<String>,
    /// Upper and lower case alike.
    pub ignore_case: bool,
    /// Lines around each match.
    pub context: usize,
    /// Matching lines given at most.
    pub limit: usize,
    /// Characters given of each line.
    pub snippet_chars: usize,
}

impl SearchFiles {
    /// A regular expression anywhere below the root, the first 50 matching lines.
    pub fn new(pattern: impl Into<String>) -> SearchFiles {
        SearchFiles {
            pattern: pattern.into(),
            literal: false,
            path: ".".into(),
            glob: None,
            ignore_case: false,
            context: 0,
            limit: size(Limits::default().search_matches),
            snippet_chars: size(Limits::default().snippet_chars),
        }
    }
}

/// One line that was found, or one around it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SearchLine {
    /// Relative to the root. Bytes that are not UTF-8 are U+FFFD.
    pub path: String,
    /// The path as it can be shown on one line: in double quotes with C escapes where it could mislead.
    pub shown: String,
    /// Whether no call can give this path, because it is not UTF-8.
    pub unnameable: bool,
    /// From 1.
    pub line: u64,
    /// At most [`SearchFiles::snippet_chars`] of the line, those around the match.
    pub text: String,
    /// Whether it matches; otherwise it stands near one that does.
    pub matched: bool,
    /// Whether lines were passed over between this one and the one before.
    pub gap: bool,
}

/// What was found, in the order of paths and lines.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Found {
    /// Matching lines and those around them.
    pub lines: Vec<SearchLine>,
    /// Matching lines among them.
    pub matches: usize,
    /// Whether there is at least one more match than the limit.
    pub truncated: bool,
    /// Files searched to their end.
    pub files: u64,
    /// Files that are not text, searched up to where that showed.
    pub binary: u64,
    /// The names of the first of them, as they can be shown.
    pub binary_names: Vec<String>,
    /// Files that a rule blocks.
    pub blocked: u64,
    /// Files and folders that could not be read.
    pub unreadable: u64,
    /// Files with a line too long to be searched.
    pub long_lines: u64,
    /// Whether the tree was too big to be walked to its end.
    pub gave_up: bool,
}

/// Searches files for lines. Hidden and ignored files are searched only when the path names them.
pub(super) fn search(root: &Root, wanted: &SearchFiles, stop: &Stop) -> Result<Found, ToolFailure> {
    let matcher = matcher_of(wanted)?;
    let (start, glob) = start_of(root, &wanted.path, wanted.glob.as_deref())?;
    let mut search = Search {
        root,
        twins: Twins::of(root).until(stop),
        searcher: searcher_of(wanted),
        matcher,
        limit: wanted.limit,
        snippet_chars: wanted.snippet_chars,
        stop,
        found: Found::default(),
    };
    if start.kind() == FileType::Directory {
        search.tree(&wanted.path, &start, glob.as_ref())?;
    } else {
        search.single(&wanted.path, start)?;
    }
    if stop.is_stopped() {
        return Err(ToolFailure::new(ErrorCode::Cancelled, messages::search_stopped()));
    }
    Ok(search.found)
}

struct Search<'w> {
    root: &'w Root,
    twins: Twins<'w>,
    searcher: Searcher,
    matcher: RegexMatcher,
    limit: usize,
    snippet_chars: usize,
    stop: &'w Stop,
    found: Found,
}

impl Search<'_> {
    fn tree(&mut self, path: &str, start: &Opened, glob: Option<&Glob>) -> Result<(), ToolFailure> {
        let mut walk = Walk::new(self.root, Order::Depth, self.stop).from(start).ignoring(true);
        for node in walk.by_ref() {
            let inside = node.name.strip_prefix(&start.name).unwrap_or(&node.name);
            let wanted = node.kind == FileType::RegularFile && glob.is_none_or(|glob| glob.matches(inside, false));
            if wanted {
                self.node(&node);
            }
            if self.found.truncated {
                break;
            }
        }
        let report = walk.report(path)?;
        self.found.gave_up = !report.complete;
        self.found.unreadable += report.unreadable;
        Ok(())
    }

    /// One file of a walk. It is opened by a path without links, so what is read is what the walk saw.
    fn node(&mut self, node: &Node) {
        if node.blocked.is_some() {
            self.found.blocked += 1;
            return;
        }
        let opened = self.root.open_exact(&node.name).and_then(|fd| rustix::fs::fstat(&fd).map(|stat| (fd, stat)));
        let Ok((fd, stat)) = opened else {
            self.found.unreadable += 1;
            return;
        };
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return;
        }
        if Twins::possible(&stat) && !matches!(self.twins.find(&stat), Ok(None)) {
            self.found.blocked += 1;
            return;
        }
        self.file(Opened { fd, stat, name: node.name.clone() });
    }

    fn single(&mut self, path: &str, opened: Opened) -> Result<(), ToolFailure> {
        match opened.kind() {
            FileType::RegularFile => self.file(opened),
            kind => return Err(not_a_file(path, kind)),
        }
        Ok(())
    }

    fn file(&mut self, opened: Opened) {
        // What the walk looked at may be another file by now.
        if self.root.blocks_opened(&opened).is_some() {
            return;
        }
        let Opened { fd, stat, name } = opened;
        let file = File::from(fd);
        // A file renamed while the walk went on may be a blocked one now; asked only where something is to be told.
        let still_allowed = || {
            let now = self.root.name_of(file.as_fd(), &stat, Some(name.clone()));
            now.is_ok_and(|now| self.root.blocks(&names::text_of(&now)).is_none())
        };
        let mut sink =
            Collector::new(&self.matcher, &mut self.found, &name, (self.limit, self.snippet_chars), &still_allowed);
        let result = self.searcher.search_reader(&self.matcher, Stoppable::new(&file, self.stop), &mut sink);
        let told = sink.binary;
        match result {
            Ok(()) if told => self.found.add_binary(&name),
            Ok(()) => self.found.files += 1,
            Err(error) if error.raw_os_error().is_some() => self.found.unreadable += 1,
            Err(_) => self.found.long_lines += 1,
        }
    }
}

impl Found {
    fn add_binary(&mut self, name: &Path) {
        if self.binary_names.len() < MOST_NAMED {
            self.binary_names.push(names::shown(name));
        }
        self.binary += 1;
    }
}

fn searcher_of(wanted: &SearchFiles) -> Searcher {
    SearcherBuilder::new()
        .line_terminator(LineTerminator::crlf())
        .binary_detection(BinaryDetection::quit(0))
        .heap_limit(Some(LONGEST_LINE))
        .before_context(wanted.context)
        .after_context(wanted.context)
        .build()
}

fn matcher_of(wanted: &SearchFiles) -> Result<RegexMatcher, ToolFailure> {
    let pattern = &wanted.pattern;
    if pattern.is_empty() || pattern.len() > LONGEST_PATTERN {
        return Err(invalid(messages::pattern_of_size(pattern.len(), LONGEST_PATTERN)));
    }
    RegexMatcherBuilder::new()
        .fixed_strings(wanted.literal)
        .case_insensitive(wanted.ignore_case)
        .multi_line(true)
        .crlf(true)
        .size_limit(PATTERN_SIZE)
        .dfa_size_limit(2 * PATTERN_SIZE)
        .build(pattern)
        .map_err(|error| not_a_pattern(wanted, &error))
}

fn not_a_pattern(wanted: &SearchFiles, error: &grep_regex::Error) -> ToolFailure {
    let all = error.to_string();
    let why = all.lines().next_back().unwrap_or_default().trim_start_matches("error: ").trim_end_matches('.');
    let pattern = shown(&wanted.pattern);
    if wanted.literal {
        return invalid(messages::text_not_searchable(pattern, why));
    }
    invalid(messages::no_regular_expression(pattern, why)).suggest(["type=literal".into()])
}
