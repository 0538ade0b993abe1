//! Tests the heads of patches: a patch changes the file that its head names without the prefixes, or no file.

use super::{Files, carried_out, planned};
use toolfence_kit::Random;
use toolfence_patch::Base;

/// The pairs of prefixes for the old and the new name that git's options produce.
const PREFIXES: [(&str, &str); 11] = [
    ("a/", "b/"),
    ("b/", "a/"),
    ("", ""),
    ("i/", "w/"),
    ("w/", "i/"),
    ("c/", "i/"),
    ("c/", "w/"),
    ("1/", "2/"),
    ("old/", "new/"),
    ("from/here/", "to/there/"),
    ("b/", "c/"),
];

const FOLDERS: [&str; 10] = ["", "a/", "b/", "i/", "w/", "c/", "a/b/", "old/", "new/", "src/"];

fn tree(random: &mut Random) -> Files {
    let mut files = Files::default();
    for folder in FOLDERS {
        for name in ["x", "y z", "end "] {
            if random.below(2) == 0 {
                files.0.insert(format!("{folder}{name}"), b"one\ntwo\n".to_vec());
            }
        }
    }
    files
}

/// Every file has the same lines, so that a wrong prefix would find them in another file.
#[test]
fn the_two_names_of_a_head_determine_the_changed_file() {
    let mut random = Random::new(31);
    for _ in 0..20_000 {
        let files = tree(&mut random);
        let (old, new) = *random.pick(&PREFIXES);
        let name = format!("{}{}", random.pick(&FOLDERS), random.pick(&["x", "y z", "end "]));
        let there = files.0.contains_key(&name);
        let mut wanted = files.clone();
        let tab = if name.contains(' ') { "\t" } else { "" };
        let head = format!("diff --git {old}{name} {new}{name}\n");
        let (before, after) = (format!("--- {old}{name}{tab}\n"), format!("+++ {new}{name}{tab}\n"));
        let patch = match random.below(5) {
            0 if there => {
                wanted.0.insert(name, b"one\n2\n".to_vec());
                format!("{head}{before}{after}@@ -1,2 +1,2 @@\n one\n-two\n+2\n")
            }
            1 if there => {
                wanted.0.remove(&name);
                format!("{head}deleted file mode 100644\n{before}+++ /dev/null\n@@ -1,2 +0,0 @@\n-one\n-two\n")
            }
            2 if !there => {
                wanted.0.insert(name, b"one\n".to_vec());
                format!("{head}new file mode 100644\n--- /dev/null\n{after}@@ -0,0 +1 @@\n+one\n")
            }
            3 if !there => {
                wanted.0.insert(name, Vec::new());
                format!("{head}new file mode 100644\nindex 0000000..e69de29\n")
            }
            4 if there => {
                let other = format!("moved {}", random.below(9));
                let text = wanted.0.remove(&name).unwrap();
                wanted.0.insert(other.clone(), text);
                format!(
                    "diff --git {old}{name} {new}{other}\nsimilarity index 100%\nrename from {name}\nrename to {other}\n"
                )
            }
            _ => continue,
        };
        let plan = planned(&patch, &Base::default(), &files).unwrap_or_else(|problem| panic!("{problem}\n{patch}"));
        assert_eq!(carried_out(&plan, &files), wanted, "{patch}");
    }
}

/// Without the `diff --git` line, the names may have several readings. A patch changes a file only if exactly one
/// reading names an existing file.
#[test]
fn names_without_a_head_of_git_have_one_reading() {
    let mut random = Random::new(32);
    let (mut changed, mut refused) = (0, 0);
    for _ in 0..20_000 {
        let files = tree(&mut random);
        let (old, new) = *random.pick(&PREFIXES);
        let name = format!("{}x", random.pick(&FOLDERS));
        let (before, after) = (format!("{old}{name}"), format!("{new}{name}"));
        let deletes = random.below(2) == 0;
        let patch = match deletes {
            true => format!("--- {before}\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-one\n-two\n"),
            false => format!("--- {before}\n+++ {after}\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"),
        };
        let Ok(plan) = planned(&patch, &Base::default(), &files) else {
            refused += 1;
            continue;
        };
        let [change] = plan.changes.as_slice() else { panic!("{patch}") };
        let is_literal = change.path == before || change.path == after;
        assert!(is_literal || before.ends_with(&change.path), "{patch}{}", change.path);
        if deletes || before == after {
            let bare = before.split_once('/').map(|(_, bare)| bare).filter(|_| before.starts_with(['a', 'b']));
            let both = bare.is_some_and(|bare| files.0.contains_key(bare)) && files.0.contains_key(&before);
            assert!(!both, "{patch}{}", change.path);
        }
        changed += 1;
    }
    println!("{changed} changed, {refused} refused");
    assert!(changed > 4000 && refused > 1000);
}

