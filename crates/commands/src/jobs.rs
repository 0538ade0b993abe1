//! Background commands, each on a thread of its own: they continue between turns, with any runtime of the host, and end
//! with the session.

use crate::runner::{CommandOutcome, CommandRequest, CommandRunner, add_note, block_on, in_file, spilled};
use serde_json::json;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::{Duration, Instant};
use tokio::sync::watch;
use toolfence_policy::toolbox::ToolError;
use toolfence_protocol::{Error, ErrorCode, ErrorKind, Output, Text, ToolFailure, text};
use toolfence_sandbox::process::{Background, Overflow};
use toolfence_workspace::overflow_file;

/// The time limit for ending all commands at the end of the session. The processes end quickly, but the check
/// for files that git would run takes longer in a large project, and must not be skipped.
const LAST_WAIT: Duration = Duration::from_secs(600);

/// The time limit for ending the processes of a cancelled call. The kernel needs milliseconds.
const KILLED: Duration = Duration::from_secs(2);

/// The time for which a poll collects more output after the first.
const SETTLE: Duration = Duration::from_millis(150);

/// The jobs that the tools for commands share. When the last reference is dropped, the jobs are ended.
#[derive(Debug)]
pub struct Jobs {
    /// Runs the command of each job.
    pub commands: Arc<CommandRunner>,
    all: Mutex<Vec<Arc<Running>>>,
    next: AtomicU32,
}

/// A background command.
#[derive(Debug)]
pub struct Running {
    id: String,
    live: Arc<Background>,
    ended: watch::Receiver<bool>,
    end: Arc<Mutex<End>>,
    /// Closed when the thread ends.
    thread: Mutex<mpsc::Receiver<()>>,
}

/// The state of a job's end. Concurrent calls may ask for it, and only one of them gets the result.
#[derive(Debug, Default)]
enum End {
    /// The job is running.
    #[default]
    Awaited,
    Done(Result<Box<CommandOutcome>, ToolError>),
    Taken,
}

impl Jobs {
    /// Returns an empty list; `commands` runs its jobs.
    pub fn new(commands: Arc<CommandRunner>) -> Jobs {
        Jobs { commands, all: Mutex::default(), next: AtomicU32::new(1) }
    }

    /// Starts a job, if fewer than `most` exist. With `input`, its stdin can be written to; otherwise it is empty.
    pub fn start(&self, wanted: CommandRequest, input: bool, most: u64) -> Result<Arc<Running>, ToolFailure> {
        // The lock is held until the job is in the list, so that concurrent calls cannot exceed the limit.
        let mut all = self.all();
        if all.len() as u64 >= most {
            let ids: Vec<&str> = all.iter().map(|job| job.id.as_str()).collect();
            return Err(ToolFailure::new(
                ErrorCode::TooLarge,
                text!(
                    "{count} {count|job is|jobs are} there already: {ids}. Stop one first.",
                    count = all.len(),
                    ids = ids.join(", ")
                ),
            ));
        }
        let id = format!("j{}", self.next.fetch_add(1, Ordering::Relaxed));
        let job = Running::start(id, Arc::clone(&self.commands), wanted, input).map_err(|error| {
            ToolFailure::new(
                ErrorCode::IoError,
                text!("The job could not be started: {error}.", error = Text::from(&error)),
            )
        })?;
        let job = Arc::new(job);
        all.push(Arc::clone(&job));
        Ok(job)
    }

    /// Finds a job by its id.
    ///
    /// # Errors
    /// No job has this id; the failure lists the existing ones.
    pub fn find(&self, id: &str) -> Result<Arc<Running>, ToolFailure> {
        let all = self.all();
        if let Some(job) = all.iter().find(|job| job.id == id) {
            return Ok(Arc::clone(job));
        }
        Err(not_found(&all))
    }

    /// Returns the output of a job since the last call. A job that has ended is forgotten with this call.
    pub async fn report(&self, job: &Running) -> Result<Output, ToolError> {
        // This is read before the end is taken: the thread records the end and then closes the channel. So a closed
        // channel without an end means that the thread has died.
        let is_over = job.ended.has_changed().is_err();
        let result = match job.take_end(is_over) {
            End::Awaited if !is_over => return job.so_far(),
            End::Awaited => {
                Err(ToolError::Fatal(Error::with_kind(ErrorKind::Internal, text!("A thread that ran a job has died."))))
            }
            End::Done(result) => result,
            End::Taken => {
                self.forget(job);
                return Err(not_found(&self.all()).into());
            }
        };
        self.forget(job);
        match result {
            Ok(ran) => {
                let mut output = self.commands.output(*ran);
                let data = output.data.get_or_insert_with(|| json!({}));
                (data["job"], data["running"]) = (job.id.as_str().into(), false.into());
                Ok(output)
            }
            Err(ToolError::Respond(failure)) => {
                let rest = job.live.take();
                // A conflict means that a blocked file was replaced. The job may have printed the new file before it
                // was killed, so its output is withheld.
                let is_withheld = failure.code == ErrorCode::Conflict;
                let mut output = Output::text(if is_withheld { String::new() } else { rest.text });
                output.truncated = rest.truncated;
                output.total_bytes = rest.total_bytes;
                output.failure = Some(failure);
                Ok(output)
            }
            Err(fatal) => Err(fatal),
        }
    }

