//! One run of a server: a thread that holds the program, writes requests and hands out answers.
//!
//! The thread has a runtime of its own, so that the program can be talked with from any, and ends with the last client.

use crate::lines::Lines;
use crate::wire::{self, Message, Refused};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, mpsc};
use std::time::Duration;
use tokio::sync::{mpsc as orders, oneshot};
use tokio::time::{Instant, timeout_at};
use toolfence_protocol::{Text, clip, invisible, text};
use toolfence_sandbox::process::{self, Exit, Heard, Piped};
use toolfence_tools::{CommandRunner, Service, ServiceWatch, WantedService};

/// Lines that are no messages, of those that a server may write: banners are common, and a program that writes nothing else is no
/// server.
const MOST_GARBAGE: u32 = 100;
/// Bytes that a server may write between two answers to us, on stdout and stderr together.
const MOST_BYTES: u64 = 64 << 20;
/// Bytes that a server may leave unread of what we send.
const MOST_UNREAD: usize = 64 << 20;
/// Bytes of its stderr that are kept, from its end.
const KEPT: usize = 4 << 10;
/// Bytes of these that are told where the server fails.
const SHOWN: usize = 300;
/// Lines of its stderr that are shown to who asks how the server is, and bytes of each.
const MOST_LINES: usize = 10;
const LONGEST_LINE: usize = 200;
/// How long a server may take to end after its stdin was closed.
const PARTING: Duration = Duration::from_millis(500);
/// How long a client waits for the end of its thread: longer than the program is given.
const LAST_WAIT: Duration = Duration::from_secs(5);
/// Notes of progress that wait for whoever shows them. Others are dropped.
const MOST_NOTES: usize = 16;

/// Why there is no answer.
#[derive(Debug, Clone)]
pub(crate) enum Fault {
    /// The server refused.
    Refused(Refused),
    /// The server has ended, or was ended for what it did.
    Over(Text),
}

/// What a client wants its thread to do with the program.
enum Order {
    /// Send this request, and hand out its answer.
    Request { id: u64, line: String, waiting: Waiting },
    /// Send this notification.
    Tell(String),
    /// Tell the server that its answer to the request of this id is not wanted any more: the caller has gone away.
    Cancel(u64),
}

/// The two ways to the caller of a request: for its answer, and for what the server says of its progress.
struct Waiting {
    reply: oneshot::Sender<Result<Value, Refused>>,
    notes: orders::Sender<String>,
}

/// What the thread and its clients share.
#[derive(Debug, Default)]
struct Common {
    /// Whether the server says that its tools are others now.
    changed: AtomicBool,
    /// Whether it never ran, because a file was put where another was looked at meanwhile.
    disturbed: AtomicBool,
    /// Why the server is over.
    over: Mutex<Option<Text>>,
    /// The end of what it wrote to stderr.
    errors: Mutex<Vec<u8>>,
    watch: OnceLock<ServiceWatch>,
}

impl Common {
    fn over(&self) -> MutexGuard<'_, Option<Text>> {
        self.over.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn errors(&self) -> MutexGuard<'_, Vec<u8>> {
        self.errors.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A server that runs. Dropping it ends the server.
#[derive(Debug)]
pub(crate) struct Client {
    orders: Option<orders::UnboundedSender<Order>>,
    ids: AtomicU64,
    common: Arc<Common>,
    /// Closed when the thread is at its end.
    thread: Mutex<mpsc::Receiver<()>>,
}

impl Client {
    /// Starts the program. What goes wrong with that is the answer to the first request.
    pub(crate) fn start(name: &str, wanted: WantedService, commands: Arc<CommandRunner>) -> std::io::Result<Client> {
        let (send, receive) = orders::unbounded_channel();
        let common: Arc<Common> = Arc::default();
        let (running, thread) = mpsc::channel::<()>();
        let (its_name, its_common) = (name.to_owned(), Arc::clone(&common));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        std::thread::Builder::new().name(format!("mcp {name}")).spawn(move || {
            let _running = running;
            let run = Run { name: its_name, common: its_common, waiting: HashMap::new() };
            runtime.block_on(run.keep(&wanted, &commands, receive));
            runtime.shutdown_background();
        })?;
        Ok(Client { orders: Some(send), ids: AtomicU64::new(1), common, thread: Mutex::new(thread) })
    }

