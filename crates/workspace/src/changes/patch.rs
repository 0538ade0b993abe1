//! Plans a patch of several files in memory.

use crate::changes::draft::{Draft, FileDraft, Report, too_large, too_large_to_edit};
use crate::changes::target::{Content, Old, Target};
use crate::root::path_arg::{invalid, quoted};
use crate::root::resolve::ResolveError;
use crate::root::{Root, of_system};
use crate::stat::other_names;
use crate::version::Version;
use crate::{diff, names};
use rustix::io::Errno;
use std::collections::HashMap;
use std::path::Path;
use toolfence_patch as patch;
use toolfence_patch::{AppliedHunk, Base, Change, Failure, FileResult, Kind, Plan, Reason, Refusal, Source, Why};
use toolfence_protocol::{ErrorCode, Text, ToolFailure, text};

/// The maximum number of files of one patch. Each uses some descriptors until all are in place, and their number is
/// limited per process.
const MOST_FILES: usize = 200;

/// The maximum size in bytes of all files. The old and new contents are in memory until all are in place.
const MOST_BYTES: usize = 100 << 20;

/// The report of a patch that was applied, or would be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Patched {
    /// The files of the patch, in its order.
    pub files: Vec<PatchedFile>,
    /// The changed paths, relative to the root.
    pub modified: Vec<String>,
    /// The real name of each changed path with its new content; `None` for a removed file. Empty after a dry run.
    pub after: Vec<(String, Option<Version>)>,
    /// The whole change as a unified diff; `None` if it would be too big, or a file is not text.
    pub diff: Option<String>,
    /// Files that had other names (hard links), which still have the old content. Formatted for display on one line.
    pub broken_links: Vec<String>,
    /// Files that could not keep all properties, formatted for display on one line, each with the missing ones.
    pub lost: Vec<(String, Vec<Text>)>,
}

/// The report of a patch for one file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PatchedFile {
    /// The operation on the file.
    pub kind: Kind,
    /// The old name, formatted for display on one line.
    pub old: String,
    /// The new name, formatted for display on one line.
    pub new: String,
    /// The positions of its hunks.
    pub hunks: Vec<AppliedHunk>,
}

impl Report for Patched {
    fn committed(self, files: &[FileDraft], lost: Vec<(usize, Vec<Text>)>) -> Patched {
        let shown = |file: &FileDraft| names::quoted(&file.target.path).into_owned();
        let has_broken_links =
            |file: &&FileDraft| !file.is_removal() && file.target.stat().is_some_and(|stat| other_names(stat) > 0);
        Patched {
            after: files.iter().map(|file| (file.path.clone(), file.version())).collect(),
            broken_links: files.iter().filter(has_broken_links).map(shown).collect(),
            lost: lost.into_iter().map(|(at, lost)| (shown(&files[at]), lost)).collect(),
            ..self
        }
    }
}

/// Plans a unified diff or a `*** Begin Patch` text for all of its files. Its names are relative to `folder`; "" is the
/// root.
pub(super) fn draft(root: &Root, most: u64, folder: &str, text: &str) -> Result<Draft<Patched>, ToolFailure> {
    let base = parse_base(root, folder)?;
    let relative = |name: &str| root.relative(name).ok()?.into_os_string().into_string().ok();
    let mut found = Targets { root, most, targets: HashMap::new(), bytes: 0, real: HashMap::new() };
    let plan = patch::plan_text(text, &base, relative, &mut found)
        .map_err(|failure| explain_by_folder(root, folder, found.explain(failure)))?;
    found.refuse_links(&plan)?;
    let report = report_of(&plan);
    // The properties are collected first, because the loop below takes the targets out of the map.
    let likes: HashMap<String, _> = plan
        .changes
        .iter()
        .filter_map(|change| change.like.as_ref())
        .filter_map(|path| Some((path.clone(), found.targets.get(path)?.old.as_ref().map(Old::like)?)))
        .collect();
    // A renamed or copied file is compared with its source.
    let origins: HashMap<String, Option<Vec<u8>>> = plan
        .files
        .iter()
        .filter(|done| matches!(done.kind, Kind::Rename | Kind::Copy))
        .map(|done| {
            let source = plan.changes.iter().find(|change| change.path == done.old);
            (done.new.clone(), source.and_then(|change| change.before.clone()))
        })
        .collect();
    let mut files = Vec::with_capacity(plan.changes.len());
    for Change { path, before, after, like, mode, .. } in plan.changes {
        let target = found.targets.remove(&path).ok_or_else(|| of_system(Errno::NOENT, &path))?;
        if let Some(after) = &after {
            root.refuse_loose(&path, &target.spot)?;
            if after.len() as u64 > most {
                return Err(too_large(&path, after.len() as u64, most));
            }
        }
        let before = before.map_or(Content::Nothing, Content::Bytes);
        let name = names::text_of(&target.spot.name());
        let file = FileDraft::new(name, target, before, after);
        files.push(FileDraft {
            origin: origins.get(&path).cloned().flatten(),
            like: like.and_then(|like| likes.get(&like).cloned()),
            executable: mode.map(|mode| mode & 0o111 != 0),
            ..file
        });
    }
    Draft::new(files, report)
}

/// Reads the folder of a patch. An absolute path becomes relative to the root, like the paths of other tools.
fn parse_base(root: &Root, folder: &str) -> Result<Base, ToolFailure> {
    if folder.is_empty() {
        return Ok(Base::default());
    }
    let relative = names::text_of(&root.relative(folder)?);
    Base::new(&relative).map_err(|why| invalid(text!("Nothing was changed: {problem}", problem = why)))
}

