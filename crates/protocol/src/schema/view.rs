//! What several schemas say of one value together: references followed, `allOf` taken apart.
//!
//! For telling and for making a value only; what a view leaves out, [`check`](super::check) still knows.

use super::Schema;
use super::number::compare;
use serde_json::{Map, Number, Value};
use std::cmp::Ordering;
use std::collections::HashMap;
use std::ptr;

/// Schemas of one view.
const MOST_LAYERS: usize = 32;

/// Members that are named to the model.
pub(crate) const MOST_FIELDS: usize = 1000;

/// The types of a value, as bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Types(u8);

impl Types {
    pub(crate) const OBJECT: Types = Types(1);
    pub(crate) const ARRAY: Types = Types(2);
    pub(crate) const STRING: Types = Types(4);
    pub(crate) const INTEGER: Types = Types(8);
    /// Every number, whole ones too.
    pub(crate) const NUMBER: Types = Types(16 + 8);
    pub(crate) const BOOLEAN: Types = Types(32);
    pub(crate) const NULL: Types = Types(64);
    const ALL: Types = Types(127);

    /// In the order in which they are told and tried.
    pub(super) const EACH: [Types; 7] =
        [Types::OBJECT, Types::ARRAY, Types::STRING, Types::NUMBER, Types::INTEGER, Types::BOOLEAN, Types::NULL];

    fn named(name: &str) -> Types {
        match name {
            "object" => Types::OBJECT,
            "array" => Types::ARRAY,
            "string" => Types::STRING,
            "integer" => Types::INTEGER,
            "number" => Types::NUMBER,
            "boolean" => Types::BOOLEAN,
            "null" => Types::NULL,
            _ => Types(0),
        }
    }

    pub(crate) fn has(self, other: Types) -> bool {
        self.0 & other.0 == other.0
    }

    pub(crate) fn is_any(self) -> bool {
        self == Types::ALL
    }
}

/// Schemas that hold for the same value.
#[derive(Debug, Clone, Default)]
pub(crate) struct View<'s> {
    pub(super) layers: Vec<&'s Map<String, Value>>,
    /// Whether one of them allows nothing.
    pub(super) never: bool,
    /// Whether something was left out: a reference that leads nowhere, or too many schemas.
    pub(super) partial: bool,
}

/// A member of an object: the schemas of its value, and whether it has to be there.
#[derive(Debug, Clone)]
pub(crate) struct MemberView<'s> {
    pub(crate) name: &'s str,
    pub(crate) schemas: Vec<&'s Value>,
    pub(crate) required: bool,
}

impl Schema {
    /// What these schemas say together.
    pub(crate) fn view<'s>(&'s self, schemas: &[&'s Value]) -> View<'s> {
        let mut view = View::default();
        schemas.iter().for_each(|schema| self.lay(schema, &mut view));
        view
    }

    fn lay<'s>(&'s self, schema: &'s Value, view: &mut View<'s>) {
        let rules = match schema {
            Value::Object(rules) => rules,
            other => {
                view.never |= *other == Value::Bool(false);
                return;
            }
        };
        if view.layers.iter().any(|known| ptr::eq(*known, rules)) {
            return;
        }
        if view.layers.len() == MOST_LAYERS {
            view.partial = true;
            return;
        }
        if self.siblings || !rules.contains_key("$ref") {
            view.layers.push(rules);
        }
        for target in self.referred(rules) {
            match target {
                Some(target) => self.lay(target, view),
                None => view.partial = true,
            }
        }
        for branch in rules.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            self.lay(branch, view);
        }
    }
}

/// Keywords about the members of an object that say nothing of a member's name.
const NAMED: [&str; 2] = ["properties", "required"];

impl Schema {
    /// Whether a member of the root may be any string whatever the others are, as far as its own schema says.
    pub(crate) fn takes_any_text(&self, name: &str) -> bool {
        let root = self.view(&[&self.root]);
        let rules = ["patternProperties", "unevaluatedProperties", "propertyNames"];
        match root.fields().into_iter().find(|field| field.name == name) {
            Some(field) => {
                let view = self.view(&field.schemas);
                let silent = ["type", "title", "description", "default", "examples", "example", "deprecated", "$ref"];
                let silent = |rules: &&Map<String, Value>| rules.keys().all(|key| silent.contains(&key.as_str()));
                view.types().has(Types::STRING) && !view.never && !view.partial && view.layers.iter().all(silent)
            }
            None => !root.has_any(&rules) && root.every("additionalProperties").all(|more| *more == Value::Bool(true)),
        }
    }

    /// Whether some argument is an object, or an array of something else than plain values.
    pub(crate) fn is_nested(&self) -> bool {
        let fields = self.view(&[&self.root]).fields();
        fields.iter().any(|field| {
            let view = self.view(&field.schemas);
            let elements = self.view(&view.elements());
            view.has_any(&["properties", "prefixItems"]) || elements.has_any(&["properties", "anyOf", "oneOf", "items"])
        })
    }

    /// Whether the root names its members and says nothing of one of this name.
    pub(crate) fn leaves_out(&self, name: &str) -> bool {
        let root = self.view(&[&self.root]);
        let others = ["patternProperties", "propertyNames", "anyOf", "oneOf", "if", "dependentSchemas", "dependencies"];
        let silent = root.every("additionalProperties").all(|more| *more == Value::Bool(false));
        root.has_any(&NAMED)
            && silent
            && !root.partial
            && !root.has_any(&others)
            && !root.fields().iter().any(|field| field.name == name)
    }
}

