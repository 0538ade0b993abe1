//! The combined rules of several schemas for one value, with references followed and `allOf` flattened.
//!
//! A view serves descriptions and examples only; [`check`](super::check) also covers what a view leaves out.

use super::{Schema, additional, branches, compare, size};
use serde_json::{Map, Number, Value};
use std::cmp::Ordering;
use std::collections::HashMap;
use std::ptr;

/// The maximum number of schemas in one view.
const MOST_LAYERS: usize = 32;

/// The maximum number of members that the model sees.
pub(crate) const MOST_FIELDS: usize = 1000;

/// The types of values, in the order used in sentences and examples.
const TYPES: [&str; 7] = ["object", "array", "string", "number", "integer", "boolean", "null"];

/// Schemas that apply to the same value.
#[derive(Debug, Clone, Default)]
pub(crate) struct View<'s> {
    pub(super) layers: Vec<&'s Map<String, Value>>,
    /// Whether one of the schemas allows nothing.
    pub(super) never: bool,
    /// Whether the view is incomplete: a reference has no target, or there are too many schemas.
    partial: bool,
}

/// A member of an object: its name, the schemas of its value, and whether it is required.
#[derive(Debug, Clone)]
pub(crate) struct MemberView<'s> {
    pub(crate) name: &'s str,
    pub(crate) schemas: Vec<&'s Value>,
    pub(crate) required: bool,
}

impl Schema {
    /// Returns the combined view of these schemas.
    pub(crate) fn view<'s>(&'s self, schemas: &[&'s Value]) -> View<'s> {
        let mut view = View::default();
        schemas.iter().for_each(|schema| self.add_layers(schema, &mut view));
        view
    }

    fn add_layers<'s>(&'s self, schema: &'s Value, view: &mut View<'s>) {
        let Value::Object(rules) = schema else {
            view.never |= *schema == Value::Bool(false);
            return;
        };
        // A circular reference adds nothing.
        if view.layers.iter().any(|known| ptr::eq(*known, rules)) {
            return;
        }
        if view.layers.len() == MOST_LAYERS {
            view.partial = true;
            return;
        }
        view.layers.push(rules);
        match self.target(rules) {
            Some(target) => self.add_layers(target, view),
            None => view.partial |= rules.contains_key("$ref"),
        }
        branches(rules, "allOf").iter().for_each(|branch| self.add_layers(branch, view));
    }

    /// Returns `true` if a member of the root may be any string, according to its own schema and regardless of other
    /// members.
    pub(crate) fn takes_any_text(&self, name: &str) -> bool {
        let root = self.view(&[&self.root]);
        let rules = ["patternProperties", "unevaluatedProperties", "propertyNames"];
        match root.fields().into_iter().find(|field| field.name == name) {
            Some(field) => {
                let view = self.view(&field.schemas);
                // Keywords that refuse no string.
                let silent = ["type", "title", "description", "default", "examples", "example", "deprecated", "$ref"];
                let silent = |rules: &&Map<String, Value>| rules.keys().all(|key| silent.contains(&key.as_str()));
                view.types().contains(&"string") && !view.is_partial() && view.layers.iter().all(silent)
            }
            None => !root.has_any(&rules) && root.every("additionalProperties").all(|more| *more == Value::Bool(true)),
        }
    }

    /// Returns `true` if some argument is an object, or an array of anything but plain values.
    pub(crate) fn is_nested(&self) -> bool {
        self.view(&[&self.root]).fields().iter().any(|field| {
            let view = self.view(&field.schemas);
            let elements = self.view(&view.elements());
            view.has_any(&["properties", "prefixItems"]) || elements.has_any(&["properties", "anyOf", "oneOf", "items"])
        })
    }

    /// Returns `true` if the root names its members and has no rule for one of this name.
    pub(crate) fn leaves_out(&self, name: &str) -> bool {
        let root = self.view(&[&self.root]);
        let others = ["patternProperties", "propertyNames", "anyOf", "oneOf", "if", "dependentSchemas", "dependencies"];
        root.has_any(&["properties", "required"])
            && root.every("additionalProperties").all(|more| *more == Value::Bool(false))
            && !root.partial
            && !root.has_any(&others)
            && !root.fields().iter().any(|field| field.name == name)
    }
}

