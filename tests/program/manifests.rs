//! Tests rules for the manifests and conventions that neither the compiler nor a lint enforces.
//!
//! Cargo itself rejects dependency cycles between crates. A Clippy lint, configured in `crates/pure.toml`, keeps pure
//! crates from opening files, starting processes and reading a clock.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use toolfence_kit::root;

/// The crates that use no runtime, files, processes, clock, environment or randomness.
const PURE: &[&str] = &["protocol", "patch", "policy", "session"];

/// The dependencies that a pure crate may have.
const HARMLESS: &[&str] =
    &["serde", "serde_json", "base64", "memchr", "regex", "nom", "jsonc-parser", "shell-words", "glob", "toml"];

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the names of the crates in `crates/`.
fn crates() -> Vec<String> {
    let entries = fs::read_dir(root().join("crates")).expect("the folder of the crates").flatten();
    let folders = entries.filter(|entry| entry.path().join("Cargo.toml").exists());
    folders.map(|entry| entry.file_name().into_string().expect("a plain name")).collect()
}

/// Returns the entries of the sections of a manifest whose heads contain `section`, each with the line above it.
fn entries<'a>(manifest: &'a str, section: &str) -> Vec<(&'a str, &'a str)> {
    let mut inside = false;
    let mut above = "";
    let mut found = Vec::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            inside = line.contains(section);
        } else if inside && line.contains('=') && !line.starts_with('#') {
            found.push((line, above));
        }
        above = line;
    }
    found
}

fn name_of(entry: &str) -> &str {
    entry.split(['.', ' ', '=']).next().unwrap_or(entry)
}

fn has_reason(entry: &str) -> bool {
    entry.rsplit_once('#').is_some_and(|(_, why)| why.trim().len() > 3 && !why.contains('"'))
}

