//! A JSON Schema as tools of other servers describe their arguments: which values it allows, how they are told in words, and a
//! value that it allows.
//!
//! [`check`] follows JSON Schema 2020-12, and the older drafts where a schema names one or has their keywords. Formats are
//! told and not checked, as the standard has it. This module fetches nothing: a reference to another document allows any
//! value. It knows no tools and no calls.
//!
//! The schemas come from strangers. Every walk over one spends from a budget, so that neither references in a circle nor
//! a schema that doubles at each level costs more than a bounded time. Patterns are matched in linear time, and one that cannot be is
//! reported instead of checked. No validator that is a crate of its own has such a
//! budget; that ours reads a schema as others do is checked against one of them, and against the tests of the authors of JSON Schema.

mod check;
mod fit;
mod number;
mod pattern;
mod references;
mod sample;
#[cfg(test)]
mod suite;
mod view;
mod words;

pub(crate) use check::{Fault, ValueKind};
pub(crate) use view::{MOST_FIELDS, Types, View};

use pattern::of_ecma;
use references::Resources;
use regex::{Regex, RegexBuilder};
use serde_json::{Map, Value};
use std::collections::{BTreeSet, HashMap};
use std::sync::OnceLock;

/// Names of places that references may use.
const MOST_NAMES: usize = 4096;

/// Patterns that are checked.
const MOST_PATTERNS: usize = 64;

/// Bytes of a pattern that is checked.
const LONGEST_PATTERN: usize = 1024;

/// Bytes of a compiled pattern: most patterns are small, and those that repeat a Unicode class are not.
const SMALL_PATTERN: usize = 64 << 10;
const LARGE_PATTERN: usize = 4 << 20;

/// How many times as many steps as with a small pattern the match with a large one costs.
const LARGE_WEIGHT: u64 = 8;

/// Levels of a schema that are searched for names and patterns; JSON that was read has at most 127.
const MOST_LEVELS: usize = 160;

/// The keywords that lead to another schema.
const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// A schema and what is looked up in it again and again.
#[derive(Debug)]
pub(crate) struct Schema {
    /// The document, with each reference replaced by the place that it means.
    root: Value,
    resources: Resources,
    /// Compiled when the first text is matched; `None` if a pattern needs more than linear time or too much memory.
    patterns: HashMap<String, OnceLock<Option<Pattern>>>,
    /// The patterns that are too long or too many to be compiled.
    excess_patterns: BTreeSet<String>,
    /// Whether keywords beside `$ref` count, as they do since 2019-09.
    siblings: bool,
    /// Whether `unevaluatedProperties` or `unevaluatedItems` occurs; only then it is noted what was evaluated.
    unevaluated: bool,
}

/// A compiled pattern.
#[derive(Debug)]
struct Pattern {
    regex: Regex,
    /// What a step of the match costs.
    weight: u64,
}

impl Pattern {
    fn compile(pattern: &str) -> Option<Pattern> {
        let pattern = of_ecma(pattern);
        let build = |bytes: usize| RegexBuilder::new(&pattern).size_limit(bytes).dfa_size_limit(SMALL_PATTERN).build();
        match build(SMALL_PATTERN) {
            Ok(regex) => Some(Pattern { regex, weight: 1 }),
            Err(regex::Error::CompiledTooBig(_)) => {
                build(LARGE_PATTERN).ok().map(|regex| Pattern { regex, weight: LARGE_WEIGHT })
            }
            Err(_) => None,
        }
    }
}

impl Schema {
    pub(crate) fn new(root: &Value) -> Schema {
        let draft = root.get("$schema").and_then(Value::as_str).unwrap_or_default();
        let old = ["draft-03", "draft-04", "draft-05", "draft-06", "draft-07"];
        let siblings = !old.iter().any(|name| draft.contains(name));
        let mut root = root.clone();
        let resources = references::resolve(&mut root, siblings);
        let mut schema = Schema {
            root: Value::Null,
            resources,
            patterns: HashMap::new(),
            excess_patterns: BTreeSet::new(),
            siblings,
            unevaluated: false,
        };
        schema.note(&root, 0);
        schema.root = root;
        schema
    }

    pub(crate) fn root(&self) -> &Value {
        &self.root
    }

    /// Notes patterns. It looks into every value, for a reference may point anywhere.
    fn note(&mut self, value: &Value, level: usize) {
        let inner: Vec<&Value> = match value {
            Value::Object(members) => {
                if let Some(Value::String(pattern)) = members.get("pattern") {
                    self.note_pattern(pattern);
                }
                if let Some(Value::Object(patterns)) = members.get("patternProperties") {
                    patterns.keys().for_each(|pattern| self.note_pattern(pattern));
                }
                self.unevaluated |=
                    ["unevaluatedProperties", "unevaluatedItems"].iter().any(|key| members.contains_key(*key));
                members.values().collect()
            }
            Value::Array(items) => items.iter().collect(),
            _ => return,
        };
        if level < MOST_LEVELS {
            inner.into_iter().for_each(|value| self.note(value, level + 1));
        }
    }

    fn note_pattern(&mut self, pattern: &str) {
        if self.patterns.contains_key(pattern) {
            return;
        }
        if pattern.len() <= LONGEST_PATTERN && self.patterns.len() < MOST_PATTERNS {
            self.patterns.insert(pattern.to_owned(), OnceLock::new());
        } else {
            self.excess_patterns.insert(pattern.to_owned());
        }
    }

    fn pattern(&self, pattern: &str) -> Option<&Pattern> {
        self.patterns.get(pattern)?.get_or_init(|| Pattern::compile(pattern)).as_ref()
    }

    /// The patterns in order, each with whether texts are matched against it. A step compiles a pattern and keeps nothing of it.
    pub(crate) fn patterns(&self) -> impl Iterator<Item = (&str, bool)> {
        let mut names: Vec<&str> = self.patterns.keys().chain(&self.excess_patterns).map(String::as_str).collect();
        names.sort_unstable();
        let is_checked = |name: &str| self.patterns.contains_key(name) && Pattern::compile(name).is_some();
        names.into_iter().map(move |name| (name, is_checked(name)))
    }

    /// The schemas that a `$ref` and its dynamic kin lead to, the latter where nobody on the way has the same anchor. `None` for one
    /// that leads out of this document.
    fn referred<'s>(&'s self, members: &'s Map<String, Value>) -> impl Iterator<Item = Option<&'s Value>> {
        REFERENCES.into_iter().filter_map(|key| members.get(key)).filter(|means| !means.is_null()).map(|means| {
            let place = means.as_str().and_then(|place| place.strip_prefix('#'));
            self.root.pointer(place.or_else(|| means.get("pointer")?.as_str())?)
        })
    }
}
