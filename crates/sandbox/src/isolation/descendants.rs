//! All processes that descend from one, found by the kernel's own lists, and their end.
//!
//! A process that has become a child subreaper (prctl(2), `PR_SET_CHILD_SUBREAPER`) is given every orphan below it, whatever
//! session or group that one has gone to. So who has no child any more has no descendant any more, and that is what the end
//! is told by; the lists of children only say whom to signal.

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, pidfd_open, pidfd_send_signal};
use std::collections::HashSet;
use std::fs;
use std::time::{Duration, Instant};

/// How long the end of all processes may take. What is stuck in the kernel longer is said to be left.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);

/// The most processes that are looked at in one go: more than a machine has by default.
const MOST: usize = 100_000;

/// A descendant, and whose child it was when it was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Descendant {
    pub(super) pid: i32,
    parent: i32,
}

/// The descendants of the process that /proc has under this name, a number or `self`.
pub(super) fn below(top: &str) -> Vec<Descendant> {
    let number =
        if top == "self" { rustix::process::getpid().as_raw_nonzero().get() } else { top.parse().unwrap_or(0) };
    let (mut found, mut seen) = (Vec::new(), HashSet::from([number]));
    let mut pending = vec![(top.to_owned(), number)];
    while let Some((name, parent)) = pending.pop() {
        for task in fs::read_dir(format!("/proc/{name}/task")).into_iter().flatten().flatten() {
            // Who has ended meanwhile has no list; its children are found where they are by then, in the next look.
            let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
            for pid in children.split_whitespace().filter_map(|number| number.parse().ok()) {
                if found.len() < MOST && seen.insert(pid) {
                    found.push(Descendant { pid, parent });
                    pending.push((pid.to_string(), pid));
                }
            }
        }
    }
    found
}

impl Descendant {
    /// Signals it, if it is still the one that was found: its number may be another's by now, unless it is a child of the one
    /// it was a child of, or of this process, to which orphans come.
    fn signal(self, signal: Signal) {
        let Some(pid) = Pid::from_raw(self.pid) else { return };
        let Ok(is) = pidfd_open(pid, PidfdFlags::empty()) else { return };
        let me = rustix::process::getpid().as_raw_nonzero().get();
        if parent_of(self.pid).is_some_and(|parent| parent == self.parent || parent == me) {
            // One that has ended hears nothing, and one that belongs to another user stays: the caller sees it.
            let _ = pidfd_send_signal(is, signal);
        }
    }
}

/// proc_pid_stat(5): the parent stands behind the state, and the name before them may hold anything.
fn parent_of(pid: i32) -> Option<i32> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let behind_name = stat.iter().rposition(|&byte| byte == b')')?;
    let rest = String::from_utf8_lossy(stat.get(behind_name + 1..)?).into_owned();
    rest.split_whitespace().nth(1)?.parse().ok()
}

/// Asks all descendants of this process to end. One that is stopped has to go on to hear it.
pub(super) fn end_politely() {
    let all = below("self");
    for signal in [Signal::TERM, Signal::CONT] {
        all.iter().for_each(|one| one.signal(signal));
    }
}

/// Ends all descendants of this process, which is a subreaper; `false` if some are left after this time, because they are not
/// ours to end or are stuck in the kernel.
///
/// All are stopped before any is killed: what is stopped neither forks, nor hears that its child has died, nor runs a trap.
pub(super) fn end(patience: Duration) -> bool {
    /// Looks for more to stop before the killing begins; each finds what the last one had no time to stop.
    const LOOKS: u32 = 100;
    const LONGEST_PAUSE: Duration = Duration::from_millis(50);
    let deadline = Instant::now() + patience;
    let mut pause = Duration::from_millis(1);
    while !is_alone() {
        if Instant::now() >= deadline {
            return false;
        }
        let mut stopped = HashSet::new();
        for _ in 0..LOOKS {
            let running: Vec<_> = below("self").into_iter().filter(|one| stopped.insert(one.pid)).collect();
            if running.is_empty() {
                break;
            }
            running.iter().for_each(|one| one.signal(Signal::STOP));
        }
        below("self").iter().for_each(|one| one.signal(Signal::KILL));
        std::thread::sleep(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
    true
}

/// Reaps what has ended, and says whether there is no child left.
fn is_alone() -> bool {
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(None) => return false,
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Err(_) => return true,
        }
    }
}
