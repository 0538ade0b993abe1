//! A session for a chat client in any language, over JSON lines.
//!
//! The client keeps its own conversation and talks to its own model. It hands the pieces of each reply to the pipe; the
//! pipe finds the calls, judges them, asks the client about them, runs them, and gives back the text of the next message
//! to the model. Nothing here talks to a model.
//!
//! ```text
//! client                                   pipe
//!                                          ready {instructions}     once; again after `options` and `tools`
//! options {limits, results}                                         if the client wants them otherwise
//! tools {tools}                                                     if the client has tools of its own
//! chunk {text} ...                         text, started, progress, call, ... while they come
//! end {reason}                             ask {id, tool, args, why}
//! approve {id} | deny {id} | edit {id}     running {id} | run {id}   `run`: the client runs it
//!                                          ask {id, changes}        keep what the command changed?
//! approve {id} | deny {id}
//! tool_result {id, output}                 result {id, success, output}
//!                                          compacted {note, turn}   where the turn no longer fits the model's window
//!                                          results {text}           send this to the model, then chunk ... again
//!                                          stop {reason, text?}     or: the turn is over
//! ```
//!
//! A turn begins with the first chunk. `stop_model` says that no more of the reply is wanted; `end` still has to follow.
//! `cancel` ends the turn from anywhere, with `stop`; in the middle of a reply its `end` has to follow too, and what comes
//! before that is dropped. Ids are those of one reply: a result that comes when its turn is over must not be said any more.
//! A line that cannot be read, or does not fit, is told by `error` and changes nothing. A client reads while it writes: it
//! is told of each chunk, and who does not read is not read. When the input ends the client is taken to be gone: what runs is
//! ended, and nothing more is told. What looks at the project after changes is told as a call is that nobody made:
//! `running` and `result` with the tool `project_check`.
//!
//! [`SCHEMA`] describes every line. One reply is held in memory, and one line of the client's; where the client does not
//! read what it is told, nothing more is read from it.

mod lines;
pub(crate) mod words;

pub use words::{SCHEMA, VERSION};

use crate::messages;
use crate::question::Choices;
use futures_util::StreamExt;
use lines::{Line, Lines};
use serde_json::Value;
use std::collections::HashMap;
use std::fmt;
use std::io;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use tokio::io::{AsyncBufRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::oneshot;
use toolfence_agent::agent::Canceller;
use toolfence_agent::agent::hands::{self, Hands, Noted};
use toolfence_agent::transcript::Transcript;
use toolfence_policy::toolbox::Toolbox;
use toolfence_policy::{Cleared, Facts, Pending, Policy};
use toolfence_protocol::{Catalog, Error, Language, Role, Text, ToolResult, ToolSpec, prompt};
use toolfence_session::{Action, Answer, Compacted, Input, Note, Session, SessionOptions, StopReason};
use toolfence_tools::ProjectChecks;
use toolfence_workspace::Workspace;
use toolfence_workspace::undo::{History, Turn};
use words::Said;

/// What a pipe serves, to be built with the tools, the policy and what is known of the world.
#[derive(Clone)]
#[non_exhaustive]
pub struct Pipe {
    /// The tools that run here.
    pub toolbox: Toolbox,
    /// What may run.
    pub policy: Policy,
    /// What the policy asks of the world.
    pub facts: Arc<dyn Facts>,
    /// How replies are read and answered, and the language of everything that is said: instructions and answers to the model,
    /// questions, failures and errors to the client. `system` and `history` are the client's and stay empty.
    pub session: SessionOptions,
    /// What stands above the instructions in `ready`: who the model is.
    pub persona: String,
    /// Bytes of one line of the client's.
    pub line_bytes: usize,
    /// Where turns, decisions and results are recorded.
    pub transcript: Option<Arc<Mutex<Transcript>>>,
    /// Where what a turn changes in this workspace is kept, so that it can be undone.
    pub history: Option<(Arc<History>, Arc<Workspace>)>,
    /// What looks at the project after the changes of each reply.
    pub checks: Option<Arc<ProjectChecks>>,
}

/// Characters of what a client said that are said back.
const MOST_ECHOED: usize = 300;

/// Why a pipe ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ending {
    /// The client's input ended, or nobody reads what it is told.
    ClientGone,
    /// The canceller was told to end all.
    Cancelled,
}

