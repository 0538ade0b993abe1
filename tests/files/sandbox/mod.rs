//! Tests the sandbox from the inside: what a command can reach, what remains after it, and that ordinary work succeeds.

mod audit;
mod calls;
mod checks;
mod container;
mod copies;
mod deep;
mod doctor;
mod environment;
mod escape;
mod fallback;
mod git;
mod helper;
mod jobs;
mod layer;
mod left;
mod looks;
mod memory;
mod only;
mod private_copy;
mod project;
mod secrets;
mod session;
mod traps;
mod users;
mod work;

use crate::marks::own;
use serde_json::{Value, json};
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;
use toolfence_kit::{Project, Tools, block_on};
use toolfence_policy::rules::PathRules;
use toolfence_protocol::ToolResult;
use toolfence_sandbox::isolation::{Kind, Mode, Settings};
use toolfence_tools as tools;
use toolfence_tools::CommandRunner;
use toolfence_workspace::Workspace;

/// The helper program, as an embedder would install it.
const HELPER: &str = env!("CARGO_BIN_EXE_coder");

/// A project, and a folder outside it.
struct Place(Project);

impl Deref for Place {
    type Target = Project;

    fn deref(&self) -> &Project {
        &self.0
    }
}

impl Place {
    fn new() -> Place {
        Place(Project::new())
    }

    fn runner(&self) -> CommandRunner {
        runner(&self.root, Settings::new())
    }

    /// Runs a command in the default sandbox. Prints a line and returns `None` if this kernel does not support it.
    fn run(&self, command: &str) -> Option<ToolResult> {
        self.run_with(Settings::new(), json!({"command": command}))
    }

    fn run_with(&self, settings: Settings, args: Value) -> Option<ToolResult> {
        let runner = Arc::new(runner(&self.root, settings));
        has_sandbox(&runner).then(|| self.attempt(&runner, args))
    }

    /// Runs a command even if no sandbox is available.
    fn run_regardless(&self, settings: Settings, args: Value) -> ToolResult {
        self.attempt(&Arc::new(runner(&self.root, settings)), args)
    }

    /// Writes a command to a file and runs that. The policy would deny most of these attempts, but it does not read the
    /// content of the file.
    fn attempt(&self, runner: &Arc<CommandRunner>, mut args: Value) -> ToolResult {
        let command = args["command"].as_str().expect("there is a command").to_owned();
        self.file("attempt.sh", own(&command));
        args["command"] = ". ./attempt.sh".into();
        bash(runner, args)
    }

    /// Returns the trimmed output of a command.
    fn output_of(&self, command: &str) -> Option<String> {
        self.run(command).map(|result| result.output.trim().to_owned())
    }
}

/// The reason for no private copies if the host did not ask for them.
const UNWANTED: &str = "The host did not ask for private copies.";

/// Adds `write: true` to a call if the host did not ask for private copies, because most of these tests try what a
/// command can reach.
fn writing(runner: &CommandRunner, mut args: Value) -> Value {
    let settings = runner.enclosure().settings();
    let may_write = runner.sandbox_report().kind > Kind::Landlock && settings.mode == Mode::ProjectWrite;
    let is_unwanted = runner.no_private_copies().is_some_and(|why| *why == UNWANTED);
    if may_write && is_unwanted && args.get("write").is_none() {
        args["write"] = true.into();
    }
    args
}

/// Removes the note that the host did not ask for private copies.
fn without_note(mut result: ToolResult) -> ToolResult {
    let lines = result.output.split_inclusive('\n');
    let is_note = |line: &str| line.starts_with("[Commands do not run on a private copy") && line.contains(UNWANTED);
    result.output = lines.filter(|line| !is_note(line)).collect();
    result
}

fn runner(root: &Path, settings: Settings) -> CommandRunner {
    let workspace = Workspace::open(root, PathRules::default()).expect("the root is there");
    CommandRunner::new(Arc::new(workspace), settings.helper(HELPER))
}

use left::running;

/// Returns `true` if the sandbox is available on this machine, and prints a line otherwise.
fn has_sandbox(runner: &CommandRunner) -> bool {
    let report = runner.sandbox_report();
    let is_available = report.kind == Kind::Namespaces;
    if !is_available {
        eprintln!("skipped: {:?}", report.why);
    }
    is_available
}

/// Calls the tool as a session that never asks.
fn bash(runner: &Arc<CommandRunner>, args: Value) -> ToolResult {
    let toolbox = tools::standard(Arc::clone(runner));
    let args: Value = serde_json::from_str(&own(&args.to_string())).expect("it was JSON");
    let args = writing(runner, args);
    let settings = toolfence_policy::Settings::default().allow_outside();
    let policy =
        toolfence_policy::Policy::new(settings).expect("there are no globs").ask(toolfence_policy::AskMode::Never);
    let tools = Tools::new(Arc::clone(runner), toolbox).under(policy);
    without_note(tools.carry_out(tools.cleared("bash", args)))
}
