//! Tests ordinary work in the sandbox: toolchains, output and arguments, and that the policy knows about the sandbox.

use super::{Place, has_sandbox};
use serde_json::{Value, json};
use std::net::TcpListener;
use toolfence_policy::Effective;
use toolfence_policy::{AskMode, Facts, Policy};
use toolfence_sandbox::isolation::Settings;

#[test]
fn the_policy_knows_about_the_sandbox() {
    let place = Place::new();
    let runner = place.runner();
    if !has_sandbox(&runner) {
        return;
    }
    assert!(runner.sandbox_holds());
    let open = super::runner(&place.root, Settings::new().network(true));
    assert!(!open.sandbox_holds());
    let policy = Policy::default().ask(AskMode::Sandboxed);
    let effective =
        |host: &toolfence_tools::CommandRunner| policy.effective(&policy.judge_command("touch x", "", host));
    assert_eq!((effective(&runner), effective(&open)), (Effective::Run, Effective::Ask));
}

#[test]
fn output_order_status_and_folder_are_as_without_a_sandbox() {
    let place = Place::new();
    place.file("sub/f", "");
    let command = "echo one; echo two >&2; echo three >/dev/stdout; pwd; exit 3";
    let Some(result) = place.run_with(Settings::new(), json!({"command": command, "cwd": "."})) else { return };
    let want = format!("one\ntwo\nthree\n{}\n", place.root.display());
    assert_eq!((result.output, result.exit_code, result.success), (want, Some(3), false));
    let result = place.run("cat; test -t 1 || echo no tty; kill -9 $$").expect("the sandbox was available before");
    assert_eq!((result.output.as_str(), result.exit_code), ("no tty\n", Some(137)));
    let result = place.run("cd sub && echo y > f && cat f; echo <<E\nhere\nE\ndiff <(echo a) <(echo a) && echo same");
    assert_eq!(result.expect("the sandbox was available before").output, "y\n\nsame\n");
    assert_eq!(place.output_of("(sleep 0.3; echo late) & echo early").as_deref(), Some("early\nlate"));
}

#[test]
fn an_allowed_network_is_available() {
    let place = Place::new();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let port = listener.local_addr().expect("it is bound").port();
    let command = format!("exec 3<>/dev/tcp/127.0.0.1/{port} && echo reached");
    let Some(result) = place.run_with(Settings::new(), json!({"command": command, "network": true})) else { return };
    assert_eq!(result.output, "reached\n");
    let result = place.run(&format!("({command}) 2>&1")).expect("the sandbox was available before");
    assert!(result.output.contains("Connection refused"), "{}", result.output);
}

#[test]
fn a_failed_lookup_without_network_is_noted() {
    const NOTE: &str = "[The command ran without network. ";
    let place = Place::new();
    let lookup = "python3 -c 'import socket; socket.getaddrinfo(\"example.invalid\", 80)'";
    let Some(result) = place.run_with(Settings::new(), json!({"command": lookup})) else { return };
    assert_eq!((result.exit_code, result.output.matches(NOTE).count()), (Some(1), 1), "{}", result.output);
    let notes = |args: Value| place.run_with(Settings::new(), args).expect("it is there").output.matches(NOTE).count();
    assert_eq!(notes(json!({"command": lookup, "network": true})), 0, "it had network");
    assert_eq!(notes(json!({"command": format!("{lookup}; true")})), 0, "it did not fail");
    assert_eq!(notes(json!({"command": "echo no such file; false"})), 0, "no lookup failed");
}

#[test]
fn commands_outside_the_sandbox_are_not_confined() {
    let place = Place::new();
    let secret = place.beside.join("private.txt");
    let command = format!("cat {}", secret.display());
    let Some(result) = place.run_with(Settings::new(), json!({"command": command, "outside_sandbox": true})) else {
        return;
    };
    assert_eq!(result.output, "OUTSIDE\n");
}