/// Where a turn is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Idle,
    /// A reply is wanted.
    Reply,
    /// Pieces of it came.
    Begun,
    /// It was cancelled, and its end has not come.
    Dropped,
    /// Its calls are being answered.
    Calls,
}

impl fmt::Debug for Pipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pipe").field("toolbox", &self.toolbox).field("session", &self.session).finish_non_exhaustive()
    }
}

impl Pipe {
    /// A pipe with the usual options.
    pub fn new(toolbox: Toolbox, policy: Policy, facts: Arc<dyn Facts>) -> Pipe {
        Pipe {
            toolbox,
            policy,
            facts,
            session: SessionOptions::default(),
            persona: String::new(),
            line_bytes: 16 << 20,
            transcript: None,
            history: None,
            checks: None,
        }
    }

    /// Serves one client until its input ends, it stops reading, or `canceller` is told to end all. Then whatever runs has
    /// ended.
    ///
    /// # Errors
    /// The input cannot be read, or the output not written for another reason than that nobody reads it.
    pub async fn serve(
        self,
        input: impl AsyncBufRead + Unpin,
        output: impl AsyncWrite + Unpin,
        canceller: &Canceller,
    ) -> Result<Ending, Error> {
        let mut lines = Lines::new(input, self.line_bytes);
        let mut output = output;
        let (mut pipe, mut theirs, mut before) = (self, Vec::new(), None);
        loop {
            // The tools are the same ones, with what runs in the background: only how much there may be of everything is new.
            pipe.toolbox = pipe.toolbox.with_limits(pipe.session.limits);
            let toolbox = pipe.toolbox.clone().in_language(pipe.session.language);
            let mut talk = Talk::new(pipe, &toolbox, &mut output);
            (talk.theirs, talk.before) = (theirs, before);
            talk.tell_ready();
            let served = tokio::select! {
                biased;
                () = canceller.cancelled() => return Ok(Ending::Cancelled),
                served = talk.serve(&mut lines) => served,
            };
            match served {
                Ok(Served::Changed) => (pipe, theirs, before) = (talk.pipe, talk.theirs, talk.before),
                Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                    return Err(Error::because(messages::talk_to_client(), error));
                }
                _ => return Ok(Ending::ClientGone),
            }
        }
    }
}

/// Why a talk came to an end.
enum Served {
    /// The client is gone.
    Gone,
    /// The client has set options, with which it goes on.
    Changed,
}

/// One client and its turn.
struct Talk<'a, W> {
    pipe: Pipe,
    output: W,
    /// Lines that are not written yet.
    unwritten: String,
    hands: Hands<'a>,
    /// What came while the client was slow to read.
    finished: Vec<Result<ToolResult, Error>>,
    /// The tools that the client runs.
    theirs: Vec<ToolSpec>,
    session: Option<Session>,
    /// The session of the last turn: what its model has read, the model of this one has read too.
    before: Option<Session>,
    phase: Phase,
    /// Messages of the session that the client has, or has no need of.
    sent: usize,
    asked: Option<Pending>,
    /// When the last question was put.
    asked_at: Instant,
    /// The question about what a running command changed, and what takes its answer.
    changes_asked: Option<(Pending, oneshot::Sender<Result<(), Text>>)>,
    /// The turn was made shorter, and the client does not know it yet.
    compacted: Option<Compacted>,
    /// Calls that the client runs: the tool, and since when.
    awaited: HashMap<String, (String, Instant)>,
    /// While it lives, what changes is of this turn. Dropped after what runs.
    turn: Option<Turn>,
    /// The client has set options.
    changed: bool,
}

