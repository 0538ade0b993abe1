//! Distinguishes build output from changes.
//!
//! *Output* is what git ignores: build folders, caches, dependencies. A path that git tracks is never output, even if
//! an ignore rule matches it, and neither is an ignored file that existed before and is not in an ignored folder: a
//! local database cannot be rebuilt. It only counts as output if its name or its content shows that a tool recreates
//! it, such as an object file of a build in the source folder. The ignore rules are those of the project, not those
//! that the command wrote into its layer. Without git, nothing is output: the name of a folder does not show whether
//! its content can be recreated.

use crate::layer::{Change, ChangeKind, Entry};
use crate::session_output::uppermost;
use rustix::fs::{Mode, OFlags};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;
use toolfence_workspace::git::Git;

/// The name of an entry that does not exist. Git ignores it if it ignores everything in its folder.
const ANY: &str = "toolfence any entry";

/// Extensions of files that compilers and test runners recreate.
const EXTENSIONS_OF_OUTPUT: &[&str] = &[
    "a",
    "class",
    "cmi",
    "cmo",
    "cmx",
    "d",
    "gcda",
    "gcno",
    "gcov",
    "gch",
    "hi",
    "lo",
    "o",
    "obj",
    "pdb",
    "pyc",
    "rlib",
    "rmeta",
    "so",
    "tsbuildinfo",
];

/// Names of reports and caches that tools write next to the sources.
const NAMES_OF_OUTPUT: &[&str] = &[
    ".coverage",
    ".eslintcache",
    ".stylelintcache",
    "coverage.out",
    "coverage.xml",
    "junit.xml",
    "lcov.info",
    "next-env.d.ts",
];

/// First bytes of programs, libraries and object code: ELF, archives, Mach-O with 32 and 64 bits, PE, LLVM bitcode and
/// WebAssembly.
const BEGINNINGS_OF_OUTPUT: &[&[u8]] =
    &[b"\x7fELF", b"!<arch>\n", b"\xce\xfa\xed\xfe", b"\xcf\xfa\xed\xfe", b"MZ", b"BC\xc0\xde", b"\0asm"];

/// The most removed output folders that are looked up in the git index. Any more count as changes.
const MOST_REMOVED: usize = 100;

/// The paths of one change for which git checks the ignore rules.
struct Query {
    /// The repository, as a path relative to the project.
    repository: PathBuf,
    /// The path of the change or, for a folder, of a made-up entry in it. Relative to the repository, like `neighbour`.
    path: PathBuf,
    /// A made-up entry of the folder that contains the path.
    neighbour: PathBuf,
    /// Whether the project had a file or a link at the path before the command.
    was_file: bool,
}

