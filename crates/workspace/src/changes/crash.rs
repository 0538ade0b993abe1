//! Kills the process at every step that changes the disk, fills up the disk at every step, and makes the root
//! read-only. Each file must then have its old or its new content, and the next start must remove all leftovers.
//!
//! The test runs itself again as a child, which makes one change and can be killed in it.

use crate::fault::counted;
use crate::{EditFile, EditLines, ReplaceText, Workspace};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use toolfence_policy::rules::PathRules;
use toolfence_protocol::ToolFailure;

const ROOT: &str = "TOOLFENCE_TEST_ROOT";
const ACT: &str = "TOOLFENCE_TEST_ACT";
const REPORT: &str = "TOOLFENCE_TEST_SAYS";

type Act = fn(&Workspace) -> Result<(), ToolFailure>;
type Files = BTreeMap<PathBuf, String>;

const ACTS: [(&str, Act); 6] = [
    ("write", |workspace| workspace.changes().write("a.txt", &long("new")).map(drop)),
    ("create", |workspace| workspace.changes().write("made/for/it.txt", &long("new")).map(drop)),
    ("edit", |workspace| {
        let edit = EditLines { start_line: 2, end_line: 9, replacement: long("new") };
        workspace.changes().edit(&EditFile::new("sub/b.txt", vec![edit])).map(drop)
    }),
    ("replace", |workspace| workspace.changes().replace_text(&ReplaceText::new("a.txt", "7 old", "7 new")).map(drop)),
    ("patch", |workspace| workspace.changes().apply_patch(&patch("gone"), false).map(drop)),
    // Another process changes the file that is deleted last, so that all earlier changes are reverted.
    ("undone", |workspace| {
        let draft = workspace.changes().draft_patch(&patch("gone"))?;
        fs::write(workspace.root().path().join("gone.txt"), "other").expect("it is ours");
        workspace.changes().commit(&draft).map(drop)
    }),
];

fn long(word: &str) -> String {
    (0..12).map(|number| format!("{number} {word}\n")).collect()
}

fn patch(gone: &str) -> String {
    format!(
        "*** Begin Patch\n*** Update File: a.txt\n@@\n-3 old\n+3 new\n*** Update File: sub/b.txt\n@@\n-5 old\n+5 new\n*** Add File: \
         made/for/all/c.txt\n+new\n+new\n*** Update File: sub/move.txt\n*** Move to: made/moved.txt\n@@\n-1 old\n+1 new\n*** Delete \
         File: {gone}.txt\n*** End Patch\n"
    )
}

fn scene(root: &Path) -> Files {
    fs::create_dir_all(root.join("sub")).expect("a folder can be made");
    for name in ["a.txt", "sub/b.txt", "sub/move.txt", "gone.txt", "sub/stays.txt"] {
        fs::write(root.join(name), long("old")).expect("it can be written");
    }
    picture(root)
}

/// Returns every file with its content, and every folder with a slash.
fn picture(root: &Path) -> Files {
    let mut files = Files::new();
    let mut pending = vec![root.to_owned()];
    while let Some(folder) = pending.pop() {
        for path in fs::read_dir(&folder).expect("it is there").map(|entry| entry.expect("it can be read").path()) {
            let name = path.strip_prefix(root).expect("it is below").to_owned();
            if path.is_dir() {
                files.insert(name.join(""), String::new());
                pending.push(path);
            } else {
                files.insert(name, fs::read_to_string(&path).expect("it is text"));
            }
        }
    }
    files
}

fn child(act: &str, root: &Path, report_path: &Path, kill_at: usize) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program has a name"));
    command.args(["--exact", "changes::crash::one_act", "--ignored", "--quiet", "--test-threads=1"]);
    command.env(ACT, act).env(ROOT, root).env(REPORT, report_path).env(counted::AT, kill_at.to_string());
    command.stdin(Stdio::null());
    command
}

