//! Tests histories on disks that are full or read-only. The model's changes are made nevertheless and the user is
//! informed. An undo that could not itself be undone is refused. Everything works again when there is room.
//!
//! Each test runs a copy of this program with small disks of its own, which needs user namespaces.

use super::{Picture, Place};
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use toolfence_workspace::undo::Outcome;
use toolfence_workspace::undo::Unrestored;

const SMALL: &str = "TOOLFENCE_TEST_SMALL";
const PAGE: usize = 4096;
const FILES: usize = 8;
const SCRIPT: &str = "\
mount -t tmpfs -o size=\"${SIZE}k\" tmpfs \"$TOOLFENCE_TEST_SMALL\" && mount -t tmpfs tmpfs \"$TMPDIR\" || exit 90
mkdir \"$TOOLFENCE_TEST_SMALL/state0\" || exit 90
[ -z \"$READ_ONLY\" ] || mount -o remount,ro \"$TOOLFENCE_TEST_SMALL\" || exit 90
\"$0\" \"$@\"";

/// Runs one of the ignored tests below on its own disks. Prints a line and returns `None` if that is not possible.
fn on_small_disks(child: &str, pages: usize, read_only: &str) -> Option<String> {
    let home = tempfile::tempdir().expect("a temporary folder can be made");
    let (small, large) = (home.path().join("small"), home.path().join("large"));
    [&small, &large].iter().for_each(|folder| fs::create_dir(folder).expect("a folder can be made"));
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "bash", "-c", SCRIPT]);
    command.arg(std::env::current_exe().expect("this program has a name"));
    command.args(["--exact", &format!("undo::disk::{child}"), "--ignored", "--nocapture", "--test-threads=1"]);
    command.env(SMALL, &small).env("TMPDIR", &large).env("SIZE", (pages * PAGE / 1024).to_string());
    let output = command.env("READ_ONLY", read_only).stdin(Stdio::null()).output();
    let Some(output) = output.ok().filter(|output| !matches!(output.status.code(), Some(1 | 90))) else {
        println!("skipped: no user namespace with a disk of its own");
        return None;
    };
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    Some(said)
}

/// Creates a project whose history is on the small disk.
fn place(number: usize) -> Option<(Place, PathBuf)> {
    let small = PathBuf::from(std::env::var_os(SMALL)?);
    let place = Place::new();
    symlink(small.join(format!("state{number}")), place.home.path().join("state")).expect("it is new");
    // If the disk is read-only, the script has already created the first folder.
    let _ = fs::create_dir(small.join(format!("state{number}")));
    (0..FILES).for_each(|number| fs::write(file(&place, number), content("old", number)).expect("it can be written"));
    Some((place, small))
}

fn file(place: &Place, number: usize) -> PathBuf {
    place.root().join(number.to_string())
}

/// Returns two pages of long lines, because a comparison of two files without a common line takes time that grows with
/// the square of their lines.
fn content(what: &str, number: usize) -> String {
    format!("{what} {number:0>90}\n").repeat(2 * PAGE / 90).chars().take(2 * PAGE - 100).collect()
}

/// Fills the disk except for some pages.
fn ballast(small: &Path, leave: usize) {
    let mut file = File::create(small.join("ballast")).expect("it can be made");
    let mut pages = 0;
    while file.write_all(&[1; PAGE]).is_ok() {
        pages += 1;
    }
    assert!(pages >= leave, "{pages}");
    file.set_len(((pages - leave) * PAGE) as u64).expect("it can be cut");
}

fn assert_nothing_half(place: &Place) {
    let mut pending = vec![place.home.path().join("state")];
    while let Some(folder) = pending.pop() {
        for path in fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
            assert!(!path.to_string_lossy().contains("unfinished"), "{}", path.display());
            if path.is_dir() {
                pending.push(path);
            }
        }
    }
}

/// Asserts that each restored path is as in `wanted`, and that each refused path is as in `before`.
fn assert_matches_outcome(outcome: &Outcome, before: &Picture, after: &Picture, wanted: &Picture) {
    for done in &outcome.done {
        assert_eq!(after.get(Path::new(&done.name)), wanted.get(Path::new(&done.name)), "{outcome:?}");
    }
    for refused in &outcome.refused {
        assert_eq!(after.get(Path::new(&refused.name)), before.get(Path::new(&refused.name)), "{outcome:?}");
    }
}

