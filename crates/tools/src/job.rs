//! `job`: polls a background command, writes to its stdin, or stops it.

use super::spec_of;
use std::sync::Arc;
use std::time::Duration;
use toolfence_commands::jobs::{Jobs, Running};
use toolfence_commands::runner::add_note;
use toolfence_policy::toolbox::{BoxFuture, Permit, Progress, Tool, ToolError};
use toolfence_protocol::{ErrorCode, Output, Text, ToolFailure, ToolSpec, text};
use toolfence_sandbox::process::WriteOutcome;

/// How long a poll waits for new output. Without the wait, a model polls in quick succession, and each poll costs a
/// reply.
const POLL_WAIT: Duration = Duration::from_secs(5);

/// How long `write` waits for output after the input.
const WRITE_WAIT: Duration = Duration::from_secs(1);

/// How long `stop` waits for the job to end.
const STOP_WAIT: Duration = Duration::from_secs(5);

/// The tool `job`.
#[derive(Debug)]
pub struct Job {
    spec: ToolSpec,
    jobs: Arc<Jobs>,
}

impl Job {
    /// Creates the tool on the jobs of the other tools.
    pub fn new(jobs: Arc<Jobs>) -> Job {
        Job { spec: spec_of("job"), jobs }
    }

    async fn act(&self, permit: &Permit<'_>) -> Result<Output, ToolError> {
        let job = self.jobs.find(permit.text("id").unwrap_or_default())?;
        match permit.text("action") {
            Some("stop") => self.stop(&job).await,
            Some("write") => self.write(&job, permit.text("input")).await,
            _ => {
                job.says_within(POLL_WAIT).await;
                self.jobs.report(&job).await
            }
        }
    }

    async fn write(&self, job: &Running, input: Option<&str>) -> Result<Output, ToolError> {
        let Some(input) = input else {
            return Err(ToolFailure::new(
                ErrorCode::InvalidArgument,
                text!("The action write needs an input: the text for the job's stdin, including its line end."),
            )
            .into());
        };
        let sent = job.live().send(input.as_bytes());
        if let Ok(WriteOutcome::Nowhere) = sent {
            return Err(ToolFailure::new(
                ErrorCode::InvalidArgument,
                text!(
                    "Job {id} was not started with background: true, so its stdin is empty. Stop it and start it \
                     again with background: true.",
                    id = job.id()
                ),
            )
            .into());
        }
        // The rules for commands also judge what is written to a shell, so the input is recorded.
        self.jobs.commands.note_input(job.id(), input);
        job.says_within(WRITE_WAIT).await;
        let mut output = self.jobs.report(job).await?;
        match sent {
            Ok(WriteOutcome::Some(bytes)) => {
                add_note(
                    &mut output.text,
                    text!(
                        "It does not read its stdin: only {bytes} bytes of the input were \
                     written.",
                        bytes
                    ),
                );
            }
            Err(error) => {
                add_note(
                    &mut output.text,
                    text!("The input could not be written: {error}.", error = Text::from(&error)),
                );
            }
            Ok(_) => {}
        }
        Ok(output)
    }

    async fn stop(&self, job: &Running) -> Result<Output, ToolError> {
        job.live().stop();
        if !job.ends_within(STOP_WAIT).await {
            return Err(ToolFailure::new(
                ErrorCode::Timeout,
                text!("Job {id} has not ended yet. Poll it later.", id = job.id()),
            )
            .into());
        }
        let mut output = self.jobs.report(job).await?;
        add_note(&mut output.text, text!("Job {id} has ended.", id = job.id()));
        Ok(output)
    }
}

impl Tool for Job {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run<'a>(&'a self, permit: Permit<'a>, _: &'a dyn Progress) -> BoxFuture<'a, Result<Output, ToolError>> {
        Box::pin(async move { self.act(&permit).await })
    }
}
