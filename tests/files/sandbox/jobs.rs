//! Jobs over several calls, and the tools that start them.

use super::left::{is_gone, running};
use super::{Place, block_on, has_sandbox};
use crate::marks::own;
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use toolfence_kit::made_anew;
use toolfence_policy::toolbox::{NoProgress, Toolbox};
use toolfence_policy::{AskMode, ClearedCall, Policy, Verdict};
use toolfence_protocol::{Args, ErrorCode, ToolCall, ToolResult};
use toolfence_sandbox::isolation::Settings;
use toolfence_tools::CommandRunner;
use toolfence_tools::{Bash, Job, Jobs, Python};

/// The tools of one session, which share their jobs. A command becomes a job after a second.
struct Session {
    runner: Arc<CommandRunner>,
    toolbox: Toolbox,
}

impl Session {
    /// Prints a line and returns `None` if this kernel does not support the sandbox.
    fn new(place: &Place) -> Option<Session> {
        Session::with(place, Settings::new())
    }

    fn with(place: &Place, settings: Settings) -> Option<Session> {
        Session::of(super::runner(&place.root, settings))
    }

    fn of(runner: CommandRunner) -> Option<Session> {
        let runner = Arc::new(runner);
        let jobs = Arc::new(Jobs::new(Arc::clone(&runner)));
        let toolbox = Toolbox::new()
            .with(Bash::new(Arc::clone(&jobs)).yield_after(Duration::from_secs(1)))
            .with(Python::new(Arc::clone(&jobs)))
            .with(Job::new(jobs));
        has_sandbox(&runner).then_some(Session { runner, toolbox })
    }

    fn call(&self, tool: &str, args: Value) -> ToolResult {
        super::without_note(
            block_on(self.toolbox.run(self.cleared(tool, args), &NoProgress)).expect("no tool is broken"),
        )
    }

    fn cleared(&self, tool: &str, args: Value) -> ClearedCall {
        let args: Value = serde_json::from_str(&own(&args.to_string())).expect("it was JSON");
        let args = if tool == "job" { args } else { super::writing(&self.runner, args) };
        let args: Args = args.as_object().expect("arguments are an object").clone().into_iter().collect();
        let call = ToolCall::new("1", tool, args);
        match Policy::default().ask(AskMode::Never).review(call, &self.toolbox.catalog(), &*self.runner) {
            Verdict::Cleared(cleared) => cleared,
            other => panic!("not cleared: {other:?}"),
        }
    }

    fn job(&self, id: &str, action: &str) -> ToolResult {
        self.call("job", json!({"id": id, "action": action}))
    }

    /// Polls until the job has ended, and returns all its output and the last result.
    fn rest(&self, id: &str) -> (String, ToolResult) {
        let mut all = String::new();
        for _ in 0..20 {
            let result = self.job(id, "poll");
            all.push_str(&result.output);
            if !is_running(&result) {
                return (all, result);
            }
        }
        panic!("{id} does not end: {all}");
    }
}

fn is_running(result: &ToolResult) -> bool {
    result.data.as_ref().is_some_and(|data| data["running"] == true)
}

fn id_of(result: &ToolResult) -> String {
    let id = result.data.as_ref().and_then(|data| data["job"].as_str());
    id.unwrap_or_else(|| panic!("no job: {result:?}")).to_owned()
}

