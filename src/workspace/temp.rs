//! A file that is not there until it is whole.
//!
//! It is written under a name nobody can guess in the folder where it will stay, and renamed over the old one. Whatever
//! goes wrong before that, it is taken away again, with the folders that were made for it.

use super::journal::Journal;
use super::{fault, resolve};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, Mode, OFlags, RawMode, Stat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

/// The mode of a new file before the umask.
const NEW: RawMode = 0o666;

/// Where something is written: an open folder, its name relative to the root, and the journal of the change.
#[derive(Clone, Copy)]
pub(super) struct Home<'f> {
    pub(super) folder: &'f OwnedFd,
    pub(super) name: &'f Path,
    pub(super) journal: &'f Journal,
}

/// Folders made on the way; they are taken away again unless [`keep`](Made::keep) is called.
pub(super) struct Made {
    /// Each with the folder it stands in, outermost first.
    folders: Vec<(OwnedFd, OsString)>,
}

impl Made {
    /// Makes `names` one in the other and gives the innermost. A folder that somebody else makes at the same moment is
    /// taken as it is, but a link is not.
    pub(super) fn below(home: Home<'_>, names: &[OsString]) -> Result<(OwnedFd, Made), Errno> {
        let mut made = Made { folders: Vec::new() };
        let mut here = rustix::io::fcntl_dupfd_cloexec(home.folder, 0)?;
        let mut path = home.name.to_owned();
        for name in names {
            path.push(name);
            home.journal.folder(&path);
            let fresh = match rustix::fs::mkdirat(&here, name, Mode::from_raw_mode(0o777)) {
                Ok(()) => true,
                Err(Errno::EXIST) => false,
                Err(errno) => return Err(errno),
            };
            let next = rustix::fs::openat(&here, name, resolve::PASS, Mode::empty())?;
            let above = std::mem::replace(&mut here, next);
            if fresh {
                made.folders.push((above, name.clone()));
            }
        }
        Ok((here, made))
    }

    pub(super) fn keep(mut self) {
        self.folders.clear();
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        while let Some((above, name)) = self.folders.pop() {
            fault::point();
            // One that is in use by now stays.
            let _ = rustix::fs::unlinkat(&above, &name, AtFlags::REMOVEDIR);
        }
    }
}

/// The new content beside the old one.
pub(super) struct Temp<'f> {
    folder: &'f OwnedFd,
    name: String,
    file: File,
    renamed: bool,
}

