//! The sentences that a model is told when a path leads nowhere, and what it can do about it.

use crate::names;
use crate::root::path_arg::{invalid, shown};
use rustix::fs::FileType;
use rustix::io::Errno;
use std::path::Path;
use toolfence_protocol::{ErrorCode, ToolFailure};

/// Why a folder that was there a moment ago cannot be walked.
pub(crate) fn of_start(errno: Errno, path: &str) -> ToolFailure {
    if errno == Errno::NOENT {
        let message = format!("{} was removed at the same moment. Use list_files to see what is there.", shown(path));
        return ToolFailure::new(ErrorCode::NotFound, message);
    }
    of_system(errno, path)
}

/// What the system said, in words.
pub(crate) fn of_system(errno: Errno, path: &str) -> ToolFailure {
    let path = shown(path);
    let (code, message) = match errno {
        Errno::ACCESS | Errno::PERM | Errno::ROFS => {
            (ErrorCode::PermissionDenied, format!("The system does not allow access to {path} ({errno})."))
        }
        Errno::LOOP => (ErrorCode::PermissionDenied, format!("The links of {path} lead in a circle or are too many.")),
        Errno::NOTDIR => (
            ErrorCode::NotFound,
            format!("{path} goes through a file as if it were a folder. Use list_files to see what is there."),
        ),
        Errno::NAMETOOLONG => {
            (ErrorCode::InvalidArgument, format!("{path} has a name that is too long for the system."))
        }
        Errno::NXIO | Errno::NODEV => (
            ErrorCode::InvalidArgument,
            format!("{path} is a socket or a device, not a file. Tools open only regular files."),
        ),
        Errno::NOSPC | Errno::DQUOT => (ErrorCode::IoError, format!("There is no space left to write {path}.")),
        errno => (ErrorCode::IoError, format!("The system failed on {path}: {errno}.")),
    };
    ToolFailure::new(code, message)
}

pub(crate) fn root_gone(root: &Path) -> ToolFailure {
    let message = format!(
        "The project root {} was removed while it was in use, so no tool can do anything. Tell the user.",
        shown(&names::text_of(root))
    );
    ToolFailure::new(ErrorCode::IoError, message)
}

pub(crate) fn blocked(path: &str, rule: &str) -> ToolFailure {
    let message = format!(
        "{} is blocked by the rule {rule:?}: it may hold secrets. Do without it, or ask the user for what you need.",
        shown(path)
    );
    ToolFailure::new(ErrorCode::Denied, message)
}

pub(crate) fn blocked_twin(path: &str, twin: &str) -> ToolFailure {
    let message = format!(
        "{} is a hard link of {}, which is blocked. Do without it, or ask the user for what you need.",
        shown(path),
        shown(twin)
    );
    ToolFailure::new(ErrorCode::Denied, message)
}

pub(crate) fn twin_unknown(path: &str, most: usize) -> ToolFailure {
    let message = format!(
        "{} has several names (hard links), and the project has more than {} entries, too many to make sure that none \
         of them is blocked. Copy it to a new file and use that.",
        shown(path),
        most
    );
    ToolFailure::new(ErrorCode::Denied, message)
}

pub(crate) fn protected(path: &str, rule: &str) -> ToolFailure {
    let message = format!(
        "{} is protected by the rule {rule:?}: tools may read it but never change it. Ask the user to do it.",
        shown(path)
    );
    ToolFailure::new(ErrorCode::Denied, message)
}

pub(crate) fn not_a_file(path: &str, kind: FileType) -> ToolFailure {
    if kind == FileType::Directory {
        let message = format!("{} is a folder, not a file. Use list_files to see what is in it.", shown(path));
        return invalid(message).suggest([format!("list_files with path {}", shown(path))]);
    }
    invalid(format!("{} is {}, not a file. Tools open only regular files.", shown(path), kind_name(kind)))
}

pub(crate) fn not_a_folder(path: &str, kind: FileType) -> ToolFailure {
    invalid(format!("{} is {}, not a folder. Give a folder.", shown(path), kind_name(kind)))
}

fn kind_name(kind: FileType) -> &'static str {
    match kind {
        FileType::RegularFile => "a file",
        FileType::Directory => "a folder",
        FileType::Symlink => "a link",
        FileType::Fifo => "a FIFO (named pipe)",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        _ => "of an unknown kind",
    }
}

/// What went wrong while an open file was read or written.
pub(crate) fn of_io(error: &std::io::Error, path: &str) -> ToolFailure {
    if error.kind() == std::io::ErrorKind::TimedOut {
        return ToolFailure::new(ErrorCode::Cancelled, format!("Reading {} was stopped.", shown(path)));
    }
    match error.raw_os_error() {
        Some(code) => of_system(Errno::from_raw_os_error(code), path),
        None => ToolFailure::new(ErrorCode::IoError, format!("The system failed on {}: {error}.", shown(path))),
    }
}

/// The refusal of a change to a file that another process changed meanwhile.
pub(crate) fn conflict(path: &str) -> ToolFailure {
    let message = format!("{} was changed by somebody else at the same moment. Read it again first.", shown(path));
    ToolFailure::new(ErrorCode::Conflict, message)
}
