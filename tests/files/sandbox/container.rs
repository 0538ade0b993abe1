//! Tests commands in a container: the arguments of the engine, the exit status, and that no command runs without the
//! engine. In most tests the engine is a script that accepts the arguments of a real one and runs the command on this
//! machine. `.ci/container` provides a real one for the others.

use super::left::is_gone;
use super::{HELPER, Place};
use crate::marks::own;
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use toolfence_protocol::ErrorCode;
use toolfence_sandbox::isolation::Container;
use toolfence_sandbox::isolation::{Kind, Settings};

/// Records its arguments, and runs the words that follow the image.
const SCRIPT: &str = r#"#!/bin/bash
here=$(dirname "$0")
printf '%s\n' "$*" >>"$here/arguments"
case $1 in
    image)
        case ${!#} in
            present) exit 0 ;;
            # More than a pipe holds.
            loud) for i in {1..5000}; do echo "warning: line $i of many" >&2; done ;;
            # What keeps stderr open when the client has ended.
            busy) sleep 20 & ;;
        esac
        echo "Error: no such image: ${!#}" >&2
        exit 1 ;;
    rm) kill -KILL -- -"$(cat "$here/${!#}")" 2>/dev/null ;;
    run)
        shift
        while [[ $1 == --* ]]; do
            case $1 in
                --name=*) name=${1#*=} ;;
                --workdir=*) cd "${1#*=}" || exit 125 ;;
                --entrypoint=*) program=${1#*=} ;;
            esac
            shift
        done
        shift
        set -m
        "$program" "$@" <&0 &
        # The shell's message about the end is not output of the command.
        exec 2>/dev/null
        echo $! >"$here/$name"
        trap 'kill -TERM -- -$!' TERM
        wait $!; status=$?
        while kill -0 $! 2>/dev/null; do wait $!; status=$?; done
        exit $status ;;
esac
"#;

fn settings(place: &Place, image: &str) -> Settings {
    let program = place.beside.join("engine");
    fs::write(&program, SCRIPT).expect("a file can be written");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("it is ours");
    Settings::new().container(Container::podman(image).program(program)).helper(HELPER)
}

fn recorded_arguments(place: &Place) -> Vec<String> {
    let text = fs::read_to_string(place.beside.join("arguments")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn a_command_runs_in_the_container_and_its_status_is_returned() {
    let place = Place::new();
    place.file(".env", "KEY=SECRETVALUE\n");
    place.file("sub/f", "");
    let settings = settings(&place, "present");
    let runner = super::runner(&place.root, settings.clone());
    let report = runner.sandbox_report();
    assert!(report.kind == Kind::Container && report.holds && report.why.is_empty(), "{report:?}");
    let result = place.run_regardless(settings.clone(), json!({"command": "echo one; echo two >&2; pwd; exit 3"}));
    let want = format!("one\ntwo\n{}\n", place.root.display());
    assert_eq!((result.output, result.exit_code), (want, Some(3)));
    let last = recorded_arguments(&place).pop().expect("the engine ran");
    for word in
        ["--network=none", "--cap-drop=all", "--rm", "--entrypoint=/bin/bash", " present --noprofile --norc -c "]
    {
        assert!(last.contains(word), "{word}: {last}");
    }
    let mask = format!(",dst={},readonly", place.at(".env").display());
    assert!(last.contains(&mask), "{mask}: {last}");
    let open = place.run_regardless(settings, json!({"command": "true", "network": true}));
    assert!(
        open.success && !recorded_arguments(&place).pop().expect("the engine ran").contains("--network"),
        "{open:?}"
    );
}

#[test]
fn a_container_ends_with_the_call() {
    let place = Place::new();
    let settings = settings(&place, "present");
    let command = "echo before; trap '' TERM; sleep 72301 & sleep 72301; sleep 72301";
    let result = place.run_regardless(settings.clone(), json!({"command": command, "timeout": 1}));
    assert_eq!((result.output.as_str(), result.exit_code), ("before\n", Some(124)), "{result:?}");
    assert!(is_gone("sleep 72301"), "{:?}", recorded_arguments(&place));
    let removed = recorded_arguments(&place).pop().expect("the engine ran");
    assert!(removed.starts_with("rm --force --time=0 toolfence-"), "{removed}");
    let polite = place.run_regardless(
        settings,
        json!({"command": own("trap 'echo saved; exit 3' TERM; while :; do sleep 0.05; done"), "timeout": 1}),
    );
    assert!(polite.output.ends_with("saved\n"), "{polite:?}");
}

#[test]
fn without_the_engine_no_command_runs() {
    let place = Place::new();
    let missing = Container::podman("i").program(PathBuf::from("/nowhere/podman"));
    for (settings, why) in [
        (settings(&place, "absent"), "podman says: Error: no such image: absent"),
        (settings(&place, "loud"), "podman says: Error: no such image: loud"),
        (settings(&place, "busy"), "podman says: Error: no such image: busy"),
        (Settings::new().container(missing).helper(HELPER), "No such file or directory"),
    ] {
        let started = Instant::now();
        let report = super::runner(&place.root, settings.clone()).sandbox_report().clone();
        assert!(report.kind == Kind::Nothing && !report.holds && report.why[0].to_string().contains(why), "{report:?}");
        assert!(
            started.elapsed() < Duration::from_secs(15),
            "the client had ended long before: {:?}",
            started.elapsed()
        );
        let result = place.run_regardless(settings, json!({"command": "touch ran"}));
        let error = result.error.expect("it is refused");
        assert!(
            error.code == ErrorCode::IoError
                && error.message.to_string().contains(why)
                && error.message.to_string().contains("Nothing was run")
        );
        assert!(!place.at("ran").exists(), "it must not run outside");
    }
}

/// Uses the installed Docker client, with whatever error it reports.
#[test]
fn the_error_of_a_real_client_is_reported() {
    let there =
        std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).any(|f| f.join("docker").is_file());
    if !there {
        eprintln!("skipped: there is no docker");
        return;
    }
    let place = Place::new();
    let settings = Settings::new().container(Container::docker("toolfence-no-such-image"));
    let report = super::runner(&place.root, settings).sandbox_report().clone();
    assert!(
        report.kind == Kind::Nothing
            && report.why[0].to_string().starts_with("A container cannot be raised: docker says: "),
        "{report:?}"
    );
    println!("{}", report.why[0]);
}

/// Returns a real engine, if `TOOLFENCE_PODMAN` names its client and `TOOLFENCE_IMAGE` one of its images.
pub(super) fn real() -> Option<(PathBuf, Settings)> {
    let (Some(program), Ok(image)) = (std::env::var_os("TOOLFENCE_PODMAN"), std::env::var("TOOLFENCE_IMAGE")) else {
        eprintln!("skipped: there is no TOOLFENCE_PODMAN");
        return None;
    };
    let container = Container::podman(image).program(&program);
    Some((program.into(), Settings::new().container(container).helper(HELPER)))
}

/// Lists the containers that the engine still has.
fn remaining_containers(program: &PathBuf) -> String {
    let said = std::process::Command::new(program).args(["ps", "--all", "--format", "{{.Names}}"]).output();
    String::from_utf8_lossy(&said.expect("it can be asked").stdout).into_owned()
}

#[test]
fn a_real_engine_isolates_a_command() {
    let Some((program, settings)) = real() else { return };
    let place = Place::new();
    place.file(".env", "KEY=SECRETVALUE\n");
    place.file(".git/config", "[core]\n\tbare = false\n");
    place.file(".git/HEAD", "ref: refs/heads/main\n");
    place.file("a.txt", "hello\n");
    let run = |command: &str| place.run_regardless(settings.clone(), json!({"command": command, "timeout": 20}));
    let result = run("cat a.txt; echo new > b.txt; echo err >&2; exit 3");
    assert_eq!((result.output.as_str(), result.exit_code), ("hello\nerr\n", Some(3)), "{result:?}");
    assert_eq!(fs::read_to_string(place.at("b.txt")).expect("it was written"), "new\n");
    let beside = place.beside.join("private.txt");
    for (command, says) in [
        ("grep -r SECRETVAL[U]E . ; cat .e*", "Permission denied"),
        (&*format!("cat {}", beside.display()), "No such file"),
        ("echo x >> .git/config", "Read-only file system"),
        ("touch /usr/x", "Read-only file system"),
        ("exec 3<>/dev/tcp/1.1.1.1/80", "unreachable"),
    ] {
        let result = run(command);
        assert!(result.output.contains(says) && !result.output.contains("SECRETVALUE"), "{command}: {result:?}");
    }
    assert!(run("touch /tmp/x && mkdir sub && mv sub other").success);
    assert_eq!(remaining_containers(&program), "");
    let absent = Container::podman("localhost/toolfence-no-such-image").program(&program);
    let report = super::runner(&place.root, Settings::new().container(absent)).sandbox_report().clone();
    assert!(report.kind == Kind::Nothing && report.why[0].to_string().contains("podman says: "), "{report:?}");
}

#[test]
fn a_real_engine_ends_all_processes_of_a_command() {
    let Some((program, settings)) = real() else { return };
    let place = Place::new();
    let command = "echo before; trap '' TERM; sleep 72302 & sleep 72302; sleep 72302";
    let result = place.run_regardless(settings.clone(), json!({"command": command, "timeout": 2}));
    assert_eq!((result.output.as_str(), result.exit_code), ("before\n", Some(124)), "{result:?}");
    assert!(is_gone("sleep 72302"));
    // The engine may take a moment to remove it.
    let gone = (0..50).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(100));
        remaining_containers(&program).is_empty()
    });
    assert!(gone, "{}", remaining_containers(&program));
}

