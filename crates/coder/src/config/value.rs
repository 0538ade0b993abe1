//! The values of settings with their positions, and the merging of layers.

use super::project::{InProject, in_project};
use crate::shown::language;
use serde::de::{DeserializeOwned, DeserializeSeed, Error, MapAccess, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use toml::Spanned;
use toolfence_policy::settings::line_and_column;
use toolfence_protocol::{Language, Text, text};

/// The sources of settings, from the weakest to the strongest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Layer {
    /// The built-in values.
    Default,
    /// Environment variables that other programs use too.
    Environment,
    /// The user's file.
    User,
    /// The project's file.
    Project,
    /// The persona.
    Persona,
    /// The command line.
    CommandLine,
}

impl Layer {
    /// Returns `true` if another person may have written the layer, so that it may only make rules stricter.
    pub(crate) fn only_tightens(self) -> bool {
        matches!(self, Layer::Project | Layer::Persona)
    }
}

/// The origin of a value, displayed as `config.toml:3` or `--ask`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) layer: Layer,
    /// The file, the variable or the option.
    pub(crate) name: Arc<str>,
    /// The line in the file, from 1.
    pub(crate) line: Option<usize>,
}

impl Origin {
    pub(crate) fn new(layer: Layer, name: &str) -> Origin {
        Origin { layer, name: name.into(), line: None }
    }
}

