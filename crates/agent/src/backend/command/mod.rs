//! A backend that runs a program: it reads the conversation on its stdin and prints the reply. It may be a bridge to a
//! web chat, `llm`, `ollama run`, or a short script.
//!
//! The program is started for each reply, by its words and without a shell, with the environment of the host. It
//! belongs to the person, so it runs outside any sandbox.
//!
//! # What the program gets
//! - On its stdin, the messages. As text: the instructions first, then each message after a line with its role,
//!   `--- user ---` or `--- assistant ---`, if there is more than one. As JSON: a line `{"role":..,"content":..}`
//!   for each.
//! - In its arguments, in place of `{session}`, `{turn}` and `{model}`, and in the variables `TOOLFENCE_SESSION`,
//!   `TOOLFENCE_TURN` and `TOOLFENCE_MODEL`: the name of the session, the turn of the user, and the model.
//! - `TOOLFENCE_FIRST`: 1 if the program must begin a new conversation, 0 if it continues the one that it keeps.
//!
//! A program that keeps its [own conversation](CommandOptions::own_conversation) gets only the new messages, and the
//! instructions if a resumed session has others. After a reply that failed or was cancelled it gets the whole
//! conversation.
//!
//! # What the program gives
//! - On its stdout, the reply. Escape sequences of terminals are removed, and bytes that are not UTF-8 are replaced.
//! - A status other than 0 reports that the reply failed or broke off. The error has the end of its stderr.
//!
//! The program and all processes that it started are ended when the reply is complete, is cancelled or arrives too
//! slowly, and, if the host's `main` begins with `enter_if_asked`, when the host dies.

mod input;
mod plain;

use super::{Backend, Chunk, Request, Sink};
use plain::PlainText;
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::ControlFlow;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::time::{Instant, timeout_at};
use toolfence_policy::toolbox::BoxFuture;
use toolfence_protocol::{Error, ErrorKind, FinishReason, Message, Role, Text, text};
use toolfence_sandbox::isolation;
use toolfence_sandbox::process::{Exit, Heard, Piped, Program};

/// The number of bytes at the end of stderr that error messages quote.
const SHOWN: usize = 600;

/// The wait that replaces a longer limit: a year. `Instant` panics if a sum overflows.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// The program of a backend and how to communicate with it.
#[derive(Clone)]
#[non_exhaustive]
pub struct CommandOptions {
    /// The program and its arguments. `{session}`, `{turn}` and `{model}` are replaced in the arguments.
    pub words: Vec<String>,
    /// The model, for a program that needs its name.
    pub model: Option<String>,
    /// Whether the program keeps the conversation by itself. If so, it gets the whole conversation only with the first
    /// message, and later only new messages.
    pub own_conversation: bool,
    /// Whether the messages are sent as lines of JSON instead of text.
    pub json: bool,
    /// The working folder of the program; `None` for that of the host.
    pub folder: Option<PathBuf>,
    /// The maximum time until the first piece of a reply.
    pub first_byte: Duration,
    /// The maximum time until each further piece, and until the end of the program after the last one.
    pub between: Duration,
    /// The maximum number of bytes in a reply. A longer reply ends there, as at a length limit of the model.
    pub most_bytes: usize,
}

impl CommandOptions {
    /// Creates options for a program that gets the whole conversation as text with every message. It has five minutes
    /// for the first piece, one for each further one, and 16 MiB for a reply.
    pub fn new(words: impl IntoIterator<Item = impl Into<String>>) -> CommandOptions {
        CommandOptions {
            words: words.into_iter().map(Into::into).collect(),
            model: None,
            own_conversation: false,
            json: false,
            folder: None,
            first_byte: Duration::from_secs(300),
            between: Duration::from_secs(60),
            most_bytes: 16 << 20,
        }
    }

    /// Returns the defaults for the program of a command line: words separated by blanks, with quotes as in a shell.
    /// The line is not passed to a shell.
    ///
    /// # Errors
    /// Fails if a quote is not closed.
    pub fn parse(line: &str) -> Result<CommandOptions, Error> {
        let words = shell_words::split(line).map_err(|problem| {
            Error::with_kind(
                ErrorKind::InvalidInput,
                text!(
                    "The command of the backend cannot be read: {line}: {problem}. It is no shell script: write words, \
                     with quotes around those that have blanks.",
                    line,
                    problem = problem.to_string()
                ),
            )
        })?;
        Ok(CommandOptions::new(words))
    }
}

impl fmt::Debug for CommandOptions {
    /// Leaves out the arguments, which may contain a key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommandOptions")
            .field("program", &self.words.first())
            .field("own_conversation", &self.own_conversation)
            .field("json", &self.json)
            .finish_non_exhaustive()
    }
}

