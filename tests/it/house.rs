//! The rules of the house, kept by a machine: who may know whom.

mod source;

use source::{code_only, paths, without_tests};
use std::path::{Path, PathBuf};

/// The floors from the ground up. A module names only modules of lower floors and itself; the words name each other.
const FLOORS: &[&[&str]] = &[
    &["error", "call", "outcome", "message", "fence", "clip", "redact", "globs"],
    &["json"],
    &["tool"],
    &["parse", "format", "prompt", "patch", "grammar", "validate"],
    &["policy", "persona"],
    &["session"],
    // The line: below it no runtime, no files, no processes, no clock, no environment.
    &["toolbox"],
    &["process", "walls", "git"],
    &["workspace"],
    &["tools", "trial", "undo"],
    &["backend", "audit"],
    &["agent", "store"],
    &["http", "mcp", "proxy", "pipe"],
];

/// How many floors lie below the line.
const BELOW: usize = 6;

/// What no file below the line names.
const WORLD: &[&str] = &[
    "std::fs",
    "std::process",
    "std::net",
    "std::env",
    "std::thread",
    "std::os",
    "std::io::stdin",
    "std::io::stdout",
    "std::time::Instant",
    "std::time::SystemTime",
];

/// The dependencies a file below the line may name.
const PURE: &[&str] = &[
    "serde",
    "serde_json",
    "memchr",
    "nom",
    "brush_parser",
    "glob",
    "regex",
    "toml",
    "unicode_normalization",
    "similar",
    "saphyr_parser",
];

fn floor(module: &str) -> Option<usize> {
    FLOORS.iter().position(|floor| floor.contains(&module))
}

/// `src/parse/event.rs` and `src/parse.rs` belong to `parse`.
fn module_of(file: &str) -> &str {
    let inside = file.strip_prefix("src/").unwrap_or(file);
    inside.split(['/', '.']).next().unwrap_or(inside)
}

fn names(path: &str, what: &str) -> bool {
    path.strip_prefix(what).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
}

/// A file of the library names only what its floor may know.
fn wrong_imports(file: &str, source: &str, dependencies: &[String]) -> Vec<String> {
    let module = module_of(file);
    let Some(own) = floor(module) else {
        return vec![format!("{file}: {module} has no floor; give it one in FLOORS")];
    };
    let mut wrong = Vec::new();
    let at_the_top = file.matches('/').count() == 1 || file.ends_with("/mod.rs");
    for path in paths(source) {
        let path = if at_the_top { path.replacen("super::", "crate::", 1) } else { path };
        if let Some(other) = path.strip_prefix("crate::").and_then(|rest| rest.split("::").next())
            && let Some(theirs) = floor(other)
            && (theirs > own || (theirs == own && own > 0 && other != module))
        {
            wrong.push(format!("{file}: {module} must not know {other}: {path}"));
        }
        let is_pure = |name: &str| PURE.contains(&name) || name.starts_with("tree_sitter");
        let impure = |name: &String| !is_pure(name) && names(&path, name);
        if own < BELOW && (WORLD.iter().any(|world| names(&path, world)) || dependencies.iter().any(impure)) {
            wrong.push(format!("{file}: below the line nothing names {path}"));
        }
    }
    wrong
}

/// Tools do not know each other: `tool_files` are the names of the files in `tools/` that hold one.
fn tools_knowing_tools(file: &str, source: &str, tool_files: &[String]) -> Vec<String> {
    let Some(own) = file.strip_prefix("src/tools/").and_then(|rest| rest.split(['/', '.']).next()) else {
        return Vec::new();
    };
    let others = tool_files.iter().filter(|name| name.as_str() != own && own != "mod");
    let named = |name: &str| {
        paths(source)
            .into_iter()
            .find(|path| ["super::", "crate::tools::"].iter().any(|base| names(path, &format!("{base}{name}"))))
    };
    others.filter_map(|name| named(name).map(|path| format!("{file}: a tool must not know another: {path}"))).collect()
}

fn unsafe_outside_the_walls(file: &str, source: &str) -> Vec<String> {
    let code = code_only(source);
    let word = |text: &str| text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == "unsafe");
    // Their tests make calls that no safe crate has, to see them refused.
    let theirs = ["src/walls/", "tests/it/walls/"].iter().any(|folder| file.starts_with(folder));
    let lines = code.lines().enumerate().filter(|(_, line)| !theirs && word(line));
    lines.map(|(index, _)| format!("{file}:{}: unsafe", index + 1)).collect()
}

/// Work that was put off, and lints that were silenced without a reason.
fn loose_ends(file: &str, source: &str) -> Vec<String> {
    let put_off = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X:")];
    let lines = source.lines().enumerate().map(|(index, line)| (index + 1, line));
    let mut wrong: Vec<String> = lines
        .filter(|(_, line)| put_off.iter().any(|word| line.contains(word)))
        .map(|(line, _)| format!("{file}:{line}: work put off"))
        .collect();
    let code = code_only(source);
    for (at, _) in code.match_indices("[allow(").chain(code.match_indices("[expect(")) {
        let attribute = code[at..].split(']').next().unwrap_or_default();
        if !attribute.contains("reason") {
            wrong.push(format!("{file}: {attribute}] has no reason"));
        }
    }
    wrong
}

