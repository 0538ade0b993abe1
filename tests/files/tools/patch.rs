//! Tests patches on real files: a patch changes all of its files or none. Also tests the results for the model.

use super::answers::{failure, run, tools_on};
use super::{Place, picture};
use serde_json::json;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use toolfence_kit::{Picture, Random, call};
use toolfence_policy::rules::PathRules;
use toolfence_policy::{AskMode, Policy, Settings, Verdict};
use toolfence_protocol::ErrorCode;

const MANY: &str = "\
diff --git a/one.txt b/one.txt
--- a/one.txt
+++ b/one.txt
@@ -9,2 +9,2 @@
 one
-two
+2
diff --git a/run.sh b/run.sh
old mode 100644
new mode 100755
diff --git a/old.txt b/new/deep/name.txt
rename from old.txt
rename to new/deep/name.txt
diff --git a/gone.txt b/gone.txt
deleted file mode 100644
--- a/gone.txt
+++ /dev/null
@@ -1 +0,0 @@
-gone
--- /dev/null
+++ b/new/file.txt
@@ -0,0 +1 @@
+new
";

fn place() -> Place {
    let place = Place::new();
    place.file("one.txt", "one\r\ntwo\r\n");
    place.file("run.sh", "#!/bin/sh\n");
    place.file("old.txt", "old\n");
    place.file("gone.txt", "gone\n");
    fs::set_permissions(place.at("old.txt"), PermissionsExt::from_mode(0o640)).expect("it is ours");
    place
}

#[test]
fn a_patch_changes_all_of_its_files() {
    let place = place();
    let result = run(&place, "apply_patch", json!({"patch": MANY}));
    assert_eq!(result.error, None);
    let want = "\
Changed one.txt
  hunk 1: line 1, fuzz 0, 8 lines above what @@ says
Changed run.sh
Renamed old.txt to new/deep/name.txt
Deleted gone.txt
  hunk 1: line 1, fuzz 0
Created new/file.txt
  hunk 1: line 1, fuzz 0
";
    assert_eq!(result.output, want);
    let text = |path: &str| fs::read_to_string(place.at(path)).ok();
    let mode = |path: &str| fs::metadata(place.at(path)).expect("it is there").mode() & 0o777;
    assert_eq!(text("one.txt").as_deref(), Some("one\r\n2\r\n"));
    assert_eq!(mode("run.sh") & 0o111, (mode("run.sh") & 0o444) >> 2);
    assert_eq!((text("new/deep/name.txt").as_deref(), mode("new/deep/name.txt")), (Some("old\n"), 0o640));
    assert_eq!((text("old.txt"), text("gone.txt"), text("new/file.txt").as_deref()), (None, None, Some("new\n")));
    assert_eq!(fs::read_dir(&place.root).expect("it is there").count(), 3, "no other files are left");
    let data = result.data.expect("it has data");
    let names = json!(["gone.txt", "new/deep/name.txt", "new/file.txt", "old.txt", "one.txt", "run.sh"]);
    assert_eq!((&data["files_modified"], &data["rolled_back"]), (&names, &json!(false)));
    let diff = data["diff"].as_str().expect("it is short");
    assert!(diff.contains("--- a/gone.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n"), "{diff}");
}

