//! Describes in git's terms what a command changed in a repository: commits, branches, tags, stashes, settings.

use super::changes::{EntryChange, GitDirChanges};
use super::config::keys_of;
use super::{Git, bytes_of};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use toolfence_protocol::{Text, text};

/// The time limit of each call of git.
const PATIENCE: Duration = Duration::from_secs(10);

/// The maximum size in bytes of the list of packed refs, and of git's output.
const MOST_BYTES: u64 = 16 << 20;

/// The maximum size in bytes of an index, and of the list of its files: some 500,000 files.
const MOST_OF_INDEX: u64 = 128 << 20;

/// The maximum number of refs that are described one by one.
const MOST_REFS: usize = 20;

/// The maximum number of commits that are listed of a branch.
const MOST_COMMITS: usize = 5;

/// The maximum number of characters that are printed of a commit's subject, or of another text.
const MOST_OF_SUBJECT: usize = 80;

/// The changes that a command made in a repository.
#[derive(Debug, Default)]
pub struct Summary {
    /// One sentence for each change, such as ``commit ce3a5d4 'Fix median' on main: 2 files``.
    pub lines: Vec<Text>,
    /// Whether history may be lost: a ref was rewritten or deleted, a stash dropped, or objects removed.
    pub loses_history: bool,
}

/// A ref before and after a command, each as git stores it: the name of an object, or `ref: NAME`.
#[derive(Debug)]
struct ChangedRef {
    name: String,
    before: Option<String>,
    after: Option<String>,
}

