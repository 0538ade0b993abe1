//! Error messages for paths that cannot be used, with advice for the model.

use crate::names;
use crate::root::path_arg::{invalid, quoted};
use rustix::fs::FileType;
use rustix::io::Errno;
use std::io;
use std::path::Path;
use toolfence_protocol::{ErrorCode, Text, ToolFailure, text};

/// Returns the error for a folder that existed a moment ago and cannot be walked.
pub(crate) fn walk_start_failure(errno: Errno, path: &str) -> ToolFailure {
    if errno == Errno::NOENT {
        return ToolFailure::new(
            ErrorCode::NotFound,
            text!("{path} was removed in the meantime. Use list_files to see what is there.", path = quoted(path)),
        );
    }
    of_system(errno, path)
}

/// Returns the error for a failed system call.
pub(crate) fn of_system(errno: Errno, path: &str) -> ToolFailure {
    let path = quoted(path);
    let (code, message) = match errno {
        Errno::ACCESS | Errno::PERM | Errno::ROFS => (
            ErrorCode::PermissionDenied,
            text!("The system does not allow access to {path} ({error}).", path, error = errno.to_string()),
        ),
        Errno::LOOP => {
            (ErrorCode::PermissionDenied, text!("The links of {path} lead in a circle or are too many.", path))
        }
        Errno::NOTDIR => {
            (ErrorCode::NotFound, text!("{path} uses a file as a folder. Use list_files to see what is there.", path))
        }
        Errno::NAMETOOLONG => {
            (ErrorCode::InvalidArgument, text!("{path} has a name that is too long for the system.", path))
        }
        Errno::NXIO | Errno::NODEV => (
            ErrorCode::InvalidArgument,
            text!("{path} is a socket or a device, not a file. Tools open only regular files.", path),
        ),
        Errno::NOSPC | Errno::DQUOT => (ErrorCode::IoError, text!("There is no space left to write {path}.", path)),
        errno => (ErrorCode::IoError, text!("The system failed on {path}: {error}.", path, error = errno.to_string())),
    };
    ToolFailure::new(code, message)
}

pub(crate) fn root_gone(root: &Path) -> ToolFailure {
    ToolFailure::new(
        ErrorCode::IoError,
        text!(
            "The project root {path} was removed while it was in use, so no tool can do anything. Tell the user.",
            path = quoted(&names::text_of(root))
        ),
    )
}

pub(crate) fn blocked(path: &str, rule: &str) -> ToolFailure {
    ToolFailure::new(
        ErrorCode::Denied,
        text!(
            "{path} is blocked by the rule {rule}: it may hold secrets. Do without it, or ask the user for what you \
             need.",
            path = quoted(path),
            rule = format!("{rule:?}")
        ),
    )
}

pub(crate) fn blocked_twin(path: &str, twin: &str) -> ToolFailure {
    ToolFailure::new(
        ErrorCode::Denied,
        text!(
            "{path} is a hard link of {other}, which is blocked. Do without it, or ask the user for what you need.",
            path = quoted(path),
            other = quoted(twin)
        ),
    )
}

pub(crate) fn twin_unknown(path: &str, most: usize) -> ToolFailure {
    ToolFailure::new(
        ErrorCode::Denied,
        text!(
            "{path} has several names (hard links), and the project has more than {most} entries, too many to make \
             sure that none of them is blocked. Copy it to a new file and use that.",
            path = quoted(path),
            most
        ),
    )
}

pub(crate) fn protected(path: &str, rule: &str) -> ToolFailure {
    ToolFailure::new(
        ErrorCode::Denied,
        text!(
            "{path} is protected by the rule {rule}: tools may read it but never change it. Ask the user to do it.",
            path = quoted(path),
            rule = format!("{rule:?}")
        ),
    )
}

pub(crate) fn not_a_file(path: &str, kind: FileType) -> ToolFailure {
    if kind == FileType::Directory {
        // A suggestion is not translated, like the names of tools and arguments.
        let list = format!("list_files with path {}", quoted(path));
        return invalid(text!(
            "{path} is a folder, not a file. Use list_files to see what is in it.",
            path = quoted(path)
        ))
        .suggest([list]);
    }
    invalid(text!(
        "{path} is {kind}, not a file. Tools open only regular files.",
        path = quoted(path),
        kind = kind_name(kind)
    ))
}

pub(crate) fn not_a_folder(path: &str, kind: FileType) -> ToolFailure {
    invalid(text!("{path} is {kind}, not a folder. Give a folder.", path = quoted(path), kind = kind_name(kind)))
}

fn kind_name(kind: FileType) -> Text {
    match kind {
        FileType::RegularFile => text!("a file"),
        FileType::Directory => text!("a folder"),
        FileType::Symlink => text!("a link"),
        FileType::Fifo => text!("a FIFO (named pipe)"),
        FileType::Socket => text!("a socket"),
        FileType::CharacterDevice | FileType::BlockDevice => text!("a device"),
        _ => text!("of an unknown kind"),
    }
}

/// Returns the error for an open file that could not be read or written.
pub(crate) fn of_io(error: &io::Error, path: &str) -> ToolFailure {
    if error.kind() == io::ErrorKind::TimedOut {
        return ToolFailure::new(ErrorCode::Cancelled, text!("Reading {path} was stopped.", path = quoted(path)));
    }
    match error.raw_os_error() {
        Some(code) => of_system(Errno::from_raw_os_error(code), path),
        None => ToolFailure::new(
            ErrorCode::IoError,
            text!("The system failed on {path}: {error}.", path = quoted(path), error = Text::from(error)),
        ),
    }
}

/// Returns the error for a file that another process changed meanwhile.
pub(crate) fn conflict(path: &str) -> ToolFailure {
    ToolFailure::new(
        ErrorCode::Conflict,
        text!("{path} was changed by another process at the same moment. Read it again first.", path = quoted(path)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolfence_protocol::Language;

    #[test]
    fn nested_messages_are_translated() {
        let portuguese = |failure: ToolFailure| failure.message.render(Language::Portuguese);
        let held = of_io(&io::Error::other(text!("its extended attributes cannot be copied")), "a");
        assert_eq!(held.message, "The system failed on \"a\": its extended attributes cannot be copied.");
        assert_eq!(portuguese(held), "O sistema falhou em \"a\": os atributos estendidos dele não podem ser copiados.");
        let plain = of_io(&io::Error::other("said so"), "a");
        assert_eq!(portuguese(plain), "O sistema falhou em \"a\": said so.");
        let kind = not_a_folder("a", FileType::Fifo);
        assert_eq!(kind.message, "\"a\" is a FIFO (named pipe), not a folder. Give a folder.");
        assert_eq!(portuguese(kind), "\"a\" é um FIFO (pipe nomeado), não uma pasta. Dê uma pasta.");
    }
}
