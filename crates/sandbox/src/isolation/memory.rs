//! Limits the memory of a command and all processes that it starts.
//!
//! The address space is not limited (`RLIMIT_AS`), because AddressSanitizer and WebAssembly reserve terabytes that they
//! never use. If a cgroup with the memory controller can be created, the kernel enforces the limit. In all cases the
//! memory of all processes is summed several times a second, which also detects the reason for the message. Files in
//! temporary folders belong to no process, and have a size limit of their own.

use super::descendants::{self, Descendant};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use std::collections::HashSet;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The time between two sums.
const PAUSE: Duration = Duration::from_millis(250);

/// The inverse of the share of time that a sum may take if there are very many processes.
const PART: u32 = 20;

/// The mount point of cgroups version 2, on a system with no other version.
const GROUPS: &str = "/sys/fs/cgroup";

/// The prefix of a group's name; the PID of its supervisor follows.
const OURS: &str = "toolfence-";

/// The memory limit of one command.
#[derive(Debug)]
pub(super) struct Limit {
    most: u64,
    group: Option<Cgroup>,
    pause: Duration,
}

impl Limit {
    /// Returns a limit in bytes; 0 for none. It must be created before the system is hidden.
    pub(super) fn new(most: u64) -> Limit {
        let group = if most > 0 { Cgroup::new(most) } else { None };
        Limit { most, group, pause: PAUSE }
    }

    /// Moves this process, which is about to start the command, into the group. Called in a child.
    pub(super) fn enter(self) {
        if let Some(group) = self.group {
            group.enter();
            // Dropping the group would remove it, which the parent does.
            std::mem::forget(group);
        }
    }

    /// Returns the time until the next check.
    pub(super) fn pause(&self) -> Option<Duration> {
        (self.most > 0).then_some(self.pause)
    }

    /// Returns `true` if the descendants of the process with this name in /proc use too much memory.
    pub(super) fn is_exceeded(&mut self, top: &str) -> bool {
        let started = Instant::now();
        let all = descendants::below(top);
        let exceeded = self.most > 0 && is_over_limit(&all, self.most);
        self.pause = PAUSE.max(started.elapsed() * PART);
        exceeded
    }

    /// Returns `true` if the kernel has killed a process of the group because of the limit.
    pub(super) fn has_killed(&self) -> bool {
        self.group.as_ref().is_some_and(Cgroup::has_killed)
    }
}

/// Compares the memory of all processes with the limit. A page that a process shares with its forks is counted in each
/// of them, so their sum is far too high for a server with workers. The exact sum costs a walk over all page tables, so
/// it is only computed if the cheap one is too high.
fn is_over_limit(all: &[Descendant], most: u64) -> bool {
    let files = files_in_memory(all);
    let sum = |of: &dyn Fn(i32) -> Option<MemoryUse>| {
        let all = all.iter().filter_map(|one| of(one.pid)).fold(MemoryUse::default(), MemoryUse::add);
        // The mapped parts of files in memory are in both numbers, so the larger one counts.
        all.own.saturating_add(all.shared.max(files))
    };
    sum(&upper_bound) > most && sum(&|pid| exact(pid).or_else(|| upper_bound(pid))) > most
}

/// Bytes of memory that one or more processes use, without the contents of files on a disk, which the kernel can drop.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct MemoryUse {
    /// Private memory, including swapped pages.
    own: u64,
    /// Shared memory.
    shared: u64,
}

impl MemoryUse {
    fn add(self, other: MemoryUse) -> MemoryUse {
        MemoryUse { own: self.own.saturating_add(other.own), shared: self.shared.saturating_add(other.shared) }
    }
}

/// Reads proc_pid_status(5), in which a page counts fully for each process that has it.
fn upper_bound(pid: i32) -> Option<MemoryUse> {
    use_of(&format!("/proc/{pid}/status"), ["RssAnon:", "VmSwap:", "RssShmem:"])
}

/// Reads proc_pid_smaps(5), in which a shared page counts in parts.
fn exact(pid: i32) -> Option<MemoryUse> {
    use_of(&format!("/proc/{pid}/smaps_rollup"), ["Pss_Anon:", "SwapPss:", "Pss_Shmem:"])
}

/// Sums the values of these lines. Returns `None` if none of them exists.
fn use_of(file: &str, [own, swapped, shared]: [&str; 3]) -> Option<MemoryUse> {
    let text = fs::read_to_string(file).ok()?;
    let value = |line: &str| {
        let mut words = line.split_whitespace();
        let name = words.next()?;
        let bytes = words.next()?.parse::<u64>().ok()?.saturating_mul(1024);
        match name {
            name if name == own || name == swapped => Some(MemoryUse { own: bytes, shared: 0 }),
            name if name == shared => Some(MemoryUse { own: 0, shared: bytes }),
            _ => None,
        }
    };
    text.lines().filter_map(value).reduce(MemoryUse::add)
}

