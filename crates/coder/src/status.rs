//! The status: a few rows below all other output that show what the program is waiting for.
//!
//! It requires only a terminal that can move its cursor. Any other output first erases it, so no trace of it remains.
//! Its rows are cut to the width of the terminal, so that none wraps.

use crate::markdown::{in_rows, rows_of};
use crate::marks::columns;
use crate::outcome::printed_line;
use crate::preview::label;
use crate::shown::{Words, escaped};
use crate::style::Style;
use crate::theme::codes;
use crate::thoughts::Lines;
use rustix::termios::{Winsize, tcgetwinsize};
use serde_json::Value;
use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, Once, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use toolfence_protocol::{Text, ToolCall, text};

/// The status line of the program.
static LINE: Mutex<Option<Line>> = Mutex::new(None);
/// Whether there is a status line. Every other output checks this first, which is cheaper than the lock.
static ACTIVE: AtomicBool = AtomicBool::new(false);
/// The output that has an open row.
static OPEN: AtomicU8 = AtomicU8::new(NOT_OPEN);
const NOT_OPEN: u8 = 0;
const OPEN_ON_STDOUT: u8 = 1;
const OPEN_ON_STDERR: u8 = 2;
static CHANGED: Condvar = Condvar::new();
static TICKER: Once = Once::new();

/// Time between two redraws.
const TICK: Duration = Duration::from_millis(100);
/// Delay before the status appears, so that it does not flicker during short waits.
const PATIENCE: Duration = Duration::from_millis(400);
/// Maximum number of bytes kept of an argument's text, and of arguments that are kept.
const MOST_TEXT: usize = 512;
const MOST_ARGUMENTS: usize = 32;
/// Number of bytes kept from the end of a thought. The rest is dropped once there are twice as many.
const END_OF_THOUGHT: usize = 2 << 10;
/// Maximum number of lines of a text or of output in the status.
const MOST_ROWS: usize = 5;
/// Maximum number of bytes kept of such a line.
const MOST_OF_LINE: usize = 256;
/// Number of columns around the text of a row below the status line.
const BESIDE: usize = 6;
/// Minimum width of a terminal that displays the status.
const FEWEST_COLUMNS: usize = 12;

/// The output on which the status is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Output {
    Stdout,
    Stderr,
}

struct Line {
    output: Output,
    colour: bool,
    signs: bool,
    what: What,
    /// Whether an empty row precedes the line.
    parted: bool,
    since: Instant,
    /// The rows as they were last drawn.
    drawn: Option<Vec<String>>,
}

/// What the program is waiting for.
pub(crate) enum What {
    /// The first piece of a reply.
    Model,
    /// The tools that run; this one is displayed.
    Tools(ToolSoFar),
    /// The rest of a call that is being written.
    Call(CallSoFar),
    /// The rest of a thought.
    Thought(ThoughtSoFar),
}

/// The part of a thought received so far.
#[derive(Default)]
pub(crate) struct ThoughtSoFar {
    /// The end of the thought.
    text: String,
    lines: Lines,
}

/// The part of a call received so far.
pub(crate) struct CallSoFar {
    id: String,
    name: String,
    arguments: Vec<Argument>,
}

/// A running call.
pub(crate) struct ToolSoFar {
    id: String,
    label: String,
    /// The last progress note of the tool.
    said: String,
    /// The last lines of its output.
    printed: Vec<String>,
}

struct Argument {
    name: String,
    /// The beginning of its text.
    text: String,
    /// The last lines of its text. The last one may be incomplete.
    last: Vec<String>,
    breaks: usize,
    /// Whether text follows the last line break.
    open: bool,
}

