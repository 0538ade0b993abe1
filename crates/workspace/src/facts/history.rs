//! Whether blocked names occur in the history of a repository. Masks do not cover what is committed: git prints it from its
//! objects, so a command that prints contents of a history is asked about where there is something to hide.
//!
//! Git is asked once for each state of the refs, on a thread of its own as soon as the first command is judged; later states
//! are asked about from the last one that was known.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::ffi::{OsStr, OsString};
use std::hash::{Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use toolfence_git::Git;
use toolfence_policy::HistoryFact;
use toolfence_rules::Harmless;
use toolfence_rules::PathRules;

use crate::names;

/// How long git may take for one question of the policy.
const LONGEST: Duration = Duration::from_secs(5);

/// The most bytes that git may print.
const MOST_BYTES: u64 = 64 << 20;

/// The most names that are given.
const MOST_NAMES: usize = 20;

/// The most refs from which a later state is asked about; each is an argument.
const MOST_REFS: usize = 1000;

/// What is known of histories.
#[derive(Debug)]
pub(crate) struct BlockedHistory {
    git: Option<Git>,
    rules: PathRules,
    known: Mutex<HashMap<PathBuf, Arc<Mutex<Option<Known>>>>>,
}

/// One state of a history.
#[derive(Debug, Clone)]
struct Known {
    refs: u64,
    /// The commits that the refs led to, if nothing blocked is in them.
    clean: Vec<String>,
    names: Vec<String>,
    all: bool,
    /// Names of which the content tells.
    by_content: Vec<String>,
}

impl BlockedHistory {
    pub(crate) fn new(rules: PathRules, git: Option<Git>) -> BlockedHistory {
        BlockedHistory { git, rules, known: Mutex::default() }
    }

    /// Begins to look at the history of this folder, so that the answer is there when it is needed.
    pub(crate) fn begin(self: &Arc<BlockedHistory>, folder: &Path) {
        if !folder.ancestors().any(|folder| folder.join(".git").exists()) {
            return;
        }
        let (history, folder) = (Arc::clone(self), folder.to_owned());
        let began = std::thread::Builder::new().name("history".into()).spawn(move || drop(history.fact(&folder)));
        if let Err(error) = began {
            tracing::debug!(%error, "the history is looked at when it is needed");
        }
    }

    /// What the history of the repository holds that git would find in this folder.
    pub(crate) fn fact(&self, folder: &Path) -> HistoryFact {
        let began = Instant::now();
        let fact = self.look(folder, began + LONGEST);
        let (is, blocked) = match &fact {
            Ok(HistoryFact::Clean) => ("clean", 0),
            Ok(HistoryFact::Holds { names, .. }) => ("holds", names.len()),
            _ => ("unknown", 0),
        };
        let error = fact.as_ref().err().map(ToString::to_string);
        let microseconds = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
        tracing::debug!(folder = %folder.display(), is, blocked, error, microseconds, "history judged");
        fact.unwrap_or(HistoryFact::Unknown)
    }

    fn look(&self, folder: &Path, until: Instant) -> io::Result<HistoryFact> {
        let folder = folder.canonicalize()?;
        let top = folder.ancestors().find(|folder| folder.join(".git").exists());
        let (Some(git), Some(top)) = (&self.git, top) else { return Err(io::Error::other("no repository or no git")) };
        let asking = Asking { git, rules: &self.rules, top, until };
        let slot =
            Arc::clone(self.known.lock().unwrap_or_else(PoisonError::into_inner).entry(top.to_owned()).or_default());
        // Whoever comes second waits for the answer of the first one.
        let mut known = slot.lock().unwrap_or_else(PoisonError::into_inner);
        let refs = asking.refs()?;
        let mut hasher = DefaultHasher::new();
        refs.hash(&mut hasher);
        let key = hasher.finish();
        let history = match &*known {
            Some(known) if known.refs == key => known.clone(),
            before => asking.history(key, &refs, before.as_ref())?,
        };
        *known = Some(history.clone());
        drop(known);
        let index = asking.index()?;
        let prefix = folder.strip_prefix(top).map_or_else(|_| String::new(), names::text_of);
        let prefix = if prefix.is_empty() { prefix } else { prefix + "/" };
        let (mut found, mut all) = (history.names, history.all);
        for name in &index {
            if !found.contains(name) {
                all &= found.len() < MOST_NAMES;
                found.push(name.clone());
            }
        }
        let staged = !index.is_empty();
        Ok(if found.is_empty() { HistoryFact::Clean } else { HistoryFact::Holds { names: found, all, prefix, staged } })
    }
}

/// Questions about one repository.
struct Asking<'a> {
    git: &'a Git,
    rules: &'a PathRules,
    top: &'a Path,
    until: Instant,
}

