//! Tests whether the sandbox holds here: tries to break each barrier from inside, in a folder made for that.
//!
//! This module sets up no barrier and judges no command. Its attempts are fixed, and harmless even if a barrier is
//! missing.
//!
//! ```no_run
//! use toolfence_commands::trial::{self, BarrierResult};
//!
//! # async fn ask(scratch: &std::path::Path) -> toolfence_protocol::Result<()> {
//! let found = trial::sandbox(&toolfence_sandbox::isolation::Settings::new(), scratch).await?;
//! for finding in found.findings.iter().filter(|finding| finding.result == BarrierResult::No) {
//!     println!("{}: {}", finding.barrier, finding.attempt);
//! }
//! # Ok(())
//! # }
//! ```

mod attempts;
mod ground;

use attempts::{ATTEMPTS, Attempt, Needs};
use ground::Ground;
use serde::Serialize;
use std::path::Path;
use toolfence_protocol::{Error, Result, Text, text};
use toolfence_sandbox::isolation::{Kind, Report, Settings};

/// The outcome of the test.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Trial {
    /// Which sandbox is available, and why no better one.
    pub report: Report,
    /// The attempts in the order of the barriers. Empty if no sandbox is available.
    pub findings: Vec<Finding>,
}

impl Trial {
    /// Returns `true` if a sandbox is available and no attempt got through.
    pub fn all_held(&self) -> bool {
        self.report.kind > Kind::Nothing && self.findings.iter().all(|finding| finding.result.is_fine())
    }
}

/// The outcome of one attempt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// The barrier that must stop it: files, blocked files, git, processes, network, system calls.
    pub barrier: Text,
    /// The attempt.
    pub attempt: Text,
    /// Whether it was stopped.
    pub result: BarrierResult,
    /// The output of the attempt on one line, or the reason why the outcome is unknown.
    pub said: Text,
    /// Advice, if something can be done about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<Text>,
}

/// Whether a barrier held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum BarrierResult {
    /// The barrier held.
    Yes,
    /// The barrier did not hold.
    No,
    /// The settings open this barrier.
    Open,
    /// It could not be tried.
    Unknown,
}

impl BarrierResult {
    fn is_fine(self) -> bool {
        matches!(self, BarrierResult::Yes | BarrierResult::Open)
    }
}

/// Tests the sandbox of these settings around a project that is created in `scratch`, an empty folder, and left there.
///
/// It needs a tokio runtime with I/O and time enabled, and takes less than a second if the sandbox holds.
///
/// # Errors
/// The folder cannot be used.
pub async fn sandbox(settings: &Settings, scratch: &Path) -> Result<Trial> {
    let ground =
        Ground::create(settings, scratch).map_err(|error| Error::because(text!("make a project to try"), error))?;
    let report = ground.report().clone();
    if report.kind == Kind::Nothing {
        return Ok(Trial { report, findings: Vec::new() });
    }
    let mut findings = Vec::new();
    for attempt in ATTEMPTS.iter().filter(|attempt| attempt.is_for(settings)) {
        findings.push(run_attempt(attempt, &ground, settings).await);
    }
    findings.extend(system_calls(&ground).await);
    Ok(Trial { report, findings })
}

async fn run_attempt(attempt: &Attempt, ground: &Ground, settings: &Settings) -> Finding {
    let (result, said) = match attempt.needs {
        Needs::Network if settings.network => (BarrierResult::Open, text!("every command may use the network")),
        _ => judge_attempt(attempt, ground).await,
    };
    let advice = attempt.advice.filter(|_| result == BarrierResult::No).map(|advice| advice());
    Finding { barrier: (attempt.barrier)(), attempt: (attempt.what)(), result, said, advice }
}

async fn judge_attempt(attempt: &Attempt, ground: &Ground) -> (BarrierResult, Text) {
    match ground.run(attempt.script).await {
        // An attempt that was not made is no proof that the barrier holds.
        Ok(ran) if ran.status == Some(NOT_FOUND) => (BarrierResult::Unknown, ran.said.into()),
        Ok(ran) if (attempt.is_through)(ground, &ran) => (BarrierResult::No, ran.said.into()),
        Ok(ran) if ran.ended => (BarrierResult::Yes, ran.said.into()),
        Ok(ran) => (BarrierResult::Unknown, ran.said.into()),
        Err(error) => (BarrierResult::Unknown, error.to_string().into()),
    }
}

/// The exit status of a shell if a program does not exist. The image of a container may lack the programs of an
/// attempt.
const NOT_FOUND: i32 = 127;

async fn system_calls(ground: &Ground) -> Vec<Finding> {
    let finding = |attempt: Text, result, said: Text| Finding {
        barrier: text!("system calls"),
        attempt,
        result,
        said,
        advice: None,
    };
    if ground.report().kind == Kind::Container {
        return vec![finding(
            text!("all of them"),
            BarrierResult::Open,
            text!("the engine has a filter of its own, which is not tried"),
        )];
    }
    match ground.system_calls().await {
        Err(error) => vec![finding(text!("all of them"), BarrierResult::Unknown, error.to_string().into())],
        Ok(said) => said
            .lines()
            .filter_map(|line| line.split_once(' '))
            .map(|(word, name)| match word {
                "refused" => finding(name_of_call(name), BarrierResult::Yes, text!("refused")),
                _ => finding(name_of_call(name), BarrierResult::No, text!("allowed")),
            })
            .collect(),
    }
}

/// Translates the names of system calls that the helper writes. A name that this host does not know stays English.
fn name_of_call(name: &str) -> Text {
    const CALLS: &[fn() -> Text] = &[
        || text!("mount a file system"),
        || text!("take a mount away"),
        || text!("open a tree of mounts"),
        || text!("change another root"),
        || text!("make namespaces"),
        || text!("make namespaces by clone"),
        || text!("hide flags in clone3"),
        || text!("enter other namespaces"),
        || text!("trace a process"),
        || text!("read the memory of a process"),
        || text!("take descriptors of a process"),
        || text!("open a file by its number"),
        || text!("load a program into the kernel"),
        || text!("use the keys of the kernel"),
        || text!("handle page faults"),
        || text!("measure the machine"),
        || text!("use io_uring"),
        || text!("type into a terminal"),
        || text!("open a socket to the kernel"),
        || text!("open a socket to the host of a machine"),
        || text!("open an internet socket"),
        || text!("ask the kernel for addresses"),
    ];
    CALLS.iter().map(|text| text()).find(|text| text.key() == Some(name)).unwrap_or_else(|| name.into())
}
