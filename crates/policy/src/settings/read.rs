//! One text, read: its values with their places, or the first mistake in it.

use super::super::shell::shown;
use super::{CheckerRule, CommandRule, Entry, InProject, Key, Layer, Mistake, Origin, Takes, Value};
use std::ops::Range;
use std::sync::Arc;
use toml::de::{DeTable, DeValue};
use toolfence_protocol::close_names;
use toolfence_rules::PathRules;

/// The most bytes of a text, and the most values in it.
const MOST_BYTES: usize = 256 * 1024;
const MOST_VALUES: usize = 1000;
/// The longest glob: each is tried on every name of a walk.
const LONGEST_GLOB: usize = 200;

/// Reads the text of the file `name`, which may hold `keys`. Its values come in the order they are written.
///
/// # Errors
/// The first mistake: no TOML, over 256 KiB or 1,000 values, a key that does not exist or may not stand in this layer, a
/// value of the wrong kind, a bad glob, a rule that its own examples contradict.
pub fn read(text: &str, name: &str, layer: Layer, keys: &[&'static Key]) -> Result<Vec<Entry>, Mistake> {
    let mut reader = FileReading { keys, layer, found: Vec::new(), wrong: Vec::new() };
    if text.len() > MOST_BYTES {
        reader.wrong(0, format!("the file has more than {} KiB", MOST_BYTES >> 10));
    } else {
        match DeTable::parse(text) {
            Ok(table) => reader.table("", table.get_ref()),
            Err(error) => {
                let at = error.span().map_or(0, |span| span.start);
                reader.wrong(at, format!("this is not TOML: {}", error.message()));
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
    message: String,
    untrusted: bool,
}

struct FileReading<'k> {
    keys: &'k [&'static Key],
    layer: Layer,
    found: Vec<(usize, &'static Key, Value)>,
    wrong: Vec<Wrong>,
}

impl FileReading<'_> {
    fn wrong(&mut self, at: usize, message: impl Into<String>) {
        self.wrong.push(Wrong { at, message: message.into(), untrusted: false });
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
                    self.wrong(value.span().start, format!("{name} is a table: [{name}]"));
                }
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
            false => format!("Did you mean {}?", close.join(" or ")),
            true => format!("The keys are {}.", self.keys.iter().map(|key| key.name).collect::<Vec<_>>().join(", ")),
        };
        self.wrong(at, format!("there is no key {}. {hint}", shown(name, 64)));
    }

    /// Whether a file of this layer may hold the key; a mistake where not.
    fn may_stand(&mut self, key: &Key, at: usize) -> bool {
        let (message, untrusted) = match (key.project, self.layer) {
            (_, layer) if !layer.only_tightens() => return true,
            (InProject::Stricter | InProject::Adds | InProject::Narrows, _) => return true,
            (InProject::Trusted, Layer::Project { trusted: true }) => return true,
            (InProject::Trusted, Layer::Project { .. }) => {
                ("names what a project may not choose by itself, so it counts only in a file that you trust", true)
            }
            _ => ("may not stand here: a project or a persona can only tighten. Put it into your own settings", false),
        };
        self.wrong.push(Wrong { at, message: format!("{} {message}.", key.name), untrusted });
        false
    }

    fn value(&mut self, key: &'static Key, span: Range<usize>, value: &DeValue<'_>) {
        match (key.takes, value) {
            (Takes::Choice(words), DeValue::String(text)) => {
                if words.contains(&&**text) {
                    return self.keep(span.start, key, Value::Text(text.to_string()));
                }
                let close = close_names(text, words.iter().copied());
                let hint = close.first().map(|close| format!(" Did you mean {close}?")).unwrap_or_default();
                self.wrong(span.start, format!("{} is one of {}.{hint}", key.name, words.join(", ")));
            }
            (Takes::Text, DeValue::String(text)) => self.keep(span.start, key, Value::Text(text.to_string())),
            (Takes::Count(most), DeValue::Integer(number)) => {
                match u64::from_str_radix(number.as_str(), number.radix()) {
                    Ok(number) if (1..=most).contains(&number) => {
                        self.keep(span.start, key, Value::Text(number.to_string()));
                    }
                    _ => self.wrong(span.start, format!("{} is from 1 to {most}.", key.name)),
                }
            }
            (takes, DeValue::Array(items)) if takes.is_list() => {
                for item in items {
                    match item_of(key, item.get_ref()) {
                        Ok(value) => self.keep(item.span().start, key, value),
                        Err(message) => self.wrong(item.span().start, message),
                    }
                }
            }
            (takes, _) => {
                let wanted = match takes {
                    Takes::Choice(words) => format!("one of {}, in quotes", words.join(", ")),
                    Takes::Text => "a text in quotes".to_owned(),
                    Takes::Count(most) => format!("a number from 1 to {most}"),
                    Takes::Commands | Takes::Globs | Takes::Lines | Takes::Words(_) => "a list: [\"...\"]".to_owned(),
                    Takes::Checkers => format!("a list: [{}]", CheckerRule::EXAMPLE),
                };
                self.wrong(span.start, format!("{} is {wanted}; this is {}.", key.name, kind(value)));
            }
        }
    }

    fn keep(&mut self, at: usize, key: &'static Key, value: Value) {
        if self.found.len() < MOST_VALUES {
            self.found.push((at, key, value));
        } else {
            self.wrong(at, format!("the file holds more than {MOST_VALUES} values"));
        }
    }
}

