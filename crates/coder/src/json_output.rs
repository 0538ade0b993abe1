//! Prints a turn as JSON for programs: a line for each event, with the events of `coder pipe`, or one object at the
//! end.

use crate::choices::SCHEMA;
use crate::debug;
use crate::failure::Failure;
use crate::shown::language;
use crate::terminal::Terminal;
use crate::view::Person;
use serde_json::{Value, json};
use toolfence_agent::agent::{Agent, Canceller, Host};
use toolfence_policy::Pending;
use toolfence_policy::toolbox::BoxFuture;
use toolfence_protocol::parse::Event;
use toolfence_protocol::{Error, Message, Text, ToolCall, ToolResult};
use toolfence_server::event_json;
use toolfence_session::{Answer, Compacted, StopReason};

/// Writes a turn as JSON to standard output. Questions are asked as in any other turn.
pub(crate) struct JsonOutput<P> {
    out: Terminal,
    person: P,
    canceller: Canceller,
    /// Whether every event is written, or only the final object.
    streams: bool,
    /// The prose of the last reply.
    answer: String,
    trouble: Option<Failure>,
}

impl<P: Person> JsonOutput<P> {
    pub(crate) fn new(person: P, canceller: Canceller, streams: bool) -> JsonOutput<P> {
        JsonOutput { out: Terminal::stdout(), person, canceller, streams, answer: String::new(), trouble: None }
    }

    fn write_event(&mut self, line: &Value) {
        if !self.streams {
            return;
        }
        // An output error ends the turn.
        if let Err(failure) = self.out.line(&line.to_string()) {
            self.trouble.get_or_insert(failure);
            self.canceller.cancel();
        }
    }

    /// Writes the result of the turn.
    ///
    /// # Errors
    /// The output could not be written.
    pub(crate) fn end(mut self, stopped: &Result<StopReason, Error>, agent: &mut Agent) -> Result<(), Failure> {
        let reason = match stopped {
            Ok(reason) => reason.clone(),
            Err(error) => {
                let text = error.text();
                self.write_event(&event_json::error(&text, language()));
                StopReason::Failed(text)
            }
        };
        let over = event_json::end_line(&reason, None);
        self.write_event(&over);
        if let Some(trouble) = self.trouble {
            return Err(trouble);
        }
        if self.streams {
            return Ok(());
        }
        let usage = agent.turn_usage();
        let session = agent.recorded().map(|transcript| transcript.id().to_owned());
        let why = match &reason {
            StopReason::Failed(why) => Some(why.render(language())),
            _ => None,
        };
        let line = json!({
            "v": SCHEMA, "event": "answer", "answer": self.answer.trim(), "reason": over["reason"],
            "error": why, "session": session,
            "tokens": {
                "replies": usage.replies, "input": usage.input, "cached": usage.cached, "output": usage.output,
                "estimated": usage.estimated,
            },
        });
        self.out.line(&line.to_string())
    }
}

impl<P: Person> Host for JsonOutput<P> {
    fn calling(&mut self, _: &[Message]) {
        // The answer is the prose of the last reply only.
        self.answer.clear();
    }

    fn compacted(&mut self, done: &Compacted) {
        // A consumer of these lines does not keep the conversation, so it needs no new messages.
        self.write_event(&event_json::compacted(done, &[]));
    }

    fn show(&mut self, event: &Event<'_>) {
        match event {
            Event::Text { text, .. } => self.answer.push_str(text),
            Event::Call { call, .. } => debug::call(call),
            _ => {}
        }
        self.write_event(&event_json::reply_event(event, language()));
    }

    fn broke_off(&mut self, why: &Text) {
        self.write_event(&event_json::error(why, language()));
    }

    fn running(&mut self, call: &ToolCall) {
        self.write_event(&event_json::begins("running", call));
    }

    fn progress(&mut self, id: &str, note: &str) {
        self.write_event(&event_json::progress(id, note));
    }

    fn answered(&mut self, result: &ToolResult) {
        debug::result(result);
        self.write_event(&event_json::result(result, language()));
    }

    fn ask<'a>(&'a mut self, pending: &'a Pending) -> BoxFuture<'a, Answer> {
        self.write_event(&event_json::ask(pending, language()));
        self.person.ask(pending)
    }
}
