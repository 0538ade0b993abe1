//! Creates the project for the trial, and the files outside of it.

use rustix::fd::AsFd;
use std::ffi::{OsStr, OsString};
use std::net::TcpListener;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};
use toolfence_policy::rules::PathRules;
use toolfence_sandbox::environment;
use toolfence_sandbox::isolation::{Enclosure, Report, Request, Settings};
use toolfence_sandbox::process::{self, Job};
use toolfence_workspace::{Access, Stop, Workspace};

/// The time limit of one attempt.
const LIMIT: Duration = Duration::from_secs(5);

/// The most bytes of an attempt's output that are kept.
const KEPT: usize = 4000;
/// The most characters of an attempt's output that are displayed.
const SHOWN: usize = 200;

/// The prefix of an attempt's status on the last line.
const TRIED: &str = "toolfence tried: ";

/// Files of the project with their contents.
const FILES: &[(&str, &str)] = &[
    ("plain", "plain\n"),
    (".env", "SECRET\n"),
    ("a/b/c/d/.env", "SECRET\n"),
    (".git/HEAD", "ref: refs/heads/main\n"),
    (".git/config", "[core]\n\tbare = false\n"),
    (".git/hooks/pre-commit.sample", "#!/bin/sh\n"),
    (".git/objects/info/keep", ""),
    (".git/refs/heads/keep", ""),
];

pub(super) struct Ground {
    workspace: Workspace,
    enclosure: Enclosure,
    environment: Vec<(OsString, OsString)>,
    /// Shell assignments of the variables, at the beginning of each script, because a container gets no variables.
    known: OsString,
    /// A server of this process, which a command may only reach with network.
    _server: TcpListener,
}

/// The outcome of an attempt.
pub(super) struct AttemptOutcome {
    /// Whether it ended in time, with any status.
    pub(super) ended: bool,
    pub(super) status: Option<i32>,
    /// The last line of its output.
    pub(super) said: String,
}

impl Ground {
    pub(super) fn create(settings: &Settings, scratch: &Path) -> io::Result<Ground> {
        let scratch = scratch.canonicalize()?;
        let (root, outside) = (scratch.join("project"), scratch.join("outside"));
        fs::create_dir_all(&outside)?;
        fs::write(outside.join("secret"), "SECRET\n")?;
        for (path, content) in FILES {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap_or(&root))?;
            fs::write(path, content)?;
        }
        // A blocked file must be hidden under each of its names.
        fs::hard_link(root.join(".env"), root.join("other-name"))?;
        let workspace = Workspace::open(&root, PathRules::default()).map_err(io::Error::other)?;
        let enclosure = Enclosure::new(settings.clone(), workspace.root().as_ref());
        let server = TcpListener::bind(("127.0.0.1", 0))?;
        let environment = environment::without_sandbox(std::env::vars_os(), workspace.root().programs().search_path());
        let known = shell_assignments(&outside, &server, settings)?;
        Ok(Ground { workspace, enclosure, environment, known, _server: server })
    }

    pub(super) fn report(&self) -> &Report {
        self.enclosure.report()
    }

    /// Runs the script of an attempt in the sandbox.
    pub(super) async fn run(&self, attempt: &str) -> io::Result<AttemptOutcome> {
        let mut script = self.known.clone();
        // The status on the last line also shows that the attempt ended by itself.
        script.push(format!("{{ {attempt}; }} 2>&1; s=$?; echo; echo '{TRIED}'$s"));
        let [shell, options @ ..] = ["/bin/bash", "--noprofile", "--norc", "-c"].map(OsStr::new);
        let command = [&[shell], &options[..], &[&script]].concat();
        let output = self.output(&command).await?;
        let (said, status) = output.rsplit_once(TRIED).unwrap_or((&output, ""));
        let status = status.trim().parse().ok();
        let last = said.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default();
        let said = last.chars().filter(|c| !c.is_control()).take(SHOWN).collect();
        Ok(AttemptOutcome { ended: status.is_some(), status, said })
    }

    /// Returns the helper's report about the system calls that it tried.
    pub(super) async fn system_calls(&self) -> io::Result<String> {
        self.output(&[]).await
    }

    async fn output(&self, command: &[&OsStr]) -> io::Result<String> {
        let to_io_error = |failure: toolfence_protocol::ToolFailure| io::Error::other(failure);
        let masks = self.workspace.masks().find(Access::Read, &Stop::default()).map_err(to_io_error)?;
        let folder = self.workspace.root().folder(".").map_err(to_io_error)?;
        let request = Request {
            command,
            folder: Path::new(""),
            masks: masks.list(),
            network: false,
            looks: false,
            writable_folders: &[],
            layer: None,
            session: true,
            sockets: true,
            variables: &[],
        };
        let entry = self.enclosure.entry(&request).ok_or_else(|| io::Error::other("there is no sandbox"))?;
        let arguments: Vec<&OsStr> = entry.arguments.iter().map(OsString::as_os_str).collect();
        let environment = environment::sandboxed(&self.environment, self.workspace.root().path(), false);
        let job = Job {
            program: &entry.program,
            args: &arguments,
            folder: folder.as_fd(),
            environment: &environment,
            limit: LIMIT,
            keep: KEPT,
            overflow: None,
            live: None,
        };
        Ok(process::run_supervised(&job, &entry.message).await?.output)
    }

    /// Returns `true` if a process that an attempt left is still running.
    pub(super) fn is_left(&self) -> bool {
        let mark = mark();
        let line = |entry: &fs::DirEntry| fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let mut all = fs::read_dir("/proc").into_iter().flatten().flatten();
        all.any(|entry| memchr::memmem::find(&line(&entry), mark.as_bytes()).is_some())
    }
}

/// Returns a number of seconds that only this process uses as the argument of a `sleep`, so that it can find a `sleep`
/// that is still running.
fn mark() -> String {
    format!("72031{:07}", std::process::id())
}

/// Returns the variables of the attempts as shell assignments.
fn shell_assignments(outside: &Path, server: &TcpListener, settings: &Settings) -> io::Result<OsString> {
    // The name is compared by device and inode. Without a home folder the value is empty, and the attempt cannot
    // succeed.
    let home = std::env::var_os("HOME").map(PathBuf::from).and_then(|home| fs::metadata(home).ok());
    let home = home.map(|home| format!("{}:{}", home.dev(), home.ino())).unwrap_or_default();
    let all: [(&str, OsString); 6] = [
        ("OUTSIDE", outside.into()),
        ("HOME_IS", home.into()),
        ("HOST", std::process::id().to_string().into()),
        ("PORT", server.local_addr()?.port().to_string().into()),
        ("MARK", mark().into()),
        ("MOST", settings.processes.to_string().into()),
    ];
    let mut known = Vec::new();
    for (name, value) in all {
        // A path may contain quotes, and the assignment is part of a script.
        let quoted = value.as_bytes().split(|&byte| byte == b'\'').collect::<Vec<_>>().join(&br"'\''"[..]);
        known.extend([name.as_bytes(), b"='", &quoted, b"'\n"].concat());
    }
    Ok(OsString::from_vec(known))
}
