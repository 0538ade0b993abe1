//! What the walls cost: `bash -c true` bare and with all walls, from a small host and from one with 512 MB of memory.
//!
//! It is also a host as an embedder would write one: the first line of `main` makes the program its own helper.
//! `cargo run --release --no-default-features --features tools --example walls_cost [FOLDER]`

use rustix::fd::{AsFd, BorrowedFd};
use std::ffi::{OsStr, OsString};
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};
use toolfence::policy::PathRules;
use toolfence::process::{self, Job, environment};
use toolfence::walls::Errand;
use toolfence::workspace::{Stop, Workspace};

/// Commands of one figure.
const RUNS: usize = 200;

/// Memory that a big host has touched, in bytes.
const BIG: usize = 512 << 20;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    toolfence::walls::enter_if_asked();
    let folder = std::env::args_os().nth(1).unwrap_or_else(|| ".".into());
    let workspace = Workspace::open(Path::new(&folder), PathRules::default())?;
    println!("{:?}", workspace.enclosure().report());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let host = Host::new(&workspace)?;
    runtime.block_on(async {
        host.figures("small host").await?;
        let big: Vec<u8> = (0..BIG).map(|at| at as u8).collect();
        host.figures("512 MB host").await?;
        black_box(big);
        Ok(())
    })
}

struct Host<'w> {
    workspace: &'w Workspace,
    root: rustix::fd::OwnedFd,
    environment: Vec<(OsString, OsString)>,
}

impl Host<'_> {
    fn new(workspace: &Workspace) -> Result<Host<'_>, Box<dyn std::error::Error>> {
        let root = workspace.folder(".").map_err(|failure| failure.message)?;
        let environment = environment(std::env::vars_os(), workspace.search_path());
        Ok(Host { workspace, root, environment })
    }

    async fn figures(&self, name: &str) -> Result<(), Box<dyn std::error::Error>> {
        let (mut bare, mut walled, mut walks) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..RUNS {
            let started = Instant::now();
            process::run(&self.job(OsStr::new("/bin/bash"), &WORDS.map(OsStr::new))).await?;
            bare.push(started.elapsed());
            let started = Instant::now();
            let covers = self.workspace.covers(&Stop::default()).map_err(|failure| failure.message)?;
            walks.push(started.elapsed());
            let command = [&[OsStr::new("/bin/bash")], &WORDS.map(OsStr::new)[..]].concat();
            let errand = Errand { command: &command, folder: Path::new(""), covers: covers.list(), network: false };
            let started = Instant::now();
            let entry = self.workspace.enclosure().entry(&errand).ok_or("there are no walls here")?;
            let arguments: Vec<&OsStr> = entry.arguments.iter().map(OsString::as_os_str).collect();
            process::run_kept(&self.job(&entry.program, &arguments), &entry.told).await?;
            walled.push(started.elapsed());
        }
        let [bare, walled, walk] = [bare, walled, walks].map(median);
        println!(
            "{name}: bare {bare:.2?}, all walls {walled:.2?}, more by {:.2?}; the walk {walk:.2?}",
            walled.saturating_sub(bare)
        );
        Ok(())
    }

    fn job<'a>(&'a self, program: &'a OsStr, args: &'a [&'a OsStr]) -> Job<'a> {
        let folder: BorrowedFd<'a> = self.root.as_fd();
        Job {
            program,
            args,
            folder,
            environment: &self.environment,
            limit: Duration::from_secs(10),
            keep: 1000,
            overflow: None,
            live: None,
        }
    }
}

const WORDS: [&str; 4] = ["--noprofile", "--norc", "-c", "true"];

fn median(mut all: Vec<Duration>) -> Duration {
    all.sort_unstable();
    all[all.len() / 2]
}