/// Returns for each change whether it is output. `root` is the project's folder. If git fails, nothing is output.
pub fn is_output(git: Option<&Git>, root: &Path, changes: &[Change]) -> Vec<bool> {
    let Some(git) = git else { return vec![false; changes.len()] };
    let mut repositories = HashMap::new();
    let queries: Vec<Option<Query>> = changes.iter().map(|change| query(root, change, &mut repositories)).collect();
    let mut asked: BTreeMap<&Path, Vec<&Path>> = BTreeMap::new();
    for query in queries.iter().flatten() {
        asked.entry(&query.repository).or_default().extend([query.path.as_path(), query.neighbour.as_path()]);
    }
    let mut ignored: HashMap<&Path, HashSet<PathBuf>> = HashMap::new();
    for (repository, mut paths) in asked {
        paths.sort_unstable();
        paths.dedup();
        // If git refuses one of the paths, for instance one in a submodule, none of this repository counts as ignored.
        ignored.insert(repository, git.ignored(&root.join(repository), &paths).unwrap_or_default());
    }
    let (mut removed, mut tracked_by_outer) = (0, HashMap::new());
    let mut output = Vec::with_capacity(changes.len());
    for (change, query) in changes.iter().zip(&queries) {
        let Some(query) = query else {
            output.push(false);
            continue;
        };
        let is_ignored = |path: &Path| ignored[query.repository.as_path()].contains(path);
        let mut is_output =
            is_ignored(&query.path) && (!query.was_file || is_ignored(&query.neighbour) || is_made_again(root, change));
        // An outer repository may track files in the folder of an inner one, which ignores them. Such files are not
        // output.
        is_output = is_output
            && !outer_repositories(&query.repository, &mut repositories, root).iter().any(|outer| {
                let folder = (outer.clone(), query.repository.clone());
                *tracked_by_outer.entry(folder).or_insert_with_key(|(outer, inner)| {
                    let inner = inner.strip_prefix(outer).unwrap_or(inner);
                    has_tracked_files_at(git, root, outer, inner, false).unwrap_or(true)
                })
            });
        // A link may lead anywhere, and git's ignore rules treat a folder differently from a link.
        if let ChangeKind::Replaced(Entry::Link { .. }) = change.kind {
            is_output = false;
        }
        // Git never reports a tracked file as ignored, but an ignored folder may contain one, so only folders are
        // looked up.
        if is_output && !query.was_file && matches!(change.kind, ChangeKind::Removed | ChangeKind::Replaced(_)) {
            removed += 1;
            is_output = removed <= MOST_REMOVED && !has_tracked_files(git, root, query).unwrap_or(true);
        }
        output.push(is_output);
    }
    output
}

/// Returns `true` if the name or the first bytes of the project's file show that a tool recreates it. Undo does not
/// restore output, so a file that was removed is a change.
fn is_made_again(root: &Path, change: &Change) -> bool {
    if !matches!(change.kind, ChangeKind::Modified(_) | ChangeKind::Touched) {
        return false;
    }
    let file = &root.join(&change.path);
    let is_file = || file.symlink_metadata().is_ok_and(|meta| meta.is_file());
    let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let extension = file.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    if NAMES_OF_OUTPUT.contains(&name) || EXTENSIONS_OF_OUTPUT.contains(&extension) {
        return is_file();
    }
    // The path may be a FIFO by now, on which `open` would block without `NONBLOCK`.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let Ok(opened) = rustix::fs::open(file, flags, Mode::empty()) else { return false };
    let mut beginning = [0; 8];
    let Ok(read) = std::fs::File::from(opened).read(&mut beginning) else { return false };
    BEGINNINGS_OF_OUTPUT.iter().any(|known| beginning[..read].starts_with(known)) && is_file()
}

/// Returns the uppermost ignored folder that contains each output path, or the path itself if no ignored folder
/// contains it. Omits a path that is inside another one.
pub fn ignored_folders(git: Option<&Git>, root: &Path, paths: Vec<PathBuf>) -> Vec<PathBuf> {
    let Some(git) = git else { return Vec::new() };
    let mut repositories = HashMap::new();
    let mut asked: BTreeMap<PathBuf, BTreeSet<PathBuf>> = BTreeMap::new();
    let paths = uppermost(paths);
    for path in &paths {
        let Some(repository) = path.parent().and_then(|above| repository_of(root, above, &mut repositories)) else {
            continue;
        };
        let folders = path.ancestors().filter_map(|folder| folder.strip_prefix(&repository).ok());
        let folders = folders.filter(|folder| !folder.as_os_str().is_empty()).map(|folder| folder.join(ANY));
        asked.entry(repository.clone()).or_default().extend(folders);
    }
    let mut ignored = HashSet::new();
    for (repository, folders) in asked {
        let folders: Vec<&Path> = folders.iter().map(PathBuf::as_path).collect();
        let found = git.ignored(&root.join(&repository), &folders).unwrap_or_default();
        ignored.extend(found.iter().filter_map(|path| Some(repository.join(path.parent()?))));
    }
    let uppermost_ignored = |path: &PathBuf| {
        let folder = path.ancestors().filter(|folder| ignored.contains(*folder)).last();
        folder.unwrap_or(path).to_owned()
    };
    uppermost(paths.iter().map(uppermost_ignored).collect())
}

