//! One run of a server: a thread that owns the process, writes requests and dispatches responses.
//!
//! The thread has its own runtime, so that clients on any runtime can use it, and ends when the client is dropped.

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

/// The maximum number of lines that are not messages. Banners are common, but a program that writes nothing else is not
/// a server.
const MOST_GARBAGE: u32 = 100;
/// The maximum number of bytes that a server may write to stdout and stderr together between two responses.
const MOST_BYTES: u64 = 64 << 20;
/// The maximum number of bytes of the client's messages that a server may leave unread.
const MOST_UNREAD: usize = 64 << 20;
/// The number of bytes that are kept from the end of the server's stderr.
const KEPT_STDERR: usize = 4 << 10;
/// The maximum number of bytes of the kept stderr that a failure's message contains.
const SHOWN: usize = 300;
/// The number of lines of the server's stderr that [`Client::last_lines`] returns.
const MOST_LINES: usize = 10;
/// The longest line that [`Client::last_lines`] returns, in bytes.
const LONGEST_LINE: usize = 200;
/// How long a server may take to exit after its stdin was closed.
const EXIT_WAIT: Duration = Duration::from_millis(500);
/// How long dropping a client waits for its thread: longer than the process may take to exit.
const THREAD_WAIT: Duration = Duration::from_secs(5);
/// The maximum number of progress notes that wait to be displayed. Others are dropped.
const MOST_NOTES: usize = 16;

/// The reason why a request failed.
#[derive(Debug, Clone)]
pub(crate) enum Fault {
    /// The server refused the request.
    Refused(Refused),
    /// The server exited, or was ended because it misbehaved.
    Over(Text),
}

/// A message from a client to its thread.
enum Order {
    /// Send this request and dispatch its response.
    Request { id: u64, line: String, waiting: Waiting },
    /// Send this notification.
    Notify(String),
    /// Cancel the request with this id, because its caller no longer waits.
    Cancel(u64),
}

/// The channels to the caller of a request: one for the response and one for progress notes.
struct Waiting {
    reply: oneshot::Sender<Result<Value, Refused>>,
    notes: orders::Sender<String>,
}

/// The state that a client and its thread share.
#[derive(Debug, Default)]
struct ClientState {
    /// Whether the server has announced that its list of tools changed.
    changed: AtomicBool,
    /// Whether the server never ran, because a file of the project was replaced during the sandbox setup.
    disturbed: AtomicBool,
    /// Why the server ended; `None` while it runs.
    over: Mutex<Option<Text>>,
    /// The last bytes that the server wrote to stderr.
    errors: Mutex<Vec<u8>>,
    watch: OnceLock<ServiceWatch>,
}

impl ClientState {
    fn end_reason(&self) -> MutexGuard<'_, Option<Text>> {
        self.over.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn errors(&self) -> MutexGuard<'_, Vec<u8>> {
        self.errors.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A running server. Dropping the client ends it.
#[derive(Debug)]
pub(crate) struct Client {
    orders: Option<orders::UnboundedSender<Order>>,
    ids: AtomicU64,
    shared: Arc<ClientState>,
    /// A channel that closes when the thread ends.
    thread: Mutex<mpsc::Receiver<()>>,
}

impl Client {
    /// Starts the program. If that fails, the first request returns the error.
    pub(crate) fn start(name: &str, wanted: WantedService, commands: Arc<CommandRunner>) -> std::io::Result<Client> {
        let (send, receive) = orders::unbounded_channel();
        let shared: Arc<ClientState> = Arc::default();
        let (running, thread) = mpsc::channel::<()>();
        let (its_name, its_shared) = (name.to_owned(), Arc::clone(&shared));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        std::thread::Builder::new().name(format!("mcp {name}")).spawn(move || {
            // Dropped when the thread ends, which `Client::drop` waits for.
            let _running = running;
            let run = Run { name: its_name, shared: its_shared, waiting: HashMap::new() };
            runtime.block_on(run.run(&wanted, &commands, receive));
            // A blocking task of the runtime must not delay the end of the thread.
            runtime.shutdown_background();
        })?;
        Ok(Client { orders: Some(send), ids: AtomicU64::new(1), shared, thread: Mutex::new(thread) })
    }

