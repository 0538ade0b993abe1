//! What a value of the wrong type may stand for, whatever says which types are right.

use crate::json;
use crate::parse::python_literal;
use serde_json::Value;

/// Bytes of a text that is read as JSON.
const MOST_TEXT: usize = 1 << 20;

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
    let Ok(value) = json::strict(text) else { return python_literal(text) };
    match value {
        // No string is hidden in a string, and an absent value is written as none.
        Value::String(_) | Value::Null => None,
        // A number of more digits than its type holds would become another one.
        Value::Number(number) if number.is_f64() && !text.contains(['.', 'e', 'E']) => None,
        value => Some(value),
    }
}
