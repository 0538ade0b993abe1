//! The error that a host gets when something of its own failed.
//!
//! A model never sees an [`Error`]: a model gets a [`ToolFailure`](crate::ToolFailure).

use crate::{Text, text};
use std::{fmt, io};

/// What was being done, on what, and why it failed. The message is written for the person who runs the host; a program asks
/// for the [`kind`](Error::kind).
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

/// What sort of failure an [`Error`] is, for a program that has to decide what to do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Something that the caller or a settings file gave cannot be used as it is: a URL, a glob, a persona, a name.
    InvalidInput,
    /// A file or folder that was named is not there.
    NotFound,
    /// The operating system does not allow the access.
    PermissionDenied,
    /// Another turn or another process holds what is needed; the same call can succeed later.
    Busy,
    /// A server was not reached, or broke off before its answer was whole; the same call can succeed later.
    Unreachable,
    /// A server was reached and answered that it will not do it, for example because of the key or the model's name.
    Rejected,
    /// A server was reached and refused a conversation that is longer than the model's window. Whoever can send less of it may
    /// try again.
    TooLong {
        /// Tokens of the conversation, where the server said so.
        tokens: Option<u64>,
        /// Tokens of the window, where the server said so.
        window: Option<u64>,
    },
    /// The operating system reports another failure, such as a full disk.
    Io,
    /// A fault of this library or of a tool, such as a thread that panicked.
    Internal,
    /// None of the other kinds; errors of the host's own parts are of this kind unless they say otherwise.
    Other,
}

/// A result whose failure is for the host.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// An error of the kind [`ErrorKind::Other`] whose message is complete in itself: `The recording has no replies: no line
    /// begins with "> ".`
    pub fn new(message: impl Into<Text>) -> Error {
        Error::with_kind(ErrorKind::Other, message)
    }

    /// An error of a kind whose message is complete in itself.
    pub fn with_kind(kind: ErrorKind, message: impl Into<Text>) -> Error {
        Error { kind, doing: message.into(), cause: None }
    }

    /// An error with the cause below it. `doing` is the verb and the object of what failed: `read config.toml`. Where the
    /// cause is a [`std::io::Error`] the kind follows from it, else it is [`ErrorKind::Other`].
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

    /// This error with another kind, for a caller that knows better than the cause.
    pub fn of_kind(self, kind: ErrorKind) -> Error {
        Error { kind, ..self }
    }

    /// The kind of this error.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// The whole message, which `Display` writes in English. What another library says of the cause is the same in every
    /// language, and so are the rarer words of the operating system.
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

/// What an error of the system says: the [`Text`] or [`Error`] that it holds, or else the system's own words without its number.
/// Words that are frequent are there in every language.
impl From<&io::Error> for Text {
    fn from(error: &io::Error) -> Text {
        text_of(error)
    }
}

/// What a cause says: a [`Text`] or an [`Error`], each also inside of an [`io::Error`], keeps its languages.
fn text_of(cause: &(dyn std::error::Error + Send + Sync + 'static)) -> Text {
    let held = cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref).unwrap_or(cause);
    match (held.downcast_ref::<Text>(), held.downcast_ref::<Error>()) {
        (Some(text), _) => text.clone(),
        (_, Some(error)) => error.text(),
        _ => match cause.downcast_ref::<io::Error>().filter(|error| error.raw_os_error().is_some()) {
            Some(error) => system_words(&error.to_string()),
            None => cause.to_string().into(),
        },
    }
}

/// What the system says, without the number behind it, which is for programs.
fn system_words(said: &str) -> Text {
    let said = said.rsplit_once(" (os error ").map_or(said, |(words, _)| words);
    match said {
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

    /// The number of an error of the system is of no use to a person, and what is frequent is said in their language.
    #[test]
    fn what_the_system_says_has_no_number() {
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
    fn a_cause_keeps_its_languages() {
        let inner = || {
            Error::because(
                text!("cannot {doing}: {cause}", doing = "a", cause = "b"),
                text!("an ellipsis replaces something; write everything"),
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
