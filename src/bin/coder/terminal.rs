//! What reaches the terminal. Text of a model, a tool or a file goes through [`escaped`] first, always.

use crate::args::Color;
use crate::failure::Failure;
use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use toolfence::program::invisible::{self, Invisible};
use toolfence::{Language, Text};

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

/// Whether everything that is said from then on is in Portuguese.
static PORTUGUESE: AtomicBool = AtomicBool::new(false);

/// Settles the language of everything that is said from then on.
pub(crate) fn set_language(wanted: Language) {
    PORTUGUESE.store(wanted == Language::Portuguese, Ordering::Relaxed);
}

/// The language of what is said.
pub(crate) fn language() -> Language {
    if PORTUGUESE.load(Ordering::Relaxed) { Language::Portuguese } else { Language::English }
}

/// What can be shown: a string as it is, a text in the language that was settled.
pub(crate) trait Words {
    /// The words, not yet [`escaped`].
    fn words(&self) -> Cow<'_, str>;
}

impl Words for str {
    fn words(&self) -> Cow<'_, str> {
        self.into()
    }
}

impl Words for String {
    fn words(&self) -> Cow<'_, str> {
        self.into()
    }
}

impl Words for Text {
    fn words(&self) -> Cow<'_, str> {
        self.render(language()).into()
    }
}

impl<W: Words + ?Sized> Words for &W {
    fn words(&self) -> Cow<'_, str> {
        (**self).words()
    }
}

/// Tells the person something that is no failure, on standard error.
pub(crate) fn tell(note: &(impl Words + ?Sized)) {
    // Where the terminal is gone there is nobody to tell.
    let _ = writeln!(io::stderr(), "coder: {}", escaped(&note.words()));
}

/// Standard output or standard error.
pub(crate) struct Terminal {
    out: Box<dyn Write + Send>,
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
        Terminal { out: Box::new(io::stdout()), is_terminal, colour: colours(is_terminal) }
    }

    /// Standard error.
    pub(crate) fn stderr() -> Terminal {
        let is_terminal = io::stderr().is_terminal();
        Terminal { out: Box::new(io::stderr()), is_terminal, colour: colours(is_terminal) }
    }

    /// Whether a person is looking.
    pub(crate) fn is_terminal(&self) -> bool {
        self.is_terminal
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

fn codes(style: Style) -> (&'static str, &'static str) {
    match style {
        Style::Plain => ("", ""),
        Style::Dim => ("\x1b[2m", "\x1b[0m"),
        Style::Good => ("\x1b[32m", "\x1b[0m"),
        Style::Bad => ("\x1b[31m", "\x1b[0m"),
        Style::Action => ("\x1b[36m", "\x1b[0m"),
    }
}

/// The text with everything written out that could steer a terminal or hide what is there: control characters (ESC, and
/// so every sequence; C1; a CR that is not part of a line ending), marks that turn the direction, and invisible tags.
pub(crate) fn escaped(text: &str) -> Cow<'_, str> {
    let Some(first) = text.char_indices().find(|(at, c)| steers(*c, &text[*at..])) else { return text.into() };
    let mut out = String::with_capacity(text.len() + 16);
    out.push_str(&text[..first.0]);
    for (at, c) in text[first.0..].char_indices() {
        if steers(c, &text[first.0 + at..]) {
            // Writing to a String cannot fail.
            let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out.into()
}

/// Whether a character could steer a terminal or hide what is there; `here` is the text from it on.
pub(crate) fn steers(c: char, here: &str) -> bool {
    match c {
        '\n' | '\t' => false,
        '\r' => !here.starts_with("\r\n"),
        c if c.is_control() => true,
        // Marks of no width, fillers and selectors are of use in the scripts of people, and turn nothing around.
        c => invisible::kind(c).is_some_and(|kind| {
            matches!(kind, Invisible::Direction | Invisible::Annotation | Invisible::Separator | Invisible::Tag)
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_steers_gets_through() {
        for (text, want) in [
            ("plain\tä\r\n", "plain\tä\r\n"),
            ("\x1b]52;c;aGk=\x07", "\\u{1b}]52;c;aGk=\\u{7}"),
            ("a\x1b[31mred", "a\\u{1b}[31mred"),
            ("\u{9b}31m", "\\u{9b}31m"),
            ("over\rwritten\r", "over\\u{d}written\\u{d}"),
            ("\u{202e}txt.exe", "\\u{202e}txt.exe"),
            ("\0\x7f", "\\u{0}\\u{7f}"),
        ] {
            assert_eq!(escaped(text), want);
        }
        let every: String = ('\0'..=char::MAX).collect();
        assert!(!escaped(&every).chars().any(|c| c.is_control() && c != '\n' && c != '\t'));
    }
}