/// A program as a backend.
///
/// ```
/// use toolfence_agent::backend::{Backend, Chunk, Command, CommandOptions, Sink};
/// use toolfence_protocol::{FinishReason, Message, Role};
///
/// struct Said(String);
///
/// impl Sink for Said {
///     fn chunk(&mut self, chunk: Chunk<'_>) -> std::ops::ControlFlow<()> {
///         if let Chunk::Text(text) = chunk {
///             self.0.push_str(text);
///         }
///         std::ops::ControlFlow::Continue(())
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), toolfence_protocol::Error> {
/// let echo = Command::new(CommandOptions::parse("sed 's/^/You said: /'")?)?;
/// let mut said = Said(String::new());
/// let finish = echo.stream(&[Message::new(Role::User, "Hello.")], &mut said).await?;
/// assert_eq!((finish, said.0.as_str()), (FinishReason::Stop, "You said: Hello.\n"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Command {
    options: CommandOptions,
}

impl Command {
    /// Creates the backend without starting the program.
    ///
    /// # Errors
    /// Fails if the options name no program.
    pub fn new(options: CommandOptions) -> Result<Command, Error> {
        match options.words.first() {
            Some(program) if !program.trim().is_empty() => Ok(Command { options }),
            _ => Err(Error::with_kind(
                ErrorKind::InvalidInput,
                text!(
                    "The command of the backend is empty. Write a program and its arguments, such as `llm -m \
                     gpt-4o-mini`."
                ),
            )),
        }
    }

    fn program(&self) -> &str {
        self.options.words.first().map_or("", String::as_str)
    }

    async fn reply(&self, mut request: Request<'_>, sink: &mut dyn Sink) -> Result<FinishReason, Error> {
        let failed = |cause: Text| {
            Error::because(text!("get an answer from the program {program}", program = self.program()), cause)
        };
        if request.messages.iter().any(|message| !message.images.is_empty()) {
            return Err(failed(text!(
                "this backend takes no images: leave the image out, or choose a server and a model that take some"
            ))
            .of_kind(ErrorKind::InvalidInput));
        }
        if !self.options.own_conversation || request.state != self.identity() {
            // The conversation is kept by another program, or not at all, so this one needs all messages.
            request.known = 0;
        }
        let unreachable = |why: Text| failed(why).of_kind(ErrorKind::Unreachable);
        let cannot_start = |error: &std::io::Error| {
            failed(text!(
                "{cause}. The system cannot start it: check that it may be executed, and that its first line (#!) \
                 names a program that is there.",
                cause = Text::from(error)
            ))
            .of_kind(ErrorKind::Io)
        };
        let program = self.find_program().ok_or_else(|| {
            unreachable(text!("there is no such program. Install it, write its full path, or check the PATH."))
        })?;
        let mut piped = self.start(program.as_os_str(), &request).await.map_err(|error| cannot_start(&error))?;
        let mut reply = Reply::new(sink, &self.options);
        let end = reply.read(&mut piped).await;
        let exit = match end {
            ReadEnd::ByItself => piped.end().await.map(Some),
            _ => {
                // Ends the program and its descendants, because no more output is wanted.
                drop(piped);
                Ok(None)
            }
        };
        let kept = self.options.own_conversation.then(|| self.identity());
        match exit {
            Ok(exit) => reply.finish(end, exit, kept.as_deref()).map_err(unreachable),
            Err(error) if !reply.began() => Err(cannot_start(&error)),
            Err(error) => {
                tracing::info!(program = self.program(), %error, "the end of the program is not known");
                Ok(reply.broke_off(&text!("it is unknown how the program ended")))
            }
        }
    }

    async fn start(&self, program: &OsStr, request: &Request<'_>) -> Result<Piped, std::io::Error> {
        let options = &self.options;
        let turn = request.turn.to_string();
        let model = options.model.as_deref();
        // `Command::new` refuses options without a program, so there is a first word.
        let args = options.words[1..].iter().map(|word| {
            let word =
                replace_names(word, &[("session", request.session), ("turn", &turn), ("model", model.unwrap_or(""))]);
            OsString::from(word)
        });
        let args: Vec<OsString> = args.collect();
        let value = |text: &str| Some(OsString::from(text));
        let environment = [
            // Asks the program to print plain text. Escape sequences that it prints nevertheless are removed.
            ("TERM", value("dumb")),
            ("NO_COLOR", value("1")),
            ("TOOLFENCE_SESSION", value(request.session)),
            ("TOOLFENCE_TURN", value(&turn)),
            ("TOOLFENCE_FIRST", value(if request.known == 0 { "1" } else { "0" })),
            // `None` removes the variable, which this process has if a backend of another host started it.
            ("TOOLFENCE_MODEL", model.and_then(value)),
        ];
        let new = request.messages.get(request.known..).unwrap_or_default();
        // A program with its own conversation gets the instructions again only if they have changed.
        let other = request
            .messages
            .first()
            .filter(|first| request.known > 0 && !request.knows_instructions && first.role == Role::System);
        let input = input::render_messages(other.into_iter().chain(new), options.json).into_bytes();
        let words: Vec<&OsStr> = std::iter::once(program).chain(args.iter().map(OsString::as_os_str)).collect();
        let folder = options.folder.as_deref();
        // The supervisor ends the program and its descendants if this process dies.
        let supervisor = isolation::supervised(&words);
        let (program, args, message) = match &supervisor {
            Some(entry) => (entry.program.as_os_str(), &*entry.arguments, Some(&entry.message)),
            None => (program, &*args, None),
        };
        let environment = &environment;
        Piped::start(Program { program, args, folder, environment, inherits: true, input, converses: false, message })
            .await
    }

