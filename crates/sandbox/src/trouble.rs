//! The errors of sandbox setup that the helper sends to its host: the barrier, the path, and the cause. An error is
//! sent as one line, and the host renders it in the language of the reader.

use serde::{Deserialize, Serialize};
use std::{fmt, io};
use toolfence_protocol::{Text, clip, text};

/// The most characters of a path or a cause on a line. A longer text keeps its beginning and its end.
const LONGEST: usize = 200;

/// A part of the sandbox setup.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Barrier {
    Plan,
    Helper,
    Input,
    Limits,
    Namespaces,
    Tree,
    Guards,
    Masks,
    RemovableMasks,
    FirstProcess,
    Session,
    Capabilities,
    Landlock,
    SystemCalls,
    Folder,
    Command,
    CommandWatch,
    HostWatch,
    Supervision,
    Container,
}

impl Barrier {
    fn text(self) -> Text {
        match self {
            Barrier::Plan => text!("the plan"),
            Barrier::Helper => text!("the helper"),
            Barrier::Input => text!("the input of the command"),
            Barrier::Limits => text!("the limits"),
            Barrier::Namespaces => text!("the namespaces"),
            Barrier::Tree => text!("the new tree of files"),
            Barrier::Guards => text!("the guards of the repository"),
            Barrier::Masks => text!("the masks over blocked files"),
            Barrier::RemovableMasks => text!("the removable masks"),
            Barrier::FirstProcess => text!("the first process"),
            Barrier::Session => text!("a session of its own"),
            Barrier::Capabilities => text!("the drop of all capabilities"),
            // The name of the kernel's own module.
            Barrier::Landlock => "Landlock".into(),
            Barrier::SystemCalls => text!("the filter of system calls"),
            Barrier::Folder => text!("the folder"),
            Barrier::Command => text!("the command"),
            Barrier::CommandWatch => text!("the watch over the command"),
            Barrier::HostWatch => text!("the watch over the host"),
            Barrier::Supervision => text!("the supervision of the command"),
            Barrier::Container => text!("the container"),
        }
    }
}

/// The cause of an error. It is passed on inside of an [`io::Error`], like an error of the system.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Cause {
    /// The message of a library, which is not translated.
    Library(String),
    /// The number of a system error.
    System(i32),
    Moved,
    Replaced,
    OtherRoot,
    TimedOut,
    HostGone,
    EngineFailed,
    NoProcessId,
    TooLong,
    Threads(usize),
    Version {
        helper: String,
        host: String,
    },
}

impl Cause {
    fn text(&self) -> Text {
        match self {
            Cause::Library(words) => words.clone().into(),
            Cause::System(number) => Text::from(&io::Error::from_raw_os_error(*number)),
            Cause::Moved => text!("it was moved away"),
            Cause::Replaced => text!("it was put in the place of another"),
            Cause::OtherRoot => text!("the project is not the folder it was"),
            Cause::TimedOut => text!("timed out waiting for the helper"),
            Cause::HostGone => text!("the host is gone"),
            Cause::EngineFailed => text!("its engine failed"),
            Cause::NoProcessId => text!("the new process has no number"),
            Cause::TooLong => text!("it is too long"),
            Cause::Threads(count) => text!("the helper has {count} threads and must have one", count = *count),
            Cause::Version { helper, host } => text!("the helper is version {helper}, the host {host}", helper, host),
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text().fmt(f)
    }
}

impl std::error::Error for Cause {}

#[derive(Debug, Serialize, Deserialize)]
struct TroubleLine {
    barrier: Barrier,
    at: Option<String>,
    cause: Cause,
}

/// Parses a line of the helper. Returns an error if the line reports one, with the kind
/// [`StaleNetworkFileHandle`](io::ErrorKind::StaleNetworkFileHandle) if the host must scan the project again.
pub(crate) fn parse_error_line(line: &str) -> Option<io::Error> {
    let (word, rest) = line.split_once(' ')?;
    let kind = match word {
        "changed" => io::ErrorKind::StaleNetworkFileHandle,
        "failed" => io::ErrorKind::Other,
        _ => return None,
    };
    // A helper of another version may have another format, so its text is passed on as it is.
    let Ok(TroubleLine { barrier, at, cause }) = serde_json::from_str(rest) else {
        return Some(io::Error::new(kind, Text::from(rest.to_owned())));
    };
    let (barrier, cause) = (barrier.text(), cause.text());
    let text = match at {
        Some(at) => text!("{barrier} at {at}: {cause}", barrier, at, cause),
        None => text!("{barrier}: {cause}", barrier, cause),
    };
    Some(io::Error::new(kind, text))
}

#[cfg(target_os = "linux")]
pub(crate) use line_writer::Trouble;

#[cfg(target_os = "linux")]
mod line_writer {
    use super::{Barrier, Cause, LONGEST, TroubleLine, clip, io};
    use std::path::Path;

