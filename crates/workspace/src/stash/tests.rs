//! Kills the process at every step of an exchange, and saves files from another process while exchanges are made.
//!
//! The first test runs itself again as a child, which makes one exchange and can be killed in it.

use super::{ExchangeError, Moment, Stash, UNDER_WAY, recover};
use crate::fault::counted;
use crate::root::Root;
use rustix::fd::{AsFd, OwnedFd};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use toolfence_policy::rules::PathRules;

const HOME: &str = "TOOLFENCE_TEST_STASH";
const TWICE: &str = "TOOLFENCE_TEST_STASH_TWICE";
const ACT: &str = "TOOLFENCE_TEST_STASH_ACT";

pub(crate) type Picture = BTreeMap<PathBuf, String>;

fn open(root: &Path) -> Root {
    Root::open(root, PathRules::default(), None).expect("it is a folder")
}

fn folder(path: &Path) -> OwnedFd {
    rustix::fs::open(path, super::FOLDER, rustix::fs::Mode::empty()).expect("it is a folder")
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("it has one")).expect("a folder can be made");
    fs::write(path, text).expect("it can be written");
}

/// Creates a project, and next to it the entries that it is to get.
fn scene(home: &Path) -> Moment {
    for (name, text) in [
        ("root/a.txt", "old a"),
        ("root/gone.txt", "old gone"),
        ("root/sub/b.txt", "old b"),
        ("root/tree/one/f", "old f"),
        ("root/tree/two", "old two"),
        ("root/was_file", "old file"),
        ("root/was_folder/x", "old x"),
        ("root/closed/x", "x"),
        ("next/a.txt", "new a"),
        ("next/b.txt", "new b"),
        ("next/made/deep/f", "new f"),
        ("next/was_file/inner", "new inner"),
        ("next/was_folder", "new file"),
    ] {
        write(&home.join(name), text);
    }
    symlink("a.txt", home.join("next/link")).expect("a link can be made");
    Moment::next(&home.join("stashes")).expect("a file can be made")
}

fn stash(home: &Path, root: &Root, since: Moment) -> Result<Stash, ExchangeError> {
    let mut stash = Stash::create(&home.join("stashes")).expect("a stash can be made");
    let next = folder(&home.join("next"));
    for (path, name, replaces) in [
        ("a.txt", "a.txt", true),
        ("sub/b.txt", "b.txt", true),
        ("made", "made", false),
        ("was_file", "was_file", true),
        ("was_folder", "was_folder", true),
        ("sub/link", "link", false),
    ] {
        stash.plan_entry(root, Path::new(path), (next.as_fd(), name.as_ref()), replaces, since)?;
    }
    for path in ["gone.txt", "tree"] {
        stash.remove(root, Path::new(path), since)?;
    }
    stash.set_mode(root, Path::new("closed"), 0o500)?;
    Ok(stash)
}

/// Returns every entry with its mode and content.
pub(crate) fn picture(root: &Path) -> Picture {
    let mut found = Picture::new();
    let mut pending = vec![root.to_owned()];
    while let Some(folder) = pending.pop() {
        for path in fs::read_dir(&folder).expect("it is there").map(|entry| entry.expect("it can be read").path()) {
            let meta = fs::symlink_metadata(&path).expect("it is there");
            let what = if meta.is_symlink() {
                format!("{:?}", fs::read_link(&path).expect("it is a link"))
            } else if meta.is_dir() {
                pending.push(path.clone());
                format!("folder {:o}", meta.mode() & 0o7777)
            } else {
                format!("{:o} {}", meta.mode() & 0o7777, fs::read_to_string(&path).expect("it is text"))
            };
            found.insert(path.strip_prefix(root).expect("it is below").to_owned(), what);
        }
    }
    found
}

fn is_under_way(stashes: &Path) -> bool {
    let mut entries = fs::read_dir(stashes).expect("it is there");
    entries.any(|entry| entry.expect("it can be read").path().join(UNDER_WAY).exists())
}

fn count(stashes: &Path) -> usize {
    fs::read_dir(stashes).expect("it is there").count()
}

