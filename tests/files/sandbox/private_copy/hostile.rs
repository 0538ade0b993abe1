//! Runs the hostile commands of the case files that need no approval on a private copy. With a user who keeps nothing,
//! none of them changes the project or the home, or leaves a process running.

use super::Copied;
use serde_json::json;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use toolfence_kit::{CaseFiles, Picture, Random, block_on, picture, signs};
use toolfence_policy::toolbox::{BoxFuture, Progress};
use toolfence_policy::{AskMode, Pending, Policy, Verdict};
use toolfence_protocol::{ErrorCode, Text, ToolCall};
use toolfence_tools as tools;

/// The variable that marks the copy of this program that runs the commands. Its value is the most commands to run.
const MOST: &str = "TOOLFENCE_TEST_HOSTILE";

/// The number of commands in an ordinary run of the tests.
const SAMPLE: usize = 150;

/// A user who keeps nothing.
struct KeepsNothing;

impl Progress for KeepsNothing {
    fn note(&self, _: &str) {}

    fn ask(&self, _question: Pending) -> BoxFuture<'_, Result<(), Text>> {
        Box::pin(async { Err("no".into()) })
    }
}

#[test]
fn a_hostile_command_changes_nothing() {
    run_elsewhere("a_hostile_command_changes_nothing", SAMPLE);
}

#[test]
#[ignore = "it takes minutes"]
fn no_hostile_command_changes_anything() {
    run_elsewhere("no_hostile_command_changes_anything", usize::MAX);
}

/// Runs the test in a copy of this program with its own home. All processes that the commands start are descendants of
/// the copy.
fn run_elsewhere(test: &str, most: usize) {
    if let Ok(most) = std::env::var(MOST) {
        return run_all(most.parse().expect("it is a number"));
    }
    let home = tempfile::tempdir().expect("a temporary folder can be made");
    for (file, text) in [
        (".bashrc", "export A=1\n"),
        (".profile", "export A=1\n"),
        (".ssh/id_ed25519", "SECRETVALUE\n"),
        (".gitconfig", "[user]\n\tname = a\n"),
        (".config/app/settings", "a = 1\n"),
        (".cargo/config.toml", "[net]\n"),
        ("private/diary.txt", "SECRETVALUE\n"),
    ] {
        let path = home.path().join(file);
        fs::create_dir_all(path.parent().expect("it is in a folder")).expect("a folder can be made");
        fs::write(path, text).expect("it can be written");
    }
    let temporary = tempfile::tempdir().expect("a temporary folder can be made");
    let module = module_path!().split_once("::").map_or("", |(_, module)| module);
    let output = Command::new(std::env::current_exe().expect("this program has a file"))
        .args(["--exact", &format!("{module}::{test}"), "--nocapture", "--include-ignored"])
        .env(MOST, most.to_string())
        .env("HOME", home.path())
        .env("TMPDIR", temporary.path())
        .output()
        .expect("it can be started");
    let printed = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    println!("{printed}");
    assert!(output.status.success(), "{printed}");
}

