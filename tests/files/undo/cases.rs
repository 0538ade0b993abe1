//! Tests the undo of single turns, and the limits of the history.

use super::{Place, opened};
use std::fs;
use toolfence_workspace::undo::Limits;

#[test]
fn a_failed_call_is_not_a_change() {
    let place = Place::new();
    place.turn(|| {
        let patch = "*** Begin Patch\n*** Delete File: a\n*** End Patch\n";
        assert!(place.workspace.changes().apply_patch(patch, false).is_err());
        place.bash("true");
    });
    assert!(place.history.undo(&place.workspace).is_ok_and(|outcome| outcome.is_none()));
    assert!(place.history.take_notes().is_empty());
}

#[test]
fn a_new_turn_with_changes_ends_redo() {
    let place = Place::new();
    place.turn(|| place.write("a", "one"));
    place.undo();
    place.turn(|| drop(place.picture()));
    assert_eq!(place.redo().done.len(), 1);
    place.undo();
    place.turn(|| place.write("b", "two"));
    assert!(place.history.redo(&place.workspace).is_ok_and(|outcome| outcome.is_none()));
}

#[test]
fn undo_restores_changes_of_others_from_before_the_first_call() {
    let place = Place::new();
    fs::write(place.root().join("a"), "old\n").unwrap();
    place.turn(|| {
        place.write("a", "first\n");
        fs::write(place.root().join("a"), "theirs\n").unwrap();
        place.write("a", "second\n");
    });
    let outcome = place.undo();
    assert!(outcome.done[0].by_others && outcome.refused.is_empty(), "{outcome:?}");
    assert_eq!(fs::read_to_string(place.root().join("a")).unwrap(), "theirs\n");
}

#[test]
fn a_refused_name_can_be_undone_later_and_the_rest_redone() {
    let place = Place::new();
    place.turn(|| ["a", "b"].iter().for_each(|name| place.write(name, "new\n")));
    fs::write(place.root().join("a"), "theirs\n").unwrap();
    let outcome = place.undo();
    assert_eq!((outcome.done.len(), outcome.refused[0].to_string().as_str()), (1, "a: it was changed since"));
    let outcome = place.redo();
    assert_eq!((outcome.done.len(), outcome.refused.len()), (1, 0));
    fs::write(place.root().join("a"), "new\n").unwrap();
    assert_eq!((place.undo().done.len(), place.picture().len()), (2, 0));
}

#[test]
fn a_preview_matches_the_undo() {
    let place = Place::new();
    fs::write(place.root().join("kept"), "one\n").unwrap();
    place.turn(|| place.bash("mkdir -p d/e; echo x > d/e/f; chmod 755 kept; ln -s kept l"));
    place.turn(|| place.write("d/e/f", "changed\n"));
    fs::write(place.root().join("kept"), "theirs\n").unwrap();
    let before = place.picture();
    let mut would = place.history.would_undo(&place.workspace, 2).unwrap();
    assert_eq!(place.picture(), before);
    for wanted in &mut would {
        let mut done = place.undo();
        let names = |outcome: &mut toolfence_workspace::undo::Outcome| {
            outcome.done.sort_by(|a, b| a.name.cmp(&b.name));
            (std::mem::take(&mut outcome.done), std::mem::take(&mut outcome.refused))
        };
        assert_eq!(names(&mut done), names(wanted));
    }
}

#[test]
fn old_turns_are_dropped_completely() {
    let mut limits = Limits::default();
    limits.turns = 3;
    let place = Place::with(limits);
    (0..5).for_each(|number| place.turn(|| place.write("a", &format!("{number}\n"))));
    assert_eq!(place.history.list(&place.workspace).unwrap().len(), 3);
    assert!(place.history.has_dropped());
    (0..3).for_each(|_| assert_eq!(place.undo().refused, []));
    assert_eq!(fs::read_to_string(place.root().join("a")).unwrap(), "1\n");
}

#[test]
fn contents_stay_within_the_size_limit_of_the_history() {
    let mut limits = Limits::default();
    limits.bytes = 3 << 20;
    let place = Place::with(limits);
    let content = |number: usize| number.to_string().repeat(1 << 20);
    (0..7).for_each(|number| place.turn(|| place.write(&format!("{number}"), &content(number))));
    let objects =
        std::process::Command::new("du").args(["-sk", "--apparent-size"]).arg(place.home.path().join("state")).output();
    let taken: u64 =
        String::from_utf8(objects.unwrap().stdout).unwrap().split_whitespace().next().unwrap().parse().unwrap();
    assert!(taken < 3 * 1024 + 1200, "{taken} KiB");
    let kept = place.history.list(&place.workspace).unwrap().len();
    assert!((2..=3).contains(&kept), "{kept}");
    (0..kept).for_each(|_| assert_eq!(place.undo().refused, []));
    assert_eq!(place.picture().len(), 7 - kept);
}

#[test]
fn an_unwritable_history_is_reported_once_and_stops_no_change() {
    let place = Place::new();
    fs::write(place.home.path().join("state"), "no folder").unwrap();
    place.turn(|| {
        place.write("a", "one");
        place.bash("echo x > b");
        place.write("a", "two");
    });
    assert_eq!(place.picture().len(), 2);
    let notes = place.history.take_notes();
    assert!(notes.len() == 1 && notes[0].to_string().contains("cannot be undone"), "{notes:?}");
    assert!(place.history.undo(&place.workspace).is_ok_and(|outcome| outcome.is_none()));
}

#[test]
fn only_one_program_records_at_a_time() {
    let place = Place::new();
    let (other, theirs) = opened(place.home.path(), Limits::default());
    let turn = place.history.begin(&place.workspace, "first");
    place.write("a", "one");
    let second = other.begin(&theirs, "second");
    theirs.changes().write("b", "two").unwrap();
    second.end();
    let notes = other.take_notes();
    assert!(notes.len() == 1 && notes[0].to_string().contains("Another program"), "{notes:?}");
    assert!(place.history.undo(&place.workspace).is_err_and(|error| error.to_string().contains("under way")));
    turn.end();
    assert_eq!(other.list(&theirs).unwrap().len(), 1);
    assert_eq!(other.undo(&theirs).unwrap().expect("there is a turn").done.len(), 1);
}

#[test]
fn a_diff_describes_each_name() {
    let place = Place::new();
    fs::write(place.root().join("a"), "one\ntwo\n").unwrap();
    place.turn(|| place.write("a", "one\n2\n"));
    place.turn(|| place.bash("chmod 755 a; mkdir d; ln -s a l; printf '\\0' > binary; rm -f none"));
    let diffs = place.history.diff(&place.workspace, 2).unwrap();
    let all: String = diffs.iter().map(|difference| difference.text.to_string()).collect();
    let want = "a: old mode 644, new mode 755\n--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n one\n-two\n+2\nbinary differs, and is no text or too \
                large to compare.\nFolder d was made.\nLink l to a was made.\n";
    assert_eq!(all, want);
    place.undo();
    assert!(place.history.diff(&place.workspace, 2).unwrap()[0].text.to_string().starts_with("--- a/a\n"));
}
