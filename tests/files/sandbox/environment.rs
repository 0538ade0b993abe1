//! Tests that the environment of a command is the one in the table, in every backend that this machine has.

use super::{Place, container};
use serde_json::json;
use std::collections::BTreeMap;
use std::ffi::OsString;
use toolfence_sandbox::environment::{self, Rule, TABLE};
use toolfence_sandbox::isolation::{Kind, Mode, Settings};

/// A command that prints the environment bash was started with, one variable per line.
const SHOW: &str = "while IFS= read -r -d '' each; do printf '%s\\n' \"$each\"; done </proc/self/environ";

/// Variables that programs on the way to bash, or an image, add by themselves.
const ADDED: &[&str] = &["PWD", "SHLVL", "OLDPWD", "_", "HOSTNAME", "container"];

fn command_environment(place: &Place, settings: Settings) -> BTreeMap<String, String> {
    let result = place.run_regardless(settings, json!({"command": SHOW}));
    let lines = result.output.lines().filter_map(|line| line.split_once('='));
    let all: BTreeMap<_, _> = lines.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    assert!(!all.is_empty(), "{result:?}");
    all.into_iter().filter(|(name, _)| !ADDED.contains(&name.as_str())).collect()
}

fn outside(place: &Place) -> Vec<(OsString, OsString)> {
    let runner = place.runner();
    environment::without_sandbox(std::env::vars_os(), runner.workspace().root().programs().search_path())
}

fn texts(all: Vec<(OsString, OsString)>) -> BTreeMap<String, String> {
    let text = |text: OsString| text.into_string().expect("it is text");
    all.into_iter().map(|(name, value)| (text(name), text(value))).collect()
}

#[test]
fn a_command_sees_what_the_table_says() {
    let place = Place::new();
    let outside = outside(&place);
    let mut settings = vec![Settings::new().mode(Mode::Off)];
    settings.extend([Kind::Namespaces, Kind::Bubblewrap].map(|kind| Settings::new().at_most(kind)));
    settings.push(Settings::new().network(true));
    for settings in settings {
        let kind = super::runner(&place.root, settings.clone()).sandbox_report().kind;
        let want = match kind {
            Kind::Nothing => outside.clone(),
            Kind::Namespaces | Kind::Bubblewrap => environment::sandboxed(&outside, &place.root, settings.network),
            other => {
                eprintln!("skipped: {other:?} shows no process");
                continue;
            }
        };
        assert_eq!(command_environment(&place, settings), texts(want), "{kind:?}");
    }
}

#[test]
fn a_command_in_a_container_sees_what_the_table_says() {
    let Some((_, settings)) = container::real() else { return };
    let place = Place::new();
    let outside = texts(outside(&place));
    let mut seen = command_environment(&place, settings);
    for row in TABLE {
        let want = match row.container {
            Rule::AsOutside => outside.get(row.name).cloned(),
            Rule::Set(value) | Rule::SetWithoutNetwork(value) => Some(value.to_owned()),
            // The image may set its own PATH.
            _ if row.name == "PATH" => seen.get(row.name).cloned(),
            _ => None,
        };
        assert_eq!(seen.remove(row.name), want, "{}", row.name);
    }
    assert!(seen.is_empty(), "{seen:?}");
}

#[test]
fn the_page_about_the_sandbox_names_every_variable() {
    let page = std::fs::read_to_string(toolfence_kit::root().join("docs/sandbox.md")).expect("it is there");
    for row in TABLE {
        let group = ["LC_", "GIT_CONFIG_"].into_iter().find(|group| row.name.starts_with(group));
        let name = group.map_or_else(|| format!("`{}`", row.name), |group| format!("`{group}*`"));
        assert!(page.contains(&name), "{name}");
    }
}

/// Files that runtimes read about the machine when they start.
const ASKED: &str = "cat /proc/cpuinfo /proc/meminfo /proc/mounts /proc/self/status /proc/self/maps >/dev/null && ls / /proc/self/fd \
     >/dev/null && head -c 1 /dev/urandom >/dev/null && cat <(echo read)";

/// A command that reads about the processes of the sandbox, all of which are older than the command.
const CURIOUS: &str = "for at in $(seq 1 $(($$ - 1))); do cat /proc/$at/environ /proc/$at/mem /proc/$at/maps; \
     ls /proc/$at/root/ /proc/$at/cwd/; done 2>/dev/null | grep -q . && echo something || echo nothing";

#[test]
fn a_command_reads_only_its_own_processes_in_proc() {
    let place = Place::new();
    for kind in [Kind::Namespaces, Kind::Bubblewrap] {
        let settings = Settings::new().at_most(kind);
        let found = super::runner(&place.root, settings.clone()).sandbox_report().kind;
        if found < Kind::Bubblewrap {
            eprintln!("skipped: there is {found:?}, not {kind:?}");
            continue;
        }
        let asked = place.run_regardless(settings.clone(), json!({"command": ASKED}));
        assert_eq!(asked.output, "read\n", "{found:?}: {asked:?}");
        let curious = place.run_regardless(settings, json!({"command": CURIOUS}));
        assert_eq!(curious.output, "nothing\n", "{found:?}: {curious:?}");
    }
}
