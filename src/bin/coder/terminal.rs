//! What reaches the terminal. Text of a model, a tool or a file goes through [`escaped`] first, always.

use crate::args::Color;
use crate::failure::Failure;
use crate::shown::{Words, escaped};
use crate::status::{self, Output, What};
use rustix::fs::FileType;
use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicU8, Ordering};

/// What the person settled about colours, for every terminal that is opened from then on.
static COLOURS: AtomicU8 = AtomicU8::new(AUTO);
const AUTO: u8 = 0;
const ALWAYS: u8 = 1;
const NEVER: u8 = 2;

/// Settles whether there are colours.
pub(crate) fn set_colours(wanted: Color) {
    let wanted = match wanted {
        Color::Auto => AUTO,
        Color::Always => ALWAYS,
        Color::Never => NEVER,
    };
    COLOURS.store(wanted, Ordering::Relaxed);
}

/// Whether there are colours on a terminal, or on something else.
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
}

/// How a piece of text looks where colours are on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// As it is.
    Plain,
    /// What matters less.
    Dim,
    /// What went well.
    Good,
    /// What went wrong.
    Bad,
    /// What is being done.
    Action,
}

impl Terminal {
    /// Standard output.
    pub(crate) fn stdout() -> Terminal {
        let is_terminal = io::stdout().is_terminal();
        Terminal { out: Box::new(io::stdout()), output: Output::Stdout, is_terminal, colour: colours(is_terminal) }
    }

    /// Standard error.
    pub(crate) fn stderr() -> Terminal {
        let is_terminal = io::stderr().is_terminal();
        Terminal { out: Box::new(io::stderr()), output: Output::Stderr, is_terminal, colour: colours(is_terminal) }
    }

    /// Whether a person is looking.
    pub(crate) fn is_terminal(&self) -> bool {
        self.is_terminal
    }

    /// Whether another program reads what is written: it goes to a pipe.
    pub(crate) fn is_read(&self) -> bool {
        let file = match self.output {
            Output::Stdout => rustix::fs::fstat(io::stdout()),
            Output::Stderr => rustix::fs::fstat(io::stderr()),
        };
        let kind = |stat: rustix::fs::Stat| FileType::from_raw_mode(stat.st_mode);
        file.map(kind).is_ok_and(|kind| matches!(kind, FileType::Fifo | FileType::Socket))
    }

    /// Whether signs beyond ASCII, such as ✓, are shown as they should: where colours are, and the locale has UTF-8.
    pub(crate) fn has_signs(&self) -> bool {
        let set = |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let locale =
            ["LC_ALL", "LC_CTYPE", "LANG"].iter().find(|name| set(name)).and_then(|name| std::env::var(name).ok());
        let utf8 = locale.is_some_and(|locale| locale.to_ascii_lowercase().replace('-', "").contains("utf8"));
        self.colour && utf8
    }

    /// Whether a line can be taken back: a person is looking, there are colours, and the terminal can move its cursor.
    pub(crate) fn takes_back(&self) -> bool {
        self.is_terminal && self.colour && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
    }

    /// Shows in the row of the cursor what is being waited for, until something else is written.
    pub(crate) fn wait(&self, what: What) {
        status::begin(self.output, self.has_signs(), what);
    }

    /// Writes text of any origin, and shows it at once.
    pub(crate) fn write(&mut self, text: &(impl Words + ?Sized)) -> Result<(), Failure> {
        self.styled(Style::Plain, text)
    }

    /// Writes text of any origin in a style, and shows it at once.
    pub(crate) fn styled(&mut self, style: Style, text: &(impl Words + ?Sized)) -> Result<(), Failure> {
        let text = text.words();
        let shown = if self.is_terminal { escaped(&text) } else { Cow::Borrowed(&*text) };
        let (on, off) = if self.colour { codes(style) } else { ("", "") };
        if !text.is_empty() {
            status::end();
        }
        let written = write!(self.out, "{on}{shown}{off}").and_then(|()| self.out.flush());
        written.map_err(Failure::output)
    }

    /// Writes text of any origin and a newline behind it.
    pub(crate) fn line(&mut self, text: &(impl Words + ?Sized)) -> Result<(), Failure> {
        self.styled_line(Style::Plain, text)
    }

    /// Writes text of any origin in a style, and a newline behind it that has none.
    pub(crate) fn styled_line(&mut self, style: Style, text: &(impl Words + ?Sized)) -> Result<(), Failure> {
        self.styled(style, text)?;
        self.write("\n")
    }
}

fn colours_wanted() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
        && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

pub(crate) fn codes(style: Style) -> (&'static str, &'static str) {
    match style {
        Style::Plain => ("", ""),
        Style::Dim => ("\x1b[2m", "\x1b[0m"),
        Style::Good => ("\x1b[32m", "\x1b[0m"),
        Style::Bad => ("\x1b[31m", "\x1b[0m"),
        Style::Action => ("\x1b[36m", "\x1b[0m"),
    }
}
