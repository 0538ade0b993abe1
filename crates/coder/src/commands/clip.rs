//! `coder clip`: runs the calls of each reply that appears in the clipboard, and puts the results there.

use crate::args::{ClipArguments, Options};
use crate::clipboard::Clipboard;
use crate::config::Layers;
use crate::confirm::read_answer;
use crate::exec::{Reply, Report, Session, run_host};
use crate::failure::{Failure, INTERRUPTED};
use crate::rules::read_dialects;
use crate::runtime::{Signals, run_with_signals};
use crate::shown::Words;
use crate::terminal::{Terminal, print_note};
use std::future::pending;
use std::process::ExitCode;
use std::time::Duration;
use tokio::time::{MissedTickBehavior, interval};
use toolfence_protocol::parse::{self, Event};
use toolfence_protocol::{FinishReason, text};
use toolfence_workspace::Digest;

/// The interval at which the clipboard is read.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Watches the clipboard until Ctrl-C.
pub(crate) fn run(options: &Options, arguments: &ClipArguments) -> Result<ExitCode, Failure> {
    if arguments.session.host {
        return run_host(options, &arguments.session.session);
    }
    let clipboard = Clipboard::new(arguments.clipboard)?;
    let parser = parser(options)?;
    run_with_signals(async |signals| {
        let mut watch = Watch { clipboard, parser, seen: None, replaced: None };
        // Text that was copied before the start is not a reply.
        watch.seen = watch.clipboard.read().await?.as_deref().map(fingerprint);
        print_note(&text!(
            "watching the clipboard: copy a reply of the model, then paste the results. Ctrl-C ends this."
        ));
        let mut parts = Vec::new().into_iter();
        loop {
            tokio::select! {
                status = signals.next() => return match status {
                    INTERRUPTED => Ok(ExitCode::SUCCESS),
                    status => Err(Failure::signalled(status)),
                },
                reply = watch.next_reply() => {
                    let results = run_calls(options, arguments, reply?, signals).await?;
                    parts = split(&results, arguments.part).into_iter();
                }
                () = wait_for_next_part(parts.len()) => {}
            }
            if let Some(part) = parts.next() {
                match watch.copy(&part).await {
                    // A failing bell is ignored.
                    Ok(()) => drop(Terminal::stdout().drawn("\x07")),
                    // The calls have run, so their results must not be lost.
                    Err(failure) => {
                        failure.report();
                        Terminal::stdout().line(&part)?;
                    }
                }
            }
        }
    })
}

/// Returns the parser options that detect calls in copied texts.
fn parser(options: &Options) -> Result<parse::Options, Failure> {
    let config = Layers::read(options)?.merged();
    let mut parser = parse::Options::default();
    parser.reasoning = config.reasoning.value().into();
    parser.limits = (&config.limits()).into();
    parser.catalog = Some(toolfence_policy::toolset::catalog());
    read_dialects(&config.dialects.value(), &mut parser).map_err(Failure::wrong_use)?;
    Ok(parser)
}

struct Watch {
    clipboard: Clipboard,
    parser: parse::Options,
    /// The fingerprint of the last text. The text itself may be private, so it is not kept.
    seen: Option<Digest>,
    /// The fingerprint of the text that [`copy`](Watch::copy) replaced, until the clipboard has another one. A clipboard
    /// may return its former text for a moment, and a reply must not run twice.
    replaced: Option<Digest>,
}

impl Watch {
    /// Waits for a new text with a call.
    async fn next_reply(&mut self) -> Result<String, Failure> {
        let mut polls = interval(POLL_INTERVAL);
        // After a slow read of the clipboard, the next one waits for a whole interval.
        polls.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            polls.tick().await;
            let Some(text) = self.clipboard.read().await? else { continue };
            let fingerprint = fingerprint(&text);
            if self.seen.as_ref() == Some(&fingerprint) {
                // The clipboard has the latest text, so the former one is a new reply if it appears again.
                self.replaced = None;
                continue;
            }
            if self.replaced.as_ref() == Some(&fingerprint) {
                continue;
            }
            (self.seen, self.replaced) = (Some(fingerprint), None);
            if has_call(&text, &self.parser) {
                return Ok(text);
            }
        }
    }

    /// Puts a text into the clipboard and remembers its fingerprint, so that it is not read back as a reply.
    async fn copy(&mut self, text: &str) -> Result<(), Failure> {
        self.replaced = self.seen.replace(fingerprint(text));
        self.clipboard.copy(text).await
    }
}

