//! The error type for a host's own failures.
//!
//! A model never sees an [`Error`]: a model gets a [`ToolFailure`](crate::ToolFailure).

use crate::{Text, text};
use std::{fmt, io};

/// A failed operation with its object and cause. The message is for the person who runs the host; a program checks the
/// [`kind`](Error::kind).
///
/// ```
/// use std::io;
/// use toolfence_protocol::error::{Error, ErrorKind};
///
/// let error = Error::because("read config.toml", io::Error::from(io::ErrorKind::NotFound));
/// assert_eq!(error.kind(), ErrorKind::NotFound);
/// assert_eq!(error.to_string(), "cannot read config.toml: entity not found");
/// ```
pub struct Error {
    kind: ErrorKind,
    doing: Text,
    cause: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// The category of an [`Error`], for a program that decides how to react.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A value from the caller or a settings file is invalid: a URL, a glob, a persona, a name.
    InvalidInput,
    /// A named file or folder does not exist.
    NotFound,
    /// The operating system denied access.
    PermissionDenied,
    /// Another turn or another process holds a resource; the same call can succeed later.
    Busy,
    /// A server could not be reached or broke off before its answer was complete; the same call can succeed later.
    Unreachable,
    /// A server refused the request, for example because of the key or the model's name.
    Rejected,
    /// A server refused a conversation that is longer than the model's window. The caller may try again with a shorter
    /// one.
    TooLong {
        /// Tokens of the conversation, if the server reported them.
        tokens: Option<u64>,
        /// Tokens of the window, if the server reported them.
        window: Option<u64>,
    },
    /// The operating system reported another failure, such as a full disk.
    Io,
    /// A bug in this library or in a tool, such as a panicked thread.
    Internal,
    /// Any other failure; errors of the host's own parts have this kind unless they set another.
    Other,
}

/// A result whose error is for the host.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Creates an error of the kind [`ErrorKind::Other`] with a complete message: `The recording has no replies: no
    /// line begins with "> ".`
    pub fn new(message: impl Into<Text>) -> Error {
        Error::with_kind(ErrorKind::Other, message)
    }

    /// Creates an error of the given kind with a complete message.
    pub fn with_kind(kind: ErrorKind, message: impl Into<Text>) -> Error {
        Error { kind, doing: message.into(), cause: None }
    }

    /// Creates an error with an underlying cause. `doing` is the verb and the object of the failed operation: `read
    /// config.toml`. The kind follows from the cause if it is a [`std::io::Error`]; otherwise it is
    /// [`ErrorKind::Other`].
    pub fn because(doing: impl Into<Text>, cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
        let cause = cause.into();
        let kind = cause.downcast_ref::<io::Error>().map_or(ErrorKind::Other, |cause| match cause.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => ErrorKind::NotFound,
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => ErrorKind::PermissionDenied,
            io::ErrorKind::ResourceBusy | io::ErrorKind::WouldBlock => ErrorKind::Busy,
            _ => ErrorKind::Io,
        });
        Error { kind, doing: doing.into(), cause: Some(cause) }
    }

    /// Returns this error with another kind, for a caller that knows more than the cause does.
    pub fn of_kind(self, kind: ErrorKind) -> Error {
        Error { kind, ..self }
    }

    /// Returns the kind of this error.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Returns the whole message, which `Display` writes in English. Messages of other libraries and rarer messages of
    /// the operating system are not translated.
    pub fn text(&self) -> Text {
        match &self.cause {
            None => self.doing.clone(),
            Some(cause) => text!("cannot {doing}: {cause}", doing = self.doing.clone(), cause = text_of(&**cause)),
        }
    }
}

impl From<Error> for Text {
    fn from(error: Error) -> Text {
        error.text()
    }
}

/// Converts an error of the system: to the [`Text`] or [`Error`] that it holds, or else to the system's message without
/// the error number. Frequent messages are translated.
impl From<&io::Error> for Text {
    fn from(error: &io::Error) -> Text {
        text_of(error)
    }
}

/// Converts a cause to text. A [`Text`] or an [`Error`], also inside of an [`io::Error`], stays translatable.
fn text_of(cause: &(dyn std::error::Error + Send + Sync + 'static)) -> Text {
    let held = cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref).unwrap_or(cause);
    match (held.downcast_ref::<Text>(), held.downcast_ref::<Error>()) {
        (Some(text), _) => text.clone(),
        (_, Some(error)) => error.text(),
        _ => match cause.downcast_ref::<io::Error>().filter(|error| error.raw_os_error().is_some()) {
            Some(error) => system_message(&error.to_string()),
            None => cause.to_string().into(),
        },
    }
}

/// Converts a message of the system, without the error number at its end, which is for programs.
fn system_message(message: &str) -> Text {
    let message = message.rsplit_once(" (os error ").map_or(message, |(words, _)| words);
    match message {
        "No such file or directory" => text!("No such file or directory"),
        "Permission denied" => text!("Permission denied"),
        "Operation not permitted" => text!("Operation not permitted"),
        "File exists" => text!("File exists"),
        "Not a directory" => text!("Not a directory"),
        "Is a directory" => text!("Is a directory"),
        "No space left on device" => text!("No space left on device"),
        "Read-only file system" => text!("Read-only file system"),
        "Too many open files" => text!("Too many open files"),
        "Connection refused" => text!("Connection refused"),
        "Address already in use" => text!("Address already in use"),
        other => other.into(),
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text().fmt(f)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Error({:?}: {self})", self.kind)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.cause.as_deref().map(|cause| cause as _)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Language;

    /// Messages of the system are shown without their error number, and the frequent ones are translated.
    #[test]
    fn system_messages_have_no_error_number() {
        let of = |code: i32| Text::from(&io::Error::from_raw_os_error(code));
        assert_eq!(of(2), "No such file or directory");
        assert_eq!(of(2).render(Language::Portuguese), "arquivo ou diretório inexistente");
        assert_eq!((of(13), of(1)), ("Permission denied".into(), "Operation not permitted".into()));
        for code in 1..100 {
            assert!(!of(code).render(Language::English).contains("os error"), "{code}");
        }
        let error = Error::because("open a", io::Error::from_raw_os_error(17));
        assert_eq!(error.to_string(), "cannot open a: File exists");
        assert_eq!(Text::from(&io::Error::other("a (os error 1) b")), "a (os error 1) b");
    }

    #[test]
    fn causes_stay_translatable() {
        let inner = || {
            Error::because(
                text!("cannot {doing}: {cause}", doing = "a", cause = "b"),
                text!("an ellipsis replaces part of the text; write all of it"),
            )
        };
        let portuguese =
            "não foi possível não foi possível a: b: as reticências estão no lugar do que foi omitido; escreva tudo";
        assert_eq!(inner().text().render(Language::Portuguese), portuguese);
        for outer in [Error::because("x", inner()), Error::because("x", io::Error::other(inner()))] {
            assert_eq!(outer.text().render(Language::Portuguese), format!("não foi possível x: {portuguese}"));
            assert_eq!(outer.to_string(), format!("cannot x: {}", inner()));
        }
        let plain = Error::because("x", io::Error::from(io::ErrorKind::NotFound));
        assert_eq!(plain.text().render(Language::Portuguese), "não foi possível x: entity not found");
    }
}
