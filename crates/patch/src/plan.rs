//! Plans a patch over all its files, in memory: the new content of each of them, or why nothing may be changed.

use super::miss::{Miss, Why};
use super::model::{FilePatch, Hunk, Kind, Patch, Problem, Sign};
use super::names::Base;
use super::resolve::{Readings, readings};
use super::{AppliedHunk, apply, forms, parse_below};
use std::collections::{BTreeMap, HashSet};
use std::fmt;
use toolfence_protocol::{Text, text};

/// Provides the files to be patched.
pub trait Source {
    /// Why a file could not be read.
    type Error;

    /// Returns the bytes of a file; `None` if it does not exist.
    ///
    /// # Errors
    /// Fails if there may be a file but its bytes cannot be read. Then nothing is planned.
    fn read(&mut self, path: &str) -> Result<Option<Vec<u8>>, Self::Error>;

    /// Returns whether there is a folder at `path`.
    fn has_folder(&mut self, path: &str) -> bool;
}

/// The effects of a patch.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Plan {
    /// The result for each file of the patch, in its order.
    pub files: Vec<FileResult>,
    /// The change of each file, sorted by path. Each path occurs once.
    pub changes: Vec<Change>,
}

/// The result for one file of a patch.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileResult {
    /// The kind of change stated in the patch.
    pub kind: Kind,
    /// The name before the change.
    pub old: String,
    /// The name after the change.
    pub new: String,
    /// The places of the hunks.
    pub hunks: Vec<AppliedHunk>,
}

/// The change at one path.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Change {
    /// Relative to the root.
    pub path: String,
    /// The content that must still be there when the change is written; `None` for no file.
    pub before: Option<Vec<u8>>,
    /// The new content; `None` for no file.
    pub after: Option<Vec<u8>>,
    /// Permissions to set.
    pub mode: Option<u32>,
    /// The path whose permissions it inherits, if the file was renamed or copied.
    pub like: Option<String>,
}

/// Why there is no plan.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Failure<E> {
    /// The text could not be read as a patch.
    Unreadable(Problem),
    /// A file could not be read.
    Source(E),
    /// Files to which the patch does not apply. None of the others is changed either.
    Refused(Vec<Refusal>),
}

/// A file to which its part of the patch does not apply.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refusal {
    /// Relative to the root.
    pub path: String,
    /// The line of the patch where the file begins, from 1.
    pub patch_line: usize,
    /// The reason.
    pub reason: Reason,
}

/// Why a part of a patch does not apply to its file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// There is no such file.
    Missing,
    /// A file exists where a new one should be created.
    Exists,
    /// The new file already exists with the right content.
    ExistsAlready,
    /// The file to delete has another content.
    OtherContent,
    /// The hunks do not change the file.
    NoChange,
    /// Another file gets the name while the patch also changes or deletes the file before it is renamed.
    Replaced,
    /// The two sides have different names, and no line says that the file is renamed.
    TwoNames(String),
    /// Files exist under both readings of the name, with a prefix such as `a/` and without.
    TwoReadings(String),
    /// The name of a new file starts like a prefix that other names do not have, and there is no such folder.
    UnknownPrefix {
        /// The name in the patch.
        written: String,
        /// The folder that does not exist, relative to the root.
        folder: String,
    },
    /// Hunks have no place.
    Hunks(Vec<Miss>),
}

/// Plans a patch over all its files.
///
/// A file that occurs twice is changed twice. Each path is read at most once.
///
/// # Errors
/// Fails with the first file that cannot be read, or with every file to which its part does not apply.
pub fn plan<S: Source>(patch: &Patch<'_>, source: &mut S) -> Result<Plan, Failure<S::Error>> {
    plan_from(patch, &mut Cache { source, files: BTreeMap::new() })
}

