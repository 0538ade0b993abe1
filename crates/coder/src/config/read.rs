//! Reads one settings file: its values with their positions, or the first mistake in it.

use super::kinds::{did_you_mean, wrong_value};
use super::project;
use super::settings::Settings;
use super::value::{Row, Source};
use serde::Deserialize;
use std::ops::Range;
use toml::de::{DeTable, DeValue};
use toolfence_policy::settings::line_and_column;
use toolfence_protocol::{Text, close_names, text};

/// Maximum number of bytes of a text, and of items of a list or a table.
const MOST_BYTES: usize = 256 * 1024;
const MOST_ITEMS: usize = 1000;

/// Keys of earlier versions. They have no effect, and a file with such a key is still valid.
const REMOVED: &[&str] = &[
    "audit",
    "command_retries",
    "sandbox.git_hooks",
    "sandbox.git_writable",
    "undo.snapshot_files",
    "undo.snapshot_megabytes",
];

/// A mistake in a settings file.
#[derive(Debug)]
pub(crate) struct Mistake {
    pub(crate) message: Text,
    /// Whether the key would be allowed in a trusted file.
    pub(crate) untrusted: bool,
    at: usize,
}

impl Mistake {
    fn new(at: usize, message: Text) -> Mistake {
        Mistake { message, untrusted: false, at }
    }

    /// Returns the message with the file, the line and the column.
    pub(crate) fn located(&self, source: &Source) -> Text {
        let (line, column) = line_and_column(&source.text, self.at);
        text!(
            "{name}: line {line}, column {column}: {message}",
            name = &*source.name,
            line,
            column,
            message = self.message.clone()
        )
    }
}

/// Reads the text of a layer. `trusted` means that the user has trusted this project's file.
///
/// # Errors
/// The text is too large or not TOML, or has a key that does not exist or is not allowed in this layer, or a wrong
/// value.
pub(crate) fn read(source: &Source, trusted: bool) -> Result<Settings, Mistake> {
    let text = &source.text;
    if text.len() > MOST_BYTES {
        return Err(Mistake::new(0, text!("the file has more than {most} KiB", most = MOST_BYTES >> 10)));
    }
    let start = |error: &toml::de::Error| error.span().map_or(0, |span| span.start);
    let mut table = DeTable::parse(text)
        .map_err(|error| Mistake::new(start(&error), text!("this is not TOML: {why}", why = error.message())))?;
    let rows = Settings::default().rows();
    let mut keys = Keys { rows: &rows, source, trusted, values: Vec::new() };
    keys.check("", table.get_mut())?;
    let values = keys.values;
    Settings::deserialize(toml::de::Deserializer::from(table)).map_err(|error| {
        let at = start(&error);
        // The position of the error identifies the setting, whose allowed values the message lists.
        let value = values.iter().find(|(_, places)| places.iter().any(|place| place.contains(&at)));
        Mistake::new(at, value.map_or_else(|| error.message().into(), |(row, places)| explain(row, &places[0], &error)))
    })
}

/// Returns the message about an invalid value: the allowed values, and the reason of the TOML reader unless it only
/// repeats them.
fn explain(row: &Row, span: &Range<usize>, error: &toml::de::Error) -> Text {
    let repeats = error.message().starts_with("invalid ") && error.span().as_ref() == Some(span);
    let reason = match error.message() {
        _ if repeats => Text::default(),
        "check" => text!(
            "a check is {line} or {table}; new_errors is {report} or {roll_back}.",
            line = "\"cargo check\"",
            table = "{ command = \"cargo check\", new_errors = \"roll_back\" }",
            report = "\"report\"",
            roll_back = "\"roll_back\""
        ),
        "command" => text!("command is {list} or {line}.", list = "[\"npx\", \"server\"]", line = "\"npx server\""),
        reason => reason.into(),
    };
    wrong_value(row.key, row.takes.clone(), reason)
}

