//! What is looked at around a change: whether the files are worse afterwards than they were.
//!
//! What can be known of the text alone is known before anything is written: by the language's own checker, which gets the
//! text on its stdin, or else in process. The tools say what they would write as [`Draft`]s, and write them only if these
//! pass. A checker of projects sees files on disk: it is asked before the change and after it, and a change that is to
//! blame for an error in its own files is taken back.

mod answers;
mod project;
mod run;

pub use project::{PROJECT_CHECK, ProjectChecks};

use super::blocking;
use crate::validate::{
    Checker, Diagnostic, LineMap, Reads, Sight, Subject, built_in, new_ones, referenced_projects, syntax,
};
use run::Said;
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use toolfence_commands::runner::{CommandRunner, MadeChange, MadeChanges};
use toolfence_policy::toolbox::{Permit, ToolError};
use toolfence_protocol::{Language, Output, Text, text};
use toolfence_workspace::{Draft, FileDraft, Report, Stop, Workspace};

/// The checks of one conversation, shared by its tools.
#[derive(Debug, Clone)]
pub struct Checks {
    commands: Arc<CommandRunner>,
    checkers: Arc<Vec<Checker>>,
    reader: Arc<syntax::Reader>,
    /// Programs of checkers that were reported as not installed: one report is enough.
    missed: Arc<Mutex<HashSet<String>>>,
}

/// A checker as it is on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Standing {
    /// What it is.
    pub checker: Checker,
    /// Where its program is; `None` where it is not installed.
    pub program: Option<PathBuf>,
    /// Whether it may run here: most do only where the sandbox holds.
    pub may_run: bool,
    /// Whether it is built in.
    pub built_in: bool,
}

/// How long the files of a change are read in process. A text that takes longer was made to.
const PATIENCE: Duration = Duration::from_secs(2);

/// How a change is to be made.
#[derive(Debug, Clone, Copy)]
pub(super) struct How {
    pub(super) validate: bool,
    pub(super) dry_run: bool,
    /// Of the words that become a part of strings.
    pub(super) language: Language,
    /// Bytes of a file that can be written or edited.
    pub(super) file_bytes: u64,
    /// Bytes of the result.
    pub(super) output_bytes: u64,
}

/// What came of a change.
pub(super) enum Checked<T> {
    Made(T, Findings),
    /// It would have made a file worse: nothing was changed, and this is the answer.
    Refused(Output),
}

/// What was seen beside the change.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// New errors in files that were not changed.
    elsewhere: Vec<Diagnostic>,
    /// What could not be checked, in sentences.
    notes: Vec<Text>,
}

/// An edited file that would be worse.
#[derive(Debug)]
struct Worse<'d> {
    draft: &'d FileDraft,
    lines: LineMap,
    errors: Vec<Diagnostic>,
    /// Who says so.
    by: Text,
}

/// What a checker reads on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
enum OnDisk {
    /// The project in this folder.
    Project(String),
    /// This file, which belongs to no project.
    File(String),
}

impl OnDisk {
    fn subject(&self) -> Subject<'_> {
        match self {
            OnDisk::Project(folder) => Subject::Project(folder),
            OnDisk::File(file) => Subject::File(file),
        }
    }
}

/// The errors that a checker found on disk before the change.
struct Asked<'c> {
    checker: &'c Checker,
    on_disk: OnDisk,
    before: Vec<Diagnostic>,
}

impl How {
    /// A change as this call asks for it, which is checked unless `validate` is false.
    pub(super) fn of(permit: &Permit<'_>) -> How {
        let limits = permit.limits();
        How {
            validate: permit.flag("validate", true),
            dry_run: permit.flag("dry_run", false),
            language: permit.language(),
            file_bytes: limits.file_bytes,
            output_bytes: limits.output_bytes,
        }
    }
}

impl Checks {
    /// The usual checks, which `commands` will run.
    pub fn new(commands: Arc<CommandRunner>) -> Checks {
        Checks { commands, checkers: Arc::new(built_in()), reader: Arc::default(), missed: Arc::default() }
    }

    /// Adds checkers that are asked before the usual ones. Of those of a text the first that has something to say is believed.
    #[must_use]
    pub fn checkers(self, own: impl IntoIterator<Item = Checker>) -> Checks {
        Checks { checkers: Arc::new(own.into_iter().chain(built_in()).collect()), ..self }
    }