impl<'s> View<'s> {
    /// Returns the value of this keyword in the first schema that has it.
    pub(crate) fn get(&self, key: &str) -> Option<&'s Value> {
        self.layers.iter().find_map(|rules| rules.get(key))
    }

    pub(super) fn every(&self, key: &'static str) -> impl Iterator<Item = &'s Value> {
        self.layers.iter().filter_map(move |rules| rules.get(key))
    }

    pub(crate) fn text(&self, key: &str) -> Option<&'s str> {
        self.get(key).and_then(Value::as_str)
    }

    /// Returns the allowed types, without `integer` next to `number`.
    pub(crate) fn types(&self) -> Vec<&'static str> {
        let names = |wanted: &Value, each: &str| wanted == each || wanted == "number" && each == "integer";
        let is_allowed = |each: &&str| {
            self.every("type").all(|wanted| match wanted {
                Value::Array(several) => several.iter().any(|wanted| names(wanted, each)),
                wanted => !wanted.is_string() || names(wanted, each),
            })
        };
        let mut allowed: Vec<&str> = TYPES.into_iter().filter(is_allowed).collect();
        if allowed.contains(&"number") {
            allowed.retain(|each| *each != "integer");
        }
        allowed
    }

    pub(super) fn is_any_type(&self) -> bool {
        // `types` leaves out `integer` next to `number`.
        self.types().len() == TYPES.len() - 1
    }

    /// Returns the allowed values if they are listed.
    pub(crate) fn choices(&self) -> Option<Vec<&'s Value>> {
        match self.get("const") {
            Some(only) => Some(vec![only]),
            None => self.get("enum")?.as_array().map(|choices| choices.iter().collect()),
        }
    }

    /// Returns the alternatives of the first schema that has some.
    pub(crate) fn alternatives(&self) -> Option<&'s [Value]> {
        let keys = ["anyOf", "oneOf"];
        let mut each = self.layers.iter().flat_map(|rules| keys.map(|key| branches(rules, key)));
        each.find(|branches| !branches.is_empty())
    }

    /// Returns the named members, required ones first, each group in the order of the schema.
    pub(crate) fn fields(&self) -> Vec<MemberView<'s>> {
        self.first_fields(MOST_FIELDS)
    }

    /// Returns the first `most` named members.
    pub(super) fn first_fields(&self, most: usize) -> Vec<MemberView<'s>> {
        let mut fields: Vec<MemberView<'s>> = Vec::new();
        let mut places: HashMap<&str, usize> = HashMap::new();
        let mut add = |name: &'s str, schema: Option<&'s Value>, required: bool| {
            if !places.contains_key(name) {
                if fields.len() == most {
                    return;
                }
                places.insert(name, fields.len());
                fields.push(MemberView { name, schemas: Vec::new(), required });
            }
            let field = &mut fields[places[name]];
            field.required |= required;
            field.schemas.extend(schema);
        };
        for properties in self.every("properties").filter_map(Value::as_object) {
            properties.iter().take(MOST_FIELDS).for_each(|(name, schema)| add(name, Some(schema), false));
        }
        let required = self.every("required").filter_map(Value::as_array).flatten().filter_map(Value::as_str);
        required.take(MOST_FIELDS).for_each(|name| add(name, None, true));
        fields.sort_by_key(|field| !field.required);
        fields
    }

    /// Returns `true` if only the named members are allowed.
    pub(crate) fn is_closed(&self) -> bool {
        self.layers.iter().any(|rules| additional(rules) == Some(&Value::Bool(false)))
    }

    /// Returns the schemas of the elements without a schema for their position.
    pub(crate) fn elements(&self) -> Vec<&'s Value> {
        self.every("items").filter(|schema| !schema.is_array()).collect()
    }

    /// Returns the schemas of the first elements, which drafts before 2020-12 write as a list in `items`.
    pub(crate) fn first_elements(&self) -> &'s [Value] {
        let first = self.every("prefixItems").chain(self.every("items")).find_map(Value::as_array);
        first.map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the largest lower bound or the smallest upper one. The bool is whether the bound itself is excluded.
    pub(crate) fn bound(&self, least: bool) -> Option<(&'s Number, bool)> {
        let (key, open, stronger) = match least {
            true => ("minimum", "exclusiveMinimum", Ordering::Greater),
            false => ("maximum", "exclusiveMaximum", Ordering::Less),
        };
        let bounds = |key: &'static str, open: bool| {
            self.every(key).filter_map(move |bound| match bound {
                Value::Number(bound) => Some((bound, open)),
                _ => None,
            })
        };
        bounds(key, false).chain(bounds(open, true)).reduce(|best, other| match compare(other.0, best.0) {
            Ordering::Equal => (best.0, best.1 || other.1),
            order if order == stronger => other,
            _ => best,
        })
    }

    /// Returns the largest lower size and the smallest upper size.
    pub(super) fn sizes(&self, least: &str, most: &str) -> (u64, Option<u64>) {
        let each = |key| self.layers.iter().filter_map(move |rules| size(rules, key));
        (each(least).max().unwrap_or(0), each(most).min())
    }

    /// Returns `true` if the view does not cover the whole schema.
    pub(crate) fn is_partial(&self) -> bool {
        self.partial || self.never
    }

    /// Returns `true` if any of these keywords is present.
    pub(crate) fn has_any(&self, keys: &[&str]) -> bool {
        keys.iter().any(|key| self.get(key).is_some())
    }
}
