//! A content store. Each content is stored once, named by its digest.

use crate::digest::Digest;
use crate::fault;
use std::collections::{HashMap, HashSet};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The name of a file that is being written.
const UNFINISHED: &str = "unfinished";

/// The maximum number of contents that are synced one by one. If there are more, the whole file system is synced.
const MOST_SYNCED: usize = 64;

/// A folder of contents. Only the process with the lock of the history writes to it.
#[derive(Debug)]
pub(crate) struct Objects {
    folder: PathBuf,
}

impl Objects {
    pub(crate) fn new(folder: PathBuf) -> Objects {
        Objects { folder }
    }

    /// Stores a content without syncing it. Returns the number of written bytes. An existing file with its name and
    /// length is trusted if that is `enough`, and otherwise read, because after a power failure it may have any
    /// content.
    pub(crate) fn store(&self, digest: Digest, content: &[u8], enough: bool) -> io::Result<u64> {
        let bytes = content.len() as u64;
        let is_there = || if enough { self.contains(digest, bytes) } else { self.get(digest, bytes).is_some() };
        if is_there() {
            return Ok(0);
        }
        let unfinished = self.folder.join(UNFINISHED);
        let written = self.write(&unfinished, content).and_then(|()| self.rename(&unfinished, digest));
        if written.is_err() {
            // Do not keep half a file on a full disk.
            let _ = fs::remove_file(&unfinished);
        }
        written.map(|()| bytes)
    }

    fn write(&self, unfinished: &Path, content: &[u8]) -> io::Result<()> {
        let open = || OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(unfinished);
        fault::point();
        let mut file = match open() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                create_folders(&self.folder)?;
                open()?
            }
            opened => opened?,
        };
        fault::point();
        file.write_all(content)
    }

    fn rename(&self, unfinished: &Path, digest: Digest) -> io::Result<()> {
        let path = self.path(digest);
        if let Err(error) = fs::rename(unfinished, &path) {
            let folder = path.parent().filter(|_| error.kind() == io::ErrorKind::NotFound).ok_or(error)?;
            create_folders(folder)?;
            fs::rename(unfinished, &path)?;
        }
        fault::point();
        Ok(())
    }

    /// Waits until stored contents are on the disk.
    pub(crate) fn sync(&self, digests: &HashSet<Digest>) -> io::Result<()> {
        if digests.len() > MOST_SYNCED {
            fault::point();
            rustix::fs::syncfs(File::open(&self.folder)?)?;
            digests.iter().for_each(|digest| fault::settled(&self.path(*digest)));
            return Ok(());
        }
        for digest in digests {
            let path = self.path(*digest);
            fault::point();
            // Synced after the rename, so that the name is on the disk together with the content.
            sync_file(&File::open(&path)?, &path)?;
        }
        Ok(())
    }

    /// Returns `true` if a content with this digest and length seems to exist.
    pub(crate) fn contains(&self, digest: Digest, bytes: u64) -> bool {
        fs::metadata(self.path(digest)).is_ok_and(|known| known.len() == bytes)
    }

    /// Returns a content of this length; `None` if it is missing or damaged.
    pub(crate) fn get(&self, digest: Digest, bytes: u64) -> Option<Vec<u8>> {
        let file = File::open(self.path(digest)).ok()?;
        let mut content = Vec::new();
        // One byte more shows whether the file is longer.
        file.take(bytes + 1).read_to_end(&mut content).ok()?;
        (content.len() as u64 == bytes && Digest::compute(&content) == digest).then_some(content)
    }

    /// Returns every content with its length.
    pub(crate) fn all(&self) -> HashMap<Digest, u64> {
        let entries = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten();
        let inside =
            entries(&self.folder).flat_map(|above| entries(&above.path()).map(move |entry| (above.file_name(), entry)));
        let digest = |(above, entry): (std::ffi::OsString, fs::DirEntry)| {
            let text = format!("{}{}", above.to_str()?, entry.file_name().to_str()?);
            Some((Digest::try_from(text).ok()?, entry.metadata().ok()?.len()))
        };
        inside.filter_map(digest).collect()
    }

    /// Removes all contents but these.
    pub(crate) fn keep_only(&self, used: &HashSet<Digest>) {
        for digest in self.all().into_keys().filter(|digest| !used.contains(digest)) {
            fault::point();
            // The next call retries what cannot be removed.
            let _ = fs::remove_file(self.path(digest));
        }
    }

    fn path(&self, digest: Digest) -> PathBuf {
        let name = digest.to_string();
        self.folder.join(&name[..2]).join(&name[2..])
    }
}

/// Creates a folder and those above it, accessible only for its owner.
pub(crate) fn create_folders(folder: &Path) -> io::Result<()> {
    let is_new = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
    // Collected before the folders are created, because only the names of new ones must be synced.
    let new: Vec<&Path> = folder.ancestors().take_while(is_new).collect();
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    for above in new.into_iter().filter_map(Path::parent) {
        sync_names(above);
    }
    Ok(())
}

/// Waits until a file and its name are on the disk.
pub(crate) fn sync_file(file: &File, path: &Path) -> io::Result<()> {
    file.sync_all()?;
    path.parent().into_iter().for_each(sync_names);
    fault::settled(path);
    Ok(())
}

/// Waits until the names in a folder are on the disk, unless syncing a file also syncs its name. If the file system
/// cannot do that, it is no failure.
fn sync_names(folder: &Path) {
    let folder = File::open(folder).ok().filter(|folder| !fsync_covers_names(folder));
    folder.into_iter().for_each(|folder| drop(folder.sync_all()));
}

/// Returns `true` if fsync(2) of a new file also syncs its name, which is the case if a journal keeps all changes of
/// names in their order. Syncing the folder, too, would take as long as syncing the file.
#[cfg(target_os = "linux")]
fn fsync_covers_names(folder: &File) -> bool {
    /// The magic numbers of ext4, XFS, btrfs and tmpfs in statfs(2).
    const IN_ORDER: [i128; 4] = [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994];
    rustix::fs::fstatfs(folder).is_ok_and(|facts| IN_ORDER.contains(&i128::from(facts.f_type)))
}

#[cfg(not(target_os = "linux"))]
fn fsync_covers_names(_: &File) -> bool {
    false
}