fn child(home: &Path, twice: bool, kill_at: usize) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program has a name"));
    command.args(["--exact", "stash::tests::one_exchange", "--ignored", "--quiet", "--test-threads=1"]);
    command.env(HOME, home).env(counted::AT, kill_at.to_string()).stdin(Stdio::null()).stdout(Stdio::null());
    if twice {
        command.env(TWICE, "1");
    }
    command
}

#[test]
#[ignore = "it is the child of another test"]
fn one_exchange() {
    let Some(home) = std::env::var_os(HOME).map(PathBuf::from) else { return };
    let root = open(&home.join("root"));
    if std::env::var_os(ACT).is_some_and(|act| act == "recover") {
        recover(&root, &home.join("stashes"));
        return;
    }
    let since = Moment::next(&home.join("stashes")).expect("a file can be made");
    let mut stash = stash(&home, &root, since).expect("it can be planned");
    stash.exchange(&root).expect("nothing else changes it");
    if std::env::var_os(TWICE).is_some() {
        assert!(stash.restore(&root, false).expect("it can be taken back").is_empty());
    }
    fs::write(home.join("points"), counted::passed().to_string()).expect("it can be written");
}

#[test]
fn killed_at_every_step_an_exchange_is_made_as_a_whole_or_not_at_all() {
    let mut kills = 0;
    for twice in [false, true] {
        let home = tempfile::tempdir().expect("a temporary folder can be made");
        scene(home.path());
        let old = picture(&home.path().join("root"));
        assert!(child(home.path(), false, 0).status().expect("it can be started").success());
        let new = picture(&home.path().join("root"));
        assert!(old != new && new.len() > 8, "{new:?}");
        let home = tempfile::tempdir().expect("a temporary folder can be made");
        scene(home.path());
        assert!(child(home.path(), twice, 0).status().expect("it can be started").success());
        let points: usize =
            fs::read_to_string(home.path().join("points")).expect("it is there").parse().expect("it is a number");
        assert!(points >= 12, "{points}");
        for point in 1..=points {
            let home = tempfile::tempdir().expect("a temporary folder can be made");
            scene(home.path());
            let ended = child(home.path(), twice, point).status().expect("it can be started");
            assert_eq!(ended.signal(), Some(9), "{point}");
            let (root, stashes) = (open(&home.path().join("root")), home.path().join("stashes"));
            let had_begun = is_under_way(&stashes);
            assert_eq!(recover(&root, &stashes), usize::from(had_begun), "killed at {point}");
            let now = picture(&home.path().join("root"));
            assert!(now == old || now == new, "killed at {point}: {now:#?}");
            // With `twice`, the second exchange may have begun.
            assert!(!had_begun || twice || now == new, "killed at {point}: it had begun and was not finished");
            assert_eq!(count(&stashes), 0, "killed at {point}: a stash is left");
            kills += 1;
        }
    }
    println!("{kills} kills survived");
}

/// Kills the process at every step of a recovery that follows a kill before, during or after an exchange.
#[test]
fn killed_at_every_step_a_recovery_is_finished_by_the_next_one() {
    let (mut kills, mut points) = (0, 0);
    let run = |home: &Path, act: &str, kill_at: usize| {
        let ended = child(home, false, kill_at).env(ACT, act).status().expect("it can be started");
        assert!(ended.success() || ended.signal() == Some(9), "{act} at {kill_at}: {ended}");
        ended.success()
    };
    let mut killed = 0;
    while killed <= points {
        let mut point = 0;
        let mut is_killed = true;
        while is_killed {
            point += 1;
            let home = tempfile::tempdir().expect("a temporary folder can be made");
            scene(home.path());
            let at = home.path().join("root");
            let old = picture(&at);
            // The first run is not killed, and leaves its stash.
            if run(home.path(), "exchange", killed) && killed == 0 {
                points =
                    fs::read_to_string(home.path().join("points")).expect("it is there").parse().expect("a number");
            }
            let stashes = home.path().join("stashes");
            let had_begun = is_under_way(&stashes);
            let before = picture(&at);
            is_killed = !run(home.path(), "recover", point);
            let root = open(&at);
            recover(&root, &stashes);
            let now = picture(&at);
            let when = format!("killed at {killed}, and then at {point}");
            assert!(if had_begun { now != old } else { now == before }, "{when}");
            assert_eq!(recover(&root, &stashes), 0, "{when}");
            assert_eq!(count(&stashes), 0, "{when}: a stash is left");
            kills += usize::from(is_killed);
        }
        killed += 1;
    }
    println!("{kills} kills survived");
    assert!(kills > 50, "{kills}");
}

