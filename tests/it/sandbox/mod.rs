//! The sandbox from inside: what a command reaches, what it leaves behind, and that work goes on as usual.

mod ahead;
#[cfg(feature = "cli")]
mod audit;
mod calls;
mod checks;
mod container;
mod deep;
#[cfg(feature = "cli")]
mod doctor;
mod escape;
mod git;
mod hooks;
mod jobs;
mod left;
mod looks;
mod memory;
#[cfg(feature = "agent")]
mod project;
mod secrets;
mod traps;
mod users;
mod work;

use crate::marks::own;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use toolfence::policy::{AskMode, PathRules, Policy, Verdict};
use toolfence::sandbox::{Kind, Settings};
use toolfence::toolbox::NoProgress;
use toolfence::tools::CommandRunner;
use toolfence::workspace::{GitSettings, Workspace};
use toolfence::{Args, ToolCall, ToolResult, tools};

/// The helper, as an embedder would have it installed.
const HELPER: &str = env!("CARGO_BIN_EXE_toolfence-sandbox");

/// A project, and a folder beside it.
struct Place {
    _home: tempfile::TempDir,
    root: PathBuf,
    beside: PathBuf,
}

impl Place {
    fn new() -> Place {
        let home = tempfile::tempdir().expect("a temporary folder can be made");
        let top = home.path().canonicalize().expect("it is there");
        let (root, beside) = (top.join("project"), top.join("beside"));
        for folder in [&root, &beside] {
            fs::create_dir(folder).expect("a folder can be made");
        }
        fs::write(beside.join("private.txt"), "OUTSIDE\n").expect("a file can be written");
        Place { _home: home, root, beside }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    fn file(&self, path: &str, content: &str) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().expect("it is below the root")).expect("a folder can be made");
        fs::write(path, content).expect("a file can be written");
    }

    fn runner(&self) -> CommandRunner {
        runner(&self.root, Settings::new())
    }

    /// Runs a command inside, with the default sandbox. `None`, said aloud, where this kernel refuses it.
    fn run(&self, command: &str) -> Option<ToolResult> {
        self.run_with(Settings::new(), json!({"command": command}))
    }

    fn run_with(&self, settings: Settings, args: Value) -> Option<ToolResult> {
        stands(&runner(&self.root, settings.clone())).then(|| self.anyhow(settings, args))
    }

    /// Runs a command whatever stands. The policy would deny most of what is tried, so it stands in a file, which it cannot
    /// read.
    fn anyhow(&self, settings: Settings, mut args: Value) -> ToolResult {
        let command = args["command"].as_str().expect("there is a command").to_owned();
        self.file("attempt.sh", &own(&command));
        args["command"] = ". ./attempt.sh".into();
        bash(&Arc::new(runner(&self.root, settings)), args)
    }

    /// What a command writes, trimmed.
    fn says(&self, command: &str) -> Option<String> {
        self.run(command).map(|result| result.output.trim().to_owned())
    }
}

fn runner(root: &Path, settings: Settings) -> CommandRunner {
    runner_with(root, GitSettings::new(), settings)
}

fn runner_with(root: &Path, git: GitSettings, settings: Settings) -> CommandRunner {
    let workspace = Workspace::open(root, PathRules::default()).expect("the root is there").git(git);
    CommandRunner::new(Arc::new(workspace), settings.helper(HELPER))
}

use left::running;

/// Whether the sandbox is set up on this machine. A test that needs it and does not have it says so.
fn stands(runner: &CommandRunner) -> bool {
    let report = runner.enclosure().report();
    let stands = report.kind == Kind::Namespaces;
    if !stands {
        eprintln!("skipped: {:?}", report.why);
    }
    stands
}

/// Calls the tool as a session does, where nobody asks.
fn bash(runner: &Arc<CommandRunner>, args: Value) -> ToolResult {
    let toolbox = tools::standard(Arc::clone(runner));
    let args: Value = serde_json::from_str(&own(&args.to_string())).expect("it was JSON");
    let args: Args = args.as_object().expect("arguments are an object").clone().into_iter().collect();
    let call = ToolCall::new("1", "bash", args);
    let policy = Policy::default().ask(AskMode::Never);
    match policy.review(call, &toolbox.catalog(), runner.as_ref()) {
        Verdict::Cleared(cleared) => {
            block_on(toolbox.run(cleared, &NoProgress)).expect("only what the model can do nothing about is an error")
        }
        Verdict::Denied(result) => panic!("the policy denied it: {result:?}"),
        Verdict::Ask(pending) => panic!("nobody is there to be asked: {pending:?}"),
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(future)
}