/// If a link leads to the root, the root has two spellings. In the plan, a file has one name with either of them.
#[test]
fn absolute_names_below_the_root_become_relative() {
    let place = place();
    let root = place.root.to_str().expect("it is UTF-8").to_owned();
    for (patch, want) in [
        (
            format!("--- {root}/one.txt\n+++ {root}/one.txt\n@@ -2 +2 @@\n-two\n+2\n"),
            "Changed one.txt\n  hunk 1: line 2, fuzz 0\n",
        ),
        (
            format!("--- {root}//old.txt\n+++ b/old.txt\n@@ -1 +1 @@\n-old\n+new\n"),
            "Changed old.txt\n  hunk 1: line 1, fuzz 0\n",
        ),
        (
            format!(
                "*** Begin Patch\n*** Add File: {root}/new/a.txt\n+1\n*** Delete File: {root}/gone.txt\n*** End Patch\n"
            ),
            "Created new/a.txt\n  hunk 1: line 1, fuzz 0\nDeleted gone.txt\n",
        ),
    ] {
        let result = run(&place, "apply_patch", json!({"patch": patch}));
        assert_eq!((result.error, result.output.as_str()), (None, want));
    }
    let before = picture(&place.root);
    for patch in [
        format!("*** Begin Patch\n*** Update File: {root}/one.txt\n*** Move to: one.txt\n@@\n-2\n+3\n*** End Patch\n"),
        format!("--- {root}/../x\n+++ {root}/../x\n@@ -1 +1 @@\n-a\n+b\n"),
        format!("--- {root}\n+++ {root}\n@@ -1 +1 @@\n-a\n+b\n"),
        format!("--- {root}ed/x\n+++ {root}ed/x\n@@ -1 +1 @@\n-a\n+b\n"),
        "--- /etc/hostname\n+++ /etc/hostname\n@@ -1 +1 @@\n-a\n+b\n".to_owned(),
    ] {
        let (_, message) = failure(&place, "apply_patch", json!({"patch": patch}));
        assert_eq!(picture(&place.root), before, "{message}");
    }
}

#[test]
fn a_broken_hard_link_is_noted() {
    let place = place();
    fs::hard_link(place.at("old.txt"), place.at("other.txt")).expect("a hard link can be made");
    let patch = "--- a/old.txt\n+++ b/old.txt\n@@ -1 +1 @@\n-old\n+new\n";
    let note = "[old.txt had other names (hard links), which keep the old content.]\n";
    let result = run(&place, "apply_patch", json!({"patch": patch}));
    assert_eq!(result.output, format!("Changed old.txt\n  hunk 1: line 1, fuzz 0\n{note}"));
    assert_eq!((place.content("old.txt"), place.content("other.txt")), ("new\n".into(), "old\n".into()));
}

#[test]
fn a_dry_run_changes_nothing() {
    let place = place();
    let before = picture(&place.root);
    let result = run(&place, "apply_patch", json!({"patch": MANY, "dry_run": true}));
    assert!(result.output.starts_with("Dry run: nothing was written. The patch applies:\nChanged one.txt\n"));
    assert_eq!(result.data.expect("it has data")["files_modified"], json!([]));
    assert_eq!(picture(&place.root), before);
}

#[test]
fn a_refused_patch_changes_nothing() {
    let place = place();
    place.file(".env", "KEY=SECRETVALUE\n");
    place.link("old.txt", "link");
    place.file("locked.txt", "locked\n");
    fs::set_permissions(place.at("locked.txt"), PermissionsExt::from_mode(0o444)).expect("it is ours");
    let before = picture(&place.root);
    let also = |more: &str| format!("{MANY}{more}");
    for (patch, code, says) in [
        (
            also("--- a/old2.txt\n+++ b/old2.txt\n@@ -1 +1 @@\n-a\n+b\n"),
            ErrorCode::NotFound,
            "\"old2.txt\" does not exist",
        ),
        (
            also("--- a/run.sh\n+++ b/run.sh\n@@ -1 +1 @@\n-a\n+b\n"),
            ErrorCode::NoMatch,
            "hunk 1 (line 26 of the patch)",
        ),
        (also("--- a/.env\n+++ b/.env\n@@ -1 +1 @@\n-a\n+b\n"), ErrorCode::Denied, ".env"),
        (also("--- a/../x\n+++ b/../x\n@@ -1 +1 @@\n-a\n+b\n"), ErrorCode::PermissionDenied, "outside the project"),
        (
            also("--- a/locked.txt\n+++ b/locked.txt\n@@ -1 +1 @@\n-locked\n+b\n"),
            ErrorCode::PermissionDenied,
            "read-only",
        ),
        (
            "*** Begin Patch\n*** Delete File: link\n*** End Patch\n".into(),
            ErrorCode::InvalidArgument,
            "reached by a link",
        ),
        (also("--- a/link\n+++ b/link\n@@ -1 +1 @@\n-old\n+b\n"), ErrorCode::InvalidArgument, "are the same file"),
        ("nothing".into(), ErrorCode::InvalidArgument, "no patch is in it"),
    ] {
        let (got, message) = failure(&place, "apply_patch", json!({"patch": patch}));
        assert_eq!(got, code, "{message}");
        assert!(message.contains(says), "{message}");
        assert_eq!(picture(&place.root), before, "{message}");
    }
}

