//! Runs a shell command that the user types in a conversation: `!git status`.
//!
//! It runs as in the user's shell, without policy and sandbox, because the user could equally run it in another window.
//! Its output is displayed, and sent to the model within a limit and without secrets.

use crate::failure::Failure;
use crate::outcome::printed_line;
use crate::shown::{Words, language};
use crate::terminal::Terminal;
use rustix::process::Signal;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tokio::task::yield_now;
use tokio::time::{Instant, sleep_until, timeout};
use toolfence_agent::agent::Canceller;
use toolfence_agent::redact::Redactor;
use toolfence_protocol::fence;
use toolfence_protocol::{Text, text};

/// Number of bytes of the output that are sent to the model, both from its beginning and from its end.
const KEPT: usize = 8 << 10;
/// Time limit for a command to end after Ctrl-C.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long to read output after the command has ended, because a background process may keep the pipe open.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// A command of the user that has ended or was stopped, with its output.
pub(crate) struct FinishedCommand {
    /// The exit status; `None` if the command was stopped.
    status: Option<ExitStatus>,
    printed: Printed,
}

/// The beginning and the end of the output.
#[derive(Default)]
struct Printed {
    head: Vec<u8>,
    tail: Vec<u8>,
    left_out: usize,
}

impl Printed {
    fn push(&mut self, bytes: &[u8]) {
        let room = KEPT.saturating_sub(self.head.len()).min(bytes.len());
        self.head.extend_from_slice(&bytes[..room]);
        self.tail.extend_from_slice(&bytes[room..]);
        let over = self.tail.len().saturating_sub(KEPT);
        self.tail.drain(..over);
        self.left_out += over;
    }

    fn text(&self) -> String {
        if self.left_out == 0 {
            // A character or a secret may cross the boundary between the two parts.
            return String::from_utf8_lossy(&[&self.head[..], &self.tail[..]].concat()).into_owned();
        }
        let left_out = text!("[{count} bytes left out]", count = self.left_out);
        let [head, tail] = [&self.head, &self.tail].map(|bytes| String::from_utf8_lossy(bytes));
        format!("{head}\n{}\n{tail}", left_out.words())
    }
}

/// Displays a file in pieces, so that the user can stop it. Returns `true` if the end was reached.
pub(crate) async fn show(file: File, canceller: &Canceller, out: &mut Terminal) -> Result<bool, Failure> {
    /// Number of bytes that are written at a time, and maximum number of bytes of a line that are processed together.
    const PIECE: usize = 32 << 10;
    let mut file = BufReader::new(file);
    let (mut line, mut rest, mut text) = (Vec::new(), Vec::new(), String::new());
    loop {
        line.clear();
        line.append(&mut rest);
        let read = file.by_ref().take(PIECE as u64).read_until(b'\n', &mut line);
        let read = read.map_err(|error| Failure::broken(Text::from(&error)))?;
        if read > 0 {
            // The piece may end in the middle of a character.
            rest = line.split_off(line.len() - unfinished(&line));
        }
        let shown = String::from_utf8_lossy(line.strip_suffix(b"\n").unwrap_or(&line));
        text.push_str(&if out.is_terminal() { printed_line(&shown).into() } else { shown });
        text.push_str(if line.ends_with(b"\n") { "\n" } else { "" });
        if read == 0 || text.len() > PIECE {
            out.write(&text)?;
            text.clear();
            // Let the signal handler run.
            yield_now().await;
        }
        match read {
            0 => return Ok(true),
            _ if canceller.is_cancelled() => return Ok(false),
            _ => {}
        }
    }
}

/// Returns the number of bytes at the end that begin an incomplete character.
fn unfinished(bytes: &[u8]) -> usize {
    let end = &bytes[bytes.len().saturating_sub(3)..];
    let begin = end.iter().rposition(|byte| !(0x80..0xc0).contains(byte)).unwrap_or(end.len());
    let waits = std::str::from_utf8(&end[begin..]).is_err_and(|error| error.error_len().is_none());
    if waits { end.len() - begin } else { 0 }
}

