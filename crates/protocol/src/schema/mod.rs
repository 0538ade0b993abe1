//! A JSON Schema from another server's tool: checks values, describes the schema in words for the model, and builds a
//! valid sample.
//!
//! [`check`] supports a part of JSON Schema 2020-12: types, choices, bounds, patterns, members, elements, combinations,
//! and references inside of the document. The model sees more keywords than are checked. With other keywords the check
//! accepts more than a full validator would, never less.
//!
//! The schemas are untrusted. Every walk over one spends from a budget, so that neither circular references nor a
//! schema that doubles at each level can exceed a bounded time.

mod check;
mod fit;
mod sample;
mod view;
mod words;

pub(crate) use check::{Fault, ValueKind};
pub(crate) use view::{MOST_FIELDS, View};

use regex::{Regex, RegexBuilder};
use serde_json::{Map, Number, Value};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// The maximum number of patterns that are checked, and the maximum number of bytes in a pattern.
const MOST_PATTERNS: usize = 64;
const LONGEST_PATTERN: usize = 1024;

/// The maximum number of bytes in a compiled pattern, and the cost factor of its matches. A pattern that repeats a
/// Unicode class is large.
const PATTERN_SIZES: [(usize, u64); 2] = [(64 << 10, 1), (4 << 20, 8)];

/// The maximum number of levels of a schema that are searched; parsed JSON has at most 127.
const MOST_LEVELS: usize = 160;

/// Keywords that may refuse a value but are not checked.
const UNCHECKED: [&str; 16] = [
    "$dynamicRef",
    "contains",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "format",
    "if",
    "maxProperties",
    "minProperties",
    "multipleOf",
    "not",
    "patternProperties",
    "prefixItems",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
];

/// A compiled pattern and the cost of a step of its match.
type Pattern = (Regex, u64);

#[derive(Debug)]
pub(crate) struct Schema {
    root: Value,
    /// Each pattern is compiled when it is first matched. `None`: it is not checked, because it is too long, too large
    /// or one too many, or needs more than linear time.
    patterns: BTreeMap<String, OnceLock<Option<Pattern>>>,
    /// Whether all keywords that may refuse a value are checked. If not, two alternatives that seem to fit are not
    /// treated as exclusive.
    is_complete: bool,
}

impl Schema {
    pub(crate) fn new(root: &Value) -> Schema {
        let mut schema = Schema { root: root.clone(), patterns: BTreeMap::new(), is_complete: true };
        schema.note(root, 0);
        schema
    }

    pub(crate) fn root(&self) -> &Value {
        &self.root
    }

    /// Collects patterns and unchecked keywords. It visits every value, because a reference may point anywhere.
    fn note(&mut self, value: &Value, level: usize) {
        if level == MOST_LEVELS {
            return;
        }
        match value {
            Value::Object(members) => {
                if let Some(Value::String(pattern)) = members.get("pattern")
                    && !self.patterns.contains_key(pattern)
                {
                    let is_checked = pattern.len() <= LONGEST_PATTERN && self.patterns.len() < MOST_PATTERNS;
                    let compiled = if is_checked { OnceLock::new() } else { OnceLock::from(None) };
                    self.patterns.insert(pattern.clone(), compiled);
                }
                // The target of a reference out of the document may refuse values too.
                let leads_away = members.contains_key("$ref") && self.target(members).is_none();
                self.is_complete &= !leads_away && !UNCHECKED.iter().any(|keyword| members.contains_key(*keyword));
                members.values().for_each(|inner| self.note(inner, level + 1));
            }
            Value::Array(items) => items.iter().for_each(|inner| self.note(inner, level + 1)),
            _ => {}
        }
    }

    fn pattern(&self, pattern: &str) -> Option<&Pattern> {
        self.patterns.get(pattern)?.get_or_init(|| compile(pattern)).as_ref()
    }

    /// Returns the patterns in order, and whether each of them is checked. A pattern that this method compiles is not
    /// cached.
    pub(crate) fn patterns(&self) -> impl Iterator<Item = (&str, bool)> {
        self.patterns.iter().map(|(pattern, compiled)| {
            let is_checked = compiled.get().map_or_else(|| compile(pattern).is_some(), Option::is_some);
            (pattern.as_str(), is_checked)
        })
    }

    /// Returns the schema to which `$ref` refers. `None` if there is no reference, or if its target is missing or
    /// outside of the document.
    fn target(&self, rules: &Map<String, Value>) -> Option<&Value> {
        self.root.pointer(rules.get("$ref")?.as_str()?.strip_prefix('#')?)
    }
}

fn compile(pattern: &str) -> Option<Pattern> {
    PATTERN_SIZES.into_iter().find_map(|(bytes, cost)| {
        let builder = &mut RegexBuilder::new(pattern);
        Some((builder.size_limit(bytes).dfa_size_limit(PATTERN_SIZES[0].0).build().ok()?, cost))
    })
}

/// Returns the schema of an array's elements. With `prefixItems` it only applies to later elements, so it is not
/// checked.
fn items(rules: &Map<String, Value>) -> Option<&Value> {
    rules.get("items").filter(|_| !rules.contains_key("prefixItems"))
}

/// Returns the schema of members without a schema of their own. With `patternProperties`, these members are not known.
fn additional(rules: &Map<String, Value>) -> Option<&Value> {
    rules.get("additionalProperties").filter(|_| !rules.contains_key("patternProperties"))
}

/// Returns a size such as that of `minLength`.
fn size(rules: &Map<String, Value>, key: &str) -> Option<u64> {
    rules.get(key)?.as_u64()
}

/// Returns the schemas of a list keyword such as `anyOf`.
fn branches<'s>(rules: &'s Map<String, Value>, key: &str) -> &'s [Value] {
    rules.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn compare(a: &Number, b: &Number) -> Ordering {
    let whole = |number: &Number| number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
    match (whole(a), whole(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        _ => a.as_f64().partial_cmp(&b.as_f64()).unwrap_or(Ordering::Equal),
    }
}

/// Returns `true` if two values are equal: 1 equals 1.0, and the order of members is irrelevant.
fn equal(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => compare(a, b).is_eq(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, value)| b.get(key).is_some_and(|other| equal(value, other)))
        }
        _ => a == b,
    }
}
