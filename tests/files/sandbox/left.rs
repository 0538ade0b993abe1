//! Tests that no process remains after a command, however the command ends.

use super::{HELPER, Place, bash, has_sandbox};
use crate::marks::{self, own};
use serde_json::json;
use std::fs;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};
use toolfence_sandbox::isolation::{Kind, Mode, Settings};

/// Counts the processes whose command line contains the marker.
pub(super) fn running(marker: &str) -> usize {
    let marker = own(marker);
    let holds = |entry: &fs::DirEntry| {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).replace('\0', " ").contains(&marker)
    };
    fs::read_dir("/proc").expect("there is /proc").flatten().filter(holds).count()
}

/// Commands that would leave a process running without a sandbox. Each has a unique number, by which the test finds the
/// process.
const LEAVERS: &[(&str, &str)] = &[
    ("sleep 72001 & echo ended", "sleep 72001"),
    ("nohup sleep 72002 >/dev/null 2>&1 & echo ended", "sleep 72002"),
    ("set -m; sleep 72003 >/dev/null 2>&1 & echo ended", "sleep 72003"),
    ("(set -m; (sleep 72004 </dev/null >/dev/null 2>&1 &) &) ; echo ended", "sleep 72004"),
    ("trap '' TERM HUP INT; sleep 72005 >/dev/null 2>&1 & disown; echo ended", "sleep 72005"),
    ("(trap '' TERM; sleep 72006; sleep 72006) & echo ended", "sleep 72006"),
    ("command -v setsid >/dev/null && setsid -f sleep 72007; echo ended", "sleep 72007"),
    ("sleep 72008 & kill -STOP $!; echo ended", "sleep 72008"),
    ("exec 5>&1 6>&2; sleep 72009 >&5 2>&6 & echo ended", "sleep 72009"),
    ("trap '(set -m; sleep 72015 >/dev/null 2>&1 &)' EXIT TERM; echo ended", "sleep 72015"),
    ("(set -m; while :; do sleep 72016; done >/dev/null 2>&1 &); echo ended", "sleep 72016"),
    ("command -v setsid >/dev/null && setsid sleep 72017 >/dev/null 2>&1 & echo ended", "sleep 72017"),
    ("(set -m; (set -m; (set -m; sleep 72018 >/dev/null 2>&1 &) &) &); echo ended", "sleep 72018"),
    // In this chain, each process starts the next one and ends.
    (
        "echo '(set -m; . ./next.sh &) ; sleep 0.01; : sleep 72019' > next.sh; bash next.sh sleep 72019 >/dev/null 2>&1 & echo ended",
        "sleep 72019",
    ),
];

/// Returns a lock for the tests that run these commands, because one test would find the processes of another.
fn one_at_a_time() -> std::sync::MutexGuard<'static, ()> {
    static LEAVING: std::sync::Mutex<()> = std::sync::Mutex::new(());
    LEAVING.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Returns settings without a process namespace. A namespace would end all its processes with the first one.
fn without_a_namespace() -> [Settings; 2] {
    [Settings::new().mode(Mode::Off), Settings::new().at_most(Kind::Landlock)]
}

#[test]
fn no_process_remains_after_a_command_without_a_namespace() {
    let _alone = one_at_a_time();
    for settings in without_a_namespace() {
        for (command, marker) in LEAVERS {
            let place = Place::new();
            let result = place.run_regardless(settings.clone(), json!({"command": command}));
            assert_eq!(running(marker), 0, "{settings:?}, {command}");
            assert!(result.output.starts_with("ended\n") && result.success, "{settings:?}, {command}: {result:?}");
            let late = place
                .run_regardless(settings.clone(), json!({"command": format!("{command}; sleep 72020"), "timeout": 1}));
            assert_eq!((running(marker), running("sleep 72020")), (0, 0), "{settings:?}, {command}");
            assert_eq!(late.exit_code, Some(124), "{settings:?}, {command}: {late:?}");
        }
    }
}

