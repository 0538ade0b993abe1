//! Compares listing, searching, reading and editing with `find`, `rg`, `grep`, `sed` and the underlying crates, as a
//! table for docs/figures.md.
//!
//! `cargo bench --manifest-path benches/Cargo.toml --features tools --bench files`. It creates a tree of 20,000 files,
//! or uses the folder in the environment variable `TREE`; `-- list` prints one of the parts list, search, read and
//! edit. Times are CPU time of all threads and programs, including their start, so other load and waiting for the disk
//! do not count. All files are in the page cache. A missing program is shown as a dash.

#[path = "shared/cpu.rs"]
mod cpu;

use cpu::turn;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use toolfence_policy::rules::PathRules;
use toolfence_workspace::Workspace;
use toolfence_workspace::{EditFile, EditLines, ListFiles, ReadFile, ReplaceText, SearchFiles, Stop};

fn main() {
    let home = tempfile::tempdir().expect("a folder");
    let tree = std::env::var_os("TREE").map_or_else(|| planted(home.path()), PathBuf::from);
    let hands = Hands { workspace: Workspace::open(&tree, PathRules::default()).expect("a folder"), tree };
    println!("| ms of CPU | ours | {} |", PEERS.join(" | "));
    println!("|---|---:|{}", "---:|".repeat(PEERS.len()));
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let parts: [(&str, &dyn Fn()); 4] = [
        ("list", &|| hands.listing()),
        ("search", &|| hands.searching()),
        ("read", &|| reading(home.path())),
        ("edit", &|| editing(home.path())),
    ];
    for (_, part) in parts.iter().filter(|(name, _)| words.is_empty() || words.iter().any(|word| word == name)) {
        part();
    }
}

/// Seconds per measurement, because the clock has a resolution of hundredths of a second.
const LONG: f64 = 1.0;

const PEERS: [&str; 4] = ["limit or crates alone", "find / sed / grep", "rg", "ours / best peer"];

struct Hands {
    workspace: Workspace,
    tree: PathBuf,
}

impl Hands {
    fn listing(&self) {
        let ours = || {
            let wanted =
                ListFiles { limit: usize::MAX, include_hidden: true, respect_gitignore: false, ..ListFiles::new(".") };
            self.workspace.files().list(&wanted, &Stop::default()).expect("the root is listed").entries.len()
        };
        let crates = || {
            let walk = ignore::WalkBuilder::new(&self.tree).standard_filters(false).sort_by_file_name(Ord::cmp).build();
            walk.flatten().filter(|entry| entry.metadata().is_ok_and(|meta| meta.len() < u64::MAX)).count()
        };
        let find = || program(&self.tree, "find", &[".", "-printf", "%y %s %p\n"]);
        row("list all, with type and size", &ours, &crates, &find, &|| 0);
        let names = || program(&self.tree, "rg", &["--files", "-uu"]);
        row("the same, of rg only the names", &ours, &|| 0, &|| 0, &names);
        let first =
            || self.workspace.files().list(&ListFiles::new("."), &Stop::default()).map_or(0, |list| list.entries.len());
        let find = || program(&self.tree, "bash", &["-c", "find . -printf '%y %s %p\n' | head -200"]);
        row("list the first 200", &first, &|| 0, &find, &|| 0);
    }

    fn searching(&self) {
        let search = |pattern: &str| {
            let wanted = SearchFiles { literal: true, ..SearchFiles::new(pattern) };
            self.workspace.files().search(&wanted, &Stop::default()).expect("the root is searched").matches
        };
        let rare = || search("needle_in_the_tree");
        let crates = || self.search_with_crates("needle_in_the_tree");
        let grep = || program(&self.tree, "grep", &["-rnFI", "needle_in_the_tree", "."]);
        let rg = || program(&self.tree, "rg", &["-nF", "needle_in_the_tree"]);
        row("search all for a rare text", &rare, &crates, &grep, &rg);
        let frequent = || search("value_7");
        let grep = || program(&self.tree, "bash", &["-c", "grep -rnFI value_7 . | head -50"]);
        let rg = || program(&self.tree, "bash", &["-c", "rg -nF --sort path value_7 | head -50"]);
        row("the first 50 of a frequent text, sorted", &frequent, &|| 0, &grep, &rg);
    }

    /// Uses the underlying walker and searcher directly, without the rules of the workspace.
    fn search_with_crates(&self, pattern: &str) -> usize {
        let matcher = grep_regex::RegexMatcherBuilder::new().fixed_strings(true).build(pattern).expect("a text");
        let mut searcher = grep_searcher::Searcher::new();
        let mut found = 0;
        let walk = ignore::WalkBuilder::new(&self.tree).sort_by_file_name(Ord::cmp).build();
        for entry in walk.flatten().filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file())) {
            let sink = grep_searcher::sinks::Bytes(|_, _| {
                found += 1;
                Ok(true)
            });
            searcher.search_path(&matcher, entry.path(), sink).expect("the file is readable");
        }
        found
    }
}

