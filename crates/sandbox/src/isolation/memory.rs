//! How much memory a command and all it starts may use.
//!
//! No limit of addresses (`RLIMIT_AS`): AddressSanitizer and WebAssembly reserve terabytes that they never touch. Where a cgroup
//! can be made that has the memory controller, the kernel holds the limit; everywhere the memory of all processes is summed
//! several times a second, which also finds the words for it. What lies in temporary folders is no process's: it has a size
//! of its own.

use super::descendants::{self, Descendant};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use std::collections::HashSet;
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Between two sums.
const PAUSE: Duration = Duration::from_millis(250);

/// A sum may take this part of the time, where there are very many processes.
const PART: u32 = 20;

/// Where version 2 of cgroups is mounted, on a system that has nothing but it.
const GROUPS: &str = "/sys/fs/cgroup";

/// What stands before the number of the supervisor in the name of a group.
const OURS: &str = "toolfence-";

/// The limit of one command.
#[derive(Debug)]
pub(super) struct Limit {
    most: u64,
    group: Option<Cgroup>,
    pause: Duration,
}

impl Limit {
    /// Of so many bytes; 0 is none. To be made before the system is out of sight.
    pub(super) fn new(most: u64) -> Limit {
        let group = if most > 0 { Cgroup::new(most) } else { None };
        Limit { most, group, pause: PAUSE }
    }

    /// Puts this process, which is about to start what is limited, under the limit, and makes it the first to go where the
    /// machine itself runs out of memory. Called in a child: the group is its parent's to remove.
    pub(super) fn enter(self) {
        if let Some(group) = self.group {
            group.enter();
            std::mem::forget(group);
        }
    }

    /// Until the next look.
    pub(super) fn pause(&self) -> Option<Duration> {
        (self.most > 0).then_some(self.pause)
    }

    /// Whether what descends from the process of this name in /proc uses too much.
    pub(super) fn is_exceeded(&mut self, top: &str) -> bool {
        let started = Instant::now();
        let all = descendants::below(top);
        let exceeded = self.most > 0 && is_more(&all, self.most);
        self.pause = PAUSE.max(started.elapsed() * PART);
        exceeded
    }

    /// Whether the kernel has ended something of the group because of the limit.
    pub(super) fn has_killed(&self) -> bool {
        self.group.as_ref().is_some_and(Cgroup::has_killed)
    }
}

/// A page that is shared between a process and its forks stands in the numbers of each, so their sum is too high by far for a
/// server with workers. The exact sum costs a walk over all page tables: it is made only where the cheap one is too much.
fn is_more(all: &[Descendant], most: u64) -> bool {
    let files = files_in_memory(all);
    let sum = |of: &dyn Fn(i32) -> Option<Use>| {
        let all = all.iter().filter_map(|one| of(one.pid)).fold(Use::default(), Use::and);
        // What is mapped of the files is in both numbers.
        all.own.saturating_add(all.shared.max(files))
    };
    sum(&at_most) > most && sum(&|pid| exactly(pid).or_else(|| at_most(pid))) > most
}

/// Bytes of memory that one or more processes use; not what files on a disk hold, which the kernel can drop.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Use {
    /// Of their own, and swapped.
    own: u64,
    /// Of shared memory.
    shared: u64,
}

impl Use {
    fn and(self, other: Use) -> Use {
        Use { own: self.own.saturating_add(other.own), shared: self.shared.saturating_add(other.shared) }
    }
}

/// proc_pid_status(5): a page counts for each process that has it.
fn at_most(pid: i32) -> Option<Use> {
    use_of(&format!("/proc/{pid}/status"), ["RssAnon:", "VmSwap:", "RssShmem:"])
}

/// proc_pid_smaps(5): a page counts by the part that is this process's.
fn exactly(pid: i32) -> Option<Use> {
    use_of(&format!("/proc/{pid}/smaps_rollup"), ["Pss_Anon:", "SwapPss:", "Pss_Shmem:"])
}

/// What these lines say; `None` where there is none of them.
fn use_of(file: &str, [own, swapped, shared]: [&str; 3]) -> Option<Use> {
    let text = fs::read_to_string(file).ok()?;
    let value = |line: &str| {
        let mut words = line.split_whitespace();
        let name = words.next()?;
        let bytes = words.next()?.parse::<u64>().ok()?.saturating_mul(1024);
        match name {
            name if name == own || name == swapped => Some(Use { own: bytes, shared: 0 }),
            name if name == shared => Some(Use { own: 0, shared: bytes }),
            _ => None,
        }
    };
    text.lines().filter_map(value).reduce(Use::and)
}

/// Bytes of the files without a name that are made by memfd_create(2): what is only written to them, and not mapped, is in no
/// number of a process.
fn files_in_memory(all: &[Descendant]) -> u64 {
    /// Of one process.
    const MOST_OPEN: usize = 16_384;
    let mut seen = HashSet::new();
    let mut bytes = 0_u64;
    for one in all {
        let open = fs::read_dir(format!("/proc/{}/fd", one.pid)).into_iter().flatten().flatten();
        for entry in open.take(MOST_OPEN) {
            let is_one =
                fs::read_link(entry.path()).is_ok_and(|to| to.as_os_str().as_encoded_bytes().starts_with(b"/memfd:"));
            let Some(stat) = is_one.then(|| fs::metadata(entry.path()).ok()).flatten() else { continue };
            if seen.insert((stat.dev(), stat.ino())) {
                bytes = bytes.saturating_add(stat.blocks().saturating_mul(512));
            }
        }
    }
    bytes
}

/// A cgroup of one command. Dropping it removes it.
#[derive(Debug)]
struct Cgroup {
    above: OwnedFd,
    name: String,
    processes: fs::File,
    events: PathBuf,
    folder: OwnedFd,
}

impl Cgroup {
    /// Beside this process or below it, where the memory controller is handed down to groups and this user may make one.
    fn new(most: u64) -> Option<Cgroup> {
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        let own = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
        let own = Path::new(GROUPS).join(own);
        // A group that holds processes hands nothing down (cgroups(7)), so it is mostly the one above.
        let above = own.parent().filter(|above| above.starts_with(GROUPS));
        [Some(own.as_path()), above].into_iter().flatten().find_map(|place| Cgroup::within(place, most).ok())
    }

    fn within(place: &Path, most: u64) -> io::Result<Cgroup> {
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
        // Without swap there is no such file. One that goes takes all with it: half a build is no use to anybody.
        for (name, value) in [("memory.swap.max", "0"), ("memory.oom.group", "1")] {
            let _ = open(name).map(|mut file| file.write_all(value.as_bytes()));
        }
        let processes = open("cgroup.procs")?;
        Ok((processes, folder))
    }

    /// Zero stands for the process that writes it.
    fn enter(&self) {
        // Where the kernel refuses, the sum is the limit.
        let _ = (&self.processes).write_all(b"0");
    }

    fn has_killed(&self) -> bool {
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
        // What is not empty stays for the next one to remove.
        let _ = rustix::fs::unlinkat(&self.above, &*self.name, AtFlags::REMOVEDIR);
    }
}

/// Removes groups whose supervisor was killed before it could: a group that holds a process is refused by the kernel.
fn remove_abandoned(place: &Path) {
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(OURS)?.parse::<u32>().ok());
        if owner.is_some_and(|owner| !Path::new(&format!("/proc/{owner}")).exists()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// Makes this process and all it starts the first to go where the machine runs out of memory (proc_pid_oom_score_adj(5)).
pub(super) fn be_first_to_go() {
    // A system that hides the file has other means.
    let _ = fs::write("/proc/self/oom_score_adj", "1000");
}