#[test]
fn a_patch_of_too_many_or_too_large_files_changes_nothing() {
    let place = Place::new();
    let many: String = (0..201).map(|number| format!("*** Add File: n{number}\n+x\n")).collect();
    let large: Vec<String> = (0..11).map(|number| format!("large{number}")).collect();
    large.iter().for_each(|name| place.file(name, "line\n".repeat((10 << 20) / 5)));
    let update = |name: &String| format!("*** Update File: {name}\n*** Move to: {name}.old\n");
    let names = || fs::read_dir(&place.root).expect("it is there").map(|entry| entry.expect("it is there").file_name());
    let before: BTreeSet<_> = names().collect();
    for (patch, says) in [(many, "200 files"), (large.iter().map(update).collect(), "100 MB of files")] {
        let patch = format!("*** Begin Patch\n{patch}*** End Patch\n");
        let (code, message) = failure(&place, "apply_patch", json!({"patch": patch}));
        assert_eq!(code, ErrorCode::TooLarge, "{message}");
        assert!(message.contains(says), "{message}");
        assert_eq!(names().collect::<BTreeSet<_>>(), before, "{message}");
    }
}

const DELETE: &str = "*** Begin Patch\n*** Delete File: x\n*** End Patch\n";

#[test]
fn names_are_relative_to_the_folder_of_the_patch() {
    for folder in ["src", "src/", "./src", ".//src/./", "link", "{root}/src", "{root}/link/"] {
        let place = Place::new();
        place.file("src/one.txt", "one\n");
        place.file("one.txt", "one\n");
        place.link("src", "link");
        let root = place.root.to_str().expect("it is UTF-8");
        let folder = folder.replace("{root}", root);
        let patch = "--- a/one.txt\n+++ b/one.txt\n@@ -1 +1 @@\n-one\n+1\n--- /dev/null\n+++ b/new/two.txt\n@@ -0,0 +1 @@\n+2\n";
        let result = run(&place, "apply_patch", json!({"patch": patch, "basePath": folder}));
        assert_eq!(result.error, None, "{folder}");
        let shown = if folder.contains("link") { "link" } else { "src" };
        let want = format!(
            "Changed {shown}/one.txt\n  hunk 1: line 1, fuzz 0\nCreated {shown}/new/two.txt\n  hunk 1: line 1, fuzz 0\n"
        );
        assert_eq!(result.output, want, "{folder}");
        let texts = ["src/one.txt", "src/new/two.txt", "one.txt"].map(|name| place.content(name));
        assert_eq!(texts, ["1\n", "2\n", "one\n"], "{folder}");
    }
}