impl GitDirChanges<'_> {
    /// Describes the changes, which must have passed [`check`](GitDirChanges::check). `scratch` is an empty folder for
    /// files that git needs to read the objects of both sides: it never reads the configuration of either.
    pub fn summary(&self, git: &Git, scratch: &Path) -> Summary {
        let mut summary = Summary::default();
        let Ok(objects) = Objects::open(self, git, scratch) else {
            // If git fails, history is assumed to be lost.
            return Summary { lines: vec![text!("changes that git cannot describe")], loses_history: true };
        };
        let mut refs = self.changed_refs();
        let head = refs.iter().position(|changed| changed.name == "HEAD").map(|at| refs.remove(at));
        for changed in refs.iter().take(MOST_REFS) {
            self.describe(changed, &objects, &mut summary);
        }
        if let Some(more) = refs.len().checked_sub(MOST_REFS).filter(|more| *more > 0) {
            summary.lines.push(text!("{count} more refs changed", count = more as u64));
            // The rest is not checked, so history is assumed to be lost.
            summary.loses_history = true;
        }
        if let Some(before) = head.as_ref().and_then(|head| head.before.as_deref()).filter(|before| is_object(before)) {
            // Commits of a detached HEAD are lost if no branch has them.
            let mut others = self.branches_before();
            let after = refs.iter().chain(&head).filter_map(|changed| changed.after.clone());
            others.extend(after.filter(|after| is_object(after)));
            summary.loses_history |= objects.lost(before, &others) != Some(0);
        }
        if let Some(after) = head.and_then(|head| head.after) {
            summary.lines.push(match after.strip_prefix("ref: refs/heads/") {
                Some(branch) => text!("switched to branch {branch}", branch = one_line(branch)),
                None => text!("HEAD detached at {commit}", commit = objects.subject(&after)),
            });
        }
        self.describe_others(git, &mut summary);
        if summary.lines.is_empty() && self.changes.contains_key(Path::new("index")) {
            summary.lines.push(text!("the list of staged files"));
        }
        if summary.lines.is_empty() {
            summary.lines.push(text!("files that git keeps for itself"));
        }
        summary
    }

    /// Returns `true` if a user would not care about the changes: an index that lists the same files, a commit message,
    /// a move of `HEAD` to the same commit, and objects that a failed command fetched or stored. `scratch` is an empty
    /// folder.
    pub fn is_bookkeeping(&self, git: &Git, scratch: &Path, has_failed: bool) -> bool {
        for (path, change) in &self.changes {
            let parts: Vec<&str> = path.iter().filter_map(OsStr::to_str).collect();
            let is_fine = match parts.as_slice() {
                _ if *change == EntryChange::Folder => true,
                _ if *change != EntryChange::Written => false,
                ["index" | "COMMIT_EDITMSG"] => true,
                ["ORIG_HEAD"] => self.head_is(path),
                ["logs", ..] => self.log_stays(path),
                ["FETCH_HEAD"] | ["objects", ..] => has_failed,
                _ => false,
            };
            if !is_fine {
                return false;
            }
        }
        if !self.changes.contains_key(Path::new("index")) {
            return true;
        }
        let list = |index: &Path, name: &str| list_index(git, index, &scratch.join(name), self.is_sha256(git));
        let index = Path::new("index");
        match (list(&self.before.join(index), "before"), list(&self.after.join(index), "after")) {
            (Ok(before), Ok(after)) => before == after,
            _ => false,
        }
    }

    /// Returns `true` if the file names the commit in the last line of the log of `HEAD` before the command.
    fn head_is(&self, path: &Path) -> bool {
        let log = bytes_of(&self.before.join("logs/HEAD"), MOST_BYTES).unwrap_or_default();
        let last = log.trim_ascii_end().rsplit(|&byte| byte == b'\n').next();
        // The second word of a line is the new value of `HEAD`.
        let head = last.and_then(|line| line.split(|&byte| byte == b' ').nth(1));
        self.bytes(path).is_ok_and(|bytes| Some(bytes.trim_ascii()) == head)
    }

    /// Returns `true` if all lines that were added to a log are moves to the same commit.
    fn log_stays(&self, path: &Path) -> bool {
        let before = bytes_of(&self.before.join(path), MOST_BYTES).unwrap_or_default();
        let Ok(after) = self.bytes(path) else { return false };
        let Some(added) = after.strip_prefix(before.as_slice()) else { return false };
        added.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).all(|line| {
            // A line begins with the old and the new commit.
            let mut words = line.split(|&byte| byte == b' ');
            words.next() == words.next()
        })
    }

    pub(super) fn is_sha256(&self, git: &Git) -> bool {
        let keys = keys_of(git, &self.before.join("config")).unwrap_or_default();
        keys.iter().any(|(key, value)| key == "extensions.objectformat" && value.as_deref() == Some("sha256"))
    }

    /// Returns the refs that have another value than before, including `HEAD`.
    fn changed_refs(&self) -> Vec<ChangedRef> {
        let packed = |bytes: io::Result<Vec<u8>>| packed_refs(&bytes.unwrap_or_default());
        let file = Path::new("packed-refs");
        let before = packed(bytes_of(&self.before.join(file), MOST_BYTES));
        let after = match self.changes.contains_key(file) {
            true => packed(self.bytes(file)),
            false => before.clone(),
        };
        let mut names: BTreeSet<String> = BTreeSet::new();
        if self.changes.contains_key(file) {
            let all = before.iter().chain(&after);
            names.extend(
                all.filter(|(name, value)| before.get(*name) != Some(*value) || after.get(*name) != Some(*value))
                    .map(|(name, _)| name.clone()),
            );
        }
        for (path, change) in &self.changes {
            let Some(name) = path.to_str().filter(|name| *name == "HEAD" || name.starts_with("refs/")) else {
                continue;
            };
            match change {
                EntryChange::Removed => loose_refs(&self.before.join(path), name, &mut names),
                EntryChange::Written => {
                    // The path may have been a folder with refs.
                    loose_refs(&self.before.join(path), name, &mut names);
                    names.insert(name.to_owned());
                }
                _ => {}
            }
        }
        // Git reads a packed ref only if there is no file for it (git-pack-refs(1)).
        let value = |bytes: io::Result<Vec<u8>>, packed: &BTreeMap<String, String>, name: &str| match bytes {
            Ok(bytes) => Some(String::from_utf8_lossy(bytes.trim_ascii()).into_owned()),
            Err(_) => packed.get(name).cloned(),
        };
        let changed = names.into_iter().filter(|name| !name.ends_with(".lock")).map(|name| ChangedRef {
            before: value(bytes_of(&self.before.join(&name), MOST_BYTES), &before, &name),
            after: value(self.bytes(Path::new(&name)), &after, &name),
            name,
        });
        changed.filter(|changed| changed.before != changed.after).collect()
    }

    fn describe(&self, changed: &ChangedRef, objects: &Objects<'_>, summary: &mut Summary) {
        let name = changed.name.as_str();
        if name == "refs/stash" {
            // Every stash is a line in the log of `refs/stash`.
            let log = Path::new("logs/refs/stash");
            let before = bytes_of(&self.before.join(log), MOST_BYTES).unwrap_or_default();
            let is_longer = self.bytes(log).is_ok_and(|after| after.starts_with(&before));
            summary.loses_history |= !is_longer;
            summary.lines.push(if is_longer { text!("changes stashed") } else { text!("a stash dropped") });
            return;
        }
        // Git creates and deletes these while it works.
        if ["refs/bisect/", "refs/rewritten/", "refs/worktree/"].iter().any(|own| name.starts_with(own)) {
            summary.loses_history |= name.starts_with("refs/worktree/") && changed.before.is_some();
            return;
        }
        let (kind, short) = kind_and_name(name);
        match (&changed.before, &changed.after) {
            (None, Some(after)) => {
                // Only commits that no branch had before are listed.
                let mut known = self.branches_before();
                let head = bytes_of(&self.before.join("HEAD"), MOST_BYTES).unwrap_or_default();
                let head = String::from_utf8_lossy(head.trim_ascii()).into_owned();
                known.extend(Some(head).filter(|head| is_object(head)));
                objects.commits(after, &known, &short, summary);
                summary.lines.push(text!(
                    "{kind} {name} created at {commit}",
                    kind,
                    name = short,
                    commit = objects.subject(after)
                ));
            }
            (Some(before), None) => {
                summary.loses_history = true;
                summary.lines.push(text!(
                    "{kind} {name} deleted, it was at {commit}",
                    kind,
                    name = short,
                    commit = objects.subject(before)
                ));
            }
            (Some(before), Some(after)) => match objects.lost(before, std::slice::from_ref(after)) {
                // If no commit is lost, the ref was moved forward.
                Some(0) if name.starts_with("refs/heads/") => {
                    objects.commits(after, std::slice::from_ref(before), &short, summary);
                }
                // A tag that is moved may be an object of its own, which is lost.
                Some(0) if !name.starts_with("refs/tags/") => {
                    summary.lines.push(text!(
                        "{kind} {name} moved forward to {commit}",
                        kind,
                        name = short,
                        commit = objects.subject(after)
                    ));
                }
                lost => {
                    summary.loses_history = true;
                    let (from, to) = (objects.subject(before), objects.subject(after));
                    summary.lines.push(match lost {
                        Some(count) => text!(
                            "{kind} {name} moved from {from} to {to}; {count} {count|commit is|commits are} no longer on it",
                            kind, name = short, from, to, count
                        ),
                        None => text!("{kind} {name} moved from {from} to {to}", kind, name = short, from, to),
                    });
                }
            },
            (None, None) => {}
        }
    }

    /// Returns the commits of the branches before the command.
    fn branches_before(&self) -> Vec<String> {
        const MOST: usize = 1000;
        let mut names = BTreeSet::new();
        loose_refs(&self.before.join("refs/heads"), "refs/heads", &mut names);
        let packed = packed_refs(&bytes_of(&self.before.join("packed-refs"), MOST_BYTES).unwrap_or_default());
        let loose = names.iter().filter_map(|name| bytes_of(&self.before.join(name), MOST_BYTES).ok());
        let loose = loose.map(|bytes| String::from_utf8_lossy(bytes.trim_ascii()).into_owned());
        let packed = packed.into_iter().filter(|(name, _)| name.starts_with("refs/heads/")).map(|(_, value)| value);
        loose.chain(packed).filter(|value| is_object(value)).take(MOST).collect()
    }

    /// Returns `true` for a change that may lose history and is not checked in detail: in a log that was not only
    /// appended to, in a submodule, of the `HEAD` of another work tree, or of the commits at which a shallow history
    /// ends.
    fn may_lose_history(&self, path: &Path, parts: &[&str], change: EntryChange) -> bool {
        match parts {
            ["logs", ..] | ["worktrees", _, "logs", ..] if change == EntryChange::Folder => false,
            ["logs", ..] | ["worktrees", _, "logs", ..] => {
                let before = bytes_of(&self.before.join(path), MOST_BYTES);
                let is_new = self.before.join(path).symlink_metadata().is_err();
                !is_new && !before.is_ok_and(|before| self.bytes(path).is_ok_and(|after| after.starts_with(&before)))
            }
            ["modules", ..] if change == EntryChange::Removed => true,
            ["modules", ..] => change != EntryChange::Folder && !parts.contains(&"objects"),
            ["MERGE_AUTOSTASH"] => change == EntryChange::Removed,
            ["rebase-merge" | "rebase-apply"] => {
                change == EntryChange::Removed && self.before.join(path).join("autostash").exists()
            }
            ["worktrees"] | ["worktrees", _] => change == EntryChange::Removed,
            ["worktrees", _, "HEAD"] => self.before.join(path).exists(),
            ["worktrees", _, "refs", ..] => change == EntryChange::Removed,
            ["shallow"] => true,
            _ => false,
        }
    }

    /// Describes changed worktrees and settings, and operations that began or ended.
    fn describe_others(&self, git: &Git, summary: &mut Summary) {
        let is_removed = |path: &Path| self.changes.get(path) == Some(&EntryChange::Removed);
        let (mut removed_objects, mut submodules) = (0_u64, BTreeSet::new());
        for (path, change) in &self.changes {
            let parts: Vec<&str> = path.iter().filter_map(OsStr::to_str).collect();
            summary.loses_history |= self.may_lose_history(path, &parts, *change);
            match parts.as_slice() {
                ["objects", ..] if *change == EntryChange::Removed => removed_objects += 1,
                ["worktrees", name, "gitdir"] if *change == EntryChange::Written => {
                    let place = self.bytes(path).unwrap_or_default();
                    let place = String::from_utf8_lossy(place.trim_ascii()).into_owned();
                    let place = place.strip_suffix("/.git").unwrap_or(&place);
                    summary.lines.push(text!(
                        "worktree {name} added at {place}",
                        name = one_line(name),
                        place = one_line(place)
                    ));
                }
                // Git removes the folder together with the last worktree.
                ["worktrees"] if *change == EntryChange::Removed => summary.lines.push(text!("all worktrees removed")),
                ["worktrees", name] if *change == EntryChange::Removed => {
                    summary.lines.push(text!("worktree {name} removed", name = one_line(name)));
                }
                ["worktrees", name, "HEAD"] if self.before.join(path).exists() => {
                    summary.lines.push(text!("HEAD of the worktree {name} moved", name = one_line(name)));
                }
                ["modules", name, ..] => _ = submodules.insert(*name),
                ["config" | "config.worktree"] => {
                    let keys = |dir: &Path| keys_of(git, &dir.join(path)).unwrap_or_default();
                    let (before, after) = (keys(self.before), keys(self.after));
                    for (key, value) in after.iter().filter(|pair| !before.contains(pair)).take(MOST_REFS) {
                        let value = one_line(value.as_deref().unwrap_or("true"));
                        summary.lines.push(text!("setting {key} = {value}", key = one_line(key), value));
                    }
                    for (key, _) in before.iter().filter(|(key, _)| !after.iter().any(|(other, _)| other == key)) {
                        summary.lines.push(text!("setting {key} removed", key = one_line(key)));
                    }
                }
                ["info", "sparse-checkout"] => summary.lines.push(text!("the list of files that are checked out")),
                _ => {}
            }
        }
        for name in submodules {
            summary.lines.push(text!("submodule {name} changed", name = one_line(name)));
        }
        for (name, what) in [
            ("MERGE_HEAD", text!("merge")),
            ("CHERRY_PICK_HEAD", text!("cherry-pick")),
            ("REVERT_HEAD", text!("revert")),
            ("rebase-merge", text!("rebase")),
            ("rebase-apply", text!("rebase")),
            ("BISECT_LOG", text!("bisect")),
        ] {
            let path = Path::new(name);
            if is_removed(path) {
                summary.lines.push(text!("the {what} that was under way is over", what));
            } else if self.changes.contains_key(path) {
                summary.lines.push(text!("a {what} is under way", what));
            }
        }
        if removed_objects > 0 {
            summary.loses_history = true;
            summary.lines.push(text!("{count} {count|file|files} of stored objects removed", count = removed_objects));
        }
    }
}

