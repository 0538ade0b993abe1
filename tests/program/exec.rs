//! Tests sessions of `coder exec`: the state that lasts between replies, and the host process.

use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use toolfence_kit::{Program, Project, Ran, Screen};

const CODER: &str = env!("CARGO_BIN_EXE_coder");
const SIZE: (u16, u16) = (40, 100);

/// A project with its own sessions, which end when it is dropped.
pub(crate) struct Sessions(pub(crate) Project);

impl Sessions {
    pub(crate) fn new() -> Sessions {
        Sessions(Project::new())
    }

    /// Runs a reply in a session, without a terminal.
    fn exec(&self, options: &[&str], reply: &str) -> Ran {
        self.0.run(CODER, &[&["exec", "--session", "s"], options].concat(), reply)
    }

    fn end(&self) -> Ran {
        self.exec(&["--end"], "")
    }

    /// Starts a client without waiting for it. It has no terminal because it leads its own process session.
    fn start(&self, reply: &str) -> Child {
        // Test runs in the background ignore SIGINT, and the client would inherit that.
        let mut command = Command::new("env");
        command.args(["--default-signal", "setsid", CODER, "exec", "--session", "s", "--yes"]);
        command.current_dir(&self.0.root);
        command.env("HOME", &self.0.home).env("XDG_CONFIG_HOME", self.0.home.join("config"));
        command.env("XDG_STATE_HOME", self.0.home.join("state")).env("LC_ALL", "C.UTF-8");
        command.env("TOOLFENCE_LOCAL_SERVERS", "").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut client = command.spawn().expect("the client starts");
        client.stdin.take().expect("it is piped").write_all(reply.as_bytes()).expect("it reads");
        client
    }

    /// Returns the host processes of this project's sessions.
    pub(crate) fn hosts(&self) -> Vec<u32> {
        let root = fs::canonicalize(&self.0.root).expect("the project is there");
        let of_project = |pid: &u32| fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd == root);
        processes("--host").into_iter().filter(of_project).collect()
    }

    fn state(&self) -> PathBuf {
        self.0.home.join("state/toolfence/exec")
    }

    fn socket(&self) -> PathBuf {
        let files = fs::read_dir(self.state()).expect("there was a session").flatten().map(|file| file.path());
        let mut sockets = files.filter(|path| path.extension().is_some_and(|ending| ending == "sock"));
        sockets.next().expect("a host listens")
    }
}

impl Drop for Sessions {
    fn drop(&mut self) {
        for session in ["s", "default"] {
            let _ = self.0.run(CODER, &["exec", "--session", session, "--end"], "");
        }
    }
}

/// Returns the processes that have this argument.
fn processes(argument: &str) -> Vec<u32> {
    let pids = fs::read_dir("/proc").expect("there is a /proc").flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let has_argument = |pid: &u32| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).any(|word| word == argument.as_bytes())
    };
    pids.filter(has_argument).collect()
}

/// Waits until a condition is true.
fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(60), "timed out: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn signal(name: &str, pid: u32) {
    let status = Command::new("kill").args(["-s", name, &pid.to_string()]).status().expect("kill runs");
    assert!(status.success());
}

pub(crate) fn block(name: &str, args: &Value) -> String {
    format!("```tool\n{}\n```\n", json!({"name": name, "args": args}))
}

fn bash(command: &str) -> String {
    block("bash", &json!({"command": command}))
}

fn read(path: &str) -> String {
    block("read_file", &json!({"path": path}))
}

fn replace_line(path: &str) -> String {
    let edit = json!({"start_line": 1, "end_line": 1, "replacement": "ONE"});
    block("edit_file", &json!({"path": path, "edits": [edit]}))
}