/// Runs a turn with `leave` free pages, undoes it without any free page, and repeats both with room. Returns whether
/// the turn was reported as recorded, and whether the undo without room refused anything.
fn with_room_for(leave: usize) -> Option<(bool, bool)> {
    let (place, small) = place(leave)?;
    let old = place.picture();
    ballast(&small, leave);
    place.turn(|| (0..FILES).for_each(|number| place.write(&number.to_string(), &content("new", number))));
    let new = place.picture();
    let written = |number: usize| fs::read_to_string(place.root().join(number.to_string())).expect("it is there");
    assert!((0..FILES).all(|number| written(number) == content("new", number)));
    let notes = place.history.take_notes();
    assert!(notes.len() <= 1 && notes.iter().all(|note| note.to_string().contains("cannot be undone")), "{notes:?}");
    assert!(notes.iter().all(|note| note.to_string().contains("No space left")), "{notes:?}");
    assert_nothing_half(&place);

    // Another process writes this content, so the record of the turn does not have it, and the undo would have to store
    // it.
    fs::write(file(&place, 0), content("new", 0)).expect("it can be written");
    fs::remove_file(small.join("ballast")).expect("it is there");
    ballast(&small, 0);
    let refused = match place.history.undo(&place.workspace) {
        Err(error) => error.to_string().contains("nothing was changed"),
        Ok(None) => false,
        Ok(Some(outcome)) => {
            assert_matches_outcome(&outcome, &new, &place.picture(), &old);
            outcome.refused.iter().any(|refused| refused.why == Unrestored::Unrecorded)
        }
    };
    assert_nothing_half(&place);

    fs::remove_file(small.join("ballast")).expect("it is there");
    place.history.take_notes();
    place.history.redo(&place.workspace).expect("there is room");
    while let Some(outcome) = place.history.undo(&place.workspace).expect("there is room") {
        assert!(notes.len() == 1 || outcome.refused.is_empty(), "{outcome:?}");
        if outcome.done.is_empty() {
            break; // it would be the same turn again
        }
    }
    let kept = notes.is_empty();
    assert!(!kept || place.picture() == old, "{leave}");
    // The history continues.
    let before = place.picture();
    place.turn(|| place.write("more", "more\n"));
    assert_eq!(place.history.take_notes(), [] as [String; 0]);
    assert_eq!((place.undo().done.len(), place.picture() == before), (1, true));
    fs::remove_dir_all(small.join(format!("state{leave}"))).expect("it is ours");
    Some((kept, refused))
}

#[test]
#[ignore = "it is the child of another test"]
fn in_too_little_room() {
    let rooms: Vec<_> = (0..60).step_by(2).filter_map(with_room_for).collect();
    let count = |which: fn(&(bool, bool)) -> bool| rooms.iter().filter(|room| which(room)).count();
    println!("{} without room, {} with; {} undos refused", count(|r| !r.0), count(|r| r.0), count(|r| r.1));
}

#[test]
fn a_full_disk_stops_no_turn_and_every_undo_that_could_not_be_undone() {
    let Some(said) = on_small_disks("in_too_little_room", 200, "") else { return };
    let line = said.lines().find(|line| line.contains("without room")).unwrap_or_else(|| panic!("{said}"));
    let counts: Vec<u32> = line.split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse().ok()).collect();
    println!("{line}");
    assert!(counts.len() == 3 && counts.iter().all(|count| *count > 2), "{line}");
}

#[test]
#[ignore = "it is the child of another test"]
fn where_nothing_can_be_written() {
    let Some((place, _)) = place(0) else { return };
    place.turn(|| {
        place.write("0", "new\n");
        place.bash("echo x > made");
        place.write("0", "newer\n");
    });
    assert_eq!(fs::read_to_string(file(&place, 0)).expect("it is there"), "newer\n");
    assert!(place.root().join("made").exists());
    let notes = place.history.take_notes();
    assert!(notes.len() == 1 && notes[0].to_string().contains("Read-only file system"), "{notes:?}");
    assert!(place.history.undo(&place.workspace).expect("the history can be read").is_none());
    println!("notes: {notes:?}");
}

#[test]
fn a_disk_that_cannot_be_written_stops_no_turn() {
    let said = on_small_disks("where_nothing_can_be_written", 100, "1");
    assert!(said.is_none_or(|said| said.contains("notes: ")));
}
