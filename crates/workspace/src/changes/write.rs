//! A whole file written at once: all of it or nothing.

use crate::attributes;
use crate::attributes::{Attributes, Like, MOST_CARRIED};
use crate::changes::journal::Journal;
use crate::changes::record::Coming;
use crate::changes::temp::{Home, Made, Onto, Temp, is_content_of};
use crate::diff;
use crate::diff::Difference;
use crate::root::failures;
use crate::root::path_arg;
use crate::root::path_arg::{invalid, shown};
use crate::root::resolve::{LOOK, Last, Spot};
use crate::version::Version;
use crate::{Workspace, names};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use toolfence_protocol::clip::grouped;
use toolfence_protocol::{ErrorCode, ToolFailure};

/// The longest content in bytes.
pub(crate) const MOST: usize = 10 << 20;

const BOM: &str = "\u{FEFF}";

/// What became of a file that was written, edited or had a passage replaced.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Written {
    /// The real name relative to the root.
    pub path: String,
    /// The name as it can be shown on one line: in double quotes with C escapes where it could mislead.
    pub shown: String,
    /// Whether it did not exist before.
    pub created: bool,
    /// Whether anything changed, or would without a dry run; what is the same already is not written again.
    pub changed: bool,
    /// Size of the new content.
    pub bytes: u64,
    /// Lines added.
    pub added: u64,
    /// Lines removed.
    pub removed: u64,
    /// The first line that is not as it was, from 1; 0 where all are, or the old file was no text.
    pub first_line: u64,
    /// The change as a unified diff; `None` where it would be too big, or the old file was no text.
    pub diff: Option<String>,
    /// Whether CRLF line endings of the old file were put into the content.
    pub kept_crlf: bool,
    /// Whether the byte order mark of the old file was put before the content.
    pub kept_bom: bool,
    /// Other names the file had, which still hold the old content.
    pub broken_links: u64,
    /// What the system would not let the new file have of the old one: its access control list, an attribute by its name.
    /// Where it is something that kept people out, the file is closed to them by its mode.
    pub lost: Vec<String>,
    /// The content before; `None` where there was no file, or one of more than 10 MB.
    pub before: Option<Version>,
    /// The content after; `None` before anything was written.
    pub after: Option<Version>,
}

impl Workspace {
    /// Writes a file and makes the folders it needs. Mode, CRLF line endings and byte order mark of an old file are kept.
    ///
    /// # Errors
    /// `too_large` over 10 MB; `denied` for blocked and protected names; `permission_denied` outside the root, for
    /// read-only files and where the system refuses; `invalid_argument` for what is not a regular file; `conflict` when
    /// the file changed meanwhile. On any failure every byte is as it was.
    pub fn write(&self, path: &str, content: &str) -> Result<Written, ToolFailure> {
        self.write_over(path, content, None)
    }

    /// The same, if the file still has the content that somebody saw.
    ///
    /// # Errors
    /// As for [`write`](Workspace::write), and `conflict` when there is a file with other content than `base`.
    pub fn write_over(&self, path: &str, content: &str, base: Option<Version>) -> Result<Written, ToolFailure> {
        let (spot, name) = self.spot_for(path, content)?;
        match &spot.last {
            Last::Folder => Err(failures::not_a_file(path, FileType::Directory)),
            Last::File(_) => self.replace(path, &spot, &name, content, base),
            Last::Missing(missing) => {
                self.refuse_loose(path, &spot)?;
                self.create(path, &spot, missing, &name, content)
            }
        }
    }

    /// Where this content may be written.
    pub(crate) fn spot_for(&self, path: &str, content: &str) -> Result<(Spot, String), ToolFailure> {
        if content.len() > MOST {
            return Err(too_large(path, content.len()));
        }
        self.spot_to_write(path)
    }

    /// Where a file of this name stands or would stand, if it may be written, and its real name.
    pub(crate) fn spot_to_write(&self, path: &str) -> Result<(Spot, String), ToolFailure> {
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
        if path_arg::names_a_folder(&relative) && spot.last != Last::Folder {
            return Err(invalid(format!("{} names a folder. Give the path of a file.", shown(path))));
        }
        spot.folder_name = self.real_folder(path, &spot.folder, &spot.folder_name)?;
        let name = spot.name();
        self.refuse_unwritable(path, &name)?;
        Ok((spot, names::text_of(&name)))
    }

