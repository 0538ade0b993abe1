//! Searches for lines in the files below a folder.

mod collect;
mod snippet;

use crate::files::globs::Glob;
use crate::files::list::start_of;
use crate::names;
use crate::root::opened::OpenEntry;
use crate::root::path_arg::{invalid, quoted};
use crate::root::resolve::open_entry;
use crate::root::twins::Twins;
use crate::root::walk::{EntryRun, Node, Order, Visitor, Walk};
use crate::root::{Root, not_a_file};
use crate::stop::Stop;
use collect::{Collector, FileLines, Stoppable};
use grep_matcher::LineTerminator;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use rustix::fd::{AsFd, BorrowedFd};
use rustix::fs::FileType;
use rustix::io::Errno;
use std::fs::File;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use toolfence_protocol::limits::size;
use toolfence_protocol::{ErrorCode, Limits, ToolFailure, text};

/// The maximum length in bytes of a line that is searched. It bounds the memory.
const LONGEST_LINE: usize = 8 << 20;

/// A file of fewer bytes fits into the buffer of a new searcher, which is twice as large, because UTF-16 grows by up to
/// half when it is converted to UTF-8.
const FITS_BUFFER: i64 = 32 << 10;

/// The maximum size of a compiled pattern in bytes.
const PATTERN_SIZE: usize = 4 << 20;

/// The maximum length of a pattern in bytes.
const LONGEST_PATTERN: usize = 8 << 10;

/// The maximum number of binary files that the result names.
const MOST_NAMED: usize = 5;

/// The options of a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchFiles {
    /// A regular expression of the `regex` crate, or plain text, that must match in a line.
    pub pattern: String,
    /// Whether `pattern` is plain text.
    pub literal: bool,
    /// A file or folder, relative to the root, or absolute and inside it. It may contain a glob.
    pub path: String,
    /// Searches only files that match this glob, relative to the folder.
    pub glob: Option<String>,
    /// Whether case is ignored.
    pub ignore_case: bool,
    /// The number of lines around each match.
    pub context: usize,
    /// The maximum number of matching lines.
    pub limit: usize,
    /// Characters that are kept of each line.
    pub snippet_chars: usize,
}

impl SearchFiles {
    /// Returns options for a regular expression anywhere below the root, with the first 50 matching lines.
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

/// A matching line, or one near it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SearchLine {
    /// The path relative to the root. Bytes that are not UTF-8 are U+FFFD.
    pub path: String,
    /// The path for display on one line: in double quotes with C escapes if it could mislead.
    pub shown: String,
    /// Whether no call can use this path, because it is not UTF-8.
    pub unnameable: bool,
    /// The number of the line, from 1.
    pub line: u64,
    /// At most [`SearchFiles::snippet_chars`] of the line, around the match.
    pub text: String,
    /// Whether the line matches, rather than being context.
    pub matched: bool,
    /// Whether lines between the previous one and this one were left out.
    pub gap: bool,
}

/// The result of a search, sorted by path and line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SearchResults {
    /// Matching lines with their context.
    pub lines: Vec<SearchLine>,
    /// The number of matching lines.
    pub matches: usize,
    /// Whether there is at least one more match than the limit.
    pub truncated: bool,
    /// Files that were searched completely.
    pub files: u64,
    /// Files that are not text, which were searched up to the point where that was detected.
    pub binary: u64,
    /// The display names of the first binary files.
    pub binary_names: Vec<String>,
    /// Files that a rule blocks.
    pub blocked: u64,
    /// Files and folders that could not be read.
    pub unreadable: u64,
    /// Files with a line too long to be searched.
    pub long_lines: u64,
    /// Whether the tree was too big for a complete walk.
    pub gave_up: bool,
}

/// Searches files for lines. Searches hidden and ignored files only if the path names them. `threads` is that of
/// [`Walk::threads`].
pub(super) fn search(
    root: &Root,
    wanted: &SearchFiles,
    stop: &Stop,
    threads: Option<usize>,
) -> Result<SearchResults, ToolFailure> {
    let matcher = matcher_of(wanted)?;
    let (start, glob) = start_of(root, &wanted.path, wanted.glob.as_deref())?;
    let search = Search { root, wanted, matcher, start: start.name.clone(), glob, twins: Twins::new(root).until(stop) };
    let mut found = SearchResults::default();
    match start.kind() {
        FileType::Directory => {
            let walk = Walk::new(root, Order::Depth, stop).from(&start).ignoring(true).threads(threads);
            let report =
                walk.visit(&search, |files| files.into_iter().try_for_each(|file| found.add(file, wanted.limit)));
            let report = report.check_start(&wanted.path)?;
            found.gave_up = !report.complete;
            found.unreadable += report.unreadable;
        }
        FileType::RegularFile => {
            let outcome = search.search_file(&mut search.state(), start, &|| stop.is_stopped());
            let _ = outcome.map_or(ControlFlow::Continue(()), |file| found.add(file, wanted.limit));
        }
        kind => return Err(not_a_file(&wanted.path, kind)),
    }
    if stop.is_stopped() {
        return Err(ToolFailure::new(ErrorCode::Cancelled, text!("The search was stopped.")));
    }
    Ok(found)
}

