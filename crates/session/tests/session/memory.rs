//! Checks that a session releases the memory of cleared turns.
//!
//! Other tests use the memory of their process too, so the turns are replayed in a separate process.

use super::talk::{block, catalog, options};
use std::process::Command;
use std::sync::Arc;
use toolfence_policy::{AskMode, NoFacts};
use toolfence_protocol::{FinishReason, Output, ToolResult};
use toolfence_session::{Action, Input, Session};

const TURNS: usize = 12_000;

/// Returns the resident memory of this process in KiB.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("the system has it");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("there is a VmRSS line");
    line.trim().trim_end_matches("kB").trim().parse().expect("it is a number")
}

#[test]
#[ignore = "memory_stays_flat_over_thousands_of_turns runs it in a process of its own"]
fn replay() {
    let mut options = options();
    options.window = Some(100_000);
    let mut session =
        Session::new(options, Arc::new(catalog()), toolfence_kit::policy(AskMode::Never), Arc::new(NoFacts));
    for turn in 1..=TURNS {
        session.handle(Input::User("What does it say?"));
        let mut replies = 0;
        while let Some(action) = session.poll() {
            match action {
                Action::CallModel => {
                    let calls =
                        format!("{}{}", block("a", "look", &format!("{turn}")), block("b", "ask", &format!("{turn}")));
                    session.handle(Input::Chunk(if replies == 0 { &calls } else { "It says nothing.\n" }));
                    session.handle(Input::End(FinishReason::Stop));
                    replies += 1;
                }
                Action::Run(cleared) => {
                    // The output contains a call, so that the session also stores calls from results.
                    let text = format!("{}{}", "some output\n".repeat(200), block("c", "change", &format!("{turn}")));
                    let (id, name) = (cleared.call().id.clone(), cleared.call().name.clone());
                    session.handle(Input::Result(ToolResult::new(id, name, Output::text(text), 1)));
                }
                _ => {}
            }
        }
        assert!(session.is_idle() && replies == 2, "turn {turn}");
        if turn % 10 == 0 {
            session.clear();
        }
        if turn == TURNS / 12 || turn == TURNS {
            println!("resident {}", resident());
        }
    }
}

#[test]
fn memory_stays_flat_over_thousands_of_turns() {
    let program = std::env::current_exe().expect("the test program has a path");
    let ran = Command::new(program)
        .args(["memory::replay", "--exact", "--ignored", "--nocapture", "--test-threads=1"])
        .output()
        .expect("the program runs again");
    let stdout = String::from_utf8_lossy(&ran.stdout);
    let resident: Vec<usize> =
        stdout.lines().filter_map(|line| line.split_once("resident ")?.1.trim().parse().ok()).collect();
    let [early, late] = resident[..] else { panic!("{stdout}{}", String::from_utf8_lossy(&ran.stderr)) };
    println!("{early} KiB after {} turns, {late} KiB after {TURNS}", TURNS / 12);
    // The session keeps only a number for each call that it read or wrote, and at most 20,000 of each, so the limit is
    // a few MiB.
    assert!(late < early + 4096, "{early} KiB, then {late} KiB");
}
