//! Tests listing and searching: order, limits, and skipped files.

use super::Place;
use toolfence_protocol::ErrorCode::{Cancelled, InvalidArgument};
use toolfence_workspace::EntryKind;
use toolfence_workspace::{ListFiles, Listing, SearchFiles, SearchResults, Stop};

fn list(place: &Place, wanted: &ListFiles) -> Listing {
    place.workspace().files().list(wanted, &Stop::default()).expect("it can be listed")
}

fn paths(place: &Place, wanted: &ListFiles) -> Vec<String> {
    list(place, wanted).entries.into_iter().map(|entry| entry.path).collect()
}

fn search(place: &Place, wanted: &SearchFiles) -> SearchResults {
    place.workspace().files().search(wanted, &Stop::default()).expect("it can be searched")
}

fn lines(place: &Place, wanted: &SearchFiles) -> Vec<String> {
    let found = search(place, wanted);
    found.lines.iter().map(|line| format!("{}:{}:{}", line.path, line.line, line.text)).collect()
}

fn tree() -> Place {
    let place = Place::new();
    for path in ["b.txt", "a/z.rs", "a/b/c.rs", "a.rs", "target/x.rs", "sub/keep.log", "sub/drop.log", ".hidden/h.rs"] {
        place.file(path, "needle here\n");
    }
    place.file(".gitignore", "target/\n*.log\n");
    place.file("sub/.gitignore", "!keep.log\n");
    place.file(".git/HEAD", "ref\n");
    place.file(".git/info/exclude", "b.txt\n");
    place
}

#[test]
fn a_listing_is_sorted_and_leaves_out_what_git_ignores() {
    let place = tree();
    let wanted = ListFiles::new(".");
    assert_eq!(paths(&place, &wanted), ["a", "a/b", "a/b/c.rs", "a/z.rs", "a.rs", "sub", "sub/keep.log"]);
    let all = ListFiles { respect_gitignore: false, include_hidden: true, ..wanted.clone() };
    let all = paths(&place, &all);
    assert!(
        all.contains(&"target/x.rs".into()) && all.contains(&".hidden/h.rs".into()) && all.contains(&".git".into())
    );
    assert!(!all.iter().any(|path| path.starts_with(".git/")), "{all:?}");
    let shallow = ListFiles { max_depth: Some(1), ..wanted };
    assert_eq!(paths(&place, &shallow), ["a", "a.rs", "sub"]);
    assert_eq!(paths(&place, &ListFiles::new("sub")), ["sub/keep.log"]);
}

#[test]
fn globs_in_the_pattern_and_in_the_path() {
    let place = tree();
    let by_pattern =
        |path: &str, glob: &str| paths(&place, &ListFiles { pattern: Some(glob.into()), ..ListFiles::new(path) });
    assert_eq!(by_pattern(".", "*.rs"), ["a/b/c.rs", "a/z.rs", "a.rs"]);
    assert_eq!(by_pattern(".", "a/*.rs"), ["a/z.rs"]);
    assert_eq!(by_pattern("a", "a/**/*.rs"), ["a/b/c.rs", "a/z.rs"]);
    assert_eq!(by_pattern(".", "*.{txt,log}"), ["sub/keep.log"]);
    assert_eq!(paths(&place, &ListFiles::new("a/*.rs")), ["a/z.rs"]);
    assert_eq!(paths(&place, &ListFiles::new("*.rs")), ["a.rs"]);
    let wrong = ListFiles { pattern: Some("{a".into()), ..ListFiles::new(".") };
    let failure = place.workspace().files().list(&wrong, &Stop::default()).expect_err("it is no glob");
    assert_eq!(failure.code, InvalidArgument);
}

#[test]
fn listings_have_kinds_sizes_and_blocked_names() {
    let place = Place::full();
    let wanted = ListFiles { include_hidden: true, max_depth: Some(1), ..ListFiles::new(".") };
    let listing = list(&place, &wanted);
    let get = |path: &str| {
        let entry = listing.entries.iter().find(|entry| entry.path == path).expect(path);
        (entry.kind, entry.size, entry.blocked)
    };
    assert_eq!(get("plain.txt"), (EntryKind::File, Some(6), false));
    assert_eq!(get("src"), (EntryKind::Folder, None, false));
    assert_eq!(get("etc"), (EntryKind::Link, None, false));
    assert_eq!(get("fifo"), (EntryKind::Other, None, false));
    assert_eq!(get(".env"), (EntryKind::File, None, true));
}

#[test]
fn beyond_the_limit_the_topmost_entries_stay() {
    let place = Place::new();
    for number in 0..150 {
        place.file(&format!("deep/in/here/{number:03}"), "");
        place.file(&format!("top{number:03}"), "");
    }
    let listing = list(&place, &ListFiles::new("."));
    assert_eq!((listing.entries.len(), listing.truncated), (200, true));
    assert_eq!(listing.entries.iter().filter(|entry| entry.path.starts_with("top")).count(), 150);
    let exact = ListFiles { limit: 303, ..ListFiles::new(".") };
    assert_eq!((list(&place, &exact).entries.len(), list(&place, &exact).truncated), (303, false));
    let one_less = ListFiles { limit: 302, ..ListFiles::new(".") };
    assert!(list(&place, &one_less).truncated);
}