#[test]
#[ignore = "it is the child of the other tests"]
fn one_act() {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let (Some(act), Some(root), Some(report_path)) = (std::env::var(ACT).ok(), variable(ROOT), variable(REPORT)) else {
        return;
    };
    let (_, act) = ACTS.iter().find(|(name, _)| *name == act).expect("there is such an act");
    let workspace = Workspace::open(&root, PathRules::default()).expect("it is a folder");
    let done = act(&workspace).map_err(|failure| format!("{:?}", failure.code));
    drop(workspace);
    fs::write(report_path, format!("{} {}", counted::passed(), done.err().unwrap_or_default()))
        .expect("it can be written");
}

/// Reads the report of the child: the points that it passed, and its failure.
fn read_report(report_path: &Path, output: &Output) -> (usize, String) {
    let text =
        fs::read_to_string(report_path).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stdout)));
    let (points, failure) = text.split_once(' ').expect("it says both");
    (points.parse().expect("it is a number"), failure.to_owned())
}

#[test]
fn killed_at_every_step_each_file_is_old_or_new() {
    let home = tempfile::tempdir().expect("a temporary folder can be made");
    let report_path = home.path().join("says");
    let mut survived = 0;
    for (act, _) in ACTS {
        let scenes = Scenes::new(act, home.path(), &report_path);
        for point in 1..=scenes.points {
            let root = home.path().join(format!("{act}{point}"));
            scene(&root);
            let output = child(act, &root, &report_path, point).output().expect("it can be started");
            assert_eq!(output.status.signal(), Some(9), "{act} at {point}");
            scenes.check(&picture(&root), false, &format!("{act} at {point}, at once"));
            let workspace = Workspace::open(&root, PathRules::default()).expect("it is a folder");
            scenes.check(&picture(&root), true, &format!("{act} at {point}, when it was opened again"));
            assert!(workspace.changes().write("a.txt", "and on\n").is_ok());
            survived += 1;
        }
    }
    println!("{survived} kills survived");
}

/// The contents that a root may have.
struct Scenes {
    points: usize,
    old: Files,
    /// The contents that each file may have, in addition to the original one.
    new: Vec<Files>,
}

impl Scenes {
    fn new(act: &str, home: &Path, report_path: &Path) -> Scenes {
        let run = |whole: &str| {
            let root = home.join(format!("{act}, {whole} whole"));
            let old = scene(&root);
            let output = child(whole, &root, report_path, 0).output().expect("it can be started");
            (read_report(report_path, &output).0, old, picture(&root))
        };
        let (points, old, new) = run(act);
        assert!(points >= 8 && old != new, "{act}: {points} points");
        // The act `undone` first makes the changes that it reverts.
        let done = (act == "undone").then(|| run("patch").2);
        Scenes { points, old, new: [new].into_iter().chain(done).collect() }
    }

    fn check(&self, now: &Files, cleaned: bool, when: &str) {
        let all = || self.new.iter().chain([&self.old]);
        for (name, content) in now {
            let known = all().any(|files| files.get(name) == Some(content));
            let left = name.to_string_lossy().contains(".toolfence-");
            // A file that another process writes is empty for a moment; a created folder stays if it has entries.
            let others = self.new.len() > 1 && name.as_os_str() == "gone.txt" && content.is_empty();
            let folder = name.to_string_lossy().ends_with('/') && (!cleaned || is_above_a_file(name, now));
            assert!(known || others || folder || (left && !cleaned), "{when}: {name:?} {content:?}");
        }
        let stays = |name: &&PathBuf| self.new.iter().all(|files| files.contains_key(*name));
        assert_eq!(self.old.keys().filter(stays).find(|name| !now.contains_key(*name)), None, "{when}");
    }
}

/// Returns `true` if a file is in the folder. A created folder stays in that case.
fn is_above_a_file(folder: &Path, files: &Files) -> bool {
    files.keys().any(|name| name.starts_with(folder) && !name.to_string_lossy().ends_with('/'))
}

