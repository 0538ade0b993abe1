//! Selects the program that sets up the sandbox: this one again, or one that is installed.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// The first argument of a helper that runs a command in the sandbox.
pub(super) const ENTER: &str = "--toolfence-enter-sandbox";

/// The first argument of a helper that creates the namespaces of a session.
pub(super) const BEGIN_SESSION: &str = "--toolfence-begin-session";

/// The first argument of a helper that supervises a container.
pub(super) const KEEP_CONTAINER: &str = "--toolfence-keep-container";

/// The first argument of a helper that supervises a command without a sandbox.
pub(super) const SUPERVISE: &str = "--toolfence-supervise";

/// Programs that can be started as helpers.
const PROGRAMS: &[&str] = &["toolfence-sandbox", "coder"];

/// Whether the `main` of this program called [`enter_if_asked`](super::enter_if_asked).
static HOOKED: AtomicBool = AtomicBool::new(false);

pub(super) fn is_hooked() {
    HOOKED.store(true, Ordering::Relaxed);
}

/// Returns this program if it can be started again. Otherwise returns a helper in its folder, or in the PATH of the
/// commands, which has no folder of the project.
pub(super) fn find(search_path: &OsStr) -> Option<PathBuf> {
    if HOOKED.load(Ordering::Relaxed) {
        // This path leads to the running program, even if an update has replaced its file, so host and helper are of
        // one build.
        return Some("/proc/self/exe".into());
    }
    let own = std::env::current_exe().ok();
    let beside = own.as_deref().and_then(Path::parent).map(|folder| folder.join(PROGRAMS[0]));
    let in_path =
        PROGRAMS.iter().flat_map(|name| std::env::split_paths(search_path).map(move |folder| folder.join(name)));
    beside.into_iter().chain(in_path).find(|path| path.is_file())
}
