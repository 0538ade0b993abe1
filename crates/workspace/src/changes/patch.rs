//! A patch over files of the workspace: planned in memory, then all files together or none.

use crate::changes::commit::{Target, Wanted};
use crate::changes::write::{MOST, Old, other_names, too_large};
use crate::root::failures;
use crate::root::path_arg::{invalid, shown};
use crate::root::resolve::{Last, Trouble};
use crate::version::Version;
use crate::{Workspace, diff, names};
use rustix::fs::FileType;
use rustix::io::Errno;
use std::collections::HashMap;
use std::path::Path;
use toolfence_patch as patch;
use toolfence_patch::{Change, Done, Failure, Kind, Placed, Plan, Reason, Refusal, Source, Why};
use toolfence_protocol::{ErrorCode, ToolFailure};

/// Each takes some descriptors until all are in place, and a process has but so many.
const MOST_FILES: usize = 200;

/// Bytes of them all: they are in memory until all are in place, as they were and as they will be.
const MOST_BYTES: usize = 100 << 20;

/// What a patch did, or would do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Patched {
    /// Each file of the patch, in its order.
    pub files: Vec<PatchedFile>,
    /// The paths that are not as they were, relative to the root.
    pub modified: Vec<String>,
    /// For each of them its real name and its content; `None` for a file that is gone. Empty after a dry run.
    pub after: Vec<(String, Option<Version>)>,
    /// All of it as a unified diff; `None` where it would be too big, or a file is no text.
    pub diff: Option<String>,
    /// Files that had other names (hard links), which still hold the old content, as they can be shown on one line.
    pub broken_links: Vec<String>,
    /// Files that could not have all of what they were like, as they can be shown on one line, each with what is missing.
    pub lost: Vec<(String, Vec<String>)>,
}

/// What a patch did to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PatchedFile {
    /// What was done with it as a whole.
    pub kind: Kind,
    /// The file it was made from, as it can be shown on one line.
    pub old: String,
    /// The file it is now, likewise.
    pub new: String,
    /// Where its hunks stood.
    pub hunks: Vec<Placed>,
}

impl Workspace {
    /// Applies a unified diff or a `*** Begin Patch` text to all of its files, or to none. With `dry_run` nothing is
    /// written.
    ///
    /// # Errors
    /// `invalid_argument` for what is no patch; `no_match` and `not_unique` where hunks have no place; `not_found` for files
    /// that do not exist; `too_large` for more than 200 files, or more than 100 MB of files; as for
    /// [`write`](Workspace::write) where a file may not be written; `conflict` when a file changed meanwhile. On any failure every byte is as it was.
    pub fn apply_patch(&self, text: &str, dry_run: bool) -> Result<Patched, ToolFailure> {
        self.patch_files(text, dry_run, || {})
    }

    /// `planned` is called when all is planned and nothing is written.
    fn patch_files(&self, text: &str, dry_run: bool, planned: impl FnOnce()) -> Result<Patched, ToolFailure> {
        let (plan, files) = self.planned_patch(text)?;
        let wanted: Vec<Wanted<'_>> =
            plan.changes.iter().map(|change| files.wanted(change)).collect::<Result<_, _>>()?;
        if dry_run {
            return Ok(patched(&plan));
        }
        planned();
        let lost = self.change_together(&wanted)?;
        let lost = lost.into_iter().map(|(at, lost)| (names::quoted(&wanted[at].target.path).into(), lost)).collect();
        let broken_links = wanted.iter().filter_map(broken_link).collect();
        Ok(Patched { after: wanted.iter().map(after).collect(), broken_links, lost, ..patched(&plan) })
    }

