//! A bare call as a JSON Schema, limited to keywords that structured output commonly supports: `oneOf`, `const`,
//! `enum`, bounds.

use super::GrammarOptions;
use super::call::order_params;
use crate::{Catalog, Param, ParamKind, ToolSpec};
use serde_json::{Map, Value, json};

/// Returns the schema; `false` if no tool can be called.
pub(super) fn for_catalog(catalog: &Catalog, options: &GrammarOptions) -> Value {
    let calls: Vec<Value> = catalog.specs().iter().filter_map(|spec| call(spec, options)).collect();
    if calls.is_empty() { Value::Bool(false) } else { json!({"oneOf": calls}) }
}

fn call(spec: &ToolSpec, options: &GrammarOptions) -> Option<Value> {
    let args = object(&spec.params, options)?;
    Some(json!({
        "type": "object",
        "description": spec.purpose,
        "properties": {
            "name": {"const": spec.name},
            "args": args,
            "reason": {"type": "string", "maxLength": options.longest_text},
        },
        "required": ["name", "args"],
        "additionalProperties": false,
    }))
}

fn object(params: &[Param], options: &GrammarOptions) -> Option<Value> {
    let params = order_params(params)?;
    let required: Vec<&str> = params.iter().filter(|param| param.required).map(|param| param.name.as_ref()).collect();
    let properties: Map<String, Value> =
        params.iter().map(|param| (param.name.clone().into_owned(), param_schema(param, options))).collect();
    Some(json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false}))
}

fn param_schema(param: &Param, options: &GrammarOptions) -> Value {
    let mut schema = kind(&param.kind, options);
    if let Some(fields) = schema.as_object_mut().filter(|_| !param.help.is_empty()) {
        fields.insert("description".into(), param.help.clone().into());
    }
    schema
}

fn kind(kind: &ParamKind, options: &GrammarOptions) -> Value {
    let text = || match options.endless {
        true => json!({"type": "string"}),
        false => json!({"type": "string", "maxLength": options.longest_text}),
    };
    match kind {
        ParamKind::Path | ParamKind::Text { content: false } => text(),
        ParamKind::Command | ParamKind::Patch | ParamKind::Text { content: true } => match options.longest_content {
            Some(most) => json!({"type": "string", "maxLength": most}),
            None => json!({"type": "string"}),
        },
        ParamKind::Integer { least, most } => integer(*least, *most),
        ParamKind::Flag => json!({"type": "boolean"}),
        ParamKind::Choice(words) => json!({"enum": words}),
        ParamKind::Texts if options.endless => json!({"type": "array", "items": text()}),
        ParamKind::Texts => json!({"type": "array", "items": text(), "maxItems": options.most_items}),
        ParamKind::Objects(fields) => {
            json!({"type": "array", "items": object(fields, options), "maxItems": options.most_items})
        }
        ParamKind::Any => json!({}),
    }
}

fn integer(least: i64, most: i64) -> Value {
    let mut schema = json!({"type": "integer", "minimum": least});
    if most < i64::MAX {
        schema["maximum"] = most.into();
    }
    schema
}
