//! The environment inside: what points to folders that are not there is left out.

use std::ffi::OsString;
use std::path::Path;

/// Variables that name folders to write into. Without them programs take places that are there.
const FOLDERS: &[&str] = &[
    "TMPDIR",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_STATE_HOME",
    "XDG_RUNTIME_DIR",
    "CARGO_TARGET_DIR",
];

/// The environment of a command inside the sandbox of the project at `root`, made of the one it would have outside.
pub fn environment(outside: &[(OsString, OsString)], root: &Path) -> Vec<(OsString, OsString)> {
    let stays = |name: &OsString, value: &OsString| {
        let folder = name.to_str().is_some_and(|name| FOLDERS.contains(&name));
        !folder || Path::new(value).is_relative() || Path::new(value).starts_with(root)
    };
    let mut inside: Vec<_> = outside.iter().filter(|(name, value)| stays(name, value)).cloned().collect();
    if !inside.iter().any(|(name, _)| name == "TMPDIR") {
        inside.push(("TMPDIR".into(), "/tmp".into()));
    }
    inside
}