impl<'a, W: AsyncWrite + Unpin> Talk<'a, W> {
    fn new(pipe: Pipe, toolbox: &'a Toolbox, output: W) -> Talk<'a, W> {
        let hands = Hands::new(toolbox, pipe.checks.clone());
        Talk {
            pipe,
            output,
            unwritten: String::new(),
            hands,
            finished: Vec::new(),
            theirs: Vec::new(),
            session: None,
            before: None,
            phase: Phase::Idle,
            sent: 0,
            asked: None,
            asked_at: Instant::now(),
            changes_asked: None,
            compacted: None,
            awaited: HashMap::new(),
            turn: None,
            changed: false,
        }
    }

    async fn serve<R: AsyncBufRead + Unpin>(&mut self, lines: &mut Lines<R>) -> io::Result<Served> {
        loop {
            self.act();
            self.write().await?;
            if self.changed {
                return Ok(Served::Changed);
            }
            if !self.finished.is_empty() {
                let finished = std::mem::take(&mut self.finished);
                finished.into_iter().for_each(|result| self.ran(result));
                continue;
            }
            tokio::select! {
                biased;
                Some(noted) = self.hands.noted.recv() => {
                    match noted {
                        Noted::Said { id, note } => self.tell(words::progress(&id, &note)),
                        // The output comes with the result.
                        Noted::Printed { .. } => {}
                        Noted::Asked { question, answer } => {
                            self.tell(words::ask(&question, self.language()));
                            self.changes_asked = Some((*question, answer));
                            self.asked_at = Instant::now();
                        }
                    }
                }
                Some(result) = self.hands.running.next() => self.ran(result),
                line = lines.next() => match line? {
                    Some(line) => self.take(line),
                    None => return Ok(Served::Gone),
                },
            }
        }
    }

    /// Writes what is to be told. Calls go on meanwhile: a client that is slow to read must not stop their deadlines.
    async fn write(&mut self) -> io::Result<()> {
        let Talk { output, unwritten, hands, finished, .. } = self;
        let mut written = pin!(async {
            output.write_all(unwritten.as_bytes()).await?;
            output.flush().await
        });
        loop {
            tokio::select! {
                biased;
                done = &mut written => { done?; break }
                Some(result) = hands.running.next() => finished.push(result),
            }
        }
        self.unwritten.clear();
        Ok(())
    }

    fn tell(&mut self, line: Value) {
        self.unwritten.push_str(&line.to_string());
        self.unwritten.push('\n');
    }

    /// The language of what the client and its model are told.
    fn language(&self) -> Language {
        self.pipe.session.language
    }

    fn catalog(&self) -> Catalog {
        let ours = self.pipe.toolbox.catalog();
        ours.specs().iter().chain(&self.theirs).cloned().collect()
    }

    fn tell_ready(&mut self) {
        let catalog = self.pipe.policy.marked(&self.catalog(), &*self.pipe.facts);
        let instructions = prompt::instructions(&catalog, self.language());
        let parts = [self.pipe.persona.trim(), instructions.trim()];
        let told = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n");
        let names: Vec<&str> = catalog.specs().iter().map(|spec| spec.name.as_ref()).collect();
        self.tell(words::ready(&told, &names));
    }

    fn take(&mut self, line: Line) {
        let taken = match line {
            Line::TooLong => Err(messages::line_too_long(self.pipe.line_bytes)),
            Line::NotUtf8 => Err(messages::line_not_utf8()),
            Line::Text(text) if text.trim().is_empty() => Ok(()),
            Line::Text(text) => match serde_json::from_str::<Said>(&text) {
                Ok(said) => self.said(said),
                Err(error) => {
                    let why: String = error.to_string().chars().take(MOST_ECHOED).collect();
                    Err(messages::line_unreadable(why))
                }
            },
        };
        if let Err(message) = taken {
            self.tell(words::error(&message, self.language()));
        }
    }

    /// # Errors
    /// Why what was said does not fit; nothing is changed then.
    fn said(&mut self, said: Said) -> Result<(), Text> {
        match said {
            Said::Tools { tools } => self.take_tools(tools)?,
            Said::Options { limits, results } => self.take_options(&limits, results)?,
            Said::Chunk { .. } if self.phase == Phase::Dropped => {}
            Said::End { .. } if self.phase == Phase::Dropped => self.phase = Phase::Idle,
            Said::Chunk { text } => {
                self.reply("chunk")?.handle(Input::Chunk(&text));
                self.record(|transcript, _| transcript.chunk(&text));
                self.phase = Phase::Begun;
            }
            Said::End { reason } => {
                self.reply("end")?.handle(Input::End(reason));
                self.phase = Phase::Calls;
            }
            Said::Approve { id, always } => {
                let answer = self.choices(&id)?.approval(always)?;
                self.answer(&id, answer)?;
            }
            Said::Edit { id, args } => {
                let answer = self.choices(&id)?.edit(args)?;
                self.answer(&id, answer)?;
            }
            Said::Deny { id, reason } => {
                let why = reason.map_or_else(messages::user_said_no, Text::from);
                self.answer(&id, Answer::No(why))?;
            }
            Said::ToolResult(result) => {
                let known = self.awaited.remove(&result.id);
                let (tool, since) = known.ok_or_else(|| messages::no_result_awaited(format!("{:?}", result.id)))?;
                let elapsed = u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX);
                self.handle(Input::Result(result.result(&tool, elapsed)));
            }
            Said::Cancel {} => {
                let begun = self.phase == Phase::Begun;
                self.end_turn(Input::Cancel);
                self.act();
                if begun {
                    self.phase = Phase::Dropped;
                }
            }
        }
        Ok(())
    }

