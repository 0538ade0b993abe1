//! A schema in words: what a value may be, in a sentence for an error, and the members of an object as a list for the model.

use super::Schema;
use super::view::{Types, View};
use crate::{Language, Text, messages};
use serde_json::{Map, Value};
use std::ptr;

/// Levels that a sentence goes into.
const MOST_LEVELS: usize = 2;

/// Levels of a list, and its lines and bytes; after that the rest is left out.
const MOST_LISTED_LEVELS: usize = 8;
const MOST_LINES: usize = 300;
const MOST_BYTES: usize = 32 << 10;

/// Choices and names in one sentence, and alternatives.
const MOST_NAMED: usize = 40;
const MOST_ALTERNATIVES: usize = 12;

/// Bytes of a value or a pattern that is shown.
const MOST_SHOWN: usize = 200;

impl Schema {
    /// What the value may be: "a whole number from 1 to 9".
    pub(crate) fn wanted(&self, schema: &Value) -> Text {
        self.told(&self.view(&[schema]), 0)
    }

    /// What a member of this name may be, for an object that this schema describes.
    pub(crate) fn wanted_member(&self, schema: &Value, name: &str) -> Text {
        let fields = self.view(&[schema]).fields();
        // A rule across members names one that stands beside the rule.
        let all = self.view(&[&self.root]).fields();
        let named = fields.iter().chain(&all).find(|field| field.name == name && !field.schemas.is_empty());
        let schemas = named.map(|field| field.schemas.clone());
        self.told(&self.view(&schemas.unwrap_or_default()), 0)
    }

    /// The names of the members that an object may have.
    pub(crate) fn members<'s>(&'s self, schema: &'s Value) -> Vec<&'s str> {
        self.view(&[schema]).fields().iter().map(|field| field.name).collect()
    }

    fn told(&self, view: &View<'_>, level: usize) -> Text {
        if view.never {
            return messages::no_value();
        }
        if let Some(choices) = view.choices() {
            let shown: Vec<String> = choices.iter().take(MOST_NAMED).map(|choice| shown(choice)).collect();
            let list = shown.join(", ") + if choices.len() > MOST_NAMED { ", ..." } else { "" };
            return if choices.len() == 1 { messages::exactly(list) } else { messages::one_of(list) };
        }
        let types = view.types();
        if let Some(branches) = view.alternatives().filter(|_| level < MOST_LEVELS) {
            let mut told: Vec<String> = Vec::new();
            let mut texts = Vec::new();
            for branch in branches.iter().take(MOST_ALTERNATIVES) {
                let text = self.told(&self.view(&[branch]), level + 1);
                // Alternatives often differ only in what is not told.
                let english = text.render(Language::English);
                if !told.contains(&english) {
                    told.push(english);
                    texts.push(text);
                }
            }
            // What is an object anyway is told by its members; the alternatives are rules across them.
            let is_object = types.has(Types::OBJECT) && !types.is_any() && view.get("properties").is_some();
            if !texts.is_empty() && !is_object {
                return alternatives(texts);
            }
        }
        if types.is_any() {
            let meant = if view.has_any(&["properties"]) {
                Types::OBJECT
            } else if view.has_any(&["items", "prefixItems"]) {
                Types::ARRAY
            } else {
                return messages::any_value();
            };
            return self.of_type(view, meant, level);
        }
        let each = Types::EACH.into_iter().filter(|each| types.has(*each));
        // Every number is told once.
        let each = each.filter(|each| *each != Types::INTEGER || !types.has(Types::NUMBER));
        let texts: Vec<Text> = each.map(|each| self.of_type(view, each, level)).collect();
        if texts.is_empty() { messages::no_value() } else { alternatives(texts) }
    }

    fn of_type(&self, view: &View<'_>, each: Types, level: usize) -> Text {
        match each {
            Types::OBJECT => self.object(view, level),
            Types::ARRAY => self.array(view, level),
            Types::STRING => string(view),
            Types::NUMBER => number(view, false),
            Types::INTEGER => number(view, true),
            Types::BOOLEAN => messages::a_flag(),
            _ => messages::the_null(),
        }
    }