#[test]
fn a_folder_of_a_patch_is_refused_like_any_path() {
    let place = Place::full();
    place.file("src/x", "x\n");
    place.file("src/.env", "KEY=SECRETVALUE\n");
    place.file(".ssh/x", "x\n");
    place.link("src/.env", "src/notes");
    let before = picture(&place.root);
    let update = "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-x\n+y\n";
    let create = "*** Begin Patch\n*** Add File: x\n+x\n*** End Patch\n";
    let of = |name: &str| DELETE.replace(": x", &format!(": {name}"));
    for (folder, patch, code, says) in [
        ("missing", update.to_owned(), ErrorCode::NotFound, "\"missing\" does not exist"),
        ("scr", update.to_owned(), ErrorCode::NotFound, "Did you mean \"src\"?"),
        ("src", update.replace("x", "z"), ErrorCode::NotFound, "\"src/z\" does not exist"),
        ("src/main.rs", update.to_owned(), ErrorCode::InvalidArgument, "\"src/main.rs\" is a file, not a folder"),
        ("src/main.rs", create.to_owned(), ErrorCode::InvalidArgument, "\"src/main.rs\" is a file, not a folder"),
        ("src/../src", update.to_owned(), ErrorCode::InvalidArgument, "\"src/../src\" leads upwards"),
        ("..", update.to_owned(), ErrorCode::PermissionDenied, "outside the project"),
        ("src/../..", update.to_owned(), ErrorCode::PermissionDenied, "outside the project"),
        ("~", create.to_owned(), ErrorCode::PermissionDenied, "outside the project"),
        ("/etc", create.to_owned(), ErrorCode::PermissionDenied, "outside the project"),
        ("etc", create.to_owned(), ErrorCode::PermissionDenied, "leads out of the project"),
        ("chain1", of("private.txt"), ErrorCode::PermissionDenied, "leads out of the project"),
        ("dangling", create.to_owned(), ErrorCode::InvalidArgument, "\"dangling/x\""),
        (".ssh", update.to_owned(), ErrorCode::Denied, ".ssh"),
        (".ssh/", create.to_owned(), ErrorCode::Denied, ".ssh"),
        ("src", of(".env"), ErrorCode::Denied, "src/.env"),
        (".//src/.", of("notes"), ErrorCode::Denied, "src/notes"),
        ("rel", of(".env"), ErrorCode::Denied, "rel/.env"),
        (".git", of("config"), ErrorCode::Denied, ".git/config"),
        ("src", of("../x"), ErrorCode::InvalidArgument, "\"../x\" leads upwards"),
        ("src", of("/etc/hosts"), ErrorCode::PermissionDenied, "outside the project"),
        ("rel", of("x"), ErrorCode::InvalidArgument, "reached by a link"),
    ] {
        let (got, message) = failure(&place, "apply_patch", json!({"patch": patch, "base_path": folder}));
        assert_eq!(got, code, "{folder}: {message}");
        assert!(message.contains(says), "{folder}: {message}");
        assert_eq!(picture(&place.root), before, "{folder}: {message}");
    }
    let result = run(&place, "apply_patch", json!({"patch": create, "base_path": "made/anew"}));
    assert_eq!((result.error, result.output.as_str()), (None, "Created made/anew/x\n  hunk 1: line 1, fuzz 0\n"));
    assert_eq!(place.content("made/anew/x"), "x\n");
}

/// Returns the path of a folder in another spelling.
fn respell_path(random: &mut Random, root: &str, folder: &str) -> String {
    let parts = folder.split('/').filter(|part| !part.is_empty());
    let mut path: String = parts.map(|part| format!("{part}{}", random.pick(&["/", "/", "//", "/./"]))).collect();
    if random.below(2) == 0 {
        path.truncate(path.trim_end_matches(['/', '.']).len());
    }
    let start = match random.below(6) {
        0 => format!("{root}/"),
        1 => "./".to_owned(),
        2 => ".//".to_owned(),
        _ => String::new(),
    };
    if path.is_empty() && start.is_empty() { ".".to_owned() } else { start + &path }
}

/// Returns a patch of a few files, each with a different form of head.
fn patch_of(random: &mut Random, names: &[&str]) -> String {
    let (a, b) = *random.pick(&[("a/", "b/"), ("", ""), ("i/", "w/")]);
    let mut unified = String::new();
    let mut begin = "*** Begin Patch\n".to_owned();
    let mut names = names.to_vec();
    for _ in 0..=random.below(2) {
        let [name, new] = [(); 2].map(|()| names.swap_remove(random.below(names.len())));
        let (as_unified, as_begin) = match random.below(4) {
            0 => (
                format!("--- /dev/null\n+++ {b}{name}\n@@ -0,0 +1 @@\n+new\n"),
                format!("*** Add File: {name}\n+new\n"),
            ),
            1 => (format!("--- {a}{name}\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n"), format!("*** Delete File: {name}\n")),
            2 => (
                format!("diff --git {a}{name} {b}{new}\nrename from {name}\nrename to {new}\n"),
                format!("*** Update File: {name}\n*** Move to: {new}\n"),
            ),
            _ => (
                format!("--- {a}{name}\n+++ {b}{name}\n@@ -1 +1 @@\n-one\n+two\n"),
                format!("*** Update File: {name}\n@@\n-one\n+two\n"),
            ),
        };
        unified.push_str(&as_unified);
        begin.push_str(&as_begin);
    }
    if random.below(2) == 0 { unified } else { begin + "*** End Patch\n" }
}

