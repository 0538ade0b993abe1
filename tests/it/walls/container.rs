//! Commands in a container: what the engine is told, how it ends, and that nothing runs where it is not there. The engine of
//! these tests is a script that takes the words of a real one and runs the command on this machine.

use super::left::is_gone;
use super::{HELPER, Place};
use crate::marks::own;
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use toolfence::ErrorCode;
use toolfence::walls::{Container, Engine, Kind, Settings};

/// Notes what it was told, and runs what stands behind the image.
const SCRIPT: &str = r#"#!/bin/bash
here=$(dirname "$0")
printf '%s\n' "$*" >>"$here/told"
case $1 in
    image) [ "${!#}" = present ] || { echo "Error: no such image: ${!#}" >&2; exit 1; } ;;
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
        # The shell's own word on how it ended is none of the command's.
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
    Settings::new().container(Container::new(Engine::Podman, image).program(program)).helper(HELPER)
}

fn told(place: &Place) -> Vec<String> {
    let text = fs::read_to_string(place.beside.join("told")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn a_command_runs_in_it_and_its_end_is_told() {
    let place = Place::new();
    place.file(".env", "KEY=SECRETVALUE\n");
    place.file("sub/f", "");
    let settings = settings(&place, "present");
    let workspace = super::workspace(&place.root, settings.clone());
    let report = workspace.enclosure().report();
    assert!(report.kind == Kind::Container && report.holds && report.why.is_empty(), "{report:?}");
    let result = place.anyhow(settings.clone(), json!({"command": "echo one; echo two >&2; pwd; exit 3"}));
    let want = format!("one\ntwo\n{}\n", place.root.display());
    assert_eq!((result.output, result.exit_code), (want, Some(3)));
    let last = told(&place).pop().expect("it was told");
    for word in
        ["--network=none", "--cap-drop=all", "--rm", "--entrypoint=/bin/bash", " present --noprofile --norc -c "]
    {
        assert!(last.contains(word), "{word}: {last}");
    }
    let mask = format!(",dst={},readonly", place.at(".env").display());
    assert!(last.contains(&mask), "{mask}: {last}");
    let open = place.anyhow(settings, json!({"command": "true", "network": true}));
    assert!(open.success && !told(&place).pop().expect("it was told").contains("--network"), "{open:?}");
}

#[test]
fn it_ends_with_the_call() {
    let place = Place::new();
    let settings = settings(&place, "present");
    let command = "echo before; trap '' TERM; sleep 72301 & sleep 72301; sleep 72301";
    let result = place.anyhow(settings.clone(), json!({"command": command, "timeout": 1}));
    assert_eq!((result.output.as_str(), result.exit_code), ("before\n", Some(124)), "{result:?}");
    assert!(is_gone("sleep 72301"), "{:?}", told(&place));
    let removed = told(&place).pop().expect("it was told");
    assert!(removed.starts_with("rm --force --time=0 toolfence-"), "{removed}");
    let polite = place.anyhow(
        settings,
        json!({"command": own("trap 'echo saved; exit 3' TERM; while :; do sleep 0.05; done"), "timeout": 1}),
    );
    assert!(polite.output.ends_with("saved\n"), "{polite:?}");
}

#[test]
fn without_it_nothing_runs() {
    let place = Place::new();
    let missing = Container::new(Engine::Podman, "i").program(PathBuf::from("/nowhere/podman"));
    for (settings, why) in [
        (settings(&place, "absent"), "podman says: Error: no such image: absent"),
        (Settings::new().container(missing).helper(HELPER), "No such file or directory"),
    ] {
        let report = super::workspace(&place.root, settings.clone()).enclosure().report().clone();
        assert!(report.kind == Kind::Nothing && !report.holds && report.why[0].contains(why), "{report:?}");
        let result = place.anyhow(settings, json!({"command": "touch ran"}));
        let error = result.error.expect("it is refused");
        assert!(
            error.code == ErrorCode::IoError
                && error.message.contains(why)
                && error.message.contains("Nothing was run")
        );
        assert!(!place.at("ran").exists(), "it must not run outside");
    }
}

/// The client of Docker that is installed here, and whatever it says.
#[test]
fn the_word_of_a_real_client_is_told() {
    let there =
        std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).any(|f| f.join("docker").is_file());
    if !there {
        eprintln!("skipped: there is no docker");
        return;
    }
    let place = Place::new();
    let settings = Settings::new().container(Container::new(Engine::Docker, "toolfence-no-such-image"));
    let report = super::workspace(&place.root, settings).enclosure().report().clone();
    assert!(
        report.kind == Kind::Nothing && report.why[0].starts_with("Container cannot be raised: docker says: "),
        "{report:?}"
    );
    println!("{}", report.why[0]);
}
