//! Undoes, redoes and prints the changes of turns: `coder undo`, `coder redo`, `coder diff`, and the same slash
//! commands in a conversation.

use super::SCHEMA;
use crate::args::{BackArguments, DiffArguments, Options, UndoArguments};
use crate::failure::{Failure, UNSUCCESSFUL};
use crate::outcome::styled_diff;
use crate::project::Project;
use crate::rules;
use crate::shown::{Words, language};
use crate::terminal::{Style, Terminal};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};
use toolfence_protocol::Text;
use toolfence_protocol::{clip, text};
use toolfence_workspace::undo::{Difference, History, ListedTurn, Outcome};

/// The most names of a list that are printed.
const MOST_NAMES: usize = 200;

/// The most characters of a name that are printed. In deep trees, whole paths would fill pages.
const LONGEST_NAME: usize = 160;

/// `coder undo`: undoes turns, or lists those that can be undone.
pub(crate) fn undo(options: &Options, arguments: &UndoArguments) -> Result<ExitCode, Failure> {
    let (project, _) = rules::open(options)?;
    let UndoArguments { turn, back: BackArguments { turns, dry_run, json }, list: only_list } = *arguments;
    let mut out = Terminal::stdout();
    if only_list {
        list(&project, json, &mut out)?;
        return Ok(ExitCode::SUCCESS);
    }
    let selection = turn.map_or(Selection::Newest(turns), Selection::Number);
    run(&project, UndoMode { direction: Direction::Undo, dry_run, json }, selection, &mut out).map(|(status, _)| status)
}

/// `coder redo`: redoes turns that were undone.
pub(crate) fn redo(options: &Options, arguments: &BackArguments) -> Result<ExitCode, Failure> {
    let (project, _) = rules::open(options)?;
    let mode = UndoMode { direction: Direction::Redo, dry_run: arguments.dry_run, json: arguments.json };
    run(&project, mode, Selection::Newest(arguments.turns), &mut Terminal::stdout()).map(|(status, _)| status)
}

/// `coder diff`: prints what turns changed.
pub(crate) fn diff(options: &Options, arguments: &DiffArguments) -> Result<ExitCode, Failure> {
    let (project, _) = rules::open(options)?;
    let turns = if arguments.all { usize::MAX } else { arguments.turns };
    show(&project, turns, arguments.json, &mut Terminal::stdout())?;
    Ok(ExitCode::SUCCESS)
}

/// `/undo`, `/redo` and `/diff`: runs the command and returns the note for the model, if files changed.
pub(crate) fn typed(project: &Project, name: &str, rest: &str, out: &mut Terminal) -> Result<Option<String>, Failure> {
    let number = || match rest {
        "" => Ok(1),
        _ => rest.parse().ok().filter(|turns| *turns > 0).ok_or_else(|| invalid_count(name, rest)),
    };
    let none = |()| None;
    match (name, rest) {
        ("undo", "list") => return list(project, false, out).map(none),
        ("diff", "all") => {
            return show(project, history_of(project)?.of_this_session(&project.workspace), false, out).map(none);
        }
        ("diff", _) => return show(project, number()?, false, out).map(none),
        _ => {}
    }
    let mode = UndoMode {
        direction: if name == "undo" { Direction::Undo } else { Direction::Redo },
        dry_run: false,
        json: false,
    };
    let (_, outcomes) = run(project, mode, Selection::Newest(number()?), out)?;
    Ok(note(&outcomes, mode.direction))
}

/// Undoes or redoes one turn and returns the object that `--json` prints.
pub(crate) fn undo_one(project: &Project, redo: bool) -> Result<Option<Value>, Failure> {
    let (history, workspace) = (history_of(project)?, &project.workspace);
    let done = if redo { history.redo(workspace) } else { history.undo(workspace) };
    project.print_notes();
    let direction = if redo { Direction::Redo } else { Direction::Undo };
    let mode = UndoMode { direction, dry_run: false, json: true };
    Ok(done.map_err(Failure::broken)?.map(|outcome| {
        let mut value = as_json(&outcome, mode);
        let skipped = outcome.skipped.iter().map(|skipped| as_json(skipped, mode)).collect::<Vec<_>>();
        if !skipped.is_empty() {
            value["skipped"] = skipped.into();
        }
        value
    }))
}

