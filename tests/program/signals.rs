//! What a signal to the program does to what it runs.

use crate::support::is_ignored;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A reply that begins a command which would run for a minute; it leaves in `name` how it is called. Its process number
/// would say nothing: inside the sandbox it is another one.
fn long(name: &str) -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let called = format!("sleep 60.{}{:03}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let command = format!("echo {called} > {name}.new; mv {name}.new {name}; exec {called}");
    let call = serde_json::json!({"name": "bash", "args": {"command": command}});
    format!("%%% reply\n```tool\n{call}\n```\n")
}

/// One question to the replies, and everything is allowed.
fn coder(root: &Path, replies: &str) -> Child {
    std::fs::write(root.join("replies"), replies).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_coder"));
    command.args(["--yes", "--backend", "replay", "--replies", "replies", "-p", "go"]).current_dir(root);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn wait_for(path: &Path) -> String {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(30) {
        if let Ok(text) = std::fs::read_to_string(path) {
            return text.trim().to_owned();
        }
        sleep(Duration::from_millis(10));
    }
    panic!("{} never came", path.display());
}

fn send(signal: &str, child: &Child) {
    let line = format!("kill -{signal} {}", child.id());
    assert!(Command::new("bash").args(["-c", &line]).status().unwrap().success());
}

/// Whether a process ends within moments: the kernel may still be at it when whoever killed it is gone.
fn ends(process: &str) -> bool {
    let begun = Instant::now();
    while !is_over(process) && begun.elapsed() < Duration::from_secs(10) {
        sleep(Duration::from_millis(10));
    }
    is_over(process)
}

/// Whether no process is called so. One that has ended has no name, be it that nobody has asked for its status yet.
fn is_over(process: &str) -> bool {
    let is_called = |entry: std::fs::DirEntry| {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).replace('\0', " ").contains(process)
    };
    !std::fs::read_dir("/proc").unwrap().flatten().any(is_called)
}

#[test]
fn whoever_is_told_to_end_takes_the_command_along() {
    for (signal, status) in [("TERM", 143), ("HUP", 129)] {
        if signal == "HUP" && is_ignored(signal) {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let child = coder(folder.path(), &long("one"));
        let process = wait_for(&folder.path().join("one"));
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
    let replies = format!("{}%%% reply\nI see.\n", long("one"));
    let child = coder(folder.path(), &replies);
    let process = wait_for(&folder.path().join("one"));
    send("INT", &child);
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), String::from_utf8_lossy(&output.stdout).trim()), (Some(0), "I see."));
    assert!(ends(&process));

    let folder = tempfile::tempdir().unwrap();
    let child = coder(folder.path(), &format!("{}{}%%% reply\nI see.\n", long("one"), long("two")));
    wait_for(&folder.path().join("one"));
    send("INT", &child);
    let process = wait_for(&folder.path().join("two"));
    send("INT", &child);
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));
    assert!(ends(&process));
}

/// A client of the pipe that has a command running: the program, its stdin, the command's process.
fn client(root: &Path) -> (Child, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_coder"));
    command.args(["--yes", "pipe"]).current_dir(root).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let reply = long("one").replace("%%% reply\n", "");
    let lines = format!("{}\n{{\"type\":\"end\"}}\n", serde_json::json!({"type": "chunk", "text": reply}));
    child.stdin.as_mut().unwrap().write_all(lines.as_bytes()).unwrap();
    let process = wait_for(&root.join("one"));
    (child, process)
}

#[test]
fn a_client_that_is_gone_leaves_nothing_running() {
    let folder = tempfile::tempdir().unwrap();
    let (mut child, process) = client(folder.path());
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    assert!(ends(&process), "the end of the input leaves {process} running");
}

#[test]
fn a_pipe_that_is_told_to_end_takes_the_command_along() {
    for (signal, status) in [("TERM", 143), ("INT", 130)] {
        if signal == "INT" && is_ignored(signal) {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        let (mut child, process) = client(folder.path());
        // Waiting closes it, and the end of the input would end the pipe too.
        let _open = child.stdin.take();
        send(signal, &child);
        assert_eq!(child.wait().unwrap().code(), Some(status));
        assert!(ends(&process), "{signal} leaves {process} running");
    }
}