    /// Sends a request and returns the response. Dropping the future cancels the request. Progress messages of the
    /// server go to `note`.
    pub(crate) async fn request(
        &self,
        method: &'static str,
        mut params: Value,
        note: &(dyn Fn(&str) + Send + Sync),
    ) -> Result<Value, Fault> {
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        if method == "tools/call" {
            // MCP: a server sends progress only for a request that has a token. The id of the request is unique
            // already.
            params["_meta"] = json!({"progressToken": id});
        }
        let (reply, mut answer) = oneshot::channel();
        let (notes, mut noted) = orders::channel(MOST_NOTES);
        let line = wire::request(id, method, &params);
        self.send(Order::Request { id, line, waiting: Waiting { reply, notes } });
        // If the caller drops this future, the guard cancels the request on the server.
        let mut unanswered = Unanswered { client: self, id, open: true };
        loop {
            tokio::select! {
                // The response takes precedence over progress notes that are still pending.
                biased;
                answered = &mut answer => {
                    unanswered.open = false;
                    return match answered {
                        Ok(answered) => answered.map_err(Fault::Refused),
                        Err(_) => Err(Fault::Over(self.end_text())),
                    };
                }
                Some(text) = noted.recv() => note(&text),
            }
        }
    }

    /// Sends a notification.
    pub(crate) fn notify(&self, method: &str) {
        self.send(Order::Notify(wire::notification(method, &json!({}))));
    }

    /// Returns `true` if the server has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.shared.end_reason().is_some()
    }

    /// Returns the reason why the server has ended; `None` while it runs.
    pub(crate) fn over(&self) -> Option<Text> {
        self.shared.end_reason().clone()
    }

    /// Returns the end of the server's stderr on one line.
    pub(crate) fn last_words(&self) -> Option<String> {
        last_words(&self.shared.errors())
    }

    /// Returns the last lines of the server's stderr.
    pub(crate) fn last_lines(&self) -> Vec<String> {
        last_lines(&self.shared.errors())
    }

    /// Returns `true` if the server has announced a change of its tools since the last call of this function.
    pub(crate) fn take_changed(&self) -> bool {
        self.shared.changed.swap(false, Ordering::SeqCst)
    }

    /// Returns `true` if the server never ran, because files of the project changed during the sandbox setup. It can be
    /// started again.
    pub(crate) fn was_disturbed(&self) -> bool {
        self.shared.disturbed.load(Ordering::SeqCst)
    }

    /// Returns the watch on the running program; `None` before it has started.
    pub(crate) fn watch(&self) -> Option<&ServiceWatch> {
        self.shared.watch.get()
    }

    fn end_text(&self) -> Text {
        self.shared.end_reason().clone().unwrap_or_else(|| text!("it has ended"))
    }

    fn send(&self, order: Order) {
        // If the thread has ended, the reply channel is closed, and the waiting request returns the reason.
        let _ = self.orders.as_ref().map(|orders| orders.send(order));
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // Closing the channel ends the thread.
        self.orders = None;
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = thread.recv_timeout(THREAD_WAIT);
    }
}

/// A request whose response has not arrived yet. Dropping it cancels the request.
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

/// Why the thread stops reading from a server.
enum StopReason {
    /// The client was dropped.
    ClientDropped,
    /// The server exited by itself, or closed its stdout.
    Exited,
    /// The server violated a limit or the protocol.
    Misbehaved(Text),
}

/// The thread of one run.
struct Run {
    name: String,
    shared: Arc<ClientState>,
    waiting: HashMap<u64, Waiting>,
}

/// The state of reading from a server.
#[derive(Default)]
struct ReadState {
    lines: Lines,
    garbage: u32,
    /// Whether any request got a response.
    answered: bool,
    /// The number of bytes that the server wrote since its last response.
    bytes: u64,
    /// The incomplete last line of stderr.
    errors_line: Vec<u8>,
}