/// Reads a text as [`parse_below`] does and plans it. If that fails, or files or lines do not exist, it also tries the
/// text without the marks of a quotation, the colours of a terminal, the entities of HTML or the line numbers of a
/// listing, with `+` before empty added lines, and with slashes for the backslashes of its names. Exactly one of these
/// readings must apply. Entities are replaced only if the result fits exactly, and never in a new file or where they
/// may be the content of the file.
///
/// # Errors
/// Fails as [`parse_below`] and [`plan`] do for the original text.
pub fn plan_text<S: Source>(
    text: &str,
    base: &Base,
    relative: impl Fn(&str) -> Option<String>,
    source: &mut S,
) -> Result<Plan, Failure<S::Error>> {
    let mut cache = Cache { source, files: BTreeMap::new() };
    let patch = parse_below(text, base, &relative);
    let strict = patch.clone().map_err(Failure::Unreadable).and_then(|patch| plan_from(&patch, &mut cache));
    // A text that can be read and refused for another reason, such as two places, means what it says: no other form
    // helps.
    match &strict {
        Err(Failure::Unreadable(_)) => {}
        Err(Failure::Refused(all)) if all.iter().all(|refusal| is_elsewhere(&refusal.reason)) => {}
        _ => return strict,
    }
    let mut found: Option<Plan> = None;
    let patch = patch.ok();
    // Line numbers are removed after parsing, because they follow the sign of each line.
    let numbers = patch.as_ref().and_then(forms::without_line_numbers);
    let mut plans: Vec<Plan> = numbers.and_then(|patch| plan_from(&patch, &mut cache).ok()).into_iter().collect();
    for text in forms::undone(text) {
        let patch = parse_below(&text, base, &relative).ok();
        plans.extend(patch.and_then(|patch| plan_from(&patch, &mut cache).ok()));
    }
    if let (Some(written), Some(text)) = (patch, forms::unescaped(text)) {
        let patch = parse_below(&text, base, &relative).ok();
        plans.extend(patch.and_then(|patch| plan_unescaped(&written, &patch, &mut cache)));
    }
    for plan in plans {
        // Two forms with different results make the text ambiguous, so the refusal of the original text is returned.
        if found.as_ref().is_some_and(|found| found.changes != plan.changes) {
            return strict;
        }
        found = Some(plan);
    }
    found.map_or(strict, Ok)
}

/// Returns the plan of a patch with decoded entities, if it fits exactly and no entity of the patch as `written` may be
/// content.
fn plan_unescaped<S: Source>(written: &Patch<'_>, patch: &Patch<'_>, source: &mut Cache<'_, S>) -> Option<Plan> {
    let plan = plan_from(patch, source).ok()?;
    let has_same_hunks = |(one, other): (&FilePatch<'_>, &FilePatch<'_>)| one.hunks.len() == other.hunks.len();
    let is_same =
        written.files.len() == patch.files.len() && written.files.iter().zip(&patch.files).all(has_same_hunks);
    // In a loose match, an entity could be content of the file.
    let is_exact = plan.files.iter().flat_map(|file| &file.hunks).all(|hunk| hunk.fuzz == 0);
    if !is_same || !is_exact {
        return None;
    }
    for (file, done) in written.files.iter().zip(&plan.files) {
        let old = source.read(&done.old).ok()?;
        if !forms::entities_are_escapes(file, old.as_deref()) {
            return None;
        }
    }
    Some(plan)
}

/// Returns whether a refusal is about a file or lines that do not exist. Only these can result from another form of the
/// text: other causes are certain.
fn is_elsewhere(reason: &Reason) -> bool {
    match reason {
        Reason::Missing | Reason::OtherContent => true,
        Reason::Hunks(misses) => misses.iter().all(|miss| matches!(miss.why, Why::NotFound(_))),
        _ => false,
    }
}

/// Reads each path once.
struct Cache<'s, S> {
    source: &'s mut S,
    files: BTreeMap<String, Option<Vec<u8>>>,
}

impl<S: Source> Cache<'_, S> {
    fn read(&mut self, path: &str) -> Result<Option<Vec<u8>>, S::Error> {
        // All readings of a text must see the same content, and a host reads each file once.
        if let Some(content) = self.files.get(path) {
            return Ok(content.clone());
        }
        let content = self.source.read(path)?;
        self.files.insert(path.to_owned(), content.clone());
        Ok(content)
    }
}

