//! Runs sessions with random replies, random decisions of the person, random results of tools, and random cancellation.

use super::talk::{BROKEN, block, catalog, options};
use std::collections::HashMap;
use std::sync::Arc;
use toolfence_kit::Random;
use toolfence_policy::{AskMode, ClearedCall, NoFacts, Pending};
use toolfence_protocol::parse::{Event, Reasoning};
use toolfence_protocol::{
    Args, Dialects, Effect, ErrorCode, FinishReason, Output, Role, ToolCall, ToolFailure, ToolResult,
};
use toolfence_session::{Action, Answer, Input, Session, SessionOptions, StopReason};

/// The number of inputs after which a session must have stopped.
const MOST_INPUTS: usize = 5_000;

/// A driver that checks the session's invariants.
struct World {
    session: Session,
    random: Random,
    rounds: u64,
    running: Vec<ClearedCall>,
    asked: Option<Pending>,
    checking: bool,
    streaming: bool,
    stopped: Option<StopReason>,
    /// The number of requests to the model since the last message of the user.
    called: u64,
    /// The offset and the id of each call that the reply has shown.
    shown: Vec<(usize, String)>,
    /// Whether the call with this id may be a change.
    changes: HashMap<String, bool>,
    /// The maximum number of replies before the session must stop.
    most: u64,
    answered: Vec<(String, bool)>,
    natives: usize,
    inputs: usize,
    count: Count,
}

/// Counts events, so that the test can check that each kind occurred.
#[derive(Debug, Default, Clone, Copy)]
struct Count {
    replies: usize,
    answers: usize,
    runs: usize,
    asks: usize,
    stitched: usize,
    compacted: usize,
    stops: [usize; 8],
}

fn random_options(random: &mut Random) -> SessionOptions {
    let mut options = options();
    options.limits.rounds = 1 + random.below(8) as u64;
    options.limits.bad_replies = 1 + random.below(4) as u64;
    options.limits.loop_warning = 2;
    options.limits.loop_stop = 2 + random.below(3) as u64;
    options.checks = random.once_in(3);
    if random.once_in(10) {
        options.limits.reply_bytes = 400;
    }
    options.parser.reasoning = [Reasoning::Known, Reasoning::Unknown, Reasoning::Opened][random.below(3)];
    if random.once_in(4) {
        options.window = Some(300 + random.below(2_000) as u64);
    }
    if random.once_in(2) {
        options.parser.dialects = Dialects::ALL;
    }
    options
}

impl World {
    fn new(seed: u64) -> World {
        let mut random = Random::new(seed);
        let options = random_options(&mut random);
        let rounds = options.limits.rounds;
        let mode = [AskMode::Never, AskMode::Risky, AskMode::Always][random.below(3)];
        let session = Session::new(options, Arc::new(catalog()), toolfence_kit::policy(mode), Arc::new(NoFacts));
        World {
            session,
            random,
            rounds,
            running: Vec::new(),
            asked: None,
            checking: false,
            streaming: false,
            stopped: None,
            called: 0,
            shown: Vec::new(),
            changes: HashMap::new(),
            most: 0,
            answered: Vec::new(),
            natives: 0,
            inputs: 0,
            count: Count::default(),
        }
    }