impl Default for Origin {
    fn default() -> Origin {
        Origin::new(Layer::Default, "default")
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// A kind of setting: how its values are written, checked, displayed and compared.
pub(crate) trait Kind: Clone {
    /// The type of a value, or of an item in a list or table.
    type Value: Clone;
    /// A value as serde reads it from TOML.
    type Toml: DeserializeOwned;
    /// Whether the setting is a table of named items.
    const IS_TABLE: bool = false;

    /// Describes the allowed values. The text completes a sentence that begins with `ask is`.
    fn describe_values() -> Text;

    /// Checks a value. `name` is the name of an item in a table.
    ///
    /// # Errors
    /// The reason why the value is not valid. An empty reason means that [`Kind::describe_values`] explains it.
    fn read(written: Self::Toml, name: &str) -> Result<Self::Value, Text>;

    /// Formats a value on one line, without secrets.
    fn show(value: &Self::Value) -> String;

    /// Returns the number by which values are compared if a project may set the key.
    fn rank(_value: &Self::Value) -> u64 {
        0
    }
}

/// A value and its position in the text of its layer.
#[derive(Clone)]
pub(crate) struct Item<V> {
    pub(crate) value: V,
    /// The byte offset of the value in the text of its layer.
    at: usize,
    /// Set by the command line, or when layers are merged.
    origin: Option<Origin>,
}

impl<V: Clone> Item<V> {
    pub(crate) fn origin(&self) -> Origin {
        self.origin.clone().unwrap_or_default()
    }
}

/// A setting with at most one value, or with `MANY` a list or a table.
#[derive(Clone)]
pub(crate) struct Setting<K: Kind, const MANY: bool>(Vec<Item<K::Value>>);

pub(crate) type One<K> = Setting<K, false>;
pub(crate) type Many<K> = Setting<K, true>;

impl<K: Kind, const MANY: bool> Default for Setting<K, MANY> {
    fn default() -> Setting<K, MANY> {
        Setting(Vec::new())
    }
}

impl<K: Kind> From<Item<K::Value>> for One<K> {
    fn from(item: Item<K::Value>) -> One<K> {
        Setting(vec![item])
    }
}

impl<K: Kind> One<K> {
    pub(crate) fn get(&self) -> Option<&K::Value> {
        self.values().next()
    }

    /// Returns the value of a setting that has a default.
    pub(crate) fn value(&self) -> K::Value {
        self.get().cloned().expect("the built-in layer sets every setting that is read in this way")
    }

    pub(crate) fn origin(&self) -> Origin {
        self.0.first().map(Item::origin).unwrap_or_default()
    }

    /// Returns `true` if a layer sets the value, so that the default does not apply.
    pub(crate) fn is_set(&self) -> bool {
        self.origin().layer != Layer::Default
    }

    /// Returns the folder of the user's file if that file sets the value. Relative paths in the file start there.
    pub(crate) fn folder(&self) -> Option<PathBuf> {
        let origin = Some(self.origin()).filter(|origin| origin.layer == Layer::User)?;
        Path::new(&*origin.name).parent().map(Path::to_owned)
    }
}

impl<K: Kind<Value = String>> One<K> {
    pub(crate) fn text(&self) -> Option<&str> {
        self.get().map(String::as_str)
    }

    /// Returns the file that the setting names.
    pub(crate) fn file(&self) -> Option<PathBuf> {
        let path = PathBuf::from(self.text()?);
        Some(self.folder().map_or_else(|| path.clone(), |folder| folder.join(&path)))
    }
}

impl<K: Kind, const MANY: bool> Setting<K, MANY> {
    pub(crate) fn items(&self) -> &[Item<K::Value>] {
        &self.0
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &K::Value> {
        self.0.iter().map(|item| &item.value)
    }

    /// Returns the values of each layer that has values.
    pub(crate) fn by_layer(&self) -> Vec<Vec<K::Value>> {
        let mut items: Vec<&Item<K::Value>> = self.0.iter().collect();
        items.sort_by_key(|item| item.origin().layer);
        // `chunk_by` joins only adjacent items, so they are sorted above.
        let layers = items.chunk_by(|a, b| a.origin().layer == b.origin().layer);
        layers.map(|items| items.iter().map(|item| item.value.clone()).collect()).collect()
    }

    /// Adds a value from an option of the command line, if there is one.
    pub(crate) fn type_in(&mut self, option: &str, value: Option<K::Value>) {
        self.add(Origin::new(Layer::CommandLine, option), value);
    }

    pub(crate) fn add(&mut self, origin: Origin, value: Option<K::Value>) {
        self.0.extend(value.map(|value| Item { value, at: 0, origin: Some(origin) }));
    }

    /// Merges a stronger layer over this one: its items are added to a list or table, and its single value replaces the
    /// weaker one. In a layer that may only make rules stricter, a single value must be stricter to replace it.
    pub(crate) fn merge(&mut self, key: &str, over: &Setting<K, MANY>, by: &mut Merging<'_>) {
        for item in &over.0 {
            let origin = item.origin.clone().unwrap_or_else(|| by.source.origin(item.at));
            let item = Item { origin: Some(origin), ..item.clone() };
            if MANY {
                self.0.push(item);
            } else if self.admits(key, &item, by) {
                self.0 = vec![item];
            }
        }
    }

    /// Returns `true` if a single value replaces the weaker one. A looser value adds a note.
    fn admits(&self, key: &str, item: &Item<K::Value>, by: &mut Merging<'_>) -> bool {
        // Values are compared only if a project or a persona sets a key that it may make stricter.
        let (Some(now), Some(rule @ (InProject::Stricter | InProject::Lower)), true) =
            (self.values().next(), in_project(key), by.source.layer.only_tightens())
        else {
            return true;
        };
        let order = K::rank(&item.value).cmp(&K::rank(now));
        let is_stricter = if rule == InProject::Lower { order.is_lt() } else { order.is_gt() };
        if !is_stricter && order.is_ne() {
            by.notes.push(text!(
                "{origin}: {key} = {value} is looser than {now}, so it has no effect.",
                origin = item.origin().to_string(),
                key,
                value = K::show(&item.value),
                now = K::show(now)
            ));
        }
        is_stricter
    }

    pub(crate) fn row(&self, key: &'static str, default: &'static str, help: Text) -> Row {
        let values = self.0.iter().map(|item| (K::show(&item.value), item.origin())).collect();
        let (shape, takes) = match (MANY, K::IS_TABLE) {
            (false, _) => (Shape::One, K::describe_values()),
            (true, false) => (Shape::List, text!("a list; each item is {takes}", takes = K::describe_values())),
            (true, true) => (Shape::Table, text!("a table; each item is {takes}", takes = K::describe_values())),
        };
        Row { key, default, help, takes, shape, values }
    }
}

impl<'de, K: Kind, const MANY: bool> Deserialize<'de> for Setting<K, MANY> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Setting<K, MANY>, D::Error> {
        let items = if MANY {
            from.deserialize_any(ItemsReader::<K>(PhantomData))?
        } else {
            vec![ItemReader::<K>("", PhantomData).deserialize(from)?]
        };
        Ok(Setting(items))
    }
}

/// Reads an item of this name. The item is read as a newtype, because the TOML reader then adds the position to an
/// error.
struct ItemReader<'a, K>(&'a str, PhantomData<K>);

impl<'de, K: Kind> DeserializeSeed<'de> for ItemReader<'_, K> {
    type Value = Item<K::Value>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Item<K::Value>, D::Error> {
        from.deserialize_newtype_struct("Item", self)
    }
}

