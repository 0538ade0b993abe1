//! Tests the policy's public API: verdicts in each mode, calls, settings and reasons.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the tests run commands and read cases, the library does not"
)]

#[cfg(target_os = "linux")]
mod agreement;
mod copies;
mod corpus;
mod credentials;
mod deny;
mod deny_matcher;
mod hostile;
mod marked;
mod names;
mod read_only;
mod readable;

use toolfence_kit::{World, call};
use toolfence_policy::{AskMode, Decision, Judgement, NoFacts, Policy, Settings, Verdict};
use toolfence_protocol::{Args, Catalog, Effect, ErrorCode, Repair, ToolCall, ToolFailure, ToolSpec};

fn command(text: &str) -> Decision {
    Policy::default().judge_command(text, "", &World::default())
}

fn settings(text: &str) -> Policy {
    Policy::new(Settings::from_toml(text).unwrap()).unwrap()
}

fn catalog() -> Catalog {
    toolfence_policy::toolset::builtins().iter().cloned().collect()
}

fn denied(verdict: Verdict) -> ToolFailure {
    match verdict {
        Verdict::Denied(result) => result.error.expect("a refusal says why"),
        other => panic!("not denied: {other:?}"),
    }
}

fn kind(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Cleared(_) => "allow",
        Verdict::Ask(_) => "ask",
        Verdict::Denied(_) => "deny",
    }
}

#[test]
fn harmless_commands_ask_if_the_host_knows_no_facts() {
    for text in ["ls", "cat README.md", "grep x y", "git status"] {
        let decision = Policy::default().judge_command(text, "", &NoFacts);
        assert_eq!(decision.judgement, Judgement::Ask, "{text}");
    }
    assert_eq!(Policy::default().judge_command("rm -rf /", "", &NoFacts).judgement, Judgement::Deny);
}

#[test]
fn a_decision_lists_every_command() {
    let decision = command("cd src && grep -n 'a b' x.rs | head -3; echo $(date) > y");
    assert_eq!(decision.commands, ["cd src", "grep -n 'a b' x.rs", "head -3", "echo $(date) > y", "date"]);
    assert_eq!(decision.judgement, Judgement::Ask);
    let json = serde_json::to_value(&decision).unwrap();
    assert_eq!(json["verdict"], "ask");
}

#[test]
fn displayed_text_cannot_move_the_cursor() {
    let decision = command("echo '\u{202e}'");
    assert!(decision.commands[0].contains("\\u{202e}"), "{decision:?}");
    assert_eq!((decision.rule.as_str(), decision.judgement), ("unreadable", Judgement::Ask));
}

#[test]
fn paths_are_judged_relative_to_the_folder_of_the_command() {
    let judge = |text, cwd| Policy::default().judge_command(text, cwd, &World::default()).judgement;
    assert_eq!(judge("cat ../README.md", "src"), Judgement::Allow);
    assert_eq!(judge("cat ../../README.md", "src"), Judgement::Ask);
    assert_eq!(judge("rm -rf ../..", "src"), Judgement::Deny);
    assert_eq!(judge("cat ../link-to-env", "src"), Judgement::Deny);
    assert_eq!(judge("cd .. && cat ../x", "src"), Judgement::Ask);
}

#[test]
fn each_mode_has_its_effect_on_calls() {
    // For each mode: its effect on `ls`, `touch x`, a file write, an unreadable command and `rm -rf /`.
    let table = [
        (AskMode::Risky, ["run", "ask", "ask", "ask", "deny"]),
        (AskMode::Always, ["ask", "ask", "ask", "ask", "deny"]),
        (AskMode::Sandboxed, ["run", "ask", "run", "ask", "deny"]),
        (AskMode::Never, ["run", "run", "run", "deny", "deny"]),
    ];
    let catalog = catalog();
    for (mode, wanted) in table {
        let policy = settings("[commands]\ndeny = [\"deploy\"]").ask(mode);
        let effective = |name: &str, args: serde_json::Value| {
            let call = call(name, args);
            let spec = catalog.find(name).expect("it is a tool");
            policy.effective(&policy.judge(&call, spec, &World::default()))
        };
        let command = |text: &str| effective("bash", serde_json::json!({"command": text}));
        let got = [
            command("ls"),
            command("touch x"),
            effective("write_file", serde_json::json!({"path": "x", "content": ""})),
            command("echo '"),
            command("rm -rf /"),
        ];
        let got = got.map(|effective| serde_json::to_value(effective).unwrap());
        assert_eq!(got.to_vec(), wanted.to_vec(), "{mode:?}");
    }
}

