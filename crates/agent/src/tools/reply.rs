//! Handles one reply of the host's model: its questions, its results, and the message to send back.

use super::Tools;
use crate::agent::{Agent, Host};
use crate::backend::{Backend, Chunk, Sink};
use tokio::sync::{Mutex, mpsc, oneshot};
use toolfence_policy::toolbox::BoxFuture;
use toolfence_policy::{Decision, Pending};
use toolfence_protocol::invisible::escaped;
use toolfence_protocol::{
    Args, Error, ErrorKind, FinishReason, Language, Message, Role, Text, ToolCall, ToolResult, text,
};
use toolfence_session::{Answer, Note, StopReason};

/// The next step of a reply.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReplyStep {
    /// The user decides about a call or about the changes of a command. The reply waits for the answer.
    Question(Question),
    /// A call has its result, whether it ran or not. Results come in the order of the calls.
    Result(ToolResult),
    /// The last step: send this message to the model and pass its reply to [`Tools::reply`](super::Tools::reply). It
    /// has the results of the calls, and the errors of unreadable blocks.
    Send(String),
    /// The last step: the turn has ended, and the user is next. With [`StopReason::Answered`] the reply is the model's
    /// answer; otherwise the model repeated itself, for instance, or used up its rounds. Results that the model was not
    /// sent precede the next [`user_message`](super::Tools::user_message).
    Ended(StopReason),
}

/// A report of the agent to the host.
#[derive(Debug)]
pub(super) enum Report {
    Step(Box<ReplyStep>),
    /// The message for the model; the turn waits for its next reply.
    Send(String),
    /// The texts that the model had not received when the turn ended.
    Unsent(String),
}

/// A reply in progress. [`next`](PendingReply::next) runs its calls.
#[derive(Debug)]
#[must_use = "nothing runs before `next` is awaited"]
pub struct PendingReply<'t> {
    tools: &'t mut Tools,
    /// The text of the reply, until it is passed to the turn.
    text: Option<String>,
    finish: FinishReason,
    /// How the turn ended, until the steps before its end were returned.
    ended: Option<Result<StopReason, Error>>,
}

impl<'t> PendingReply<'t> {
    pub(super) fn new(tools: &'t mut Tools, text: String) -> PendingReply<'t> {
        PendingReply { tools, text: Some(text), finish: FinishReason::Stop, ended: None }
    }

    /// Sets why the reply ended, before the first [`next`](PendingReply::next): a reply that was cut off by its length
    /// or its connection may end in the middle of a call, which does not run then.
    pub fn finished(self, finish: FinishReason) -> PendingReply<'t> {
        PendingReply { finish, ..self }
    }

    /// Runs the calls of the reply up to the next step. Call it until it returns [`ReplyStep::Send`] or
    /// [`ReplyStep::Ended`].
    ///
    /// Dropping the future loses nothing: the next call of this function continues. It needs a tokio runtime with time
    /// and IO.
    ///
    /// # Errors
    /// Fails if a tool failed in a way that the model cannot correct, or if the last step was returned already. The
    /// tools remain usable.
    pub async fn next(&mut self) -> Result<ReplyStep, Error> {
        if self.text.is_some() {
            // This happens when the future is polled: a reply that is never polled must not end the previous turn.
            if !self.tools.waits_for_reply {
                self.tools.end_turn().await;
            }
            // The text is taken after the wait: if the future was dropped during it, the next call needs the text.
            self.text.take().into_iter().for_each(|text| self.tools.begin(text, self.finish));
        }
        loop {
            // Reports come first: a turn that has ended may have left some that were not returned yet.
            let report = match (self.tools.reports.try_recv(), &mut self.tools.turn) {
                (Ok(report), _) => report,
                // The turn waits for the next reply, so awaiting it here would never end.
                (Err(_), Some(_)) if self.tools.waits_for_reply => break,
                (Err(_), None) => break,
                (Err(_), Some(turn)) => tokio::select! {
                    biased;
                    Some(report) = self.tools.reports.recv() => report,
                    (agent, ended) = turn => {
                        (self.tools.agent, self.tools.turn) = (Some(agent), None);
                        self.ended = Some(ended);
                        continue;
                    }
                },
            };
            match report {
                Report::Step(step) => return Ok(*step),
                Report::Send(message) => {
                    self.tools.waits_for_reply = true;
                    return Ok(ReplyStep::Send(message));
                }
                Report::Unsent(text) => self.tools.unsent.push(text),
            }
        }
        let Some(ended) = self.ended.take() else {
            return Err(Error::with_kind(ErrorKind::InvalidInput, text!("This reply was handled already.")));
        };
        ended.map(ReplyStep::Ended)
    }
}

/// A question to the user about one call. Dropping it denies the call.
#[derive(Debug)]
#[must_use = "a question that is dropped is denied"]
pub struct Question {
    call: ToolCall,
    decision: Decision,
    diff: Option<String>,
    has_run: bool,
    language: Language,
    answer: oneshot::Sender<Answer>,
}

