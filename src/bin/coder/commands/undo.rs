//! `coder undo`, `coder redo`, `coder diff`, and the same in a conversation.

use crate::args::{DiffArguments, Options, RedoArguments, UndoArguments};
use crate::failure::{Failure, UNSUCCESSFUL};
use crate::setup::Setup;
use crate::terminal::{Style, Terminal};
use crate::view::line_style;
use std::process::ExitCode;
use std::time::{Duration, SystemTime};
use toolfence::undo::{History, Listed, Outcome};

/// Takes turns back.
pub(crate) fn undo(options: &Options, arguments: &UndoArguments) -> Result<ExitCode, Failure> {
    let setup = Setup::new(options)?;
    let mut out = Terminal::stdout();
    if arguments.list {
        list(&setup, &mut out)?;
        return Ok(ExitCode::SUCCESS);
    }
    go(&setup, Way::Back, arguments.turns, arguments.dry_run, &mut out)
}

/// Takes undos back.
pub(crate) fn redo(options: &Options, arguments: &RedoArguments) -> Result<ExitCode, Failure> {
    let setup = Setup::new(options)?;
    go(&setup, Way::Forth, arguments.turns, arguments.dry_run, &mut Terminal::stdout())
}

/// Shows what turns changed.
pub(crate) fn diff(options: &Options, arguments: &DiffArguments) -> Result<ExitCode, Failure> {
    let setup = Setup::new(options)?;
    let turns = if arguments.all { usize::MAX } else { arguments.turns };
    show(&setup, turns, &mut Terminal::stdout())?;
    Ok(ExitCode::SUCCESS)
}

/// The same as a line of a conversation.
pub(crate) fn typed(setup: &Setup, name: &str, rest: &str, out: &mut Terminal) -> Result<(), Failure> {
    let number = || match rest {
        "" => Ok(1),
        _ => rest.parse().ok().filter(|turns| *turns > 0).ok_or_else(|| wrong_words(name, rest)),
    };
    match (name, rest) {
        ("undo", "list") => list(setup, out),
        ("diff", "all") => show(setup, kept(setup)?.of_this_session(&setup.workspace), out),
        ("diff", _) => show(setup, number()?, out),
        ("undo", _) => go(setup, Way::Back, number()?, false, out).map(drop),
        _ => go(setup, Way::Forth, number()?, false, out).map(drop),
    }
}

fn wrong_words(name: &str, rest: &str) -> Failure {
    Failure::wrong_use(format!("/{name} {rest} says nothing; /{name} 2 is for two turns"))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Back,
    Forth,
}

fn kept(setup: &Setup) -> Result<&History, Failure> {
    setup.history.as_deref().ok_or_else(|| {
        Failure::wrong_use(
            "nothing is kept that could be undone: undo.journal is off, or there is no place for it (set HOME or \
             XDG_STATE_HOME)",
        )
    })
}

fn go(setup: &Setup, way: Way, turns: usize, dry_run: bool, out: &mut Terminal) -> Result<ExitCode, Failure> {
    let history = kept(setup)?;
    let workspace = &setup.workspace;
    let outcomes = match (dry_run, way) {
        (true, Way::Back) => history.would_undo(workspace, turns).map_err(Failure::broken)?,
        (true, Way::Forth) => history.would_redo(workspace, turns).map_err(Failure::broken)?,
        _ => Vec::new(),
    };
    outcomes.iter().try_for_each(|outcome| told(outcome, way, true, out))?;
    let (mut count, mut refused) = (outcomes.len(), outcomes.iter().any(|outcome| !outcome.refused.is_empty()));
    while !dry_run && count < turns {
        let done = if way == Way::Back { history.undo(workspace) } else { history.redo(workspace) };
        let Some(outcome) = done.map_err(Failure::broken)? else { break };
        told(&outcome, way, false, out)?;
        count += 1;
        refused |= !outcome.refused.is_empty();
        if outcome.done.is_empty() && !outcome.refused.is_empty() {
            break; // it would be the same turn again
        }
    }
    setup.tell_notes();
    if count == 0 {
        nothing(history, way, out)?;
    }
    Ok(if count == 0 || refused { UNSUCCESSFUL.into() } else { ExitCode::SUCCESS })
}

fn nothing(history: &History, way: Way, out: &mut Terminal) -> Result<(), Failure> {
    out.line(match way {
        Way::Forth => "There is nothing to redo.",
        Way::Back if history.has_dropped() => {
            "There is nothing more to undo: older turns were dropped (undo.turns, undo.megabytes)."
        }
        Way::Back => "There is nothing to undo.",
    })
}

fn told(outcome: &Outcome, way: Way, would: bool, out: &mut Terminal) -> Result<(), Failure> {
    let done = match (way, would) {
        (Way::Back, false) => "Undid",
        (Way::Forth, false) => "Redid",
        (Way::Back, true) => "Would undo",
        (Way::Forth, true) => "Would redo",
    };
    out.line(&format!("{done} {}:", titled(&outcome.turn)))?;
    outcome.done.iter().try_for_each(|done| out.styled(Style::Good, &format!("  {done}\n")))?;
    let left = |refused| format!("  {refused}; left as it is\n");
    outcome.refused.iter().try_for_each(|refused| out.styled(Style::Bad, &left(refused)))?;
    if outcome.done.is_empty() && outcome.refused.is_empty() {
        out.line("  all of it is so already")?;
    }
    outcome.turn.notes.iter().try_for_each(|note| out.styled(Style::Dim, &format!("  [{note}]\n")))
}

fn titled(turn: &Listed) -> String {
    let title = if turn.title.is_empty() { "" } else { ", " };
    format!("turn {}{title}{}", turn.number, turn.title)
}

fn list(setup: &Setup, out: &mut Terminal) -> Result<(), Failure> {
    let history = kept(setup)?;
    let turns = history.list(&setup.workspace).map_err(Failure::broken)?;
    for turn in &turns {
        let undone = if turn.undone { "  (undone)" } else { "" };
        let names = if turn.names == 1 { "1 name " } else { &format!("{} names", turn.names) };
        let style = if turn.undone { Style::Dim } else { Style::Plain };
        out.styled(style, &format!("{:>6}  {:>9}  {names:>10}  {}{undone}\n", turn.number, age(turn.at), turn.title))?;
    }
    match turns.is_empty() {
        true => nothing(history, Way::Back, out),
        false if history.has_dropped() => {
            out.styled(Style::Dim, "Older turns were dropped (undo.turns, undo.megabytes).\n")
        }
        false => Ok(()),
    }
}

/// How long ago something was.
fn age(at: u64) -> String {
    let then = SystemTime::UNIX_EPOCH + Duration::from_millis(at);
    let seconds = SystemTime::now().duration_since(then).map_or(0, |age| age.as_secs());
    match seconds {
        0..=99 => format!("{seconds} s ago"),
        100..=5999 => format!("{} min ago", seconds / 60),
        6000..=172_799 => format!("{} h ago", seconds / 3600),
        _ => format!("{} d ago", seconds / 86_400),
    }
}

fn show(setup: &Setup, turns: usize, out: &mut Terminal) -> Result<(), Failure> {
    let differences = kept(setup)?.diff(&setup.workspace, turns).map_err(Failure::broken)?;
    if differences.is_empty() {
        return out.line("Nothing was changed.");
    }
    for line in differences.iter().flat_map(|difference| difference.text.split_inclusive('\n')) {
        out.styled(line_style(line), line.strip_suffix('\n').unwrap_or(line))?;
        out.write("\n")?;
    }
    Ok(())
}