    /// What is asked and what is not, in the order it is asked. Tries the sandbox, which takes a moment.
    #[doc(hidden)]
    pub fn standing(&self) -> Vec<Standing> {
        let own = self.checkers.len() - built_in().len();
        let holds = self.commands.enclosure().report().holds;
        let standing = |(at, checker): (usize, &Checker)| Standing {
            checker: checker.clone(),
            program: run::program_from(self.workspace().root(), checker.in_modules.then_some(""), checker.program()),
            may_run: holds || self.commands.may_run_outside(checker.harmless),
            built_in: at >= own,
        };
        self.checkers.iter().enumerate().map(standing).collect()
    }

    /// Makes a change as it was planned, if it makes no file worse.
    pub(super) async fn change<R: Report>(&self, draft: Draft<R>, how: How) -> Result<Checked<R>, ToolError> {
        let draft = Arc::new(draft);
        let mut found = Findings::default();
        let files = draft.files();
        // What cannot be compared with what was there is not judged.
        let is_judged = files.iter().any(FileDraft::changes_content) && files.iter().all(|file| file.texts().is_some());
        if !how.validate || !is_judged {
            let made = self.made(&draft, how).await?;
            self.keep(&draft, how);
            return Ok(Checked::Made(made, found));
        }
        let mut worse = Vec::new();
        for file in files.iter().filter(|file| !file.is_removal()) {
            worse.extend(self.worse(file, &mut found).await?);
        }
        if !worse.is_empty() {
            return Ok(Checked::Refused(answers::refused(&worse, how)));
        }
        if how.dry_run {
            self.not_asked(files, &mut found).await?;
            return Ok(Checked::Made(self.made(&draft, how).await?, found));
        }
        let asked = self.asked(files, &mut found).await?;
        let made = self.made(&draft, how).await?;
        let worse = self.worse_in_project(files, &asked, &mut found).await?;
        if worse.is_empty() {
            self.keep(&draft, how);
            return Ok(Checked::Made(made, found));
        }
        let back = Arc::clone(&draft);
        let back = blocking(self.workspace(), move |workspace, _| {
            Ok(workspace.changes().up_to(how.file_bytes).take_back(&back))
        })
        .await?;
        let answer = answers::refused(&worse, how);
        Ok(Checked::Refused(match back {
            Ok(()) => answer,
            Err(failure) => answers::stayed(answer, files, &failure),
        }))
    }

    async fn made<R: Report>(&self, draft: &Arc<Draft<R>>, how: How) -> Result<R, ToolError> {
        if how.dry_run {
            return Ok(draft.report().clone());
        }
        let draft = Arc::clone(draft);
        blocking(self.workspace(), move |workspace, _| workspace.changes().up_to(how.file_bytes).commit(&draft)).await
    }

    /// Keeps a change that stays, so that a check of the whole project can roll it back.
    fn keep<R: Report>(&self, draft: &Arc<Draft<R>>, how: How) {
        if how.dry_run {
            return;
        }
        let paths = draft.files().iter().map(|file| file.path.clone()).collect();
        let draft = Arc::clone(draft);
        let take_back =
            Box::new(move |workspace: &Workspace| workspace.changes().up_to(how.file_bytes).take_back(&draft));
        MadeChanges::add(MadeChange { paths, take_back });
    }

    pub(super) fn workspace(&self) -> &Arc<Workspace> {
        self.commands.workspace()
    }

    pub(super) fn commands(&self) -> &Arc<CommandRunner> {
        &self.commands
    }