#[test]
fn sandboxed_mode_keeps_changes_by_file_tools_with_and_without_a_sandbox() {
    let sandboxed = Policy::default().ask(AskMode::Sandboxed);
    for sandbox in [false, true] {
        for (path, wanted) in [("a.txt", "allow"), ("AGENTS.md", "ask"), (".env", "deny")] {
            let call = call("write_file", serde_json::json!({"path": path, "content": "x"}));
            assert_eq!(kind(&sandboxed.review(call, &catalog(), &World { sandbox })), wanted, "{path}");
        }
    }
}

#[test]
fn network_and_outside_the_sandbox_always_ask() {
    let sandboxed = Policy::default().ask(AskMode::Sandboxed);
    for flag in ["network", "outside_sandbox"] {
        let call = call("bash", serde_json::json!({"command": "ls", flag: true}));
        match sandboxed.review(call, &catalog(), &World { sandbox: true }) {
            Verdict::Ask(pending) => assert_eq!(pending.decision().rule, flag),
            other => panic!("{other:?}"),
        }
        let call = self::call("bash", serde_json::json!({"command": "cargo test", flag: true}));
        assert_eq!(kind(&sandboxed.review(call, &catalog(), &World { sandbox: true })), "ask");
    }
}

/// A command outside the sandbox needs an answer or the user's setting `outside`.
#[test]
fn a_command_leaves_the_sandbox_only_by_an_answer_or_the_users_own_setting() {
    let table = [
        (AskMode::Always, ["ask", "ask"]),
        (AskMode::Risky, ["ask", "ask"]),
        (AskMode::Sandboxed, ["ask", "ask"]),
        (AskMode::Never, ["deny", "allow"]),
    ];
    for (mode, wanted) in table {
        for (setting, wanted) in ["outside = false", "outside = true"].into_iter().zip(wanted) {
            let policy = settings(setting).ask(mode);
            for command in ["ls", "cargo test", "docker ps"] {
                for sandbox in [true, false] {
                    let review = |args| policy.review(call("bash", args), &catalog(), &World { sandbox });
                    let verdict = review(serde_json::json!({"command": command, "outside_sandbox": true}));
                    assert_eq!(kind(&verdict), wanted, "{mode:?} {setting} {command} {sandbox}");
                    if let Verdict::Denied(result) = verdict {
                        let message = result.error.expect("a refusal says why").message.to_string();
                        assert!(message.contains("Run it without outside_sandbox"), "{message}");
                        assert!(message.contains("`outside = true`"), "{message}");
                    }
                    let inside = review(serde_json::json!({"command": command, "outside_sandbox": false}));
                    assert_ne!(kind(&inside), "deny", "{mode:?} {setting} {command} {sandbox}");
                }
            }
            let denied = review_outside(&policy, "rm -rf /");
            assert_eq!(kind(&denied), "deny", "{mode:?} {setting}");
        }
    }
}

fn review_outside(policy: &Policy, command: &str) -> Verdict {
    let args = serde_json::json!({"command": command, "outside_sandbox": true});
    policy.review(call("bash", args), &catalog(), &World { sandbox: true })
}

#[test]
fn a_rule_that_allows_a_command_does_not_let_it_leave_the_sandbox() {
    let policy = settings("[commands]\nallow = [\"docker\"]").ask(AskMode::Never);
    assert_eq!(kind(&review_outside(&policy, "docker ps")), "deny");
    assert_eq!(kind(&review_outside(&policy.ask(AskMode::Risky), "docker ps")), "ask");
}

#[test]
fn the_reason_also_names_the_network_if_another_rule_asks() {
    let policy = settings("[commands]\ndeny = [\"git push\"]");
    for (flag, want) in [("network", "It wants to use the network. "), ("outside_sandbox", "It wants to run outside ")]
    {
        let call = call("bash", serde_json::json!({"command": "git $x", flag: true}));
        match policy.review(call, &catalog(), &World { sandbox: true }) {
            Verdict::Ask(pending) => {
                let decision = pending.decision();
                assert_ne!(decision.rule, flag, "another rule asks");
                let reason = decision.reason.to_string();
                assert!(reason.starts_with(want) && reason.len() > want.len() + 20, "{reason}");
            }
            other => panic!("{other:?}"),
        }
    }
}

