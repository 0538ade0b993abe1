//! Fuzzes the judge of commands with any text. It does not panic, and it finds a blocked command in any position.

#![no_main]

use libfuzzer_sys::fuzz_target;
use toolfence_kit::World;
use toolfence_policy::shell_parser::parse;
use toolfence_policy::{Decision, Judgement, Policy};

/// Commands that are refused alone and in any position.
const BLOCKED: &[&str] = &[
    "rm -rf /",
    "dd of=/dev/sda",
    "mkfs.ext4 x",
    "env X=1 rm -rf /usr",
    "timeout 5 rm -rf ~",
    "cat .env",
    "sh -c 'rm -rf /'",
    "echo x > /dev/sda",
];

fuzz_target!(|data: &[u8]| {
    let Some((&first, rest)) = data.split_first() else { return };
    let text = String::from_utf8_lossy(rest);
    let world = World { sandbox: first & 1 != 0 };
    let judge = |text: &str| Policy::default().judge_command(text, "", &world);
    let alone = judge(&text);
    assert_eq!(alone, judge(&text), "the same text, another verdict");
    if !is_whole(&text) {
        return;
    }
    let blocked = BLOCKED[usize::from(first >> 1) % BLOCKED.len()];
    for joined in join_commands(&text, blocked) {
        let decision = judge(&joined);
        assert!(is_refused(&decision, &joined), "not denied: {joined:?}\n{decision:?}");
    }
    for around in around(&text) {
        let decision = judge(&around);
        assert!(
            decision.judgement >= alone.judgement || is_refused(&decision, &around),
            "milder: {around:?}\n{decision:?}\n{alone:?}"
        );
    }
});

/// Returns `true` if the text is readable and complete, so that surrounding text encloses all of it.
fn is_whole(text: &str) -> bool {
    // A trailing backslash and an unclosed here-document would include the text that follows.
    parse(text).is_ok() && !text.ends_with('\\') && !text.contains("<<")
}

/// Returns `true` if the command is denied, or if it cannot be read and so needs approval without a sandbox.
fn is_refused(decision: &Decision, text: &str) -> bool {
    decision.judgement == Judgement::Deny || parse(text).is_err() || decision.rule == "unreadable"
}

/// Joins the text and a blocked command in a list, a pipe, a condition or a substitution.
fn join_commands(text: &str, blocked: &str) -> [String; 6] {
    [
        format!("{text}\n{blocked}"),
        format!("{blocked}\n{text}"),
        format!("{{ {text}\n}} | {blocked}"),
        format!("{blocked} && ( {text}\n)"),
        format!("if {text}\nthen {blocked}; fi"),
        format!("echo $( {text}\n{blocked} )"),
    ]
}

/// Returns the text inside commands that run it.
fn around(text: &str) -> [String; 5] {
    let quoted = text.replace('\'', r"'\''");
    [
        format!("timeout 5 bash -c -- '{quoted}'"),
        format!("env LC_ALL=C bash -c -- '{quoted}'"),
        format!("eval -- '{quoted}'"),
        format!("true && {{ {text}\n}}"),
        format!("ls; while true; do ( {text}\n); done"),
    ]
}