    /// The name of a folder on its descriptor; `by_hand` is how it was reached.
    pub(crate) fn real_folder(&self, path: &str, folder: &OwnedFd, by_hand: &Path) -> Result<PathBuf, ToolFailure> {
        let stat = rustix::fs::fstat(folder).map_err(|errno| failures::of_system(errno, path))?;
        let by_hand = Some(by_hand.to_owned());
        self.name_of(folder.as_fd(), &stat, by_hand).map_err(|trouble| self.explain(trouble, path, Path::new(path)))
    }

    pub(crate) fn refuse_unwritable(&self, path: &str, name: &Path) -> Result<(), ToolFailure> {
        self.refuse_blocked(path, name)?;
        for spelling in names::spellings(&names::text_of(name)) {
            if let Some(rule) = self.rules.protects(&spelling) {
                return Err(failures::protected(path, rule));
            }
        }
        Ok(())
    }

    fn replace(
        &self,
        path: &str,
        spot: &Spot,
        name: &str,
        content: &str,
        base: Option<Version>,
    ) -> Result<Written, ToolFailure> {
        let Over { old, found, content, endings } = self.over(path, spot, content, base)?;
        let before = old.as_deref().map(Version::of);
        let written = Written { before, ..written(name, old.as_deref(), content.as_bytes()) };
        if !written.changed {
            return Ok(written);
        }
        let lost = self.put(path, spot, &found, content.as_bytes())?;
        let broken_links = other_names(&found.stat);
        Ok(Written { kept_crlf: endings.crlf, kept_bom: endings.bom, broken_links, lost, ..written })
    }

    /// What would stand in the place of a file.
    pub(crate) fn over(
        &self,
        path: &str,
        spot: &Spot,
        content: &str,
        base: Option<Version>,
    ) -> Result<Over, ToolFailure> {
        let (old, found) = self.old_content(path, spot)?;
        if let (Some(base), Some(old)) = (base, &old)
            && base != Version::of(old)
        {
            return Err(stale(path));
        }
        let old_text = old.as_deref().and_then(|bytes| std::str::from_utf8(bytes).ok());
        let endings = Endings::of(old_text.unwrap_or_default(), content);
        Ok(Over { content: endings.apply(content), old, found, endings })
    }

    /// New content in the place of a file that still is as it was found. Gives what it could not have of the old one.
    pub(crate) fn put(&self, path: &str, spot: &Spot, old: &Old, content: &[u8]) -> Result<Vec<String>, ToolFailure> {
        let Last::File(last) = &spot.last else { return Err(conflict(path)) };
        let system = |errno: Errno| failures::of_system(errno, path);
        let journal = Journal::begin(self);
        let home = Home { folder: &spot.folder, name: &spot.folder_name, journal: &journal };
        let stat = &old.stat;
        let temp = Temp::write(home, content, Some(&old.like())).map_err(|error| failures::of_io(&error, path))?;
        let now = rustix::fs::statat(&spot.folder, last, AtFlags::SYMLINK_NOFOLLOW).map_err(system)?;
        if !is_same(&now, stat) {
            return Err(conflict(path));
        }
        let coming = Coming::onto(home, last, Some(stat), Some((content, &temp)));
        let recording = self.record([coming], &[]);
        let lost = temp.lost().to_vec();
        temp.rename(last, Onto::This(stat)).map_err(|errno| not_put(errno, path))?;
        recording.keep();
        Ok(lost)
    }

    /// What the file holds now (`None` when it is longer than what may be written), and what it is beside that.
    pub(crate) fn old_content(&self, path: &str, spot: &Spot) -> Result<(Option<Vec<u8>>, Old), ToolFailure> {
        let system = |errno: Errno| failures::of_system(errno, path);
        let Last::File(last) = &spot.last else { return Err(system(Errno::NOENT)) };
        let fd = rustix::fs::openat(&spot.folder, last, LOOK | OFlags::NOFOLLOW, Mode::empty()).map_err(system)?;
        let stat = rustix::fs::fstat(&fd).map_err(system)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => {}
            kind => return Err(failures::not_a_file(path, kind)),
        }
        self.refuse_twin(path, &stat)?;
        if stat.st_mode & 0o222 == 0 {
            return Err(read_only(path));
        }
        let attributes = attributes::read(&fd, MOST_CARRIED).ok_or_else(|| not_carried(path))?;
        let mut bytes = Vec::new();
        File::from(fd).take(MOST as u64 + 1).read_to_end(&mut bytes).map_err(|error| failures::of_io(&error, path))?;
        Ok(((bytes.len() <= MOST).then_some(bytes), Old { stat, attributes }))
    }

    fn create(
        &self,
        path: &str,
        spot: &Spot,
        missing: &[OsString],
        name: &str,
        content: &str,
    ) -> Result<Written, ToolFailure> {
        let system = |errno: Errno| failures::of_system(errno, path);
        let Some((last, folders)) = missing.split_last() else {
            return Err(failures::not_a_file(path, FileType::Directory));
        };
        let journal = Journal::begin(self);
        let above = Home { folder: &spot.folder, name: &spot.folder_name, journal: &journal };
        let (folder, made) = Made::below(above, folders).map_err(system)?;
        let folder_name = self.real_folder(path, &folder, Path::new(name).parent().unwrap_or(Path::new("")))?;
        self.refuse_unwritable(path, &folder_name.join(last))?;
        let home = Home { folder: &folder, name: &folder_name, journal: &journal };
        let temp = Temp::write(home, content.as_bytes(), None).map_err(|error| failures::of_io(&error, path))?;
        let coming = Coming::onto(home, last, None, Some((content.as_bytes(), &temp)));
        let recording = self.record([coming], &[&made]);
        temp.rename(last, Onto::Nothing).map_err(|errno| not_put(errno, path))?;
        recording.keep();
        made.keep();
        Ok(Written { created: true, changed: true, ..written(name, None, content.as_bytes()) })
    }
}

