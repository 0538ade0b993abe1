//! Tests the files that the sandbox helper hides and the calls that it refuses by itself, whatever the host did before.

use super::{Place, block_on, has_sandbox};
use rustix::fd::AsFd;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;
use toolfence_kit::Project;
use toolfence_sandbox::environment;
use toolfence_sandbox::isolation::Request;
use toolfence_sandbox::process::{Job, run_supervised};
use toolfence_tools::CommandRunner;
use toolfence_workspace::Access;
use toolfence_workspace::Stop;

struct Host {
    runner: CommandRunner,
    environment: Vec<(OsString, OsString)>,
}

impl Host {
    fn new(place: &Place) -> Option<Host> {
        let runner = place.runner();
        let environment =
            environment::without_sandbox(std::env::vars_os(), runner.workspace().root().programs().search_path());
        has_sandbox(&runner).then(|| Host { runner, environment })
    }

    fn output_of(&self, command: &str, network: bool) -> String {
        self.run(command, network, false)
    }

    fn run(&self, command: &str, network: bool, looks: bool) -> String {
        let words = ["/bin/bash", "--noprofile", "--norc", "-c", command].map(OsStr::new);
        let masks = self.runner.workspace().masks().find(Access::Read, &Stop::default()).expect("the project is small");
        let request = Request {
            command: &words,
            folder: Path::new(""),
            masks: masks.list(),
            layer: None,
            network,
            looks,
            writable_folders: &[],
            session: true,
            sockets: true,
            variables: &[],
        };
        let entry = self.runner.enclosure().entry(&request).expect("the sandbox was available before");
        let arguments: Vec<&OsStr> = entry.arguments.iter().map(OsString::as_os_str).collect();
        let folder = self.runner.workspace().root().folder(".").expect("it is the root");
        let job = Job {
            program: &entry.program,
            args: &arguments,
            folder: folder.as_fd(),
            environment: &self.environment,
            limit: Duration::from_secs(20),
            keep: 10_000,
            overflow: None,
            live: None,
        };
        let ran = block_on(run_supervised(&job, &entry.message));
        ran.expect("it can be started").output
    }
}

/// Over a named Unix socket, another command could pass an open file to a read-only command, which is not monitored.
#[test]
fn a_command_that_only_looks_has_no_unix_socket_with_a_name() {
    let place = Place::new();
    let Some(host) = Host::new(&place) else { return };
    let tries = "perl -MSocket -e 'print socket(A, AF_UNIX, SOCK_STREAM, 0) ? 1 : 0; print socket(A, AF_INET, SOCK_STREAM, 0) ? 1 : 0;
        for (SOCK_STREAM, SOCK_DGRAM, SOCK_RAW) { print socketpair(A, B, AF_UNIX, $_, 0) ? 1 : 0 }'";
    assert_eq!(host.run(tries, false, false), "11111");
    assert_eq!(host.run(tries, false, true), "01100");
    assert_eq!(host.run("echo kept > /tmp/72311; ls -d /tmp/72311", false, true), "/tmp/72311\n");
}

/// Replaces a file of the host between two commands.
#[test]
fn a_credential_that_was_replaced_is_hidden_too() {
    const HOME: &str = "TOOLFENCE_TEST_AHEAD_HOME";
    let place = Place::new();
    let Some(home) = std::env::var_os(HOME) else {
        let home = place.beside.join("home");
        fs::create_dir_all(home.join(".nvm")).expect("a folder can be made");
        fs::write(home.join(".nvm/.npmrc"), "SECRETVALUE\n").expect("a file can be written");
        let module = module_path!().split_once("::").map_or("", |(_, module)| module);
        let test = format!("{module}::a_credential_that_was_replaced_is_hidden_too");
        let output = std::process::Command::new(std::env::current_exe().expect("this program has a file"))
            .args(["--exact", &test, "--nocapture"])
            .env("HOME", &home)
            .env(HOME, &home)
            .output()
            .expect("it can be started");
        let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.contains("1 passed"), "{said}");
        return;
    };
    let Some(host) = Host::new(&place) else { return };
    let look = "{ cat ~/.nvm/.npmrc; chmod 600 ~/.nvm/.npmrc; echo x >~/.nvm/.npmrc; } 2>&1";
    let hidden = |said: &str| said.contains("Permission denied") && said.matches("Read-only file system").count() == 2;
    let said = host.output_of(look, false);
    assert!(hidden(&said), "{said}");
    let file = Path::new(&home).join(".nvm/.npmrc");
    for round in 0..3 {
        fs::write(file.with_extension("new"), "SECRETVALUE again\n").expect("a file can be written");
        fs::rename(file.with_extension("new"), &file).expect("it can be replaced");
        let said = host.output_of(look, false);
        assert!(hidden(&said), "{round}: {said}");
    }
    fs::remove_file(&file).expect("it can be removed");
    assert!(host.output_of(look, false).contains("No such file"), "what is not there is no trouble");
}

/// The project is in /etc, where the sandbox hides entries that only root may read, such as this repository. It must
/// still be protected from changes.
#[test]
fn a_repository_in_etc_is_guarded_and_hidden() {
    let Ok(folder) = tempfile::tempdir_in("/etc") else {
        return eprintln!("skipped: only root can make a folder there");
    };
    let root = folder.path().to_owned();
    fs::create_dir(root.join(".git")).expect("a folder can be made");
    fs::write(root.join(".git/HEAD"), "SECRETVALUE\n").expect("a file can be written");
    fs::set_permissions(root.join(".git"), fs::Permissions::from_mode(0o700)).expect("it is ours");
    let place = Place(Project::at_root(root));
    let Some(host) = Host::new(&place) else { return };
    for _ in 0..2 {
        let said = host.output_of("{ cat .git/HEAD; mv .git x; echo ran; } 2>&1", false);
        assert!(said.contains("Permission denied") && said.contains("busy") && said.ends_with("ran\n"), "{said}");
    }
}
