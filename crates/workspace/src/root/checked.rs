//! An open file, checked again on its descriptor: where it really is, what it is, and whether a rule blocks it.

use crate::root::path_arg::{invalid, shown};
use crate::root::resolve;
use crate::root::resolve::{Last, Spot, Trouble};
use crate::root::twins::Twins;
use crate::root::{failures, path_arg};
use crate::{Workspace, names};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, Stat};
use rustix::io::Errno;
use std::path::{Path, PathBuf};
use toolfence_protocol::ToolFailure;
use toolfence_protocol::clip::is_blank;

/// A file or folder that was found inside, is not blocked, and is what it was asked to be.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) fd: OwnedFd,
    pub(crate) stat: Stat,
    /// Relative to the root, without links; "" is the root.
    pub(crate) name: PathBuf,
}

impl Opened {
    pub(crate) fn kind(&self) -> FileType {
        FileType::from_raw_mode(self.stat.st_mode)
    }

    pub(crate) fn size(&self) -> u64 {
        u64::try_from(self.stat.st_size).unwrap_or(0)
    }
}

impl Workspace {
    /// Opens the regular file that a model's string names.
    pub(crate) fn open_file(&self, path: &str) -> Result<Opened, ToolFailure> {
        let opened = self.open_any(path)?;
        match opened.kind() {
            FileType::RegularFile => Ok(opened),
            kind => Err(failures::not_a_file(path, kind)),
        }
    }

    /// Opens the folder that a model's string names.
    pub(crate) fn open_folder(&self, path: &str) -> Result<Opened, ToolFailure> {
        let opened = self.open_any(path)?;
        match opened.kind() {
            FileType::Directory => Ok(opened),
            kind => Err(failures::not_a_folder(path, kind)),
        }
    }

    /// Opens whatever a model's string names, if no rule blocks it.
    pub(crate) fn open_any(&self, path: &str) -> Result<Opened, ToolFailure> {
        let relative = self.relative(path)?;
        self.refuse_blocked(path, &relative)?;
        let opened = self.open_relative(&relative).map_err(|trouble| self.explain(trouble, path, &relative))?;
        tracing::debug!(asked = path, real = %opened.name.display(), "opened");
        if let Some(rule) = self.blocks_opened(&opened) {
            return Err(failures::blocked(path, &rule));
        }
        self.refuse_twin(path, &opened.stat)?;
        Ok(opened)
    }

    /// A model's string relative to the root, if there still is a root.
    pub(crate) fn relative(&self, path: &str) -> Result<PathBuf, ToolFailure> {
        if self.is_gone() {
            return Err(failures::root_gone(&self.canonical));
        }
        if !path.is_empty() && is_blank(path) {
            let message =
                format!("The path is blank: {} holds only white space. Give a path, such as src/main.rs.", shown(path));
            return Err(invalid(message));
        }
        let relative = path_arg::relative(path, &self.spellings());
        tracing::debug!(root = %self.canonical.display(), asked = path, ?relative, "path");
        relative.map_err(|failure| self.with_relative_spelling(failure, path))
    }

    /// Whether the root was removed. The system still lists such a folder, as an empty one.
    pub(crate) fn is_gone(&self) -> bool {
        let Ok(stat) = rustix::fs::fstat(&self.root) else { return true };
        let there = |path: &Path| rustix::fs::stat(path).is_ok_and(|now| is_one(&now, &stat));
        if there(&self.canonical) {
            return false;
        }
        // It may have been renamed. Not every file system counts the names of a folder; the kernel's word says it too.
        let deleted = |path: PathBuf| is_called_deleted(&path) && !there(&path);
        stat.st_nlink == 0 || resolve::path_of(self.root.as_fd()).is_ok_and(deleted)
    }

    /// Opens a relative path without asking the rules.
    pub(crate) fn open_relative(&self, relative: &Path) -> Result<Opened, Trouble> {
        let (fd, by_hand) = resolve::open(self.root.as_fd(), &self.spellings(), relative)?;
        let stat = rustix::fs::fstat(&fd)?;
        let name = self.name_of(fd.as_fd(), &stat, by_hand)?;
        Ok(Opened { fd, stat, name })
    }

