//! System calls that the sandbox must refuse. If the message has no command, the helper tries these calls at the point
//! at which it would start one.
//!
//! Nothing happens if a barrier is missing: with these arguments, a call that is not refused fails with another error,
//! or changes only this process, which ends.
#![allow(unsafe_code, reason = "calls that no safe crate has, which must be refused")]

use super::plan::Plan;
use libc::{c_int, c_long};
use rustix::io::Errno;
use std::io::{self, Write};

/// The name of a call with its number and arguments.
type Attempt = (&'static str, c_long, [u64; 5]);

/// The errors of the filter. Any other error is the kernel's own and means that the filter let the call through.
const REFUSED: [Errno; 2] = [Errno::PERM, Errno::NOSYS];

const TIOCSTI: u64 = 0x5412;

/// Calls that no command may make, with or without network.
fn always() -> Vec<Attempt> {
    let flags = |flags: c_int| [u64::from(flags.cast_unsigned()), 0, 0, 0, 0];
    let nothing = [0; 5];
    // No descriptor has this number.
    let wrong = [u64::MAX; 5];
    vec![
        ("mount a file system", libc::SYS_mount, nothing),
        ("take a mount away", libc::SYS_umount2, nothing),
        ("open a tree of mounts", libc::SYS_open_tree, wrong),
        ("change another root", libc::SYS_chroot, nothing),
        ("make namespaces", libc::SYS_unshare, flags(libc::CLONE_NEWUSER)),
        // The kernel itself refuses CLONE_NEWUSER with CLONE_FS (clone(2)), so no process is created if the filter is
        // missing.
        ("make namespaces by clone", libc::SYS_clone, flags(libc::CLONE_NEWUSER | libc::CLONE_FS)),
        ("hide flags in clone3", libc::SYS_clone3, nothing),
        ("enter other namespaces", libc::SYS_setns, wrong),
        ("trace a process", libc::SYS_ptrace, [u64::from(libc::PTRACE_TRACEME), 0, 0, 0, 0]),
        ("read the memory of a process", libc::SYS_process_vm_readv, wrong),
        ("take descriptors of a process", libc::SYS_pidfd_getfd, wrong),
        ("open a file by its number", libc::SYS_open_by_handle_at, wrong),
        ("load a program into the kernel", libc::SYS_bpf, wrong),
        ("use the keys of the kernel", libc::SYS_keyctl, nothing),
        ("handle page faults", libc::SYS_userfaultfd, wrong),
        ("measure the machine", libc::SYS_perf_event_open, nothing),
        ("use io_uring", libc::SYS_io_uring_setup, nothing),
        ("type into a terminal", libc::SYS_ioctl, [0, TIOCSTI, 0, 0, 0]),
        (
            "open a socket to the kernel",
            libc::SYS_socket,
            [family(libc::AF_NETLINK), 3, libc::NETLINK_KOBJECT_UEVENT.cast_unsigned().into(), 0, 0],
        ),
        ("open a socket to the host of a machine", libc::SYS_socket, [family(libc::AF_VSOCK), 1, 0, 0, 0]),
    ]
}

/// Returns the calls that this plan forbids and another one allows.
fn network_attempts(plan: &Plan) -> Vec<Attempt> {
    let mut attempts = Vec::new();
    if !plan.has_internet_sockets() {
        attempts.push(("open an internet socket", libc::SYS_socket, [family(libc::AF_INET), 1, 0, 0, 0]));
    }
    if !plan.network {
        let netlink = [family(libc::AF_NETLINK), 3, libc::NETLINK_ROUTE.cast_unsigned().into(), 0, 0];
        attempts.push(("ask the kernel for addresses", libc::SYS_socket, netlink));
    }
    attempts
}

fn family(number: c_int) -> u64 {
    u64::from(number.cast_unsigned())
}

/// Tries all calls and writes a line for each: `refused NAME` or `allowed NAME`.
pub(super) fn report(plan: &Plan, mut to: impl Write) -> io::Result<()> {
    for (name, number, arguments) in always().into_iter().chain(network_attempts(plan)) {
        let word = if is_refused(number, arguments) { "refused" } else { "allowed" };
        writeln!(to, "{word} {name}")?;
    }
    Ok(())
}

fn is_refused(number: c_long, [a, b, c, d, e]: [u64; 5]) -> bool {
    // SAFETY: no argument is a pointer that can be followed: they are numbers, null, or beyond any address space, for
    // which the kernel returns an error. A descriptor that a call returns is closed when this process ends, right after
    // the attempts.
    let done = unsafe { libc::syscall(number, a, b, c, d, e, 0) };
    done < 0 && Errno::from_io_error(&io::Error::last_os_error()).is_some_and(|errno| REFUSED.contains(&errno))
}
