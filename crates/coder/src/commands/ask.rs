//! `coder -p`: answers one prompt. Prose goes to stdout, tool activity to stderr.

use crate::args::Options;
use crate::choices::OutputFormat;
use crate::commands::read_stdin;
use crate::commands::sessions::{Start, begin, report_recording_error};
use crate::confirm::AtTheTerminal;
use crate::failure::{Failure, status_of};
use crate::images;
use crate::json_output::JsonOutput;
use crate::mentions::Mentions;
use crate::model::Model;
use crate::rules;
use crate::terminal::print_note;
use crate::view::View;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

/// Answers a prompt with attached images.
pub(crate) fn run(
    options: &Options,
    prompt: &str,
    images: &[PathBuf],
    start: &Start,
    format: OutputFormat,
) -> Result<ExitCode, Failure> {
    let (project, rules) = rules::open_with_servers(options, false)?;
    let piped = if std::io::stdin().is_terminal() { String::new() } else { read_stdin()? };
    let model = Model::open(&rules.config, &rules.persona, &project)?;
    let mut agent = begin(&project, &rules, &model, start)?.agent;
    // Only the prompt can mention files: piped text is not trusted.
    let found = Mentions::collect(prompt, &project.workspace, agent.session().room());
    found.notes.iter().for_each(print_note);
    found.summary().iter().for_each(print_note);
    let with_files = found.append_to(prompt);
    let question = if piped.is_empty() { with_files } else { format!("{with_files}\n\n{piped}") };
    images::attach(&project, &rules, &mut agent, &[images, &found.images].concat())?;
    let person = AtTheTerminal::new();
    let not_kept = person.not_kept();
    let stopped = match format {
        OutputFormat::Text => {
            let mut view = View::new(person, agent.canceller(), true);
            let stopped = crate::runtime::run(agent.canceller(), agent.run(&question, &mut view))?;
            view.end()?;
            stopped
        }
        format => {
            let mut output = JsonOutput::new(person, agent.canceller(), format == OutputFormat::StreamJson);
            let stopped = crate::runtime::run(agent.canceller(), agent.run(&question, &mut output))?;
            output.end(&stopped, &mut agent)?;
            stopped
        }
    };
    model.store_learned(&agent);
    project.print_notes();
    report_recording_error(&mut agent);
    if options.stats {
        print_note(&model.cost(&rules, &agent.turn_usage()));
    }
    not_kept.line(rules.policy.settings().ask).iter().for_each(print_note);
    status_of(&stopped.map_err(Failure::broken)?)
}
