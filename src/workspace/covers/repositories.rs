//! What of a repository a command must not change, because git would run it later outside the walls.

use super::super::{Workspace, resolve};
use crate::walls::{How, Identity};
use rustix::fd::AsFd;
use rustix::fs::{FileType, Mode};
use rustix::io::Errno;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// What names programs, or other repositories with settings of their own.
const FROZEN: &[&str] = &["config", "config.worktree", "hooks", "modules", "worktrees", "commondir", "gitdir"];

/// Files that change what git does by being there.
pub(super) const WATCHED: &[&str] = &["commondir", "config.worktree"];

/// The most bytes of settings that are read.
const MOST_SETTINGS: u64 = 1 << 20;

/// A `.git` as it was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Repository {
    /// `.git` itself, relative to the root.
    pub(super) at: PathBuf,
    pub(super) is: Option<Identity>,
    /// Those of [`WATCHED`] that were there.
    pub(super) had: Vec<&'static str>,
}

/// The `.git` in a folder, and what has to be covered of it.
pub(super) fn look(workspace: &Workspace, folder: &Path, kind: FileType) -> (Repository, Vec<(PathBuf, How)>) {
    let at = folder.join(".git");
    let is = resolve::stat_exact(workspace.root.as_fd(), &at).ok().map(|stat| Identity::of(&stat));
    let had = WATCHED.iter().copied().filter(|name| kind_of(workspace, &at.join(name)).is_some()).collect();
    let repository = Repository { at: at.clone(), is, had };
    if kind != FileType::Directory {
        // It says where the repository is.
        return (repository, vec![(at, How::Freeze)]);
    }
    make_hooks(workspace, &at);
    let parts = FROZEN.iter().map(|name| at.join(name));
    let parts: Vec<_> = parts.filter_map(|path| Some((kind_of(workspace, &path)?, path))).collect();
    // A link cannot be covered, and whoever can write beside it can replace it.
    let how = if parts.iter().any(|(kind, _)| *kind == FileType::Symlink) { How::Freeze } else { How::Keep };
    let mut covers = vec![(at.clone(), how)];
    covers.extend(parts.into_iter().map(|(_, path)| (path, How::Freeze)));
    let hooks = hooks_path(workspace, folder).filter(|path| kind_of(workspace, path).is_some());
    covers.extend(hooks.map(|path| (path, How::Freeze)));
    (repository, covers)
}

fn kind_of(workspace: &Workspace, path: &Path) -> Option<FileType> {
    resolve::stat_exact(workspace.root.as_fd(), path).ok().map(|stat| FileType::from_raw_mode(stat.st_mode))
}

/// A folder of hooks that is not there could be made from inside; an empty one can be covered.
fn make_hooks(workspace: &Workspace, at: &Path) {
    let Ok(folder) = resolve::open_exact(workspace.root.as_fd(), at) else { return };
    let is_repository = rustix::fs::statat(&folder, "HEAD", rustix::fs::AtFlags::SYMLINK_NOFOLLOW).is_ok();
    if is_repository {
        match rustix::fs::mkdirat(&folder, "hooks", Mode::from(0o755)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => tracing::debug!(at = %at.display(), %errno, "no folder of hooks could be made"),
        }
    }
}

/// The folder that `core.hooksPath` names, if it is inside the project and not the one of the repository.
fn hooks_path(workspace: &Workspace, folder: &Path) -> Option<PathBuf> {
    let file = resolve::open_exact(workspace.root.as_fd(), &folder.join(".git/config")).ok()?;
    let mut text = Vec::new();
    std::fs::File::from(file).take(MOST_SETTINGS).read_to_end(&mut text).ok()?;
    let named = text.split(|&byte| byte == b'\n').filter_map(value_of_hooks_path).next_back()?;
    let named = Path::new(std::ffi::OsStr::from_bytes(named));
    let relative = match named.strip_prefix(workspace.root()) {
        Ok(inside) => inside.to_owned(),
        Err(_) if named.is_absolute() => return None,
        Err(_) => folder.join(named),
    };
    let mut plain = PathBuf::new();
    for part in relative.components() {
        match part {
            Component::Normal(name) => plain.push(name),
            Component::CurDir => {}
            Component::ParentDir if plain.pop() => {}
            _ => return None,
        }
    }
    (!plain.as_os_str().is_empty()).then_some(plain)
}

fn value_of_hooks_path(line: &[u8]) -> Option<&[u8]> {
    let at = line.iter().position(|&byte| byte == b'=')?;
    let key = line[..at].trim_ascii();
    let key = key.rsplit(|&byte| byte == b']').next().unwrap_or(key).trim_ascii();
    let value = line[at + 1..].trim_ascii();
    let value = value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\"")).unwrap_or(value);
    (key.eq_ignore_ascii_case(b"hookspath") && !value.is_empty()).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_of_hooks_path() {
        for (line, want) in [
            ("\thooksPath = .husky", Some(".husky")),
            ("[core] HOOKSPATH=\"a b\"", Some("a b")),
            ("hookspathx = 1", None),
            ("hooksPath =", None),
            ("hooksPath", None),
        ] {
            assert_eq!(value_of_hooks_path(line.as_bytes()), want.map(str::as_bytes), "{line}");
        }
    }
}
