//! The error that a host gets when something of its own failed.
//!
//! A model never sees an [`Error`]: a model gets a [`ToolFailure`](crate::ToolFailure).

use std::fmt;

/// What was being done, on what, and why it failed. The message is written for the person who runs the host.
pub struct Error {
    doing: Box<str>,
    cause: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// A result whose failure is for the host.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error that is complete in itself: `cannot read the recording: it has no replies; record one first`.
    pub fn new(message: impl Into<String>) -> Error {
        Error { doing: message.into().into_boxed_str(), cause: None }
    }

    /// An error with the cause below it: `doing` is the verb and the object, `read config.toml`.
    pub fn because(doing: impl Into<String>, cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
        Error { doing: doing.into().into_boxed_str(), cause: Some(cause.into()) }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.cause {
            None => f.write_str(&self.doing),
            Some(cause) => write!(f, "cannot {}: {cause}", self.doing),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Error({self})")
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.cause.as_deref().map(|cause| cause as _)
    }
}
