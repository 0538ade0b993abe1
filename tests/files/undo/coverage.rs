//! What is looked at around commands does not shrink in a session, whatever rules are written in it; and what is not looked at
//! is told.

use super::{Place, opened, run};
use std::fs;
use std::process::{Command, Stdio};
use toolfence::undo::Limits;

/// `None`, said aloud, where git is not installed.
fn repository() -> Option<Place> {
    let place = Place::new();
    if !git(&place, "", "init -q .") {
        println!("skipped: there is no git");
        return None;
    }
    Some(place)
}

fn git(place: &Place, folder: &str, args: &str) -> bool {
    let mut git = Command::new("git");
    for name in ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"] {
        git.env(name, "x");
    }
    let status = git.args(args.split(' ')).current_dir(place.root().join(folder)).stdin(Stdio::null()).output();
    status.is_ok_and(|output| output.status.success())
}

fn plant(place: &Place, names: &[&str]) {
    for name in names {
        fs::create_dir_all(place.root().join(name).parent().unwrap()).unwrap();
        fs::write(place.root().join(name), "old\n").unwrap();
    }
}

/// Everything that a session could do to have work ignored, by a command or by a tool, in its turn or in the one before, at
/// the first look or later: what was not ignored when it began is undone all the same.
#[test]
fn rules_of_the_session_take_nothing_out_of_sight() {
    type By = fn(&Place);
    let by_command: [(&str, By); 4] = [
        (".gitignore", |place| place.bash("echo '*' > .gitignore")),
        ("exclude", |place| place.bash("mkdir -p .git/info; echo '*' > .git/info/exclude")),
        ("below", |place| place.bash("echo '*' > d/.gitignore; echo '/*' > .gitignore")),
        ("a tool", |place| place.write(".gitignore", "*\n")),
    ];
    for (what, ignore) in by_command {
        for in_one_turn in [false, true] {
            for looked_before in [false, true] {
                let when = format!("{what}, in one turn: {in_one_turn}, looked before: {looked_before}");
                let place = Place::new();
                plant(&place, &["work.md", "d/e/deep", ".git/HEAD"]);
                if looked_before {
                    place.turn(|| place.bash("true"));
                }
                let destroy = || place.bash("echo gone > work.md; rm -r d/e; echo new > made");
                if in_one_turn {
                    place.turn(|| {
                        ignore(&place);
                        destroy();
                    });
                } else {
                    place.turn(|| ignore(&place));
                    place.turn(destroy);
                }
                let outcome = place.undo();
                assert_eq!(outcome.refused, [], "{when}");
                let text = |name: &str| fs::read_to_string(place.root().join(name)).unwrap_or_default();
                assert_eq!((text("work.md"), text("d/e/deep")), ("old\n".into(), "old\n".into()), "{when}");
                assert!(!place.root().join("made").exists(), "{when}: {outcome:?}");
            }
        }
    }
}

/// Rules that are there when a session begins count, and so does what they leave out when they go.
#[test]
fn rules_of_before_hold_and_what_they_left_out_is_not_taken_for_new() {
    let place = Place::new();
    plant(&place, &["out/big", "x.log", "kept"]);
    fs::write(place.root().join(".gitignore"), "out/\n*.log\n").unwrap();
    place.turn(|| place.bash("echo > .gitignore; echo new > kept"));
    place.turn(|| place.bash("echo new > kept2"));
    place.undo();
    place.undo();
    let names = ["out/big", "x.log", "kept"];
    assert!(names.iter().all(|name| fs::read_to_string(place.root().join(name)).unwrap() == "old\n"));
}

/// What git tracks is covered: below an ignored folder, by a wildcard, in a repository of its own wherever that is; and the
/// rest of those folders is not, which is told.
#[test]
fn what_is_in_an_index_is_covered() {
    let Some(place) = repository() else { return };
    plant(
        &place,
        &["build/a/tracked", "build/other", "x.log", "other.log", "own/code", "own/x.log", "build/deep/er/own/code"],
    );
    fs::write(place.root().join(".gitignore"), "build/\n*.log\n/own/\n").unwrap();
    assert!(git(&place, "", "add -f build/a/tracked x.log .gitignore"));
    for own in ["own", "build/deep/er/own"] {
        assert!(git(&place, own, "init -q .") && git(&place, own, "add -f ."));
    }
    let before = place.picture();
    place.turn(|| {
        place.bash(
            "for f in $(find . -path '*/.git' -prune -o -type f -print); do echo gone > $f; done; rm build/a/tracked",
        );
    });
    let listed = &place.history.list(&place.workspace).unwrap()[0];
    assert!(
        listed.notes.iter().any(|note| note.to_string().contains("not covered: build/other, other.log")),
        "{listed:?}"
    );
    assert_eq!(place.undo().refused, []);
    let now = place.picture();
    let differs: Vec<_> = before.keys().filter(|name| now.get(*name) != before.get(*name)).collect();
    assert_eq!(differs, [std::path::Path::new("build/other"), std::path::Path::new("other.log")]);
    for script in ["echo y > build/new", "rm build/new"] {
        place.turn(|| place.bash(script));
        assert!(
            place
                .history
                .list(&place.workspace)
                .unwrap()
                .iter()
                .any(|turn| turn.is_bare() && turn.notes[0].to_string().contains("build/new"))
        );
    }
    // What goes out of the index in the session stays covered.
    place.turn(|| place.bash("git rm -q --cached x.log"));
    place.turn(|| place.bash("echo gone > x.log"));
    assert_eq!(place.undo().done.len(), 1);
    assert_eq!(fs::read_to_string(place.root().join("x.log")).unwrap(), "old\n");
}

