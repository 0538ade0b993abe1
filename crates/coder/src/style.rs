//! Styles of text on a terminal.

/// The role of a text, which determines its style if colours are enabled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// Ordinary text.
    Plain,
    /// Less important text.
    Dim,
    /// Success.
    Good,
    /// Failure.
    Bad,
    /// A current action.
    Action,
    /// The name of a speaker.
    Name,
}
