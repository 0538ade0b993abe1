//! Suggests existing names for a path that does not exist: in the same folder, and elsewhere in the tree.

use crate::names;
use crate::root::failure::of_system;
use crate::root::path_arg::{link_outside, outside_error, quoted};
use crate::root::resolve::{Last, ResolveError};
use crate::root::walk::{Order, Walk};
use crate::root::{Root, folder};
use crate::stop::Stop;
use rustix::fd::AsFd;
use rustix::io::Errno;
use std::ffi::OsString;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use toolfence_protocol::{ErrorCode, ToolFailure, close_names, text};

/// The maximum number of names that are suggested.
const MOST: usize = 3;

/// The maximum number of entries of a folder that are compared with a name.
const MOST_NEIGHBOURS: usize = 10_000;

/// The maximum number of entries of the tree that are searched for a file of the wanted name, the topmost first.
const MOST_ENTRIES: usize = 30_000;

/// Returns the error for a `path` that could not be opened; `relative` is the parsed path.
pub(super) fn explain(root: &Root, error: ResolveError, path: &str, relative: &Path) -> ToolFailure {
    match error {
        ResolveError::Outside => {
            let failure = match root.link_of(relative) {
                Some(link) => link_outside(path, &link),
                None => outside_error(path),
            };
            with_relative_spelling(root, failure, path)
        }
        ResolveError::Sys(errno @ (Errno::NOENT | Errno::NOTDIR)) => {
            let close = close_to(root, relative);
            let message = match (errno, close.first()) {
                (Errno::NOENT, None) => {
                    text!("{path} does not exist. Use list_files to see what is there.", path = quoted(path))
                }
                (Errno::NOENT, Some(close)) => {
                    text!("{path} does not exist. Did you mean {close}?", path = quoted(path), close = quoted(close))
                }
                (_, None) => {
                    text!("{path} uses a file as a folder. Use list_files to see what is there.", path = quoted(path))
                }
                (_, Some(close)) => text!(
                    "{path} uses a file as a folder. Did you mean {close}?",
                    path = quoted(path),
                    close = quoted(close)
                ),
            };
            ToolFailure::new(ErrorCode::NotFound, message).suggest(close)
        }
        ResolveError::Sys(errno) => of_system(errno, path),
    }
}

/// Adds similar paths to the error for a path outside the root: an absolute path that the model remembers from another
/// machine often ends in one that exists here.
pub(super) fn with_relative_spelling(root: &Root, failure: ToolFailure, path: &str) -> ToolFailure {
    /// Longer paths are not worth guessing.
    const DEEPEST: usize = 16;
    if failure.code != ErrorCode::PermissionDenied {
        return failure;
    }
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != "..").collect();
    // The longest ending that exists is suggested.
    let mut endings = (1..parts.len()).take(DEEPEST).map(|from| parts[from..].join("/"));
    match endings.find(|ending| exists(root, Path::new(ending))) {
        Some(inside) => failure.suggest([inside]),
        None => match elsewhere(root, Path::new(path)) {
            found if found.is_empty() => failure.suggest([".".into()]),
            found => failure.suggest(found),
        },
    }
}

/// Returns up to three existing paths that are similar to a missing one. A neighbour that differs only in case is
/// first, then a file of the wanted name elsewhere, then other neighbours.
fn close_to(root: &Root, relative: &Path) -> Vec<String> {
    let neighbours = neighbours(root, relative).unwrap_or_default();
    // A folder with a similar name that lacks the rest of the path is only the last resort.
    let (whole, folders): (Vec<_>, Vec<_>) = neighbours.into_iter().partition(|(_, whole)| *whole);
    let wanted = relative.file_name().unwrap_or_default().to_ascii_lowercase();
    let same = |path: &String| Path::new(path).file_name().is_some_and(|name| name.to_ascii_lowercase() == wanted);
    let (first, last): (Vec<String>, Vec<String>) = whole.into_iter().map(|(path, _)| path).partition(same);
    let mut close: Vec<String> = Vec::new();
    for path in first.into_iter().chain(elsewhere(root, relative)).chain(last) {
        if close.len() < MOST && !close.contains(&path) {
            close.push(path);
        }
    }
    if close.is_empty() { folders.into_iter().map(|(path, _)| path).collect() } else { close }
}

/// Returns `true` if the path exists and no rule blocks it.
fn exists(root: &Root, relative: &Path) -> bool {
    let blocked = |name: &Path| root.blocks(&names::text_of(name)).is_some();
    !blocked(relative) && root.open_relative(relative).is_ok_and(|opened| !blocked(&opened.name))
}

/// Returns paths that differ from the wanted one in the first missing name, and whether each has the whole rest of the
/// path.
fn neighbours(root: &Root, relative: &Path) -> Option<Vec<(String, bool)>> {
    let spot = root.follow(relative).ok()?;
    let Last::Missing(missing) = &spot.last else { return None };
    let (wanted, rest) = missing.split_first()?;
    let items = folder::items(spot.folder.as_fd(), MOST_NEIGHBOURS).ok()?.0;
    let here = |name: &str| names::text_of(&spot.folder_name.join(name));
    let neighbours: Vec<&str> =
        items.iter().filter_map(|item| item.name.to_str()).filter(|name| root.blocks(&here(name)).is_none()).collect();
    let close = close_names(&wanted.to_string_lossy(), neighbours);
    Some(close.iter().map(|name| with_rest(root, &here(name), rest)).collect())
}

/// Appends the rest of the wanted path to `folder`, if that exists.
fn with_rest(root: &Root, folder: &str, rest: &[OsString]) -> (String, bool) {
    let whole: PathBuf = rest.iter().fold(PathBuf::from(folder), |path, name| path.join(name));
    if exists(root, &whole) { (names::text_of(&whole), true) } else { (folder.to_owned(), false) }
}

/// Finds the last name of a path in the tree, without hidden, ignored and blocked entries. If it is nowhere, ignores
/// case.
fn elsewhere(root: &Root, path: &Path) -> Vec<String> {
    let Some(wanted) = path.file_name().and_then(|name| name.to_str()) else { return Vec::new() };
    let never = Stop::default();
    let (mut same, mut other_case) = (Vec::new(), Vec::new());
    Walk::new(root, Order::Breadth, &never).ignoring(true).most(MOST_ENTRIES).each(|node| {
        let name = node.name.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        // A link may lead out of the root: a path that would be refused is no suggestion.
        let is_meant = node.blocked.is_none()
            && name.eq_ignore_ascii_case(wanted)
            && names::is_text(&node.name)
            && exists(root, &node.name);
        if is_meant {
            let found = if name == wanted { &mut same } else { &mut other_case };
            if found.len() < MOST {
                found.push(names::text_of(&node.name));
            }
        }
        if same.len() == MOST { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    if same.is_empty() { other_case } else { same }
}