pub(super) fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

fn item_of(key: &Key, item: &DeValue<'_>) -> Result<Value, String> {
    match (key.takes, item) {
        (Takes::Globs, DeValue::String(glob)) => glob_of(glob),
        (Takes::Checkers, item) => CheckerRule::read(item).map(Value::Checker),
        (Takes::Globs, other) => Err(format!("a glob is a text in quotes; this is {}.", kind(other))),
        (Takes::Lines, DeValue::String(line)) if line.trim().is_empty() => Err("this command line is empty.".into()),
        (Takes::Lines, DeValue::String(line)) => Ok(Value::Text(line.to_string())),
        (Takes::Lines, other) => Err(format!("a command line is a text in quotes; this is {}.", kind(other))),
        (Takes::Words(words), DeValue::String(word)) if words.contains(&&**word) => Ok(Value::Text(word.to_string())),
        (Takes::Words(words), DeValue::String(word)) => {
            let close = close_names(word, words.iter().copied());
            let hint = match close.first() {
                Some(close) => format!("Did you mean {close}?"),
                None => format!("The names are {}.", words.join(", ")),
            };
            Err(format!("{} has no {}. {hint}", key.name, shown(word, 64)))
        }
        (Takes::Words(_), other) => Err(format!("a name is a text in quotes; this is {}.", kind(other))),
        (_, DeValue::Table(table)) => with_examples(table).map(Value::Command),
        (_, prefix) => Ok(Value::Command(prefix_of(prefix)?)),
    }
}

pub(super) fn glob_of(glob: &str) -> Result<Value, String> {
    if glob.len() > LONGEST_GLOB {
        return Err(format!("a glob has at most {LONGEST_GLOB} bytes."));
    }
    if glob.trim_matches(['/', '.']).is_empty() {
        return Err("this glob names the whole project; give the name of a file or folder.".into());
    }
    PathRules::new(&[], &[glob.to_owned()]).map_err(|error| error.to_string())?;
    Ok(Value::Glob(glob.to_owned()))
}

/// `"cargo test"` or `["cargo", "test"]`.
fn prefix_of(value: &DeValue<'_>) -> Result<CommandRule, String> {
    match value {
        DeValue::String(line) => CommandRule::line(line).map_err(|wrong| format!("{wrong}.")),
        DeValue::Array(_) => CommandRule::words_of(texts(value)?).map_err(|wrong| format!("{wrong}.")),
        other => Err(format!(
            "a command rule is \"cargo test\", [\"cargo\", \"test\"] or {{ prefix = .., match = [..], not_match = [..] \
             }}; this is {}.",
            kind(other)
        )),
    }
}

/// `{ prefix = "cargo test", match = ["cargo test -q"], not_match = ["cargo publish"] }`.
fn with_examples(table: &DeTable<'_>) -> Result<CommandRule, String> {
    const FIELDS: &[&str] = &["prefix", "match", "not_match"];
    if let Some(unknown) = table.keys().find(|key| !FIELDS.contains(&&**key.get_ref())) {
        let name = shown(unknown.get_ref(), 64);
        return Err(format!("a command rule has no {name}; it has prefix, match and not_match."));
    }
    let field = |name: &str| table.iter().find(|(key, _)| key.get_ref() == name).map(|(_, value)| value.get_ref());
    let rule = prefix_of(field("prefix").ok_or("a command rule of this form needs a prefix.")?)?;
    for (name, wanted) in [("match", true), ("not_match", false)] {
        for example in field(name).map(texts).transpose()?.unwrap_or_default() {
            let meets = rule.meets(&example).map_err(|wrong| format!("{name} {:?}: {wrong}.", shown(&example, 80)))?;
            if meets != wanted {
                let (example, words) = (shown(&example, 80), rule.words().join(" "));
                let not = if wanted { "does not match" } else { "matches" };
                return Err(format!("the rule {words:?} {not} its own example {example:?} in {name}."));
            }
        }
    }
    Ok(rule)
}

pub(super) fn texts(value: &DeValue<'_>) -> Result<Vec<String>, String> {
    let DeValue::Array(items) = value else {
        return Err(format!("a list of texts is wanted; this is {}.", kind(value)));
    };
    let text = |item: &DeValue<'_>| match item {
        DeValue::String(text) => Ok(text.to_string()),
        other => Err(format!("a text in quotes is wanted; this is {}.", kind(other))),
    };
    items.iter().map(|item| text(item.get_ref())).collect()
}
