//! `coder -p`: one answer. Prose goes to stdout, what is done to get it to stderr.

use crate::args::Options;
use crate::choices::OutputFormat;
use crate::commands::read_stdin;
use crate::commands::sessions::{Start, begin, tell_trouble};
use crate::confirm::AtTheTerminal;
use crate::failure::{Failure, status_of};
use crate::images;
use crate::json_output::JsonOutput;
use crate::mentions::Mentions;
use crate::model::Model;
use crate::rules;
use crate::terminal::tell;
use crate::view::View;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

/// Answers once, to a prompt that shows these images.
pub(crate) fn run(
    options: &Options,
    prompt: &str,
    shown: &[PathBuf],
    start: &Start,
    format: OutputFormat,
) -> Result<ExitCode, Failure> {
    let (project, rules) = rules::open_with_servers(options, false)?;
    let piped = if std::io::stdin().is_terminal() { String::new() } else { read_stdin()? };
    // Only the person's own words name files; what is piped in may be anybody's.
    let model = Model::open(&rules.config, &rules.persona, &project)?;
    let mut agent = begin(&project, &rules, &model, start)?.agent;
    let found = Mentions::of(prompt, &project.workspace, agent.session().room());
    found.notes.iter().for_each(tell);
    found.told().iter().for_each(tell);
    let asked = found.below(prompt);
    let question = if piped.is_empty() { asked } else { format!("{asked}\n\n{piped}") };
    images::attach(&project, &rules, &mut agent, &[shown, &found.images].concat())?;
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
            let mut told = JsonOutput::new(person, agent.canceller(), format == OutputFormat::StreamJson);
            let stopped = crate::runtime::run(agent.canceller(), agent.run(&question, &mut told))?;
            told.end(&stopped, &mut agent)?;
            stopped
        }
    };
    model.store_learned(&agent);
    project.print_notes();
    tell_trouble(&mut agent);
    if options.stats {
        tell(&model.cost(&rules, &agent.turn_usage()));
    }
    not_kept.line(rules.policy.settings().ask).iter().for_each(tell);
    status_of(&stopped.map_err(Failure::broken)?)
}