/// Starts a server, polls it, writes to it and stops it, each in a call with its own runtime.
#[test]
fn a_server_lives_over_several_turns() {
    let place = Place::new();
    let Some(session) = Session::new(&place) else { return };
    place.file("serve.sh", "echo listening; while read -r line; do echo \"got $line\"; done; sleep 72101\n");
    let begun = session.call("bash", json!({"command": "bash serve.sh", "background": true}));
    assert!(begun.success && begun.output.starts_with("listening\n") && is_running(&begun), "{begun:?}");
    let id = id_of(&begun);
    for word in ["one", "two"] {
        let input = format!("{word}\n");
        let result = session.call("job", json!({"id": id, "action": "write", "input": input}));
        assert!(result.output.starts_with(&format!("got {word}\n[The command continues")), "{result:?}");
    }
    let started = Instant::now();
    let quiet = session.job(&id, "poll");
    assert!(
        quiet.output.starts_with("[The command continues") && started.elapsed() >= Duration::from_secs(4),
        "{quiet:?}"
    );
    let stopped = session.job(&id, "stop");
    assert!(stopped.success && stopped.output.contains("has ended") && !is_running(&stopped), "{stopped:?}");
    assert_eq!(running(&place.root.display().to_string()), 0);
    let gone = session.job(&id, "poll").error.expect("it is forgotten");
    assert!(gone.code == ErrorCode::NotFound && gone.message.to_string().contains("No job is running"), "{gone:?}");
}

/// A private copy would show a job the project as of its start, and could not be merged into the project while the job
/// runs.
#[test]
fn a_job_sees_the_project_live_and_read_only_except_for_build_folders() {
    let place = Place::new();
    place.file("Cargo.toml", "[package]\nname = \"x\"\n");
    place.file(".gitignore", "target/\n");
    let git = std::process::Command::new("git").args(["init", "-q"]).current_dir(&place.root).status();
    assert!(git.is_ok_and(|status| status.success()), "git is installed");
    let runner = super::runner(&place.root, Settings::new()).private_copies(&place.home.join("state"));
    if let Some(why) = runner.no_private_copies() {
        return eprintln!("skipped: {why}");
    }
    let Some(session) = Session::of(runner) else { return };
    let command = "echo x > made; echo y > target/y; read line; cat later.txt";
    let started = session.call("bash", json!({"command": command, "background": true}));
    let id = id_of(&started);
    place.file("later.txt", "live\n");
    let written = session.call("job", json!({"id": id, "action": "write", "input": "on\n"}));
    let rest = if is_running(&written) { session.rest(&id).0 } else { String::new() };
    let all = started.output + &written.output + &rest;
    assert!(all.contains("Read-only file system") && all.contains("live\n"), "{all}");
    assert!(!place.at("made").exists());
    assert_eq!(place.content("target/y"), "y\n");
}

/// Read-only calls of one reply run in parallel.
#[test]
fn only_one_of_two_polls_reports_the_end() {
    let place = Place::new();
    let Some(session) = Session::new(&place) else { return };
    let begun = session.call("bash", json!({"command": "read -r line; exit 3", "background": true}));
    let id = id_of(&begun);
    let poll = || session.toolbox.run(session.cleared("job", json!({"id": id, "action": "poll"})), &NoProgress);
    let write = json!({"id": id, "action": "write", "input": "x\n"});
    let write = session.toolbox.run(session.cleared("job", write), &NoProgress);
    let (first, second, third) = block_on(async { tokio::join!(poll(), poll(), write) });
    let results = [first, second, third].map(|result| result.expect("the turn continues"));
    let reports = results.iter().filter(|result| result.exit_code == Some(3)).count();
    let late = results.iter().filter(|result| {
        result.error.as_ref().is_some_and(|error| {
            error.code == ErrorCode::NotFound
                && error.message.to_string().contains("reported already. No job is running.")
        })
    });
    // On a slow machine the write may be answered before the job ends.
    assert!(reports == 1 && late.count() >= 1, "{results:?}");
}