/// Displays the status in place of an earlier one. The cursor must be at the beginning of an empty row.
pub(crate) fn begin(output: Output, colour: bool, signs: bool, what: What, parted: bool) {
    // Rows that are already drawn on this output are overwritten instead of erased, which avoids flicker.
    let drawn = lock().as_mut().filter(|line| line.output == output).and_then(|line| line.drawn.take());
    // A status on the other output is erased, and an open row ends.
    if drawn.is_none() {
        end();
    }
    *lock() = Some(Line { output, colour, signs, what, parted, since: Instant::now(), drawn });
    ACTIVE.store(true, Ordering::SeqCst);
    // If no thread can be started, there is no status.
    TICKER.call_once(|| drop(thread::Builder::new().name("status".to_owned()).spawn(tick)));
    CHANGED.notify_all();
}

/// Adds a piece of text to the call that is being written.
pub(crate) fn add_text(id: &str, arg: &str, text: &str) {
    if let Some(Line { what: What::Call(call), .. }) = &mut *lock()
        && call.id == id
    {
        call.push(arg, text);
    }
}

/// Adds a piece of text to the current thought.
pub(crate) fn thought(text: &str) {
    if let Some(Line { what: What::Thought(thought), .. }) = &mut *lock() {
        thought.push(text);
    }
}

/// Records a progress note of a running tool.
pub(crate) fn note_progress(id: &str, note: &str) {
    if let Some(Line { what: What::Tools(tool), .. }) = &mut *lock()
        && tool.id == id
    {
        note.clone_into(&mut tool.said);
    }
}

/// Records the latest output of a running command.
pub(crate) fn printed(id: &str, end: &str) {
    if let Some(Line { what: What::Tools(tool), .. }) = &mut *lock()
        && tool.id == id
    {
        let lines: Vec<&str> = end.lines().filter(|line| !line.trim().is_empty()).collect();
        tool.printed = lines[lines.len().saturating_sub(MOST_ROWS)..].iter().map(|line| printed_line(line)).collect();
    }
}

/// Erases the status if it shows this withdrawn call, and returns the label that was displayed.
pub(crate) fn withdraw(id: &str) -> Option<String> {
    let label = match &*lock() {
        Some(Line { what: What::Call(call), .. }) if call.id == id => label(&call.received_call()),
        _ => return None,
    };
    // The lock is free again here; `end` takes it itself.
    end();
    Some(label)
}

/// Marks the current row as open, so that the next output can continue it.
pub(crate) fn open_row(output: Output) {
    let open = if output == Output::Stdout { OPEN_ON_STDOUT } else { OPEN_ON_STDERR };
    OPEN.store(open, Ordering::SeqCst);
}

/// Returns `true` if the row is still open, and closes it. Other output ends an open row.
pub(crate) fn go_on() -> bool {
    OPEN.swap(NOT_OPEN, Ordering::SeqCst) != NOT_OPEN
}

/// Erases the status or ends the open row. Other output calls this first.
pub(crate) fn end() {
    match OPEN.swap(NOT_OPEN, Ordering::SeqCst) {
        OPEN_ON_STDOUT => Output::Stdout.write("\n"),
        OPEN_ON_STDERR => Output::Stderr.write("\n"),
        _ => {}
    }
    if ACTIVE.swap(false, Ordering::SeqCst)
        && let Some(line) = lock().take()
        && let Some(rows) = &line.drawn
    {
        let first = to_the_first(rows, line.output.columns());
        // A single row is cleared without erasing the rest of the screen, which every terminal supports.
        let clear = if rows.len() > 1 || first.len() > 1 { "\x1b[J" } else { "\x1b[K" };
        line.output.write(&format!("{first}{clear}"));
    }
}

/// Prints a line on standard error, wrapped to the width of a terminal.
pub(crate) fn say(text: &str) {
    end();
    let text = escaped(text);
    let rows = match io::stderr().is_terminal() {
        true => in_rows(&text, Output::Stderr.columns().saturating_sub(1)).into(),
        false => text,
    };
    // If the terminal is gone, there is no other output for the error.
    let _ = writeln!(io::stderr(), "{rows}");
}

fn lock() -> MutexGuard<'static, Option<Line>> {
    LINE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the escape sequence that moves the cursor from the end of the last of these rows to the beginning of the
