//! The helper that is ready before there is a command for it: it holds as one that is started for it, and goes with its host.

use super::{Place, block_on, stands};
use crate::marks::own;
use rustix::fd::AsFd;
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;
use toolfence::parts::files::Stop;
use toolfence::program::environment;
use toolfence::program::process::{Job, Prespawn, run_prespawned};
use toolfence::program::sandbox::Request;
use toolfence::program::workspace::Access;
use toolfence::tools::CommandRunner;
use toolfence_kit::Project;

/// Commands of one host, whose helpers are known by a variable of their own.
struct Host {
    runner: CommandRunner,
    environment: Vec<(OsString, OsString)>,
    ahead: Prespawn,
}

impl Host {
    fn new(place: &Place, mark: &str) -> Option<Host> {
        let runner = place.runner();
        let mut environment =
            environment::outside(std::env::vars_os(), runner.workspace().root().programs().search_path());
        environment.push(("TOOLFENCE_TEST_AHEAD".into(), own(mark).into()));
        stands(&runner).then(|| Host { runner, environment, ahead: Prespawn::new() })
    }

    fn says(&self, command: &str, network: bool) -> String {
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
            only_git: false,
            session: true,
            sockets: true,
            variables: &[],
        };
        let entry = self.runner.enclosure().entry(&request).expect("they stood a moment ago");
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
        let ran = block_on(run_prespawned(&job, &entry.told, entry.beginning, &self.ahead));
        ran.expect("it can be started").output
    }

    /// The numbers of its helpers that wait, once there is one.
    fn waiting(&self) -> Vec<i32> {
        let (_, mark) = self.environment.last().expect("it has a mark");
        (0..200).map(|_| helpers(mark)).find(|found| !found.is_empty()).unwrap_or_default()
    }
}

/// Those whose environment has the mark, after a moment.
fn helpers(mark: &OsStr) -> Vec<i32> {
    std::thread::sleep(Duration::from_millis(20));
    let holds = |number: &i32| {
        let text = fs::read(format!("/proc/{number}/environ")).unwrap_or_default();
        String::from_utf8_lossy(&text).contains(&*mark.to_string_lossy())
    };
    let all = fs::read_dir("/proc").expect("there is /proc").flatten();
    all.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).filter(holds).collect()
}

#[test]
fn each_is_used_once_and_covers_what_is_there_then() {
    let place = Place::new();
    let Some(host) = Host::new(&place, "72201") else { return };
    assert_eq!(host.says("echo x > /dev/shm/left; echo $$; echo one", false), "2\none\n");
    let first = host.waiting();
    assert!(!first.is_empty(), "one is ready");
    // What it was not told when it was started.
    place.file("new/.env", "SECRETVALUE\n");
    place.file("new/.git/HEAD", "ref: refs/heads/main\n");
    let said = host.says("{ cat new/.env; mv new/.git x; ls -A /dev/shm; echo $$; } 2>&1", false);
    assert!(said.contains("new/.env: Permission denied") && said.contains("Device or resource busy"), "{said}");
    assert!(!said.contains("left") && said.ends_with("\n2\n"), "{said}");
    let second = host.waiting();
    assert!(second.iter().all(|number| !first.contains(number)), "the first was used up: {first:?} {second:?}");
    let (_, mark) = host.environment.last().expect("it has a mark").clone();
    drop(host);
    assert!((0..100).any(|_| helpers(&mark).is_empty()), "it goes with its host");
}

/// What another command could give to one that only looks, which nothing watches, comes by a unix socket with a name.
#[test]
fn a_command_that_only_looks_has_no_unix_socket_with_a_name() {
    let place = Place::new();
    let Some(host) = Host::new(&place, "72203") else { return };
    let tries = "perl -MSocket -e 'print socket(A, AF_UNIX, SOCK_STREAM, 0) ? 1 : 0; print socket(A, AF_INET, SOCK_STREAM, 0) ? 1 : 0;
        for (SOCK_STREAM, SOCK_DGRAM, SOCK_RAW) { print socketpair(A, B, AF_UNIX, $_, 0) ? 1 : 0 }'";
    assert_eq!(host.run(tries, false, false), "11111");
    assert_eq!(host.run(tries, false, true), "01100");
    assert_eq!(host.run("echo kept > /tmp/72311; ls -d /tmp/72311", false, true), "/tmp/72311\n");
}

#[test]
fn one_that_died_or_waits_for_another_kind_of_command_is_not_used() {
    let place = Place::new();
    let Some(host) = Host::new(&place, "72202") else { return };
    host.says("true", false);
    for number in host.waiting() {
        let _ = kill_process(Pid::from_raw(number).expect("it is a number"), Signal::KILL);
    }
    let (_, mark) = host.environment.last().expect("it has a mark");
    assert!((0..100).any(|_| helpers(mark).is_empty()));
    assert_eq!(host.says("echo still", false), "still\n");
    assert!(!host.waiting().is_empty());
    let with_network = host.says("grep -c : /proc/net/dev", true);
    assert_eq!(
        with_network.trim(),
        fs::read_to_string("/proc/net/dev").expect("there is /proc").matches(':').count().to_string()
    );
    assert_eq!(host.says("grep -c : /proc/net/dev", false), "1\n");
}

/// A file of the host that is hidden before there is a command, and is another one when the command comes.
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
    let Some(host) = Host::new(&place, "72203") else { return };
    let look = "{ cat ~/.nvm/.npmrc; chmod 600 ~/.nvm/.npmrc; echo x >~/.nvm/.npmrc; } 2>&1";
    let hidden = |said: &str| said.contains("Permission denied") && said.matches("Read-only file system").count() == 2;
    let said = host.says(look, false);
    assert!(hidden(&said), "{said}");
    let file = Path::new(&home).join(".nvm/.npmrc");
    for round in 0..3 {
        assert!(!host.waiting().is_empty(), "one is ready");
        fs::write(file.with_extension("new"), "SECRETVALUE again\n").expect("a file can be written");
        fs::rename(file.with_extension("new"), &file).expect("it can be replaced");
        let said = host.says(look, false);
        assert!(hidden(&said), "{round}: {said}");
    }
    assert!(!host.waiting().is_empty(), "one is ready");
    fs::remove_file(&file).expect("it can be removed");
    assert!(host.says(look, false).contains("No such file"), "what is not there is no trouble");
}

/// Where the project is in /etc, its repository is what only its owner may read, and is guarded all the same.
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
    let Some(host) = Host::new(&place, "72204") else { return };
    for _ in 0..2 {
        let said = host.says("{ cat .git/HEAD; mv .git x; echo ran; } 2>&1", false);
        assert!(said.contains("Permission denied") && said.contains("busy") && said.ends_with("ran\n"), "{said}");
        assert!(!host.waiting().is_empty(), "one is ready");
    }
}