    pub(crate) fn planned_patch(&self, text: &str) -> Result<(Plan, Files<'_>), ToolFailure> {
        let relative = |name: &str| self.relative(name).ok()?.into_os_string().into_string().ok();
        let patch =
            patch::parse_below(text, relative).map_err(|problem| invalid(format!("Nothing was changed: {problem}")))?;
        let mut files = Files { workspace: self, targets: HashMap::new(), bytes: 0, real: HashMap::new() };
        let plan = patch::plan(&patch, &mut files).map_err(|failure| files.told(failure))?;
        files.refuse_links(&plan)?;
        Ok((plan, files))
    }
}

/// The workspace as the planner asks for it.
pub(crate) struct Files<'w> {
    workspace: &'w Workspace,
    targets: HashMap<String, Target>,
    bytes: usize,
    /// By the real name, under which name it was asked for.
    real: HashMap<String, String>,
}

impl Source for Files<'_> {
    type Error = ToolFailure;

    fn read(&mut self, path: &str) -> Result<Option<Vec<u8>>, ToolFailure> {
        let (spot, name) = self.workspace.spot_to_write(path)?;
        let (content, old) = match &spot.last {
            Last::Folder => return Err(failures::not_a_file(path, FileType::Directory)),
            Last::Missing(_) => (None, None),
            Last::File(_) => {
                let (content, old) = self.workspace.old_content(path, &spot)?;
                let size = usize::try_from(old.stat.st_size).unwrap_or(usize::MAX);
                (Some(content.ok_or_else(|| too_large(path, size))?), Some(old))
            }
        };
        if let Some(other) = self.real.insert(name, path.to_owned()) {
            let message = format!("{} and {} are the same file. Name it in one way.", shown(path), shown(&other));
            return Err(invalid(message));
        }
        self.bytes += content.as_ref().map_or(0, Vec::len);
        if self.targets.len() == MOST_FILES {
            return Err(too_much(&format!("{MOST_FILES} files")));
        }
        if self.bytes > MOST_BYTES {
            return Err(too_much(&format!("{} MB of files", MOST_BYTES >> 20)));
        }
        self.targets.insert(path.to_owned(), Target { path: path.to_owned(), spot, old });
        Ok(content)
    }
}

impl Files<'_> {
    /// What goes is the name that was given; behind a link stands another one.
    fn refuse_links(&self, plan: &Plan) -> Result<(), ToolFailure> {
        let goes = |change: &&Change| change.after.is_none();
        for target in plan.changes.iter().filter(goes).filter_map(|change| self.targets.get(&change.path)) {
            let real = names::text_of(&target.spot.name());
            if real != target.path {
                let message = format!("{} is reached by a link. Name {} itself.", shown(&target.path), shown(&real));
                return Err(invalid(message));
            }
        }
        Ok(())
    }

    pub(crate) fn wanted<'w>(&'w self, change: &'w Change) -> Result<Wanted<'w>, ToolFailure> {
        let target = self.targets.get(&change.path).ok_or_else(|| failures::of_system(Errno::NOENT, &change.path))?;
        if change.after.is_some() {
            self.workspace.refuse_loose(&change.path, &target.spot)?;
        }
        if let Some(long) = change.after.as_ref().filter(|after| after.len() > MOST) {
            return Err(too_large(&change.path, long.len()));
        }
        let like = change.like.as_ref().and_then(|path| self.targets.get(path)?.old.as_ref()).map(Old::like);
        let executable = change.mode.map(|mode| mode & 0o111 != 0);
        Ok(Wanted { target, content: change.after.as_deref(), like, executable })
    }

    fn told(&self, failure: Failure<ToolFailure>) -> ToolFailure {
        match failure {
            Failure::Source(failure) => failure,
            Failure::Refused(refusals) => self.refused(&refusals),
            // What a later version of the patch engine may add: like every failure of it, nothing was changed.
            _ => self.refused(&[]),
        }
    }

    fn refused(&self, refusals: &[Refusal]) -> ToolFailure {
        let Some(first) = refusals.first() else { return invalid("Nothing was changed.".into()) };
        if let ([_], Reason::Missing) = (refusals, &first.reason) {
            let path = &first.path;
            return self.workspace.explain(Trouble::Sys(Errno::NOENT), path, Path::new(path));
        }
        let lines: Vec<String> = refusals.iter().map(ToString::to_string).collect();
        ToolFailure::new(code(&first.reason), format!("Nothing was changed.\n{}", lines.join("\n")))
    }
}