/// Every line of a dependency or feature has its sentence of why, behind it or in the line above.
fn without_a_why(manifest: &str) -> Vec<String> {
    let mut section = "";
    let mut above = "";
    let mut wrong = Vec::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            section = line;
        }
        let listed = section.contains("dependencies") || section == "[features]";
        let entry = line.contains(" = ") && !line.starts_with('#');
        let why = line.rsplit_once('#').is_some_and(|(_, why)| why.trim().len() > 3 && !why.contains('"'));
        if listed && entry && !why && !(section == "[features]" && above.starts_with('#')) {
            wrong.push(format!("{section} {line}"));
        }
        above = line;
    }
    wrong
}

fn dependencies(manifest: &str) -> Vec<String> {
    let section = manifest.split("\n[dependencies]\n").nth(1).and_then(|rest| rest.split("\n[").next());
    let lines = section.unwrap_or_default().lines();
    lines.filter_map(|line| line.split_once(" = ")).map(|(name, _)| name.trim().replace('-', "_")).collect()
}

fn rust_files(folders: &[&str]) -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    let mut open: Vec<PathBuf> = folders.iter().map(|folder| root.join(folder)).filter(|path| path.exists()).collect();
    while let Some(path) = open.pop() {
        if path.ends_with("target") {
            continue; // what a package of its own has built
        }
        if path.is_dir() {
            open.extend(std::fs::read_dir(&path).expect("a folder of ours").flatten().map(|entry| entry.path()));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let name = path.strip_prefix(root).expect("below the root").to_string_lossy().into_owned();
            found.push((name, std::fs::read_to_string(&path).expect("a file of ours")));
        }
    }
    found
}

fn manifest() -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml")).expect("our manifest")
}

fn assert_none(wrong: Vec<String>) {
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn the_floors_hold() {
    let dependencies = dependencies(&manifest());
    let files = rust_files(&["src"]);
    let library = files.iter().filter(|(file, _)| file != "src/lib.rs" && !file.starts_with("src/bin/"));
    assert_none(library.flat_map(|(file, source)| wrong_imports(file, source, &dependencies)).collect());
}

#[test]
fn tools_stand_alone() {
    let files = rust_files(&["src/tools"]);
    let holds_one = |source: &str| without_tests(source).contains("impl Tool for ");
    let tool_files: Vec<String> = files
        .iter()
        .filter(|(_, source)| holds_one(source))
        .filter_map(|(file, _)| Path::new(file).file_stem()?.to_str().map(String::from))
        .collect();
    assert_none(files.iter().flat_map(|(file, source)| tools_knowing_tools(file, source, &tool_files)).collect());
}

#[test]
fn nothing_is_unsafe_or_left_loose() {
    let files = rust_files(&["src", "tests", "benches", "examples", "fuzz/fuzz_targets"]);
    assert!(files.len() > 20, "the walk finds the files");
    let checks = [unsafe_outside_the_walls, loose_ends];
    assert_none(files.iter().flat_map(|(file, source)| checks.iter().flat_map(|check| check(file, source))).collect());
}

#[test]
fn every_dependency_and_feature_says_why() {
    assert_none(without_a_why(&manifest()));
}

#[test]
fn the_checks_find_what_is_wrong() {
    let dependencies = ["tokio".to_owned(), "serde".to_owned()];
    for (file, bad) in [
        ("src/parse/x.rs", "use crate::format::Format;"),
        ("src/format.rs", "fn f() { crate::parse::parse(\"\"); }"),
        ("src/policy/mod.rs", "use crate::{Args, workspace::Workspace};"),
        ("src/session.rs", "use std::{fmt, time::{Duration, Instant}};"),
        ("src/fence.rs", "use tokio::sync::mpsc;"),
        ("src/clip.rs", "fn f() { std::fs::read(\"x\"); }"),
        ("src/prompt.rs", "use super::parse::parse;"),
        ("src/nowhere.rs", ""),
    ] {
        assert_eq!(wrong_imports(file, bad, &dependencies).len(), 1, "{file}: {bad}");
    }
    let good = "use crate::{fence, outcome::Output};\nuse serde::Serialize;\nuse std::time::Duration;\n// std::fs\n";
    assert_none(wrong_imports("src/parse/x.rs", good, &dependencies));
    assert_none(wrong_imports("src/agent.rs", "use tokio::sync; use crate::session::Session;", &dependencies));

    let tools = ["bash".to_owned(), "search".to_owned()];
    assert_eq!(tools_knowing_tools("src/tools/bash.rs", "use super::search::Search;", &tools).len(), 1);
    assert_none(tools_knowing_tools("src/tools/bash.rs", "use super::common::line;", &tools));

    assert_eq!(unsafe_outside_the_walls("src/a.rs", "fn f() { unsafe { g() } } // unsafe").len(), 1);
    assert_none(unsafe_outside_the_walls("src/walls/a.rs", "unsafe fn f() {}"));
    assert_eq!(loose_ends("a.rs", concat!("// TO", "DO: later")).len(), 1);
    assert_eq!(loose_ends("a.rs", "#[allow(dead_code)]\nfn f() {}").len(), 1);
    assert_none(loose_ends("a.rs", "#[expect(dead_code, reason = \"why\")]\nfn f() {}"));
}

#[test]
fn a_manifest_without_reasons_is_found() {
    let bad = "[features]\na = []\n# why\nb = [\"dep:x\"]\n\n[dependencies]\n# not enough above\nx = \"1\"\ny = \"1\" # because\n";
    assert_eq!(without_a_why(bad), ["[features] a = []", "[dependencies] x = \"1\""]);
    assert_eq!(dependencies("\n[dependencies]\na-b = \"1\"\nc = { version = \"2\" }\n\n[x]\nd = 1"), ["a_b", "c"]);
}