/// Returns the query for a change; `None` if no repository contains the path.
fn query(root: &Path, change: &Change, repositories: &mut HashMap<PathBuf, Option<PathBuf>>) -> Option<Query> {
    let (path, was_folder) = existing_way(root, &change.path);
    let above = path.parent()?;
    let repository = repository_of(root, above, repositories)?;
    let is_folder = was_folder.unwrap_or(matches!(&change.kind, ChangeKind::Added(Entry::Folder { .. })));
    let relative = |path: &Path| path.strip_prefix(&repository).unwrap_or(path).to_owned();
    let path = relative(&if is_folder { path.join(ANY) } else { path.clone() });
    Some(Query { neighbour: relative(&above.join(ANY)), path, was_file: was_folder == Some(false), repository })
}

/// Returns the path up to the first entry of the project that is a file or a link, because git has no entries below
/// one. Also returns whether the last entry of the returned path is a folder, or `None` if the project has no entry at
/// `path`.
fn existing_way(root: &Path, path: &Path) -> (PathBuf, Option<bool>) {
    let mut way = PathBuf::new();
    for part in path {
        way.push(part);
        match root.join(&way).symlink_metadata() {
            Ok(meta) if meta.is_dir() => {}
            Ok(_) => return (way, Some(false)),
            Err(_) => return (path.to_owned(), None),
        }
    }
    (way, Some(true))
}

/// Returns the innermost repository that contains a folder, relative to the project.
fn repository_of(root: &Path, folder: &Path, known: &mut HashMap<PathBuf, Option<PathBuf>>) -> Option<PathBuf> {
    if let Some(repository) = known.get(folder) {
        return repository.clone();
    }
    let repository = if root.join(folder).join(".git").symlink_metadata().is_ok() {
        Some(folder.to_owned())
    } else {
        folder.parent().and_then(|above| repository_of(root, above, known))
    };
    known.insert(folder.to_owned(), repository.clone());
    repository
}

/// Returns the repositories that contain another one, relative to the project.
fn outer_repositories(inner: &Path, known: &mut HashMap<PathBuf, Option<PathBuf>>, root: &Path) -> Vec<PathBuf> {
    let mut outer = Vec::new();
    let mut above = inner.parent().map(Path::to_owned);
    while let Some(folder) = above {
        let Some(repository) = repository_of(root, &folder, known) else { break };
        above = repository.parent().map(Path::to_owned);
        outer.push(repository);
    }
    outer
}

/// Returns `true` if git tracks a file at the path of a query or below it.
fn has_tracked_files(git: &Git, root: &Path, query: &Query) -> io::Result<bool> {
    let path = if query.path.ends_with(ANY) { query.path.parent().unwrap_or(&query.path) } else { &query.path };
    has_tracked_files_at(git, root, &query.repository, path, true)
}

/// Returns `true` if a repository tracks a file at or below `path`, which is relative to it. With `submodules`, a
/// tracked submodule counts, too.
fn has_tracked_files_at(git: &Git, root: &Path, repository: &Path, path: &Path, submodules: bool) -> io::Result<bool> {
    let mut arguments: Vec<std::ffi::OsString> =
        ["--literal-pathspecs", "ls-files", "--stage", "-z", "--"].map(Into::into).into();
    arguments.push(path.into());
    let limit = Duration::from_secs(60);
    match git.ask(&root.join(repository), &arguments, &[], limit, 1 << 20) {
        Ok(tracked) => {
            let mut entries = tracked.split(|byte| *byte == 0).filter(|entry| !entry.is_empty());
            // A submodule is an index entry with the mode 160000 (gitformat-index(5)).
            Ok(entries.any(|entry| submodules || !entry.starts_with(b"160000 ")))
        }
        // More output than the limit means that there are tracked files.
        Err(error) if error.kind() == io::ErrorKind::FileTooLarge => Ok(true),
        Err(error) => Err(error),
    }
}
