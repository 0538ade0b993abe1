//! What a file that comes with a project may set.

use super::value::Layer;
use toolfence_protocol::{Text, text};

/// What a project's file, or a persona, may do with a setting. None of it loosens what may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InProject {
    /// A word counts if it is stricter, which is a later one in the list of words.
    Stricter,
    /// A number counts if it is lower.
    Lower,
    /// Items are added. More of them are stricter.
    Adds,
    /// What both lists allow stays allowed.
    Narrows,
    /// An error until the user has trusted this very content: the setting names a program, a place, a model or a text that the
    /// model is given. A persona cannot have it.
    Trusted,
}

/// The settings that a project's file may have. All others are an error there: they could only loosen, or concern the user alone.
/// A file that is read cannot be trusted, because trust would not notice a change of it; nor can a checker of files, because trust
/// would not notice a change of a script that it names.
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

/// What a project's file may do with a setting; `None` if it cannot have it.
pub(crate) fn in_project(key: &str) -> Option<InProject> {
    let is_key = |row: &str| row == key || row.strip_suffix('*').is_some_and(|table| key.starts_with(table));
    IN_PROJECT.iter().find(|(row, _)| is_key(row)).map(|(_, rule)| *rule)
}

/// Checks whether a file of this layer may have a setting.
///
/// # Errors
/// The reason if it may not, and whether it may if the file is trusted.
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

/// What a project's file may do with a setting, as a sentence of its help.
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
