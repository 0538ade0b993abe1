//! Undoes and redoes turns name by name. Each step is recorded before it is made.

use crate::Workspace;
use crate::names;
use crate::root::Root;
use crate::stash::{Stash, SwapEffect, Trust};
use crate::state::{Change, State};
use crate::undo::format::{self, Kind, Net, RecordPart, lines, parts};
use crate::undo::restore::{self, Unrestored};
use crate::undo::{History, ListedTurn, plan};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use toolfence_protocol::{Error, ErrorKind, Result, Text, text};

/// The maximum size in bytes of a content that can be restored.
const MOST: u64 = 64 << 20;

/// The outcome of an undo or a redo.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Outcome {
    /// The turn that was undone or redone.
    pub turn: ListedTurn,
    /// The names that were restored.
    pub done: Vec<Restored>,
    /// The names that were skipped.
    pub refused: Vec<Refused>,
    /// For [`History::undo`]: newer turns of which no name could be restored.
    pub skipped: Vec<Outcome>,
}

/// A name that was restored.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Restored {
    /// The name for display on one line.
    pub name: String,
    /// The effect: `removed`, `restored`, `changed back`, `mode 644`, ...
    pub what: Text,
    /// Whether another process changed the name during the turn: undo restores that process's version.
    pub by_others: bool,
}

/// A name that was skipped.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refused {
    /// The name for display on one line.
    pub name: String,
    /// The reason.
    #[doc(hidden)]
    pub why: Unrestored,
}

impl Outcome {
    fn new(turn: ListedTurn) -> Outcome {
        Outcome { turn, done: Vec::new(), refused: Vec::new(), skipped: Vec::new() }
    }

    /// Returns `true` if the turn has changed names and none could be restored.
    pub fn is_refused(&self) -> bool {
        self.done.is_empty() && !self.refused.is_empty()
    }
}

impl Restored {
    /// Returns the name and the effect on one line.
    pub fn text(&self) -> Text {
        match self.by_others {
            true => text!(
                "{name}: {what}, to what another process left there during the turn",
                name = &self.name,
                what = self.what.clone()
            ),
            false => text!("{name}: {what}", name = &self.name, what = self.what.clone()),
        }
    }
}

impl Refused {
    /// Returns the name and the reason on one line.
    pub fn text(&self) -> Text {
        text!("{name}: {why}", name = &self.name, why = self.why.text())
    }
}

impl fmt::Display for Restored {
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
    /// Undoes the newest turn of which any name can be restored, and skips newer ones of which none can be. If there is
    /// no such turn, changes nothing and returns the newest of [`undoable`](History::undoable), or `None` if that is
    /// empty.
    ///
    /// # Errors
    /// A turn is under way, here or in another program, or the history cannot be written. Nothing was changed.
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

    /// Undoes the turn with this number. Returns `None` if there is no such turn, or it is already undone.
    ///
    /// # Errors
    /// The errors of [`undo`](History::undo).
    pub fn undo_turn(&self, workspace: &Workspace, number: u64) -> Result<Option<Outcome>> {
        let stack = self.stack(workspace.root());
        let turn = stack.done.contains(&number).then(|| stack.list_entry(number)).flatten();
        turn.map(|turn| self.undo_listed(workspace, turn)).transpose()
    }

    /// Returns the turns that are not undone, newest first.
    pub fn undoable(&self, workspace: &Workspace) -> Vec<ListedTurn> {
        self.stack(workspace.root()).undoable().collect()
    }

    fn undo_listed(&self, workspace: &Workspace, turn: ListedTurn) -> Result<Outcome> {
        self.apply(workspace.root(), Kind::Undo(turn.number), turn.clone(), self.backwards(turn.number)?)
    }

