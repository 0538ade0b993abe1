//! The checks around a change, which refuse it if it introduces errors into the changed files.
//!
//! Checks of the text alone run before anything is written: the language's own checker reads the text on its stdin, or
//! else a parser runs in process. The tools hand in their plans as [`Draft`]s, which are committed only if these checks
//! pass. A checker of projects reads files on disk, so it runs before and after the change, and a change that causes
//! errors in its own files is rolled back.

mod answers;
mod project;
mod run;

pub use project::{PROJECT_CHECK, ProjectChecks};

use super::blocking;
use crate::validate::{
    Checker, Diagnostic, LineMap, Reads, Sight, Subject, built_in, new_ones, referenced_projects, syntax,
};
use run::CheckOutcome;
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
    /// Programs of checkers that were reported as not installed, so that each is reported once.
    missed: Arc<Mutex<HashSet<String>>>,
}

/// A checker and its availability on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Standing {
    /// The checker.
    pub checker: Checker,
    /// The path of its program; `None` if it is not installed.
    pub program: Option<PathBuf>,
    /// Whether the checker may run on this machine. Most checkers run only if a sandbox is available.
    pub may_run: bool,
    /// Whether the checker is built in, and not one from the user's settings.
    pub built_in: bool,
}

/// The time limit for parsing a changed file in process. Only texts that are made to exhaust a parser take longer.
const PATIENCE: Duration = Duration::from_secs(2);

/// The options of a change.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChangeOptions {
    pub(super) validate: bool,
    pub(super) dry_run: bool,
    /// The language of texts that are rendered into strings.
    pub(super) language: Language,
    /// The maximum number of bytes of a file that can be written or edited.
    pub(super) file_bytes: u64,
    /// The maximum number of bytes of the result.
    pub(super) output_bytes: u64,
}

/// The outcome of a checked change.
pub(super) enum Checked<T> {
    Made(T, Findings),
    /// Nothing was changed because a file would have got new errors. Contains the answer for the model.
    Refused(Output),
}

/// Observations of the checks that do not prevent the change.
#[derive(Debug, Default)]
pub(super) struct Findings {
    /// New errors in files that were not changed.
    elsewhere: Vec<Diagnostic>,
    /// Sentences about checks that could not run.
    notes: Vec<Text>,
}

/// An edited file with errors that the change introduces.
#[derive(Debug)]
struct FileWithErrors<'d> {
    draft: &'d FileDraft,
    lines: LineMap,
    errors: Vec<Diagnostic>,
    /// The checker or language that found them, as in "by gofmt".
    by: Text,
}

/// The subject of a checker that reads files on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
enum OnDisk {
    /// The project in this folder, relative to the root.
    Project(String),
    /// A file that belongs to no project, relative to the root.
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
struct Baseline<'c> {
    checker: &'c Checker,
    on_disk: OnDisk,
    before: Vec<Diagnostic>,
}

impl ChangeOptions {
    /// Reads the options from the arguments of a call. The change is checked unless `validate` is false.
    pub(super) fn from_permit(permit: &Permit<'_>) -> ChangeOptions {
        let limits = permit.limits();
        ChangeOptions {
            validate: permit.flag("validate", true),
            dry_run: permit.flag("dry_run", false),
            language: permit.language(),
            file_bytes: limits.file_bytes,
            output_bytes: limits.output_bytes,
        }
    }
}

impl Checks {
    /// Creates the usual checks. `commands` runs them.
    pub fn new(commands: Arc<CommandRunner>) -> Checks {
        Checks { commands, checkers: Arc::new(built_in()), reader: Arc::default(), missed: Arc::default() }
    }

    /// Adds checkers that take precedence over the built-in ones. For a text, the first checker that gives a verdict
    /// decides.
    #[must_use]
    pub fn checkers(self, own: impl IntoIterator<Item = Checker>) -> Checks {
        Checks { checkers: Arc::new(own.into_iter().chain(built_in()).collect()), ..self }
    }

    /// Lists all checkers in the order in which they run, with their availability. It tests the sandbox, which takes a
    /// moment.
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