/// A job writes into build folders while it runs, so the user is asked about output before it starts.
#[test]
fn a_job_asks_once_whether_it_may_write_into_build_folders() {
    let job = || call("bash", serde_json::json!({"command": "npm run dev", "background": true}));
    let review = |policy: &Policy| policy.review(job(), &catalog(), &World { sandbox: true });
    let mut policy = Policy::default();
    let Verdict::Ask(pending) = review(&policy) else { panic!("it asks") };
    assert_eq!(pending.decision().rule, "output");
    let (_, rules) = pending.approve_always();
    policy.remember(rules);
    assert_eq!(kind(&review(&policy)), "allow");
    for mode in [AskMode::Sandboxed, AskMode::Never] {
        assert_eq!(kind(&review(&Policy::default().ask(mode))), "allow");
    }
    match review(&Policy::default().read_only(true)) {
        Verdict::Cleared(cleared) => assert_eq!(cleared.consent_to_output(), toolfence_policy::Consent::Refused),
        other => panic!("{other:?}"),
    }
}

/// The answer "always" allows the network only for a command with exactly the same words.
#[test]
fn the_network_is_allowed_for_the_exact_command() {
    let review = |policy: &Policy, args| policy.review(call("bash", args), &catalog(), &World { sandbox: true });
    let mut policy = Policy::default();
    let args = serde_json::json!({"command": "npm ci", "network": true});
    let Verdict::Ask(pending) = review(&policy, args.clone()) else { panic!("it asks") };
    let (_, rules) = pending.approve_always();
    policy.remember(rules);
    assert_eq!(kind(&review(&policy, args)), "allow");
    for args in [
        serde_json::json!({"command": "npm ci x", "network": true}),
        serde_json::json!({"command": "npm ci", "network": true, "cwd": "src"}),
        serde_json::json!({"command": "npm ci", "network": true, "outside_sandbox": true}),
    ] {
        assert_eq!(kind(&review(&policy, args.clone())), "ask", "{args}");
    }
}

#[test]
fn a_python_file_is_judged_like_the_command_that_runs_it() {
    let cases = [
        (serde_json::json!({"path": "x.py"}), "python3 x.py"),
        (serde_json::json!({"path": "x.py", "args": ["a", "--b"]}), "python3 x.py a --b"),
        (serde_json::json!({"path": "src/it's.py"}), "python3 'src/it'\\''s.py'"),
        (
            serde_json::json!({"path": "x.py", "args": ["$(rm -rf /)", "a\nb", "*", ""]}),
            "python3 x.py '$(rm -rf /)' 'a\nb' '*' ''",
        ),
        (serde_json::json!({"path": "-c", "args": ["import os"]}), "python3 ./-c 'import os'"),
        (serde_json::json!({"path": "x.py", "args": [".env"]}), "python3 x.py .env"),
    ];
    let rules = [
        "",
        "[commands]\ndeny = [\"python3\"]\n",
        "[commands]\ndeny = [\"python3 x.py\"]\n",
        "[commands]\nallow = [\"python3 x.py\"]\n",
        "[commands]\nonly = [\"ls\"]\n",
    ];
    let modes = [AskMode::Risky, AskMode::Always, AskMode::Sandboxed, AskMode::Never];
    let verdict = |policy: &Policy, tool: &str, args: &serde_json::Value, sandbox| match policy.review(
        call(tool, args.clone()),
        &catalog(),
        &World { sandbox },
    ) {
        Verdict::Cleared(_) => "runs".to_owned(),
        Verdict::Ask(pending) => {
            let always = pending.always().map(|rules| rules.iter().map(ToString::to_string).collect::<Vec<_>>());
            format!("asks {} {:?}", pending.decision().rule, always.map_err(|why| why.to_string()))
        }
        Verdict::Denied(result) => format!("denied {}", result.error.expect("a refusal says why").message),
    };
    for (args, line) in &cases {
        let policies = rules.iter().flat_map(|toml| modes.map(|mode| (toml, mode, settings(toml).ask(mode))));
        for (toml, mode, policy) in policies {
            for sandbox in [true, false] {
                let as_command = verdict(&policy, "bash", &serde_json::json!({"command": line}), sandbox);
                let got = verdict(&policy, "run_python", args, sandbox);
                assert_eq!(got, as_command, "{line} {toml} {mode:?} {sandbox}");
            }
        }
    }
    let held = |args| verdict(&Policy::default(), "run_python", args, true);
    assert_eq!(held(&cases[0].0), "runs");
    assert!(held(&serde_json::json!({"path": "../x.py"})).starts_with("denied"));
}

