//! Tests generated turns: an undo restores every byte, mode and name, a redo reverts the undo, and changes that another
//! process made in between are kept.

use super::{Picture, Place, run};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use toolfence_kit::Random;
use toolfence_workspace::{EditFile, EditLines, ReplaceText};

/// The names in a generated project. Some are folders in one turn and files in another.
const NAMES: [&str; 12] =
    ["a", "b.txt", "d", "d/x", "d/y", "d/e", "d/e/z", "größe", "with blank", "new\\nline", "l", "k/m/n"];

/// Scripts that change one or two names.
const SCRIPTS: [&str; 16] = [
    "echo more >> \"$1\"",
    "printf new > \"$1\"",
    "rm -rf \"$1\"",
    "mv \"$1\" \"$2\"",
    "mkdir -p \"$1\"",
    "ln -sfn \"$2\" \"$1\"",
    "chmod 755 \"$1\"",
    "chmod 640 \"$1\"",
    "chmod 700 \"$1\"",
    "rm -rf \"$1\"; mkdir \"$1\"; echo x > \"$1/x\"",
    "rm -rf \"$1\"; echo file > \"$1\"",
    "cp -r \"$1\" \"$2\"",
    "ln \"$1\" \"$2\"",
    "rm -rf \"$1\" \"$2\"",
    "touch \"$1\"; truncate -s 100000 \"$1\"",
    "mv \"$1\" t; mv \"$2\" \"$1\"; mv t \"$2\"",
];

fn name(random: &mut Random) -> String {
    (*random.pick(&NAMES)).replace("\\n", "\n")
}

fn planted(random: &mut Random, root: &Path) {
    for _ in 0..8 {
        let path = root.join(name(random));
        // This fails if a parent of the path is a file.
        if path.parent().is_some_and(|above| fs::create_dir_all(above).is_ok()) {
            let _ = fs::write(path, text(random));
        }
    }
}

fn text(random: &mut Random) -> String {
    (0..random.below(6)).map(|_| format!("line {}\n", random.below(4))).collect()
}

fn script(random: &mut Random) -> String {
    let (one, two) = (name(random), name(random));
    format!("set -- '{one}' '{two}'; {}", random.pick(&SCRIPTS))
}

/// Runs a random action of a tool or a command. If it fails it must not change anything.
fn act(random: &mut Random, place: &Place) {
    let path = name(random);
    match random.below(8) {
        0 | 1 => drop(place.workspace.changes().write(&path, &text(random))),
        2 => {
            let edit = EditLines { start_line: 1, end_line: 1, replacement: text(random) };
            let _ = place.workspace.changes().edit(&EditFile::new(path, vec![edit]));
        }
        3 => drop(place.workspace.changes().replace_text(&ReplaceText::new(path, "line 1\n", "line one\n"))),
        4 => {
            let (from, to) = (name(random), name(random));
            let patch = format!("*** Begin Patch\n*** Update File: {from}\n*** Move to: {to}\n*** End Patch\n");
            let _ = place.workspace.changes().apply_patch(&patch, false);
        }
        5 => {
            let patch =
                format!("*** Begin Patch\n*** Delete File: {path}\n*** Add File: made/{path}\n+x\n*** End Patch\n");
            let _ = place.workspace.changes().apply_patch(&patch, false);
        }
        6 => place.bash(&script(random)),
        _ => {
            let scripts: Vec<String> = (0..3).map(|_| script(random)).collect();
            place.bash(&scripts.join("\n"));
        }
    }
}

fn assert_same(now: &Picture, wanted: &Picture, when: &str) {
    let differs = now.iter().filter(|(name, state)| wanted.get(*name) != Some(state));
    let missing = wanted.iter().filter(|(name, _)| !now.contains_key(*name));
    let differs: Vec<_> = differs.chain(missing).collect();
    assert!(differs.is_empty(), "{when}: {differs:?}");
}

/// Compares random turns, undos and redos with a model that keeps whole snapshots.
#[test]
fn undo_and_redo_restore_every_byte_mode_and_name() {
    let (mut turns, mut undos, mut redos) = (0, 0, 0);
    for seed in 0..30 {
        let random = &mut Random::new(seed);
        let mut place = Place::new();
        planted(random, &place.root());
        let (mut before, mut after) = (vec![place.picture()], Vec::new());
        for step in 0..12 {
            let when = format!("seed {seed}, step {step}");
            match random.below(5) {
                0 if before.len() > 1 => {
                    let undone = place.undo();
                    assert_eq!(undone.refused, [], "{when}");
                    after.push(before.pop().expect("there is one"));
                    undos += 1;
                }
                1 if !after.is_empty() => {
                    assert_eq!(place.redo().refused, [], "{when}");
                    before.push(after.pop().expect("there is one"));
                    redos += 1;
                }
                2 => place.reopen(),
                _ => {
                    place.turn(|| (0..=random.below(4)).for_each(|_| act(random, &place)));
                    let now = place.picture();
                    if before.last() != Some(&now) {
                        before.push(now);
                        after.clear();
                        turns += 1;
                    }
                }
            }
            assert_same(&place.picture(), before.last().expect("there is one"), &when);
        }
        while before.len() > 1 {
            assert_eq!(place.undo().refused, [], "seed {seed}, at the end");
            before.pop();
            assert_same(&place.picture(), before.last().expect("there is one"), &format!("seed {seed}, at the end"));
            undos += 1;
        }
        assert!(place.history.undo(&place.workspace).is_ok_and(|outcome| outcome.is_none()), "seed {seed}");
    }
    println!("{turns} turns, {undos} undos, {redos} redos");
    assert!(turns > 100 && undos > turns && redos > 10);
}

/// Changes that another process made between a turn and its undo are kept, and the rest of the turn is undone.
#[test]
fn changes_of_other_processes_stay() {
    let (mut kept, mut undone) = (0, 0);
    for seed in 0..40 {
        let random = &mut Random::new(1000 + seed);
        let place = Place::new();
        planted(random, &place.root());
        let before = place.picture();
        place.turn(|| (0..3).for_each(|_| act(random, &place)));
        let after = place.picture();
        (0..2).for_each(|_| run(&place.root(), &script(random)));
        let changed = place.picture();
        let Ok(Some(outcome)) = place.history.undo(&place.workspace) else { continue };
        let now = place.picture();
        let refused =
            |name: &Path| outcome.refused.iter().any(|refused| refused.name.contains(&*name.to_string_lossy()));
        let names: BTreeSet<&PathBuf> = before.keys().chain(after.keys()).chain(changed.keys()).collect();
        for name in names {
            let theirs = after.get(name) != changed.get(name);
            let stayed = now.get(name) == changed.get(name);
            assert!(stayed || !theirs, "seed {seed}: {name:?} of another process: {outcome:?}");
            let back = now.get(name) == before.get(name);
            assert!(
                back || theirs || refused(name) || stayed && !outcome.refused.is_empty(),
                "seed {seed}: {name:?}: {outcome:?}"
            );
            kept += usize::from(theirs);
        }
        undone += outcome.done.len();
    }
    println!("{kept} names of others, {undone} undone");
    assert!(kept > 20 && undone > 20, "{kept} {undone}");
}
