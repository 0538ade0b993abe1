//! Arguments against their specs: names first, then values.

use super::{Param, ParamKind, find_param};
use crate::{Args, ErrorCode, Text, ToolFailure, close_names, messages};
use serde_json::Value;

/// Puts arguments under their canonical names. Nulls are dropped, for a model that writes them means "absent", but
/// where any value is fine. `open`: those that are not named stay as they are.
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
            return Err(invalid(messages::argument_given_twice(owner, meant, format!("{name:?}"))));
        }
    }
    Ok(taught)
}

/// Puts the fields of objects under their canonical names.
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
                let missing = messages::argument_missing(owner, param.name.clone(), wanted(&param.kind));
                return Err(invalid(missing));
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
        return Err(invalid(messages::path_blank(owner, param.name.clone())));
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
            return Err(invalid(messages::object_wanted(place, got(item))));
        };
        values(fields, item, &place)?;
    }
    Ok(())
}

fn invalid(message: Text) -> ToolFailure {
    ToolFailure::new(ErrorCode::InvalidArgument, message)
}

fn wrong(owner: &str, name: &str, kind: &ParamKind, value: &Value) -> ToolFailure {
    invalid(messages::argument_is(owner, name, got(value), wanted(kind)))
}

fn unknown(params: &[Param], name: &str, owner: &str) -> ToolFailure {
    let names = || params.iter().map(|param| param.name.as_ref());
    let close = close_names(name, names());
    let list = names().collect::<Vec<_>>().join(", ");
    let shown = format!("{:?}", name.chars().take(64).collect::<String>());
    let mut message = messages::no_such_argument(owner, shown);
    if let Some(close) = close.first() {
        message = message.then(messages::did_you_mean(close));
    }
    invalid(message.then(messages::arguments_are(list))).suggest(close)
}

/// What was got, short enough for a message.
fn got(value: &Value) -> Text {
    const MOST: usize = 60;
    let text = value.to_string();
    let mut shown: String = text.chars().take(MOST).collect();
    if shown.len() < text.len() {
        shown.push_str("...");
    }
    match value {
        Value::Null => messages::the_null(),
        Value::Bool(_) => messages::the_boolean(shown),
        Value::Number(_) => messages::the_number(shown),
        Value::String(_) => messages::the_string(shown),
        Value::Array(_) => messages::the_array(shown),
        Value::Object(_) => messages::the_object(shown),
    }
}

fn wanted(kind: &ParamKind) -> Text {
    match kind {
        ParamKind::Path => messages::a_path(),
        ParamKind::Command => messages::a_command(),
        ParamKind::Patch => messages::a_patch(),
        ParamKind::Text { .. } => messages::a_string(),
        ParamKind::Integer { least: i64::MIN, most: i64::MAX } => messages::a_whole_number(),
        ParamKind::Integer { least, most: i64::MAX } => messages::a_whole_number_of_at_least(*least),
        ParamKind::Integer { least, most } => messages::a_whole_number_between(*least, *most),
        ParamKind::Flag => messages::a_flag(),
        ParamKind::Choice(words) => messages::one_of(words.join(", ")),
        ParamKind::Texts => messages::an_array_of_strings(),
        ParamKind::Objects(fields) => {
            let names: Vec<&str> = fields.iter().map(|field| field.name.as_ref()).collect();
            messages::an_array_of_objects(names.join(", "))
        }
        ParamKind::Any => messages::any_value(),
    }
}
