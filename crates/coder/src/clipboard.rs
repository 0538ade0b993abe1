//! Access to clipboards: the terminal's own, through the escape sequence OSC 52, which needs no program and works over
//! ssh; and those that other programs read and write.

use crate::choices::ClipboardKind;
use crate::failure::Failure;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::fs::OpenOptions;
use std::io::{self, IsTerminal, Write};
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;
use tokio::time::timeout;
use toolfence_protocol::{Text, text};

/// Maximum number of bytes of a text. The limit of xterm is about the same.
const MOST_BYTES: usize = 72 << 10;

/// Copies a text to the clipboard of the terminal.
///
/// # Errors
/// The text is too long, or there is no terminal with a clipboard. The message is for the user.
pub(crate) fn copy(text: &str) -> Result<(), Text> {
    if text.len() > MOST_BYTES {
        return Err(text!(
            "the answer is longer than {kibibytes} KiB, the limit of terminals",
            kibibytes = MOST_BYTES >> 10
        ));
    }
    let is_terminal = io::stdout().is_terminal() && std::env::var_os("TERM").is_some_and(|term| term != "dumb");
    let terminal = is_terminal.then(|| OpenOptions::new().write(true).open("/dev/tty")).and_then(Result::ok);
    let mut terminal = terminal.ok_or_else(|| text!("there is no terminal with a clipboard"))?;
    // The text may be pasted into a terminal, so a sequence that ends the paste is removed.
    let plain: String = text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect();
    let sequence = format!("\x1b]52;c;{}\x07", STANDARD.encode(plain));
    terminal.write_all(sequence.as_bytes()).map_err(|error| Text::from(&error))
}

/// Maximum number of bytes read from a clipboard, which is also that of a reply.
const MOST_READ: u64 = 64 << 20;

/// Time limit for a clipboard program.
const PATIENCE: Duration = Duration::from_secs(3);

/// A clipboard that is accessed through one program for reading and one for writing.
pub(crate) struct Clipboard {
    read: &'static [&'static str],
    write: &'static [&'static str],
    /// Whether the program for reading hangs. This is reported only once.
    hangs: bool,
}

impl Clipboard {
    /// Returns the named clipboard, or otherwise the one of the desktop or of tmux.
    pub(crate) fn new(kind: Option<ClipboardKind>) -> Result<Clipboard, Failure> {
        let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let kind = match kind {
            Some(kind) => kind,
            None if is_set("WAYLAND_DISPLAY") => ClipboardKind::Wayland,
            None if is_set("DISPLAY") => ClipboardKind::X11,
            None if cfg!(target_os = "macos") => ClipboardKind::Macos,
            None if is_set("TMUX") => ClipboardKind::Tmux,
            None => {
                return Err(Failure::wrong_use(text!(
                    "No clipboard was found: there is no desktop and no tmux. Name one with --clipboard."
                )));
            }
        };
        let (read, write): (&[&str], &[&str]) = match kind {
            ClipboardKind::Wayland => (&["wl-paste", "--no-newline"], &["wl-copy"]),
            ClipboardKind::X11 => {
                (&["xclip", "-out", "-selection", "clipboard"], &["xclip", "-in", "-selection", "clipboard"])
            }
            ClipboardKind::Macos => (&["pbpaste"], &["pbcopy"]),
            ClipboardKind::Tmux => (&["tmux", "show-buffer"], &["tmux", "load-buffer", "-"]),
        };
        Ok(Clipboard { read, write, hangs: false })
    }

    /// Reads the text; `None` if the clipboard has no text, the text is too long, or the program hangs.
    ///
    /// # Errors
    /// The program cannot be started.
    pub(crate) async fn read(&mut self) -> Result<Option<String>, Failure> {
        let mut program =
            command(self.read).stdout(Stdio::piped()).spawn().map_err(|error| failure(self.read, &error))?;
        let mut text = Vec::new();
        let read = async {
            if let Some(output) = program.stdout.take() {
                // One more byte shows that the text is too long.
                output.take(MOST_READ + 1).read_to_end(&mut text).await?;
            }
            program.wait().await
        };
        let Ok(ended) = timeout(PATIENCE, read).await else {
            if !std::mem::replace(&mut self.hangs, true) {
                crate::terminal::print_note(&text!("{program} does not answer", program = self.read[0].to_owned()));
            }
            return Ok(None);
        };
        self.hangs = false;
        // Most programs fail if the clipboard contains no text.
        let is_text = ended.is_ok_and(|status| status.success()) && text.len() as u64 <= MOST_READ;
        Ok(if is_text { String::from_utf8(text).ok() } else { None })
    }

    /// Copies a text to this clipboard.
    ///
    /// # Errors
    /// The program cannot be started, fails or hangs.
    pub(crate) async fn copy(&self, text: &str) -> Result<(), Failure> {
        let put = async {
            let mut program = command(self.write).stdin(Stdio::piped()).spawn()?;
            if let Some(mut input) = program.stdin.take() {
                input.write_all(text.as_bytes()).await?;
            }
            match program.wait().await? {
                status if status.success() => Ok(()),
                status => Err(io::Error::other(status.to_string())),
            }
        };
        let put = timeout(PATIENCE, put).await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()));
        put.map_err(|error| failure(self.write, &error))
    }
}

fn command(words: &[&str]) -> Command {
    let mut command = Command::new(words[0]);
    // A program that keeps running to serve the text must not keep our outputs open.
    command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    command
}

fn failure(words: &[&str], error: &io::Error) -> Failure {
    let error = Text::from(error);
    Failure::broken(text!("cannot use the clipboard with {program}: {error}", program = words[0].to_owned(), error))
}
