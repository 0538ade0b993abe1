//! Checks arguments against their specs: names first, then values.

use super::fit;
use super::{Param, ParamKind, find_param};
use crate::schema::{Fault, Schema, ValueKind};
use crate::{Args, ErrorCode, Text, ToolFailure, close_names, text};
use serde_json::Value;

/// Renames arguments to their canonical names. Nulls are dropped, since models write them for "absent", unless any
/// value is allowed. With `open`, unknown arguments are kept. Also returns whether a list was made from its text or its
/// only element.
pub(super) fn rename(params: &[Param], args: Args, owner: &str, open: bool) -> Result<(Args, bool), ToolFailure> {
    let (mut taught, mut listed) = (Args::new(), false);
    for (name, value) in args {
        let param = find_param(params, &name);
        if param.is_none() && !open {
            return Err(unknown_argument(params, &name, owner));
        }
        if value.is_null() && param.is_some_and(|param| param.kind != ParamKind::Any) {
            continue;
        }
        let (meant, value) = match param {
            Some(param) => (param.name.clone().into_owned(), rename_inside(param, value, owner, &mut listed)?),
            None => (name.clone(), value),
        };
        if taught.insert(meant.clone(), value).is_some() {
            return Err(invalid(text!(
                "{owner}: {argument} is given twice, once as {written}. Give it once.",
                owner,
                argument = meant,
                written = format!("{name:?}")
            )));
        }
    }
    Ok((taught, listed))
}

/// Renames the fields of objects to their canonical names and replaces synonyms with the words of a choice.
fn rename_inside(param: &Param, mut value: Value, owner: &str, listed: &mut bool) -> Result<Value, ToolFailure> {
    if let Some(word) = param.resolve_synonym(&value) {
        return Ok(word.into());
    }
    // The list must exist before its objects can be renamed.
    if let Some(list) = fit::object_list(&param.kind, &value) {
        value = list;
        *listed = true;
    }
    let (ParamKind::Objects(fields), Value::Array(items)) = (&param.kind, &value) else { return Ok(value) };
    let renamed = items.iter().enumerate().map(|(index, item)| match item {
        Value::Object(item) => {
            let (renamed, inside) = rename(fields, item.clone(), &format!("{owner}: {}[{index}]", param.name), false)?;
            *listed |= inside;
            Ok(Value::Object(renamed))
        }
        other => Ok(other.clone()),
    });
    renamed.collect::<Result<_, _>>().map(Value::Array)
}

/// Checks that every required argument is present and every value has the right kind.
pub(super) fn check_values(params: &[Param], args: &Args, owner: &str) -> Result<(), ToolFailure> {
    for param in params {
        match args.get(param.name.as_ref()) {
            Some(value) => check_value(param, value, owner)?,
            None if param.required => {
                let missing = text!(
                    "{owner}: {argument} is missing. Give {wanted}.",
                    owner,
                    argument = param.name.clone(),
                    wanted = describe_kind(&param.kind)
                );
                return Err(invalid(missing));
            }
            None => {}
        }
    }
    Ok(())
}

fn check_value(param: &Param, value: &Value, owner: &str) -> Result<(), ToolFailure> {
    if let (ParamKind::Path, Some(path)) = (&param.kind, value.as_str())
        && !path.is_empty()
        && crate::invisible::is_blank(path)
    {
        return Err(invalid(text!(
            "The path is blank: {argument} of {owner} has no visible characters. Give a path, such as src/main.rs.",
            owner,
            argument = param.name.clone()
        )));
    }
    // A path with NUL gets the message of its kind instead.
    if let Some(text) = value.as_str().filter(|_| param.kind == ParamKind::Path || param.printable)
        && let Some(control) = text.chars().find(|c| c.is_control() && (*c != '\0' || param.kind != ParamKind::Path))
    {
        return Err(invalid(control_character(param, text, control, owner)));
    }
    if let (ParamKind::Objects(fields), _) = (&param.kind, value) {
        return check_objects(param, fields, value, owner);
    }
    if param.kind.matches(value) { Ok(()) } else { Err(wrong_type(owner, &param.name, &param.kind, value)) }
}

/// Builds the message for a control character. In JSON, `"\b"` is a backspace and `"\t"` a tab, so a pattern or a path
/// became something else.
fn control_character(param: &Param, text: &str, control: char, owner: &str) -> Text {
    // For a long text, the message shows the part around the character.
    let at = text.find(control).unwrap_or_default();
    let from = text[..at].char_indices().rev().nth(20).map_or(0, |(index, _)| index);
    let around: String = text[from..].chars().take(60).collect();
    let shown = Value::from(around.as_str()).to_string();
    let meant: String = around
        .chars()
        .map(|c| match c {
            c if c.is_control() => {
                let spelled = Value::from(c.to_string()).to_string();
                match spelled.strip_prefix("\"\\") {
                    Some(rest) => format!("\\{}", rest.trim_end_matches('"')),
                    None => format!("\\u{:04x}", u32::from(c)), // JSON escapes none of these
                }
            }
            c => c.to_string(),
        })
        .collect();
    text!(
        "{owner}: {argument} is {shown}, which contains a control character. If you mean a backslash, escape it: write \
         {escaped}.",
        owner,
        argument = param.name.clone(),
        shown,
        escaped = Value::from(meant).to_string()
    )
}

fn check_objects(param: &Param, fields: &[Param], value: &Value, owner: &str) -> Result<(), ToolFailure> {
    let Some(items) = value.as_array() else { return Err(wrong_type(owner, &param.name, &param.kind, value)) };
    for (index, item) in items.iter().enumerate() {
        let place = format!("{owner}: {}[{index}]", param.name);
        let Some(item) = item.as_object() else {
            return Err(invalid(text!("{place} is {got}, but must be an object.", place, got = describe_value(item))));
        };
        check_values(fields, item, &place)?;
    }
    Ok(())
}

