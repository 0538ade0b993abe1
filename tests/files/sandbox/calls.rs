//! System calls that the sandbox refuses. This test program runs a copy of itself in the sandbox, which tries all of
//! them.
#![allow(unsafe_code, reason = "calls that no safe crate has, made to see them refused")]

use super::Place;
use libc::{c_long, c_ulong};
use std::fmt::Write;
use std::fs;
use std::io;

/// The variable that marks the copy inside the sandbox.
const INSIDE: &str = "TOOLFENCE_TEST_INSIDE";

/// The marker before the list of errors in the output of the test program.
const MARK: &str = "errors:";

const TIOCSTI: c_ulong = 0x5412;
const TIOCLINUX: c_ulong = 0x541C;
const X32: c_long = 0x4000_0000;
const HIGH: u64 = 1 << 32;

/// Returns every call with its arguments and the error that it must return.
fn refused() -> Vec<(&'static str, c_long, [u64; 5], i32)> {
    let text = |text: &'static std::ffi::CStr| text.as_ptr() as u64;
    let flag = |flag: i32| [flag as u32 as u64, 0, 0, 0, 0];
    let none = [0; 5];
    let own = u64::from(std::process::id());
    vec![
        ("mount", libc::SYS_mount, [text(c"none"), text(c"/tmp"), text(c"tmpfs"), 0, 0], libc::EPERM),
        ("umount2", libc::SYS_umount2, [text(c".env"), libc::MNT_DETACH as u64, 0, 0, 0], libc::EPERM),
        ("pivot_root", libc::SYS_pivot_root, [text(c"."), text(c"."), 0, 0, 0], libc::EPERM),
        ("chroot", libc::SYS_chroot, [text(c"."), 0, 0, 0, 0], libc::EPERM),
        ("open_tree", libc::SYS_open_tree, [libc::AT_FDCWD as u64, text(c"."), 1, 0, 0], libc::EPERM),
        ("move_mount", libc::SYS_move_mount, none, libc::EPERM),
        ("mount_setattr", libc::SYS_mount_setattr, none, libc::EPERM),
        ("fsopen", libc::SYS_fsopen, [text(c"tmpfs"), 0, 0, 0, 0], libc::EPERM),
        ("unshare user", libc::SYS_unshare, flag(libc::CLONE_NEWUSER), libc::EPERM),
        ("setns", libc::SYS_setns, none, libc::EPERM),
        ("clone user", libc::SYS_clone, flag(libc::CLONE_NEWUSER), libc::EPERM),
        ("clone mount", libc::SYS_clone, flag(libc::CLONE_NEWNS), libc::EPERM),
        ("clone network, high bits", libc::SYS_clone, [HIGH | libc::CLONE_NEWNET as u64, 0, 0, 0, 0], libc::EPERM),
        ("clone3", libc::SYS_clone3, none, libc::ENOSYS),
        ("ptrace", libc::SYS_ptrace, [u64::from(libc::PTRACE_TRACEME), 0, 0, 0, 0], libc::EPERM),
        ("process_vm_readv", libc::SYS_process_vm_readv, [own, 0, 0, 0, 0], libc::EPERM),
        ("process_vm_writev", libc::SYS_process_vm_writev, [own, 0, 0, 0, 0], libc::EPERM),
        ("pidfd_getfd", libc::SYS_pidfd_getfd, none, libc::EPERM),
        ("bpf", libc::SYS_bpf, none, libc::EPERM),
        ("keyctl", libc::SYS_keyctl, none, libc::EPERM),
        ("add_key", libc::SYS_add_key, none, libc::EPERM),
        ("request_key", libc::SYS_request_key, none, libc::EPERM),
        ("userfaultfd", libc::SYS_userfaultfd, none, libc::EPERM),
        ("perf_event_open", libc::SYS_perf_event_open, none, libc::EPERM),
        ("open_by_handle_at", libc::SYS_open_by_handle_at, none, libc::EPERM),
        ("io_uring_setup", libc::SYS_io_uring_setup, none, libc::EPERM),
        ("socket packet", libc::SYS_socket, [libc::AF_PACKET as u64, 2, 0, 0, 0], libc::EPERM),
        ("socket packet, high bits", libc::SYS_socket, [HIGH | libc::AF_PACKET as u64, 2, 0, 0, 0], libc::EPERM),
        ("socket inet raw", libc::SYS_socket, [libc::AF_INET as u64, 3, 1, 0, 0], libc::EPERM),
        ("socket netlink", libc::SYS_socket, [libc::AF_NETLINK as u64, 3, 0, 0, 0], libc::EPERM),
        ("socket vsock", libc::SYS_socket, [libc::AF_VSOCK as u64, 1, 0, 0, 0], libc::EPERM),
        ("TIOCSTI", libc::SYS_ioctl, [0, TIOCSTI, text(c"x"), 0, 0], libc::EPERM),
        ("TIOCSTI, high bits", libc::SYS_ioctl, [0, HIGH | TIOCSTI, text(c"x"), 0, 0], libc::EPERM),
        ("TIOCLINUX", libc::SYS_ioctl, [0, TIOCLINUX, text(c"x"), 0, 0], libc::EPERM),
        ("sethostname", libc::SYS_sethostname, [text(c"x"), 1, 0, 0, 0], libc::EPERM),
        ("reboot", libc::SYS_reboot, none, libc::EPERM),
        // The kernel itself refuses these calls, because the command has no capability for them or the process does not
        // exist.
        ("mknod", libc::SYS_mknodat, [libc::AT_FDCWD as u64, text(c"disk"), 0o060_600, 0x800, 0], libc::EPERM),
        ("setuid", libc::SYS_setuid, [12345, 0, 0, 0, 0], libc::EINVAL),
        ("setgroups", libc::SYS_setgroups, none, libc::EPERM),
        ("x32 mount", X32 | libc::SYS_mount, none, libc::ENOSYS),
    ]
}

