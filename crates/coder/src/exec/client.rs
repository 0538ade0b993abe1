//! The client of an exec session: finds or starts the host, asks the user the host's questions, and passes on its
//! reports.

use super::lines::{Link, Reply, Report, Request, read_lines, write_lines};
use super::open;
use super::place::SessionFiles;
use super::worker::Worker;
use crate::args::Options;
use crate::confirm::AtTheTerminal;
use crate::failure::{Failure, INTERRUPTED};
use crate::question::{Question, UserAnswer};
use crate::runtime::Signals;
use crate::terminal::print_note;
use std::fs::File;
use std::future::pending;
use std::pin::Pin;
use std::process::Stdio;
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::{mpsc, watch};
use tokio::time::{sleep, timeout};
use toolfence_protocol::{Text, text};

/// Time limit for the start of a host, which also starts the MCP servers of the settings.
const START: Duration = Duration::from_secs(120);

/// Time limit for the end of a host. It first ends its jobs, which may take ten minutes.
const LAST_WAIT: Duration = Duration::from_secs(660);

/// Time between two checks whether another process has released the lock or listens.
const GLANCE: Duration = Duration::from_millis(20);

/// Maximum number of attempts to send a reply while hosts end. A host with other settings ends before a new one can
/// start.
const MOST_STARTS: usize = 50;

/// The client's view of an exec session.
pub(crate) struct Session {
    place: SessionFiles,
    fingerprint: String,
}

impl Session {
    pub(crate) fn open(options: &Options, name: &str) -> Result<Session, Failure> {
        let (place, fingerprint) = open(options, name)?;
        Ok(Session { place, fingerprint })
    }

    /// Sends a reply to the host of the session, and starts a host if none runs. Returns the exit status.
    pub(crate) async fn send(
        &self,
        mut reply: Reply,
        signals: &mut Signals,
        show: &mut (dyn FnMut(Report) -> Result<(), Failure> + Send),
    ) -> Result<u8, Failure> {
        reply.fingerprint.clone_from(&self.fingerprint);
        let mut is_notified = false;
        for _ in 0..MOST_STARTS {
            let mut link = tokio::select! {
                status = signals.next() => return Err(Failure::signalled(status)),
                link = self.connect() => link?,
            };
            let _ = link.requests.send(Request::Reply(reply.clone())); // the reports end if the connection is closed
            match converse(&mut link, signals, show).await? {
                ConnectionEnd::Status(status) => return Ok(status),
                ConnectionEnd::Busy => {
                    return Err(Failure::unsuccessful(text!(
                        "busy: the exec session handles another reply at the moment; try again when it has ended"
                    )));
                }
                ConnectionEnd::Changed { jobs: true } => {
                    return Err(Failure::wrong_use(text!(
                        "The options or settings are not those that the exec session was started with, and it has \
                         jobs. End it and its jobs with `coder exec --end`, or use the same options."
                    )));
                }
                ConnectionEnd::Changed { jobs: false } if !std::mem::replace(&mut is_notified, true) => {
                    print_note(&text!(
                        "The options or settings have changed: a new exec session begins. It does not know which files \
                         were read and what you always allowed."
                    ));
                }
                // The host is ending and still holds the lock. Without this pause, all attempts would be over before it
                // releases the lock.
                ConnectionEnd::Changed { jobs: false } | ConnectionEnd::Gone { began: false } => {
                    sleep(GLANCE * 5).await;
                }
                // Calls of the reply may have run, so it is not sent again.
                ConnectionEnd::Gone { began: true } => {
                    return Err(Failure::broken(text!(
                        "The process of the exec session ended before the reply was handled."
                    )));
                }
            }
        }
        Err(Failure::broken(text!("The exec session ended several times before it handled the reply.")))
    }

