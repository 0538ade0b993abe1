//! Where a test can end the process: at every step that changes the disk.
//!
//! Outside of the tests of this crate nothing of it is compiled.

/// The next step is about to be taken.
#[cfg(not(test))]
pub(crate) fn point() {}

#[cfg(test)]
pub(crate) use counted::point;

/// How much of a content is written between two points.
pub(super) const PIECE: usize = if cfg!(test) { 16 } else { 8 << 20 };

#[cfg(test)]
pub(crate) mod counted {
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Names the variable with the number of the point, from 1, at which the process is killed.
    pub(crate) const AT: &str = "TOOLFENCE_TEST_KILL_AT";

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

    /// How many points were passed.
    pub(crate) fn passed() -> usize {
        PASSED.load(Ordering::Relaxed)
    }
}
