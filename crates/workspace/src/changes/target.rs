//! A file in its state before a change, and the properties that its replacement keeps.

use crate::attributes::{self, Attributes, Like, MOST_CARRIED};
use crate::root::path_arg::quoted;
use crate::root::resolve::{LOOK, Last, Spot};
use crate::root::{Root, not_a_file, of_io, of_system};
use rustix::fs::{FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::fs::File;
use std::io::Read;
use toolfence_protocol::{ErrorCode, ToolFailure, text};

/// A file, or the place where it would be created, as it was found.
#[derive(Debug)]
pub(super) struct Target {
    /// The path as it was requested.
    pub(super) path: String,
    pub(super) spot: Spot,
    /// The file in that place, if it exists.
    pub(super) old: Option<Old>,
}

/// The properties of a file, without its content, as they were found.
#[derive(Debug, Clone)]
pub(super) struct Old {
    pub(super) stat: Stat,
    attributes: Attributes,
}

/// The content of a file as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Content {
    /// There is no file.
    Nothing,
    /// All bytes of the file.
    Bytes(Vec<u8>),
    /// The file is too long to be edited and was not read.
    TooLong,
}

impl Target {
    /// Finds the file that `path` names, or the place where it would be created, if it may be written. Also returns its
    /// real name, and its content if it has at most `most` bytes.
    pub(super) fn find(root: &Root, most: u64, path: &str) -> Result<(Target, String, Content), ToolFailure> {
        let (spot, name) = root.spot_to_write(path)?;
        let (content, old) = match &spot.last {
            Last::Folder => return Err(not_a_file(path, FileType::Directory)),
            Last::Missing(_) => (Content::Nothing, None),
            Last::File(_) => {
                let (content, old) = Old::read(root, most, path, &spot)?;
                (content, Some(old))
            }
        };
        Ok((Target { path: path.to_owned(), spot, old }, name, content))
    }

    pub(super) fn stat(&self) -> Option<&Stat> {
        self.old.as_ref().map(|old| &old.stat)
    }

    /// Returns the number of folders to be created for the file.
    pub(super) fn missing_folders(&self) -> usize {
        match &self.spot.last {
            Last::Missing(missing) => missing.len().saturating_sub(1),
            Last::File(_) | Last::Folder => 0,
        }
    }
}

impl Old {
    /// Reads the content and the properties of a file.
    fn read(root: &Root, most: u64, path: &str, spot: &Spot) -> Result<(Content, Old), ToolFailure> {
        let system = |errno: Errno| of_system(errno, path);
        let Last::File(last) = &spot.last else { return Err(system(Errno::NOENT)) };
        let fd = rustix::fs::openat(&spot.folder, last, LOOK | OFlags::NOFOLLOW, Mode::empty()).map_err(system)?;
        let stat = rustix::fs::fstat(&fd).map_err(system)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => {}
            kind => return Err(not_a_file(path, kind)),
        }
        root.refuse_twin(path, &stat)?;
        // A rename would replace the file without write permission for it, so its mode is checked here.
        if stat.st_mode & 0o222 == 0 {
            return Err(read_only(path));
        }
        let attributes = attributes::read(&fd, MOST_CARRIED).ok_or_else(|| not_carried(path))?;
        let mut bytes = Vec::new();
        File::from(fd).take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(|error| of_io(&error, path))?;
        let content = if bytes.len() as u64 <= most { Content::Bytes(bytes) } else { Content::TooLong };
        Ok((content, Old { stat, attributes }))
    }

    /// Returns the properties that a replacement of this file keeps.
    pub(super) fn like(&self) -> Like {
        Like::new(&self.stat, self.attributes.clone())
    }
}

fn not_carried(path: &str) -> ToolFailure {
    ToolFailure::new(
        ErrorCode::PermissionDenied,
        text!(
            "{path} has extended attributes that cannot be read, or more than {most} MB of them, and would lose them. \
             Change it with a command that writes into the file.",
            path = quoted(path),
            most = MOST_CARRIED >> 20
        ),
    )
}

fn read_only(path: &str) -> ToolFailure {
    ToolFailure::new(
        ErrorCode::PermissionDenied,
        text!("{path} is read-only. Ask before changing its mode with chmod.", path = quoted(path)),
    )
}
