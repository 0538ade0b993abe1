//! `coder`: a conversation, line by line.

use crate::args::Options;
use crate::commands::sessions::{self, Begun, Start};
use crate::commands::{stats, stdin_lines, undo};
use crate::confirm::AtTheTerminal;
use crate::failure::{Failure, status_of};
use crate::messages;
use crate::preview::one_line;
use crate::runtime::Turns;
use crate::setup::{Setup, Talk};
use crate::terminal::{Style, Terminal};
use crate::view::View;
use std::process::ExitCode;
use toolfence::Text;
use toolfence::agent::Agent;

/// Talks until the input ends.
pub(crate) fn run(options: &Options, start: &Start) -> Result<ExitCode, Failure> {
    let setup = Setup::new(options)?;
    let mut talk = setup.talking()?;
    let Begun { mut agent, resumed } = sessions::begin(&setup, start, &talk)?;
    let turns = Turns::new()?;
    let mut out = Terminal::stdout();
    let root = setup.workspace.root_path().display().to_string();
    out.styled_line(Style::Dim, &messages::conversation_begins(&setup.persona.name, root))?;
    if let Some(answering) = setup.answering()? {
        out.styled_line(Style::Dim, &answering)?;
    }
    show(&resumed, &agent, &mut out)?;
    let mut lines = stdin_lines();
    loop {
        out.write("> ")?;
        turns.at_prompt(true);
        let Some(line) = lines.next() else { break };
        turns.at_prompt(false);
        match line?.trim() {
            "" => {}
            "/quit" | "/exit" => return Ok(ExitCode::SUCCESS),
            "/help" => out.line(&messages::conversation_help())?,
            "/tools" => list(&agent, &mut out)?,
            "/allowed" => allowed(&agent, &mut out)?,
            "/stats" => stats::show(&setup, &agent, &mut out)?,
            "/compact" => match agent.compact() {
                Some(done) => out.styled_line(Style::Dim, &messages::compacted(&done))?,
                None => out.line(&messages::nothing_to_compact())?,
            },
            "/clear" => out.styled_line(Style::Dim, &cleared(&mut agent))?,
            "/retry" => match agent.take_back() {
                Some(said) => {
                    let first = said.lines().next().unwrap_or_default();
                    out.styled_line(Style::Dim, &messages::said_again(one_line(first)))?;
                    turn(&turns, &mut agent, &said, &setup, &mut out)?;
                    talk.keep(&agent);
                }
                None => out.line(&messages::nothing_to_retry())?,
            },
            "/sessions" => said(sessions::typed_list(&setup, &mut out), &mut out)?,
            command if is(command, "/resume") || is(command, "/fork") => {
                other(command, &setup, &talk, &mut agent, &mut out)?;
            }
            command if command.starts_with('/') => typed(command, &setup, &mut agent, &mut out)?,
            text => {
                turn(&turns, &mut agent, text, &setup, &mut out)?;
                talk.keep(&agent);
            }
        }
    }
    out.write("\n")?;
    Ok(ExitCode::SUCCESS)
}

/// Begins a new conversation; says so, and how to go on with the old one.
fn cleared(agent: &mut Agent) -> Text {
    let name = |agent: &mut Agent| agent.recorded().map(|transcript| transcript.id().to_owned());
    let before = name(agent);
    agent.clear();
    let mut told = messages::conversation_cleared();
    if let Some(old) = before.filter(|old| name(agent).as_ref() != Some(old)) {
        told.push(messages::cleared_stays(sessions::short(&old)));
    }
    told
}

fn is(line: &str, command: &str) -> bool {
    line.split_whitespace().next() == Some(command)
}

/// What goes wrong is said, and the conversation goes on.
fn said(done: Result<(), Failure>, out: &mut Terminal) -> Result<(), Failure> {
    done.or_else(|failure| out.styled_line(Style::Bad, failure.message()))
}

/// What is told of a conversation that is gone on with, and the plan that the model has in it.
fn show(lines: &[(Style, Text)], agent: &Agent, out: &mut Terminal) -> Result<(), Failure> {
    lines.iter().try_for_each(|(style, line)| out.styled_line(*style, line))?;
    let plan = agent.session().plan().unwrap_or_default();
    plan.lines().try_for_each(|step| out.styled_line(Style::Dim, &format!("    {step}")))
}

/// Goes on with another conversation, or with a copy of this one.
fn other(command: &str, setup: &Setup, talk: &Talk, agent: &mut Agent, out: &mut Terminal) -> Result<(), Failure> {
    let (name, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
    let begun = match (name, rest.trim()) {
        ("/fork", message) => sessions::fork(setup, talk, agent, message),
        (_, "") => sessions::begin(setup, &Start::Chosen { fork: false }, talk),
        (_, name) => sessions::begin(setup, &Start::Named { name: name.to_owned(), fork: None }, talk),
    };
    match begun {
        Ok(Begun { agent: other, resumed }) => {
            *agent = other;
            show(&resumed, agent, out)
        }
        Err(failure) => out.styled_line(Style::Bad, failure.message()),
    }
}

/// A command with what stands behind it. What goes wrong is said, and the conversation goes on.
fn typed(command: &str, setup: &Setup, agent: &mut Agent, out: &mut Terminal) -> Result<(), Failure> {
    let (name, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
    let done = match name {
        "/undo" | "/redo" | "/diff" => undo::typed(setup, &name[1..], rest.trim(), out),
        _ => return out.line(&messages::no_such_command(command)),
    };
    // What went back is not what the model has in mind.
    let told = done.map(|note| note.into_iter().for_each(|note| agent.note(&note)));
    told.or_else(|failure| out.styled_line(Style::Bad, failure.message()))
}

fn list(agent: &Agent, out: &mut Terminal) -> Result<(), Failure> {
    agent.session().catalog().specs().iter().try_for_each(|spec| out.line(&spec.signature()))
}

fn allowed(agent: &Agent, out: &mut Terminal) -> Result<(), Failure> {
    match agent.session().policy().remembered() {
        [] => out.line(&messages::nothing_is_allowed()),
        rules => rules.iter().try_for_each(|rule| out.line(&rule.to_string())),
    }
}

/// One turn. What goes wrong is said, and the conversation goes on.
fn turn(turns: &Turns, agent: &mut Agent, text: &str, setup: &Setup, out: &mut Terminal) -> Result<(), Failure> {
    let person = AtTheTerminal { commands: setup.commands.clone() };
    let mut view = View::new(person, agent.canceller(), false).speaker(&setup.persona.name);
    let stopped = turns.run(agent.canceller(), agent.run(text, &mut view))?;
    view.end()?;
    setup.tell_notes();
    sessions::tell_trouble(agent);
    setup.tell_cost(&agent.turn_usage());
    let failed = match stopped {
        Ok(reason) => status_of(&reason).err(),
        Err(error) => Some(Failure::broken(error)),
    };
    match failed {
        Some(failure) => out.styled_line(Style::Bad, failure.message()),
        None => Ok(()),
    }
}
