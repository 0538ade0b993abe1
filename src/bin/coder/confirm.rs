//! A question to the person, on the terminal and nowhere else. Without a terminal the answer is no.

use crate::preview::{Preview, one_line};
use crate::terminal::escaped;
use crate::view::Person;
use rustix::fs::{Mode, OFlags};
use rustix::termios::QueueSelector;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::time::Duration;
use toolfence::policy::Pending;
use toolfence::session::Answer;
use toolfence::toolbox::BoxFuture;
use toolfence::workspace::Workspace;

/// What the model is told where nobody can answer.
const NOBODY: &str = "It needs a person's yes, and there is no terminal to ask on.";

/// Whoever sits at the terminal.
pub(crate) struct AtTheTerminal {
    /// Where the files are that a change is compared to.
    pub(crate) workspace: Arc<Workspace>,
}

impl Person for AtTheTerminal {
    /// Shows what would be done and waits for `y`, `n` or `n` with a reason. Anything but a yes is no.
    fn ask<'a>(&'a mut self, pending: &'a Pending) -> BoxFuture<'a, Answer> {
        let preview = Preview::new(pending.call(), &self.workspace);
        Box::pin(async move {
            let mut text = question(pending, &preview.shown(), preview.hidden());
            loop {
                match put(&text).await {
                    Ok(line) if preview.hidden() > 0 && wants_all(&line) => {
                        text = question(pending, &preview.whole(), 0);
                    }
                    Ok(line) => return read(&line),
                    Err(_) => return Answer::No(NOBODY.into()),
                }
            }
        })
    }
}

fn question(pending: &Pending, shown: &str, hidden: usize) -> String {
    let call = pending.call();
    let said = call.reason.as_deref().map(|reason| format!("  the model: {}\n", one_line(reason))).unwrap_or_default();
    let why = one_line(&pending.decision().reason);
    let all = if hidden > 0 { ", all to see all of it" } else { "" };
    let text = format!("? {}\n{said}  asked because: {why}\n{shown}", one_line(&call.name));
    format!("\n{}Run it? [y/N{all}, or n and a reason] ", escaped(&text))
}

fn wants_all(line: &str) -> bool {
    matches!(line.trim().to_lowercase().as_str(), "a" | "all")
}

/// Asks on the terminal itself, whatever stdin is. The descriptor that is read is our own and does not block, so that a
/// cancelled question leaves no thread behind that would eat the next line.
async fn put(text: &str) -> io::Result<String> {
    const GLANCE: Duration = Duration::from_millis(30);
    OpenOptions::new().write(true).open("/dev/tty")?.write_all(text.as_bytes())?;
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let mut terminal = File::from(rustix::fs::open("/dev/tty", flags, Mode::empty())?);
    // Whatever was typed before the question stood there was not meant for it.
    rustix::termios::tcflush(&terminal, QueueSelector::IFlush)?;
    let mut line = Vec::new();
    let mut buffer = [0; 1024];
    while !line.contains(&b'\n') {
        match terminal.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => line.extend_from_slice(&buffer[..count]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => tokio::time::sleep(GLANCE).await,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(String::from_utf8_lossy(&line).into_owned())
}

fn read(line: &str) -> Answer {
    let line = line.trim();
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    match word.to_lowercase().as_str() {
        "y" | "yes" if rest.is_empty() => Answer::Yes,
        "n" | "no" if !rest.trim().is_empty() => {
            let reason = rest.trim();
            let end = if reason.ends_with(['.', '!', '?']) { "" } else { "." };
            Answer::No(format!("The user said no: {reason}{end}"))
        }
        _ => Answer::No("The user said no.".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_yes_is_a_yes() {
        for yes in ["y\n", "YES\n", " y \n"] {
            assert_eq!(read(yes), Answer::Yes);
        }
        for no in ["", "\n", "n\n", "yep\n", "y but carefully\n", "sure\n"] {
            assert_eq!(read(no), Answer::No("The user said no.".into()));
        }
        assert_eq!(read("n use the other file\n"), Answer::No("The user said no: use the other file.".into()));
    }
}
