//! Runs tests of the sandbox again as an ordinary user, and without user namespaces.

use super::Place;
use serde_json::json;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use toolfence_sandbox::isolation::{Kind, Settings};

/// The variable that marks the copy of this program that runs as another user.
const AGAIN: &str = "TOOLFENCE_TEST_AGAIN";

fn program() -> String {
    std::env::current_exe().expect("this program has a file").display().to_string()
}

pub(super) fn is_there(program: &str) -> bool {
    std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).any(|folder| folder.join(program).is_file())
}

/// Runs these tests of this program through other programs; `None` if that is not possible.
fn run_again(through: &[&str], tests: &[&str]) -> Option<String> {
    let root = rustix::process::geteuid().is_root();
    if std::env::var_os(AGAIN).is_some() || !root || !is_there(through[0]) {
        eprintln!("skipped: it takes root and {}", through[0]);
        return None;
    }
    let home = tempfile::tempdir().expect("a temporary folder can be made");
    // Any user must be able to use this home.
    std::fs::set_permissions(home.path(), std::fs::Permissions::from_mode(0o777)).expect("it is ours");
    let output = Command::new(through[0])
        .args(&through[1..])
        .arg(program())
        .args(tests)
        .args(["--nocapture", "--test-threads=1"])
        .env(AGAIN, "1")
        .env("HOME", home.path())
        .env("TMPDIR", home.path())
        .current_dir(home.path())
        .output()
        .expect("it can be started");
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    println!("{said}");
    assert!(output.status.success(), "{said}");
    Some(said)
}

#[test]
fn an_ordinary_user_has_the_same_sandbox() {
    let user = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"];
    let Some(said) = run_again(
        &user,
        &[
            "sandbox::calls::",
            "sandbox::escape::",
            "sandbox::git::",
            "sandbox::left::",
            "sandbox::session::",
            "sandbox::private_copy::never_kept::",
            "sandbox::private_copy::conflicts::a_file",
        ],
    ) else {
        return;
    };
    assert!(!said.contains("skipped"), "{said}");
}

/// All traps and all ends take some minutes, so this test runs only on request.
#[test]
fn an_ordinary_user_falls_into_no_trap() {
    if std::env::var_os("TOOLFENCE_TRAPS").is_none() {
        return;
    }
    let user = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"];
    let Some(said) = run_again(&user, &["sandbox::traps::"]) else { return };
    assert!(!said.contains("skipped") && said.contains("planted programs ran"), "{said}");
}

pub(super) const NO_USER_NAMESPACES: &str = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$@\"";

#[test]
fn root_needs_no_user_namespace() {
    let through = ["unshare", "--user", "--map-root-user", "sh", "-c", NO_USER_NAMESPACES, "sh"];
    let Some(said) = run_again(&through, &["sandbox::calls::", "sandbox::escape::", "sandbox::git::"]) else { return };
    assert!(!said.contains("skipped"), "{said}");
}

#[test]
fn without_namespaces_only_landlock_limits_commands() {
    let nobody = ["setpriv", "--bounding-set", "-all", "--inh-caps", "-all", "--no-new-privs"];
    let mut through = vec!["unshare", "--user", "--map-root-user", "sh", "-c", NO_USER_NAMESPACES, "sh"];
    through.extend(nobody);
    run_again(&through, &["sandbox::users::landlock_alone", "sandbox::users::nothing_is_left_without_a_namespace"]);
}

/// Returns a place if the sandbox has no namespaces here, so that only Landlock remains.
fn alone() -> Option<Place> {
    let place = Place::new();
    let runner = place.runner();
    let report = runner.sandbox_report();
    if report.kind != Kind::Landlock {
        eprintln!("skipped: {:?} is available here", report.kind);
        return None;
    }
    assert!(
        !report.holds
            && report.why[0].to_string().starts_with("A sandbox of namespaces cannot be raised: the namespaces"),
        "{report:?}"
    );
    Some(place)
}

#[test]
fn landlock_alone() {
    let Some(place) = alone() else { return };
    place.file("f", "as it was\n");
    let secret = place.beside.join("private.txt");
    for (command, want) in [
        ("cat f; echo x > g; cat g", "as it was\nx\n"),
        (&*format!("cat {}", secret.display()), "Permission denied"),
        ("ls /root", "Permission denied"),
        ("echo x > /tmp/toolfence-landlock", "Permission denied"),
        ("exec 3<>/dev/tcp/127.0.0.1/22", "Operation not permitted"),
        ("echo x > /dev/null && echo fine", "fine"),
        (&*format!("kill -0 {}", std::process::id()), "Operation not permitted"),
    ] {
        let result = place.run_regardless(Settings::new(), json!({"command": format!("{{ {command}; }} 2>&1")}));
        assert!(result.output.contains(want), "{command}: {} {:?}", result.output, result.error);
    }
}

#[test]
fn nothing_is_left_without_a_namespace() {
    let Some(place) = alone() else { return };
    let marker = "sleep 72021";
    for command in ["set -m; (sleep 72021 &) ; sleep 72021 & echo ended", "set -m; sleep 72021 & sleep 72021"] {
        place.run_regardless(Settings::new(), json!({"command": command, "timeout": 1}));
        assert_eq!(super::left::running(marker), 0, "{command}");
    }
}

#[test]
fn a_project_that_holds_the_home_has_no_sandbox() {
    let report = |root: &Path| super::runner(root, Settings::new()).sandbox_report().clone();
    let whole = report(Path::new("/"));
    assert!(
        whole.kind == Kind::Nothing && !whole.holds && whole.why[0].to_string().contains("the whole system"),
        "{whole:?}"
    );
    let off = Settings::new().mode(toolfence_sandbox::isolation::Mode::Off);
    let place = Place::new();
    let off = super::runner(&place.root, off).sandbox_report().clone();
    assert!(off.kind == Kind::Nothing && off.why[0].to_string().contains("switched off"), "{off:?}");
    let workspace = super::runner(&place.root, Settings::new()).workspace().clone();
    let missing = toolfence_tools::CommandRunner::new(workspace, Settings::new().helper("/nowhere/at/all"));
    let missing = missing.sandbox_report().clone();
    assert!(missing.kind == Kind::Nothing && missing.why[0].to_string().contains("No such file"), "{missing:?}");
}

/// If another program in place of the helper prints text and never ends, the call must not wait for it forever.
#[test]
fn a_program_in_place_of_the_helper_does_not_block() {
    let place = Place::new();
    let program = place.beside.join("helper");
    std::fs::write(&program, "#!/bin/sh\necho no >&0\nexec sleep 60\n").expect("a file can be written");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
    let workspace = super::runner(&place.root, Settings::new()).workspace().clone();
    let settings = Settings::new().at_most(Kind::Landlock).helper(program);
    let started = std::time::Instant::now();
    let runner = toolfence_tools::CommandRunner::new(workspace, settings);
    let report = runner.sandbox_report();
    assert!(report.kind == Kind::Nothing && report.why[0].to_string().contains("raised: no."), "{report:?}");
    assert!(started.elapsed() < std::time::Duration::from_secs(30), "{:?}", started.elapsed());
}