/// An index that git cannot read: too much is covered rather than too little.
#[test]
fn without_an_answer_of_git_nothing_counts_as_ignored() {
    let place = Place::new();
    plant(&place, &["build/x", ".git/index", ".git/HEAD"]);
    fs::write(place.root().join(".gitignore"), "build/\n").unwrap();
    place.turn(|| place.bash("echo gone > build/x"));
    assert_eq!(place.undo().done.len(), 1);
}

/// A turn that changed only what is not covered is listed and told. It is no obstacle to an undo of the turn before, nor to a
/// redo, and takes no place of it.
#[test]
fn a_turn_that_changed_only_what_is_not_covered_is_told() {
    let mut limits = Limits::default();
    limits.turns = 2;
    let place = Place::with(limits);
    plant(&place, &["out/deep/x", ".env", ".git/HEAD"]);
    fs::write(place.root().join(".gitignore"), "out/\n").unwrap();
    place.turn(|| place.bash("cat out/deep/x"));
    assert!(place.history.list(&place.workspace).unwrap().is_empty(), "it changed nothing");
    for (script, name) in [
        ("echo y >> out/deep/x", "out"),
        ("echo y > out/deep/y", "out"),
        ("echo y > .env", ".env"),
        ("echo y > .git/HEAD", ".git"),
        ("rm -r out", "out"),
    ] {
        place.turn(|| place.bash(script));
        let listed = &place.history.list(&place.workspace).unwrap()[0];
        assert!(listed.names == 0 && listed.is_bare(), "{script}: {listed:?}");
        assert_eq!(listed.notes[0], format!("Changed while its commands ran, and not covered: {name}."), "{script}");
    }
    let outcome = place.undo();
    assert!(outcome.turn.is_bare() && outcome.done.is_empty() && outcome.refused.is_empty(), "{outcome:?}");
    place.turn(|| place.write("a", "one"));
    place.turn(|| place.bash("echo z > .env"));
    assert_eq!(place.history.would_undo(&place.workspace, 1).unwrap()[0].done.len(), 1);
    let outcome = place.undo();
    assert!(outcome.done.len() == 1 && outcome.turn.notes[0].to_string().contains("not covered: .env"), "{outcome:?}");
    place.turn(|| place.bash("echo w > .env"));
    assert_eq!(place.redo().done.len(), 1);
}

/// Somebody fills the project so that what matters would be over the limits.
#[test]
fn what_was_covered_comes_before_what_fills_the_limits() {
    let mut limits = Limits::default();
    (limits.snapshot_entries, limits.snapshot_bytes) = (40, 10_000);
    for fill in [
        "for i in $(seq 100); do echo > aaa$i; done",
        "mkdir a; for i in $(seq 100); do echo > a/$i; done",
        "for i in 1 2 3; do head -c 9000 /dev/zero > aaa$i; done",
    ] {
        let place = Place::with(limits);
        plant(&place, &["d/e/f/deep", "z/work", "work"]);
        place.turn(|| place.bash("true"));
        place.turn(|| place.bash(fill));
        let notes = place.history.take_notes();
        assert!(notes.len() == 1 && notes[0].to_string().contains("cannot be undone"), "{fill}: {notes:?}");
        place.turn(|| place.bash("echo gone > d/e/f/deep; rm z/work; echo gone > work"));
        let outcome = place.undo();
        assert_eq!(outcome.done.len(), 3, "{fill}: {outcome:?}");
        let old = |name: &str| fs::read_to_string(place.root().join(name)).is_ok_and(|text| text == "old\n");
        assert!(["d/e/f/deep", "z/work", "work"].iter().all(|name| old(name)), "{fill}");
    }
}

/// Where the store was full before the session, what is in the index comes first.
#[test]
fn of_a_project_over_the_limits_the_index_comes_first() {
    let Some(place) = repository() else { return };
    plant(&place, &["d/e/f/deep", "z/work"]);
    assert!(git(&place, "", "add ."));
    run(&place.root(), "for i in $(seq 100); do echo > aaa$i; done");
    let mut limits = Limits::default();
    limits.snapshot_entries = 20;
    let (history, workspace) = opened(place.home.path(), limits);
    let place = Place { history, workspace, ..place };
    place.turn(|| place.bash("echo gone > d/e/f/deep; rm z/work"));
    assert_eq!(place.undo().done.len(), 2);
}