/// Without a sandbox the supervisor itself can be killed. Then the result must not claim that its processes are gone.
#[test]
fn a_killed_supervisor_is_reported() {
    let place = Place::new();
    let command = "(set -m; sleep 72021 >/dev/null 2>&1 &); kill -9 $PPID; sleep 72022";
    let result = place.run_regardless(Settings::new().mode(Mode::Off), json!({"command": command, "timeout": 20}));
    let failure = result.error.expect("it did not come to its end").message;
    assert!(failure.to_string().contains("may still be running"), "{failure}");
    end_all("sleep 72021");
    end_all("sleep 72022");
}

/// Ends the processes that escaped in a test.
fn end_all(marker: &str) {
    let marker = own(marker);
    for entry in fs::read_dir("/proc").expect("there is /proc").flatten() {
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let number = entry.file_name().to_string_lossy().parse().ok().and_then(rustix::process::Pid::from_raw);
        if let (true, Some(number)) = (String::from_utf8_lossy(&line).replace('\0', " ").trim() == marker, number) {
            let _ = rustix::process::kill_process(number, rustix::process::Signal::KILL);
        }
    }
}

/// An embedder without a helper gets an explanation.
#[test]
fn a_missing_helper_is_explained() {
    let place = Place::new();
    let workspace = toolfence_workspace::Workspace::open(&place.root, Default::default()).expect("it is there");
    let none = Settings::new().mode(Mode::Off);
    let has_none = toolfence_tools::CommandRunner::new(Arc::new(workspace), none.clone());
    if has_none.enclosure().supervised(&[]).is_some() {
        eprintln!("skipped: there is a helper in the PATH");
        return;
    }
    let result = bash(&Arc::new(has_none), json!({"command": "echo said"}));
    assert!(result.output.starts_with("said\n[The helper that supervises") && result.success, "{result:?}");
}

#[test]
fn no_process_remains_after_a_command() {
    let _alone = one_at_a_time();
    let place = Place::new();
    for (command, marker) in LEAVERS {
        let started = Instant::now();
        let Some(result) = place.run(command) else { return };
        // All processes have ended by the time the call returns, so the test does not wait.
        assert_eq!(running(marker), 0, "{command}");
        assert!(result.output.starts_with("ended\n") && result.success, "{command}: {result:?}");
        assert!(started.elapsed() < Duration::from_secs(10), "{command}: {:?}", started.elapsed());
    }
}

#[test]
fn a_timeout_leaves_no_process_and_keeps_the_output() {
    let place = Place::new();
    let command = "echo before; trap '' TERM; sleep 72011 & (set -m; sleep 72011 &) ; sleep 72011; sleep 72011";
    let Some(result) = place.run_with(Default::default(), json!({"command": command, "timeout": 1})) else { return };
    assert_eq!(running("sleep 72011"), 0);
    assert_eq!((result.output.as_str(), result.exit_code), ("before\n", Some(124)));
    assert_eq!(result.error.map(|error| error.code), Some(toolfence_protocol::ErrorCode::Timeout));
}

#[test]
fn a_timeout_sends_sigterm_first() {
    let place = Place::new();
    let command = "trap 'echo saved; exit 3' TERM; echo before; while :; do sleep 0.05; done";
    let Some(result) = place.run_with(Default::default(), json!({"command": command, "timeout": 1})) else { return };
    let output = &result.output;
    assert!(output.starts_with("before\n") && output.ends_with("saved\n"), "{output}");
    assert_eq!(result.exit_code, Some(124));
}

#[test]
fn a_fork_bomb_ends_at_the_timeout() {
    let place = Place::new();
    let settings = Settings::new().processes(400);
    let command = "f() { sleep 72012 & for i in 1 2; do f & done; wait; }; f 2>/dev/null";
    let most = AtomicUsize::new(0);
    let ended = AtomicBool::new(false);
    let result = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Relaxed) {
                most.fetch_max(running(&place.root.display().to_string()).max(running("sleep 72012")), Relaxed);
                std::thread::sleep(Duration::from_millis(50));
            }
        });
        let result = place.run_with(settings, json!({"command": command, "timeout": 2}));
        ended.store(true, Relaxed);
        result
    });
    let Some(result) = result else { return };
    assert_eq!((running("sleep 72012"), result.exit_code), (0, Some(124)), "{:?}", result.error);
    let most = most.into_inner();
    assert!((50..=400).contains(&most), "{most}");
}