/// A killed host cannot end its container, so the keeper process does.
#[test]
fn a_real_container_ends_with_a_host_that_is_killed() {
    use std::io::Write;
    let Some((program, _)) = real() else { return };
    let place = Place::new();
    let config = place.beside.join("config/toolfence");
    fs::create_dir_all(&config).expect("a folder can be made");
    let image = std::env::var("TOOLFENCE_IMAGE").expect("it was there");
    let text = format!("[sandbox]\nmode = \"container\"\ncontainer = \"podman\"\nimage = \"{image}\"\n");
    fs::write(config.join("config.toml"), text).expect("a file can be written");
    let folder = program.parent().expect("it is in a folder").to_owned();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths([folder].into_iter().chain(std::env::split_paths(&path))).expect("it is a path");
    let mut coder = std::process::Command::new(env!("CARGO_BIN_EXE_coder"))
        .args(["exec", "--no-session", "--yes"])
        .current_dir(&place.root)
        .env("PATH", path)
        .env("XDG_CONFIG_HOME", place.beside.join("config"))
        .env("XDG_STATE_HOME", place.beside.join("state"))
        .stdin(std::process::Stdio::piped())
        .spawn()
        .expect("it starts");
    let call =
        "```tool\n{\"name\": \"bash\", \"args\": {\"command\": \"touch begun; sleep 72303\", \"write\": true}}\n```\n";
    coder.stdin.take().expect("it is piped").write_all(call.as_bytes()).expect("it reads");
    let begun = (0..200).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(50));
        place.at("begun").exists()
    });
    coder.kill().expect("it runs");
    coder.wait().expect("it is ours");
    assert!(begun, "the command began");
    let gone = (0..100).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(100));
        is_gone("sleep 72303") && remaining_containers(&program).is_empty()
    });
    assert!(gone, "{}", remaining_containers(&program));
}
