//! Defines a driver with a small vocabulary for tests.

use std::collections::HashMap;
use std::sync::Arc;
use toolfence_kit::Pieces;
use toolfence_policy::{AskMode, NoFacts, Pending};
use toolfence_protocol::parse::Event;
use toolfence_protocol::{
    Catalog, Effect, ErrorCode, FinishReason, Output, Param, ParamKind, Role, ToolFailure, ToolResult, ToolSpec,
};
use toolfence_session::{Action, Answer, Input, Session, SessionOptions};

pub(super) fn catalog() -> Catalog {
    let word = || Param::new("x", ParamKind::Text { content: false }, "a word");
    [("look", Effect::Read), ("change", Effect::Write), ("ask", Effect::Read)]
        .into_iter()
        .map(|(name, effect)| {
            let spec = ToolSpec::new(name, "for tests").param(word()).polls(move |_| name == "ask");
            if effect == Effect::Read { spec.effect(|_| Effect::Read) } else { spec.effect(|_| Effect::Write) }
        })
        .chain(["one.run", "two.run"].map(|name| {
            let mut spec = ToolSpec::new(name, "a tool of a server").param(word());
            spec.served = true;
            spec
        }))
        .collect()
}

pub(super) fn options() -> SessionOptions {
    let mut options = SessionOptions::default();
    options.system = "instructions".into();
    options
}

/// A driver that performs no action and logs each of them.
pub(super) struct Talk {
    pub(super) session: Session,
    pub(super) log: Vec<String>,
    asked: Option<Pending>,
    /// The ids that the model wrote, keyed by the ids that replaced them.
    written: HashMap<String, String>,
    pub(super) chunk: usize,
}

impl Talk {
    pub(super) fn new() -> Talk {
        Talk::with(AskMode::Never, options())
    }

    pub(super) fn with(mode: AskMode, options: SessionOptions) -> Talk {
        let session = Session::new(options, Arc::new(catalog()), toolfence_kit::policy(mode), Arc::new(NoFacts));
        Talk { session, log: Vec::new(), asked: None, written: HashMap::new(), chunk: usize::MAX }
    }

    /// Starts a turn with an empty log.
    pub(super) fn started() -> Talk {
        let mut talk = Talk::new();
        talk.user("begin").assert_log(&["call"]);
        talk
    }

    pub(super) fn send(&mut self, input: Input<'_>) -> &mut Talk {
        self.session.handle(input);
        while let Some(action) = self.session.poll() {
            self.record(action);
        }
        self.assert_alternation();
        self
    }

    fn record(&mut self, action: Action) {
        let line = match action {
            Action::CallModel => "call".to_owned(),
            Action::StopModel => "stop model".to_owned(),
            Action::Show(event) => return self.show(&event),
            Action::Run(cleared) => format!("run {} {}", self.written_id(&cleared.call().id), cleared.call().name),
            Action::Ask(pending) => {
                let line = format!(
                    "ask {} {}",
                    self.written_id(&pending.call().id),
                    serde_json::Value::Object(pending.call().args.clone())
                );
                self.asked = Some(pending);
                line
            }
            Action::Answered(result) => {
                let code = result.error.as_ref().map(|failure| serde_json::to_value(failure.code).unwrap());
                format!(
                    "answered {} {}",
                    self.written_id(&result.id),
                    code.as_ref().map_or("ok", |code| code.as_str().unwrap())
                )
            }
            Action::Stop(reason) => format!("stop {reason:?}"),
            other => format!("{other:?}"),
        };
        self.log.push(line);
    }

    fn written_id<'a>(&'a self, id: &'a str) -> &'a str {
        self.written.get(id).map_or(id, String::as_str)
    }

    /// Returns the id that the session gave to the last call for which the model wrote this id.
    fn id(&self, written: &str) -> String {
        let given = self.written.iter().filter(|(_, known)| *known == written).map(|(id, _)| id);
        // The last of these calls has the highest number.
        given.max_by_key(|id| (id.len(), id.as_str())).cloned().unwrap_or_else(|| written.to_owned())
    }

