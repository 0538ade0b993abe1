//! Builds a value that a schema allows, for the example of a call.
//!
//! Values from the schema itself come first: examples, defaults, choices. Every value is checked; if none passes, there
//! is no example.

use super::view::View;
use super::{Schema, check};
use serde_json::{Map, Number, Value};

/// The maximum number of values that are tried for one example.
const MOST_TRIED: usize = 3000;

/// The maximum number of levels of an example, and the level from which optional arrays stay empty.
const MOST_LEVELS: usize = 12;
const DEEP: usize = 4;

/// The maximum number of elements of an array, characters of a text, and alternatives that are tried.
const MOST_ITEMS: u64 = 64;
const LONGEST: u64 = 2000;
const MOST_ALTERNATIVES: usize = 16;

/// The maximum number of members of an object without required ones.
const MOST_OPTIONAL: usize = 3;

/// Sample texts with their formats. One that matches the pattern of a schema also serves as its example.
const TEXTS: [(&str, &str); 22] = [
    ("date", "2024-05-17"),
    ("date-time", "2024-05-17T09:30:00Z"),
    ("time", "09:30:00Z"),
    ("duration", "PT15M"),
    ("email", "ana@example.com"),
    ("idn-email", "ana@example.com"),
    ("hostname", "example.com"),
    ("ipv4", "192.0.2.1"),
    ("ipv6", "2001:db8::1"),
    ("uri", "https://example.com/"),
    ("iri", "https://example.com/"),
    ("url", "https://example.com/"),
    ("uri-reference", "/page"),
    ("uuid", "3f2b8c1e-9a4d-4c6b-8e2f-1d5a7b9c0e3f"),
    ("regex", "^a+$"),
    ("byte", "aGVsbG8="),
    ("", "example"),
    ("", "1"),
    ("", "ABC"),
    ("", "1.0.0"),
    ("", "12345"),
    ("", "#1a2b3c"),
];

impl Schema {
    /// Returns a small, simple value that the schema allows. `None` if none was found within the budget.
    pub(crate) fn sample(&self) -> Option<Value> {
        Maker { schema: self, budget: check::BUDGET, tried: 0 }.value(&[&self.root], 0)
    }

    /// Returns a [`sample`](Schema::sample) whose member `name` is `text`. `None` if the schema does not allow that
    /// text there.
    pub(crate) fn sample_with(&self, name: &str, text: &str) -> Option<Value> {
        let mut sample = self.sample()?;
        sample.as_object_mut()?.insert(name.to_owned(), text.into());
        self.check(&sample).is_ok().then_some(sample)
    }
}

struct Maker<'s> {
    schema: &'s Schema,
    budget: u64,
    tried: usize,
}

