//! Calls the host's own git.
//!
//! Only git knows how its configuration, its index and its history are read, so facts about a repository come from the
//! installed `git`. A repository can name programs that git runs even for reading (a file system monitor, a program
//! that verifies signatures, a transport that fetches missing objects). [`Git::ask`] disables each of them.
//!
//! This module changes a repository only to remove a key from a configuration, and judges no call. It runs on the host,
//! outside of the sandbox: only fixed subcommands that read may be passed to it.

pub mod changes;
pub mod config;
pub mod diff;
pub mod made;
pub mod resolved_path;
pub mod summary;

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::io::{self, Read, Seek, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use toolfence_protocol::text;
use wait_timeout::ChildExt;

/// Variables of the host that locate the user's own configuration.
const PASSED: &[&str] =
    &["HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "PATH"];

/// Configuration that overrides every file, so that the subcommands used here run no program.
const OVERRIDES: &[(&str, &str)] = &[
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.pager", "cat"),
    ("log.showSignature", "false"),
    ("diff.external", ""),
    ("protocol.allow", "never"),
    // Git runs for the user, who may use a repository that another user created.
    ("safe.directory", "*"),
];

/// The `git` of the host.
#[derive(Debug, Clone)]
pub struct Git {
    program: PathBuf,
}

impl Git {
    /// Finds the first `git` in the folders of `search_path`, which must contain no folder of a project: see
    /// `Workspace::search_path`. Returns `None` if none is installed.
    pub fn find(search_path: &OsStr) -> Option<Git> {
        let is_program =
            |path: &PathBuf| path.is_file() && rustix::fs::access(path.as_path(), rustix::fs::Access::EXEC_OK).is_ok();
        let program = std::env::split_paths(search_path).map(|folder| folder.join("git")).find(is_program)?;
        Some(Git { program })
    }

    /// Returns the path of the program.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// Runs `git ARGS` in `folder` and returns what it printed, up to `most` bytes.
    ///
    /// # Errors
    /// Git could not be started, ended with another status than 0 or those in `also`, printed more than `most` bytes,
    /// or took longer than `limit`. In the last two cases it is killed with all processes that it started. An error
    /// that is not the system's own has a [`Text`](toolfence_protocol::Text) inside.
    pub fn ask<S: AsRef<OsStr>>(
        &self,
        folder: &Path,
        args: &[S],
        also: &[i32],
        limit: Duration,
        most: u64,
    ) -> io::Result<Vec<u8>> {
        self.run(folder, args, Stdio::null(), also, limit, most)
    }

    /// Returns those of `paths` that git ignores, in a set. They are relative to `folder`, which is the top of a
    /// repository. A path in the index is not ignored. A path need not exist; none may lead through a link or a file.
    ///
    /// # Errors
    /// The errors of [`ask`](Git::ask).
    pub fn ignored(&self, folder: &Path, paths: &[&Path]) -> io::Result<HashSet<PathBuf>> {
        const LIMIT: Duration = Duration::from_secs(60);
        let mut names = Vec::new();
        for path in paths {
            // A leading colon would be read as pathspec magic, which this command does not support.
            names.extend_from_slice(b"./");
            names.extend_from_slice(path.as_os_str().as_bytes());
            names.push(0);
        }
        // The input is a file, because with a pipe, git could wait for us to read while we wait for it to read.
        let input = rustix::fs::memfd_create("paths", rustix::fs::MemfdFlags::CLOEXEC)?;
        let mut input = std::fs::File::from(input);
        input.write_all(&names)?;
        input.rewind()?;
        // Git prints some of the paths that it reads, so no more than these bytes.
        let most = names.len() as u64;
        // Status 1 means that git ignores none of the paths (git-check-ignore(1)).
        let ignored = self.run(folder, &["check-ignore", "-z", "--stdin"], input.into(), &[1], LIMIT, most)?;
        let names = ignored.split(|byte| *byte == 0).filter_map(|name| name.strip_prefix(b"./"));
        Ok(names.map(|name| PathBuf::from(OsStr::from_bytes(name))).collect())
    }

    fn run<S: AsRef<OsStr>>(
        &self,
        folder: &Path,
        args: &[S],
        input: Stdio,
        also: &[i32],
        limit: Duration,
        most: u64,
    ) -> io::Result<Vec<u8>> {
        let answer = self.answer(folder, args, Conditions { input, overrides: &[], also, limit, most })?;
        if answer.is_cut {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, text!("git printed too much")));
        }
        Ok(answer.bytes)
    }

    /// Runs `git ARGS` in `folder`, and keeps the first bytes that it prints.
    fn answer<S: AsRef<OsStr>>(&self, folder: &Path, args: &[S], conditions: Conditions<'_>) -> io::Result<Answer> {
        let Conditions { input, overrides, also, limit, most } = conditions;
        let mut command = Command::new(&self.program);
        command.args(args).current_dir(folder).env_clear().envs(environment(overrides));
        // In a process group of its own, git can be killed with all processes that it has started.
        command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::null()).process_group(0);
        let mut child = command.spawn()?;
        let group = rustix::process::Pid::from_child(&child);
        let output = child.stdout.take().ok_or_else(|| io::Error::other(text!("git has no output")))?;
        // A thread reads while this one waits, because a full pipe would make git wait for ever.
        let reader = std::thread::spawn(move || {
            let mut all = Vec::new();
            output.take(most + 1).read_to_end(&mut all).map(|_| all)
        });
        let status = child.wait_timeout(limit);
        if !matches!(status, Ok(Some(_))) {
            // A killed group closes the pipe, so the thread above ends, too.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
            let _ = child.wait();
        }
        let mut bytes = reader.join().map_err(|_| io::Error::other(text!("the reader of git's output died")))??;
        let status = status?.ok_or_else(|| io::Error::new(io::ErrorKind::TimedOut, text!("git took too long")))?;
        // Git ends by SIGPIPE if the reader has stopped.
        let is_cut = bytes.len() as u64 > most;
        if !is_cut && !status.success() && !status.code().is_some_and(|code| also.contains(&code)) {
            return Err(io::Error::other(text!("git ended with {status}", status = status.to_string())));
        }
        bytes.truncate(usize::try_from(most).unwrap_or(usize::MAX));
        Ok(Answer { bytes, is_cut })
    }
}

