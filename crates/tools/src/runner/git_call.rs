//! A call that runs nothing but git, and may write the repositories of the project.
//!
//! Every other call finds them read-only. In this one git starts no program that a repository names: hooks, monitors,
//! editors, filters, drivers and helpers are off or are the system's, and no file of the project can be run as a program.

use std::ffi::OsString;
use toolfence_commands::git_settings::{configuration, set_configuration};
use toolfence_workspace::Masks;
use toolfence_workspace::git::config::names_a_program;

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

/// Changes the environment of a command so that git starts nothing a repository names,
/// and knows the person's own settings that are harmless: the home, where their file is, is hidden from commands.
pub(super) fn only_git(environment: &mut Vec<(OsString, OsString)>, masks: &Masks) {
    let mut set = |name: &str, value: &str| {
        environment.retain(|(known, _)| known != name);
        environment.push((name.into(), value.into()));
    };
    for (name, value) in VARIABLES {
        set(name, value);
    }
    let mut keys = configuration(environment);
    keys.extend(masks.git_settings());
    if let Some(configured) = masks.git_configuration() {
        for (key, value) in configured.local.iter().chain(&configured.global) {
            keys.extend(instead(key, value.as_deref().unwrap_or_default()));
        }
    }
    set_configuration(environment, keys);
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
        ("hook", _) => vec![(format!("hook.{sub}.enabled"), "false".to_owned())],
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
            ("hook.lint.command", "./x", "false"),
            ("user.name", "x", ""),
        ] {
            let found = instead(key, value);
            assert_eq!(found.first().map_or("", |(_, value)| value.as_str()), want, "{key} {value}");
        }
    }
}
