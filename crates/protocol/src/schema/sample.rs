//! A value that a schema allows, for the example of a call.
//!
//! What people wrote goes first: examples, defaults, the example in a description. Every value is held against the schema
//! before it is shown, so where this module cannot find one there is none.

use super::pattern::text_for;
use super::view::{Types, View};
use super::{Schema, ValueKind};
use serde_json::{Map, Number, Value};

/// Steps of all checks for one example.
const BUDGET: u64 = 300_000;

/// Values that are tried for one example.
const MOST_TRIED: usize = 3000;

/// Levels of an example; deeper ones end at what may be left out.
const MOST_LEVELS: usize = 12;

/// Levels after which an array stays empty: what is in it would be the same again.
const DEEP: usize = 4;

/// Elements of an array, and bytes of a text.
const MOST_ITEMS: u64 = 64;
const LONGEST: u64 = 2000;

/// Members of an object of which none is required.
const MOST_OPTIONAL: usize = 3;

impl Schema {
    /// A value that the schema allows, small and plain. `None` where none was found within the budget.
    pub(crate) fn sample(&self) -> Option<Value> {
        let mut maker = Maker { schema: self, budget: BUDGET, tried: 0 };
        maker.value(&[&self.root], 0, 0)
    }

    /// A [`sample`](Schema::sample) whose member `name` is `text`. `None` where the schema does not allow that text there.
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
    /// Whether every schema allows the value.
    fn fits(&mut self, schemas: &[&'s Value], value: &Value) -> bool {
        self.tried += 1;
        // What begins like the announcement of a verbatim body would be read as one.
        let announces = value.as_str().is_some_and(|text| text.starts_with("<<"));
        !announces
            && self.tried <= MOST_TRIED
            && schemas.iter().all(|schema| self.schema.check_within(schema, value, &mut self.budget).is_ok())
    }

    /// A value that all these schemas allow; another `nth`, another value, as far as there are several.
    fn value(&mut self, schemas: &[&'s Value], level: usize, nth: usize) -> Option<Value> {
        if level > MOST_LEVELS || self.budget == 0 || self.tried > MOST_TRIED {
            return None;
        }
        let view = self.schema.view(schemas);
        self.budget = self.budget.saturating_sub(1 + view.layers.len() as u64);
        if view.never {
            return None;
        }
        for value in written(&view, nth) {
            if self.fits(schemas, &value) {
                return Some(value);
            }
        }
        if let Some(branches) = view.alternatives() {
            // Null says least.
            let (null, other): (Vec<_>, Vec<_>) =
                branches.iter().partition(|branch| self.schema.view(&[branch]).types() == Types::NULL);
            for branch in other.into_iter().chain(null).take(16) {
                let mut narrowed = schemas.to_vec();
                narrowed.push(branch);
                // The alternatives of a view are those of its first schema that has some; so the branch goes first.
                narrowed.rotate_right(1);
                let same = schemas.iter().any(|known| std::ptr::eq(*known, branch));
                if let Some(value) = (!same).then(|| self.typed(&narrowed, level, nth)).flatten()
                    && self.fits(schemas, &value)
                {
                    return Some(value);
                }
            }
        }
        self.typed(schemas, level, nth)
    }

    /// A value of one of the types that are left.
    fn typed(&mut self, schemas: &[&'s Value], level: usize, nth: usize) -> Option<Value> {
        let view = self.schema.view(schemas);
        for value in written(&view, nth) {
            if self.fits(schemas, &value) {
                return Some(value);
            }
        }
        let types = view.types();
        let hinted = hint(&view);
        let mut order: Vec<Types> = Types::EACH.into_iter().filter(|each| types.has(*each)).collect();
        // Where a schema names no type, its keywords tell which one was meant.
        order.sort_by_key(|each| !types.is_any() || hinted != *each);
        for each in order {
            let made = match each {
                Types::OBJECT => self.object(schemas, &view, level),
                Types::ARRAY => self.array(schemas, &view, level),
                Types::STRING => self.text(schemas, &view, nth),
                Types::NUMBER | Types::INTEGER => self.number(schemas, &view, nth),
                Types::BOOLEAN => [true, false].into_iter().map(Value::from).find(|value| self.fits(schemas, value)),
                _ => Some(Value::Null).filter(|value| self.fits(schemas, value)),
            };
            if made.is_some() {
                return made;
            }
        }
        None
    }

    fn object(&mut self, schemas: &[&'s Value], view: &View<'s>, level: usize) -> Option<Value> {
        let fields = view.fields();
        let required = fields.iter().filter(|field| field.required).count();
        let few = if required == 0 { MOST_OPTIONAL } else { required };
        let least = view.size("minProperties", true).map_or(0, |least| least.min(MOST_ITEMS) as usize);
        // With all that has to be there; then with all that may be, for one may demand another; then with nothing else.
        for count in [few.max(least), fields.len().min(MOST_ITEMS as usize), required] {
            let mut members = Map::new();
            for field in fields.iter().take(count) {
                let mut schemas = field.schemas.clone();
                let patterns = view.every("patternProperties").filter_map(Value::as_object).flatten();
                let matching = patterns.filter(|(pattern, _)| {
                    self.schema.pattern(pattern).is_some_and(|pattern| pattern.regex.is_match(field.name))
                });
                schemas.extend(matching.map(|(_, schema)| schema));
                if schemas.is_empty() {
                    schemas.extend(view.every("additionalProperties"));
                }
                match self.value(&schemas, level + 1, 0) {
                    Some(value) => {
                        members.insert(field.name.to_owned(), value);
                    }
                    None if field.required => return None,
                    None => {}
                }
            }
            let more: Vec<&Value> = view.every("additionalProperties").collect();
            // A map has no names to show, so it gets one.
            let wanted = if fields.is_empty() && !more.is_empty() { least.max(1) } else { least };
            for nth in members.len()..wanted {
                if let Some(value) = self.value(&more, level + 1, nth) {
                    members.insert(format!("key{}", nth + 1), value);
                }
            }
            if let Some(value) = self.completed(schemas, view, members, level) {
                return Some(value);
            }
        }
        Some(Value::Object(Map::new())).filter(|value| self.fits(schemas, value))
    }

    /// The object with what rules across its members demand, and without what they forbid.
    fn completed(
        &mut self,
        schemas: &[&'s Value],
        view: &View<'s>,
        mut members: Map<String, Value>,
        level: usize,
    ) -> Option<Value> {
        for _ in 0..MOST_OPTIONAL * 4 {
            let value = Value::Object(members);
            if self.fits(schemas, &value) {
                return Some(value);
            }
            let change = schemas.iter().find_map(|schema| {
                let fault = self.schema.check_within(schema, &value, &mut self.budget).err()?;
                match fault.kind {
                    ValueKind::Missing(name) if fault.path.is_empty() => Some((name.to_owned(), true)),
                    ValueKind::Unknown(name) if fault.path.is_empty() => Some((name.to_owned(), false)),
                    _ => None,
                }
            });
            let (name, wanted) = change?;
            let Value::Object(same) = value else { return None };
            members = same;
            if wanted {
                let fields = view.fields();
                let schemas = fields.iter().find(|field| field.name == name).map(|field| field.schemas.clone());
                let made = self.value(&schemas.unwrap_or_default(), level + 1, 0)?;
                members.insert(name, made);
            } else {
                members.shift_remove(&name)?;
            }
        }
        None
    }

    fn array(&mut self, schemas: &[&'s Value], view: &View<'s>, level: usize) -> Option<Value> {
        let least = view.size("minItems", true).unwrap_or(0);
        let most = view.size("maxItems", false).unwrap_or(u64::MAX);
        let first = view.first_elements();
        let contained: Vec<&Value> = view.every("contains").collect();
        let contains = if contained.is_empty() { 0 } else { view.size("minContains", true).unwrap_or(1) };
        let wanted = least.max(contains).max(first.len() as u64).max(1).min(most);
        if wanted > MOST_ITEMS || level >= DEEP && least == 0 {
            return Some(Value::Array(Vec::new())).filter(|value| self.fits(schemas, value));
        }
        let (rest, mut items) = (view.elements(), Vec::new());
        for index in 0..wanted as usize {
            let mut schemas = first.get(index).map_or_else(|| rest.clone(), |schema| vec![schema]);
            if (index as u64) < contains {
                schemas.extend(&contained);
            }
            match self.value(&schemas, level + 1, index) {
                Some(item) => items.push(item),
                None => break,
            }
        }
        let full = Value::Array(items);
        if self.fits(schemas, &full) {
            return Some(full);
        }
        Some(Value::Array(Vec::new())).filter(|value| self.fits(schemas, value))
    }

    fn text(&mut self, schemas: &[&'s Value], view: &View<'s>, nth: usize) -> Option<Value> {
        let least = view.size("minLength", true).unwrap_or(0);
        let most = view.size("maxLength", false).unwrap_or(u64::MAX);
        if least > LONGEST {
            return None;
        }
        let mut tried: Vec<String> = view.text("format").and_then(formatted).map(str::to_owned).into_iter().collect();
        for pattern in view.every("pattern").filter_map(Value::as_str) {
            tried.extend((0..4).chain([8, 16, 32, 64]).filter_map(|more| text_for(pattern, more)));
        }
        let plain = if nth == 0 { "...".to_owned() } else { format!("...{}", nth + 1) };
        let filled: String = plain
            .chars()
            .chain(std::iter::repeat('.'))
            .take(least.max(plain.len() as u64).min(most) as usize)
            .collect();
        tried.extend([filled, format!("text{nth}"), nth.to_string()]);
        tried.into_iter().map(Value::from).find(|value| self.fits(schemas, value))
    }

    fn number(&mut self, schemas: &[&'s Value], view: &View<'s>, nth: usize) -> Option<Value> {
        let whole = !view.types().has(Types::NUMBER);
        let (least, most) = (view.bound(true), view.bound(false));
        let float = |number: &Number| number.as_f64().unwrap_or_default();
        let step = view.get("multipleOf").and_then(Value::as_f64).filter(|step| *step > 0.0);
        let mut tried: Vec<Value> = Vec::new();
        // A small number that people would write, then the bounds themselves, then what lies between them.
        let nth = nth as i64;
        let mut from: Vec<i64> = vec![1 + nth, nth];
        for (bound, away) in [(least, 1), (most, -1)] {
            let Some((bound, _)) = bound else { continue };
            tried.push(Value::Number(bound.clone()));
            let near = bound.as_i64().or_else(|| Some(float(bound).floor() as i64)).unwrap_or_default();
            from.extend((0..=2).map(|by| near.saturating_add(away * (by + nth))));
        }
        let mut numbers: Vec<Value> = from.into_iter().map(Value::from).collect();
        numbers.append(&mut tried);
        if let Some(step) = step {
            let base = least.map_or(0.0, |(bound, _)| (float(bound) / step).ceil());
            for by in 0..=2 {
                let number = (base + (by + nth) as f64) * step;
                let number = if number.fract() == 0.0 && number.abs() < 9e15 {
                    Some(Number::from(number as i64))
                } else {
                    Number::from_f64(number)
                };
                numbers.extend(number.map(Value::Number));
            }
        }
        if !whole {
            let middle = match (least, most) {
                (Some((least, _)), Some((most, _))) => (float(least) + float(most)) / 2.0,
                (Some((least, _)), None) => float(least) + 0.5,
                (None, Some((most, _))) => float(most) - 0.5,
                (None, None) => 1.5,
            };
            numbers.extend(Number::from_f64(middle).map(Value::Number));
        }
        numbers.into_iter().find(|value| self.fits(schemas, value))
    }
}

/// What people wrote into the schema: examples, choices, a default.
fn written(view: &View<'_>, nth: usize) -> Vec<Value> {
    let mut found: Vec<&Value> = Vec::new();
    for rules in &view.layers {
        found.extend(rules.get("examples").and_then(Value::as_array).into_iter().flatten().take(8));
        found.extend(rules.get("example"));
        found.extend(rules.get("default").filter(|value| !value.is_null()));
    }
    let choices = view.choices().unwrap_or_default();
    let skipped = if nth < choices.len() { nth } else { 0 };
    // A choice that is null says least, so it comes last.
    let (null, other): (Vec<_>, Vec<_>) =
        choices.into_iter().skip(skipped).take(200).partition(|choice| choice.is_null());
    let mut written: Vec<Value> = if nth == 0 { found.into_iter().cloned().collect() } else { Vec::new() };
    if nth == 0 && written.is_empty() {
        written.extend(view.text("description").and_then(described).map(Value::from));
    }
    written.extend(other.into_iter().chain(null).cloned());
    written
}

/// The example in a description: what stands in quotes or backticks behind "e.g." and the like.
fn described(description: &str) -> Option<String> {
    let at = ["e.g.", "for example", "such as", "por exemplo", "ex.:"].into_iter().find_map(|mark| {
        let start = description.find(mark)?;
        Some(start + mark.len())
    })?;
    let rest = description[at..].trim_start_matches([' ', ':', ',']);
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\'' | '`'))?;
    let inside = &rest[quote.len_utf8()..];
    let end = inside.find(quote).filter(|end| (1..=80).contains(end))?;
    Some(inside[..end].to_owned())
}

/// The type that the keywords of a schema without a type are about.
fn hint(view: &View<'_>) -> Types {
    if view.has_any(&["properties", "required", "minProperties", "patternProperties"]) {
        Types::OBJECT
    } else if view.has_any(&["items", "prefixItems", "minItems", "contains"]) {
        Types::ARRAY
    } else if view.has_any(&["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]) {
        Types::NUMBER
    } else {
        Types::STRING
    }
}

/// A text of a format that the standard names.
fn formatted(format: &str) -> Option<&'static str> {
    Some(match format {
        "date" => "2024-05-17",
        "date-time" => "2024-05-17T09:30:00Z",
        "time" => "09:30:00Z",
        "duration" => "PT15M",
        "email" | "idn-email" => "ana@example.com",
        "hostname" | "idn-hostname" => "example.com",
        "ipv4" => "192.0.2.1",
        "ipv6" => "2001:db8::1",
        "uri" | "iri" | "url" => "https://example.com/",
        "uri-reference" | "iri-reference" => "/page",
        "uri-template" => "/page/{id}",
        "uuid" | "uuid4" => "3f2b8c1e-9a4d-4c6b-8e2f-1d5a7b9c0e3f",
        "json-pointer" => "/a/b",
        "relative-json-pointer" => "0",
        "regex" => "^a+$",
        "byte" | "base64" => "aGVsbG8=",
        "date-time-local" | "local-date-time" => "2024-05-17T09:30:00",
        _ => return None,
    })
}
