//! The settings that a project's file may have.

use super::value::Layer;
use toolfence_protocol::{Text, text};

/// The effect that a project's file or a persona may have on a setting. No effect loosens what may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InProject {
    /// A word applies if it is stricter. Stricter words are later in the list of words.
    Stricter,
    /// A number applies if it is lower.
    Lower,
    /// Items are added, because more items are stricter.
    Adds,
    /// Only items that both lists allow stay allowed.
    Narrows,
    /// An error unless the user has trusted exactly this content of the file, because the setting names a program, a
    /// server, a model or a text for the model. A persona cannot have it.
    Trusted,
}

/// The settings that a project's file may have. All others are an error there, because they could only loosen rules, or
/// concern only the user. Settings that name a file to read and checkers of files are missing: the trust in a settings
/// file would not notice a change of the named file, or of a script that the checker runs.
pub(crate) const IN_PROJECT: &[(&str, InProject)] = &[
    ("ask", InProject::Stricter),
    ("agents_files", InProject::Stricter),
    ("commands.deny", InProject::Adds),
    ("commands.only", InProject::Narrows),
    ("paths.deny", InProject::Adds),
    ("paths.only", InProject::Narrows),
    ("limits.*", InProject::Lower),
    ("sandbox.mode", InProject::Stricter),
    ("sandbox.network", InProject::Stricter),
    ("sandbox.memory", InProject::Lower),
    ("undo.journal", InProject::Stricter),
    ("backend", InProject::Trusted),
    ("base_url", InProject::Trusted),
    ("model", InProject::Trusted),
    ("command", InProject::Trusted),
    ("command_conversation", InProject::Trusted),
    ("command_format", InProject::Trusted),
    ("lang", InProject::Trusted),
    ("instructions", InProject::Trusted),
    ("dialects", InProject::Trusted),
    ("reasoning", InProject::Trusted),
    ("grammar", InProject::Trusted),
    ("window", InProject::Trusted),
    ("temperature", InProject::Trusted),
    ("top_p", InProject::Trusted),
    ("max_tokens", InProject::Trusted),
    ("stop", InProject::Trusted),
    ("http.body", InProject::Trusted),
    ("http.first_byte", InProject::Trusted),
    ("http.between", InProject::Trusted),
    ("http.retries", InProject::Trusted),
    ("results.format", InProject::Trusted),
    ("results.data", InProject::Trusted),
    ("results.nonce", InProject::Trusted),
    ("results.break_tokens", InProject::Trusted),
    ("checks.commands", InProject::Trusted),
];

/// Returns the effect that a project's file may have on a setting; `None` if it cannot have the setting.
pub(crate) fn in_project(key: &str) -> Option<InProject> {
    let is_key = |row: &str| row == key || row.strip_suffix('*').is_some_and(|table| key.starts_with(table));
    IN_PROJECT.iter().find(|(row, _)| is_key(row)).map(|(_, rule)| *rule)
}

/// Checks whether a file of this layer may have a setting.
///
/// # Errors
/// The reason why the file may not have it, and whether a trusted file may.
pub(crate) fn check(key: &str, layer: Layer, trusted: bool) -> Result<(), (Text, bool)> {
    match in_project(key) {
        _ if !layer.only_tightens() => Ok(()),
        Some(InProject::Trusted) if layer == Layer::Project && trusted => Ok(()),
        Some(InProject::Trusted) if layer == Layer::Project => {
            let message = text!("{key} counts only in a project's file that you trust.", key);
            Err((message, true))
        }
        Some(InProject::Trusted) | None => {
            let message = text!(
                "{key} is not allowed here: a project or a persona can only make rules stricter. Put it into your own \
                 settings.",
                key
            );
            Err((message, false))
        }
        Some(_) => Ok(()),
    }
}

/// Returns the sentence about project files in the help of a setting.
pub(crate) fn help(key: &str) -> Text {
    match in_project(key) {
        Some(InProject::Lower) => text!("A project's file can only lower it."),
        Some(InProject::Stricter) => text!("A project's file can only make it stricter."),
        Some(InProject::Adds) => text!("A project's file can add to it."),
        Some(InProject::Narrows) => text!("A project's file can narrow it: what both allow stays."),
        Some(InProject::Trusted) => text!("In a project's file only once you trust that file."),
        None => text!("Not in a project's file."),
    }
}