impl Question {
    /// Returns the call with the canonical names of tool and arguments.
    pub fn call(&self) -> &ToolCall {
        &self.call
    }

    /// Returns the question as a sentence: why the user decides about this.
    pub fn reason(&self) -> String {
        self.decision.reason.render(self.language)
    }

    /// Returns the rule that requires approval, and the files that would change.
    pub fn decision(&self) -> &Decision {
        &self.decision
    }

    /// Returns what the call would change, or what the command changed on its private copy: unified diffs, removals and
    /// new files. `None` if no file changes. Control characters and invisible characters are escaped, so that the text
    /// can be printed.
    pub fn diff(&self) -> Option<&str> {
        self.diff.as_deref()
    }

    /// Returns `true` if the command has run on its private copy and the question is whether to keep what it changed.
    pub fn has_run(&self) -> bool {
        self.has_run
    }

    /// Runs the call, or keeps the changes.
    pub fn approve(self) {
        self.send(Answer::Yes);
    }

    /// Runs the call, or keeps the changes, and does not ask about the same again.
    pub fn always(self) {
        self.send(Answer::Always(None));
    }

    /// Does not run the call, or drops the changes. The model receives the reason.
    pub fn deny(self, why: impl Into<Text>) {
        self.send(Answer::No(why.into()));
    }

    /// Runs the call with other arguments, if the rules agree.
    pub fn edit(self, args: Args) {
        self.send(Answer::Edit(args));
    }

    fn send(self, answer: Answer) {
        // A turn that was cancelled needs no answer.
        let _ = self.answer.send(answer);
    }
}

/// The backend of a turn, whose replies come from the host.
#[derive(Debug)]
pub(super) struct HostModel {
    pub(super) replies: Mutex<mpsc::UnboundedReceiver<(String, FinishReason)>>,
}

impl Backend for HostModel {
    fn stream<'a>(&'a self, _: &'a [Message], sink: &'a mut dyn Sink) -> BoxFuture<'a, Result<FinishReason, Error>> {
        Box::pin(async move {
            // The sender lives as long as the tools, which also hold this turn.
            let Some((text, finish)) = self.replies.lock().await.recv().await else { return Ok(FinishReason::Cut) };
            let is_wanted = sink.chunk(Chunk::Text(&text)).is_continue();
            Ok(if is_wanted { finish } else { FinishReason::Cut })
        })
    }
}

/// The host of one turn, which converts the agent's events to steps.
pub(super) struct StepHost {
    reports: mpsc::UnboundedSender<Report>,
    language: Language,
    /// The number of messages of the conversation that the host has.
    sent: usize,
}

impl StepHost {
    pub(super) fn new(reports: mpsc::UnboundedSender<Report>, language: Language) -> StepHost {
        StepHost { reports, language, sent: 0 }
    }

    fn report(&self, report: Report) {
        // Sending only fails while the tools are being dropped. This turn is then dropped too, so the report is not
        // needed.
        let _ = self.reports.send(report);
    }

    /// Reports the texts that the model had not received when the turn ended: results without another round, and notes.
    pub(super) fn end(&self, agent: &Agent) {
        let (session, messages) = (agent.session(), agent.session().messages());
        let unsent = messages.get(self.sent..).unwrap_or_default().iter();
        let unsent = unsent.filter(|message| message.role == Role::User).map(|message| message.content.as_str());
        let text = unsent.chain(session.owed().iter().map(Note::text)).collect::<Vec<_>>().join("\n\n");
        if !text.is_empty() {
            self.report(Report::Unsent(text));
        }
    }
}

impl Host for StepHost {
    fn calling(&mut self, history: &[Message]) {
        // The first request of a turn sends no message, because the host already has its reply.
        let is_first = std::mem::replace(&mut self.sent, history.len()) == 0;
        if let Some(results) = history.last().filter(|_| !is_first) {
            self.report(Report::Send(results.content.clone()));
        }
    }

    /// The host receives the results as text, which cannot contain images.
    fn takes_images(&self) -> bool {
        false
    }

    fn answered(&mut self, result: &ToolResult) {
        self.report(Report::Step(Box::new(ReplyStep::Result(result.clone()))));
    }

    fn ask<'a>(&'a mut self, pending: &'a Pending) -> BoxFuture<'a, Answer> {
        let (answer, answered) = oneshot::channel();
        let question = Question {
            call: pending.call().clone(),
            decision: pending.decision().clone(),
            diff: pending.diff().map(|diff| escaped(diff).into_owned()),
            has_run: pending.has_run(),
            language: self.language,
            answer,
        };
        self.report(Report::Step(Box::new(ReplyStep::Question(question))));
        Box::pin(async { answered.await.unwrap_or_else(|_| Answer::No(text!("The question was not answered."))) })
    }
}