/// Searches the files of a walk.
struct Search<'w> {
    root: &'w Root,
    wanted: &'w SearchFiles,
    matcher: RegexMatcher,
    /// The folder that the glob is relative to.
    start: PathBuf,
    glob: Option<Glob>,
    twins: Twins<'w>,
}

/// The outcome for one file.
enum FileOutcome {
    Blocked,
    Unreadable,
    Searched { lines: FileLines, name: PathBuf, end: FileEnd },
}

/// The reason why the search of a file ended.
enum FileEnd {
    /// The file was searched completely, or up to the limit.
    Text,
    Binary,
    LongLine,
    Unreadable,
}

impl Visitor for Search<'_> {
    type State = (Searcher, RegexMatcher);
    type Output = Vec<FileOutcome>;

    fn state(&self) -> Self::State {
        // Threads that share a matcher wait for one another.
        (searcher_of(self.wanted), self.matcher.clone())
    }

    fn visit(&self, state: &mut Self::State, mut run: EntryRun<'_>) -> Vec<FileOutcome> {
        let mut outcomes = Vec::new();
        let mut matches = 0;
        let mut nodes = std::mem::take(&mut run.nodes);
        nodes.retain(|node| node.kind == FileType::RegularFile && self.matches(node));
        if nodes.is_empty() {
            return outcomes;
        }
        let folder = run.folder();
        let is_over = || run.is_over();
        for node in nodes {
            // Once there are more matches than the limit, no later file is part of the result.
            if is_over() || matches > self.wanted.limit {
                break;
            }
            let folder = folder.as_ref().map(AsFd::as_fd).map_err(|errno| *errno);
            let Some(outcome) = self.file(state, folder, node, &is_over) else { continue };
            if let FileOutcome::Searched { lines, .. } = &outcome {
                matches += lines.starts.len() + usize::from(lines.has_more);
            }
            outcomes.push(outcome);
        }
        outcomes
    }

    fn size(found: &Vec<FileOutcome>) -> usize {
        let line = |line: &SearchLine| 150 + line.path.len() + line.shown.len() + line.text.len();
        let size = |outcome: &FileOutcome| match outcome {
            FileOutcome::Searched { lines, .. } => 200 + lines.lines.iter().map(line).sum::<usize>(),
            FileOutcome::Blocked | FileOutcome::Unreadable => 200,
        };
        found.iter().map(size).sum()
    }
}

impl Search<'_> {
    fn matches(&self, node: &Node) -> bool {
        let Some(glob) = &self.glob else { return true };
        glob.matches(names::relative_to(&self.start, &node.name).unwrap_or(&node.name), false)
    }

    /// Searches one file of a walk. It is opened by its name in the folder that was listed, so it is the file that the
    /// walk found.
    fn file(
        &self,
        state: &mut (Searcher, RegexMatcher),
        folder: Result<BorrowedFd<'_>, Errno>,
        node: Node,
        is_over: &dyn Fn() -> bool,
    ) -> Option<FileOutcome> {
        if node.blocked.is_some() {
            return Some(FileOutcome::Blocked);
        }
        let last = node.name.file_name()?;
        let opened = folder
            .and_then(|folder| open_entry(folder, last))
            .and_then(|fd| rustix::fs::fstat(&fd).map(|stat| (fd, stat)));
        let Ok((fd, stat)) = opened else { return Some(FileOutcome::Unreadable) };
        // The entry may have been replaced since it was listed.
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return None;
        }
        // If the search for other names is incomplete, the file counts as blocked.
        if Twins::possible(&stat) && !matches!(self.twins.find(&stat), Ok(None)) {
            return Some(FileOutcome::Blocked);
        }
        let opened = OpenEntry { fd, stat, name: node.name };
        // The walk may have checked another file at this name.
        if node.has_rule && self.root.blocks_opened(&opened).is_some() {
            return None;
        }
        self.search_file(state, opened, is_over)
    }

    /// Searches a file that no rule blocks. Returns `None` if reading was stopped.
    fn search_file(
        &self,
        (searcher, matcher): &mut (Searcher, RegexMatcher),
        opened: OpenEntry,
        is_over: &dyn Fn() -> bool,
    ) -> Option<FileOutcome> {
        let OpenEntry { fd, stat, name } = opened;
        let file = File::from(fd);
        // A file that was renamed during the walk may now be blocked. This costs system calls, so it is only checked if
        // there is something to report.
        let still_allowed = || {
            let now = self.root.name_of(file.as_fd(), &stat, Some(name.clone()));
            now.is_ok_and(|now| self.root.blocks(&names::text_of(&now)).is_none())
        };
        let bounds = (self.wanted.limit, self.wanted.snippet_chars);
        let mut sink = Collector::new(matcher, &name, bounds, &still_allowed);
        let result = searcher.search_reader(&*matcher, Stoppable::new(&file, is_over), &mut sink);
        let lines = sink.found;
        // A long line leaves a larger buffer, and a NUL hides earlier lines of the file that are in the same buffer.
        // The next file must not be searched with a buffer that depends on this one.
        if stat.st_size >= FITS_BUFFER {
            *searcher = searcher_of(self.wanted);
        }
        let end = match result {
            Ok(()) if sink.is_binary => FileEnd::Binary,
            Ok(()) => FileEnd::Text,
            Err(_) if is_over() => return None,
            Err(error) if error.raw_os_error().is_some() => FileEnd::Unreadable,
            // Without an error of the system, a line has exceeded the heap limit.
            Err(_) => FileEnd::LongLine,
        };
        Some(FileOutcome::Searched { lines, name, end })
    }
}

