//! The report of `coder doctor` as root, as an ordinary user, and on systems with few features.

use super::users::{NO_USER_NAMESPACES, is_there};
use serde_json::{Value, json};
use std::process::Command;

const CODER: &str = env!("CARGO_BIN_EXE_coder");

/// Runs `coder doctor` through other programs, and returns its status and its findings. Returns `None` if these
/// programs are not available.
fn doctor(through: &[&str], args: &[&str]) -> Option<(i32, Value)> {
    let root = rustix::process::geteuid().is_root();
    if !through.is_empty() && (!root || !is_there(through[0])) {
        eprintln!("skipped: it takes root and {}", through[0]);
        return None;
    }
    let place = tempfile::tempdir().expect("a temporary folder can be made");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(place.path(), mode).expect("it is ours");
    let (program, before) = through.split_first().map_or((CODER, [].as_slice()), |(first, rest)| (*first, rest));
    let mut command = Command::new(program);
    command.args(before);
    if !through.is_empty() {
        command.arg(CODER);
    }
    command.args(["doctor", "--json"]).args(args).current_dir(place.path());
    for name in ["HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME"] {
        command.env(name, place.path());
    }
    let output = command.output().expect("it can be started");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    Some((output.status.code().expect("it ends by itself"), value))
}

/// If the home does not exist, the attempts to read it count as blocked.
#[test]
fn a_home_that_is_missing_is_no_breach() {
    let output = Command::new(CODER)
        .args(["doctor", "--json"])
        .env("HOME", "/does/not/exist")
        .output()
        .expect("it can be started");
    let found: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    if found["kind"] != "namespaces" {
        eprintln!("skipped: {}", found["why"]);
        return;
    }
    assert!(results(&found, "files").all(|result| result == "yes"), "{found:#}");
}

fn results<'a>(found: &'a Value, barrier: &'a str) -> impl Iterator<Item = &'a str> {
    let all = found["findings"].as_array().into_iter().flatten();
    all.filter(move |finding| finding["barrier"] == barrier).filter_map(|finding| finding["result"].as_str())
}

const SANDBOX: [&str; 6] = ["files", "blocked files", "git", "processes", "network", "system calls"];

#[test]
fn every_barrier_is_tested_and_holds() {
    let user = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"];
    for (through, who) in [(&[][..], None), (&user, Some(65534))] {
        let Some((status, found)) = doctor(through, &[]) else { continue };
        if found["kind"] != "namespaces" {
            eprintln!("skipped: {}", found["why"]);
            continue;
        }
        assert_eq!((status, &found["holds"]), (0, &true.into()), "{found:#}");
        assert!(who.is_none_or(|who| found["user"] == who), "{found}");
        for barrier in SANDBOX {
            let results: Vec<_> = results(&found, barrier).collect();
            assert!(results.len() >= 2 && results.iter().all(|result| *result == "yes"), "{barrier}: {found:#}");
        }
    }
}

#[test]
fn missing_barriers_are_reported() {
    let mut through = vec!["unshare", "--user", "--map-root-user", "sh", "-c", NO_USER_NAMESPACES, "sh"];
    through.extend(["setpriv", "--bounding-set", "-all", "--inh-caps", "-all", "--no-new-privs"]);
    let Some((status, found)) = doctor(&through, &[]) else { return };
    assert_eq!((status, &found["holds"], &found["kind"]), (1, &false.into(), &"landlock".into()), "{found:#}");
    assert!(found["why"][0].as_str().is_some_and(|why| why.contains("the namespaces")), "{found:#}");
    assert!(found["advice"][0].as_str().is_some_and(|advice| advice.contains("max_user_namespaces")), "{found:#}");
    assert!(results(&found, "blocked files").any(|result| result == "no"), "{found:#}");
    assert!(results(&found, "system calls").all(|result| result == "yes"), "{found:#}");
}

#[test]
fn configured_paths_are_tested() {
    let Some((status, off)) = doctor(&[], &["--sandbox", "off"]) else { return };
    assert_eq!((status, &off["kind"], &off["holds"]), (1, &"nothing".into(), &false.into()));
    let Some((_, found)) = doctor(&[], &["--sandbox", "read-only"]) else { return };
    if found["kind"] != "namespaces" {
        return;
    }
    let writes = |found: &Value| found.to_string().contains("write into the project");
    assert!(writes(&found) && results(&found, "files").all(|result| result == "yes"), "{found:#}");
    let Some((status, open)) = doctor(&[], &["--network"]) else { return };
    assert_eq!((status, &open["holds"], writes(&open)), (0, &false.into(), false), "{open:#}");
    assert!(results(&open, "network").all(|result| result == "open"), "{open:#}");
}

#[test]
fn checkers_are_listed() {
    let Some((_, found)) = doctor(&[], &[]) else { return };
    let programs = found["checks"]["programs"].as_array().expect("a list");
    let of =
        |name: &str| programs.iter().find(|one| one["program"] == name).unwrap_or_else(|| panic!("{name}: {found:#}"));
    let bash = of("bash");
    assert!(bash["found"].as_str().is_some_and(|path| path.ends_with("/bash")), "{bash}");
    assert_eq!(
        (&bash["asked"], &bash["files"], &bash["without"]),
        (&true.into(), &json!(["*.sh", "*.bash"]), &json!([]))
    );
    let tsc = of("tsc");
    assert_eq!((&tsc["reads"], &tsc["without"]), (&"project:tsconfig.json".into(), &json!(["TypeScript", "TSX"])));
    for one in programs {
        assert!(one["built_in"] == true && (one["asked"] == false || one["found"].is_string()), "{one}");
    }
    let languages = found["checks"]["in_process"].as_array().expect("a list");
    assert!(languages.iter().any(|one| one["language"] == "TOML" && one["files"] == json!(["*.toml"])), "{found:#}");
    // Without a sandbox, a checker of the whole project does not run, but a checker of one text does.
    let Some((_, off)) = doctor(&[], &["--sandbox", "off"]) else { return };
    for one in off["checks"]["programs"].as_array().expect("a list") {
        let may_run = one["reads"] == "text" && one["found"].is_string();
        assert_eq!(one["asked"], may_run, "{one}");
    }
}

/// Uses the system's own bubblewrap, if it is installed.
#[test]
fn bubblewrap_passes_the_tests_too() {
    use toolfence_commands::trial::{self, BarrierResult};
    use toolfence_sandbox::isolation::{Kind, Settings};
    let place = tempfile::tempdir().expect("a temporary folder can be made");
    let settings = Settings::new().at_most(Kind::Bubblewrap).helper(super::HELPER);
    let found = super::block_on(trial::sandbox(&settings, place.path())).expect("the folder is ours");
    if found.report.kind != Kind::Bubblewrap {
        eprintln!("skipped: {:?}", found.report.why);
        return;
    }
    let root = rustix::process::geteuid().is_root();
    // For root only the limit of the namespace counts, and setting it needs a privilege that was already dropped.
    let open = |finding: &&trial::Finding| !(root && finding.attempt.to_string().starts_with("start as many"));
    let broken: Vec<_> =
        found.findings.iter().filter(open).filter(|finding| finding.result != BarrierResult::Yes).collect();
    assert!(found.report.holds && found.findings.len() > 30 && broken.is_empty(), "{broken:#?}");
}
