//! Contents, each kept once, under the digest by which it is found and proved.

use crate::workspace::{Digest, fault};
use std::collections::{HashMap, HashSet};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// What is being written, in a name of its own that nobody reads.
const UNFINISHED: &str = "unfinished";

/// How a content gets to the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sync {
    /// It is there before anything else is done.
    Now,
    /// When the system finds time: a whole project would take long.
    Later,
}

/// A folder of contents. Only who holds the lock of the history writes to it.
#[derive(Debug)]
pub(super) struct Objects {
    folder: PathBuf,
}

impl Objects {
    pub(super) fn new(folder: PathBuf) -> Objects {
        Objects { folder }
    }

    /// Keeps a content; gives the bytes that took.
    pub(super) fn put(&self, digest: Digest, content: &[u8], sync: Sync) -> io::Result<u64> {
        let path = self.path(digest);
        // One that was not on the disk when the machine lost its power has another length.
        if fs::metadata(&path).is_ok_and(|known| known.len() == content.len() as u64) {
            return Ok(0);
        }
        let unfinished = self.folder.join(UNFINISHED);
        let open = || OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&unfinished);
        fault::point();
        let mut file = match open() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                made(&self.folder)?;
                open()?
            }
            opened => opened?,
        };
        fault::point();
        file.write_all(content)?;
        if let Err(error) = fs::rename(&unfinished, &path) {
            let folder = path.parent().filter(|_| error.kind() == io::ErrorKind::NotFound).ok_or(error)?;
            made(folder)?;
            fs::rename(&unfinished, &path)?;
        }
        fault::point();
        if sync == Sync::Now {
            // After the rename, so that the name is on the disk with the content.
            file.sync_data()?;
        }
        Ok(content.len() as u64)
    }

    /// A content of so many bytes; `None` where it is not there or not what it should be.
    pub(super) fn get(&self, digest: Digest, bytes: u64) -> Option<Vec<u8>> {
        let file = File::open(self.path(digest)).ok()?;
        let mut content = Vec::new();
        file.take(bytes + 1).read_to_end(&mut content).ok()?;
        (content.len() as u64 == bytes && Digest::of(&content) == digest).then_some(content)
    }

    /// Every content with its length.
    pub(super) fn all(&self) -> HashMap<Digest, u64> {
        let entries = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten();
        let inside =
            entries(&self.folder).flat_map(|above| entries(&above.path()).map(move |entry| (above.file_name(), entry)));
        let digest = |(above, entry): (std::ffi::OsString, fs::DirEntry)| {
            let text = format!("{}{}", above.to_str()?, entry.file_name().to_str()?);
            Some((Digest::try_from(text).ok()?, entry.metadata().ok()?.len()))
        };
        inside.filter_map(digest).collect()
    }

    /// Removes all but these.
    pub(super) fn keep_only(&self, used: &HashSet<Digest>) {
        for digest in self.all().into_keys().filter(|digest| !used.contains(digest)) {
            fault::point();
            // What cannot be removed is tried again the next time.
            let _ = fs::remove_file(self.path(digest));
        }
    }

    fn path(&self, digest: Digest) -> PathBuf {
        let name = digest.to_string();
        self.folder.join(&name[..2]).join(&name[2..])
    }
}

/// A folder with those above it, for its owner alone.
pub(super) fn made(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}