    /// What is new in the text of one file: the language's own checker says it, or else the parser in process.
    async fn worse<'d>(&self, draft: &'d FileDraft, found: &mut Findings) -> Result<Option<Worse<'d>>, ToolError> {
        let [before, after] = draft.texts().unwrap_or_default();
        let own = |checker: &&Checker| checker.reads == Reads::Text && checker.is_for(&draft.path);
        let fits = after.len() <= syntax::MOST_BYTES;
        for checker in self.checkers.iter().filter(own).filter(|_| fits) {
            match self.ask(checker, Subject::Text(&after)).await? {
                Said::Errors(new) if new.is_empty() || after.trim().is_empty() => return Ok(None),
                Said::Errors(new) => {
                    // An empty text is a beginning, and nothing is wrong with it, whatever is said: of Go, that a package is missing.
                    let empty = before.trim().is_empty();
                    let old = if empty {
                        Said::Errors(Vec::new())
                    } else {
                        self.ask(checker, Subject::Text(&before)).await?
                    };
                    if let Said::Errors(old) = old {
                        return Ok(worse(draft, &old, &new, checker.sight, by(checker)));
                    }
                }
                Said::Nothing(why) => found.notes.push(answers::not_checked(&draft.path, checker.program(), why)),
                Said::Absent(why) => self.note_missing(checker, &draft.path, why, found),
                Said::Unfit => {}
            }
        }
        let (path, texts) = (draft.path.clone(), [before.into_owned(), after.into_owned()]);
        let reader = Arc::clone(&self.reader);
        let read = blocking(self.workspace(), move |_, stop| Ok(both(&reader, &path, &texts, stop)));
        // A parser may not come to where it is asked to give up. Nothing waits for it then.
        let Ok(read) = tokio::time::timeout(2 * PATIENCE, read).await else { return Ok(None) };
        let Some((old, new, language)) = read? else { return Ok(None) };
        Ok(worse(draft, &old, &new, language.sight, text!("as {language}", language = language.name)))
    }

    /// Reports once that a program is not installed.
    fn note_missing(&self, checker: &Checker, path: &str, why: Text, found: &mut Findings) {
        let program = checker.program().to_owned();
        if self.missed.lock().unwrap_or_else(PoisonError::into_inner).insert(program) {
            found.notes.push(answers::not_checked(path, checker.program(), why));
        }
    }

    /// The errors that checkers find on disk before the change.
    async fn asked(&self, drafts: &[FileDraft], found: &mut Findings) -> Result<Vec<Asked<'_>>, ToolError> {
        let mut all: Vec<Asked<'_>> = Vec::new();
        for draft in drafts {
            for (checker, on_disk) in self.on_disk(draft).await? {
                if all.iter().any(|asked| asked.checker == checker && asked.on_disk == on_disk) {
                    continue;
                }
                // A new file has no errors before, and the checker would fail for want of it.
                let is_new = matches!(on_disk, OnDisk::File(_)) && draft.old_bytes().is_none();
                let said = if is_new { Said::Errors(Vec::new()) } else { self.ask(checker, on_disk.subject()).await? };
                match said {
                    Said::Errors(before) => all.push(Asked { checker, on_disk, before }),
                    Said::Nothing(why) => found.notes.push(answers::not_checked(&draft.path, checker.program(), why)),
                    Said::Absent(why) => self.note_missing(checker, &draft.path, why, found),
                    Said::Unfit => {}
                }
            }
        }
        Ok(all)
    }

    /// What a dry run cannot know: these checkers read what is on disk.
    async fn not_asked(&self, drafts: &[FileDraft], found: &mut Findings) -> Result<(), ToolError> {
        for draft in drafts {
            for (checker, _) in self.on_disk(draft).await? {
                let why = text!("it reads what is on disk, and this is a dry run");
                found.notes.push(answers::not_checked(&draft.path, checker.program(), why));
            }
        }
        Ok(())
    }

    /// The checkers that read a changed file on disk, each with the project of the file or the file alone.
    async fn on_disk(&self, draft: &FileDraft) -> Result<Vec<(&Checker, OnDisk)>, ToolError> {
        let mut all = Vec::new();
        for checker in self.checkers.iter().filter(|checker| checker.is_for(&draft.path)) {
            let Reads::Project(file) = &checker.reads else { continue };
            // The errors of a file that moves have another name before.
            let moves = draft.old_bytes().is_none() && draft.texts().is_some_and(|[before, _]| !before.is_empty());
            match self.project_of(&draft.path, file).await? {
                Some(folder) if checker.in_modules => {
                    let projects = self.projects_below(folder, file).await?;
                    all.extend(projects.into_iter().map(|project| (checker, OnDisk::Project(project))));
                }
                Some(folder) => all.push((checker, OnDisk::Project(folder))),
                None if checker.checks_files_alone() && !draft.is_removal() && !moves => {
                    all.push((checker, OnDisk::File(draft.path.clone())));
                }
                None => {}
            }
        }
        Ok(all)
    }

    /// The nearest folder above a file, within the root, that holds this one.
    async fn project_of(&self, path: &str, file: &str) -> Result<Option<String>, ToolError> {
        let path = path.to_owned();
        let file = file.to_owned();
        blocking(self.workspace(), move |workspace, _| {
            let above = std::path::Path::new(&path).ancestors().skip(1).filter_map(std::path::Path::to_str);
            // It becomes an argument: a folder called `-v` is no option.
            let named = |folder: &str| match folder {
                "" => ".".to_owned(),
                _ if folder.starts_with('-') => format!("./{folder}"),
                _ => folder.to_owned(),
            };
            Ok(above.map(named).find(|folder| workspace.root().named_file(&format!("{folder}/{file}")).is_ok()))
        })
        .await
    }

    /// The projects that `tsc` has to check for the one in a folder: those that its `file` refers to if it has no files of its own.
    async fn projects_below(&self, folder: String, file: &str) -> Result<Vec<String>, ToolError> {
        const MOST_BYTES: usize = 64 << 10;
        let file = file.to_owned();
        blocking(self.workspace(), move |workspace, _| {
            let root = workspace.root();
            let config = root.bytes(&format!("{folder}/{file}"), MOST_BYTES).unwrap_or_default();
            let named = referenced_projects(&String::from_utf8_lossy(&config)).into_iter();
            let projects = named.map(|name| format!("{folder}/{name}"));
            let is_there = |project: &String| {
                [project.clone(), format!("{project}/{file}")].iter().any(|path| root.named_file(path).is_ok())
            };
            let projects: Vec<String> = projects.filter(is_there).collect();
            Ok(if projects.is_empty() { vec![folder] } else { projects })
        })
        .await
    }

    /// The edited files that their projects' checkers have something new against.
    async fn worse_in_project<'d>(
        &self,
        drafts: &'d [FileDraft],
        asked: &[Asked<'_>],
        found: &mut Findings,
    ) -> Result<Vec<Worse<'d>>, ToolError> {
        let maps: HashMap<&str, LineMap> = drafts.iter().map(|draft| (&*draft.path, lines_of(draft))).collect();
        let mut all = Vec::new();
        for Asked { checker, on_disk, before } in asked {
            let path = if let OnDisk::File(file) = on_disk { file } else { &drafts[0].path };
            let after = match self.ask(checker, on_disk.subject()).await? {
                Said::Errors(after) => after,
                Said::Nothing(why) => {
                    found.notes.push(answers::not_checked(path, checker.program(), why));
                    continue;
                }
                Said::Absent(why) => {
                    self.note_missing(checker, path, why, found);
                    continue;
                }
                Said::Unfit => continue,
            };
            let new = new_ones(before, &after, |path| maps.get(path), checker.sight);
            let (inside, elsewhere): (Vec<_>, Vec<_>) = new.into_iter().partition(|one| maps.contains_key(&*one.path));
            // A file may be in several projects.
            let known = found.elsewhere.clone();
            found.elsewhere.extend(elsewhere.into_iter().filter(|error| !known.contains(error)));
            for draft in drafts {
                let errors: Vec<Diagnostic> = inside.iter().filter(|one| one.path == draft.path).cloned().collect();
                if !errors.is_empty() && !all.iter().any(|worse: &Worse<'_>| worse.draft.path == draft.path) {
                    all.push(Worse { draft, lines: lines_of(draft), errors, by: by(checker) });
                }
            }
        }
        Ok(all)
    }
}

