//! Points at which a test can kill the process: every step that changes the disk.
//!
//! Outside of this crate's tests, the functions are empty.

/// Marks the next step.
#[cfg(not(test))]
pub(crate) fn point() {}

#[cfg(test)]
pub(crate) use counted::point;

/// Records that this file is on the disk and survives a power failure.
#[cfg(not(test))]
pub(crate) fn settled(_: &std::path::Path) {}

#[cfg(test)]
pub(crate) use counted::settled;

/// Bytes of content that are written between two points.
pub(crate) const PIECE: usize = if cfg!(test) { 16 } else { 8 << 20 };

#[cfg(test)]
pub(crate) mod counted {
    use std::io::Write;
    use std::path::Path;
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// The variable with the number of the point, from 1, at which the process is killed.
    pub(crate) const AT: &str = "TOOLFENCE_TEST_KILL_AT";

    /// The variable with the file that lists the settled files, one per line with its length and name.
    pub(crate) const SETTLED: &str = "TOOLFENCE_TEST_SETTLED";

    static LIMIT: LazyLock<Option<usize>> = LazyLock::new(|| std::env::var(AT).ok()?.parse().ok());
    static PASSED: AtomicUsize = AtomicUsize::new(0);

    pub(crate) fn point() {
        let here = PASSED.fetch_add(1, Ordering::Relaxed) + 1;
        if *LIMIT == Some(here) {
            let own = rustix::process::getpid();
            let _ = rustix::process::kill_process(own, rustix::process::Signal::KILL);
            loop {
                std::thread::park();
            }
        }
    }

    pub(crate) fn settled(path: &Path) {
        if let Some(log) = std::env::var_os(SETTLED) {
            let bytes = std::fs::metadata(path).expect("it is there").len();
            let log = std::fs::OpenOptions::new().append(true).create(true).open(log);
            writeln!(log.expect("it can be opened"), "{bytes} {}", path.display()).expect("it can be written");
        }
    }

    /// Returns the number of passed points.
    pub(crate) fn passed() -> usize {
        PASSED.load(Ordering::Relaxed)
    }
}