/// Returns the fingerprint of a text. Trailing white space is ignored because some clipboards change the last line end.
fn fingerprint(text: &str) -> Digest {
    Digest::compute(text.trim_end().as_bytes())
}

/// Returns whether a text contains a call, or a block that was meant as one.
fn has_call(text: &str, parser: &parse::Options) -> bool {
    let mut found = false;
    parse::for_each(text, parser.clone(), FinishReason::Stop, |event| {
        found |= matches!(event, Event::Call { .. } | Event::Malformed { .. } | Event::Incomplete { .. });
    });
    found
}

/// Runs the calls of a reply in the exec session, and returns the text for the model.
///
/// # Errors
/// A signal has ended the program. Other failures are printed, and the results are empty.
async fn run_calls(
    options: &Options,
    arguments: &ClipArguments,
    text: String,
    signals: &mut Signals,
) -> Result<String, Failure> {
    let mut results = String::new();
    let mut print = |report| {
        match report {
            Report::Note(note) => print_note(&note),
            Report::Debug(line) => crate::debug::write(&line),
            Report::Call { label, success: true, .. } => {
                Terminal::stdout().hanging(&text!("done: {call}", call = label).words())?;
            }
            Report::Call { label, success: false, message } => {
                Terminal::stdout().hanging(&text!("failed: {call}: {message}", call = label, message).words())?;
            }
            Report::Output(output) => results = output,
            _ => {}
        }
        Ok(())
    };
    let reply = Reply { text, debug: options.debug, ..Reply::default() };
    // A new session per reply picks up changed settings.
    let sent = match Session::open(options, &arguments.session.session) {
        Ok(session) => session.send(reply, signals, &mut print).await,
        Err(failure) => Err(failure),
    };
    match sent {
        Err(failure) if failure.is_by_signal() => Err(failure),
        Err(failure) => {
            failure.report();
            Ok(String::new())
        }
        Ok(_) => Ok(results),
    }
}

/// Waits until the user presses Enter for the next part. Waits forever if no part is left.
async fn wait_for_next_part(left: usize) {
    let question = text!("{count} {count|part is|parts are} left. Press Enter for the next one. ", count = left as u64);
    // Without a terminal no key can be pressed.
    if left == 0 || read_answer(&question.words()).await.is_err() {
        pending::<()>().await;
    }
}

/// Splits results into numbered parts of at most `most` characters, at line ends if the lines are not longer than that.
/// Without a limit the whole text is one part. An empty text has no parts.
fn split(text: &str, most: Option<usize>) -> Vec<String> {
    /// The most characters of the first line of a part.
    const HEAD: usize = 40;
    let most = most.unwrap_or(usize::MAX);
    if text.is_empty() {
        return Vec::new();
    }
    if text.chars().count() <= most {
        return vec![text.to_owned()];
    }
    let room = most.saturating_sub(HEAD).max(1);
    let (mut parts, mut part, mut length) = (Vec::new(), String::new(), 0);
    for line in text.split_inclusive('\n') {
        let count = line.chars().count();
        if length > 0 && length + count > room {
            parts.push(std::mem::take(&mut part));
            length = 0;
        }
        if count <= room {
            part.push_str(line);
            length += count;
            continue;
        }
        // The line is longer than a part, so it is split at any character.
        for c in line.chars() {
            if length == room {
                parts.push(std::mem::take(&mut part));
                length = 0;
            }
            part.push(c);
            length += 1;
        }
    }
    parts.push(part);
    let count = parts.len();
    let numbered = parts.into_iter().enumerate();
    numbered.map(|(at, part)| format!("[part {} of {count}]\n{part}", at + 1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_end_at_line_ends_and_keep_the_whole_text() {
        let text: String = (0..40).map(|line| format!("line {line}\n")).collect();
        let parts = split(&text, Some(140));
        assert!(parts.len() > 2 && parts.iter().all(|part| part.chars().count() <= 140 && part.ends_with('\n')));
        let bodies = parts.iter().enumerate().map(|(at, part)| {
            part.strip_prefix(&format!("[part {} of {}]\n", at + 1, parts.len()))
                .expect("each part begins with its number")
        });
        assert_eq!(bodies.collect::<String>(), text);
    }

    #[test]
    fn lines_longer_than_a_part_are_split() {
        let parts = split(&"ä".repeat(1000), Some(200));
        assert!(parts.iter().all(|part| part.chars().count() <= 200));
        assert_eq!(parts.iter().map(|part| part.matches('ä').count()).sum::<usize>(), 1000);
        assert_eq!((split("short", Some(200)).len(), split("", None).len()), (1, 0));
    }
}