#[test]
fn changes_of_other_processes_are_never_replaced() {
    type Act = fn(&Path);
    let acts: [(&str, Act); 9] = [
        ("a.txt", |root| {
            fs::set_permissions(root.join("a.txt"), fs::Permissions::from_mode(0o600)).expect("it is ours");
        }),
        ("a.txt", |root| fs::write(root.join("a.txt"), "user").expect("it can be written")),
        ("gone.txt", |root| fs::write(root.join("gone.txt"), "user").expect("it can be written")),
        ("tree", |root| fs::write(root.join("tree/one/new"), "user").expect("it can be written")),
        ("made", |root| fs::write(root.join("made"), "user").expect("it can be written")),
        ("sub/b.txt", |root| fs::remove_file(root.join("sub/b.txt")).expect("it is there")),
        ("was_file", |root| {
            fs::write(root.join("saved"), "user").expect("it can be written");
            fs::rename(root.join("saved"), root.join("was_file")).expect("it can be renamed");
        }),
        ("was_folder", |root| {
            fs::set_permissions(root.join("was_folder/x"), fs::Permissions::from_mode(0o600)).expect("it is ours");
        }),
        ("sub/link", |root| symlink("x", root.join("sub/link")).expect("a link can be made")),
    ];
    for is_planned_before in [false, true] {
        for (path, act) in acts {
            let home = tempfile::tempdir().expect("a temporary folder can be made");
            let since = scene(home.path());
            let at = home.path().join("root");
            let root = open(&at);
            if !is_planned_before {
                act(&at);
            }
            let mut stash = stash(home.path(), &root, since).expect("it can be planned");
            if is_planned_before {
                act(&at);
            }
            let before = picture(&at);
            let error = stash.exchange(&root).expect_err(path);
            assert!(matches!(&error, ExchangeError::Conflict(paths) if *paths == [Path::new(path)]), "{path}: {error}");
            assert_eq!(picture(&at), before, "{path}");
        }
    }
}

/// Another process saves files in place and by renaming while an exchange is made and reverted. Nothing that it saved
/// is lost.
#[test]
fn files_saved_during_an_exchange_are_not_lost() {
    let mut conflicts = 0;
    for round in 0..60 {
        let home = tempfile::tempdir().expect("a temporary folder can be made");
        let at = home.path().join("root");
        let names: Vec<String> = (0..12).map(|number| format!("f{number}")).collect();
        for name in &names {
            write(&at.join(name), "old");
            write(&home.path().join("next").join(name), "new");
        }
        let (root, next) = (open(&at), folder(&home.path().join("next")));
        let since = Moment::next(&home.path().join("stashes")).expect("a file can be made");
        let mut stash = Stash::create(&home.path().join("stashes")).expect("a stash can be made");
        for name in &names {
            let entry = (next.as_fd(), name.as_ref());
            stash.plan_entry(&root, Path::new(name), entry, true, since).expect("it can be planned");
        }
        let begun = AtomicBool::new(false);
        let saved = std::thread::scope(|scope| {
            let saving = scope.spawn(|| {
                while !begun.load(Ordering::Acquire) {
                    std::hint::spin_loop();
                }
                let mut saved = BTreeMap::new();
                for step in 0..6 {
                    let (name, text) = (&names[(round * 7 + step * 5) % names.len()], format!("user {step}"));
                    if (round + step) % 2 == 0 {
                        fs::write(at.join(name), &text).expect("it can be written");
                    } else {
                        fs::write(home.path().join("saved"), &text).expect("it can be written");
                        fs::rename(home.path().join("saved"), at.join(name)).expect("it can be renamed");
                    }
                    saved.insert(name.clone(), text);
                }
                saved
            });
            begun.store(true, Ordering::Release);
            conflicts += usize::from(stash.exchange(&root).is_err());
            conflicts += usize::from(!stash.restore(&root, false).expect("the plan can be written").is_empty());
            saving.join().expect("it ends")
        });
        for (name, text) in saved {
            assert_eq!(fs::read_to_string(at.join(&name)).expect("it is there"), text, "round {round}: {name}");
        }
    }
    println!("{conflicts} conflicts");
    assert!(conflicts > 6, "{conflicts}");
}

