//! The environment of a command: one table with a rule for each variable in each backend.
//!
//! It is an allow list: variables that it does not list, such as a key or token of the host, are not passed to any
//! command.

use Rule::{AsOutside, InProjectOr, Passed, Removed, SearchPath, Set, SetWithoutNetwork};
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// How a command gets a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// The command gets the variable with the host's value.
    Passed,
    /// The command gets what a command without a sandbox gets.
    AsOutside,
    /// The command gets the host's value if that is a path in the project, and otherwise the value of this rule.
    InProjectOr(Option<&'static str>),
    /// The command gets this value, regardless of the host's.
    Set(&'static str),
    /// The command gets this value if it has no network; otherwise it does not get the variable.
    SetWithoutNetwork(&'static str),
    /// The command gets the PATH of the project's commands.
    SearchPath,
    /// The command does not get the variable, or gets the value in the image of a container.
    Removed,
}

/// A row of the table.
#[derive(Debug)]
pub struct Variable {
    /// The name of the variable.
    pub name: &'static str,
    /// The rule without a sandbox.
    pub outside: Rule,
    /// The rule in a sandbox of namespaces, of bubblewrap or of Landlock alone.
    pub sandboxed: Rule,
    /// The rule in a container.
    pub container: Rule,
    /// The reason for the rules.
    pub why: &'static str,
}

const fn row(name: &'static str, outside: Rule, sandboxed: Rule, container: Rule, why: &'static str) -> Variable {
    Variable { name, outside, sandboxed, container, why }
}

/// Returns the row of a variable that turns off the retries of a tool. Without network each retry fails like the first
/// attempt, and some tools wait more than a minute in total.
const fn no_retries(name: &'static str, why: &'static str) -> Variable {
    row(name, Removed, SetWithoutNetwork("0"), SetWithoutNetwork("0"), why)
}

// Reasons that several rows share.
const LOCALE: &str = "the language; any other name that begins so may hold anything";
const TOOLCHAIN: &str = "where a toolchain lives; an image has its own";
const WRITTEN: &str = "a folder that is written; without the name programs take one that is there";
const BARE: &str = "a folder of the project can look like a repository without work tree, with settings of its own";
const SIGNATURES: &str = "git log would start a program that checks signatures";
const MONITOR: &str = "git status would start the monitor";

/// All variables that a command may have, with the rules for no sandbox, a sandbox and a container.
pub const TABLE: &[Variable] = &[
    row("HOME", Passed, AsOutside, Set("/tmp"), "the home; that of a container can be written and is private"),
    row("USER", Passed, AsOutside, Removed, "who and where one is"),
    row("LOGNAME", Passed, AsOutside, Removed, "who and where one is"),
    row("PATH", SearchPath, AsOutside, Removed, "the host's PATH without folders of the project; an image has its own"),
    row("LANG", Passed, AsOutside, AsOutside, "the language"),
    row("LANGUAGE", Passed, AsOutside, AsOutside, "the language"),
    row("LC_ALL", Passed, AsOutside, AsOutside, LOCALE),
    row("LC_ADDRESS", Passed, AsOutside, AsOutside, LOCALE),
    row("LC_COLLATE", Passed, AsOutside, AsOutside, LOCALE),
    row("LC_CTYPE", Passed, AsOutside, AsOutside, LOCALE),
    row("LC_IDENTIFICATION", Passed, AsOutside, AsOutside, LOCALE),
    row("LC_MEASUREMENT", Passed, AsOutside, AsOutside, LOCALE),
    row("LC_MESSAGES", Passed, AsOutside, AsOutside, LOCALE),
    row("LC_MONETARY", Passed, AsOutside, AsOutside, LOCALE),
    row("LC_NAME", Passed, AsOutside, AsOutside, LOCALE),
    row("LC_NUMERIC", Passed, AsOutside, AsOutside, LOCALE),
    row("LC_PAPER", Passed, AsOutside, AsOutside, LOCALE),
    row("LC_TELEPHONE", Passed, AsOutside, AsOutside, LOCALE),
    row("LC_TIME", Passed, AsOutside, AsOutside, LOCALE),
    row("TZ", Passed, AsOutside, AsOutside, "the time zone"),
    row("TMPDIR", Passed, InProjectOr(Some("/tmp")), Set("/tmp"), "a folder that is there and can be written"),
    row("XDG_CACHE_HOME", Passed, InProjectOr(None), Removed, WRITTEN),
    row("XDG_CONFIG_HOME", Passed, InProjectOr(None), Removed, WRITTEN),
    row("XDG_DATA_HOME", Passed, InProjectOr(None), Removed, WRITTEN),
    row("CARGO_TARGET_DIR", Passed, InProjectOr(None), Removed, WRITTEN),
    row("CARGO_HOME", Passed, AsOutside, Removed, TOOLCHAIN),
    row("RUSTUP_HOME", Passed, AsOutside, Removed, TOOLCHAIN),
    row("RUSTUP_TOOLCHAIN", Passed, AsOutside, Removed, TOOLCHAIN),
    row("GOPATH", Passed, AsOutside, Removed, TOOLCHAIN),
    row("GOROOT", Passed, AsOutside, Removed, TOOLCHAIN),
    row("JAVA_HOME", Passed, AsOutside, Removed, TOOLCHAIN),
    row("NVM_DIR", Passed, AsOutside, Removed, TOOLCHAIN),
    row("PYENV_ROOT", Passed, AsOutside, Removed, TOOLCHAIN),
    row("VIRTUAL_ENV", Passed, AsOutside, Removed, TOOLCHAIN),
    row("TERM", Set("dumb"), AsOutside, AsOutside, "no terminal"),
    row("NO_COLOR", Set("1"), AsOutside, AsOutside, "no terminal"),
    row("PAGER", Set("cat"), AsOutside, AsOutside, "no pager"),
    row("GIT_PAGER", Set("cat"), AsOutside, AsOutside, "no pager"),
    row("MANPAGER", Set("cat"), AsOutside, AsOutside, "no pager"),
    row("GIT_TERMINAL_PROMPT", Set("0"), AsOutside, AsOutside, "no prompt"),
    row(
        "GIT_OPTIONAL_LOCKS",
        Set("0"),
        AsOutside,
        AsOutside,
        "what only reads writes no index: git status would, and run a hook",
    ),
    row(
        "GIT_CONFIG_COUNT",
        Set("4"),
        AsOutside,
        AsOutside,
        "settings over all files of settings, so that what only reads runs no program of the repository",
    ),
    row("GIT_CONFIG_KEY_0", Set("core.fsmonitor"), AsOutside, AsOutside, MONITOR),
    row("GIT_CONFIG_VALUE_0", Set("false"), AsOutside, AsOutside, MONITOR),
    row("GIT_CONFIG_KEY_1", Set("core.hooksPath"), AsOutside, AsOutside, "no hook"),
    row("GIT_CONFIG_VALUE_1", Set("/dev/null"), AsOutside, AsOutside, "no hook"),
    row("GIT_CONFIG_KEY_2", Set("safe.bareRepository"), AsOutside, AsOutside, BARE),
    row("GIT_CONFIG_VALUE_2", Set("explicit"), AsOutside, AsOutside, BARE),
    row("GIT_CONFIG_KEY_3", Set("log.showSignature"), AsOutside, AsOutside, SIGNATURES),
    row("GIT_CONFIG_VALUE_3", Set("false"), AsOutside, AsOutside, SIGNATURES),
    row("DEBIAN_FRONTEND", Set("noninteractive"), AsOutside, AsOutside, "no prompt"),
    row("PIP_NO_INPUT", Set("1"), AsOutside, AsOutside, "no prompt"),
    no_retries("npm_config_fetch_retries", "npm and pnpm up to version 10 wait 10 and 60 s between attempts"),
    no_retries("pnpm_config_fetch_retries", "pnpm from version 11 reads this name only"),
    no_retries("YARN_HTTP_RETRY", "yarn from version 2 makes 3 more attempts"),
    row(
        "PIP_RETRIES",
        Removed,
        SetWithoutNetwork("1"),
        SetWithoutNetwork("1"),
        "pip makes 5 more attempts; only the warning before one of them names the failed lookup",
    ),
    no_retries("UV_HTTP_RETRIES", "uv makes 3 more attempts"),
    no_retries("CARGO_NET_RETRY", "cargo makes 3 more attempts"),
    no_retries("BUNDLE_RETRY", "Bundler makes 3 more attempts"),
];

/// Returns the environment of a command without a sandbox, from the variables of the host (usually
/// [`std::env::vars_os`]) and the PATH of the project's commands, which differs from the host's.
pub fn without_sandbox(
    host: impl IntoIterator<Item = (OsString, OsString)>,
    search_path: &OsStr,
) -> Vec<(OsString, OsString)> {
    let host: Vec<_> = host.into_iter().collect();
    let value = |variable: &Variable| match variable.outside {
        Passed => host.iter().find(|(name, _)| name == variable.name).map(|(_, value)| value.clone()),
        Set(value) => Some(value.into()),
        SearchPath => Some(search_path.to_owned()),
        AsOutside | InProjectOr(_) | SetWithoutNetwork(_) | Removed => None,
    };
    let mut all: Vec<_> = TABLE.iter().filter_map(|row| Some((row.name.into(), value(row)?))).collect();
    all.sort_unstable();
    all
}

/// Returns the environment of a command in a sandbox around the project at `root`, derived from `outside`, its
/// environment without a sandbox. `network` is `true` if the command may use the network.
pub fn sandboxed(outside: &[(OsString, OsString)], root: &Path, network: bool) -> Vec<(OsString, OsString)> {
    let in_project = |value: &&OsString| Path::new(value).is_relative() || Path::new(value).starts_with(root);
    let value = |variable: &Variable| {
        let has = outside.iter().find(|(name, _)| name == variable.name).map(|(_, value)| value);
        match variable.sandboxed {
            AsOutside => has.cloned(),
            InProjectOr(other) => has.filter(in_project).cloned().or(other.map(Into::into)),
            Set(value) => Some(value.into()),
            SetWithoutNetwork(value) => (!network).then(|| value.into()),
            Passed | SearchPath | Removed => None,
        }
    };
    TABLE.iter().filter_map(|row| Some((row.name.into(), value(row)?))).collect()
}

/// Returns the values of the container engine's `--env` options. For a name without a value, the engine passes on the
/// variable of its client.
#[cfg(target_os = "linux")]
pub(crate) fn of_container(network: bool) -> impl Iterator<Item = String> {
    TABLE.iter().filter_map(move |row| match row.container {
        AsOutside => Some(row.name.to_owned()),
        Set(value) => Some(format!("{}={value}", row.name)),
        SetWithoutNetwork(value) if !network => Some(format!("{}={value}", row.name)),
        _ => None,
    })
}

/// Returns `true` if the table has this variable. A command may set other variables itself, such as those for a git
/// call.
#[cfg(target_os = "linux")]
pub(crate) fn is_in_table(name: &OsStr) -> bool {
    TABLE.iter().any(|row| name == row.name)
}

/// Host variables by which a container client finds its engine. None of them reaches the container.
#[cfg(target_os = "linux")]
const CLIENT: &[&str] = &[
    "HOME",
    "PATH",
    "XDG_RUNTIME_DIR",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "DBUS_SESSION_BUS_ADDRESS",
    "DOCKER_HOST",
    "DOCKER_CONTEXT",
    "DOCKER_CONFIG",
    "CONTAINER_HOST",
    "CONTAINERS_CONF",
];

/// Returns the environment of the container engine's client, with the host's values.
#[cfg(target_os = "linux")]
pub(crate) fn of_client() -> impl Iterator<Item = (&'static str, OsString)> {
    CLIENT.iter().filter_map(|name| Some((*name, std::env::var_os(name)?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn variables(all: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        all.iter().map(|(name, value)| (name.into(), value.into())).collect()
    }

    #[test]
    fn keys_are_not_passed_to_commands() {
        let host = variables(&[
            ("HOME", "/home/u"),
            ("PATH", ".:/evil"),
            ("LC_ALL", "C"),
            ("LC_SECRET", "s"),
            ("OPENAI_API_KEY", "sk-1"),
            ("BASH_ENV", "/evil"),
            ("LD_PRELOAD", "/evil.so"),
            ("PAGER", "less"),
        ]);
        let made = without_sandbox(host, OsStr::new("/usr/bin:/bin"));
        let get = |wanted: &str| made.iter().find(|(name, _)| name == wanted).and_then(|(_, value)| value.to_str());
        assert_eq!((get("HOME"), get("PATH"), get("LC_ALL")), (Some("/home/u"), Some("/usr/bin:/bin"), Some("C")));
        assert_eq!((get("PAGER"), get("TERM")), (Some("cat"), Some("dumb")));
        for name in ["OPENAI_API_KEY", "BASH_ENV", "LD_PRELOAD", "LC_SECRET"] {
            assert_eq!(get(name), None, "{name}");
        }
    }

    #[test]
    fn folders_outside_of_the_project_are_left_out_in_a_sandbox() {
        let had =
            variables(&[("TMPDIR", "/var/tmp"), ("CARGO_TARGET_DIR", "/p/target"), ("XDG_DATA_HOME", "/home/u/data")]);
        let inside = sandboxed(&had, Path::new("/p"), true);
        assert_eq!(inside, variables(&[("TMPDIR", "/tmp"), ("CARGO_TARGET_DIR", "/p/target")]));
    }

    #[test]
    fn retries_are_off_only_in_a_sandbox_without_network() {
        let host = without_sandbox(variables(&[("PIP_RETRIES", "9")]), OsStr::new("/bin"));
        let value = |all: &[(OsString, OsString)], wanted: &str| {
            all.iter().find(|(name, _)| name == wanted).and_then(|(_, value)| value.to_str().map(str::to_owned))
        };
        let (without, with) = (sandboxed(&host, Path::new("/p"), false), sandboxed(&host, Path::new("/p"), true));
        for (name, want) in [("npm_config_fetch_retries", "0"), ("PIP_RETRIES", "1"), ("CARGO_NET_RETRY", "0")] {
            assert_eq!(value(&without, name).as_deref(), Some(want), "{name}");
            assert_eq!((value(&with, name), value(&host, name)), (None, None), "{name}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn retries_are_off_in_a_container_without_network() {
        let has = |network: bool| of_container(network).any(|option| option == "CARGO_NET_RETRY=0");
        assert_eq!((has(false), has(true)), (true, false));
    }

    #[test]
    fn variables_are_unique_and_not_secret() {
        let names: BTreeSet<_> = TABLE.iter().map(|row| row.name).collect();
        assert_eq!(names.len(), TABLE.len());
        for row in TABLE {
            assert!(matches!(row.outside, Passed | Set(_) | SearchPath | Removed), "{}", row.name);
            assert!(
                matches!(row.sandboxed, AsOutside | InProjectOr(_) | Set(_) | SetWithoutNetwork(_) | Removed),
                "{}",
                row.name
            );
            assert!(matches!(row.container, AsOutside | Set(_) | SetWithoutNetwork(_) | Removed), "{}", row.name);
            let secret = ["TOKEN", "SECRET", "PASS", "CREDENTIAL", "API", "AUTH"];
            assert!(!secret.iter().any(|word| row.name.contains(word)), "{}", row.name);
            assert!(!row.why.is_empty(), "{}", row.name);
        }
    }
}
