//! What a process may: namespaces, limits, capabilities. Each is given up for good.

use super::sys;
use rustix::process::{Resource, Rlimit};
use rustix::thread::{CapabilitySet, CapabilitySets, UnshareFlags};
use std::io;

/// Enters namespaces of its own; the network's too, unless it may be used. The next child is in the process namespace.
///
/// user_namespaces(7): the one user there is, is the one who asks. Where there are none, root needs none.
pub(super) fn namespaces(network: bool) -> io::Result<()> {
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    let mut most = UnshareFlags::NEWNS | UnshareFlags::NEWPID | UnshareFlags::NEWIPC;
    if !network {
        most |= UnshareFlags::NEWNET;
    }
    if let Err(refused) = sys::unshare(most | UnshareFlags::NEWUSER) {
        return if is_able()? { Ok(sys::unshare(most)?) } else { Err(refused.into()) };
    }
    std::fs::write("/proc/self/setgroups", "deny")?;
    std::fs::write("/proc/self/uid_map", format!("{0} {0} 1", user.as_raw()))?;
    std::fs::write("/proc/self/gid_map", format!("{0} {0} 1", group.as_raw()))
}

fn is_able() -> io::Result<bool> {
    Ok(rustix::thread::capabilities(None)?.effective.contains(CapabilitySet::SYS_ADMIN))
}

/// No core files, and an end to processes and open files. The number of processes is not limited for root.
pub(super) fn limit() -> io::Result<()> {
    for (what, most) in [(Resource::Core, 0), (Resource::Nproc, 4096), (Resource::Nofile, 16384)] {
        let now = rustix::process::getrlimit(what);
        let most = [now.current, now.maximum].into_iter().flatten().fold(most, u64::min);
        rustix::process::setrlimit(what, Rlimit { current: Some(most), maximum: Some(most) })?;
    }
    Ok(())
}

/// Capabilities go for good: from what there is, from what a program could gain, and `no_new_privs`.
pub(super) fn drop_all() -> io::Result<()> {
    rustix::thread::set_no_new_privs(true)?;
    let own = rustix::thread::capabilities(None)?;
    if own.effective.contains(CapabilitySet::SETPCAP) {
        for bit in 0..64 {
            // The highest one the kernel knows is found by asking for more.
            if rustix::thread::remove_capability_from_bounding_set(CapabilitySet::from_bits_retain(1 << bit)).is_err() {
                break;
            }
        }
    }
    rustix::thread::clear_ambient_capability_set()?;
    let none = CapabilitySet::empty();
    Ok(rustix::thread::set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?)
}