    /// Returns the path of the program, or `None` if it does not exist.
    fn find_program(&self) -> Option<PathBuf> {
        let name = Path::new(self.program());
        let runs =
            |path: &PathBuf| path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0);
        if name.components().count() > 1 || name.is_absolute() {
            // A name with a slash is a path relative to the working folder of the program, as if it were started there.
            let path = self.options.folder.as_ref().map_or_else(|| name.to_owned(), |folder| folder.join(name));
            return Some(path).filter(runs);
        }
        let search_path = std::env::var_os("PATH")?;
        // A relative folder of the search path may be in the project, where the model can write programs.
        let folders = std::env::split_paths(&search_path).filter(|folder| folder.is_absolute());
        folders.map(|folder| folder.join(name)).find(runs)
    }

    /// Identifies the program in a transcript, without its arguments, which may hold a key.
    fn identity(&self) -> String {
        // The hash need not be stable: if it differs, the program gets the whole conversation.
        let mut hasher = DefaultHasher::new();
        (&self.options.words, &self.options.model).hash(&mut hasher);
        format!("{:016x}", hasher.finish())
    }
}

impl Backend for Command {
    fn stream<'a>(
        &'a self,
        messages: &'a [Message],
        sink: &'a mut dyn Sink,
    ) -> BoxFuture<'a, Result<FinishReason, Error>> {
        Box::pin(self.reply(Request::new(messages), sink))
    }

    fn answer<'a>(
        &'a self,
        request: Request<'a>,
        sink: &'a mut dyn Sink,
    ) -> BoxFuture<'a, Result<FinishReason, Error>> {
        Box::pin(self.reply(request, sink))
    }
}

/// Replaces each `{name}` in a word. The values are not searched again.
fn replace_names(word: &str, values: &[(&str, &str)]) -> String {
    let mut out = String::new();
    let mut rest = word;
    while let Some(at) = rest.find('{') {
        out.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let found = values.iter().find_map(|(name, value)| Some((value, after.strip_prefix(name)?.strip_prefix('}')?)));
        rest = match found {
            Some((value, after)) => {
                out.push_str(value);
                after
            }
            None => {
                out.push('{');
                after
            }
        };
    }
    out + rest
}

/// The reason to stop reading from a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReadEnd {
    /// The program has ended.
    ByItself,
    /// The sink of the reply wants no more text.
    Unwanted,
    /// The reply is longer than the limit.
    TooLong,
    /// The program has closed its stdout and still runs.
    StillRunning,
    /// The program wrote nothing for longer than the limit.
    Silent,
}

/// A reply that is being received.
struct Reply<'a> {
    sink: &'a mut dyn Sink,
    options: &'a CommandOptions,
    plain: PlainText,
    /// The end of stderr.
    errors: VecDeque<u8>,
    /// Bytes of text so far.
    bytes: usize,
    deadline: Instant,
}

