//! What is written down while a command runs that may write, so that what it planted is taken away even where the host is
//! killed.
//!
//! A record is a file in a folder of the person's state, with a lock on it as long as the host lives. It holds what was
//! known of the project's repositories before the command started. Its time is the host's last sign of life: what changed
//! later is another process's work.

use crate::digest::Digest;
use crate::encoding::{path_bytes, path_from};
use crate::git::way::{Step, Way};
use crate::masks::repositories::{Repository, Standing, Used};
use crate::masks::set::{Held, MaskSet};
use crate::masks::{GitSettings, Masks, settle};
use crate::root::Root;
use rustix::fs::{FlockOperation, Timespec, Timestamps, UTIME_NOW, flock, futimens};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;
use toolfence_protocol::Text;
use toolfence_sandbox::project::{Identity, Mask, MaskKind, Number, random_name};

/// The most bytes of a record that is read.
const MOST_BYTES: u64 = 64 << 20;

/// The most records that one start works off.
const MOST_RECORDS: usize = 64;

/// How much later than the last sign of life a change may be to count as the command's: the time between two signs, and what
/// it takes to end all processes.
const SLACK: Duration = Duration::from_secs(3);

/// The file in which the helper says what it did.
const TOLD: &str = "told";

/// How long after the end of a host its commands may take to end: the kernel ends them when the line to it breaks.
const ENDING: Duration = Duration::from_millis(500);

/// A helper that settles what commands left when this process is killed. Dropped, it ends: there is nothing to do.
#[derive(Debug)]
pub(super) struct Settler {
    child: Child,
}

impl Settler {
    pub(super) fn start(root: &Root, settler: Option<(&Path, &str)>) -> io::Result<Settler> {
        let (program, argument) = settler.ok_or_else(|| io::Error::other("there is no helper"))?;
        let mut command = Command::new(program);
        command.arg(argument).current_dir("/").env_clear();
        for name in [
            "HOME",
            "XDG_STATE_HOME",
            "XDG_CONFIG_HOME",
            "GIT_CONFIG_GLOBAL",
            "GIT_CONFIG_SYSTEM",
            "GIT_CONFIG_NOSYSTEM",
        ] {
            command.envs(std::env::var_os(name).map(|value| (name, value)));
        }
        // In a group of its own it hears no signal that is meant for the host.
        command.env("PATH", root.programs().search_path()).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut settler = Settler { child: command.spawn()? };
        if let Some(stdin) = &mut settler.child.stdin {
            stdin.write_all(&path_bytes(root.path()))?;
        }
        Ok(settler)
    }
}

impl Drop for Settler {
    fn drop(&mut self) {
        // The end of its input is the end of the host to it, and no record is left then.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// What the helper does that [`Settler`] starts: it waits for the end of the host, and then settles what records are left.
pub(super) fn settle_for_a_host(open: impl FnOnce(&Path) -> Option<Vec<Text>>) -> i32 {
    // It is told the project, and nothing after it: the end of what it is told is the end of the host.
    let mut root = Vec::new();
    if io::stdin().take(1 << 16).read_to_end(&mut root).is_err() || root.is_empty() {
        return 2;
    }
    let root = path_from(root);
    let Some(folder) =
        folder(&root).filter(|folder| fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some()))
    else {
        return 0;
    };
    std::thread::sleep(ENDING);
    let Some(notices) = open(&root) else { return 1 };
    if notices.is_empty() {
        return 0;
    }
    let text = serde_json::to_vec(&notices).unwrap_or_default();
    let told = fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&folder)
        .and_then(|()| fs::write(folder.join(TOLD), text));
    i32::from(told.is_err())
}

/// The record of a command that runs. Dropping it removes the record: the command has ended and was settled.
#[derive(Debug)]
pub struct Running {
    /// `None` where none could be made: then a host that is killed leaves what the command planted.
    file: Option<(File, PathBuf)>,
}

/// A repository as it was found. Paths are bytes: names need not be text.
#[derive(Debug, Serialize, Deserialize)]
struct RecordedRepository {
    at: Vec<u8>,
    is: Option<Number>,
    link: Option<Vec<u8>>,
    /// Whether it stays as it is.
    stays: bool,
}

/// What git uses or would use, and how it was reached.
#[derive(Debug, Serialize, Deserialize)]
struct RecordedUse {
    path: Vec<u8>,
    end: Vec<u8>,
    is_there: bool,
    steps: Vec<RecordedStep>,
}

/// A step of a way: its path, its device and inode, and where it leads as a link.
type RecordedStep = (Vec<u8>, (u64, u64), Option<Vec<u8>>);

#[derive(Debug, Serialize, Deserialize)]
struct Record {
    /// The project, as bytes.
    root: Vec<u8>,
    repositories: Vec<RecordedRepository>,
    frozen: Vec<(Vec<u8>, Identity)>,
    /// Paths of what git uses, with what was there and the folder it was in.
    held: Vec<(Vec<u8>, Number, Number)>,
    used: Vec<RecordedUse>,
    /// Globs of repositories that are left to commands.
    free: Vec<String>,
}