#[test]
fn only_long_commands_become_jobs() {
    let place = Place::new();
    let Some(session) = Session::new(&place) else { return };
    let short = session.call("bash", json!({"command": "echo done; exit 3", "timeout": 60}));
    assert_eq!((short.output.as_str(), short.exit_code), ("done\n", Some(3)));
    let command = "echo begun; sleep 2; echo ended; exit 4";
    let long = session.call("bash", json!({"command": command, "timeout": 60}));
    assert!(is_running(&long) && long.output.starts_with("begun\n[The command continues as job"), "{long:?}");
    let id = id_of(&long);
    let written = session.call("job", json!({"id": id, "action": "write", "input": "x\n"})).error.expect("no stdin");
    assert!(
        written.code == ErrorCode::InvalidArgument && written.message.to_string().contains("background: true"),
        "{written:?}"
    );
    let (said, last) = session.rest(&id);
    assert!(said.contains("ended\n"), "{said}");
    assert_eq!((last.exit_code, last.error.map(|error| error.code)), (Some(4), Some(ErrorCode::ExitStatus)));
    let late = session.call("bash", json!({"command": "echo x; sleep 72102", "timeout": 2}));
    let (said, last) = session.rest(&id_of(&late));
    assert_eq!((last.exit_code, last.error.map(|error| error.code)), (Some(124), Some(ErrorCode::Timeout)), "{said}");
}

#[test]
fn floods_are_bounded_and_unread_input_does_not_block() {
    let place = Place::new();
    let Some(session) = Session::new(&place) else { return };
    let flood = session.call("bash", json!({"command": "yes | head -c 3000000; sleep 72103", "background": true}));
    assert!(flood.truncated && flood.output.len() < 101_000, "{}", flood.output.len());
    assert!(flood.output_bytes > 100_000 && flood.output.contains("left out"), "{}", flood.output_bytes);
    let id = id_of(&flood);
    let input = "x".repeat(1 << 20);
    let result = session.call("job", json!({"id": id, "action": "write", "input": input}));
    assert!(result.output.contains("It does not read its stdin: only"), "{result:?}");
    session.job(&id, "stop");
}

#[test]
fn a_job_that_uses_too_much_memory_is_ended() {
    let place = Place::new();
    let Some(session) = Session::with(&place, Settings::new().memory(100 << 20)) else { return };
    // The last command is the builtin `:`, because bash would replace itself with an external command and release the
    // string.
    let command = "echo begun; read -r line; printf -v x '%*s' 400000000 ''; sleep 72110; :";
    let id = id_of(&session.call("bash", json!({"command": command, "background": true})));
    let written = session.call("job", json!({"id": id, "action": "write", "input": "x\n"}));
    // On a busy machine the job may end before the write is answered.
    let last = if written.error.is_some() { written } else { session.rest(&id).1 };
    let message = last.error.expect("the end is an error").message;
    assert!(message.to_string().contains("more than 100 MiB of memory") && last.exit_code == Some(137), "{message}");
    assert_eq!(running("sleep 72110"), 0);
}

#[test]
fn jobs_end_with_the_session() {
    let place = Place::new();
    let Some(session) = Session::new(&place) else { return };
    for command in
        ["sleep 72104", "trap '' TERM; sleep 72104; sleep 72104", "set -m; (setsid sleep 72104 &); sleep 72104"]
    {
        session.call("bash", json!({"command": command, "background": true}));
    }
    assert!(running("sleep 72104") >= 3);
    drop(session);
    assert_eq!(running("sleep 72104"), 0);
}

#[test]
fn a_call_cancelled_before_it_becomes_a_job_leaves_no_process() {
    let place = Place::new();
    let Some(session) = Session::new(&place) else { return };
    let args = [("command".to_owned(), json!(own("sleep 72105"))), ("timeout".to_owned(), json!(60))];
    let call = ToolCall::new("1", "bash", args.into_iter().collect());
    let policy = Policy::default().ask(AskMode::Never);
    let Verdict::Cleared(cleared) = policy.review(call, &session.toolbox.catalog(), &*session.runner) else {
        panic!("it is not cleared");
    };
    block_on(async {
        let run = session.toolbox.run(cleared, &NoProgress);
        let _ = tokio::time::timeout(Duration::from_millis(400), run).await.expect_err("it sleeps for a day");
    });
    assert!(is_gone("sleep 72105"));
}

