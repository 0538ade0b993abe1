//! The root of a project as an open folder, from which all files below it are opened.
//!
//! Architecture invariant: all code that opens a file of the project uses a [`Root`], and checks on the open descriptor
//! where the file really is and whether a rule blocks it.

mod failure;
pub(crate) mod folder;
pub(crate) mod hops;
pub(crate) mod ignores;
pub(crate) mod opened;
pub(crate) mod path_arg;
pub(crate) mod path_log;
pub(crate) mod programs;
pub(crate) mod resolve;
mod suggest;
pub(crate) mod twins;
pub(crate) mod walk;

pub(crate) use failure::{conflict, not_a_file, of_io, of_system};
pub(crate) use path_arg::invalid;
pub use programs::Programs;

use crate::names;
use crate::stat::is_one;
use opened::OpenEntry;
use path_arg::quoted;
use path_log::Origin;
use resolve::{Last, ResolveError, Spot};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use toolfence_policy::rules::{Blocked, Harmless, PathRules};
use toolfence_protocol::invisible::is_blank;
use toolfence_protocol::{Error, Result, ToolFailure, text};
use toolfence_sandbox::project::{Identity, Number, Project, identity_at, number_of};
use twins::Twins;

/// The maximum number of files that a root remembers as masked. The limit protects memory from a hostile tree.
const MOST_MASKED: usize = 200_000;

/// The open root folder of a project with its path rules.
#[derive(Debug)]
pub struct Root {
    fd: OwnedFd,
    path: PathBuf,
    /// The path that the host gave, which may contain links.
    given: PathBuf,
    rules: PathRules,
    programs: Programs,
    /// Files that were masked for a command. A command can move a folder with such a file to a path that looks like an
    /// installed package's; the file stays blocked there.
    masked: Mutex<HashSet<Number>>,
}

/// How a rule can read the content of a file.
#[derive(Clone, Copy)]
enum Look<'o> {
    /// Only the name is known. The file is opened if a rule needs its content.
    ByName,
    /// The open file, regardless of the current entry at its name.
    Opened(&'o OpenEntry),
}

impl Root {
    /// Opens the folder at `path`. It stays the same folder even if it is renamed. `host_path` is the PATH of the host.
    ///
    /// # Errors
    /// The folder does not exist, is not a folder, or may not be read.
    pub fn open(path: &Path, rules: PathRules, host_path: Option<&OsStr>) -> Result<Root> {
        let doing = || text!("open the project root {path}", path = path.display().to_string());
        let real = path.canonicalize().map_err(|cause| Error::because(doing(), cause))?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = rustix::fs::open(&real, flags, Mode::empty())
            .map_err(|cause| Error::because(doing(), std::io::Error::from(cause)))?;
        let given = absolute(path).map_err(|cause| Error::because(doing(), cause))?;
        let programs = Programs::new(host_path, &real);
        Ok(Root { fd, path: real, given, rules, programs, masked: Mutex::default() })
    }

    /// Returns the absolute path without links that the root had when it was opened. It is for messages and for
    /// programs that need a path; this crate opens nothing by it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the host's programs that commands in this project find.
    pub fn programs(&self) -> &Programs {
        &self.programs
    }

    /// Opens a folder below the root as the working folder of a process.
    ///
    /// # Errors
    /// `not_found`, `permission_denied` or `denied` as for every path, and `invalid_argument` for a path that is not a
    /// folder.
    pub fn folder(&self, path: &str) -> std::result::Result<OwnedFd, ToolFailure> {
        self.open_folder(path).map(|opened| opened.fd)
    }

    /// Opens a folder below the root. Also returns its real name, relative to the root and without links.
    ///
    /// # Errors
    /// The errors of [`Root::folder`].
    pub fn named_folder(&self, path: &str) -> std::result::Result<(OwnedFd, PathBuf), ToolFailure> {
        self.open_folder(path).map(|opened| (opened.fd, opened.name))
    }