    /// Ends the session and its jobs. Returns `false` if there was no session.
    pub(crate) async fn end(&self) -> Result<bool, Failure> {
        let deadline = Instant::now() + LAST_WAIT;
        let mut found = false;
        loop {
            if let Some(_lock) = self.place.try_lock()? {
                // A socket without a host would look as if the host had been killed.
                self.place.remove_socket();
                return Ok(found);
            }
            // Ask only once; after that, wait for the lock.
            if let Some(link) = self.link().await?.filter(|_| !found) {
                found = true;
                let _ = link.requests.send(Request::End); // if the host is gone, its lock is free
                let mut reports = link.reports;
                // The host closes the connection by ending.
                let _ = timeout(LAST_WAIT, async { while reports.recv().await.is_some() {} }).await;
            }
            wait(deadline).await?;
        }
    }

    /// Connects to the host, and starts one if no process holds the lock.
    async fn connect(&self) -> Result<Link, Failure> {
        let deadline = Instant::now() + START;
        loop {
            if let Some(lock) = self.place.try_lock()? {
                if self.place.has_socket() {
                    print_note(&text!(
                        "The process of the exec session was killed: a new exec session begins. It does not know which \
                         files were read and what you always allowed."
                    ));
                }
                start_host(lock).await?;
            }
            // While another client starts a host, the lock is taken and no host listens yet.
            if let Some(link) = self.link().await? {
                return Ok(link);
            }
            wait(deadline).await?;
        }
    }

    async fn link(&self) -> Result<Option<Link>, Failure> {
        let Some(stream) = self.place.connect().await? else { return Ok(None) };
        let (read, write) = stream.into_split();
        Ok(Some(Link { requests: write_lines(write).0, reports: read_lines(read) }))
    }
}

/// Waits a moment.
///
/// # Errors
/// The deadline has passed.
async fn wait(deadline: Instant) -> Result<(), Failure> {
    if Instant::now() > deadline {
        return Err(Failure::broken(text!("The process of the exec session does not answer. Try again later.")));
    }
    sleep(GLANCE).await;
    Ok(())
}

/// Handles a reply in this process, without a session. Returns the exit status.
pub(crate) async fn run_alone(
    options: &Options,
    reply: Reply,
    signals: &mut Signals,
    show: &mut (dyn FnMut(Report) -> Result<(), Failure> + Send),
) -> Result<u8, Failure> {
    let mut worker = Worker::new(options)?;
    let (requests, sent) = mpsc::unbounded_channel();
    let (forwarded, mut received) = mpsc::channel(1);
    let (report, reported) = mpsc::unbounded_channel();
    let (forwarded_report, reports) = mpsc::channel(1);
    // Dropping the sender would end the round.
    let (_never, mut stop) = watch::channel(false);
    let mut link = Link { requests, reports };
    let handle = async {
        worker.handle(reply, &mut received, &report, &mut stop).await;
        // Without this sender, `forward` ends, and `converse` sees the end of the reports.
        drop(report);
    };
    let converse = async {
        let ended = converse(&mut link, signals, show).await;
        // If a second signal ended `converse`, the closed requests cancel the round.
        drop(link);
        ended
    };
    let (requests, reports) = (forward(sent, forwarded), forward(reported, forwarded_report));
    let ((), (), (), ended) = tokio::join!(handle, requests, reports, converse);
    match ended? {
        ConnectionEnd::Status(status) => Ok(status),
        _ => Err(Failure::broken(text!("The process of the exec session ended before the reply was handled."))),
    }
}

/// Replaces the connection if there is no host: passes on everything until one side is closed.
async fn forward<T>(mut from: mpsc::UnboundedReceiver<T>, to: mpsc::Sender<T>) {
    while let Some(line) = from.recv().await {
        if to.send(line).await.is_err() {
            break;
        }
    }
}

/// The end of a connection.
enum ConnectionEnd {
    Status(u8),
    Busy,
    Changed {
        jobs: bool,
    },
    /// The connection was closed. `began` means that the host had begun to handle the reply.
    Gone {
        began: bool,
    },
}

type Asking = Pin<Box<dyn Future<Output = UserAnswer> + Send>>;

