//! `coder demo`: a recorded model mends a small project. The replies are recorded; everything else is real.

use crate::args::Options;
use crate::failure::{Failure, UNSUCCESSFUL, status_of};
use crate::project::Project;
use crate::rules::Rules;
use crate::shown::Words;
use crate::terminal::{Style, Terminal};
use crate::view::{Person, View};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Arc;
use std::time::Duration;
use toolfence_agent::backend::Replay;
use toolfence_policy::Pending;
use toolfence_policy::toolbox::BoxFuture;
use toolfence_protocol::{Catalog, FinishReason, Learned, Text, ToolCall, parse, text};
use toolfence_session::{Answer, StopReason};

const FILES: &[(&str, &str)] = &[
    ("README.md", include_str!("../demo/README.md")),
    ("stats.sh", include_str!("../demo/stats.sh")),
    ("test.sh", include_str!("../demo/test.sh")),
];

const RECORDING: &str = include_str!("../demo/recording.txt");

/// Lays out the project, plays the recording, and runs the test once more by itself.
pub(crate) fn run(options: &Options) -> Result<ExitCode, Failure> {
    let folder = tempfile::Builder::new().prefix("coder-demo-").tempdir();
    let folder = folder.map_err(|error| {
        Failure::broken(text!("cannot make a folder for the demo: {error}", error = Text::from(&error)))
    })?;
    lay_out(folder.path())?;
    let mut out = Terminal::stdout();
    out.styled_line(
        Style::Dim,
        &text!("A small project with a failing test, a recorded model, and real tools. Nothing else is needed."),
    )?;
    out.line(&format!("\n> {}\n", text!("A test of this project fails. Find out why and mend it.").words()))?;
    let answered = play(options, folder.path(), out.is_terminal())?;
    let passes = test_passes(folder.path())?;
    match (answered, passes) {
        (true, true) => {
            out.write("\n")?;
            out.styled_line(Style::Good, &text!("The test was run once more, by the demo itself: it passes."))?;
            Ok(ExitCode::SUCCESS)
        }
        (_, true) => failed(&mut out, text!("The test passes, but the turn did not end as recorded.")),
        (_, false) => failed(&mut out, text!("The test still fails: the demo did not do what it should.")),
    }
}

fn failed(out: &mut Terminal, message: Text) -> Result<ExitCode, Failure> {
    out.write("\n")?;
    out.styled_line(Style::Bad, &message)?;
    Ok(UNSUCCESSFUL.into())
}

fn lay_out(folder: &Path) -> Result<(), Failure> {
    let written = FILES.iter().try_for_each(|(name, text)| std::fs::write(folder.join(name), text));
    written.map_err(|error| {
        Failure::broken(text!("cannot lay out the demo's project: {error}", error = Text::from(&error)))
    })
}

/// Plays the recording against the project; says whether the turn ended with the last recorded reply.
fn play(options: &Options, folder: &Path, watched: bool) -> Result<bool, Failure> {
    let mut rules = Rules::for_demo(options)?;
    let project = Project::open(folder, None, &rules)?;
    rules.equip(&project)?;
    let replay = Replay::parse(RECORDING).map_err(Failure::broken)?;
    let replay = if watched { replay.paced(6, Duration::from_millis(12)) } else { replay };
    let replay = Arc::new(replay);
    let mut agent = rules.agent(&project, Learned::default(), replay.clone(), None)?;
    let person = Recording { left: recorded_calls(&rules.toolbox.catalog()) };
    let mut view = View::new(person, agent.canceller(), false);
    let stopped = crate::runtime::run(
        agent.canceller(),
        agent.run(&text!("A test of this project fails. Find out why and mend it.").words(), &mut view),
    )?;
    view.end()?;
    let stopped = stopped.map_err(Failure::broken)?;
    if stopped == StopReason::Cancelled {
        status_of(&stopped)?;
    }
    Ok(stopped == StopReason::Answered && replay.left() == 0)
}

fn test_passes(folder: &Path) -> Result<bool, Failure> {
    let test = Command::new("bash").arg("test.sh").current_dir(folder).stdin(Stdio::null()).output();
    test.map(|output| output.status.success())
        .map_err(|error| Failure::broken(text!("cannot run bash: {error}", error = Text::from(&error))))
}

/// Says yes to the calls of the recording, each once, and to nothing else.
struct Recording {
    left: Vec<ToolCall>,
}

impl Person for Recording {
    fn ask<'a>(&'a mut self, pending: &'a Pending) -> BoxFuture<'a, Answer> {
        let asked = pending.call();
        let known = self.left.iter().position(|call| call.name == asked.name && call.args == asked.args);
        let answer = match known {
            Some(index) => {
                self.left.remove(index);
                Answer::Yes
            }
            None => Answer::No(text!("The demo runs only what was recorded.")),
        };
        Box::pin(async { answer })
    }
}

/// The calls of the recording as the policy will name them.
fn recorded_calls(catalog: &Catalog) -> Vec<ToolCall> {
    let mut options = parse::Options::default();
    options.catalog = Some(toolfence_policy::toolset::catalog());
    let mut calls = Vec::new();
    parse::for_each(RECORDING, options, FinishReason::Stop, |event| {
        if let parse::Event::Call { call, .. } = event {
            calls.push(*call);
        }
    });
    calls.retain_mut(|call| catalog.resolve(call).is_ok());
    calls
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_recording_is_written_as_taught() {
        let catalog = toolfence_policy::toolset::catalog();
        let calls = recorded_calls(&catalog);
        let names: Vec<&str> = calls.iter().map(|call| call.name.as_str()).collect();
        assert_eq!(names, ["list_files", "search", "read_file", "bash", "write_file", "bash"]);
        assert!(calls.iter().all(|call| call.repairs.is_empty()));
        let last = RECORDING.rsplit("%%% reply").next().unwrap_or_default();
        assert!(parse::parse(last).calls.is_empty(), "it ends with an answer");
    }
}
