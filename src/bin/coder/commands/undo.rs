//! `coder undo`, `coder redo`, `coder diff`, and `/undo`, `/redo`, `/diff` in a conversation.

use super::SCHEMA;
use crate::args::{BackArguments, DiffArguments, Options, UndoArguments};
use crate::failure::{Failure, UNSUCCESSFUL};
use crate::messages;
use crate::outcome::styled_diff;
use crate::setup::Setup;
use crate::shown::{Words, language};
use crate::terminal::{Style, Terminal};
use serde_json::{Value, json};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};
use toolfence::Text;
use toolfence::program::clip;
use toolfence::undo::{History, Listed, Outcome};

/// Names that are shown of a list.
const MOST_NAMED: usize = 200;

/// Characters of a name that are shown: a deep tree has names that fill pages.
const LONGEST_NAME: usize = 160;

/// Takes turns back.
pub(crate) fn undo(options: &Options, arguments: &UndoArguments) -> Result<ExitCode, Failure> {
    let setup = Setup::new(options)?;
    let UndoArguments { back: BackArguments { turns, dry_run: would, json }, list: only_list } = *arguments;
    let mut out = Terminal::stdout();
    if only_list {
        list(&setup, json, &mut out)?;
        return Ok(ExitCode::SUCCESS);
    }
    go(&setup, How { way: Way::Back, would, json }, turns, &mut out).map(|(status, _)| status)
}

/// Takes undos back.
pub(crate) fn redo(options: &Options, arguments: &BackArguments) -> Result<ExitCode, Failure> {
    let setup = Setup::new(options)?;
    let how = How { way: Way::Forth, would: arguments.dry_run, json: arguments.json };
    go(&setup, how, arguments.turns, &mut Terminal::stdout()).map(|(status, _)| status)
}

/// Shows what turns changed.
pub(crate) fn diff(options: &Options, arguments: &DiffArguments) -> Result<ExitCode, Failure> {
    let setup = Setup::new(options)?;
    let turns = if arguments.all { usize::MAX } else { arguments.turns };
    show(&setup, turns, arguments.json, &mut Terminal::stdout())?;
    Ok(ExitCode::SUCCESS)
}

/// Undoes, redoes or shows what turns changed, as a line of a conversation asks for. Gives what the model has to be told of it.
pub(crate) fn typed(setup: &Setup, name: &str, rest: &str, out: &mut Terminal) -> Result<Option<String>, Failure> {
    let number = || match rest {
        "" => Ok(1),
        _ => rest.parse().ok().filter(|turns| *turns > 0).ok_or_else(|| wrong_words(name, rest)),
    };
    let none = |()| None;
    match (name, rest) {
        ("undo", "list") => return list(setup, false, out).map(none),
        ("diff", "all") => {
            return show(setup, kept(setup)?.of_this_session(&setup.workspace), false, out).map(none);
        }
        ("diff", _) => return show(setup, number()?, false, out).map(none),
        _ => {}
    }
    let how = How { way: if name == "undo" { Way::Back } else { Way::Forth }, would: false, json: false };
    let (_, outcomes) = go(setup, how, number()?, out)?;
    Ok(note(&outcomes, how.way))
}

/// Takes the last turn back, or the last undo; gives what `--json` prints of it.
pub(crate) fn one(setup: &Setup, redo: bool) -> Result<Option<Value>, Failure> {
    let (history, workspace) = (kept(setup)?, &setup.workspace);
    let done = if redo { history.redo(workspace) } else { history.undo(workspace) };
    setup.tell_notes();
    let way = if redo { Way::Forth } else { Way::Back };
    let how = How { way, would: false, json: true };
    Ok(done.map_err(Failure::broken)?.map(|outcome| as_json(&outcome, how)))
}

/// Which files are not what the model left or saw.
fn note(outcomes: &[Outcome], way: Way) -> Option<String> {
    /// So many are named.
    const MOST: usize = 50;
    /// Characters of one name: those of files that people have are shorter.
    const LONGEST: usize = 300;
    let mut done: Vec<Text> = outcomes
        .iter()
        .flat_map(|outcome| &outcome.done)
        .map(|done| messages::name_and_change(clip::middle(&done.name, LONGEST), done.what.clone()))
        .collect();
    if done.is_empty() {
        return None;
    }
    let more = done.len().saturating_sub(MOST);
    done.truncate(MOST);
    let names = Text::join(done, ", ");
    let names = if more > 0 { messages::names_and_more(names, more) } else { names };
    let what = match way {
        Way::Back => messages::took_turns_back(),
        Way::Forth => messages::took_undo_back(),
    };
    Some(messages::files_went_back(what, names).into_string(language()))
}