/// Checks all arguments of a tool of another server against its schema; returns whether one was coerced.
pub(super) fn check_against_schema(schema: &Schema, args: Value, owner: &str) -> Result<(Args, bool), ToolFailure> {
    let fitted = match schema.check(&args) {
        Ok(()) => None,
        // If the arguments are too costly to check, they are too costly to coerce.
        Err(fault) if fault.kind == ValueKind::Costly => return Err(schema_violation(schema, &fault, owner)),
        Err(fault) => match schema.fit(&args) {
            Some(fitted) => Some(fitted),
            None => return Err(schema_violation(schema, &fault, owner)),
        },
    };
    let changed = fitted.is_some();
    match fitted.unwrap_or(args) {
        Value::Object(args) => Ok((args, changed)),
        other => {
            Err(invalid(text!("{place} is {got}, but must be an object.", place = owner, got = describe_value(&other))))
        }
    }
}

/// Builds the message for a violation of the schema.
fn schema_violation(schema: &Schema, fault: &Fault<'_>, owner: &str) -> ToolFailure {
    let place = fault.path();
    let inside = |name: &str| {
        let name: String = name.chars().take(64).collect();
        if place.is_empty() { name } else { format!("{place}.{name}") }
    };
    match fault.kind {
        ValueKind::Costly => invalid(text!(
            "{owner}: the arguments are too large or too deeply nested to be checked. Send less at once.",
            owner
        )),
        ValueKind::Missing(name) => invalid(text!(
            "{owner}: {argument} is missing. Give {wanted}.",
            owner,
            argument = inside(name),
            wanted = schema.wanted_member(fault.schema, name)
        )),
        ValueKind::Unknown(name) => {
            let owner = if place.is_empty() { owner.to_owned() } else { format!("{owner}: {place}") };
            unknown_among(&schema.members(fault.schema), name, &owner)
        }
        ValueKind::Type | ValueKind::Choice | ValueKind::Rule => {
            let (got, wanted) = (describe_value(fault.value), schema.describe_allowed(fault.schema));
            let argument = if place.is_empty() { text!("the object of arguments") } else { place.clone().into() };
            if place.is_empty() || fault.kind == ValueKind::Rule {
                invalid(text!(
                    "{owner}: {argument} is {got}, which its schema does not allow. Give {wanted}.",
                    owner,
                    argument,
                    got,
                    wanted
                ))
            } else {
                invalid(text!("{owner}: {argument} is {got}. Give {wanted}.", owner, argument, got, wanted))
            }
        }
    }
}

fn invalid(message: Text) -> ToolFailure {
    ToolFailure::new(ErrorCode::InvalidArgument, message)
}

fn wrong_type(owner: &str, name: &str, kind: &ParamKind, value: &Value) -> ToolFailure {
    invalid(text!(
        "{owner}: {argument} is {got}. Give {wanted}.",
        owner,
        argument = name,
        got = describe_value(value),
        wanted = describe_kind(kind)
    ))
}

fn unknown_argument(params: &[Param], name: &str, owner: &str) -> ToolFailure {
    unknown_among(&params.iter().map(|param| param.name.as_ref()).collect::<Vec<_>>(), name, owner)
}

fn unknown_among(names: &[&str], name: &str, owner: &str) -> ToolFailure {
    let close = close_names(name, names.iter().copied());
    let list = names.join(", ");
    let shown = format!("{:?}", name.chars().take(64).collect::<String>());
    let mut message = text!("{owner} has no argument {name}.", owner, name = shown);
    if let Some(close) = close.first() {
        message = message.then(text!("Did you mean {close}?", close));
    }
    let arguments =
        if names.is_empty() { text!("It takes no arguments.") } else { text!("Its arguments are: {list}.", list) };
    invalid(message.then(arguments)).suggest(close)
}

/// Describes the value, shortened for a message.
fn describe_value(value: &Value) -> Text {
    const MOST: usize = 60;
    let text = value.to_string();
    let mut shown: String = text.chars().take(MOST).collect();
    if shown.len() < text.len() {
        shown.push_str("...");
    }
    match value {
        Value::Null => text!("null"),
        Value::Bool(_) => text!("the boolean {value}", value = shown),
        Value::Number(_) => text!("the number {value}", value = shown),
        Value::String(_) => text!("the string {value}", value = shown),
        Value::Array(_) => text!("the array {value}", value = shown),
        Value::Object(_) => text!("the object {value}", value = shown),
    }
}

fn describe_kind(kind: &ParamKind) -> Text {
    match kind {
        ParamKind::Path => text!("a path as a string without NUL"),
        ParamKind::Command => text!("a shell command as a string without NUL"),
        ParamKind::Patch => text!("a patch as a string"),
        ParamKind::Text { .. } => text!("a string"),
        ParamKind::Integer { least: i64::MIN, most: i64::MAX } => text!("a whole number"),
        ParamKind::Integer { least, most: i64::MAX } => text!("a whole number of at least {least}", least = *least),
        ParamKind::Integer { least, most } => {
            text!("a whole number from {least} to {most}", least = *least, most = *most)
        }
        ParamKind::Flag => text!("true or false"),
        ParamKind::Choice(words) if words.len() == 1 => format!("{:?}", words[0]).into(),
        ParamKind::Choice(words) => text!("one of {words}", words = words.join(", ")),
        ParamKind::Texts => text!("an array of strings"),
        ParamKind::Objects(fields) => {
            let names: Vec<&str> = fields.iter().map(|field| field.name.as_ref()).collect();
            text!("an array of objects with {fields}", fields = names.join(", "))
        }
        ParamKind::Any => text!("any value"),
    }
}