    /// Asks the server. Dropping the future tells the server that the answer is not wanted any more. What the server says of its progress
    /// goes to `note`.
    pub(crate) async fn request(
        &self,
        method: &'static str,
        mut params: Value,
        note: &(dyn Fn(&str) + Send + Sync),
    ) -> Result<Value, Fault> {
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        if method == "tools/call" {
            params["_meta"] = json!({"progressToken": id});
        }
        let (reply, mut answer) = oneshot::channel();
        let (notes, mut noted) = orders::channel(MOST_NOTES);
        let line = wire::request(id, method, &params);
        self.send(Order::Request { id, line, waiting: Waiting { reply, notes } });
        let mut unanswered = Unanswered { client: self, id, open: true };
        loop {
            tokio::select! {
                biased;
                answered = &mut answer => {
                    unanswered.open = false;
                    return match answered {
                        Ok(answered) => answered.map_err(Fault::Refused),
                        Err(_) => Err(Fault::Over(self.why_over())),
                    };
                }
                Some(text) = noted.recv() => note(&text),
            }
        }
    }

    /// Tells the server something.
    pub(crate) fn tell(&self, method: &str) {
        self.send(Order::Tell(wire::notification(method, &json!({}))));
    }

    /// Whether the server has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.common.over().is_some()
    }

    /// Why the server has ended; `None` while it runs.
    pub(crate) fn over(&self) -> Option<Text> {
        self.common.over().clone()
    }

    /// The end of what the server wrote to stderr, on one line.
    pub(crate) fn last_words(&self) -> Option<String> {
        last_words(&self.common.errors())
    }

    /// The last lines that the server wrote to stderr.
    pub(crate) fn last_lines(&self) -> Vec<String> {
        last_lines(&self.common.errors())
    }

    /// Whether the server has said since this was asked last that its tools are others.
    pub(crate) fn take_changed(&self) -> bool {
        self.common.changed.swap(false, Ordering::SeqCst)
    }

    /// Whether the server never ran, because files of the project changed while the sandbox was set up: it can be started again.
    pub(crate) fn was_disturbed(&self) -> bool {
        self.common.disturbed.load(Ordering::SeqCst)
    }

    /// What has to be asked about the program while it runs; `None` before it has started.
    pub(crate) fn watch(&self) -> Option<&ServiceWatch> {
        self.common.watch.get()
    }

    fn why_over(&self) -> Text {
        self.common.over().clone().unwrap_or_else(|| text!("it has ended"))
    }

    fn send(&self, order: Order) {
        // A thread that has ended has said why; whoever waits for an answer is told that.
        let _ = self.orders.as_ref().map(|orders| orders.send(order));
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.orders = None;
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = thread.recv_timeout(LAST_WAIT);
    }
}

/// A request without an answer. Dropped, it is cancelled.
struct Unanswered<'a> {
    client: &'a Client,
    id: u64,
    open: bool,
}

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        if self.open {
            self.client.send(Order::Cancel(self.id));
        }
    }
}

/// Why a server is not listened to any more.
enum End {
    /// No client is left.
    Wanted,
    /// It ended by itself, or closed its stdout.
    ByItself,
    /// It does something that no server does.
    Bad(Text),
}

/// The thread of one run.
struct Run {
    name: String,
    common: Arc<Common>,
    waiting: HashMap<u64, Waiting>,
}

/// What is read of a server.
#[derive(Default)]
struct Reading {
    lines: Lines,
    garbage: u32,
    /// Whether a request has had an answer.
    answered: bool,
    /// Bytes since the last answer.
    bytes: u64,
    /// The last line of stderr as far as it has come.
    errors_line: Vec<u8>,
}