    /// Logs an event. Consecutive texts are joined.
    fn show(&mut self, event: &Event<'_>) {
        if let Event::Call { call, body, .. } = event
            && let Some(Ok(value)) = serde_json::Deserializer::from_str(body).into_iter::<serde_json::Value>().next()
            && let Some(written) = value["id"].as_str()
            && written != call.id
        {
            self.written.insert(call.id.clone(), written.to_owned());
        }
        let line = match event {
            Event::Text { text, .. } => format!("text {text}"),
            Event::Reasoning { text, .. } => format!("reasoning {text}"),
            Event::Call { call, .. } => format!("saw {}", call.name),
            Event::Malformed { .. } => "malformed".to_owned(),
            Event::Incomplete { .. } => "incomplete".to_owned(),
            Event::Ignored { .. } => "ignored".to_owned(),
            Event::ForgedResult { .. } => "forged".to_owned(),
            _ => return,
        };
        match (self.log.last_mut(), line.strip_prefix("text ")) {
            (Some(last), Some(more)) if last.starts_with("text ") => last.push_str(more),
            _ => self.log.push(line),
        }
    }

    fn assert_alternation(&self) {
        let roles: Vec<Role> = self.session.history().iter().map(|message| message.role).collect();
        assert_eq!(roles[0], Role::System);
        for (index, role) in roles[1..].iter().enumerate() {
            let wanted = if index % 2 == 0 { Role::User } else { Role::Assistant };
            assert_eq!(*role, wanted, "message {index} of {:#?}", self.session.history());
        }
    }

    pub(super) fn user(&mut self, text: &str) -> &mut Talk {
        self.send(Input::User(text))
    }

    pub(super) fn chunks(&mut self, text: &str) -> &mut Talk {
        for piece in Pieces::every(text, self.chunk) {
            self.send(Input::Chunk(piece));
        }
        self
    }

    pub(super) fn reply(&mut self, text: &str) -> &mut Talk {
        self.chunks(text).end(FinishReason::Stop)
    }

    pub(super) fn end(&mut self, reason: FinishReason) -> &mut Talk {
        self.send(Input::End(reason))
    }

    pub(super) fn succeeds(&mut self, id: &str, output: &str) -> &mut Talk {
        let id = self.id(id);
        self.send(Input::Result(ToolResult::new(id, "tool", Output::text(output), 1)))
    }

    pub(super) fn fails(&mut self, id: &str) -> &mut Talk {
        let failure = ToolFailure::new(ErrorCode::IoError, "it burned");
        let id = self.id(id);
        self.send(Input::Result(ToolResult::refused(id, "tool", failure)))
    }

    pub(super) fn asks(&self) -> bool {
        self.asked.is_some()
    }

    pub(super) fn answer(&mut self, answer: Answer) -> &mut Talk {
        let pending = self.asked.take().expect("the session asks");
        self.send(answer.to(pending))
    }

    /// Asserts the entries of the log since the last assertion. The line ending after a block is a separate text and is
    /// ignored.
    pub(super) fn assert_log(&mut self, wanted: &[&str]) -> &mut Talk {
        let mut log = std::mem::take(&mut self.log);
        log.retain(|line| line.strip_prefix("text ").is_none_or(|text| !text.trim().is_empty()));
        let lines: Vec<String> = log.iter().map(|line| line.replacen("text \n", "text ", 1)).collect();
        assert_eq!(lines, wanted);
        self
    }

    /// Returns the last message of this role.
    pub(super) fn last(&self, role: Role) -> String {
        let message = self.session.history().pop().unwrap();
        assert_eq!(message.role, role);
        message.content
    }

    /// Asserts that the last message contains these parts in this order.
    pub(super) fn model_received(&mut self, parts: &[&str]) -> &mut Talk {
        let message = self.last(Role::User);
        let mut rest = message.as_str();
        for part in parts {
            let found = rest.find(part).unwrap_or_else(|| panic!("no {part:?} in {rest}"));
            rest = &rest[found + part.len()..];
        }
        self
    }

    pub(super) fn model_did_not_receive(&mut self, part: &str) -> &mut Talk {
        let text = self.last(Role::User);
        assert!(!text.contains(part), "{part:?} in {text}");
        self
    }
}

pub(super) fn block(id: &str, name: &str, word: &str) -> String {
    format!("```tool\n{{\"id\": \"{id}\", \"name\": \"{name}\", \"args\": {{\"x\": \"{word}\"}}}}\n```\n")
}

pub(super) const BROKEN: &str = "```tool\n{\"name\": \"change\", \"args\": [}\n```\n";
