//! Terminal output. Text of a model, a tool or a file is [`escaped`] before it is written to a terminal.

use crate::choices::{Color, Notice};
use crate::failure::Failure;
use crate::markdown::{Look, in_rows, line_in_rows};
use crate::shown::{Words, escaped};
use crate::status::{self, Output, What};
pub(crate) use crate::style::Style;
use crate::theme::codes;
use rustix::fs::FileType;
use rustix::termios::tcgetwinsize;
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::Duration;
use toolfence_protocol::Text;

/// The colour setting, which applies to each [`Terminal`] that is opened later.
static COLOURS: AtomicU8 = AtomicU8::new(AUTO);
const AUTO: u8 = 0;
const ALWAYS: u8 = 1;
const NEVER: u8 = 2;

/// Sets whether output has colours.
pub(crate) fn set_colours(wanted: Color) {
    let wanted = match wanted {
        Color::Auto => AUTO,
        Color::Always => ALWAYS,
        Color::Never => NEVER,
    };
    COLOURS.store(wanted, Ordering::Relaxed);
}

/// How the user is notified of the end of a long turn.
static NOTICE: AtomicU8 = AtomicU8::new(BELL);
const BELL: u8 = 0;
const OSC9: u8 = 1;
const NO_NOTICE: u8 = 2;

/// Seconds after which a turn counts as long.
static LONG: AtomicU64 = AtomicU64::new(20);

/// Sets how a terminal reports the end of a long turn, and how many seconds are long.
pub(crate) fn set_notice(wanted: Notice, seconds: u64) {
    let wanted = match wanted {
        Notice::Off => NO_NOTICE,
        Notice::Osc9 => OSC9,
        Notice::Bell => BELL,
    };
    NOTICE.store(wanted, Ordering::Relaxed);
    LONG.store(seconds, Ordering::Relaxed);
}

/// Notifies the user at the terminal if the turn took long, with a description of it.
pub(crate) fn notify(took: Duration, what: &Text) {
    let notice = match NOTICE.load(Ordering::Relaxed) {
        _ if took.as_secs() < LONG.load(Ordering::Relaxed) || !io::stdout().is_terminal() => return,
        BELL => "\x07".to_owned(),
        OSC9 => format!("\x1b]9;{}\x1b\\", what.words()),
        _ => return,
    };
    // If the terminal is gone, there is no one to notify.
    let _ = io::stdout().write_all(notice.as_bytes()).and_then(|()| io::stdout().flush());
}

/// Prints a note for the user on standard error.
pub(crate) fn print_note(note: &(impl Words + ?Sized)) {
    status::say(&format!("coder: {}", note.words()));
}

/// Returns `true` if output has colours, depending on whether it goes to a terminal.
pub(crate) fn colours(is_terminal: bool) -> bool {
    match COLOURS.load(Ordering::Relaxed) {
        ALWAYS => true,
        NEVER => false,
        _ => is_terminal && colours_wanted(),
    }
}

/// Standard output or standard error.
pub(crate) struct Terminal {
    out: Box<dyn Write + Send>,
    output: Output,
    is_terminal: bool,
    colour: bool,
    signs: bool,
}

impl Terminal {
    /// Returns standard output.
    pub(crate) fn stdout() -> Terminal {
        Terminal::new(Box::new(io::stdout()), Output::Stdout, io::stdout().is_terminal())
    }

    /// Returns standard error.
    pub(crate) fn stderr() -> Terminal {
        Terminal::new(Box::new(io::stderr()), Output::Stderr, io::stderr().is_terminal())
    }

    fn new(out: Box<dyn Write + Send>, output: Output, is_terminal: bool) -> Terminal {
        let colour = colours(is_terminal);
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let signs = (colour || is_terminal && !is_dumb) && has_utf8();
        Terminal { out, output, is_terminal, colour, signs }
    }

    /// Returns `true` if the output goes to a terminal.
    pub(crate) fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// Returns `true` if another program reads the output through a pipe or a socket.
    pub(crate) fn is_read(&self) -> bool {
        let file = match self.output {
            Output::Stdout => rustix::fs::fstat(io::stdout()),
            Output::Stderr => rustix::fs::fstat(io::stderr()),
        };
        let kind = |stat: rustix::fs::Stat| FileType::from_raw_mode(stat.st_mode);
        file.map(kind).is_ok_and(|kind| matches!(kind, FileType::Fifo | FileType::Socket))
    }

    /// Returns `true` if characters beyond ASCII, such as ✓, are displayed correctly: the locale uses UTF-8, and the
    /// terminal is not `dumb`.
    pub(crate) fn has_signs(&self) -> bool {
        self.signs
    }

    /// Returns the current properties for drawing rows. The last column stays free, because terminals differ in where
    /// the cursor is after it.
    pub(crate) fn look(&self) -> Look {
        /// Maximum width of text that is easy to read.
        const MOST_COLUMNS: usize = 120;
        /// Minimum width. A terminal that reports less is assumed to report a wrong size.
        const FEWEST_COLUMNS: usize = 10;
        let columns = self.output.columns().saturating_sub(1);
        Look { width: columns.clamp(FEWEST_COLUMNS, MOST_COLUMNS), colour: self.colour, signs: self.signs }
    }