    /// Reverts the last undo. Returns `None` if nothing was undone, or if a turn has changed something since.
    ///
    /// # Errors
    /// The errors of [`undo`](History::undo).
    pub fn redo(&self, workspace: &Workspace) -> Result<Option<Outcome>> {
        let root = workspace.root();
        let stack = self.stack(root);
        let Some((undo, turn)) = stack.undone.last() else { return Ok(None) };
        let Some(turn) = stack.list_entry(*turn) else { return Ok(None) };
        self.apply(root, Kind::Redo(*undo), turn, self.backwards(*undo)?).map(Some)
    }

    /// Returns the outcome of undoing the newest `turns` turns, including those that would be skipped, without changing
    /// anything.
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

    /// Returns the outcome of [`undo_turn`](History::undo_turn) without changing anything.
    ///
    /// # Errors
    /// A record cannot be read.
    pub fn would_undo_turn(&self, workspace: &Workspace, number: u64) -> Result<Option<Outcome>> {
        let stack = self.stack(workspace.root());
        let turn = stack.done.contains(&number).then(|| stack.list_entry(number)).flatten();
        let turn = turn.into_iter().map(|turn| (turn, number));
        Ok(self.would_apply(workspace.root(), turn, 1)?.pop())
    }

    /// Returns the outcome of calling [`redo`](History::redo) `turns` times, without changing anything. Names that
    /// several turns have in common can differ from the real outcome.
    ///
    /// # Errors
    /// A record cannot be read.
    pub fn would_redo(&self, workspace: &Workspace, turns: usize) -> Result<Vec<Outcome>> {
        let root = workspace.root();
        let stack = self.stack(root);
        let last = stack.undone.iter().rev().take(turns);
        let turns = last.filter_map(|(undo, turn)| stack.list_entry(*turn).map(|turn| (turn, *undo)));
        self.would_apply(root, turns, usize::MAX)
    }

    fn would_apply(
        &self,
        root: &Root,
        turns: impl Iterator<Item = (ListedTurn, u64)>,
        most: usize,
    ) -> Result<Vec<Outcome>> {
        let mut dry_run = DryRun::default();
        let mut outcomes = Vec::new();
        let mut remaining = most;
        for (turn, record) in turns {
            if remaining == 0 {
                break;
            }
            // A stash belongs to the record of the turn, also if an undo or a redo swaps its entries.
            let of_turn = format::path_of(&self.turns(), turn.number);
            let mut outcome = Outcome::new(turn);
            for part in self.backwards(record)? {
                match part {
                    RecordPart::Names(net) => self.would_put_back(root, &net, &mut dry_run, &mut outcome),
                    RecordPart::Exchange(stash, is_forward) => match Stash::open_recorded(&stash, &of_turn) {
                        Ok(stash) => would_swap(root, stash, is_forward, &mut dry_run, &mut outcome),
                        Err(error) => outcome.push_lost(&stash, &error),
                    },
                }
            }
            outcome.done.sort_by(|a, b| a.name.cmp(&b.name));
            // `undo` skips a turn of which nothing can be restored, so such a turn does not count.
            remaining -= usize::from(!outcome.is_refused());
            outcomes.push(outcome);
        }
        Ok(outcomes)
    }

    fn would_put_back(&self, root: &Root, net: &Net, dry_run: &mut DryRun, outcome: &mut Outcome) {
        for (name, (from, to)) in &net.changes {
            let change = Change::new(name.clone(), from.clone(), to.clone());
            let is_seen =
                |state: &State| restore::could_restore(root, &Change::new(name.clone(), state.clone(), to.clone()));
            // If an earlier part of the dry run has changed the name, the disk does not have the state that a real run
            // would find.
            let could = match dry_run.left.get(name) {
                Some(state) if state.equals(from) => Ok(Vec::new()),
                Some(state) if state.equals(to) => continue,
                Some(_) => Err(Unrestored::Changed),
                None if name.ancestors().any(|above| dry_run.swapped.contains(above)) => Ok(Vec::new()),
                None if has_state(root, name, to) => continue,
                None => is_seen(from).and_then(|()| self.content(to).map(|_| Vec::new())),
            };
            if could.is_ok() {
                dry_run.left.insert(name.clone(), to.clone());
            }
            outcome.push_outcome(&change, could, &net.by_others);
        }
    }

