//! Arguments against their specs: names first, then values.

use super::{Param, ParamKind, find_param};
use crate::{Args, ErrorCode, ToolFailure, close_names};
use serde_json::Value;

/// The same arguments under their taught names; nulls are dropped, for a model that writes them means "absent", but where
/// any value is fine. `open`: those that are not named stay as they are.
pub(super) fn rename(params: &[Param], args: Args, owner: &str, open: bool) -> Result<Args, ToolFailure> {
    let mut taught = Args::new();
    for (name, value) in args {
        let param = find_param(params, &name);
        if param.is_none() && !open {
            return Err(unknown(params, &name, owner));
        }
        if value.is_null() && param.is_some_and(|param| param.kind != ParamKind::Any) {
            continue;
        }
        let (meant, value) = match param {
            Some(param) => (param.name.clone().into_owned(), rename_inside(param, value, owner)?),
            None => (name.clone(), value),
        };
        if taught.insert(meant.clone(), value).is_some() {
            return Err(invalid(format!("{owner}: {meant} is given twice, once as {name:?}. Give it once.")));
        }
    }
    Ok(taught)
}

/// The fields of objects under their taught names.
fn rename_inside(param: &Param, value: Value, owner: &str) -> Result<Value, ToolFailure> {
    let (ParamKind::Objects(fields), Value::Array(items)) = (&param.kind, &value) else { return Ok(value) };
    let renamed = items.iter().enumerate().map(|(index, item)| match item {
        Value::Object(item) => {
            rename(fields, item.clone(), &format!("{owner}: {}[{index}]", param.name), false).map(Value::Object)
        }
        other => Ok(other.clone()),
    });
    renamed.collect::<Result<_, _>>().map(Value::Array)
}

/// Every required argument is there and every value is of its kind.
pub(super) fn values(params: &[Param], args: &Args, owner: &str) -> Result<(), ToolFailure> {
    for param in params {
        match args.get(param.name.as_ref()) {
            Some(value) => value_of(param, value, owner)?,
            None if param.required => {
                let wanted = wanted(&param.kind);
                return Err(invalid(format!("{owner}: {} is missing. Give {wanted}.", param.name)));
            }
            None => {}
        }
    }
    Ok(())
}

fn value_of(param: &Param, value: &Value, owner: &str) -> Result<(), ToolFailure> {
    if let (ParamKind::Path, Some(path)) = (&param.kind, value.as_str())
        && !path.is_empty()
        && crate::invisible::is_blank(path)
    {
        let message = format!(
            "The path is blank: {} of {owner} holds nothing that can be seen. Give a path, such as src/main.rs.",
            param.name
        );
        return Err(ToolFailure::new(ErrorCode::InvalidArgument, message));
    }
    let fits = match &param.kind {
        ParamKind::Path | ParamKind::Command => value.as_str().is_some_and(|text| !text.contains('\0')),
        ParamKind::Patch | ParamKind::Text { .. } => value.is_string(),
        ParamKind::Integer { least, most } => match value.as_i64() {
            Some(number) => (*least..=*most).contains(&number),
            None => *most == i64::MAX && value.is_u64(), // no bound above
        },
        ParamKind::Flag => value.is_boolean(),
        ParamKind::Choice(words) => value.as_str().is_some_and(|word| words.iter().any(|known| known == word)),
        ParamKind::Texts => value.as_array().is_some_and(|items| items.iter().all(Value::is_string)),
        ParamKind::Objects(fields) => return objects(param, fields, value, owner),
        ParamKind::Any => true,
    };
    if fits { Ok(()) } else { Err(wrong(owner, &param.name, &param.kind, value)) }
}

fn objects(param: &Param, fields: &[Param], value: &Value, owner: &str) -> Result<(), ToolFailure> {
    let Some(items) = value.as_array() else { return Err(wrong(owner, &param.name, &param.kind, value)) };
    for (index, item) in items.iter().enumerate() {
        let place = format!("{owner}: {}[{index}]", param.name);
        let Some(item) = item.as_object() else {
            return Err(invalid(format!("{place} is {}, an object is wanted.", got(item))));
        };
        values(fields, item, &place)?;
    }
    Ok(())
}

fn invalid(message: String) -> ToolFailure {
    ToolFailure::new(ErrorCode::InvalidArgument, message)
}

fn wrong(owner: &str, name: &str, kind: &ParamKind, value: &Value) -> ToolFailure {
    invalid(format!("{owner}: {name} is {}. Give {}.", got(value), wanted(kind)))
}

fn unknown(params: &[Param], name: &str, owner: &str) -> ToolFailure {
    let names = || params.iter().map(|param| param.name.as_ref());
    let close = close_names(name, names());
    let hint = close.first().map(|name| format!(" Did you mean {name}?")).unwrap_or_default();
    let list = names().collect::<Vec<_>>().join(", ");
    let shown: String = name.chars().take(64).collect();
    invalid(format!("{owner} has no argument {shown:?}.{hint} Its arguments are: {list}.")).suggest(close)
}

/// What was got, short enough for a message.
fn got(value: &Value) -> String {
    const MOST: usize = 60;
    let text = value.to_string();
    let short: String = text.chars().take(MOST).collect();
    let kind = match value {
        Value::Null => return "null".into(),
        Value::Bool(_) => "the boolean",
        Value::Number(_) => "the number",
        Value::String(_) => "the string",
        Value::Array(_) => "the array",
        Value::Object(_) => "the object",
    };
    let dots = if short.len() < text.len() { "..." } else { "" };
    format!("{kind} {short}{dots}")
}

fn wanted(kind: &ParamKind) -> String {
    match kind {
        ParamKind::Path => "a path as a string without NUL".into(),
        ParamKind::Command => "a shell command as a string without NUL".into(),
        ParamKind::Patch => "a patch as a string".into(),
        ParamKind::Text { .. } => "a string".into(),
        ParamKind::Integer { least: i64::MIN, most: i64::MAX } => "a whole number".into(),
        ParamKind::Integer { least, most: i64::MAX } => format!("a whole number of at least {least}"),
        ParamKind::Integer { least, most } => format!("a whole number from {least} to {most}"),
        ParamKind::Flag => "true or false".into(),
        ParamKind::Choice(words) => format!("one of {}", words.join(", ")),
        ParamKind::Texts => "an array of strings".into(),
        ParamKind::Objects(fields) => {
            let names: Vec<&str> = fields.iter().map(|field| field.name.as_ref()).collect();
            format!("an array of objects with {}", names.join(", "))
        }
        ParamKind::Any => "any value".into(),
    }
}
