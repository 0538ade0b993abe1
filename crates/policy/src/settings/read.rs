//! One text, read: its values with their places, or the first mistake in it.

use super::super::shell::shown;
use super::{
    CheckRule, CheckerRule, CommandRule, Entry, HeaderRule, InProject, Key, Layer, MemberRule, Mistake, Origin,
    PriceRule, ServerRule, Takes, Value, messages,
};
use crate::rules::PathRules;
use std::ops::Range;
use std::sync::Arc;
use toml::de::{DeTable, DeValue};
use toolfence_protocol::{Text, close_names, text};

/// The most bytes of a text, and the most values in it.
const MOST_BYTES: usize = 256 * 1024;
const MOST_VALUES: usize = 1000;
/// The longest glob: each is tried on every name of a walk.
const LONGEST_GLOB: usize = 200;

/// Reads the text of the file `name`, which may hold `keys`. Its values come in the order they are written.
///
/// # Errors
/// The first mistake: no TOML, over 256 KiB or 1,000 values, a key that does not exist or may not stand in this layer, a
/// value of the wrong kind, a bad glob.
pub fn read(text: &str, name: &str, layer: Layer, keys: &[&'static Key]) -> Result<Vec<Entry>, Mistake> {
    let mut reader = FileReading { keys, layer, found: Vec::new(), wrong: Vec::new() };
    if text.len() > MOST_BYTES {
        reader.wrong(0, messages::file_too_large(MOST_BYTES >> 10));
    } else {
        match DeTable::parse(text) {
            Ok(table) => reader.table("", table.get_ref()),
            Err(error) => {
                let at = error.span().map_or(0, |span| span.start);
                reader.wrong(at, messages::not_toml(error.message()));
            }
        }
    }
    let FileReading { mut found, wrong, .. } = reader;
    if let Some(wrong) = wrong.into_iter().min_by_key(|wrong| wrong.at) {
        let (line, column) = place(text, wrong.at);
        return Err(Mistake {
            name: name.to_owned(),
            line,
            column,
            message: wrong.message,
            untrusted: wrong.untrusted,
        });
    }
    found.sort_by_key(|(at, ..)| *at);
    let name: Arc<str> = name.into();
    let mut lines = Lines { text, at: 0, line: 1 };
    let entries = found.into_iter().map(|(at, key, value)| {
        let origin = Origin { layer, name: name.clone(), line: Some(lines.of(at)) };
        Entry { key, value, origin }
    });
    Ok(entries.collect())
}

/// Line and column of a byte, both from 1.
fn place(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or("");
    let line = before.matches('\n').count() + 1;
    (line, before.rsplit('\n').next().unwrap_or("").chars().count() + 1)
}

/// Counts lines once for places that come in order.
struct Lines<'a> {
    text: &'a str,
    at: usize,
    line: usize,
}

impl Lines<'_> {
    fn of(&mut self, at: usize) -> usize {
        self.line += self.text.get(self.at..at).unwrap_or("").matches('\n').count();
        self.at = self.at.max(at);
        self.line
    }
}

struct Wrong {
    at: usize,
    message: Text,
    untrusted: bool,
}

/// Keys of earlier versions. A file that has one still counts; the key has no effect.
const REMOVED: &[&str] = &[
    "audit",
    "command_retries",
    "sandbox.git_hooks",
    "sandbox.git_writable",
    "undo.snapshot_files",
    "undo.snapshot_megabytes",
];

struct FileReading<'k> {
    keys: &'k [&'static Key],
    layer: Layer,
    found: Vec<(usize, &'static Key, Value)>,
    wrong: Vec<Wrong>,
}