/// Limits the size of files to so many KiB, so that writing fails in the middle.
#[test]
fn a_file_that_cannot_grow_is_not_changed() {
    let home = tempfile::tempdir().expect("a temporary folder can be made");
    let report_path = home.path().join("says");
    for (act, _) in &ACTS[..5] {
        let root = home.path().join(act);
        let old = scene(&root);
        let child = child(act, &root, &report_path, 0);
        let mut limited = Command::new("bash");
        limited
            .args(["-c", "trap '' XFSZ; ulimit -f 0; exec \"$0\" \"$@\""])
            .arg(child.get_program())
            .args(child.get_args());
        limited.envs(child.get_envs().filter_map(|(name, value)| Some((name, value?))));
        // The report cannot be written either.
        limited.stdin(Stdio::null()).output().expect("bash can be started");
        assert_eq!(picture(&root), old, "{act}");
    }
}

/// Tries disks of all sizes that are too small, and at last one that is large enough. Needs user namespaces.
#[test]
fn full_and_read_only_disks_leave_files_unchanged() {
    let home = tempfile::tempdir().expect("a temporary folder can be made");
    let script = "\
mount -t tmpfs -o size=\"$SIZE\",nr_inodes=\"$NODES\" tmpfs \"$TOOLFENCE_TEST_ROOT\" || exit 90
cp -r \"$SCENE/.\" \"$TOOLFENCE_TEST_ROOT\" || exit 91
[ -z \"$READ_ONLY\" ] || mount -o remount,ro \"$TOOLFENCE_TEST_ROOT\" || exit 92
\"$0\" \"$@\" || exit 93
cp -r \"$TOOLFENCE_TEST_ROOT\" \"$SAYS_ROOT\"";
    let (root, kept, report_path) = (home.path().join("root"), home.path().join("scene"), home.path().join("says"));
    fs::create_dir_all(&root).expect("a folder can be made");
    let old = scene(&kept);
    let (mut failed, mut done) = (0, 0);
    for turn in 0..60 {
        let (act, read_only) =
            if turn % 20 == 19 { ("patch", "1") } else { (["patch", "create", "write"][turn / 20], "") };
        let after = home.path().join(format!("after{turn}"));
        let child = child(act, &root, &report_path, 0);
        let mut small = Command::new("unshare");
        small
            .args(["--user", "--map-root-user", "--mount", "bash", "-c", script])
            .arg(child.get_program())
            .args(child.get_args());
        small.envs(child.get_envs().filter_map(|(name, value)| Some((name, value?))));
        // Either pages or inodes are missing.
        let (pages, nodes) = if turn % 20 < 10 { (5 + turn % 20, 100) } else { (100, turn % 20 - 2) };
        small.env("SIZE", format!("{}k", 4 * pages)).env("NODES", nodes.to_string()).env("READ_ONLY", read_only);
        small.env("SCENE", &kept).env("SAYS_ROOT", &after).stdin(Stdio::null());
        let output = small.output();
        let Some(output) = output.ok().filter(|output| !matches!(output.status.code(), Some(1 | 90))) else {
            println!("skipped: no user namespace with a disk of its own");
            return;
        };
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        let (_, failure) = read_report(&report_path, &output);
        if failure.is_empty() {
            assert_ne!(picture(&after), old, "{act}");
            done += 1;
        } else {
            assert_eq!(picture(&after), old, "{act}: {failure}");
            assert_eq!(failure, if read_only.is_empty() { "IoError" } else { "PermissionDenied" });
            failed += 1;
        }
    }
    println!("{failed} too small or not to be written, {done} large enough");
    assert!(failed > 10 && done > 10, "{failed} and {done}");
}

#[test]
fn a_removed_root_is_not_created_again() {
    for (act, run) in ACTS {
        let home = tempfile::tempdir().expect("a temporary folder can be made");
        let root = home.path().join("root");
        scene(&root);
        let workspace = Workspace::open(&root, PathRules::default()).expect("it is a folder");
        fs::remove_dir_all(&root).expect("it is ours");
        let failure = run(&workspace).expect_err(act);
        assert_eq!(failure.code, toolfence_protocol::ErrorCode::IoError, "{act}: {}", failure.message);
        assert!(!root.exists());
    }
}
