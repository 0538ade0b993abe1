//! `coder undo`, `coder redo`, `coder diff`, and `/undo`, `/redo`, `/diff` in a conversation.

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
use toolfence_workspace::undo::{Difference, History, Listed, Outcome};

/// Names that are shown of a list.
const MOST_NAMED: usize = 200;

/// Characters of a name that are shown: a deep tree has names that fill pages.
const LONGEST_NAME: usize = 160;

/// Takes turns back.
pub(crate) fn undo(options: &Options, arguments: &UndoArguments) -> Result<ExitCode, Failure> {
    let (project, _) = rules::open(options)?;
    let UndoArguments { turn, back: BackArguments { turns, dry_run: would, json }, list: only_list } = *arguments;
    let mut out = Terminal::stdout();
    if only_list {
        list(&project, json, &mut out)?;
        return Ok(ExitCode::SUCCESS);
    }
    let which = turn.map_or(Which::Newest(turns), Which::Number);
    go(&project, How { way: Way::Back, would, json }, which, &mut out).map(|(status, _)| status)
}

/// Takes undos back.
pub(crate) fn redo(options: &Options, arguments: &BackArguments) -> Result<ExitCode, Failure> {
    let (project, _) = rules::open(options)?;
    let how = How { way: Way::Forth, would: arguments.dry_run, json: arguments.json };
    go(&project, how, Which::Newest(arguments.turns), &mut Terminal::stdout()).map(|(status, _)| status)
}

/// Shows what turns changed.
pub(crate) fn diff(options: &Options, arguments: &DiffArguments) -> Result<ExitCode, Failure> {
    let (project, _) = rules::open(options)?;
    let turns = if arguments.all { usize::MAX } else { arguments.turns };
    show(&project, turns, arguments.json, &mut Terminal::stdout())?;
    Ok(ExitCode::SUCCESS)
}

/// Undoes, redoes or shows what turns changed, as a line of a conversation asks for. Gives what the model has to be told of it.
pub(crate) fn typed(project: &Project, name: &str, rest: &str, out: &mut Terminal) -> Result<Option<String>, Failure> {
    let number = || match rest {
        "" => Ok(1),
        _ => rest.parse().ok().filter(|turns| *turns > 0).ok_or_else(|| wrong_words(name, rest)),
    };
    let none = |()| None;
    match (name, rest) {
        ("undo", "list") => return list(project, false, out).map(none),
        ("diff", "all") => {
            return show(project, kept(project)?.of_this_session(&project.workspace), false, out).map(none);
        }
        ("diff", _) => return show(project, number()?, false, out).map(none),
        _ => {}
    }
    let how = How { way: if name == "undo" { Way::Back } else { Way::Forth }, would: false, json: false };
    let (_, outcomes) = go(project, how, Which::Newest(number()?), out)?;
    Ok(note(&outcomes, how.way))
}