impl Record {
    fn of(masks: &Masks, set: &MaskSet) -> Record {
        let repositories = set.repositories.iter();
        let frozen = set.out_of_reach();
        Record {
            root: path_bytes(masks.root.path()),
            repositories: repositories
                .map(|it| RecordedRepository {
                    at: path_bytes(&it.at),
                    is: it.is,
                    link: it.link.as_deref().map(path_bytes),
                    stays: it.standing != Standing::OfBuild,
                })
                .collect(),
            frozen: frozen.map(|mask| (path_bytes(&mask.path), mask.is)).collect(),
            held: set.held.iter().map(|held| (path_bytes(&held.path), held.is, held.above)).collect(),
            used: set
                .used
                .iter()
                .map(|used| {
                    let step = |step: &Step| (path_bytes(&step.at), step.is, step.link.as_deref().map(path_bytes));
                    let steps = used.way.steps.iter().map(step).collect();
                    let (path, end) = (path_bytes(&used.path), path_bytes(&used.way.end));
                    RecordedUse { path, end, is_there: used.way.is_there, steps }
                })
                .collect(),
            free: masks.git.globs().map(str::to_owned).collect(),
        }
    }

    fn set(self) -> MaskSet {
        let repository = |it: RecordedRepository| Repository {
            at: path_from(it.at),
            is: it.is,
            link: it.link.map(path_from),
            standing: if it.stays { Standing::Protected } else { Standing::OfBuild },
        };
        let frozen = |(at, is)| Mask { path: path_from(at), is, how: MaskKind::Freeze };
        MaskSet {
            list: self.frozen.into_iter().map(frozen).collect(),
            repositories: self.repositories.into_iter().map(repository).collect(),
            held: self.held.into_iter().map(|(at, is, above)| Held { path: path_from(at), is, above }).collect(),
            used: self
                .used
                .into_iter()
                .map(|used| {
                    let step = |(at, is, link): RecordedStep| Step { at: path_from(at), is, link: link.map(path_from) };
                    let steps = used.steps.into_iter().map(step).collect();
                    Used {
                        path: path_from(used.path),
                        way: Way { steps, end: path_from(used.end), is_there: used.is_there },
                    }
                })
                .collect(),
            ..MaskSet::default()
        }
    }
}

impl Running {
    /// Writes the record of a command that is about to run.
    pub(super) fn begin(masks: &Masks, set: &MaskSet) -> Running {
        let made = folder(masks.root.path()).ok_or_else(|| io::Error::other("there is no home"));
        let made = made.and_then(|folder| make(&folder, &Record::of(masks, set)));
        if let Err(error) = &made {
            tracing::debug!(%error, "no record of the command could be made");
        }
        Running { file: made.ok() }
    }

    /// Whether a record could be made.
    pub(super) fn is_recorded(&self) -> bool {
        self.file.is_some()
    }

    /// Notes in the record that the host is still there.
    pub fn sign_of_life(&self) {
        if let Some((file, _)) = &self.file {
            let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
            let _ = futimens(file, &Timestamps { last_access: now, last_modification: now });
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some((_, path)) = &self.file {
            let _ = fs::remove_file(path);
        }
    }
}

/// The folder of records of the project at this real path, in the place where programs keep their state.
pub(super) fn folder(root: &Path) -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")))?;
    Some(state.join("toolfence/running").join(Digest::of(root.as_os_str().as_bytes()).short()))
}

/// Takes away what commands planted whose host was killed. Answers with what was done, in sentences.
pub(super) fn recover(root: &Arc<Root>) -> Vec<Text> {
    let Some(folder) = folder(root.path()) else { return Vec::new() };
    let Ok(entries) = fs::read_dir(&folder) else { return Vec::new() };
    // What the helper did has not been told yet. It wrote it down in English.
    let told = folder.join(TOLD);
    let mut said: Vec<Text> = crate::git::bytes_of(&told, MOST_BYTES)
        .ok()
        .and_then(|text| serde_json::from_slice(&text).ok())
        .unwrap_or_default();
    let _ = fs::remove_file(&told);
    for entry in entries.flatten().take(MOST_RECORDS) {
        let at = entry.path();
        if entry.file_name() == TOLD {
            continue;
        }
        let Ok(file) = File::open(&at) else { continue };
        // A host that lives holds its lock.
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            continue;
        }
        let alive = file.metadata().and_then(|meta| meta.modified());
        let text = crate::git::bytes_of(&at, MOST_BYTES).unwrap_or_default();
        if let (Ok(record), Ok(alive)) = (serde_json::from_slice::<Record>(&text), alive)
            && record.root == path_bytes(root.path())
        {
            // The settings of this start come later; those of the command count.
            let masks = Masks::new(Arc::clone(root), GitSettings::new().writable(&record.free).unwrap_or_default());
            let until = Some(alive + SLACK);
            said.extend(settle::settle_until(&masks, &record.set(), until));
        }
        let _ = fs::remove_file(&at);
    }
    let _ = fs::remove_dir(&folder);
    said
}

fn make(folder: &Path, record: &Record) -> io::Result<(File, PathBuf)> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let path = folder.join(random_name()?);
    let mut file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
    flock(&file, FlockOperation::NonBlockingLockExclusive)?;
    file.write_all(&serde_json::to_vec(record)?)?;
    Ok((file, path))
}