/// Returns the note for the model about the files that changed, or `None` if none did.
fn note(outcomes: &[Outcome], direction: Direction) -> Option<String> {
    /// The most files that the note names.
    const MOST: usize = 50;
    /// The most characters of a name. Usual names are shorter.
    const LONGEST: usize = 300;
    let mut done: Vec<Text> = outcomes
        .iter()
        .flat_map(|outcome| &outcome.done)
        .map(|done| text!("{name} ({what})", name = clip::middle(&done.name, LONGEST), what = done.what.clone()))
        .collect();
    if done.is_empty() {
        return None;
    }
    let more = done.len().saturating_sub(MOST);
    done.truncate(MOST);
    let names = Text::join(done, ", ");
    let names = if more > 0 { text!("{names} and {count} more", names, count = more) } else { names };
    let what = match direction {
        Direction::Undo => text!("undid changes of your earlier turns"),
        Direction::Redo => text!("redid a change"),
    };
    Some(
        text!(
            "Note: the user {what}. These files have changed since you saw them: {names}. Read them again before you \
             rely on them, and do not repeat the change unless the user asks for it.",
            what,
            names
        )
        .into_string(language()),
    )
}

fn invalid_count(name: &str, rest: &str) -> Failure {
    Failure::wrong_use(text!(
        "/{command} takes a number of turns, such as /{command} 2, not {rest}",
        command = name,
        rest
    ))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Undo,
    Redo,
}

#[derive(Clone, Copy)]
struct UndoMode {
    direction: Direction,
    /// Whether to print the effect without applying it.
    dry_run: bool,
    json: bool,
}

fn history_of(project: &Project) -> Result<&History, Failure> {
    project.history.as_deref().ok_or_else(|| {
        Failure::wrong_use(text!(
            "undo is not available: undo.journal is off, or there is no folder for it (set HOME or XDG_STATE_HOME)"
        ))
    })
}

/// The selected turns.
#[derive(Clone, Copy)]
enum Selection {
    /// The newest turns that can be undone or redone.
    Newest(usize),
    /// The turn with this number.
    Number(u64),
}

fn run(
    project: &Project,
    mode: UndoMode,
    selection: Selection,
    out: &mut Terminal,
) -> Result<(ExitCode, Vec<Outcome>), Failure> {
    let history = history_of(project)?;
    let mut outcomes = Vec::new();
    let done = match selection {
        Selection::Number(number) => undo_turn(project, mode, number, out, &mut outcomes),
        Selection::Newest(turns) => run_newest(project, mode, turns, out, &mut outcomes),
    };
    project.print_notes();
    done?;
    if outcomes.is_empty() && !mode.json {
        print_nothing_to_do(history, mode.direction, out)?;
    }
    let failed = |outcome: &Outcome| !outcome.refused.is_empty();
    let failed = outcomes.is_empty() || outcomes.iter().any(failed);
    Ok((if failed { UNSUCCESSFUL.into() } else { ExitCode::SUCCESS }, outcomes))
}

/// Undoes the turn with this number.
fn undo_turn(
    project: &Project,
    mode: UndoMode,
    number: u64,
    out: &mut Terminal,
    outcomes: &mut Vec<Outcome>,
) -> Result<(), Failure> {
    let (history, workspace) = (history_of(project)?, &project.workspace);
    let outcome = match mode.dry_run {
        true => history.would_undo_turn(workspace, number),
        false => history.undo_turn(workspace, number),
    };
    let outcome = outcome.map_err(Failure::broken)?;
    let outcome = outcome.ok_or_else(|| {
        Failure::wrong_use(text!("no turn {number} can be undone; coder undo --list prints those that can", number))
    })?;
    outcomes.push(outcome);
    print_outcome(&outcomes[0], mode, out)
}