#[test]
fn calls_of_built_in_tools_are_allowed_asked_about_or_denied() {
    let in_folder = |folder: &str, name: &str| serde_json::json!({"patch": format!("*** Begin Patch\n*** Delete File: {name}\n*** End Patch\n"), "base_path": folder});
    let edits = serde_json::json!([{"start_line": 1, "end_line": 1, "replacement": "x"}]);
    let cases = [
        ("read_file", serde_json::json!({"path": "src/main.rs"}), "allow"),
        ("read_file", serde_json::json!({"path": ".git/config"}), "allow"),
        ("read_file", serde_json::json!({"path": "sub/.Env.local"}), "deny"),
        ("read_file", serde_json::json!({"path": "link-to-env"}), "deny"),
        ("read_file", serde_json::json!({"path": "/etc/hosts"}), "deny"),
        ("list_files", serde_json::json!({}), "allow"),
        ("list_files", serde_json::json!({"path": ".ssh"}), "deny"),
        ("search", serde_json::json!({"pattern": "x", "path": "src"}), "allow"),
        ("write_file", serde_json::json!({"path": "x", "content": ""}), "ask"),
        ("write_file", serde_json::json!({"path": ".env", "content": ""}), "deny"),
        ("write_file", serde_json::json!({"path": ".git/hooks/x", "content": ""}), "deny"),
        ("write_file", serde_json::json!({"path": "../x", "content": ""}), "deny"),
        ("edit_file", serde_json::json!({"path": "x", "edits": edits}), "ask"),
        ("edit_file", serde_json::json!({"path": "x", "edits": edits, "dry_run": true}), "allow"),
        ("replace_text", serde_json::json!({"path": "toolfence.toml", "old": "a", "new": "b"}), "deny"),
        ("apply_patch", serde_json::json!({"patch": "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"}), "ask"),
        (
            "apply_patch",
            serde_json::json!({"patch": "*** Begin Patch\n*** Delete File: sub/.env\n*** End Patch\n"}),
            "deny",
        ),
        ("apply_patch", serde_json::json!({"patch": "--- a/x\n+++ b/../../x\n"}), "deny"),
        ("apply_patch", in_folder("src", "x"), "ask"),
        ("apply_patch", in_folder("", "x"), "ask"),
        ("apply_patch", in_folder("sub/", ".env"), "deny"),
        ("apply_patch", in_folder(".//.git/./", "config"), "deny"),
        ("apply_patch", in_folder(".ssh", "x"), "deny"),
        ("apply_patch", in_folder(".", "toolfence.toml"), "deny"),
        ("apply_patch", in_folder("..", "x"), "deny"),
        ("apply_patch", in_folder("src/../..", "x"), "deny"),
        ("apply_patch", in_folder("/etc", "x"), "deny"),
        ("apply_patch", in_folder("/proj/.git", "config"), "deny"),
        ("bash", serde_json::json!({"command": "ls"}), "allow"),
        ("bash", serde_json::json!({"command": "ls", "cwd": "/etc"}), "deny"),
        ("bash", serde_json::json!({"command": "cat ../x", "cwd": "src"}), "allow"),
        ("bash", serde_json::json!({"command": "cargo test"}), "ask"),
        ("bash", serde_json::json!({"command": "cat .env"}), "deny"),
        ("run_python", serde_json::json!({"path": "x.py"}), "ask"),
        ("job", serde_json::json!({"id": "1", "action": "poll"}), "allow"),
        ("job", serde_json::json!({"id": "1", "action": "stop"}), "ask"),
    ];
    for (name, args, wanted) in cases {
        let verdict = Policy::default().review(call(name, args.clone()), &catalog(), &World::default());
        assert_eq!(kind(&verdict), wanted, "{name} {args}: {verdict:?}");
    }
}

#[test]
fn a_refusal_has_the_code_of_its_cause() {
    let review = |name, args| denied(Policy::default().review(call(name, args), &catalog(), &World::default()));
    assert_eq!(review("reed_file", serde_json::json!({})).code, ErrorCode::UnknownTool);
    assert_eq!(review("read_file", serde_json::json!({"path": 3})).code, ErrorCode::InvalidArgument);
    assert_eq!(review("read_file", serde_json::json!({"path": ".env"})).code, ErrorCode::Denied);
    let outside = review("read_file", serde_json::json!({"path": "../x"}));
    assert_eq!(outside.code, ErrorCode::PermissionDenied);
    assert!(outside.message.to_string().contains("relative"), "{}", outside.message);
    let long = format!("echo {}", "x".repeat(70_000));
    assert_eq!(review("bash", serde_json::json!({"command": long})).code, ErrorCode::TooLarge);
}