/// Collects the positions of all items in a value. The position of a table covers only its header.
fn inner_places(value: &DeValue<'_>, places: &mut Vec<Range<usize>>) {
    match value {
        DeValue::Array(items) => items.iter().for_each(|item| {
            places.push(item.span());
            inner_places(item.get_ref(), places);
        }),
        DeValue::Table(table) => table.iter().for_each(|(key, value)| {
            places.extend([key.span(), value.span()]);
            inner_places(value.get_ref(), places);
        }),
        _ => {}
    }
}

/// The keys of a file, and the positions of their values. The first position is that of the whole value.
struct Keys<'a> {
    rows: &'a [Row],
    source: &'a Source,
    trusted: bool,
    values: Vec<(&'a Row, Vec<Range<usize>>)>,
}

impl Keys<'_> {
    /// Checks the keys of a table, and removes those of earlier versions.
    fn check(&mut self, above: &str, table: &mut DeTable<'_>) -> Result<(), Mistake> {
        let name = |key: &str| if above.is_empty() { key.to_owned() } else { format!("{above}.{key}") };
        let mut keys: Vec<_> = table.keys().cloned().collect();
        // Of several mistakes, the first one in the file is reported.
        keys.sort_by_key(|key| key.span().start);
        for key in keys {
            let (at, name) = (key.span().start, name(key.get_ref()));
            // The deserializer rejects unknown keys, so a key of an earlier version is removed.
            if REMOVED.contains(&&*name) {
                table.remove(&key);
            }
            let Some(value) = table.get_mut(&key) else { continue };
            let is_table =
                self.rows.iter().any(|row| row.key.strip_prefix(&*name).is_some_and(|rest| rest.starts_with('.')));
            let span = value.span();
            match (self.rows.iter().find(|row| row.key == name), value.get_mut()) {
                (Some(row), value) => {
                    project::check(row.key, self.source.layer, self.trusted)
                        .map_err(|(message, untrusted)| Mistake { message, untrusted, at })?;
                    let items = match &*value {
                        DeValue::Array(items) => items.len(),
                        DeValue::Table(items) => items.len(),
                        _ => 0,
                    };
                    if items > MOST_ITEMS {
                        return Err(Mistake::new(
                            at,
                            text!("{key} has more than {most} items.", key = row.key, most = MOST_ITEMS),
                        ));
                    }
                    let mut places = vec![span];
                    inner_places(value, &mut places);
                    self.values.push((row, places));
                }
                (None, DeValue::Table(inner)) if is_table => self.check(&name, inner)?,
                (None, _) if is_table => {
                    return Err(Mistake::new(span.start, text!("{name} is a table: [{name}]", name)));
                }
                (None, _) => return Err(Mistake::new(at, self.unknown(&name))),
            }
        }
        Ok(())
    }

    /// Returns the message about an unknown key, with close names of the same table, or otherwise of all tables.
    fn unknown(&self, name: &str) -> Text {
        let (table, leaf) = name.rsplit_once('.').unwrap_or(("", name));
        let split = |row: &Row| row.key.rsplit_once('.').unwrap_or(("", row.key));
        let here = self.rows.iter().map(split).filter(|(other, _)| *other == table).map(|(_, leaf)| leaf);
        let tables = self.rows.iter().map(|row| split(row).0).filter(|_| table.is_empty());
        let mut close = close_names(leaf, here.chain(tables));
        if !table.is_empty() {
            close.iter_mut().for_each(|close| *close = format!("{table}.{close}"));
        }
        if close.is_empty() {
            close = close_names(name, self.rows.iter().map(|row| row.key));
        }
        let shown: String = name.chars().take(64).collect();
        let message = text!("there is no key {key}.", key = shown);
        let hint = match close.is_empty() {
            false => did_you_mean(close),
            true => text!("`coder config show` lists all keys."),
        };
        message.then(hint)
    }
}