impl<'de, K: Kind> Visitor<'de> for ItemReader<'_, K> {
    type Value = Item<K::Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, from: D) -> Result<Item<K::Value>, D::Error> {
        let written = Spanned::<K::Toml>::deserialize(from)?;
        let at = written.span().start;
        let value = K::read(written.into_inner(), self.0).map_err(|why| D::Error::custom(why.render(language())))?;
        Ok(Item { value, at, origin: None })
    }
}

struct ItemsReader<K>(PhantomData<K>);

impl<'de, K: Kind> Visitor<'de> for ItemsReader<K> {
    type Value = Vec<Item<K::Value>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if K::IS_TABLE { "a table" } else { "a list" })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        if K::IS_TABLE {
            return Err(A::Error::invalid_type(Unexpected::Seq, &self));
        }
        let mut items = Vec::new();
        while let Some(item) = list.next_element_seed(ItemReader::<K>("", PhantomData))? {
            items.push(item);
        }
        Ok(items)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut table: A) -> Result<Self::Value, A::Error> {
        if !K::IS_TABLE {
            return Err(A::Error::invalid_type(Unexpected::Map, &self));
        }
        let mut items = Vec::new();
        while let Some(name) = table.next_key::<String>()? {
            items.push(table.next_value_seed(ItemReader::<K>(&name, PhantomData))?);
        }
        // The items are in the order of the file, whatever the order of the reader.
        items.sort_by_key(|item| item.at);
        Ok(items)
    }
}

/// The text of a layer, in which the positions of its values are found.
pub(crate) struct Source {
    pub(crate) layer: Layer,
    pub(crate) name: Arc<str>,
    /// Empty if line numbers in it would mean nothing to the user.
    pub(crate) text: String,
}

impl Source {
    fn origin(&self, at: usize) -> Origin {
        let line = (!self.text.is_empty()).then(|| line_and_column(&self.text, at).0);
        Origin { layer: self.layer, name: Arc::clone(&self.name), line }
    }
}

/// The layer that is being merged over weaker ones, and the notes about its values that have no effect.
pub(crate) struct Merging<'a> {
    pub(crate) source: &'a Source,
    pub(crate) notes: &'a mut Vec<Text>,
}

/// The form in which the values of a setting are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    One,
    List,
    Table,
}

/// A setting as `coder config`, the documented file and the reference page display it.
pub(crate) struct Row {
    /// The key with its table, such as `commands.allow`.
    pub(crate) key: &'static str,
    /// The built-in value as TOML; empty without one.
    pub(crate) default: &'static str,
    /// The help text, in which each ` - ` begins another line.
    pub(crate) help: Text,
    /// The description of the allowed values.
    pub(crate) takes: Text,
    pub(crate) shape: Shape,
    pub(crate) values: Vec<(String, Origin)>,
}

impl Row {
    /// Returns the lines of the help.
    pub(crate) fn help(&self, language: Language) -> Vec<String> {
        self.help.render(language).trim().split(" - ").map(str::to_owned).collect()
    }
}