    /// The error that the helper sends to the host instead of the outcome of the command.
    #[derive(Debug)]
    pub(crate) struct Trouble {
        is_changed: bool,
        line: TroubleLine,
    }

    impl Trouble {
        pub(crate) fn new(barrier: Barrier, cause: io::Error) -> Trouble {
            // The kind is read first, because only the cause itself is sent to the host.
            let is_changed = cause.kind() == io::ErrorKind::StaleNetworkFileHandle;
            let ours = cause.get_ref().and_then(|held| held.downcast_ref::<Cause>()).cloned();
            let of_system = || cause.raw_os_error().map(Cause::System);
            let cause = ours.or_else(of_system).unwrap_or_else(|| Cause::Library(plain(&cause.to_string())));
            Trouble { is_changed, line: TroubleLine { barrier, at: None, cause } }
        }

        pub(crate) fn at(barrier: Barrier, at: &Path, cause: io::Error) -> Trouble {
            let mut trouble = Trouble::new(barrier, cause);
            trouble.line.at = Some(plain(&at.display().to_string()));
            trouble
        }

        /// Returns the line that [`parse_error_line`](super::parse_error_line) reads. It begins with `changed` if the
        /// host must scan the project again, and with `failed` otherwise.
        pub(crate) fn line(&self) -> String {
            let word = if self.is_changed { "changed" } else { "failed" };
            format!("{word} {}\n", serde_json::to_string(&self.line).unwrap_or_default())
        }
    }

    fn plain(text: &str) -> String {
        // The host reads one line, so a path must not contain a line end.
        clip::middle(text, LONGEST).chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::path::Path;
    use toolfence_protocol::Language;

    fn send_to_host(trouble: &Trouble) -> (io::ErrorKind, Text) {
        let line = trouble.line();
        assert!(line.len() < 1000 && line.find('\n') == Some(line.len() - 1), "{line}");
        let error = parse_error_line(line.trim_end()).expect("it says what failed");
        (error.kind(), Text::from(&error))
    }

    #[test]
    fn errors_are_rendered_in_the_language_of_the_reader() {
        let error = io::Error::new(io::ErrorKind::StaleNetworkFileHandle, Cause::Moved);
        let (kind, text) = send_to_host(&Trouble::at(Barrier::Masks, Path::new("/a/b"), error));
        assert_eq!(kind, io::ErrorKind::StaleNetworkFileHandle);
        assert_eq!(text, "the masks over blocked files at /a/b: it was moved away");
        assert_eq!(
            text.render(Language::Portuguese),
            "as máscaras sobre os arquivos bloqueados em /a/b: foi movido para outro lugar"
        );
        let error = io::Error::other(Cause::Version { helper: "1".into(), host: "2".into() });
        let (kind, text) = send_to_host(&Trouble::new(Barrier::Plan, error));
        assert_eq!(kind, io::ErrorKind::Other);
        assert_eq!(text, "the plan: the helper is version 1, the host 2");
        let (_, text) = send_to_host(&Trouble::new(Barrier::Limits, io::Error::from_raw_os_error(1)));
        assert_eq!(text.render(Language::Portuguese), "os limites: operação não permitida");
    }

    #[test]
    fn long_paths_and_causes_are_shortened() {
        let path = format!("/begin\n/{}/end", "d/".repeat(10_000));
        let (_, text) =
            send_to_host(&Trouble::at(Barrier::Tree, Path::new(&path), io::Error::other("w\n".repeat(10_000))));
        let text = text.to_string();
        assert!(text.starts_with("the new tree of files at /begin /d") && text.contains("d//end: w w"), "{text}");
    }

    #[test]
    fn other_lines_are_not_errors() {
        assert!(
            parse_error_line("status 0").is_none()
                && parse_error_line("gone").is_none()
                && parse_error_line("").is_none()
        );
        assert_eq!(parse_error_line("failed as it did before").expect("it failed").to_string(), "as it did before");
    }
}
