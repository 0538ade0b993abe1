//! Compares patches with `diffy`, GNU patch and git, as a table for docs/figures.md.
//!
//! `cargo bench --manifest-path benches/Cargo.toml --features patch --bench patch`. The times of programs include some
//! milliseconds for their start and for reading and writing the file. The times of this crate include parsing the
//! patch. A missing program is shown as a dash; `refused` means that it does not apply the patch. `-- hostile` prints
//! the times for hostile texts at one size and at twice that size.

use std::fmt::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use toolfence_patch as patch;

const LINES: usize = 200_000;

/// A measured case: a file and a patch for it.
struct Shape {
    name: &'static str,
    text: String,
    patch: String,
}

fn main() {
    if std::env::args().any(|word| word == "hostile") {
        return hostile();
    }
    println!("| {LINES} lines | ours | diffy | GNU patch | git apply |\n|---|---|---|---|---|");
    let only = std::env::args().skip(1).find(|word| !word.starts_with('-'));
    for shape in shapes().iter().filter(|shape| only.as_ref().is_none_or(|only| shape.name.contains(only))) {
        let peers = [
            diffy(shape),
            program(shape, "patch", &["--quiet", "--force", "x", "p"]),
            program(shape, "git", &["apply", "p"]),
        ];
        println!("| {} | {} | {} |", shape.name, ours(shape), peers.join(" | "));
    }
}

