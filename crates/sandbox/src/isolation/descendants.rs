//! Finds all descendants of a process in the kernel's own lists, and ends them.
//!
//! A process that has become a child subreaper (prctl(2), `PR_SET_CHILD_SUBREAPER`) becomes the parent of every orphan
//! below it, in whatever session or group. So a subreaper without children has no descendants, which is how the end is
//! detected; the lists of children only determine which processes to signal.

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, pidfd_open, pidfd_send_signal};
use std::collections::HashSet;
use std::fs;
use std::time::{Duration, Instant};

/// The time limit for ending all processes. Those that are stuck in the kernel for longer are reported as left.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);

/// The most processes that are listed at once, more than a machine has by default.
const MOST: usize = 100_000;

/// A descendant, with its parent when it was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Descendant {
    pub(super) pid: i32,
    parent: i32,
}

/// Returns the descendants of a process, given its name in /proc, a number or `self`.
pub(super) fn below(top: &str) -> Vec<Descendant> {
    let number =
        if top == "self" { rustix::process::getpid().as_raw_nonzero().get() } else { top.parse().unwrap_or(0) };
    let (mut found, mut seen) = (Vec::new(), HashSet::from([number]));
    let mut pending = vec![(top.to_owned(), number)];
    while let Some((name, parent)) = pending.pop() {
        for task in fs::read_dir(format!("/proc/{name}/task")).into_iter().flatten().flatten() {
            // A process that has ended in the meantime has no list. The next search finds its children below their new
            // parent.
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
    /// Signals the process if it is still the same one. Another process may have its PID by now, unless its parent is
    /// still the same, or is this process, which adopts orphans.
    fn signal(self, signal: Signal) {
        let Some(pid) = Pid::from_raw(self.pid) else { return };
        let Ok(is) = pidfd_open(pid, PidfdFlags::empty()) else { return };
        let me = rustix::process::getpid().as_raw_nonzero().get();
        if parent_of(self.pid).is_some_and(|parent| parent == self.parent || parent == me) {
            // A process that has ended or belongs to another user cannot be signalled. The caller detects those that
            // are left.
            let _ = pidfd_send_signal(is, signal);
        }
    }
}

/// Reads proc_pid_stat(5): the parent follows the state, and the name before both may contain any characters.
fn parent_of(pid: i32) -> Option<i32> {
    let stat = fs::read(format!("/proc/{pid}/stat")).ok()?;
    let behind_name = stat.iter().rposition(|&byte| byte == b')')?;
    let rest = String::from_utf8_lossy(stat.get(behind_name + 1..)?).into_owned();
    rest.split_whitespace().nth(1)?.parse().ok()
}

/// Asks all descendants of this process to end. Continues stopped ones, so that they get the signal.
pub(super) fn terminate_all() {
    let all = below("self");
    for signal in [Signal::TERM, Signal::CONT] {
        all.iter().for_each(|one| one.signal(signal));
    }
}

/// Ends all descendants of this process, which is a subreaper. Returns `false` if some are left after `patience`,
/// because this process may not signal them or because they are stuck in the kernel.
///
/// All are stopped before any is killed: a stopped process neither forks, nor gets notified that its child has died,
/// nor runs a trap.
pub(super) fn end(patience: Duration) -> bool {
    /// Searches for more processes to stop before the killing begins; each finds those that the previous one did not
    /// stop in time.
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
            // Each search finds the processes that were forked before their parent was stopped.
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

/// Reaps the children that have ended. Returns `true` if no child is left.
fn is_alone() -> bool {
    loop {
        match rustix::process::wait(WaitOptions::NOHANG) {
            Ok(None) => return false,
            Ok(Some(_)) | Err(Errno::INTR) => {}
            Err(_) => return true,
        }
    }
}
