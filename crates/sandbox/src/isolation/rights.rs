//! Drops the rights of a process for good: namespaces, limits, capabilities.

use super::sys;
use rustix::process::{Resource, Rlimit};
use rustix::thread::{CapabilitySet, CapabilitySets, UnshareFlags};
use std::io;

/// The namespaces that every command has of its own.
pub(super) const OF_A_COMMAND: UnshareFlags =
    UnshareFlags::NEWNS.union(UnshareFlags::NEWPID).union(UnshareFlags::NEWIPC);

/// Enters new namespaces of these kinds, and a new user namespace. Returns `false` if there are no user namespaces and
/// root did without one. The next child is in the process namespace.
///
/// In a network namespace only the loopback interface is up, so that tests and development servers can open ports
/// there.
///
/// The calling user is the only one in the user namespace (user_namespaces(7)).
pub(super) fn namespaces(kinds: UnshareFlags) -> io::Result<bool> {
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    let has_user = match sys::unshare(kinds | UnshareFlags::NEWUSER) {
        Ok(()) => {
            // Without a capability in the parent namespace, the kernel accepts no gid_map before this
            // (user_namespaces(7)).
            std::fs::write("/proc/self/setgroups", "deny")?;
            std::fs::write("/proc/self/uid_map", format!("{0} {0} 1", user.as_raw()))?;
            std::fs::write("/proc/self/gid_map", format!("{0} {0} 1", group.as_raw()))?;
            true
        }
        Err(refused) if !is_able()? => return Err(refused.into()),
        Err(_) => {
            sys::unshare(kinds)?;
            false
        }
    };
    if kinds.contains(UnshareFlags::NEWNET) {
        // Without loopback, servers of a command are unreachable, but the sandbox holds.
        let _ = sys::bring_up_loopback();
    }
    Ok(has_user)
}

/// Limits the processes and threads of the namespace of the calling process, including root's, by pid_max. Each
/// namespace has its own since Linux 6.14. Before, the value applied to the whole machine, so it must not be changed.
pub(super) fn bound_processes(most: u32) -> io::Result<()> {
    /// The kernel reserves the first 300 PIDs and accepts no lower limit.
    const LEAST: u32 = 301;
    if !has_own_bound() {
        return Ok(());
    }
    std::fs::write("/proc/sys/kernel/pid_max", most.max(LEAST).to_string())
}

fn has_own_bound() -> bool {
    const SINCE: [u32; 2] = [6, 14];
    let system = rustix::system::uname();
    let release = system.release().to_string_lossy();
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|number| number.parse().unwrap_or(0));
    [numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)] >= SINCE
}

fn is_able() -> io::Result<bool> {
    Ok(rustix::thread::capabilities(None)?.effective.contains(CapabilitySet::SYS_ADMIN))
}

/// Disables core files, and limits processes and open files. The process limit does not apply to root, and counts all
/// processes of any other user. In a namespace, [`bound_processes`] is stricter.
pub(super) fn limit(processes: u32) -> io::Result<()> {
    // Room for the user's other processes, which count as well.
    const SPARE: u64 = 2048;
    let processes = u64::from(processes) + SPARE;
    for (what, most) in [(Resource::Core, 0), (Resource::Nproc, processes), (Resource::Nofile, 16384)] {
        let now = rustix::process::getrlimit(what);
        // The limits are only lowered, because raising one needs a capability (setrlimit(2)).
        let most = [now.current, now.maximum].into_iter().flatten().fold(most, u64::min);
        rustix::process::setrlimit(what, Rlimit { current: Some(most), maximum: Some(most) })?;
    }
    Ok(())
}

/// Drops all capabilities for good: those of this process and those that a program could gain. Sets `no_new_privs`.
pub(super) fn drop_all() -> io::Result<()> {
    rustix::thread::set_no_new_privs(true)?;
    // Reducing the bounding set requires CAP_SETPCAP (capabilities(7)), so the capabilities themselves are dropped
    // last.
    let own = rustix::thread::capabilities(None)?;
    if own.effective.contains(CapabilitySet::SETPCAP) {
        for bit in 0..64 {
            // The first error means that the kernel has no further capabilities.
            if rustix::thread::remove_capability_from_bounding_set(CapabilitySet::from_bits_retain(1 << bit)).is_err() {
                break;
            }
        }
    }
    rustix::thread::clear_ambient_capability_set()?;
    let none = CapabilitySet::empty();
    Ok(rustix::thread::set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?)
}
