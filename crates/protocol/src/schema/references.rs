//! What the references of a schema mean, as sections 8.2 and 9.2 of JSON Schema Core 2020-12 have it: identifiers, anchors and the base
//! URIs that references are resolved against.
//!
//! [`resolve`] replaces each reference by the place in the document that it means, so that nothing that reads a schema later has to know of
//! identifiers. References to other documents stay as they are, and mean nothing here.

use super::{MOST_LEVELS, MOST_NAMES};
use serde_json::{Map, Value, json};
use std::collections::HashMap;

/// Bytes of a pointer. Names and references that stand deeper are left as they are.
const LONGEST_POINTER: usize = 1024;

/// Bytes of an absolute identifier. Longer ones name nothing.
const LONGEST_URI: usize = 2048;

/// Bytes that references may become longer by, all together.
const MOST_GROWTH: usize = 4 << 20;

/// A part of a document that has its own base URI; the first is the document.
#[derive(Debug)]
struct Resource {
    /// Its place in the document.
    pointer: String,
    uri: String,
    /// Places in the document by the anchors that name them.
    anchors: HashMap<String, String>,
    /// Those of the anchors that a `$dynamicRef` may mean from elsewhere.
    dynamic: HashMap<String, String>,
}

/// The resources of a document.
#[derive(Debug, Default)]
pub(super) struct Resources {
    each: Vec<Resource>,
    by_uri: HashMap<String, usize>,
    by_pointer: HashMap<String, usize>,
    names: usize,
    /// Bytes by which references have become longer.
    growth: usize,
    /// Whether `id` names a schema, as it did in drafts 3 and 4.
    plain_id: bool,
    /// Whether a `$dynamicRef` occurs whose meaning depends on the way to it.
    pub(super) is_dynamic: bool,
}

/// What a value inside a schema is.
#[derive(Clone, Copy, PartialEq)]
enum Position {
    Schema,
    /// An object or an array of schemas.
    Schemas,
    /// What no keyword says: a reference may lead into it, but nothing in it names anything.
    Unknown,
    Data,
}

/// What the value of a keyword is.
fn below(keyword: &str, place: Position) -> Position {
    match (place, keyword) {
        (Position::Data, _) => Position::Data,
        (Position::Schemas, _) => Position::Schema,
        (_, "const" | "enum" | "default" | "examples" | "example") => Position::Data,
        (Position::Unknown, _) => Position::Unknown,
        (_, "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas" | "dependencies") => {
            Position::Schemas
        }
        (_, "allOf" | "anyOf" | "oneOf" | "prefixItems") => Position::Schemas,
        (_, "additionalProperties" | "unevaluatedProperties" | "propertyNames") => Position::Schema,
        (_, "items" | "additionalItems" | "unevaluatedItems" | "contains") => Position::Schema,
        (_, "not" | "if" | "then" | "else" | "contentSchema") => Position::Schema,
        _ => Position::Unknown,
    }
}

/// The members of an object or an array, with the steps to them.
fn members(value: &mut Value, place: Position) -> Vec<(String, Position, &mut Value)> {
    match value {
        Value::Object(members) => members
            .iter_mut()
            .map(|(name, member)| (name.replace('~', "~0").replace('/', "~1"), below(name, place), member))
            .collect(),
        Value::Array(items) => {
            // `items` was an array of schemas until 2019-09.
            let inner = if place == Position::Schemas { Position::Schema } else { place };
            items.iter_mut().enumerate().map(|(index, item)| (index.to_string(), inner, item)).collect()
        }
        _ => Vec::new(),
    }
}

/// Replaces each reference in a document by the place that it means: the text `#/pointer`, or for a `$dynamicRef` that depends on the way to
/// it an object with its `anchor` and the `pointer` that it has where nobody else has this anchor. Identifiers become absolute.
pub(super) fn resolve(root: &mut Value, siblings: bool) -> Resources {
    let draft = root.get("$schema").and_then(Value::as_str).unwrap_or_default();
    let plain_id = ["draft-03", "draft-04"].iter().any(|name| draft.contains(name));
    let mut resources = Resources { plain_id, ..Resources::default() };
    resources.add(String::new(), String::new());
    resources.note(root, Position::Schema, &mut String::new(), 0, 0, siblings);
    resources.replace(root, Position::Schema, &mut String::new(), 0, 0);
    resources
}

impl Resources {
    fn add(&mut self, pointer: String, uri: String) -> usize {
        let index = self.each.len();
        self.by_uri.entry(uri.clone()).or_insert(index);
        self.by_pointer.insert(pointer.clone(), index);
        self.each.push(Resource { pointer, uri, anchors: HashMap::new(), dynamic: HashMap::new() });
        index
    }

