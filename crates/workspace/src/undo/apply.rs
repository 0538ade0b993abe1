//! Undoing and redoing: name by name, each recorded before it is done.

use crate::Workspace;
use crate::root::Root;
use crate::stat::Stamp;
use crate::state::{Change, State};
use crate::undo::format::{self, Kind, Net, lines, net};
use crate::undo::restore::{self, Unrestored};
use crate::undo::{History, Listed, plan};
use crate::{messages, names};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use toolfence_protocol::{Error, ErrorKind, Result, Text, text};

/// Contents of more bytes are not put back.
const MOST: u64 = 64 << 20;

/// What came of an undo or a redo.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Outcome {
    /// The turn that was undone or redone.
    pub turn: Listed,
    /// The names that were put back.
    pub done: Vec<Done>,
    /// The names that were left as they are.
    pub refused: Vec<Refused>,
    /// Of [`History::undo`]: newer turns of which no name could be put back.
    pub skipped: Vec<Outcome>,
}

/// A name that was put back.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Done {
    /// The name as it can be shown on one line.
    pub name: String,
    /// What was done: `removed`, `restored`, `changed back`, `mode 644`, ...
    pub what: Text,
    /// Whether another process changed the name during the turn: it was put back to what that process left.
    pub by_others: bool,
}

/// A name that was left as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refused {
    /// The name as it can be shown on one line.
    pub name: String,
    /// Why.
    #[doc(hidden)]
    pub why: Unrestored,
}

impl Outcome {
    fn new(turn: Listed) -> Outcome {
        Outcome { turn, done: Vec::new(), refused: Vec::new(), skipped: Vec::new() }
    }

    /// Whether names of the turn were to be put back and none could be.
    pub fn is_refused(&self) -> bool {
        self.done.is_empty() && !self.refused.is_empty()
    }
}

impl Done {
    /// The name and what was done, on one line.
    pub fn text(&self) -> Text {
        match self.by_others {
            true => messages::name_done_to_theirs(&self.name, self.what.clone()),
            false => messages::name_done(&self.name, self.what.clone()),
        }
    }
}

impl Refused {
    /// The name and why it was left as it is, on one line.
    pub fn text(&self) -> Text {
        messages::name_refused(&self.name, self.why.text())
    }
}

impl fmt::Display for Done {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text().fmt(f)
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text().fmt(f)
    }
}

impl History {
    /// Undoes the newest turn of which any name can be put back, and skips those of which none can be. If there is no such turn,
    /// nothing is changed, and the newest of [`undoable`](History::undoable) is returned; `None` if there are none.
    ///
    /// # Errors
    /// A turn is under way, here or in another program, or the history cannot be written. Nothing was changed then.
    pub fn undo(&self, workspace: &Workspace) -> Result<Option<Outcome>> {
        let mut skipped: Vec<Outcome> = Vec::new();
        for turn in self.undoable(workspace) {
            let outcome = self.undo_listed(workspace, turn)?;
            if !outcome.is_refused() {
                return Ok(Some(Outcome { skipped, ..outcome }));
            }
            skipped.push(outcome);
        }
        let mut skipped = skipped.into_iter();
        Ok(skipped.next().map(|newest| Outcome { skipped: skipped.collect(), ..newest }))
    }

    /// Undoes the turn with this number; `None` if there is no such turn, or it is undone already.
    ///
    /// # Errors
    /// The errors of [`undo`](History::undo).
    pub fn undo_turn(&self, workspace: &Workspace, number: u64) -> Result<Option<Outcome>> {
        let stack = self.stack(workspace.root());
        let turn = stack.done.contains(&number).then(|| stack.listed(number)).flatten();
        turn.map(|turn| self.undo_listed(workspace, turn)).transpose()
    }

    /// The turns that are not undone and have changed something that undo covers, newest first. If there are none, the newest
    /// of those that changed only what it does not cover.
    pub fn undoable(&self, workspace: &Workspace) -> Vec<Listed> {
        self.stack(workspace.root()).undoable().collect()
    }

