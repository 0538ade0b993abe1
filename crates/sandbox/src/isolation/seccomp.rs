//! The filter of system calls: it refuses those that could remove a barrier, and kernel interfaces that no build needs.
//!
//! It is a deny list, because a command may be any program. Refused calls fail with `EPERM`, but `clone3` with
//! `ENOSYS`, so that the C library falls back to `clone`, whose flags a filter can read.

use super::plan::Plan;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter, sock_filter,
};
use std::collections::BTreeMap;
use std::io;

/// Calls that are refused with any arguments. Those that require a capability (modules, clocks, swap) are not among
/// them, because a command has none, and every number makes each call a little slower.
const REFUSED: &[libc::c_long] = &[
    // Calls that could remove a mask or leave the namespaces.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_open_tree,
    libc::SYS_move_mount,
    libc::SYS_mount_setattr,
    libc::SYS_open_by_handle_at,
    // Calls that reach into other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // Large interfaces of the kernel, which no build needs.
    libc::SYS_bpf,
    libc::SYS_userfaultfd,
    libc::SYS_perf_event_open,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
];

/// All flags of clone(2) that create a namespace.
const NAMESPACES: &[libc::c_int] = &[
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];

/// ioctl(2) requests that type into a terminal: `TIOCSTI`, and `TIOCLINUX`, which pastes.
const TYPING: &[u64] = &[0x5412, 0x541C];

/// Filters all later calls of this process and of all processes that it starts. Sets `no_new_privs`.
pub(super) fn raise(plan: &Plan) -> io::Result<()> {
    apply_filter(&numbers()).map_err(io::Error::other)?;
    apply_filter(&refusals(plan)?).map_err(io::Error::other)
}

fn refusals(plan: &Plan) -> io::Result<BpfProgram> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = REFUSED.iter().map(|&number| (number, Vec::new())).collect();
    // Only the low 32 bits are compared. The kernel reads no others, so a command could set them to evade a comparison
    // of 64 bits.
    let clone = NAMESPACES.iter().map(|&flag| rule(0, SeccompCmpOp::MaskedEq(flag as u64), flag as u64));
    rules.insert(libc::SYS_clone, clone.collect::<io::Result<_>>()?);
    let ioctl = TYPING.iter().map(|&request| rule(1, SeccompCmpOp::Eq, request));
    rules.insert(libc::SYS_ioctl, ioctl.collect::<io::Result<_>>()?);
    rules.insert(libc::SYS_socket, sockets(plan, plan.named_sockets)?);
    let mut pairs = sockets(plan, true)?;
    if !plan.named_sockets {
        // A process can still give a name to a datagram socket of a pair. For unix sockets SOCK_RAW is equal to
        // SOCK_DGRAM.
        for kind in [libc::SOCK_DGRAM, libc::SOCK_RAW] {
            pairs.push(rule(1, SeccompCmpOp::MaskedEq(0xF), kind as u64)?);
        }
    }
    rules.insert(libc::SYS_socketpair, pairs);
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(io::Error::other)?;
    // The filter ends a process that makes a call of another architecture, whose numbers have other meanings.
    let refuse = SeccompAction::Errno(libc::EPERM as u32);
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch).map_err(io::Error::other)?;
    BpfProgram::try_from(filter).map_err(io::Error::other)
}

/// Returns the rules that refuse sockets. Unix sockets are allowed if `unix` is set, and internet sockets if the plan
/// has them. With the network, the netlink(7) protocol by which the C library reads the machine's addresses
/// (`getaddrinfo`, `getifaddrs`) is allowed. Its other protocols are refused, and so is vsock(7), which leads to the
/// host of a virtual machine.
fn sockets(plan: &Plan, unix: bool) -> io::Result<Vec<SeccompRule>> {
    let is_not = |family: libc::c_int| condition(0, SeccompCmpOp::Ne, family as u64);
    let mut allowed = if unix { vec![libc::AF_UNIX] } else { Vec::new() };
    if plan.has_internet_sockets() {
        allowed.extend([libc::AF_INET, libc::AF_INET6]);
    }
    if plan.network {
        allowed.push(libc::AF_NETLINK);
    }
    let other_family = allowed.into_iter().map(is_not).collect::<io::Result<_>>()?;
    if !plan.network {
        return Ok(vec![all_of(other_family)?]);
    }
    let netlink = condition(0, SeccompCmpOp::Eq, libc::AF_NETLINK as u64)?;
    let not_of_routes = condition(2, SeccompCmpOp::Ne, libc::NETLINK_ROUTE as u64)?;
    // Raw internet sockets need no rule, because they require a capability that the command lacks.
    Ok(vec![all_of(other_family)?, all_of(vec![netlink, not_of_routes])?])
}

fn rule(argument: u8, how: SeccompCmpOp, value: u64) -> io::Result<SeccompRule> {
    all_of(vec![condition(argument, how, value)?])
}

fn condition(argument: u8, how: SeccompCmpOp, value: u64) -> io::Result<SeccompCondition> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, how, value).map_err(io::Error::other)
}

fn all_of(conditions: Vec<SeccompCondition>) -> io::Result<SeccompRule> {
    SeccompRule::new(conditions).map_err(io::Error::other)
}

/// Returns a filter that answers `ENOSYS` to clone3(2), whose flags a filter cannot read, because they are in memory,
/// and to numbers of the x32 interface, which has the same architecture but numbers of its own for all calls above.
fn numbers() -> BpfProgram {
    /// `BPF_LD | BPF_W | BPF_ABS`, `BPF_JMP | BPF_JGE | BPF_K`, `BPF_JMP | BPF_JEQ | BPF_K`, `BPF_RET | BPF_K`.
    const LOAD: u16 = 0x20;
    const AT_LEAST: u16 = 0x35;
    const EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    const X32: u32 = 0x4000_0000;
    const NO_SUCH_CALL: u32 = 0x0005_0000 | libc::ENOSYS as u32;
    const ALLOW: u32 = 0x7FFF_0000;
    let step = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    vec![
        step(LOAD, 0, 0, 0),
        // The numbers after `AT_LEAST` and `EQUAL` are the instructions to skip if the comparison is true or false.
        step(AT_LEAST, 2, 0, X32),
        step(EQUAL, 1, 0, libc::SYS_clone3 as u32),
        step(RETURN, 0, 0, ALLOW),
        step(RETURN, 0, 0, NO_SUCH_CALL),
    ]
}
