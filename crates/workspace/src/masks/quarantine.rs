//! Quarantines files that appeared in the project while a command ran and would make the host's git run programs.
//!
//! Files that existed before are read-only to the command. New repositories stay if they are as `git init` and `git
//! clone` create them. Every other one is renamed, which keeps its content but hides it from git. So are hooks,
//! included files and programs that the configuration names and that did not exist before.

use crate::git::made;
use crate::git::resolved_path::{ResolvedPath, Step};
use crate::masks::Masks;
use crate::masks::repositories::{Protection, Repository, UsedPath};
use crate::masks::scan::{Purpose, Scan, UnlockedFolders};
use crate::masks::set::{HeldFile, MaskSet};
use crate::names;
use crate::root::resolve::open_exact;
use crate::stop::Stop;
use rustix::fd::{AsFd, BorrowedFd};
use rustix::fs::{FileType, RenameFlags};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use toolfence_protocol::{Text, text};
use toolfence_sandbox::project::number_of;

/// The suffix of the new name, which a number follows.
const ASIDE: &str = ".set-aside";

/// An entry that must be renamed.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Suspect {
    /// `.git`: a folder, a file or a link.
    Repository(PathBuf),
    /// The folder of a repository that has no `.git`.
    Bare(PathBuf),
    /// A file or folder that the configuration of a repository names.
    UsedPath(PathBuf),
}

/// Renames the files that appeared, after all processes of the command have ended. Returns a sentence about each.
pub(super) fn quarantine(masks: &Masks, before: &MaskSet) -> Vec<Text> {
    match suspects(masks, before) {
        Some((suspects, _opened)) => suspects.iter().map(|suspect| quarantine_entry(masks, suspect)).collect(),
        None => vec![text!(
            "The project is too big for a complete check after the command. Look for new .git folders in it before you \
             run git there."
        )],
    }
}

/// Returns the new entries that must be renamed; `None` if the walk failed.
///
/// The second value keeps folders readable that the command has closed, so that their entries can be renamed.
fn suspects<'w>(masks: &'w Masks, before: &MaskSet) -> Option<(Vec<Suspect>, UnlockedFolders<'w>)> {
    let mut scan = Scan::begin(masks, Purpose::Quarantine);
    // This walk cannot be stopped, because the check must be complete.
    scan.tree(&Stop::default()).ok()?;
    let standing = |now: &Repository| {
        let known = before
            .repositories
            .iter()
            .find(|then| then.at == now.at && then.identity == now.identity && then.link == now.link);
        known.map(|then| then.standing)
    };
    let judged = scan.set.repositories.iter().filter(|now| standing(now) != Some(Protection::Protected));
    let mut found: Vec<Suspect> = judged.filter_map(|now| judge(masks, before, now)).collect();
    let mut led: Vec<PathBuf> = before.used.iter().filter_map(|used| changed_target(masks, used)).collect();
    led.sort();
    led.dedup();
    found.extend(led.into_iter().map(Suspect::UsedPath));
    found.extend(
        before.held.iter().filter(|held| is_replaced(masks, held)).map(|held| Suspect::UsedPath(held.path.clone())),
    );
    Some((found, scan.opened))
}

/// Returns the entry that makes git use another file than before, or one where nothing existed: a link that leads to
/// another target, or the file or folder itself. The path is relative to the root.
fn changed_target(masks: &Masks, used: &UsedPath) -> Option<PathBuf> {
    let now = ResolvedPath::resolve(&used.path);
    let same_end = used.resolved_path.is_there && now.end_identity() == used.resolved_path.end_identity();
    if !now.is_there || same_end {
        return None;
    }
    let is_new = |step: &Step| !used.resolved_path.steps.contains(step);
    let root = masks.root.path();
    // A repository is judged by its content.
    let of_a_repository =
        |step: &Step| step.at.strip_prefix(root).is_ok_and(|at| at.file_name() == Some(OsStr::new(".git")));
    if now.steps.iter().any(|step| is_new(step) && of_a_repository(step)) {
        return None;
    }
    let others = now.steps.split_last().is_some_and(|(_, others)| others.iter().any(is_new));
    if used.resolved_path.is_there && now.end == used.resolved_path.end && !others {
        // Another process on the host has saved the file: a command cannot replace a mount.
        return None;
    }
    let step = now.leaves(&used.resolved_path)?;
    step.at.strip_prefix(root).ok().filter(|at| !at.as_os_str().is_empty()).map(Path::to_owned)
}