    fn undo_listed(&self, workspace: &Workspace, turn: Listed) -> Result<Outcome> {
        if turn.is_bare() {
            return Ok(Outcome::new(turn));
        }
        self.apply(workspace.root(), Kind::Undo(turn.number), turn.clone(), self.backwards(turn.number)?)
    }

    /// Takes the last undo back; `None` where there is none, or a turn has changed something since.
    ///
    /// # Errors
    /// The errors of [`undo`](History::undo).
    pub fn redo(&self, workspace: &Workspace) -> Result<Option<Outcome>> {
        let root = workspace.root();
        let stack = self.stack(root);
        let Some((undo, turn)) = stack.undone.last() else { return Ok(None) };
        let Some(turn) = stack.listed(*turn) else { return Ok(None) };
        self.apply(root, Kind::Redo(*undo), turn, self.backwards(*undo)?).map(Some)
    }

    /// What undoing the newest `turns` turns would do, with the turns that would be skipped. Nothing is changed.
    ///
    /// # Errors
    /// A record cannot be read.
    pub fn would_undo(&self, workspace: &Workspace, turns: usize) -> Result<Vec<Outcome>> {
        let root = workspace.root();
        let undoable = self.undoable(workspace).into_iter().map(|turn| {
            let number = turn.number;
            (turn, number)
        });
        self.would_apply(root, undoable, turns)
    }

    /// What [`undo_turn`](History::undo_turn) would do. Nothing is changed.
    ///
    /// # Errors
    /// A record cannot be read.
    pub fn would_undo_turn(&self, workspace: &Workspace, number: u64) -> Result<Option<Outcome>> {
        let stack = self.stack(workspace.root());
        let turn = stack.done.contains(&number).then(|| stack.listed(number)).flatten();
        let turn = turn.into_iter().map(|turn| (turn, number));
        Ok(self.would_apply(workspace.root(), turn, 1)?.pop())
    }

    /// What [`redo`](History::redo) would do `turns` times, as far as the names of one turn are not those of another. Nothing is
    /// changed.
    ///
    /// # Errors
    /// A record cannot be read.
    pub fn would_redo(&self, workspace: &Workspace, turns: usize) -> Result<Vec<Outcome>> {
        let root = workspace.root();
        let stack = self.stack(root);
        let last = stack.undone.iter().rev().take(turns);
        let turns = last.filter_map(|(undo, turn)| stack.listed(*turn).map(|turn| (turn, *undo)));
        self.would_apply(root, turns, usize::MAX)
    }

    fn would_apply(
        &self,
        root: &Root,
        turns: impl Iterator<Item = (Listed, u64)>,
        most: usize,
    ) -> Result<Vec<Outcome>> {
        // What the turns before would leave, where they say something of a name.
        let mut left: BTreeMap<PathBuf, State> = BTreeMap::new();
        let mut would = |(turn, record): (Listed, u64)| -> Result<Outcome> {
            let net = self.backwards(record)?;
            let mut outcome = Outcome::new(turn);
            let moves = moves(net.steps());
            let sources: BTreeSet<&Path> = moves.values().map(|(at, _)| *at).collect();
            for (name, (from, to)) in &net.changes {
                let change = Change::new(name.clone(), from.clone(), to.clone());
                if let Some((at, stamp)) = moves.get(name.as_path())
                    && left.get(name).is_none_or(|state| *state == State::Nothing)
                {
                    match restore::could_move_back(root, at, name, stamp) {
                        Ok(()) => outcome.push_moved(name, at),
                        Err(why) => outcome.tell(&change, Err(why), &net.by_others),
                    }
                    continue;
                }
                if sources.contains(name.as_path()) {
                    continue;
                }
                let could = match left.get(name) {
                    Some(state) if state.is(from) => Ok(Vec::new()),
                    Some(state) if state.is(to) => continue,
                    Some(_) => Err(Unrestored::Changed),
                    None => restore::could_restore(root, &change).and_then(|()| self.content(to).map(|_| Vec::new())),
                };
                let there = || Change::new(name.clone(), to.clone(), to.clone());
                if could.is_err() && !left.contains_key(name) && restore::could_restore(root, &there()).is_ok() {
                    continue;
                }
                if could.is_ok() {
                    left.insert(name.clone(), to.clone());
                }
                outcome.tell(&change, could, &net.by_others);
            }
            outcome.leave(root, &net);
            Ok(outcome)
        };
        let mut outcomes = Vec::new();
        let mut remaining = most;
        for turn in turns {
            if remaining == 0 {
                break;
            }
            let outcome = would(turn)?;
            remaining -= usize::from(!outcome.is_refused());
            outcomes.push(outcome);
        }
        Ok(outcomes)
    }

