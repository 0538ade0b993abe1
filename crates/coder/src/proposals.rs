//! Command lines for `checks.commands` that the files of a project suggest.

use serde_json::Value;
use std::fs;
use std::path::Path;

/// Maximum number of bytes of a file that is read.
const MOST_BYTES: u64 = 1 << 20;

/// The names of scripts in a `package.json` that check a project.
const SCRIPTS: [&str; 4] = ["typecheck", "type-check", "check-types", "lint"];

/// Lock files, and the command prefix that runs a script with the package manager of the file.
const MANAGERS: [(&str, &str); 5] = [
    ("pnpm-lock.yaml", "pnpm"),
    ("yarn.lock", "yarn"),
    ("bun.lock", "bun run"),
    ("bun.lockb", "bun run"),
    ("package-lock.json", "npm run"),
];

/// Returns the command lines that check the project at this root.
pub(crate) fn for_project(root: &Path) -> Vec<String> {
    let mut lines = scripts(root);
    if root.join("Cargo.toml").is_file() {
        lines.push("cargo check".to_owned());
    }
    let has_ruff = ["ruff.toml", ".ruff.toml"].iter().any(|name| root.join(name).is_file())
        || read(&root.join("pyproject.toml"))
            .is_some_and(|text| text.lines().any(|line| line.starts_with("[tool.ruff")));
    if has_ruff {
        // This format puts each error and its position on one line.
        lines.push("ruff check --output-format concise".to_owned());
    }
    lines
}

/// Formats the proposal as a line of a settings file.
pub(crate) fn as_setting(lines: &[String]) -> String {
    let quoted: Vec<String> = lines.iter().map(|line| Value::from(line.as_str()).to_string()).collect();
    format!("commands = [{}]", quoted.join(", "))
}

fn scripts(root: &Path) -> Vec<String> {
    let package: Option<Value> = read(&root.join("package.json")).and_then(|text| serde_json::from_str(&text).ok());
    let Some(package) = package else { return Vec::new() };
    let known = MANAGERS.iter().find(|(lock, _)| root.join(lock).is_file());
    let runs = known.map_or("npm run", |(_, runs)| runs);
    let names = SCRIPTS.iter().filter(|name| package["scripts"][**name].is_string());
    names.map(|name| format!("{runs} {name}")).collect()
}

/// Reads a regular file; `None` if it is too large or cannot be read.
fn read(path: &Path) -> Option<String> {
    let meta = fs::metadata(path).ok().filter(|meta| meta.is_file() && meta.len() <= MOST_BYTES);
    meta.and_then(|_| fs::read_to_string(path).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lock_file_decides_the_package_manager() {
        let scripts =
            r#"{"scripts": {"typecheck": "tsc --noEmit", "lint": "eslint .", "build": "x", "type-check": 1}}"#;
        for (lock, wanted) in [
            (None, ["npm run typecheck", "npm run lint"]),
            (Some("package-lock.json"), ["npm run typecheck", "npm run lint"]),
            (Some("pnpm-lock.yaml"), ["pnpm typecheck", "pnpm lint"]),
            (Some("yarn.lock"), ["yarn typecheck", "yarn lint"]),
            (Some("bun.lockb"), ["bun run typecheck", "bun run lint"]),
        ] {
            let place = tempfile::tempdir().expect("there is a temporary folder");
            fs::write(place.path().join("package.json"), scripts).expect("it can be written");
            lock.iter().for_each(|lock| fs::write(place.path().join(lock), "").expect("it can be written"));
            assert_eq!(for_project(place.path()), wanted);
        }
    }

    #[test]
    fn manifests_suggest_their_tools() {
        for (name, text, wanted) in [
            ("Cargo.toml", "[package]\n", Some("cargo check")),
            ("ruff.toml", "", Some("ruff check --output-format concise")),
            ("pyproject.toml", "[project]\n[tool.ruff.lint]\n", Some("ruff check --output-format concise")),
            ("pyproject.toml", "[project]\n", None),
            ("package.json", "{\"scripts\": []}", None),
            ("package.json", "{", None),
            ("README.md", "", None),
        ] {
            let place = tempfile::tempdir().expect("there is a temporary folder");
            fs::write(place.path().join(name), text).expect("it can be written");
            assert_eq!(for_project(place.path()), wanted.into_iter().collect::<Vec<_>>(), "{name}: {text}");
        }
    }
}
