//! Runs a command on a private layer of the project.

use crate::layer::{Change, ChangeKind, Layer, Limits, ReadError, layers_in};
use crate::session_output::{SessionOutput, Unit};
use crate::{git_settings, output};
use rustix::fd::{AsFd, BorrowedFd};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::time::Duration;
use toolfence_protocol::ToolFailure;
use toolfence_sandbox::environment;
use toolfence_sandbox::isolation::{Enclosure, Request};
use toolfence_sandbox::process::{self, Job, Outcome};
use toolfence_sandbox::project::{Mask, MaskKind};
use toolfence_workspace::stash::Moment;
use toolfence_workspace::{Access, MaskSet, Stop, Workspace};

/// The most attempts to mount a layer, if the project changes while the layer is prepared.
const MOST_TRIES: u32 = 4;

/// The time between two checks of the layer's size.
const BETWEEN_CHECKS: Duration = Duration::from_secs(1);

/// The most bytes that a command may write. If the disk has less than twice as many free bytes, half of these is the
/// limit.
const MOST_BYTES: u64 = 4 << 30;

/// The time limit of a trial run.
const TRIAL: Duration = Duration::from_secs(10);

/// The number of entries at the top of the project that are searched for a file for the trial.
const MOST_LOOKED_AT: usize = 200;

/// A project in which commands run on private layers.
#[derive(Debug, Clone, Copy)]
pub struct LayeredProject<'a> {
    /// The project.
    pub workspace: &'a Workspace,
    /// The sandbox around its commands.
    pub enclosure: &'a Enclosure,
    /// The private folder, with a folder for layers in it: see [`layer::private_folder`](crate::layer::private_folder).
    pub place: &'a Path,
    /// The session's build output that is not in the project.
    pub output: Option<&'a SessionOutput>,
    /// The limits for reading a layer.
    pub limits: Limits,
}

/// A command that has ended, with the layer that it wrote to.
#[derive(Debug)]
pub struct EndedRun {
    /// How it ended.
    pub outcome: Outcome,
    /// The layer with the entries that it wrote.
    pub layer: Layer,
    /// A moment before the command began.
    pub since: Moment,
    /// The masks of the command, and the files of the project that git uses.
    pub masks: MaskSet,
    /// The output of earlier commands that was moved into the layer before the command began.
    pub from_session: Vec<Unit>,
    /// The paths of earlier output that was deleted because the project's folder had changed, or because it could not
    /// be moved into the layer.
    pub outdated: Vec<PathBuf>,
}

/// A command that ran, with its changes.
#[derive(Debug)]
pub struct LayerRun {
    /// How it ended.
    pub outcome: Outcome,
    /// The layer with the entries that the command wrote.
    pub layer: Layer,
    /// The changes of the command.
    pub changes: Vec<Change>,
    /// For each change, whether it is build output: see [`output`].
    pub is_output: Vec<bool>,
    /// A moment before the command began. Other processes made all changes of the project since then.
    pub since: Moment,
    /// The masks of the command, and the files of the project that git uses.
    pub masks: MaskSet,
    /// The output of earlier commands that was moved into the layer before the command began.
    pub from_session: Vec<Unit>,
    /// The paths of earlier output that was deleted because the project's folder had changed, or because it could not
    /// be moved into the layer.
    pub outdated: Vec<PathBuf>,
}