fn reading(home: &Path) {
    let root = home.join("large");
    fs::create_dir_all(&root).expect("the disk has room");
    let mut file = std::io::BufWriter::new(File::create(root.join("log")).expect("the disk has room"));
    for number in 0..4_000_000_u64 {
        writeln!(file, "{number:>9} {:>39}", number.wrapping_mul(0x9e37_79b9) % 1_000_000_007)
            .expect("the disk has room");
    }
    drop(file);
    let workspace = Workspace::open(&root, PathRules::default()).expect("a folder");
    let range = |count_lines| {
        let wanted =
            ReadFile { start_line: Some(100_000), end_line: Some(100_200), count_lines, ..ReadFile::new("log") };
        workspace.files().read(&wanted, &Stop::default()).expect("it is text").text.len()
    };
    let limit = || counted(&root.join("log"), 100_200);
    let sed = || program(&root, "sed", &["-n", "100000,100200p;100200q", "log"]);
    row("lines 100,000 to 100,200 of 200 MB", &|| range(false), &limit, &sed, &|| 0);
    let all = || counted(&root.join("log"), usize::MAX);
    let wc = || program(&root, "wc", &["-l", "log"]);
    row("the same, with all lines counted", &|| range(true), &all, &wc, &|| 0);
}

/// Does the minimal work of any reader: reads bytes and counts their line feeds.
fn counted(path: &Path, most: usize) -> usize {
    let mut file = File::open(path).expect("the file exists");
    let (mut buffer, mut lines) = (vec![0; 128 << 10], 0);
    while lines < most {
        let read = file.read(&mut buffer).expect("the file is readable");
        if read == 0 {
            break;
        }
        lines += memchr::memchr_iter(b'\n', &buffer[..read]).count();
    }
    lines
}

fn editing(home: &Path) {
    let root = home.join("edit");
    fs::create_dir_all(&root).expect("the disk has room");
    let text: String = (0..25_000).map(|number| format!("    let value_{number} = {number};\n")).collect();
    fs::write(root.join("x"), &text).expect("the disk has room");
    let workspace = Workspace::open(&root, PathRules::default()).expect("a folder");
    let turn = std::cell::Cell::new(0_usize);
    let next = || {
        turn.set(turn.get() + 1);
        turn.get()
    };
    let lines = || {
        let edit = EditLines { start_line: 12_000, end_line: 12_000, replacement: format!("line {}", next()) };
        workspace.changes().edit(&EditFile::new("x", vec![edit])).map_or(0, |written| written.added as usize)
    };
    let sed = || program(&root, "sed", &["-i", &format!("12000c line {}", next()), "x"]);
    let raw = || {
        // For comparison: only the same safe write and rename, without the edit.
        let text = fs::read(root.join("x")).expect("the file exists");
        let mut file = File::create(root.join("y")).expect("the disk has room");
        file.write_all(&text).and_then(|()| file.sync_all()).expect("the disk has room");
        fs::rename(root.join("y"), root.join("x")).expect("the file exists");
        text.len()
    };
    row("one line of 25,000 replaced (fsync, not so sed)", &lines, &raw, &sed, &|| 0);
    let passage = || {
        let (one, other) = if next() % 2 == 0 { ("_20000 =", "_20000  =") } else { ("_20000  =", "_20000 =") };
        workspace.changes().replace_text(&ReplaceText::new("x", one, other)).map_or(1, |written| written.added as usize)
    };
    row("one passage replaced", &passage, &raw, &|| 0, &|| 0);
}

/// Creates 20,000 files in 1,300 folders, 160 MB.
fn planted(home: &Path) -> PathBuf {
    let tree = home.join("tree");
    for folder in 0..1_300 {
        let path = tree.join(format!("d{}/e{}/f{folder}", folder % 7, folder % 91));
        fs::create_dir_all(&path).expect("the disk has room");
        for number in 0..15 {
            let lines = 40 + (folder * 31 + number * 17) % 400;
            let mut text: String = (0..lines)
                .map(|line| format!("    let value_{} = compute({line}, {number});\n", line * 13 % 97))
                .collect();
            if (folder, number) == (1_000, 7) {
                text.push_str("needle_in_the_tree\n");
            }
            fs::write(path.join(format!("file{number}.rs")), text).expect("the disk has room");
        }
    }
    tree
}

/// Returns the length of a program's output in bytes; 0 if it is not installed.
fn program(folder: &Path, name: &str, arguments: &[&str]) -> usize {
    let wants = arguments.last().is_some_and(|last| last.starts_with("rg "));
    if wants && program(folder, "rg", &["--version"]) == 0 {
        return 0;
    }
    let mut command = Command::new(name);
    command.args(arguments).current_dir(folder).stdin(Stdio::null()).stderr(Stdio::null());
    command.output().map_or(0, |output| output.stdout.len().max(1))
}

fn row(
    name: &str,
    ours: &dyn Fn() -> usize,
    limit: &dyn Fn() -> usize,
    program: &dyn Fn() -> usize,
    rg: &dyn Fn() -> usize,
) {
    let works = [ours, limit, program, rg];
    let there = works.map(|work| work() > 0);
    let mut best = [f64::INFINITY; 4];
    for _ in 0..3 {
        for at in (0..4).filter(|at| there[*at]) {
            best[at] = best[at].min(turn(LONG, works[at]));
        }
    }
    let shown = |at: usize| if there[at] { format!("{:.2}", best[at] * 1e3) } else { "–".into() };
    let peer = best[1..].iter().copied().fold(f64::INFINITY, f64::min);
    let ratio = if peer.is_finite() { format!("{:.2}", best[0] / peer) } else { "–".into() };
    println!("| {name} | {} | {} | {} | {} | {ratio} |", shown(0), shown(1), shown(2), shown(3));
}