/// A head whose lines contradict each other is refused. If lines are missing, the patch may apply to its own file, but
/// never to another one.
#[test]
fn a_head_with_contradictory_lines_is_refused() {
    const HEADS: [&[&str]; 5] = [
        &["diff --git a/x b/x", "--- a/x", "+++ b/x", "@@ -1,2 +1,2 @@", "-one", "+1", " two"],
        &[
            "diff --git a/x b/x",
            "deleted file mode 100644",
            "--- a/x",
            "+++ /dev/null",
            "@@ -1,2 +0,0 @@",
            "-one",
            "-two",
        ],
        &["diff --git a/n b/n", "new file mode 100644", "--- /dev/null", "+++ b/n", "@@ -0,0 +1 @@", "+one"],
        &["diff --git a/x b/n", "similarity index 90%", "rename from x", "rename to n"],
        &["diff --git a/x b/n", "similarity index 90%", "copy from x", "copy to n"],
    ];
    const FOREIGN: [&str; 12] = [
        "new file mode 100644",
        "deleted file mode 100644",
        "rename from x",
        "rename to n",
        "rename from y",
        "rename to m",
        "copy from x",
        "copy to n",
        "copy from y",
        "copy to m",
        "--- a/y",
        "+++ b/y",
    ];
    let mut random = Random::new(33);
    let files = Files(["x", "y"].map(|name| (name.to_owned(), b"one\ntwo\n".to_vec())).into());
    for _ in 0..20_000 {
        let own = *random.pick(&HEADS);
        let foreign = *random.pick(&FOREIGN);
        if own.contains(&foreign) {
            continue;
        }
        let mut lines = own.to_vec();
        let metadata = own.iter().position(|line| line.starts_with("--- ")).unwrap_or(own.len());
        match foreign.split_once(' ') {
            Some(("---" | "+++", _)) if metadata < own.len() => {
                lines[metadata + usize::from(foreign.starts_with('+'))] = foreign;
            }
            Some(("---" | "+++", _)) => continue,
            _ => lines.insert(1 + random.below(metadata), foreign),
        }
        let patch = lines.join("\n") + "\n";
        assert!(planned(&patch, &Base::default(), &files).is_err(), "{patch}");
    }
}

/// Lines after the hunks of a file are part of the last hunk, begin a new head, name no file, or are refused.
#[test]
fn lines_after_a_hunk_are_not_skipped() {
    const ENDS: [&str; 14] = [
        "*** Modify File: y\n-one\n+1\n",
        "*** y\n",
        "diff --git a/y b/y\n",
        "diff -u y y\n",
        "Index: y\n",
        "--- a/y\n",
        "+++ b/y\n",
        "--- a/y\n+++ b/y\n",
        "*** Update File: y\n",
        "Now y:\n@@\n-one\n+1\n",
        "Now y:\n@@ -1 +1 @@\n-one\n+1\n",
        "*** Begin Patch\n*** Update File: y\n@@\n-one\n+1\n*** End Patch\n",
        "rename from y\nrename to z\n",
        "Binary files a/y and b/y differ\n",
    ];
    let files = Files(["x", "y"].map(|name| (name.to_owned(), b"one\ntwo\n".to_vec())).into());
    let unified = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-one\n+1\n two\n";
    let begin = "*** Begin Patch\n*** Update File: x\n@@\n-one\n+1\n two\n";
    for end in ENDS {
        for between in ["", "\n", "Then:\n", "```\n", "-- \n2.47.3\n\n"] {
            let texts = [
                format!("{unified}{between}{end}"),
                format!("{begin}{between}{end}*** End Patch\n"),
                format!("{begin}*** End Patch\n{between}{end}"),
            ];
            for text in texts {
                let Ok(plan) = planned(&text, &Base::default(), &files) else { continue };
                let changed: Vec<&str> = plan.changes.iter().map(|change| change.path.as_str()).collect();
                assert_eq!(changed, ["x", "y"], "{text}");
            }
        }
    }
}