/// Runs a shell line in the current folder and displays its output as it arrives.
pub(crate) async fn run(
    line: &str,
    canceller: &Canceller,
    out: &mut Terminal,
) -> io::Result<Result<FinishedCommand, Failure>> {
    let mut command = Command::new("bash");
    command.args(["-c", line]).stdin(Stdio::inherit()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn()?;
    let (mut stdout, mut stderr) = (Pipe::new(child.stdout.take()), Pipe::new(child.stderr.take()));
    let mut printed = Printed::default();
    let mut status = None;
    // The time at which to stop waiting for output of background processes.
    let mut until: Option<Instant> = None;
    loop {
        if until.is_some_and(|until| until <= Instant::now()) {
            break;
        }
        if stdout.open.is_none() && stderr.open.is_none() {
            status = status.or(wait_for_end(&mut child, canceller).await?);
            break;
        }
        let piece = tokio::select! {
            () = canceller.cancelled() => {
                // The terminal has sent the signal to the command too, so wait for its end. A stopped command has no
                // status.
                status = timeout(PATIENCE, child.wait()).await.ok().transpose()?.filter(|_| false);
                break;
            }
            piece = stdout.read() => piece?,
            piece = stderr.read() => piece?,
            ended = child.wait(), if status.is_none() => {
                status = Some(ended?);
                until = Some(Instant::now() + LAST_WORDS);
                continue;
            }
            () = sleep_until(until.unwrap_or_else(Instant::now)), if until.is_some() => break,
        };
        printed.push(&piece);
        if let Err(failure) = out.write(&*String::from_utf8_lossy(&piece)) {
            return Ok(Err(failure));
        }
    }
    // If the loop ended before the output did, the bytes of an incomplete character are still missing.
    for piece in [stdout.begun, stderr.begun] {
        printed.push(&piece);
        if let Err(failure) = out.write(&*String::from_utf8_lossy(&piece)) {
            return Ok(Err(failure));
        }
    }
    Ok(Ok(FinishedCommand { status, printed }))
}

/// Waits until a command that has closed its output ends.
async fn wait_for_end(child: &mut Child, canceller: &Canceller) -> io::Result<Option<ExitStatus>> {
    tokio::select! {
        () = canceller.cancelled() => Ok(None),
        status = child.wait() => status.map(Some),
    }
}

/// An output pipe of the command, until its end.
struct Pipe<R> {
    open: Option<R>,
    /// The beginning of an incomplete character.
    begun: Vec<u8>,
}

impl<R: AsyncRead + Unpin> Pipe<R> {
    fn new(open: Option<R>) -> Pipe<R> {
        Pipe { open, begun: Vec::new() }
    }

    /// Reads the next output, up to the last complete character. The result is empty if only a part of a character has
    /// arrived. At the end of the output, it contains the bytes of an incomplete last character.
    async fn read(&mut self) -> io::Result<Vec<u8>> {
        let Some(open) = &mut self.open else { return std::future::pending().await };
        let mut buffer = [0; 4096];
        let count = open.read(&mut buffer).await?;
        let mut piece = std::mem::take(&mut self.begun);
        piece.extend_from_slice(&buffer[..count]);
        if count == 0 {
            self.open = None;
        } else {
            self.begun = piece.split_off(piece.len() - unfinished(&piece));
        }
        Ok(piece)
    }
}

impl FinishedCommand {
    /// Describes how the command ended, for the model.
    pub(crate) fn ending(&self) -> String {
        // The command may handle Ctrl-C, which the terminal sends to it too, before this program does.
        let status = self.status.filter(|status| status.signal() != Some(Signal::INT.as_raw()));
        status.map_or_else(|| text!("a stop by the user").words().into_owned(), |status| status.to_string())
    }

    /// Returns the output with its secrets redacted.
    pub(crate) fn printed(&self, redactor: &Redactor) -> String {
        redactor.text(&self.printed.text()).into_owned()
    }

    /// Returns the message for the model about the command.
    pub(crate) fn note(&self, line: &str, printed: &str) -> String {
        let folder = std::env::current_dir().unwrap_or_default().display().to_string();
        let head = text!(
            "Note: the user ran this command in {folder}: {command}\nIt ended with {ended}. Its output:",
            command = line,
            folder,
            ended = self.ending()
        )
        .into_string(language());
        let marks = "`".repeat(fence::safe_length(printed));
        let end = if printed.is_empty() || printed.ends_with('\n') { "" } else { "\n" };
        format!("{head}\n\n{marks}\n{printed}{end}{marks}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncWriteExt;

    #[test]
    fn a_character_waits_for_its_end() {
        for text in ["x", "é", "語", "👩", "x👩"] {
            for end in 0..=text.len() {
                let whole = (0..=end).rev().find(|end| text.is_char_boundary(*end)).unwrap();
                assert_eq!(unfinished(&text.as_bytes()[..end]), end - whole, "{text} {end}");
            }
        }
        // These bytes do not begin a character.
        assert_eq!([b"\xff", b"\x80", b"\xc0"].map(|bytes| unfinished(bytes)), [0; 3]);
    }

    #[tokio::test]
    async fn a_command_that_is_slow_within_a_character_is_shown_whole() {
        let (mut writer, reader) = tokio::io::duplex(1);
        let text = "x é 語 👩 \u{fffd}";
        let printing = tokio::spawn(async move { writer.write_all(&[text.as_bytes(), b"\xe8\xaa"].concat()).await });
        let (mut pipe, mut shown) = (Pipe::new(Some(reader)), String::new());
        while pipe.open.is_some() {
            shown += &String::from_utf8_lossy(&pipe.read().await.unwrap());
        }
        printing.await.unwrap().unwrap();
        // The last character stays incomplete.
        assert_eq!(shown, format!("{text}\u{fffd}"));
    }

    #[test]
    fn the_beginning_and_the_end_are_kept() {
        let mut printed = Printed::default();
        (0..10_000).for_each(|line| printed.push(format!("line {line}\n").as_bytes()));
        let text = printed.text();
        assert!(text.starts_with("line 0\nline 1\n") && text.ends_with("line 9999\n"), "{text:.40}");
        assert!(text.len() < 2 * KEPT + 40 && text.contains(" bytes left out]"));
        let mut short = Printed::default();
        short.push(b"all of it");
        assert_eq!(short.text(), "all of it");
    }
}
