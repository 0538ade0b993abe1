//! "Always": what it stores, and that nothing but exactly this runs by it.

use serde_json::{Value, json};
use std::sync::Arc;
use toolfence::policy::{AskMode, Judgement, Pending, Policy, Verdict};
use toolfence::session::{Action, Answer, Input, Session, SessionOptions};
use toolfence::{Catalog, FinishReason, Output, ToolResult};
use toolfence_kit::{Linked, World, call};

/// A project where `link` leads to `real`.
const LINKED: Linked = Linked { world: World { sandbox: false }, links: &[("link", "real")], programs: &[] };

fn catalog() -> Catalog {
    toolfence::program::tool::builtins().iter().cloned().collect()
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

/// The policy after "always" to this command.
fn after(command: &str) -> Policy {
    let mut policy = Policy::default();
    let pending = bash(&policy, command).unwrap_or_else(|| panic!("{command} runs unasked"));
    let (_, rules) = pending.approve_always();
    assert!(!rules.is_empty(), "nothing to store for {command}");
    policy.remember(rules);
    policy
}

#[test]
fn exactly_the_command_runs_and_nothing_else() {
    let policy = after("mkdir build");
    for runs in ["mkdir build", "mkdir  'build'", "ls; mkdir build && ls", "mkdir build | wc -l", "mkdir build &"] {
        assert!(bash(&policy, runs).is_none(), "{runs}");
    }
    for asks in [
        "mkdir build x",
        "mkdir",
        "mkdir Build",
        "mkdir build > log",
        "mkdir build 2>&1",
        "X=1 mkdir build",
        "mkdir build; mkdir other",
        "cd src; mkdir build",
        "cd src && mkdir build",
        "sudo mkdir build",
        "/bin/mkdir build",
        "./mkdir build",
        "$(echo mkdir) build",
        "m=mkdir; $m build",
        "mkdir $build",
        "mkdir buil*",
        "echo x | mkdir build",
        "mkdir build < x",
        "mkdir build <<< x",
        "{ mkdir build; } > log",
        "ls | { mkdir build; }",
        "(mkdir build)",
        "if true; then mkdir build; fi",
        "mkdir() { rm x; }; mkdir build",
        "alias mkdir='rm x'; mkdir build",
        "PATH=.; mkdir build",
        "echo $(mkdir build)",
        "eval mkdir build",
        "bash -c 'mkdir build'",
        "find . -exec mkdir build ';'",
        "mkdir build \u{200b}",
    ] {
        assert!(bash(&policy, asks).is_some(), "{asks}");
    }
}

#[test]
fn what_is_allowed_by_name_says_so() {
    let rule = |policy: &Policy, text: &str| policy.judge_command(text, "", &LINKED).rule;
    let mut policy = after("mkdir build");
    assert_eq!((rule(&policy, "ls; mkdir build"), rule(&policy, "ls")), ("answered".into(), "read_only".into()));
    let pending = bash(&policy, "git commit").expect("it asks");
    policy.remember(pending.beginning(&["git".to_owned(), "commit".to_owned()]));
    assert_eq!(rule(&policy, "ls; git commit -m x"), "commands.allow");
    let met = policy.judge_command("ls; git commit; mkdir build", "", &LINKED).met;
    let met: Vec<(&str, Option<usize>)> = met.iter().map(|met| (met.rule.as_str(), met.command)).collect();
    assert_eq!(met, [("commands.allow", Some(1)), ("answered", Some(2))]);
}

#[test]
fn redirects_assignments_and_folder_are_part_of_it() {
    for (stored, others) in [
        ("echo x >> log", &["echo x > log", "echo x >> log2", "echo y >> log", "echo x >> log 2>&1"][..]),
        ("X=1 touch a", &["X=2 touch a", "touch a", "Y=1 touch a", "X=1 Y=1 touch a"]),
        ("touch a 2> /dev/null", &["touch a 2> b"]),
    ] {
        let policy = after(stored);
        assert!(bash(&policy, stored).is_none(), "{stored}");
        for other in others {
            assert!(bash(&policy, other).is_some(), "{other} by {stored}");
        }
    }
    let at = |policy: &Policy, cwd: &str| asked(policy, "bash", &json!({"command": "touch a", "cwd": cwd}), &LINKED);
    let mut policy = Policy::default();
    policy.remember(at(&policy, "link").expect("it asks").approve_always().1);
    assert!(at(&policy, "link").is_none() && at(&policy, "real").is_none(), "the real folder counts");
    assert!(at(&policy, "src").is_some() && bash(&policy, "touch a").is_some());
}

#[test]
fn what_is_denied_stays_denied() {
    let mut policy = after("touch a");
    let verdict = |policy: &Policy, text: &str| policy.judge_command(text, "", &LINKED).judgement;
    assert_eq!(verdict(&policy, "touch a; rm -rf /"), Judgement::Deny);
    policy.remember(bash(&policy, "touch b").expect("it asks").approve_always().1);
    let settings = toolfence::policy::Settings::from_toml("[commands]\ndeny = [\"touch\"]").unwrap();
    let mut strict = Policy::new(settings).unwrap();
    strict.remember(bash(&Policy::default(), "touch a").expect("it asks").approve_always().1);
    assert_eq!(verdict(&strict, "touch a"), Judgement::Deny);
}

#[test]
fn never_for_what_runs_something_else() {
    for command in [
        "python3 x.py",
        "python3.12 -c 'print(1)'",
        "bash x.sh",
        "node x.js",
        "perl -e 1",
        "env touch a",
        "sudo touch a",
        "timeout 5 touch a",
        "xargs touch",
        "npm run build",
        "npx cowsay",
        "cargo test",
        "pip install x",
        "make",
        "/usr/bin/make -n",
        "./deploy",
        "deploy",
        "nosuch",
        "scripts/x.sh",
        "/opt/x/touch a",
        "eval 'touch a'",
        "source x",
        ". x",
        "export A=1",
        "find . -name x -exec touch a ';'",
        "A=1",
        "> x",
        "touch $(pwd)",
        "touch *.o",
        "cat <<E > x\nE",
        "for i in 1 2; do touch a; done",
        "f() { touch a; }",
        "touch a; echo '",
    ] {
        let pending = bash(&Policy::default(), command).unwrap_or_else(|| panic!("{command} runs unasked"));
        assert!(pending.always().is_err(), "{command}: {:?}", pending.always());
        let (_, rules) = pending.approve_always();
        assert!(rules.is_empty(), "{command}");
    }
}

#[test]
fn sandbox_that_hold_let_more_be_stored() {
    let sandboxed = Linked { world: World { sandbox: true }, ..LINKED };
    let args = json!({"command": "python3 -c 1"});
    let mut policy = Policy::default();
    let pending = asked(&policy, "bash", &args, &sandboxed).expect("it asks");
    policy.remember(pending.approve_always().1);
    assert!(asked(&policy, "bash", &args, &sandboxed).is_none());
    assert!(asked(&policy, "bash", &args, &LINKED).is_some(), "without the sandbox it is asked again");
    let network = json!({"command": "touch a", "network": true});
    let pending = asked(&policy, "bash", &network, &sandboxed).expect("it asks");
    assert!(pending.always().is_err(), "the network is asked for every time");
}

#[test]
fn a_beginning_is_stored_only_as_it_was_typed() {
    let mut policy = Policy::default();
    let pending = bash(&policy, "ls; git commit -m x").expect("it asks");
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    for wrong in ["git push", "ls", "git com", "commit"] {
        assert!(pending.beginning(&words(wrong)).is_none(), "{wrong}");
    }
    policy.remember(pending.beginning(&words("git commit")));
    assert!(bash(&policy, "git commit -m y").is_none());
    for asks in ["git commit -m y > z", "X=1 git commit", "sudo git commit", "git push"] {
        assert!(bash(&policy, asks).is_some(), "{asks}");
    }
    let pending = bash(&policy, "python3 -c 1").expect("it asks");
    assert!(pending.beginning(&words("python3")).is_none());
    let sandboxed = Linked { world: World { sandbox: true }, ..LINKED };
    let pending = asked(&policy, "bash", &json!({"command": "python3 -c 1"}), &sandboxed).expect("it asks");
    assert!(pending.beginning(&words("python3")).is_none(), "not with the sandbox either: they may go");
}

#[test]
fn a_file_is_stored_with_its_tool() {
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
    let run = asked(&policy, "run_python", &json!({"path": "x.py"}), &LINKED).expect("it asks");
    assert!(run.always().is_err());
}

#[test]
fn the_mode_that_asks_for_everything_offers_nothing() {
    let policy = Policy::default().ask(AskMode::Always);
    for command in ["ls", "touch a"] {
        assert!(bash(&policy, command).expect("it asks").always().is_err(), "{command}");
    }
}

#[test]
fn a_decision_marks_what_asks() {
    let text = "ls é; touch a > b; cat x | wc -l && make";
    let decision = Policy::default().judge_command(text, "", &LINKED);
    let marked: Vec<&str> = decision.marks.iter().map(|mark| &text[mark.clone()]).collect();
    assert_eq!(marked, ["touch a > b", "make"]);
    let by = |rule: &str| decision.met.iter().find(|met| met.rule == rule).and_then(|met| met.command);
    assert_eq!(by("writes_file"), Some(1));
    let text = "echo $(rm x)\nif true; then\n  mkdir y\nfi";
    let decision = Policy::default().judge_command(text, "", &LINKED);
    let marked: Vec<&str> = decision.marks.iter().map(|mark| &text[mark.clone()]).collect();
    assert_eq!(marked, ["echo $(rm x)", "mkdir y"], "{decision:?}");
}

#[test]
fn a_session_remembers_until_it_ends() {
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
