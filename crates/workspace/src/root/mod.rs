//! The root of a project as an open folder: from a string of the model to an open file below it.
//!
//! Architecture invariant: whatever opens a file of the project does it through a [`Root`], and checks on the open descriptor
//! where the file really is and whether a rule blocks it.

mod failure;
pub(crate) mod folder;
pub(crate) mod hops;
pub(crate) mod ignores;
pub(crate) mod opened;
pub(crate) mod path_arg;
pub(crate) mod programs;
pub(crate) mod resolve;
mod suggest;
pub(crate) mod told;
pub(crate) mod twins;
pub(crate) mod walk;

pub(crate) use failure::{conflict, not_a_file, of_io, of_system};
pub(crate) use path_arg::invalid;
pub use programs::Programs;

use crate::names;
use crate::stat::is_one;
use opened::Opened;
use path_arg::shown;
use resolve::{Last, Spot, Trouble};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use told::Step;
use toolfence_policy::rules::{Blocked, Harmless, PathRules};
use toolfence_protocol::invisible::is_blank;
use toolfence_protocol::{Error, Result, ToolFailure, text};
use toolfence_sandbox::project::{Identity, Number, Project, identity_at, number_of};
use twins::Twins;

/// The most files that a root remembers as masked: a hostile tree must not fill the memory.
const MOST_MASKED: usize = 200_000;

/// The root folder of a project, open, with the rules about names below it.
#[derive(Debug)]
pub struct Root {
    fd: OwnedFd,
    path: PathBuf,
    /// The path as the host gave it, which may lead through links.
    given: PathBuf,
    rules: PathRules,
    programs: Programs,
    /// Files that were masked for a command. A command can move a folder with such a file to where the name would be that of an
    /// installed package's file; the file stays blocked there.
    masked: Mutex<HashSet<Number>>,
}

/// What a name is to a rule that has to look at the file.
#[derive(Clone, Copy)]
enum Look<'o> {
    /// The name alone is known; it is opened where a rule asks for the content.
    ByName,
    /// The open file, whatever stands at its name by now.
    Opened(&'o Opened),
}

impl Root {
    /// Opens the folder at `path`. It stays the same folder even if it is renamed. `host_path` is the PATH of the host.
    ///
    /// # Errors
    /// The folder does not exist, is no folder, or may not be read.
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

    /// The absolute path without links that the root had when it was opened. It is for messages and for programs that need a
    /// path; this crate opens nothing by it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The programs of the host that commands in this project find.
    pub fn programs(&self) -> &Programs {
        &self.programs
    }

    /// Opens a folder below the root, for a process to run in.
    ///
    /// # Errors
    /// `not_found`, `permission_denied` or `denied` as for every path, and `invalid_argument` for what is no folder.
    pub fn folder(&self, path: &str) -> std::result::Result<OwnedFd, ToolFailure> {
        self.open_folder(path).map(|opened| opened.fd)
    }

    /// Opens a folder below the root, and gives its real name too: relative to the root and without links.
    ///
    /// # Errors
    /// The errors of [`Root::folder`].
    pub fn named_folder(&self, path: &str) -> std::result::Result<(OwnedFd, PathBuf), ToolFailure> {
        self.open_folder(path).map(|opened| (opened.fd, opened.name))
    }

    /// The content of a file that may be opened: at most so many bytes of it and one more, by which a larger file is known.
    ///
    /// # Errors
    /// The errors of reading the file.
    pub fn bytes(&self, path: &str, most: usize) -> std::result::Result<Vec<u8>, ToolFailure> {
        let mut bytes = Vec::new();
        let file = File::from(self.open_file(path)?.fd);
        file.take(most as u64 + 1).read_to_end(&mut bytes).map_err(|error| of_io(&error, path))?;
        Ok(bytes)
    }

    /// The real name, relative to the root and without links, of a file that may be opened.
    ///
    /// # Errors
    /// The errors of reading the file.
    pub fn named_file(&self, path: &str) -> std::result::Result<PathBuf, ToolFailure> {
        self.open_file(path).map(|opened| opened.name)
    }

