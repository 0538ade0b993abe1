//! `run_python`: runs a Python file of the project in the sandbox, like a command.

use super::{blocking, spec_of};
use serde_json::Value;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use toolfence_commands::jobs::Jobs;
use toolfence_commands::runner::{CommandRequest, kept_output};
use toolfence_policy::toolbox::{BoxFuture, Permit, Progress, Tool, ToolError};
use toolfence_protocol::{ErrorCode, Output, ToolFailure, ToolSpec, text};

/// Names of the interpreter, in order of preference.
const INTERPRETERS: &[&str] = &["python3", "python"];

/// The tool `run_python`.
#[derive(Debug)]
pub struct Python {
    spec: ToolSpec,
    jobs: Arc<Jobs>,
}

impl Python {
    /// Creates the tool on jobs that it shares with the other tools that run commands.
    pub fn new(jobs: Arc<Jobs>) -> Python {
        Python { spec: jobs.commands.with_write(spec_of("run_python")), jobs }
    }

    async fn run_file(&self, permit: &Permit<'_>, progress: &dyn Progress) -> Result<Output, ToolError> {
        let path = permit.text("path").unwrap_or_default().to_owned();
        let workspace = self.jobs.commands.workspace();
        let (file, interpreter) = blocking(workspace, move |workspace, _| {
            let file = workspace.root().named_file(&path)?;
            let found = INTERPRETERS.iter().find_map(|name| workspace.root().programs().of_system(name));
            Ok((workspace.root().path().join(file), found.ok_or_else(no_python)?))
        })
        .await?;
        let limits = permit.limits();
        let seconds = permit.count("timeout").unwrap_or(limits.command_seconds);
        let wanted = CommandRequest {
            words: command_words(interpreter, file, permit.args().get("args")),
            folder: ".".to_owned(),
            seconds: Some(seconds.min(limits.command_seconds_most)),
            most_seconds: limits.command_seconds_most,
            network: false,
            outside: false,
            keep: kept_output(limits),
            looks: false,
            writes_builds: false,
            on_private_copy: permit.is_confined(),
            language: permit.language(),
        };
        let shown = format!("python3 {}", permit.text("path").unwrap_or_default());
        self.jobs.commands.answer(wanted, &shown, permit, progress).await
    }
}

/// Returns the command line. `-u` turns buffering off, so that output keeps its order and none is lost at a timeout.
fn command_words(interpreter: PathBuf, file: PathBuf, args: Option<&Value>) -> Vec<OsString> {
    let args = args.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).map(OsString::from);
    [interpreter.into_os_string(), "-u".into(), file.into_os_string()].into_iter().chain(args).collect()
}

impl Tool for Python {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run<'a>(&'a self, permit: Permit<'a>, progress: &'a dyn Progress) -> BoxFuture<'a, Result<Output, ToolError>> {
        Box::pin(async move { self.run_file(&permit, progress).await })
    }
}

fn no_python() -> ToolFailure {
    ToolFailure::new(
        ErrorCode::NotFound,
        text!("There is no python3 in the PATH of the commands. Ask the user to install it, or do it with bash."),
    )
}
