//! A session for a chat client in any language, over JSON lines.
//!
//! The client keeps its own conversation and talks to its own model. It sends the pieces of each reply to the pipe. The pipe finds
//! the calls, judges them, asks the client about them, runs them, and returns the text of the next message to the model. Each turn
//! is one of an [`Agent`]: the client is its backend, its host, and the tools that the client runs.
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
//! A turn begins with the first chunk. `stop_model` says that no more of the reply is wanted; `end` must still follow. `cancel` ends
//! the turn at any time, with `stop`; in the middle of a reply its `end` must follow too, and the rest of the reply is dropped. Ids
//! belong to one reply: the client must not send a result after its turn has ended. A line that cannot be read, or does not fit,
//! changes nothing and is answered by `error`. When the input ends, the client is gone: everything that runs ends, and no more
//! lines are written. The checks of the project appear as a call without a reply: `running` and `result` with the tool
//! `project_check`.
//!
//! [`SCHEMA`] describes every line. The pipe holds one reply and one line of the client in memory. It reads nothing while the
//! client does not read what it wrote.

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
use words::Said;

/// What a pipe serves, to be built with the tools, the policy and what is known of the world.
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
    pub transcript: Option<Transcript>,
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

    /// Serves one client until its input ends, it stops reading, or `canceller` is cancelled. Everything that was running has
    /// ended then.
    ///
    /// # Errors
    /// The input cannot be read, or the output cannot be written for another reason than that it is closed.
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

/// A turn under way.
struct RunningTurn {
    /// Gives the session and the transcript back.
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
    /// The session of the last turn: its model is the model of the next one.
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
            // Nothing is read before everything is written: a client that does not read must not fill the memory.
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

    /// Waits for `other` and runs the turn meanwhile, so that a client that is slow to read does not stop the deadlines of
    /// calls. The turn comes first: it has acted on a line before the next one is read.
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

    /// The tools that run here and those that the client runs.
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
            Line::Text(text) => match serde_json::from_str::<Said>(&text) {
                Ok(said) => self.follow(said),
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

    /// Does what a line asks for.
    ///
    /// # Errors
    /// Why the line does not fit. Nothing has changed then.
    fn follow(&mut self, said: Said) -> Result<(), Text> {
        match said {
            Said::Tools { tools } => self.take_tools(tools),
            Said::Options { limits, results } => self.take_options(&limits, results),
            Said::Chunk { text } => self.take_piece("chunk", Piece::Text(text)),
            Said::End { reason } => self.take_piece("end", Piece::End(reason)),
            Said::Approve { id, always } => self.channel.answer(&id, |choices| choices.approval(always)),
            Said::Edit { id, args } => self.channel.answer(&id, |choices| choices.edit(args)),
            Said::Deny { id, reason } => {
                let why = reason.map_or_else(|| text!("The user said no."), Text::from);
                self.channel.answer(&id, |_| Ok(Answer::No(why)))
            }
            Said::ToolResult(result) => self.channel.take_result(result),
            Said::Cancel {} => {
                if let Some(turn) = &self.turn {
                    turn.canceller.cancel();
                }
                if self.channel.phase() == Phase::Begun {
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

    /// Takes a piece of a reply. Between turns it begins one.
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

    /// Begins a turn with an empty conversation: the client keeps its own. What was always allowed stays allowed.
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
        // Without a budget of tokio the turn only waits when nothing is left to do, so that lines are read in time.
        let run = Box::pin(tokio::task::unconstrained(async move {
            // The words of the user are between the client and its model.
            let ended = agent.run("", &mut host).await;
            host.end(&agent, ended);
            agent.into_parts()
        }));
        RunningTurn { run, canceller, pieces }
    }
}

/// What [`Talk::serve`] does next.
enum Next {
    /// Write the lines that the turn has added.
    Write,
    Line(Line),
    /// The client is gone.
    Gone,
}
