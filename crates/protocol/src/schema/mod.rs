//! A JSON Schema as tools of other servers describe their arguments: which values it allows, how they are told in words, and a
//! value that it allows.
//!
//! [`check`] follows JSON Schema 2020-12, and the older drafts where a schema names one or has their keywords. Formats are
//! told and not checked, as the standard has it. This module fetches nothing: a reference to another document allows any
//! value. It knows no tools and no calls.
//!
//! The schemas come from strangers. Every walk over one spends from a budget, so that neither references in a circle nor
//! a schema that doubles at each level costs more than a bounded time. No validator that is a crate of its own has such a
//! budget; that ours reads a schema as others do is checked against one of them.

mod check;
mod fit;
mod number;
mod pattern;
mod sample;
mod view;
mod words;

pub(crate) use check::{Fault, Kind};
pub(crate) use view::{MOST_FIELDS, Types, View};

use regex_lite::{Regex, RegexBuilder};
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::sync::OnceLock;

/// Names of places that references may use.
const MOST_NAMES: usize = 4096;

/// Patterns that are checked; what others say is told only.
const MOST_PATTERNS: usize = 256;

/// Bytes of a pattern that is checked.
const LONGEST_PATTERN: usize = 1024;

/// Bytes of a compiled pattern.
const MOST_COMPILED: usize = 64 << 10;

/// Levels of a schema that are searched for names and patterns; JSON that was read has at most 127.
const MOST_LEVELS: usize = 160;

/// A schema and what is looked up in it again and again.
#[derive(Debug)]
pub(crate) struct Schema {
    root: Value,
    /// Pointers to what a `$id` or an anchor names, by the reference that means it.
    named: HashMap<String, String>,
    /// Compiled when the first text is matched; `None` where a pattern is not one that can be matched in linear time.
    patterns: HashMap<String, OnceLock<Option<Regex>>>,
    /// Whether a part of the document is a document of its own, so that a pointer may not be meant from the root.
    embedded: bool,
    /// Whether keywords beside `$ref` count, as they do since 2019-09.
    siblings: bool,
    /// Whether `unevaluatedProperties` or `unevaluatedItems` occurs; only then it is noted what was evaluated.
    unevaluated: bool,
}

impl Schema {
    pub(crate) fn new(root: &Value) -> Schema {
        let draft = root.get("$schema").and_then(Value::as_str).unwrap_or_default();
        let old = ["draft-03", "draft-04", "draft-05", "draft-06", "draft-07"];
        let mut schema = Schema {
            root: root.clone(),
            named: HashMap::new(),
            patterns: HashMap::new(),
            embedded: false,
            siblings: !old.iter().any(|name| draft.contains(name)),
            unevaluated: false,
        };
        schema.note(root, &mut Vec::new());
        schema
    }

    pub(crate) fn root(&self) -> &Value {
        &self.root
    }

    /// Notes names and patterns. It looks into every value, for a reference may point anywhere.
    fn note<'a>(&mut self, value: &'a Value, place: &mut Vec<&'a str>) {
        let members: &Map<String, Value> = match value {
            Value::Object(members) => members,
            Value::Array(items) if place.len() < MOST_LEVELS => {
                for (index, item) in items.iter().enumerate().filter(|(_, item)| item.is_object() || item.is_array()) {
                    let index = index.to_string();
                    let mut inner: Vec<&str> = place.clone();
                    inner.push(&index);
                    self.note(item, &mut inner);
                }
                return;
            }
            _ => return,
        };
        self.note_names(members, place);
        if let Some(Value::String(pattern)) = members.get("pattern") {
            self.note_pattern(pattern);
        }
        if let Some(Value::Object(patterns)) = members.get("patternProperties") {
            patterns.keys().for_each(|pattern| self.note_pattern(pattern));
        }
        self.unevaluated |= ["unevaluatedProperties", "unevaluatedItems"].iter().any(|key| members.contains_key(*key));
        if place.len() < MOST_LEVELS {
            for (name, member) in members.iter().filter(|(_, member)| member.is_object() || member.is_array()) {
                place.push(name);
                self.note(member, place);
                place.pop();
            }
        }
    }

    fn note_names(&mut self, members: &Map<String, Value>, place: &[&str]) {
        let text = |key: &str| members.get(key).and_then(Value::as_str);
        let anchors = ["$anchor", "$dynamicAnchor"].into_iter().filter_map(text).map(|name| format!("#{name}"));
        let ids = ["$id", "id"].into_iter().filter_map(text).filter(|id| !id.is_empty()).map(str::to_owned);
        for name in anchors.chain(ids) {
            self.embedded |= !place.is_empty() && !name.starts_with('#') && members.contains_key("$id");
            if self.named.len() < MOST_NAMES {
                let pointer = place.iter().map(|step| format!("/{}", step.replace('~', "~0").replace('/', "~1")));
                self.named.entry(name).or_insert_with(|| pointer.collect());
            }
        }
    }

    fn note_pattern(&mut self, pattern: &str) {
        let short = pattern.len() <= LONGEST_PATTERN && self.patterns.len() < MOST_PATTERNS;
        if short && !self.patterns.contains_key(pattern) {
            self.patterns.insert(pattern.to_owned(), OnceLock::new());
        }
    }

    fn pattern(&self, pattern: &str) -> Option<&Regex> {
        let compile = || RegexBuilder::new(pattern).size_limit(MOST_COMPILED).build().ok();
        self.patterns.get(pattern)?.get_or_init(compile).as_ref()
    }

    /// What a reference means, where that stands in this document.
    fn target(&self, reference: &str) -> Option<&Value> {
        if let Some(pointer) = self.named.get(reference) {
            return self.root.pointer(pointer);
        }
        let own = ["$id", "id"].into_iter().find_map(|key| self.root.get(key)?.as_str()).unwrap_or_default();
        let own = own.trim_end_matches('#');
        let fragment = reference.strip_prefix(own).unwrap_or(reference).strip_prefix('#')?;
        if fragment.is_empty() {
            return Some(&self.root);
        }
        if let Some(pointer) = self.named.get(&format!("#{fragment}")) {
            return self.root.pointer(pointer);
        }
        if self.embedded || !fragment.starts_with('/') { None } else { self.root.pointer(&decoded(fragment)) }
    }

    /// The schema that a `$ref` or its dynamic kin leads to. In one document the dynamic ones lead where the plain one does.
    fn referred<'s>(&'s self, members: &'s Map<String, Value>) -> impl Iterator<Item = Option<&'s Value>> {
        let keys = ["$ref", "$dynamicRef", "$recursiveRef"];
        keys.into_iter().filter_map(|key| members.get(key)?.as_str()).map(|reference| self.target(reference))
    }
}

/// Undoes percent-encoding; what is none stays.
fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let code = (byte == b'%').then(|| text.get(at + 1..at + 3)).flatten();
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(code) => {
                out.push(code);
                at += 3;
            }
            None => {
                out.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}