/// Undoes or redoes the newest turns. Turns of which nothing can be restored are skipped.
fn run_newest(
    project: &Project,
    mode: UndoMode,
    turns: usize,
    out: &mut Terminal,
    outcomes: &mut Vec<Outcome>,
) -> Result<(), Failure> {
    let (history, workspace) = (history_of(project)?, &project.workspace);
    if mode.dry_run {
        let outcomes_of_dry_run = match mode.direction {
            Direction::Undo => history.would_undo(workspace, turns),
            Direction::Redo => history.would_redo(workspace, turns),
        };
        outcomes.extend(outcomes_of_dry_run.map_err(Failure::broken)?);
        return outcomes.iter().try_for_each(|outcome| print_outcome(outcome, mode, out));
    }
    // This list is read once: a refused turn stays the newest one, and asking again would return it again.
    let undoable = if mode.direction == Direction::Undo { history.undoable(workspace) } else { Vec::new() };
    let mut undoable = undoable.into_iter();
    let mut count = 0;
    while count < turns {
        let outcome = match mode.direction {
            Direction::Redo => history.redo(workspace),
            Direction::Undo => match undoable.next() {
                Some(turn) => history.undo_turn(workspace, turn.number),
                None => return Ok(()),
            },
        };
        let Some(outcome) = outcome.map_err(Failure::broken)? else { return Ok(()) };
        print_outcome(&outcome, mode, out)?;
        let is_refused = outcome.is_refused();
        outcomes.push(outcome);
        count += usize::from(!is_refused);
        if is_refused && mode.direction == Direction::Redo {
            return Ok(()); // the next redo would be the same turn again
        }
    }
    Ok(())
}

fn print_nothing_to_do(history: &History, direction: Direction, out: &mut Terminal) -> Result<(), Failure> {
    out.line(&match direction {
        Direction::Redo => text!("There is nothing to redo."),
        Direction::Undo if history.has_dropped() => {
            text!("There is nothing more to undo: older turns were dropped (undo.turns, undo.megabytes).")
        }
        Direction::Undo => text!("There is nothing to undo."),
    })
}

fn print_outcome(outcome: &Outcome, mode: UndoMode, out: &mut Terminal) -> Result<(), Failure> {
    if mode.json {
        return out.line(&as_json(outcome, mode).to_string());
    }
    out.line(&head(outcome, mode))?;
    // Build folders are recognized in the whole name; only the printed name is shortened.
    let done = outcome.done.iter().map(|done| {
        let mut short = done.clone();
        short.name = clip::middle(&done.name, LONGEST_NAME).into_owned();
        (done.name.as_str(), &done.what, short.text())
    });
    let done = folded_rows(done);
    for row in done.iter().take(MOST_NAMES) {
        out.styled_line(Style::Good, &format!("  {}", row.words()))?;
    }
    print_rest(done.len(), out)?;
    let reasons: Vec<Text> = outcome.refused.iter().map(|refused| refused.why.text()).collect();
    let refused = outcome.refused.iter().zip(&reasons).map(|(refused, why)| {
        let mut short = refused.clone();
        short.name = clip::middle(&refused.name, LONGEST_NAME).into_owned();
        (refused.name.as_str(), why, short.text())
    });
    let refused: Vec<Text> =
        folded_rows(refused).into_iter().map(|refused| text!("{refused}; left as it is", refused)).collect();
    for row in refused.iter().take(MOST_NAMES) {
        out.styled_line(Style::Bad, &format!("  {}", row.words()))?;
    }
    print_rest(refused.len(), out)?;
    if outcome.done.is_empty() && outcome.refused.is_empty() {
        out.line(&format!("  {}", text!("all of it is already applied").words()))?;
    }
    outcome.turn.notes.iter().try_for_each(|note| out.styled_line(Style::Dim, &format!("  [{}]", note.words())))
}

/// Returns the first line of an outcome: what happened to the turn as a whole.
fn head(outcome: &Outcome, mode: UndoMode) -> Text {
    let turn = turn_with_title(&outcome.turn);
    let (done, skipped) = (outcome.done.len(), outcome.refused.len());
    match (mode.direction, mode.dry_run) {
        (_, false) if outcome.is_refused() => text!("Skipped {turn}; nothing was changed:", turn),
        (_, true) if outcome.is_refused() => text!("Would skip {turn}:", turn),
        (Direction::Undo, false) if skipped > 0 => {
            text!("Undid {turn} in part; {done} restored, {skipped} skipped:", turn, done, skipped)
        }
        (Direction::Redo, false) if skipped > 0 => {
            text!("Redid {turn} in part; {done} restored, {skipped} skipped:", turn, done, skipped)
        }
        (Direction::Undo, false) => text!("Undid {turn}:", turn),
        (Direction::Redo, false) => text!("Redid {turn}:", turn),
        (Direction::Undo, true) => text!("Would undo {turn}:", turn),
        (Direction::Redo, true) => text!("Would redo {turn}:", turn),
    }
}

