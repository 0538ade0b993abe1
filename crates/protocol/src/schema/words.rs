//! Describes a schema in words: the allowed value as a phrase for an error, and the members of an object as a list for
//! the model.

use super::Schema;
use super::view::View;
use crate::{Language, Text, text};
use serde_json::{Map, Value};
use std::ptr;

/// The maximum number of levels described in a phrase.
const MOST_LEVELS: usize = 2;

/// The maximum number of levels, lines and bytes of a list. The rest is left out.
const MOST_LISTED_LEVELS: usize = 8;
const MOST_LINES: usize = 300;
const MOST_BYTES: usize = 32 << 10;

/// The maximum number of schemas that a list examines, including those without a line, and the maximum number that are
/// open inside one another.
const MOST_EXAMINED: usize = 1000;
const MOST_OPEN: usize = 64;

/// The maximum number of choices and names in one phrase, and the maximum number of alternatives.
const MOST_NAMED: usize = 40;
const MOST_ALTERNATIVES: usize = 12;

/// The maximum number of characters in a value or a pattern, and in a description.
const MOST_SHOWN: usize = 200;
const LONGEST_DESCRIPTION: usize = 4000;

impl Schema {
    /// Describes the allowed value: "a whole number from 1 to 9".
    pub(crate) fn describe_allowed(&self, schema: &Value) -> Text {
        self.describe(&self.view(&[schema]), 0)
    }

    /// Describes the member of this name of an object with this schema.
    pub(crate) fn wanted_member(&self, schema: &Value, name: &str) -> Text {
        let fields = self.view(&[schema]).fields();
        // An alternative may require a member that only the root describes.
        let all = self.view(&[&self.root]).fields();
        let named = fields.iter().chain(&all).find(|field| field.name == name && !field.schemas.is_empty());
        let schemas = named.map(|field| field.schemas.clone());
        self.describe(&self.view(&schemas.unwrap_or_default()), 0)
    }

    /// Returns the names of the members that an object may have.
    pub(crate) fn members<'s>(&'s self, schema: &'s Value) -> Vec<&'s str> {
        self.view(&[schema]).fields().iter().map(|field| field.name).collect()
    }

    /// Lists the members of the root and their contents, one per line.
    pub(crate) fn outline(&self, language: Language) -> String {
        let mut list = List { schema: self, language, out: String::new(), lines: 0, examined: 0, open: Vec::new() };
        list.members(&self.view(&[&self.root]), 1);
        list.out
    }

    fn describe(&self, view: &View<'_>, level: usize) -> Text {
        if view.never {
            return text!("no value at all");
        }
        if let Some(choices) = view.choices() {
            let shown: Vec<String> = choices.iter().take(MOST_NAMED).map(|choice| short(&choice.to_string())).collect();
            let list = shown.join(", ") + if choices.len() > MOST_NAMED { ", ..." } else { "" };
            return if choices.len() == 1 {
                text!("exactly {value}", value = list)
            } else {
                text!("one of {words}", words = list)
            };
        }
        let types = view.types();
        // An object is described by its members; its alternatives are rules across them.
        let is_object = types == ["object"] && view.has_any(&["properties"]);
        if let Some(branches) = view.alternatives().filter(|_| level < MOST_LEVELS && !is_object) {
            let branches = branches.iter().take(MOST_ALTERNATIVES);
            return alternatives(branches.map(|branch| self.describe(&self.view(&[branch]), level + 1)));
        }
        if view.is_any_type() {
            return if view.has_any(&["properties"]) {
                self.object(view, level)
            } else if view.has_any(&["items", "prefixItems"]) {
                self.array(view, level)
            } else {
                text!("any value")
            };
        }
        let texts = types.into_iter().map(|each| match each {
            "object" => self.object(view, level),
            "array" => self.array(view, level),
            "string" => string(view),
            "boolean" => text!("true or false"),
            "null" => text!("null"),
            each => number(view, each == "integer"),
        });
        alternatives(texts)
    }

    fn object(&self, view: &View<'_>, level: usize) -> Text {
        let fields = view.first_fields(MOST_NAMED);
        let more: Vec<&Value> = view.every("additionalProperties").filter(|schema| schema.is_object()).collect();
        if fields.is_empty() && !more.is_empty() && level < MOST_LEVELS {
            return text!(
                "an object whose every value is {value}",
                value = self.describe(&self.view(&more), level + 1)
            );
        }
        let optional = |required: bool| if required { "" } else { "?" };
        let names: Vec<String> =
            fields.iter().map(|field| format!("{}{}", short(field.name), optional(field.required))).collect();
        if names.is_empty() { text!("an object") } else { text!("an object with {fields}", fields = names.join(", ")) }
    }