    /// Finds what is named in a value that stands at `pointer`, inside the resource `base`.
    fn note(
        &mut self,
        value: &mut Value,
        place: Position,
        pointer: &mut String,
        mut base: usize,
        level: usize,
        siblings: bool,
    ) {
        if level == MOST_LEVELS
            || pointer.len() > LONGEST_POINTER
            || matches!(place, Position::Data | Position::Unknown)
        {
            return;
        }
        if let (Position::Schema, Value::Object(schema)) = (place, &mut *value) {
            // Until 2019-09 what stood beside a reference did not count.
            if siblings || !schema.contains_key("$ref") {
                base = self.note_names(schema, pointer, base);
            }
        }
        for (step, place, member) in members(value, place) {
            let length = pointer.len();
            pointer.push('/');
            pointer.push_str(&step);
            self.note(member, place, pointer, base, level + 1, siblings);
            pointer.truncate(length);
        }
    }

    /// The names that a schema gives itself; says which resource it is in.
    fn note_names(&mut self, schema: &mut Map<String, Value>, pointer: &str, mut base: usize) -> usize {
        for key in ["$id", "id"] {
            let Some(id) = schema.get(key).and_then(Value::as_str).map(str::to_owned) else { continue };
            let (address, fragment) = absolute(&self.each[base].uri, &id);
            match fragment {
                // Until draft 7 an anchor was an identifier.
                Some(anchor) if id.starts_with('#') && !anchor.is_empty() => {
                    self.note_anchor(base, anchor, pointer, false);
                }
                _ if key == "id" && !self.plain_id => {}
                _ if self.names < MOST_NAMES && address.len() <= LONGEST_URI => {
                    self.names += 1;
                    schema.insert(key.to_owned(), address.clone().into());
                    if pointer.is_empty() {
                        self.by_uri.insert(address.clone(), 0);
                        self.each[0].uri = address;
                    } else {
                        base = self.add(pointer.to_owned(), address);
                    }
                }
                _ => {}
            }
        }
        for (key, dynamic) in [("$anchor", false), ("$dynamicAnchor", true)] {
            if let Some(anchor) = schema.get(key).and_then(Value::as_str).map(str::to_owned) {
                self.note_anchor(base, anchor, pointer, dynamic);
            }
        }
        base
    }

    fn note_anchor(&mut self, base: usize, anchor: String, pointer: &str, dynamic: bool) {
        if self.names == MOST_NAMES || anchor.len() > LONGEST_URI {
            return;
        }
        self.names += 1;
        let resource = &mut self.each[base];
        if dynamic {
            resource.dynamic.entry(anchor.clone()).or_insert_with(|| pointer.to_owned());
        }
        resource.anchors.entry(anchor).or_insert_with(|| pointer.to_owned());
    }

    fn replace(&mut self, value: &mut Value, place: Position, pointer: &mut String, mut base: usize, level: usize) {
        if level == MOST_LEVELS || pointer.len() > LONGEST_POINTER || place == Position::Data {
            return;
        }
        if let (Position::Schema | Position::Unknown, Value::Object(schema)) = (place, &mut *value) {
            if schema.contains_key("$id") || schema.contains_key("id") {
                base = self.by_pointer.get(pointer.as_str()).copied().unwrap_or(base);
            }
            self.replace_references(schema, base);
        }
        for (step, place, member) in members(value, place) {
            let length = pointer.len();
            pointer.push('/');
            pointer.push_str(&step);
            self.replace(member, place, pointer, base, level + 1);
            pointer.truncate(length);
        }
    }

    fn replace_references(&mut self, schema: &mut Map<String, Value>, base: usize) {
        for key in ["$ref", "$recursiveRef", "$dynamicRef"] {
            let Some(reference) = schema.get(key) else { continue };
            let means = reference.as_str().and_then(|reference| self.meant(base, reference));
            let short = means.filter(|(pointer, ..)| {
                let written = reference.as_str().map_or(0, str::len);
                self.growth += (pointer.len() + 1).saturating_sub(written);
                self.growth <= MOST_GROWTH
            });
            let Some((pointer, resource, anchor)) = short else {
                // Neither a place of this document nor, as it is no text, the name of another one.
                if !reference.is_string() {
                    schema.insert(key.to_owned(), Value::Null);
                }
                continue;
            };
            let anchor = anchor
                .filter(|anchor| key == "$dynamicRef" && self.each[resource].dynamic.get(anchor) == Some(&pointer));
            self.is_dynamic |= anchor.is_some();
            let means = match anchor {
                Some(anchor) => json!({"anchor": anchor, "pointer": pointer}),
                None => Value::from(format!("#{pointer}")),
            };
            schema.insert(key.to_owned(), means);
        }
    }

    /// The place that a reference inside the resource `base` means, the resource that it names, and the anchor in it.
    fn meant(&self, base: usize, reference: &str) -> Option<(String, usize, Option<String>)> {
        let (address, fragment) = absolute(&self.each[base].uri, reference);
        let own = reference.is_empty() || reference.starts_with('#');
        let index = if own { base } else { *self.by_uri.get(&address)? };
        let resource = &self.each[index];
        match fragment {
            None => Some((resource.pointer.clone(), index, None)),
            Some(path) if path.is_empty() || path.starts_with('/') => {
                Some((resource.pointer.clone() + &path, index, None))
            }
            Some(anchor) => Some((resource.anchors.get(&anchor)?.clone(), index, Some(anchor))),
        }
    }

