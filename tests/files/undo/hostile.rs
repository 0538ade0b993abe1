//! Histories that somebody wrote or damaged, projects that change under an undo, and what must never be copied.

use super::{Place, run};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use toolfence::program::undo::Unrestored;
use toolfence::undo::{Limits, Outcome};

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
fn names_in_a_history_lead_nowhere_else() {
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
            // Where a link is on the way there is nothing that could be removed.
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

/// A record with what was there before and after in each other's place.
fn swapped(text: &str) -> String {
    text.replace("\"before\":", "\"then\":").replace("\"after\":", "\"before\":").replace("\"then\":", "\"after\":")
}

#[test]
fn what_is_damaged_is_not_used() {
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
    // In the middle of the end, and of the line about b.
    for (at, kept, undone) in [(ends[2] + 9, 2, 2), (ends[1] + 9, 1, 1)] {
        fs::write(&record, &text[..at]).unwrap();
        place.again();
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
fn what_is_blocked_is_never_copied_and_what_is_ignored_is_not_covered() {
    let place = Place::new();
    fs::write(place.root().join(".gitignore"), "out/\n").unwrap();
    fs::create_dir(place.root().join("out")).unwrap();
    fs::write(place.root().join("out/big"), "ignored before").unwrap();
    fs::write(place.root().join(".env"), "KEY=SECRETVALUE\n").unwrap();
    fs::hard_link(place.root().join(".env"), place.root().join("twin")).unwrap();
    place.turn(|| {
        place.bash("echo KEY=SECRETVALUE2 >> .env; ln -f .env other; rm .gitignore; echo x > new; echo y > out/made");
    });
    let turn = &place.history.list(&place.workspace).unwrap()[0];
    assert!(turn.notes.iter().any(|note| note.to_string().contains("blocked")), "{turn:?}");
    let outcome = place.undo();
    assert_eq!(outcome.refused, []);
    let mut done: Vec<&str> = outcome.done.iter().map(|done| done.name.as_str()).collect();
    done.sort_unstable();
    assert_eq!(done, [".gitignore", "new"], "what was ignored before is not taken for new");
    assert_eq!(fs::read_to_string(place.root().join("out/big")).unwrap(), "ignored before");
    let kept = below(&place.home.path().join("state"));
    assert!(kept.len() > 3);
    for path in kept {
        let text = fs::read(&path).unwrap();
        assert!(!String::from_utf8_lossy(&text).contains("SECRETVALUE"), "{}", path.display());
    }
}

#[test]
fn a_project_over_the_limits_is_covered_in_part_and_nothing_old_is_taken_for_new() {
    let mut limits = Limits::default();
    (limits.snapshot_entries, limits.snapshot_bytes, limits.snapshot_file_bytes) = (6, 100, 50);
    let place = Place::with(limits);
    for name in 0..20 {
        fs::create_dir_all(place.root().join("deep")).unwrap();
        fs::write(place.root().join(format!("deep/{name:02}")), "old\n").unwrap();
    }
    fs::write(place.root().join("large"), "x".repeat(60)).unwrap();
    fs::write(place.root().join("small"), "small\n").unwrap();
    let before = place.picture();
    place.turn(|| place.bash("for f in deep/* large small; do echo more >> $f; done; echo new > fresh"));
    let after = place.picture();
    let turn = &place.history.list(&place.workspace).unwrap()[0];
    assert!(
        turn.notes
            .iter()
            .any(|note| note.to_string().contains("beyond the limits") && note.to_string().contains("too large")),
        "{turn:?}"
    );
    let outcome = place.undo();
    assert_eq!(refusals(&outcome), [("large", Unrestored::NotKept)]);
    let now = place.picture();
    assert_eq!((now.get(Path::new("small")), now.get(Path::new("fresh"))), (before.get(Path::new("small")), None));
    for (name, state) in &now {
        assert!(before.get(name) == Some(state) || after.get(name) == Some(state), "{name:?}");
    }
    assert_eq!(now.len(), before.len());
}

#[test]
fn a_link_in_the_place_of_a_folder_leads_nowhere() {
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
fn a_root_that_is_gone_is_no_panic() {
    let place = Place::new();
    place.turn(|| place.write("a", "one"));
    fs::remove_dir_all(place.root()).unwrap();
    assert!(place.history.undo(&place.workspace).is_err_and(|error| error.to_string().ends_with("is gone")));
    assert!(!place.root().exists());
}

/// A crash while a command runs leaves it to the index to say what was there before: only one that is of that command, and
/// whole.
#[test]
fn only_the_look_before_a_command_tells_what_it_changed() {
    for case in ["its own", "an older one", "cut short", "none"] {
        let mut place = Place::new();
        ["a", "b"].iter().for_each(|name| fs::write(place.root().join(name), "one\n").unwrap());
        let index = || below(&place.home.path().join("state")).into_iter().find(|path| path.ends_with("index"));
        place.turn(|| place.bash("true"));
        let old = fs::read(index().unwrap()).unwrap();
        fs::write(place.root().join("a"), "of a person\n").unwrap();
        // What is as old as the last sign of life could be somebody else's.
        place.turn(|| place.bash("echo of the command > b; sleep 0.5"));
        let (index, record) = (index().unwrap(), records(&place).remove(0));
        let (own, lines) = (fs::read(&index).unwrap(), fs::read_to_string(&record).unwrap());
        let running = lines.find("\"event\":\"commands\"").and_then(|at| lines[..at].rfind('\n')).unwrap();
        fs::write(&record, &lines[..=running]).unwrap();
        match case {
            "its own" => {}
            "an older one" => fs::write(&index, old).unwrap(),
            "cut short" => {
                let end = own.iter().rposition(|byte| *byte == b'\n').unwrap();
                fs::write(&index, &own[..end]).unwrap();
            }
            _ => fs::remove_file(&index).unwrap(),
        }
        place.again();
        let undone = place.history.undo(&place.workspace).unwrap();
        let done = undone.map_or(0, |outcome| outcome.done.len());
        let now = |name: &str| fs::read_to_string(place.root().join(name)).unwrap();
        let b = if case == "its own" { "one\n" } else { "of the command\n" };
        let wanted = (usize::from(case == "its own"), "of a person\n".to_owned(), b.to_owned());
        assert_eq!((done, now("a"), now("b")), wanted, "{case}");
    }
}