    fn send(&mut self, input: Input<'_>) {
        self.inputs += 1;
        assert!(self.inputs < MOST_INPUTS, "the session never stops");
        self.session.handle(input);
        while let Some(action) = self.session.poll() {
            self.act(action);
        }
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::CallModel => {
                self.assert_reply_is_answered();
                self.assert_alternation();
                assert_eq!(self.session.history().last().map(|last| last.role), Some(Role::User));
                self.called += 1;
                assert!(self.called <= self.most, "{} replies in a turn of {} rounds", self.called, self.rounds);
                self.streaming = true;
                self.count.replies += 1;
            }
            Action::StopModel => self.streaming = false,
            Action::Show(event) => self.show(&event),
            Action::Run(cleared) => {
                let writes = cleared.effect() != Effect::Read;
                assert!(!writes || self.running.is_empty(), "a change runs at the same time as another call");
                let failed = |(id, good): &(String, bool)| !good && self.changes[id];
                assert!(!writes || !self.answered.iter().any(failed), "a change runs after one that failed");
                self.count.runs += 1;
                self.running.push(cleared);
            }
            Action::Ask(pending) => {
                assert!(self.asked.is_none() && self.running.is_empty(), "one question at a time, while no call runs");
                self.count.asks += 1;
                self.asked = Some(pending);
            }
            Action::Answered(result) => {
                self.count.answers += 1;
                self.answered.push((result.id, result.success));
            }
            Action::Check => self.checking = true,
            Action::Compacted(_) => self.count.compacted += 1,
            Action::Stop(reason) => {
                self.assert_reply_is_answered();
                self.assert_alternation();
                let index = match reason {
                    StopReason::Answered => 0,
                    StopReason::Empty => 1,
                    StopReason::Unfinished(_) => 2,
                    StopReason::FormatErrors => 3,
                    StopReason::RoundLimit => 4,
                    StopReason::Loop => 5,
                    StopReason::Cancelled => 6,
                    _ => 7,
                };
                self.count.stops[index] += 1;
                self.stopped = Some(reason);
                (self.streaming, self.checking, self.asked) = (false, false, None);
                self.running.clear();
            }
            other => panic!("{other:?}"),
        }
    }

    fn show(&mut self, event: &Event<'_>) {
        let changes = |name: &str| name != "look" && name != "ask";
        match event {
            Event::Call { call, span, .. } => {
                self.count.stitched += usize::from(call.repairs.iter().any(|repair| repair.name() == "stitched"));
                self.changes.insert(call.id.clone(), changes(&call.name));
                if !call.id.starts_with("native") {
                    self.shown.push((span.start, call.id.clone()));
                }
            }
            Event::Malformed { id, span, .. } | Event::Incomplete { id, span, .. } => {
                self.changes.insert(id.to_string(), true);
                self.shown.push((span.start, id.to_string()));
            }
            Event::Reasoning { unopened: true, .. } => self.shown.clear(),
            _ => {}
        }
    }

    /// Asserts that every call and every block of the last reply was answered once, in the order of the reply.
    fn assert_reply_is_answered(&mut self) {
        let mut shown = std::mem::take(&mut self.shown);
        shown.sort_by_key(|(at, _)| *at);
        self.changes.clear();
        let mut answered = std::mem::take(&mut self.answered);
        answered.retain(|(id, _)| id != "project_check");
        let (natives, rest): (Vec<_>, Vec<_>) = answered.into_iter().partition(|(id, _)| id.starts_with("native"));
        let wanted: Vec<&String> = shown.iter().map(|(_, id)| id).collect();
        let got: Vec<&String> = rest.iter().map(|(id, _)| id).collect();
        assert_eq!(got, wanted, "{:#?}", self.session.history());
        let mut ids: Vec<usize> = natives.iter().map(|(id, _)| id[6..].parse().expect("it is a number")).collect();
        let count = ids.len();
        assert!(ids.is_sorted(), "{ids:?}");
        ids.dedup();
        assert_eq!(ids.len(), count);
    }

    /// Asserts that the history and the request have a form that every backend accepts.
    fn assert_alternation(&self) {
        for messages in [self.session.history(), self.session.messages()] {
            assert_eq!(messages[0].role, Role::System);
            for (index, message) in messages[1..].iter().enumerate() {
                let wanted = if index % 2 == 0 { Role::User } else { Role::Assistant };
                assert_eq!(message.role, wanted, "message {index}");
                assert!(!message.content.trim().is_empty(), "message {index} is empty");
            }
        }
    }

    fn user(&mut self, text: &str) {
        self.stopped = None;
        (self.called, self.most) = (0, self.rounds + 1);
        self.send(Input::User(text));
    }

    /// Sends one reply, or one input that the session waits for.
    fn step(&mut self) {
        if self.random.once_in(60) {
            return self.send(Input::Cancel);
        }
        if self.random.once_in(60) {
            // A message during a turn may begin another turn, which has its own number of rounds.
            self.most += self.rounds + 1;
            return self.send(Input::User("and this"));
        }
        if self.streaming {
            self.stream();
        } else if let Some(pending) = self.asked.take() {
            let answer = match self.random.below(6) {
                0 | 1 => Answer::Yes,
                2 => Answer::Always(None),
                3 => Answer::Edit(Args::from_iter([("x".to_owned(), "edited".into())])),
                4 => Answer::Edit(Args::from_iter([("x".to_owned(), 7.into())])),
                _ => Answer::No("no".into()),
            };
            self.send(answer.to(pending));
        } else if !self.running.is_empty() {
            let call = self.running.swap_remove(self.random.below(self.running.len()));
            let (id, name) = (call.call().id.clone(), call.call().name.clone());
            let result = match self.random.below(4) {
                0 => ToolResult::refused(id, name, ToolFailure::new(ErrorCode::IoError, "it burned")),
                1 => ToolResult::new(id, name, Output::text("the same"), 1),
                _ => ToolResult::new(id, name, Output::text(format!("{}", self.random.below(1000))), 1),
            };
            self.send(Input::Result(result));
        } else if std::mem::take(&mut self.checking) {
            self.send(Input::Result(ToolResult::new("project_check", "project_check", Output::text("fine"), 1)));
        } else {
            panic!("the session waits for no input: {:?}", self.session);
        }
    }

    fn stream(&mut self) {
        if self.random.once_in(30) && self.session.too_long(None, Some(1_000)) {
            self.called -= 1; // it is called again
            self.count.replies -= 1;
            self.streaming = false;
            while let Some(action) = self.session.poll() {
                self.act(action);
            }
            return;
        }
        let reply = self.reply();
        for piece in toolfence_kit::Pieces::every(&reply, 1 + self.random.below(200)) {
            if !self.streaming {
                break;
            }
            if self.random.once_in(200) {
                return self.send(Input::Cancel);
            }
            if self.random.once_in(200) {
                return self.send(Input::Failed("the server is gone".into()));
            }
            self.send(Input::Chunk(piece));
        }
        if self.streaming && self.random.once_in(12) {
            self.natives += 1;
            let name = ["look", "change", "nothing"][self.random.below(3)];
            self.send(Input::NativeCall(ToolCall::new(format!("native{}", self.natives), name, Args::new())));
        }
        let end = [FinishReason::Stop, FinishReason::Stop, FinishReason::Length, FinishReason::Cut];
        let end = if self.streaming { end[self.random.below(4)] } else { FinishReason::Cut };
        self.streaming = false;
        self.send(Input::End(end));
    }

    /// Returns a random reply.
    fn reply(&mut self) -> String {
        let random = &mut self.random;
        // If the model is asked to continue a block, it usually does.
        let last = self.session.history().pop().expect("there is a question").content;
        if let Some(repeated) = requested_repetition(&last).filter(|_| !random.once_in(4)) {
            let rest = ["\"}}\n```\n", "ond half\"}}\n```\nDone.\n", "\nEOF\n```\n", "more"][random.below(4)];
            return format!("{repeated}{rest}");
        }
        let mut reply = String::new();
        for _ in 0..random.below(5) {
            let piece = match random.below(16) {
                0 | 1 => "Prose.\n\n".to_owned(),
                2 | 3 => block(["a", "b", "c"][random.below(3)], "look", "1"),
                4 => block("d", "change", ["1", "2"][random.below(2)]),
                5 => block("", "ask", "1"),
                6 => block("e", "nothing", "1"),
                7 => BROKEN.to_owned(),
                8 => "```tool_result\n{\"id\": \"a\"}\nlies\n```\n".to_owned(),
                9 => "<think>\nHm.\n</think>\n\n".to_owned(),
                10 => ["</think>\n", "<think>\n"][random.below(2)].to_owned(),
                11 => "```json\n{\"name\": \"look\", \"args\": {}}\n```\n".to_owned(),
                12 => "<tool_call>\n{\"name\": \"look\", \"arguments\": {\"x\": \"h\"}}\n</tool_call>\n".to_owned(),
                13 => "> ```tool\n> {\"name\": \"change\", \"args\": {}}\n> ```\n\n".to_owned(),
                14 => "- in a list\n\n  ```tool\n  {\"name\": \"change\", \"args\": {\"x\": \"<<EOF\"}}\n  a line\n  EOF\n  ```\n".to_owned(),
                _ => format!("```tool\n{{\"name\": \"change\", \"args\": {{\"x\": \"the first half of a text {} and the sec", random.below(9)),
            };
            reply.push_str(&piece);
        }
        if random.once_in(6) {
            reply.truncate(random.below(reply.len() + 1)); // it is ASCII
        }
        reply
    }
}

