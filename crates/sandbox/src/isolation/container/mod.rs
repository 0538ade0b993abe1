//! The sandbox of a container instead of one of our own: the command line of its engine, and the supervisor of the
//! container.
//!
//! Files are identified by their names alone, because the engine does so. A command sees the system of the image.

mod argv;
mod supervisor;

use super::bubblewrap::Blank;
use super::plan::{Masking, Name, Plan, Task, part};
use super::{Container, Engine, Entry, helper};
use crate::environment;
use crate::project::random_name;
use argv::{Line, MaskedPath};
use rustix::fs::MemfdFlags;
use serde::{Deserialize, Serialize};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
pub(super) use supervisor::main;
use toolfence_protocol::{Text, text};
use wait_timeout::ChildExt;

/// The time limit for detecting the engine.
const PATIENCE: Duration = Duration::from_secs(20);

/// The message to the supervisor of a container.
#[derive(Debug, Serialize, Deserialize)]
struct ContainerMessage {
    program: Name,
    run: Vec<Name>,
    /// The arguments that remove the container.
    remove: Vec<Name>,
    environment: Vec<(Name, Name)>,
}

/// An engine that was found.
#[derive(Debug)]
pub(super) struct FoundEngine {
    program: PathBuf,
    image: String,
    engine: Engine,
    blank: Blank,
}

impl FoundEngine {
    /// Finds the engine, and checks that it runs and has the image. The error is a sentence with the reason.
    pub(super) fn find(wanted: &Container, search_path: &OsStr) -> Result<FoundEngine, Text> {
        let name = wanted.engine.name();
        let found = wanted
            .program
            .clone()
            .or_else(|| std::env::split_paths(search_path).map(|folder| folder.join(name)).find(|path| path.is_file()));
        let program = found.ok_or_else(|| text!("there is no {name} in the PATH", name))?;
        // This shows that the engine works and has the image. Nothing is downloaded.
        run_client(&program, &["image", "inspect", "--format", "{{.Id}}", &wanted.image])
            .map_err(|said| text!("{name} says: {said}", name, said))?;
        let blank = Blank::new().map_err(|error| error.to_string())?;
        Ok(FoundEngine { program, image: wanted.image.clone(), engine: wanted.engine, blank })
    }

    /// Returns the process to start for a command: the helper as the supervisor of a container.
    pub(super) fn entry(
        &self,
        helper: &Path,
        plan: &Plan,
        masking: &Masking,
        task: &Task,
        variables: &[&OsStr],
    ) -> Option<Entry> {
        let name = format!("toolfence-{}", random_name().ok()?);
        // The command sees the image's system, so only files in the project need a mask.
        let masks = masking.masks.iter().chain(&masking.removable).map(|spot| spot.at.path());
        let masks: Vec<_> = masks.map(|at| MaskedPath { at, is_folder: at.is_dir() }).collect();
        let line = Line {
            engine: self.engine,
            image: &self.image,
            name: &name,
            user: (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw()),
            plan,
            masks: &masks,
            guards: &masking.guards,
            blank: &self.blank.file(),
            task,
            variables,
        };
        let names = |words: Vec<OsString>| words.into_iter().map(Name::from).collect();
        let variables = environment::of_client().map(|(name, value)| (name.into(), value.into()));
        let message = ContainerMessage {
            program: self.program.as_path().into(),
            run: names(line.run()),
            remove: names(line.remove()),
            environment: variables.collect(),
        };
        let arguments = vec![helper::KEEP_CONTAINER.into()];
        Some(Entry { program: helper.into(), arguments, message: part(&message)?.into() })
    }
}

/// Runs the engine's client. The error is the last line that the client prints on stderr.
fn run_client(program: &Path, words: &[&str]) -> Result<(), Text> {
    // The client writes to a file in memory, because a full pipe would block it, and a process that the client left
    // would keep a pipe open.
    let stderr_text = rustix::fs::memfd_create("stderr", MemfdFlags::CLOEXEC).map_err(|error| error.to_string())?;
    let stderr_text = File::from(stderr_text);
    let stderr = stderr_text.try_clone().map_err(|error| error.to_string())?;
    let mut child = Command::new(program)
        .args(words)
        .env_clear()
        .envs(environment::of_client())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(stderr)
        .spawn()
        .map_err(|error| error.to_string())?;
    let Ok(Some(status)) = child.wait_timeout(PATIENCE) else {
        let _ = child.kill();
        let _ = child.wait();
        return Err(text!("nothing within {seconds} s", seconds = PATIENCE.as_secs()));
    };
    if status.success() {
        return Ok(());
    }
    const LONGEST: usize = 4096;
    let mut end = [0; LONGEST];
    let from = stderr_text.metadata().map_or(0, |stderr_text| stderr_text.len().saturating_sub(LONGEST as u64));
    let bytes = stderr_text.read_at(&mut end, from).unwrap_or(0);
    let stderr_text = String::from_utf8_lossy(&end[..bytes]);
    let last = stderr_text.lines().map(str::trim).rfind(|line| !line.is_empty());
    Err(last.map_or_else(
        || text!("it failed without a word"),
        |last| last.chars().filter(|c| !c.is_control()).collect::<String>().into(),
    ))
}