    /// Reads a file that may be opened: at most `most` bytes and one more, which shows that the file is larger.
    ///
    /// # Errors
    /// The errors of reading the file.
    pub fn bytes(&self, path: &str, most: usize) -> std::result::Result<Vec<u8>, ToolFailure> {
        let mut bytes = Vec::new();
        let file = File::from(self.open_file(path)?.fd);
        file.take(most as u64 + 1).read_to_end(&mut bytes).map_err(|error| of_io(&error, path))?;
        Ok(bytes)
    }

    /// Returns the real name of a file that may be opened, relative to the root and without links.
    ///
    /// # Errors
    /// The errors of reading the file.
    pub fn named_file(&self, path: &str) -> std::result::Result<PathBuf, ToolFailure> {
        self.open_file(path).map(|opened| opened.name)
    }

    /// Returns the real name of a path that may not exist, relative to the root and without links.
    ///
    /// # Errors
    /// `permission_denied` outside the root, and if the system refuses.
    pub fn real_name(&self, path: &str) -> std::result::Result<String, ToolFailure> {
        let relative = self.relative(path)?;
        let spot = self.follow(&relative).map_err(|error| self.explain(error, path, &relative))?;
        let folder = self.real_folder(path, &spot.folder, &spot.folder_name)?;
        Ok(names::text_of(&Spot { folder_name: folder, ..spot }.name()))
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Returns the absolute paths by which the root may be named.
    pub(crate) fn spellings(&self) -> [&Path; 2] {
        [&self.path, &self.given]
    }

    /// Returns `true` if the root was removed. The system still lists such a folder as empty.
    pub(crate) fn is_gone(&self) -> bool {
        let Ok(stat) = rustix::fs::fstat(&self.fd) else { return true };
        let there = |path: &Path| rustix::fs::stat(path).is_ok_and(|now| is_one(&now, &stat));
        if there(&self.path) {
            return false;
        }
        // A root that was renamed is not at its path but exists. Some file systems have no link counts for folders, so
        // the name that the kernel gives to a removed folder counts, too.
        let deleted = |path: PathBuf| is_called_deleted(&path) && !there(&path);
        stat.st_nlink == 0 || resolve::path_of(self.fd()).is_ok_and(deleted)
    }

    // From a path of the model to an open file.

    /// Opens the regular file at a path of the model.
    pub(crate) fn open_file(&self, path: &str) -> std::result::Result<OpenEntry, ToolFailure> {
        let opened = self.open_any(path)?;
        match opened.kind() {
            FileType::RegularFile => Ok(opened),
            kind => Err(not_a_file(path, kind)),
        }
    }

    /// Opens the folder at a path of the model.
    pub(crate) fn open_folder(&self, path: &str) -> std::result::Result<OpenEntry, ToolFailure> {
        let opened = self.open_any(path)?;
        match opened.kind() {
            FileType::Directory => Ok(opened),
            kind => Err(failure::not_a_folder(path, kind)),
        }
    }

    /// Opens the entry at a path of the model, if no rule blocks it.
    pub(crate) fn open_any(&self, path: &str) -> std::result::Result<OpenEntry, ToolFailure> {
        let done = self.open_allowed(path);
        path_log::log_access(self, Origin::Open, path, done.as_ref().map(|opened| &*opened.name));
        done
    }

    fn open_allowed(&self, path: &str) -> std::result::Result<OpenEntry, ToolFailure> {
        let relative = self.relative(path)?;
        // A blocked name is refused before the path is opened, because the error of a failed open suggests similar
        // names.
        self.refuse_blocked(path, &relative)?;
        let opened = self.open_relative(&relative).map_err(|error| self.explain(error, path, &relative))?;
        // A link can lead from a harmless name to a blocked file.
        if let Some(rule) = self.blocks_opened(&opened) {
            return Err(failure::blocked(path, &rule));
        }
        self.refuse_twin(path, &opened.stat)?;
        Ok(opened)
    }

    /// Makes a path of the model relative to the root. Fails if the root was removed.
    pub(crate) fn relative(&self, path: &str) -> std::result::Result<PathBuf, ToolFailure> {
        if self.is_gone() {
            return Err(failure::root_gone(&self.path));
        }
        if !path.is_empty() && is_blank(path) {
            return Err(invalid(text!(
                "The path is blank: {path} has no visible characters. Give a path, such as src/main.rs.",
                path = quoted(path)
            )));
        }
        let relative = path_arg::relative(path, &self.spellings());
        relative.map_err(|failure| suggest::with_relative_spelling(self, failure, path))
    }

    /// Returns the location of a file that may be written, whether it exists or not, and its real name.
    pub(crate) fn spot_to_write(&self, path: &str) -> std::result::Result<(Spot, String), ToolFailure> {
        let done = self.writable_spot(path);
        path_log::log_access(self, Origin::Write, path, done.as_ref().map(|(_, name)| Path::new(name)));
        done
    }

    fn writable_spot(&self, path: &str) -> std::result::Result<(Spot, String), ToolFailure> {
        let relative = self.relative(path)?;
        self.refuse_unwritable(path, &relative)?;
        let mut spot = self.follow(&relative).map_err(|error| self.explain(error, path, &relative))?;
        if spot.dangling {
            return Err(invalid(text!(
                "{path} is a link to {target}, which does not exist. Write to that path itself, or remove the link \
                 first.",
                path = quoted(path),
                target = quoted(&names::text_of(&spot.name()))
            )));
        }
        if path_arg::names_a_folder(&relative) && spot.last != Last::Folder {
            return Err(invalid(text!("{path} names a folder. Give the path of a file.", path = quoted(path))));
        }
        spot.folder_name = self.real_folder(path, &spot.folder, &spot.folder_name)?;
        let name = spot.name();
        // A link can lead from a harmless name to a blocked or protected one.
        self.refuse_unwritable(path, &name)?;
        Ok((spot, names::text_of(&name)))
    }

    /// Returns the name of an open folder relative to the root; `by_hand` is the path by which it was reached.
    pub(crate) fn real_folder(
        &self,
        path: &str,
        folder: &OwnedFd,
        by_hand: &Path,
    ) -> std::result::Result<PathBuf, ToolFailure> {
        let stat = rustix::fs::fstat(folder).map_err(|errno| of_system(errno, path))?;
        let by_hand = Some(by_hand.to_owned());
        self.name_of(folder.as_fd(), &stat, by_hand).map_err(|error| self.explain(error, path, Path::new(path)))
    }

    /// Returns the error for a `path` that could not be opened, with similar names that exist; `relative` is the parsed
    /// path.
    pub(crate) fn explain(&self, error: ResolveError, path: &str, relative: &Path) -> ToolFailure {
        suggest::explain(self, error, path, relative)
    }

    /// Adds paths that exist to the error for a path outside the root.
    pub(crate) fn with_relative_spelling(&self, failure: ToolFailure, path: &str) -> ToolFailure {
        suggest::with_relative_spelling(self, failure, path)
    }

    // From a path relative to the root to its entry, without the rules.

    /// Opens a relative path without applying the rules.
    pub(crate) fn open_relative(&self, relative: &Path) -> std::result::Result<OpenEntry, ResolveError> {
        let (fd, by_hand) = resolve::open(self.fd(), &self.spellings(), relative)?;
        let stat = rustix::fs::fstat(&fd)?;
        let name = self.name_of(fd.as_fd(), &stat, by_hand)?;
        Ok(OpenEntry { fd, stat, name })
    }

    /// Follows a relative path, including links, to its location.
    pub(crate) fn follow(&self, relative: &Path) -> std::result::Result<Spot, ResolveError> {
        resolve::follow(self.fd(), &self.spellings(), relative)
    }

    /// Returns the name, relative to the root, of the link by which a relative path leaves the root, or else of the
    /// last link on its way. See [`Facts::link`](toolfence_policy::Facts::link).
    pub(crate) fn link_of(&self, relative: &Path) -> Option<String> {
        resolve::link_of(self.fd(), &self.spellings(), relative).map(|link| names::text_of(&link))
    }

    /// Opens a path that a walk has found. Refuses links on the way; "" is the root.
    pub(crate) fn open_exact(&self, name: &Path) -> std::result::Result<OwnedFd, Errno> {
        resolve::open_exact(self.fd(), name)
    }

    /// Returns the status of a path that a walk has found. Refuses links on the way, and does not follow a link itself.
    pub(crate) fn stat_exact(&self, name: &Path) -> std::result::Result<Stat, Errno> {
        resolve::stat_exact(self.fd(), name)
    }

    /// Returns the identity of the file at a path that a walk has found. Refuses links on the way, and does not follow
    /// a link itself.
    pub(crate) fn identity_exact(&self, name: &Path) -> std::result::Result<Identity, Errno> {
        resolve::identity_exact(self.fd(), name)
    }

    /// Returns the kernel's current name of an open file, relative to the root. Without /proc, returns the name by
    /// which it was reached by hand, which has no links in it.
    pub(crate) fn name_of(
        &self,
        fd: BorrowedFd<'_>,
        stat: &Stat,
        by_hand: Option<PathBuf>,
    ) -> std::result::Result<PathBuf, ResolveError> {
        let (root, path) = match (resolve::path_of(self.fd()), resolve::path_of(fd)) {
            (Ok(root), Ok(path)) => (root, path),
            (Err(errno), _) | (_, Err(errno)) => return by_hand.ok_or(ResolveError::Sys(errno)),
        };
        let name = path.strip_prefix(&root).map_err(|_| ResolveError::Outside)?.to_owned();
        // The kernel appends " (deleted)" to the name of a removed file, and no rule would match that name. A file that
        // really has such a name is still found at it.
        if is_called_deleted(&name) {
            let there = rustix::fs::statat(&self.fd, &name, AtFlags::SYMLINK_NOFOLLOW)?;
            if !is_one(&there, stat) {
                return Err(Errno::NOENT.into());
            }
        }
        Ok(name)
    }

    // The path rules.

    /// Returns an error if a rule blocks any spelling of a name.
    pub(crate) fn refuse_blocked(&self, path: &str, name: &Path) -> std::result::Result<(), ToolFailure> {
        match self.blocks(&names::text_of(name)) {
            Some(rule) => Err(failure::blocked(path, &rule)),
            None => Ok(()),
        }
    }

    /// Returns an error if a rule blocks or protects any spelling of a name.
    pub(crate) fn refuse_unwritable(&self, path: &str, name: &Path) -> std::result::Result<(), ToolFailure> {
        self.refuse_blocked(path, name)?;
        for spelling in names::spellings(&names::text_of(name)) {
            if let Some(rule) = self.rules.protects(&spelling) {
                return Err(failure::protected(path, rule));
            }
        }
        Ok(())
    }

    /// Returns the rule that blocks any spelling of a real name, relative to the root.
    pub fn rule_that_blocks(&self, name: &Path) -> Option<String> {
        self.blocks(&names::text_of(name))
    }

    /// Returns the rule that blocks or protects any spelling of a real name, relative to the root. An entry with such a
    /// name is not put into the project.
    pub fn rule_against(&self, name: &Path) -> Option<String> {
        let text = names::text_of(name);
        let protects = |spelling: &String| self.rules.protects(spelling).map(str::to_owned);
        self.blocks(&text)
            .or_else(|| names::spellings(&text).iter().find_map(|spelling| protects(&spelling.to_string())))
    }

    /// Returns an error if a file is a hard link of a blocked file.
    pub(crate) fn refuse_twin(&self, path: &str, stat: &Stat) -> std::result::Result<(), ToolFailure> {
        if !Twins::possible(stat) {
            return Ok(());
        }
        match Twins::new(self).find(stat) {
            Ok(None) => Ok(()),
            Ok(Some(twin)) => Err(failure::blocked_twin(path, twin)),
            Err(unknown) => Err(failure::twin_unknown(path, unknown.most)),
        }
    }

    /// Refuses to create a file or folder whose name begins or ends with white space, because that is a mistake and
    /// results in a name that is easy to overlook. Existing files with such names can be read and changed.
    pub(crate) fn refuse_loose(&self, path: &str, spot: &Spot) -> std::result::Result<(), ToolFailure> {
        let Last::Missing(missing) = &spot.last else { return Ok(()) };
        let missing: Vec<_> = missing.iter().map(|name| name.to_string_lossy()).collect();
        let trimmed: Vec<&str> = missing.iter().map(|name| trimmed(name)).collect();
        if missing.iter().zip(&trimmed).all(|(name, trimmed)| name == trimmed) {
            return Ok(());
        }
        if trimmed.contains(&"") {
            return Err(invalid(text!(
                "{path} has white space at an end of a name, so it was not made. Give a name that is not blank.",
                path = quoted(path)
            )));
        }
        let meant = trimmed.iter().fold(spot.folder_name.clone(), |folder, name| folder.join(name));
        let name = names::text_of(&meant);
        // A suggestion must not reveal whether a blocked file exists.
        let there = self.blocks(&name).is_none() && self.open_relative(&meant).is_ok();
        Err(if there {
            invalid(text!(
                "{path} has white space at an end of a name, so it was not made. Did you mean {name}, which exists?",
                path = quoted(path),
                name = quoted(&name)
            ))
            .suggest([name])
        } else {
            invalid(text!(
                "{path} has white space at an end of a name, so it was not made. Write it without: {name}.",
                path = quoted(path),
                name = quoted(&name)
            ))
        })
    }

    /// Returns the path rules.
    pub(crate) fn rules(&self) -> &PathRules {
        &self.rules
    }

    /// Returns the rule that blocks any spelling of a name.
    pub(crate) fn blocks(&self, name: &str) -> Option<String> {
        self.blocked_by(name, Look::ByName)
    }

    /// Returns the rule that blocks an open file. Rules read the open file, not the current entry at its name.
    pub(crate) fn blocks_opened(&self, opened: &OpenEntry) -> Option<String> {
        self.blocked_by(&names::text_of(&opened.name), Look::Opened(opened))
    }

    /// Returns `true` if a rule may block the name, depending on the file's content.
    pub(crate) fn has_rule(&self, name: &str) -> bool {
        self.judged(name).next().is_some()
    }

    /// Returns whether a name is blocked, and whether that depends on the file's content, so that it must be checked
    /// again after a change. The rules decide about most names of a tree without the content.
    pub(crate) fn is_blocked(&self, name: &str) -> (bool, bool) {
        let mut judged = self.judged(name).peekable();
        if judged.peek().is_none() {
            return (false, false);
        }
        let by_content = judged.any(|blocked| blocked.unless == Some(Harmless::Certificates));
        (self.blocks(name).is_some(), by_content)
    }

    /// Returns how many folders above a blocked file are part of the rule that blocks it. Outside of these folders, the
    /// file would not be blocked.
    pub(crate) fn folders_of_rule(&self, path: &Path) -> usize {
        let names: Vec<_> = path.iter().collect();
        // If the file is moved with any folder above it, a glob of the list may match it.
        if self.rules.leaves_out(&names::text_of(path)) {
            return names.len().saturating_sub(1);
        }
        let below = |from: usize| names[from..].iter().collect::<PathBuf>();
        let shortest = (0..names.len()).rev().find(|&from| self.judged(&names::text_of(&below(from))).next().is_some());
        shortest.map_or(0, |from| names.len() - 1 - from)
    }

    /// Remembers a file that is masked for a command.
    pub(crate) fn remember_masked(&self, file: Number) {
        let mut masked = self.masked();
        if masked.len() < MOST_MASKED {
            masked.insert(file);
        }
    }

    fn masked(&self) -> MutexGuard<'_, HashSet<Number>> {
        self.masked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn judged_outside<'r>(&'r self, name: &str) -> impl Iterator<Item = Blocked<'r>> {
        let folded = names::folded(name).and_then(|folded| self.rules.judge_outside_root(&folded));
        self.rules.judge_outside_root(name).into_iter().chain(folded)
    }

    fn judged<'r>(&'r self, name: &str) -> impl Iterator<Item = Blocked<'r>> {
        // On some file systems, names that differ only in case or invisible characters are the same file.
        let folded = names::folded(name).and_then(|folded| self.rules.judge(&folded));
        self.rules.judge(name).into_iter().chain(folded)
    }

    fn blocked_by(&self, name: &str, look: Look<'_>) -> Option<String> {
        let is_harmless = |harmless| self.is_harmless(Path::new(name), harmless, look);
        self.judged(name)
            .find(|blocked| !blocked.unless.is_some_and(is_harmless))
            .map(|blocked| blocked.rule.to_owned())
    }

    fn is_harmless(&self, name: &Path, harmless: Harmless, look: Look<'_>) -> bool {
        match (harmless, look) {
            (Harmless::Certificates, Look::Opened(opened)) => opened.is_public_pem(),
            (Harmless::Certificates, Look::ByName) => {
                self.open_relative(name).is_ok_and(|opened| opened.is_public_pem())
            }
            (Harmless::NoFile, Look::Opened(opened)) => opened.kind() == FileType::Directory,
            (Harmless::NoFile, Look::ByName) => self.follow(name).is_ok_and(|spot| spot.last == Last::Folder),
            (Harmless::Package, Look::Opened(opened)) => !self.masked().contains(&number_of(&opened.stat)),
            (Harmless::Package, Look::ByName) => match self.stat_exact(name) {
                Ok(stat) => !self.masked().contains(&number_of(&stat)),
                Err(_) => true, // a link, whose target is judged separately, or no entry
            },
        }
    }
}

