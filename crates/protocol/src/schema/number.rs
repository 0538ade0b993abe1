//! Numbers compared as what they are, also where one is an integer that no double holds.

use serde_json::{Number, Value};
use std::cmp::Ordering;

/// An integer as such; every double with a fraction of zero is one.
fn integer(number: &Number) -> Option<i128> {
    let whole = number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from));
    // Beyond 2^100 nothing is compared but doubles, and every one of those is an integer.
    whole.or_else(|| {
        number.as_f64().filter(|value| value.fract() == 0.0 && value.abs() < 1e30).map(|value| value as i128)
    })
}

pub(super) fn is_integer(number: &Number) -> bool {
    integer(number).is_some() || number.as_f64().is_some_and(|value| value.fract() == 0.0)
}

pub(super) fn compare(a: &Number, b: &Number) -> Ordering {
    match (integer(a), integer(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        _ => {
            let (a, b) = (a.as_f64().unwrap_or_default(), b.as_f64().unwrap_or_default());
            a.partial_cmp(&b).unwrap_or(Ordering::Equal)
        }
    }
}

/// Whether `number` is a multiple of `step`; 0.3 is one of 0.1, though no double says so.
pub(super) fn is_multiple(number: &Number, step: &Number) -> bool {
    match (integer(number), integer(step)) {
        (_, Some(0)) => true, // no schema may say so; then it says nothing
        (Some(number), Some(step)) => number % step == 0,
        _ => {
            let (number, step) = (number.as_f64().unwrap_or_default(), step.as_f64().unwrap_or(1.0));
            let times = number / step;
            if !times.is_finite() {
                // The remainder of two doubles is exact.
                return step == 0.0 || number % step == 0.0;
            }
            (times - times.round()).abs() <= 1e-9 * times.abs().max(1.0)
        }
    }
}

/// Whether two values are the same to JSON Schema: 1 is 1.0, and the order of members does not count.
pub(super) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => compare(a, b) == Ordering::Equal,
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, value)| b.get(key).is_some_and(|other| same(value, other)))
        }
        _ => a == b,
    }
}

/// A text that two values share exactly where they are the same.
pub(super) fn canonical(value: &Value, out: &mut String) {
    match value {
        Value::Number(number) => match integer(number) {
            Some(whole) => out.push_str(&whole.to_string()),
            None => out.push_str(&number.to_string()),
        },
        Value::Array(items) => {
            out.push('[');
            for item in items {
                canonical(item, out);
                out.push(',');
            }
            out.push(']');
        }
        Value::Object(members) => {
            let mut sorted: Vec<_> = members.iter().collect();
            sorted.sort_unstable_by_key(|(name, _)| *name);
            out.push('{');
            for (name, member) in sorted {
                out.push_str(&Value::from(name.as_str()).to_string());
                canonical(member, out);
                out.push(',');
            }
            out.push('}');
        }
        other => out.push_str(&other.to_string()),
    }
}