/// What has become, or would become, of a file.
pub(crate) fn written(name: &str, old: Option<&[u8]>, content: &[u8]) -> Written {
    let changed = old != Some(content);
    let difference = if changed { diff::between(name, old, content) } else { Difference::default() };
    Written {
        path: name.into(),
        shown: names::quoted(name).into(),
        changed,
        bytes: content.len() as u64,
        added: difference.added,
        removed: difference.removed,
        first_line: difference.first,
        diff: difference.unified,
        after: Some(Version::of(content)),
        ..Written::default()
    }
}

/// New content for the place of a file, and what is there.
pub(crate) struct Over {
    /// `None` when it is longer than what may be written.
    pub(crate) old: Option<Vec<u8>>,
    pub(crate) found: Old,
    pub(crate) content: String,
    endings: Endings,
}

/// What a file is beside its content, as it was found.
#[derive(Debug, Clone)]
pub(crate) struct Old {
    pub(crate) stat: Stat,
    pub(crate) attributes: Attributes,
}

impl Old {
    /// What a file in its place takes of it.
    pub(crate) fn like(&self) -> Like {
        Like::of(&self.stat, self.attributes.clone())
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

/// Whether nobody has changed a file in between; the time of its last change of any kind cannot be set back.
pub(crate) fn is_same(a: &Stat, b: &Stat) -> bool {
    is_content_of(a, b) && (a.st_ctime, a.st_ctime_nsec) == (b.st_ctime, b.st_ctime_nsec)
}

/// How many names a file has beside the one by which it was found.
#[allow(clippy::unnecessary_cast, reason = "the types of these fields differ between systems")]
pub(crate) fn other_names(stat: &Stat) -> u64 {
    (stat.st_nlink as u64).saturating_sub(1)
}

/// Why a file could not be put in its place.
pub(crate) fn not_put(errno: Errno, path: &str) -> ToolFailure {
    match errno {
        Errno::EXIST | Errno::STALE => conflict(path),
        errno => failures::of_system(errno, path),
    }
}

pub(crate) fn too_large(path: &str, bytes: usize) -> ToolFailure {
    let message = format!(
        "The content for {} has {} bytes; {} are the most. Write it in parts, or with a command.",
        shown(path),
        grouped(bytes as u64),
        grouped(MOST as u64)
    );
    ToolFailure::new(ErrorCode::TooLarge, message)
}

fn not_carried(path: &str) -> ToolFailure {
    let message = format!(
        "{} has extended attributes that cannot be read, or more than {} MB of them, and would lose them. Change it with a \
         command that writes into the file.",
        shown(path),
        MOST_CARRIED >> 20
    );
    ToolFailure::new(ErrorCode::PermissionDenied, message)
}

fn read_only(path: &str) -> ToolFailure {
    let message = format!("{} is read-only. Ask before changing its mode with chmod.", shown(path));
    ToolFailure::new(ErrorCode::PermissionDenied, message)
}

/// The file is not what was seen.
pub(crate) fn stale(path: &str) -> ToolFailure {
    let message = format!(
        "{} has changed since it was last read, so nothing was done: lines may have moved. Read it again, and put all \
         edits of one file into one call.",
        shown(path)
    );
    ToolFailure::new(ErrorCode::Conflict, message)
}

pub(crate) fn conflict(path: &str) -> ToolFailure {
    let message = format!("{} was changed by somebody else at the same moment. Read it again first.", shown(path));
    ToolFailure::new(ErrorCode::Conflict, message)
}
