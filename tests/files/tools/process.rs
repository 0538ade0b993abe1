//! Tests the output and the end of commands, and that no process of a command remains.

use super::Place;
use crate::marks::own;
use rustix::fd::AsFd;
use std::ffi::OsStr;
use std::fs;
use std::time::{Duration, Instant};
use toolfence_kit::block_on;
use toolfence_sandbox::environment;
use toolfence_sandbox::process::{Job, Outcome, run};

async fn bash(command: &str, limit: Duration) -> Outcome {
    let place = Place::new();
    let workspace = place.workspace();
    let folder = workspace.root().folder(".").expect("it is the root");
    let environment = environment::without_sandbox(std::env::vars_os(), workspace.root().programs().search_path());
    let command = own(command);
    let job = Job {
        program: OsStr::new("bash"),
        args: &["--noprofile", "--norc", "-c", &command].map(OsStr::new),
        folder: folder.as_fd(),
        environment: &environment,
        limit,
        keep: 100_000,
        overflow: None,
        live: None,
    };
    run(&job).await.expect("bash can be started")
}

fn quick(command: &str) -> Outcome {
    block_on(bash(command, Duration::from_secs(20)))
}

/// Counts the processes whose command line contains the marker.
fn running(marker: &str) -> usize {
    let marker = own(marker);
    let holds = |entry: &fs::DirEntry| {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).replace('\0', " ").contains(&marker)
    };
    fs::read_dir("/proc").expect("there is /proc").flatten().filter(holds).count()
}

/// Returns `true` if no process has the marker, or if the last one ends within a moment, because a killed process takes
/// a little time to disappear.
fn is_gone(marker: &str) -> bool {
    (0..50).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        running(marker) == 0
    })
}

#[test]
fn output_is_in_the_order_written() {
    let outcome = quick("echo one; echo two >&2; echo three; exit 3");
    assert_eq!((outcome.output.as_str(), outcome.exit_code), ("one\ntwo\nthree\n", 3));
    assert!(!outcome.truncated && !outcome.timed_out && outcome.signal.is_none());
}

#[test]
fn there_is_no_input_no_terminal_and_no_key() {
    let outcome =
        quick("cat; test -t 1 || echo no tty; echo $TERM $PAGER $GIT_TERMINAL_PROMPT; env | grep -ci cargo_pkg");
    assert_eq!(outcome.output, "no tty\ndumb cat 0\n0\n");
}

#[test]
fn a_signal_is_reported() {
    let outcome = quick("kill -9 $$");
    assert_eq!((outcome.signal, outcome.exit_code), (Some(9), 137));
}

#[test]
fn output_that_is_not_text_is_accepted() {
    let outcome = quick(r"printf 'a\xff\xfe\x00b'");
    assert_eq!((outcome.output.as_str(), outcome.total_bytes), ("a\u{FFFD}\u{FFFD}\0b", 5));
}

#[test]
fn a_timeout_ends_the_process_group_and_keeps_the_output() {
    let started = Instant::now();
    let outcome = block_on(bash("echo before; sleep 71003 & sleep 71003", Duration::from_secs(1)));
    assert_eq!((outcome.output.as_str(), outcome.exit_code, outcome.timed_out), ("before\n", 124, true));
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    assert!(is_gone("sleep 71003"));
}

#[test]
fn a_group_that_ignores_sigterm_is_killed() {
    let outcome = block_on(bash(
        "trap '' TERM; (trap '' TERM; sleep 71004) & sleep 71004; sleep 71004",
        Duration::from_millis(300),
    ));
    assert!(outcome.timed_out && is_gone("sleep 71004"));
}

#[test]
fn background_processes_are_ended() {
    let started = Instant::now();
    let outcome = quick("sleep 71005 & echo done");
    assert_eq!((outcome.output.as_str(), outcome.exit_code, outcome.lingered), ("done\n", 0, true));
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    let quiet = quick("sleep 71005 >/dev/null 2>&1 & echo done");
    assert!(!quiet.lingered && is_gone("sleep 71005"));
}

/// Ends the processes that escaped in a test, by their numbers.
fn end_all(numbers: &str) {
    for number in numbers.lines().filter_map(|line| line.parse().ok().and_then(rustix::process::Pid::from_raw)) {
        let _ = rustix::process::kill_process(number, rustix::process::Signal::KILL);
    }
}

/// Bash has no setsid(1) builtin, but with job control each job gets its own process group.
#[test]
fn a_process_outside_the_group_that_holds_the_output_is_reported() {
    let outcome = quick("set -m; sleep 71008 & echo $!");
    let still = running("sleep 71008");
    end_all(&outcome.output);
    assert_eq!((outcome.lingered, outcome.escaped, still), (true, true, 1), "{outcome:?}");
    let outcome = quick("sleep 71009 & echo in the group");
    assert_eq!((outcome.lingered, outcome.escaped), (true, false));
    let outcome = block_on(bash("set -m; sleep 71008 & echo $!; sleep 71009", Duration::from_secs(1)));
    end_all(&outcome.output);
    assert!(outcome.timed_out && outcome.escaped, "{outcome:?}");
    assert!(is_gone("sleep 71008") && is_gone("sleep 71009"));
}

#[test]
fn a_flood_from_outside_the_group_does_not_hold_the_call() {
    let started = Instant::now();
    let outcome = quick("set -m; yes 71010 & echo done");
    assert!(outcome.escaped && outcome.truncated, "{}", outcome.total_bytes);
    assert!(started.elapsed() < Duration::from_secs(15), "{:?}", started.elapsed());
    assert!(is_gone("yes 71010"), "it ends when its output is closed");
}

#[test]
fn output_of_a_grandchild_is_read_for_two_seconds() {
    let outcome = quick("(sleep 0.3; echo late) & echo early");
    assert_eq!((outcome.output.as_str(), outcome.lingered), ("early\nlate\n", false));
}

#[test]
fn a_dropped_future_leaves_no_process() {
    block_on(async {
        let command = bash("sleep 71006 & sleep 71006", Duration::from_secs(60));
        let _ = tokio::time::timeout(Duration::from_millis(500), command).await.expect_err("it sleeps for a day");
    });
    assert!(is_gone("sleep 71006"));
}

#[test]
fn a_flood_of_output_does_not_grow_the_memory() {
    let peak = || {
        let status = fs::read_to_string("/proc/self/status").expect("there is /proc");
        let line = status.lines().find(|line| line.starts_with("VmHWM")).expect("the kernel reports the peak");
        line.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok()).expect("it is a number")
    };
    quick("true");
    let before = peak();
    let outcome = quick("yes | head -c 1G");
    assert_eq!((outcome.total_bytes, outcome.truncated), (1 << 30, true));
    assert!(outcome.output.len() < 101_000 && outcome.output.contains(" left out ...]"));
    // The limit is generous, because other tests of this binary run at the same time; the flood is 1 GiB. The kernel
    // rounds its numbers, so a later peak can be lower than an earlier one.
    let grown = peak().saturating_sub(before);
    assert!(grown < 512 << 10, "{grown} KiB");
}