fn run_all(most: usize) {
    let Some(copied) = Copied::new(AskMode::Risky) else { return };
    for (file, text) in [
        ("README.md", "read me\n"),
        ("Makefile", "all:\n\techo evil > made\n"),
        (".env", "KEY=COMMITTED\n"),
        ("src/main.rs", "fn main() {}\n"),
        ("src/lib.rs", "pub fn f() {}\n"),
        ("config/server.key", "COMMITTED\n"),
        ("package.json", "{\"scripts\": {\"test\": \"echo evil > made\"}}\n"),
        ("build.log", "log\n"),
        (".gitignore", "/target\n*.log\n"),
        ("target/debug/app", "app\n"),
    ] {
        copied.place.file(file, text);
    }
    copied.git(&["init", "-q"]);
    copied.git(&["add", "-A"]);
    copied.git(&["commit", "-qm", "one"]);
    // A command sees the objects of the repository, so committed content can be read from the history.
    copied.place.file(".env", "KEY=SECRETVALUE\n");
    copied.place.file("config/server.key", "SECRETVALUE\n");
    rustix::process::set_child_subreaper(Some(rustix::process::getpid())).expect("it is allowed");
    let home = std::env::var("HOME").expect("the test has set it");
    let toolbox = tools::standard(copied.runner.clone());
    let policy = Policy::default().ask(AskMode::Risky);
    let mut commands: Vec<(String, _)> = Vec::new();
    let mut not_run = 0;
    for (_, command) in CaseFiles::of("policy/hostile").pairs() {
        let command = signs::read_command(command.text());
        let args = json!({"command": command, "timeout": 2}).as_object().cloned().unwrap_or_default();
        let call = ToolCall::new("1", "bash", args.into_iter().collect());
        match policy.review(call, &toolbox.catalog(), copied.runner.as_ref()) {
            Verdict::Cleared(cleared) => commands.push((command, cleared)),
            _ => not_run += 1,
        }
    }
    let all = commands.len();
    // The seed is fixed, so the sample is reproducible.
    let mut random = Random::new(20_261_128);
    while commands.len() > most {
        commands.swap_remove(random.below(commands.len()));
    }
    let (before, home_before) = (project(&copied.place.root), picture(Path::new(&home)));
    let other = picture(&copied.place.beside);
    let ours = descendants();
    let mut ends: HashMap<String, usize> = HashMap::new();
    let mut wrong = Vec::new();
    let ran = commands.len();
    for (command, cleared) in commands {
        let result = block_on(toolbox.run(cleared, &KeepsNothing)).expect("no tool fails for the host");
        let left: HashSet<String> = descendants().difference(&ours).cloned().collect();
        let output = result.output.get(..200).unwrap_or(&result.output);
        let changed = [
            difference(&before, &project(&copied.place.root)),
            difference(&home_before, &picture(Path::new(&home))),
            difference(&other, &picture(&copied.place.beside)),
        ];
        if !left.is_empty() || result.output.contains("SECRETVALUE") || changed.iter().any(|paths| !paths.is_empty()) {
            wrong.push(format!("{command:?} left {left:?}, changed {changed:?}: {output}"));
        }
        if result.error.as_ref().is_some_and(|error| error.code == ErrorCode::IoError) {
            wrong.push(format!("{command:?} was not run: {result:?}"));
        }
        let end = match (&result.error, result.data.as_ref().is_some_and(|data| !data["changes"].is_null())) {
            (Some(error), _) => format!("{:?}", error.code),
            (None, true) => "changed its copy".to_owned(),
            (None, false) => "changed nothing".to_owned(),
        };
        *ends.entry(end).or_default() += 1;
    }
    assert_eq!(fs::read_dir(copied.layers()).map_or(0, Iterator::count), 0, "a layer is left");
    assert!(wrong.is_empty(), "{} of {ran}:\n{}", wrong.len(), wrong.join("\n"));
    println!("{all} hostile commands run on a private copy, {not_run} ask or are denied; {ran} were run: {ends:?}");
}

/// Takes a snapshot of the project without the files with long output, which the host writes.
fn project(root: &Path) -> Picture {
    let mut project = picture(root);
    project.retain(|path, _| !path.starts_with(".toolfence"));
    project
}

fn difference(one: &Picture, other: &Picture) -> Vec<String> {
    let differs = |path: &&PathBuf| one.get(*path) != other.get(*path);
    let paths: BTreeSet<&PathBuf> = one.keys().chain(other.keys()).filter(differs).collect();
    paths.into_iter().map(|path| path.display().to_string()).collect()
}

/// Lists the processes that this one or its children started, each with number and name, except sandbox helpers that
/// wait for a command.
fn descendants() -> HashSet<String> {
    let mut parents: HashMap<u32, (u32, String)> = HashMap::new();
    for entry in fs::read_dir("/proc").expect("there is /proc").flatten() {
        let Some(number) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else { continue };
        // proc_pid_stat(5): the name is in parentheses and may contain any character.
        let (Some(open), Some(close)) = (stat.find('('), stat.rfind(')')) else { continue };
        let parent = stat[close + 1..].split_whitespace().nth(1).and_then(|parent| parent.parse().ok());
        parents.insert(number, (parent.unwrap_or(0), stat[open + 1..close].to_owned()));
    }
    let ours = std::process::id();
    let is_ours = |number: u32| {
        let above = |number: &u32| parents.get(number).map(|(parent, _)| *parent);
        std::iter::successors(Some(number), above).skip(1).any(|parent| parent == ours)
    };
    let named = parents.iter().filter(|(number, _)| is_ours(**number));
    named.filter(|(_, (_, name))| name != "coder").map(|(number, (_, name))| format!("{number} {name}")).collect()
}
