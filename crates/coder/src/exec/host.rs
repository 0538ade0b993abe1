//! The host of an exec session: the process that keeps the agent and its jobs between replies.

use super::lines::{Reply, Report, Request, read_lines, write_lines};
use super::open;
use super::place::{SessionFiles, is_of_this_user};
use super::worker::{Worker, stopped};
use crate::args::Options;
use crate::failure::Failure;
use crate::runtime::run_with_signals;
use crate::terminal::Terminal;
use std::fs::File;
use std::future::pending;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::UnixStream;
use tokio::sync::{Mutex, Semaphore, watch};
use tokio::time::{MissedTickBehavior, interval, timeout};
use toolfence_protocol::Text;

/// The session ends after this time without a reply.
const IDLE: Duration = Duration::from_secs(12 * 60 * 60);

/// Time between two checks that the project still exists.
const LOOK: Duration = Duration::from_secs(5);

/// Time limit for a client to send its reply.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long a reply waits for the previous one to end. After this, the client receives `Report::Busy`.
const SOON: Duration = Duration::from_secs(1);

/// Maximum number of open connections. Only one reply is handled at a time.
const MOST_CONNECTIONS: usize = 16;

/// The state that all connections share.
struct HostState {
    fingerprint: String,
    /// The agent; taken when the session ends.
    worker: Mutex<Option<Worker>>,
    /// Set to `true` when the session ends.
    stop: watch::Sender<bool>,
}

/// Runs the host of a session until the session is ended, is idle for too long, or its project is gone. The client that
/// starts this process holds the lock and passes it on as standard input.
pub(crate) fn run(options: &Options, session: &str) -> Result<ExitCode, Failure> {
    // Detach from the client's terminal, whose signals are not for this process. It cannot fail, because a new process
    // leads no group.
    let _ = rustix::process::setsid();
    let (place, fingerprint) = open(options, session)?;
    let _lock = place.inherit_lock()?;
    let root = options.root.canonicalize().map_err(|error| Failure::broken(Text::from(&error)))?;
    let mut options = options.clone();
    // The user brings each reply, so the number of rounds must not end a turn.
    options.rules.limit.push("rounds=10000".to_owned());
    let worker = Worker::new(&options)?;
    run_with_signals(async |signals| {
        let stop = watch::Sender::new(false);
        let shared = Arc::new(HostState { fingerprint, worker: Mutex::new(Some(worker)), stop });
        tokio::select! {
            _ = signals.next() => {}
            ended = serve(&shared, &place, &root) => ended?,
        }
        place.remove_socket();
        shared.stop.send_replace(true);
        // A running round is cancelled now and then releases the worker.
        let worker = shared.worker.lock().await.take();
        // Dropping the worker ends its jobs, which may block for a moment.
        let _ = tokio::task::spawn_blocking(move || drop(worker)).await;
        Ok(ExitCode::SUCCESS)
    })
}

async fn serve(shared: &Arc<HostState>, place: &SessionFiles, root: &Path) -> Result<(), Failure> {
    let listener = place.listen()?;
    let project = identity(root);
    Terminal::stdout().line("ready")?;
    detach();
    let connections = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let mut looks = interval(LOOK);
    // After the machine was suspended, check once instead of once for each missed interval.
    looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut stop = shared.stop.subscribe();
    loop {
        tokio::select! {
            () = stopped(&mut stop) => return Ok(()),
            _ = looks.tick() => {
                let idle = match shared.worker.try_lock().as_deref() {
                    // A locked worker handles a reply, so the session is not idle.
                    Ok(Some(worker)) => worker.last_reply.elapsed() >= IDLE,
                    _ => false,
                };
                // Without the socket, no client can reach this host, and another folder at the path is another project.
                if idle || identity(root) != project || !place.has_socket() {
                    return Ok(());
                }
            }
            Ok((stream, _)) = listener.accept() => {
                let Ok(permit) = connections.clone().try_acquire_owned() else { continue };
                let shared = shared.clone();
                tokio::spawn(async move {
                    answer(stream, &shared).await;
                    drop(permit);
                });
            }
        }
    }
}

/// The device and inode of a folder.
fn identity(folder: &Path) -> Option<(u64, u64)> {
    folder.metadata().ok().map(|folder| (folder.dev(), folder.ino()))
}

/// Closes the outputs of the client, which otherwise would stay open as long as this process.
fn detach() {
    if let Ok(null) = File::options().write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdout(&null);
        let _ = rustix::stdio::dup2_stderr(&null);
    }
}

/// Handles the connection of a client.
async fn answer(stream: UnixStream, shared: &HostState) {
    if !is_of_this_user(&stream) {
        return;
    }
    let (read, write) = stream.into_split();
    let mut requests = read_lines(read);
    let (reports, writer) = write_lines(write);
    let ends = match timeout(PATIENCE, requests.recv()).await {
        Ok(Some(Request::Reply(reply))) => handle(reply, &mut requests, &reports, shared).await,
        Ok(Some(Request::End)) => {
            shared.stop.send_replace(true);
            // The end of this process closes the connection, which is how the client learns that the jobs have ended.
            pending().await
        }
        _ => false,
    };
    drop(reports);
    // The lock of the worker is released, so a client that does not read delays no others.
    let _ = writer.await;
    if ends {
        // End only after the client has received the reason.
        shared.stop.send_replace(true);
    }
}

/// Handles a reply. Returns `true` if the session must end because the options or settings have changed.
async fn handle(
    reply: Reply,
    requests: &mut tokio::sync::mpsc::Receiver<Request>,
    reports: &tokio::sync::mpsc::UnboundedSender<Report>,
    shared: &HostState,
) -> bool {
    // The end of a round is reported just before the worker is free, so a client that sends the next reply at once must
    // wait a moment.
    let Ok(mut worker) = timeout(SOON, shared.worker.lock()).await else {
        let _ = reports.send(Report::Busy); // an error means that the client is gone
        return false;
    };
    let Some(worker) = worker.as_mut().filter(|_| !*shared.stop.borrow()) else {
        // The session is ending. The client sees the closed connection and starts another session.
        return false;
    };
    if reply.fingerprint != shared.fingerprint {
        let jobs = worker.has_jobs();
        let _ = reports.send(Report::Changed { jobs });
        return !jobs;
    }
    let _ = reports.send(Report::Began);
    worker.handle(reply, requests, reports, &mut shared.stop.subscribe()).await;
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::mpsc;

    fn shared() -> HostState {
        HostState { fingerprint: String::new(), worker: Mutex::new(None), stop: watch::Sender::new(false) }
    }

    #[tokio::test(start_paused = true)]
    async fn a_reply_waits_a_moment_for_the_round_before_it() {
        let shared = shared();
        let (_requests, mut received) = mpsc::channel(1);
        let (reports, mut reported) = mpsc::unbounded_channel();
        let round = shared.worker.lock().await;
        let ended = async {
            tokio::time::sleep(SOON / 2).await;
            drop(round);
        };
        let (ends, ()) = tokio::join!(handle(Reply::default(), &mut received, &reports, &shared), ended);
        assert!(!ends && reported.try_recv().is_err(), "the session has ended, so the client looks for the next one");
        let _round = shared.worker.lock().await;
        assert!(!handle(Reply::default(), &mut received, &reports, &shared).await);
        assert!(matches!(reported.try_recv(), Ok(Report::Busy)));
    }
}
