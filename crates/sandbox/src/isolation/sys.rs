//! The system calls that no safe crate has. All unsafe code is here, except for the calls in `attempts`, which must
//! fail.
//!
//! This module decides nothing; the caller does.
#![allow(unsafe_code, reason = "each block has a comment on why it is sound")]

use super::Cause;
use rustix::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use rustix::process::Pid;
use rustix::thread::UnshareFlags;
use std::io;
use std::mem::MaybeUninit;

/// Which of the two processes after a fork this is.
pub(super) enum Side {
    Child,
    Parent(Pid),
}

/// The proof that this process has only one thread. It stays true, because nothing in the helper starts another thread.
pub(super) struct SingleThread(());

/// Counts the threads of this process.
pub(super) fn single_thread() -> io::Result<SingleThread> {
    match std::fs::read_dir("/proc/self/task")?.count() {
        1 => Ok(SingleThread(())),
        threads => Err(io::Error::other(Cause::Threads(threads))),
    }
}

/// fork(2) in a process that has only one thread.
pub(super) fn fork(_: &SingleThread) -> io::Result<Side> {
    // SAFETY: a child of a process with one thread is a full copy of it: no lock of the allocator or of the standard
    // library can be held by a thread that does not exist in the child.
    let number = unsafe { libc::fork() };
    match number {
        -1 => Err(io::Error::last_os_error()),
        0 => Ok(Side::Child),
        number => Pid::from_raw(number).map(Side::Parent).ok_or_else(|| io::Error::other(Cause::NoProcessId)),
    }
}

/// unshare(2) without `CLONE_FILES`.
pub(super) fn unshare(namespaces: UnshareFlags) -> rustix::io::Result<()> {
    let namespaces = namespaces - UnshareFlags::FILES;
    // SAFETY: only `CLONE_FILES` can make a descriptor of another thread invalid, and the line above removes it.
    unsafe { rustix::thread::unshare_unsafe(namespaces) }
}

/// Brings up the loopback interface of this network namespace; the kernel then adds 127.0.0.1 and ::1. netdevice(7).
///
/// Needs `CAP_NET_ADMIN` in the namespace.
pub(super) fn bring_up_loopback() -> io::Result<()> {
    // SAFETY: the arguments are numbers, and the result is a new descriptor or -1.
    let socket = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    if socket < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new, so this is its only owner.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    // SAFETY: every field of the structure and of its union is a number, an array of numbers, a structure of these or a
    // raw pointer, for all of which zero is valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = *from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: SIOCSIFFLAGS reads an `ifreq`, which outlives the call.
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Attributes that are added to all mounts of a tree; none is removed.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Attributes {
    pub(super) read_only: bool,
    pub(super) devices: bool,
}

/// Calls mount_setattr(2) for the tree of an `O_PATH` descriptor or one of open_tree(2): no set-user-id programs, and
/// the `wanted` attributes.
pub(super) fn set_attributes(tree: BorrowedFd<'_>, wanted: Attributes) -> io::Result<()> {
    let read_only = if wanted.read_only { libc::MOUNT_ATTR_RDONLY } else { 0 };
    let no_devices = if wanted.devices { 0 } else { libc::MOUNT_ATTR_NODEV };
    let attributes = libc::mount_attr {
        attr_set: libc::MOUNT_ATTR_NOSUID | read_only | no_devices,
        attr_clr: 0,
        propagation: 0,
        userns_fd: 0,
    };
    // SAFETY: the path is a C string and the structure has the size that is passed; both outlive the call, which only
    // reads.
    let done = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            tree.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH | libc::AT_RECURSIVE,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Blocked signals, which this process receives by a call instead of a handler.
pub(super) struct Signals(libc::sigset_t);

impl Signals {
    /// Blocks these signals. A child inherits that.
    pub(super) fn block(numbers: &[i32]) -> io::Result<Signals> {
        let mut set = MaybeUninit::uninit();
        // SAFETY: sigemptyset fills in the whole set.
        let mut set: libc::sigset_t = unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            set.assume_init()
        };
        for &number in numbers {
            // SAFETY: the set is filled in; a number that is no signal is refused and changes nothing.
            unsafe { libc::sigaddset(&raw mut set, number) };
        }
        // SAFETY: the set outlives the call, and the null pointer requests no old set.
        let done = unsafe { libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) };
        if done == 0 { Ok(Signals(set)) } else { Err(io::Error::last_os_error()) }
    }

    /// Unblocks the signals for a program that is about to be started.
    pub(super) fn unblock(&self) {
        // SAFETY: the set is filled in and outlives the call, and the null pointer requests no old set.
        unsafe { libc::sigprocmask(libc::SIG_UNBLOCK, &raw const self.0, std::ptr::null_mut()) };
    }

    /// Waits for one of the signals.
    pub(super) fn wait(&self) -> io::Result<i32> {
        // SAFETY: the set is filled in, and the null pointer requests no further information.
        let number = unsafe { libc::sigwaitinfo(&raw const self.0, std::ptr::null_mut()) };
        if number < 0 { Err(io::Error::last_os_error()) } else { Ok(number) }
    }

    /// Returns a descriptor that is readable when one of the signals is pending.
    pub(super) fn descriptor(&self) -> io::Result<OwnedFd> {
        // SAFETY: the set is filled in and -1 requests a new descriptor.
        let fd = unsafe { libc::signalfd(-1, &raw const self.0, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new, so this is its only owner.
        Ok(unsafe { OwnedFd::from_raw_fd(fd) })
    }
}

/// Moves stdin to a descriptor of its own and closes all others above the first three, which a host may have leaked.
/// This must be the first thing that the process does.
pub(super) fn take_stdin() -> io::Result<OwnedFd> {
    // SAFETY: dup2 takes numbers. If descriptor 3 is open, the call replaces it, but nothing in this process owns it
    // yet: only the first three have an owner, the standard library.
    let taken = unsafe { libc::dup2(0, 3) };
    if taken < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: close_range takes numbers, and no object in this process owns one of the closed descriptors.
    let done = unsafe { libc::syscall(libc::SYS_close_range, 4_u32, u32::MAX, 0_u32) };
    if done < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the number was returned a moment ago, and this is its only owner.
    let taken = unsafe { OwnedFd::from_raw_fd(taken) };
    rustix::io::fcntl_setfd(&taken, rustix::io::FdFlags::CLOEXEC)?;
    Ok(taken)
}