    /// Refuses to make a file or a folder whose name has white space at an end: it is a slip, and nobody sees the name it
    /// leaves behind. What exists under such a name can be read and changed.
    pub(crate) fn refuse_loose(&self, path: &str, spot: &Spot) -> Result<(), ToolFailure> {
        let Last::Missing(missing) = &spot.last else { return Ok(()) };
        let missing: Vec<_> = missing.iter().map(|name| name.to_string_lossy()).collect();
        let trimmed: Vec<&str> = missing.iter().map(|name| trimmed(name)).collect();
        if missing.iter().zip(&trimmed).all(|(name, trimmed)| name == trimmed) {
            return Ok(());
        }
        let problem = format!("{} has white space at an end of a name, so it was not made.", shown(path));
        if trimmed.contains(&"") {
            return Err(invalid(format!("{problem} Give a name that is not blank.")));
        }
        let meant = trimmed.iter().fold(spot.folder_name.clone(), |folder, name| folder.join(name));
        let name = names::text_of(&meant);
        let there = self.blocks(&name).is_none() && self.open_relative(&meant).is_ok();
        Err(if there {
            invalid(format!("{problem} Did you mean {}, which exists?", shown(&name))).suggest([name])
        } else {
            invalid(format!("{problem} Write it without: {}.", shown(&name)))
        })
    }

    pub(crate) fn follow(&self, relative: &Path) -> Result<Spot, Trouble> {
        resolve::follow(self.root.as_fd(), &self.spellings(), relative)
    }

    /// The link that a relative path goes by, relative to the root: see [`Facts::link`](toolfence_policy::Facts::link).
    pub(crate) fn link_of(&self, relative: &Path) -> Option<String> {
        resolve::link_of(self.root.as_fd(), &self.spellings(), relative).map(|link| names::text_of(&link))
    }

    /// The name of an open file relative to the root, as the kernel has it now. Without /proc it is the name by which
    /// it was reached by hand, which had no links in it.
    pub(crate) fn name_of(
        &self,
        fd: BorrowedFd<'_>,
        stat: &Stat,
        by_hand: Option<PathBuf>,
    ) -> Result<PathBuf, Trouble> {
        let (root, path) = match (resolve::path_of(self.root.as_fd()), resolve::path_of(fd)) {
            (Ok(root), Ok(path)) => (root, path),
            (Err(errno), _) | (_, Err(errno)) => return by_hand.ok_or(Trouble::Sys(errno)),
        };
        let name = path.strip_prefix(&root).map_err(|_| Trouble::Outside)?.to_owned();
        self.refuse_deleted(&name, stat)?;
        Ok(name)
    }

    /// The kernel adds " (deleted)" to the name of a file that is gone, and then the name says nothing to the rules.
    fn refuse_deleted(&self, name: &Path, stat: &Stat) -> Result<(), Trouble> {
        if !is_called_deleted(name) {
            return Ok(());
        }
        let there = rustix::fs::statat(&self.root, name, AtFlags::SYMLINK_NOFOLLOW)?;
        if is_one(&there, stat) { Ok(()) } else { Err(Errno::NOENT.into()) }
    }

    /// Refuses a name that a rule blocks, in any spelling.
    pub(crate) fn refuse_blocked(&self, path: &str, name: &Path) -> Result<(), ToolFailure> {
        match self.blocks(&names::text_of(name)) {
            Some(rule) => Err(failures::blocked(path, &rule)),
            None => Ok(()),
        }
    }

    /// Refuses a file that is also a blocked one, under another name.
    pub(crate) fn refuse_twin(&self, path: &str, stat: &Stat) -> Result<(), ToolFailure> {
        if !Twins::possible(stat) {
            return Ok(());
        }
        match Twins::of(self).find(stat) {
            Ok(None) => Ok(()),
            Ok(Some(twin)) => Err(failures::blocked_twin(path, twin)),
            Err(unknown) => Err(failures::twin_unknown(path, unknown)),
        }
    }
}

/// A name without the white space at its ends, and the marks that take no room.
fn trimmed(name: &str) -> &str {
    name.trim_matches(|c: char| is_blank(c.encode_utf8(&mut [0; 4])))
}

fn is_called_deleted(name: &Path) -> bool {
    name.as_os_str().as_encoded_bytes().ends_with(b" (deleted)")
}

fn is_one(a: &Stat, b: &Stat) -> bool {
    (a.st_dev, a.st_ino) == (b.st_dev, b.st_ino)
}