/// How git is called: its input, settings and limits.
struct Conditions<'a> {
    input: Stdio,
    /// Further overrides of the configuration.
    overrides: &'a [(OsString, OsString)],
    /// Exit statuses other than 0 that are no error.
    also: &'a [i32],
    limit: Duration,
    /// The maximum number of bytes of output that are kept.
    most: u64,
}

/// The output of git.
#[derive(Debug)]
struct Answer {
    bytes: Vec<u8>,
    /// Whether git would have printed more.
    is_cut: bool,
}

/// Reads a regular file of at most `most` bytes. Never blocks on another kind of entry, such as a FIFO.
///
/// # Errors
/// It is missing, not a regular file, larger, or unreadable.
pub fn bytes_of(file: &Path, most: u64) -> io::Result<Vec<u8>> {
    use rustix::fs::{Mode, OFlags};
    let opened = rustix::fs::open(file, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())?;
    let opened = std::fs::File::from(opened);
    if !opened.metadata()?.is_file() {
        return Err(io::Error::other(text!("it is no regular file")));
    }
    let mut all = Vec::new();
    opened.take(most + 1).read_to_end(&mut all)?;
    if all.len() as u64 > most { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(all) }
}

fn environment(further: &[(OsString, OsString)]) -> Vec<(OsString, OsString)> {
    // Other variables of the host, such as `GIT_DIR`, could lead git to another repository.
    let mut all: Vec<(OsString, OsString)> =
        std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(|name| PASSED.contains(&name))).collect();
    let fixed = [
        ("LC_ALL", "C"),
        // Git must not refresh the index as a side effect of reading (git(1)).
        ("GIT_OPTIONAL_LOCKS", "0"),
        ("GIT_TERMINAL_PROMPT", "0"),
        // Git must not fetch missing objects of a partial clone (git(1)).
        ("GIT_NO_LAZY_FETCH", "1"),
        ("GIT_PAGER", "cat"),
    ];
    all.extend(fixed.map(|(name, value)| (name.into(), value.into())));
    let overrides = OVERRIDES.iter().map(|(key, value)| (OsString::from(key), OsString::from(value)));
    let overrides: Vec<_> = overrides.chain(further.iter().cloned()).collect();
    all.push(("GIT_CONFIG_COUNT".into(), overrides.len().to_string().into()));
    for (index, (key, value)) in overrides.into_iter().enumerate() {
        all.push((format!("GIT_CONFIG_KEY_{index}").into(), key));
        all.push((format!("GIT_CONFIG_VALUE_{index}").into(), value));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Installs a shell script as `git`, in a folder of its own.
    fn scripted(script: &str) -> (tempfile::TempDir, Git) {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("git");
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let git = Git::find(folder.path().as_os_str()).unwrap();
        (folder, git)
    }

    #[test]
    fn output_is_bounded_in_bytes_and_time() {
        let ask = |script: &str| {
            let (folder, git) = scripted(script);
            git.ask(folder.path(), &["x"], &[1], Duration::from_millis(500), 10)
        };
        assert_eq!(ask("echo $1").unwrap(), b"x\n");
        assert_eq!(ask("echo one; exit 1").unwrap(), b"one\n");
        assert!(ask("exit 2").is_err());
        assert_eq!(ask("yes").unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert_eq!(ask("sleep 60 & sleep 60").unwrap_err().kind(), io::ErrorKind::TimedOut);
    }

    #[test]
    fn failures_are_translatable_texts() {
        use toolfence_protocol::{Language, Text};
        let (folder, git) = scripted("exit 2");
        let error = git.ask(folder.path(), &["x"], &[], Duration::from_secs(5), 10).unwrap_err();
        assert_eq!(error.to_string(), "git ended with exit status: 2");
        let text = error.get_ref().and_then(|held| held.downcast_ref::<Text>()).unwrap();
        assert_eq!(text.render(Language::Portuguese), "o git terminou com exit status: 2");
    }
}
