//! Scripts of sed, awk, jq and yq, made at random with something hostile in them. What the judge allows is run for real, by
//! every implementation that is installed, and must leave everything as it is, start nothing and tell no secret.

mod scripts;

use super::World;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use toolfence_kit::Random;
use toolfence_policy::{Judgement, Policy};

/// How many scripts of sed and jq are run, unless `LANGUAGE_SCRIPTS` says another number; and how many one shell runs.
const SCRIPTS: usize = 60;
const BATCH: usize = 60;

/// What must not be seen, in a file and in the environment.
const SECRET: &str = "TOPSECRET";

/// The files beside the scripts, by which a module or a redirect would be noticed.
const FILES: &[(&str, &str)] = &[
    ("a.txt", "one two,three\nfoo bar\n1 2 3\n"),
    ("a.json", "{\"a\":{\"b\":[1,2,{\"key\":\"x\"}]},\"env\":\"y\",\"c d\":null}\n[1,\"two\"]\n"),
    ("a.yml", "a:\n  b: [1, 2]\nenv: y\n"),
    ("lib.jq", "def leak: \"TOPSECRET\";\n"),
    ("secret", "TOPSECRET\n"),
    ("secret.json", "\"TOPSECRET\"\n"),
];

/// The programs that a script could start.
const CANARIES: &[&str] = &["touch", "id", "sh", "evil", "cat"];

