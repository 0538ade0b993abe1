//! Values that are not of the type that is wanted, where only one value can be meant.
//!
//! A model that only talks writes `"3"` for 3 and a list as the text of one. What is of the right type is never changed.

use super::check::is_of;
use super::{Param, ParamKind};
use crate::{Args, json};
use serde_json::Value;

/// Bytes of a text that is read as JSON.
const MOST_TEXT: usize = 1 << 20;

/// Fits the arguments, and says whether one was changed.
pub(super) fn arguments(params: &[Param], args: &mut Args) -> bool {
    let mut changed = false;
    for param in params {
        let Some(value) = args.get_mut(param.name.as_ref()) else { continue };
        if let (ParamKind::Objects(fields), Value::Array(items)) = (&param.kind, &mut *value) {
            let objects = items.iter_mut().filter_map(Value::as_object_mut);
            objects.for_each(|item| changed |= arguments(fields, item));
        } else if !is_of(&param.kind, value)
            && let Some(fitted) = only(readings(value), |reading| is_of(&param.kind, reading))
        {
            *value = fitted;
            changed = true;
        }
    }
    changed
}

/// A list of objects where its text was given, or its only element.
pub(super) fn object_list(kind: &ParamKind, value: &Value) -> Option<Value> {
    let wanted = matches!(kind, ParamKind::Objects(_)) && !is_of(kind, value);
    if wanted { only(readings(value), |reading| is_of(kind, reading)) } else { None }
}

/// The one reading that fits; `None` where several do, for then nobody knows which was meant.
pub(crate) fn only(readings: Vec<Value>, mut fits: impl FnMut(&Value) -> bool) -> Option<Value> {
    let mut fitting = readings.into_iter().filter(|reading| fits(reading));
    let first = fitting.next()?;
    fitting.next().is_none().then_some(first)
}

/// What a value of the wrong type may stand for: the value that its text spells, or a list with nothing else in it.
pub(crate) fn readings(value: &Value) -> Vec<Value> {
    let spelled = value.as_str().filter(|text| text.len() <= MOST_TEXT).and_then(spelled);
    let single = (!value.is_array() && !value.is_null()).then(|| Value::Array(vec![value.clone()]));
    spelled.into_iter().chain(single).collect()
}

/// The boolean, number, list or object that a text spells.
fn spelled(text: &str) -> Option<Value> {
    match text {
        "True" => return Some(true.into()),
        "False" => return Some(false.into()),
        _ => {}
    }
    match json::strict(text).ok()? {
        // No string is hidden in a string, and an absent value is written as none.
        Value::String(_) | Value::Null => None,
        // A number of more digits than its type holds would become another one.
        Value::Number(number) if number.is_f64() && !text.contains(['.', 'e', 'E']) => None,
        value => Some(value),
    }
}