    /// Removes the job from the list.
    pub fn forget(&self, job: &Running) {
        self.all().retain(|known| known.id != job.id);
    }

    /// Ends all jobs, and waits at most this long.
    fn end_all(&self, patience: Duration) {
        let all = std::mem::take(&mut *self.all());
        // All jobs are asked to end before the first wait, so that they share one time limit.
        all.iter().for_each(|job| job.live.stop());
        let deadline = Instant::now() + patience;
        all.iter().for_each(|job| job.wait_for_thread(deadline.saturating_duration_since(Instant::now())));
        self.commands.wait_for_left(deadline);
    }

    fn all(&self) -> MutexGuard<'_, Vec<Arc<Running>>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Jobs {
    fn drop(&mut self) {
        self.end_all(LAST_WAIT);
    }
}

impl Running {
    fn start(id: String, commands: Arc<CommandRunner>, wanted: CommandRequest, input: bool) -> io::Result<Running> {
        let workspace = Arc::clone(commands.workspace());
        let live = Arc::new(
            Background::new(wanted.keep, input)?
                .language(wanted.language)
                .overflow(Overflow::new(move || overflow_file::create(workspace.root()))),
        );
        let (say_ended, ended) = watch::channel(false);
        let (running, thread) = mpsc::channel();
        let end: Arc<Mutex<End>> = Arc::default();
        let (its_live, its_end) = (Arc::clone(&live), Arc::clone(&end));
        std::thread::Builder::new().name(format!("job {id}")).spawn(move || {
            let _running: mpsc::Sender<()> = running;
            // `left` has no receiver: `Jobs` waits for the end of the whole thread instead.
            let ran = block_on(commands.run_live(&wanted, &its_live, true, mpsc::channel().0));
            *its_end.lock().unwrap_or_else(PoisonError::into_inner) = End::Done(ran.map(Box::new));
            say_ended.send_replace(true);
        })?;
        Ok(Running { id, live, ended, end, thread: Mutex::new(thread) })
    }

    /// Returns the id that calls use.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the job's output and stdin while it runs.
    pub fn live(&self) -> &Background {
        &self.live
    }

    /// Waits at most this long for the end. Returns `false` if the job is still running.
    pub async fn ends_within(&self, patience: Duration) -> bool {
        tokio::time::timeout(patience, self.wait_for_end()).await.is_ok()
    }

    /// Waits at most this long for the end or for output.
    pub async fn says_within(&self, patience: Duration) {
        let said = async {
            tokio::select! {
                () = self.wait_for_end() => {}
                () = self.live.wrote() => {
                    self.ends_within(SETTLE).await;
                }
            }
        };
        // A timeout is a valid result.
        let _ = tokio::time::timeout(patience, said).await;
    }

    async fn wait_for_end(&self) {
        // If the sender was dropped, the thread has panicked, and there is nothing to wait for.
        let _ = self.ended.clone().wait_for(|ended| *ended).await;
    }

    fn so_far(&self) -> Result<Output, ToolError> {
        let taken = self.live.take();
        let mut text = Text::from(taken.text);
        let mut data = json!({});
        let file = self.live.file().filter(|_| taken.truncated);
        if let Some((name, all)) = file {
            add_note(&mut text, spilled(&name, all, true));
            data = in_file(&name, taken.total_lines);
        }
        add_note(
            &mut text,
            text!(
                "The command continues as job {id}. Call job with {{\"id\": \"{id}\", \"action\": \"poll\"}} to read \
                 its output, \"write\" for its stdin, \"stop\" to end it.",
                id = &self.id
            ),
        );
        let mut output = Output::text(text);
        output.truncated = taken.truncated;
        output.total_bytes = taken.total_bytes;
        (data["job"], data["running"]) = (self.id.as_str().into(), true.into());
        output.data = Some(data);
        Ok(output)
    }

