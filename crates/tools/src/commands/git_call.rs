//! A call that runs nothing but git, and may write the repositories of the project.
//!
//! Every other call finds them read-only. In this one git starts no program that a repository names: hooks, monitors,
//! editors, filters, drivers and helpers are off or are the system's, and no file of the project can be run as a program.

use std::ffi::OsString;
use std::path::PathBuf;
use toolfence_git::config::{keys_of, names_a_program, unset};
use toolfence_rules::git_config::{is_as_cloned, is_harmless};
use toolfence_workspace::{Covers, Workspace, names};

/// Variables that git asks before its configuration.
const VARIABLES: &[(&str, &str)] = &[
    // git takes `:` for an editor that leaves every text as it is, so a merge keeps its message.
    ("GIT_EDITOR", ":"),
    ("GIT_SEQUENCE_EDITOR", ":"),
    ("GIT_ASKPASS", ""),
    ("SSH_ASKPASS", ""),
    ("GIT_PROXY_COMMAND", ""),
    ("GIT_SSH_COMMAND", "ssh"),
    ("GIT_TEMPLATE_DIR", ""),
    ("GIT_MERGE_AUTOEDIT", "no"),
];

/// Changes the environment of a command so that git starts nothing a repository names, and knows the person's own settings
/// that are harmless: the home, where their file is, is hidden from commands.
pub(super) fn only_git(environment: &mut Vec<(OsString, OsString)>, workspace: &Workspace) {
    let set = |environment: &mut Vec<(OsString, OsString)>, name: &str, value: &str| {
        environment.retain(|(known, _)| known != name);
        environment.push((name.into(), value.into()));
    };
    for (name, value) in VARIABLES {
        set(environment, name, value);
    }
    let counted = environment.iter().find(|(name, _)| name == "GIT_CONFIG_COUNT");
    let mut count = counted.and_then(|(_, count)| count.to_str()?.parse::<usize>().ok()).unwrap_or(0);
    let mut add = |environment: &mut Vec<(OsString, OsString)>, key: &str, value: &str| {
        set(environment, &format!("GIT_CONFIG_KEY_{count}"), key);
        set(environment, &format!("GIT_CONFIG_VALUE_{count}"), value);
        count += 1;
    };
    if let Some(configured) = workspace.git_configuration() {
        let own = |key: &str| configured.local.iter().any(|(known, _)| known == key);
        for (key, value) in configured.global.iter().filter(|(key, _)| !own(key)) {
            if let Some(text) = value.as_deref().filter(|_| is_harmless(key, value.as_deref())) {
                add(environment, key, text);
            }
        }
        for (key, value) in configured.local.iter().chain(&configured.global) {
            for (key, value) in instead(key, value.as_deref().unwrap_or_default()) {
                add(environment, &key, &value);
            }
        }
    }
    set(environment, "GIT_CONFIG_COUNT", &count.to_string());
}

/// What stands in the place of a key that names a program: nothing, the system's own program, or one that fails where going on
/// without the program would write something else than the person wants.
fn instead(key: &str, value: &str) -> Vec<(String, String)> {
    if !names_a_program(key) {
        return Vec::new();
    }
    let (section, rest) = key.split_once('.').unwrap_or((key, ""));
    let (sub, name) = rest.rsplit_once('.').unwrap_or(("", rest));
    let is = |value: &str| vec![(key.to_owned(), value.to_owned())];
    match (section, name) {
        // A file that is stored unfiltered may be a secret in clear text, or gigabytes: better not stored at all.
        ("filter", _) if !is_large_file_storage(value) => {
            [is("false"), vec![(format!("filter.{sub}.required"), "true".to_owned())]].concat()
        }
        ("merge", "driver") => is("false"),
        ("diff", "textconv") | ("interactive", _) => is("cat"),
        ("diff", _) | ("trailer", _) => is("true"),
        ("gpg", "program") => is(match sub {
            "ssh" => "ssh-keygen",
            "x509" => "gpgsm",
            _ => "gpg",
        }),
        ("gpg", _) => is("true"),
        ("credential", _) => is(""),
        ("remote", "uploadpack") => is("git-upload-pack"),
        ("remote", "receivepack") => is("git-receive-pack"),
        ("submodule", _) if value.trim_start().starts_with('!') => is("checkout"),
        _ => Vec::new(),
    }
}

/// Git's own extension for large files is a program of the system, under its own name.
fn is_large_file_storage(value: &str) -> bool {
    let plain = !value.contains([';', '|', '&', '$', '`', '<', '>', '(', '\n', '/', '\'', '"']);
    plain && (value.starts_with("git-lfs ") || value.starts_with("git lfs "))
}

/// Keys of a configuration with their values.
type Keys = Vec<(String, Option<String>)>;

/// The configurations that such a call may write, as they were before it.
pub(super) struct Configurations {
    before: Vec<(PathBuf, Keys)>,
    /// What the person was asked about.
    command: String,
}

impl Configurations {
    /// Of the repositories that are writable in this call.
    pub(super) fn before(workspace: &Workspace, covers: &Covers, command: &str) -> Configurations {
        let keys = |file: PathBuf| {
            let git = workspace.git()?;
            Some((file.clone(), keys_of(git, &file).unwrap_or_default()))
        };
        let files = covers.kept().flat_map(|folder| {
            let folder = workspace.root().join(folder);
            [folder.join("config"), folder.join("config.worktree")]
        });
        let before = files.filter_map(keys).collect();
        Configurations { before, command: command.to_ascii_lowercase() }
    }

    /// Takes back keys that are new, may make git run something, and do not stand in the command; the sentences say which.
    pub(super) fn settle(self, workspace: &Workspace) -> Vec<String> {
        let Some(git) = workspace.git() else { return Vec::new() };
        let mut said = Vec::new();
        for (file, before) in self.before {
            let Ok(now) = keys_of(git, &file) else { continue };
            for (key, value) in now {
                let known = before.contains(&(key.clone(), value.clone()));
                let fine = is_harmless(&key, value.as_deref()) || is_as_cloned(&key, value.as_deref());
                if known || fine || self.command.contains(&key.to_ascii_lowercase()) {
                    continue;
                }
                let shown = names::shown(file.strip_prefix(workspace.root()).unwrap_or(&file));
                said.push(match unset(git, &file, &key, value.as_deref()) {
                    Ok(()) => format!(
                        "{shown} got the key {key}, which the command did not name and which may make git run programs. It was \
                         taken out again."
                    ),
                    Err(error) => format!(
                        "{shown} got the key {key}, which may make git run programs, and it could not be taken out ({error}). \
                         Do not run git there before you have looked at it."
                    ),
                });
            }
        }
        said
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_replaced_by_what_is_safe() {
        for (key, value, want) in [
            ("filter.lfs.clean", "git-lfs clean -- %f", ""),
            ("filter.x.clean", "./clean.sh", "false"),
            ("filter.x.smudge", "git-lfs x; ./evil", "false"),
            ("merge.x.driver", "./m %A", "false"),
            ("gpg.ssh.program", "./x", "ssh-keygen"),
            ("credential.https://a.b.helper", "!./x", ""),
            ("submodule.a.update", "!./x", "checkout"),
            ("submodule.a.update", "rebase", ""),
            ("user.name", "x", ""),
        ] {
            let found = instead(key, value);
            assert_eq!(found.first().map_or("", |(_, value)| value.as_str()), want, "{key} {value}");
        }
    }
}