/// Takes the last turn back, or the last undo; gives what `--json` prints of it.
pub(crate) fn one(project: &Project, redo: bool) -> Result<Option<Value>, Failure> {
    let (history, workspace) = (kept(project)?, &project.workspace);
    let done = if redo { history.redo(workspace) } else { history.undo(workspace) };
    project.print_notes();
    let way = if redo { Way::Forth } else { Way::Back };
    let how = How { way, would: false, json: true };
    Ok(done.map_err(Failure::broken)?.map(|outcome| {
        let mut value = as_json(&outcome, how);
        let skipped = outcome.skipped.iter().map(|skipped| as_json(skipped, how)).collect::<Vec<_>>();
        if !skipped.is_empty() {
            value["skipped"] = skipped.into();
        }
        value
    }))
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
        .map(|done| text!("{name} ({what})", name = clip::middle(&done.name, LONGEST), what = done.what.clone()))
        .collect();
    if done.is_empty() {
        return None;
    }
    let more = done.len().saturating_sub(MOST);
    done.truncate(MOST);
    let names = Text::join(done, ", ");
    let names = if more > 0 { text!("{names} and {count} more", names, count = more) } else { names };
    let what = match way {
        Way::Back => text!("undid changes of your earlier turns"),
        Way::Forth => text!("redid a change"),
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

fn wrong_words(name: &str, rest: &str) -> Failure {
    Failure::wrong_use(text!(
        "/{command} takes a number of turns, such as /{command} 2, not {rest}",
        command = name,
        rest
    ))
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

fn kept(project: &Project) -> Result<&History, Failure> {
    project.history.as_deref().ok_or_else(|| {
        Failure::wrong_use(text!(
            "undo is not available: undo.journal is off, or there is no folder for it (set HOME or XDG_STATE_HOME)"
        ))
    })
}

/// Which turns are meant.
#[derive(Clone, Copy)]
enum Which {
    /// The newest that can be undone or redone.
    Newest(usize),
    /// The one with this number.
    Number(u64),
}

fn go(project: &Project, how: How, which: Which, out: &mut Terminal) -> Result<(ExitCode, Vec<Outcome>), Failure> {
    let history = kept(project)?;
    let mut outcomes = Vec::new();
    let done = match which {
        Which::Number(number) => go_to(project, how, number, out, &mut outcomes),
        Which::Newest(turns) => go_back(project, how, turns, out, &mut outcomes),
    };
    project.print_notes();
    done?;
    if outcomes.is_empty() && !how.json {
        nothing(history, how.way, out)?;
    }
    let failed = |outcome: &Outcome| !outcome.refused.is_empty();
    let failed = outcomes.is_empty() || outcomes.iter().any(failed);
    Ok((if failed { UNSUCCESSFUL.into() } else { ExitCode::SUCCESS }, outcomes))
}

/// Undoes the turn with this number.
fn go_to(
    project: &Project,
    how: How,
    number: u64,
    out: &mut Terminal,
    outcomes: &mut Vec<Outcome>,
) -> Result<(), Failure> {
    let (history, workspace) = (kept(project)?, &project.workspace);
    let outcome = match how.would {
        true => history.would_undo_turn(workspace, number),
        false => history.undo_turn(workspace, number),
    };
    let outcome = outcome.map_err(Failure::broken)?;
    let outcome = outcome.ok_or_else(|| {
        Failure::wrong_use(text!("no turn {number} can be undone; coder undo --list prints those that can", number))
    })?;
    outcomes.push(outcome);
    print_outcome(&outcomes[0], how, out)
}

/// Undoes or redoes the newest turns. Turns of which nothing can be restored are skipped.
fn go_back(
    project: &Project,
    how: How,
    turns: usize,
    out: &mut Terminal,
    outcomes: &mut Vec<Outcome>,
) -> Result<(), Failure> {
    let (history, workspace) = (kept(project)?, &project.workspace);
    if how.would {
        let would = match how.way {
            Way::Back => history.would_undo(workspace, turns),
            Way::Forth => history.would_redo(workspace, turns),
        };
        outcomes.extend(would.map_err(Failure::broken)?);
        return outcomes.iter().try_for_each(|outcome| print_outcome(outcome, how, out));
    }
    let undoable = if how.way == Way::Back { history.undoable(workspace) } else { Vec::new() };
    let mut undoable = undoable.into_iter();
    let mut count = 0;
    while count < turns {
        let outcome = match how.way {
            Way::Forth => history.redo(workspace),
            Way::Back => match undoable.next() {
                Some(turn) => history.undo_turn(workspace, turn.number),
                None => return Ok(()),
            },
        };
        let Some(outcome) = outcome.map_err(Failure::broken)? else { return Ok(()) };
        print_outcome(&outcome, how, out)?;
        let is_refused = outcome.is_refused();
        outcomes.push(outcome);
        count += usize::from(!is_refused);
        if is_refused && how.way == Way::Forth {
            return Ok(()); // the same undo is the next one again
        }
    }
    Ok(())
}

fn nothing(history: &History, way: Way, out: &mut Terminal) -> Result<(), Failure> {
    out.line(&match way {
        Way::Forth => text!("There is nothing to redo."),
        Way::Back if history.has_dropped() => {
            text!("There is nothing more to undo: older turns were dropped (undo.turns, undo.megabytes).")
        }
        Way::Back => text!("There is nothing to undo."),
    })
}

fn print_outcome(outcome: &Outcome, how: How, out: &mut Terminal) -> Result<(), Failure> {
    if how.json {
        return out.line(&as_json(outcome, how).to_string());
    }
    out.line(&head(outcome, how))?;
    let done = outcome.done.iter().map(|done| {
        let mut short = done.clone();
        short.name = clip::middle(&done.name, LONGEST_NAME).into_owned();
        (done.name.as_str(), &done.what, short.text())
    });
    let done = folded(done);
    for row in done.iter().take(MOST_NAMED) {
        out.styled_line(Style::Good, &format!("  {}", row.words()))?;
    }
    and_more(done.len(), out)?;
    let reasons: Vec<Text> = outcome.refused.iter().map(|refused| refused.why.text()).collect();
    let refused = outcome.refused.iter().zip(&reasons).map(|(refused, why)| {
        let mut short = refused.clone();
        short.name = clip::middle(&refused.name, LONGEST_NAME).into_owned();
        (refused.name.as_str(), why, short.text())
    });
    let refused: Vec<Text> =
        folded(refused).into_iter().map(|refused| text!("{refused}; left as it is", refused)).collect();
    for row in refused.iter().take(MOST_NAMED) {
        out.styled_line(Style::Bad, &format!("  {}", row.words()))?;
    }
    and_more(refused.len(), out)?;
    if outcome.done.is_empty() && outcome.refused.is_empty() {
        out.line(&format!("  {}", text!("all of it is applied already").words()))?;
    }
    outcome.turn.notes.iter().try_for_each(|note| out.styled_line(Style::Dim, &format!("  [{}]", note.words())))
}

/// What was done with the turn as a whole.
fn head(outcome: &Outcome, how: How) -> Text {
    let turn = titled(&outcome.turn);
    let (done, skipped) = (outcome.done.len(), outcome.refused.len());
    match (how.way, how.would) {
        (_, false) if outcome.is_refused() => text!("Skipped {turn}; nothing was changed:", turn),
        (_, true) if outcome.is_refused() => text!("Would skip {turn}:", turn),
        (Way::Back, false) if skipped > 0 => {
            text!("Undid {turn} in part; {done} restored, {skipped} skipped:", turn, done, skipped)
        }
        (Way::Forth, false) if skipped > 0 => {
            text!("Redid {turn} in part; {done} restored, {skipped} skipped:", turn, done, skipped)
        }
        (Way::Back, false) => text!("Undid {turn}:", turn),
        (Way::Forth, false) => text!("Redid {turn}:", turn),
        (Way::Back, true) => text!("Would undo {turn}:", turn),
        (Way::Forth, true) => text!("Would redo {turn}:", turn),
    }
}

/// Folders whose content a build makes again. A folder that may well hold sources, such as `build`, is not among them.
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

/// The build folder that a name is or is in. A folder is one too if a `CACHEDIR.TAG` among `tags` marks it, as cargo does.
fn build_folder<'n>(name: &'n str, tags: &HashSet<&str>) -> Option<&'n str> {
    let ends = name.match_indices('/').map(|(at, _)| at).chain([name.len()]);
    ends.map(|end| &name[..end]).find(|folder| {
        let last = folder.rsplit('/').next().unwrap_or_default();
        BUILD_FOLDERS.contains(&last) || tags.contains(folder)
    })
}

/// The folders among these names that a `CACHEDIR.TAG` marks.
fn tagged<'n>(names: impl Iterator<Item = &'n str>) -> HashSet<&'n str> {
    names.filter_map(|name| name.strip_suffix("/CACHEDIR.TAG")).collect()
}

