//! The status line: what is being waited for, in one row below all that was printed.
//!
//! It is for a terminal that can move its cursor and nothing else. Whatever is printed takes it away first, so that it leaves
//! nothing behind; it is cut to the width of the terminal, so that it never fills a second row, which could not be taken away
//! once it has scrolled.

use crate::marks::columns;
use crate::messages;
use crate::preview::label;
use crate::shown::{Words, escaped};
use crate::terminal::{Style, codes};
use rustix::termios::tcgetwinsize;
use serde_json::Value;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, Once, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use toolfence::{Text, ToolCall};

/// The one status line of the program.
static LINE: Mutex<Option<Line>> = Mutex::new(None);
/// Whether there is one: asked before everything that is printed.
static ACTIVE: AtomicBool = AtomicBool::new(false);
static CHANGED: Condvar = Condvar::new();
static TICKER: Once = Once::new();

/// Between two looks at what has changed.
const TICK: Duration = Duration::from_millis(100);
/// What takes no longer has no status line: nothing flashes by.
const PATIENCE: Duration = Duration::from_millis(400);
/// Bytes that are kept of the text of an argument, and arguments that are told apart.
const MOST_TEXT: usize = 512;
const MOST_ARGUMENTS: usize = 32;
/// Narrower terminals have no status line.
const FEWEST_COLUMNS: usize = 12;

/// Which of the program's outputs the line is drawn on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Output {
    Stdout,
    Stderr,
}

struct Line {
    output: Output,
    signs: bool,
    what: What,
    since: Instant,
    /// The row as it stands there.
    drawn: Option<String>,
}

/// What is being waited for.
pub(crate) enum What {
    /// The first piece of a reply.
    Model,
    /// Tools, and what one of them said last of how far it is.
    Tools(String),
    /// A call that is being written.
    Call(CallSoFar),
}

/// A call as far as it was written.
pub(crate) struct CallSoFar {
    id: String,
    name: String,
    arguments: Vec<Argument>,
}

struct Argument {
    name: String,
    /// The beginning of its text.
    text: String,
    breaks: usize,
    /// Something stands behind the last line break.
    open: bool,
}

/// Shows the line, or another one in its place. The cursor is at the beginning of an empty row.
pub(crate) fn begin(output: Output, signs: bool, what: What) {
    let drawn = lock().as_mut().filter(|line| line.output == output).and_then(|line| line.drawn.take());
    if drawn.is_none() {
        end();
    }
    *lock() = Some(Line { output, signs, what, since: Instant::now(), drawn });
    ACTIVE.store(true, Ordering::SeqCst);
    // Where no thread can be started there is no status line.
    TICKER.call_once(|| drop(thread::Builder::new().name("status".to_owned()).spawn(tick)));
    CHANGED.notify_all();
}

/// More of the call that is being written.
pub(crate) fn written(id: &str, arg: &str, text: &str) {
    if let Some(Line { what: What::Call(call), .. }) = &mut *lock()
        && call.id == id
    {
        call.push(arg, text);
    }
}

/// A tool that runs says how far it is.
pub(crate) fn said(note: &str) {
    if let Some(Line { what: What::Tools(last), .. }) = &mut *lock() {
        note.clone_into(last);
    }
}

/// Takes the line away where it shows this call, which is withdrawn.
pub(crate) fn withdraw(id: &str) {
    let shows = matches!(&*lock(), Some(Line { what: What::Call(call), .. }) if call.id == id);
    if shows {
        end();
    }
}

/// Takes the line away: something else is printed in its place.
pub(crate) fn end() {
    if ACTIVE.swap(false, Ordering::SeqCst)
        && let Some(line) = lock().take()
        && line.drawn.is_some()
    {
        line.output.write("\r\x1b[K");
    }
}

fn lock() -> MutexGuard<'static, Option<Line>> {
    LINE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Draws the line again and again while there is one.
