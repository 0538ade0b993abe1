//! A program that checks files, as a person writes it into the settings.

use super::super::shell::shown;
use super::messages;
use super::read::{glob_of, kind, texts};
use toml::de::DeValue;
use toolfence_protocol::Text;

/// The most globs of one, and the most words of its command and bytes of a word.
const MOST_GLOBS: usize = 50;
const MOST_WORDS: usize = 100;
const LONGEST_WORD: usize = 4096;

const FIELDS: &[&str] = &["files", "command", "reads"];

/// A program that checks files: which, by what, and what it reads.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckerRule {
    /// Globs for its files. Each matches at any depth below the root and ignores case.
    pub files: Vec<String>,
    /// The program, by its name in the PATH or its absolute path, and its arguments.
    pub command: Vec<String>,
    /// The name of the file that makes a project of a folder, for one that reads what is on disk; `None` for one that gets the
    /// text on its stdin.
    pub project: Option<String>,
}

impl CheckerRule {
    /// One as it may be written.
    pub(super) const EXAMPLE: &str = "{ files = [\"*.lua\"], command = [\"luac\", \"-p\", \"-\"] }";

    /// # Errors
    /// What it says is none, and what to write.
    pub(super) fn read(value: &DeValue<'_>) -> Result<CheckerRule, Text> {
        let DeValue::Table(table) = value else {
            return Err(messages::wrong_kind(messages::a_checker(), CheckerRule::EXAMPLE, kind(value)));
        };
        if let Some(unknown) = table.keys().find(|key| !FIELDS.contains(&&**key.get_ref())) {
            return Err(messages::checker_has_no(shown(unknown.get_ref(), 64)));
        }
        let field = |name: &str| table.iter().find(|(key, _)| key.get_ref() == name).map(|(_, value)| value.get_ref());
        let list = |name: &str| {
            let missing = || messages::checker_needs(name, CheckerRule::EXAMPLE);
            let list = texts(field(name).ok_or_else(missing)?).map_err(|wrong| messages::in_checker(name, wrong))?;
            if list.is_empty() { Err(missing()) } else { Ok(list) }
        };
        Ok(CheckerRule {
            files: globs(list("files")?)?,
            command: command(list("command")?)?,
            project: field("reads").map(project).transpose()?.flatten(),
        })
    }
}

fn globs(files: Vec<String>) -> Result<Vec<String>, Text> {
    if files.len() > MOST_GLOBS {
        return Err(messages::in_checker("files", messages::too_many_globs(MOST_GLOBS)));
    }
    for glob in &files {
        if glob.contains(['{', '}']) {
            return Err(messages::in_checker("files", messages::no_alternatives()));
        }
        glob_of(glob).map_err(|wrong| messages::in_checker("files", wrong))?;
    }
    Ok(files)
}

fn command(words: Vec<String>) -> Result<Vec<String>, Text> {
    let program = &words[0];
    if program.trim().is_empty() || program.contains('/') && !program.starts_with('/') {
        return Err(messages::in_checker("command", messages::not_a_program()));
    }
    if words.len() > MOST_WORDS || words.iter().any(|word| word.len() > LONGEST_WORD || word.contains('\0')) {
        return Err(messages::in_checker("command", messages::command_too_long(MOST_WORDS, LONGEST_WORD)));
    }
    Ok(words)
}

/// `"text"` or `"project:tsconfig.json"`.
fn project(value: &DeValue<'_>) -> Result<Option<String>, Text> {
    let DeValue::String(text) = value else { return Err(messages::reads_forms()) };
    if text == "text" {
        return Ok(None);
    }
    let name = text.strip_prefix("project:").map(str::trim).unwrap_or_default();
    let is_name = !matches!(name, "" | "." | "..") && name.len() <= 255 && !name.contains(['/', '\0']);
    if is_name { Ok(Some(name.to_owned())) } else { Err(messages::reads_forms()) }
}
