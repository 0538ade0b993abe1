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
