//! A whole file written at once: all of it or nothing.

use super::diff::{self, Difference};
use super::resolve::{LOOK, Last, Spot};
use super::temp::{Made, Temp};
use super::wanted::{self, invalid, shown};
use super::{Workspace, names, trouble};
use crate::clip::grouped;
use crate::{ErrorCode, ToolFailure};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The longest content in bytes.
pub(super) const MOST: usize = 10 << 20;

const BOM: &str = "\u{FEFF}";

/// What writing a file did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Written {
    /// The real name relative to the root.
    pub path: String,
    /// The name as it can be shown on one line: in double quotes with C escapes where it could mislead.
    pub shown: String,
    /// Whether it did not exist before.
    pub created: bool,
    /// Whether anything changed; what is the same already is not written again.
    pub changed: bool,
    /// Size of the file now.
    pub bytes: u64,
    /// Lines added.
    pub added: u64,
    /// Lines removed.
    pub removed: u64,
    /// The change as a unified diff; `None` where it would be too big, or the old file was no text.
    pub diff: Option<String>,
    /// Whether CRLF line endings of the old file were put into the content.
    pub kept_crlf: bool,
    /// Whether the byte order mark of the old file was put before the content.
    pub kept_bom: bool,
    /// Other names the file had, which still hold the old content.
    pub broken_links: u64,
}

impl Workspace {
    /// Writes a file and makes the folders it needs. Mode, CRLF line endings and byte order mark of an old file are kept.
    ///
    /// # Errors
    /// `too_large` over 10 MB; `denied` for blocked and protected names; `permission_denied` outside the root, for
    /// read-only files and where the system refuses; `invalid_argument` for what is not a regular file; `conflict` when
    /// the file changed meanwhile. On any failure every byte is as it was.
    pub fn write(&self, path: &str, content: &str) -> Result<Written, ToolFailure> {
        if content.len() > MOST {
            return Err(too_large(path, content.len()));
        }
        let (spot, name) = self.spot_to_write(path)?;
        match spot.last {
            Last::Folder => Err(trouble::not_a_file(path, FileType::Directory)),
            Last::File(last) => self.replace(path, &spot.folder, &last, &name, content),
            Last::Missing(missing) => self.create(path, spot.folder, &missing, &name, content),
        }
    }

    /// Where a file of this name stands or would stand, if it may be written, and its real name.
    pub(super) fn spot_to_write(&self, path: &str) -> Result<(Spot, String), ToolFailure> {
        let relative = self.relative(path)?;
        self.refuse_unwritable(path, &relative)?;
        let mut spot = self.follow(&relative).map_err(|trouble| self.explain(trouble, path, &relative))?;
        if spot.dangling {
            return Err(invalid(format!(
                "{} is a link to {}, which does not exist. Write to that path itself, or remove the link first.",
                shown(path),
                shown(&names::text_of(&spot.name()))
            )));
        }
        if wanted::names_a_folder(&relative) && spot.last != Last::Folder {
            return Err(invalid(format!("{} names a folder. Give the path of a file.", shown(path))));
        }
        spot.folder_name = self.real_folder(path, &spot.folder, &spot.folder_name)?;
        let name = spot.name();
        self.refuse_unwritable(path, &name)?;
        Ok((spot, names::text_of(&name)))
    }

    /// The name of a folder on its descriptor; `by_hand` is how it was reached.
    pub(super) fn real_folder(&self, path: &str, folder: &OwnedFd, by_hand: &Path) -> Result<PathBuf, ToolFailure> {
        let stat = rustix::fs::fstat(folder).map_err(|errno| trouble::of_system(errno, path))?;
        let by_hand = Some(by_hand.to_owned());
        self.name_of(folder.as_fd(), &stat, by_hand).map_err(|trouble| self.explain(trouble, path, Path::new(path)))
    }

    pub(super) fn refuse_unwritable(&self, path: &str, name: &Path) -> Result<(), ToolFailure> {
        self.refuse_blocked(path, name)?;
        for spelling in names::spellings(&names::text_of(name)) {
            if let Some(rule) = self.rules.protects(&spelling) {
                return Err(trouble::protected(path, rule));
            }
        }
        Ok(())
    }

    fn replace(
        &self,
        path: &str,
        folder: &OwnedFd,
        last: &OsStr,
        name: &str,
        content: &str,
    ) -> Result<Written, ToolFailure> {
        let (old, stat) = self.old_content(path, folder, last)?;
        let old_text = old.as_deref().and_then(|bytes| std::str::from_utf8(bytes).ok());
        let endings = Endings::of(old_text.unwrap_or_default(), content);
        let content = endings.apply(content);
        if old.as_deref() == Some(content.as_bytes()) {
            return Ok(Written {
                path: name.into(),
                shown: names::quoted(name).into(),
                bytes: content.len() as u64,
                ..Written::default()
            });
        }
        let system = |errno: Errno| trouble::of_system(errno, path);
        let temp = Temp::write(folder, content.as_bytes(), Some(&stat)).map_err(|e| trouble::of_io(&e, path))?;
        let now = rustix::fs::statat(folder, last, AtFlags::SYMLINK_NOFOLLOW).map_err(system)?;
        if !is_same(&now, &stat) {
            return Err(conflict(path));
        }
        temp.rename(last, true).map_err(system)?;
        let difference = old_text.map(|old| diff::between(name, Some(old), &content)).unwrap_or_default();
        let written = written(name, &content, difference);
        let broken_links = links_of(&stat).saturating_sub(1);
        Ok(Written { kept_crlf: endings.crlf, kept_bom: endings.bom, broken_links, ..written })
    }

