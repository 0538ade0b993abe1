//! Handles replies with a single agent, whose turn stays open from one reply to the next.

use super::lines::{Reply, Report, Request};
use crate::args::Options;
use crate::choices::SCHEMA;
use crate::debug;
use crate::explain::explained;
use crate::failure::{Failure, INTERRUPTED, UNSUCCESSFUL, status_of};
use crate::not_kept::NotKept;
use crate::preview::label;
use crate::project::Project;
use crate::question::{Question, UserAnswer};
use crate::rules::{self, Rules};
use crate::shown::Words;
use serde_json::json;
use std::collections::{HashMap, HashSet};
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use tokio::sync::{mpsc, watch};
use toolfence_agent::agent::{Agent, Host, RoundEnd};
use toolfence_agent::backend::{Backend, Chunk, Sink};
use toolfence_agent::transcript::Store;
use toolfence_policy::Pending;
use toolfence_policy::toolbox::BoxFuture;
use toolfence_protocol::parse::{Event, Ignored};
use toolfence_protocol::{Error, FinishReason, Language, Learned, Message, ToolCall, ToolResult, format, text};
use toolfence_session::{Answer, StopReason};

/// The agent of an exec session, or of a single reply.
pub(crate) struct Worker {
    project: Project,
    rules: Rules,
    agent: Agent,
    replies: Arc<Replies>,
    /// The jobs that are running, or whose end the model has not been sent.
    jobs: HashSet<String>,
    /// When the last reply was handled.
    pub(crate) last_reply: Instant,
}

impl Worker {
    pub(crate) fn new(options: &Options) -> Result<Worker, Failure> {
        let (project, rules) = rules::open_with_servers(options, false)?;
        let replies = Arc::new(Replies::default());
        let transcript = rules.new_transcript(&project, None, Store::runs)?;
        let agent = rules.agent(&project, Learned::default(), replies.clone(), transcript)?;
        Ok(Worker { project, rules, agent, replies, jobs: HashSet::new(), last_reply: Instant::now() })
    }

    pub(crate) fn has_jobs(&self) -> bool {
        !self.jobs.is_empty()
    }

    /// Runs the calls of a reply and reports what happens; the last report is [`Report::End`]. The round is cancelled
    /// if `requests` is closed or `stop` becomes true.
    pub(crate) async fn handle(
        &mut self,
        reply: Reply,
        requests: &mut mpsc::Receiver<Request>,
        reports: &mpsc::UnboundedSender<Report>,
        stop: &mut watch::Receiver<bool>,
    ) {
        if reply.debug {
            let lines = reports.clone();
            // If the client is gone, the lines are lost.
            debug::start_to(move |line| drop(lines.send(Report::Debug(line))));
            debug::root(self.project.workspace.root_path());
        }
        self.replies.push(reply.text);
        let (answers, answered) = mpsc::unbounded_channel();
        let mut reporter = Reporter {
            reports: reports.clone(),
            answers: answered,
            explain: reply.explain,
            results: Vec::new(),
            labels: HashMap::new(),
            unfenced: false,
            not_kept: NotKept::default(),
        };
        let canceller = self.agent.canceller();
        let ended = {
            let mut round = pin!(self.agent.round("", &mut reporter));
            loop {
                tokio::select! {
                    // The round comes first: once it has ended, a closed connection must not cancel it.
                    biased;
                    ended = &mut round => break ended,
                    () = stopped(stop) => {
                        canceller.cancel();
                        break round.await;
                    }
                    request = requests.recv() => match request {
                        Some(Request::Answer(answer)) => drop(answers.send(answer)),
                        Some(Request::Interrupt) => canceller.interrupt(),
                        // These are valid only as the first line of a connection.
                        Some(Request::Reply(_) | Request::End) => {}
                        None => {
                            canceller.cancel();
                            break round.await;
                        }
                    },
                }
            }
        };
        if reply.debug {
            // The next reply may come from a client without `--debug`.
            debug::stop();
        }
        self.note_jobs(&reporter.results);
        let status = self.report_end(ended, reply.json, &reporter);
        reporter.report(Report::End(status));
        self.last_reply = Instant::now();
    }

