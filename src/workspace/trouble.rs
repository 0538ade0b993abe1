//! What the model is told when a path leads nowhere, and what it can do about it.

use super::links::Unknown;
use super::resolve::{Last, Trouble};
use super::wanted::{self, invalid, shown};
use super::{Workspace, folder, names};
use crate::{ErrorCode, ToolFailure, close_names};
use rustix::fd::AsFd;
use rustix::fs::FileType;
use rustix::io::Errno;
use std::path::{Path, PathBuf};

/// Entries of a folder that are looked at for a close name.
const MOST_NEIGHBOURS: usize = 10_000;

impl Workspace {
    /// Why `path` (as written; `relative` as read) could not be opened.
    pub(super) fn explain(&self, trouble: Trouble, path: &str, relative: &Path) -> ToolFailure {
        match trouble {
            Trouble::Outside => self.with_relative_spelling(wanted::outside(path), path),
            Trouble::Sys(Errno::NOENT) => self.missing(path, relative),
            Trouble::Sys(errno) => of_system(errno, path),
        }
    }

    /// An absolute path that the model remembers from elsewhere often ends in one that exists here.
    pub(super) fn with_relative_spelling(&self, failure: ToolFailure, path: &str) -> ToolFailure {
        /// Deeper paths are guesses nobody needs.
        const MOST: usize = 16;
        if failure.code != ErrorCode::PermissionDenied {
            return failure;
        }
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != "..").collect();
        let mut endings = (1..parts.len()).take(MOST).map(|from| parts[from..].join("/"));
        let inside = endings.find(|ending| self.exists(Path::new(ending)));
        failure.suggest([inside.unwrap_or_else(|| ".".into())])
    }

    /// Whether something that no rule blocks is there.
    fn exists(&self, relative: &Path) -> bool {
        let blocked = |name: &Path| self.blocks(&names::text_of(name)).is_some();
        !blocked(relative) && self.open_relative(relative).is_ok_and(|opened| !blocked(&opened.name))
    }

    fn missing(&self, path: &str, relative: &Path) -> ToolFailure {
        let close = self.close_to(relative).unwrap_or_default();
        let hint = match close.first() {
            Some(name) => format!("Did you mean {}?", shown(name)),
            None => "Use list_files to see what is there.".into(),
        };
        ToolFailure::new(ErrorCode::NotFound, format!("{} does not exist. {hint}", shown(path))).suggest(close)
    }

    /// Up to three paths that exist and differ from the wanted one in the first name that does not.
    fn close_to(&self, relative: &Path) -> Option<Vec<String>> {
        let spot = self.follow(relative).ok()?;
        let Last::Missing(missing) = &spot.last else { return None };
        let (wanted, rest) = missing.split_first()?;
        let items = folder::items(spot.folder.as_fd(), MOST_NEIGHBOURS).ok()?.0;
        let here = |name: &str| names::text_of(&spot.folder_name.join(name));
        let neighbours: Vec<&str> = items
            .iter()
            .filter_map(|item| item.name.to_str())
            .filter(|name| self.blocks(&here(name)).is_none())
            .collect();
        let close = close_names(&wanted.to_string_lossy(), neighbours);
        Some(close.iter().map(|name| self.with_rest(&here(name), rest)).collect())
    }

    /// `folder` and the rest of what was wanted, as far as it exists there.
    fn with_rest(&self, folder: &str, rest: &[std::ffi::OsString]) -> String {
        let whole: PathBuf = rest.iter().fold(PathBuf::from(folder), |path, name| path.join(name));
        if self.exists(&whole) { names::text_of(&whole) } else { folder.to_owned() }
    }
}

/// Why a folder that was there a moment ago cannot be walked.
pub(super) fn of_start(errno: Errno, path: &str) -> ToolFailure {
    if errno == Errno::NOENT {
        let message = format!("{} was removed at the same moment. Use list_files to see what is there.", shown(path));
        return ToolFailure::new(ErrorCode::NotFound, message);
    }
    of_system(errno, path)
}

/// What the system said, in words.
pub(super) fn of_system(errno: Errno, path: &str) -> ToolFailure {
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

pub(super) fn root_gone(root: &Path) -> ToolFailure {
    let message = format!(
        "The project root {} was removed while it was in use, so no tool can do anything. Tell the user.",
        shown(&names::text_of(root))
    );
    ToolFailure::new(ErrorCode::IoError, message)
}

pub(super) fn blocked(path: &str, rule: &str) -> ToolFailure {
    let message = format!(
        "{} is blocked by the rule {rule:?}: it may hold secrets. Do without it, or ask the user for what you need.",
        shown(path)
    );
    ToolFailure::new(ErrorCode::Denied, message)
}

pub(super) fn blocked_twin(path: &str, twin: &str) -> ToolFailure {
    let message = format!(
        "{} is a hard link of {}, which is blocked. Do without it, or ask the user for what you need.",
        shown(path),
        shown(twin)
    );
    ToolFailure::new(ErrorCode::Denied, message)
}

pub(super) fn twin_unknown(path: &str, unknown: Unknown) -> ToolFailure {
    let message = format!(
        "{} has several names (hard links), and the project has more than {} entries, too many to make sure that none \
         of them is blocked. Copy it to a new file and use that.",
        shown(path),
        unknown.most
    );
    ToolFailure::new(ErrorCode::Denied, message)
}

pub(super) fn protected(path: &str, rule: &str) -> ToolFailure {
    let message = format!(
        "{} is protected by the rule {rule:?}: tools may read it but never change it. Ask the user to do it.",
        shown(path)
    );
    ToolFailure::new(ErrorCode::Denied, message)
}

pub(super) fn not_a_file(path: &str, kind: FileType) -> ToolFailure {
    if kind == FileType::Directory {
        let message = format!("{} is a folder, not a file. Use list_files to see what is in it.", shown(path));
        return invalid(message).suggest([format!("list_files with path {}", shown(path))]);
    }
    invalid(format!("{} is {}, not a file. Tools open only regular files.", shown(path), kind_name(kind)))
}

pub(super) fn not_a_folder(path: &str, kind: FileType) -> ToolFailure {
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
pub(super) fn of_io(error: &std::io::Error, path: &str) -> ToolFailure {
    if error.kind() == std::io::ErrorKind::TimedOut {
        return ToolFailure::new(ErrorCode::Cancelled, format!("Reading {} was stopped.", shown(path)));
    }
    match error.raw_os_error() {
        Some(code) => of_system(Errno::from_raw_os_error(code), path),
        None => ToolFailure::new(ErrorCode::IoError, format!("The system failed on {}: {error}.", shown(path))),
    }
}
