//! The resources that the commands of a session share: a home, a `/tmp`, layers over toolchains and the loopback
//! interface.

use super::left::running;
use super::{HELPER, Place, bash, block_on, has_sandbox, runner, without_note, writing};
use crate::marks::own;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use toolfence_kit::Tools;
use toolfence_sandbox::isolation::Settings;
use toolfence_sandbox::process::Heard;
use toolfence_tools::WantedService;
use toolfence_tools::{self as tools, CommandRunner};

/// The tools of one session.
struct Session<'p> {
    place: &'p Place,
    runner: Arc<CommandRunner>,
    tools: Tools<CommandRunner>,
}

impl<'p> Session<'p> {
    /// Prints a line and returns `None` if this kernel does not support the sandbox.
    fn new(place: &'p Place) -> Option<Session<'p>> {
        let runner = Arc::new(runner(&place.root, Settings::new()));
        let tools = || Tools::new(Arc::clone(&runner), tools::standard(Arc::clone(&runner)));
        has_sandbox(&runner).then(|| Session { place, tools: tools(), runner: Arc::clone(&runner) })
    }

    fn call(&self, mut args: Value) -> String {
        let command = args["command"].as_str().expect("there is a command").to_owned();
        self.place.file("attempt.sh", own(&command));
        args["command"] = ". ./attempt.sh".into();
        let args = writing(&self.runner, args);
        let result = without_note(self.tools.carry_out(self.tools.cleared("bash", args)));
        format!("{}{}", result.output, result.error.map(|error| error.message.to_string()).unwrap_or_default())
    }

    fn run(&self, command: &str) -> String {
        self.call(json!({"command": command}))
    }
}

#[test]
fn files_in_home_and_tmp_last_as_long_as_the_session() {
    let place = Place::new();
    let Some(session) = Session::new(&place) else { return };
    let files = "/tmp/72301 ~/.cache/72301/file /var/tmp/72302";
    let write = "umask; mkdir -p ~/.cache/72301; for file in FILES; do echo kept > $file; done; stat -c %a ~ /tmp";
    assert_eq!(session.run(&write.replace("FILES", files)), "0022\n700\n1777\n");
    assert_eq!(session.run(&format!("cat {files}; rm /var/tmp/72302; ls /tmp/72302")).matches("kept").count(), 3);
    assert!(session.run("ls /tmp/72302").contains("No such file"));
    let other = Session::new(&place).expect("this kernel has a sandbox");
    assert_eq!(other.run(&format!("cat {files}")).matches("No such file").count(), 3);
    assert!(!Path::new("/tmp/72301").exists(), "nothing of it is on the host");
}

/// The project is below `/tmp`, which the commands of the session share, but none of them can move it.
#[test]
fn the_project_cannot_be_moved_in_a_shared_folder() {
    let place = Place::new();
    let Some(session) = Session::new(&place) else { return };
    place.file("a.txt", "of the project\n");
    let above = place.root.parent().expect("it is in a folder").display().to_string();
    for command in ["mv ABOVE /tmp/72303", "rmdir ABOVE", "mv ABOVE/project ABOVE/other", "rm -rf ABOVE/project"] {
        let said = session.run(&format!("cd /; {}", command.replace("ABOVE", &above)));
        assert!(said.contains("Device or resource busy"), "{command}: {said}");
        place.file("a.txt", "of the project\n");
    }
    assert_eq!(session.run(&format!("echo x > {above}/72304; cat a.txt")), "of the project\n");
    assert_eq!(session.run(&format!("cat {above}/72304")), "x\n");
    assert!(!place.root.parent().expect("it is in a folder").join("72304").exists());
}

/// Plants files in the shared folders. They do not change what the next command sees of the machine, and the setup of
/// the next sandbox does not open, follow or list them.
#[test]
fn files_planted_in_shared_folders_do_not_affect_the_next_sandbox() {
    let place = Place::new();
    let Some(session) = Session::new(&place) else { return };
    place.file("a.txt", "of the project\n");
    place.file(".env", "KEY=SECRETVALUE\n");
    let look = "ls -d /proc/1 /usr/bin /dev/null; cat a.txt .env; cut -d' ' -f5 /proc/self/mountinfo | sort";
    let before = session.run(look);
    let planted = [
        // This command replaces everything that can be moved or removed in the home and in /tmp with links.
        "cd /; for top in ~ /tmp ~/.cache ~/.local ~/.config; do
            for path in $top/* $top/.[a-z]*; do
                mv -T $path $path.moved || rmdir $path || rm -f $path
                ln -sfT $OLDPWD $path
            done
        done 2>/dev/null; for name in .cargo .rustup .cache .local .config go .npm .m2 .gradle; do
            ln -sT $OLDPWD ~/$name; ln -sT /etc /tmp/$name
        done 2>/dev/null; rmdir ~ /tmp 2>/dev/null; ls -ld ~ /tmp >/dev/null && echo planted",
        // This one creates FIFOs, sockets and devices at every path that a toolchain uses.
        "cd ~; for name in .cargo .config .cache .local .rustup .gitconfig .bashrc .profile /tmp/x; do
            rm -f $name; mkfifo $name
        done 2>/dev/null; echo planted",
        // This one creates folders without any permission, very deep folders, and very many folders.
        "cd ~; for i in $(seq 100); do mkdir -p d/d/d/d && cd d/d/d/d || break; done 2>/dev/null
        cd /tmp; mkdir -p many && cd many && for i in $(seq 10); do mkdir $i; touch $i/{1..300}; done
        chmod 0 ~ /tmp; echo planted",
    ];
    for planted in planted {
        let said = session.run(planted);
        assert!(said.contains("planted"), "{planted}: {said}");
        assert_eq!(session.run(look), before, "{planted}");
        assert_eq!(fs::read_to_string(place.at("a.txt")).expect("it is there"), "of the project\n");
        let mut names: Vec<_> = fs::read_dir(&place.root).expect("it is there").flatten().collect();
        names.retain(|name| !["a.txt", ".env", "attempt.sh"].iter().any(|known| name.file_name() == *known));
        assert!(names.is_empty(), "{planted}: {names:?}");
    }
    assert!(!session.run("chmod 700 ~; ls ~").contains("denied"), "it is theirs");
}

/// Runs a copy of this program whose home is below a shared `/tmp` and has toolchains, their credentials and a cache.
#[test]
fn toolchains_in_a_shared_home_stay_where_they_are_and_keep_what_is_written() {
    const HOME: &str = "TOOLFENCE_TEST_SESSION_HOME";
    let test = "sandbox::session::toolchains_in_a_shared_home_stay_where_they_are_and_keep_what_is_written";
    let place = Place::new();
    let Some(home) = std::env::var_os(HOME).map(PathBuf::from) else {
        if !has_sandbox(&place.runner()) {
            return;
        }
        for (name, content) in [
            (".cargo/credentials.toml", "SECRETVALUE"),
            (".cargo/deep/er/.env", "SECRETVALUE"),
            (".cargo/bin/tool", "of the host"),
            (".local/bin/tool", "of the host"),
            (".local/share/pnpm/store", "of the host"),
            (".cache/pip/wheel", "of the host"),
        ] {
            let path = place.home.join(name);
            fs::create_dir_all(path.parent().expect("it is in a folder")).expect("a folder can be made");
            fs::write(path, format!("{content}\n")).expect("a file can be written");
        }
        let again = Command::new(std::env::current_exe().expect("this program has a file"))
            .args(["--exact", test, "--nocapture"])
            .envs([(HOME, &place.home), ("HOME", &place.home)])
            .output()
            .expect("this program can be started");
        let said = String::from_utf8_lossy(&again.stdout) + String::from_utf8_lossy(&again.stderr);
        assert!(again.status.success() && !said.contains("skipped"), "{said}");
        return;
    };
    let session = Session::new(&place).expect("this kernel has a sandbox");
    let look = "cd ~; cat .cargo/credentials.toml .cargo/deep/er/.env .cargo/bin/tool .local/bin/tool \
                .local/share/pnpm/store .cache/pip/wheel; echo x > .local/bin/tool";
    let before = session.run(look);
    assert_eq!(
        (before.matches("of the host").count(), before.matches("Permission denied").count()),
        (4, 2),
        "{before}"
    );
    assert!(before.contains("Read-only file system"), "{before}");
    let outside = &place.root.display().to_string();
    for name in [".local", ".local/bin", ".local/share", ".local/share/pnpm", ".cache", ".cache/pip", ".cargo", "."] {
        let said =
            session.run(&format!("cd ~; mv -T {name} {name}.moved; rmdir {name}; ln -sfT {outside} {name}; true"));
        assert!(name == "." || said.matches("Device or resource busy").count() == 2, "{name}: {said}");
        assert_eq!(session.run(look), before, "{name}");
    }
    // Blocked files of the toolchains are hidden at their paths, so a move to another path must fail.
    for command in ["mv .cargo/deep .cargo/moved", "mv .cargo/deep/er .cargo/er", "rm -rf .cargo/deep"] {
        let said = session.run(&format!("cd ~; {command}; find . -name .env -exec cat {{}} +; true"));
        let is_refused = ["Device or resource busy", "Permission denied"].iter().any(|why| said.contains(why));
        assert!(is_refused && !said.contains("SECRETVALUE"), "{command}: {said}");
        assert_eq!(session.run(look), before, "{command}");
    }
    let host = |name: &str| home.join(name);
    assert_eq!(
        session.run("cd ~; echo made > .cargo/made; rm .cargo/bin/tool; cat .cargo/later; echo kept > .cache/pip/made"),
        "cat: .cargo/later: No such file or directory\n"
    );
    fs::write(host(".cargo/later"), "later\n").expect("a file can be written");
    assert_eq!(session.run("cd ~; cat .cargo/made .cache/pip/made .cargo/later; ls .cargo/bin"), "made\nkept\nlater\n");
    assert!(!host(".cargo/made").exists() && !host(".cache/pip/made").exists() && host(".cargo/bin/tool").exists());
    let names = fs::read_dir(&home).expect("it is there").count();
    assert_eq!((names, fs::read_dir(&place.root).expect("it is there").count()), (3, 1), "the host has nothing new");
    let other = Session::new(&place).expect("this kernel has a sandbox");
    assert!(other.run("cat ~/.cargo/made").contains("No such file"));
}

/// A full `/tmp` stops the command that filled it, but not the next sandbox.
#[test]
fn a_full_shared_folder_does_not_stop_the_next_command() {
    let place = Place::new();
    let runner = Arc::new(super::runner(&place.root, Settings::new().memory(64 << 20)));
    if !has_sandbox(&runner) {
        return;
    }
    let said =
        place.attempt(&runner, json!({"command": "head -c 1G /dev/zero > /tmp/all; df --output=avail /tmp | tail -1"}));
    assert!(said.output.contains("No space left") && said.output.ends_with(" 0\n"), "{said:?}");
    let said = place.attempt(
        &runner,
        json!({"command": "echo x > /dev/shm/x && rm /tmp/all && echo works > /tmp/y && cat /tmp/y"}),
    );
    assert_eq!(said.output, "works\n");
}

/// A job and a later command share the loopback interface, and other sessions do not.
#[test]
fn a_server_of_a_job_is_reached_by_a_later_command() {
    const SERVER: &str = "TOOLFENCE_TEST_SERVER";
    const PORT: u16 = 8723;
    if std::env::var_os(SERVER).is_some() {
        let listener = std::net::TcpListener::bind(("127.0.0.1", PORT)).expect("a command can open a port");
        println!("listening");
        for caller in listener.incoming() {
            std::io::Write::write_all(&mut caller.expect("it is a connection"), b"served\n").expect("it is read");
        }
    }
    let place = Place::new();
    let Some(session) = Session::new(&place) else { return };
    fs::copy(std::env::current_exe().expect("this program has a file"), place.at("server")).expect("it can be copied");
    let test = "sandbox::session::a_server_of_a_job_is_reached_by_a_later_command";
    let serve = format!("{SERVER}=1 ./server --exact {test} --nocapture");
    let said = session.call(json!({"command": serve, "background": true}));
    assert!(said.contains("[The command continues"), "{said}");
    let connect = format!(
        "for i in $(seq 100); do exec 3<>/dev/tcp/127.0.0.1/{PORT} && cat <&3 && break; sleep 0.1; done 2>/dev/null"
    );
    // The server closes the connection after one line.
    assert_eq!(session.run(&connect), "served\n");
    let other = Session::new(&place).expect("this kernel has a sandbox");
    assert!(other.run(&format!("exec 3<>/dev/tcp/127.0.0.1/{PORT}")).contains("Connection refused"));
    assert!(std::net::TcpStream::connect(("127.0.0.1", PORT)).is_err(), "the host's loopback interface is another one");
    drop(session);
    assert_eq!(running(&place.root.display().to_string()), 0);
}

/// A command has its own processes and System V objects.
#[test]
fn processes_are_not_shared() {
    let place = Place::new();
    let Some(session) = Session::new(&place) else { return };
    let namespaces = "cd /proc/self/ns; readlink net user pid ipc mnt";
    let said = session.call(json!({"command": format!("{namespaces}; sleep 72305"), "background": true}));
    let (of_job, _) = said.split_once("[The command continues").unwrap_or_else(|| panic!("{said}"));
    let of_command = session.run(namespaces);
    let is_same: Vec<bool> = of_job.lines().zip(of_command.lines()).map(|(one, other)| one == other).collect();
    assert_eq!(is_same, [true, true, false, false, false], "{of_job}{of_command}");
    assert_eq!(session.run("cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -c 'sleep 7[2]305' || true"), "0\n");
}

/// Over a unix socket, a command could pass a job an open file of its layer, and the job could change the file after it
/// was put into the project.
#[test]
fn a_command_next_to_a_job_has_no_unix_sockets() {
    let place = Place::new();
    let Some(session) = Session::new(&place) else { return };
    let connect = "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"/tmp/\" + \"NAME\"); print(\"bound\")' 2>&1 | tail -1";
    assert_eq!(session.run(&connect.replace("NAME", "one")), "bound\n");
    session.call(json!({"command": "sleep 100", "background": true}));
    let refused = session.run(&connect.replace("NAME", "two"));
    assert!(refused.contains("PermissionError"), "{refused}");
    let stop = json!({"id": "j1", "action": "stop"});
    session.tools.carry_out(session.tools.cleared("job", stop));
    assert_eq!(session.run(&connect.replace("NAME", "three")), "bound\n");
}

/// An MCP server may have network access and paths that commands do not have.
#[test]
fn a_service_does_not_share_the_session() {
    let place = Place::new();
    let Some(session) = Session::new(&place) else { return };
    let look = "cat /tmp/72309 ~/72309 2>&1; readlink /proc/self/ns/net";
    let of_session = session.run(&format!("echo kept > /tmp/72309; echo kept > ~/72309; {look}"));
    assert_eq!(of_session.matches("kept").count(), 2, "{of_session}");
    let wanted = WantedService {
        words: ["bash", "-c", look].map(OsString::from).into(),
        environment: Vec::new(),
        network: false,
        paths: Vec::new(),
    };
    let said = block_on(async {
        let mut service = session.runner.service(&wanted).await.expect("it can be started");
        let mut said = String::new();
        while let Some(heard) = service.program.next().await {
            if let Heard::Output(bytes) = heard {
                said.push_str(&String::from_utf8_lossy(bytes));
            }
        }
        said
    });
    assert_eq!(said.matches("No such file").count(), 2, "{said}");
    assert_ne!(said.lines().last(), of_session.lines().last());
}

/// Returns the network namespace of a command, which only this session uses.
fn network_of(session: &Session<'_>) -> PathBuf {
    PathBuf::from(session.run("readlink /proc/self/ns/net").trim())
}

/// Lists the processes that are in a namespace or hold a descriptor of it.
fn holders(namespace: &Path) -> Vec<PathBuf> {
    let all = fs::read_dir("/proc").expect("there is /proc").flatten().map(|entry| entry.path());
    let links = |process: &Path| {
        let descriptors = fs::read_dir(process.join("fd")).into_iter().flatten().flatten().map(|entry| entry.path());
        let mut links = descriptors.chain([process.join("ns/net")]);
        links.any(|link| fs::read_link(link).is_ok_and(|target| target == *namespace))
    };
    all.filter(|process| links(process)).collect()
}

#[test]
fn nothing_of_a_session_is_left_when_it_is_dropped() {
    let place = Place::new();
    let Some(session) = Session::new(&place) else { return };
    let network = network_of(&session);
    assert!(network.display().to_string().starts_with("net:["), "{network:?}");
    let me = PathBuf::from(format!("/proc/{}", std::process::id()));
    assert!(holders(&network).contains(&me), "the host holds it");
    session.call(json!({"command": "sleep 72306", "background": true}));
    drop(session);
    assert_eq!(running("sleep 72306"), 0);
    // A prepared helper ends when its host closes the pipe.
    let is_gone = || holders(&network).is_empty();
    assert!((0..250).any(|_| is_gone() || {
        std::thread::sleep(std::time::Duration::from_millis(20));
        false
    }));
}

/// This test starts a copy of its own program as the host and kills it.
#[test]
fn nothing_of_a_session_is_left_when_its_host_is_killed() {
    const HOST: &str = "TOOLFENCE_TEST_SESSION_HOST";
    if let Some(root) = std::env::var_os(HOST) {
        let runner = Arc::new(super::runner(root.as_ref(), Settings::new()));
        super::bash(&runner, json!({"command": ". ./attempt.sh", "timeout": 600}));
        return;
    }
    let place = Place::new();
    place.file("attempt.sh", own("readlink /proc/self/ns/net > network; sleep 72307"));
    if !has_sandbox(&place.runner()) {
        return;
    }
    let test = "sandbox::session::nothing_of_a_session_is_left_when_its_host_is_killed";
    let mut host = Command::new(std::env::current_exe().expect("this program has a file"))
        .args(["--exact", test, "--nocapture"])
        .env(HOST, &place.root)
        .env(crate::marks::RUN, crate::marks::run())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("this program can be started");
    let within_seconds = |is: &dyn Fn() -> bool| {
        (0..500).any(|_| {
            is() || {
                std::thread::sleep(std::time::Duration::from_millis(20));
                false
            }
        })
    };
    assert!(within_seconds(&|| running("sleep 72307") > 0));
    let network = PathBuf::from(place.content("network").trim());
    assert!(holders(&network).len() > 1);
    host.kill().expect("it runs");
    host.wait().expect("it is ours");
    assert!(within_seconds(&|| holders(&network).is_empty() && running("sleep 72307") == 0));
}

/// A helper that gets no plan exits with status 125.
#[test]
fn a_helper_without_a_plan_ends() {
    let mut helper = Command::new(HELPER)
        .arg("--toolfence-begin-session")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it can be started");
    assert_eq!(helper.wait().expect("it is ours").code(), Some(125));
}

#[test]
fn a_project_below_var_tmp_has_a_sandbox() {
    if !has_sandbox(&Place::new().runner()) {
        return;
    }
    let project = tempfile::tempdir_in("/var/tmp").expect("a temporary folder can be made");
    let runner = Arc::new(runner(project.path(), Settings::new()));
    assert!(has_sandbox(&runner));
    let result = bash(&runner, json!({"command": "echo made > file; cat file"}));
    assert_eq!(result.output.trim(), "made", "{result:?}");
}
