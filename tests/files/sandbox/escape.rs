//! Tests attempts to escape from the sandbox with ordinary commands.

use super::Place;
use rustix::fd::AsFd;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use std::fs;
use std::io::IoSlice;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

/// Runs every attempt in a shell of its own, and fails with those that did not end as expected.
fn assert_each(place: &Place, attempts: &[(&str, &str)]) {
    for (command, want) in attempts {
        let Some(result) = place.run(&format!("{{ {command}; }} 2>&1; echo \"[$?]\"")) else { return };
        assert!(result.output.contains(want), "{command}: {} {:?}", result.output, result.error);
        assert!(
            !result.output.contains("SECRETVALUE") && !result.output.contains("OUTSIDE"),
            "{command}: {}",
            result.output
        );
    }
}

fn with_secrets() -> Place {
    let place = Place::new();
    place.file(".env", "KEY=SECRETVALUE\n");
    place.file("a/b/c/d/e/f/.env.local", "KEY=SECRETVALUE\n");
    place.file("keys/.ssh/id_rsa", "SECRETVALUE\n");
    place.file("keys/server.pem", "SECRETVALUE\n");
    place.file("plain.txt", "plain\n");
    fs::hard_link(place.at(".env"), place.at("innocent.txt")).expect("a hard link can be made");
    std::os::unix::fs::symlink(".env", place.at("link")).expect("a link can be made");
    place
}

#[test]
fn a_masked_file_cannot_be_read_by_any_name() {
    let place = with_secrets();
    assert_each(
        &place,
        &[
            ("cat plain.txt", "plain"),
            ("cat .env", "Permission denied"),
            ("cat a/b/c/d/e/f/.env.local", "Permission denied"),
            ("cat keys/server.pem", "Permission denied"),
            ("cat keys/.ssh/id_rsa", "Permission denied"),
            ("ls keys/.ssh", "Permission denied"),
            ("cat innocent.txt", "Permission denied"),
            ("cat link", "Permission denied"),
            ("cat /proc/self/cwd/.env", "Permission denied"),
            ("cat /proc/self/root$PWD/.env", "Permission denied"),
            ("chmod 777 .env", "Read-only file system"),
            ("chmod 777 keys/.ssh", "Read-only file system"),
            ("echo x > .env", "Read-only file system"),
            ("rm -f .env", "Device or resource busy"),
            ("mv .env free.txt", "Device or resource busy"),
            ("ln .env free.txt", "Invalid cross-device link"),
            ("cp .env free.txt", "Permission denied"),
            ("rm -rf keys", "Device or resource busy"),
            ("mv a moved && cat moved/b/c/d/e/f/.env.local", "Permission denied"),
            ("grep -r SECRET .", "[2]"),
        ],
    );
    assert_eq!(fs::read_to_string(place.at(".env")).expect("it is there"), "KEY=SECRETVALUE\n");
}

#[test]
fn the_rest_of_the_machine_is_not_visible() {
    let place = Place::new();
    let secret = place.beside.join("private.txt");
    let attempts = [
        ("cat ../beside/private.txt", "No such file"),
        (&*format!("cat {}", secret.display()), "No such file"),
        (&*format!("cat /proc/1/root{}", secret.display()), "Permission denied"),
        ("readlink /proc/1/fd/3", "[1]"),
        ("cat /proc/1/fd/3", "Permission denied"),
        ("cat /proc/1/exe", "Permission denied"),
        ("cat /proc/1/environ", "Permission denied"),
        ("echo x > /proc/1/mem", "Read-only file system"),
        ("echo x >> /proc/self/exe", "[1]"),
        ("echo x > /proc/sys/kernel/core_pattern", "Read-only file system"),
        ("echo 9 > /proc/sys/kernel/pid_max", "Read-only file system"),
        ("ls /sys /run /srv /home /mnt", "No such file"),
        ("cat /etc/shadow", "Permission denied"),
        ("touch /usr/bin/x", "Read-only file system"),
        ("touch /x", "Read-only file system"),
        ("ls -A /tmp | wc -l", "1\n[0]"),
        ("set -- /proc/[0-9]*; echo $#", "2\n[0]"),
        ("kill -9 1; echo still here", "still here"),
        ("readlink /proc/self/fd/0", "/dev/null"),
        ("readlink /proc/$$/fd/* | grep -v -e '^/dev/null$' -e '^pipe:'", "[1]"),
        ("env | grep -c CARGO_PKG", "0\n[1]"),
    ];
    assert_each(&place, &attempts);
}

