//! Tests calls in a project that is read-only for commands: which calls run, which need approval, and the text of the
//! prompt.

use super::World;
use serde_json::{Value, json};
use toolfence_kit::call;
use toolfence_policy::toolset::{catalog, write_argument};
use toolfence_policy::{AskMode, Effective, Facts, PathFact, Policy, ProgramFact, Verdict};
use toolfence_protocol::prompt::instructions;
use toolfence_protocol::{Catalog, Language};

/// A host with a sandbox, in which the project is read-only for commands.
struct ReadOnly;

const SANDBOXED: World = World { sandbox: true };

impl Facts for ReadOnly {
    fn path(&self, cwd: &str, path: &str) -> PathFact {
        SANDBOXED.path(cwd, path)
    }

    fn program(&self, program: &str) -> ProgramFact {
        SANDBOXED.program(program)
    }

    fn sandbox_holds(&self) -> bool {
        true
    }

    fn is_project_read_only(&self) -> bool {
        true
    }
}

/// Returns the catalog in which the tools that run commands have the argument `write`.
fn with_write() -> Catalog {
    let specs = catalog().specs().to_vec();
    let runs = |name: &str| ["bash", "run_python"].contains(&name);
    specs.into_iter().map(|spec| if runs(&spec.name) { spec.param(write_argument()) } else { spec }).collect()
}

fn outcome(policy: &Policy, tool: &str, args: Value) -> String {
    match policy.review(call(tool, args), &with_write(), &ReadOnly) {
        Verdict::Cleared(_) => "runs".into(),
        Verdict::Ask(pending) if pending.all_changes().is_some() => "asks, offers all".into(),
        Verdict::Ask(_) => "asks".into(),
        Verdict::Denied(_) => "denied".into(),
    }
}

#[test]
fn a_command_asks_before_it_runs_only_if_it_may_change_the_project() {
    use AskMode::{Always, Never, Risky, Sandboxed};
    for (command, write, expected) in [
        ("./build.sh", false, ["asks", "runs", "runs", "runs"]),
        ("cargo test", false, ["asks", "runs", "runs", "runs"]),
        ("git commit -m x", false, ["asks", "runs", "runs", "runs"]),
        ("eval \"$X\"", false, ["asks", "runs", "runs", "runs"]),
        ("rm -rf /", false, ["denied"; 4]),
        ("cargo test", true, ["asks", "asks, offers all", "runs", "runs"]),
        ("ls", true, ["asks", "runs", "runs", "runs"]),
        ("eval \"$X\"", true, ["asks", "asks, offers all", "runs", "runs"]),
        ("git commit -m x", true, ["asks", "asks, offers all", "runs", "runs"]),
        ("rm -rf /", true, ["denied"; 4]),
    ] {
        for (mode, expected) in [Always, Risky, Sandboxed, Never].into_iter().zip(expected) {
            let got = outcome(&Policy::default().ask(mode), "bash", json!({"command": command, "write": write}));
            assert_eq!(got, expected, "{command} with write {write} in {mode:?}");
        }
    }
    for (args, expected) in [(json!({"path": "a.py"}), "runs"), (json!({"path": "a.py", "write": true}), "asks")] {
        assert!(outcome(&Policy::default(), "run_python", args).starts_with(expected), "{expected}");
    }
    // Actions that the sandbox does not confine still ask.
    let networked = json!({"command": "cargo test", "network": true});
    assert_eq!(outcome(&Policy::default().ask(AskMode::Sandboxed), "bash", networked), "asks");
}

/// A host whose sandbox works but leaves the project writable.
struct Writable;

impl Facts for Writable {
    fn path(&self, cwd: &str, path: &str) -> PathFact {
        SANDBOXED.path(cwd, path)
    }

    fn program(&self, program: &str) -> ProgramFact {
        SANDBOXED.program(program)
    }

    fn sandbox_holds(&self) -> bool {
        true
    }
}

#[test]
fn a_command_asks_in_a_sandbox_that_leaves_the_project_writable() {
    let rule = |mode: AskMode, text: &str| {
        let policy = Policy::default().ask(mode);
        let decision = policy.judge_command(text, "", &Writable);
        (decision.rule.clone(), policy.effective(&decision))
    };
    for text in ["touch x", "make", "echo '"] {
        assert_eq!(rule(AskMode::Risky, text), ("write_access".to_owned(), Effective::Ask), "{text}");
        assert_eq!(rule(AskMode::Sandboxed, text).1, Effective::Run, "{text}");
    }
    assert_eq!(rule(AskMode::Risky, "ls -la"), ("harmless".to_owned(), Effective::Run));
}

#[test]
fn an_answer_of_always_lets_the_exact_command_change_the_project() {
    let mut policy = Policy::default();
    let args = json!({"command": "cargo test", "write": true});
    let Verdict::Ask(pending) = policy.review(call("bash", args.clone()), &with_write(), &ReadOnly) else {
        panic!("it does not ask");
    };
    policy.remember(pending.decision().always().expect("it can be stored").to_vec());
    assert_eq!(outcome(&policy, "bash", args), "runs");
    assert!(outcome(&policy, "bash", json!({"command": "cargo test -q", "write": true})).starts_with("asks"));
}

#[test]
fn plan_mode_has_no_argument_write() {
    let plan = Policy::default().read_only(true);
    assert_eq!(outcome(&plan, "bash", json!({"command": "./build.sh"})), "runs");
    assert_eq!(outcome(&plan, "bash", json!({"command": "./build.sh", "write": true})), "denied");
    for (policy, teaches) in [(plan, false), (Policy::default(), true)] {
        for (language, sentence) in [
            (Language::English, "The project is read-only for commands"),
            (Language::Portuguese, "O projeto é somente leitura"),
        ] {
            let text = instructions(&policy.marked(&with_write(), &ReadOnly), language);
            assert_eq!(text.contains("write?"), teaches, "{text}");
            assert_eq!(text.contains(sentence), teaches, "{text}");
        }
    }
}