impl<'s> Maker<'s> {
    /// Returns the first of these values that every schema allows.
    fn first(&mut self, schemas: &[&'s Value], values: impl IntoIterator<Item = Value>) -> Option<Value> {
        values.into_iter().find(|value| {
            self.tried += 1;
            // A text that begins like the announcement of a verbatim body would be read as one.
            let announces = value.as_str().is_some_and(|text| text.starts_with("<<"));
            !announces
                && self.tried <= MOST_TRIED
                && schemas.iter().all(|schema| self.schema.check_within(schema, value, &mut self.budget).is_ok())
        })
    }

    /// Returns a value that all these schemas allow.
    fn value(&mut self, schemas: &[&'s Value], level: usize) -> Option<Value> {
        if level > MOST_LEVELS || self.budget == 0 || self.tried > MOST_TRIED {
            return None;
        }
        let view = self.schema.view(schemas);
        if let Some(value) = self.first(schemas, given_values(&view)) {
            return Some(value);
        }
        for branch in view.alternatives().unwrap_or_default().iter().take(MOST_ALTERNATIVES) {
            let narrowed = [schemas, &[branch]].concat();
            // Another alternative may have a more informative value than null.
            if let Some(value) = self.typed(&narrowed, level).filter(|value| !value.is_null()) {
                return Some(value);
            }
        }
        self.typed(schemas, level)
    }

    /// Returns a value of one of the allowed types.
    fn typed(&mut self, schemas: &[&'s Value], level: usize) -> Option<Value> {
        let view = self.schema.view(schemas);
        self.budget = self.budget.saturating_sub(1 + view.layers.len() as u64);
        if view.never {
            return None;
        }
        if let Some(value) = self.first(schemas, given_values(&view)) {
            return Some(value);
        }
        let mut types = view.types();
        if view.is_any_type() {
            // The keywords suggest a type.
            let meant = if view.has_any(&["properties", "required", "additionalProperties"]) {
                "object"
            } else if view.has_any(&["items", "prefixItems", "minItems"]) {
                "array"
            } else if view.bound(true).or(view.bound(false)).is_some() {
                "number"
            } else {
                "string"
            };
            types.sort_by_key(|each| *each != meant);
        }
        types.into_iter().find_map(|each| match each {
            "object" => self.object(schemas, &view, level),
            "array" => self.array(schemas, &view, level),
            "string" => self.first(schemas, texts(&view)),
            "boolean" => self.first(schemas, [true.into(), false.into()]),
            "null" => self.first(schemas, [Value::Null]),
            _ => self.first(schemas, numbers(&view)),
        })
    }

    /// Returns an object with its required members or with a few of the others.
    fn object(&mut self, schemas: &[&'s Value], view: &View<'s>, level: usize) -> Option<Value> {
        let fields = view.fields();
        self.budget = self.budget.saturating_sub(fields.len() as u64);
        let additional: Vec<&Value> = view.every("additionalProperties").collect();
        let required = fields.iter().filter(|field| field.required).count();
        let few = if required == 0 { MOST_OPTIONAL } else { required };
        let mut members = Map::new();
        for field in fields.iter().take(few) {
            let own = if field.schemas.is_empty() { &additional } else { &field.schemas };
            match self.value(own, level + 1) {
                Some(value) => {
                    members.insert(field.name.to_owned(), value);
                }
                None if field.required => return None,
                None => {}
            }
        }
        // A map names no members, so it gets a made-up one.
        if fields.is_empty()
            && !additional.is_empty()
            && let Some(value) = self.value(&additional, level + 1)
        {
            members.insert("key1".to_owned(), value);
        }
        self.first(schemas, [Value::Object(members), Value::Object(Map::new())])
    }

    fn array(&mut self, schemas: &[&'s Value], view: &View<'s>, level: usize) -> Option<Value> {
        let (least, most) = view.sizes("minItems", "maxItems");
        let (first, rest) = (view.first_elements(), view.elements());
        let wanted = least.max(first.len() as u64).max(1).min(most.unwrap_or(u64::MAX));
        let mut items = Vec::new();
        if wanted <= MOST_ITEMS && (level < DEEP || least > 0) {
            for index in 0..wanted as usize {
                let own = first.get(index).map_or_else(|| rest.clone(), |schema| vec![schema]);
                items.extend(self.value(&own, level + 1));
            }
        }
        self.first(schemas, [Value::Array(items), Value::Array(Vec::new())])
    }
}

/// Returns the examples, defaults and choices of a schema. `null` is the least informative and comes last.
fn given_values(view: &View<'_>) -> Vec<Value> {
    let mut found: Vec<&Value> = Vec::new();
    for rules in &view.layers {
        found.extend(rules.get("examples").and_then(Value::as_array).into_iter().flatten().take(8));
        found.extend(rules.get("example"));
        found.extend(rules.get("default").filter(|value| !value.is_null()));
    }
    let mut choices = view.choices().unwrap_or_default();
    choices.truncate(200);
    choices.sort_by_key(|choice| choice.is_null());
    found.into_iter().chain(choices).cloned().collect()
}

fn texts(view: &View<'_>) -> Vec<Value> {
    let (least, most) = view.sizes("minLength", "maxLength");
    if least > LONGEST {
        return Vec::new();
    }
    let length = least.max(3).min(most.unwrap_or(u64::MAX));
    let format = view.text("format").unwrap_or_default();
    let of_format = TEXTS.iter().filter(|(name, _)| !format.is_empty() && *name == format);
    let plain = std::iter::repeat_n('.', length as usize).collect::<String>();
    let texts = of_format.map(|(_, text)| Value::from(*text)).chain([Value::from(plain)]);
    texts.chain(TEXTS.iter().map(|(_, text)| Value::from(*text))).collect()
}

/// Returns small common numbers, then those next to the bounds and between them.
fn numbers(view: &View<'_>) -> Vec<Value> {
    let mut numbers: Vec<Value> = vec![1.into(), 0.into()];
    let bounds = [view.bound(true), view.bound(false)].map(|bound| bound.map(|(bound, _)| bound));
    for bound in bounds.iter().flatten() {
        let near = bound.as_f64().unwrap_or_default().floor() as i64;
        numbers.push(Value::Number((*bound).clone()));
        numbers.extend([near.saturating_add(1), near.saturating_sub(1)].map(Value::from));
    }
    let float = |bound: Option<&Number>| bound.and_then(Number::as_f64);
    let (least, most) = (float(bounds[0]), float(bounds[1]));
    let middle = (least.or(most).unwrap_or_default() + most.or(least).unwrap_or_default()) / 2.0;
    numbers.extend(Number::from_f64(middle).map(Value::Number));
    numbers
}
