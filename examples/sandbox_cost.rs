//! Measures the cost of the sandbox: the time of `bash -c true` without a sandbox, in `bwrap` and in the whole sandbox,
//! from a small host process and from one with 512 MB of memory, and the time to drain a large output. Prints Markdown.
//!
//! It is also an example of an embedder: the first line of `main` makes the program its own helper.
//! `cargo run --release -p coder --example sandbox_cost [FOLDER]`

use rustix::fd::{AsFd, BorrowedFd};
use std::error::Error;
use std::ffi::{OsStr, OsString};
use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};
use toolfence_policy::rules::PathRules;
use toolfence_sandbox::environment;
use toolfence_sandbox::isolation::Enclosure;
use toolfence_sandbox::isolation::Request;
use toolfence_sandbox::isolation::Settings;
use toolfence_sandbox::process::{self, Job, Outcome};
use toolfence_workspace::Access;
use toolfence_workspace::Stop;
use toolfence_workspace::Workspace;

/// The number of commands per figure.
const RUNS: usize = 300;

/// The bytes of memory that the big host process uses.
const BIG: usize = 512 << 20;

/// The pause between two commands, at least as long as a model takes.
const TURN: Duration = Duration::from_millis(15);

/// The bytes of output per measurement of draining.
const FLOOD: u64 = 1 << 30;

/// The number of measurements of draining.
const FLOODS: usize = 15;

fn main() -> Result<(), Box<dyn Error>> {
    toolfence_sandbox::isolation::enter_if_asked();
    let folder = std::env::args_os().nth(1).unwrap_or_else(|| ".".into());
    let workspace = Workspace::open(Path::new(&folder), PathRules::default())?;
    let enclosure = Enclosure::new(Settings::new(), workspace.root().as_ref());
    let report = enclosure.report();
    eprintln!("{:?} by {:?}", report.kind, report.helper);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let host = Host::new(&workspace, &enclosure)?;
    runtime.block_on(async {
        println!("| `bash -c true` | p50 | p90 | p50 more than bare |\n|---|---|---|---|");
        host.measure_starts("").await?;
        let big: Vec<u8> = (0..BIG).map(|at| at as u8).collect();
        host.measure_starts(", from a host of 512 MB").await?;
        drop(black_box(big));
        host.measure_drain().await
    })
}

struct Host<'w> {
    workspace: &'w Workspace,
    enclosure: &'w Enclosure,
    root: rustix::fd::OwnedFd,
    environment: Vec<(OsString, OsString)>,
}

/// Ways to start a command.
#[derive(Clone, Copy)]
enum Way {
    Bare,
    Bubblewrap,
    Sandbox,
}

const BASH: &[&str] = &["/bin/bash", "--noprofile", "--norc", "-c"];
const BUBBLEWRAP: &str = "/usr/bin/bwrap";