/// The rows of these names, with one row in place of those of a build folder. Each name has what happened to it, alone and in
/// a row.
fn folded<'n>(names: impl Iterator<Item = (&'n str, &'n Text, Text)> + Clone) -> Vec<Text> {
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

/// How many of so many names were not shown.
fn and_more(names: usize, out: &mut Terminal) -> Result<(), Failure> {
    match names.saturating_sub(MOST_NAMED) {
        0 => Ok(()),
        more => out.styled_line(
            Style::Dim,
            &format!("  {}", text!("… and {count} more (--json lists all)", count = more).words()),
        ),
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
        "" => text!("turn {number}", number = turn.number),
        title => text!("turn {number}, {title}", number = turn.number, title),
    }
}

fn list(project: &Project, as_json: bool, out: &mut Terminal) -> Result<(), Failure> {
    let history = kept(project)?;
    let turns = history.list(&project.workspace).map_err(Failure::broken)?;
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
        let (age, names) = (age(turn.at), text!("{count} {count|name |names}", count = turn.names));
        let row = format!("{:>6}  {:>9}  {:>10}  {}", turn.number, age.words(), names.words(), turn.title);
        match turn.undone {
            true => out.styled_line(Style::Dim, &format!("{row}  {}", text!("(undone)").words()))?,
            false => out.line(&row)?,
        }
    }
    match turns.is_empty() {
        true => nothing(history, Way::Back, out),
        false if history.has_dropped() => {
            out.styled_line(Style::Dim, &text!("Older turns were dropped (undo.turns, undo.megabytes)."))
        }
        false => Ok(()),
    }
}

/// How long ago something was.
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
    let differences = kept(project)?.diff(&project.workspace, turns).map_err(Failure::broken)?;
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
            if let Some(count) = built.remove(&folder) {
                let row = text!("{folder}: {count} {count|name|names} of build output changed", folder, count);
                out.exact_line(Style::Dim, &*row.words())?;
            }
            continue;
        }
        let text = difference.text.render(language());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_folder_is_one_row() {
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
        let rows = folded(names.iter().map(|(name, what)| (*name, *what, format!("{name}: {what}").into())));
        let rows: Vec<String> = rows.iter().map(Text::to_string).collect();
        assert_eq!(
            rows,
            ["a/__pycache__: 3 names, removed", "a/real.py: changed back", "target: 3 names", "targets/x: removed",]
        );
    }
}