fn assert_none(wrong: Vec<String>) {
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn pure_crates_name_only_pure_dependencies() {
    let mut wrong = Vec::new();
    for name in PURE {
        let manifest = read(format!("crates/{name}/Cargo.toml"));
        for (entry, _) in entries(&manifest, "[dependencies]") {
            let dependency = name_of(entry);
            let ours = dependency.strip_prefix("toolfence-").is_some_and(|other| PURE.contains(&other));
            if !ours && !HARMLESS.contains(&dependency) {
                wrong.push(format!("toolfence-{name} is pure and must not depend on {dependency}"));
            }
        }
        let lints = root().join(format!("crates/{name}/clippy.toml"));
        let shared = fs::canonicalize(&lints).ok() == fs::canonicalize(root().join("crates/pure.toml")).ok();
        if !shared {
            wrong.push(format!("toolfence-{name} is pure; its clippy.toml must be a link to crates/pure.toml"));
        }
    }
    assert_none(wrong);
}

#[test]
fn every_dependency_and_feature_has_a_reason() {
    let mut wrong = Vec::new();
    let all = crates().into_iter().map(|name| format!("crates/{name}/Cargo.toml"));
    for path in all.chain(["Cargo.toml".to_owned(), "tests/kit/Cargo.toml".to_owned()]) {
        let manifest = read(&path);
        let silent = |entry: &str| !has_reason(entry) && !entry.replace(' ', "").contains("workspace=true");
        let dependencies = entries(&manifest, "dependencies").into_iter().filter(|(entry, _)| silent(entry));
        wrong.extend(dependencies.map(|(entry, _)| format!("{path}: {entry}")));
        let features = entries(&manifest, "[features]").into_iter();
        let bare = features.filter(|(entry, above)| name_of(entry) != "default" && !above.starts_with('#'));
        wrong.extend(bare.map(|(entry, _)| format!("{path}: {entry}")));
    }
    assert_none(wrong);
}

#[test]
fn every_crate_keeps_the_lints_and_promises_nothing() {
    let mut wrong = Vec::new();
    for name in crates() {
        let manifest = read(format!("crates/{name}/Cargo.toml"));
        let is_program = name == "coder";
        for wanted in
            ["[lints]\nworkspace = true", "version.workspace = true", "; internal: no promise outside toolfence\""]
        {
            let is_wanted = !(is_program && wanted.contains("internal"));
            if is_wanted && !manifest.contains(wanted) {
                wrong.push(format!("crates/{name}/Cargo.toml lacks {wanted:?}"));
            }
        }
        let source = format!("crates/{name}/src/{}.rs", if is_program { "main" } else { "lib" });
        if name != "sandbox" && !read(&source).contains("#![forbid(unsafe_code)]") {
            wrong.push(format!("{source} does not forbid unsafe code"));
        }
    }
    assert_none(wrong);
}

/// A published package must not depend on an unpublished one, so the workspace's entry for the kit has no version.
#[test]
fn the_kit_is_not_published() {
    assert!(read("tests/kit/Cargo.toml").contains("publish = false"));
    let manifest = read("Cargo.toml");
    let (kit, _) = entries(&manifest, "[workspace.dependencies]")
        .into_iter()
        .find(|(entry, _)| name_of(entry) == "toolfence-kit")
        .expect("the list names the kit");
    assert!(!kit.contains("version ="), "{kit}");
}

#[test]
fn no_tool_uses_another_tool() {
    let folder = root().join("crates/tools/src");
    let files: Vec<PathBuf> =
        fs::read_dir(folder).expect("the folder of the tools").flatten().map(|entry| entry.path()).collect();
    let mut tools = Vec::new();
    for file in files.iter().filter(|file| file.extension().is_some_and(|extension| extension == "rs")) {
        let source = read(file);
        if source.lines().any(|line| line.starts_with("impl Tool for ")) {
            tools.push((file.file_stem().and_then(|stem| stem.to_str()).expect("a plain name").to_owned(), source));
        }
    }
    assert!(tools.len() > 5, "the tools are found");
    let mut wrong = Vec::new();
    for (name, source) in &tools {
        let others = tools.iter().filter(|(other, _)| other != name);
        let named = others.filter(|(other, _)| {
            source.contains(&format!("super::{other}::")) || source.contains(&format!("crate::{other}::"))
        });
        wrong.extend(named.map(|(other, _)| format!("the tool in {name}.rs must not know the one in {other}.rs")));
    }
    assert_none(wrong);
}

#[test]
fn the_paths_of_the_architecture_exist() {
    let text = read("ARCHITECTURE.md");
    let quoted = text.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
    let paths: Vec<&str> = quoted.filter(|word| word.contains('/') && !word.contains([' ', '*'])).collect();
    assert!(paths.len() > 50, "the paths are found");
    let missing = paths.into_iter().filter(|path| !root().join(path).exists());
    assert_none(missing.map(|path| format!("ARCHITECTURE.md names {path}, which is not there")).collect());
}

/// Each path of a file that the developer documents quote exists, relative to the root.
#[test]
fn the_paths_of_the_documents_exist() {
    let mut documents: Vec<String> =
        ["README.md", "CHANGELOG.md", "fuzz/README.md", "src/guide.md", "tests/conformance/README.md"]
            .map(str::to_owned)
            .into();
    let docs = std::fs::read_dir(root().join("docs")).expect("there are documents");
    let docs = docs.map(|entry| format!("docs/{}", entry.expect("a document").file_name().display()));
    documents.extend(docs.filter(|name| name.ends_with(".md")));
    let folders = [".ci/", "benches/", "crates/", "docs/", "examples/", "fuzz/", "personas/", "src/", "tests/"];
    // These paths exist only after a fuzzer run.
    let made = ["fuzz/artifacts/", "fuzz/corpus/", "fuzz/long.log"];
    let is_path = |word: &str| {
        let is_source = word.ends_with(".rs") && word != ".rs";
        (is_source || folders.iter().any(|folder| word.starts_with(folder)))
            && !word.contains(['*', ':', '@'])
            && !made.iter().any(|made| word.starts_with(made))
    };
    let (mut found, mut missing) = (0, Vec::new());
    for document in documents {
        let text = read(&document);
        let quoted = text.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
        for path in quoted.filter_map(|words| words.split_whitespace().next()).filter(|word| is_path(word)) {
            found += 1;
            if !root().join(path).exists() {
                missing.push(format!("{document} names {path}, which is not there"));
            }
        }
    }
    assert!(found > 10, "the paths are found: {found}");
    assert_none(missing);
}

/// The table of crates lists the dependencies of each crate, and a crate comes before the crates that depend on it.
#[test]
fn the_table_of_crates_is_what_the_manifests_say() {
    let text = read("ARCHITECTURE.md");
    let section = text.split("\n## The crates\n").nth(1).expect("a section about crates");
    let rows =
        section.lines().take_while(|line| !line.starts_with("## ")).filter(|line| line.starts_with("| `crates/"));
    let mut wrong = Vec::new();
    let mut above = BTreeSet::new();
    for row in rows {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let name = cells[1].trim_matches('`').trim_start_matches("crates/").to_owned();
        let words = cells[3].split(|c: char| !c.is_ascii_lowercase());
        let in_table: BTreeSet<String> = words.filter(|word| above.contains(*word)).map(str::to_owned).collect();
        let manifest = read(format!("crates/{name}/Cargo.toml"));
        let dependencies = entries(&manifest, "[dependencies]").into_iter().map(|(entry, _)| name_of(entry));
        let named: BTreeSet<String> =
            dependencies.filter_map(|entry| entry.strip_prefix("toolfence-")).map(str::to_owned).collect();
        if in_table != named {
            wrong.push(format!("{name}: the table says {in_table:?}, the manifest {named:?}"));
        }
        above.insert(name);
    }
    assert_eq!(above, crates().into_iter().collect(), "every crate has its row");
    assert_none(wrong);
}

/// A row of the table of features: the features that it includes, and the packages that it adds.
struct Row {
    includes: Vec<String>,
    adds: Vec<String>,
}

fn table_of_features() -> BTreeMap<String, Row> {
    let text = read("ARCHITECTURE.md");
    let section = text.split("\n## Features\n").nth(1).expect("a section about features");
    let section = section.split("\n## ").next().expect("it ends");
    let quoted = |cell: &str| -> Vec<String> { cell.split('`').skip(1).step_by(2).map(str::to_owned).collect() };
    let mut rows = BTreeMap::new();
    for line in section.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| feature")) {
        let cells: Vec<&str> = line.split('|').collect();
        let name = cells[1].trim().trim_matches('`').to_owned();
        let ours = quoted(cells[3]).into_iter().map(|name| format!("toolfence-{name}"));
        let adds = ours.chain(quoted(cells[4])).collect();
        rows.insert(name, Row { includes: quoted(cells[2]), adds });
    }
    rows
}

