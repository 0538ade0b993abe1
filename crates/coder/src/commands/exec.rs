//! `coder exec`: model text in, its calls run, their results out.
//!
//! It is one round of the same agent that `coder` runs on a real backend: the pasted text is the reply.

use crate::args::{ExecArguments, Options};
use crate::commands::read_stdin;
use crate::confirm::AtTheTerminal;
use crate::debug;
use crate::explain::explained;
use crate::failure::{Failure, INTERRUPTED, UNSUCCESSFUL};
use crate::messages;
use crate::rules;
use crate::terminal::{Terminal, tell};
use crate::view::Person;
use serde_json::json;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use toolfence_agent::agent::Host;
use toolfence_agent::backend::{Backend, Chunk, Sink};
use toolfence_agent::transcript::Store;
use toolfence_policy::Pending;
use toolfence_policy::toolbox::BoxFuture;
use toolfence_protocol::parse::{Event, Ignored};
use toolfence_protocol::{Error, FinishReason, Language, Learned, Message, ToolCall, ToolResult, format};
use toolfence_session::{Answer, StopReason};

/// Runs the calls of the text on stdin.
pub(crate) fn run(options: &Options, arguments: &ExecArguments) -> Result<ExitCode, Failure> {
    let (project, mut rules) = rules::open_with_servers(options, false)?;
    rules.bare = arguments.bare;
    let pasted = Pasted { text: read_stdin()?, said: AtomicBool::new(false) };
    let transcript = rules.new_transcript(&project, None, Store::runs)?;
    let mut agent = rules.agent(&project, Learned::default(), Arc::new(pasted), transcript)?;
    let person = AtTheTerminal::new();
    let not_kept = person.not_kept();
    let mut listener =
        Listener { person, results: Vec::new(), answer: None, rounds: 0, explain: arguments.explain, unfenced: false };
    let stopped = crate::runtime::run(agent.canceller(), agent.run("", &mut listener))?;
    project.print_notes();
    let ended = stopped.map_err(Failure::broken)?;
    listener.print(arguments.json, &rules.format)?;
    not_kept.line(rules.policy.settings().ask).iter().for_each(tell);
    Ok(match ended {
        StopReason::Cancelled => INTERRUPTED.into(),
        _ if listener.succeeded() => ExitCode::SUCCESS,
        _ => UNSUCCESSFUL.into(),
    })
}

/// A model that has said what it says already, and ends the conversation when it gets the results.
struct Pasted {
    text: String,
    said: AtomicBool,
}

impl Backend for Pasted {
    fn stream<'a>(&'a self, _: &'a [Message], sink: &'a mut dyn Sink) -> BoxFuture<'a, Result<FinishReason, Error>> {
        if !self.said.swap(true, Ordering::Relaxed) {
            // A break means that no more is wanted, and there is no more.
            let _ = sink.chunk(Chunk::Text(&self.text));
        }
        Box::pin(async { Ok(FinishReason::Stop) })
    }
}

struct Listener {
    person: AtTheTerminal,
    results: Vec<ToolResult>,
    /// What would be sent to the model: the results, or a reminder of how to write a call.
    answer: Option<String>,
    rounds: u32,
    explain: bool,
    /// There was the inside of a block without the block.
    unfenced: bool,
}

impl Listener {
    fn print(&self, json: bool, format: &format::Format) -> Result<(), Failure> {
        let mut out = Terminal::stdout();
        if self.unfenced {
            tell(&messages::copy_the_whole_message());
        }
        match (&self.answer, json) {
            (Some(reminder), true) if self.results.is_empty() => {
                let value = json!({"v": super::SCHEMA, "event": "ignored", "message": reminder});
                out.line(&value.to_string())
            }
            (_, true) => self.results.iter().try_for_each(|result| out.line(&line(result))),
            (Some(answer), false) => out.line(answer),
            (None, false) if self.results.is_empty() => {
                tell(&messages::no_call_in_text());
                Ok(())
            }
            (None, false) => out.line(&format::results(&self.results, format)),
        }
    }

    /// A reminder instead of results means that something in the text should have been a call.
    fn succeeded(&self) -> bool {
        let reminded = self.results.is_empty() && self.answer.is_some();
        !reminded && self.results.iter().all(|result| result.success && !has_lost_changes(result))
    }
}

/// Returns `true` if changes of the command were not kept: as with a call that is denied, what was asked for was not done.
fn has_lost_changes(result: &ToolResult) -> bool {
    let not_kept = result.data.as_ref().and_then(|data| data["changes"]["not_kept"].as_array());
    not_kept.is_some_and(|paths| !paths.is_empty())
}

fn line(result: &ToolResult) -> String {
    let mut value = toolfence_protocol::format::envelope(result, Language::English);
    value["v"] = super::SCHEMA.into();
    value["event"] = "result".into();
    value.to_string()
}

impl Host for Listener {
    fn calling(&mut self, history: &[Message]) {
        self.rounds += 1;
        if self.rounds == 2 {
            self.answer = history.last().map(|message| message.content.clone());
        }
    }

    fn show(&mut self, event: &Event<'_>) {
        match event {
            Event::Call { call, .. } => debug::call(call),
            Event::Ignored { why: Ignored::Unfenced, .. } => self.unfenced = true,
            _ => {}
        }
        if self.explain && !matches!(event, Event::Text { .. } | Event::Started { .. } | Event::Progress { .. }) {
            tell(&explained(event));
        }
    }

    fn running(&mut self, call: &ToolCall) {
        if self.explain {
            tell(&messages::call_running(&call.id, &call.name));
        }
    }

    fn answered(&mut self, result: &ToolResult) {
        debug::result(result);
        if self.explain {
            let what = result.error.as_ref().map_or_else(messages::call_done, |error| error.message.clone());
            tell(&messages::call_answered(&result.id, what));
        }
        self.results.push(result.clone());
    }

    fn ask<'a>(&'a mut self, pending: &'a Pending) -> BoxFuture<'a, Answer> {
        self.person.ask(pending)
    }
}