/// Undo skips entries that have changed since, and restores the rest. A file that was rewritten with the same bytes has
/// not changed.
#[test]
fn changed_entries_are_skipped_and_the_rest_is_restored() {
    let home = tempfile::tempdir().expect("a temporary folder can be made");
    let since = scene(home.path());
    let at = home.path().join("root");
    let root = open(&at);
    let old = picture(&at);
    let mut stash = stash(home.path(), &root, since).expect("it can be planned");
    stash.exchange(&root).expect("nothing else changes it");
    let new = picture(&at);
    fs::write(at.join("made/deep/more"), "user").expect("it can be written");
    fs::write(at.join("saved"), "new b").expect("it can be written");
    fs::rename(at.join("saved"), at.join("sub/b.txt")).expect("it can be renamed");
    fs::write(at.join("tree"), "user").expect("it can be written");
    let mut skipped = stash.restore(&root, false).expect("it can be taken back");
    skipped.sort();
    assert_eq!(skipped, [Path::new("made"), Path::new("made/deep"), Path::new("tree")]);
    let now = picture(&at);
    let is_skipped = |path: &&PathBuf| path.starts_with("made") || path.starts_with("tree");
    for (path, entry) in old.iter().filter(|(path, _)| !is_skipped(path)) {
        assert_eq!(now.get(path), Some(entry), "{path:?}");
    }
    assert_eq!(now[Path::new("made/deep/more")], "644 user");
    fs::remove_file(at.join("made/deep/more")).expect("it is there");
    fs::remove_file(at.join("tree")).expect("it is there");
    // The whole exchange is made again.
    drop(stash);
    let path = fs::read_dir(home.path().join("stashes")).expect("it is there").next().expect("there is one");
    let mut stash = Stash::open(&path.expect("it can be read").path()).expect("it was exchanged");
    assert_eq!(stash.restore(&root, true).expect("it can be made again"), [] as [PathBuf; 0]);
    assert_eq!(picture(&at), new);
}

#[test]
fn files_that_the_user_adds_to_a_new_folder_stay() {
    let home = tempfile::tempdir().expect("a temporary folder can be made");
    let since = scene(home.path());
    let at = home.path().join("root");
    let root = open(&at);
    let mut stash = stash(home.path(), &root, since).expect("it can be planned");
    stash.exchange(&root).expect("nothing else changes it");
    fs::write(at.join("made/deep/more"), "user").expect("it can be written");
    for skipped in [vec![PathBuf::from("made"), PathBuf::from("made/deep")], Vec::new(), Vec::new()] {
        assert_eq!(stash.restore(&root, false).expect("it can be taken back"), skipped);
        assert!(!at.join("made/deep/f").exists());
        assert_eq!(fs::read_to_string(at.join("made/deep/more")).expect("it is there"), "user");
    }
}