/// What is common to walks over the history. A merge is compared with its first parent: every name in a commit was added at
/// some commit on the way of first parents to a beginning, so no tree has to be read twice.
const LOG: &[&str] = &[
    "-c",
    "log.showRoot=true",
    "--no-replace-objects",
    "log",
    "--all",
    "--reflog",
    "--diff-merges=first-parent",
    "--no-renames",
    "--no-textconv",
    "--no-ext-diff",
];

/// Files that only their content tells apart.
const BY_CONTENT: &str = ":(top,icase,glob)**/*.pem";

impl Asking<'_> {
    fn ask<S: AsRef<OsStr>>(&self, args: &[S], also: &[i32]) -> io::Result<Vec<u8>> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.git.ask(self.top, args, also, left, MOST_BYTES)
    }

    /// Every ref and HEAD, each with what it leads to.
    fn refs(&self) -> io::Result<Vec<u8>> {
        self.ask(&["show-ref", "--head"], &[1])
    }

    fn history(&self, key: u64, refs: &[u8], before: Option<&Known>) -> io::Result<Known> {
        let ids = || refs.split(|&byte| byte == b'\n').filter_map(|line| line.split(|&byte| byte == b' ').next());
        let mut ids: Vec<String> = ids().filter_map(|id| Some(std::str::from_utf8(id).ok()?.to_owned())).collect();
        ids.retain(|id| !id.is_empty());
        ids.sort_unstable();
        ids.dedup();
        let before = before.filter(|before| !before.clean.is_empty());
        // What was known may be gone by now.
        let found = before.and_then(|before| self.added(&before.clean, &before.by_content).ok());
        let (names, all, by_content) = match found {
            Some(found) => found,
            None => self.added(&[], &[])?,
        };
        let clean = if names.is_empty() && ids.len() <= MOST_REFS { ids } else { Vec::new() };
        Ok(Known { refs: key, clean, names, all, by_content })
    }

    /// Blocked names that were added anywhere in the history but in that of these commits, in which there were the names
    /// `then` of which the content tells.
    fn added(&self, but: &[String], then: &[String]) -> io::Result<(Vec<String>, bool, Vec<String>)> {
        let args = |more: &[&str], paths: &[&str]| {
            let mut args: Vec<OsString> = LOG.iter().chain(more).map(OsString::from).collect();
            args.extend((!but.is_empty()).then(|| "--not".into()));
            args.extend(but.iter().map(OsString::from));
            args.push("--".into());
            args.extend(paths.iter().map(OsString::from));
            args
        };
        let listed = self.ask(&args(&["--name-only", "--diff-filter=AT", "--format=", "-z"], &[]), &[])?;
        let (mut names, all, mut by_content) = self.blocked(&listed);
        by_content.extend(then.iter().cloned());
        by_content.truncate(MOST_NAMES);
        if !by_content.is_empty() {
            // Every version of a file with a private key came from one without, or from none.
            let changed = self.ask(&args(&["-SPRIVATE KEY", "--format=%H", "-n1"], &[BY_CONTENT]), &[])?;
            names.extend(by_content.iter().filter(|_| !changed.is_empty()).take(1).cloned());
        }
        Ok((names, all, by_content))
    }

    /// Blocked names in the index.
    fn index(&self) -> io::Result<Vec<String>> {
        let listed = self.ask(&["ls-files", "-z", "--full-name", "--", ":/"], &[])?;
        let (mut names, _, by_content) = self.blocked(&listed);
        if !by_content.is_empty() {
            let found = self.ask(
                &["grep", "--cached", "-l", "-i", "-z", "--no-textconv", "-e", "PRIVATE KEY", "--", BY_CONTENT],
                &[1],
            )?;
            names.extend(by_content.into_iter().filter(|_| !found.is_empty()).take(1));
        }
        Ok(names)
    }

    /// The blocked ones of names that git lists, whether that is all of them, and those that only their content tells.
    fn blocked(&self, listed: &[u8]) -> (Vec<String>, bool, Vec<String>) {
        let (mut names, mut by_content, mut all) = (Vec::new(), Vec::new(), true);
        for name in listed.split(|&byte| byte == 0).map(<[u8]>::trim_ascii).filter(|name| !name.is_empty()) {
            let name = String::from_utf8_lossy(name).into_owned();
            let spellings = names::spellings(&name);
            let mut judged = spellings.iter().filter_map(|name| self.rules.judge(name)).map(|blocked| blocked.unless);
            let kind = judged.find(|unless| *unless != Some(Harmless::Package));
            let list = match kind {
                None => continue,
                Some(Some(Harmless::Certificates)) => &mut by_content,
                // In a commit every name is one of a file.
                Some(_) => &mut names,
            };
            if list.contains(&name) {
                continue;
            }
            if list.len() == MOST_NAMES {
                all = false;
                continue;
            }
            list.push(name);
        }
        (names, all, by_content)
    }
}