    fn array(&self, view: &View<'_>, level: usize) -> Text {
        let (first, inner) = (view.first_elements(), self.view(&view.elements()));
        let is_plain =
            first.is_empty() && inner.types() == ["string"] && inner.layers.iter().all(|rules| is_plain_string(rules));
        let mut out = if is_plain { text!("an array of strings") } else { text!("an array") };
        match view.sizes("minItems", "maxItems") {
            (0, None) => {}
            (least, None) => out.push(text!(" with at least {least} {least|element|elements}", least)),
            (0, Some(most)) => out.push(text!(" with at most {most} {most|element|elements}", most)),
            (least, Some(most)) if least == most => {
                out.push(text!(" with exactly {count} {count|element|elements}", count = least));
            }
            (least, Some(most)) => out.push(text!(" with {least} to {most} elements", least, most)),
        }
        if view.get("uniqueItems") == Some(&Value::Bool(true)) {
            out.push(text!(" without duplicates"));
        }
        if level < MOST_LEVELS && !first.is_empty() {
            let each = first.iter().take(MOST_ALTERNATIVES);
            let each = each.map(|schema| self.describe(&self.view(&[schema]), level + 1));
            out.push(text!(" that holds, in this order: {elements}", elements = Text::join(each, "; ")));
        } else if level < MOST_LEVELS && !is_plain && !inner.layers.is_empty() {
            out.push(text!(" in which each element is {element}", element = self.describe(&inner, level + 1)));
        }
        out
    }
}

/// Returns `true` if a schema only says that the value is a string.
fn is_plain_string(rules: &Map<String, Value>) -> bool {
    rules.keys().all(|key| matches!(key.as_str(), "type" | "title" | "description" | "$ref"))
}

/// Joins the distinct texts, since alternatives often differ only in details that are not described.
fn alternatives(texts: impl Iterator<Item = Text>) -> Text {
    let mut known: Vec<Text> = Vec::new();
    for text in texts {
        if !known.contains(&text) {
            known.push(text);
        }
    }
    known
        .into_iter()
        .reduce(|one, other| text!("{one} or {other}", one, other))
        .unwrap_or_else(|| text!("no value at all"))
}

fn string(view: &View<'_>) -> Text {
    let mut out = match view.text("format") {
        Some("date") => text!("a date as a string, such as 2024-05-17"),
        Some("date-time") => text!("a date and time as a string, such as 2024-05-17T09:30:00Z"),
        Some("time") => text!("a time as a string, such as 09:30:00Z"),
        Some("duration") => text!("a duration as a string, such as PT15M"),
        Some("email" | "idn-email") => text!("an email address as a string"),
        Some("uri" | "iri" | "url") => text!("a URL as a string"),
        Some("uuid") => text!("a UUID as a string"),
        Some(format) => text!("a string of the format {format}", format = short(format)),
        None => text!("a string"),
    };
    match view.sizes("minLength", "maxLength") {
        (0, None) => {}
        (least, None) => out.push(text!(" of at least {least} {least|character|characters}", least)),
        (0, Some(most)) => out.push(text!(" of at most {most} {most|character|characters}", most)),
        (least, Some(most)) if least == most => {
            out.push(text!(" of exactly {length} {length|character|characters}", length = least));
        }
        (least, Some(most)) => out.push(text!(" of {least} to {most} characters", least, most)),
    }
    for pattern in view.every("pattern").filter_map(Value::as_str).take(3) {
        out.push(text!(" that matches the regular expression `{pattern}`", pattern = short(pattern)));
    }
    out
}

fn number(view: &View<'_>, whole: bool) -> Text {
    // The extreme bounds that programs write for "no bound" are not shown: models copy them.
    let is_bound = |bound: &f64| bound.abs() < 9e15;
    let bound = |least: bool| view.bound(least).filter(|(bound, _)| bound.as_f64().as_ref().is_some_and(is_bound));
    let mut out = if whole { text!("a whole number") } else { text!("a number") };
    match (bound(true), bound(false)) {
        (Some((least, false)), Some((most, false))) => {
            out.push(text!(" from {least} to {most}", least = least.to_string(), most = most.to_string()));
        }
        (least, most) => {
            match least {
                Some((bound, true)) => out.push(text!(" greater than {bound}", bound = bound.to_string())),
                Some((bound, false)) => out.push(text!(" of at least {least}", least = bound.to_string())),
                None => {}
            }
            match most {
                Some((bound, true)) => out.push(text!(" less than {bound}", bound = bound.to_string())),
                Some((bound, false)) => out.push(text!(" of at most {most}", most = bound.to_string())),
                None => {}
            }
        }
    }
    if let Some(Value::Number(step)) = view.get("multipleOf") {
        out.push(text!(", a multiple of {step}", step = step.to_string()));
    }
    out
}