impl FileReading<'_> {
    fn wrong(&mut self, at: usize, message: Text) {
        self.wrong.push(Wrong { at, message, untrusted: false });
    }

    fn table(&mut self, above: &str, table: &DeTable<'_>) {
        for (key, value) in table {
            let name = if above.is_empty() { key.get_ref().to_string() } else { format!("{above}.{}", key.get_ref()) };
            let known = self.keys.iter().find(|known| known.name == name).copied();
            let holds = |known: &&Key| known.name.strip_prefix(&*name).is_some_and(|rest| rest.starts_with('.'));
            match (known, value.get_ref()) {
                (Some(known), _) if !self.may_stand(known, key.span().start) => {}
                (Some(known), value_of) => self.value(known, value.span(), value_of),
                (None, DeValue::Table(inner)) if self.keys.iter().any(holds) => self.table(&name, inner),
                (None, _) if self.keys.iter().any(holds) => {
                    self.wrong(value.span().start, messages::is_a_table(name));
                }
                (None, _) if REMOVED.contains(&&*name) => {}
                (None, _) => self.unknown(key.span().start, &name),
            }
        }
    }

    fn unknown(&mut self, at: usize, name: &str) {
        let (table, leaf) = name.rsplit_once('.').map_or(("", name), |(table, leaf)| (table, leaf));
        let beside = self.keys.iter().map(|key| key.name.rsplit_once('.').unwrap_or(("", key.name)));
        let tables = beside.clone().map(|(table, _)| ("", table));
        let alike = beside.chain(tables).filter(|(other, _)| *other == table).map(|(_, leaf)| leaf);
        let mut close = close_names(leaf, alike);
        close.iter_mut().filter(|_| !table.is_empty()).for_each(|close| *close = format!("{table}.{close}"));
        if close.is_empty() {
            close = close_names(name, self.keys.iter().map(|key| key.name));
        }
        let hint = match close.is_empty() {
            false => messages::did_you_mean(messages::either(close)),
            true => messages::keys_are(self.keys.iter().map(|key| key.name).collect::<Vec<_>>().join(", ")),
        };
        self.wrong(at, messages::no_such_key(shown(name, 64), hint));
    }

    /// Whether a file of this layer may hold the key; a mistake where not.
    fn may_stand(&mut self, key: &Key, at: usize) -> bool {
        let (message, untrusted) = match (key.project, self.layer) {
            (_, layer) if !layer.only_tightens() => return true,
            (InProject::Stricter | InProject::Adds | InProject::Narrows, _) => return true,
            (InProject::Trusted, Layer::Project { trusted: true }) => return true,
            (InProject::Trusted, Layer::Project { .. }) => (messages::only_where_trusted(key.name), true),
            _ => (messages::may_not_stand_here(key.name), false),
        };
        self.wrong.push(Wrong { at, message, untrusted });
        false
    }

    fn value(&mut self, key: &'static Key, span: Range<usize>, value: &DeValue<'_>) {
        match (key.takes, value) {
            (Takes::Choice(_), DeValue::String(text)) => match key.word(text) {
                Ok(value) => self.keep(span.start, key, value),
                Err(message) => self.wrong(span.start, message),
            },
            (Takes::Flag, DeValue::Boolean(is_set)) => self.keep(span.start, key, Value::Text(is_set.to_string())),
            (Takes::Text, DeValue::String(text)) => self.keep(span.start, key, Value::Text(text.to_string())),
            (Takes::Whole(least, most), DeValue::Integer(number)) => {
                match u64::from_str_radix(number.as_str(), number.radix()) {
                    Ok(number) if (least..=most).contains(&number) => {
                        self.keep(span.start, key, Value::Text(number.to_string()));
                    }
                    _ => self.wrong(span.start, messages::is_whole(key.name, least, most)),
                }
            }
            (Takes::Number(most), DeValue::Integer(_) | DeValue::Float(_)) => {
                let number = match value {
                    DeValue::Integer(number) => {
                        u32::from_str_radix(number.as_str(), number.radix()).ok().map(f64::from)
                    }
                    DeValue::Float(number) => number.as_str().parse().ok(),
                    _ => None,
                };
                match number.filter(|number| (0.0..=f64::from(most)).contains(number)) {
                    Some(number) => self.keep(span.start, key, Value::Text(number.to_string())),
                    None => self.wrong(span.start, messages::is_from_zero_to(key.name, most)),
                }
            }
            (takes, DeValue::Table(table)) if takes.is_table() => {
                for (name, value) in table {
                    let (name_of, value_of) = (name.get_ref(), value.get_ref());
                    let read = match takes {
                        Takes::Prices => PriceRule::read(name_of, value_of).map(Value::Price),
                        Takes::Headers => HeaderRule::read(name_of, value_of).map(Value::Header),
                        Takes::Servers => ServerRule::read(name_of, value_of).map(Value::Server),
                        _ => MemberRule::read(name_of, value_of).map(Value::Member),
                    };
                    match read {
                        Ok(read) => self.keep(name.span().start, key, read),
                        Err(message) => self.wrong(value.span().start, message),
                    }
                }
            }
            (takes, DeValue::Array(items)) if takes.is_list() && !takes.is_table() => {
                for item in items {
                    match item_of(key, item.get_ref()) {
                        Ok(value) => self.keep(item.span().start, key, value),
                        Err(message) => self.wrong(item.span().start, message),
                    }
                }
            }
            (takes, _) => {
                let wanted = match takes {
                    Takes::Choice(words) => messages::one_of_in_quotes(words.join(", ")),
                    Takes::Flag => text!("true or false, without quotes"),
                    Takes::Text => messages::text_in_quotes(),
                    Takes::Whole(least, most) => messages::whole_number(least, most),
                    Takes::Number(most) => messages::number_from_zero_to(most),
                    Takes::Commands | Takes::Globs | Takes::Texts | Takes::Checks => messages::list_of("\"...\""),
                    Takes::Checkers => messages::list_of(CheckerRule::EXAMPLE),
                    Takes::Prices => messages::table_like(PriceRule::EXAMPLE),
                    Takes::Headers => messages::table_like(HeaderRule::EXAMPLE),
                    Takes::Members => messages::table_like(MemberRule::EXAMPLE),
                    Takes::Servers => messages::table_like(ServerRule::EXAMPLE),
                };
                self.wrong(span.start, messages::wrong_kind(key.name, wanted, kind(value)));
            }
        }
    }

    fn keep(&mut self, at: usize, key: &'static Key, value: Value) {
        if self.found.len() < MOST_VALUES {
            self.found.push((at, key, value));
        } else {
            self.wrong(at, messages::too_many_values(MOST_VALUES));
        }
    }
}

