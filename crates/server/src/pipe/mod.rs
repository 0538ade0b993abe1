//! A session for a chat client in any language, over JSON lines.
//!
//! The client keeps its own conversation and talks to its own model. It sends the pieces of each reply to the pipe. The
//! pipe finds the calls, judges them, asks the client about them, runs them, and returns the text of the next message
//! to the model. Each turn is run by an [`Agent`]: the client acts as its backend, its host, and some of its tools.
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
//! A turn begins with the first chunk. `stop_model` tells the client to stop its model; `end` must still follow.
//! `cancel` ends the turn at any time, with `stop`; in the middle of a reply its `end` must follow too, and the rest of
//! the reply is dropped. Ids are unique within one reply: the client must not send a result after its turn has ended. A
//! line that is malformed or out of place changes nothing and is answered by `error`. The end of the input means that
//! the client has disconnected: everything that runs ends, and no more lines are written. The checks of the project
//! appear as a call without a reply: `running` and `result` with the tool `project_check`.
//!
//! [`SCHEMA`] describes every line. The pipe holds one reply and one line of the client in memory. While the client
//! does not read the output of the pipe, the pipe reads no input, so that unread output cannot fill the memory.

mod client;
mod lines;
pub(crate) mod words;

pub use words::{SCHEMA, VERSION};

use client::{Channel, ClientHost, ClientModel, ClientTool, Phase, Piece};
use lines::{Line, Lines};
use serde_json::Value;
use std::fmt;
use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use tokio::io::{AsyncBufRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc;
use toolfence_agent::agent::{Agent, Canceller};
use toolfence_agent::transcript::Transcript;
use toolfence_policy::toolbox::{BoxFuture, Toolbox};
use toolfence_policy::{Facts, Policy};
use toolfence_protocol::{Error, Text, ToolSpec, prompt, text};
use toolfence_session::{Answer, Session, SessionOptions};
use toolfence_tools::ProjectChecks;
use toolfence_workspace::Workspace;
use toolfence_workspace::undo::History;
use words::ClientLine;

/// The configuration of a pipe.
#[non_exhaustive]
pub struct Pipe {
    /// The tools that the pipe runs.
    pub toolbox: Toolbox,
    /// The rules for what may run.
    pub policy: Policy,
    /// Facts about the environment for the policy.
    pub facts: Arc<dyn Facts>,
    /// How replies are read and answered, and the language of all messages to the model and to the client. `system` and
    /// `history` are up to the client and stay empty.
    pub session: SessionOptions,
    /// The persona, which precedes the instructions in `ready`.
    pub persona: String,
    /// The most bytes of one line of the client.
    pub line_bytes: usize,
    /// The transcript of turns, decisions and results.
    pub transcript: Option<Transcript>,
    /// The undo history of the changes in this workspace.
    pub history: Option<(Arc<History>, Arc<Workspace>)>,
    /// The checks that run after the changes of each reply.
    pub checks: Option<Arc<ProjectChecks>>,
}

/// The most characters of a client's line that an error repeats.
const MOST_ECHOED: usize = 300;

/// The reason why a pipe ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ending {
    /// The client closed its input, or stopped reading the output.
    ClientGone,
    /// The canceller was cancelled.
    Cancelled,
}

impl fmt::Debug for Pipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pipe").field("toolbox", &self.toolbox).field("session", &self.session).finish_non_exhaustive()
    }
}

impl Pipe {
    /// Creates a pipe with the default options.
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

    /// Serves one client until its input ends, it stops reading, or `canceller` is cancelled. Then everything that was
    /// running has ended.
    ///
    /// # Errors
    /// Fails if the input cannot be read, or if the output cannot be written although it is open.
    pub async fn serve(
        self,
        input: impl AsyncBufRead + Unpin,
        output: impl AsyncWrite + Unpin,
        canceller: &Canceller,
    ) -> Result<Ending, Error> {
        let lines = Lines::new(input, self.line_bytes);
        let mut talk = Talk::new(self);
        tokio::select! {
            biased;
            () = canceller.cancelled() => Ok(Ending::Cancelled),
            served = talk.serve(lines, output) => match served {
                Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                    Err(Error::because(text!("talk to the client"), error))
                }
                _ => Ok(Ending::ClientGone),
            },
        }
    }
}

/// A running turn.
struct RunningTurn {
    /// The turn, which returns the session and the transcript.
    run: BoxFuture<'static, (Session, Option<Transcript>)>,
    canceller: Canceller,
    pieces: mpsc::UnboundedSender<Piece>,
}