fn plan_from<S: Source>(patch: &Patch<'_>, source: &mut Cache<'_, S>) -> Result<Plan, Failure<S::Error>> {
    let mut planner =
        Planner { source, base: &patch.base, files: BTreeMap::new(), readings: Readings::Path, freed: HashSet::new() };
    // Decided once for all files: a patch does not mix names with and without prefixes.
    planner.readings = readings(patch, |path| planner.read(path).map(|there| there.is_some()))?;
    if let Readings::Both(at) = planner.readings {
        let file = &patch.files[at];
        let other = Readings::Other.name(&file.old).to_owned();
        return Err(refused(file, &file.old.path, Reason::TwoReadings(other)));
    }
    // A file that is renamed twice does not free its name for another file.
    let (chosen, mut names) = (planner.readings, HashSet::new());
    // Collected before any file is planned, because two files may change their names with each other.
    for file in patch.files.iter().filter(|file| file.kind == Kind::Rename) {
        let name = chosen.name(&file.old);
        if names.insert(name) {
            planner.freed.insert(name.to_owned())
        } else {
            planner.freed.remove(name)
        };
    }
    let (mut done, mut refused) = (Vec::new(), Vec::new());
    for file in &patch.files {
        match planner.plan_file(file) {
            Ok(one) => done.push(one),
            // The other files are planned too, so that the model gets every refusal at once.
            Err(Failure::Refused(mut why)) => refused.append(&mut why),
            Err(failure) => return Err(failure),
        }
    }
    if refused.is_empty() {
        Ok(Plan { files: done, changes: planner.changes() })
    } else {
        Err(Failure::Refused(refused))
    }
}

struct Planner<'p, 's, S> {
    source: &'p mut Cache<'s, S>,
    base: &'p Base,
    files: BTreeMap<String, PathState>,
    readings: Readings,
    /// Names that files of the patch lose: another file may get them, earlier or later in the patch.
    freed: HashSet<String>,
}

/// The state of a path before the patch and now.
#[derive(Debug, Clone, Default)]
struct PathState {
    before: Option<Vec<u8>>,
    now: Option<Vec<u8>>,
    mode: Option<u32>,
    like: Option<String>,
    /// Whether another file got this name, and the file that had it before is renamed later in the patch.
    is_replaced: bool,
}

impl<S: Source> Planner<'_, '_, S> {
    fn plan_file(&mut self, file: &FilePatch<'_>) -> Result<FileResult, Failure<S::Error>> {
        let (old, new) = self.choose_paths(file)?;
        let hunks = match file.kind {
            Kind::Create => self.create(file, &new)?,
            Kind::Delete => self.delete(file, &old)?,
            Kind::Modify if self.is_new(file, &new)? => self.create(file, &new)?,
            Kind::Modify => self.modify(file, &new)?,
            Kind::Rename | Kind::Copy => self.move_or_copy(file, &old, &new)?,
        };
        Ok(FileResult { kind: file.kind, old, new, hunks })
    }

    fn choose_paths(&mut self, file: &FilePatch<'_>) -> Result<(String, String), Failure<S::Error>> {
        let [old, new] = [&file.old, &file.new].map(|name| self.readings.name(name).to_owned());
        if file.kind == Kind::Modify && old != new { self.choose_name(file, old, new) } else { Ok((old, new)) }
    }

    /// Chooses the file to change if the names differ: a diff of `x.orig` and `x` changes `x`.
    fn choose_name(
        &mut self,
        file: &FilePatch<'_>,
        old: String,
        new: String,
    ) -> Result<(String, String), Failure<S::Error>> {
        let exist = (self.read(&old)?.is_some(), self.read(&new)?.is_some());
        match exist {
            // The names are `a/x` and `b/x`, and no file `x` exists.
            (true, false) if file.old.path == file.new.path => Ok((old.clone(), old)),
            (true, true) if file.old.path == file.new.path => Err(refused(file, &old, Reason::TwoReadings(new))),
            (true, false) => Err(refused(file, &old, Reason::TwoNames(new))),
            _ => Ok((new.clone(), new)),
        }
    }

    fn read(&mut self, path: &str) -> Result<Option<&Vec<u8>>, Failure<S::Error>> {
        if !self.files.contains_key(path) {
            let before = self.source.read(path).map_err(Failure::Source)?;
            self.files.insert(path.to_owned(), PathState { now: before.clone(), before, ..PathState::default() });
        }
        Ok(self.files.get(path).and_then(|state| state.now.as_ref()))
    }

    fn content(&mut self, file: &FilePatch<'_>, path: &str) -> Result<Vec<u8>, Failure<S::Error>> {
        self.read(path)?.cloned().ok_or_else(|| refused(file, path, Reason::Missing))
    }