impl<'s> View<'s> {
    /// What the first schema that knows this keyword says.
    pub(crate) fn get(&self, key: &str) -> Option<&'s Value> {
        self.layers.iter().find_map(|rules| rules.get(key))
    }

    pub(super) fn every(&self, key: &'static str) -> impl Iterator<Item = &'s Value> {
        self.layers.iter().filter_map(move |rules| rules.get(key))
    }

    pub(crate) fn text(&self, key: &str) -> Option<&'s str> {
        self.get(key).and_then(Value::as_str)
    }

    pub(crate) fn types(&self) -> Types {
        let of = |value: &Value| match value {
            Value::String(name) => Types::named(name),
            Value::Array(names) => {
                names.iter().filter_map(Value::as_str).fold(Types(0), |all, name| Types(all.0 | Types::named(name).0))
            }
            _ => Types::ALL,
        };
        self.every("type").fold(Types::ALL, |all, value| Types(all.0 & of(value).0))
    }

    /// The values that are allowed, where they are listed.
    pub(crate) fn choices(&self) -> Option<Vec<&'s Value>> {
        if let Some(wanted) = self.get("const") {
            return Some(vec![wanted]);
        }
        self.get("enum")?.as_array().map(|choices| choices.iter().collect())
    }

    /// The alternatives of the first schema that has some.
    pub(crate) fn alternatives(&self) -> Option<&'s [Value]> {
        self.layers
            .iter()
            .find_map(|rules| rules.get("anyOf").or_else(|| rules.get("oneOf"))?.as_array())
            .map(Vec::as_slice)
    }

    /// The members that are named, required ones first, each group in the order of the schema.
    pub(crate) fn fields(&self) -> Vec<MemberView<'s>> {
        self.first_fields(MOST_FIELDS)
    }

    /// The first `most` members that are named.
    pub(super) fn first_fields(&self, most: usize) -> Vec<MemberView<'s>> {
        let mut fields: Vec<MemberView<'s>> = Vec::new();
        let mut places: HashMap<&str, usize> = HashMap::new();
        let mut add = |name: &'s str, schema: Option<&'s Value>, required: bool| {
            let next = fields.len();
            let place = *places.entry(name).or_insert(next);
            if place >= most {
                places.remove(name);
                return;
            }
            if place == next {
                fields.push(MemberView { name, schemas: Vec::new(), required });
            }
            fields[place].required |= required;
            fields[place].schemas.extend(schema);
        };
        for properties in self.every("properties").filter_map(Value::as_object) {
            properties.iter().take(MOST_FIELDS).for_each(|(name, schema)| add(name, Some(schema), false));
        }
        let required = self.every("required").filter_map(Value::as_array).flatten().filter_map(Value::as_str);
        required.take(MOST_FIELDS).for_each(|name| add(name, None, true));
        fields.sort_by_key(|field| !field.required);
        fields
    }

    /// Whether no member is allowed but those that are named.
    pub(crate) fn is_closed(&self) -> bool {
        let patterns = self.get("patternProperties").is_some();
        !patterns && self.every("additionalProperties").any(|additional| *additional == Value::Bool(false))
    }

    /// The schema of the elements that have no schema of their own place.
    pub(crate) fn elements(&self) -> Vec<&'s Value> {
        self.every("items").chain(self.every("additionalItems")).filter(|schema| !schema.is_array()).collect()
    }

    /// The schemas of the first elements.
    pub(crate) fn first_elements(&self) -> &'s [Value] {
        let first = self.every("prefixItems").chain(self.every("items")).find_map(Value::as_array);
        first.map(Vec::as_slice).unwrap_or_default()
    }

    /// The largest of these bounds, or the smallest; the bool says that the bound itself is not allowed.
    pub(crate) fn bound(&self, least: bool) -> Option<(&'s Number, bool)> {
        let (key, sharp) = if least { ("minimum", "exclusiveMinimum") } else { ("maximum", "exclusiveMaximum") };
        let stronger = if least { Ordering::Greater } else { Ordering::Less };
        let mut found: Option<(&'s Number, bool)> = None;
        for rules in &self.layers {
            let plain =
                rules.get(key).and_then(number).map(|bound| (bound, rules.get(sharp) == Some(&Value::Bool(true))));
            let own = rules.get(sharp).and_then(number).map(|bound| (bound, true));
            for (bound, exclusive) in plain.into_iter().chain(own) {
                let better = found.is_none_or(|(known, open)| match compare(bound, known) {
                    Ordering::Equal => exclusive && !open,
                    order => order == stronger,
                });
                if better {
                    found = Some((bound, exclusive));
                }
            }
        }
        found
    }

    /// The largest of the sizes that these keywords demand, or the smallest that they allow.
    pub(super) fn size(&self, key: &'static str, least: bool) -> Option<u64> {
        let sizes = self.every(key).filter_map(|size| size.as_u64().or_else(|| size.as_f64().map(|size| size as u64)));
        if least { sizes.max() } else { sizes.min() }
    }

    /// Whether something of the schema is not in the view.
    pub(crate) fn is_partial(&self) -> bool {
        self.partial || self.never
    }

    /// Whether any of these keywords is there.
    pub(crate) fn has_any(&self, keys: &[&str]) -> bool {
        keys.iter().any(|key| self.get(key).is_some())
    }
}

fn number(value: &Value) -> Option<&Number> {
    match value {
        Value::Number(number) => Some(number),
        _ => None,
    }
}
