//! Locates the files of settings and reads them: completely, up to a limit, and only if they are regular files.

use crate::failure::Failure;
use rustix::fs::{FileType, Mode, OFlags};
use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use toolfence_protocol::{Text, text};

/// The project's file, in its root.
pub(crate) const PROJECT_FILE: &str = ".toolfence.toml";

/// Maximum number of bytes of a settings file.
const MOST_BYTES: u64 = 256 << 10;

/// The paths of one run.
#[derive(Debug, Clone)]
pub(crate) struct Places {
    /// `$XDG_CONFIG_HOME/toolfence/config.toml`; `None` without a home folder.
    pub(crate) user: Option<PathBuf>,
    /// `$XDG_STATE_HOME/toolfence`, for data that the program keeps between runs.
    pub(crate) state: Option<PathBuf>,
    /// The project's file.
    pub(crate) project: PathBuf,
    /// The root of the project with all links resolved.
    root: PathBuf,
}

impl Places {
    /// Returns the paths for the project at this root.
    pub(crate) fn find(root: &Path) -> Result<Places, Failure> {
        let root = root.canonicalize().map_err(|error| {
            Failure::wrong_use(text!(
                "cannot open the project root {root}: {error}. Give an existing folder with --root.",
                root = root.display().to_string(),
                error = Text::from(&error)
            ))
        })?;
        let user = base("XDG_CONFIG_HOME", ".config").map(|base| base.join("toolfence/config.toml"));
        let state = base("XDG_STATE_HOME", ".local/state").map(|base| base.join("toolfence"));
        Ok(Places { user, state, project: root.join(PROJECT_FILE), root })
    }

    /// The places of the demo: the state is in its temporary folder, and the user has no settings.
    pub(crate) fn for_demo(root: &Path, folder: &Path) -> Places {
        Places {
            user: None,
            state: Some(folder.join("state")),
            project: root.join(PROJECT_FILE),
            root: root.to_owned(),
        }
    }

    /// Returns the root of the project with all links resolved.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns `true` if write access to this path allows changing the user's settings or trust records: the path is
    /// one of their folders, contains one or lies in one, by name or by real path.
    pub(crate) fn are_reached_through(&self, path: &Path) -> bool {
        let path = real(path);
        let folders = [self.user.as_deref().and_then(Path::parent), self.state.as_deref()];
        let named = folders.into_iter().flatten().flat_map(|folder| [folder.to_owned(), real(folder)]);
        named.into_iter().any(|folder| folder.starts_with(&path) || path.starts_with(&folder))
    }

    /// Returns the folder of the project's custom commands.
    pub(crate) fn commands(&self) -> PathBuf {
        self.root.join(".toolfence/commands")
    }

    /// Returns the program's own files inside the root, for example if the root is the user's home folder. The paths
    /// are relative to the root, by name and by real path.
    pub(crate) fn inside_the_root(&self) -> Vec<String> {
        let folder = self.user.as_deref().and_then(Path::parent);
        let every = [folder, self.user.as_deref(), self.state.as_deref()];
        let named = every.into_iter().flatten().flat_map(|path| [path.to_owned(), real(path)]);
        let inside = named.filter_map(|path| Some(path.strip_prefix(&self.root).ok()?.to_str()?.to_owned()));
        inside.filter(|name| !name.is_empty()).collect()
    }

    /// Returns `true` if the state folder is in the project, with every link followed.
    pub(crate) fn has_state_in_root(&self) -> bool {
        self.state.as_deref().is_some_and(|state| real(state).starts_with(&self.root))
    }
}

/// Returns an XDG base folder: the value of the variable, or otherwise the default below the home folder. The XDG Base
/// Directory Specification demands that relative paths be ignored.
fn base(variable: &str, below_home: &str) -> Option<PathBuf> {
    let absolute = |value: OsString| Some(PathBuf::from(value)).filter(|path| path.is_absolute());
    let set = std::env::var_os(variable).and_then(absolute);
    set.or_else(|| Some(std::env::var_os("HOME").and_then(absolute)?.join(below_home)))
}