/// Returns the bytes of the anonymous files of memfd_create(2): pages that are only written to and not mapped are in no
/// number of a process.
fn files_in_memory(all: &[Descendant]) -> u64 {
    /// The most open files of one process that are checked.
    const MOST_OPEN: usize = 16_384;
    let mut seen = HashSet::new();
    let mut bytes = 0_u64;
    for one in all {
        let open = fs::read_dir(format!("/proc/{}/fd", one.pid)).into_iter().flatten().flatten();
        for entry in open.take(MOST_OPEN) {
            let is_one =
                fs::read_link(entry.path()).is_ok_and(|to| to.as_os_str().as_encoded_bytes().starts_with(b"/memfd:"));
            let Some(stat) = is_one.then(|| fs::metadata(entry.path()).ok()).flatten() else { continue };
            // Several processes can have the same file open.
            if seen.insert((stat.dev(), stat.ino())) {
                bytes = bytes.saturating_add(stat.blocks().saturating_mul(512));
            }
        }
    }
    bytes
}

/// The cgroup of one command. Dropping it removes it.
#[derive(Debug)]
struct Cgroup {
    above: OwnedFd,
    name: String,
    processes: fs::File,
    events: PathBuf,
    folder: OwnedFd,
}

impl Cgroup {
    /// Creates a group next to this process or below it, if the memory controller is delegated and this user may create
    /// one.
    fn new(most: u64) -> Option<Cgroup> {
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        let own = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
        let own = Path::new(GROUPS).join(own);
        // A group with processes in it cannot delegate controllers (cgroups(7)), so usually only the group above can.
        let above = own.parent().filter(|above| above.starts_with(GROUPS));
        [Some(own.as_path()), above].into_iter().flatten().find_map(|place| Cgroup::create_in(place, most).ok())
    }

    fn create_in(place: &Path, most: u64) -> io::Result<Cgroup> {
        let handed_down = fs::read_to_string(place.join("cgroup.subtree_control"))?;
        if !handed_down.split_whitespace().any(|name| name == "memory") {
            return Err(io::ErrorKind::Unsupported.into());
        }
        remove_abandoned(place);
        let folder = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let above = rustix::fs::openat(CWD, place, folder, Mode::empty())?;
        let name = format!("{OURS}{}", std::process::id());
        rustix::fs::mkdirat(&above, &*name, Mode::from(0o755))?;
        let made = Cgroup::open(&above, &name, most);
        if made.is_err() {
            let _ = rustix::fs::unlinkat(&above, &*name, AtFlags::REMOVEDIR);
        }
        let (processes, folder) = made?;
        Ok(Cgroup { above, name, processes, folder, events: "memory.events".into() })
    }

    fn open(above: &OwnedFd, name: &str, most: u64) -> io::Result<(fs::File, OwnedFd)> {
        let folder =
            rustix::fs::openat(above, name, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        let open = |name: &str| {
            rustix::fs::openat(&folder, name, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty()).map(fs::File::from)
        };
        open("memory.max")?.write_all(most.to_string().as_bytes())?;
        // A system without swap has no `memory.swap.max`. With `memory.oom.group`, the kernel kills the whole group,
        // because half a build is useless.
        for (name, value) in [("memory.swap.max", "0"), ("memory.oom.group", "1")] {
            let _ = open(name).map(|mut file| file.write_all(value.as_bytes()));
        }
        let processes = open("cgroup.procs")?;
        Ok((processes, folder))
    }

    /// Moves this process into the group: zero is the process that writes it.
    fn enter(&self) {
        // If the kernel refuses the move, the sum of all processes still enforces the limit.
        let _ = (&self.processes).write_all(b"0");
    }

    fn has_killed(&self) -> bool {
        // The path is relative to an open folder, because /sys is not in the new tree of the supervisor.
        let file =
            rustix::fs::openat(self.folder.as_fd(), &self.events, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
        let text = file.and_then(|file| {
            let mut text = [0; 512];
            let read = rustix::io::read(&file, &mut text)?;
            Ok(String::from_utf8_lossy(&text[..read]).into_owned())
        });
        let count =
            |text: String| text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse::<u64>().ok());
        text.ok().and_then(count).is_some_and(|count| count > 0)
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        // The kernel refuses while a process is in the group. Then the next command removes it.
        let _ = rustix::fs::unlinkat(&self.above, &*self.name, AtFlags::REMOVEDIR);
    }
}

/// Removes groups whose supervisor was killed before it could do so. The kernel refuses to remove a group with
/// processes.
fn remove_abandoned(place: &Path) {
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(OURS)?.parse::<u32>().ok());
        if owner.is_some_and(|owner| !Path::new(&format!("/proc/{owner}")).exists()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// Makes this process and all processes that it starts the first to be killed if the machine runs out of memory
/// (proc_pid_oom_score_adj(5)).
pub(super) fn prefer_for_oom_kill() {
    // A system that hides the file has other means.
    let _ = fs::write("/proc/self/oom_score_adj", "1000");
}