impl SearchResults {
    /// Adds the outcome of the next file, and breaks if there are more matches than the limit.
    fn add(&mut self, file: FileOutcome, limit: usize) -> ControlFlow<()> {
        match file {
            FileOutcome::Blocked => self.blocked += 1,
            FileOutcome::Unreadable => self.unreadable += 1,
            FileOutcome::Searched { lines, name, end } => {
                self.add_lines(lines, limit);
                match end {
                    // After the limit is reached, the rest of the file does not count.
                    _ if self.truncated => self.files += 1,
                    FileEnd::Text => self.files += 1,
                    FileEnd::Binary => self.add_binary(&name),
                    FileEnd::LongLine => self.long_lines += 1,
                    FileEnd::Unreadable => self.unreadable += 1,
                }
            }
        }
        if self.truncated { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn add_lines(&mut self, mut found: FileLines, limit: usize) {
        let room = limit - self.matches;
        if let Some(first) = found.starts.get(room) {
            found.lines.truncate(*first);
        }
        self.truncated = found.starts.len() > room || found.has_more;
        self.matches += found.starts.len().min(room);
        if let Some(first) = found.lines.first_mut() {
            first.gap = !self.lines.is_empty();
        }
        self.lines.append(&mut found.lines);
    }

    fn add_binary(&mut self, name: &Path) {
        if self.binary_names.len() < MOST_NAMED {
            self.binary_names.push(names::display(name));
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
        return Err(invalid(text!(
            "The pattern has {bytes} bytes; 1 to {most} are allowed.",
            bytes = pattern.len(),
            most = LONGEST_PATTERN
        )));
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
    // The last line of the error has the reason; the lines before it repeat the pattern.
    let why = all.lines().next_back().unwrap_or_default().trim_start_matches("error: ").trim_end_matches('.');
    let pattern = quoted(&wanted.pattern);
    if wanted.literal {
        return invalid(text!(
            "The text {pattern} cannot be searched: {problem}. A search is within lines.",
            pattern,
            problem = why
        ));
    }
    invalid(text!(
        "The pattern {pattern} is not a regular expression that can be used: {problem}. Correct it, or set type to \
         literal.",
        pattern,
        problem = why
    ))
    .suggest(["type=literal".into()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_long_line_does_not_change_what_is_found_in_the_next_file() {
        let home = tempfile::tempdir().expect("a temporary folder can be made");
        let late_nul = format!("hit\n{}\0", "filler\n".repeat(20_000));
        fs::write(home.path().join("b"), late_nul).expect("a file can be written");
        let root = Root::open(home.path(), Default::default(), None).expect("it is there");
        let (wanted, stop) = (SearchFiles::new("hit"), Stop::default());
        let find = || search(&root, &wanted, &stop, Some(1)).expect("it can be searched").lines;
        let alone = find();
        fs::write(home.path().join("a"), "x".repeat(1 << 20)).expect("a file can be written");
        assert_eq!(find(), alone);
    }

    #[test]
    fn a_folder_moved_out_of_the_root_during_the_walk_shows_no_line() {
        let home = tempfile::tempdir().expect("a temporary folder can be made");
        let inside = home.path().join("root/a");
        fs::create_dir_all(&inside).expect("a folder can be made");
        (0..60).for_each(|number| fs::write(inside.join(number.to_string()), "hit\n").expect("a file can be written"));
        let root = Root::open(&home.path().join("root"), Default::default(), None).expect("it is there");
        let (wanted, stop) = (SearchFiles::new("hit"), Stop::default());
        let matcher = matcher_of(&wanted).expect("it is a pattern");
        let search = Search {
            root: &root,
            wanted: &wanted,
            matcher,
            start: PathBuf::new(),
            glob: None,
            twins: Twins::new(&root),
        };
        let (mut found, mut visits) = (SearchResults::default(), Vec::new());
        let report = Walk::new(&root, Order::Depth, &stop).threads(Some(1)).visit(&search, |files| {
            visits.push(files.len());
            if files.len() > 1 {
                // The walk visits the rest of the folder by its open descriptor.
                let _ = fs::rename(&inside, home.path().join("out"));
            }
            files.into_iter().try_for_each(|file| found.add(file, usize::MAX))
        });
        assert!(report.complete && visits == [0, 32, 28], "{visits:?}");
        assert_eq!((found.matches, found.files), (32, 60));
    }
}