#[test]
fn a_search_is_sorted_and_searches_what_a_listing_shows() {
    let place = tree();
    let all = ["a/b/c.rs:1:needle here", "a/z.rs:1:needle here", "a.rs:1:needle here", "sub/keep.log:1:needle here"];
    assert_eq!(lines(&place, &SearchFiles::new("n[e]+dle")), all);
    let narrow = SearchFiles { glob: Some("*.rs".into()), path: "a".into(), ..SearchFiles::new("needle") };
    assert_eq!(lines(&place, &narrow), all[..2]);
    let single = SearchFiles { path: "target/x.rs".into(), ..SearchFiles::new("needle") };
    assert_eq!(lines(&place, &single), ["target/x.rs:1:needle here"]);
}

#[test]
fn searches_can_be_literal_ignore_case_and_show_context() {
    let place = Place::new();
    place.file("f", "one\ntwo (x\nTHREE\nfour\nfive\nsix\nseven (x\n");
    let literal = SearchFiles { literal: true, ..SearchFiles::new("(x") };
    assert_eq!(lines(&place, &literal), ["f:2:two (x", "f:7:seven (x"]);
    let failure =
        place.workspace().files().search(&SearchFiles::new("(x"), &Stop::default()).expect_err("it is no regex");
    assert_eq!((failure.code, failure.suggestions), (InvalidArgument, vec!["type=literal".to_owned()]));
    let ignoring = SearchFiles { ignore_case: true, ..SearchFiles::new("^three$") };
    assert_eq!(lines(&place, &ignoring), ["f:3:THREE"]);
    let around = search(&place, &SearchFiles { context: 1, ..literal });
    let shape: Vec<_> = around.lines.iter().map(|line| (line.line, line.matched, line.gap)).collect();
    assert_eq!(shape, [(1, false, false), (2, true, false), (3, false, false), (6, false, true), (7, true, false)]);
}

#[test]
fn exactly_the_limit_after_a_full_walk_is_not_truncated() {
    let place = Place::new();
    place.file("a", "hit\n".repeat(30));
    place.file("b", "hit\n".repeat(20));
    let found = search(&place, &SearchFiles::new("hit"));
    assert_eq!((found.matches, found.lines.len(), found.truncated), (50, 50, false));
    place.file("c", "before\nhit\n");
    let found = search(&place, &SearchFiles { context: 1, ..SearchFiles::new("hit") });
    assert_eq!((found.matches, found.truncated), (50, true));
    assert!(found.lines.iter().all(|line| line.path != "c"), "context of a match beyond the limit is not returned");
}

#[test]
fn secrets_binaries_and_endless_lines_are_skipped() {
    let place = Place::full();
    place.file("binary", b"SECRET\0VALUE SECRETVALUE");
    place.file("line", "x".repeat(9 << 20) + "needle\n");
    let found = search(&place, &SearchFiles::new("SECRETVALUE|needle"));
    assert!(found.lines.is_empty(), "{:?}", found.lines);
    assert_eq!((found.binary, found.long_lines), (1, 1));
    assert_eq!(found.binary_names, ["binary"]);
    assert!(found.blocked >= 1, "the hard link of a secret is one");
}

#[test]
fn utf_16_text_with_a_byte_order_mark_is_searched() {
    let place = Place::new();
    let wide = |mark: &str, order: fn(u16) -> [u8; 2]| -> Vec<u8> {
        format!("{mark}one\ntwo hits\n").encode_utf16().flat_map(order).collect()
    };
    place.file("be", wide("\u{FEFF}", u16::to_be_bytes));
    place.file("le", wide("\u{FEFF}", u16::to_le_bytes));
    place.file("latin", b"caf\xE9 hits\n");
    place.file("unmarked", wide("", u16::to_le_bytes));
    assert_eq!(
        lines(&place, &SearchFiles::new("hits")),
        ["be:2:two hits", "latin:1:caf\u{FFFD} hits", "le:2:two hits"]
    );
}

#[test]
fn work_that_is_stopped_ends_at_once() {
    let place = Place::new();
    for folder in 0..40 {
        for file in 0..50 {
            place.file(&format!("{folder}/{file}"), "x\n");
        }
    }
    let workspace = place.workspace();
    let stop = Stop::default();
    assert!(workspace.files().list(&ListFiles { limit: 9999, ..ListFiles::new(".") }, &stop).is_ok());
    assert_eq!(stop.visited(), 2040);
    stop.stop();
    let listed = workspace.files().list(&ListFiles::new("."), &stop).map(drop).map_err(|failure| failure.code);
    let found = workspace.files().search(&SearchFiles::new("x"), &stop).map(drop).map_err(|failure| failure.code);
    assert_eq!((listed, found), (Err(Cancelled), Err(Cancelled)));
    assert_eq!(stop.visited(), 2040, "nothing was walked");
}

#[test]
fn a_pattern_that_would_cost_too_much_is_refused() {
    let place = Place::new();
    for pattern in ["(a{1000}){1000}", "", "a\nb"] {
        let failure =
            place.workspace().files().search(&SearchFiles::new(pattern), &Stop::default()).expect_err(pattern);
        assert_eq!(failure.code, InvalidArgument, "{}", failure.message);
    }
}
