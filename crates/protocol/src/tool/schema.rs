//! A tool described by a JSON Schema, as function calling has it, to a [`ToolSpec`].
//!
//! What the kinds of arguments can say is checked; the rest is passed on as it is, and the model is shown its schema.

use super::{Param, ParamKind, Str, ToolSpec};
use serde_json::{Map, Value};
use std::collections::HashSet;

/// Arguments of a tool or fields of an object; where a schema names more, it is not looked into.
const MOST_ARGUMENTS: usize = 1000;

/// Levels of objects in arrays that are looked into; of what lies deeper the model is shown the schema.
const MOST_LEVELS: usize = 4;

impl ToolSpec {
    /// A tool of another server, from its name, its description and the JSON Schema of its arguments.
    ///
    /// Its effect is Execute. Arguments that the schema does not name are refused only where it says
    /// `"additionalProperties": false`. Strings, whole numbers with bounds, booleans, enumerations of strings, arrays
    /// of strings and arrays of objects are checked; a value of any other schema is passed on unchecked, for its owner
    /// to check. The model is shown the description of each argument. A schema that names more than 1,000 arguments is
    /// not looked into.
    ///
    /// ```
    /// use serde_json::json;
    /// # use toolfence_protocol as toolfence;
    /// use toolfence::ToolSpec;
    ///
    /// let spec = ToolSpec::from_json_schema("weather", "Tell it.", &json!({
    ///     "type": "object",
    ///     "properties": {"city": {"type": "string"}, "unit": {"enum": ["C", "F"]}},
    ///     "required": ["city"],
    /// }));
    /// assert_eq!(spec.signature(), "weather(city, unit?=C|F)");
    /// ```
    pub fn from_json_schema(name: impl Into<Str>, description: impl Into<Str>, schema: &Value) -> ToolSpec {
        let mut spec = ToolSpec::new(name, description);
        let named = params(schema, MOST_LEVELS);
        spec.open = named.is_none() || schema.get("additionalProperties") != Some(&Value::Bool(false));
        spec.params = named.unwrap_or_default();
        spec.foreign = true;
        spec
    }
}

/// The arguments that an object schema names, required ones first.
fn params(schema: &Value, levels: usize) -> Option<Vec<Param>> {
    let properties = schema.get("properties")?.as_object().filter(|properties| properties.len() <= MOST_ARGUMENTS)?;
    let required: HashSet<&str> = match schema.get("required") {
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
        _ => HashSet::new(),
    };
    let mut params: Vec<Param> =
        properties.iter().map(|(name, schema)| param(name, schema, required.contains(name.as_str()), levels)).collect();
    params.sort_by_key(|param| !param.required);
    Some(params)
}

fn param(name: &str, schema: &Value, required: bool, levels: usize) -> Param {
    let kind = kind(schema, levels);
    let mut help = schema.get("description").and_then(Value::as_str).unwrap_or_default().to_owned();
    if kind == ParamKind::Any {
        let gap = if help.is_empty() { "" } else { " " };
        help = format!("{help}{gap}JSON Schema: {}", without_description(schema));
    }
    let default = schema.get("default").filter(|value| !value.is_null()).cloned();
    Param { required, default, ..Param::new(name.to_owned(), kind, help) }
}

/// What can be said of a value; [`ParamKind::Any`] where that is not all.
fn kind(schema: &Value, levels: usize) -> ParamKind {
    let Some(fields) = schema.as_object() else { return ParamKind::Any };
    let simple = |key: &String| {
        matches!(key.as_str(), "type" | "enum" | "description" | "title" | "default" | "examples" | "format")
            || matches!(key.as_str(), "minimum" | "maximum" | "items" | "additionalProperties")
    };
    if !fields.keys().all(simple) {
        return ParamKind::Any;
    }
    if let Some(choices) = fields.get("enum") {
        return choice(choices).unwrap_or(ParamKind::Any);
    }
    match fields.get("type").and_then(Value::as_str) {
        Some("string") => ParamKind::Text { content: false },
        Some("boolean") => ParamKind::Flag,
        Some("integer") => integer(fields),
        Some("array") => array(fields, levels),
        _ => ParamKind::Any,
    }
}

fn choice(choices: &Value) -> Option<ParamKind> {
    let words: Option<Vec<Str>> =
        choices.as_array()?.iter().map(|word| word.as_str().map(|word| word.to_owned().into())).collect();
    words.filter(|words| !words.is_empty()).map(ParamKind::Choice)
}

fn integer(fields: &Map<String, Value>) -> ParamKind {
    let bound = |key: &str, none: i64| fields.get(key).map_or(Some(none), Value::as_i64);
    match (bound("minimum", i64::MIN), bound("maximum", i64::MAX)) {
        (Some(least), Some(most)) => ParamKind::Integer { least, most },
        _ => ParamKind::Any,
    }
}