/// The disk is full when the end of an exchange must be recorded.
#[test]
fn recovery_keeps_the_reported_state() {
    let home = tempfile::tempdir().expect("a temporary folder can be made");
    let since = scene(home.path());
    let at = home.path().join("root");
    let root = open(&at);
    let old = picture(&at);
    let mut stash = stash(home.path(), &root, since).expect("it can be planned");
    let all = (0..stash.plan.swaps.len()).collect();
    for number in stash.begin(all, true).expect("it can be written") {
        stash.swap(&root, number, true).expect("nothing else changes it");
        stash.swap(&root, number, false).expect("nothing else changes it");
    }
    // A folder with the name of the new plan keeps the plan from being written.
    fs::create_dir(stash.path().join("plan.new")).expect("a folder can be made");
    assert!(stash.finish().is_err());
    let path = stash.path().to_owned();
    drop(stash);
    fs::remove_dir(path.join("plan.new")).expect("it is there");
    assert_eq!(recover(&root, &home.path().join("stashes")), 0);
    assert_eq!(picture(&at), old);
}

#[test]
fn an_exchange_with_an_unknown_plan_stays() {
    let home = tempfile::tempdir().expect("a temporary folder can be made");
    let since = scene(home.path());
    let root = open(&home.path().join("root"));
    let mut stash = stash(home.path(), &root, since).expect("it can be planned");
    let all = (0..stash.plan.swaps.len()).collect();
    stash.begin(all, true).expect("it can be written");
    let path = stash.path().to_owned();
    drop(stash);
    let plan = fs::read_to_string(path.join("plan.json")).expect("it is there");
    fs::write(path.join("plan.json"), plan.replace("swaps", "exchanges")).expect("it can be written");
    assert_eq!(recover(&root, &home.path().join("stashes")), 0);
    assert!(path.join("entries").is_dir());
}

/// Recovery deletes stashes that no session uses, including one whose exchange could not begin, and nothing else.
#[test]
fn only_stashes_are_deleted() {
    let home = tempfile::tempdir().expect("a temporary folder can be made");
    let since = scene(home.path());
    let root = open(&home.path().join("root"));
    let stashes = home.path().join("stashes");
    let mut refused = stash(home.path(), &root, since).expect("it can be planned");
    // A file with the name of the marker keeps the exchange from beginning.
    fs::write(refused.path().join(UNDER_WAY), "").expect("it can be written");
    assert!(matches!(refused.exchange(&root), Err(ExchangeError::Plan(_))));
    fs::remove_file(refused.path().join(UNDER_WAY)).expect("it is there");
    let used = Stash::create(&stashes).expect("a stash can be made");
    fs::create_dir_all(stashes.join("other/entries")).expect("a folder can be made");
    fs::write(stashes.join("other/file"), "user").expect("it can be written");
    fs::create_dir(stashes.join("empty")).expect("a folder can be made");
    fs::write(stashes.join("file"), "user").expect("it can be written");
    drop(refused);
    assert_eq!(recover(&root, &stashes), 0);
    let mut left: Vec<PathBuf> =
        fs::read_dir(&stashes).expect("it is there").map(|entry| entry.expect("it can be read").path()).collect();
    left.sort();
    let mut expected = vec![used.path().to_owned(), stashes.join("file"), stashes.join("other")];
    expected.sort();
    assert_eq!(left, expected);
}

#[test]
fn a_mode_that_the_user_changed_stays() {
    let home = tempfile::tempdir().expect("a temporary folder can be made");
    let since = scene(home.path());
    let at = home.path().join("root");
    let root = open(&at);
    fs::set_permissions(at.join("closed"), fs::Permissions::from_mode(0o2775)).expect("it is ours");
    let mut stash = stash(home.path(), &root, since).expect("it can be planned");
    fs::set_permissions(at.join("closed"), fs::Permissions::from_mode(0o750)).expect("it is ours");
    assert!(matches!(stash.exchange(&root), Err(ExchangeError::Conflict(_))));
    let mode = || fs::metadata(at.join("closed")).expect("it is there").mode() & 0o7777;
    assert_eq!(mode(), 0o750);
    fs::set_permissions(at.join("closed"), fs::Permissions::from_mode(0o2775)).expect("it is ours");
    stash.exchange(&root).expect("nothing else changes it");
    assert_eq!(mode(), 0o2500);
    assert!(stash.restore(&root, false).expect("it can be taken back").is_empty());
    assert_eq!(mode(), 0o2775);
}