/// first. If the terminal has become narrower since they were drawn, most terminals have wrapped the rows and moved the
/// cursor with them; the others have cut them. If the number of rows is uncertain, the smaller one is used, because the
/// output above must not be erased.
pub(crate) fn to_the_first(rows: &[impl AsRef<str>], columns: usize) -> String {
    let taken = |row: &str| if wraps_anew() { rows_of(row, columns).0 } else { 1 };
    let above: usize = rows.iter().map(|row| taken(row.as_ref())).sum::<usize>().saturating_sub(1);
    format!("\r{}", "\x1b[A".repeat(above))
}

/// Returns `true` if the terminal rewraps its rows when it becomes narrower. Other terminals are recognized by their
/// environment variables.
fn wraps_anew() -> bool {
    static ANEW: OnceLock<bool> = OnceLock::new();
    *ANEW.get_or_init(|| {
        let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let term = std::env::var("TERM").unwrap_or_default();
        let cuts =
            ["linux", "rxvt", "screen", "st-"].iter().any(|name| term.starts_with(name)) || is_set("XTERM_VERSION");
        // In tmux, tmux itself wraps the rows, whatever the terminal does.
        is_set("TMUX") || !cuts
    })
}

/// Redraws the status for as long as the program runs.
fn tick() {
    let mut line = lock();
    loop {
        line = match &mut *line {
            // Wait for the next status without a time limit.
            None => CHANGED.wait(line).unwrap_or_else(PoisonError::into_inner),
            Some(shown) => {
                shown.draw();
                CHANGED.wait_timeout(line, TICK).unwrap_or_else(PoisonError::into_inner).0
            }
        };
    }
}

impl Output {
    fn write(self, text: &str) {
        // If the terminal is gone, there is no user to show an error to.
        let _ = match self {
            Output::Stdout => io::stdout().write_all(text.as_bytes()).and_then(|()| io::stdout().flush()),
            Output::Stderr => io::stderr().write_all(text.as_bytes()),
        };
    }

    /// Returns the current number of columns of the terminal.
    pub(crate) fn columns(self) -> usize {
        self.size().map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0).unwrap_or(80)
    }

    fn height(self) -> usize {
        self.size().map(|size| usize::from(size.ws_row)).filter(|rows| *rows > 0).unwrap_or(24)
    }

    fn size(self) -> Option<Winsize> {
        match self {
            Output::Stdout => tcgetwinsize(io::stdout()),
            Output::Stderr => tcgetwinsize(io::stderr()),
        }
        .ok()
    }
}

impl Line {
    fn draw(&mut self) {
        let waited = self.since.elapsed();
        let width = self.output.columns();
        if waited < PATIENCE && self.drawn.is_none() || width < FEWEST_COLUMNS {
            return;
        }
        let mut rows = vec![row(&self.what, waited, self.signs, width - 1)];
        let below = self.what.lines_below(width.saturating_sub(BESIDE));
        // In a low terminal, the status must not scroll away all other output.
        let below = &below[below.len() - below.len().min(self.output.height() / 4)..];
        let bar = if self.signs { "  │ " } else { "  | " };
        let dots = if self.signs { "…" } else { "..." };
        rows.extend(below.iter().map(|line| fitted(&format!("{bar}{line}"), "", dots, width - 1)));
        if self.parted {
            rows.insert(0, String::new());
        }
        if self.drawn.as_ref() != Some(&rows) {
            let style = if matches!(self.what, What::Model | What::Thought(_)) { Style::Dim } else { Style::Action };
            let before = self.drawn.as_deref().unwrap_or_default();
            let mut out = to_the_first(before, width);
            // If the terminal became narrower, the old rows have wrapped and must be erased as a whole.
            let is_wrapped = out.len() > 1 + "\x1b[A".len() * before.len().saturating_sub(1);
            out.push_str(if is_wrapped { "\x1b[J" } else { "" });
            // To avoid flicker, overwrite the rows and erase only what is left of the old ones.
            for (index, row) in rows.iter().enumerate() {
                let style = if index == usize::from(self.parted) { style } else { Style::Dim };
                let (on, off) = if self.colour { codes(style) } else { ("", "") };
                out.push_str(&format!("{}{on}{row}{off}\x1b[K", if index == 0 { "" } else { "\r\n" }));
            }
            if self.drawn.as_ref().is_some_and(|drawn| drawn.len() > rows.len()) {
                out.push_str("\x1b[J");
            }
            self.output.write(&out);
            self.drawn = Some(rows);
        }
    }
}