fn tick() {
    let mut line = lock();
    loop {
        line = match &mut *line {
            // Nothing has to be drawn before there is a line again.
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
        // Where the terminal is gone nobody misses the line.
        let _ = match self {
            Output::Stdout => io::stdout().write_all(text.as_bytes()).and_then(|()| io::stdout().flush()),
            Output::Stderr => io::stderr().write_all(text.as_bytes()),
        };
    }

    fn columns(self) -> usize {
        let size = match self {
            Output::Stdout => tcgetwinsize(io::stdout()),
            Output::Stderr => tcgetwinsize(io::stderr()),
        };
        size.map(|size| usize::from(size.ws_col)).ok().filter(|columns| *columns > 0).unwrap_or(80)
    }
}

impl Line {
    fn draw(&mut self) {
        let waited = self.since.elapsed();
        let width = self.output.columns();
        if waited < PATIENCE && self.drawn.is_none() || width < FEWEST_COLUMNS {
            return;
        }
        let row = row(&self.what, waited, self.signs, width - 1);
        if self.drawn.as_ref() != Some(&row) {
            let style = if matches!(self.what, What::Call(_)) { Style::Action } else { Style::Dim };
            let (on, off) = codes(style);
            // Over what stands there, and then what is left of that: nothing flickers.
            self.output.write(&format!("\r{on}{row}{off}\x1b[K"));
            self.drawn = Some(row);
        }
    }
}

/// The words of the line, in so many columns at most.
fn row(what: &What, waited: Duration, signs: bool, width: usize) -> String {
    let spinner = if signs { ["⠋", "⠙", "⠸", "⠴", "⠦", "⠇"] } else { ["|", "/", "-", "\\", "|", "/"] };
    let turn = spinner[usize::try_from(waited.as_millis() / TICK.as_millis()).unwrap_or(0) % spinner.len()];
    let dots = if signs { "…" } else { "..." };
    let spun = |text: Text| format!("{turn} {}", text.words());
    match what {
        What::Model => fitted(&spun(messages::waiting_for_model(waited.as_secs())), "", dots, width),
        What::Tools(said) if said.is_empty() => fitted(&spun(messages::tools_run(waited.as_secs())), "", dots, width),
        What::Tools(said) => {
            let row = format!("{}  {said}", spun(messages::tools_run(waited.as_secs())));
            fitted(&row, "", dots, width)
        }
        What::Call(call) => {
            // One long line does not change any more once it is as wide as the terminal.
            let tail = match (call.size(), waited.as_secs()) {
                (Some(size), _) => format!("  {}", size.words()),
                (None, 0) => String::new(),
                (None, seconds) => format!("  {seconds} s"),
            };
            fitted(&format!("→ {}", label(&call.known())), &tail, dots, width)
        }
    }
}

/// The text with what stands behind it, cut where both need more columns. Nothing in it steers the terminal.
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
        let index = known.unwrap_or(self.arguments.len()).min(MOST_ARGUMENTS - 1);
        if index == self.arguments.len() {
            let (text, name) = (String::new(), name.to_owned());
            self.arguments.push(Argument { name, text, breaks: 0, open: false });
        }
        let argument = &mut self.arguments[index];
        let room = MOST_TEXT.saturating_sub(argument.text.len());
        let ends = text.char_indices().map(|(at, c)| at + c.len_utf8());
        argument.text.push_str(&text[..ends.take_while(|end| *end <= room).last().unwrap_or(0)]);
        argument.breaks += text.bytes().filter(|byte| *byte == b'\n').count();
        argument.open = text.bytes().last().map_or(argument.open, |byte| byte != b'\n');
    }

    /// The call as its label takes it.
    fn known(&self) -> ToolCall {
        let arguments = self.arguments.iter().filter(|argument| !argument.name.contains('/'));
        let args = arguments.map(|argument| (argument.name.clone(), Value::from(argument.text.as_str())));
        ToolCall::new("", &self.name, args.collect())
    }

    /// How many lines were written, where that is more than one.
    fn size(&self) -> Option<Text> {
        let lines = |argument: &Argument| argument.breaks + usize::from(argument.open);
        let long = self.arguments.iter().map(lines).filter(|lines| *lines > 1);
        Some(long.sum()).filter(|lines: &usize| *lines > 1).map(messages::lines_of_output)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(pieces: &[(&str, &str)], name: &str) -> What {
        let mut call = CallSoFar::new("1", name);
        pieces.iter().for_each(|(arg, text)| call.push(arg, text));
        What::Call(call)
    }

    #[test]
    fn a_call_is_told_while_it_is_written() {
        let told = |pieces: &[(&str, &str)], name: &str| row(&written(pieces, name), Duration::ZERO, true, 40);
        assert_eq!(told(&[], "write_file"), "→ write_file");
        assert_eq!(told(&[("path", "src/ma"), ("path", "in.rs")], "write_file"), "→ write_file src/main.rs");
        let content = [("path", "a.rs"), ("content", "one\ntw"), ("content", "o\nthree")];
        assert_eq!(told(&content, "write_file"), "→ write_file a.rs  3 lines");
        let edits = [("path", "a.rs"), ("edits/0/replacement", "one\ntwo\n"), ("edits/1/replacement", "three")];
        assert_eq!(told(&edits, "edit_file"), "→ edit_file a.rs  2 lines");
        assert_eq!(told(&[("command", "make\nmake test")], "bash"), "→ bash $ make ...  2 lines");
        let late = row(&written(&[("command", "make")], "bash"), Duration::from_secs(2), true, 40);
        assert_eq!(late, "→ bash $ make  2 s");
        assert_eq!(told(&[("command", "x".repeat(99).as_str())], "bash"), format!("→ bash $ {}…", "x".repeat(28)));
    }

    #[test]
    fn a_row_is_never_wider_than_the_terminal_and_steers_nothing() {
        for text in ["語".repeat(30), "e\u{301}".repeat(60), "👩\u{200d}👩".repeat(20), "\u{1b}[31m\u{202e}".repeat(20)]
        {
            for width in 12..60 {
                for signs in [true, false] {
                    let row = row(&written(&[("command", &text)], "bash"), Duration::ZERO, signs, width);
                    assert!(row.chars().map(columns).sum::<usize>() <= width, "{row:?} in {width}");
                    assert!(!row.chars().any(char::is_control), "{row:?}");
                }
            }
        }
        assert_eq!(fitted("wide 語語", "  9", "…", 10), "wide…  9");
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
        let told = |seconds, signs| row(&What::Model, Duration::from_secs(seconds), signs, 60);
        assert_eq!(
            (told(2, true).as_str(), told(0, false).as_str()),
            ("⠸ waiting for the model, 2 s", "| waiting for the model, 0 s")
        );
    }
}
