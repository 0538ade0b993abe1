//! A process group, which is ended as a whole.

use super::child::Leader;
#[cfg(not(target_vendor = "apple"))]
use rustix::fd::AsRawFd;
use rustix::fd::BorrowedFd;
use rustix::process::{Pid, Signal, kill_process_group};
use std::io;
use std::path::PathBuf;
use toolfence_protocol::text;

/// The group that a child leads. Dropping it kills the group, unless the group ends by itself.
pub(super) struct Group {
    number: Option<Pid>,
    left_alone: bool,
    #[cfg(target_os = "linux")]
    leader: tokio::io::unix::AsyncFd<rustix::fd::OwnedFd>,
}

impl Group {
    pub(super) fn led_by(leader: &Leader) -> io::Result<Group> {
        let number = leader.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        let Some(number) = number else { return Err(io::Error::other(text!("the child has no process id"))) };
        // The child already runs, so an error must kill it.
        let mut guard = KillOnDrop(Some(number));
        let group = Group::open_pidfd(number)?;
        guard.0 = None;
        Ok(group)
    }

    /// Opens a pidfd (pidfd_open(2)), which allows waiting for the leader without reaping it.
    #[cfg(target_os = "linux")]
    #[allow(
        deprecated,
        reason = "the new function is unsafe; an OwnedFd stays the same descriptor for as long as it is registered"
    )]
    fn open_pidfd(number: Pid) -> io::Result<Group> {
        let leader = rustix::process::pidfd_open(number, rustix::process::PidfdFlags::empty())?;
        let leader = tokio::io::unix::AsyncFd::with_interest(leader, tokio::io::Interest::READABLE)?;
        Ok(Group { number: Some(number), left_alone: false, leader })
    }

    #[cfg(not(target_os = "linux"))]
    fn open_pidfd(number: Pid) -> io::Result<Group> {
        Ok(Group { number: Some(number), left_alone: false })
    }

    /// Waits until the leader has ended. Returns `false` if that cannot be determined.
    #[cfg(target_os = "linux")]
    pub(super) async fn leader_ended(&self, _: &mut Leader) -> bool {
        self.leader.readable().await.is_ok()
    }

    /// Polls for the end of the leader without reaping it, because there is no pidfd.
    #[cfg(not(target_os = "linux"))]
    pub(super) async fn leader_ended(&self, _: &mut Leader) -> bool {
        use rustix::process::{WaitId, WaitIdOptions, waitid};
        const PAUSE: std::time::Duration = std::time::Duration::from_millis(10);
        let Some(number) = self.number else { return false };
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        loop {
            match waitid(WaitId::Pid(number), look) {
                Ok(None) => tokio::time::sleep(PAUSE).await,
                Ok(Some(_)) => return true,
                Err(_) => return false,
            }
        }
    }

    /// Sets whether the leader is a supervisor, which ends by itself with all processes that it started when our end of
    /// its socket is closed.
    pub(super) fn ends_by_itself(&mut self, yes: bool) {
        self.left_alone = yes;
    }

    /// Sends SIGTERM to every process of the group.
    pub(super) fn terminate(&self) {
        self.signal(Signal::TERM);
    }

    /// Kills every process of the group.
    pub(super) fn kill(&self) {
        self.signal(Signal::KILL);
    }

    /// Forgets the group ID, because the leader was reaped and another group may get the number.
    pub(super) fn is_over(&mut self) {
        self.number = None;
    }

    fn signal(&self, signal: Signal) {
        if let Some(number) = self.number {
            // The only failure is an empty group.
            let _ = kill_process_group(number, signal);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if !self.left_alone {
            self.kill();
        }
    }
}

/// Kills the group if an error occurs before its [`Group`] exists, so that no process is left running.
struct KillOnDrop(Option<Pid>);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        if let Some(number) = self.0 {
            let _ = kill_process_group(number, Signal::KILL);
        }
    }
}

/// Returns a path by which a new child can enter an open folder of this process, even if the folder was moved.
#[cfg(target_os = "linux")]
#[allow(clippy::unnecessary_wraps, reason = "the other systems can fail")]
pub(super) fn path_to(folder: BorrowedFd<'_>) -> io::Result<PathBuf> {
    Ok(format!("/proc/self/fd/{}", folder.as_raw_fd()).into())
}

#[cfg(target_vendor = "apple")]
pub(super) fn path_to(folder: BorrowedFd<'_>) -> io::Result<PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    let path = rustix::fs::getpath(folder)?;
    Ok(std::ffi::OsString::from_vec(path.into_bytes()).into())
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
pub(super) fn path_to(folder: BorrowedFd<'_>) -> io::Result<PathBuf> {
    Ok(format!("/dev/fd/{}", folder.as_raw_fd()).into())
}