impl<'a> Reply<'a> {
    fn new(sink: &'a mut dyn Sink, options: &'a CommandOptions) -> Reply<'a> {
        let deadline = Instant::now() + options.first_byte.min(LONGEST);
        Reply { sink, options, plain: PlainText::default(), errors: VecDeque::new(), bytes: 0, deadline }
    }

    fn began(&self) -> bool {
        self.bytes > 0
    }

    /// Reads the output of the program until it ends, or the reply must end.
    async fn read(&mut self, piped: &mut Piped) -> ReadEnd {
        while let Ok(heard) = timeout_at(self.deadline, piped.next()).await {
            match heard {
                None => return ReadEnd::ByItself,
                Some(Heard::Output(bytes)) => {
                    if let ControlFlow::Break(end) = self.output(bytes) {
                        return end;
                    }
                }
                Some(Heard::Errors(bytes)) => self.errors(bytes),
                Some(_) => {}
            }
        }
        // A program that has closed its stdout has completed its reply and does something else.
        if self.began() && piped.output_has_ended() { ReadEnd::StillRunning } else { ReadEnd::Silent }
    }

    /// Adds a piece of stdout. Output without text extends no deadline, because an endless spinner is not an answer.
    fn output(&mut self, bytes: &[u8]) -> ControlFlow<ReadEnd> {
        let mut text = self.plain.push(bytes);
        self.text(&mut text)
    }

    fn text(&mut self, text: &mut String) -> ControlFlow<ReadEnd> {
        if text.is_empty() {
            return ControlFlow::Continue(());
        }
        // This cannot underflow, because text beyond the limit is cut off below.
        let room = self.options.most_bytes - self.bytes;
        let whole = text.len() <= room;
        if !whole {
            text.truncate(toolfence_protocol::clip::floor_boundary(text, room));
        }
        self.bytes += text.len();
        self.deadline = Instant::now() + self.options.between.min(LONGEST);
        match self.sink.chunk(Chunk::Text(text)) {
            ControlFlow::Break(()) => ControlFlow::Break(ReadEnd::Unwanted),
            ControlFlow::Continue(()) if whole => ControlFlow::Continue(()),
            ControlFlow::Continue(()) => ControlFlow::Break(ReadEnd::TooLong),
        }
    }

    fn errors(&mut self, bytes: &[u8]) {
        // Only the end is kept, so that a program that logs without end needs little memory.
        let kept = &bytes[bytes.len().saturating_sub(SHOWN)..];
        self.errors.extend(kept);
        self.errors.drain(..self.errors.len().saturating_sub(SHOWN));
    }

    /// Ends the reply. `kept` identifies the program if it keeps the conversation.
    fn finish(&mut self, end: ReadEnd, exit: Option<Exit>, kept: Option<&str>) -> Result<FinishReason, Text> {
        let seconds = |limit: Duration| limit.as_secs_f32().to_string();
        match end {
            ReadEnd::Unwanted => return Ok(FinishReason::Cut),
            ReadEnd::TooLong => return Ok(FinishReason::Length),
            ReadEnd::Silent if self.began() => {
                return Ok(self.broke_off(&text!(
                    "the program wrote nothing more for {seconds} s",
                    seconds = seconds(self.options.between)
                )));
            }
            ReadEnd::Silent => {
                return Err(self.failure(text!(
                    "it wrote nothing to its stdout for {seconds} s and was ended. Try it by hand in a terminal: it \
                     may wait for a login or a model. If it is only slow, wait longer for it.",
                    seconds = seconds(self.options.first_byte)
                )));
            }
            ReadEnd::ByItself | ReadEnd::StillRunning => {}
        }
        let mut last = std::mem::take(&mut self.plain).finish();
        if let ControlFlow::Break(end) = self.text(&mut last) {
            return Ok(if end == ReadEnd::TooLong { FinishReason::Length } else { FinishReason::Cut });
        }
        let how = match exit {
            Some(Exit { code: Some(0), .. }) => None,
            Some(Exit { code: Some(code), .. }) => Some(text!("status {code}", code)),
            Some(Exit { signal: Some(number), .. }) => Some(text!("signal {number}", number)),
            _ => None,
        };
        match (self.began(), how) {
            (true, Some(how)) => Ok(self.broke_off(&text!("the program ended with {how}", how))),
            (true, None) => {
                if let Some(kept) = kept {
                    // The reply is complete, so a break changes nothing.
                    let _ = self.sink.chunk(Chunk::Kept(kept));
                }
                Ok(FinishReason::Stop)
            }
            (false, Some(how)) => Err(self.failure(text!(
                "it ended with {how} and without an answer. Try it by hand in a terminal, with a question on its \
                 stdin.",
                how
            ))),
            (false, None) => Err(self.failure(text!(
                "it ended without writing anything to its stdout. It must print the answer there; try it by hand, with \
                 a question on stdin."
            ))),
        }
    }

    /// Returns the end of the program's stderr on one line.
    fn stderr(&self) -> Option<String> {
        let bytes: Vec<u8> = self.errors.iter().copied().collect();
        let text = PlainText::text_of(&bytes);
        // The text may begin in the middle of a character.
        let words: Vec<&str> = text.trim_start_matches('\u{FFFD}').split_whitespace().collect();
        Some(words.join(" ")).filter(|text| !text.is_empty())
    }

    fn failure(&self, why: Text) -> Text {
        match self.stderr() {
            Some(said) => text!("{failure} Its stderr: {said}", failure = why, said),
            None => why,
        }
    }

    fn broke_off(&mut self, why: &Text) -> FinishReason {
        let why = match self.stderr() {
            Some(said) => Text::join([why.clone(), said.into()], ": "),
            None => why.clone(),
        };
        let _ = self.sink.chunk(Chunk::BrokeOff(&why));
        FinishReason::Cut
    }
}

#[cfg(test)]
mod tests;