impl What {
    /// Returns the lines displayed below the status row.
    fn lines_below(&self, width: usize) -> Cow<'_, [String]> {
        match self {
            What::Model => [].as_slice().into(),
            What::Tools(tool) => tool.printed.as_slice().into(),
            What::Call(call) => call.last().into(),
            What::Thought(thought) => thought.last(width).into(),
        }
    }
}

/// Returns the sign that precedes a call.
pub(crate) fn arrow(signs: bool) -> &'static str {
    if signs { "→" } else { "->" }
}

/// Renders the status line in at most `width` columns.
fn row(what: &What, waited: Duration, signs: bool, width: usize) -> String {
    let spinner = if signs { ["⠋", "⠙", "⠸", "⠴", "⠦", "⠇"] } else { ["|", "/", "-", "\\", "|", "/"] };
    let turn = spinner[usize::try_from(waited.as_millis() / TICK.as_millis()).unwrap_or(0) % spinner.len()];
    let dots = if signs { "…" } else { "..." };
    let spun = |text: Text| format!("{turn} {}", text.words());
    match what {
        What::Model => {
            fitted(&spun(text!("waiting for the model, {seconds} s", seconds = waited.as_secs())), "", dots, width)
        }
        What::Thought(thought) => {
            let size = text!("{count} {count|line|lines}", count = thought.lines.count());
            fitted(
                &spun(text!("thinking, {seconds} s", seconds = waited.as_secs())),
                &format!(", {}", size.words()),
                dots,
                width,
            )
        }
        What::Tools(tool) => {
            let said = if tool.said.is_empty() { String::new() } else { format!("  {}", tool.said) };
            let running = format!("  {}", spun(text!("running, {seconds} s", seconds = waited.as_secs())));
            let tail = fitted(&format!("{running}{said}"), "", dots, width / 2);
            fitted(&format!("{} {}", arrow(signs), tool.label), &tail, dots, width)
        }
        What::Call(call) => {
            // While the argument has a single line, its number of lines does not change, so display the elapsed time
            // instead.
            let tail = match (call.size(), waited.as_secs()) {
                (Some(size), _) => format!("  {}", size.words()),
                (None, 0) => String::new(),
                (None, seconds) => format!("  {seconds} s"),
            };
            fitted(&format!("{} {}", arrow(signs), label(&call.received_call())), &tail, dots, width)
        }
    }
}

/// Appends `tail` to `text`, which is cut if both together are too wide. Control characters are escaped.
fn fitted(text: &str, tail: &str, dots: &str, width: usize) -> String {
    let text = escaped(text).replace(['\n', '\t'], " ");
    let columns = |text: &str| text.chars().map(columns).sum::<usize>();
    let left = width.saturating_sub(columns(tail));
    if columns(&text) <= left {
        return text + tail;
    }
    let left = left.saturating_sub(columns(dots));
    let mut column = 0;
    let over = text.char_indices().find(|(_, c)| {
        column += self::columns(*c);
        column > left
    });
    let end = over.map_or(text.len(), |(at, _)| at);
    format!("{}{dots}{tail}", text[..end].trim_end())
}

impl CallSoFar {
    pub(crate) fn new(id: &str, name: &str) -> CallSoFar {
        CallSoFar { id: id.to_owned(), name: name.to_owned(), arguments: Vec::new() }
    }

