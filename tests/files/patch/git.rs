//! Compares with the real `git apply` on the same files and patches: where git accepts a patch, the result is the same,
//! or a refusal with a reason.
//!
//! These tests run if `TOOLFENCE_GIT` names the program, and print a line otherwise.

use super::laws::{diff, edited, headed, text};
use super::{Files, carried_out, planned};
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use toolfence_kit::Random;
use toolfence_patch as patch;
use toolfence_patch::Base;

#[test]
fn results_agree_with_git() {
    let Some(git) = std::env::var_os("TOOLFENCE_GIT") else {
        println!("skipped: set TOOLFENCE_GIT to the git program");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random::new(11);
    let (mut same, mut refused, mut more, mut drifted) = (0, Vec::new(), 0, 0);
    let runs = std::env::var("TOOLFENCE_GIT_RUNS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(1500);
    for _ in 0..runs {
        let old = text(&mut random, 40);
        let new = edited(&mut random, &old);
        let (before, after) = (format!("{}\n", text(&mut random, 12)), text(&mut random, 12));
        let (other, meant) = match random.below(4) {
            0 => (old.clone(), Some(new.clone())),
            1 => (format!("{before}{old}"), Some(format!("{before}{new}"))),
            // If the last line had no line feed and lines follow it now, git joins it with the next line.
            2 if old.ends_with('\n') => (format!("{old}{after}"), Some(format!("{new}{after}"))),
            _ => (edited(&mut random, &old), None),
        };
        let patch = diff(&old, &new, *random.pick(&[3, 3, 2, 1]));
        let glued = meant.is_none() && patch.contains("\n\\ No newline");
        if glued || old == new || other.is_empty() || old.is_empty() {
            continue;
        }
        let theirs = by_git(Path::new(&git), folder.path(), &patch, &other);
        let parsed = patch::parse(&patch).unwrap_or_else(|problem| panic!("{problem}\n{patch}"));
        let ours = toolfence_patch::apply(&parsed.files[0].hunks, other.as_bytes());
        match (theirs, ours) {
            (Some(theirs), Ok(ours)) => {
                let got = String::from_utf8(ours.text).unwrap();
                // Git does not apply the shift of one hunk to the next, so it may choose another place.
                let moved = ours.hunks.len() > 1 && ours.hunks.iter().any(|hunk| hunk.distance != Some(0));
                if got != theirs && moved && meant.as_ref().is_none_or(|meant| *meant == got) {
                    drifted += 1;
                    continue;
                }
                assert_eq!(got, theirs, "\n{patch}\n{other:?}\n{:?}", ours.hunks);
                same += 1;
            }
            (Some(theirs), Err(misses)) if theirs != other => {
                refused.push(format!("{}\n{patch}\n{other:?}", misses[0]));
            }
            (None, Ok(_)) => more += 1,
            _ => {}
        }
    }
    println!("{drifted} otherwise, for git does not follow the hunk before");
    println!("{same} the same; {more} only we apply; {} only git applies:\n{}", refused.len(), refused.join("\n"));
    assert!(same > runs / 4 && refused.len() * 20 < same);
}

/// Uses heads that create, rename or copy a whole file. If git and this engine both accept one, the resulting files and
/// permissions are the same.
#[test]
fn results_for_heads_agree_with_git() {
    let Some(git) = std::env::var_os("TOOLFENCE_GIT") else {
        println!("skipped: set TOOLFENCE_GIT to the git program");
        return;
    };
    let mut random = Random::new(12);
    let (mut same, mut only_we, mut only_git) = (0, 0, 0);
    for _ in 0..1500 {
        let patch = headed(&mut random);
        let theirs = tree_by_git(Path::new(&git), &patch);
        let files = Files([("x".to_owned(), b"one\n".to_vec())].into());
        let ours = planned(&patch, &Base::default(), &files).map(|plan| {
            let modes: BTreeMap<_, _> = plan.changes.iter().map(|change| (&change.path, change.mode)).collect();
            let runs = |name: &String| modes.get(name).copied().flatten().is_some_and(|mode| mode & 0o111 != 0);
            carried_out(&plan, &files).0.into_iter().map(|(name, text)| (runs(&name), name, text)).collect()
        });
        match (theirs, ours) {
            (Some(theirs), Ok(ours)) => {
                assert_eq!(theirs, ours, "{patch}");
                same += 1;
            }
            (Some(_), Err(_)) => only_git += 1,
            // This engine also accepts forms that models write: heads without all of git's lines, and insertions at the
            // beginning with `-0,0`.
            (None, Ok(_)) if patch.contains("@@ -0,0 +1 @@") || patch.contains("\nnew mode ") => only_we += 1,
            (None, Ok(_)) => panic!("git refuses it:\n{patch}"),
            (None, Err(_)) => {}
        }
    }
    println!("{same} the same; {only_git} only git applies, {only_we} only we");
    assert!(same > 50);
}

/// Runs `git apply` in a folder with a file `x` that contains `one`. Returns for each resulting file whether it is
/// executable, its name and its text.
fn tree_by_git(git: &Path, patch: &str) -> Option<BTreeSet<(bool, String, Vec<u8>)>> {
    let folder = tempfile::tempdir().unwrap();
    let tree = folder.path().join("tree");
    std::fs::create_dir(&tree).unwrap();
    std::fs::write(tree.join("x"), "one\n").unwrap();
    std::fs::write(folder.path().join("p"), patch).unwrap();
    let status = Command::new(git)
        .args(["apply", "../p"])
        .current_dir(&tree)
        .env("GIT_CEILING_DIRECTORIES", folder.path())
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    let paths = ["x", "y", "b/x", "b/y", "a/x", "a/y"].into_iter().filter(|path| tree.join(path).exists());
    let files = paths.map(|path| {
        let runs = tree.join(path).metadata().unwrap().permissions().mode() & 0o100 != 0;
        (runs, path.to_owned(), std::fs::read(tree.join(path)).unwrap())
    });
    status.success().then(|| files.collect())
}

fn by_git(git: &Path, folder: &Path, patch: &str, text: &str) -> Option<String> {
    std::fs::write(folder.join("x"), text).unwrap();
    std::fs::write(folder.join("p"), patch).unwrap();
    let status = Command::new(git)
        .args(["apply", "p"])
        .current_dir(folder)
        .env("GIT_CEILING_DIRECTORIES", folder.parent().unwrap())
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    status.success().then(|| std::fs::read_to_string(folder.join("x")).unwrap())
}
