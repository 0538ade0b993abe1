//! A child process that is reaped even if its host does not wait for it.

use std::io;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, ExitStatus, Stdio};
use toolfence_protocol::text;

/// The leader of a process group. Dropping it does not end the process.
#[derive(Debug)]
pub(super) struct Leader(Option<Child>);

/// A child with the pipe for its output.
#[derive(Debug)]
pub(super) struct Spawned {
    pub(super) leader: Leader,
    pub(super) output: OwnedFd,
}

impl Spawned {
    /// Starts a child whose stdout and stderr are one pipe, and that leads a process group. None of our code runs
    /// between fork and exec.
    pub(super) fn new(mut command: Command, input: Stdio) -> io::Result<Spawned> {
        use std::os::unix::process::CommandExt;
        // One pipe for both keeps the order in which the command wrote to stdout and stderr.
        let (reading, writing) = io::pipe()?;
        command.stdin(input).stdout(writing.try_clone()?).stderr(writing).process_group(0);
        let leader = Leader::start(command)?;
        rustix::io::ioctl_fionbio(&reading, true)?;
        Ok(Spawned { leader, output: reading.into() })
    }
}

impl Leader {
    /// Starts a child. Drops the command, because it holds the writing ends of the pipes, and a reader would never see
    /// their end.
    pub(super) fn start(mut command: Command) -> io::Result<Leader> {
        Ok(Leader(Some(command.spawn()?)))
    }

    pub(super) fn id(&self) -> Option<u32> {
        self.0.as_ref().map(Child::id)
    }

    /// Returns the exit status, if the child has ended.
    pub(super) fn exit_status(&mut self) -> io::Result<Option<ExitStatus>> {
        let child = self.0.as_mut().ok_or_else(|| io::Error::other(text!("its end was noted already")))?;
        let status = child.try_wait()?;
        if status.is_some() {
            self.0 = None;
        }
        Ok(status)
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        if let (Ok(None), Some(mut child)) = (self.exit_status(), self.0.take()) {
            /// The stack of a thread that makes one system call.
            const STACK: usize = 64 << 10;
            // A child that is not waited for stays a zombie, and waiting here would block.
            let reaper = std::thread::Builder::new().name("reaper".into()).stack_size(STACK);
            // If the thread cannot be started, the child stays a zombie until this process ends.
            let _ = reaper.spawn(move || child.wait());
        }
    }
}