impl Run {
    async fn run(
        mut self,
        wanted: &WantedService,
        commands: &Arc<CommandRunner>,
        mut orders: orders::UnboundedReceiver<Order>,
    ) {
        let why = match commands.service(wanted).await {
            Err(why) => text!("it cannot be started: {why}", why),
            Ok(Service { mut program, watch, hidden, .. }) => {
                // `set` cannot fail, because no other code sets the watch.
                let _ = self.shared.watch.set(watch);
                let mut reading = ReadState::default();
                let end = self.exchange_messages(&mut program, &mut orders, &mut reading).await;
                let never_answered = !reading.answered;
                let why = self.shut_down(program, end, &mut reading).await;
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
        tracing::debug!(server = self.name, why = %why, "an MCP server has ended");
        *self.shared.end_reason() = Some(why);
        // Dropping the reply channels makes the waiting requests return the reason.
        self.waiting.clear();
    }

    /// Executes orders and dispatches responses until the client or the server ends.
    async fn exchange_messages(
        &mut self,
        program: &mut Piped,
        orders: &mut orders::UnboundedReceiver<Order>,
        reading: &mut ReadState,
    ) -> StopReason {
        loop {
            let mut answers = String::new();
            tokio::select! {
                order = orders.recv() => match order {
                    None => return StopReason::ClientDropped,
                    Some(order) => answers = self.execute(order),
                },
                heard = program.next() => match heard {
                    None => return StopReason::Exited,
                    Some(Heard::Output(bytes)) => match self.read_output(bytes, reading) {
                        Ok(replies) => answers = replies,
                        Err(why) => return StopReason::Misbehaved(why),
                    },
                    Some(Heard::Errors(bytes)) => {
                        reading.bytes += bytes.len() as u64;
                        self.record_stderr(reading, bytes);
                    }
                    Some(_) => {}
                },
            }
            // A server that writes without answering, for example in an endless loop, would otherwise use the processor
            // forever.
            if reading.bytes > MOST_BYTES {
                return StopReason::Misbehaved(text!(
                    "it wrote {megabytes} MiB without an answer, and was ended",
                    megabytes = MOST_BYTES >> 20
                ));
            }
            // `send` only queues the bytes. Waiting for the server to read them could deadlock with a server that
            // itself waits until its output is read.
            program.send(answers.as_bytes());
            if program.unread() > MOST_UNREAD {
                return StopReason::Misbehaved(text!("it does not read its input"));
            }
            if program.output_has_ended() {
                return StopReason::Exited;
            }
        }
    }

    /// Executes an order and returns what to send to the server.
    fn execute(&mut self, order: Order) -> String {
        match order {
            Order::Request { id, line, waiting } => {
                self.waiting.insert(id, waiting);
                line
            }
            Order::Notify(line) => line,
            Order::Cancel(id) => match self.waiting.remove(&id) {
                Some(_) => wire::notification("notifications/cancelled", &json!({"requestId": id})),
                None => String::new(),
            },
        }
    }

    /// Processes a piece of stdout. Returns what to send to the server, or why no more is read.
    fn read_output(&mut self, bytes: &[u8], reading: &mut ReadState) -> Result<String, Text> {
        let ReadState { lines, garbage, bytes: read, answered, .. } = reading;
        let mut answers = String::new();
        *read += bytes.len() as u64;
        let whole = lines.push(bytes, |line| match wire::read(line) {
            Some(messages) => {
                for message in messages {
                    match self.handle_message(message) {
                        Some(answer) => answers.push_str(&answer),
                        // Only a response to a pending request counts. Otherwise a server could reset the limit with
                        // notifications.
                        None => (*read, *answered) = (0, true),
                    }
                }
            }
            None if line.trim_ascii().is_empty() => {}
            None => {
                *garbage += 1;
                let start = String::from_utf8_lossy(&line[..line.len().min(SHOWN)]);
                tracing::debug!(server = self.name, line = %start, "a line is not a message");
            }
        });
        if whole.is_err() {
            return Err(text!(
                "it wrote a line of more than {megabytes} MiB, and was ended",
                megabytes = (crate::lines::LONGEST >> 20) as u64
            ));
        }
        if *garbage > MOST_GARBAGE {
            return Err(text!("it wrote lines that are not MCP messages, and was ended"));
        }
        Ok(answers)
    }

    /// Processes a message. Returns what to send to the server; `None` if the message was a response to a pending
    /// request.
    fn handle_message(&mut self, message: Message) -> Option<String> {
        match message {
            Message::Answer(id, answer) => match self.waiting.remove(&id) {
                Some(waiting) => {
                    // The caller may no longer wait.
                    let _ = waiting.reply.send(answer);
                    return None;
                }
                // The response is the second one, or its request was cancelled or never sent.
                None => tracing::debug!(server = self.name, id, "response without a pending request"),
            },
            Message::Request { id, method } => return Some(wire::answer(&id, &method)),
            Message::Notification { method, params } => match method.as_str() {
                "notifications/tools/list_changed" => self.shared.changed.store(true, Ordering::SeqCst),
                "notifications/progress" => self.progress(&params),
                _ => tracing::debug!(server = self.name, method, "unknown notification"),
            },
        }
        Some(String::new())
    }

    fn progress(&self, params: &Value) {
        /// The longest note in characters.
        const LONGEST: usize = 200;
        let id = params.get("progressToken").and_then(Value::as_u64).unwrap_or_default();
        let Some(Waiting { notes, .. }) = self.waiting.get(&id) else { return };
        let number = |name: &str| params.get(name).and_then(Value::as_f64);
        let done = match (number("progress"), number("total")) {
            (Some(done), Some(all)) => format!("{done}/{all} "),
            (Some(done), None) => format!("{done} "),
            _ => String::new(),
        };
        let message = params.get("message").and_then(Value::as_str).unwrap_or_default();
        // The note is displayed on one line, so it has no control characters and a limited length.
        let note: String = (done + message).chars().filter(|c| !c.is_control()).take(LONGEST).collect();
        // If the channel is full, the note is dropped: a later one has newer progress.
        let _ = notes.try_send(note.trim().to_owned());
    }

    /// Ends the program and returns why the server ended.
    async fn shut_down(&self, mut program: Piped, end: StopReason, reading: &mut ReadState) -> Text {
        // MCP, shutdown over stdio: the client closes stdin and gives the server time to exit by itself.
        if !matches!(end, StopReason::Misbehaved(_)) {
            program.close();
            let deadline = Instant::now() + EXIT_WAIT;
            while let Ok(Some(heard)) = timeout_at(deadline, program.next()).await {
                if let Heard::Errors(bytes) = heard {
                    self.record_stderr(reading, bytes);
                }
            }
        }
        let ended = program.end().await;
        let why = match end {
            StopReason::ClientDropped => return text!("it has ended"),
            StopReason::Misbehaved(why) => why,
            StopReason::Exited => match ended {
                Err(error) => {
                    self.shared.disturbed.store(process::is_changed(&error), Ordering::SeqCst);
                    text!("it cannot be started: {why}", why = Text::from(&error))
                }
                Ok(Exit { code: Some(code), .. }) => text!("it ended with status {status}", status = code),
                Ok(Exit { signal: Some(signal), .. }) => text!("signal {signal} ended it", signal),
                Ok(_) => text!("it has ended"),
            },
        };
        match last_words(&self.shared.errors()) {
            Some(said) => text!("{why}; its stderr ends with: {said}", why, said),
            None => why,
        }
    }

    /// Logs stderr line by line, each cut to a limit, and keeps its end.
    fn record_stderr(&self, reading: &mut ReadState, bytes: &[u8]) {
        /// The longest logged line in bytes.
        const LONGEST: usize = 4 << 10;
        let (server, partial) = (&self.name, &mut reading.errors_line);
        for piece in bytes.split_inclusive(|&byte| byte == b'\n') {
            let line = piece.strip_suffix(b"\n").unwrap_or(piece);
            let room = LONGEST.saturating_sub(partial.len());
            partial.extend_from_slice(&line[..line.len().min(room)]);
            if line.len() < piece.len() {
                let line = String::from_utf8_lossy(partial);
                tracing::debug!(server, line = %line, "stderr of an MCP server");
                partial.clear();
            }
        }
        let mut errors = self.shared.errors();
        errors.extend_from_slice(&bytes[bytes.len().saturating_sub(KEPT_STDERR)..]);
        let old = errors.len().saturating_sub(KEPT_STDERR);
        errors.drain(..old);
    }
}

/// Returns the non-blank lines of the end of stderr, without control characters and with invisible characters escaped.
fn lines_of(errors: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(errors);
    // The kept bytes may begin in the middle of a character.
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

/// Returns the last lines of stderr for display.
fn last_lines(errors: &[u8]) -> Vec<String> {
    let lines = lines_of(errors);
    let last = &lines[lines.len().saturating_sub(MOST_LINES)..];
    last.iter().map(|line| clip::middle(line, LONGEST_LINE).into_owned()).collect()
}

/// Returns the end of stderr on one line. It omits stack frames, because those that Node prints after an error would
/// leave no room for the error itself.
fn last_words(errors: &[u8]) -> Option<String> {
    let lines = lines_of(errors);
    let says = |line: &&str| !line.starts_with("at ") && line.chars().any(|c| !matches!(c, '^' | '~'));
    let words: Vec<&str> = lines.iter().map(|line| line.trim()).filter(says).flat_map(str::split_whitespace).collect();
    let line = words.join(" ");
    let Some(start) = line.len().checked_sub(SHOWN) else { return Some(line).filter(|line| !line.is_empty()) };
    let start = (start..line.len()).find(|at| line.is_char_boundary(*at)).unwrap_or(line.len());
    // Start at a whole word, unless there is only one.
    let word = line[start..].find(' ').map_or(start, |at| start + at + 1);
    Some(format!("… {}", &line[word..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_stderr_omits_stack_frames() {
        let frames: String = (0..40).map(|at| format!("    at Module.load (node:internal/loader:{at}:7)\n")).collect();
        let node = format!(
            "node:internal/loader:1210\n  throw err;\n  ^\n\nError: no module '/x.js'\n{frames}{{ code: 'X' }}\n"
        );
        let expected = "node:internal/loader:1210 throw err; Error: no module '/x.js' { code: 'X' }";
        assert_eq!(last_words(node.as_bytes()).as_deref(), Some(expected));
        assert_eq!(last_words(b" \n\x1b\n"), None);
        let hidden = last_words("a\u{200b}b \u{202e}c \u{e0041}".as_bytes());
        assert_eq!(hidden.as_deref(), Some("a\\u{200b}b \\u{202e}c \\u{e0041}"));
        let long = format!("{}é end\x1b[31m\n", "word ".repeat(100));
        let last = last_words(long.as_bytes()).unwrap();
        assert!(last.starts_with("… word word") && last.ends_with("é end[31m") && last.len() <= SHOWN + 4, "{last}");
        assert!(last_words("é".repeat(1000).as_bytes()).is_some_and(|last| last.len() <= SHOWN + 4));
    }

    #[test]
    fn the_last_lines_of_stderr_are_bounded() {
        let many: String = (0..100).map(|at| format!("line {at}\n\n")).collect();
        let lines = last_lines(many.as_bytes());
        assert_eq!((lines.len(), &*lines[0], &*lines[9]), (MOST_LINES, "line 90", "line 99"));
        let long = last_lines(&[b'x'; KEPT_STDERR]);
        assert!(long.len() == 1 && long[0].len() <= LONGEST_LINE + 100, "{long:?}");
    }
}