fn array(fields: &Map<String, Value>, levels: usize) -> ParamKind {
    let Some(items) = fields.get("items") else { return ParamKind::Any };
    if kind(items, 0) == (ParamKind::Text { content: false }) {
        return ParamKind::Texts;
    }
    let closed = items.get("additionalProperties") == Some(&Value::Bool(false));
    match params(items, levels.saturating_sub(1)) {
        Some(fields) if closed && levels > 0 => ParamKind::Objects(fields),
        _ => ParamKind::Any,
    }
}

fn without_description(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Some(fields) = schema.as_object_mut() {
        fields.remove("description");
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Catalog, ToolCall};
    use serde_json::json;

    fn spec(closed: bool) -> ToolSpec {
        let edits = json!({"type": "array", "items": {
            "type": "object", "properties": {"line": {"type": "integer", "minimum": 1}, "text": {"type": "string"}},
            "required": ["line"], "additionalProperties": false,
        }});
        ToolSpec::from_json_schema(
            "edit",
            "Edit.",
            &json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "which file"},
                    "edits": edits,
                    "names": {"type": "array", "items": {"type": "string"}},
                    "ratio": {"type": "number", "description": "how much"},
                    "dry": {"type": "boolean", "default": true},
                },
                "required": ["path", "edits"],
                "additionalProperties": !closed,
            }),
        )
    }

    #[test]
    fn what_the_kinds_can_say_is_checked_and_the_rest_told() {
        let spec = spec(true);
        let signature = spec.signature(); // in the order that this build of serde_json keeps
        for part in ["edits[{line, text?}]", "path", "dry?=true", "names?", "ratio?"] {
            assert!(signature.contains(part), "{signature}");
        }
        let ratio = spec.find("ratio").unwrap();
        assert_eq!(
            (&ratio.kind, ratio.help.as_ref()),
            (&ParamKind::Any, "how much JSON Schema: {\"type\":\"number\"}")
        );
    }

    #[test]
    fn only_a_closed_schema_refuses_other_arguments() {
        let args = |more: &str| {
            let text = format!(r#"{{"path": "a", "edits": [{{"line": 1}}]{more}}}"#);
            serde_json::from_str::<crate::Args>(&text).unwrap()
        };
        for (closed, more, fits) in [
            (true, "", true),
            (true, r#", "x": 1"#, false),
            (false, r#", "x": 1"#, true),
            (false, r#", "dry": 1"#, false),
        ] {
            let catalog: Catalog = [spec(closed)].into_iter().collect();
            let mut call = ToolCall::new("1", "edit", args(more));
            assert_eq!(catalog.resolve(&mut call).is_ok(), fits, "{closed} {more}");
            assert!(!fits || call.args == args(more));
        }
    }

    #[test]
    fn a_schema_of_too_many_arguments_is_not_looked_into() {
        for (arguments, known) in [(1000, true), (1001, false)] {
            let properties: Map<String, Value> = (0..arguments).map(|n| (format!("a{n}"), json!({}))).collect();
            let schema = json!({"properties": properties, "additionalProperties": false});
            let catalog: Catalog = [ToolSpec::from_json_schema("t", "", &schema)].into_iter().collect();
            let args = serde_json::from_value(json!({"x": 1})).unwrap();
            assert_eq!(catalog.resolve(&mut ToolCall::new("1", "t", args)).is_err(), known);
        }
    }

    #[test]
    fn whole_numbers_without_a_bound_may_be_large() {
        let schema = json!({"properties": {"n": {"type": "integer"}, "m": {"type": "integer", "maximum": 9}}});
        let catalog: Catalog = [ToolSpec::from_json_schema("t", "", &schema)].into_iter().collect();
        for (args, fits) in [
            (json!({"n": u64::MAX}), true),
            (json!({"n": i64::MIN}), true),
            (json!({"n": 1.5}), false),
            (json!({"m": 9}), true),
            (json!({"m": u64::MAX}), false),
        ] {
            let args: crate::Args = serde_json::from_value(args).unwrap();
            assert_eq!(catalog.resolve(&mut ToolCall::new("1", "t", args.clone())).is_ok(), fits, "{args:?}");
        }
    }

    #[test]
    fn any_schema_gives_a_tool() {
        for schema in [
            json!(null),
            json!({}),
            json!({"properties": []}),
            json!({"properties": {"a": true, "b": {"enum": [1]}, "c": {"type": ["string", "null"]}, "d": {"$ref": "#/x"}}}),
            json!({"properties": {"n": {"type": "integer", "minimum": 1.5}}, "required": "n"}),
        ] {
            let spec = ToolSpec::from_json_schema("t", "", &schema);
            assert!(spec.params.iter().all(|param| param.kind == ParamKind::Any), "{schema}");
        }
    }
}