    /// Reports the results and notes of a round, and returns the exit status.
    fn report_end(&self, ended: Result<RoundEnd, Error>, json: bool, reporter: &Reporter) -> u8 {
        for note in self.project.history.iter().flat_map(|history| history.take_notes()) {
            reporter.note(&note);
        }
        if reporter.unfenced {
            reporter.note(&text!(
                "this looks like the inside of a tool block: copy the whole message, with the lines around the block, \
                 or use --bare"
            ));
        }
        let (answer, reason) = match ended {
            Err(error) => {
                reporter.note(&error.text());
                return crate::failure::BROKEN;
            }
            Ok(RoundEnd::Send(message)) => (Some(message), None),
            // These ends follow a reply with calls or mistakes, about which the model has read nothing yet.
            Ok(RoundEnd::Ended(reason @ (StopReason::Loop | StopReason::FormatErrors))) => {
                (self.unsent(&reporter.results), Some(reason))
            }
            Ok(RoundEnd::Ended(reason)) => (None, Some(reason)),
            Ok(_) => (None, None),
        };
        match reporter.output(answer.as_deref(), json, &self.rules.format) {
            Some(output) => reporter.report(Report::Output(output)),
            None => reporter.note(&text!("there is no call in this text; nothing was run")),
        }
        if let Some(line) = reporter.not_kept.line(self.rules.policy.settings().ask) {
            reporter.note(&line);
        }
        match reason {
            Some(StopReason::Cancelled) => INTERRUPTED,
            Some(reason @ (StopReason::Loop | StopReason::FormatErrors)) => {
                if let Err(failure) = status_of(&reason) {
                    reporter.note(failure.message());
                }
                UNSUCCESSFUL
            }
            _ if reporter.succeeded(answer.is_some()) => 0,
            _ => UNSUCCESSFUL,
        }
    }

    /// Returns the text that the model must still read after its turn has ended: the results, and the errors in its
    /// reply.
    fn unsent(&self, results: &[ToolResult]) -> Option<String> {
        let session = self.agent.session();
        let results = session.messages().pop().filter(|_| !results.is_empty()).map(|message| message.content);
        let notes = session.owed().iter().map(|note| note.text().to_owned());
        let parts: Vec<String> = results.into_iter().chain(notes).collect();
        (!parts.is_empty()).then(|| parts.join("\n\n"))
    }

    fn note_jobs(&mut self, results: &[ToolResult]) {
        for data in results.iter().filter_map(|result| result.data.as_ref()) {
            let Some(job) = data["job"].as_str() else { continue };
            match data["running"].as_bool() {
                Some(true) => self.jobs.insert(job.to_owned()),
                _ => self.jobs.remove(job),
            };
        }
    }
}

/// Returns when the session ends.
pub(crate) async fn stopped(stop: &mut watch::Receiver<bool>) {
    let _ = stop.wait_for(|stop| *stop).await; // an error means that the session has ended
}

/// The backend of the agent: its reply is the one that the client has sent.
#[derive(Default)]
struct Replies(Mutex<String>);

impl Replies {
    fn push(&self, text: String) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = text;
    }
}

impl Backend for Replies {
    fn stream<'a>(&'a self, _: &'a [Message], sink: &'a mut dyn Sink) -> BoxFuture<'a, Result<FinishReason, Error>> {
        let text = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        // The sink may ask to stop, but this was the only chunk.
        let _ = sink.chunk(Chunk::Text(&text));
        Box::pin(async { Ok(FinishReason::Stop) })
    }
}