#[test]
fn a_file_that_changed_since_an_earlier_reply_is_not_edited() {
    let place = Sessions::new();
    place.0.file("v.txt", "one\ntwo\n");
    assert_eq!(place.exec(&["--yes"], &read("v.txt")).status, 0);
    place.0.file("v.txt", "zero\none\ntwo\n");
    let ran = place.exec(&["--yes"], &replace_line("v.txt"));
    assert!(ran.status == 1 && ran.out.contains("\"code\":\"conflict\""), "{}", ran.said());
    assert_eq!(place.0.content("v.txt"), "zero\none\ntwo\n");
    place.exec(&["--yes"], &read("v.txt"));
    let ran = place.exec(&["--yes"], &replace_line("v.txt"));
    assert!(ran.status == 0 && place.0.content("v.txt") == "ONE\none\ntwo\n", "{}", ran.said());
}

#[test]
fn always_is_remembered_until_the_session_ends() {
    let place = Sessions::new();
    let write = |path: &str, content: &str| block("write_file", &json!({"path": path, "content": content}));
    place.0.file_at_home("reply", write("made", "1\n"));
    let reply = place.0.home.join("reply");
    let line = format!("'{CODER}' exec --session s < '{}'", reply.display());
    let screen = Screen::start("sh", &["-c", &line], &[], &place.0.root, &place.0.home, SIZE);
    screen.wait("question", |contents| contents.trim_end().ends_with("a reason]"));
    screen.press("always\r");
    screen.ended();
    // The client has no terminal, so it cannot ask.
    let ran = place.exec(&[], &write("made", "2\n"));
    assert!(ran.status == 0 && place.0.content("made") == "2\n", "{}", ran.said());
    assert!(place.exec(&[], &write("other", "1\n")).out.contains("\"code\":\"denied\""));
    assert_eq!(place.end().status, 0);
    let ran = place.exec(&[], &write("made", "3\n"));
    assert!(ran.out.contains("\"code\":\"denied\""), "{}", ran.said());
}

#[test]
fn the_same_call_in_several_replies_is_a_loop() {
    let place = Sessions::new();
    let list = block("list_files", &json!({}));
    let all: Vec<Ran> = (0..5).map(|_| place.exec(&["--yes"], &list)).collect();
    assert!(!all[1].out.contains("with the same result"), "{}", all[1].said());
    assert!(all[2].out.contains("with the same result, 3 times"), "{}", all[2].said());
    assert!(all[4].status == 1 && all[4].err.contains("repeats itself"), "{}", all[4].said());
    // The loop guard ended the turn, so this call starts a new turn and is not a repetition.
    assert!(!place.exec(&["--yes"], &list).out.contains("with the same result"));
}

#[test]
fn a_job_is_polled_in_a_later_reply_and_ends_with_the_session() {
    let place = Sessions::new();
    let start = block("bash", &json!({"command": "echo begun; sleep 98731", "background": true}));
    assert!(place.exec(&["--yes"], &start).out.contains("job j1"));
    let poll = block("job", &json!({"id": "j1", "action": "poll"}));
    let ran = place.exec(&["--yes", "--json"], &poll);
    assert!(ran.status == 0 && ran.out.contains("\"running\":true"), "{}", ran.said());
    assert!(!processes("98731").is_empty());

    let refused = place.exec(&["--yes", "--network"], &poll);
    assert!(refused.status == 2 && refused.err.contains("coder exec --end"), "{}", refused.said());
    assert_eq!((place.end().status, processes("98731"), place.hosts()), (0, vec![], vec![]));
    assert!(place.end().err.contains("no exec session"));
    assert!(!place.state().join("s.sock").exists());
}

/// Sandboxed commands can access the project, so they could reach a socket in it.
#[test]
fn a_session_is_refused_if_its_socket_would_be_in_the_project() {
    let place = Sessions::new();
    let exec = |options: &[&str]| {
        let program = Program::new(CODER, &place.0.home).env("XDG_STATE_HOME", place.0.root.join("state"));
        program.args(&[&["exec"], options].concat()).run(&place.0.root, "Nothing to do.\n")
    };
    let ran = exec(&["--session", "s"]);
    assert!(ran.status == 2 && ran.err.contains("The state folder is in the project"), "{}", ran.said());
    assert_eq!((exec(&["--no-session"]).status, place.hosts()), (0, vec![]));
}