impl Project for Root {
    fn path(&self) -> &Path {
        &self.path
    }

    fn identity(&self) -> Identity {
        identity_at(self.fd(), Path::new("")).unwrap_or(Identity(0, 0, None))
    }

    fn search_path(&self) -> &OsStr {
        self.programs.search_path()
    }

    fn hides_outside(&self, shown: &Path, below: &Path, is_folder: bool) -> bool {
        // A toolchain has a hundred thousand files, so this check must be fast. The folders above this entry were
        // already checked, so only a rule that ends in its own name can block it, and the longest built-in rule has
        // three names.
        let last = |count: usize| below.iter().skip(below.iter().count().saturating_sub(count)).collect::<PathBuf>();
        let near = if below.iter().nth(2).is_some() {
            last(3)
        } else {
            Path::new(shown.file_name().unwrap_or_default()).join(below)
        };
        if self.rules.is_built_in() && self.judged_outside(&names::text_of(&near)).next().is_none() {
            return false;
        }
        // The name of the shown folder is part of rules such as `.cargo/credentials`.
        let name = shown.file_name().map_or_else(|| below.to_owned(), |name| Path::new(name).join(below));
        let is_harmless = |harmless| match harmless {
            Harmless::Certificates => {
                OpenEntry::open_outside(&shown.join(below)).is_some_and(|opened| opened.is_public_pem())
            }
            Harmless::NoFile => is_folder,
            Harmless::Package => true,
        };
        self.judged_outside(&names::text_of(&name)).any(|blocked| !blocked.unless.is_some_and(is_harmless))
    }
}

/// Makes a path absolute and keeps its links, because a user who works below a link names files by it.
fn absolute(path: &Path) -> std::io::Result<PathBuf> {
    if path.is_absolute() {
        return Ok(path.to_owned());
    }
    // The current folder has no links in its name, so `..` can be removed as text.
    let mut absolute = std::env::current_dir()?;
    let mut rest = path.components().filter(|part| *part != Component::CurDir).peekable();
    while rest.next_if_eq(&Component::ParentDir).is_some() {
        absolute.pop();
    }
    absolute.extend(rest);
    Ok(absolute)
}

/// Removes white space and zero-width characters at the ends of a name.
fn trimmed(name: &str) -> &str {
    name.trim_matches(|c: char| is_blank(c.encode_utf8(&mut [0; 4])))
}

fn is_called_deleted(name: &Path) -> bool {
    name.as_os_str().as_encoded_bytes().ends_with(b" (deleted)")
}