/// Passes on the host's reports and asks its questions until the reply is handled.
async fn converse(
    link: &mut Link,
    signals: &mut Signals,
    show: &mut (dyn FnMut(Report) -> Result<(), Failure> + Send),
) -> Result<ConnectionEnd, Failure> {
    // The question is a future of its own, so that signals and reports are handled while the user thinks.
    let mut asking: Option<Asking> = None;
    let (mut began, mut ending) = (false, None);
    loop {
        tokio::select! {
            // Signals come first, so that many reports cannot delay them.
            biased;
            status = signals.next() => match ending {
                // A second signal ends the client, even if the host does not end its tools.
                Some(status) => return Err(Failure::signalled(status)),
                None if status == INTERRUPTED => drop(link.requests.send(Request::Interrupt)),
                None => {
                    (ending, asking) = (Some(status), None);
                    // Close the client's side of the connection, so that the host cancels the round.
                    link.requests = mpsc::unbounded_channel().0;
                }
            },
            answer = answered(&mut asking) => {
                asking = None;
                let _ = link.requests.send(Request::Answer(answer)); // the reports end if the connection is closed
            }
            report = link.reports.recv() => match report {
                None if ending.is_none() => return Ok(ConnectionEnd::Gone { began }),
                None | Some(Report::End(_)) if ending.is_some() => {
                    return Err(Failure::signalled(ending.unwrap_or(INTERRUPTED)));
                }
                Some(Report::End(status)) => return Ok(ConnectionEnd::Status(status)),
                Some(Report::Began) => began = true,
                Some(Report::Busy) => return Ok(ConnectionEnd::Busy),
                Some(Report::Changed { jobs }) => return Ok(ConnectionEnd::Changed { jobs }),
                Some(Report::Question(question)) => asking = Some(Box::pin(ask(*question))),
                Some(report) => show(report)?,
                None => {}
            },
        }
    }
}

async fn ask(question: Question) -> UserAnswer {
    AtTheTerminal::new().ask_question(&question).await
}

/// Waits for the user's answer. Without a question it waits forever.
async fn answered(asking: &mut Option<Asking>) -> UserAnswer {
    match asking {
        Some(asking) => asking.await,
        None => pending().await,
    }
}

/// Starts the host with the lock, and waits until it listens.
///
/// # Errors
/// The host could not start. It has printed the reason on standard error, so the failure has no message.
async fn start_host(lock: File) -> Result<(), Failure> {
    let failed = |error: std::io::Error| {
        Failure::broken(text!("cannot start the process of the exec session: {error}", error = Text::from(&error)))
    };
    let program = std::env::current_exe().map_err(failed)?;
    let mut command = Command::new(program);
    // The host parses the same arguments, takes the lock from standard input, and prints a line once it listens.
    command.args(std::env::args_os().skip(1)).arg("--host").stdin(lock).stdout(Stdio::piped());
    let mut starting = Starting(Some(command.spawn().map_err(failed)?));
    // Close our copy of the lock; otherwise the lock would outlast the host.
    drop(command);
    let Some(host) = &mut starting.0 else { return Ok(()) };
    let mut line = String::new();
    if let Some(output) = host.stdout.take() {
        let mut output = BufReader::new(output);
        let read = timeout(START, output.read_line(&mut line)).await;
        read.unwrap_or_else(|_| Err(std::io::ErrorKind::TimedOut.into())).map_err(failed)?;
    }
    // Without this line, the host has ended before it listened, and it has printed the reason itself.
    if line.is_empty() {
        let status = host.wait().await.map_err(failed)?;
        let status = status.code().and_then(|code| u8::try_from(code).ok()).filter(|code| *code != 0);
        return Err(Failure::reported(status.unwrap_or(crate::failure::BROKEN)));
    }
    // From here on, the host must outlive this client.
    starting.0 = None;
    Ok(())
}

/// A host that does not listen yet. Dropping this value kills it.
struct Starting(Option<Child>);

impl Drop for Starting {
    fn drop(&mut self) {
        if let Some(host) = &mut self.0 {
            let _ = host.start_kill(); // an error means that the host has ended
        }
    }
}
