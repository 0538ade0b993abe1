//! The helper: reads a plan, sets up the sandbox, starts the command, and reports how it ended.
//!
//! There are three processes. The host starts the *outer* one: it builds the tree of files, mounts the masks over the
//! project, and ends everything when the host asks for it or is gone. The *inner* one is the first of the new process
//! namespace: it drops its own rights and then starts the *command*. When the inner one ends, the kernel ends all
//! processes that are left in the namespace.

use super::host_line::{First, is_of_this_build, read_begun, with_host};
use super::memory::Limit;
use super::plan::Plan;
use super::sys::{self, Side};
use super::{Barrier, Trouble, mounts, rights, session, stage_one, stage_two};
use rustix::fd::OwnedFd;
use rustix::thread::UnshareFlags;
use std::fs::File;
use std::os::unix::net::UnixStream;

/// Executes the plan on stdin. Returns when the command has ended.
pub(super) fn main() -> i32 {
    with_host(|host, mut first| {
        let plan = read_plan(host, &first)?;
        let session = first.take_own(plan.session.into());
        first.take_input()?;
        run(&plan, host, session)
    })
}

fn read_plan(host: &File, first: &First) -> Result<Plan, Trouble> {
    let barrier = Barrier::Plan;
    let plan: Plan = read_begun(host, first, barrier)?;
    is_of_this_build(&plan.version)?;
    Ok(plan)
}

fn run(plan: &Plan, host: &File, session: Vec<OwnedFd>) -> Result<i32, Trouble> {
    let alone = sys::single_thread().map_err(|error| Trouble::new(Barrier::Helper, error))?;
    // Created now, because the cgroup file system is not in the new tree.
    let limit = Limit::new(plan.memory);
    // Without a process namespace, this process must adopt the processes that the command leaves, so that it can end
    // them.
    let subreaper = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    subreaper.map_err(|error| Trouble::new(Barrier::CommandWatch, error.into()))?;
    rights::limit(plan.processes).map_err(|error| Trouble::new(Barrier::Limits, error))?;
    let (mut tree, mut joined) = (None, None);
    if plan.namespaces {
        let entered = enter_namespaces(plan, session).map_err(|error| Trouble::new(Barrier::Namespaces, error))?;
        let (session, shared) = entered;
        joined = session;
        tree = Some(mounts::build(plan, shared)?);
    }
    let started = |error| Trouble::new(Barrier::FirstProcess, error);
    let (ours, theirs) = UnixStream::pair().map_err(started)?;
    match sys::fork(&alone).map_err(started)? {
        Side::Parent(first) => {
            drop(theirs);
            stage_two::keep(plan, host, tree, ours, first, limit, joined.as_ref())
        }
        Side::Child => {
            // The inner process becomes the parent of the command and needs none of these descriptors.
            drop((ours, tree, joined));
            limit.enter();
            stage_one::first(plan, host, theirs, &alone).map(|never| match never {})
        }
    }
}

/// Enters the namespaces of the command. Returns its session, if it has one, and the mounts that the session's commands
/// share.
fn enter_namespaces(
    plan: &Plan,
    session: Vec<OwnedFd>,
) -> std::io::Result<(Option<session::Joined>, Option<mounts::SharedMounts>)> {
    if !session.is_empty() {
        let (joined, shared) = session::join(plan, session)?;
        return Ok((Some(joined), Some(shared)));
    }
    let network = if plan.network { UnshareFlags::empty() } else { UnshareFlags::NEWNET };
    rights::namespaces(rights::OF_A_COMMAND | network)?;
    Ok((None, None))
}
