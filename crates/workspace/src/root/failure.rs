//! What a model is told when a path leads nowhere, and what it can do about it.

use crate::root::path_arg::{invalid, shown};
use crate::{messages, names};
use rustix::fs::FileType;
use rustix::io::Errno;
use std::io;
use std::path::Path;
use toolfence_protocol::{ErrorCode, Text, ToolFailure};

/// Why a folder that was there a moment ago cannot be walked.
pub(crate) fn of_start(errno: Errno, path: &str) -> ToolFailure {
    if errno == Errno::NOENT {
        return ToolFailure::new(ErrorCode::NotFound, messages::removed_meanwhile(shown(path)));
    }
    of_system(errno, path)
}

/// What the system said, in words.
pub(crate) fn of_system(errno: Errno, path: &str) -> ToolFailure {
    let path = shown(path);
    let (code, message) = match errno {
        Errno::ACCESS | Errno::PERM | Errno::ROFS => {
            (ErrorCode::PermissionDenied, messages::access_refused(path, errno.to_string()))
        }
        Errno::LOOP => (ErrorCode::PermissionDenied, messages::links_in_a_circle(path)),
        Errno::NOTDIR => (ErrorCode::NotFound, messages::through_a_file(path)),
        Errno::NAMETOOLONG => (ErrorCode::InvalidArgument, messages::name_too_long(path)),
        Errno::NXIO | Errno::NODEV => (ErrorCode::InvalidArgument, messages::socket_or_device(path)),
        Errno::NOSPC | Errno::DQUOT => (ErrorCode::IoError, messages::no_space(path)),
        errno => (ErrorCode::IoError, messages::system_failed(path, errno.to_string())),
    };
    ToolFailure::new(code, message)
}

pub(crate) fn root_gone(root: &Path) -> ToolFailure {
    ToolFailure::new(ErrorCode::IoError, messages::root_gone(shown(&names::text_of(root))))
}

pub(crate) fn blocked(path: &str, rule: &str) -> ToolFailure {
    ToolFailure::new(ErrorCode::Denied, messages::blocked_by_rule(shown(path), format!("{rule:?}")))
}

pub(crate) fn blocked_twin(path: &str, twin: &str) -> ToolFailure {
    ToolFailure::new(ErrorCode::Denied, messages::link_of_blocked(shown(path), shown(twin)))
}

pub(crate) fn twin_unknown(path: &str, most: usize) -> ToolFailure {
    ToolFailure::new(ErrorCode::Denied, messages::links_unknown(shown(path), most))
}

pub(crate) fn protected(path: &str, rule: &str) -> ToolFailure {
    ToolFailure::new(ErrorCode::Denied, messages::protected_by_rule(shown(path), format!("{rule:?}")))
}

pub(crate) fn not_a_file(path: &str, kind: FileType) -> ToolFailure {
    if kind == FileType::Directory {
        // A suggestion is the same in every language, as every name of a tool or an argument is.
        let list = format!("list_files with path {}", shown(path));
        return invalid(messages::folder_not_file(shown(path))).suggest([list]);
    }
    invalid(messages::not_a_file(shown(path), kind_name(kind)))
}

pub(crate) fn not_a_folder(path: &str, kind: FileType) -> ToolFailure {
    invalid(messages::not_a_folder(shown(path), kind_name(kind)))
}

fn kind_name(kind: FileType) -> Text {
    match kind {
        FileType::RegularFile => messages::a_file(),
        FileType::Directory => messages::a_folder(),
        FileType::Symlink => messages::a_link(),
        FileType::Fifo => messages::a_fifo(),
        FileType::Socket => messages::a_socket(),
        FileType::CharacterDevice | FileType::BlockDevice => messages::a_device(),
        _ => messages::of_unknown_kind(),
    }
}

/// What went wrong while an open file was read or written.
pub(crate) fn of_io(error: &io::Error, path: &str) -> ToolFailure {
    if error.kind() == io::ErrorKind::TimedOut {
        return ToolFailure::new(ErrorCode::Cancelled, messages::reading_stopped(shown(path)));
    }
    match error.raw_os_error() {
        Some(code) => of_system(Errno::from_raw_os_error(code), path),
        None => ToolFailure::new(ErrorCode::IoError, messages::system_failed(shown(path), Text::from(error))),
    }
}

/// The refusal of a change to a file that another process changed meanwhile.
pub(crate) fn conflict(path: &str) -> ToolFailure {
    ToolFailure::new(ErrorCode::Conflict, messages::changed_meanwhile(shown(path)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolfence_protocol::Language;

    #[test]
    fn the_parts_of_a_sentence_are_in_its_language() {
        let portuguese = |failure: ToolFailure| failure.message.render(Language::Portuguese);
        let held = of_io(&io::Error::other(messages::attributes_not_copied()), "a");
        assert_eq!(held.message, "The system failed on \"a\": its extended attributes cannot be copied.");
        assert_eq!(portuguese(held), "O sistema falhou em \"a\": os atributos estendidos dele não podem ser copiados.");
        let plain = of_io(&io::Error::other("said so"), "a");
        assert_eq!(portuguese(plain), "O sistema falhou em \"a\": said so.");
        let kind = not_a_folder("a", FileType::Fifo);
        assert_eq!(kind.message, "\"a\" is a FIFO (named pipe), not a folder. Give a folder.");
        assert_eq!(portuguese(kind), "\"a\" é um FIFO (pipe nomeado), não uma pasta. Dê uma pasta.");
    }
}