#[test]
fn each_command_has_its_own_limit_of_processes() {
    let place = Place::new();
    let Some(result) = place.run_with(Settings::new(), json!({"command": "cat /proc/sys/kernel/pid_max"})) else {
        return;
    };
    assert_eq!(result.output, "2048\n", "before Linux 6.14 there is one bound for all");
    let outside = fs::read_to_string("/proc/sys/kernel/pid_max").expect("there is /proc");
    assert!(outside.trim().parse::<u32>().is_ok_and(|most| most > 2048), "{outside}");
}

#[test]
fn a_cancelled_call_leaves_no_process() {
    let place = Place::new();
    let runner = Arc::new(place.runner());
    if !has_sandbox(&runner) {
        return;
    }
    let toolbox = toolfence_tools::standard(Arc::clone(&runner));
    let args = [("command".to_owned(), json!(own("sleep 72013 & setsid sleep 72013 & sleep 72013")))];
    let call = toolfence_protocol::ToolCall::new("1", "bash", args.into_iter().collect());
    let policy = toolfence_policy::Policy::default().ask(toolfence_policy::AskMode::Never);
    let toolfence_policy::Verdict::Cleared(cleared) = policy.review(call, &toolbox.catalog(), runner.as_ref()) else {
        panic!("it is not cleared");
    };
    super::block_on(async {
        let run = toolbox.run(cleared, &toolfence_policy::toolbox::NoProgress);
        let _ = tokio::time::timeout(Duration::from_millis(500), run).await.expect_err("it sleeps for a day");
    });
    assert!(is_gone("sleep 72013"));
}

/// Returns `true` if no process has the marker, or if the last one ends within a moment.
pub(super) fn is_gone(marker: &str) -> bool {
    (0..100).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        running(marker) == 0
    })
}

/// This test starts a copy of its own program as the host and kills it.
#[test]
fn a_host_that_is_killed_leaves_nothing() {
    const HOST: &str = "TOOLFENCE_TEST_HOST";
    let place = Place::new();
    const NO_SANDBOX: &str = "TOOLFENCE_TEST_NO_SANDBOX";
    if let Some(root) = std::env::var_os(HOST) {
        let mode = if std::env::var_os(NO_SANDBOX).is_some() { Mode::Off } else { Mode::ProjectWrite };
        let runner = Arc::new(super::runner(root.as_ref(), Settings::new().mode(mode)));
        bash(&runner, json!({"command": "sleep 72014 & setsid sleep 72014 & sleep 72014", "timeout": 600}));
        return;
    }
    for no_sandbox in [true, false] {
        if !no_sandbox && !has_sandbox(&place.runner()) {
            return;
        }
        killed(&place, HOST, no_sandbox.then_some(NO_SANDBOX));
    }
}

fn killed(place: &Place, root: &str, mark: Option<&str>) {
    let module = module_path!().split_once("::").map_or("", |(_, module)| module);
    let mut host = Command::new(std::env::current_exe().expect("this program has a file"))
        .args(["--exact", &format!("{module}::a_host_that_is_killed_leaves_nothing"), "--nocapture"])
        .env(root, &place.root)
        .envs(mark.map(|mark| (mark, "1")))
        .env(marks::RUN, marks::run())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("this program can be started");
    let began = (0..250).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        running("sleep 72014") >= 3
    });
    host.kill().expect("it runs");
    host.wait().expect("it is ours");
    let project = place.root.display().to_string();
    assert!(began && is_gone("sleep 72014") && running(&project) == 0);
}

/// The helper ends if its host exits without sending a plan.
#[test]
fn a_helper_without_a_host_ends() {
    let mut helper = Command::new(HELPER)
        .arg("--toolfence-enter-sandbox")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it can be started");
    assert_eq!(helper.wait().expect("it is ours").code(), Some(125));
}
