//! Converts between JSON Schema, as function calling uses it, and [`ToolSpec`].
//!
//! The parser, the grammars and the labels need the kinds of arguments. Values are checked against the schema itself,
//! and the instructions describe it in words.

use super::{Param, ParamKind, Str, ToolSpec};
use crate::schema::{MOST_FIELDS, Schema, View};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The maximum number of nesting levels of objects in arrays that get kinds of their own.
const MOST_LEVELS: usize = 4;
/// The maximum number of arguments of all levels together that are examined.
const MOST_NESTED: usize = 2000;

impl ToolSpec {
    /// Creates a tool of another server from its name, its description and the JSON Schema of its arguments.
    ///
    /// Its effect is Execute. Arguments are checked against `type`, `enum`, `const`, `properties`, `required`,
    /// `additionalProperties`, `items`, `allOf`, `anyOf`, `oneOf`, the bounds of numbers, strings and arrays,
    /// `pattern`, and `$ref` inside of the document. Other keywords are not checked. Neither are regular expressions
    /// that the crate `regex` cannot compile or that are too large; [`Catalog::unchecked_patterns`] lists those. The
    /// instructions describe each argument in words and show a valid call.
    ///
    /// [`Catalog::unchecked_patterns`]: crate::Catalog::unchecked_patterns
    ///
    /// ```
    /// use serde_json::json;
    /// use toolfence_protocol::{Catalog, ToolCall, ToolSpec};
    ///
    /// let spec = ToolSpec::from_json_schema("weather", "Tell it.", &json!({
    ///     "type": "object",
    ///     "properties": {
    ///         "city": {"type": "string"},
    ///         "days": {"type": "integer", "minimum": 1, "maximum": 9},
    ///         "unit": {"enum": ["C", "F"]},
    ///     },
    ///     "required": ["city"],
    /// }));
    /// assert_eq!(spec.signature(), "weather(city, days?, unit?=C|F)");
    ///
    /// let catalog: Catalog = [spec].into_iter().collect();
    /// let args = |value| serde_json::from_value(value).unwrap();
    /// let mut call = ToolCall::new("1", "weather", args(json!({"city": "Lisbon", "days": "3"})));
    /// catalog.resolve(&mut call).unwrap();
    /// assert_eq!(call.args["days"], 3);
    ///
    /// let mut call = ToolCall::new("2", "weather", args(json!({"city": "Lisbon", "days": 12})));
    /// let failure = catalog.resolve(&mut call).unwrap_err();
    /// assert!(failure.message.to_string().contains("Give a whole number from 1 to 9."), "{}", failure.message);
    /// ```
    pub fn from_json_schema(name: impl Into<Str>, description: impl Into<Str>, schema: &Value) -> ToolSpec {
        let mut spec = ToolSpec::new(name, description);
        let schema = Schema::new(schema);
        let root = schema.view(&[schema.root()]);
        spec.params = params(&schema, &root, MOST_LEVELS, &mut { MOST_NESTED });
        // If there are more arguments than are examined, only the whole schema knows all of them.
        spec.open = !root.is_closed() || spec.params.len() >= MOST_FIELDS;
        spec.schema = Some(Arc::new(schema));
        spec
    }
}

impl ToolSpec {
    /// Returns the JSON Schema of the arguments under their canonical names: an object with `type`, `properties` and
    /// `required`. A tool of another server returns that server's schema.
    ///
    /// ```
    /// use toolfence_protocol::{Param, ParamKind, ToolSpec};
    ///
    /// let path = Param::new("path", ParamKind::Path, "the file to read").required();
    /// let schema = ToolSpec::new("read", "Read a file.").param(path).json_schema();
    /// assert_eq!(schema["properties"]["path"]["type"], "string");
    /// assert_eq!(schema["required"][0], "path");
    /// ```
    pub fn json_schema(&self) -> Value {
        let own = object_schema(&self.params, self.open);
        let Some(mut given) = self.schema.as_ref().map(|schema| schema.root().clone()) else { return own };
        // A server may omit keywords that hosts expect in every schema.
        let Some(fields) = given.as_object_mut() else { return own };
        for name in ["type", "properties", "required"] {
            fields.entry(name).or_insert_with(|| own[name].clone());
        }
        given
    }
}

fn object_schema(params: &[Param], open: bool) -> Value {
    let properties: Map<String, Value> =
        params.iter().map(|param| (param.name.clone().into_owned(), param_schema(param))).collect();
    let required: Vec<&str> = params.iter().filter(|param| param.required).map(|param| param.name.as_ref()).collect();
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": open})
}