pub(super) fn kind(value: &DeValue<'_>) -> Text {
    match value {
        DeValue::String(_) => messages::kind_text(),
        DeValue::Integer(_) | DeValue::Float(_) => messages::kind_number(),
        DeValue::Boolean(_) => messages::kind_bool(),
        DeValue::Datetime(_) => messages::kind_date(),
        DeValue::Array(_) => messages::kind_list(),
        DeValue::Table(_) => messages::kind_table(),
    }
}

fn item_of(key: &Key, item: &DeValue<'_>) -> Result<Value, Text> {
    match (key.takes, item) {
        (Takes::Globs, DeValue::String(glob)) => glob_of(glob),
        (Takes::Checkers, item) => CheckerRule::read(item).map(Value::Checker),
        (Takes::Globs, other) => Err(not_a_text(messages::a_glob(), other)),
        (Takes::Texts, DeValue::String(text)) if !text.is_empty() => Ok(Value::Text(text.to_string())),
        (Takes::Texts, other) => Err(not_a_text(messages::a_text(), other)),
        (Takes::Checks, item) => CheckRule::read(item).map(Value::Check),
        // Older versions had rules with examples: `{ prefix = "cargo test", match = [..] }`.
        (_, DeValue::Table(table)) if table.contains_key("prefix") => {
            let prefix = table.iter().find(|(key, _)| key.get_ref() == "prefix").map(|(_, value)| value.get_ref());
            prefix.map_or_else(|| prefix_of(item), prefix_of).map(Value::Command)
        }
        (_, prefix) => Ok(Value::Command(prefix_of(prefix)?)),
    }
}

pub(super) fn not_a_text(what: Text, value: &DeValue<'_>) -> Text {
    messages::wrong_kind(what, messages::text_in_quotes(), kind(value))
}

pub(super) fn glob_of(glob: &str) -> Result<Value, Text> {
    if glob.len() > LONGEST_GLOB {
        return Err(messages::glob_too_long(LONGEST_GLOB));
    }
    if glob.trim_matches(['/', '.']).is_empty() {
        return Err(messages::glob_of_everything());
    }
    PathRules::new(&[], &[glob.to_owned()]).map_err(|error| error.text())?;
    Ok(Value::Glob(glob.to_owned()))
}

/// `"cargo test"` or `["cargo", "test"]`.
fn prefix_of(value: &DeValue<'_>) -> Result<CommandRule, Text> {
    match value {
        DeValue::String(line) => CommandRule::line(line),
        DeValue::Array(_) => CommandRule::words_of(texts(value)?),
        other => Err(messages::wrong_kind(messages::a_command_rule(), messages::rule_forms(), kind(other))),
    }
}

pub(super) fn texts(value: &DeValue<'_>) -> Result<Vec<String>, Text> {
    let DeValue::Array(items) = value else {
        return Err(messages::texts_wanted(kind(value)));
    };
    let text = |item: &DeValue<'_>| match item {
        DeValue::String(text) => Ok(text.to_string()),
        other => Err(messages::text_wanted(kind(other))),
    };
    items.iter().map(|item| text(item.get_ref())).collect()
}