/// One client and its turn.
struct Talk {
    pipe: Pipe,
    channel: Channel,
    /// The tools that the client runs.
    theirs: Arc<[ToolSpec]>,
    turn: Option<RunningTurn>,
    /// The session of the last turn, from which the next one inherits.
    before: Option<Session>,
}

impl Talk {
    fn new(mut pipe: Pipe) -> Talk {
        let channel = Channel::new(pipe.session.language);
        pipe.toolbox = pipe.toolbox.with_limits(pipe.session.limits);
        Talk { pipe, channel, theirs: Arc::default(), turn: None, before: None }
    }

    async fn serve(
        &mut self,
        mut lines: Lines<impl AsyncBufRead + Unpin>,
        mut output: impl AsyncWrite + Unpin,
    ) -> io::Result<()> {
        let channel = self.channel.clone();
        self.send_ready();
        loop {
            // Write everything before reading more: a client that does not read must not fill the memory.
            let unwritten = channel.take_unwritten();
            if !unwritten.is_empty() {
                let write = async {
                    output.write_all(unwritten.as_bytes()).await?;
                    output.flush().await
                };
                self.advance_during(write).await?;
                continue;
            }
            let next = async {
                tokio::select! {
                    biased;
                    () = channel.has_unwritten() => Ok(Next::Write),
                    line = lines.next() => line.map(|line| line.map_or(Next::Gone, Next::Line)),
                }
            };
            match self.advance_during(next).await? {
                Next::Write => {}
                Next::Line(line) => self.take(line),
                Next::Gone => return Ok(()),
            }
        }
    }

    /// Waits for `other` and runs the turn meanwhile, so that the deadlines of calls hold even if the client reads
    /// slowly. The turn is polled first: it has acted on a line before the next one is read.
    async fn advance_during<T>(&mut self, other: impl Future<Output = T>) -> T {
        let mut other = pin!(other);
        poll_fn(|context| {
            if let Some(turn) = &mut self.turn
                && let Poll::Ready((session, transcript)) = turn.run.as_mut().poll(context)
            {
                self.turn = None;
                self.pipe.policy = session.policy().clone();
                self.pipe.transcript = transcript;
                self.before = Some(session);
            }
            other.as_mut().poll(context)
        })
        .await
    }

    /// Returns the pipe's tools and the client's tools.
    fn toolbox(&self) -> Toolbox {
        let add = |toolbox: Toolbox, spec: &ToolSpec| toolbox.with(ClientTool::new(spec.clone(), self.channel.clone()));
        self.theirs.iter().fold(self.pipe.toolbox.clone(), add)
    }

    fn send_ready(&self) {
        let catalog = self.pipe.policy.marked(&self.toolbox().catalog(), &*self.pipe.facts);
        let instructions = prompt::instructions(&catalog, self.pipe.session.language);
        let parts = [self.pipe.persona.trim(), instructions.trim()];
        let text = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n");
        let names: Vec<&str> = catalog.specs().iter().map(|spec| spec.name.as_ref()).collect();
        self.channel.send(&words::ready(&text, &names));
    }

    fn take(&mut self, line: Line) {
        let taken = match line {
            Line::TooLong => Err(text!(
                "the line has more than {bytes} {bytes|byte|bytes}; send smaller pieces",
                bytes = self.pipe.line_bytes
            )),
            Line::NotUtf8 => Err(text!("the line is not UTF-8; it was ignored")),
            Line::Text(text) if text.trim().is_empty() => Ok(()),
            Line::Text(text) => match serde_json::from_str::<ClientLine>(&text) {
                Ok(line) => self.handle_line(line),
                Err(error) => {
                    let why: String = error.to_string().chars().take(MOST_ECHOED).collect();
                    Err(text!("this line cannot be read: {problem}", problem = why))
                }
            },
        };
        if let Err(message) = taken {
            self.channel.send_error(&message);
        }
    }