fn packages_of(feature: &str, rows: &BTreeMap<String, Row>, packages: &mut BTreeSet<String>) {
    let row = rows.get(feature).unwrap_or_else(|| panic!("the table has no row for {feature}"));
    packages.extend(row.adds.iter().cloned());
    for included in &row.includes {
        packages_of(included, rows, packages);
    }
}

/// Returns the packages that Cargo would build for these arguments of `cargo tree`, one a line.
fn tree(chosen: &[&str]) -> String {
    let tree = Command::new(env!("CARGO"))
        .args(["tree", "--locked", "--offline", "--prefix", "none", "--edges", "normal", "--format", "{p}"])
        .args(chosen)
        .current_dir(root())
        .output()
        .expect("cargo runs");
    assert!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
    String::from_utf8(tree.stdout).expect("names are text")
}

#[test]
fn the_table_of_features_is_what_cargo_builds() {
    let rows = table_of_features();
    let manifest = read("Cargo.toml");
    for (entry, _) in entries(&manifest, "[features]") {
        assert!(rows.contains_key(name_of(entry)) || name_of(entry) == "default", "the table lacks {entry}");
    }
    // If a feature does not list a package of another row, cargo must not build that package for it.
    let named: BTreeSet<&String> = rows.values().flat_map(|row| &row.adds).collect();
    let mut wrong = Vec::new();
    for feature in rows.keys() {
        let mut expected = BTreeSet::new();
        packages_of("none", &rows, &mut expected);
        packages_of(feature, &rows, &mut expected);
        let features = if feature == "none" { "" } else { feature };
        let tree = tree(&["-p", "toolfence", "--no-default-features", "--features", features]);
        let built: BTreeSet<&str> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
        let ours =
            built.iter().filter(|name| name.starts_with("toolfence-") || named.iter().any(|other| other == *name));
        wrong.extend(ours.filter(|name| !expected.contains(**name)).map(|name| format!("{feature} builds {name}")));
        wrong.extend(
            expected.iter().filter(|name| !built.contains(name.as_str())).map(|name| format!("{feature} lacks {name}")),
        );
    }
    assert_none(wrong);
}