/// Hostile patches: each row has a beginning, a piece that is repeated, and an end. The patch is parsed and applied to
/// a file of short lines.
const HOSTILE: [(&str, &str, &str); 22] = [
    ("", "\n", ""),
    ("", "@@\n", ""),
    ("", "@@ -1 +1 @@\n", ""),
    ("", "--- a\n", ""),
    ("", "--- a\n+++ b\n", ""),
    ("", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", ""),
    ("--- a/x\n+++ b/x\n@@ @@\n-a\n+b\n", "-- \n", ""),
    ("--- a/x\n+++ b/x\n@@ @@\n-a\n+b\n", "--\n1\n", ""),
    ("--- a/x\n+++ b/x\n@@ @@\n", "-- c\n+++ d\n", ""),
    ("--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n-a\n+b\n", "\nx\n", ""),
    ("", "```\n", ""),
    ("", "<<A\nx\nA\n", ""),
    ("", "diff --git a/x b/x\n", ""),
    ("", "*** Begin Patch\n--- a\n+++ b\n@@ @@\n-a\n+b\n*** End Patch\n", ""),
    ("*** Begin Patch\n*** Update File: x\n", "@@ a\n a\n+b\n", "*** End Patch\n"),
    ("*** Begin Patch\n*** Update File: x\n", "@@\n a\n+b\n", "*** End Patch\n"),
    ("*** Begin Patch\n*** Add File: x\n", "+\n", "*** End Patch\n"),
    ("--- \"", "\\303", "\"\n+++ b\n@@ @@\n-a\n+b\n"),
    ("--- ", "2024-01-31 12:00 ", "\n+++ b\n@@ @@\n-a\n+b\n"),
    ("--- a/x\n+++ b/x\n@@ @@\n", " a\n", "-b\n"),
    ("--- a/x\n+++ b/x\n@@ @@\n", " a\n+  b\n", ""),
    ("--- a/x\n+++ b/x\n", "@@ -9,1 +9,2 @@\n a\n+b\n", ""),
];

fn hostile() {
    println!("| repeated | 2 MB | 4 MB |\n|---|---|---|");
    for (before, piece, after) in HOSTILE {
        let times = [2 << 20, 4 << 20].map(|size| {
            let patch = format!("{before}{}{after}", piece.repeat(size / piece.len()));
            let text = " a\n".repeat(size / 3);
            let started = Instant::now();
            if let Ok(patch) = patch::parse(&patch) {
                for file in patch.files.iter().take(20) {
                    let _ = toolfence_patch::apply(&file.hunks, text.as_bytes());
                }
            }
            started.elapsed().as_secs_f64()
        });
        println!("| {piece:?} | {:.3} s | {:.3} s |", times[0], times[1]);
    }
}

fn shapes() -> Vec<Shape> {
    let numbered = |n: usize| format!("    let value_{n} = {};\n", n % 97);
    let distinct: String = (0..LINES).map(numbered).collect();
    let same = |n: usize| if n % 2000 == 1000 { format!("the line {n}\n") } else { "    same();  \n".to_owned() };
    let alike: String = (0..LINES).map(same).collect();
    let runs: String = (0..LINES).map(|n| if n % 800 == 799 { "other\n" } else { "same\n" }).collect();
    let clean = hunks(&distinct, 1000, |line| line);
    let loose = |text: String| text.replace("same();  ", "same();");
    let shape = |name, text: &String, patch| Shape { name, text: text.clone(), patch };
    vec![
        shape("1,000 clean hunks", &distinct, clean),
        shape("1,000 hunks with wrong numbers", &distinct, hunks(&distinct, 1000, |line| (line * 7 + 3) % LINES)),
        shape("1,000 hunks without numbers", &distinct, without_numbers(&hunks(&distinct, 1000, |line| line))),
        shape("100 fuzzy hunks, a line of each is rare", &alike, loose(hunks(&alike, 100, |line| line))),
        shape("the same with wrong numbers", &alike, loose(hunks(&alike, 100, |line| (line * 7 + 3) % LINES))),
        shape("100 fuzzy hunks of only identical lines", &alike, loose(hunks_at(&alike, 100, 200, |line| line))),
        shape("one failing hunk of 801 lines", &distinct, failing(&distinct)),
        shape("one failing hunk of 801 identical lines", &runs, repeated(801)),
        shape("one hunk of 700 identical lines, no number", &runs, without_numbers(&repeated(700))),
    ]
}

fn hunks(text: &str, count: usize, number: impl Fn(usize) -> usize) -> String {
    hunks_at(text, count, LINES / count / 2, number)
}

/// Returns hunks of three lines of context around one changed line, at equal distances.
fn hunks_at(text: &str, count: usize, first: usize, number: impl Fn(usize) -> usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let mut patch = String::from("--- a/x\n+++ b/x\n");
    for at in (0..count).map(|n| n * (LINES / count) + first) {
        let stated = number(at - 2);
        let _ = writeln!(patch, "@@ -{stated},7 +{stated},7 @@");
        for (offset, line) in lines[at - 3..=at + 3].iter().enumerate() {
            let _ = if offset == 3 { writeln!(patch, "-{line}\n+changed {at}") } else { writeln!(patch, " {line}") };
        }
    }
    patch
}

fn without_numbers(patch: &str) -> String {
    let bare = |line: &str| if line.starts_with("@@ ") { "@@ -,7 +,7 @@\n".to_owned() } else { format!("{line}\n") };
    patch.lines().map(bare).collect()
}

/// Returns a patch whose lines occur in the file, except for one.
fn failing(text: &str) -> String {
    let mut patch = String::from("--- a/x\n+++ b/x\n@@ -100000,801 +100000,801 @@\n");
    for (offset, line) in text.lines().skip(100_000).take(801).enumerate() {
        let _ = match offset {
            400 => writeln!(patch, "-{line} // gone\n+changed"),
            _ => writeln!(patch, " {line}"),
        };
    }
    patch
}

fn repeated(lines: usize) -> String {
    format!("--- a/x\n+++ b/x\n@@ -90000,{lines} +90000,{} @@\n{}-same\n", lines - 1, " same\n".repeat(lines - 1))
}

fn ours(shape: &Shape) -> String {
    let run = || {
        let patch = patch::parse(&shape.patch).expect("a patch");
        toolfence_patch::apply(&patch.files[0].hunks, shape.text.as_bytes()).is_ok()
    };
    timed(run)
}

fn diffy(shape: &Shape) -> String {
    if shape.patch.contains("@@ -,") {
        return "refused".into();
    }
    timed(|| diffy::Patch::from_str(&shape.patch).is_ok_and(|patch| diffy::apply(&shape.text, &patch).is_ok()))
}

fn program(shape: &Shape, name: &str, arguments: &[&str]) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("the disk has room");
    write("p", &shape.patch);
    let run = || {
        write("x", &shape.text);
        let started = Instant::now();
        let status = started_in(folder.path(), name, arguments);
        (started.elapsed(), status)
    };
    let (first, Some(done)) = run() else { return "–".into() };
    let best = if first > Duration::from_secs(2) { first } else { (0..3).map(|_| run().0).fold(first, Duration::min) };
    format_time(best, done)
}

fn started_in(folder: &Path, name: &str, arguments: &[&str]) -> Option<bool> {
    let mut command = Command::new(name);
    command.args(arguments).current_dir(folder).env("GIT_CEILING_DIRECTORIES", folder.parent()?);
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    Some(quiet.status().ok()?.success())
}

fn timed(run: impl Fn() -> bool) -> String {
    let once = || {
        let started = Instant::now();
        let done = run();
        (started.elapsed(), done)
    };
    let (first, done) = once();
    let rounds = if first > Duration::from_secs(1) { 0 } else { 9 };
    format_time((0..rounds).map(|_| once().0).fold(first, Duration::min), done)
}

fn format_time(time: Duration, done: bool) -> String {
    format!("{:.4} s{}", time.as_secs_f64(), if done { "" } else { ", refused" })
}