impl Run {
    async fn keep(
        mut self,
        wanted: &WantedService,
        commands: &Arc<CommandRunner>,
        mut orders: orders::UnboundedReceiver<Order>,
    ) {
        let why = match commands.service(wanted).await {
            Err(why) => text!("it cannot be started: {why}", why),
            Ok(Service { mut program, watch, hidden, .. }) => {
                // Nobody else sets it.
                let _ = self.common.watch.set(watch);
                let mut reading = Reading::default();
                let end = self.converse(&mut program, &mut orders, &mut reading).await;
                let never_answered = !reading.answered;
                let why = self.part(program, end, &mut reading).await;
                match hidden.filter(|_| never_answered) {
                    Some(path) => text!(
                        "{why}. The sandbox hides {path} from it, unless `paths` names that or its folder",
                        why,
                        path = path.display().to_string()
                    ),
                    None => why,
                }
            }
        };
        tracing::debug!(server = self.name, why = %why, "a server of MCP is over");
        *self.common.over() = Some(why);
        // From here on whoever waits is told why.
        self.waiting.clear();
    }

    /// Does what is ordered and hands out what is answered, until one of both sides ends.
    async fn converse(
        &mut self,
        program: &mut Piped,
        orders: &mut orders::UnboundedReceiver<Order>,
        reading: &mut Reading,
    ) -> End {
        loop {
            let mut answers = String::new();
            tokio::select! {
                order = orders.recv() => match order {
                    None => return End::Wanted,
                    Some(order) => answers = self.obey(order),
                },
                heard = program.next() => match heard {
                    None => return End::ByItself,
                    Some(Heard::Output(bytes)) => match self.hear(bytes, reading) {
                        Ok(said) => answers = said,
                        Err(why) => return End::Bad(why),
                    },
                    Some(Heard::Errors(bytes)) => {
                        reading.bytes += bytes.len() as u64;
                        self.errors(reading, bytes);
                    }
                    Some(_) => {}
                },
            }
            if reading.bytes > MOST_BYTES {
                return End::Bad(text!(
                    "it wrote {megabytes} MiB without an answer, and was ended",
                    megabytes = MOST_BYTES >> 20
                ));
            }
            program.send(answers.as_bytes());
            if program.unread() > MOST_UNREAD {
                return End::Bad(text!("it does not read what it is sent"));
            }
            if program.output_has_ended() {
                return End::ByItself;
            }
        }
    }

    /// What an order says to the server.
    fn obey(&mut self, order: Order) -> String {
        match order {
            Order::Request { id, line, waiting } => {
                self.waiting.insert(id, waiting);
                line
            }
            Order::Tell(line) => line,
            Order::Cancel(id) => match self.waiting.remove(&id) {
                Some(_) => wire::notification("notifications/cancelled", &json!({"requestId": id})),
                None => String::new(),
            },
        }
    }

    /// Takes a piece of its stdout. Gives what is to be answered; or why nothing more is read.
    fn hear(&mut self, bytes: &[u8], reading: &mut Reading) -> Result<String, Text> {
        let Reading { lines, garbage, bytes: read, answered, .. } = reading;
        let mut answers = String::new();
        *read += bytes.len() as u64;
        let whole = lines.push(bytes, |line| match wire::read(line) {
            Some(messages) => {
                for message in messages {
                    match self.take(message) {
                        Some(answer) => answers.push_str(&answer),
                        None => (*read, *answered) = (0, true),
                    }
                }
            }
            None if line.trim_ascii().is_empty() => {}
            None => {
                *garbage += 1;
                let start = String::from_utf8_lossy(&line[..line.len().min(SHOWN)]);
                tracing::debug!(server = self.name, line = %start, "this line is no message");
            }
        });
        if whole.is_err() {
            return Err(text!(
                "it wrote a line of more than {megabytes} MiB, and was ended",
                megabytes = (crate::lines::LONGEST >> 20) as u64
            ));
        }
        if *garbage > MOST_GARBAGE {
            return Err(text!("it wrote lines that are no messages of MCP, and was ended"));
        }
        Ok(answers)
    }