/// The objects of a repository before and after a command, in a git directory without configuration and refs.
struct Objects<'a> {
    git: &'a Git,
    git_dir: PathBuf,
}

impl<'a> Objects<'a> {
    fn open(changes: &GitDirChanges<'_>, git: &'a Git, scratch: &Path) -> io::Result<Objects<'a>> {
        let git_dir = scratch.join("objects-of-both");
        let folders = [changes.after, changes.before].map(|dir| dir.join("objects"));
        bare(&git_dir, changes.is_sha256(git), &folders)?;
        // Without the list of the commits where a shallow history ends, git fails at their missing parents.
        if let Ok(shallow) = changes.bytes(Path::new("shallow")) {
            fs::write(git_dir.join("shallow"), shallow)?;
        }
        Ok(Objects { git, git_dir })
    }

    fn ask(&self, args: &[&str]) -> io::Result<String> {
        let args: Vec<OsString> = args.iter().map(OsString::from).collect();
        Ok(String::from_utf8_lossy(&git_ask(self.git, &self.git_dir, &args, MOST_BYTES)?).into_owned())
    }

    /// Returns the short name of a commit and its subject. Returns a value that is not an object as it is.
    fn subject(&self, value: &str) -> String {
        if !is_object(value) {
            return one_line(value);
        }
        let line = self.ask(&["log", "--no-walk", "--format=%h%x00%s", value, "--"]);
        match line.as_deref().map(|line| line.trim_end().split_once('\0')) {
            Ok(Some((name, subject))) => format!("{name} '{}'", one_line(subject)),
            // `is_object` is true, so the value has at least 40 ASCII digits.
            _ => value[..7].to_owned(),
        }
    }

    /// Returns how many commits can be reached from `before` but from none of the others; `None` if git fails.
    fn lost(&self, before: &str, others: &[String]) -> Option<u64> {
        if !is_object(before) || !others.iter().all(|other| is_object(other)) {
            return None;
        }
        let mut args = vec!["rev-list", "--count", before, "--not"];
        args.extend(others.iter().map(String::as_str));
        args.push("--");
        self.ask(&args).ok()?.trim().parse().ok()
    }

    /// Adds the commits that are reachable from `after` and from none of the others.
    fn commits(&self, after: &str, others: &[String], branch: &str, summary: &mut Summary) {
        if !is_object(after) {
            return;
        }
        // One commit more than are listed shows whether there are more.
        let most = format!("--max-count={}", MOST_COMMITS + 1);
        // `-m` with `--first-parent` lists the files of a merge compared with its first parent.
        let mut args =
            vec!["log", most.as_str(), "--format=%x01%h%x00%s", "--name-only", "--first-parent", "-m", after, "--not"];
        args.extend(others.iter().map(String::as_str));
        args.push("--");
        let Ok(log) = self.ask(&args) else { return };
        let commits: Vec<&str> = log.split('\u{1}').skip(1).collect();
        for commit in commits.iter().take(MOST_COMMITS).rev() {
            let mut lines = commit.lines();
            let (id, subject) = lines.next().and_then(|line| line.split_once('\0')).unwrap_or_default();
            let count = lines.filter(|line| !line.is_empty()).count() as u64;
            summary.lines.push(text!(
                "commit {id} '{subject}' on {branch}: {count} {count|file|files}",
                id,
                subject = one_line(subject),
                branch,
                count
            ));
        }
        if commits.len() > MOST_COMMITS {
            summary.lines.push(text!("and more commits on {branch}", branch));
        }
    }
}