#[test]
fn a_guessed_call_may_only_read() {
    let review = |name: &str, args: serde_json::Value, repair| {
        let mut call = call(name, args);
        call.repairs = vec![Repair::TrailingComma, repair];
        Policy::default().ask(AskMode::Never).review(call, &catalog(), &World::default())
    };
    let write = serde_json::json!({"path": "x", "content": "y".repeat(5000)});
    let failure = denied(review("write_file", write.clone(), Repair::UnquotedValue));
    assert_eq!(failure.code, ErrorCode::MalformedCall);
    assert!(
        failure.message.to_string().contains("unquoted_value")
            && !failure.message.to_string().contains("trailing_comma")
    );
    assert!(
        failure.message.to_string().contains("path=\"x\"") && failure.message.to_string().len() < 1500,
        "{}",
        failure.message
    );
    assert_eq!(kind(&review("write_file", write, Repair::Comment)), "allow");
    assert_eq!(kind(&review("read_file", serde_json::json!({"path": "x"}), Repair::AfterBrokenBlock)), "allow");
    let ls = serde_json::json!({"command": "ls"});
    assert_eq!(denied(review("bash", ls.clone(), Repair::AfterBrokenBlock)).code, ErrorCode::MalformedCall);
    // The call follows a block without a closing fence, so the message asks the model to close each block.
    let doubtful = denied(review("bash", ls, Repair::DoubtfulFence)).message.to_string();
    assert!(doubtful.contains("end each block with its closing fence, ```, alone on a line"), "{doubtful}");
}

/// A call joined from two replies runs only after the user has seen it, whatever the settings are.
#[test]
fn a_stitched_change_always_asks() {
    let review = |mode, name: &str, args: serde_json::Value, repairs: &[Repair]| {
        let mut call = call(name, args);
        call.repairs = repairs.to_vec();
        settings("[commands]\nallow = [\"make\"]\n").ask(mode).review(call, &catalog(), &World::default())
    };
    let write = || serde_json::json!({"path": "x", "content": "y"});
    let make = || serde_json::json!({"command": "make"});
    for (name, args) in [("write_file", write()), ("bash", make())] {
        match review(AskMode::Risky, name, args.clone(), &[Repair::Stitched]) {
            Verdict::Ask(pending) => assert_eq!(pending.decision().rule, "stitched"),
            other => panic!("{other:?}"),
        }
        let failure = denied(review(AskMode::Never, name, args.clone(), &[Repair::Stitched]));
        assert_eq!(failure.code, ErrorCode::Denied);
        // If the call also needs another guess, it is refused.
        let both = denied(review(AskMode::Risky, name, args, &[Repair::Stitched, Repair::UnquotedValue]));
        assert_eq!(both.code, ErrorCode::MalformedCall);
    }
    let read = review(AskMode::Never, "read_file", serde_json::json!({"path": "x"}), &[Repair::Stitched]);
    assert_eq!(kind(&read), "allow");
}

#[test]
fn a_tool_of_unknown_effect_counts_as_execute() {
    let mut catalog = Catalog::new();
    catalog.add(ToolSpec::new("mystery", "who knows"));
    match Policy::default().review(ToolCall::new("1", "mystery", Args::new()), &catalog, &World::default()) {
        Verdict::Ask(pending) => assert_eq!(pending.approve().effect(), Effect::Execute),
        other => panic!("{other:?}"),
    }
}

#[test]
fn settings_allow_deny_and_restrict() {
    let judge = |policy: &Policy, text| policy.judge_command(text, "", &World::default());
    let policy = settings("[commands]\nallow = [\"cargo test\"]\ndeny = [\"git push\"]");
    assert_eq!(judge(&policy, "cargo test -q").judgement, Judgement::Allow);
    assert_eq!(judge(&policy, "cargo build").judgement, Judgement::Ask);
    for text in
        ["cargo test $x", "cargo test > y", "X=1 cargo test", "sudo cargo test", "$c test", "cargo test; cargo run"]
    {
        assert_eq!(judge(&policy, text).judgement, Judgement::Ask, "{text}");
    }
    assert_eq!(judge(&policy, "cargo test .env").judgement, Judgement::Deny);
    assert_eq!(judge(&policy, "ls; git push origin").rule, "commands.deny");
    assert_eq!(judge(&policy, "sudo git push").judgement, Judgement::Deny);
    let policy = settings("[commands]\nonly = [\"ls\"]");
    assert_eq!(judge(&policy, "ls -la").judgement, Judgement::Allow);
    assert_eq!(judge(&policy, "ls | cat").rule, "commands.only");
    let policy = settings("[paths]\nallow = [\"test/server.pem\"]\ndeny = [\"private/\"]");
    assert_eq!(judge(&policy, "cat test/server.pem").judgement, Judgement::Allow);
    assert_eq!(judge(&policy, "cat server.pem").judgement, Judgement::Deny);
    assert_eq!(judge(&policy, "cat private/x").judgement, Judgement::Deny);
}