/// A file that is replaced during the sandbox setup must not stay unmasked.
#[test]
fn a_project_that_changes_during_the_setup_is_scanned_again() {
    let place = Place::new();
    place.file("sub/.env", "KEY=SECRETVALUE\n");
    let runner = place.runner();
    if !has_sandbox(&runner) {
        return;
    }
    let done = Done::default();
    std::thread::scope(|scope| {
        scope.spawn(|| done.swap_until_set(&place));
        let done = Setter(&done);
        for _ in 0..12 {
            let result = place.run("cat */.env */*/.env 2>/dev/null").expect("the sandbox was available before");
            assert!(!result.output.contains("SECRET"), "{result:?}");
        }
        drop(done);
    });
}

#[derive(Default)]
struct Done(std::sync::atomic::AtomicBool);

impl Done {
    fn swap_until_set(&self, place: &Place) {
        while !self.0.load(std::sync::atomic::Ordering::Relaxed) {
            for (from, to) in [("sub", "bus"), ("bus", "sub")] {
                let _ = std::fs::rename(place.at(from), place.at(to));
                std::thread::sleep(std::time::Duration::from_millis(20));
            }
        }
    }
}

/// Ends the other thread even if the test fails.
struct Setter<'a>(&'a Done);

impl Drop for Setter<'_> {
    fn drop(&mut self) {
        self.0.0.store(true, std::sync::atomic::Ordering::Relaxed);
    }
}

/// Tries each installed toolchain and prints the names of the missing ones.
#[test]
fn toolchains_work() {
    let place = Place::new();
    place.file("Cargo.toml", "[package]\nname = \"small\"\nversion = \"0.1.0\"\nedition = \"2021\"\n[runner]\n");
    place.file("src/main.rs", "fn main() { println!(\"built\"); }\n");
    for (program, command, want) in [
        (
            "cargo",
            "cargo build --offline 2>&1 && ./target/debug/small && touch ~/.cargo/x && echo wrote",
            "built\nwrote",
        ),
        ("python3", "python3 -c 'import ssl, ctypes, tempfile; tempfile.TemporaryFile(); print(6*7)'", "42"),
        ("node", "node -e 'console.log(6*7)'", "42"),
        ("git", "git init -q . && git status --short 2>&1 | head -1", "??"),
    ] {
        let there =
            std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).any(|f| f.join(program).exists());
        if !there {
            eprintln!("skipped: there is no {program}");
            continue;
        }
        let Some(result) = place.run_with(Settings::new(), json!({"command": command, "timeout": 120})) else { return };
        assert!(result.output.contains(want), "{command}: {} {:?}", result.output, result.error);
    }
    let home = std::env::var("HOME").unwrap_or_default();
    assert!(!std::path::Path::new(&home).join(".cargo/x").exists(), "what was written stayed inside");
}