    /// Takes a message. Gives what is to be answered; `None` where it was an answer that somebody waits for.
    fn take(&mut self, message: Message) -> Option<String> {
        match message {
            Message::Answer(id, answer) => match self.waiting.remove(&id) {
                Some(waiting) => {
                    // Whoever waited may have gone away.
                    let _ = waiting.reply.send(answer);
                    return None;
                }
                // A second answer, or one to nothing.
                None => tracing::debug!(server = self.name, id, "nobody waits for this answer"),
            },
            Message::Request { id, method } => return Some(wire::answer(&id, &method)),
            Message::Notification { method, params } => match method.as_str() {
                "notifications/tools/list_changed" => self.common.changed.store(true, Ordering::SeqCst),
                "notifications/progress" => self.progress(&params),
                _ => tracing::debug!(server = self.name, method, "a notification"),
            },
        }
        Some(String::new())
    }

    fn progress(&self, params: &Value) {
        /// Characters of a note.
        const LONGEST: usize = 200;
        let id = params.get("progressToken").and_then(Value::as_u64).unwrap_or_default();
        let Some(Waiting { notes, .. }) = self.waiting.get(&id) else { return };
        let number = |name: &str| params.get(name).and_then(Value::as_f64);
        let done = match (number("progress"), number("total")) {
            (Some(done), Some(all)) => format!("{done}/{all} "),
            (Some(done), None) => format!("{done} "),
            _ => String::new(),
        };
        let said = params.get("message").and_then(Value::as_str).unwrap_or_default();
        let note: String = (done + said).chars().filter(|c| !c.is_control()).take(LONGEST).collect();
        // Where nobody keeps up, later notes say more.
        let _ = notes.try_send(note.trim().to_owned());
    }

    /// Ends the program, and says why it is over.
    async fn part(&self, mut program: Piped, end: End, reading: &mut Reading) -> Text {
        if !matches!(end, End::Bad(_)) {
            program.close();
            let deadline = Instant::now() + PARTING;
            while let Ok(Some(heard)) = timeout_at(deadline, program.next()).await {
                if let Heard::Errors(bytes) = heard {
                    self.errors(reading, bytes);
                }
            }
        }
        let ended = program.end().await;
        let why = match end {
            End::Wanted => return text!("it has ended"),
            End::Bad(why) => why,
            End::ByItself => match ended {
                Err(error) => {
                    self.common.disturbed.store(process::is_changed(&error), Ordering::SeqCst);
                    text!("it cannot be started: {why}", why = Text::from(&error))
                }
                Ok(Exit { code: Some(code), .. }) => text!("it ended with status {status}", status = code),
                Ok(Exit { signal: Some(signal), .. }) => text!("signal {signal} ended it", signal),
                Ok(_) => text!("it has ended"),
            },
        };
        match last_words(&self.common.errors()) {
            Some(said) => text!("{why}; its stderr ends with: {said}", why, said),
            None => why,
        }
    }

    /// What is written to stderr goes to the log, line by line as far as lines are not too long, and its end is kept.
    fn errors(&self, reading: &mut Reading, bytes: &[u8]) {
        /// Bytes of a line that are logged.
        const LONGEST: usize = 4 << 10;
        let (server, begun) = (&self.name, &mut reading.errors_line);
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            let line = piece.strip_suffix(b"\n").unwrap_or(piece);
            let room = LONGEST.saturating_sub(begun.len());
            begun.extend_from_slice(&line[..line.len().min(room)]);
            if line.len() < piece.len() {
                let line = String::from_utf8_lossy(begun);
                tracing::debug!(server, line = %line, "a server of MCP writes to stderr");
                begun.clear();
            }
        }
        let mut errors = self.common.errors();
        errors.extend_from_slice(&bytes[bytes.len().saturating_sub(KEPT)..]);
        let old = errors.len().saturating_sub(KEPT);
        errors.drain(..old);
    }
}

