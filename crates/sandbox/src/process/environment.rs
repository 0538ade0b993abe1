//! The environment of a child: an allow list, so that no key or token of the host gets in.

use std::ffi::{OsStr, OsString};

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

/// What is the same for every command: no terminal, no pager, no prompt, and no program that a repository chooses.
const FIXED: &[(&str, &str)] = &[
    ("TERM", "dumb"),
    ("NO_COLOR", "1"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    // Settings over all files of settings: what only reads shall not run programs of the repository. `git status` would
    // start the monitor, and write the index and run a hook.
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_CONFIG_COUNT", "4"),
    ("GIT_CONFIG_KEY_0", "core.fsmonitor"),
    ("GIT_CONFIG_VALUE_0", "false"),
    ("GIT_CONFIG_KEY_1", "core.hooksPath"),
    ("GIT_CONFIG_VALUE_1", "/dev/null"),
    // A folder of the project can look like a repository without work tree, with settings of its own.
    ("GIT_CONFIG_KEY_2", "safe.bareRepository"),
    ("GIT_CONFIG_VALUE_2", "explicit"),
    ("GIT_CONFIG_KEY_3", "log.showSignature"),
    ("GIT_CONFIG_VALUE_3", "false"),
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("PIP_NO_INPUT", "1"),
];

/// The environment for a command, made from the variables of the host (usually [`std::env::vars_os`]) and the PATH its
/// programs are looked for in, which is not the host's own: see `Workspace::search_path`.
pub fn environment(
    host: impl IntoIterator<Item = (OsString, OsString)>,
    search_path: &OsStr,
) -> Vec<(OsString, OsString)> {
    let mut all: Vec<(OsString, OsString)> = host.into_iter().filter(|(name, _)| is_passed(name)).collect();
    all.push(("PATH".into(), search_path.to_owned()));
    all.extend(FIXED.iter().map(|(name, value)| (OsString::from(name), OsString::from(value))));
    all.sort_unstable();
    all
}

fn is_passed(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| PASSED.contains(&name) || name.starts_with("LC_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_stay_outside() {
        let host = [
            ("HOME", "/home/u"),
            ("PATH", ".:/evil"),
            ("LC_ALL", "C"),
            ("OPENAI_API_KEY", "sk-1"),
            ("BASH_ENV", "/evil"),
            ("LD_PRELOAD", "/evil.so"),
            ("PAGER", "less"),
        ];
        let made = environment(host.map(|(name, value)| (name.into(), value.into())), OsStr::new("/usr/bin:/bin"));
        let get = |wanted: &str| made.iter().find(|(name, _)| name == wanted).and_then(|(_, value)| value.to_str());
        assert_eq!((get("HOME"), get("PATH"), get("LC_ALL")), (Some("/home/u"), Some("/usr/bin:/bin"), Some("C")));
        assert_eq!((get("PAGER"), get("TERM")), (Some("cat"), Some("dumb")));
        assert_eq!((get("OPENAI_API_KEY"), get("BASH_ENV"), get("LD_PRELOAD")), (None, None, None));
    }
}