/// In a home with toolchains, credentials and other files, a command sees only the files that the toolchains need.
#[test]
fn only_toolchain_files_of_the_home_are_visible() {
    let place = Place::new();
    let home = place.beside.join("home");
    for (path, content) in [
        (".cargo/bin/tool", "#!/bin/sh\necho tool\n"),
        (".cargo/credentials.toml", "token = \"SECRETVALUE\"\n"),
        (".cargo/config.toml", "[registries.x]\ntoken = \"SECRETVALUE\"\n"),
        (".npmrc", "SECRETVALUE\n"),
        (".bash_history", "SECRETVALUE\n"),
        (".local/share/keyrings/login", "SECRETVALUE\n"),
        (".local/bin/other", "#!/bin/sh\n"),
        ("go/src/other/main.go", "SECRETVALUE\n"),
        ("go/bin/gopls", "#!/bin/sh\n"),
        ("go/pkg/mod/x@v1/token.txt", "of a package\n"),
        (".local/share/uv/credentials/credentials.toml", "SECRETVALUE\n"),
        (".cargo/registry/credentials.toml", "SECRETVALUE\n"),
        (".cargo/env.d/prod.env", "SECRETVALUE\n"),
        (".nvm/deep/er/.env", "SECRETVALUE\n"),
        (".nvm/.git/config", "SECRETVALUE\n"),
        (".nvm/certs/public.pem", "-----BEGIN CERTIFICATE-----\n"),
        (".nvm/certs/private.pem", "-----BEGIN PRIVATE KEY-----\nSECRETVALUE\n"),
        ("../prefix/bin/own", "#!/bin/sh\n"),
        ("../prefix/lib/own.so", "x\n"),
        ("../prefix/lib/server.key", "SECRETVALUE\n"),
        ("../prefix/.env", "SECRETVALUE\n"),
        ("../prefix/pyvenv.cfg", "home = /usr/bin\n"),
        ("../prefix/conf/settings.ini", "SECRETVALUE\n"),
    ] {
        let path = home.join(path);
        std::fs::create_dir_all(path.parent().expect("it is below")).expect("a folder can be made");
        std::fs::write(path, content).expect("a file can be written");
    }
    const HOME: &str = "TOOLFENCE_TEST_HOME";
    if std::env::var_os(HOME).is_some() {
        let command = "p=$(dirname $(dirname $(command -v own))); cd; find . $p -type f | sort; grep -rs SECRET . $p; cat \
             .cargo/credentials.toml .cargo/config.toml 2>&1; cat go/pkg/mod/x@v1/token.txt .nvm/certs/public.pem";
        if let Some(output) = place.output_of(command) {
            println!("\n{output}");
        }
        return;
    }
    let module = module_path!().split_once("::").map_or("", |(_, module)| module);
    let output = std::process::Command::new(std::env::current_exe().expect("this program has a file"))
        .args(["--exact", &format!("{module}::only_toolchain_files_of_the_home_are_visible"), "--nocapture"])
        .env("HOME", &home)
        .env(HOME, "1")
        .env_remove("CARGO_HOME")
        .env(
            "PATH",
            format!("{}:{}", place.beside.join("prefix/bin").display(), std::env::var("PATH").unwrap_or_default()),
        )
        .output()
        .expect("it can be started");
    let said = String::from_utf8_lossy(&output.stdout);
    if !has_sandbox(&place.runner()) {
        return;
    }
    let refused = said.lines().filter(|line| line.starts_with("cat:") && line.contains("Permission denied")).count();
    assert!(!said.contains("SECRETVALUE") && refused == 2, "{said}");
    assert!(said.contains("./.cargo/bin/tool") && said.contains("./.local/bin/other"), "{said}");
    assert!(!said.contains("npmrc") && !said.contains("history") && !said.contains("keyrings"), "{said}");
    // Commands see known paths of toolchains, and everything in package folders.
    let there = [
        "go/bin/gopls",
        "of a package",
        "BEGIN CERTIFICATE",
        "prefix/bin/own",
        "prefix/lib/own.so",
        "prefix/pyvenv.cfg",
    ];
    for there in there {
        assert!(said.contains(there), "{there}: {said}");
    }
    for gone in ["go/src", "uv/credentials", "prefix/.env", "prefix/conf"] {
        assert!(!said.contains(gone), "{gone}: {said}");
    }
}

/// Output that does not fit into a result is available as a file.
#[test]
fn long_output_is_in_a_file() {
    let place = Place::new();
    let command = "for i in $(seq 40000); do echo line $i; done; cat /dev/zero | head -c 100 >/dev/null";
    let Some(result) = place.run(command) else { return };
    assert!(result.truncated && result.output.len() <= 100_000, "{}", result.output.len());
    let start = result.output.find("is in .toolfence/output/").expect("the path is in the output") + "is in ".len();
    let name = result.output[start..].split(':').next().expect("it has an end");
    let text = std::fs::read_to_string(place.at(name)).expect("it is there");
    assert_eq!(text, (1..=40000).map(|number| format!("line {number}\n")).collect::<String>());
    let runner = place.runner();
    let wanted = toolfence_workspace::ReadFile::new(name);
    let read =
        runner.workspace().files().read(&wanted, &toolfence_workspace::Stop::default()).expect("tools can read it");
    assert!(read.text.starts_with("line 1\n"));
    let result = place
        .run("echo x > .toolfence/output/x; git status --short 2>&1; echo short")
        .expect("the sandbox was available before");
    assert!(
        result.output.contains("Read-only file system") && result.output.contains("\nshort\n"),
        "{}",
        result.output
    );
}