    /// What a record changed, the other way round.
    fn backwards(&self, record: u64) -> Result<Net> {
        let path = format::path_of(&self.turns(), record);
        let lines =
            lines(&path).map_err(|cause| Error::because(messages::read_record(path.display().to_string()), cause))?;
        let Net { mut changes, by_others, later } = net(&lines);
        self.follow(record, &mut changes);
        let turned = |changes: BTreeMap<PathBuf, (State, State)>| {
            changes.into_iter().map(|(name, (before, after))| (name, (after, before))).collect()
        };
        Ok(Net { changes: turned(changes), by_others, later: turned(later) })
    }

    /// Follows what later undos and redos of a turn made of its names. One that was cut short may have removed an entry and not yet
    /// put the one of another kind into its place.
    fn follow(&self, turn: u64, changes: &mut BTreeMap<PathBuf, (State, State)>) {
        let mut undos = BTreeSet::new();
        for head in format::heads(&self.turns()) {
            match head.begin.kind {
                Kind::Undo(undone) if undone == turn => drop(undos.insert(head.number)),
                Kind::Redo(undo) if undos.contains(&undo) => {}
                _ => continue,
            }
            let Ok(lines) = lines(&head.path) else { continue };
            for (name, (before, after)) in net(&lines).changes {
                if let Some((_, left)) = changes.get_mut(&name)
                    && left.is(&before)
                {
                    *left = after;
                }
            }
        }
    }

    fn apply(&self, root: &Root, kind: Kind, turn: Listed, net: Net) -> Result<Outcome> {
        if root.is_gone() {
            let gone = messages::project_gone(root.path().display().to_string());
            return Err(Error::with_kind(ErrorKind::NotFound, gone));
        }
        if self.inner().open.is_some() {
            return Err(Error::with_kind(ErrorKind::Busy, messages::turn_under_way()));
        }
        self.begin_at_once(kind, &turn.title)?;
        let mut outcome = Outcome::new(turn);
        let moves = moves(net.steps());
        let sources: BTreeSet<&Path> = moves.values().map(|(at, _)| *at).collect();
        let mut failed: BTreeSet<&Path> = BTreeSet::new();
        let steps = plan::steps(&net.changes);
        for step in &steps {
            let (from, to) = &net.changes[&step.name];
            let name = step.name.as_path();
            if failed.contains(name) || sources.contains(name) || is(root, name, to) {
                continue;
            }
            if let Some((at, stamp)) = moves.get(name) {
                match restore::move_back(root, at, name, stamp, self) {
                    Ok(()) => outcome.push_moved(name, at),
                    Err(why) => {
                        failed.insert(at);
                        outcome.tell(step, Err(why), &net.by_others);
                    }
                }
                continue;
            }
            // The system reports this too, but for a path longer than it takes `restore` would remove what is left.
            let is_kept =
                step.after == State::Nothing && failed.range(name..).next().is_some_and(|left| left.starts_with(name));
            let done = match is_kept {
                true => Err(Unrestored::NotEmpty),
                false => self.content(&step.after).and_then(|content| restore::restore(root, step, &content, self)),
            };
            let whole = Change::new(step.name.clone(), from.clone(), to.clone());
            if done.is_err() {
                failed.insert(&step.name);
                outcome.done.retain(|done| done.name != names::shown(&step.name));
            } else if step.after != *to {
                continue; // a part of it
            }
            outcome.tell(&whole, done, &net.by_others);
        }
        outcome.leave(root, &net);
        // What is left as somebody else's work is no reason to come back to this turn.
        self.end_applied(outcome.refused.iter().all(|refused| refused.why == Unrestored::Later));
        outcome.done.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(outcome)
    }

