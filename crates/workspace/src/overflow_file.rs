//! Files below `.toolfence/output` for output that is too long for a result. Tools may read but never write them.
//!
//! Creating a file removes old ones. Git ignores the folder.

use crate::root::{Root, folder, resolve};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::time::{Duration, SystemTime};
use toolfence_sandbox::project::random_name;

/// The folder, relative to the root.
const FOLDER: [&str; 2] = [".toolfence", "output"];

/// The maximum number, total size in bytes and age of the files that are kept when a new one is created.
const MOST_FILES: usize = 20;
const MOST_BYTES: u64 = 256 << 20;
const OLDEST: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// The maximum number of entries of the folder that are read.
const MOST_ENTRIES: usize = 1000;

/// Creates an empty file for output. Returns it with its name relative to the root.
///
/// # Errors
/// The project cannot be written.
pub fn create(root: &Root) -> io::Result<(File, String)> {
    let outer = enter_folder(root.fd(), FOLDER[0])?;
    // Git must ignore the folder before it has a file.
    hide_from_git(&outer)?;
    let inside = enter_folder(outer.as_fd(), FOLDER[1])?;
    retain(&inside);
    let name = format!("{}.txt", random_name()?);
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::openat(&inside, &name, flags, Mode::from(0o600))?;
    Ok((file.into(), format!("{}/{}/{name}", FOLDER[0], FOLDER[1])))
}

/// Hides the folder `.toolfence` of the project from git, because something else is about to be put into it.
///
/// # Errors
/// The project cannot be written.
pub fn hide_folder(root: &Root) -> io::Result<()> {
    hide_from_git(&enter_folder(root.fd(), FOLDER[0])?)
}

/// Opens the overflow file with this name, given without its folder and extension, for reading.
///
/// # Errors
/// There is no such file, or a link replaces it or its folder.
pub fn open(root: &Root, name: &str) -> io::Result<File> {
    // A name of hexadecimal digits cannot lead to another folder.
    if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(io::ErrorKind::NotFound.into());
    }
    let folder = root.open_exact(FOLDER.join("/").as_ref())?;
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::openat(&folder, format!("{name}.txt"), flags, Mode::empty())?;
    // Reading a FIFO with this name would never end.
    match FileType::from_raw_mode(rustix::fs::fstat(&file)?.st_mode) {
        FileType::RegularFile => Ok(file.into()),
        _ => Err(io::ErrorKind::NotFound.into()),
    }
}

/// Returns the name that [`open`] takes for an overflow file, given its name relative to the root.
pub fn id(name: &str) -> Option<&str> {
    name.strip_prefix(&format!("{}/{}/", FOLDER[0], FOLDER[1]))?.strip_suffix(".txt")
}

/// Removes an overflow file by its name relative to the root. Does nothing if it does not exist.
pub fn remove(root: &Root, name: &str) {
    let Some((above, last)) = name.rsplit_once('/') else { return };
    if above == format!("{}/{}", FOLDER[0], FOLDER[1])
        && let Ok(folder) = root.open_exact(above.as_ref())
    {
        let _ = rustix::fs::unlinkat(&folder, last, AtFlags::empty());
    }
}

/// Opens a folder and creates it if it is missing. Does not follow a link.
fn enter_folder(above: BorrowedFd<'_>, name: &str) -> io::Result<OwnedFd> {
    match rustix::fs::mkdirat(above, name, Mode::from(0o755)) {
        Ok(()) | Err(Errno::EXIST) => Ok(rustix::fs::openat(above, name, resolve::PASS, Mode::empty())?),
        Err(errno) => Err(errno.into()),
    }
}

fn hide_from_git(outer: &OwnedFd) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match rustix::fs::openat(outer, ".gitignore", flags, Mode::from(0o644)) {
        Ok(file) => File::from(file).write_all(b"*\n"),
        Err(Errno::EXIST) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}

/// Removes the files over the limits, the oldest first. The next call retries what cannot be removed.
fn retain(inside: &OwnedFd) {
    let Ok((items, _)) = folder::items(inside.as_fd(), MOST_ENTRIES) else { return };
    let files = items.into_iter().filter(|item| item.kind == FileType::RegularFile);
    let stat = |name: &OsString| rustix::fs::statat(inside, name, AtFlags::SYMLINK_NOFOLLOW).ok();
    let mut files: Vec<(OsString, Stat)> =
        files.filter_map(|item| Some((item.name.clone(), stat(&item.name)?))).collect();
    files.sort_by_key(|(_, stat)| std::cmp::Reverse((stat.st_mtime, stat.st_mtime_nsec)));
    let mut bytes = 0;
    for (at, (name, stat)) in files.iter().enumerate() {
        bytes += u64::try_from(stat.st_size).unwrap_or(0);
        // Leave room for the file that is about to be created.
        if at + 1 >= MOST_FILES || bytes > MOST_BYTES || is_old(stat) {
            let _ = rustix::fs::unlinkat(inside, name, AtFlags::empty());
        }
    }
}

#[allow(clippy::unnecessary_cast, reason = "the types of these fields differ between systems")]
fn is_old(stat: &Stat) -> bool {
    let changed = SystemTime::UNIX_EPOCH + Duration::from_secs(u64::try_from(stat.st_mtime as i64).unwrap_or(0));
    SystemTime::now().duration_since(changed).is_ok_and(|age| age > OLDEST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolfence_policy::rules::PathRules;

    #[test]
    fn only_the_newest_files_are_kept() {
        let place = tempfile::tempdir().unwrap();
        let root = Root::open(place.path(), PathRules::default(), None).unwrap();
        let old = std::fs::File::create(place.path().join(create(&root).unwrap().1)).unwrap();
        old.set_modified(SystemTime::now() - 2 * OLDEST).unwrap();
        let names: Vec<String> = (0..MOST_FILES + 5).map(|_| create(&root).unwrap().1).collect();
        let count = || std::fs::read_dir(place.path().join(".toolfence/output")).unwrap().count();
        assert_eq!(count(), MOST_FILES);
        assert!(place.path().join(names.last().unwrap()).exists());
        assert_eq!(std::fs::read_to_string(place.path().join(".toolfence/.gitignore")).unwrap(), "*\n");
    }

    #[test]
    fn only_overflow_files_are_opened() {
        let place = tempfile::tempdir().unwrap();
        let root = Root::open(place.path(), PathRules::default(), None).unwrap();
        std::fs::write(place.path().join("secret.txt"), "x").unwrap();
        assert!(open(&root, "abc").is_err());
        let (mut file, name) = create(&root).unwrap();
        file.write_all(b"all of it").unwrap();
        let name = name.strip_prefix(".toolfence/output/").and_then(|name| name.strip_suffix(".txt")).unwrap();
        assert_eq!(io::read_to_string(open(&root, name).unwrap()).unwrap(), "all of it");
        let folder = place.path().join(".toolfence/output");
        std::os::unix::fs::symlink(place.path().join("secret.txt"), folder.join("abc.txt")).unwrap();
        std::fs::create_dir(folder.join("def.txt")).unwrap();
        for other in ["", "abc", "def", "../../secret", "/etc/passwd", "fff", "..", "a.txt"] {
            assert!(open(&root, other).is_err(), "{other}");
        }
    }

    #[test]
    fn a_link_in_place_of_the_folder_is_not_followed() {
        let place = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), place.path().join(".toolfence")).unwrap();
        let root = Root::open(place.path(), PathRules::default(), None).unwrap();
        assert!(create(&root).is_err());
        assert_eq!(std::fs::read_dir(elsewhere.path()).unwrap().count(), 0);
    }
}
