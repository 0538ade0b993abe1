//! Patches on real files: all of them or none, and what the model is told.

use super::answers::{failure, run};
use super::{Place, picture};
use serde_json::json;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use toolfence::ErrorCode;

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
    assert_eq!(fs::read_dir(&place.root).expect("it is there").count(), 3, "nothing is left beside the files");
    let data = result.data.expect("it has data");
    let names = json!(["gone.txt", "new/deep/name.txt", "new/file.txt", "old.txt", "one.txt", "run.sh"]);
    assert_eq!((&data["files_modified"], &data["rolled_back"]), (&names, &json!(false)));
    let diff = data["diff"].as_str().expect("it is short");
    assert!(diff.contains("--- a/gone.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n"), "{diff}");
}

/// The root has two spellings where a link leads to it, and a file one name in the plan.
#[test]
fn absolute_names_below_the_root_are_relative_ones() {
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
fn a_hard_link_is_broken_aloud() {
    let place = place();
    fs::hard_link(place.at("old.txt"), place.at("other.txt")).expect("a hard link can be made");
    let patch = "--- a/old.txt\n+++ b/old.txt\n@@ -1 +1 @@\n-old\n+new\n";
    let note = "[old.txt had other names (hard links); there the old content remains.]\n";
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