    /// Returns the content of a path, and refuses a replaced one: it has two contents until its old file is renamed.
    fn only_content(&mut self, file: &FilePatch<'_>, path: &str) -> Result<Vec<u8>, Failure<S::Error>> {
        if self.files.get(path).is_some_and(|state| state.is_replaced) {
            return Err(refused(file, path, Reason::Replaced));
        }
        self.content(file, path)
    }

    /// Returns whether the patch creates the file, whatever name follows `---`: the file does not exist, and the only
    /// hunk has `-0,0`.
    fn is_new(&mut self, file: &FilePatch<'_>, path: &str) -> Result<bool, Failure<S::Error>> {
        let adds = |hunk: &Hunk<'_>| hunk.stated == Some(0) && hunk.lines.iter().all(|line| line.sign == Sign::Add);
        Ok(self.read(path)?.is_none() && matches!(file.hunks.as_slice(), [only] if adds(only)))
    }

    fn create(&mut self, file: &FilePatch<'_>, path: &str) -> Result<Vec<AppliedHunk>, Failure<S::Error>> {
        let written = self.base.strip(path);
        // Otherwise `b/src/new` would create a folder `b` if it was meant with a prefix.
        if file.may_have_prefix(path, written) {
            let folder = self.base.join(&written[..1]);
            if !self.source.source.has_folder(&folder) {
                return Err(refused(file, path, Reason::UnknownPrefix { written: written.to_owned(), folder }));
            }
        }
        let done = apply(&file.hunks, b"").map_err(|misses| refused(file, path, Reason::Hunks(misses)))?;
        if !self.is_free(file, path)? {
            // A model that sends a patch twice must read that nothing is left to do.
            let there = self.read(path)?;
            let reason = if there == Some(&done.text) { Reason::ExistsAlready } else { Reason::Exists };
            return Err(refused(file, path, reason));
        }
        self.set_state(path, Some(done.text), file.mode, None);
        Ok(done.hunks)
    }

    fn delete(&mut self, file: &FilePatch<'_>, path: &str) -> Result<Vec<AppliedHunk>, Failure<S::Error>> {
        let content = self.only_content(file, path)?;
        let mut hunks = Vec::new();
        if !file.unseen {
            let other = |_| refused(file, path, Reason::OtherContent);
            let done = apply(&file.hunks, &content).map_err(other)?;
            // A byte order mark belongs to the file and not to its lines, so it remains when all lines are removed.
            if !done.text.is_empty() && done.text != "\u{FEFF}".as_bytes() {
                return Err(refused(file, path, Reason::OtherContent));
            }
            hunks = done.hunks;
        }
        self.set_state(path, None, None, None);
        Ok(hunks)
    }

    fn modify(&mut self, file: &FilePatch<'_>, path: &str) -> Result<Vec<AppliedHunk>, Failure<S::Error>> {
        let content = self.only_content(file, path)?;
        let done = apply(&file.hunks, &content).map_err(|misses| refused(file, path, Reason::Hunks(misses)))?;
        if done.text == content && file.mode.is_none() {
            return Err(refused(file, path, Reason::NoChange));
        }
        self.set_state(path, Some(done.text), file.mode, None);
        Ok(done.hunks)
    }

    fn move_or_copy(
        &mut self,
        file: &FilePatch<'_>,
        old: &str,
        new: &str,
    ) -> Result<Vec<AppliedHunk>, Failure<S::Error>> {
        self.read(old)?;
        let state = self.files.get(old).cloned().unwrap_or_default();
        let (content, mode, like) = match (file.kind, state.before) {
            // Git copies the file as it was before the patch, whatever an earlier part of the patch did to it.
            (Kind::Copy, Some(before)) => (before, None, None),
            (_, Some(before)) if state.is_replaced => (before, None, None),
            _ => (self.content(file, old)?, state.mode, state.like),
        };
        if old == new || !self.is_free(file, new)? {
            return Err(refused(file, new, Reason::Exists));
        }
        let done = apply(&file.hunks, &content).map_err(|misses| refused(file, old, Reason::Hunks(misses)))?;
        let like = like.unwrap_or_else(|| old.to_owned());
        self.set_state(new, Some(done.text), file.mode.or(mode), Some(like));
        // From here on, `is_free` must not count on this rename.
        self.freed.remove(old);
        if file.kind == Kind::Rename {
            if state.is_replaced {
                self.files.entry(old.to_owned()).or_default().is_replaced = false;
            } else {
                self.set_state(old, None, None, None);
            }
        }
        Ok(done.hunks)
    }

