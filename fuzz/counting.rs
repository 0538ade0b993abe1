//! Counts the instructions of a piece of work with callgrind. The counts do not depend on the load of the machine, and
//! include dependencies, the standard library and long copies.
//!
//! A counting program runs twice. The second process runs below callgrind, which counts its work. The first process
//! does the same work and reads the counts in the same order. So the work and its order must not depend on the counts.

use std::fs::File;
use std::hint::black_box;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

/// This variable is set in the process below callgrind.
const BELOW: &str = "TOOLFENCE_COUNTED";

/// The counts of the other process.
pub(crate) struct Counter(Option<std::vec::IntoIter<u64>>);

impl Counter {
    /// Runs the program again below callgrind and reads its counts.
    pub(crate) fn new() -> Self {
        Self((std::env::var_os(BELOW).is_none()).then(|| counts().into_iter()))
    }

    /// Returns the result of the work and the number of its instructions. Below callgrind the number is a placeholder.
    pub(crate) fn count<T>(&mut self, work: impl FnOnce() -> T) -> (T, u64) {
        let mut work = Some(work);
        let mut done = None;
        let mut run = || done = work.take().map(|work| work());
        let count = match &mut self.0 {
            Some(counts) => {
                run();
                counts.next().expect("the other process counted the same work")
            }
            None => {
                written_by_callgrind(&mut run);
                1
            }
        };
        (done.expect("the work was done"), count)
    }

    /// Fails if the other process counted more or fewer pieces of work, because then no count belongs to its work.
    pub(crate) fn finish(self) {
        let left = self.0.map_or(0, Iterator::count);
        assert_eq!(left, 0, "unused counts");
    }
}

/// Callgrind writes a count at its end.
#[inline(never)]
fn written_by_callgrind(work: &mut dyn FnMut()) {
    counted_by_callgrind(work);
    black_box(()); // or the call would be a jump
}

/// Callgrind counts only the instructions of this function.
#[inline(never)]
fn counted_by_callgrind(work: &mut dyn FnMut()) {
    work();
}

/// Returns the instructions of each piece of work of this program, in order.
fn counts() -> Vec<u64> {
    let program = std::env::current_exe().expect("a program knows where it is");
    let folder = std::env::temp_dir().join(format!("toolfence-counts-{}", std::process::id()));
    std::fs::create_dir(&folder).expect("a folder for the counts");
    let status = Command::new("valgrind")
        .args(["--quiet", "--tool=callgrind", "--combine-dumps=yes", "--toggle-collect=*counted_by_callgrind*"])
        .arg("--dump-after=*written_by_callgrind*")
        .arg(format!("--callgrind-out-file={}", folder.join("counts").display()))
        .arg(program)
        .args(std::env::args_os().skip(1))
        .env(BELOW, "1")
        // These settings switch glibc's fast bins and thread caches off, so that every `malloc` and `free` takes the
        // same path. Otherwise glibc merges freed blocks whenever a bin is full, and the work that runs at that time
        // pays for it: counts of the same work would differ by a third from run to run.
        .env("GLIBC_TUNABLES", "glibc.malloc.mxfast=0:glibc.malloc.tcache_count=0")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .expect("valgrind runs; it is in the package of that name");
    let counts = read(&folder.join("counts"));
    std::fs::remove_dir_all(&folder).expect("the folder of the counts goes");
    assert!(status.code().is_some(), "callgrind ended with {status}");
    counts
}

fn read(file: &Path) -> Vec<u64> {
    let lines = BufReader::new(File::open(file).expect("callgrind writes its counts")).lines();
    // The last total is for the end of the program and not for a piece of work.
    let totals =
        lines.map(|line| line.expect("a line")).filter_map(|line| Some(line.strip_prefix("totals: ")?.parse()));
    let mut counts: Vec<u64> = totals.map(|total| total.expect("a number")).collect();
    assert_eq!(counts.pop(), Some(0), "nothing is counted after the last work");
    counts
}