    /// The resource with this absolute identifier.
    pub(super) fn named(&self, uri: &str) -> Option<usize> {
        self.by_uri.get(uri).copied()
    }

    /// The resource that a place of the document is in.
    pub(super) fn around(&self, pointer: &str) -> usize {
        let ends = pointer.char_indices().rev().filter(|(_, c)| *c == '/').map(|(at, _)| at);
        let mut outer = std::iter::once(pointer.len()).chain(ends).map(|end| &pointer[..end]);
        outer.find_map(|outer| self.by_pointer.get(outer).copied()).unwrap_or(0)
    }

    /// The place that a dynamic anchor means to whoever came through these resources: that of the outermost one that has it.
    pub(super) fn outermost(&self, anchor: &str, scope: &[usize]) -> Option<&str> {
        scope.iter().find_map(|index| self.each[*index].dynamic.get(anchor)).map(String::as_str)
    }
}

/// A reference against a base URI, as RFC 3986, 5.2 resolves it: the address, and the fragment without its percent-encoding.
fn absolute(base: &str, reference: &str) -> (String, Option<String>) {
    let (reference, fragment) = match reference.split_once('#') {
        Some((reference, fragment)) => (reference, Some(decoded(fragment))),
        None => (reference, None),
    };
    let is_scheme = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_alphabetic())
            && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
    };
    let has_scheme = |text: &str| text.split_once(':').is_some_and(|(scheme, _)| is_scheme(scheme));
    if reference.is_empty() {
        return (base.to_owned(), fragment);
    }
    if has_scheme(reference) {
        return (reference.to_owned(), fragment);
    }
    let scheme = if has_scheme(base) { base.find(':').map_or(0, |at| at + 1) } else { 0 };
    if reference.starts_with("//") {
        return (format!("{}{reference}", &base[..scheme]), fragment);
    }
    let authority = match base[scheme..].strip_prefix("//") {
        Some(rest) => scheme + 2 + rest.find('/').unwrap_or(rest.len()),
        None => scheme,
    };
    let path = base[authority..].split('?').next().unwrap_or_default();
    let folder = if reference.starts_with('/') { "" } else { &path[..path.rfind('/').map_or(0, |at| at + 1)] };
    let (steps, query) = match reference.split_once('?') {
        Some((steps, query)) => (steps, format!("?{query}")),
        None => (reference, String::new()),
    };
    (format!("{}{}{query}", &base[..authority], without_dots(&format!("{folder}{steps}"))), fragment)
}

/// A path without its steps `.` and `..`.
fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let steps: Vec<&str> = path.split('/').collect();
    for (index, step) in steps.iter().enumerate() {
        let is_last = index + 1 == steps.len();
        match *step {
            "." | ".." => {
                // The empty step before the first slash stays.
                if *step == ".." && kept.len() > usize::from(path.starts_with('/')) {
                    kept.pop();
                }
                if is_last {
                    kept.push("");
                }
            }
            step => kept.push(step),
        }
    }
    kept.join("/")
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

#[cfg(test)]
mod tests {
    use super::{MOST_GROWTH, absolute, resolve};
    use serde_json::{Value, json};

    /// The examples of RFC 3986, 5.4, and bases without an authority.
    #[test]
    fn references_are_resolved_as_the_rfc_says() {
        let base = "http://a/b/c/d;p?q";
        for (reference, wanted) in [
            ("g:h", "g:h"),
            ("g", "http://a/b/c/g"),
            ("./g", "http://a/b/c/g"),
            ("g/", "http://a/b/c/g/"),
            ("/g", "http://a/g"),
            ("//g", "http://g"),
            ("g?y", "http://a/b/c/g?y"),
            (";x", "http://a/b/c/;x"),
            ("", "http://a/b/c/d;p?q"),
            (".", "http://a/b/c/"),
            ("./", "http://a/b/c/"),
            ("..", "http://a/b/"),
            ("../g", "http://a/b/g"),
            ("../..", "http://a/"),
            ("../../../g", "http://a/g"),
            ("g;x=1/../y", "http://a/b/c/y"),
        ] {
            assert_eq!(absolute(base, reference).0, wanted, "{reference}");
        }
        assert_eq!(absolute("urn:uuid:1", "#/a%25b"), ("urn:uuid:1".to_owned(), Some("/a%b".to_owned())));
        assert_eq!(absolute("", "list"), ("list".to_owned(), None));
        assert_eq!(absolute("schema/root", "list#x"), ("schema/list".to_owned(), Some("x".to_owned())));
    }

    /// A reference is short and the place that it means may be long, so a document of many could become much longer.
    #[test]
    fn a_document_does_not_grow_without_bound() {
        let name = "n".repeat(1000);
        let references: Vec<Value> = std::iter::repeat_n(json!({"$ref": "#x"}), 20_000).collect();
        let mut document = json!({"$defs": {name: {"$anchor": "x"}}, "allOf": references});
        let length = document.to_string().len();
        resolve(&mut document, true);
        let longer = document.to_string().len() - length;
        assert!(longer > MOST_GROWTH / 2 && longer <= MOST_GROWTH, "{longer} bytes");
    }
}