/// The lines of the end of stderr that say something, without control characters. What cannot be seen is written as it is escaped.
fn lines_of(errors: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(errors);
    // The first character may be the rest of one.
    let lines = text.trim_start_matches(char::REPLACEMENT_CHARACTER).lines();
    let plain = lines.map(|line| {
        let seen = line.chars().filter(|c| !c.is_control());
        seen.fold(String::new(), |mut plain, c| {
            match invisible::kind(c) {
                Some(_) => plain.extend(c.escape_unicode()),
                None => plain.push(c),
            }
            plain
        })
    });
    plain.filter(|line| !line.trim().is_empty()).collect()
}

/// The last lines of stderr as they are shown.
fn last_lines(errors: &[u8]) -> Vec<String> {
    let lines = lines_of(errors);
    let last = &lines[lines.len().saturating_sub(MOST_LINES)..];
    last.iter().map(|line| clip::middle(line, LONGEST_LINE).into_owned()).collect()
}

/// The end of stderr on one line. The frames of a stack, which Node writes behind the error, would leave no room for the error itself.
fn last_words(errors: &[u8]) -> Option<String> {
    let lines = lines_of(errors);
    let says = |line: &&str| !line.starts_with("at ") && line.chars().any(|c| !matches!(c, '^' | '~'));
    let words: Vec<&str> = lines.iter().map(|line| line.trim()).filter(says).flat_map(str::split_whitespace).collect();
    let line = words.join(" ");
    let Some(start) = line.len().checked_sub(SHOWN) else { return Some(line).filter(|line| !line.is_empty()) };
    let start = (start..line.len()).find(|at| line.is_char_boundary(*at)).unwrap_or(line.len());
    // Half a word says nothing; a word without an end is told from its middle.
    let word = line[start..].find(' ').map_or(start, |at| start + at + 1);
    Some(format!("… {}", &line[word..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_stderr_is_told_without_the_frames_of_a_stack() {
        let frames: String = (0..40).map(|at| format!("    at Module.load (node:internal/loader:{at}:7)\n")).collect();
        let node = format!(
            "node:internal/loader:1210\n  throw err;\n  ^\n\nError: no module '/x.js'\n{frames}{{ code: 'X' }}\n"
        );
        let told = "node:internal/loader:1210 throw err; Error: no module '/x.js' { code: 'X' }";
        assert_eq!(last_words(node.as_bytes()).as_deref(), Some(told));
        assert_eq!(last_words(b" \n\x1b\n"), None);
        let hidden = last_words("a\u{200b}b \u{202e}c \u{e0041}".as_bytes());
        assert_eq!(hidden.as_deref(), Some("a\\u{200b}b \\u{202e}c \\u{e0041}"));
        let long = format!("{}é end\x1b[31m\n", "word ".repeat(100));
        let told = last_words(long.as_bytes()).unwrap();
        assert!(told.starts_with("… word word") && told.ends_with("é end[31m") && told.len() <= SHOWN + 4, "{told}");
        assert!(last_words("é".repeat(1000).as_bytes()).is_some_and(|told| told.len() <= SHOWN + 4));
    }

    #[test]
    fn the_last_lines_of_stderr_have_bounds() {
        let many: String = (0..100).map(|at| format!("line {at}\n\n")).collect();
        let lines = last_lines(many.as_bytes());
        assert_eq!((lines.len(), &*lines[0], &*lines[9]), (MOST_LINES, "line 90", "line 99"));
        let long = last_lines(&[b'x'; KEPT]);
        assert!(long.len() == 1 && long[0].len() <= LONGEST_LINE + 100, "{long:?}");
    }
}
