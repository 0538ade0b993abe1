//! Tests the help of each command, the shell completions and the manual, which all come from one description of the
//! command line.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;
use tempfile::TempDir;
use toolfence_kit::{Program, Ran};

const CODER: &str = env!("CARGO_BIN_EXE_coder");

fn coder(args: &[&str]) -> Ran {
    let (home, root) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let ran = Program::new(CODER, home.path()).args(args).run(root.path(), "");
    assert_eq!((ran.status, &*ran.err), (0, ""), "{args:?}");
    ran
}

/// Returns the commands that the program's help lists.
fn commands() -> Vec<String> {
    let help = coder(&["-h"]).out;
    let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names: Vec<String> = listed
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next().map(str::to_owned))
        .collect();
    assert!(names.len() > 20, "{help}");
    names
}

/// Returns the long options in a help text.
fn options(help: &str) -> BTreeSet<&str> {
    let lines = help.lines().map(str::trim_start).filter(|line| line.starts_with('-'));
    lines.filter_map(|line| line.split_whitespace().find(|word| word.starts_with("--"))).collect()
}

#[test]
fn help_lists_only_the_options_that_apply() {
    for (command, has, has_not) in [
        (&["tools"][..], &["--json", "--persona", "--root", "--lang"][..], &["--model", "--allow", "--stats"][..]),
        (&["sessions"], &["--search", "--root"], &["--persona", "--replies", "--sandbox"]),
        (&["proxy"], &["--upstream", "--dialects", "--grammar"], &["--persona", "--replies", "--sandbox", "--model"]),
        (&["policy", "explain"], &["--allow", "--sandbox"], &["--model", "--temperature"]),
        (&["completions"], &["--lang", "--color"], &["--root", "--debug", "--model"]),
        (&["config", "trust"], &["--forget", "--yes"], &["--allow", "--model"]),
        (&["config", "profile"], &["--all", "--model", "--base-url"], &["--allow", "--persona"]),
        (&["resume"], &["--from", "--model", "--allow", "--persona"], &[]),
    ] {
        for (language, help) in [("en", "--help"), ("pt", "--help"), ("en", "-h"), ("pt", "-h")] {
            let args = [command, &[help, "--lang", language][..]].concat();
            let help = coder(&args).out;
            let options = options(&help);
            assert!(has.iter().all(|option| options.contains(option)), "{args:?}: {help}");
            assert!(!has_not.iter().any(|option| options.contains(option)), "{args:?}: {help}");
        }
    }
}

/// A command accepts options that its help omits, because a script may set them for every command.
#[test]
fn options_that_help_omits_are_accepted() {
    coder(&["tools", "--model", "m", "--allow", "make", "--temperature", "0.5"]);
}

#[test]
fn bash_completes_commands_options_and_values() {
    let folder = TempDir::new().unwrap();
    let script = folder.path().join("coder.bash");
    fs::write(&script, coder(&["completions", "bash"]).out).unwrap();
    let completed = |words: &[&str]| {
        let ask = format!(
            "source {}; COMP_WORDS=({}); COMP_CWORD={}; _coder coder '{}' '{}'; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            script.display(),
            words.join(" "),
            words.len() - 1,
            words[words.len() - 1],
            words[words.len() - 2],
        );
        // The script runs the program to list the personas.
        let folder = std::path::Path::new(CODER).parent().unwrap().display();
        let path = format!("{folder}:{}", std::env::var("PATH").unwrap_or_default());
        let ran = Command::new("bash").args(["--norc", "--noprofile", "-c", &ask]).env("PATH", path).output().unwrap();
        assert!(ran.status.success() && ran.stderr.is_empty(), "{ran:?}");
        String::from_utf8(ran.stdout).unwrap().lines().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(completed(&["coder", "ses"]), ["sessions"]);
    assert_eq!(completed(&["coder", "sessions", "--sea"]), ["--search"]);
    assert_eq!(completed(&["coder", "--ask", "ris"]), ["risky"]);
    assert_eq!(completed(&["coder", "completions", "fi"]), ["fish"]);
    assert_eq!(completed(&["coder", "tools", "--persona", "rev"]), ["reviewer"]);
}

#[test]
fn there_are_completions_for_each_shell() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = coder(&["completions", shell]).out;
        assert!(commands().iter().all(|name| script.contains(name.as_str())), "{shell}");
        if ["bash", "fish", "zsh"].contains(&shell) {
            let asks = script.matches("coder personas --names 2>/dev/null").count();
            let uses = if shell == "zsh" { script.matches(":NAME|FILE:_coder_personas'").count() } else { asks };
            assert!(asks > 0 && uses > 10, "{shell} asks for the names of personas: {asks} {uses}");
        }
    }
}

#[test]
fn each_command_has_a_page_in_the_manual() {
    let folder = TempDir::new().unwrap();
    let to = folder.path().join("man1");
    assert_eq!(coder(&["man", "--output", to.to_str().unwrap()]).out, "");
    let of_program = fs::read_to_string(to.join("coder.1")).unwrap();
    assert_eq!(coder(&["man"]).out, of_program);
    for name in commands().iter().filter(|name| *name != "help") {
        let page =
            fs::read_to_string(to.join(format!("coder-{name}.1"))).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(page.contains(".SH NAME"), "{page}");
        assert!(of_program.contains(&format!("coder\\-{}", name.replace('-', "\\-"))), "{name}: {of_program}");
    }
    assert!(to.join("coder-config-show.1").exists());
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let (home, root) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let below = file.join("man1");
    let ran = Program::new(CODER, home.path()).args(&["man", "--output", below.to_str().unwrap()]).run(root.path(), "");
    assert_eq!((ran.status, ran.err.contains("cannot write")), (3, true), "{}", ran.err);
}