fn after(wanted: &Wanted<'_>) -> (String, Option<Version>) {
    (names::text_of(&wanted.target.spot.name()), wanted.content.map(Version::of))
}

fn broken_link(wanted: &Wanted<'_>) -> Option<String> {
    let stat = wanted.target.stat().filter(|stat| wanted.content.is_some() && other_names(stat) > 0);
    stat.map(|_| names::quoted(&wanted.target.path).into())
}

fn too_much(most: &str) -> ToolFailure {
    let message = format!("The patch changes more than {most} at once. Send it in parts.");
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

fn patched(plan: &Plan) -> Patched {
    let file = |done: &Done| PatchedFile {
        kind: done.kind,
        old: names::quoted(&done.old).into(),
        new: names::quoted(&done.new).into(),
        hunks: done.hunks.clone(),
    };
    let diffs: Option<Vec<String>> = plan.changes.iter().map(difference).collect();
    Patched {
        files: plan.files.iter().map(file).collect(),
        modified: plan.changes.iter().map(|change| change.path.clone()).collect(),
        diff: diffs.map(|diffs| diffs.concat()),
        ..Patched::default()
    }
}

fn difference(change: &Change) -> Option<String> {
    diff::of_file(&change.path, change.before.as_deref(), change.after.as_deref())
}

#[cfg(test)]
impl Workspace {
    /// A patch between whose planning and writing somebody else does something.
    pub(crate) fn apply_patch_but(&self, text: &str, act: impl FnOnce(&Path)) -> Result<(), ToolFailure> {
        self.patch_files(text, false, || act(self.root())).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use toolfence_rules::PathRules;

    const PATCH: &str = "*** Begin Patch\n*** Update File: a\n@@\n-one\n+1\n*** Add File: b/c/d\n+new\n*** Delete File: \
                         x\n*** Update File: y\n@@\n-two\n+2\n*** End Patch\n";

    /// Every file and folder with its content.
    fn picture(folder: &Path) -> Vec<String> {
        let mut lines = Vec::new();
        for entry in fs::read_dir(folder).expect("it is there").map(|entry| entry.expect("it can be read").path()) {
            lines.push(format!("{} {:?}", entry.display(), fs::read_to_string(&entry).ok()));
            lines.extend(if entry.is_dir() { picture(&entry) } else { Vec::new() });
        }
        lines.sort();
        lines
    }

    /// Between planning and writing somebody else does something; then all is as that one left it.
    #[test]
    fn what_cannot_be_finished_is_put_back() {
        let by_others: [fn(&Path); 5] = [
            |root| fs::write(root.join("a"), "other").expect("it can be written"),
            |root| fs::remove_file(root.join("x")).expect("it is there"),
            |root| fs::write(root.join("y"), "other").expect("it can be written"),
            |root| fs::create_dir_all(root.join("b/c/d")).expect("it can be made"),
            |root| fs::write(root.join("b"), "other").expect("it can be written"),
        ];
        for act in by_others {
            let home = tempfile::tempdir().expect("a temporary folder can be made");
            for (name, text) in [("a", "one\n"), ("x", "gone\n"), ("y", "two\n")] {
                fs::write(home.path().join(name), text).expect("it can be written");
            }
            let workspace = Workspace::open(home.path(), PathRules::default()).expect("it is a folder");
            let mut before = Vec::new();
            let failure = workspace
                .apply_patch_but(PATCH, |root| {
                    act(root);
                    before = picture(root);
                })
                .expect_err("somebody else was faster");
            assert!(matches!(failure.code, ErrorCode::Conflict | ErrorCode::NotFound), "{failure:?}");
            assert_eq!(picture(home.path()), before);
        }
    }
}