/// Returns `true` if the path leads to another entry in another folder. If only the file is another one, another
/// process on the host has saved it: a command cannot replace a mount.
fn is_replaced(masks: &Masks, held: &HeldFile) -> bool {
    let identity = |path: &Path| masks.root.stat_exact(path).ok().map(|stat| number_of(&stat));
    // A repository is judged by its content.
    held.path.file_name().is_none_or(|name| name != ".git")
        && identity(&held.path).is_some_and(|now| now != held.identity)
        && held.path.parent().is_some_and(|above| identity(above) != Some(held.above))
}

/// Returns `None` for a repository that is as git creates it.
fn judge(masks: &Masks, before: &MaskSet, now: &Repository) -> Option<Suspect> {
    let at = masks.root.path().join(&now.at);
    let has_dot_git = now.at.file_name().is_some_and(|name| name == ".git");
    let suspect = if has_dot_git { Suspect::Repository(now.at.clone()) } else { Suspect::Bare(now.at.clone()) };
    let stat = match masks.root.stat_exact(&now.at) {
        Ok(stat) => stat,
        Err(Errno::NOENT | Errno::NOTDIR) => return None,
        // It exists, but its kind cannot be determined.
        Err(_) => return Some(suspect),
    };
    let top = if has_dot_git { at.parent().unwrap_or(&at) } else { &at };
    let everywhere = masks.hooks_everywhere();
    let is_made = |git_dir: &Path| made::is_as_git_makes_it(git_dir, top, everywhere.as_deref());
    let is_fine = match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => is_made(&at),
        // A work tree that the user added meanwhile has such a file. It points to a repository that the command could
        // not change.
        FileType::RegularFile => made::is_linked_back(&at, &|git_dir: &Path| {
            let Ok(inside) = git_dir.strip_prefix(masks.root.path()) else { return false };
            let frozen = before.out_of_reach().any(|mask| inside.starts_with(&mask.path));
            let no_hooks = !everywhere.as_ref().is_some_and(|hooks| top.join(hooks).exists());
            frozen && no_hooks || is_made(git_dir)
        }),
        _ => false,
    };
    (!is_fine).then_some(suspect)
}

fn quarantine_entry(masks: &Masks, suspect: &Suspect) -> Text {
    let (path, why) = match suspect {
        Suspect::Repository(path) => (path.clone(), text!("It would let git run programs")),
        // Its other entries may be anything. Without a HEAD, git does not treat the folder as a repository.
        Suspect::Bare(path) => {
            (path.join("HEAD"), text!("With it, git takes the folder for a repository and may run programs"))
        }
        Suspect::UsedPath(path) => {
            (path.clone(), text!("The configuration of git names it, so git would run or read it"))
        }
    };
    let shown = names::display(&path);
    let folder = masks.root.open_exact(path.parent().unwrap_or(Path::new("")));
    let renamed = folder.and_then(|folder| {
        let last = path.file_name().unwrap_or(OsStr::new(".git"));
        let name = rename(folder.as_fd(), last)?;
        if let Suspect::Repository(_) = suspect
            && let Ok(inner) = open_exact(folder.as_fd(), Path::new(&name))
        {
            // A git directory works under any name for a process that enters it.
            let _ = rename(inner.as_fd(), OsStr::new("HEAD"));
        }
        Ok(name)
    });
    match renamed {
        Ok(name) => {
            text!("{path} appeared while the command ran. {why}, so it is now named {name}.", path = shown, why, name)
        }
        Err(errno) => text!(
            "{path} appeared while the command ran. {why}, and it could not be renamed ({error}). Do not run git \
             there.",
            path = shown,
            why,
            error = errno.to_string()
        ),
    }
}

/// Renames an entry of a folder to the first free quarantine name, and returns that name.
fn rename(folder: BorrowedFd<'_>, last: &OsStr) -> Result<String, Errno> {
    const MOST_TRIES: u32 = 1000;
    let last_shown = last.to_string_lossy();
    for number in 1..=MOST_TRIES {
        let name = format!("{last_shown}{ASIDE}-{number}");
        match rustix::fs::renameat_with(folder, last, folder, &*name, RenameFlags::NOREPLACE) {
            Ok(()) => return Ok(name),
            Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno),
        }
    }
    Err(Errno::EXIST)
}