#[test]
fn too_many_jobs_are_refused() {
    let place = Place::new();
    let Some(session) = Session::new(&place) else { return };
    let begin = || session.call("bash", json!({"command": "sleep 72106", "timeout": 1, "background": true}));
    let refused = (0..17).map(|_| begin()).find_map(|result| result.error);
    let refused = refused.unwrap_or_else(|| panic!("17 jobs were started"));
    // On a slow machine the first jobs may have timed out, and then their end must be polled before a new one can
    // start.
    assert!(matches!(refused.code, ErrorCode::TooLarge | ErrorCode::Timeout), "{refused:?}");
}

#[test]
fn long_job_output_is_in_a_file() {
    let place = Place::new();
    let Some(session) = Session::new(&place) else { return };
    let command = "read -r line; for i in $(seq 40000); do echo line $i; done; read -r line; echo last; sleep 72109";
    let begun = session.call("bash", json!({"command": command, "background": true}));
    let id = id_of(&begun);
    assert!(!begun.output.contains(".toolfence"), "{begun:?}");
    let write = || session.call("job", json!({"id": id, "action": "write", "input": "x\n"}));
    let mut flooded = write().output;
    while !flooded.contains("line 40000\n") {
        flooded.push_str(&session.job(&id, "poll").output);
    }
    let note = "All output since it became too much to show is in ";
    let start = flooded.find(note).unwrap_or_else(|| panic!("no note in {} bytes", flooded.len())) + note.len();
    let name = flooded[start..].split(':').next().expect("it has an end").to_owned();
    let after = write();
    assert!(after.output.starts_with("last\n") && !after.output.contains(note), "only where it is needed: {after:?}");
    let stopped = session.job(&id, "stop");
    assert!(stopped.output.contains(&name), "{stopped:?}");
    let text = std::fs::read_to_string(place.at(&name)).expect("it is there");
    let want = (1..=40000).map(|number| format!("line {number}\n")).collect::<String>() + "last\n";
    assert!(want.ends_with(&text) && text.len() > 100_000, "{} of {}", text.len(), want.len());
}

/// An editor that saves a blocked file by renaming another file over it removes the mask, and so does a program that
/// removes and recreates the file. The new file often has the inode number of the old one.
#[test]
fn a_blocked_file_that_changes_ends_the_command() {
    let place = Place::new();
    let Some(session) = Session::new(&place) else { return };
    let command = "echo begun; while ! cat .env 2>/dev/null; do sleep 0.1; done; sleep 0.05; sleep 72107";
    let renamed = |at: &Path| {
        place.file("new", "KEY=new-4242424242424242\n");
        std::fs::rename(place.at("new"), at).expect("it can be renamed");
    };
    let reborn = |at: &Path| made_anew(at, "KEY=new-4242424242424242\n");
    for (background, anew) in [(false, false), (true, false), (false, true), (true, true)] {
        let change = ".env";
        place.file("sub/plain", "");
        place.file(change, "OLD\n");
        place.file("attempt.sh", own(command));
        let args = json!({"command": ". ./attempt.sh", "background": background, "timeout": 20});
        let result = std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(500));
                if anew { reborn(&place.at(change)) } else { renamed(&place.at(change)) }
            });
            let result = session.call("bash", args);
            if is_running(&result) { session.rest(&id_of(&result)).1 } else { result }
        });
        assert!(!format!("{result:?}").contains("new-42"), "it is withheld: {result:?}");
        let error = result.error.unwrap_or_else(|| panic!("{change} changed and nothing happened"));
        assert!(error.code == ErrorCode::Conflict && error.message.to_string().starts_with(change), "{error:?}");
        assert!(is_gone("sleep 72107"));
    }
}