    fn object(&self, view: &View<'_>, level: usize) -> Text {
        let fields = view.first_fields(MOST_NAMED);
        let more: Vec<&Value> = view.every("additionalProperties").filter(|schema| schema.is_object()).collect();
        if fields.is_empty() && !more.is_empty() && level < MOST_LEVELS {
            return messages::an_object_of(self.told(&self.view(&more), level + 1));
        }
        let optional = |required: bool| if required { "" } else { "?" };
        let names: Vec<String> =
            fields.iter().map(|field| format!("{}{}", short(field.name), optional(field.required))).collect();
        if names.is_empty() { messages::an_object() } else { messages::an_object_with(names.join(", ")) }
    }

    fn array(&self, view: &View<'_>, level: usize) -> Text {
        let (first, rest) = (view.first_elements(), view.elements());
        let inner = self.view(&rest);
        let plain = inner.types() == Types::STRING && inner.layers.iter().all(|rules| says_only_string(rules));
        let mut out = if first.is_empty() && plain { messages::an_array_of_strings() } else { messages::an_array() };
        match (view.size("minItems", true).filter(|least| *least > 0), view.size("maxItems", false)) {
            (None, None) => {}
            (Some(least), None) => out.push(messages::at_least_elements(least)),
            (None, Some(most)) => out.push(messages::at_most_elements(most)),
            (Some(least), Some(most)) if least == most => out.push(messages::exactly_elements(least)),
            (Some(least), Some(most)) => out.push(messages::elements_between(least, most)),
        }
        if view.get("uniqueItems") == Some(&Value::Bool(true)) {
            out.push(messages::none_twice());
        }
        if level < MOST_LEVELS && !first.is_empty() {
            let each = first.iter().take(MOST_ALTERNATIVES).map(|schema| self.told(&self.view(&[schema]), level + 1));
            out.push(messages::in_this_order(Text::join(each, "; ")));
        } else if level < MOST_LEVELS && !plain && !inner.layers.is_empty() {
            out.push(messages::each_element(self.told(&inner, level + 1)));
        }
        out
    }

    /// The members of the root and what is inside them, a line each.
    pub(crate) fn outline(&self, language: Language) -> String {
        let mut list = List { schema: self, language, out: String::new(), lines: 0, open: Vec::new() };
        list.members(&self.view(&[&self.root]), 1);
        list.out
    }
}

/// Whether a schema says no more than that the value is a string.
fn says_only_string(rules: &Map<String, Value>) -> bool {
    rules.keys().all(|key| matches!(key.as_str(), "type" | "title" | "description" | "$ref"))
}

fn alternatives(texts: Vec<Text>) -> Text {
    let mut texts = texts.into_iter();
    let first = texts.next().unwrap_or_default();
    texts.fold(first, messages::or)
}

fn string(view: &View<'_>) -> Text {
    let mut out = match view.text("format") {
        Some("date") => messages::a_date(),
        Some("date-time") => messages::a_moment(),
        Some("time") => messages::a_time(),
        Some("duration") => messages::a_duration(),
        Some("email" | "idn-email") => messages::an_address(),
        Some("uri" | "iri" | "url") => messages::a_url(),
        Some("uuid") => messages::a_uuid(),
        Some(format) => messages::a_string_of_format(short(format)),
        None => messages::a_string(),
    };
    match (view.size("minLength", true).filter(|least| *least > 0), view.size("maxLength", false)) {
        (None, None) => {}
        (Some(least), None) => out.push(messages::at_least_characters(least)),
        (None, Some(most)) => out.push(messages::at_most_characters(most)),
        (Some(least), Some(most)) if least == most => out.push(messages::exactly_characters(least)),
        (Some(least), Some(most)) => out.push(messages::characters_between(least, most)),
    }
    for pattern in view.every("pattern").filter_map(Value::as_str).take(3) {
        out.push(messages::matching(short(pattern)));
    }
    out
}

fn number(view: &View<'_>, whole: bool) -> Text {
    let (least, most) = (view.bound(true), view.bound(false));
    // What a program gives for "no bound" is none: models copy it.
    let least = least.filter(|(bound, _)| bound.as_f64().is_some_and(|bound| bound > -9e15));
    let most = most.filter(|(bound, _)| bound.as_f64().is_some_and(|bound| bound < 9e15));
    let mut out = if whole { messages::a_whole_number() } else { messages::a_number() };
    match (least, most) {
        (Some((least, false)), Some((most, false))) => out.push(messages::between(least.to_string(), most.to_string())),
        (least, most) => {
            if let Some((bound, open)) = least {
                let bound = bound.to_string();
                out.push(if open { messages::greater_than(bound) } else { messages::at_least(bound) });
            }
            if let Some((bound, open)) = most {
                let bound = bound.to_string();
                out.push(if open { messages::less_than(bound) } else { messages::at_most(bound) });
            }
        }
    }
    if let Some(Value::Number(step)) = view.get("multipleOf") {
        out.push(messages::a_multiple_of(step.to_string()));
    }
    out
}