/// The host of the agent. It passes on events and questions to the client.
struct Reporter {
    reports: mpsc::UnboundedSender<Report>,
    answers: mpsc::UnboundedReceiver<UserAnswer>,
    explain: bool,
    results: Vec<ToolResult>,
    /// The labels of the calls by their ids.
    labels: HashMap<String, String>,
    /// Whether the reply contained the inside of a tool block without the fences.
    unfenced: bool,
    not_kept: NotKept,
}

impl Reporter {
    fn report(&self, report: Report) {
        // If the client is gone, the round is being cancelled, and reports are not needed.
        let _ = self.reports.send(report);
    }

    fn note(&self, note: &impl Words) {
        self.report(Report::Note(note.words().into_owned()));
    }

    /// Returns the output for the model: its next message, or the results; `None` if there is neither.
    fn output(&self, answer: Option<&str>, json: bool, format: &format::Format) -> Option<String> {
        match (answer, json) {
            (None, _) if self.results.is_empty() => None,
            (Some(reminder), true) if self.results.is_empty() => {
                Some(json!({"v": SCHEMA, "event": "ignored", "message": reminder}).to_string())
            }
            (_, true) => Some(self.results.iter().map(line).collect::<Vec<_>>().join("\n")),
            (Some(answer), false) => Some(answer.to_owned()),
            (None, false) => Some(format::results(&self.results, format)),
        }
    }

    /// Returns `true` if all calls succeeded. A message without results is a reminder that a part of the text should
    /// have been a call.
    fn succeeded(&self, has_message: bool) -> bool {
        let is_reminder = self.results.is_empty() && has_message;
        !is_reminder && self.results.iter().all(|result| result.success && !has_lost_changes(result))
    }
}

/// Returns `true` if some changes of the command were not kept. As for a denied call, the request was then not
/// fulfilled.
fn has_lost_changes(result: &ToolResult) -> bool {
    let not_kept = result.data.as_ref().and_then(|data| data["changes"]["not_kept"].as_array());
    not_kept.is_some_and(|paths| !paths.is_empty())
}

fn line(result: &ToolResult) -> String {
    let mut value = format::envelope(result, Language::English);
    value["v"] = SCHEMA.into();
    value["event"] = "result".into();
    value.to_string()
}

impl Host for Reporter {
    fn show(&mut self, event: &Event<'_>) {
        match event {
            Event::Call { call, .. } => {
                debug::call(call);
                self.labels.insert(call.id.clone(), label(call));
            }
            Event::Ignored { why: Ignored::Unfenced, .. } => self.unfenced = true,
            _ => {}
        }
        if self.explain && !matches!(event, Event::Text { .. } | Event::Started { .. } | Event::Progress { .. }) {
            self.note(&explained(event));
        }
    }

    /// The model receives results as printed text, without images.
    fn takes_images(&self) -> bool {
        false
    }

    fn running(&mut self, call: &ToolCall) {
        if self.explain {
            self.note(&text!("running    {id}: {tool}", id = &call.id, tool = &call.name));
        }
    }

    fn answered(&mut self, result: &ToolResult) {
        debug::result(result);
        let message = result.error.as_ref().map_or_else(|| text!("done"), |error| error.message.clone());
        if self.explain {
            self.note(&text!("answered   {id}: {what}", id = &result.id, what = message.clone()));
        }
        let label = self.labels.remove(&result.id).unwrap_or_else(|| result.tool.clone());
        let message = message.words().into_owned();
        self.report(Report::Call { label, success: result.success, message });
        self.results.push(result.clone());
    }

    fn ask<'a>(&'a mut self, pending: &'a Pending) -> BoxFuture<'a, Answer> {
        let question = Question::from(pending);
        self.report(Report::Question(Box::new(question.clone())));
        Box::pin(async move {
            match self.answers.recv().await {
                // Without a connection, no user can answer either.
                None | Some(UserAnswer::NoTerminal) => {
                    self.not_kept.record(&question);
                    UserAnswer::NoTerminal.answer(pending)
                }
                Some(answer) => answer.answer(pending),
            }
        })
    }
}