/// Returns the files that differ between two snapshots.
fn changed(before: &Picture, after: &Picture) -> BTreeSet<String> {
    let mut changed = BTreeSet::new();
    for (one, other) in [(before, after), (after, before)] {
        let differing =
            one.iter().filter(|(name, state)| !state.starts_with("folder") && other.get(*name) != Some(*state));
        changed.extend(differing.map(|(name, _)| name.to_str().expect("it is UTF-8").to_owned()));
    }
    changed
}

/// The workspace has no rules here, so only the policy can enforce them. It denies exactly the patches that would
/// change a denied name, whatever the spelling of the patch's folder.
#[test]
fn the_policy_judges_the_names_that_a_patch_in_a_folder_changes() {
    const FOLDERS: [&str; 9] = ["", "src", "src/deep", "a", "src/b", "link", "deep", "src/link", "new"];
    const NAMES: [&str; 10] =
        ["x", "y", "deep/x", "a/x", "b/x", "secret/x", "deep/secret/y", "link/x", "b/secret/new", "new"];
    let globs = ["src/**/secret", "deep/x", "a/b"];
    let rules = PathRules::new(&[], &globs.map(str::to_owned)).expect("they are globs");
    let settings = globs.into_iter().fold(Settings::default().ask(AskMode::Never), Settings::block_path);
    let policy = Policy::new(settings).expect("they are globs");
    let mut random = Random::new(71);
    let (mut applied, mut denied, mut refused) = (0, 0, 0);
    let mut place = Place::new();
    let mut tools = tools_on(&place);
    for turn in 0..300 {
        if turn % 10 == 0 {
            place = Place::new();
            tools = tools_on(&place);
        }
        for name in ["x", "y", "a/x", "b/x", "secret/x", "deep/secret/y"] {
            let path = format!("{}{name}", *random.pick(&["", "src/", "src/deep/", "a/", "src/b/", "deep/"]));
            if !place.at(&path).exists() {
                place.file(&path, "one\n");
            }
        }
        fs::create_dir_all(place.at("src/deep")).expect("it can be made");
        if turn % 10 == 0 {
            place.link("src/deep", "link");
            place.link("deep/..//../deep", "src/link");
        }
        let root = place.root.to_str().expect("it is UTF-8");
        let folder = *random.pick(&FOLDERS);
        let args =
            json!({"patch": patch_of(&mut random, &NAMES), "base_path": respell_path(&mut random, root, folder)});
        let verdict = policy.review(call("apply_patch", args.clone()), &tools.toolbox.catalog(), &*tools.host);
        let is_denied = matches!(verdict, Verdict::Denied(_));
        let cleared = tools.cleared("apply_patch", args.clone());
        let judged: BTreeSet<String> = cleared.decision().targets.iter().map(|target| target.name.clone()).collect();
        let before = picture(&place.root);
        let result = tools.carry_out(cleared);
        let changed = changed(&before, &picture(&place.root));
        if result.error.is_some() {
            assert_eq!(changed, BTreeSet::new(), "turn {turn}: {args}");
            refused += 1;
            continue;
        }
        applied += 1;
        assert!(!changed.is_empty(), "turn {turn}: {args}");
        assert_eq!(judged, changed, "turn {turn}: {args}");
        let is_blocked = changed.iter().any(|name| rules.blocks(name).is_some());
        assert!(is_denied || !is_blocked, "turn {turn}: {args} changes {changed:?}");
        denied += usize::from(is_blocked);
    }
    println!("{applied} applied, {denied} of them denied, {refused} refused");
    assert!(applied > 40 && denied > 10, "{applied} and {denied}");
}