    /// Returns the parts of a record from the last to the first, each reversed.
    fn backwards(&self, record: u64) -> Result<Vec<RecordPart>> {
        let path = format::path_of(&self.turns(), record);
        let lines = lines(&path)
            .map_err(|cause| Error::because(text!("read {path}", path = path.display().to_string()), cause))?;
        let mut parts = parts(&lines);
        self.follow(record, &mut parts);
        let turned = |part| match part {
            RecordPart::Names(Net { changes, by_others }) => {
                let changes = changes.into_iter().map(|(name, (before, after))| (name, (after, before))).collect();
                RecordPart::Names(Net { changes, by_others })
            }
            RecordPart::Exchange(stash, is_forward) => RecordPart::Exchange(stash, !is_forward),
        };
        Ok(parts.into_iter().rev().map(turned).collect())
    }

    /// Applies the changes that later undos and redos of a turn made to its names. An undo that was cut short may have
    /// removed an entry without creating the entry of another kind that replaces it.
    fn follow(&self, turn: u64, of_turn: &mut [RecordPart]) {
        let mut undos = BTreeSet::new();
        for head in format::heads(&self.turns()) {
            let is_undo = match head.begin.kind {
                Kind::Undo(undone) if undone == turn => undos.insert(head.number),
                Kind::Redo(undo) if undos.contains(&undo) => false,
                _ => continue,
            };
            let Ok(lines) = lines(&head.path) else { continue };
            let last = of_turn.len() - 1;
            // An undo has the parts of the turn in the opposite order. If it was cut short, its last parts are missing.
            for (at, part) in parts(&lines).into_iter().enumerate().take(of_turn.len()) {
                let at = if is_undo { last - at } else { at };
                let (RecordPart::Names(net), RecordPart::Names(of_turn)) = (part, &mut of_turn[at]) else { continue };
                for (name, (before, after)) in net.changes {
                    if let Some((_, left)) = of_turn.changes.get_mut(&name)
                        && left.equals(&before)
                    {
                        *left = after;
                    }
                }
            }
        }
        // A name that has its first state again needs no change.
        for part in of_turn {
            if let RecordPart::Names(net) = part {
                net.changes.retain(|_, (before, left)| !before.equals(left));
            }
        }
    }

    fn apply(&self, root: &Root, kind: Kind, turn: ListedTurn, parts: Vec<RecordPart>) -> Result<Outcome> {
        if root.is_gone() {
            let gone = text!("the project {path} is gone", path = root.path().display().to_string());
            return Err(Error::with_kind(ErrorKind::NotFound, gone));
        }
        if self.inner().open.is_some() {
            return Err(Error::with_kind(
                ErrorKind::Busy,
                text!("a turn is under way; wait for its end, then undo it"),
            ));
        }
        // Without a record, this undo or redo could not be reverted.
        self.begin_at_once(kind, &turn.title)?;
        let record = format::path_of(&self.turns(), turn.number);
        let mut outcome = Outcome::new(turn);
        let mut failed = BTreeSet::new();
        for part in parts {
            match part {
                RecordPart::Names(net) => self.put_back(root, &net, &mut failed, &mut outcome),
                RecordPart::Exchange(stash, is_forward) => match Stash::open_recorded(&stash, &record) {
                    Ok(stash) => self.swap(root, stash, is_forward, &mut failed, &mut outcome),
                    Err(error) => outcome.push_lost(&stash, &error),
                },
            }
        }
        self.end_applied(outcome.refused.is_empty());
        outcome.done.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(outcome)
    }

