//! The values of settings with their places, and how one layer is merged over another.

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
    /// A variable of the environment that other programs follow too.
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
    /// Whether the layer may come from another person, so that it may only tighten.
    pub(crate) fn only_tightens(self) -> bool {
        matches!(self, Layer::Project | Layer::Persona)
    }
}

/// The place of a value: `config.toml:3`, `--ask`.
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

/// What a setting takes: how its values are written, checked, shown and compared.
pub(crate) trait Kind: Clone {
    /// A value; of a list or a table, one item.
    type Value: Clone;
    /// A value as serde reads it from TOML.
    type Written: DeserializeOwned;
    /// Whether the items are named, in a table.
    const IS_TABLE: bool = false;

    /// The values that may be written: the end of a sentence that begins with `ask is`.
    fn takes() -> Text;

    /// Checks a value. `name` is the name of an item in a table.
    ///
    /// # Errors
    /// The reason if it cannot be used. An empty reason means that [`Kind::takes`] is enough.
    fn read(written: Self::Written, name: &str) -> Result<Self::Value, Text>;

    /// A value in one line, without secrets.
    fn show(value: &Self::Value) -> String;

    /// A number by which values are compared if a project may set the key.
    fn rank(_value: &Self::Value) -> u64 {
        0
    }
}

/// A value and its place.
#[derive(Clone)]
pub(crate) struct Item<V> {
    pub(crate) value: V,
    /// The index of the first byte in the text of the layer.
    at: usize,
    /// Set by the command line, or when layers are merged.
    origin: Option<Origin>,
}

impl<V: Clone> Item<V> {
    pub(crate) fn origin(&self) -> Origin {
        self.origin.clone().unwrap_or_default()
    }
}

/// A setting: at most one value, or a list or a table of `MANY` values.
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

    /// The value of a setting that has a default.
    pub(crate) fn value(&self) -> K::Value {
        self.get().cloned().expect("the built-in layer sets every setting that is read in this way")
    }

    pub(crate) fn origin(&self) -> Origin {
        self.0.first().map(Item::origin).unwrap_or_default()
    }

    /// Whether a layer sets it, so that the default does not count.
    pub(crate) fn is_set(&self) -> bool {
        self.origin().layer != Layer::Default
    }

    /// The folder of the user's file, if that sets it: a relative path there starts at this folder.
    pub(crate) fn folder(&self) -> Option<PathBuf> {
        let origin = Some(self.origin()).filter(|origin| origin.layer == Layer::User)?;
        Path::new(&*origin.name).parent().map(Path::to_owned)
    }
}

impl<K: Kind<Value = String>> One<K> {
    pub(crate) fn text(&self) -> Option<&str> {
        self.get().map(String::as_str)
    }

    /// The file that it names.
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

    /// The values of each layer that has any.
    pub(crate) fn by_layer(&self) -> Vec<Vec<K::Value>> {
        let mut items: Vec<&Item<K::Value>> = self.0.iter().collect();
        items.sort_by_key(|item| item.origin().layer);
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

    /// Merges a stronger layer over this one: its items are added, and a single value counts over the weaker one. A single value
    /// of a layer that only tightens counts if it is stricter.
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

    /// Whether a single value counts over the weaker one. A looser one is noted.
    fn admits(&self, key: &str, item: &Item<K::Value>, by: &mut Merging<'_>) -> bool {
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
            (false, _) => (Shape::One, K::takes()),
            (true, false) => (Shape::List, text!("a list; each item is {takes}", takes = K::takes())),
            (true, true) => (Shape::Table, text!("a table; each item is {takes}", takes = K::takes())),
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

/// Reads an item of this name. The newtype is only for the reader of TOML, which then adds the place to an error.
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
        let written = Spanned::<K::Written>::deserialize(from)?;
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
        items.sort_by_key(|item| item.at);
        Ok(items)
    }
}

/// The text of a layer, for the places of its values.
pub(crate) struct Source {
    pub(crate) layer: Layer,
    pub(crate) name: Arc<str>,
    /// Empty if lines in it mean nothing to the user.
    pub(crate) text: String,
}

impl Source {
    fn origin(&self, at: usize) -> Origin {
        let line = (!self.text.is_empty()).then(|| line_and_column(&self.text, at).0);
        Origin { layer: self.layer, name: Arc::clone(&self.name), line }
    }
}

/// The layer that is merged over weaker ones, and the notes about values of it that have no effect.
pub(crate) struct Merging<'a> {
    pub(crate) source: &'a Source,
    pub(crate) notes: &'a mut Vec<Text>,
}

/// How the values of a setting are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    One,
    List,
    Table,
}

/// A setting as `coder config`, the documented file and the documentation show it.
pub(crate) struct Row {
    /// With its table: `commands.allow`.
    pub(crate) key: &'static str,
    /// The built-in value as TOML; empty without one.
    pub(crate) default: &'static str,
    /// With another line after each ` - `.
    pub(crate) help: Text,
    /// The values that may be written.
    pub(crate) takes: Text,
    pub(crate) shape: Shape,
    pub(crate) values: Vec<(String, Origin)>,
}

impl Row {
    /// The help in lines.
    pub(crate) fn help(&self, language: Language) -> Vec<String> {
        self.help.render(language).trim().split(" - ").map(str::to_owned).collect()
    }
}