/// Folders whose content a build generates. Folders that may contain sources, such as `build`, are not included.
const BUILD_FOLDERS: &[&str] = &[
    "__pycache__",
    "node_modules",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".hypothesis",
    ".tox",
    ".nox",
    ".venv",
    ".gradle",
    ".next",
    ".nuxt",
    ".turbo",
    ".parcel-cache",
];

/// Returns the build folder that is, or contains, a name. Folders in `tags` count as build folders too: cargo and
/// others mark them with a `CACHEDIR.TAG`.
fn build_folder<'n>(name: &'n str, tags: &HashSet<&str>) -> Option<&'n str> {
    let ends = name.match_indices('/').map(|(at, _)| at).chain([name.len()]);
    ends.map(|end| &name[..end]).find(|folder| {
        let last = folder.rsplit('/').next().unwrap_or_default();
        BUILD_FOLDERS.contains(&last) || tags.contains(folder)
    })
}

/// Returns the folders that contain a `CACHEDIR.TAG`.
fn tagged<'n>(names: impl Iterator<Item = &'n str>) -> HashSet<&'n str> {
    names.filter_map(|name| name.strip_suffix("/CACHEDIR.TAG")).collect()
}

/// Returns one row per name, but a single row for all names in a build folder. Each name comes with its change, alone
/// and as a whole row.
fn folded_rows<'n>(names: impl Iterator<Item = (&'n str, &'n Text, Text)> + Clone) -> Vec<Text> {
    let tags = tagged(names.clone().map(|(name, ..)| name));
    let mut rows: Vec<(Option<&str>, usize, Option<&Text>, Text)> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (name, what, row) in names {
        let folder = build_folder(name, &tags);
        let known = folder.and_then(|folder| places.get(folder).copied());
        match known {
            Some(at) => {
                let (_, count, same, _) = &mut rows[at];
                *count += 1;
                // The row names a change only if all names of the folder have it.
                *same = same.filter(|same| *same == what);
            }
            None => {
                if let Some(folder) = folder {
                    places.insert(folder, rows.len());
                }
                rows.push((folder, 1, Some(what), row));
            }
        }
    }
    let text = |(folder, count, what, row): (Option<&str>, usize, Option<&Text>, Text)| match (folder, what) {
        (Some(folder), Some(what)) if count > 1 => {
            text!("{folder}: {count} names, {what}", folder, count, what = what.clone())
        }
        (Some(folder), None) => text!("{folder}: {count} names", folder, count),
        _ => row,
    };
    rows.into_iter().map(text).collect()
}

/// Prints how many of `names` were not printed.
fn print_rest(names: usize, out: &mut Terminal) -> Result<(), Failure> {
    match names.saturating_sub(MOST_NAMES) {
        0 => Ok(()),
        more => out.styled_line(
            Style::Dim,
            &format!("  {}", text!("… and {count} more (--json lists all)", count = more).words()),
        ),
    }
}

fn as_json(outcome: &Outcome, mode: UndoMode) -> Value {
    let ListedTurn { number, title, notes, .. } = &outcome.turn;
    let done =
        outcome.done.iter().map(|done| json!({"name": done.name, "what": done.what, "by_others": done.by_others}));
    let refused = outcome.refused.iter().map(|left| json!({"name": left.name, "why": left.why.to_string()}));
    let event = if mode.direction == Direction::Undo { "undo" } else { "redo" };
    json!({
        "v": SCHEMA, "event": event, "dry_run": mode.dry_run, "turn": number, "title": title,
        "done": done.collect::<Vec<_>>(), "refused": refused.collect::<Vec<_>>(), "notes": notes,
    })
}

fn turn_with_title(turn: &ListedTurn) -> Text {
    match turn.title.as_str() {
        "" => text!("turn {number}", number = turn.number),
        title => text!("turn {number}, {title}", number = turn.number, title),
    }
}