    /// Commits a planned change if it introduces no errors into the changed files.
    pub(super) async fn change<R: Report>(
        &self,
        draft: Draft<R>,
        options: ChangeOptions,
    ) -> Result<Checked<R>, ToolError> {
        let draft = Arc::new(draft);
        let mut found = Findings::default();
        let files = draft.files();
        // Errors are new only by comparison, so a change is judged only if the old and new text of every file is known.
        let is_judged = files.iter().any(FileDraft::changes_content) && files.iter().all(|file| file.texts().is_some());
        if !options.validate || !is_judged {
            let made = self.commit(&draft, options).await?;
            self.record_change(&draft, options);
            return Ok(Checked::Made(made, found));
        }
        let mut worse = Vec::new();
        // First the checks of the text alone: they need no write, so a refused change leaves no trace on disk.
        for file in files.iter().filter(|file| !file.is_removal()) {
            worse.extend(self.new_errors_in(file, &mut found).await?);
        }
        if !worse.is_empty() {
            return Ok(Checked::Refused(answers::refusal(&worse, options)));
        }
        if options.dry_run {
            self.note_skipped(files, &mut found).await?;
            return Ok(Checked::Made(self.commit(&draft, options).await?, found));
        }
        // Then the checkers that read files on disk: one run before the commit and one after it.
        let baselines = self.baselines(files, &mut found).await?;
        let made = self.commit(&draft, options).await?;
        let worse = self.new_errors_on_disk(files, &baselines, &mut found).await?;
        if worse.is_empty() {
            self.record_change(&draft, options);
            return Ok(Checked::Made(made, found));
        }
        let committed = Arc::clone(&draft);
        // `take_back` leaves a file that another process has changed since the commit.
        let rolled_back = blocking(self.workspace(), move |workspace, _| {
            Ok(workspace.changes().up_to(options.file_bytes).take_back(&committed))
        })
        .await?;
        let answer = answers::refusal(&worse, options);
        Ok(Checked::Refused(match rolled_back {
            Ok(()) => answer,
            Err(failure) => answers::failed_rollback(answer, files, &failure),
        }))
    }

    async fn commit<R: Report>(&self, draft: &Arc<Draft<R>>, options: ChangeOptions) -> Result<R, ToolError> {
        if options.dry_run {
            return Ok(draft.report().clone());
        }
        let draft = Arc::clone(draft);
        blocking(self.workspace(), move |workspace, _| workspace.changes().up_to(options.file_bytes).commit(&draft))
            .await
    }

    /// Records a committed change, so that a check of the whole project can roll it back.
    fn record_change<R: Report>(&self, draft: &Arc<Draft<R>>, options: ChangeOptions) {
        if options.dry_run {
            return;
        }
        let paths = draft.files().iter().map(|file| file.path.clone()).collect();
        let draft = Arc::clone(draft);
        let take_back =
            Box::new(move |workspace: &Workspace| workspace.changes().up_to(options.file_bytes).take_back(&draft));
        MadeChanges::add(MadeChange { paths, take_back });
    }

    pub(super) fn workspace(&self) -> &Arc<Workspace> {
        self.commands.workspace()
    }

    pub(super) fn commands(&self) -> &Arc<CommandRunner> {
        &self.commands
    }

