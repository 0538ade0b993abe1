//! What is kept between turns, and for how long.

use crate::digest::Digest;
use crate::fault;
use crate::undo::History;
use crate::undo::format::{self, Kind, Line, VERSION, heads, lines, numbered};
use crate::undo::snapshot::{self, Snapshot};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use toolfence_project::random_name;

/// Bytes of an index that are read.
const MOST_BYTES: u64 = 256 << 20;

/// A look at the project, as it is kept for the next start.
#[derive(Debug, Default)]
pub(crate) struct Index {
    pub(crate) snapshot: Snapshot,
    /// By which a record says that this is the one it means; empty where it is not what is kept.
    pub(crate) id: String,
}

/// The first line of an index.
#[derive(Serialize, Deserialize)]
struct IndexHead {
    id: String,
    /// The version of the form of the lines; 0 is before there was one.
    #[serde(default)]
    v: u32,
    /// The lines behind it: what is cut off at the end of one must not be taken for what was not there.
    lines: usize,
}

impl Index {
    /// A later look, which may have seen the same.
    pub(crate) fn followed_by(&self, snapshot: Snapshot) -> Index {
        let id = if snapshot.is_same(&self.snapshot) { self.id.clone() } else { String::new() };
        Index { snapshot, id }
    }

    /// Keeps it, unless that is what is kept.
    pub(crate) fn keep(&mut self, path: &Path) -> io::Result<()> {
        if !self.id.is_empty() && path.exists() {
            return Ok(());
        }
        let unfinished = path.with_extension("unfinished");
        let id = random_name()?;
        let written = self.write(&unfinished, &id).and_then(|()| fs::rename(&unfinished, path));
        if written.is_err() {
            let _ = fs::remove_file(&unfinished);
        }
        self.id = written.as_ref().map_or_else(|_| String::new(), |()| id);
        written
    }

    fn write(&self, unfinished: &Path, id: &str) -> io::Result<()> {
        fault::point();
        let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(unfinished)?;
        let mut out = BufWriter::new(file);
        serde_json::to_writer(
            &mut out,
            &IndexHead { id: id.to_owned(), v: VERSION, lines: self.snapshot.lines().count() },
        )?;
        for line in self.snapshot.lines() {
            out.write_all(b"\n")?;
            serde_json::to_writer(&mut out, &line)?;
        }
        out.flush()?;
        fault::point();
        Ok(())
    }
}

/// The last look at the project; `None` where there is none that can be read.
pub(crate) fn read_index(path: &Path) -> Option<Index> {
    let mut lines = BufReader::new(File::open(path).ok()?.take(MOST_BYTES)).split(b'\n');
    let head: IndexHead = serde_json::from_slice(&lines.next()?.ok()?).ok()?;
    let lines: Option<Vec<snapshot::SnapshotLine>> =
        lines.map(|line| serde_json::from_slice(&line.ok()?).ok()).collect();
    let mut lines = lines.filter(|lines| lines.len() == head.lines)?;
    if head.v < VERSION {
        lines.iter_mut().for_each(snapshot::SnapshotLine::forget_attributes);
    }
    Some(Index { snapshot: Snapshot::of_lines(lines.into_iter()), id: head.id })
}

/// Drops the oldest turns where there are too many, or their contents take too much room. `stored` bytes came with the last;
/// `None` where that is not known.
pub(crate) fn retain(history: &History, stored: Option<u64>) {
    drop_older(history);
    let heads = heads(&history.turns());
    let size = history.folder.join("size");
    let known = fs::read_to_string(&size).ok().and_then(|text| text.trim().parse::<u64>().ok());
    let total = known.zip(stored).map_or(u64::MAX, |(known, stored)| known.saturating_add(stored));
    let total = if total > history.limits.bytes { sweep(history, &heads) } else { total };
    // Without it all is counted the next time.
    let _ = fs::write(size, total.to_string());
}

/// Drops what is older than the oldest turn that is kept. Undos and redos count only where there are very many.
fn drop_older(history: &History) {
    const UNDOS_A_TURN: usize = 4;
    let all = numbered(&history.turns());
    let most = history.limits.turns.max(1);
    if all.len() <= most {
        return;
    }
    let heads = heads(&history.turns());
    // Turns of which nothing can be undone take no place of one that has something.
    let is_bare = |head: &format::Head| head.end.as_ref().is_some_and(format::End::is_bare);
    let mut turns = heads.iter().rev().filter(|head| head.begin.kind == Kind::Turn && !is_bare(head));
    let oldest_turn = turns.nth(most - 1).map_or(0, |head| head.number);
    let newest = all.iter().rev().nth(most.saturating_mul(UNDOS_A_TURN)).map_or(0, |(number, _)| *number);
    for (_, path) in all.iter().take_while(|(number, _)| *number < oldest_turn.max(newest)) {
        drop_turn(path);
    }
}

/// Removes the contents that nobody needs, and the oldest turns until the rest fits. Gives the bytes that are left.
fn sweep(history: &History, heads: &[format::Head]) -> u64 {
    let sizes = history.objects.all();
    let size = |digests: &HashSet<Digest>| digests.iter().filter_map(|digest| sizes.get(digest)).sum::<u64>();
    let index = read_index(&history.folder.join("index"));
    let mut used: HashSet<Digest> = index.iter().flat_map(|index| index.snapshot.contents()).collect();
    let mut fits = true;
    for (at, head) in heads.iter().rev().enumerate() {
        if fits {
            let more: HashSet<Digest> = used.iter().copied().chain(contents(head)).collect();
            fits = at == 0 || size(&more) <= history.limits.bytes;
            used = if fits { more } else { used };
        }
        if !fits {
            drop_turn(&head.path);
        }
    }
    history.objects.keep_only(&used);
    size(&used)
}

fn contents(head: &format::Head) -> Vec<Digest> {
    let lines = lines(&head.path).unwrap_or_default();
    let changes = lines.iter().flat_map(|line| match line {
        Line::Change { changes, .. } => [changes.as_slice(), &[]],
        Line::Commands { changes, later, .. } => [changes.as_slice(), later.as_slice()],
        _ => [&[][..], &[]],
    });
    let changes = changes.flatten();
    changes.flat_map(|change| [&change.before, &change.after]).filter_map(|state| Some(state.content()?.0)).collect()
}

fn drop_turn(path: &Path) {
    fault::point();
    // One that cannot be removed is tried again the next time.
    let _ = fs::remove_file(path);
}
