//! Alternative readings of a value of the wrong type.

use crate::json;
use crate::parse::python_literal;
use serde_json::Value;

/// The maximum number of bytes in a text that is read as JSON.
const MOST_TEXT: usize = 1 << 20;

/// Returns the only reading that fits; `None` if several fit, since the meaning is then ambiguous.
pub(crate) fn only_fitting(readings: Vec<Value>, mut fits: impl FnMut(&Value) -> bool) -> Option<Value> {
    let mut fitting = readings.into_iter().filter(|reading| fits(reading));
    let first = fitting.next()?;
    fitting.next().is_none().then_some(first)
}

/// Returns alternatives for a value of the wrong type: the value that its text spells, and a list with the value as its
/// only element.
pub(crate) fn readings(value: &Value) -> Vec<Value> {
    let spelled = value.as_str().filter(|text| text.len() <= MOST_TEXT).and_then(parse_spelled);
    let single = (!value.is_array() && !value.is_null()).then(|| Value::Array(vec![value.clone()]));
    spelled.into_iter().chain(single).collect()
}

/// Parses the boolean, number, list or object that a text spells.
fn parse_spelled(text: &str) -> Option<Value> {
    match text {
        "True" => return Some(true.into()),
        "False" => return Some(false.into()),
        _ => {}
    }
    let Ok(value) = json::strict(text) else { return python_literal(text) };
    match value {
        // A string is never nested in a string, and an absent value is not written as text.
        Value::String(_) | Value::Null => None,
        // A number with more digits than its type can hold would change its value.
        Value::Number(number) if number.is_f64() && !text.contains(['.', 'e', 'E']) => None,
        value => Some(value),
    }
}