    /// Takes the end of the job for the one call that returns it. A running job stays, unless its thread is gone.
    fn take_end(&self, is_over: bool) -> End {
        let mut end = self.end();
        if matches!(*end, End::Awaited) && !is_over {
            return End::Awaited;
        }
        std::mem::replace(&mut *end, End::Taken)
    }

    fn end(&self) -> MutexGuard<'_, End> {
        self.end.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_for_thread(&self, patience: Duration) {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        // A job that does not end in time ends with this process: its supervisor ends it when the socket to the host
        // breaks.
        let _ = thread.recv_timeout(patience);
    }
}

/// Returns the failure for a job that does not exist.
fn not_found(all: &[Arc<Running>]) -> ToolFailure {
    let ids: Vec<&str> = all.iter().map(|job| job.id.as_str()).collect();
    let message = if ids.is_empty() {
        text!("There is no job with this id, or its end was reported already. No job is running.")
    } else {
        text!("There is no job with this id, or its end was reported already. Known: {ids}.", ids = ids.join(", "))
    };
    ToolFailure::new(ErrorCode::NotFound, message).suggest(ids.into_iter().take(3).map(str::to_owned))
}

/// A job that a call waits for. Cancelling the call ends the job.
pub struct Waited<'a> {
    /// The list that the job is in.
    pub jobs: &'a Jobs,
    /// The job, until the call stops waiting for it.
    pub job: Option<Arc<Running>>,
}

impl Drop for Waited<'_> {
    fn drop(&mut self) {
        if let Some(job) = &self.job {
            job.live.kill();
            job.wait_for_thread(KILLED);
            self.jobs.forget(job);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolfence_policy::rules::PathRules;
    use toolfence_sandbox::isolation::Settings;
    use toolfence_workspace::Workspace;

    fn block_on_it<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
    }

    /// Creates a job that counts as running until the returned sender is dropped, and that has no output.
    fn fake_job(jobs: &Jobs, id: &str) -> (Arc<Running>, watch::Sender<bool>, mpsc::Sender<()>) {
        let (say_ended, ended) = watch::channel(false);
        let (running, thread) = mpsc::channel();
        let live = Arc::new(Background::new(1000, false).unwrap());
        let job = Running { id: id.to_owned(), live, ended, end: Arc::default(), thread: Mutex::new(thread) };
        let job = Arc::new(job);
        jobs.all().push(Arc::clone(&job));
        (job, say_ended, running)
    }

    fn no_jobs() -> (tempfile::TempDir, Jobs) {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(folder.path(), PathRules::default()).unwrap();
        let commands = CommandRunner::new(Arc::new(workspace), Settings::new());
        (folder, Jobs::new(Arc::new(commands)))
    }

    #[test]
    fn only_one_call_gets_the_end_of_a_job() {
        let (_folder, jobs) = no_jobs();
        let (job, say_ended, _running) = fake_job(&jobs, "j1");
        assert!(
            block_on_it(jobs.report(&job)).is_ok_and(|output| output.data.is_some_and(|data| data["running"] == true))
        );
        *job.end() = End::Done(Err(ToolFailure::new(ErrorCode::Timeout, "late").into()));
        drop(say_ended);
        assert!(block_on_it(jobs.report(&job)).is_ok_and(|output| output.failure.is_some()));
        let Err(ToolError::Respond(second)) = block_on_it(jobs.report(&job)) else { panic!("the turn continues") };
        assert!(
            second.code == ErrorCode::NotFound && second.message.to_string().contains("reported already"),
            "{second:?}"
        );
        assert!(second.message.to_string().contains("No job is running"), "{second:?}");
    }

    #[test]
    fn a_panicked_thread_is_fatal_once_and_its_job_is_forgotten() {
        let (_folder, jobs) = no_jobs();
        let (job, say_ended, _running) = fake_job(&jobs, "j1");
        drop(say_ended);
        assert!(matches!(block_on_it(jobs.report(&job)), Err(ToolError::Fatal(_))));
        assert_eq!(jobs.find("j1").unwrap_err().code, ErrorCode::NotFound);
        assert!(matches!(block_on_it(jobs.report(&job)), Err(ToolError::Respond(_))));
    }

    #[test]
    fn all_threads_share_one_time_limit() {
        let (_folder, jobs) = no_jobs();
        let _running: Vec<_> = (0..16).map(|number| fake_job(&jobs, &format!("j{number}"))).collect();
        let (patience, started) = (Duration::from_millis(300), Instant::now());
        jobs.end_all(patience);
        let took = started.elapsed();
        assert!(took >= patience && took < 8 * patience, "{took:?}");
    }
}