fn param_schema(param: &Param) -> Value {
    let mut schema = match &param.kind {
        ParamKind::Path | ParamKind::Command | ParamKind::Patch | ParamKind::Text { .. } => json!({"type": "string"}),
        ParamKind::Integer { least, most } => {
            let bounds = [("minimum", *least, i64::MIN), ("maximum", *most, i64::MAX)];
            let mut schema = json!({"type": "integer"});
            for (name, bound, _) in bounds.into_iter().filter(|(_, bound, none)| bound != none) {
                schema[name] = bound.into();
            }
            schema
        }
        ParamKind::Flag => json!({"type": "boolean"}),
        ParamKind::Choice(words) => json!({"type": "string", "enum": words}),
        ParamKind::Texts => json!({"type": "array", "items": {"type": "string"}}),
        ParamKind::Objects(fields) => json!({"type": "array", "items": object_schema(fields, false)}),
        ParamKind::Any => json!({}),
    };
    if !param.help.is_empty() {
        schema["description"] = param.help.clone().into();
    }
    if let Some(default) = &param.default {
        schema["default"] = default.clone();
    }
    schema
}

/// Returns the arguments that an object schema names, required ones first.
///
/// `nested` is the number of further arguments that may be examined; without it, nested lists could grow without end.
fn params(schema: &Schema, object: &View<'_>, levels: usize, nested: &mut usize) -> Vec<Param> {
    let fields = object.fields();
    *nested = nested.saturating_sub(fields.len());
    let named = fields.into_iter().map(|field| {
        let view = schema.view(&field.schemas);
        let kind = kind(schema, &view, levels, nested);
        let help = view.text("description").unwrap_or_default().to_owned();
        let default = view.get("default").filter(|value| !value.is_null()).cloned();
        Param { required: field.required, default, ..Param::new(field.name.to_owned(), kind, help) }
    });
    named.collect()
}

/// Returns the kind that captures everything about a value; [`ParamKind::Any`] if no kind does.
fn kind(schema: &Schema, view: &View<'_>, levels: usize, nested: &mut usize) -> ParamKind {
    let combined = ["anyOf", "oneOf", "not", "if", "dependentSchemas", "dependencies", "patternProperties"];
    if view.has_any(&combined) || view.is_partial() {
        return ParamKind::Any;
    }
    if let Some(choices) = view.choices() {
        let words: Option<Vec<Str>> =
            choices.iter().map(|word| word.as_str().map(|word| word.to_owned().into())).collect();
        return words.filter(|words| !words.is_empty()).map_or(ParamKind::Any, ParamKind::Choice);
    }
    match view.types()[..] {
        ["string"] => ParamKind::Text { content: false },
        ["boolean"] => ParamKind::Flag,
        ["integer"] => integer(view),
        ["array"] => array(schema, view, levels, nested),
        _ => ParamKind::Any,
    }
}

fn integer(view: &View<'_>) -> ParamKind {
    let bound = |least: bool, none: i64| match view.bound(least) {
        None => Some(none),
        Some((bound, false)) => bound.as_i64(),
        Some((bound, true)) => bound.as_i64().and_then(|bound| bound.checked_add(if least { 1 } else { -1 })),
    };
    match (bound(true, i64::MIN), bound(false, i64::MAX)) {
        (Some(least), Some(most)) if !view.has_any(&["multipleOf"]) => ParamKind::Integer { least, most },
        _ => ParamKind::Any,
    }
}

fn array(schema: &Schema, view: &View<'_>, levels: usize, nested: &mut usize) -> ParamKind {
    let elements = schema.view(&view.elements());
    if !view.first_elements().is_empty() || levels == 0 || *nested == 0 {
        return ParamKind::Any;
    }
    // No levels are needed to recognise a plain text.
    if kind(schema, &elements, 0, nested) == (ParamKind::Text { content: false }) {
        return ParamKind::Texts;
    }
    let fields = params(schema, &elements, levels - 1, nested);
    let known = elements.types() == ["object"] && elements.is_closed() && !fields.is_empty();
    if known && fields.len() < MOST_FIELDS { ParamKind::Objects(fields) } else { ParamKind::Any }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Catalog, ToolCall};
    use serde_json::{Map, json};

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
    fn schemas_of_the_supported_kinds_are_checked_and_others_are_shown() {
        let spec = spec(true);
        let signature = spec.signature(); // in the order that this build of serde_json keeps
        for part in ["edits[{line, text?}]", "path", "dry?=true", "names?", "ratio?"] {
            assert!(signature.contains(part), "{signature}");
        }
        let ratio = spec.find("ratio").unwrap();
        assert_eq!((&ratio.kind, ratio.help.as_ref()), (&ParamKind::Any, "how much"));
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
    fn a_schema_of_many_arguments_is_checked_all_the_same() {
        for arguments in [3, 999, 1000, 1001, 5000] {
            let properties: Map<String, Value> = (0..arguments).map(|n| (format!("a{n}"), json!({}))).collect();
            let schema = json!({"properties": properties, "additionalProperties": false});
            let catalog: Catalog = [ToolSpec::from_json_schema("t", "", &schema)].into_iter().collect();
            assert!(catalog.specs()[0].params.len() <= MOST_FIELDS);
            for (args, fits) in
                [(json!({"x": 1}), false), (json!({"a2": 1}), true), (json!({format!("a{}", arguments - 1): 1}), true)]
            {
                let args = serde_json::from_value(args).unwrap();
                assert_eq!(catalog.resolve(&mut ToolCall::new("1", "t", args)).is_ok(), fits, "{arguments}");
            }
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