/// Resolves all links in the existing part of a path.
fn real(path: &Path) -> PathBuf {
    let mut missing = Vec::new();
    for above in path.ancestors() {
        if let Ok(found) = above.canonicalize() {
            return missing.iter().rev().fold(found, |path, name| path.join(name));
        }
        missing.extend(above.file_name());
    }
    path.to_owned()
}

/// Reads a file of the user and follows links; `None` if it does not exist.
pub(crate) fn read_own(path: &Path) -> Result<Option<String>, Failure> {
    read(path, OFlags::empty())
}

/// Returns `true` if a link is on the way from a folder down to a path below it, including the path itself: the link
/// could lead anywhere. Components that do not exist are not links.
pub(crate) fn has_link(folder: &Path, path: &Path) -> bool {
    // A path that is not below the folder is refused like a link.
    let Ok(below) = path.strip_prefix(folder) else { return true };
    let mut at = folder.to_owned();
    below.components().any(|name| {
        at.push(name);
        std::fs::symlink_metadata(&at).is_ok_and(|meta| meta.file_type().is_symlink())
    })
}

/// Reads a file of the project. The project may be untrusted, so a link, which could lead anywhere, is refused.
pub(crate) fn read_of_project(path: &Path) -> Result<Option<String>, Failure> {
    read(path, OFlags::NOFOLLOW)
}

/// Returns the first bytes of a file, without an incomplete character, and whether they are the whole file; `None` if
/// the file does not exist. A link is refused.
pub(crate) fn read_first_bytes(path: &Path, most: usize) -> Result<Option<(String, bool)>, Failure> {
    let Some(mut bytes) = read_bytes(path, OFlags::NOFOLLOW, most as u64)? else { return Ok(None) };
    let whole = bytes.len() <= most;
    bytes.truncate(most);
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Some((text, whole))),
        Err(error) if !whole && error.utf8_error().error_len().is_none() => {
            let valid = error.utf8_error().valid_up_to();
            let mut bytes = error.into_bytes();
            bytes.truncate(valid);
            Ok(Some((String::from_utf8_lossy(&bytes).into_owned(), false)))
        }
        Err(_) => Err(cannot_read(path, text!("it is not UTF-8 text"))),
    }
}

fn read(path: &Path, more: OFlags) -> Result<Option<String>, Failure> {
    let Some(bytes) = read_bytes(path, more, MOST_BYTES)? else { return Ok(None) };
    if bytes.len() as u64 > MOST_BYTES {
        return Err(cannot_read(path, text!("it has more than {kibibytes} KiB", kibibytes = MOST_BYTES >> 10)));
    }
    String::from_utf8(bytes).map(Some).map_err(|_| cannot_read(path, text!("it is not UTF-8 text")))
}

pub(crate) fn cannot_read(path: &Path, why: Text) -> Failure {
    Failure::wrong_use(text!("cannot read {path}: {error}", path = path.display().to_string(), error = why))
}

/// Reads at most one byte more than `most`. That byte shows that the file is longer.
fn read_bytes(path: &Path, more: OFlags, most: u64) -> Result<Option<Vec<u8>>, Failure> {
    let system = |error: std::io::Error| cannot_read(path, Text::from(&error));
    // Without `NONBLOCK`, opening a named pipe would wait for its writer.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC | more;
    let file = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(file) => file,
        Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => return Ok(None),
        Err(rustix::io::Errno::LOOP) => {
            return Err(cannot_read(path, text!("it is a link; put the file itself there")));
        }
        Err(error) => return Err(system(error.into())),
    };
    // The open file is checked, because the path may name another file by now.
    let stat = rustix::fs::fstat(&file).map_err(|error| system(error.into()))?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(cannot_read(path, text!("it is not a plain file")));
    }
    let mut bytes = Vec::new();
    File::from(file).take(most + 1).read_to_end(&mut bytes).map_err(system)?;
    Ok(Some(bytes))
}