    fn push(&mut self, name: &str, text: &str) {
        let known = self.arguments.iter().position(|argument| argument.name == name);
        // Memory is bounded, so the last argument collects the text of all further ones.
        let index = known.unwrap_or(self.arguments.len()).min(MOST_ARGUMENTS - 1);
        if index == self.arguments.len() {
            let (text, name) = (String::new(), name.to_owned());
            self.arguments.push(Argument { name, text, last: Vec::new(), breaks: 0, open: false });
        }
        let argument = &mut self.arguments[index];
        let room = MOST_TEXT.saturating_sub(argument.text.len());
        let ends = text.char_indices().map(|(at, c)| at + c.len_utf8());
        argument.text.push_str(&text[..ends.take_while(|end| *end <= room).last().unwrap_or(0)]);
        argument.keep_last(text);
        argument.breaks += text.bytes().filter(|byte| *byte == b'\n').count();
        argument.open = text.bytes().last().map_or(argument.open, |byte| byte != b'\n');
    }

    /// Returns the received part of the call, from which its label is derived.
    fn received_call(&self) -> ToolCall {
        // A name with `/` is the path of a nested value, which no label contains.
        let arguments = self.arguments.iter().filter(|argument| !argument.name.contains('/'));
        let args = arguments.map(|argument| (argument.name.clone(), Value::from(argument.text.as_str())));
        ToolCall::new("", &self.name, args.collect())
    }

    /// Returns the last lines of the argument that is being written, if it has several lines.
    fn last(&self) -> &[String] {
        self.arguments.last().filter(|argument| argument.breaks > 0).map_or(&[], |argument| &argument.last)
    }

    /// Describes the number of lines written so far, if there are several.
    fn size(&self) -> Option<Text> {
        let lines = |argument: &Argument| argument.breaks + usize::from(argument.open);
        let long = self.arguments.iter().map(lines).filter(|lines| *lines > 1);
        Some(long.sum()).filter(|lines: &usize| *lines > 1).map(|count| text!("{count} {count|line|lines}", count))
    }
}

impl Argument {
    fn keep_last(&mut self, text: &str) {
        for (index, line) in text.split('\n').enumerate() {
            if index > 0 || self.last.is_empty() {
                self.last.push(String::new());
            }
            if let Some(last) = self.last.last_mut() {
                let room = MOST_OF_LINE.saturating_sub(last.len());
                last.extend(line.chars().take(room));
            }
            let over = self.last.len().saturating_sub(MOST_ROWS);
            self.last.drain(..over);
        }
    }
}

impl ThoughtSoFar {
    fn push(&mut self, text: &str) {
        self.lines.push(text);
        self.text.push_str(text);
        if self.text.len() > 2 * END_OF_THOUGHT {
            let over = self.text.len() - END_OF_THOUGHT;
            let start = (over..self.text.len()).find(|at| self.text.is_char_boundary(*at)).unwrap_or(over);
            // Cut at a word, so that displayed words move as rarely as possible.
            let line = self.text[start..].find(['\n', ' ']).map_or(start, |at| start + at + 1);
            self.text.drain(..line);
        }
    }

    /// Returns the last rows of the thought on a terminal of this width.
    fn last(&self, width: usize) -> Vec<String> {
        let rows = in_rows(&escaped(self.text.trim_end()), width.max(1));
        let rows: Vec<&str> = rows.lines().filter(|row| !row.trim().is_empty()).collect();
        rows[rows.len().saturating_sub(MOST_ROWS)..].iter().map(|row| (*row).to_owned()).collect()
    }
}

