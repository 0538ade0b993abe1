//! Tests runs without a terminal: changes that need approval are discarded, and one line names the option that keeps
//! them.

use serde_json::{Value, json};
use tempfile::TempDir;
use toolfence_kit::{Program, Ran};

const CODER: &str = env!("CARGO_BIN_EXE_coder");

fn home() -> TempDir {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join("project")).unwrap();
    home
}

fn block(tool: &str, args: &Value) -> String {
    format!("```tool\n{}\n```\n", json!({"name": tool, "args": args}))
}

fn bash(command: &str) -> String {
    block("bash", &json!({"command": command}))
}

fn coder(home: &TempDir, args: &[&str], input: &str) -> Ran {
    Program::new(CODER, home.path()).args(args).run(&home.path().join("project"), input)
}

/// Returns the last line of stderr.
fn last(ran: &Ran) -> &str {
    ran.err.lines().last().unwrap_or_default()
}

const OPTION: &str = "; there is no terminal to ask on, and --ask sandboxed keeps changes unasked";

#[test]
fn exec_names_what_was_not_kept_and_the_option_that_keeps_it() {
    let home = home();
    let there = |name: &str| home.path().join("project").join(name).exists();
    let five = bash("touch 1.txt 2.txt 3.txt 4.txt 5.txt");
    let ran = coder(&home, &["exec"], &five);
    assert_eq!((ran.status, last(&ran)), (1, &*format!("coder: not kept: 1.txt, 2.txt, 3.txt and 2 more{OPTION}")));
    assert!(ran.out.contains("[Not kept: 1.txt, 2.txt") && !there("1.txt"), "{}", ran.said());
    let write = block("write_file", &json!({"path": "a.txt", "content": "x\n"}));
    let ran = coder(&home, &["exec", "--json"], &write);
    assert_eq!((ran.status, last(&ran)), (1, &*format!("coder: not kept: a.txt{OPTION}")));

    let ran = coder(&home, &["exec", "--ask", "sandboxed"], &format!("{five}{write}"));
    assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{}", ran.said());
    assert!(there("1.txt") && there("5.txt") && there("a.txt"));
}

/// No option keeps changes to these files without approval, so the line names no option.
#[test]
fn a_file_that_instructs_agents_is_not_kept_unasked() {
    let home = home();
    let ran = coder(&home, &["exec", "--ask", "sandboxed"], &bash("echo x > AGENTS.md"));
    assert_eq!((ran.status, last(&ran)), (1, "coder: not kept: AGENTS.md; there is no terminal to ask on"));
}

#[test]
fn exec_names_build_output_that_was_not_put_into_the_project() {
    let home = home();
    let project = home.path().join("project");
    std::fs::write(project.join(".gitignore"), "out/\n").unwrap();
    let init = std::process::Command::new("git").args(["init", "-q"]).current_dir(&project).status().unwrap();
    assert!(init.success());
    let ran = coder(&home, &["exec"], &bash("mkdir out; touch out/a"));
    assert_eq!((ran.status, last(&ran)), (0, &*format!("coder: not kept: the build output of commands{OPTION}")));
    assert!(!project.join("out").exists());
}

#[test]
fn one_answer_ends_with_the_same_line_in_every_output_format() {
    let home = home();
    let replies = home.path().join("replies");
    std::fs::write(&replies, format!("%%% reply\n{}%%% reply\nDone.\n", bash("touch a.txt"))).unwrap();
    let from = ["--backend", "replay", "--replies", replies.to_str().unwrap()];
    for format in ["text", "json", "stream-json"] {
        let ran = coder(&home, &[&from[..], &["-p", "Go.", "--output-format", format]].concat(), "");
        assert_eq!((ran.status, last(&ran)), (0, &*format!("coder: not kept: a.txt{OPTION}")), "{}", ran.said());
    }
    let ran = coder(&home, &[&from[..], &["-p", "Go.", "--ask", "sandboxed"]].concat(), "");
    assert!(ran.status == 0 && !ran.err.contains("not kept"), "{}", ran.said());
    assert!(home.path().join("project/a.txt").exists());
}
