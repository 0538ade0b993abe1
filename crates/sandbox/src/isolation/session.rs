//! The session of one enclosure: a home folder, a `/tmp`, layers over toolchains and a loopback interface that its
//! commands share.
//!
//! A helper creates the namespaces of a session and hands their descriptors to the host, which passes them to the
//! helper of each command. When the last descriptor is closed, because the host drops it or is killed, the kernel
//! removes the namespaces with everything in them.
//!
//! A command can put anything into the shared folders: links, FIFOs, very many files. Three rules protect the helper of
//! the next command. First, it writes nothing into them: the session created every mount point in them before the first
//! command. Second, it resolves no link in them. Third, each of these folders and each folder above one is a mount
//! point in every command, so the kernel refuses to rename or remove it (EBUSY), and the mounts always stay in the same
//! place.
//!
//! A command can also pass an open folder of the project to another command, through a unix socket in a shared folder.
//! When the mount namespace of the sender ends, the kernel detaches its mounts, and nothing below that folder is hidden
//! or guarded any more. So a process, the *keeper*, holds the mount namespace of each command until a moment at which
//! no command runs. It ends when the host and the helpers of all commands have closed the socket to it.

use super::host_line::{self, is_of_this_build, read_begun, with_host};
use super::mounts::{self, SharedMounts};
use super::plan::Plan;
use super::sys::{self, Side};
use super::{Barrier, Trouble, rights};
use crate::process::send_with;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{AddressFamily, RecvFlags, SocketFlags, SocketType, socketpair};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space};
use std::io::{self, PipeWriter, Read};

/// The line that is sent with the descriptors.
pub(super) const BEGUN: &str = "begun\n";

/// Creates the namespaces of a session for the plan on stdin and hands them to the host. A child becomes the keeper.
pub(super) fn main() -> i32 {
    with_host(|host, first| {
        let plan: Plan = read_begun(host, &first, Barrier::Plan)?;
        is_of_this_build(&plan.version)?;
        let trouble = |error| Trouble::new(Barrier::Namespaces, error);
        let alone = sys::single_thread().map_err(|error| Trouble::new(Barrier::Helper, error))?;
        let pair = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None);
        let (commands, line) = pair.map_err(|errno| trouble(errno.into()))?;
        let namespaces = begin(&plan, line)?;
        match sys::fork(&alone).map_err(trouble)? {
            Side::Parent(_) => host_line::hand_over(host, BEGUN, &namespaces).map_err(trouble)?,
            Side::Child => {
                drop(namespaces);
                keep_for(&commands).map_err(trouble)?;
            }
        }
        Ok(0)
    })
}

/// Returns the mount namespace, the network namespace, the socket to the keeper and the user namespace. The last one is
/// missing if root needs none.
fn begin(plan: &Plan, line: OwnedFd) -> Result<Vec<OwnedFd>, Trouble> {
    let trouble = |error| Trouble::new(Barrier::Namespaces, error);
    let has_user = rights::namespaces(UnshareFlags::NEWNS | UnshareFlags::NEWNET).map_err(trouble)?;
    let mut session = vec![open_own("mnt").map_err(trouble)?, open_own("net").map_err(trouble)?, line];
    if has_user {
        session.push(open_own("user").map_err(trouble)?);
    }
    mounts::build_session(plan)?;
    Ok(session)
}

/// Keeps the mount namespaces of commands until the other ends of `commands` are closed. Each message has three
/// descriptors: a mount namespace, the reading end of a pipe that is open as long as the command runs, and the writing
/// end of a pipe for the answer, for which the helper waits.
fn keep_for(commands: &OwnedFd) -> io::Result<()> {
    rustix::process::setsid()?;
    rights::drop_all()?;
    let most = getrlimit(Resource::Nofile).maximum;
    // Each command adds two descriptors until no command runs.
    setrlimit(Resource::Nofile, Rlimit { current: most, maximum: most })?;
    let mut kept: Vec<(OwnedFd, OwnedFd)> = Vec::new();
    loop {
        match host_line::receive(commands, &mut [0], RecvFlags::empty()) {
            Ok((0, _)) => return Ok(()),
            Ok((_, descriptors)) => {
                // If a descriptor is missing, there is no answer, and the helper does not start its command.
                let Ok([mounts, command, answer]) = <[OwnedFd; 3]>::try_from(descriptors) else { continue };
                // A running command may hold an open folder of an earlier one, so all namespaces are kept until none
                // runs.
                if kept.iter().all(|(_, command)| has_ended(command)) {
                    kept.clear();
                }
                kept.push((mounts, command));
                // This fails only if the helper has ended, and then no command starts.
                let _ = rustix::io::write(&answer, b"k");
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Returns `true` if the writing end of a pipe to which nothing is written is closed.
fn has_ended(command: &OwnedFd) -> bool {
    let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
    matches!(poll(&mut [PollFd::new(command, PollFlags::IN)], Some(&at_once)), Ok(1))
}

/// The parts of the session that one of its commands needs.
pub(super) struct Joined {
    /// The mount namespace of the command.
    mounts: OwnedFd,
    /// The socket to the keeper.
    keeper: OwnedFd,
}

/// Enters the session's user namespace and, unless the plan has the network, its network namespace, and new namespaces
/// for one command. Returns copies of the session's mounts.
///
/// The mount namespace is entered only for the copies: the tree of the command is built from that of the machine.
pub(super) fn join(plan: &Plan, session: Vec<OwnedFd>) -> io::Result<(Joined, SharedMounts)> {
    let mut session = session.into_iter();
    let (Some(of_session), Some(network), Some(keeper)) = (session.next(), session.next(), session.next()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    // The user namespace is entered first: it owns the others, and setns(2) requires a capability in the owner.
    if let Some(user) = session.next() {
        move_into_link_name_space(user.as_fd(), Some(LinkNameSpaceType::User))?;
    }
    if !plan.network {
        move_into_link_name_space(network.as_fd(), Some(LinkNameSpaceType::Network))?;
    }
    sys::unshare(rights::OF_A_COMMAND)?;
    let joined = Joined { mounts: open_own("mnt")?, keeper };
    let root = rustix::fs::open("/", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    move_into_link_name_space(of_session.as_fd(), Some(LinkNameSpaceType::Mount))?;
    let copies = mounts::copy_shared(plan)?;
    move_into_link_name_space(joined.mounts.as_fd(), Some(LinkNameSpaceType::Mount))?;
    // A host in a chroot has another root than its mount namespace.
    rustix::process::fchdir(&root)?;
    rustix::process::chroot(".")?;
    Ok((joined, copies))
}

impl Joined {
    /// Makes the keeper hold the mount namespace of the command, which is about to start, until the result is closed.
    ///
    /// This uses no sockets, because the command would see them in /proc/net/unix.
    pub(super) fn keep_mounts(&self) -> io::Result<PipeWriter> {
        let ((command, runs), (mut answer, to_answer)) = (io::pipe()?, io::pipe()?);
        send_with(self.keeper.as_fd(), b"k", &[self.mounts.as_fd(), command.as_fd(), to_answer.as_fd()])?;
        // If the keeper ends without an answer, the pipe must end, too.
        drop((command, to_answer));
        answer.read_exact(&mut [0])?;
        Ok(runs)
    }
}

/// Opens a namespace of this process.
fn open_own(name: &str) -> io::Result<OwnedFd> {
    let path = format!("/proc/self/ns/{name}");
    rustix::fs::openat(CWD, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).map_err(|errno: Errno| errno.into())
}