    /// The name of what a path leads to, or would lead to if it existed: relative to the root and without links.
    ///
    /// # Errors
    /// `permission_denied` outside the root, and where the system refuses.
    pub fn real_name(&self, path: &str) -> std::result::Result<String, ToolFailure> {
        let relative = self.relative(path)?;
        let spot = self.follow(&relative).map_err(|trouble| self.explain(trouble, path, &relative))?;
        let folder = self.real_folder(path, &spot.folder, &spot.folder_name)?;
        Ok(names::text_of(&Spot { folder_name: folder, ..spot }.name()))
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// The absolute spellings under which the root may be named.
    pub(crate) fn spellings(&self) -> [&Path; 2] {
        [&self.path, &self.given]
    }

    /// Whether the root was removed. The system still lists such a folder, as an empty one.
    pub(crate) fn is_gone(&self) -> bool {
        let Ok(stat) = rustix::fs::fstat(&self.fd) else { return true };
        let there = |path: &Path| rustix::fs::stat(path).is_ok_and(|now| is_one(&now, &stat));
        if there(&self.path) {
            return false;
        }
        // It may have been renamed. Not every file system counts the names of a folder; the kernel's word says it too.
        let deleted = |path: PathBuf| is_called_deleted(&path) && !there(&path);
        stat.st_nlink == 0 || resolve::path_of(self.fd()).is_ok_and(deleted)
    }

    // From a string of the model to an open file.

    /// Opens the regular file that a model's string names.
    pub(crate) fn open_file(&self, path: &str) -> std::result::Result<Opened, ToolFailure> {
        let opened = self.open_any(path)?;
        match opened.kind() {
            FileType::RegularFile => Ok(opened),
            kind => Err(not_a_file(path, kind)),
        }
    }

    /// Opens the folder that a model's string names.
    pub(crate) fn open_folder(&self, path: &str) -> std::result::Result<Opened, ToolFailure> {
        let opened = self.open_any(path)?;
        match opened.kind() {
            FileType::Directory => Ok(opened),
            kind => Err(failure::not_a_folder(path, kind)),
        }
    }

    /// Opens whatever a model's string names, if no rule blocks it.
    pub(crate) fn open_any(&self, path: &str) -> std::result::Result<Opened, ToolFailure> {
        let done = self.open_allowed(path);
        told::opened(self, Step::Open, path, done.as_ref().map(|opened| &*opened.name));
        done
    }

    fn open_allowed(&self, path: &str) -> std::result::Result<Opened, ToolFailure> {
        let relative = self.relative(path)?;
        self.refuse_blocked(path, &relative)?;
        let opened = self.open_relative(&relative).map_err(|trouble| self.explain(trouble, path, &relative))?;
        if let Some(rule) = self.blocks_opened(&opened) {
            return Err(failure::blocked(path, &rule));
        }
        self.refuse_twin(path, &opened.stat)?;
        Ok(opened)
    }

    /// A model's string relative to the root, if there still is a root.
    pub(crate) fn relative(&self, path: &str) -> std::result::Result<PathBuf, ToolFailure> {
        if self.is_gone() {
            return Err(failure::root_gone(&self.path));
        }
        if !path.is_empty() && is_blank(path) {
            return Err(invalid(text!(
                "The path is blank: {path} holds nothing that can be seen. Give a path, such as src/main.rs.",
                path = shown(path)
            )));
        }
        let relative = path_arg::relative(path, &self.spellings());
        relative.map_err(|failure| suggest::with_relative_spelling(self, failure, path))
    }

    /// Where a file of this name stands or would stand, if it may be written, and its real name.
    pub(crate) fn spot_to_write(&self, path: &str) -> std::result::Result<(Spot, String), ToolFailure> {
        let done = self.writable_spot(path);
        told::opened(self, Step::Write, path, done.as_ref().map(|(_, name)| Path::new(name)));
        done
    }

    fn writable_spot(&self, path: &str) -> std::result::Result<(Spot, String), ToolFailure> {
        let relative = self.relative(path)?;
        self.refuse_unwritable(path, &relative)?;
        let mut spot = self.follow(&relative).map_err(|trouble| self.explain(trouble, path, &relative))?;
        if spot.dangling {
            return Err(invalid(text!(
                "{path} is a link to {target}, which does not exist. Write to that path itself, or remove the link \
                 first.",
                path = shown(path),
                target = shown(&names::text_of(&spot.name()))
            )));
        }
        if path_arg::names_a_folder(&relative) && spot.last != Last::Folder {
            return Err(invalid(text!("{path} names a folder. Give the path of a file.", path = shown(path))));
        }
        spot.folder_name = self.real_folder(path, &spot.folder, &spot.folder_name)?;
        let name = spot.name();
        self.refuse_unwritable(path, &name)?;
        Ok((spot, names::text_of(&name)))
    }

    /// The name of an open folder relative to the root; `by_hand` is how it was reached.
    pub(crate) fn real_folder(
        &self,
        path: &str,
        folder: &OwnedFd,
        by_hand: &Path,
    ) -> std::result::Result<PathBuf, ToolFailure> {
        let stat = rustix::fs::fstat(folder).map_err(|errno| of_system(errno, path))?;
        let by_hand = Some(by_hand.to_owned());
        self.name_of(folder.as_fd(), &stat, by_hand).map_err(|trouble| self.explain(trouble, path, Path::new(path)))
    }

    /// Why `path` (as written; `relative` as read) could not be opened, with names that exist and may be meant.
    pub(crate) fn explain(&self, trouble: Trouble, path: &str, relative: &Path) -> ToolFailure {
        suggest::explain(self, trouble, path, relative)
    }

    /// Adds paths that exist to the refusal of a path outside the root.
    pub(crate) fn with_relative_spelling(&self, failure: ToolFailure, path: &str) -> ToolFailure {
        suggest::with_relative_spelling(self, failure, path)
    }

    // From a path relative to the root to what stands there, without a look at the rules.

    /// Opens a relative path without asking the rules.
    pub(crate) fn open_relative(&self, relative: &Path) -> std::result::Result<Opened, Trouble> {
        let (fd, by_hand) = resolve::open(self.fd(), &self.spellings(), relative)?;
        let stat = rustix::fs::fstat(&fd)?;
        let name = self.name_of(fd.as_fd(), &stat, by_hand)?;
        Ok(Opened { fd, stat, name })
    }

    /// Follows a relative path, links included, to where it leads.
    pub(crate) fn follow(&self, relative: &Path) -> std::result::Result<Spot, Trouble> {
        resolve::follow(self.fd(), &self.spellings(), relative)
    }

    /// The link that a relative path goes by, relative to the root: see [`Facts::link`](toolfence_policy::Facts::link).
    pub(crate) fn link_of(&self, relative: &Path) -> Option<String> {
        resolve::link_of(self.fd(), &self.spellings(), relative).map(|link| names::text_of(&link))
    }

    /// Opens a name that a walk has found, on whose way there must be no link; "" is the root.
    pub(crate) fn open_exact(&self, name: &Path) -> std::result::Result<OwnedFd, Errno> {
        resolve::open_exact(self.fd(), name)
    }

    /// The status of a name that a walk has found, on whose way there must be no link. A link itself is not followed.
    pub(crate) fn stat_exact(&self, name: &Path) -> std::result::Result<Stat, Errno> {
        resolve::stat_exact(self.fd(), name)
    }

    /// Which file it is that has a name that a walk has found; no link is accepted on the way, and a link itself is not followed.
    pub(crate) fn identity_exact(&self, name: &Path) -> std::result::Result<Identity, Errno> {
        resolve::identity_exact(self.fd(), name)
    }

    /// The name of an open file relative to the root, as the kernel has it now. Without /proc it is the name by which
    /// it was reached by hand, which had no links in it.
    pub(crate) fn name_of(
        &self,
        fd: BorrowedFd<'_>,
        stat: &Stat,
        by_hand: Option<PathBuf>,
    ) -> std::result::Result<PathBuf, Trouble> {
        let (root, path) = match (resolve::path_of(self.fd()), resolve::path_of(fd)) {
            (Ok(root), Ok(path)) => (root, path),
            (Err(errno), _) | (_, Err(errno)) => return by_hand.ok_or(Trouble::Sys(errno)),
        };
        let name = path.strip_prefix(&root).map_err(|_| Trouble::Outside)?.to_owned();
        // The kernel adds " (deleted)" to the name of a file that is gone, and then the name says nothing to the rules.
        if is_called_deleted(&name) {
            let there = rustix::fs::statat(&self.fd, &name, AtFlags::SYMLINK_NOFOLLOW)?;
            if !is_one(&there, stat) {
                return Err(Errno::NOENT.into());
            }
        }
        Ok(name)
    }

    // The rules about names.

    /// Refuses a name that a rule blocks, in any spelling.
    pub(crate) fn refuse_blocked(&self, path: &str, name: &Path) -> std::result::Result<(), ToolFailure> {
        match self.blocks(&names::text_of(name)) {
            Some(rule) => Err(failure::blocked(path, &rule)),
            None => Ok(()),
        }
    }

    /// Refuses a name that a rule blocks or protects, in any spelling.
    pub(crate) fn refuse_unwritable(&self, path: &str, name: &Path) -> std::result::Result<(), ToolFailure> {
        self.refuse_blocked(path, name)?;
        for spelling in names::spellings(&names::text_of(name)) {
            if let Some(rule) = self.rules.protects(&spelling) {
                return Err(failure::protected(path, rule));
            }
        }
        Ok(())
    }

    /// The rule that blocks a real name, relative to the root, in any spelling.
    pub fn rule_that_blocks(&self, name: &Path) -> Option<String> {
        self.blocks(&names::text_of(name))
    }

    /// The rule that blocks or protects a real name, relative to the root, in any spelling: an entry with this name is not put into the
    /// project.
    pub fn rule_against(&self, name: &Path) -> Option<String> {
        let text = names::text_of(name);
        let protects = |spelling: &String| self.rules.protects(spelling).map(str::to_owned);
        self.blocks(&text)
            .or_else(|| names::spellings(&text).iter().find_map(|spelling| protects(&spelling.to_string())))
    }

    /// Refuses a file that is also a blocked one, under another name.
    pub(crate) fn refuse_twin(&self, path: &str, stat: &Stat) -> std::result::Result<(), ToolFailure> {
        if !Twins::possible(stat) {
            return Ok(());
        }
        match Twins::of(self).find(stat) {
            Ok(None) => Ok(()),
            Ok(Some(twin)) => Err(failure::blocked_twin(path, twin)),
            Err(unknown) => Err(failure::twin_unknown(path, unknown.most)),
        }
    }

    /// Refuses to make a file or a folder whose name has white space at an end: it is a slip, and nobody sees the name it
    /// leaves behind. What exists under such a name can be read and changed.
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
                path = shown(path)
            )));
        }
        let meant = trimmed.iter().fold(spot.folder_name.clone(), |folder, name| folder.join(name));
        let name = names::text_of(&meant);
        let there = self.blocks(&name).is_none() && self.open_relative(&meant).is_ok();
        Err(if there {
            invalid(text!(
                "{path} has white space at an end of a name, so it was not made. Did you mean {name}, which exists?",
                path = shown(path),
                name = shown(&name)
            ))
            .suggest([name])
        } else {
            invalid(text!(
                "{path} has white space at an end of a name, so it was not made. Write it without: {name}.",
                path = shown(path),
                name = shown(&name)
            ))
        })
    }

    /// The rules about names.
    pub(crate) fn rules(&self) -> &PathRules {
        &self.rules
    }

    /// The rule that blocks a name, in any spelling.
    pub(crate) fn blocks(&self, name: &str) -> Option<String> {
        self.blocked_by(name, Look::ByName)
    }

    /// The rule that blocks a file that is open: what is looked at is the open file, whatever stands at its name by now.
    pub(crate) fn blocks_opened(&self, opened: &Opened) -> Option<String> {
        self.blocked_by(&names::text_of(&opened.name), Look::Opened(opened))
    }

    /// Whether a rule could block a name. If not, no content of the file can block it either.
    pub(crate) fn has_rule(&self, name: &str) -> bool {
        self.judged(name).next().is_some()
    }

    /// Whether a name is blocked, and whether only the content of the file tells, so that it has to be looked at again when it
    /// changed. Most names of a tree are answered by the rules alone.
    pub(crate) fn is_blocked(&self, name: &str) -> (bool, bool) {
        let mut judged = self.judged(name).peekable();
        if judged.peek().is_none() {
            return (false, false);
        }
        let by_content = judged.any(|blocked| blocked.unless == Some(Harmless::Certificates));
        (self.blocks(name).is_some(), by_content)
    }

    /// How many folders above a blocked file belong to the rule that blocks it: moved out of these, the file would not be
    /// blocked.
    pub(crate) fn folders_of_rule(&self, path: &Path) -> usize {
        let names: Vec<_> = path.iter().collect();
        // Moved with any folder above it, the file could come under a glob of the list.
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
                Err(_) => true, // a link, whose target is judged by itself, or nothing
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

    fn hides_beside(&self, shown: &Path, below: &Path, is_folder: bool) -> bool {
        // A toolchain has a hundred thousand files. What is above this one was asked about before it, so only rules that end
        // in its own name can block it; the longest built-in one has three names.
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
            Harmless::Certificates => Opened::beside(&shown.join(below)).is_some_and(|opened| opened.is_public_pem()),
            Harmless::NoFile => is_folder,
            Harmless::Package => true,
        };
        self.judged_outside(&names::text_of(&name)).any(|blocked| !blocked.unless.is_some_and(is_harmless))
    }
}

/// A path as it was given, but absolute. Links stay in it: a person who works below a link names files by it.
fn absolute(path: &Path) -> std::io::Result<PathBuf> {
    if path.is_absolute() {
        return Ok(path.to_owned());
    }
    // The current folder has no links in its name, so what leads up from it can be taken away as text.
    let mut absolute = std::env::current_dir()?;
    let mut rest = path.components().filter(|part| *part != Component::CurDir).peekable();
    while rest.next_if_eq(&Component::ParentDir).is_some() {
        absolute.pop();
    }
    absolute.extend(rest);
    Ok(absolute)
}

/// A name without the white space at its ends, and the marks that take no room.
fn trimmed(name: &str) -> &str {
    name.trim_matches(|c: char| is_blank(c.encode_utf8(&mut [0; 4])))
}

fn is_called_deleted(name: &Path) -> bool {
    name.as_os_str().as_encoded_bytes().ends_with(b" (deleted)")
}