/// A value as JSON, not too long.
fn shown(value: &Value) -> String {
    short(&value.to_string())
}

fn short(text: &str) -> String {
    let mut out: String = text.chars().take(MOST_SHOWN).collect();
    if out.len() < text.len() {
        out.push_str("...");
    }
    out
}

/// The list while it is written.
struct List<'s> {
    schema: &'s Schema,
    language: Language,
    out: String,
    lines: usize,
    /// The schemas whose members are being listed, with the names they have: one that comes again inside itself is named.
    open: Vec<(&'s Map<String, Value>, String)>,
}

impl<'s> List<'s> {
    fn line(&mut self, level: usize, head: &str, what: Text, description: &str) -> bool {
        if self.lines == MOST_LINES || self.out.len() > MOST_BYTES {
            return false;
        }
        self.lines += 1;
        let indent = "  ".repeat(level);
        let mut said = what.into_string(self.language);
        let description = description.trim();
        if !description.is_empty() {
            let cut: String = description.chars().take(4000).collect();
            said = format!("{said}. {}", cut.replace('\n', &format!("\n{indent}  ")));
        }
        self.out.push_str(&format!("{indent}- {head}{said}\n"));
        true
    }

    fn members(&mut self, view: &View<'s>, level: usize) {
        for field in view.first_fields(MOST_LINES) {
            let inner = self.schema.view(&field.schemas);
            let mut what = self.schema.told(&inner, 0);
            if let Some(default) = inner.get("default").filter(|value| !value.is_null()) {
                what.push(messages::by_default(shown(default)));
            }
            if !field.required && level > 1 {
                what.push(messages::may_be_absent());
            }
            let head = format!("`{}`: ", short(field.name));
            if !self.line(level, &head, what, inner.text("description").unwrap_or_default()) {
                return;
            }
            self.inside(field.name, &inner, level + 1);
        }
    }

    /// The members of an object, of the elements of an array or of alternatives.
    fn inside(&mut self, name: &str, view: &View<'s>, level: usize) {
        if level > MOST_LISTED_LEVELS {
            return;
        }
        // The same object again would go on for ever.
        let again = view.layers.iter().find_map(|layer| self.open.iter().find(|(known, _)| ptr::eq(*known, *layer)));
        if let Some((_, known)) = again {
            let what = messages::like_the_one_above(known.clone());
            self.line(level, "", what, "");
            return;
        }
        let opened = self.open.len();
        self.open.extend(view.layers.iter().map(|layer| (*layer, short(name))));
        let branches: Vec<View<'s>> = view
            .alternatives()
            .unwrap_or_default()
            .iter()
            .take(MOST_ALTERNATIVES)
            .map(|branch| self.schema.view(&[branch]))
            .collect();
        self.members(view, level);
        let structured: Vec<&View<'s>> = branches.iter().filter(|branch| self.is_structured(branch)).collect();
        match structured[..] {
            [] => {}
            [only] => self.inside(name, only, level),
            _ => {
                for branch in structured {
                    let what = self.schema.told(branch, 0);
                    if !self.line(level, "", what, branch.text("description").unwrap_or_default()) {
                        break;
                    }
                    self.inside(name, branch, level + 1);
                }
            }
        }
        let elements = view.first_elements().iter().map(|schema| vec![schema]);
        for schemas in elements.chain([view.elements(), view.every("additionalProperties").collect()]) {
            let inner = self.schema.view(&schemas);
            if self.is_structured(&inner) {
                self.inside(name, &inner, level);
            }
        }
        self.open.truncate(opened);
    }

    fn is_structured(&self, view: &View<'s>) -> bool {
        view.has_any(&["properties", "items", "prefixItems", "anyOf", "oneOf"])
            || view.get("additionalProperties").is_some_and(Value::is_object)
    }
}
