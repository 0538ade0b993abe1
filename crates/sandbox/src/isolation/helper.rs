//! Which program sets up the sandbox: this one again, or one that is installed.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// The first argument that asks a program to be the helper.
pub(super) const ENTER: &str = "--toolfence-enter-sandbox";

/// The one that asks it to create the namespaces of a session.
pub(super) const BEGIN_SESSION: &str = "--toolfence-begin-session";

/// The one that asks it to keep a container.
pub(super) const KEEP_CONTAINER: &str = "--toolfence-keep-container";

/// The one that asks it to supervise a command without a sandbox.
pub(super) const SUPERVISE: &str = "--toolfence-supervise";

/// Programs that are helpers when they are asked.
const PROGRAMS: &[&str] = &["toolfence-sandbox", "coder"];

/// Whether the `main` of this program asked [`enter_if_asked`](super::enter_if_asked).
static HOOKED: AtomicBool = AtomicBool::new(false);

pub(super) fn is_hooked() {
    HOOKED.store(true, Ordering::Relaxed);
}

/// This program where it can be started again; or else one beside it or in the PATH of the commands, which has no folder of
/// the project.
pub(super) fn find(search_path: &OsStr) -> Option<PathBuf> {
    if HOOKED.load(Ordering::Relaxed) {
        // The file that runs, even where another has taken its name.
        return Some("/proc/self/exe".into());
    }
    let own = std::env::current_exe().ok();
    let beside = own.as_deref().and_then(Path::parent).map(|folder| folder.join(PROGRAMS[0]));
    let in_path =
        PROGRAMS.iter().flat_map(|name| std::env::split_paths(search_path).map(move |folder| folder.join(name)));
    beside.into_iter().chain(in_path).find(|path| path.is_file())
}