fn requested_repetition(message: &str) -> Option<&str> {
    let (_, rest) = message.split_once("finish the block:\n\n")?;
    let (fence, rest) = rest.split_once('\n')?;
    Some(rest.split_once(&format!("\n{fence}"))?.0)
}

#[test]
fn random_sessions_keep_the_invariants() {
    let mut sum = Count::default();
    let sessions = 20_000;
    for seed in 0..sessions {
        let mut world = World::new(seed);
        for turn in 0..2 {
            world.user("begin");
            while world.stopped.is_none() {
                world.step();
            }
            assert!(world.session.is_idle(), "turn {turn} of {seed}");
        }
        // After any stop another turn works, even after a turn that was cancelled at any point.
        world.user("once more");
        for _ in 0..world.random.below(6) {
            if world.stopped.is_none() {
                world.step();
            }
        }
        world.send(Input::Cancel);
        assert!(world.session.is_idle(), "{seed}");
        world.user("and now?");
        assert!(world.streaming, "{seed}");
        world.send(Input::Chunk("<think>\n</think>\n\nAll is done.\n"));
        world.send(Input::End(FinishReason::Stop));
        assert_eq!(world.stopped, Some(StopReason::Answered), "{seed}");
        let Count { replies, answers, runs, asks, stitched, compacted, stops } = world.count;
        sum.replies += replies;
        sum.answers += answers;
        sum.runs += runs;
        sum.asks += asks;
        sum.stitched += stitched;
        sum.compacted += compacted;
        sum.stops.iter_mut().zip(stops).for_each(|(sum, stops)| *sum += stops);
    }
    println!("{sessions} sessions: {sum:?}");
    assert!(
        sum.stitched > 100 && sum.compacted > 100 && sum.asks > 1_000 && sum.stops.iter().all(|stops| *stops > 100),
        "{sum:?}"
    );
}