impl ToolSoFar {
    pub(crate) fn new(id: &str, label: &str) -> ToolSoFar {
        ToolSoFar { id: id.to_owned(), label: label.to_owned(), said: String::new(), printed: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call_in_progress(pieces: &[(&str, &str)], name: &str) -> What {
        let mut call = CallSoFar::new("1", name);
        pieces.iter().for_each(|(arg, text)| call.push(arg, text));
        What::Call(call)
    }

    #[test]
    fn a_call_is_told_while_it_is_written() {
        let printed =
            |pieces: &[(&str, &str)], name: &str| row(&call_in_progress(pieces, name), Duration::ZERO, true, 40);
        assert_eq!(printed(&[], "write_file"), "→ write_file");
        assert_eq!(printed(&[("path", "src/ma"), ("path", "in.rs")], "write_file"), "→ write_file src/main.rs");
        let content = [("path", "a.rs"), ("content", "one\ntw"), ("content", "o\nthree")];
        assert_eq!(printed(&content, "write_file"), "→ write_file a.rs  3 lines");
        let edits = [("path", "a.rs"), ("edits/0/replacement", "one\ntwo\n"), ("edits/1/replacement", "three")];
        assert_eq!(printed(&edits, "edit_file"), "→ edit_file a.rs  2 lines");
        assert_eq!(printed(&[("command", "make\nmake test")], "bash"), "→ bash $ make ...  2 lines");
        let late = row(&call_in_progress(&[("command", "make")], "bash"), Duration::from_secs(2), true, 40);
        assert_eq!(late, "→ bash $ make  2 s");
        assert_eq!(printed(&[("command", "x".repeat(99).as_str())], "bash"), format!("→ bash $ {}…", "x".repeat(28)));
    }

    #[test]
    fn a_row_is_never_wider_than_the_terminal_and_steers_nothing() {
        for text in ["語".repeat(30), "e\u{301}".repeat(60), "👩\u{200d}👩".repeat(20), "\u{1b}[31m\u{202e}".repeat(20)]
        {
            for width in 12..60 {
                for signs in [true, false] {
                    let row = row(&call_in_progress(&[("command", &text)], "bash"), Duration::ZERO, signs, width);
                    assert!(row.chars().map(columns).sum::<usize>() <= width, "{row:?} in {width}");
                    assert!(!row.chars().any(char::is_control), "{row:?}");
                }
            }
        }
        assert_eq!(fitted("wide 語語", "  9", "…", 10), "wide…  9");
    }

    #[test]
    fn a_thought_shows_its_last_rows() {
        let mut thought = ThoughtSoFar::default();
        "First this.\n\nThen one line that goes on and on, with a\u{1b}[31m in it.".chars().for_each(|c| {
            thought.push(c.encode_utf8(&mut [0; 4]));
        });
        assert_eq!(
            thought.last(20),
            ["First this.", "Then one line that", "goes on and on, with", "a\\u{1b}[31m in it."]
        );
        let printed = row(&What::Thought(thought), Duration::from_secs(3), true, 60);
        assert_eq!(printed, "⠋ thinking, 3 s, 3 lines");
        let mut thought = ThoughtSoFar::default();
        (0..1000).for_each(|_| thought.push(&"é語 ".repeat(1000)));
        assert!(thought.text.len() <= 2 * END_OF_THOUGHT && thought.last(40).len() == MOST_ROWS);
    }

    #[test]
    fn much_is_counted_and_little_is_kept() {
        let mut call = CallSoFar::new("1", "write_file");
        (0..1000).for_each(|at| call.push(&format!("a{at}"), "é\n".repeat(1000).as_str()));
        assert!(call.arguments.len() == MOST_ARGUMENTS && call.arguments.iter().all(|a| a.text.len() <= MOST_TEXT));
        assert_eq!(call.size().map(|size| size.words().into_owned()).as_deref(), Some("1000000 lines"));
    }

    #[test]
    fn time_that_passes_is_told() {
        let printed = |seconds, signs| row(&What::Model, Duration::from_secs(seconds), signs, 60);
        assert_eq!(
            (printed(2, true).as_str(), printed(0, false).as_str()),
            ("⠸ waiting for the model, 2 s", "| waiting for the model, 0 s")
        );
    }
}