fn by(checker: &Checker) -> Text {
    text!("by {program}", program = checker.program())
}

fn lines_of(draft: &FileDraft) -> LineMap {
    let [before, after] = draft.texts().unwrap_or_default();
    LineMap::of(&before, &after)
}

fn worse<'d>(
    draft: &'d FileDraft,
    old: &[Diagnostic],
    new: &[Diagnostic],
    sight: Sight,
    by: Text,
) -> Option<Worse<'d>> {
    let lines = lines_of(draft);
    let errors = new_ones(old, new, |_| Some(&lines), sight);
    (!errors.is_empty()).then_some(Worse { draft, lines, errors, by })
}

/// What is wrong in process with the text before and after. What cannot be judged as it is has nothing to be compared with.
fn both(
    reader: &syntax::Reader,
    path: &str,
    [before, after]: &[String; 2],
    stop: &Stop,
) -> Option<(Vec<Diagnostic>, Vec<Diagnostic>, &'static syntax::Language)> {
    let started = Instant::now();
    let give_up = || stop.is_stopped() || started.elapsed() > PATIENCE;
    let new = reader.check_until(path, after, &give_up).filter(|new| !new.is_empty())?;
    let old = reader.check_until(path, before, &give_up)?;
    Some((old, new, syntax::language(path)?))
}
