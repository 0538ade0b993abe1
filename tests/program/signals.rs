//! Tests how a signal to the program affects its child processes.

use crate::support::is_ignored;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Returns the command line of a process that runs for a minute, and a reply that runs it. Tests find the process by
/// its unique command line, because its id is a different one inside the sandbox.
fn long() -> (String, String) {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let command = format!("sleep 60.{}{:03}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let call = serde_json::json!({"name": "bash", "args": {"command": command}});
    let reply = format!("%%% reply\n```tool\n{call}\n```\n");
    (command, reply)
}

/// Starts `coder` with one question, these replies and all permissions.
fn coder(root: &Path, replies: &str) -> Child {
    std::fs::write(root.join("replies"), replies).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_coder"));
    command.args(["--yes", "--backend", "replay", "--replies", "replies", "-p", "go"]).current_dir(root);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn wait_for_start(process: &str) {
    let begun = Instant::now();
    while is_over(process) {
        assert!(begun.elapsed() < Duration::from_secs(30), "{process} did not start");
        sleep(Duration::from_millis(10));
    }
}

fn send(signal: &str, child: &Child) {
    let line = format!("kill -{signal} {}", child.id());
    assert!(Command::new("bash").args(["-c", &line]).status().unwrap().success());
}

/// Returns whether a process ends within ten seconds. The kernel may still be ending it after its killer has exited.
fn ends(process: &str) -> bool {
    let begun = Instant::now();
    while !is_over(process) && begun.elapsed() < Duration::from_secs(10) {
        sleep(Duration::from_millis(10));
    }
    is_over(process)
}

/// Returns whether no process has this command line. A zombie has none.
fn is_over(process: &str) -> bool {
    let is_called = |entry: std::fs::DirEntry| {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).replace('\0', " ").contains(process)
    };
    !std::fs::read_dir("/proc").unwrap().flatten().any(is_called)
}

#[test]
fn a_signal_to_the_program_ends_its_command() {
    for (signal, status) in [("TERM", 143), ("HUP", 129)] {
        if signal == "HUP" && is_ignored(signal) {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let (process, reply) = long();
        let child = coder(folder.path(), &reply);
        wait_for_start(&process);
        send(signal, &child);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(status), "{output:?}");
        assert!(ends(&process), "{signal} leaves {process} running");
    }
}

#[test]
fn one_interruption_stops_the_tool_and_two_the_turn() {
    if is_ignored("INT") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (process, reply) = long();
    let child = coder(folder.path(), &format!("{reply}%%% reply\nI see.\n"));
    wait_for_start(&process);
    send("INT", &child);
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stdout).trim()), (Some(0), "I see."));
    assert!(ends(&process));

    let folder = tempfile::tempdir().unwrap();
    let ((first, one), (process, two)) = (long(), long());
    let child = coder(folder.path(), &format!("{one}{two}%%% reply\nI see.\n"));
    wait_for_start(&first);
    send("INT", &child);
    wait_for_start(&process);
    send("INT", &child);
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));
    assert!(ends(&process));
}

/// Starts a pipe client with a running command. Returns the program, its stdin and the command's process.
fn client(root: &Path) -> (Child, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_coder"));
    command.args(["--yes", "pipe"]).current_dir(root).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let (process, reply) = long();
    let reply = reply.replace("%%% reply\n", "");
    let lines = format!("{}\n{{\"type\":\"end\"}}\n", serde_json::json!({"type": "chunk", "text": reply}));
    child.stdin.as_mut().unwrap().write_all(lines.as_bytes()).unwrap();
    wait_for_start(&process);
    (child, process)
}

#[test]
fn a_disconnected_client_leaves_nothing_running() {
    let folder = tempfile::tempdir().unwrap();
    let (mut child, process) = client(folder.path());
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    assert!(ends(&process), "the end of the input leaves {process} running");
}

#[test]
fn a_signal_to_the_pipe_ends_its_command() {
    for (signal, status) in [("TERM", 143), ("INT", 130)] {
        if signal == "INT" && is_ignored(signal) {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let (mut child, process) = client(folder.path());
        // `wait` would close stdin, and the end of input would also end the pipe.
        let _open = child.stdin.take();
        send(signal, &child);
        assert_eq!(child.wait().unwrap().code(), Some(status));
        assert!(ends(&process), "{signal} leaves {process} running");
    }
}
