//! Tests forged and damaged histories, projects that change during an undo, and files that must never be copied.

use super::{Place, run};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use toolfence_workspace::undo::Unrestored;
use toolfence_workspace::undo::{Limits, Outcome};

fn below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut pending = vec![folder.to_owned()];
    while let Some(folder) = pending.pop() {
        for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
            if path.is_dir() { pending.push(path) } else { files.push(path) }
        }
    }
    files
}

fn records(place: &Place) -> Vec<PathBuf> {
    let mut records = below(&place.home.path().join("state"));
    records.retain(|path| path.extension().is_some_and(|ending| ending == "jsonl"));
    records.sort();
    records
}

fn refusals(outcome: &Outcome) -> Vec<(&str, Unrestored)> {
    outcome.refused.iter().map(|refused| (refused.name.as_str(), refused.why.clone())).collect()
}

#[test]
fn forged_names_in_a_history_do_not_lead_out() {
    let place = Place::new();
    fs::create_dir_all(place.root().join(".git/hooks")).unwrap();
    fs::create_dir(place.home.path().join("beside")).unwrap();
    fs::write(place.home.path().join("beside/x"), "theirs").unwrap();
    symlink("../beside", place.root().join("link")).unwrap();
    place.turn(|| place.write("made", "theirs"));
    let record = records(&place).remove(0);
    let text = fs::read_to_string(&record).unwrap();
    let outside = format!("{}/beside/x", place.home.path().display());
    for name in
        ["../beside/x", "link/x", &outside, ".env", ".git/hooks/pre-commit", "a/../../beside/x", ".toolfence.toml", ""]
    {
        let named = text.replace("\"name\":\"made\"", &format!("\"name\":{}", serde_json::json!(name)));
        for text in [named.clone(), swapped(&named)] {
            fs::write(&record, &text).unwrap();
            let outcome = place.undo();
            // `link/x` is not below the root, so for the undo it is already missing and is not refused.
            let so_already = name == "link/x" && text == named;
            assert_eq!((outcome.done.len(), outcome.refused.is_empty()), (0, so_already), "{name}: {outcome:?}");
            records(&place)[1..].iter().for_each(|undo| fs::remove_file(undo).unwrap());
            assert_eq!(fs::read_to_string(place.home.path().join("beside/x")).unwrap(), "theirs");
            assert_eq!(below(&place.root().join(".git")).len() + usize::from(place.root().join(".env").exists()), 0);
        }
    }
    for junk in ["", "x", "{}\n", "[1]\n{\"event\":\"begin\"}\n", "{\"event\":\"end\"}\n", "\0\0\n\n\n"] {
        fs::write(&record, junk).unwrap();
        assert!(place.history.undo(&place.workspace).is_ok_and(|outcome| outcome.is_none()), "{junk:?}");
    }
}

/// Swaps the states before and after in a record.
fn swapped(text: &str) -> String {
    text.replace("\"before\":", "\"then\":").replace("\"after\":", "\"before\":").replace("\"then\":", "\"after\":")
}

#[test]
fn damaged_records_are_not_used() {
    let place = Place::new();
    fs::write(place.root().join("a"), "one").unwrap();
    fs::write(place.root().join("b"), "two").unwrap();
    place.turn(|| ["a", "b"].iter().for_each(|name| place.write(name, "new")));
    let content = below(&place.home.path().join("state"))
        .into_iter()
        .find(|path| fs::read(path).is_ok_and(|text| text == b"one"));
    fs::write(content.expect("it is kept"), "eno").unwrap();
    let outcome = place.undo();
    assert_eq!(refusals(&outcome), [("a", Unrestored::Lost)]);
    assert_eq!(fs::read_to_string(place.root().join("a")).unwrap(), "new");
    assert_eq!(fs::read_to_string(place.root().join("b")).unwrap(), "two");
}

#[test]
fn a_torn_last_line_is_dropped_and_nothing_else() {
    let mut place = Place::new();
    place.turn(|| {
        place.write("a", "one");
        place.write("b", "two");
    });
    let record = records(&place).remove(0);
    let text = fs::read(&record).unwrap();
    let ends: Vec<usize> = (0..text.len()).filter(|at| text[*at] == b'\n').collect();
    // The record is cut within its last line, and within the line of `b`.
    for (at, kept, undone) in [(ends[2] + 9, 2, 2), (ends[1] + 9, 1, 1)] {
        fs::write(&record, &text[..at]).unwrap();
        place.reopen();
        let listed = place.history.list(&place.workspace).unwrap();
        assert_eq!((listed[0].names, listed[0].notes.len()), (kept, 1), "{listed:?}");
        assert!(listed[0].notes[0].to_string().contains("cut short"));
        assert_eq!(place.undo().done.len(), undone);
        fs::remove_file(&records(&place)[1]).unwrap();
        ["a", "b"]
            .iter()
            .for_each(|name| fs::write(place.root().join(name), if *name == "a" { "one" } else { "two" }).unwrap());
    }
}

#[test]
fn a_link_in_place_of_a_folder_is_not_followed() {
    let place = Place::new();
    fs::create_dir(place.home.path().join("beside")).unwrap();
    fs::write(place.home.path().join("beside/a"), "new").unwrap();
    place.turn(|| {
        place.write("d/a", "new");
        place.write("d/b", "new");
    });
    run(&place.root(), "rm -r d; ln -s ../beside d");
    let outcome = place.undo();
    assert_eq!(outcome.done, []);
    assert!(outcome.refused.len() == 1 && outcome.refused[0].why == Unrestored::Changed, "{outcome:?}");
    assert_eq!(below(&place.home.path().join("beside")).len(), 1);
}

#[test]
fn a_missing_root_does_not_panic() {
    let place = Place::new();
    place.turn(|| place.write("a", "one"));
    fs::remove_dir_all(place.root()).unwrap();
    assert!(place.history.undo(&place.workspace).is_err_and(|error| error.to_string().ends_with("is gone")));
    assert!(!place.root().exists());
}

/// A forged record can name any folder as its stash, and a folder of the user can look like a stash. Only a folder that
/// names the record in turn is its stash.
#[test]
fn a_folder_that_does_not_name_its_record_is_no_stash() {
    let place = Place::new();
    fs::write(place.root().join("a"), "old").unwrap();
    place.turn(|| place.bash("echo new > a"));
    let stash = fs::read_dir(place.home.path().join("stashes")).unwrap().next().unwrap().unwrap().path();
    let (record, theirs) = (records(&place).remove(0), place.home.path().join("theirs"));
    assert!(std::process::Command::new("cp").arg("-a").arg(&stash).arg(&theirs).status().unwrap().success());
    fs::write(theirs.join("record"), "/another/record").unwrap();
    let text = fs::read_to_string(&record).unwrap();
    fs::write(&record, text.replace(stash.to_str().unwrap(), theirs.to_str().unwrap())).unwrap();
    let outcome = place.undo();
    assert_eq!(refusals(&outcome), [(theirs.to_str().unwrap(), Unrestored::Lost)]);
    assert_eq!(fs::read_to_string(place.root().join("a")).unwrap(), "new\n");
    // When the turn is dropped, the folder is not deleted either.
    let mut limits = Limits::default();
    limits.turns = 1;
    let (history, workspace) = super::opened(place.home.path(), limits);
    for name in ["b", "c"] {
        let turn = history.begin(&workspace, "a turn");
        workspace.changes().write(name, "x").unwrap();
        turn.end();
    }
    assert!(!record.exists() && theirs.join("entries").exists());
}