impl<'f> Temp<'f> {
    /// Writes `content` beside where it will be. Mode and owner are those of the file it will replace.
    pub(super) fn write(home: Home<'f>, content: &[u8], replaces: Option<&Stat>) -> io::Result<Temp<'f>> {
        let name = home.journal.temporary(home.name)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // Nobody may open it before it has the owner and mode of the file it replaces.
        let mode = Mode::from_raw_mode(if replaces.is_some() { 0o600 } else { NEW });
        fault::point();
        let file = File::from(rustix::fs::openat(home.folder, &name, flags, mode)?);
        let mut temp = Temp { folder: home.folder, name, file, renamed: false };
        for piece in content.chunks(fault::PIECE) {
            fault::point();
            temp.file.write_all(piece)?;
        }
        if let Some(stat) = replaces {
            temp.take_after(stat)?;
        }
        fault::point();
        temp.file.sync_all()?;
        Ok(temp)
    }

    /// A second name of a file that is about to be replaced, so that it can come back; where the file system has no such
    /// names, a copy.
    pub(super) fn link(home: Home<'f>, old: &OsStr) -> io::Result<Temp<'f>> {
        let file = File::from(rustix::fs::openat(home.folder, old, resolve::LOOK | OFlags::NOFOLLOW, Mode::empty())?);
        let name = home.journal.temporary(home.name)?;
        fault::point();
        if rustix::fs::linkat(home.folder, old, home.folder, &name, AtFlags::empty()).is_ok() {
            return Ok(Temp { folder: home.folder, name, file, renamed: false });
        }
        let mut content = Vec::new();
        (&file).read_to_end(&mut content)?;
        Temp::write(home, &content, Some(&rustix::fs::fstat(&file)?))
    }

    /// Lets everybody run it who may read it, or nobody.
    pub(super) fn set_executable(&self, executable: bool) -> io::Result<()> {
        let mode = rustix::fs::fstat(&self.file)?.st_mode;
        let mode = if executable { mode | (mode & 0o444) >> 2 } else { mode & !0o111 };
        Ok(rustix::fs::fchmod(&self.file, Mode::from_raw_mode(mode))?)
    }

    fn take_after(&self, old: &Stat) -> io::Result<()> {
        let own = rustix::fs::fstat(&self.file)?;
        if (own.st_uid, own.st_gid) != (old.st_uid, old.st_gid) {
            let (user, group) = (rustix::fs::Uid::from_raw(old.st_uid), rustix::fs::Gid::from_raw(old.st_gid));
            // Only root may give a file away; anybody else becomes its owner, as with every editor that renames.
            let _ = rustix::fs::fchown(&self.file, Some(user), Some(group));
        }
        Ok(rustix::fs::fchmod(&self.file, Mode::from_raw_mode(old.st_mode))?)
    }

    /// Puts it in the place of `name`, at once. Where nothing was there before, nothing may be there now.
    pub(super) fn rename(mut self, name: &OsStr, replaces: bool) -> Result<(), Errno> {
        fault::point();
        if replaces {
            rustix::fs::renameat(self.folder, &self.name, self.folder, name)?;
        } else {
            self.rename_to_free(name)?;
        }
        self.renamed = true;
        fault::point();
        self.sync_folder();
        Ok(())
    }

    #[cfg(any(target_os = "linux", target_vendor = "apple"))]
    fn rename_to_free(&self, name: &OsStr) -> Result<(), Errno> {
        use rustix::fs::{RenameFlags, renameat_with};
        match renameat_with(self.folder, &self.name, self.folder, name, RenameFlags::NOREPLACE) {
            // Some file systems do not know the flag.
            Err(Errno::INVAL | Errno::NOSYS) => rustix::fs::renameat(self.folder, &self.name, self.folder, name),
            done => done,
        }
    }

    #[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
    fn rename_to_free(&self, name: &OsStr) -> Result<(), Errno> {
        rustix::fs::renameat(self.folder, &self.name, self.folder, name)
    }

    /// Makes the rename last through a crash. The change is done by now, so a file system that cannot is no failure.
    fn sync_folder(&self) {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        if let Ok(folder) = rustix::fs::openat(self.folder.as_fd(), ".", flags, Mode::empty()) {
            let _ = rustix::fs::fsync(folder);
        }
    }
}

impl Drop for Temp<'_> {
    fn drop(&mut self) {
        if !self.renamed {
            fault::point();
            let _ = rustix::fs::unlinkat(self.folder, &self.name, AtFlags::empty());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Workspace;
    use super::*;
    use crate::policy::PathRules;
    use std::fs;

    #[test]
    fn what_is_not_kept_is_taken_away() {
        let home = tempfile::tempdir().expect("a temporary folder can be made");
        let workspace = Workspace::open(home.path(), PathRules::default()).expect("it is a folder");
        let journal = Journal::begin(&workspace);
        let of = |folder, name| Home { folder, name: Path::new(name), journal: &journal };
        let names = || fs::read_dir(home.path()).expect("it is there").count();
        let (folder, made) = Made::below(of(&workspace.root, ""), &["a".into(), "b".into()]).expect("they can be made");
        let temp = Temp::write(of(&folder, "a/b"), b"content", None).expect("it can be written");
        assert_eq!(fs::read_dir(home.path().join("a/b")).expect("it is there").count(), 1);
        drop(temp);
        drop(made);
        assert_eq!(names(), 1, "the journal");
        fs::write(home.path().join("taken"), "old").expect("it can be written");
        let temp = Temp::write(of(&workspace.root, ""), b"new", None).expect("it can be written");
        assert_eq!(temp.rename(OsStr::new("taken"), false), Err(Errno::EXIST));
        drop(journal);
        assert_eq!((names(), fs::read(home.path().join("taken")).ok()), (1, Some(b"old".to_vec())));
    }
}
