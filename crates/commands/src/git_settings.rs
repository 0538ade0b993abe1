//! Git settings in the environment of a command.

use std::ffi::OsString;

/// Settings of every command on a private layer. Git must not start background processes, because they end with the
/// command. It must write neither commit graphs nor recorded resolutions of conflicts, because a repository with such
/// changes is not kept.
const ON_A_LAYER: &[(&str, &str)] = &[
    ("maintenance.auto", "false"),
    ("gc.auto", "0"),
    ("gc.writeCommitGraph", "false"),
    ("fetch.writeCommitGraph", "false"),
    ("rerere.enabled", "false"),
];

/// Variables of every command on a private layer, where no user sees an editor. For git, `:` is an editor that changes
/// nothing.
const EDITORS: &[(&str, &str)] = &[("GIT_EDITOR", ":"), ("GIT_SEQUENCE_EDITOR", ":"), ("GIT_MERGE_AUTOEDIT", "no")];

/// Changes the environment of a command on a private layer, so that hooks of the project run, and git has the `own`
/// settings of the user.
pub(crate) fn on_a_layer(environment: &mut Vec<(OsString, OsString)>, own: Vec<(String, String)>) {
    for (name, value) in EDITORS {
        if !environment.iter().any(|(known, _)| known == name) {
            environment.push((name.into(), value.into()));
        }
    }
    let mut keys = configuration(environment);
    // Hooks may run here: they are confined like the command, and git's changes are judged afterwards.
    keys.retain(|(key, _)| !key.eq_ignore_ascii_case("core.hooksPath"));
    // Of two equal keys the last one wins, so the user's settings cannot change the fixed ones.
    keys.extend(own);
    keys.extend(ON_A_LAYER.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())));
    set_configuration(environment, keys);
}

/// Returns the keys and values that an environment sets over all files of settings (git-config(1), `GIT_CONFIG_COUNT`).
pub fn configuration(environment: &[(OsString, OsString)]) -> Vec<(String, String)> {
    let get = |name: &str| environment.iter().find(|(known, _)| known == name).and_then(|(_, value)| value.to_str());
    let count = get("GIT_CONFIG_COUNT").and_then(|count| count.parse::<usize>().ok()).unwrap_or(0);
    let pair = |index: usize| {
        let key = get(&format!("GIT_CONFIG_KEY_{index}"))?;
        Some((key.to_owned(), get(&format!("GIT_CONFIG_VALUE_{index}"))?.to_owned()))
    };
    (0..count).map_while(pair).collect()
}

/// Replaces the keys that an environment sets.
pub fn set_configuration(environment: &mut Vec<(OsString, OsString)>, keys: Vec<(String, String)>) {
    let is_of_keys = |name: &OsString| {
        name.to_str().is_some_and(|name| {
            name.starts_with("GIT_CONFIG_KEY_") || name.starts_with("GIT_CONFIG_VALUE_") || name == "GIT_CONFIG_COUNT"
        })
    };
    environment.retain(|(name, _)| !is_of_keys(name));
    environment.push(("GIT_CONFIG_COUNT".into(), keys.len().to_string().into()));
    for (index, (key, value)) in keys.into_iter().enumerate() {
        environment.push((format!("GIT_CONFIG_KEY_{index}").into(), key.into()));
        environment.push((format!("GIT_CONFIG_VALUE_{index}").into(), value.into()));
    }
}
