//! Coerces values of the wrong type if only one value can be meant.
//!
//! A model may write `"3"` for 3, or a list as its text. A value of the right type is never changed.

use super::{Param, ParamKind};
use crate::Args;
use crate::readings::{only_fitting, readings};
use serde_json::Value;

/// Coerces the arguments; returns whether any was changed.
pub(super) fn fit_arguments(params: &[Param], args: &mut Args) -> bool {
    let mut changed = false;
    for param in params {
        let Some(value) = args.get_mut(param.name.as_ref()) else { continue };
        if let (ParamKind::Objects(fields), Value::Array(items)) = (&param.kind, &mut *value) {
            let objects = items.iter_mut().filter_map(Value::as_object_mut);
            objects.for_each(|item| changed |= fit_arguments(fields, item));
        } else if !param.kind.matches(value)
            && let Some(fitted) = only_fitting(readings(value), |reading| param.kind.matches(reading))
        {
            *value = fitted;
            changed = true;
        }
    }
    changed
}

/// Returns the list of objects that was given as its text or as its only element.
pub(super) fn object_list(kind: &ParamKind, value: &Value) -> Option<Value> {
    let wanted = matches!(kind, ParamKind::Objects(_)) && !kind.matches(value);
    if wanted { only_fitting(readings(value), |reading| kind.matches(reading)) } else { None }
}