fn list(project: &Project, as_json: bool, out: &mut Terminal) -> Result<(), Failure> {
    let history = history_of(project)?;
    let turns = history.list(&project.workspace).map_err(Failure::broken)?;
    if as_json {
        return turns.iter().try_for_each(|ListedTurn { number, at, title, names, undone, notes, .. }| {
            let line = json!({
                "v": SCHEMA, "event": "turn", "turn": number, "at": at, "title": title, "names": names,
                "undone": undone, "notes": notes,
            });
            out.line(&line.to_string())
        });
    }
    for turn in &turns {
        let (age, names) = (age(turn.at), text!("{count} {count|name |names}", count = turn.names));
        let row = format!("{:>6}  {:>9}  {:>10}  {}", turn.number, age.words(), names.words(), turn.title);
        match turn.undone {
            true => out.styled_line(Style::Dim, &format!("{row}  {}", text!("(undone)").words()))?,
            false => out.line(&row)?,
        }
    }
    match turns.is_empty() {
        true => print_nothing_to_do(history, Direction::Undo, out),
        false if history.has_dropped() => {
            out.styled_line(Style::Dim, &text!("Older turns were dropped (undo.turns, undo.megabytes)."))
        }
        false => Ok(()),
    }
}

/// Describes how long ago a time was, given in milliseconds since the epoch.
pub(crate) fn age(at: u64) -> Text {
    let then = SystemTime::UNIX_EPOCH + Duration::from_millis(at);
    let seconds = SystemTime::now().duration_since(then).map_or(0, |age| age.as_secs());
    match seconds {
        0..=99 => text!("{count} s ago", count = seconds),
        100..=5999 => text!("{count} min ago", count = seconds / 60),
        6000..=172_799 => text!("{count} h ago", count = seconds / 3600),
        _ => text!("{count} d ago", count = seconds / 86_400),
    }
}

fn show(project: &Project, turns: usize, as_json: bool, out: &mut Terminal) -> Result<(), Failure> {
    let differences = history_of(project)?.diff(&project.workspace, turns).map_err(Failure::broken)?;
    if as_json {
        let line =
            |name: &str, text: &Text| json!({"v": SCHEMA, "event": "diff", "name": name, "diff": text}).to_string();
        return differences.iter().try_for_each(|difference| out.line(&line(&difference.name, &difference.text)));
    }
    if differences.is_empty() {
        return out.line(&text!("Nothing was changed."));
    }
    let tags = tagged(differences.iter().map(|difference| difference.name.as_str()));
    let folder_of = |difference: &Difference| build_folder(&difference.name, &tags).map(str::to_owned);
    let mut built: BTreeMap<String, usize> = BTreeMap::new();
    differences.iter().filter_map(folder_of).for_each(|folder| *built.entry(folder).or_default() += 1);
    let mut sentences = 0;
    for difference in &differences {
        if let Some(folder) = folder_of(difference) {
            // The first file of a build folder prints the row for all of them.
            if let Some(count) = built.remove(&folder) {
                let row = text!("{folder}: {count} {count|name|names} of build output changed", folder, count);
                out.exact_line(Style::Dim, &*row.words())?;
            }
            continue;
        }
        let text = difference.text.render(language());
        // A diff with hunks is printed whole, so that it can be applied. Lists of names are limited.
        if text.lines().any(|line| line.starts_with("@@")) {
            styled_diff(&text).try_for_each(|(style, line)| out.exact_line(style, line))?;
            continue;
        }
        for line in text.lines() {
            sentences += 1;
            if sentences <= MOST_NAMES {
                out.exact_line(Style::Dim, &*clip::middle(line, LONGEST_NAME))?;
            }
        }
    }
    print_rest(sentences, out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_a_build_folder_share_one_row() {
        let (made, changed) = (Text::from("removed"), Text::from("changed back"));
        let names = [
            ("a/__pycache__", &made),
            ("a/__pycache__/m.pyc", &made),
            ("a/__pycache__/n.pyc", &made),
            ("a/real.py", &changed),
            ("target", &made),
            ("target/CACHEDIR.TAG", &made),
            ("target/debug/x", &changed),
            ("targets/x", &made),
        ];
        let rows = folded_rows(names.iter().map(|(name, what)| (*name, *what, format!("{name}: {what}").into())));
        let rows: Vec<String> = rows.iter().map(Text::to_string).collect();
        assert_eq!(
            rows,
            ["a/__pycache__: 3 names, removed", "a/real.py: changed back", "target: 3 names", "targets/x: removed",]
        );
    }
}