#[test]
fn three_timeouts_in_a_row_are_noted() {
    let place = Place::new();
    let Some(session) = Session::new(&place) else { return };
    let late = || session.call("bash", json!({"command": "sleep 72108", "timeout": 1})).error.expect("late").message;
    assert!(!late().to_string().contains("in a row") && !late().to_string().contains("in a row"));
    assert!(late().to_string().contains("number 3 in a row"));
    session.call("bash", json!({"command": "true"}));
    assert!(!late().to_string().contains("in a row"));
}

#[test]
fn a_missing_terminal_is_noted() {
    let place = Place::new();
    let Some(session) = Session::new(&place) else { return };
    for (command, is_told) in [
        ("read -r line < /dev/tty || exit 1", true),
        ("stty size || exit 1", true),
        ("echo fine", false),
        ("echo other; exit 1", false),
    ] {
        place.file("attempt.sh", command);
        let result = session.call("bash", json!({"command": ". ./attempt.sh"}));
        assert_eq!(result.output.contains("There is no terminal here"), is_told, "{command}: {}", result.output);
    }
}

#[test]
fn python_runs_inside_the_sandbox() {
    let place = Place::new();
    let Some(session) = Session::new(&place) else { return };
    if session.runner.workspace().root().programs().of_system("python3").is_none() {
        eprintln!("skipped: there is no python3");
        return;
    }
    place.file(".env", "SECRETVALUE\n");
    let script = "import os, sys\nprint(sys.argv[1:], os.getcwd())\nprint('err', file=sys.stderr)\n\
                  try:\n    print(open('.env').read())\nexcept OSError as e:\n    print(type(e).__name__)\nsys.exit(5)\n";
    place.file("sub/a b.py", script);
    let result = session.call("run_python", json!({"path": "sub/a b.py", "args": ["--x", "$HOME `y`"]}));
    let want = format!("['--x', '$HOME `y`'] {}\nerr\nPermissionError\n", place.root.display());
    assert_eq!((result.output, result.exit_code), (want, Some(5)));
    let missing = session.call("run_python", json!({"path": "sub/none.py"})).error.expect("it is not there");
    assert_eq!(missing.code, ErrorCode::NotFound);
}

/// A job may be a shell even if its command does not show that, and its input may arrive in pieces.
#[test]
fn deny_rules_hold_for_text_that_is_written_to_a_job() {
    let place = Place::new();
    let Some(session) = Session::new(&place) else { return };
    let begun = session.call("bash", json!({"command": "cat | bash", "background": true}));
    let id = id_of(&begun);
    let settings =
        toolfence_policy::Settings::from_toml("ask = \"never\"\n[commands]\ndeny = [\"touch\"]").expect("it is TOML");
    let policy = Policy::new(settings).expect("there are no globs");
    let review = |input: &str| {
        let args = json!({"id": id, "action": "write", "input": input});
        let args: Args = args.as_object().expect("an object").clone().into_iter().collect();
        policy.review(ToolCall::new("1", "job", args), &session.toolbox.catalog(), &*session.runner)
    };
    for denied in ["touch x\n", "echo a; /usr/bin/touch x", "env touch x\n", "rm -rf /\n", "echo \"\n"] {
        assert!(!matches!(review(denied), Verdict::Cleared(_)), "{denied}");
    }
    assert!(matches!(review("echo hello\n"), Verdict::Cleared(_)));
    session.call("job", json!({"id": id, "action": "write", "input": "echo a\nto"}));
    assert!(!matches!(review("uch x\n"), Verdict::Cleared(_)));
    session.call("job", json!({"id": id, "action": "write", "input": "\necho b \\\n"}));
    assert!(matches!(review("uch x\n"), Verdict::Cleared(_)), "it is an argument");
    session.call("job", json!({"id": id, "action": "write", "input": "c\nenv \\\n"}));
    assert!(!matches!(review("touch x\n"), Verdict::Cleared(_)));
    session.job(&id, "stop");
}