    /// What the file holds now (`None` when it is longer than what may be written), and its state.
    pub(super) fn old_content(
        &self,
        path: &str,
        folder: &OwnedFd,
        last: &OsStr,
    ) -> Result<(Option<Vec<u8>>, Stat), ToolFailure> {
        let system = |errno: Errno| trouble::of_system(errno, path);
        let fd = rustix::fs::openat(folder, last, LOOK | OFlags::NOFOLLOW, Mode::empty()).map_err(system)?;
        let stat = rustix::fs::fstat(&fd).map_err(system)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => {}
            kind => return Err(trouble::not_a_file(path, kind)),
        }
        self.refuse_twin(path, &stat)?;
        if stat.st_mode & 0o222 == 0 {
            return Err(read_only(path));
        }
        let mut bytes = Vec::new();
        File::from(fd).take(MOST as u64 + 1).read_to_end(&mut bytes).map_err(|error| trouble::of_io(&error, path))?;
        Ok(((bytes.len() <= MOST).then_some(bytes), stat))
    }

    fn create(
        &self,
        path: &str,
        folder: OwnedFd,
        missing: &[OsString],
        name: &str,
        content: &str,
    ) -> Result<Written, ToolFailure> {
        let system = |errno: Errno| trouble::of_system(errno, path);
        let Some((last, folders)) = missing.split_last() else {
            return Err(trouble::not_a_file(path, FileType::Directory));
        };
        let (folder, made) = Made::below(folder, folders).map_err(system)?;
        let by_hand = Path::new(name).parent().unwrap_or(Path::new(""));
        self.refuse_unwritable(path, &self.real_folder(path, &folder, by_hand)?.join(last))?;
        let temp = Temp::write(&folder, content.as_bytes(), None).map_err(|error| trouble::of_io(&error, path))?;
        temp.rename(last, false).map_err(|errno| match errno {
            Errno::EXIST => conflict(path),
            errno => system(errno),
        })?;
        made.keep();
        let written = written(name, content, diff::between(name, None, content));
        Ok(Written { created: true, ..written })
    }
}

fn written(name: &str, content: &str, difference: Difference) -> Written {
    Written {
        path: name.into(),
        shown: names::quoted(name).into(),
        changed: true,
        bytes: content.len() as u64,
        added: difference.added,
        removed: difference.removed,
        diff: difference.unified,
        ..Written::default()
    }
}

/// What of the old file's form goes into the new content.
#[derive(Clone, Copy)]
struct Endings {
    crlf: bool,
    bom: bool,
}

impl Endings {
    fn of(old: &str, new: &str) -> Endings {
        let all = memchr::memchr_iter(b'\n', old.as_bytes()).count();
        let crlf = all > 0 && old.matches("\r\n").count() == all;
        Endings {
            crlf: crlf && memchr::memchr(b'\r', new.as_bytes()).is_none() && new.contains('\n'),
            bom: old.starts_with(BOM) && !new.starts_with(BOM),
        }
    }

    fn apply(self, content: &str) -> String {
        let bom = if self.bom { BOM } else { "" };
        if self.crlf { format!("{bom}{}", content.replace('\n', "\r\n")) } else { format!("{bom}{content}") }
    }
}

pub(super) fn is_same(a: &Stat, b: &Stat) -> bool {
    (a.st_dev, a.st_ino, a.st_size, a.st_mtime, a.st_mtime_nsec)
        == (b.st_dev, b.st_ino, b.st_size, b.st_mtime, b.st_mtime_nsec)
}

#[allow(clippy::unnecessary_cast, reason = "the types of these fields differ between systems")]
fn links_of(stat: &Stat) -> u64 {
    stat.st_nlink as u64
}

pub(super) fn too_large(path: &str, bytes: usize) -> ToolFailure {
    let message = format!(
        "The content for {} has {} bytes; {} are the most. Write it in parts, or with a command.",
        shown(path),
        grouped(bytes as u64),
        grouped(MOST as u64)
    );
    ToolFailure::new(ErrorCode::TooLarge, message)
}

fn read_only(path: &str) -> ToolFailure {
    let message = format!("{} is read-only. Ask before changing its mode with chmod.", shown(path));
    ToolFailure::new(ErrorCode::PermissionDenied, message)
}

pub(super) fn conflict(path: &str) -> ToolFailure {
    let message = format!("{} was changed by somebody else at the same moment. Read it again first.", shown(path));
    ToolFailure::new(ErrorCode::Conflict, message)
}