    /// Returns the current number of columns of the terminal.
    pub(crate) fn columns(&self) -> usize {
        self.output.columns()
    }

    /// Returns `true` if a printed line can be erased: the output is a terminal that can move its cursor.
    pub(crate) fn takes_back(&self) -> bool {
        self.is_terminal && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
    }

    /// Displays in the current row what the program waits for, until other output replaces it. `parted` puts an empty
    /// row above it.
    pub(crate) fn wait(&self, what: What, parted: bool) {
        status::begin(self.output, self.colour, self.signs, what, parted);
    }

    /// Writes rows that are already rendered and escaped.
    pub(crate) fn drawn(&mut self, rows: &str) -> Result<(), Failure> {
        if rows.is_empty() {
            return Ok(());
        }
        status::end();
        self.out.write_all(rows.as_bytes()).and_then(|()| self.out.flush()).map_err(Failure::output)
    }

    /// Writes text in a style and leaves the row open, so that [`status::go_on`] can continue it. Any other output ends
    /// the row.
    pub(crate) fn open_row(&mut self, style: Style, text: &str) -> Result<(), Failure> {
        self.styled(style, text)?;
        status::open_row(self.output);
        Ok(())
    }

    /// Writes a name on a row of its own.
    pub(crate) fn name(&mut self, name: &str) -> Result<(), Failure> {
        self.styled_line(Style::Name, name)
    }

    /// Writes text of any origin and flushes it.
    pub(crate) fn write(&mut self, text: &(impl Words + ?Sized)) -> Result<(), Failure> {
        self.styled(Style::Plain, text)
    }

    /// Writes text of any origin in a style and flushes it.
    pub(crate) fn styled(&mut self, style: Style, text: &(impl Words + ?Sized)) -> Result<(), Failure> {
        let text = text.words();
        let shown = if self.is_terminal { escaped(&text) } else { Cow::Borrowed(&*text) };
        let (on, off) = if self.colour { codes(style) } else { ("", "") };
        // Writing nothing must not end an open row.
        if !text.is_empty() {
            status::end();
        }
        let written = write!(self.out, "{on}{shown}{off}").and_then(|()| self.out.flush());
        written.map_err(Failure::output)
    }

    /// Writes text of any origin and a newline.
    pub(crate) fn line(&mut self, text: &(impl Words + ?Sized)) -> Result<(), Failure> {
        self.styled_line(Style::Plain, text)
    }

    /// Writes text of any origin in a style, and a newline without style. Sentences for the user are wrapped between
    /// words.
    pub(crate) fn styled_line(&mut self, style: Style, text: &(impl Words + ?Sized)) -> Result<(), Failure> {
        if style == Style::Plain && !text.is_prose() {
            return self.exact_line(style, text);
        }
        let rows = self.in_rows(&text.words()).into_owned();
        self.exact_line(style, &rows)
    }

    /// Writes sentences for the user, wrapped between words, and a newline.
    pub(crate) fn wrapped(&mut self, text: &str) -> Result<(), Failure> {
        let rows = self.in_rows(text).into_owned();
        self.exact_line(Style::Plain, &rows)
    }

    /// Writes text of any origin and a newline. Its lines are not wrapped, because they may be copied or compared.
    pub(crate) fn exact_line(&mut self, style: Style, text: &(impl Words + ?Sized)) -> Result<(), Failure> {
        self.styled(style, text)?;
        self.write("\n")
    }

    /// Writes a line of a list and a newline. On a terminal, continuation rows are indented.
    pub(crate) fn hanging(&mut self, text: &str) -> Result<(), Failure> {
        const SET_IN: usize = 4;
        if !self.is_terminal {
            return self.exact_line(Style::Plain, text);
        }
        let rows = line_in_rows("", &escaped(text), SET_IN, self.look().width);
        self.exact_line(Style::Plain, &rows)
    }

    /// Wraps a text between words for this terminal. Other outputs get it unchanged.
    pub(crate) fn in_rows<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if !self.is_terminal {
            return text.into();
        }
        in_rows(&escaped(text), self.look().width).into()
    }
}

/// Returns the number of columns of the terminal on which questions are asked, even if the outputs are redirected.
pub(crate) fn columns_of_the_terminal() -> usize {
    let size = File::open("/dev/tty").ok().and_then(|terminal| tcgetwinsize(&terminal).ok());
    size.map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0).unwrap_or(80)
}

fn has_utf8() -> bool {
    let set = |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    // The order of precedence is that of POSIX (Base Definitions, 8.2).
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find(|name| set(name)).and_then(|name| std::env::var(name).ok());
    locale.is_some_and(|locale| locale.to_ascii_lowercase().replace('-', "").contains("utf8"))
}

fn colours_wanted() -> bool {
    // An empty value does not disable colours (no-color.org).
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}
