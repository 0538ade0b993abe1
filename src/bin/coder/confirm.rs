//! A question to the person, on the terminal and nowhere else. Without a terminal the answer is no.

use crate::edit;
use crate::preview::{Preview, one_line};
use crate::terminal::{colours, escaped};
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
use toolfence::tools::CommandRunner;
use toolfence::workspace::Stop;

/// What the model is told where nobody can answer.
const NOBODY: &str = "It needs a person's yes, and there is no terminal to ask on.";

/// Rules that are shown before the question; the rest is counted.
const SHOWN_RULES: usize = 4;

/// Whoever sits at the terminal.
pub(crate) struct AtTheTerminal {
    /// Where the files are that a change is compared to.
    pub(crate) commands: Arc<CommandRunner>,
}

impl Person for AtTheTerminal {
    /// Shows what would be done and waits for an answer. Anything but a yes, an always or a change is no.
    fn ask<'a>(&'a mut self, pending: &'a Pending) -> BoxFuture<'a, Answer> {
        let preview = Preview::new(pending.call(), pending.decision(), colours(true), self.commands.workspace());
        let hooks = hooks(pending, &self.commands);
        Box::pin(async move {
            asked(pending, &preview, &hooks).await.unwrap_or_else(|_| Answer::No(nobody(pending).into()))
        })
    }
}

/// Says what else to do where the rule knows that.
fn nobody(pending: &Pending) -> String {
    let decision = pending.decision();
    if decision.rule == "history" { format!("{} {NOBODY}", decision.reason) } else { NOBODY.into() }
}

/// Asks until there is an answer.
async fn asked(pending: &Pending, preview: &Preview, hooks: &str) -> io::Result<Answer> {
    let mut hidden = preview.hidden();
    let mut text = question(pending, &preview.shown(), hooks) + &choices(pending, hidden);
    loop {
        let said = said(&put(&text).await?);
        let note = match said {
            Said::Answer(answer) => return Ok(answer),
            Said::All => {
                hidden = 0;
                text = question(pending, &preview.whole(), hooks) + &choices(pending, hidden);
                continue;
            }
            Said::Always(beginning) => match always(pending, &beginning) {
                Ok(answer) => return Ok(answer),
                Err(why) => why,
            },
            Said::Edit(new) => match edit::changed(pending.call(), &new).await {
                Ok(args) => return Ok(Answer::Edit(args)),
                Err(why) => why,
            },
            Said::Unclear(why) => why.to_owned(),
        };
        text = format!("  {}\n{}", escaped(&note), choices(pending, hidden));
    }
}

/// What would be done, and why it is asked about. Everything that is not ours is escaped before it stands here.
fn question(pending: &Pending, shown: &str, hooks: &str) -> String {
    let call = pending.call();
    let line = |text: &str| escaped(&one_line(text)).into_owned();
    let said = call.reason.as_deref().map(|reason| format!("  the model: {}\n", line(reason))).unwrap_or_default();
    let why = line(&pending.decision().reason.to_string());
    format!("\n? {}\n{said}  asked because: {why}\n{shown}{hooks}{}", line(&call.name), offered(pending))
}

/// Which hooks would run, where the settings approve some and the call is git alone.
fn hooks(pending: &Pending, commands: &CommandRunner) -> String {
    if !pending.decision().writes_git || pending.decision().outside_sandbox {
        return String::new();
    }
    match commands.hooks(&Stop::default()).run.as_slice() {
        [] => String::new(),
        [hook] => format!("  the hook {hook} of the repository may run, as your settings say\n"),
        hooks => format!("  the hooks {} of the repository may run, as your settings say\n", hooks.join(", ")),
    }
}

/// What "always" would store, where it is on offer.
fn offered(pending: &Pending) -> String {
    let Ok(rules) = pending.always() else { return String::new() };
    let mut shown: Vec<String> = rules.iter().take(SHOWN_RULES).map(|rule| escaped(&rule.to_string()).into()).collect();
    if rules.len() > SHOWN_RULES {
        shown.push(format!("and {} more", rules.len() - SHOWN_RULES));
    }
    format!("  always would allow, in this session: {}\n", shown.join("; "))
}

fn choices(pending: &Pending, hidden: usize) -> String {
    let all = if hidden > 0 { ", all to see all of it" } else { "" };
    let always = if pending.always().is_ok() { ", always" } else { "" };
    format!("Run it? [y/N{all}{always}, edit, or n and a reason] ")
}

/// What was typed.
#[derive(Debug, PartialEq)]
enum Said {
    Answer(Answer),
    All,
    /// With the beginning that was typed behind it.
    Always(String),
    /// With what was typed behind it.
    Edit(String),
    Unclear(&'static str),
}

fn always(pending: &Pending, beginning: &str) -> Result<Answer, String> {
    if beginning.is_empty() {
        return match pending.always() {
            Ok(_) => Ok(Answer::Always(None)),
            Err(why) => Err(format!("Always is not on offer: {why}. Say y to run it this time.")),
        };
    }
    let words: Vec<String> = beginning.split_whitespace().map(str::to_owned).collect();
    let rule = pending.beginning(&words).ok_or_else(|| {
        format!("{beginning:?} begins no command that is asked about here, or its program runs other things.")
    })?;
    Ok(Answer::Always(Some(rule)))
}

/// Asks on the terminal itself, whatever stdin is. The descriptor that is read is our own and does not block, so that a
/// cancelled question leaves no thread behind that would eat the next line.
pub(crate) async fn put(text: &str) -> io::Result<String> {
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

fn said(line: &str) -> Said {
    let line = line.trim();
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    let rest = rest.trim();
    match word.to_lowercase().as_str() {
        "y" | "yes" if rest.is_empty() => Said::Answer(Answer::Yes),
        "all" if rest.is_empty() => Said::All,
        "always" => Said::Always(rest.to_owned()),
        "e" | "edit" => Said::Edit(rest.to_owned()),
        // One letter must not allow for a whole session what was meant to be shown.
        "a" => Said::Unclear("Say always to allow it for this session, or all to see all of it."),
        "n" | "no" if !rest.is_empty() => {
            let end = if rest.ends_with(['.', '!', '?']) { "" } else { "." };
            Said::Answer(Answer::No(format!("The user said no: {rest}{end}").into()))
        }
        _ => Said::Answer(Answer::No("The user said no.".into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_yes_is_a_yes() {
        for yes in ["y\n", "YES\n", " y \n"] {
            assert_eq!(said(yes), Said::Answer(Answer::Yes));
        }
        for no in ["", "\n", "n\n", "yep\n", "y but carefully\n", "sure\n", "all of it\n", "alway\n"] {
            assert_eq!(said(no), Said::Answer(Answer::No("The user said no.".into())), "{no}");
        }
        let reason = Answer::No("The user said no: use the other file.".into());
        assert_eq!(said("n use the other file\n"), Said::Answer(reason));
        assert_eq!(said("always git  log\n"), Said::Always("git  log".into()));
        assert_eq!((said("always\n"), said("e\n")), (Said::Always(String::new()), Said::Edit(String::new())));
        assert!(matches!(said("a\n"), Said::Unclear(_)));
    }
}