    /// Restores names one by one. `failed` collects the names that could not be restored.
    fn put_back(&self, root: &Root, net: &Net, failed: &mut BTreeSet<PathBuf>, outcome: &mut Outcome) {
        for step in &plan::steps(&net.changes) {
            let (from, to) = &net.changes[&step.name];
            let name = step.name.as_path();
            // An undo that was cut short may have restored the name already.
            if failed.contains(name) || has_state(root, name, to) {
                continue;
            }
            // The system would not remove such a folder either, but `restore` would first remove the entries in it
            // whose paths are too long for the kernel.
            let is_kept = step.after == State::Nothing
                && failed.range(name.to_owned()..).next().is_some_and(|left| left.starts_with(name));
            let done = match is_kept {
                true => Err(Unrestored::NotEmpty),
                false => self.content(&step.after).and_then(|content| restore::restore(root, step, &content, self)),
            };
            let whole = Change::new(step.name.clone(), from.clone(), to.clone());
            if done.is_err() {
                failed.insert(step.name.clone());
                // An earlier step of the same name may have succeeded.
                outcome.done.retain(|done| done.name != names::display(&step.name));
            } else if step.after != *to {
                continue; // a later step completes the change of the name
            }
            outcome.push_outcome(&whole, done, &net.by_others);
        }
    }

    /// Swaps the entries of a stash with those of the project.
    fn swap(
        &self,
        root: &Root,
        mut stash: Stash,
        is_forward: bool,
        failed: &mut BTreeSet<PathBuf>,
        outcome: &mut Outcome,
    ) {
        let judge = |path: &Path| match path {
            // An earlier part could not restore the path, so the project does not have the entry that this swap
            // expects.
            path if failed.contains(path) => Err(Unrestored::Changed),
            path if restore::is_protected(root, path) => Err(Unrestored::Protected),
            _ => Ok(Trust::Compare),
        };
        let (chosen, mut skipped) = stash.choose(root, is_forward, &judge);
        // The exchange is recorded even if nothing can be swapped, so that the record has the same parts as the turn.
        let is_recorded = self.write_exchange(stash.path(), chosen.len() as u64, 0, is_forward).is_some();
        let all_refused = |why: &Unrestored| chosen.iter().map(|number| (*number, why.clone())).collect();
        skipped.extend(match is_recorded {
            false => all_refused(&Unrestored::Unrecorded),
            true => match stash.swap_chosen(root, chosen.clone(), is_forward) {
                Ok(skipped) => skipped,
                Err(error) => all_refused(&Unrestored::System(error.to_string())),
            },
        });
        failed.extend(outcome.push_swaps(&stash, &chosen, skipped, is_forward));
    }

    fn content(&self, state: &State) -> std::result::Result<Vec<u8>, Unrestored> {
        match state.content() {
            Some((_, bytes)) if bytes > MOST => Err(Unrestored::NotKept),
            Some((content, bytes)) => self.objects.get(content, bytes).ok_or(Unrestored::Lost),
            None => Ok(Vec::new()),
        }
    }
}

/// The state that the steps of a dry run would have left.
#[derive(Debug, Default)]
struct DryRun {
    left: BTreeMap<PathBuf, State>,
    /// Paths at which entries would have been swapped.
    swapped: BTreeSet<PathBuf>,
}

impl DryRun {
    /// Returns `true` if a step would have changed something at a path, above or below it.
    fn has_changed(&self, path: &Path) -> bool {
        // Paths are sorted by component, so everything below `path` follows it directly.
        let is_below = |found: Option<&PathBuf>| found.is_some_and(|found| found.starts_with(path));
        path.ancestors().any(|above| self.swapped.contains(above))
            || is_below(self.swapped.range(path.to_owned()..).next())
            || is_below(self.left.range(path.to_owned()..).next().map(|(name, _)| name))
    }
}

