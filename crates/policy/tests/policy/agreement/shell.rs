//! Runs a real bash in a temporary folder, with a PATH of stubs that record how they were started.

use super::grammar::PROGRAMS;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// Real programs that start other programs.
const WRAPPERS: &[&str] = &["bash", "sh", "env", "timeout", "nice", "xargs", "find"];

/// The time limit of a batch in seconds.
const LONGEST: &str = "120";

/// The maximum size of a log in KiB: a stub that cannot write it fails, which ends most infinite loops.
const MAX_LOG: usize = 16;

/// A started program with its words.
#[derive(Debug)]
pub(super) struct Started(pub(super) Vec<String>);

pub(super) struct Shell {
    folder: TempDir,
}

impl Shell {
    /// Returns a shell whose wrappers are real.
    pub(super) fn new() -> Shell {
        let shell = Shell::with_stubs(PROGRAMS);
        for name in WRAPPERS {
            symlink(found(name), shell.folder.path().join("bin").join(name)).unwrap();
        }
        shell
    }

    /// Returns a shell in which wrappers are stubs too, which start nothing.
    pub(super) fn with_stubs_alone() -> Shell {
        Shell::with_stubs(&[PROGRAMS, WRAPPERS].concat())
    }

    fn with_stubs(names: &[&str]) -> Shell {
        let folder = tempfile::tempdir().unwrap();
        for name in ["bin", "work", "commands"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        for name in ["a.rs", "b.rs", "c"] {
            std::fs::write(folder.path().join("work").join(name), "text\n").unwrap();
        }
        for name in names {
            stub(&folder.path().join("bin").join(name));
        }
        Shell { folder }
    }

    /// Returns the programs that each of the commands started.
    pub(super) fn run(&self, commands: &[String]) -> Vec<Vec<Started>> {
        let root = self.folder.path();
        let mut script = String::new();
        for (at, command) in commands.iter().enumerate() {
            std::fs::write(root.join(format!("commands/{at}")), command).unwrap();
            let _ = std::fs::remove_file(root.join(format!("commands/{at}.log"))); // of an earlier batch
            // Each command runs in its own process: its settings and syntax errors end with it. A loop without an end
            // is killed.
            script.push_str(&format!(
                "export LOG='{}/commands/{at}.log'\n: > \"$LOG\"\n( ulimit -t 1 -c 0 -f {MAX_LOG}; IFS= read -r -d '' text <../commands/{at}; eval \"$text\"; wait ) </dev/null >/dev/null 2>&1\n",
                root.display()
            ));
        }
        // `timeout` also kills the processes that are still running.
        let status = Command::new(found("timeout"))
            .args(["-k", "1", LONGEST])
            .arg(found("bash"))
            .args(["--noprofile", "--norc", "-c", &script])
            .current_dir(root.join("work"))
            .env_clear()
            .envs([("PATH", root.join("bin")), ("HOME", root.join("work"))])
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .status();
        let log = |at: usize| root.join(format!("commands/{at}.log"));
        if status.unwrap().code() == Some(124) {
            let last = (0..commands.len()).rfind(|&at| log(at).exists()).map(|at| &commands[at]);
            panic!("bash did not come to an end: {last:?}");
        }
        (0..commands.len()).map(|at| read_records(&log(at))).collect()
    }
}

/// Writes a program that logs the number of its words, its name and the words, each followed by NUL, and prints some
/// text.
fn stub(path: &Path) {
    let script = "#!/bin/sh\nprintf '%s\\0' $# \"${0##*/}\" \"$@\" >> \"$LOG\"\necho \"$1\"\n";
    std::fs::write(path, script).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn found(name: &str) -> PathBuf {
    let places = ["/usr/bin", "/bin", "/usr/local/bin"].map(|folder| Path::new(folder).join(name));
    places.into_iter().find(|path| path.exists()).unwrap_or_else(|| panic!("there is no {name}"))
}

/// Reads the records of a log. The last one of a log that reached its limit can be incomplete.
fn read_records(path: &Path) -> Vec<Started> {
    let log = std::fs::read(path).unwrap();
    let mut all = records(&String::from_utf8_lossy(&log));
    if log.len() >= MAX_LOG * 1024 {
        all.pop();
    }
    all
}

/// Returns the records of a log.
fn records(log: &str) -> Vec<Started> {
    let mut fields = log.split('\0');
    let mut all = Vec::new();
    while let Some(field) = fields.next().filter(|field| !field.is_empty()) {
        let words = field.parse::<usize>().expect("a number of words") + 1;
        all.push(Started(fields.by_ref().take(words).map(str::to_owned).collect()));
    }
    all
}
