//! A program that is run to its end.

use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;

/// A program that runs apart from any terminal, so that it can ask nobody, and does not see the settings, the keys, the model
/// servers or the language of who runs the tests.
#[derive(Debug)]
pub struct Program(Command);

/// How a program ended, and what it wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    /// Its status.
    pub status: i32,
    /// What it wrote to its output.
    pub out: String,
    /// What it wrote beside that.
    pub err: String,
}

impl Program {
    /// The program at this path, which will find its settings and its state below `home`, and nothing there yet.
    pub fn new(path: impl AsRef<OsStr>, home: &Path) -> Program {
        let mut command = Command::new("setsid");
        command.arg("--wait").arg(path).env("HOME", home);
        command.env("XDG_CONFIG_HOME", home.join("config")).env("XDG_STATE_HOME", home.join("state"));
        command.env_remove("TOOLFENCE_API_KEY").env_remove("OPENAI_API_KEY").env_remove("OLLAMA_HOST");
        command.env("TOOLFENCE_LOCAL_SERVERS", "").env("LC_ALL", "C.UTF-8");
        Program(command)
    }

    /// Adds arguments. `exec` is run without a session, so that no process of one is left, unless one is named.
    pub fn args(mut self, args: &[&str]) -> Program {
        let others = ["--session", "--no-session", "help", "prompt"];
        let is_exec = args.contains(&"exec") && !args.iter().any(|arg| others.contains(arg));
        self.0.args(args).args(is_exec.then_some("--no-session"));
        self
    }

    /// Sets a variable of its environment.
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Program {
        self.0.env(name, value);
        self
    }

    /// Runs it in a folder with this input.
    ///
    /// # Panics
    ///
    /// If it cannot be started, is ended by a signal, or writes what is not UTF-8.
    pub fn run(mut self, folder: &Path, input: &str) -> Ran {
        self.0.current_dir(folder).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self.0.spawn().expect("the program can be started");
        let mut stdin = child.stdin.take().expect("it is a pipe");
        let input = input.to_owned();
        // Beside the reading, for a program may write before it reads all. One that ends without reading its input is fine.
        let writer = thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
        let Output { status, stdout, stderr } = child.wait_with_output().expect("it ends");
        writer.join().expect("writing does not panic");
        let text = |bytes| String::from_utf8(bytes).expect("it writes UTF-8");
        Ran { status: status.code().expect("it ended by itself"), out: text(stdout), err: text(stderr) }
    }
}

impl Ran {
    /// What it wrote, with what it wrote beside that at the end.
    pub fn said(&self) -> String {
        [&*self.out, &*self.err].concat()
    }
}