/// The reason why a command did not run, or why its changes are unknown. In both cases the project is unchanged.
#[derive(Debug)]
pub enum RunError {
    /// The files to hide from the command could not be determined.
    Masks(ToolFailure),
    /// The command could not be started, or the layer could not be created.
    System(io::Error),
    /// The command wrote more than this number of bytes, and was ended.
    TooLarge(u64),
    /// The command ended, but its layer could not be read.
    Unread(ReadError),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunError::Masks(failure) => failure.fmt(f),
            RunError::System(error) => error.fmt(f),
            RunError::TooLarge(most) => write!(f, "the command wrote more than {most} bytes"),
            RunError::Unread(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for RunError {}

impl From<io::Error> for RunError {
    fn from(error: io::Error) -> RunError {
        RunError::System(error)
    }
}

impl LayeredProject<'_> {
    /// Runs the program of a job in `folder`, which is relative to the project, until all of its processes have ended.
    ///
    /// It blocks the thread while the layer is prepared.
    ///
    /// # Errors
    /// See [`RunError`].
    pub async fn run(&self, job: &Job<'_>, folder: &Path, network: bool) -> Result<EndedRun, RunError> {
        let root = self.workspace.root().folder(".").map_err(RunError::Masks)?;
        let mut tries = 0;
        let mut outdated = Vec::new();
        loop {
            tries += 1;
            // Before anything of the project is read, so that no change by another process is missed.
            let since = Moment::next(self.place)?;
            let masks = self.workspace.masks().find(Access::Copy, &Stop::default()).map_err(RunError::Masks)?;
            let mut layer = Layer::create(&layers_in(self.place), root.as_fd())?;
            let from_session = self.move_output_into(&layer, root.as_fd(), &mut outdated)?;
            let is_hidden = |mask: &&Mask| matches!(mask.how, MaskKind::Hide | MaskKind::HideRemovable);
            for hidden in masks.list().iter().filter(is_hidden) {
                layer.hide(root.as_fd(), &hidden.path)?;
            }
            if let Ok(place) = self.place.canonicalize()?.strip_prefix(self.workspace.root_path()) {
                // If the private folder is in the project, no command may see it: it has the layers of other commands,
                // and the command's own.
                layer.hide(root.as_fd(), place)?;
            }
            // Only frozen files keep a mask. Hidden files are absent in the layer, so the command may move the folders
            // that contain them.
            let frozen: Vec<Mask> = masks.list().iter().filter(|mask| mask.how == MaskKind::Freeze).cloned().collect();
            match self.run_on(&layer, job, folder, network, &frozen).await {
                // The masks are outdated if the project changed before the sandbox was set up, so everything is
                // prepared again. The output of the session must leave the layer, which is deleted.
                Err(RunError::System(error)) if process::is_changed(&error) && tries < MOST_TRIES => {
                    self.store_again(&layer, root.as_fd(), &from_session, since)?;
                }
                outcome => return Ok(EndedRun { outcome: outcome?, layer, since, masks, from_session, outdated }),
            }
        }
    }

    /// Reads the layer of a command that has ended. The time is proportional to the entries of the layer.
    ///
    /// # Errors
    /// The layer could not be read.
    pub fn read(&self, ended: EndedRun) -> Result<LayerRun, RunError> {
        let EndedRun { outcome, layer, since, masks, from_session, outdated } = ended;
        let root = self.workspace.root().folder(".").map_err(RunError::Masks)?;
        let changes = layer.changes(root.as_fd(), self.limits, &|| false).map_err(RunError::Unread)?;
        let git = self.workspace.root().programs().git();
        let is_output = output::is_output(git, self.workspace.root_path(), &changes);
        Ok(LayerRun { outcome, layer, changes, is_output, since, masks, from_session, outdated })
    }

    /// Runs the program of a job at the top of the project, and drops its changes.
    ///
    /// # Errors
    /// See [`RunError`].
    pub async fn run_and_drop(&self, job: &Job<'_>) -> Result<Outcome, RunError> {
        // Output of the session that was moved into the layer would be deleted with it.
        let without_output = LayeredProject { output: None, ..*self };
        Ok(without_output.run(job, Path::new(""), false).await?.outcome)
    }

    /// Moves the session's output into a layer. Deletes units that are outdated or cannot be moved, and adds their
    /// paths to `outdated`.
    fn move_output_into(
        &self,
        layer: &Layer,
        root: BorrowedFd<'_>,
        outdated: &mut Vec<PathBuf>,
    ) -> io::Result<Vec<Unit>> {
        let Some(output) = self.output.filter(|output| output.has_any()) else { return Ok(Vec::new()) };
        let units = output.units()?;
        let mut moved = Vec::new();
        for unit in units.list() {
            if unit.changed_in_project(root).is_none() && units.move_into(layer, root, &unit).is_ok() {
                moved.push(unit);
            } else {
                units.delete(&unit);
                outdated.push(unit.path);
            }
        }
        Ok(moved)
    }

    /// Moves output from a layer that could not be mounted back to the session.
    fn store_again(&self, layer: &Layer, root: BorrowedFd<'_>, from_session: &[Unit], since: Moment) -> io::Result<()> {
        let Some(output) = self.output.filter(|_| !from_session.is_empty()) else { return Ok(()) };
        let units = output.units()?;
        from_session.iter().try_for_each(|unit| units.store(layer, root, (&unit.path, unit.files), since))
    }

    /// Checks whether commands can run on layers here: a shell copies a small file of the project up, removes it and
    /// puts a folder in its place. The project is not changed.
    ///
    /// # Errors
    /// A layer cannot be mounted, or does not record these changes.
    pub async fn try_out(&self, environment: &[(OsString, OsString)]) -> Result<(), RunError> {
        let root = self.workspace.root().folder(".").map_err(RunError::Masks)?;
        let layer = Layer::create(&layers_in(self.place), root.as_fd())?;
        let file = small_file(self.workspace.root_path());
        let script = match file {
            // The kernel must record a copied file, a whiteout and a folder in place of a file.
            Some(_) => "touch -- \"$1\" && rm -- \"$1\" && mkdir -- \"$1\"",
            None => "mkdir -- \"$1\"",
        };
        let name = file.clone().unwrap_or_else(|| OsString::from("toolfence trial"));
        self.run_trial(&layer, root.as_fd(), script, &name, environment).await?;
        let changes = layer.changes(root.as_fd(), self.limits, &|| false).map_err(io::Error::other)?;
        match changes.as_slice() {
            [Change { path, kind: ChangeKind::Added(_) | ChangeKind::Replaced(_), .. }] if path.as_os_str() == name => {
                Ok(())
            }
            _ => Err(io::Error::other("the layer does not have the changes of the trial").into()),
        }
    }

    /// Checks whether a command on a layer can change this entry of the project, which belongs to another user or
    /// group. Inside a user namespace it cannot: the overlay would have to give its copy an owner or a group that the
    /// namespace does not have (`EOVERFLOW`). Root without a user namespace can. The project is not changed.
    ///
    /// # Errors
    /// A layer cannot be mounted, or the entry cannot be changed in it.
    pub async fn try_to_change(&self, entry: &Path, environment: &[(OsString, OsString)]) -> Result<(), RunError> {
        let root = self.workspace.root().folder(".").map_err(RunError::Masks)?;
        let layer = Layer::create(&layers_in(self.place), root.as_fd())?;
        self.run_trial(&layer, root.as_fd(), "touch -c -h -- \"$1\"", entry.as_os_str(), environment).await
    }

    /// Runs a shell script with one argument on a layer.
    async fn run_trial(
        &self,
        layer: &Layer,
        root: BorrowedFd<'_>,
        script: &str,
        argument: &OsStr,
        environment: &[(OsString, OsString)],
    ) -> Result<(), RunError> {
        // The name is an argument of the script, so that no character in it has a meaning for the shell.
        let args = [OsStr::new("-c"), script.as_ref(), OsStr::new("sh"), argument];
        let job = Job {
            program: OsStr::new("/bin/sh"),
            args: &args,
            folder: root,
            environment,
            limit: TRIAL,
            keep: 1000,
            overflow: None,
            live: None,
        };
        let outcome = self.run_on(layer, &job, Path::new(""), false, &[]).await?;
        if outcome.exit_code == 0 { Ok(()) } else { Err(io::Error::other(outcome.output.trim().to_owned()).into()) }
    }

    /// Runs the program on a layer, and ends it if it fills the disk.
    async fn run_on(
        &self,
        layer: &Layer,
        job: &Job<'_>,
        folder: &Path,
        network: bool,
        frozen: &[Mask],
    ) -> Result<Outcome, RunError> {
        let has_network = network || self.enclosure.settings().network;
        let mut environment = environment::sandboxed(job.environment, self.workspace.root().path(), has_network);
        git_settings::on_a_layer(&mut environment, self.workspace.masks().git_settings());
        let variables: Vec<&OsStr> = environment.iter().map(|(name, _)| name.as_os_str()).collect();
        let words: Vec<&OsStr> = std::iter::once(job.program).chain(job.args.iter().copied()).collect();
        // Held until the command has ended: it decides whether other commands may use named sockets.
        let in_session = self.enclosure.enter_session();
        let request = Request {
            command: &words,
            folder,
            masks: frozen,
            layer: Some(layer.path()),
            network,
            looks: false,
            writable_folders: &[],
            session: true,
            sockets: in_session.is_alone(),
            variables: &variables,
        };
        let entry = self.enclosure.entry(&request);
        let entry = entry.ok_or_else(|| io::Error::other("the sandbox that is available here mounts no layers"))?;
        let arguments: Vec<&OsStr> = entry.arguments.iter().map(OsString::as_os_str).collect();
        let helper = Job { program: &entry.program, args: &arguments, environment: &environment, ..*job };
        let mut run = pin!(process::run_supervised(&helper, &entry.message));
        // The session's output in the layer counts toward the limit, as if this command had written it.
        let held = if self.output.is_some() { layer.bytes_on_disk() } else { 0 };
        let room = Room::new(layer, held)?;
        loop {
            tokio::select! {
                // An end at the same time as a check wins, so that a command that has ended is not reported as too
                // large.
                biased;
                ended = &mut run => return Ok(ended?),
                () = tokio::time::sleep(BETWEEN_CHECKS) => {
                    if room.is_exceeded(layer)? {
                        return Err(RunError::TooLarge(room.most));
                    }
                }
            }
        }
    }
}

/// Returns the name of a file at the top of the project that is small enough to copy.
fn small_file(root: &Path) -> Option<OsString> {
    let entries = std::fs::read_dir(root).ok()?.flatten().take(MOST_LOOKED_AT);
    let is_small =
        |entry: &std::fs::DirEntry| entry.metadata().is_ok_and(|meta| meta.is_file() && meta.len() <= 64 << 10);
    entries.filter(is_small).map(|entry| entry.file_name()).next()
}

/// The limit for a command's writes.
struct Room {
    most: u64,
    /// The free bytes of the disk when the command began, plus the bytes that the layer already used.
    free: u64,
}

impl Room {
    fn new(layer: &Layer, held: u64) -> io::Result<Room> {
        let free = free_bytes(layer)?.saturating_add(held);
        Ok(Room { most: MOST_BYTES.min(free / 2), free })
    }

    /// Returns `true` if the disk has lost more than `most` bytes and the layer is larger than `most`. Both are checked
    /// because other processes write to the disk, too. The layer is measured last, because that reads the status of
    /// each file.
    fn is_exceeded(&self, layer: &Layer) -> io::Result<bool> {
        let lost = self.free.saturating_sub(free_bytes(layer)?);
        Ok(lost > self.most && layer.bytes_on_disk() > self.most)
    }
}

fn free_bytes(layer: &Layer) -> io::Result<u64> {
    let disk = rustix::fs::statvfs(layer.path())?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}