/// Lists the files of an index as `git ls-files -v --stage -z` does. `git_dir` is a folder to create.
pub(super) fn list_index(git: &Git, index: &Path, git_dir: &Path, is_sha256: bool) -> io::Result<Vec<u8>> {
    bare(git_dir, is_sha256, &[])?;
    fs::write(git_dir.join("index"), bytes_of(index, MOST_OF_INDEX)?)?;
    let args = ["--work-tree=/", "ls-files", "-v", "--stage", "-z"];
    git_ask(git, git_dir, &args.map(OsString::from), MOST_OF_INDEX)
}

/// Creates a git directory without refs that reads objects from these folders.
fn bare(git_dir: &Path, is_sha256: bool, objects: &[PathBuf]) -> io::Result<()> {
    // Git accepts a folder as a repository only if it has `HEAD`, `objects` and `refs`.
    fs::create_dir_all(git_dir.join("objects/info"))?;
    fs::create_dir_all(git_dir.join("refs"))?;
    fs::write(git_dir.join("HEAD"), "ref: refs/heads/none\n")?;
    let format = if is_sha256 { "1\n[extensions]\n\tobjectformat = sha256" } else { "0" };
    fs::write(git_dir.join("config"), format!("[core]\n\trepositoryformatversion = {format}\n"))?;
    let mut alternates = Vec::new();
    for folder in objects.iter().filter(|folder| folder.is_dir()) {
        let bytes = folder.as_os_str().as_encoded_bytes();
        // Each line names a folder, so a folder with a line break in its name would add another one.
        if bytes.contains(&b'\n') {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        alternates.extend_from_slice(bytes);
        alternates.push(b'\n');
    }
    fs::write(git_dir.join("objects/info/alternates"), alternates)
}

fn git_ask(git: &Git, git_dir: &Path, args: &[OsString], most: u64) -> io::Result<Vec<u8>> {
    // A command can forge the commit graph and the multi-pack index, which would give an object another content.
    let settings = ["-c", "core.commitGraph=false", "-c", "core.multiPackIndex=false"];
    let mut all: Vec<OsString> = settings.map(OsString::from).into();
    all.extend([OsString::from("--git-dir"), git_dir.into()]);
    all.extend_from_slice(args);
    git.ask(Path::new("/"), &all, &[], PATIENCE, most)
}

/// Returns `branch` and its short name, or the kind and name of another ref.
fn kind_and_name(name: &str) -> (Text, String) {
    for (prefix, kind) in
        [("refs/heads/", text!("branch")), ("refs/tags/", text!("tag")), ("refs/remotes/", text!("remote branch"))]
    {
        if let Some(short) = name.strip_prefix(prefix) {
            return (kind, one_line(short));
        }
    }
    (text!("ref"), one_line(name))
}

fn is_object(value: &str) -> bool {
    matches!(value.len(), 40 | 64) && value.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Parses git's list of packed refs (git-pack-refs(1)).
fn packed_refs(bytes: &[u8]) -> BTreeMap<String, String> {
    let text = String::from_utf8_lossy(bytes);
    let lines = text.lines().filter(|line| !line.starts_with(['#', '^']));
    lines.filter_map(|line| line.split_once(' ')).map(|(value, name)| (name.to_owned(), value.to_owned())).collect()
}

/// Adds the names of the refs at a path and below it.
fn loose_refs(at: &Path, name: &str, names: &mut BTreeSet<String>) {
    const MOST: usize = 10_000;
    let mut waiting = vec![(at.to_owned(), name.to_owned())];
    while let Some((at, name)) = waiting.pop() {
        // Links are not followed: they could form a cycle or lead out of the git directory.
        match fs::symlink_metadata(&at) {
            Ok(meta) if meta.is_dir() => {
                for entry in fs::read_dir(&at).into_iter().flatten().flatten() {
                    waiting.push((entry.path(), format!("{name}/{}", entry.file_name().to_string_lossy())));
                }
            }
            Ok(_) if names.len() < MOST => _ = names.insert(name),
            _ => {}
        }
    }
}

/// Returns a text on one line without control characters, shortened.
fn one_line(text: &str) -> String {
    let plain = text.chars().map(|character| if character.is_control() { ' ' } else { character });
    let mut shown: String = plain.take(MOST_OF_SUBJECT).collect();
    if text.chars().nth(MOST_OF_SUBJECT).is_some() {
        shown.push_str("...");
    }
    shown
}