#[test]
fn other_options_begin_a_new_session_and_the_user_is_notified() {
    let place = Sessions::new();
    place.0.file("v.txt", "one\n");
    assert_eq!(place.exec(&["--yes"], &read("v.txt")).err, "");
    let before = place.hosts();
    let ran = place.exec(&["--ask", "sandboxed"], &replace_line("v.txt"));
    assert!(ran.err.contains("settings have changed: a new exec session begins"), "{}", ran.said());
    let after = place.hosts();
    assert!(after.len() == 1 && after != before, "{before:?} {after:?} {}", ran.said());
}

#[test]
fn undo_reverts_only_the_last_reply() {
    let place = Sessions::new();
    for name in ["a.txt", "b.txt"] {
        assert_eq!(place.exec(&["--yes"], &block("write_file", &json!({"path": name, "content": "x\n"}))).status, 0);
    }
    let ran = place.0.run(CODER, &["undo"], "");
    assert_eq!(ran.status, 0, "{}", ran.said());
    assert!(place.0.root.join("a.txt").exists() && !place.0.root.join("b.txt").exists());
}

#[test]
fn the_replies_of_a_session_have_one_transcript() {
    let place = Sessions::new();
    for path in ["a", "b", "c"] {
        place.0.file(path, "x\n");
        place.exec(&["--yes"], &read(path));
    }
    let audit = place.0.run(CODER, &["audit", "--json"], "");
    let lines: Vec<Value> = audit.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let mut sessions: Vec<&Value> = lines.iter().map(|line| &line["session"]).collect();
    sessions.dedup();
    assert!(lines.len() >= 3 && sessions.len() == 1, "{}", audit.out);
}

#[test]
fn clients_that_start_at_once_share_one_host() {
    let place = Sessions::new();
    let clients: Vec<Child> = (0..4).map(|_| place.start("Done.\n")).collect();
    for client in clients {
        let status = client.wait_with_output().expect("it ends").status;
        // A client exits with status 1 if the session is busy with another client's reply.
        assert!(status.code().is_some_and(|code| code < 2), "{status}");
    }
    assert_eq!(place.hosts().len(), 1);
}

#[test]
fn the_round_of_a_client_that_is_killed_is_cancelled() {
    let place = Sessions::new();
    let mut client = place.start(&bash("sleep 98732"));
    wait_until("the command runs", || !processes("98732").is_empty());
    let host = place.hosts();
    let busy = place.exec(&["--yes"], "Done.");
    assert!(busy.status == 1 && busy.err.contains("busy"), "{}", busy.said());
    client.kill().expect("it runs");
    client.wait().expect("it ends");
    wait_until("the command has ended", || processes("98732").is_empty());
    wait_until("the session is free", || place.exec(&["--yes"], "Done.").status == 0);
    assert_eq!(place.hosts(), host);
}

#[test]
fn ctrl_c_stops_the_tools_and_the_results_are_printed() {
    let place = Sessions::new();
    let client = place.start(&bash("sleep 98733"));
    wait_until("the command runs", || !processes("98733").is_empty());
    signal("INT", client.id());
    let ended = client.wait_with_output().expect("it ends");
    let out = String::from_utf8(ended.stdout).expect("text");
    assert!(ended.status.code() == Some(1) && out.contains("\"code\":\"cancelled\""), "{out}");
    assert!(processes("98733").is_empty());
}

#[test]
fn a_session_starts_again_after_its_host_was_killed() {
    let place = Sessions::new();
    place.exec(&["--yes"], "Done.");
    let before = place.hosts();
    signal("KILL", before[0]);
    wait_until("the host has ended", || place.hosts().is_empty());
    let ran = place.exec(&["--yes"], "Done.");
    assert!(ran.status == 0 && ran.err.contains("was killed: a new exec session begins"), "{}", ran.said());
    assert_eq!(place.hosts().len(), 1);
}

#[test]
fn an_invalid_request_does_not_end_the_host() {
    let place = Sessions::new();
    place.exec(&["--yes"], "Done.");
    let host = place.hosts();
    for text in ["\n", "{}\n", "\"interrupt\"\n", "{\"reply\":", "\u{0}\u{0}\n", "{\"answer\":\"yes\"}\n"] {
        let mut stream = UnixStream::connect(place.socket()).expect("the host listens");
        stream.write_all(text.as_bytes()).expect("it can be written to");
    }
    wait_until("the session is free", || place.exec(&["--yes"], "Done.").status == 0);
    assert_eq!(place.hosts(), host);
}