    /// Finds the new errors in the text of one file, with the language's own checker or else the parser in process.
    async fn new_errors_in<'d>(
        &self,
        draft: &'d FileDraft,
        found: &mut Findings,
    ) -> Result<Option<FileWithErrors<'d>>, ToolError> {
        let [before, after] = draft.texts().unwrap_or_default();
        let own = |checker: &&Checker| checker.reads == Reads::Text && checker.is_for(&draft.path);
        // The parser in process has the same limit.
        let fits = after.len() <= syntax::MOST_BYTES;
        for checker in self.checkers.iter().filter(own).filter(|_| fits) {
            match self.run_checker(checker, Subject::Text(&after)).await? {
                CheckOutcome::Errors(new) if new.is_empty() || after.trim().is_empty() => return Ok(None),
                CheckOutcome::Errors(new) => {
                    // An empty text counts as free of errors, although gofmt, for example, reports a missing package
                    // clause. Otherwise that error would excuse one in the new text.
                    let empty = before.trim().is_empty();
                    let old = if empty {
                        CheckOutcome::Errors(Vec::new())
                    } else {
                        self.run_checker(checker, Subject::Text(&before)).await?
                    };
                    if let CheckOutcome::Errors(old) = old {
                        return Ok(compare(draft, &old, &new, checker.sight, by_checker(checker)));
                    }
                }
                CheckOutcome::Failed(why) => {
                    found.notes.push(answers::not_checked(&draft.path, checker.program(), why));
                }
                CheckOutcome::NotInstalled(why) => self.note_missing(checker, &draft.path, why, found),
                CheckOutcome::Unsupported => {}
            }
        }
        let (path, texts) = (draft.path.clone(), [before.into_owned(), after.into_owned()]);
        let reader = Arc::clone(&self.reader);
        let read = blocking(self.workspace(), move |_, stop| Ok(parse_both(&reader, &path, &texts, stop)));
        // A parser may never reach the point where it checks whether to give up, so the wait has a limit too.
        let Ok(read) = tokio::time::timeout(2 * PATIENCE, read).await else { return Ok(None) };
        let Some((old, new, language)) = read? else { return Ok(None) };
        Ok(compare(draft, &old, &new, language.sight, text!("as {language}", language = language.name)))
    }

    /// Reports once that a program is not installed.
    fn note_missing(&self, checker: &Checker, path: &str, why: Text, found: &mut Findings) {
        let program = checker.program().to_owned();
        if self.missed.lock().unwrap_or_else(PoisonError::into_inner).insert(program) {
            found.notes.push(answers::not_checked(path, checker.program(), why));
        }
    }

    /// Runs the checkers on disk before the change, each once for a project or file.
    async fn baselines(&self, drafts: &[FileDraft], found: &mut Findings) -> Result<Vec<Baseline<'_>>, ToolError> {
        let mut all: Vec<Baseline<'_>> = Vec::new();
        for draft in drafts {
            for (checker, on_disk) in self.checks_on_disk(draft).await? {
                if all.iter().any(|known| known.checker == checker && known.on_disk == on_disk) {
                    continue;
                }
                // A new file has no errors before the change, and the checker would fail because it does not exist yet.
                let is_new = matches!(on_disk, OnDisk::File(_)) && draft.old_bytes().is_none();
                let outcome = if is_new {
                    CheckOutcome::Errors(Vec::new())
                } else {
                    self.run_checker(checker, on_disk.subject()).await?
                };
                match outcome {
                    CheckOutcome::Errors(before) => all.push(Baseline { checker, on_disk, before }),
                    CheckOutcome::Failed(why) => {
                        found.notes.push(answers::not_checked(&draft.path, checker.program(), why));
                    }
                    CheckOutcome::NotInstalled(why) => self.note_missing(checker, &draft.path, why, found),
                    CheckOutcome::Unsupported => {}
                }
            }
        }
        Ok(all)
    }

    /// Notes in a dry run which checkers did not run because they read files on disk.
    async fn note_skipped(&self, drafts: &[FileDraft], found: &mut Findings) -> Result<(), ToolError> {
        for draft in drafts {
            for (checker, _) in self.checks_on_disk(draft).await? {
                let why = text!("it reads what is on disk, and this is a dry run");
                found.notes.push(answers::not_checked(&draft.path, checker.program(), why));
            }
        }
        Ok(())
    }

    /// Returns the checkers that read a changed file on disk, each with the project of the file or the file alone.
    async fn checks_on_disk(&self, draft: &FileDraft) -> Result<Vec<(&Checker, OnDisk)>, ToolError> {
        let mut all = Vec::new();
        for checker in self.checkers.iter().filter(|checker| checker.is_for(&draft.path)) {
            let Reads::Project(file) = &checker.reads else { continue };
            // A moved file has its old errors under its old name, so they cannot be compared with the new ones.
            let moves = draft.old_bytes().is_none() && draft.texts().is_some_and(|[before, _]| !before.is_empty());
            match self.find_project(&draft.path, file).await? {
                Some(folder) if checker.in_modules => {
                    let projects = self.projects_to_check(folder, file).await?;
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

    /// Finds the nearest folder above a file, within the root, that contains `file`.
    async fn find_project(&self, path: &str, file: &str) -> Result<Option<String>, ToolError> {
        let path = path.to_owned();
        let file = file.to_owned();
        blocking(self.workspace(), move |workspace, _| {
            let above = std::path::Path::new(&path).ancestors().skip(1).filter_map(std::path::Path::to_str);
            // The folder becomes an argument: without `./` a folder called `-v` would be an option.
            let named = |folder: &str| match folder {
                "" => ".".to_owned(),
                _ if folder.starts_with('-') => format!("./{folder}"),
                _ => folder.to_owned(),
            };
            Ok(above.map(named).find(|folder| workspace.root().named_file(&format!("{folder}/{file}")).is_ok()))
        })
        .await
    }

    /// Returns the projects that `tsc` must check for the one in a folder: those that its `file` refers to if it has no
    /// files of its own.
    async fn projects_to_check(&self, folder: String, file: &str) -> Result<Vec<String>, ToolError> {
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

    /// Runs the checkers on disk again, and returns the edited files in which they find new errors.
    async fn new_errors_on_disk<'d>(
        &self,
        drafts: &'d [FileDraft],
        baselines: &[Baseline<'_>],
        found: &mut Findings,
    ) -> Result<Vec<FileWithErrors<'d>>, ToolError> {
        let maps: HashMap<&str, LineMap> = drafts.iter().map(|draft| (&*draft.path, lines_of(draft))).collect();
        let mut all = Vec::new();
        for Baseline { checker, on_disk, before } in baselines {
            let path = if let OnDisk::File(file) = on_disk { file } else { &drafts[0].path };
            let after = match self.run_checker(checker, on_disk.subject()).await? {
                CheckOutcome::Errors(after) => after,
                CheckOutcome::Failed(why) => {
                    found.notes.push(answers::not_checked(path, checker.program(), why));
                    continue;
                }
                CheckOutcome::NotInstalled(why) => {
                    self.note_missing(checker, path, why, found);
                    continue;
                }
                CheckOutcome::Unsupported => continue,
            };
            let new = new_ones(before, &after, |path| maps.get(path), checker.sight);
            let (inside, elsewhere): (Vec<_>, Vec<_>) = new.into_iter().partition(|one| maps.contains_key(&*one.path));
            // A file may belong to several projects, each of which reports its errors.
            let known = found.elsewhere.clone();
            found.elsewhere.extend(elsewhere.into_iter().filter(|error| !known.contains(error)));
            for draft in drafts {
                let errors: Vec<Diagnostic> = inside.iter().filter(|one| one.path == draft.path).cloned().collect();
                if !errors.is_empty() && !all.iter().any(|worse: &FileWithErrors<'_>| worse.draft.path == draft.path) {
                    all.push(FileWithErrors { draft, lines: lines_of(draft), errors, by: by_checker(checker) });
                }
            }
        }
        Ok(all)
    }
}

fn by_checker(checker: &Checker) -> Text {
    text!("by {program}", program = checker.program())
}

fn lines_of(draft: &FileDraft) -> LineMap {
    let [before, after] = draft.texts().unwrap_or_default();
    LineMap::new(&before, &after)
}

fn compare<'d>(
    draft: &'d FileDraft,
    old: &[Diagnostic],
    new: &[Diagnostic],
    sight: Sight,
    by: Text,
) -> Option<FileWithErrors<'d>> {
    let lines = lines_of(draft);
    let errors = new_ones(old, new, |_| Some(&lines), sight);
    (!errors.is_empty()).then_some(FileWithErrors { draft, lines, errors, by })
}

/// Parses the text before and after a change in process. Returns `None` if the new text has no errors, or if one of the
/// two cannot be judged.
fn parse_both(
    reader: &syntax::Reader,
    path: &str,
    [before, after]: &[String; 2],
    stop: &Stop,
) -> Option<(Vec<Diagnostic>, Vec<Diagnostic>, &'static syntax::Language)> {
    let started = Instant::now();
    let give_up = || stop.is_stopped() || started.elapsed() > PATIENCE;
    // The new text comes first: if it has no errors, the old text need not be parsed.
    let new = reader.check_until(path, after, &give_up).filter(|new| !new.is_empty())?;
    let old = reader.check_until(path, before, &give_up)?;
    Some((old, new, syntax::language(path)?))
}
