//! Runs a program to its end.

use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;

/// A program without a controlling terminal, so that it cannot ask the user. It does not see the settings, keys, model
/// servers or language of the person who runs the tests.
#[derive(Debug)]
pub struct Program(Command);

/// The exit status and the output of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// The exit status.
    pub status: i32,
    /// The text on stdout.
    pub out: String,
    /// The text on stderr.
    pub err: String,
}

impl Program {
    /// Creates a run of the program at this path. Its settings and state are below `home`.
    pub fn new(path: impl AsRef<OsStr>, home: &Path) -> Program {
        let mut command = Command::new("setsid");
        command.arg("--wait").arg(path).env("HOME", home);
        command.env("XDG_CONFIG_HOME", home.join("config")).env("XDG_STATE_HOME", home.join("state"));
        command.env_remove("TOOLFENCE_API_KEY").env_remove("OPENAI_API_KEY").env_remove("OLLAMA_HOST");
        command.env("TOOLFENCE_LOCAL_SERVERS", "").env("LC_ALL", "C.UTF-8");
        Program(command)
    }

    /// Adds arguments. `exec` gets `--no-session` unless the arguments name a session, so that no session process
    /// remains.
    pub fn args(mut self, args: &[&str]) -> Program {
        let others = ["--session", "--no-session", "help", "prompt"];
        let is_exec = args.contains(&"exec") && !args.iter().any(|arg| others.contains(arg));
        self.0.args(args).args(is_exec.then_some("--no-session"));
        self
    }

    /// Sets an environment variable.
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Program {
        self.0.env(name, value);
        self
    }

    /// Runs it in a folder with this input on stdin.
    ///
    /// # Panics
    ///
    /// Panics if it cannot be started, is ended by a signal, or writes bytes that are not UTF-8.
    pub fn run(mut self, folder: &Path, input: &str) -> Ran {
        self.0.current_dir(folder).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.0.spawn().expect("the program can be started");
        let mut stdin = child.stdin.take().expect("it is a pipe");
        let input = input.to_owned();
        // A thread writes the input, because a program may write before it has read all of it. It may also end without
        // reading.
        let writer = thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
        let Output { status, stdout, stderr } = child.wait_with_output().expect("it ends");
        writer.join().expect("writing does not panic");
        let text = |bytes| String::from_utf8(bytes).expect("it writes UTF-8");
        Ran { status: status.code().expect("it ended by itself"), out: text(stdout), err: text(stderr) }
    }
}

impl Ran {
    /// Returns the stdout followed by the stderr.
    pub fn said(&self) -> String {
        [&*self.out, &*self.err].concat()
    }
}
