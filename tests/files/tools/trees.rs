//! Tests patches over whole trees on disk: the patch that `similar` or git computes from two trees turns one into the
//! other, and a refused patch changes nothing.

use super::{Place, picture};
use crate::patch::laws::{diff, edited, is_ambiguous, perturbed, text};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use toolfence_kit::Random;

/// The text of each file, and whether it is executable.
type Tree = BTreeMap<String, (String, bool)>;

const NAMES: [&str; 8] =
    ["a.txt", "src/b.rs", "src/deep/c.rs", "with blank.md", "größe.txt", "quote\"d", "tab\tname", "src/d"];

fn put(place: &Place, tree: &Tree) {
    for (name, (text, runs)) in tree {
        place.file(name, text);
        fs::set_permissions(place.at(name), PermissionsExt::from_mode(if *runs { 0o755 } else { 0o644 }))
            .expect("ours");
    }
}

/// Reads the files below a folder, without the repository.
fn taken(root: &Path) -> Tree {
    let mut tree = Tree::new();
    let mut pending = vec![root.to_owned()];
    while let Some(folder) = pending.pop() {
        for path in fs::read_dir(folder).expect("it is there").map(|entry| entry.expect("it can be read").path()) {
            if path.is_dir() {
                pending.extend((path.file_name() != Some(".git".as_ref())).then_some(path));
                continue;
            }
            let name = path.strip_prefix(root).expect("it is below").to_str().expect("it is text").to_owned();
            let runs = fs::metadata(&path).expect("it is there").permissions().mode() & 0o100 != 0;
            tree.insert(name, (fs::read_to_string(&path).expect("it is text"), runs));
        }
    }
    tree
}

fn planted(random: &mut Random) -> Tree {
    let mut tree = Tree::new();
    for name in NAMES {
        if random.below(4) > 0 {
            tree.insert(name.to_owned(), (text(random, 40), random.below(4) == 0));
        }
    }
    tree
}

fn grown(random: &mut Random, old: &Tree) -> Tree {
    let mut new = planted(random);
    new.retain(|name, _| !old.contains_key(name) && name.len() % 2 == 0);
    for (name, (text, runs)) in old {
        let kept = (edited(random, text), *runs);
        if random.once_in(6) {
            new.insert(
                format!("copied/{name}"),
                (if random.once_in(2) { edited(random, text) } else { text.clone() }, *runs),
            );
        }
        match random.below(8) {
            0 => {}
            1 => drop(new.insert(name.clone(), (text.clone(), !runs))),
            2 => drop(
                new.insert(format!("moved/{name}"), if random.below(2) == 0 { kept } else { (text.clone(), *runs) }),
            ),
            3 => drop(new.insert(name.clone(), (text.clone(), *runs))),
            _ => drop(new.insert(name.clone(), kept)),
        }
    }
    new
}

#[test]
fn a_diff_of_git_turns_one_tree_into_the_other() {
    let Some(git) = std::env::var_os("TOOLFENCE_GIT") else {
        println!("skipped: set TOOLFENCE_GIT to the git program");
        return;
    };
    let runs = std::env::var("TOOLFENCE_GIT_RUNS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(1500) / 20;
    let mut random = Random::new(31);
    for _ in 0..runs {
        let place = Place::new();
        let old = planted(&mut random);
        let new = grown(&mut random, &old);
        if old == new || old.is_empty() {
            continue;
        }
        let run = |arguments: &[&str]| {
            let mut command = Command::new(&git);
            command.args(["-c", "user.name=n", "-c", "user.email=e", "-c", "commit.gpgsign=false"]).args(arguments);
            let output = command.current_dir(&place.root).stdin(Stdio::null()).output().expect("git can be started");
            assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8(output.stdout).expect("it is text")
        };
        put(&place, &old);
        run(&["init", "--quiet"]);
        run(&["add", "--all"]);
        run(&["commit", "--quiet", "--message", "old"]);
        for name in old.keys() {
            fs::remove_file(place.at(name)).expect("it is there");
        }
        put(&place, &new);
        run(&["add", "--all"]);
        let context = format!("-U{}", random.pick(&[3, 3, 1]));
        let length = random.pick(&["--no-full-index", "--full-index"]);
        let prefixes = random.pick(&["diff.mnemonicPrefix=false", "diff.mnemonicPrefix=true", "diff.noPrefix=true"]);
        let mut arguments = vec!["-c", prefixes, "diff", "--cached", &context, length];
        arguments.extend(*random.pick(&[
            &["--no-renames"][..],
            &["--find-renames"],
            &["--find-renames", "--break-rewrites"],
            &["--find-copies", "--find-copies-harder"],
        ]));
        let patch = run(&arguments);
        run(&["reset", "--quiet", "--hard"]);
        assert_eq!(taken(&place.root), old);
        let done = place.workspace().changes().apply_patch(&patch, false);
        assert!(done.is_ok(), "{}\n{patch}", done.expect_err("just seen").message);
        assert_eq!(taken(&place.root), new, "{patch}");
    }
    println!("{runs} trees");
}

#[test]
fn a_perturbed_patch_of_a_tree_does_the_same_or_nothing() {
    let mut random = Random::new(32);
    let (mut same, mut refused, mut elsewhere) = (0, 0, 0);
    for _ in 0..300 {
        let place = Place::new();
        let names = ["a", "src/b", "src/deep/c"];
        let texts = names.map(|_| {
            let old = text(&mut random, 30);
            let new = edited(&mut random, &old);
            (old, new)
        });
        if texts.iter().any(|(old, new)| old.is_empty() || old == new) {
            continue;
        }
        let mut patch = String::new();
        for (name, (old, new)) in names.iter().zip(&texts) {
            place.file(name, old);
            let clean =
                diff(old, new, 3).replacen("a/x", &format!("a/{name}"), 1).replacen("b/x", &format!("b/{name}"), 1);
            patch.push_str(&if random.below(2) == 0 { perturbed(&mut random, &clean) } else { clean });
        }
        // In some runs a file has changed meanwhile.
        let drifted = random.below(2 * names.len());
        if let Some((name, (old, _))) = names.iter().zip(&texts).nth(drifted) {
            place.file(name, edited(&mut random, old));
        }
        let before = picture(&place.root);
        match place.workspace().changes().apply_patch(&patch, false) {
            Err(_) => {
                assert_eq!(picture(&place.root), before, "{patch}");
                refused += 1;
            }
            Ok(_) => {
                for (at, (name, (old, new))) in names.iter().zip(&texts).enumerate() {
                    let exact = place.content(name) == *new;
                    assert!(exact || at == drifted || is_ambiguous(&diff(old, new, 3), old), "{name}\n{patch}");
                    elsewhere += usize::from(!exact && at != drifted);
                }
                same += 1;
            }
        }
    }
    println!("{same} applied ({elsewhere} files at another place that fits as well), {refused} refused");
    assert!(same > 80 && refused > 20, "{same} and {refused}");
}