fn wrong_words(name: &str, rest: &str) -> Failure {
    Failure::wrong_use(messages::number_wanted(name, rest))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Back,
    Forth,
}

#[derive(Clone, Copy)]
struct How {
    way: Way,
    /// Whether it is only said what would be done.
    would: bool,
    json: bool,
}

fn kept(setup: &Setup) -> Result<&History, Failure> {
    setup.history.as_deref().ok_or_else(|| Failure::wrong_use(messages::nothing_is_kept()))
}

fn go(setup: &Setup, how: How, turns: usize, out: &mut Terminal) -> Result<(ExitCode, Vec<Outcome>), Failure> {
    let history = kept(setup)?;
    let workspace = &setup.workspace;
    let mut outcomes = match (how.would, how.way) {
        (true, Way::Back) => history.would_undo(workspace, turns).map_err(Failure::broken)?,
        (true, Way::Forth) => history.would_redo(workspace, turns).map_err(Failure::broken)?,
        _ => Vec::new(),
    };
    outcomes.iter().try_for_each(|outcome| told(outcome, how, out))?;
    while !how.would && outcomes.len() < turns {
        let done = if how.way == Way::Back { history.undo(workspace) } else { history.redo(workspace) };
        let Some(outcome) = done.map_err(Failure::broken)? else { break };
        told(&outcome, how, out)?;
        let again = outcome.done.is_empty() && !outcome.refused.is_empty() || outcome.turn.is_bare();
        outcomes.push(outcome);
        if again {
            break; // it would be the same turn again
        }
    }
    setup.tell_notes();
    if outcomes.is_empty() && !how.json {
        nothing(history, how.way, out)?;
    }
    let failed = |outcome: &Outcome| !outcome.refused.is_empty() || outcome.turn.is_bare();
    let failed = outcomes.is_empty() || outcomes.iter().any(failed);
    Ok((if failed { UNSUCCESSFUL.into() } else { ExitCode::SUCCESS }, outcomes))
}

fn nothing(history: &History, way: Way, out: &mut Terminal) -> Result<(), Failure> {
    out.line(&match way {
        Way::Forth => messages::nothing_to_redo(),
        Way::Back if history.has_dropped() => messages::nothing_more_to_undo(),
        Way::Back if history.has_looked() => messages::commands_not_covered(),
        Way::Back => messages::nothing_to_undo(),
    })
}

fn told(outcome: &Outcome, how: How, out: &mut Terminal) -> Result<(), Failure> {
    if how.json {
        return out.line(&as_json(outcome, how).to_string());
    }
    let turn = titled(&outcome.turn);
    out.line(&match (how.way, how.would) {
        _ if outcome.turn.is_bare() => messages::could_not_undo(turn),
        (Way::Back, false) => messages::undid(turn),
        (Way::Forth, false) => messages::redid(turn),
        (Way::Back, true) => messages::would_undo(turn),
        (Way::Forth, true) => messages::would_redo(turn),
    })?;
    for done in outcome.done.iter().take(MOST_NAMED) {
        let mut done = done.clone();
        done.name = clip::middle(&done.name, LONGEST_NAME).into_owned();
        out.styled_line(Style::Good, &format!("  {}", done.text().words()))?;
    }
    and_more(outcome.done.len(), out)?;
    for refused in outcome.refused.iter().take(MOST_NAMED) {
        let mut refused = refused.clone();
        refused.name = clip::middle(&refused.name, LONGEST_NAME).into_owned();
        let left = messages::left_as_it_is(refused.text());
        out.styled_line(Style::Bad, &format!("  {}", left.words()))?;
    }
    and_more(outcome.refused.len(), out)?;
    if outcome.turn.is_bare() {
        out.line(&format!("  {}", messages::nothing_covered().words()))?;
    } else if outcome.done.is_empty() && outcome.refused.is_empty() {
        out.line(&format!("  {}", messages::all_so_already().words()))?;
    }
    outcome.turn.notes.iter().try_for_each(|note| out.styled_line(Style::Dim, &format!("  [{}]", note.words())))
}