fn would_swap(root: &Root, mut stash: Stash, is_forward: bool, dry_run: &mut DryRun, outcome: &mut Outcome) {
    let judge = |path: &Path| match path {
        path if restore::is_protected(root, path) => Err(Unrestored::Protected),
        path if dry_run.has_changed(path) => Ok(Trust::Assume),
        _ => Ok(Trust::Compare),
    };
    let (chosen, skipped) = stash.choose(root, is_forward, &judge);
    dry_run.swapped.extend(chosen.iter().map(|number| stash.effect(*number, is_forward).0.to_owned()));
    outcome.push_swaps(&stash, &chosen, skipped, is_forward);
}

/// Returns `true` if a name already has the wanted state.
fn has_state(root: &Root, name: &Path, state: &State) -> bool {
    restore::could_restore(root, &Change::new(name.to_owned(), state.clone(), state.clone())).is_ok()
}

impl Outcome {
    /// Adds the paths of swaps. Returns those that were skipped.
    fn push_swaps(
        &mut self,
        stash: &Stash,
        chosen: &[usize],
        skipped: Vec<(usize, Unrestored)>,
        is_forward: bool,
    ) -> Vec<PathBuf> {
        let done = chosen.iter().filter(|number| skipped.iter().all(|(skipped, _)| skipped != *number));
        for number in done {
            let (path, effect) = stash.effect(*number, is_forward);
            let what = match effect {
                SwapEffect::Removed => text!("removed"),
                SwapEffect::Restored => text!("restored"),
                SwapEffect::Replaced => text!("changed back"),
                SwapEffect::Mode(mode) => text!("mode {mode}", mode = format!("{mode:o}")),
            };
            self.push_done(Restored { name: names::display(path), what, by_others: false });
        }
        let skipped = skipped.into_iter().map(|(number, why)| {
            let path = stash.effect(number, is_forward).0.to_owned();
            self.push_refused(&path, why);
            path
        });
        skipped.collect()
    }

    /// Adds an exchange whose stash cannot be opened.
    fn push_lost(&mut self, stash: &Path, error: &std::io::Error) {
        let why = match error.kind() {
            std::io::ErrorKind::NotFound => Unrestored::Lost,
            _ => Unrestored::System(error.to_string()),
        };
        self.push_refused(stash, why);
    }

    /// Adds a name that was restored. Replaces the outcome of an earlier step for the same name.
    fn push_done(&mut self, done: Restored) {
        self.done.retain(|earlier| earlier.name != done.name);
        self.done.push(done);
    }

    fn push_refused(&mut self, name: &Path, why: Unrestored) {
        let name = names::display(name);
        if self.refused.iter().all(|refused| refused.name != name) {
            self.refused.push(Refused { name, why });
        }
    }

    fn push_outcome(
        &mut self,
        change: &Change,
        done: std::result::Result<Vec<Text>, Unrestored>,
        by_others: &BTreeSet<PathBuf>,
    ) {
        match done {
            Ok(lost) => {
                let name = names::display(&change.name);
                let mut what = effect_of(&change.before, &change.after);
                if !lost.is_empty() {
                    what = text!(
                        "{what}, but the system refused its {attributes}",
                        what,
                        attributes = Text::join(lost, ", ")
                    );
                }
                self.push_done(Restored { name, what, by_others: by_others.contains(&change.name) });
            }
            Err(why) => self.push_refused(&change.name, why),
        }
    }
}

fn effect_of(from: &State, to: &State) -> Text {
    match (from, to) {
        (_, State::Nothing) => text!("removed"),
        (State::Nothing, _) => text!("restored"),
        (State::File { content: old, mode: was, .. }, State::File { content: new, mode, .. }) if old == new => {
            mode_effect(*was, *mode)
        }
        (State::Folder { mode: was, .. }, State::Folder { mode, .. }) => mode_effect(*was, *mode),
        _ => text!("changed back"),
    }
}

fn mode_effect(was: u32, mode: u32) -> Text {
    if was == mode { text!("attributes changed back") } else { text!("mode {mode}", mode = format!("{mode:o}")) }
}
