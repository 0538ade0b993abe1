//! Drops old turns.

use crate::digest::Digest;
use crate::fault;
use crate::stash::Stash;
use crate::undo::History;
use crate::undo::format::{self, Kind, Line, heads, lines, numbered};
use std::collections::HashSet;
use std::fs;
use std::path::Path;

/// Drops the oldest turns if there are too many, or if their contents take too much room. `stored` has the bytes of the
/// last turn; `None` if they are unknown.
pub(crate) fn retain(history: &History, stored: Option<u64>) {
    drop_older(history);
    let heads = heads(&history.turns());
    let size = history.folder.join("size");
    let known = fs::read_to_string(&size).ok().and_then(|text| text.trim().parse::<u64>().ok());
    // If one of them is unknown, all contents are counted.
    let total = known.zip(stored).map_or(u64::MAX, |(known, stored)| known.saturating_add(stored));
    let total = if total > history.limits.bytes { sweep(history, &heads) } else { total };
    // If the file cannot be written, the next call counts all contents.
    let _ = fs::write(size, total.to_string());
}

/// Drops records older than the oldest turn that is kept. Undos and redos count only if there are more than four per
/// turn.
fn drop_older(history: &History) {
    const UNDOS_A_TURN: usize = 4;
    let all = numbered(&history.turns());
    let most = history.limits.turns.max(1);
    if all.len() <= most {
        return;
    }
    let heads = heads(&history.turns());
    let mut turns = heads.iter().rev().filter(|head| head.begin.kind == Kind::Turn);
    let oldest_turn = turns.nth(most - 1).map_or(0, |head| head.number);
    let newest = all.iter().rev().nth(most.saturating_mul(UNDOS_A_TURN)).map_or(0, |(number, _)| *number);
    for (_, path) in all.iter().take_while(|(number, _)| *number < oldest_turn.max(newest)) {
        drop_turn(path);
    }
}

/// Removes the contents that no turn needs, and the oldest turns until the rest fits. Returns the remaining bytes.
fn sweep(history: &History, heads: &[format::Head]) -> u64 {
    let sizes = history.objects.all();
    let size = |digests: &HashSet<Digest>| digests.iter().filter_map(|digest| sizes.get(digest)).sum::<u64>();
    let mut used: HashSet<Digest> = HashSet::new();
    let (mut fits, mut stashed) = (true, 0);
    for (at, head) in heads.iter().rev().enumerate() {
        if fits {
            let more: HashSet<Digest> = used.iter().copied().chain(contents(head)).collect();
            let more_stashed = stashed + stashed_bytes(head);
            // The newest turn always stays.
            fits = at == 0 || size(&more) + more_stashed <= history.limits.bytes;
            (used, stashed) = if fits { (more, more_stashed) } else { (used, stashed) };
        }
        if !fits {
            drop_turn(&head.path);
        }
    }
    history.objects.keep_only(&used);
    size(&used) + stashed
}

/// Returns the stashes that belong to the record of a turn. An undo only swaps their entries.
fn stashes(record: &Path) -> Vec<Stash> {
    let lines = lines(record).unwrap_or_default();
    let is_turn = matches!(lines.first(), Some(Line::Begin(begin)) if begin.kind == Kind::Turn);
    let exchanges = format::exchanges(&lines).filter(|_| is_turn);
    exchanges.filter_map(|(stash, _)| Stash::open_recorded(stash, record).ok()).collect()
}

fn stashed_bytes(head: &format::Head) -> u64 {
    stashes(&head.path).iter().map(Stash::bytes).sum()
}

fn contents(head: &format::Head) -> Vec<Digest> {
    let lines = lines(&head.path).unwrap_or_default();
    let changes = lines.iter().flat_map(|line| match line {
        Line::Change { changes, .. } => changes.as_slice(),
        _ => &[],
    });
    changes.flat_map(|change| [&change.before, &change.after]).filter_map(|state| Some(state.content()?.0)).collect()
}

fn drop_turn(path: &Path) {
    // Only the record names its stashes, so they are opened before it is removed.
    let stashes = stashes(path);
    fault::point();
    // The next call retries a record that cannot be removed.
    let _ = fs::remove_file(path);
    for stash in stashes {
        fault::point();
        // Without its record, a stash is deleted at the next start.
        let _ = stash.delete();
    }
}
