//! Tests writing whole files: a write succeeds completely or changes nothing, and keeps some properties of the old
//! file.

use super::{Place, picture};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use toolfence_protocol::ErrorCode::{InvalidArgument, PermissionDenied, TooLarge};

#[test]
fn a_new_file_is_created_with_its_folders() {
    let place = Place::new();
    let written = place.workspace().changes().write("a/b/c.txt", "one\ntwo\n").expect("it is inside");
    assert_eq!((written.path.as_str(), written.created, written.added), ("a/b/c.txt", true, 2));
    assert_eq!(place.content("a/b/c.txt"), "one\ntwo\n");
    assert_eq!(picture(&place.root).len(), 3, "no temporary file is left");
}

#[test]
fn writes_keep_the_mode_line_endings_and_byte_order_mark() {
    let place = Place::new();
    place.file("run.sh", "\u{FEFF}one\r\ntwo\r\n");
    fs::set_permissions(place.at("run.sh"), fs::Permissions::from_mode(0o751)).expect("it is ours");
    let written = place.workspace().changes().write("run.sh", "one\n2\n").expect("it is inside");
    assert_eq!(place.content("run.sh"), "\u{FEFF}one\r\n2\r\n");
    assert!(written.kept_crlf && written.kept_bom && !written.created);
    assert_eq!(fs::metadata(place.at("run.sh")).expect("it is there").mode() & 0o7777, 0o751);
    let diff = written.diff.expect("it is small");
    assert!(diff.contains("-two\r\n+2\r\n"), "{diff:?}");
}

#[test]
fn mixed_endings_and_own_ones_are_left_alone() {
    let place = Place::new();
    for (old, new) in [("a\r\nb\n", "x\ny\n"), ("a\r\n", "x\r\ny\n"), ("a\n", "x\r\n")] {
        place.file("f", old);
        place.workspace().changes().write("f", new).expect("it is inside");
        assert_eq!(place.content("f"), new);
    }
}

#[test]
fn links_are_followed_and_broken_hard_links_noted() {
    let place = Place::new();
    place.file("real/target.txt", "old\n");
    place.link(place.at("real/target.txt"), "link");
    let written = place.workspace().changes().write("link", "new\n").expect("it is inside");
    assert_eq!((written.path.as_str(), place.content("real/target.txt").as_str()), ("real/target.txt", "new\n"));
    assert!(fs::symlink_metadata(place.at("link")).expect("it is there").is_symlink());
    fs::hard_link(place.at("real/target.txt"), place.at("other")).expect("a hard link can be made");
    let written = place.workspace().changes().write("other", "newer\n").expect("it is inside");
    assert_eq!((written.broken_links, place.content("real/target.txt").as_str()), (1, "new\n"));
}

#[test]
fn the_same_content_is_not_written_again() {
    let place = Place::new();
    place.file("f", "same\n");
    let before = fs::metadata(place.at("f")).expect("it is there").ino();
    let written = place.workspace().changes().write("f", "same\n").expect("it is inside");
    assert!(!written.changed && !written.created);
    assert_eq!(fs::metadata(place.at("f")).expect("it is there").ino(), before);
}

#[test]
fn ten_megabytes_and_not_one_byte_more() {
    let place = Place::new();
    let most = "x".repeat(10 << 20);
    assert!(place.workspace().changes().write("big", &most).is_ok());
    let failure = place.workspace().changes().write("bigger", &format!("{most}x")).expect_err("it is too long");
    assert_eq!(failure.code, TooLarge);
    assert_eq!(picture(&place.root).len(), 1);
}

#[test]
fn a_read_only_file_is_not_changed() {
    let place = Place::new();
    place.file("fixed", "old\n");
    fs::set_permissions(place.at("fixed"), fs::Permissions::from_mode(0o444)).expect("it is ours");
    let before = picture(&place.root);
    let failure = place.workspace().changes().write("fixed", "new\n").expect_err("it is read-only");
    assert_eq!((failure.code, picture(&place.root)), (PermissionDenied, before));
}

#[test]
fn binary_content_may_be_replaced_without_a_diff() {
    let place = Place::new();
    place.file("f", b"\xFF\xFE\0");
    let written = place.workspace().changes().write("f", "text\n").expect("it is inside");
    assert!(written.changed && written.diff.is_none());
}

/// White space at the start or end of a name is a mistake, so no such file is created. An existing file with such a
/// name can be read and written.
#[test]
fn white_space_at_an_end_makes_no_file() {
    let place = Place::new();
    place.file("docs/there", "old\n");
    let workspace = place.workspace();
    let added = |path: &str| {
        format!(
            "diff --git \"a/{path}\" \"b/{path}\"\nnew file mode 100644\n--- /dev/null\n+++ \"b/{path}\"\n@@ -0,0 +1 @@\n+x\n"
        )
    };
    let before = picture(&place.root);
    for (path, said, suggested) in [
        ("docs/there ", "Did you mean \"docs/there\", which exists?", Some("docs/there")),
        ("docs/new\u{a0}", "Write it without: \"docs/new\".", None),
        ("docs/\u{200b}new", "Write it without: \"docs/new\".", None),
        ("new /file", "Write it without: \"new/file\".", None),
        ("docs/  ", "Give a name that is not blank.", None),
        ("  ", "The path is blank", None),
        ("\u{200b}", "The path is blank", None),
        ("\u{2800}", "The path is blank", None),
        ("\u{3164}\u{115f} \u{ffa0}", "The path is blank", None),
    ] {
        let patch = workspace.changes().apply_patch(&added(path), false).map(drop);
        let dry = workspace.changes().apply_patch(&added(path), true).map(drop);
        for failure in [workspace.changes().write(path, "x\n").map(drop), patch, dry] {
            let failure = failure.expect_err(path);
            assert_eq!(failure.code, InvalidArgument, "{path:?}: {failure:?}");
            assert!(failure.message.to_string().contains(said), "{path:?}: {failure:?}");
            assert_eq!(failure.suggestions.first().map(String::as_str), suggested, "{path:?}");
        }
        assert!(workspace.root().folder(path).is_err() && workspace.root().named_file(path).is_err(), "{path:?}");
    }
    assert_eq!(workspace.root().folder(" ").map(drop).map_err(|failure| failure.code), Err(InvalidArgument));
    assert_eq!(workspace.root().named_file("\t").map_err(|failure| failure.code), Err(InvalidArgument));
    assert_eq!(picture(&place.root), before);

    place.file("loose ", "old\n");
    assert!(workspace.root().named_file("loose ").is_ok());
    workspace.changes().write("loose ", "new\n").expect("it exists");
    let patch = "--- \"a/loose \"\n+++ \"b/loose \"\n@@ -1 +1 @@\n-new\n+newer\n";
    workspace.changes().apply_patch(patch, false).expect("it exists");
    assert_eq!(place.content("loose "), "newer\n");
}