    fn take_options(&mut self, limits: &serde_json::Map<String, Value>, results: words::Results) -> Result<(), Text> {
        if self.phase != Phase::Idle {
            return Err(messages::options_between_turns_only());
        }
        let mut wanted = self.pipe.session.limits;
        for (key, number) in limits {
            wanted.set(key, &number.to_string()).map_err(|error| error.text())?;
        }
        self.pipe.session.limits = wanted;
        results.set(&mut self.pipe.session.format);
        self.changed = true;
        Ok(())
    }

    fn take_tools(&mut self, tools: Vec<words::HostTool>) -> Result<(), Text> {
        if self.phase != Phase::Idle {
            return Err(messages::tools_between_turns_only());
        }
        self.theirs = tools.into_iter().map(words::HostTool::spec).collect::<Result<_, _>>()?;
        self.tell_ready();
        Ok(())
    }

    /// The session that waits for more of a reply; between turns a new one.
    fn reply(&mut self, what: &str) -> Result<&mut Session, Text> {
        match self.phase {
            Phase::Calls => return Err(messages::last_reply_is_answered(what)),
            Phase::Reply | Phase::Begun | Phase::Dropped => {}
            Phase::Idle => {
                let history = self.pipe.history.as_ref();
                self.turn = history.map(|(history, workspace)| history.begin(workspace, ""));
                let (mut options, facts) = (self.pipe.session.clone(), self.pipe.facts.clone());
                options.checks = self.pipe.checks.is_some();
                let mut session = Session::new(options, Arc::new(self.catalog()), self.pipe.policy.clone(), facts);
                if let Some(mut before) = self.before.take() {
                    session.follows(&mut before);
                }
                self.session = Some(session);
                self.record(Transcript::attach);
                // What the user said is between the client and its model.
                self.handle(Input::User(""));
                self.record(|transcript, session| transcript.user("", session));
                self.sent = 0;
                self.act();
            }
        }
        self.session.as_mut().ok_or_else(messages::no_turn)
    }

    /// The answers that the question about this call takes.
    ///
    /// # Errors
    /// There is no question about it.
    fn choices(&self, id: &str) -> Result<Choices, Text> {
        let about_changes = self.changes_asked.as_ref().map(|(question, _)| question);
        let mut questions = about_changes.into_iter().chain(&self.asked);
        let question = questions.find(|question| question.call().id == id);
        question.map(Choices::of).ok_or_else(|| messages::nothing_asked(format!("{id:?}")))
    }

    fn answer(&mut self, id: &str, answer: Answer) -> Result<(), Text> {
        if let Some((question, kept)) = self.changes_asked.take_if(|(question, _)| question.call().id == id) {
            self.record_answer(&question, &answer);
            let (keep, rules) = answer.to_changes(&question);
            if let Some(session) = &mut self.session {
                let mut policy = session.policy().clone();
                policy.remember(rules);
                session.set_policy(policy);
            }
            // A call that was stopped in the meantime needs no answer.
            let _ = kept.send(keep);
            return Ok(());
        }
        let pending = self.asked.take_if(|pending| pending.call().id == id);
        let pending = pending.ok_or_else(|| messages::nothing_asked(format!("{id:?}")))?;
        self.record_answer(&pending, &answer);
        self.handle(answer.to(pending));
        Ok(())
    }

