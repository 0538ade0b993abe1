//! How a piece of text looks on a terminal.

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
    /// Who speaks.
    Name,
}

/// The codes that turn a style on and off again.
pub(crate) fn codes(style: Style) -> (&'static str, &'static str) {
    match style {
        Style::Plain => ("", ""),
        Style::Dim => ("\x1b[2m", "\x1b[0m"),
        Style::Good => ("\x1b[32m", "\x1b[0m"),
        Style::Bad => ("\x1b[31m", "\x1b[0m"),
        Style::Action => ("\x1b[36m", "\x1b[0m"),
        Style::Name => ("\x1b[1m", "\x1b[0m"),
    }
}