/// If the folder of a patch cannot be opened, replaces the error about its files by one about the folder. A patch that
/// only creates files needs no folder.
fn explain_by_folder(root: &Root, folder: &str, failure: ToolFailure) -> ToolFailure {
    if failure.code != ErrorCode::NotFound || folder.is_empty() {
        return failure;
    }
    root.folder(folder).err().unwrap_or(failure)
}

/// The files of the project that the planner reads.
struct Targets<'r> {
    root: &'r Root,
    /// The maximum size of one file in bytes.
    most: u64,
    targets: HashMap<String, Target>,
    bytes: usize,
    /// Maps the real name of a file to the name in the patch.
    real: HashMap<String, String>,
}

impl Source for Targets<'_> {
    type Error = ToolFailure;

    fn read(&mut self, path: &str) -> Result<Option<Vec<u8>>, ToolFailure> {
        let (target, name, content) = Target::find(self.root, self.most, path)?;
        let content = match content {
            Content::Nothing => None,
            Content::Bytes(content) => Some(content),
            Content::TooLong => {
                let size = target.stat().map_or(u64::MAX, |stat| stat.st_size.unsigned_abs());
                return Err(too_large_to_edit(path, size, self.most));
            }
        };
        // Under two names, each change would be planned from the old content, and one would be lost.
        if let Some(other) = self.real.insert(name, path.to_owned()) {
            return Err(invalid(text!(
                "{path} and {other} are the same file. Name it in one way.",
                path = quoted(path),
                other = quoted(&other)
            )));
        }
        self.bytes += content.as_ref().map_or(0, Vec::len);
        if self.targets.len() == MOST_FILES {
            return Err(too_much(text!(
                "The patch changes more than {most} files at once. Send it in parts.",
                most = MOST_FILES
            )));
        }
        if self.bytes > MOST_BYTES {
            return Err(too_much(text!(
                "The patch changes more than {most} MB of files at once. Send it in parts.",
                most = MOST_BYTES >> 20
            )));
        }
        self.targets.insert(path.to_owned(), target);
        Ok(content)
    }

    fn has_folder(&mut self, path: &str) -> bool {
        self.root.folder(path).is_ok()
    }
}

impl Targets<'_> {
    /// Refuses to remove or replace a name that is reached by a link, because the real file has another name.
    fn refuse_links(&self, plan: &Plan) -> Result<(), ToolFailure> {
        let goes = |change: &&Change| change.after.is_none();
        for target in plan.changes.iter().filter(goes).filter_map(|change| self.targets.get(&change.path)) {
            let real = names::text_of(&target.spot.name());
            if real != target.path {
                return Err(invalid(text!(
                    "{path} is reached by a link. Name {real} itself.",
                    path = quoted(&target.path),
                    real = quoted(&real)
                )));
            }
        }
        Ok(())
    }

    fn explain(&self, failure: Failure<ToolFailure>) -> ToolFailure {
        match failure {
            Failure::Source(failure) => failure,
            Failure::Unreadable(problem) => invalid(text!("Nothing was changed: {problem}", problem = problem.text())),
            Failure::Refused(refusals) => self.refusal_of(&refusals),
            // Later versions of the patch engine may add failures. After any failure nothing was changed.
            _ => self.refusal_of(&[]),
        }
    }

    fn refusal_of(&self, refusals: &[Refusal]) -> ToolFailure {
        let Some(first) = refusals.first() else { return invalid(text!("Nothing was changed.")) };
        if let ([_], Reason::Missing) = (refusals, &first.reason) {
            let path = &first.path;
            return self.root.explain(ResolveError::Sys(Errno::NOENT), path, Path::new(path));
        }
        let all = Text::join(refusals.iter().map(Refusal::text), "\n");
        ToolFailure::new(code(&first.reason), text!("Nothing was changed.\n{refusals}", refusals = all))
    }
}

fn too_much(message: Text) -> ToolFailure {
    ToolFailure::new(ErrorCode::TooLarge, message)
}

fn code(reason: &Reason) -> ErrorCode {
    match reason {
        Reason::Missing => ErrorCode::NotFound,
        Reason::Hunks(misses) => match misses.first().map(|miss| &miss.why) {
            Some(Why::Ambiguous { .. }) => ErrorCode::NotUnique,
            Some(Why::Overlap { .. }) => ErrorCode::InvalidArgument,
            Some(Why::TooMuchWork) => ErrorCode::TooLarge,
            _ => ErrorCode::NoMatch,
        },
        Reason::OtherContent => ErrorCode::NoMatch,
        _ => ErrorCode::InvalidArgument,
    }
}

fn report_of(plan: &Plan) -> Patched {
    let file = |done: &FileResult| PatchedFile {
        kind: done.kind,
        old: names::quoted(&done.old).into(),
        new: names::quoted(&done.new).into(),
        hunks: done.hunks.clone(),
    };
    let diffs: Option<Vec<String>> = plan.changes.iter().map(diff_of).collect();
    Patched {
        files: plan.files.iter().map(file).collect(),
        modified: plan.changes.iter().map(|change| change.path.clone()).collect(),
        diff: diffs.map(|diffs| diffs.concat()),
        ..Patched::default()
    }
}

fn diff_of(change: &Change) -> Option<String> {
    diff::of_file(&change.path, change.before.as_deref(), change.after.as_deref())
}
