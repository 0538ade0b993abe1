//! Temporary files that replace files atomically.
//!
//! A temporary file has a name that cannot be guessed, in the folder of the file that it replaces, and is renamed over
//! that file. If anything fails before that, it is removed together with the folders that were created for it.

use crate::attributes::{self, Attributes, Like, MOST_CARRIED, MOST_KEPT};
use crate::changes::journal::Journal;
use crate::digest::Digest;
use crate::fault;
use crate::root::resolve;
use crate::stat::{is_content_of, mode_of};
use crate::state::{self, State};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, Mode, OFlags, RawMode, Stat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use toolfence_protocol::{Text, text};

/// The mode of a new file before the umask.
const NEW: RawMode = 0o666;

/// A location for temporary files: an open folder, its name relative to the root, and the journal of the change.
#[derive(Clone, Copy)]
pub(crate) struct TempFolder<'f> {
    pub(crate) folder: &'f OwnedFd,
    pub(crate) name: &'f Path,
    pub(crate) journal: &'f Journal,
}

/// The entry that a rename may replace.
#[derive(Clone, Copy)]
pub(crate) enum Destination<'s> {
    Nothing,
    /// Only this file in its recorded state.
    This(&'s Stat),
}

/// Folders that were created above a new file. Dropping them removes them unless [`keep`](CreatedFolders::keep) was
/// called.
pub(crate) struct CreatedFolders {
    /// Each with its parent folder, name, and path relative to the root, the outermost first.
    folders: Vec<(OwnedFd, OsString, PathBuf)>,
}

impl CreatedFolders {
    /// Creates nested folders and returns the innermost. Uses a folder that another process creates at the same moment,
    /// but not a link.
    pub(crate) fn create(home: TempFolder<'_>, names: &[OsString]) -> Result<(OwnedFd, CreatedFolders), Errno> {
        let mut made = CreatedFolders { folders: Vec::new() };
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
            // `PASS` refuses a link that another process has put here.
            let next = rustix::fs::openat(&here, name, resolve::PASS, Mode::empty())?;
            let above = std::mem::replace(&mut here, next);
            if fresh {
                made.folders.push((above, name.clone(), path.clone()));
            }
        }
        Ok((here, made))
    }

    /// Returns the paths of the folders relative to the root, with their states.
    pub(crate) fn states(&self) -> impl Iterator<Item = (PathBuf, State)> {
        self.folders.iter().filter_map(|(above, name, path)| {
            let (state, _) = state::look(above.as_fd(), name, 0, &mut Digest::compute).ok()?;
            Some((path.clone(), state))
        })
    }

    pub(crate) fn keep(mut self) {
        self.folders.clear();
    }
}

impl Drop for CreatedFolders {
    fn drop(&mut self) {
        while let Some((above, name, _)) = self.folders.pop() {
            fault::point();
            // A folder that is in use stays.
            let _ = rustix::fs::unlinkat(&above, &name, AtFlags::REMOVEDIR);
        }
    }
}

/// A temporary file with the new content, in the folder of the old one.
pub(crate) struct Temp<'f> {
    folder: &'f OwnedFd,
    name: String,
    file: File,
    renamed: bool,
    /// Properties that the system refused to copy from the old file.
    lost: Vec<Text>,
}

