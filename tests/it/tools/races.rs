//! A link that changes between two looks leads nowhere.

use super::Place;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use toolfence::workspace::{ListFiles, ReadFile, SearchFiles, Stop};

/// Swaps `link` between two targets for as long as `work` goes on, and works again until there was a race: a busy machine
/// may not let the swapper run.
fn while_swapping(link: &Path, targets: [&Path; 2], mut work: impl FnMut()) {
    const ENOUGH: u64 = 100;
    let done = AtomicBool::new(false);
    let swaps = AtomicU64::new(0);
    let beside = link.with_extension("next");
    symlink(targets[0], link).expect("a link can be made");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for target in targets.iter().cycle() {
                if done.load(Ordering::Relaxed) {
                    break;
                }
                symlink(target, &beside).expect("a link can be made");
                fs::rename(&beside, link).expect("a link can be renamed");
                swaps.fetch_add(1, Ordering::Relaxed);
            }
        });
        work();
        while swaps.load(Ordering::Relaxed) < ENOUGH {
            work();
        }
        done.store(true, Ordering::Relaxed);
    });
}

#[test]
fn a_swapped_link_never_leads_out() {
    let place = Place::new();
    place.file("inside/secret.txt", "INSIDE\n");
    let workspace = place.workspace();
    for targets in [[Path::new("inside"), place.beside.as_path()], [&place.at("inside"), &place.beside]] {
        let mut read = 0;
        let _ = fs::remove_file(place.at("turn"));
        while_swapping(&place.at("turn"), targets, || {
            for _ in 0..3000 {
                let answer = workspace.read(&ReadFile::new("turn/secret.txt"), &Stop::default());
                assert!(!format!("{answer:?}").contains("OUTSIDE"));
                read += usize::from(answer.is_ok());
            }
        });
        assert!(read > 0, "nothing was ever read");
    }
}

#[test]
fn a_swapped_link_never_lets_a_write_out() {
    let place = Place::new();
    place.file("inside/secret.txt", "INSIDE\n");
    let workspace = place.workspace();
    while_swapping(&place.at("turn"), [Path::new("inside"), Path::new("../beside")], || {
        for turn in 0..500 {
            let _ = workspace.write("turn/secret.txt", &format!("{turn}\n"));
            let _ = workspace.write("turn/new.txt", "new\n");
        }
    });
    let names: Vec<_> = fs::read_dir(&place.beside).expect("it is there").flatten().map(|e| e.file_name()).collect();
    assert_eq!(names, ["secret.txt"]);
    assert_eq!(fs::read_to_string(place.beside.join("secret.txt")).expect("it is there"), "OUTSIDE\n");
}

#[test]
fn a_write_that_would_undo_anothers_is_a_conflict() {
    use std::io::Write;
    let place = Place::new();
    let old = "old\n".repeat(100_000);
    place.file("shared.txt", &old);
    let workspace = place.workspace();
    let done = AtomicBool::new(false);
    let answers: Vec<_> = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut file = fs::File::options().append(true).open(place.at("shared.txt")).expect("it is there");
            while !done.load(Ordering::Relaxed) {
                file.write_all(b"x").expect("it can be written");
            }
        });
        // Once a write gets through, the other one goes on writing to a file that has no name any more.
        let answers = (0..20).map(|turn| {
            let answer = workspace.write("shared.txt", &format!("{turn}\n"));
            answer.map(drop).map_err(|failure| failure.code)
        });
        let answers = answers.collect();
        done.store(true, Ordering::Relaxed);
        answers
    });
    assert!(answers.contains(&Err(toolfence::ErrorCode::Conflict)), "{answers:?}");
    if !answers.contains(&Ok(())) {
        assert!(place.content("shared.txt").starts_with(&old));
    }
    assert_eq!(fs::read_dir(&place.root).expect("it is there").count(), 1, "no temporary file is left");
}

#[test]
fn a_folder_swapped_for_a_link_shows_nothing_to_a_walk() {
    let place = Place::new();
    place.file("real/a/secret.txt", "INSIDE\n");
    let workspace = place.workspace();
    while_swapping(&place.at("turn"), [Path::new("real/a"), place.beside.as_path()], || {
        for _ in 0..1000 {
            let found = workspace.search(&SearchFiles::new("SIDE"), &Stop::default());
            assert!(!format!("{found:?}").contains("OUTSIDE"));
            let listed = workspace.list(&ListFiles::new("."), &Stop::default());
            assert!(!format!("{listed:?}").contains("turn/"), "{listed:?}");
        }
    });
}
