//! Tests the rules that the answer "always" stores, and that they allow no other call.

use serde_json::{Value, json};
use std::sync::Arc;
use toolfence_kit::{Linked, World, call};
use toolfence_policy::{AskMode, Judgement, Pending, Policy, Verdict};
use toolfence_protocol::{Catalog, FinishReason, Output, ToolResult};
use toolfence_session::{Action, Answer, Input, Session, SessionOptions};

/// A project in which `link` is a symbolic link to `real`.
const LINKED: Linked = Linked { world: World { sandbox: false }, links: &[("link", "real")] };

fn catalog() -> Catalog {
    toolfence_policy::toolset::builtins().iter().cloned().collect()
}

fn asked(policy: &Policy, name: &str, args: &Value, world: &Linked) -> Option<Pending> {
    match policy.review(call(name, args.clone()), &catalog(), world) {
        Verdict::Ask(pending) => Some(pending),
        Verdict::Cleared(_) => None,
        Verdict::Denied(result) => panic!("{name} {args} is denied: {result:?}"),
    }
}

fn bash(policy: &Policy, command: &str) -> Option<Pending> {
    asked(policy, "bash", &json!({"command": command}), &LINKED)
}

/// Returns the policy after the answer "always" to this command.
fn after(command: &str) -> Policy {
    let mut policy = Policy::default();
    let pending = bash(&policy, command).unwrap_or_else(|| panic!("{command} runs unasked"));
    let (_, rules) = pending.approve_always();
    assert!(!rules.is_empty(), "nothing to store for {command}");
    policy.remember(rules);
    policy
}

#[test]
fn an_always_answer_covers_only_the_exact_command() {
    let policy = after("mkdir build");
    assert!(bash(&policy, "mkdir build").is_none());
    for asks in
        ["mkdir build x", "mkdir", "mkdir  build", "mkdir build > log", "X=1 mkdir build", "mkdir build; mkdir other"]
    {
        assert!(bash(&policy, asks).is_some(), "{asks}");
    }
    let rule = |text: &str| policy.judge_command(text, "", &LINKED).rule;
    assert_eq!((rule("mkdir build"), rule("ls")), ("answered".to_owned(), "harmless".to_owned()));
}

#[test]
fn an_always_answer_covers_only_the_same_folder() {
    let at = |policy: &Policy, cwd: &str| asked(policy, "bash", &json!({"command": "touch a", "cwd": cwd}), &LINKED);
    let mut policy = Policy::default();
    policy.remember(at(&policy, "link").expect("it asks").approve_always().1);
    assert!(at(&policy, "link").is_none() && at(&policy, "real").is_none(), "the real folder counts");
    assert!(at(&policy, "src").is_some() && bash(&policy, "touch a").is_some());
}

#[test]
fn an_always_answer_does_not_override_a_denial() {
    let mut policy = after("touch a");
    let verdict = |policy: &Policy, text: &str| policy.judge_command(text, "", &LINKED).judgement;
    assert_eq!(verdict(&policy, "touch a; rm -rf /"), Judgement::Deny);
    policy.remember(bash(&policy, "touch b").expect("it asks").approve_always().1);
    let settings = toolfence_policy::Settings::from_toml("[commands]\ndeny = [\"touch\"]").unwrap();
    let mut strict = Policy::new(settings).unwrap();
    strict.remember(bash(&Policy::default(), "touch a").expect("it asks").approve_always().1);
    assert_eq!(verdict(&strict, "touch a"), Judgement::Deny);
}

#[test]
fn approvals_that_only_a_person_can_give_are_not_stored() {
    for command in ["touch a; echo '", "$x", "eval \"$x\"", "rm -rf \"$x\"", "cat *.pem", "echo x > .git/config"] {
        let pending = bash(&Policy::default(), command).unwrap_or_else(|| panic!("{command} runs without a question"));
        assert!(pending.always().is_err(), "{command}: {:?}", pending.always());
        let (_, rules) = pending.approve_always();
        assert!(rules.is_empty(), "{command}");
    }
}

#[test]
fn an_always_answer_for_a_file_covers_only_its_tool() {
    let write = |policy: &Policy, tool: &str, path: &str| {
        let args = json!({"path": path, "content": "x"});
        let edit = json!({"path": path, "old": "a", "new": "b"});
        asked(policy, tool, if tool == "write_file" { &args } else { &edit }, &LINKED)
    };
    let mut policy = Policy::default();
    let pending = write(&policy, "write_file", "link").expect("it asks");
    assert_eq!(pending.always().unwrap()[0].to_string(), "write_file real");
    policy.remember(pending.approve_always().1);
    assert!(write(&policy, "write_file", "real").is_none() && write(&policy, "write_file", "link").is_none());
    assert!(write(&policy, "write_file", "other").is_some() && write(&policy, "replace_text", "real").is_some());

    let patch = |path: &str| json!({"patch": format!("--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-a\n+b\n")});
    let both = json!({"patch": "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n"});
    policy.remember(asked(&policy, "apply_patch", &patch("x"), &LINKED).expect("asks").approve_always().1);
    assert!(asked(&policy, "apply_patch", &patch("x"), &LINKED).is_none());
    assert!(asked(&policy, "apply_patch", &both, &LINKED).is_some(), "every file counts");
}

#[test]
fn always_is_not_available_in_the_mode_that_asks_about_everything() {
    let policy = Policy::default().ask(AskMode::Always);
    for command in ["ls", "touch a"] {
        assert!(bash(&policy, command).expect("it asks").always().is_err(), "{command}");
    }
}

#[test]
fn a_decision_marks_the_parts_that_ask() {
    let text = "ls é; touch a > b; cat x | wc -l && make";
    let decision = Policy::default().judge_command(text, "", &LINKED);
    let marked: Vec<&str> = decision.marks.iter().map(|mark| &text[mark.clone()]).collect();
    assert_eq!(marked, ["touch a > b", "make"]);
    let text = "echo $(rm x)\nif true; then\n  mkdir y\nfi";
    let decision = Policy::default().judge_command(text, "", &LINKED);
    let marked: Vec<&str> = decision.marks.iter().map(|mark| &text[mark.clone()]).collect();
    assert_eq!(marked, ["echo $(rm x)", "rm x", "mkdir y"], "{decision:?}");
}

#[test]
fn answers_are_remembered_until_the_session_ends() {
    let block = "```tool\n{\"name\": \"bash\", \"args\": {\"command\": \"touch a\"}}\n```\n";
    let mut session = Session::new(SessionOptions::default(), Arc::new(catalog()), Policy::default(), Arc::new(LINKED));
    session.handle(Input::User("go"));
    let reply = |session: &mut Session| {
        session.handle(Input::Chunk(block));
        session.handle(Input::End(FinishReason::Stop));
        let mut acts = Vec::new();
        while let Some(action) = session.poll() {
            acts.push(action);
        }
        acts.pop().expect("the call is run or asked about")
    };
    let Action::Ask(pending) = reply(&mut session) else { panic!("it is not asked about") };
    let id = pending.call().id.clone();
    session.handle(Answer::Always(None).to(pending));
    assert!(matches!(session.poll(), Some(Action::Run(_))));
    session.handle(Input::Result(ToolResult::new(id, "bash", Output::text(""), 1)));
    while session.poll().is_some() {}
    assert!(matches!(reply(&mut session), Action::Run(_)), "the second time it runs unasked");
}