    /// Returns whether a file can be created here. An existing file does not prevent that if the patch renames it
    /// later.
    fn is_free(&mut self, file: &FilePatch<'_>, path: &str) -> Result<bool, Failure<S::Error>> {
        if self.read(path)?.is_none() {
            return Ok(true);
        }
        let is_freed = self.freed.remove(path);
        let state = self.files.entry(path.to_owned()).or_default();
        // The later rename takes the file as it was before the patch, so a change made to it until then would be lost.
        if is_freed && (state.now != state.before || state.mode.is_some()) {
            return Err(refused(file, path, Reason::Replaced));
        }
        state.is_replaced |= is_freed;
        Ok(is_freed)
    }

    /// Sets the state of `path`, which has been read.
    fn set_state(&mut self, path: &str, now: Option<Vec<u8>>, mode: Option<u32>, like: Option<String>) {
        let state = self.files.entry(path.to_owned()).or_default();
        state.like = like.or_else(|| state.like.take()).filter(|_| now.is_some());
        state.mode = mode.or(state.mode).filter(|_| now.is_some());
        state.now = now;
    }

    fn changes(self) -> Vec<Change> {
        let changed = |(path, state): (String, PathState)| {
            let PathState { before, now: after, mode, like, .. } = state;
            let touched = before != after || mode.is_some();
            touched.then_some(Change { path, before, after, mode, like })
        };
        self.files.into_iter().filter_map(changed).collect()
    }
}

fn refused<E>(file: &FilePatch<'_>, path: &str, reason: Reason) -> Failure<E> {
    Failure::Refused(vec![Refusal { path: path.to_owned(), patch_line: file.line, reason }])
}

impl Refusal {
    /// Returns the file and the reason, translatable.
    pub fn text(&self) -> Text {
        let path = format!("{:?}", self.path);
        match &self.reason {
            Reason::Missing => text!("{path} does not exist. Correct the name, or make it with --- /dev/null.", path),
            Reason::Exists => text!("{path} exists already. Change it with hunks, or choose another name.", path),
            Reason::ExistsAlready => {
                text!("{path} exists already with this content: the patch is already applied there.", path)
            }
            Reason::OtherContent => text!(
                "{path} is to be deleted but its content differs from the patch. Read it again, or use *** Delete \
                 File.",
                path
            ),
            Reason::NoChange => text!("{path} would be the same afterwards: nothing is changed by the hunks.", path),
            Reason::Replaced => text!(
                "{path} gets another file in this patch, and its own file is renamed below that. Make its other \
                 changes in the hunks of the renaming, or send them as another patch.",
                path
            ),
            Reason::TwoReadings(other) => text!(
                "the patch may mean {name} or {other}, and both exist. Write names without prefixes, with the same \
                 name in \"---\" and \"+++\", or with a/ and b/ before it and a \"diff --git\" line.",
                name = path,
                other = format!("{other:?}")
            ),
            Reason::UnknownPrefix { written, folder } => {
                // The model will send the patch again, so the message has the names as the patch writes them.
                let (_, bare) = written.split_once('/').unwrap_or_default();
                text!(
                    "{path} starts like a prefix, but the patch does not show that names have one, and there is no \
                     folder {folder}. Write {bare}, or a/ and b/ before every name of the patch.",
                    path = format!("{written:?}"),
                    folder = format!("{folder:?}"),
                    bare = format!("{bare:?}")
                )
            }
            Reason::TwoNames(new) => text!(
                "{old} exists and {new} does not. To rename a file, put \"rename from\" and \"rename to\" lines below \
                 diff --git, or use *** Move to.",
                old = path,
                new = format!("{new:?}")
            ),
            Reason::Hunks(misses) => {
                let mut text = Text::from(path + ":");
                for miss in misses {
                    text.push("\n- ");
                    text.push(miss.text());
                }
                text
            }
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text().fmt(out)
    }
}
