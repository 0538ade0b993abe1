//! Selects the program that sets up the sandbox: this one again, or one that is installed.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// The first argument that makes a program the helper.
pub(super) const ENTER: &str = "--toolfence-enter-sandbox";

/// The argument that makes it create the namespaces of a session.
pub(super) const BEGIN_SESSION: &str = "--toolfence-begin-session";

/// The argument that makes it supervise a container.
pub(super) const KEEP_CONTAINER: &str = "--toolfence-keep-container";

/// The argument that makes it supervise a command without a sandbox.
pub(super) const SUPERVISE: &str = "--toolfence-supervise";

/// Programs that can be started as helpers.
const PROGRAMS: &[&str] = &["toolfence-sandbox", "coder"];

/// Whether the `main` of this program called [`enter_if_asked`](super::enter_if_asked).
static HOOKED: AtomicBool = AtomicBool::new(false);

pub(super) fn is_hooked() {
    HOOKED.store(true, Ordering::Relaxed);
}

/// Returns this program if it can be started again, or else one in its folder or in the PATH of the commands, which has
/// no folder of the project.
pub(super) fn find(search_path: &OsStr) -> Option<PathBuf> {
    if HOOKED.load(Ordering::Relaxed) {
        // This refers to the running file, even if another one has its name by now.
        return Some("/proc/self/exe".into());
    }
    let own = std::env::current_exe().ok();
    let beside = own.as_deref().and_then(Path::parent).map(|folder| folder.join(PROGRAMS[0]));
    let in_path =
        PROGRAMS.iter().flat_map(|name| std::env::split_paths(search_path).map(move |folder| folder.join(name)));
    beside.into_iter().chain(in_path).find(|path| path.is_file())
}