    /// Handles a line.
    ///
    /// # Errors
    /// Fails if the line is not valid in this state. Then nothing has changed.
    fn handle_line(&mut self, line: ClientLine) -> Result<(), Text> {
        match line {
            ClientLine::Tools { tools } => self.take_tools(tools),
            ClientLine::Options { limits, results } => self.take_options(&limits, results),
            ClientLine::Chunk { text } => self.take_piece("chunk", Piece::Text(text)),
            ClientLine::End { reason } => self.take_piece("end", Piece::End(reason)),
            ClientLine::Approve { id, always } => self.channel.answer(&id, |choices| choices.approval(always)),
            ClientLine::Edit { id, args } => self.channel.answer(&id, |choices| choices.edit(args)),
            ClientLine::Deny { id, reason } => {
                let why = reason.map_or_else(|| text!("The user said no."), Text::from);
                self.channel.answer(&id, |_| Ok(Answer::No(why)))
            }
            ClientLine::ToolResult(result) => self.channel.take_result(result),
            ClientLine::Cancel {} => {
                if let Some(turn) = &self.turn {
                    turn.canceller.cancel();
                }
                if self.channel.phase() == Phase::Begun {
                    // The client still sends the rest of this reply, up to its `end`.
                    self.channel.set_phase(Phase::Dropped);
                }
                Ok(())
            }
        }
    }

    fn take_options(&mut self, limits: &serde_json::Map<String, Value>, results: words::Results) -> Result<(), Text> {
        if self.channel.phase() != Phase::Idle {
            return Err(text!("options can be set between turns only"));
        }
        // Change a copy, so that one invalid limit changes none of them.
        let mut wanted = self.pipe.session.limits;
        for (key, number) in limits {
            wanted.set(key, &number.to_string()).map_err(|error| error.text())?;
        }
        self.pipe.session.limits = wanted;
        self.pipe.toolbox = self.pipe.toolbox.clone().with_limits(wanted);
        results.set(&mut self.pipe.session.format);
        self.send_ready();
        Ok(())
    }

    fn take_tools(&mut self, tools: Vec<words::HostTool>) -> Result<(), Text> {
        if self.channel.phase() != Phase::Idle {
            return Err(text!("tools can be changed between turns only"));
        }
        self.theirs = tools.into_iter().map(words::HostTool::spec).collect::<Result<_, _>>()?;
        self.send_ready();
        Ok(())
    }

    /// Takes a piece of a reply. Between turns, this begins a turn.
    fn take_piece(&mut self, what: &str, piece: Piece) -> Result<(), Text> {
        let is_end = matches!(piece, Piece::End(_));
        match self.channel.phase() {
            Phase::Calls => {
                return Err(text!(
                    "{what}: the calls of the last reply are still running; wait for their results or stop them",
                    what
                ));
            }
            Phase::Dropped if is_end => {
                self.channel.set_phase(Phase::Idle);
                return Ok(());
            }
            Phase::Dropped => return Ok(()),
            Phase::Idle | Phase::Reply | Phase::Begun => {}
        }
        self.channel.set_phase(if is_end { Phase::Calls } else { Phase::Begun });
        if self.turn.is_none() {
            self.turn = Some(self.begin_turn());
        }
        if let Some(turn) = &self.turn {
            // A turn that has ended reads no more of the reply.
            _ = turn.pieces.send(piece);
        }
        Ok(())
    }

    /// Begins a turn with an empty conversation: the client keeps its own. Approvals for the session stay valid.
    fn begin_turn(&mut self) -> RunningTurn {
        let toolbox = self.toolbox();
        let (policy, facts) = (self.pipe.policy.clone(), self.pipe.facts.clone());
        let mut session = Session::new(self.pipe.session.clone(), Arc::new(toolbox.catalog()), policy, facts);
        if let Some(mut before) = self.before.take() {
            session.follows(&mut before);
        }
        let (pieces, replies) = mpsc::unbounded_channel();
        let model = Arc::new(ClientModel::new(self.channel.clone(), replies));
        let mut agent = Agent::new(session, toolbox, model);
        if let Some((history, workspace)) = &self.pipe.history {
            agent = agent.history(history.clone(), workspace.clone());
        }
        if let Some(checks) = &self.pipe.checks {
            agent = agent.checks(checks.clone());
        }
        if let Some(transcript) = self.pipe.transcript.take() {
            agent = agent.transcript(transcript);
        }
        let canceller = agent.canceller();
        let mut host = ClientHost::new(self.channel.clone(), self.theirs.clone());
        // Without tokio's cooperative budget, the turn yields only when it has nothing to do, so that it acts on each
        // line before the next is read.
        let run = Box::pin(tokio::task::unconstrained(async move {
            // The client sends the user's prompt to its model itself.
            let ended = agent.run("", &mut host).await;
            host.end(&agent, ended);
            agent.into_parts()
        }));
        RunningTurn { run, canceller, pieces }
    }
}

/// The next action of [`Talk::serve`].
enum Next {
    /// Write the turn's new lines.
    Write,
    Line(Line),
    /// The client has disconnected.
    Gone,
}