#[test]
fn no_privilege_is_left_or_can_be_gained() {
    let place = Place::new();
    let attempts = [
        ("grep -c '^Cap[A-Z][a-z]*:.0000000000000000$' /proc/self/status", "5\n[0]"),
        ("grep NoNewPrivs /proc/self/status", "1\n[0]"),
        ("grep '^Seccomp:' /proc/self/status", "2\n[0]"),
        // All mounts are nosuid, so a setuid program runs as the caller.
        ("grep -v nosuid /proc/self/mounts", "[1]"),
        ("cp /bin/bash b; chmod u+s b; ./b -p -c 'grep -c CapEff:.0000000000000000 /proc/self/status'", "1\n[0]"),
        ("echo '0 0 1' > /proc/self/uid_map", "Read-only file system"),
        ("echo 1 > /proc/sys/kernel/ns_last_pid", "[1]"),
        ("cat /proc/kmsg", "[1]"),
        ("cat /proc/1/maps", "Permission denied"),
        ("cd /proc/1/cwd", "Permission denied"),
        ("cat /proc/1/task/1/children", "[0]"),
        ("exec 9</proc/self/ns/user; readlink /proc/self/fd/9 | grep -c user", "1\n[0]"),
        ("mknod disk b 254 0", "Operation not permitted"),
        ("ls /dev/tty /dev/ptmx /dev/pts /dev/fuse /dev/kvm", "[2]"),
    ];
    assert_each(&place, &attempts);
}

#[test]
fn signals_do_not_reach_the_host() {
    let place = Place::new();
    let own = std::process::id();
    let attempts = [(&*format!("kill -0 {own}"), "No such process"), ("kill -TERM -1; sleep 0.1; echo ended", "ended")];
    assert_each(&place, &attempts);
}

#[test]
fn sockets_of_the_host_are_out_of_reach() {
    let place = Place::new();
    let beside = place.beside.join("socket");
    let _outside = UnixListener::bind(&beside).expect("a socket can be made");
    let _inside = UnixListener::bind(place.at("socket")).expect("a socket can be made");
    let name = format!("toolfence-test-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).expect("it is a name");
    let _abstract = UnixListener::bind_addr(&address).expect("a socket can be made");
    let Some(shown) = place.output_of("cat /proc/net/unix | wc -l; ls -l socket") else { return };
    // The output has the heading of the table, and no socket of another process.
    assert!(shown.starts_with("1\n") && shown.contains("----------"), "{shown}");
    assert_each(&place, &[("exec 3<>/dev/tcp/127.0.0.1/22", "Connection refused")]);
}

/// Passes a file to every client.
fn pass_file(listener: UnixListener, file: &fs::File) {
    let file = file.try_clone().expect("it can be doubled");
    std::thread::spawn(move || {
        for asked in listener.incoming().flatten() {
            let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
            let mut control = SendAncillaryBuffer::new(&mut space);
            let files = [file.as_fd()];
            assert!(control.push(SendAncillaryMessage::ScmRights(&files)));
            let _ = sendmsg(&asked, &[IoSlice::new(b"x")], &mut control, SendFlags::empty());
        }
    });
}

/// A process outside the sandbox offers an open file at three socket addresses, and no command can connect to any of
/// them.
#[test]
fn no_open_file_is_passed_in() {
    let place = Place::new();
    let secret = fs::File::open(place.beside.join("private.txt")).expect("it is there");
    let (beside, inside) = (place.beside.join("socket"), place.at("socket"));
    let name = format!("toolfence-gives-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).expect("it is a name");
    pass_file(UnixListener::bind(&beside).expect("a socket can be made"), &secret);
    pass_file(UnixListener::bind(&inside).expect("a socket can be made"), &secret);
    pass_file(UnixListener::bind_addr(&address).expect("a socket can be made"), &secret);
    place.file(
        "ask.py",
        "import os, socket, sys\nfor name in sys.argv[1:]:\n    try:\n        s = socket.socket(socket.AF_UNIX)\n        \
         s.connect('\\0' + name[1:] if name[0] == '@' else name)\n        fd = socket.recv_fds(s, 9, 1)[1][0]\n        \
         print('GOT', os.pread(fd, 99, 0))\n    except OSError as e:\n        print('no:', e.strerror)\n",
    );
    let words = format!("{} {} @{name}", beside.display(), inside.display());
    let Ok(outside) = std::process::Command::new("python3").arg(place.at("ask.py")).args(words.split(' ')).output()
    else {
        eprintln!("skipped: there is no python3");
        return;
    };
    let outside = String::from_utf8_lossy(&outside.stdout);
    assert_eq!(outside.matches("GOT b'OUTSIDE").count(), 3, "without a sandbox the file is passed: {outside}");
    let Some(said) = place.output_of(&format!("python3 ask.py {words}")) else { return };
    assert_eq!(said.matches("no: ").count(), 3, "{said}");
    assert!(!said.contains("GOT") && !said.contains("OUTSIDE"), "{said}");
}

#[test]
fn a_read_only_command_does_not_change_the_project() {
    let place = Place::new();
    place.file("f", "as it was\n");
    let settings = toolfence_sandbox::isolation::Settings::new().mode(toolfence_sandbox::isolation::Mode::ReadOnly);
    let command = "cat f; echo x > f; rm -f f; touch g; mkdir d; echo y > /tmp/y && cat /tmp/y";
    let Some(result) = place.run_with(settings, serde_json::json!({"command": command})) else { return };
    assert!(result.output.contains("as it was") && result.output.ends_with("y\n"), "{}", result.output);
    assert_eq!(result.output.matches("Read-only file system").count(), 4, "{}", result.output);
    assert_eq!(fs::read_dir(&place.root).expect("it is there").count(), 2);
}
