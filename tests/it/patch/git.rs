//! Real `git apply` beside us, on the same files and patches: where it accepts, we do the same or refuse, and say why.
//!
//! Runs where `TOOLFENCE_GIT` names the program; says so where it does not.

use super::laws::{diff, edited, text};
use crate::random::Random;
use std::path::Path;
use std::process::{Command, Stdio};
use toolfence::patch;

#[test]
fn where_git_accepts_we_do_the_same() {
    let Some(git) = std::env::var_os("TOOLFENCE_GIT") else {
        println!("skipped: set TOOLFENCE_GIT to the git program");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let mut random = Random::new(11);
    let (mut same, mut refused, mut more) = (0, Vec::new(), 0);
    let runs = std::env::var("TOOLFENCE_GIT_RUNS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(1500);
    for _ in 0..runs {
        let old = text(&mut random, 40);
        let new = edited(&mut random, &old);
        let other = if random.below(2) == 0 { old.clone() } else { edited(&mut random, &old) };
        let patch = diff(&old, &new, 3);
        if old == new || other.is_empty() || old.is_empty() {
            continue;
        }
        let theirs = by_git(Path::new(&git), folder.path(), &patch, &other);
        let parsed = patch::parse(&patch).unwrap_or_else(|problem| panic!("{problem}\n{patch}"));
        let ours = patch::apply(&parsed.files[0].hunks, other.as_bytes());
        match (theirs, ours) {
            (Some(theirs), Ok(ours)) => {
                let got = String::from_utf8(ours.text).unwrap();
                assert_eq!(got, theirs, "\n{patch}\n{other:?}\n{:?}", ours.hunks);
                same += 1;
            }
            (Some(theirs), Err(misses)) if theirs != other => {
                refused.push(format!("{}\n{patch}\n{other:?}", misses[0]))
            }
            (None, Ok(_)) => more += 1,
            _ => {}
        }
    }
    println!("{same} the same; {more} only we apply; {} only git applies:\n{}", refused.len(), refused.join("\n"));
    assert!(same > runs / 4 && refused.len() * 20 < same);
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
