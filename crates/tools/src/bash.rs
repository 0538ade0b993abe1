//! `bash`: runs one command line and returns its output in the order written, and its exit status.

use super::spec_of;
use std::sync::Arc;
use std::time::Duration;
use toolfence_commands::jobs::{Jobs, Waited};
use toolfence_commands::runner::{CommandRequest, kept_output, report_output_during, shell_line};
use toolfence_policy::toolbox::{BoxFuture, Permit, Progress, Tool, ToolError};
use toolfence_protocol::{ErrorCode, Output, ToolFailure, ToolSpec, text};

/// How long a call waits for its command. A command with a longer timeout becomes a job after this time.
const YIELD: Duration = Duration::from_secs(60);

/// How long the call waits for output of a new job. When servers start, they print their address or the reason why they
/// cannot listen.
const JOB_START: Duration = Duration::from_secs(1);

/// The tool `bash`. Commands run in the sandbox of their [`CommandRunner`](super::CommandRunner), if one is available.
#[derive(Debug)]
pub struct Bash {
    spec: ToolSpec,
    jobs: Arc<Jobs>,
    patience: Duration,
}

impl Bash {
    /// Creates the tool on jobs that it shares with the other tools.
    pub fn new(jobs: Arc<Jobs>) -> Bash {
        Bash { spec: jobs.commands.with_write(spec_of("bash")), jobs, patience: YIELD }
    }

    /// Sets the time after which a command with a longer timeout becomes a job. The default is 60 s.
    #[must_use]
    pub fn yield_after(self, patience: Duration) -> Bash {
        Bash { patience, ..self }
    }

    async fn run_command(&self, permit: &Permit<'_>, progress: &dyn Progress) -> Result<Output, ToolError> {
        let background = permit.flag("background", false);
        let (limits, most_jobs) = (permit.limits(), permit.limits().jobs);
        let seconds = permit.count("timeout").map(|seconds| seconds.min(limits.command_seconds_most));
        let limit = if background { seconds } else { Some(seconds.unwrap_or(limits.command_seconds)) };
        let wanted = Bash::command_from(permit, limit);
        // Only the sandbox helper ensures that a job ends with the session.
        let can_be_job = !wanted.outside && self.jobs.commands.is_sandboxed().await?;
        if background && !can_be_job {
            return Err(no_background(wanted.outside).into());
        }
        if background {
            let job = self.jobs.start(wanted, true, most_jobs)?;
            job.ends_within(JOB_START).await;
            return self.jobs.report(&job).await;
        }
        if can_be_job && !wanted.on_private_copy && Duration::from_secs(limit.unwrap_or(0)) > self.patience {
            return self.run_and_wait(wanted, most_jobs, progress).await;
        }
        let shown = permit.text("command").unwrap_or_default();
        self.jobs.commands.answer(wanted, shown, permit, progress).await
    }

    /// Runs a command and waits for it. A command that does not end in time becomes a job.
    async fn run_and_wait(
        &self,
        wanted: CommandRequest,
        most_jobs: u64,
        progress: &dyn Progress,
    ) -> Result<Output, ToolError> {
        let job = self.jobs.start(wanted, false, most_jobs)?;
        // If this future is dropped, the guard ends the job. After the wait the job belongs to the session.
        let mut waited = Waited { jobs: &self.jobs, job: Some(Arc::clone(&job)) };
        report_output_during(job.live(), progress, job.ends_within(self.patience)).await;
        waited.job = None;
        self.jobs.report(&job).await
    }

    fn command_from(permit: &Permit<'_>, seconds: Option<u64>) -> CommandRequest {
        CommandRequest {
            words: shell_line(permit.text("command").unwrap_or_default()),
            folder: permit.text("cwd").unwrap_or(".").to_owned(),
            seconds,
            most_seconds: permit.limits().command_seconds_most,
            network: permit.flag("network", false),
            outside: permit.flag("outside_sandbox", false),
            keep: kept_output(permit.limits()),
            looks: !permit.may_change(),
            writes_builds: permit.may_write_builds(),
            on_private_copy: permit.is_confined(),
            language: permit.language(),
        }
    }
}

impl Tool for Bash {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run<'a>(&'a self, permit: Permit<'a>, progress: &'a dyn Progress) -> BoxFuture<'a, Result<Output, ToolError>> {
        Box::pin(async move { self.run_command(&permit, progress).await })
    }
}

fn no_background(outside: bool) -> ToolFailure {
    let message = if outside {
        text!(
            "Outside the sandbox, nothing ensures that a job ends with the session. Run the command in the \
             foreground with a timeout."
        )
    } else {
        text!(
            "No sandbox is available here, so nothing ensures that a job ends with the session. Run the command in the \
             foreground with a timeout."
        )
    };
    ToolFailure::new(ErrorCode::InvalidArgument, message)
}