fn error_of(number: c_long, arguments: [u64; 5]) -> i32 {
    let [a, b, c, d, e] = arguments;
    // SAFETY: the pointers among the arguments are to constant C strings. If a call is not refused, it creates or
    // changes nothing that this program uses.
    let done = unsafe { libc::syscall(number, a, b, c, d, e, 0) };
    if done < 0 { io::Error::last_os_error().raw_os_error().unwrap_or(-1) } else { 0 }
}

#[test]
fn calls_that_lead_out_are_refused() {
    if std::env::var_os(INSIDE).is_some() {
        let mut said = String::from(MARK);
        for (_, number, arguments, _) in refused() {
            write!(said, " {}", error_of(number, arguments)).expect("a String takes all");
        }
        println!("\n{said}");
        return;
    }
    let Some(output) = inside("calls_that_lead_out_are_refused", "") else { return };
    let line = output.lines().find_map(|line| line.strip_prefix(MARK)).unwrap_or_else(|| panic!("{output}"));
    let got: Vec<i32> = line.split_whitespace().filter_map(|number| number.parse().ok()).collect();
    let want = refused();
    assert_eq!(got.len(), want.len(), "{output}");
    let wrong: Vec<_> = want.iter().zip(got).filter(|((.., want), got)| want != got).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// With the network, only sockets of the internet families and those that the C library needs for names and addresses
/// are allowed.
#[test]
fn sockets_of_other_families_are_refused_with_the_network_too() {
    let tried = [
        ("unix", libc::AF_UNIX, libc::SOCK_STREAM, 0, 0),
        ("inet", libc::AF_INET, libc::SOCK_STREAM, 0, 0),
        ("inet6", libc::AF_INET6, libc::SOCK_DGRAM, 0, 0),
        ("netlink route", libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_ROUTE, 0),
        ("netlink audit", libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_AUDIT, libc::EPERM),
        ("netlink uevent", libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_KOBJECT_UEVENT, libc::EPERM),
        ("netlink generic", libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_GENERIC, libc::EPERM),
        ("vsock", libc::AF_VSOCK, libc::SOCK_STREAM, 0, libc::EPERM),
        ("packet", libc::AF_PACKET, libc::SOCK_RAW, 0, libc::EPERM),
        ("alg", libc::AF_ALG, libc::SOCK_SEQPACKET, 0, libc::EPERM),
        ("bluetooth", libc::AF_BLUETOOTH, libc::SOCK_RAW, 0, libc::EPERM),
        ("xdp", libc::AF_XDP, libc::SOCK_RAW, 0, libc::EPERM),
    ];
    let arguments = |family: i32, kind: i32, protocol: i32| [family as u64, kind as u64, protocol as u64, 0, 0];
    if std::env::var_os(INSIDE).is_some() {
        let errors = tried.map(|(_, family, kind, protocol, _)| {
            error_of(libc::SYS_socket, arguments(family, kind, protocol)).to_string()
        });
        println!("\n{MARK} {}", errors.join(" "));
        return;
    }
    let place = Place::new();
    let test = "sockets_of_other_families_are_refused_with_the_network_too";
    let settings = toolfence_sandbox::isolation::Settings::new().network(true);
    let args = serde_json::json!({"command": probe(&place, test, "")});
    let Some(result) = place.run_with(settings, args) else { return };
    let want = tried.map(|(.., error)| error.to_string()).join(" ");
    assert!(result.output.contains(&format!("{MARK} {want}\n")), "{tried:?}: {}", result.output);
}

/// Without the network, a command only has a loopback interface of its own.
#[test]
fn without_the_network_only_the_own_loopback_is_reachable() {
    use std::net::{TcpListener, TcpStream, UdpSocket};
    const PORT: &str = "port";
    if std::env::var_os(INSIDE).is_some() {
        for address in ["127.0.0.1:0", "[::1]:0", "0.0.0.0:0"] {
            let listener = TcpListener::bind(address).expect("a command can open a port");
            let port = listener.local_addr().expect("it is bound").port();
            let own = if address.starts_with('[') { format!("[::1]:{port}") } else { format!("127.0.0.1:{port}") };
            drop(TcpStream::connect(&own).expect("the port can be reached"));
            drop(listener);
            let socket = UdpSocket::bind(address).expect("UDP too");
            socket.send_to(b"x", &own).expect("to the loopback");
        }
        let of_host = fs::read_to_string(PORT).expect("it was written");
        let mut errors = Vec::new();
        for address in [of_host.trim(), "192.0.2.1:80", "[2001:db8::1]:80", "169.254.169.254:80"] {
            let error = TcpStream::connect(address).expect_err(address).raw_os_error().unwrap_or(-1);
            errors.push(error.to_string());
        }
        let socket = UdpSocket::bind("0.0.0.0:0").expect("a socket can be made");
        errors
            .push(socket.send_to(b"x", "192.0.2.1:53").expect_err("no route").raw_os_error().unwrap_or(-1).to_string());
        println!("\n{MARK} {}", errors.join(" "));
        return;
    }
    let place = Place::new();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    place.file(PORT, listener.local_addr().expect("it is bound").to_string());
    let test = "without_the_network_only_the_own_loopback_is_reachable";
    let Some(output) = inside_of(&place, test, "") else { return };
    let far = libc::ENETUNREACH;
    // Depending on the kernel's settings, IPv6 without a route is "no address" or "unreachable".
    let wants =
        [far, libc::EADDRNOTAVAIL].map(|ipv6| format!("{MARK} {} {far} {ipv6} {far} {far}", libc::ECONNREFUSED));
    assert!(wants.iter().any(|want| output.contains(want)), "{wants:?}: {output}");
}

/// Tries to connect to sockets of the host: in the abstract namespace, outside the project, and in the project.
#[test]
fn sockets_of_the_host_cannot_be_connected() {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
    const NAMES: &str = "names";
    let by = |name: &str| match name.strip_prefix('@') {
        Some(name) => SocketAddr::from_abstract_name(name),
        None => SocketAddr::from_pathname(name),
    };
    if std::env::var_os(INSIDE).is_some() {
        let names = fs::read_to_string(NAMES).expect("it was written");
        let errors = names.lines().map(|name| {
            let connected = by(name).and_then(|address| UnixStream::connect_addr(&address));
            connected.err().and_then(|error| error.raw_os_error()).unwrap_or(0).to_string()
        });
        println!("\n{MARK} {}", errors.collect::<Vec<_>>().join(" "));
        return;
    }
    let place = Place::new();
    let abstract_one = format!("@toolfence-test-{}", std::process::id());
    let names = [abstract_one, place.beside.join("s").display().to_string(), place.at("s").display().to_string()];
    let bound = |name: &String| by(name).and_then(|address| UnixListener::bind_addr(&address));
    let _all: Vec<_> = names.iter().map(|name| bound(name).expect("a socket can be made")).collect();
    place.file(NAMES, names.join("\n"));
    let Some(output) = inside_of(&place, "sockets_of_the_host_cannot_be_connected", "") else { return };
    let want = format!("{MARK} {} {} {}", libc::ECONNREFUSED, libc::ENOENT, libc::EACCES);
    assert!(output.contains(&want), "{want}: {output}");
}

/// `int 0x80` is the entry for 32-bit programs, whose calls have other numbers: 20 is getpid there.
#[cfg(target_arch = "x86_64")]
#[test]
fn calls_of_another_architecture_end_the_program() {
    if std::env::var_os(INSIDE).is_some() {
        let number: u64;
        // SAFETY: getpid has no arguments and changes only the result's register and the listed ones.
        unsafe {
            std::arch::asm!(
                "int 0x80",
                inout("rax") 20_u64 => number,
                out("r8") _, out("r9") _, out("r10") _, out("r11") _,
            );
        }
        println!("\n{MARK} {number}");
        return;
    }
    let Some(output) = inside("calls_of_another_architecture_end_the_program", "; echo ended $?") else { return };
    assert!(output.contains("ended 159") && !output.contains(MARK), "{output}");
}

/// Runs one test of this program in the sandbox, in a project with a blocked file.
fn inside(test: &str, after: &str) -> Option<String> {
    inside_of(&Place::new(), test, after)
}

fn inside_of(place: &Place, test: &str, after: &str) -> Option<String> {
    place.output_of(&probe(place, test, after))
}

/// Copies this program into the project and returns the command that runs one of its tests.
fn probe(place: &Place, test: &str, after: &str) -> String {
    place.file(".env", "KEY=SECRETVALUE\n");
    let own = std::env::current_exe().expect("this program has a file");
    if fs::hard_link(&own, place.at("probe")).is_err() {
        fs::copy(&own, place.at("probe")).expect("a program can be copied");
    }
    let module = module_path!().split_once("::").map_or("", |(_, module)| module);
    format!("{INSIDE}=1 ./probe --exact {module}::{test} --nocapture 2>&1 {after}")
}