impl<'w> Host<'w> {
    fn new(workspace: &'w Workspace, enclosure: &'w Enclosure) -> Result<Host<'w>, Box<dyn Error>> {
        let root = workspace.root().folder(".").map_err(|failure| failure.message.to_string())?;
        let environment = environment::without_sandbox(std::env::vars_os(), workspace.root().programs().search_path());
        Ok(Host { workspace, enclosure, root, environment })
    }

    async fn measure_starts(&self, name: &str) -> Result<(), Box<dyn Error>> {
        let ways = [
            ("bare", Way::Bare),
            ("the whole sandbox", Way::Sandbox),
            ("`bwrap`, without Landlock and filter", Way::Bubblewrap),
        ];
        let mut times = vec![Vec::new(); ways.len()];
        // The ways alternate, so that other load of the machine affects them equally.
        for _ in 0..RUNS {
            for ((_, way), times) in ways.iter().zip(&mut times) {
                std::thread::sleep(TURN);
                times.extend(self.time_start(*way).await?);
            }
        }
        times.iter_mut().for_each(|times| times.sort_unstable());
        let bare = times[0][times[0].len() / 2];
        for ((way, _), times) in ways.iter().zip(&times).filter(|(_, times)| !times.is_empty()) {
            let [p50, p90] = [times.len() / 2, times.len() * 9 / 10].map(|at| times[at]);
            println!("| {way}{name} | {p50:.2?} | {p90:.2?} | {:.2?} |", p50.saturating_sub(bare));
        }
        Ok(())
    }

    async fn time_start(&self, way: Way) -> Result<Option<Duration>, Box<dyn Error>> {
        let bare = [BASH, &["true"]].concat();
        let masks = self
            .workspace
            .masks()
            .find(Access::Read, &Stop::default())
            .map_err(|failure| failure.message.to_string())?;
        let started = Instant::now();
        match way {
            Way::Bare => drop(self.run(&bare).await?),
            Way::Bubblewrap if !Path::new(BUBBLEWRAP).exists() => return Ok(None),
            Way::Bubblewrap => drop(self.run(&[&bubblewrap(), &bare[..]].concat()).await?),
            Way::Sandbox => {
                let command: Vec<&OsStr> = bare.iter().map(OsStr::new).collect();
                let request = Request {
                    command: &command,
                    folder: Path::new(""),
                    masks: masks.list(),
                    network: false,
                    looks: false,
                    layer: None,
                    writable_folders: &[],
                    session: true,
                    sockets: true,
                    variables: &[],
                };
                let entry = self.enclosure.entry(&request).ok_or("there is no sandbox here")?;
                let arguments: Vec<&OsStr> = entry.arguments.iter().map(OsString::as_os_str).collect();
                let job = self.job(&entry.program, &arguments);
                process::run_supervised(&job, &entry.message).await?;
            }
        }
        Ok(Some(started.elapsed()))
    }

    async fn run(&self, words: &[&str]) -> std::io::Result<Outcome> {
        let words: Vec<&OsStr> = words.iter().map(OsStr::new).collect();
        process::run(&self.job(words[0], &words[1..])).await
    }

    /// Compares draining the output of a writer with piping it to `cat`.
    async fn measure_drain(&self) -> Result<(), Box<dyn Error>> {
        let (write, read) =
            (format!("head -c {FLOOD} /dev/zero"), format!("head -c {FLOOD} /dev/zero | cat >/dev/null"));
        let (mut ours, mut cat) = (Vec::new(), Vec::new());
        // Writing 5 resets the peak memory (proc(5)), so that it covers only the draining.
        std::fs::write("/proc/self/clear_refs", "5")?;
        let before = peak()?;
        for _ in 0..FLOODS {
            for (command, times) in [(&write, &mut ours), (&read, &mut cat)] {
                let started = Instant::now();
                let outcome = self.run(&[BASH, &[command]].concat()).await?;
                times.push(started.elapsed());
                assert!(outcome.exit_code == 0 && [0, FLOOD].contains(&outcome.total_bytes), "{outcome:?}");
            }
        }
        let grown = peak()?.saturating_sub(before);
        let [ours, cat] = [ours, cat].map(|times| times.into_iter().min().unwrap_or_default());
        let ratio = ours.as_secs_f64() / cat.as_secs_f64();
        println!("\n| 1 GiB of output, best of {FLOODS} | time | relative to `cat` | peak memory |\n|---|---|---|---|");
        println!("| `cat >/dev/null` | {cat:.0?} | 1.00 | |");
        println!("| drained, 64 KiB a read, 100 KB kept | {ours:.0?} | {ratio:.2} | {grown} KiB |");
        Ok(())
    }

    fn job<'a>(&'a self, program: &'a OsStr, args: &'a [&'a OsStr]) -> Job<'a> {
        let folder: BorrowedFd<'a> = self.root.as_fd();
        Job {
            program,
            args,
            folder,
            environment: &self.environment,
            limit: Duration::from_secs(60),
            keep: 100_000,
            overflow: None,
            live: None,
        }
    }
}

/// Returns a command line of bubblewrap whose tree resembles that of the sandbox.
fn bubblewrap() -> Vec<&'static str> {
    let mut line = vec![BUBBLEWRAP, "--unshare-all", "--die-with-parent", "--new-session"];
    for folder in ["/usr", "/etc", "/opt"] {
        line.extend(["--ro-bind-try", folder, folder]);
    }
    for (name, to) in [("/bin", "usr/bin"), ("/lib", "usr/lib"), ("/lib64", "usr/lib64"), ("/sbin", "usr/sbin")] {
        line.extend(["--symlink", to, name]);
    }
    line.extend([
        "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--bind", ".", "/project", "--chdir", "/project",
    ]);
    line.push("--");
    line
}

/// Returns the peak memory of this process in KiB.
fn peak() -> Result<u64, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).ok_or("the peak is not reported")?;
    Ok(line.trim().trim_end_matches(" kB").trim().parse()?)
}