/// A language with the ways to start its implementations.
struct Language {
    name: &'static str,
    /// A program and its first arguments.
    programs: &'static [&'static [&'static str]],
    /// The file that is read.
    file: &'static str,
    make: fn(&mut Random) -> Vec<String>,
    /// Of how many scripts of the others one of this language is run: some are slow to start.
    one_in: usize,
}

#[test]
fn scripts_of_sed_change_nothing() {
    let programs: &[&[&str]] = &[&["sed"], &["busybox", "sed"]];
    Language { name: "sed", programs, file: "a.txt", make: scripts::sed, one_in: 1 }.check();
}

#[test]
fn programs_of_awk_change_nothing() {
    let programs: &[&[&str]] = &[&["mawk"], &["gawk"], &["original-awk"], &["busybox", "awk"]];
    Language { name: "awk", programs, file: "a.txt", make: scripts::awk, one_in: 3 }.check();
}

#[test]
fn filters_of_jq_change_nothing() {
    Language { name: "jq", programs: &[&["jq"], &["gojq"]], file: "a.json", make: scripts::jq, one_in: 1 }.check();
}

#[test]
fn expressions_of_yq_change_nothing() {
    Language { name: "yq", programs: &[&["yq"]], file: "a.yml", make: scripts::yq, one_in: 30 }.check();
}

impl Language {
    fn check(&self) {
        let installed: Vec<Vec<String>> = self.programs.iter().filter_map(|words| found(words)).collect();
        let missing = self.programs.len() - installed.len();
        if missing > 0 {
            println!(
                "skipped: {missing} of {} implementations of {} are not installed",
                self.programs.len(),
                self.name
            );
        }
        let wanted = std::env::var("LANGUAGE_SCRIPTS").map_or(SCRIPTS, |count| count.parse().expect("a number"));
        let wanted = (wanted / self.one_in).max(10);
        let mut random = Random::new(wanted as u64);
        let (mut made, mut ran, mut wrong) = (0, 0, Vec::new());
        let mut allowed: Vec<Vec<String>> = Vec::new();
        let mut total = 0;
        while total < wanted && made < 60 * wanted {
            let words = (self.make)(&mut random);
            made += 1;
            if is_allowed(self.name, &words, self.file) {
                allowed.push(words);
                total += 1;
            }
            if allowed.len() == BATCH || total == wanted {
                for program in &installed {
                    wrong.extend(run(program, &allowed, self.file));
                    ran += allowed.len();
                }
                allowed.clear();
                if total % 10_000 == 0 {
                    println!("{}: {made} made, {total} allowed, {ran} runs, {} wrong so far", self.name, wrong.len());
                }
            }
        }
        println!(
            "{}: {made} made, {total} allowed, {ran} runs by {}, {} wrong",
            self.name,
            installed.len(),
            wrong.len()
        );
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        assert_eq!(total, wanted, "too little is allowed");
    }
}

fn found(words: &[&str]) -> Option<Vec<String>> {
    let folders = ["/usr/bin", "/bin", "/usr/local/bin"];
    let path = folders.iter().map(|folder| format!("{folder}/{}", words[0])).find(|path| Path::new(path).exists())?;
    Some([path].into_iter().chain(words[1..].iter().map(|word| (*word).to_owned())).collect())
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

fn is_allowed(program: &str, words: &[String], file: &str) -> bool {
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    let command = format!("{program} {} {file}", words.join(" "));
    static POLICY: LazyLock<Policy> = LazyLock::new(Policy::default);
    POLICY.judge_command(&command, "", &World { sandbox: false }).judgement == Judgement::Allow
}

/// A folder in which scripts run, with what they could touch around it.
struct Scratch(tempfile::TempDir);

impl Scratch {
    fn new() -> Scratch {
        let scratch = Scratch(tempfile::tempdir().expect("a folder"));
        for folder in ["box", "canaries", "out"] {
            std::fs::create_dir(scratch.0.path().join(folder)).expect("a folder");
        }
        for (name, text) in FILES {
            std::fs::write(scratch.0.path().join("box").join(name), text).expect("a file");
        }
        let canary = format!("#!/bin/bash\n>{}/ran\n", scratch.0.path().join("canaries").display());
        for name in CANARIES {
            let file = scratch.0.path().join("canaries").join(name);
            std::fs::write(&file, &canary).expect("a program");
            std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("a mode");
        }
        scratch
    }

    /// Every file but the outputs, with what it holds.
    fn state(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let folders = ["", "box", "canaries"].map(|folder| self.0.path().join(folder));
        let entries = folders.iter().flat_map(|folder| std::fs::read_dir(folder).expect("our folder").flatten());
        entries.map(|entry| (entry.path(), std::fs::read(entry.path()).unwrap_or_default())).collect()
    }

    fn output(&self, name: &str) -> String {
        let bytes = std::fs::read(self.0.path().join("out").join(name)).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// Runs the scripts one after the other; what went wrong.
fn run(program: &[String], scripts: &[Vec<String>], file: &str) -> Vec<String> {
    let scratch = Scratch::new();
    let before = scratch.state();
    // A file that appears is noticed at once, by the shell itself.
    let mut driver = String::from(
        "ulimit -v 2000000 -f 512\nshopt -s dotglob\nbefore=$(echo * ../*)\n\
         run() {\n  at=$1; shift\n  /usr/bin/timeout -s KILL 0.5 \"$@\" >../out/$at 2>../out/$at.err </dev/null\n\
         files=(* ../*)\n  [[ \"${files[*]}\" == \"$before\" ]] || echo $at >>../out/changed\n}\n",
    );
    for (at, script) in scripts.iter().enumerate() {
        let words: Vec<String> = program.iter().chain(script).map(|word| quoted(word)).collect();
        driver.push_str(&format!("run {at} {} {file}\n", words.join(" ")));
    }
    let path = scratch.0.path().join("out/driver");
    std::fs::write(&path, driver).expect("the driver");
    let status = Command::new("/bin/bash")
        .arg(&path)
        .current_dir(scratch.0.path().join("box"))
        .env_clear()
        .env("PATH", scratch.0.path().join("canaries"))
        .env("LC_ALL", "C.UTF-8")
        .env("CANARY", SECRET)
        .env("HOME", scratch.0.path().join("canaries"))
        .stderr(std::process::Stdio::null())
        .status();
    assert!(status.is_ok(), "bash runs");
    let mut wrong = Vec::new();
    if scratch.state() != before {
        let changed = scratch.output("changed");
        wrong.push(format!("{program:?} changed something, first by {changed:?}"));
        let first = changed.lines().next().and_then(|line| line.parse::<usize>().ok());
        wrong.extend(first.map(|at| format!("    {:?}", scripts[at])));
    }
    for (at, script) in scripts.iter().enumerate() {
        let (out, err) = (scratch.output(&at.to_string()), scratch.output(&format!("{at}.err")));
        let tells = out.contains(SECRET) || err.contains(SECRET);
        // A shell that was started says that there is no such program.
        let started = err.lines().any(|line| line.starts_with("sh: "));
        if tells || started {
            wrong.push(format!("{program:?} {script:?}\n    {out:?} {err:?}"));
        }
    }
    wrong
}

/// The harness notices what it has to notice.
#[test]
fn what_changes_something_is_noticed() {
    let script = |text: &str| vec![vec![text.to_owned()]];
    let Some(sed) = found(&["sed"]) else { return println!("skipped: there is no sed") };
    for text in ["w pwn", "w ../pwn", "1e touch x", "1e >x", "1e nosuch", "r secret", "w a.txt"] {
        assert!(!run(&sed, &script(text), "a.txt").is_empty(), "{text}");
    }
    assert!(run(&sed, &script("s/o/e/w /dev/stdout"), "a.txt").is_empty());
}