fn short(text: &str) -> String {
    let mut out: String = text.chars().take(MOST_SHOWN).collect();
    if out.len() < text.len() {
        out.push_str("...");
    }
    out
}

/// The list under construction.
struct List<'s> {
    schema: &'s Schema,
    language: Language,
    out: String,
    lines: usize,
    examined: usize,
    /// The schemas whose members are being listed, with their names. A recurring schema is only referred to by name.
    open: Vec<(&'s Map<String, Value>, String)>,
}

impl<'s> List<'s> {
    /// Adds a line; returns `false` if the list is full.
    fn line(&mut self, level: usize, head: &str, what: Text, description: &str) -> bool {
        if self.lines == MOST_LINES || self.out.len() > MOST_BYTES {
            return false;
        }
        self.lines += 1;
        let indent = "  ".repeat(level);
        let mut line = what.into_string(self.language);
        let description: String = description.trim().chars().take(LONGEST_DESCRIPTION).collect();
        if !description.is_empty() {
            line = format!("{line}. {}", description.replace('\n', &format!("\n{indent}  ")));
        }
        self.out.push_str(&format!("{indent}- {head}{line}\n"));
        true
    }

    fn members(&mut self, view: &View<'s>, level: usize) {
        for field in view.first_fields(MOST_LINES) {
            let inner = self.schema.view(&field.schemas);
            let mut what = self.schema.describe(&inner, 0);
            if let Some(default) = inner.get("default").filter(|value| !value.is_null()) {
                what.push(text!("; the default is {value}", value = short(&default.to_string())));
            }
            // On the first level, the signature of the tool already marks optional arguments.
            if !field.required && level > 1 {
                what.push(text!("; optional"));
            }
            let head = format!("`{}`: ", short(field.name));
            if !self.line(level, &head, what, inner.text("description").unwrap_or_default()) {
                return;
            }
            self.inside(field.name, &inner, level + 1);
        }
    }

    /// Lists the members of an object, of the elements of an array or of alternatives.
    fn inside(&mut self, name: &str, view: &View<'s>, level: usize) {
        if level > MOST_LISTED_LEVELS || self.open.len() > MOST_OPEN || self.examined == MOST_EXAMINED {
            return;
        }
        // A chain of references may have no line at all, so lines alone do not bound the list.
        self.examined += 1;
        // Without this, the list of a recursive schema would not end.
        let again = view.layers.iter().find_map(|layer| self.open.iter().find(|(known, _)| ptr::eq(*known, *layer)));
        if let Some((_, known)) = again {
            let what = text!("structured like `{name}` above", name = known.clone());
            self.line(level, "", what, "");
            return;
        }
        let opened = self.open.len();
        self.open.extend(view.layers.iter().map(|layer| (*layer, short(name))));
        self.members(view, level);
        let branches = view.alternatives().unwrap_or_default().iter().take(MOST_ALTERNATIVES);
        let branches = branches.map(|branch| self.schema.view(&[branch])).filter(is_structured);
        let branches: Vec<View<'s>> = branches.collect();
        for branch in &branches {
            // A single structured alternative needs no line of its own.
            if let [only] = &branches[..] {
                self.inside(name, only, level);
            } else {
                let what = self.schema.describe(branch, 0);
                self.line(level, "", what, branch.text("description").unwrap_or_default());
                self.inside(name, branch, level + 1);
            }
        }
        let elements = view.first_elements().iter().map(|schema| vec![schema]);
        for schemas in elements.chain([view.elements(), view.every("additionalProperties").collect()]) {
            let inner = self.schema.view(&schemas);
            if is_structured(&inner) {
                self.inside(name, &inner, level);
            }
        }
        self.open.truncate(opened);
    }
}

/// Returns `true` if the content of a value gets lines of its own.
fn is_structured(view: &View<'_>) -> bool {
    view.has_any(&["properties", "items", "prefixItems", "anyOf", "oneOf"])
        || view.get("additionalProperties").is_some_and(Value::is_object)
}