    fn record(&self, write: impl FnOnce(&mut Transcript, &Session)) {
        if let (Some(transcript), Some(session)) = (&self.pipe.transcript, &self.session) {
            write(&mut transcript.lock().unwrap_or_else(PoisonError::into_inner), session);
        }
    }

    fn record_answer(&self, question: &Pending, answer: &Answer) {
        let elapsed = u64::try_from(self.asked_at.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.record(|transcript, _| transcript.asked(question, answer, elapsed));
    }

    fn handle(&mut self, input: Input<'_>) {
        if let Some(session) = &mut self.session {
            session.handle(input);
        }
    }

    fn ran(&mut self, result: Result<ToolResult, Error>) {
        match result {
            Ok(result) => {
                self.hands.open.retain(|call| call.id != result.id);
                // A call that has its result asks nothing any more.
                self.changes_asked.take_if(|(question, _)| question.call().id == result.id);
                // The client's model reads texts.
                self.handle(Input::Result(result.without_images(self.language())));
            }
            Err(error) => {
                let message = error.text();
                self.tell(words::error(&message, self.language()));
                self.end_turn(Input::Failed(message));
            }
        }
    }

    fn end_turn(&mut self, input: Input<'_>) {
        self.hands.stop();
        self.asked = None;
        self.changes_asked = None;
        self.awaited.clear();
        self.handle(input);
    }

    /// Does what the session wants done.
    fn act(&mut self) {
        while let Some(action) = self.session.as_mut().and_then(Session::poll) {
            self.record(|transcript, session| transcript.action(&action, session));
            match action {
                Action::CallModel => self.want_reply(),
                Action::Compacted(done) => self.compacted = Some(done),
                Action::StopModel => self.tell(words::stop_model()),
                Action::Show(event) => {
                    self.tell(words::shown(&event, self.language()));
                }
                Action::Answered(result) => {
                    self.tell(words::result(&result, self.language()));
                }
                Action::Ask(pending) => {
                    self.tell(words::ask(&pending, self.language()));
                    self.asked = Some(pending);
                    self.asked_at = Instant::now();
                }
                Action::Run(cleared) => self.run(cleared),
                Action::Check => {
                    let call = self.hands.check();
                    call.iter().for_each(|call| self.tell(words::begins("running", call)));
                }
                Action::Stop(reason) => self.turn_is_over(&reason),
                // What a later version of the session may add.
                _ => {}
            }
        }
    }

    fn run(&mut self, cleared: Cleared) {
        let call = cleared.call();
        if self.theirs.iter().any(|spec| spec.name == call.name) {
            self.awaited.insert(call.id.clone(), (call.name.clone(), Instant::now()));
            self.tell(words::begins("run", call));
        } else {
            self.tell(words::begins("running", call));
            if let Some((history, _)) = &self.pipe.history {
                history.entitle(&hands::title_of(&cleared, &self.pipe.toolbox.catalog()));
            }
            self.hands.start(cleared);
        }
    }

    fn want_reply(&mut self) {
        self.phase = Phase::Reply;
        let Some(session) = &self.session else { return };
        let mut text = session.history().pop().map(|message| message.content);
        let mut shorter = None;
        if let Some(done) = self.compacted.take() {
            let mut messages = session.messages();
            text = messages.pop().map(|results| results.content);
            shorter = Some(words::compacted(&done, &messages));
        }
        let begins = self.sent == 0;
        self.sent = session.history().len();
        if let Some(text) = text.filter(|_| !begins) {
            shorter.into_iter().for_each(|line| self.tell(line));
            self.tell(words::results(&text));
        }
    }

    /// What was allowed for always stays; the conversation is the client's.
    fn turn_is_over(&mut self, reason: &StopReason) {
        self.phase = Phase::Idle;
        self.turn = None;
        self.record(|transcript, _| transcript.ended(&Ok(reason.clone())));
        let Some(session) = self.session.take() else { return };
        let history = session.history();
        let unsent = history.get(self.sent..).unwrap_or_default().iter();
        let unsent = unsent.filter(|message| message.role == Role::User).map(|message| message.content.as_str());
        let text = unsent.chain(session.owed().iter().map(Note::text)).collect::<Vec<_>>().join("\n\n");
        self.pipe.policy = session.policy().clone();
        self.tell(words::over(reason, (!text.is_empty()).then_some(&text)));
        self.before = Some(session);
    }
}
