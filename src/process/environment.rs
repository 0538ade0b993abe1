//! The environment of a child: an allow list, so that no key or token of the host gets in.

use std::ffi::{OsStr, OsString};
use std::path::Path;

/// What is passed on as it is: who and where one is, language, and where toolchains live.
const PASSED: &[&str] = &[
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "CARGO_HOME",
    "CARGO_TARGET_DIR",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "GOPATH",
    "GOROOT",
    "JAVA_HOME",
    "NVM_DIR",
    "PYENV_ROOT",
    "VIRTUAL_ENV",
];

/// What is the same for every command: no terminal, no pager, no prompt.
const FIXED: &[(&str, &str)] = &[
    ("TERM", "dumb"),
    ("NO_COLOR", "1"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("PIP_NO_INPUT", "1"),
];

/// Where the caller has no PATH.
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The environment for a command, made from the variables of the host (usually [`std::env::vars_os`]).
pub fn environment(host: impl IntoIterator<Item = (OsString, OsString)>) -> Vec<(OsString, OsString)> {
    let mut path = OsString::from(DEFAULT_PATH);
    let mut all: Vec<(OsString, OsString)> = Vec::new();
    for (name, value) in host {
        if name == "PATH" {
            path = absolute_only(&value).unwrap_or(path);
        } else if is_passed(&name) {
            all.push((name, value));
        }
    }
    all.push(("PATH".into(), path));
    all.extend(FIXED.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))));
    all.sort_unstable();
    all
}

fn is_passed(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| PASSED.contains(&name) || name.starts_with("LC_"))
}

/// A relative folder in PATH would be one of the project: its author may be the model.
fn absolute_only(path: &OsStr) -> Option<OsString> {
    let folders: Vec<_> = std::env::split_paths(path).filter(|folder| Path::is_absolute(folder)).collect();
    std::env::join_paths(folders).ok().filter(|path| !path.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_stay_outside() {
        let host = [
            ("HOME", "/home/u"),
            ("PATH", ".:/usr/bin::bin:/bin"),
            ("LC_ALL", "C"),
            ("OPENAI_API_KEY", "sk-1"),
            ("BASH_ENV", "/evil"),
            ("LD_PRELOAD", "/evil.so"),
            ("PAGER", "less"),
        ];
        let made = environment(host.map(|(name, value)| (name.into(), value.into())));
        let get = |wanted: &str| made.iter().find(|(name, _)| name == wanted).and_then(|(_, value)| value.to_str());
        assert_eq!((get("HOME"), get("PATH"), get("LC_ALL")), (Some("/home/u"), Some("/usr/bin:/bin"), Some("C")));
        assert_eq!((get("PAGER"), get("TERM")), (Some("cat"), Some("dumb")));
        assert_eq!((get("OPENAI_API_KEY"), get("BASH_ENV"), get("LD_PRELOAD")), (None, None, None));
    }
}