#[test]
fn only_this_user_can_reach_the_session() {
    let place = Sessions::new();
    place.exec(&["--yes"], "Done.");
    let mode = |path: PathBuf| fs::metadata(path).expect("it exists").permissions().mode() & 0o777;
    assert_eq!((mode(place.state()), mode(place.socket())), (0o700, 0o600));
    if !rustix::process::geteuid().is_root() {
        println!("only root can try as another user");
        return;
    }
    // Makes all folders accessible, so that only the check of the peer's user remains.
    for folder in place.socket().ancestors().skip(1).take_while(|folder| folder.parent().is_some()) {
        let permissions = fs::metadata(folder).expect("it exists").permissions();
        fs::set_permissions(folder, PermissionsExt::from_mode(permissions.mode() | 0o055)).expect("root may");
    }
    fs::set_permissions(place.socket(), PermissionsExt::from_mode(0o666)).expect("root may");
    let connect = "import socket, sys\ns = socket.socket(socket.AF_UNIX)\ns.connect(sys.argv[1])\n\
                   s.sendall(b'\"end\"\\n')\nprint(len(s.recv(1)))";
    let mut python = Command::new("setpriv");
    python.env("PATH", "/usr/bin:/bin").args([
        "--reuid",
        "65534",
        "--regid",
        "65534",
        "--clear-groups",
        "python3",
        "-c",
        connect,
    ]);
    let ran = python.arg(place.socket()).output().expect("python runs");
    let said = String::from_utf8_lossy(&ran.stdout).into_owned() + &String::from_utf8_lossy(&ran.stderr);
    // The host closes the connection without an answer, before or after it reads the line.
    assert!(said == "0\n" || said.contains("Broken pipe") || said.contains("reset"), "{said}");
    assert_eq!(place.exec(&["--yes"], "Done.").status, 0);
    assert_eq!(place.hosts().len(), 1);
}

#[test]
fn without_a_session_no_process_is_left() {
    let place = Sessions::new();
    let ran = place.0.run(CODER, &["exec", "--no-session", "--yes"], &read("missing"));
    assert!(ran.status == 1 && place.hosts().is_empty() && !place.state().exists(), "{}", ran.said());
}

#[test]
fn a_session_ends_when_its_project_is_gone() {
    let place = Sessions::new();
    place.exec(&["--yes"], "Done.");
    let host = place.hosts();
    assert_eq!(host.len(), 1);
    fs::rename(&place.0.root, place.0.home.join("moved")).expect("it can be moved");
    wait_until("the host has ended", || processes("--host").iter().all(|pid| *pid != host[0]));
    fs::rename(place.0.home.join("moved"), &place.0.root).expect("it can be moved");
}

/// The address of a Unix socket has at most 108 bytes.
#[test]
fn the_path_of_the_state_folder_may_be_long() {
    let place = Sessions::new();
    let state = place.0.home.join("long/".repeat(40));
    let exec = |args: &[&str], reply: &str| {
        let program = Program::new(CODER, &place.0.home).env("XDG_STATE_HOME", &state);
        program.args(&["exec", "--session", "s", "--yes"]).args(args).run(&place.0.root, reply)
    };
    assert_eq!(exec(&[], "Done.").status, 0);
    assert_eq!(place.hosts().len(), 1);
    assert_eq!(exec(&["--end"], "").status, 0);
    assert_eq!(place.hosts().len(), 0);
}

#[test]
fn instructions_for_exec_offer_what_works_there() {
    let place = Sessions::new();
    let prompt = |args: &[&str]| place.0.run(CODER, &[&["prompt", "--for"], args].concat(), "").out;
    let (session, alone) = (prompt(&["exec"]), prompt(&["exec", "--no-session"]));
    assert!(session.contains("background") && session.contains("job("), "{session}");
    assert!(!alone.contains("background") && !alone.contains("job("), "{alone}");
}