    fn content(&self, state: &State) -> std::result::Result<Vec<u8>, Unrestored> {
        match state.content() {
            Some((_, bytes)) if bytes > MOST => Err(Unrestored::NotKept),
            Some((content, bytes)) => self.objects.get(content, bytes).ok_or(Unrestored::Lost),
            None => Ok(Vec::new()),
        }
    }
}

/// The files whose content was not kept and that have another name now, with the same content: for each old name, the new one.
/// The changes go from the new state to the old one.
pub(super) fn moves<'c>(
    changes: impl Iterator<Item = (&'c Path, &'c State, &'c State)> + Clone,
) -> BTreeMap<&'c Path, (&'c Path, &'c Stamp)> {
    let mut there: BTreeMap<(u64, u64), Vec<(&Path, &Stamp)>> = BTreeMap::new();
    for (name, from, to) in changes.clone() {
        if let (State::Unkept { stamp }, State::Nothing) = (from, to) {
            there.entry(stamp.file()).or_default().push((name, stamp));
        }
    }
    let moved = changes.filter_map(|(name, from, to)| {
        let (State::Nothing, State::Unkept { stamp }) = (from, to) else { return None };
        // A file that has several names now was linked, not moved.
        let [(at, now)] = there.get(&stamp.file())?.as_slice() else { return None };
        now.is_content_of(stamp).then_some((name, (*at, *now)))
    });
    moved.collect()
}

/// Whether a name is what it shall be already.
fn is(root: &Root, name: &Path, state: &State) -> bool {
    restore::could_restore(root, &Change::new(name.to_owned(), state.clone(), state.clone())).is_ok()
}

impl Outcome {
    /// Adds the names that another process may have changed after the turn was cut short.
    fn leave(&mut self, root: &Root, net: &Net) {
        let theirs = net.later.iter().filter(|(name, (_, to))| !is(root, name, to));
        self.refused.extend(theirs.map(|(name, _)| Refused { name: names::shown(name), why: Unrestored::Later }));
    }

    fn push_moved(&mut self, name: &Path, from: &Path) {
        let what = text!("moved back from {name}", name = names::shown(from));
        self.done.push(Done { name: names::shown(name), what, by_others: false });
    }

    fn tell(
        &mut self,
        change: &Change,
        done: std::result::Result<Vec<Text>, Unrestored>,
        by_others: &BTreeSet<PathBuf>,
    ) {
        let name = names::shown(&change.name);
        match done {
            Ok(lost) => {
                let mut what = what(&change.before, &change.after);
                if !lost.is_empty() {
                    what = messages::but_refused(what, Text::join(lost, ", "));
                }
                self.done.push(Done { name, what, by_others: by_others.contains(&change.name) });
            }
            Err(why) => self.refused.push(Refused { name, why }),
        }
    }
}

fn what(from: &State, to: &State) -> Text {
    match (from, to) {
        (_, State::Nothing) => messages::removed(),
        (State::Nothing, _) => messages::restored(),
        (State::File { content: old, mode: was, .. }, State::File { content: new, mode, .. }) if old == new => {
            of_mode(*was, *mode)
        }
        (State::Folder { mode: was, .. }, State::Folder { mode, .. }) => of_mode(*was, *mode),
        _ => messages::changed_back(),
    }
}

fn of_mode(was: u32, mode: u32) -> Text {
    if was == mode { messages::attributes_changed_back() } else { messages::mode(format!("{mode:o}")) }
}