impl<'f> Temp<'f> {
    /// Writes `content` to a temporary file in the folder `home`. It gets the owner, mode and attributes of `like`, or
    /// those of any new file.
    pub(crate) fn write(home: TempFolder<'f>, content: &[u8], like: Option<&Like>) -> io::Result<Temp<'f>> {
        let name = home.journal.temporary(home.name)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        // No other user may open it before it has the owner, access control lists and mode of the old file.
        let mode = Mode::from_raw_mode(if like.is_some() { 0o600 } else { NEW });
        fault::point();
        let file = File::from(rustix::fs::openat(home.folder, &name, flags, mode)?);
        let mut temp = Temp { folder: home.folder, name, file, renamed: false, lost: Vec::new() };
        for piece in content.chunks(fault::PIECE) {
            fault::point();
            temp.file.write_all(piece)?;
        }
        if let Some(like) = like {
            temp.lost = like.apply(&temp.file)?;
        }
        fault::point();
        // The content must be on the disk before the rename. Otherwise a power failure could leave an empty file at the
        // name.
        temp.file.sync_all()?;
        Ok(temp)
    }

    /// Creates a second name (hard link) for a file that is about to be replaced, so that it can be restored. Makes a
    /// copy if the file system has no hard links.
    pub(crate) fn link(home: TempFolder<'f>, old: &OsStr) -> io::Result<Temp<'f>> {
        let file = File::from(rustix::fs::openat(home.folder, old, resolve::LOOK | OFlags::NOFOLLOW, Mode::empty())?);
        let name = home.journal.temporary(home.name)?;
        fault::point();
        if rustix::fs::linkat(home.folder, old, home.folder, &name, AtFlags::empty()).is_ok() {
            return Ok(Temp { folder: home.folder, name, file, renamed: false, lost: Vec::new() });
        }
        let mut content = Vec::new();
        (&file).read_to_end(&mut content)?;
        let attributes = attributes::read(&file, MOST_CARRIED);
        let attributes =
            attributes.ok_or_else(|| io::Error::other(text!("its extended attributes cannot be copied")))?;
        Temp::write(home, &content, Some(&Like::new(&rustix::fs::fstat(&file)?, attributes)))
    }

    /// Creates a temporary symbolic link.
    pub(crate) fn symlink(home: TempFolder<'f>, target: &Path) -> io::Result<Temp<'f>> {
        let name = home.journal.temporary(home.name)?;
        fault::point();
        rustix::fs::symlinkat(target, home.folder, &name)?;
        let opened = rustix::fs::openat(home.folder, &name, resolve::LINK, Mode::empty());
        // If it cannot be opened here, the next process that opens the root removes it.
        Ok(Temp { folder: home.folder, name, file: File::from(opened?), renamed: false, lost: Vec::new() })
    }

    /// Returns the status of the file.
    pub(crate) fn stat(&self) -> Result<Stat, Errno> {
        rustix::fs::fstat(&self.file)
    }

    /// Returns the mode bits.
    pub(crate) fn mode(&self) -> u32 {
        rustix::fs::fstat(&self.file).map_or(0, |stat| mode_of(&stat))
    }

    /// Returns the attributes of the file in the form of a record.
    pub(crate) fn attributes(&self) -> Option<Attributes> {
        attributes::read(&self.file, MOST_KEPT)
    }

    /// Returns the properties that the system refused to copy from the old file.
    pub(crate) fn lost(&self) -> &[Text] {
        &self.lost
    }

    /// Lets all users run the file who may read it, or none.
    pub(crate) fn set_executable(&self, executable: bool) -> io::Result<()> {
        let mode = rustix::fs::fstat(&self.file)?.st_mode;
        let mode = if executable { mode | (mode & 0o444) >> 2 } else { mode & !0o111 };
        Ok(rustix::fs::fchmod(&self.file, Mode::from_raw_mode(mode))?)
    }

    /// Renames the file to `name` atomically.
    ///
    /// # Errors
    /// `EXIST` if an entry exists that must not be replaced, `STALE` if it is not the expected one. Nothing is changed
    /// then.
    pub(crate) fn rename(mut self, name: &OsStr, onto: Destination<'_>) -> Result<(), Errno> {
        fault::point();
        match onto {
            Destination::Nothing => self.rename_without_replacing(name)?,
            Destination::This(old) => self.swap_names(name, old)?,
        }
        self.renamed = true;
        self.sync_folder();
        fault::point();
        Ok(())
    }

    /// Exchanges both names, and checks the replaced file before it is removed, because another process may have put it
    /// there a moment ago.
    #[cfg(any(target_os = "linux", target_vendor = "apple"))]
    fn swap_names(&mut self, name: &OsStr, old: &Stat) -> Result<(), Errno> {
        use rustix::fs::{RenameFlags, renameat_with};
        let (folder, temp_name) = (self.folder, self.name.clone());
        let exchange = || renameat_with(folder, &temp_name, folder, name, RenameFlags::EXCHANGE);
        match exchange() {
            // Some file systems cannot exchange names.
            Err(Errno::INVAL | Errno::NOSYS) => {
                return rustix::fs::renameat(folder, &temp_name, folder, name);
            }
            done => done?,
        }
        // The temporary name now belongs to a file that is not ours. It is removed only if it is the expected one.
        self.renamed = true;
        fault::point();
        let replaced = rustix::fs::statat(folder, &temp_name, AtFlags::SYMLINK_NOFOLLOW);
        if replaced.is_ok_and(|now| is_content_of(&now, old)) {
            let _ = rustix::fs::unlinkat(folder, &temp_name, AtFlags::empty());
            return Ok(());
        }
        // Another process has put this file there since the old one was compared.
        exchange()?;
        self.renamed = false;
        Err(Errno::STALE)
    }

    #[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
    fn swap_names(&mut self, name: &OsStr, _: &Stat) -> Result<(), Errno> {
        rustix::fs::renameat(self.folder, &self.name, self.folder, name)
    }

    #[cfg(any(target_os = "linux", target_vendor = "apple"))]
    fn rename_without_replacing(&self, name: &OsStr) -> Result<(), Errno> {
        use rustix::fs::{RenameFlags, renameat_with};
        match renameat_with(self.folder, &self.name, self.folder, name, RenameFlags::NOREPLACE) {
            // Some file systems do not know the flag.
            Err(Errno::INVAL | Errno::NOSYS) => rustix::fs::renameat(self.folder, &self.name, self.folder, name),
            done => done,
        }
    }

    #[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
    fn rename_without_replacing(&self, name: &OsStr) -> Result<(), Errno> {
        rustix::fs::renameat(self.folder, &self.name, self.folder, name)
    }

    /// Syncs the rename to the disk. The change is already made, so it is no failure if the file system cannot sync.
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
    use super::*;
    use crate::root::Root;
    use std::fs;
    use toolfence_policy::rules::PathRules;

    #[test]
    fn files_and_folders_that_are_not_kept_are_removed() {
        let home = tempfile::tempdir().expect("a temporary folder can be made");
        let root = Root::open(home.path(), PathRules::default(), None).expect("it is a folder");
        let root_folder = root.folder(".").expect("it is there");
        let journal = Journal::begin(&root);
        let of = |folder, name| TempFolder { folder, name: Path::new(name), journal: &journal };
        let names = || fs::read_dir(home.path()).expect("it is there").count();
        let (folder, made) =
            CreatedFolders::create(of(&root_folder, ""), &["a".into(), "b".into()]).expect("they can be made");
        let temp = Temp::write(of(&folder, "a/b"), b"content", None).expect("it can be written");
        assert_eq!(fs::read_dir(home.path().join("a/b")).expect("it is there").count(), 1);
        drop(temp);
        drop(made);
        assert_eq!(names(), 1, "the journal");
        fs::write(home.path().join("taken"), "old").expect("it can be written");
        let temp = Temp::write(of(&root_folder, ""), b"new", None).expect("it can be written");
        assert_eq!(temp.rename(OsStr::new("taken"), Destination::Nothing), Err(Errno::EXIST));
        let was = rustix::fs::statat(&root_folder, "taken", AtFlags::empty()).expect("it is there");
        fs::write(home.path().join("other"), "old").expect("it can be written");
        fs::rename(home.path().join("other"), home.path().join("taken")).expect("it can be renamed");
        let temp = Temp::write(of(&root_folder, ""), b"new", None).expect("it can be written");
        assert_eq!(temp.rename(OsStr::new("taken"), Destination::This(&was)), Err(Errno::STALE));
        drop(journal);
        assert_eq!((names(), fs::read(home.path().join("taken")).ok()), (1, Some(b"old".to_vec())));
    }
}
