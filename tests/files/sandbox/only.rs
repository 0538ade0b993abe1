//! Tests a project that limits its tools to a list of files with `paths.only`.

use super::{HELPER, Place, bash, has_sandbox};
use crate::marks::own;
use serde_json::{Value, json};
use std::process::Command;
use std::sync::Arc;
use toolfence_kit::Tools;
use toolfence_policy::{AskMode, Policy, Settings as Rules};
use toolfence_protocol::ToolResult;
use toolfence_sandbox::isolation::Settings;
use toolfence_tools as tools;
use toolfence_tools::CommandRunner;
use toolfence_workspace::Workspace;

const FILES: [&str; 6] = ["src/a.txt", "src/deep/b.txt", "src/.env", "docs/a.txt", "README.md", "Makefile"];

fn place() -> Place {
    let place = Place::new();
    FILES.iter().for_each(|name| place.file(name, format!("needle {name}\n")));
    place
}

fn rules() -> Rules {
    Rules::default().only_path("src/**").only_path("*.md").only_path("attempt.sh").ask(AskMode::Never)
}

fn runner(place: &Place) -> Arc<CommandRunner> {
    let rules = Policy::new(rules()).expect("the globs are right").paths().clone();
    let workspace = Workspace::open(&place.root, rules).expect("the root is there");
    Arc::new(CommandRunner::new(Arc::new(workspace), Settings::new().helper(HELPER)))
}

fn run(place: &Place, tool: &str, args: Value) -> ToolResult {
    let runner = runner(place);
    let tools = Tools::new(Arc::clone(&runner), tools::standard(runner));
    tools.under(Policy::new(rules()).expect("the globs are right")).run(tool, args)
}

fn refusal(place: &Place, tool: &str, args: Value) -> String {
    run(place, tool, args.clone()).error.unwrap_or_else(|| panic!("{tool} {args} is refused")).message.to_string()
}

#[test]
fn file_tools_open_only_the_files_of_the_list() {
    let place = place();
    place.link("../README.md", "src/readme");
    place.link("../Makefile", "src/made");
    for path in ["src/a.txt", "./src/deep/b.txt", "README.md", "SRC/../README.md", "src/readme"] {
        let result = run(&place, "read_file", json!({"path": path}));
        let missing = path.starts_with("SRC");
        assert!(result.success || missing, "{path}: {:?}", result.error);
    }
    for path in ["docs/a.txt", "Makefile", "src/../Makefile", "src/made"] {
        let message = refusal(&place, "read_file", json!({"path": path}));
        assert!(message.contains("paths.only"), "{path}: {message}");
    }
    let message = refusal(&place, "read_file", json!({"path": "src/.env"}));
    assert!(message.contains("rule .env"), "the built-in list holds: {message}");
    for (tool, args) in [
        ("write_file", json!({"path": "new/x.txt", "content": "x"})),
        ("write_file", json!({"path": "Makefile", "content": "x"})),
        ("replace_text", json!({"path": "docs/a.txt", "old": "needle", "new": "x"})),
        ("edit_file", json!({"path": "docs/a.txt", "edits": [{"start_line": 1, "end_line": 1, "replacement": "x"}]})),
        ("apply_patch", json!({"patch": "*** Begin Patch\n*** Delete File: Makefile\n*** End Patch\n"})),
        ("apply_patch", json!({"patch": "rename from docs/a.txt\nrename to src/c.txt\n"})),
        ("search", json!({"pattern": "needle", "path": "Makefile"})),
        ("run_python", json!({"path": "Makefile"})),
    ] {
        let result = run(&place, tool, args.clone());
        let message = result.error.map(|error| error.message.to_string()).unwrap_or_default();
        assert!(message.contains("paths.only") || args.to_string().contains("rename"), "{tool} {args}: {message}");
        assert!(!result.success, "{tool} {args}");
    }
    for (path, content) in [("src/new/c.txt", "x"), ("docs/new.md", "y")] {
        let result = run(&place, "write_file", json!({"path": path, "content": content}));
        assert!(result.success, "{path}: {:?}", result.error);
        assert_eq!(place.content(path), content);
    }
}

#[test]
fn search_and_list_return_only_files_of_the_list() {
    let place = place();
    let found = run(&place, "search", json!({"pattern": "needle"})).output;
    let mut names: Vec<&str> = found.lines().filter_map(|line| line.split_once(':')).map(|(name, _)| name).collect();
    names.sort_unstable();
    assert_eq!(names, ["README.md", "src/a.txt", "src/deep/b.txt"]);
    let listed = run(&place, "list_files", json!({"pattern": "**", "include_hidden": true})).output;
    for (name, is_listed) in [("src/a.txt", true), ("README.md", true), ("docs", true), ("src/deep", true)] {
        assert_eq!(listed.contains(name), is_listed, "{listed}");
    }
    assert!(!listed.contains("docs/a.txt") && !listed.contains("Makefile"), "{listed}");
}

#[test]
fn commands_see_only_the_files_of_the_list() {
    let place = place();
    let runner = runner(&place);
    if !has_sandbox(&runner) {
        return;
    }
    let git = |args: &[&str]| Command::new("git").args(args).current_dir(&place.root).output().expect("git is there");
    git(&["init", "-q"]);
    git(&["add", "-A"]);
    git(&["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"]);
    let says = |command: &str| {
        place.file("attempt.sh", own(command));
        bash(&runner, json!({"command": ". ./attempt.sh"})).output
    };
    let read = says("cat src/a.txt src/deep/b.txt README.md docs/a.txt Makefile src/.env 2>&1; grep -r needle . 2>&1");
    for (name, is_seen) in FILES.iter().zip([true, true, false, false, true, false]) {
        assert_eq!(read.contains(&format!("needle {name}")), is_seen, "{name}: {read}");
    }
    let history = says("git log 2>&1; git show HEAD:Makefile 2>&1; ls -a .git 2>&1");
    assert!(!history.contains("needle") && !history.contains("objects"), "{history}");
    // A move must not make a file match a glob of the list, because the next call could then open it.
    let moved =
        says("mv docs src/docs 2>&1; mv Makefile src/m 2>&1; ln Makefile src/l 2>&1; cat src/docs/a.txt src/m src/l");
    assert!(!moved.contains("needle"), "{moved}");
    let after = says("cat src/docs/a.txt src/m src/l 2>&1");
    assert!(!after.contains("needle"), "{after}");
    assert_eq!(place.content("Makefile"), "needle Makefile\n");
    assert!(place.at(".git/HEAD").exists(), "the repository is as it was");
}

#[test]
fn commands_that_name_other_files_are_denied() {
    let place = place();
    for command in ["cat Makefile", "cat docs/a.txt", "cp Makefile src/m", "grep x < Makefile", "echo x > docs/a.txt"] {
        let message = refusal(&place, "bash", json!({"command": command}));
        assert!(message.contains("paths.only"), "{command}: {message}");
    }
}