/// How many of so many names were not shown.
fn and_more(names: usize, out: &mut Terminal) -> Result<(), Failure> {
    match names.saturating_sub(MOST_NAMED) {
        0 => Ok(()),
        more => out.styled_line(Style::Dim, &format!("  {}", messages::more_names(more).words())),
    }
}

fn as_json(outcome: &Outcome, how: How) -> Value {
    let Listed { number, title, notes, .. } = &outcome.turn;
    let done =
        outcome.done.iter().map(|done| json!({"name": done.name, "what": done.what, "by_others": done.by_others}));
    let refused = outcome.refused.iter().map(|left| json!({"name": left.name, "why": left.why.to_string()}));
    let event = if how.way == Way::Back { "undo" } else { "redo" };
    json!({
        "v": SCHEMA, "event": event, "dry_run": how.would, "turn": number, "title": title,
        "done": done.collect::<Vec<_>>(), "refused": refused.collect::<Vec<_>>(), "notes": notes,
    })
}

fn titled(turn: &Listed) -> Text {
    match turn.title.as_str() {
        "" => messages::turn(turn.number),
        title => messages::turn_titled(turn.number, title),
    }
}

fn list(setup: &Setup, as_json: bool, out: &mut Terminal) -> Result<(), Failure> {
    let history = kept(setup)?;
    let turns = history.list(&setup.workspace).map_err(Failure::broken)?;
    if as_json {
        return turns.iter().try_for_each(|Listed { number, at, title, names, undone, notes, .. }| {
            let line = json!({
                "v": SCHEMA, "event": "turn", "turn": number, "at": at, "title": title, "names": names,
                "undone": undone, "notes": notes,
            });
            out.line(&line.to_string())
        });
    }
    for turn in &turns {
        let (age, names) = (age(turn.at), messages::names_of_turn(turn.names));
        let row = format!("{:>6}  {:>9}  {:>10}  {}", turn.number, age.words(), names.words(), turn.title);
        match turn.undone {
            true => out.styled_line(Style::Dim, &format!("{row}  {}", messages::undone().words()))?,
            false => out.line(&row)?,
        }
    }
    match turns.is_empty() {
        true => nothing(history, Way::Back, out),
        false if history.has_dropped() => out.styled_line(Style::Dim, &messages::older_turns_dropped()),
        false => Ok(()),
    }
}

/// How long ago something was.
pub(crate) fn age(at: u64) -> Text {
    let then = SystemTime::UNIX_EPOCH + Duration::from_millis(at);
    let seconds = SystemTime::now().duration_since(then).map_or(0, |age| age.as_secs());
    match seconds {
        0..=99 => messages::seconds_ago(seconds),
        100..=5999 => messages::minutes_ago(seconds / 60),
        6000..=172_799 => messages::hours_ago(seconds / 3600),
        _ => messages::days_ago(seconds / 86_400),
    }
}

fn show(setup: &Setup, turns: usize, as_json: bool, out: &mut Terminal) -> Result<(), Failure> {
    let differences = kept(setup)?.diff(&setup.workspace, turns).map_err(Failure::broken)?;
    if as_json {
        let line =
            |name: &str, text: &Text| json!({"v": SCHEMA, "event": "diff", "name": name, "diff": text}).to_string();
        return differences.iter().try_for_each(|difference| out.line(&line(&difference.name, &difference.text)));
    }
    if differences.is_empty() {
        return out.line(&messages::nothing_was_changed());
    }
    let mut sentences = 0;
    for text in differences.iter().map(|difference| difference.text.render(setup.language)) {
        // What has lines is shown whole, so that it can be applied; names alone are a list like any other.
        if text.lines().any(|line| line.starts_with("@@")) {
            styled_diff(&text).try_for_each(|(style, line)| out.exact_line(style, line))?;
            continue;
        }
        for line in text.lines() {
            sentences += 1;
            if sentences <= MOST_NAMED {
                out.exact_line(Style::Dim, &*clip::middle(line, LONGEST_NAME))?;
            }
        }
    }
    and_more(sentences, out)
}
