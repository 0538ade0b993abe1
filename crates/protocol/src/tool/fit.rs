//! Values that are not of the type that is wanted, where only one value can be meant.
//!
//! A model that only talks writes `"3"` for 3 and a list as the text of one. What is of the right type is never changed.

use super::{Param, ParamKind};
use crate::Args;
use crate::readings::{only, readings};
use serde_json::Value;

/// Fits the arguments, and says whether one was changed.
pub(super) fn arguments(params: &[Param], args: &mut Args) -> bool {
    let mut changed = false;
    for param in params {
        let Some(value) = args.get_mut(param.name.as_ref()) else { continue };
        if let (ParamKind::Objects(fields), Value::Array(items)) = (&param.kind, &mut *value) {
            let objects = items.iter_mut().filter_map(Value::as_object_mut);
            objects.for_each(|item| changed |= arguments(fields, item));
        } else if !param.kind.holds(value)
            && let Some(fitted) = only(readings(value), |reading| param.kind.holds(reading))
        {
            *value = fitted;
            changed = true;
        }
    }
    changed
}

/// A list of objects where its text was given, or its only element.
pub(super) fn object_list(kind: &ParamKind, value: &Value) -> Option<Value> {
    let wanted = matches!(kind, ParamKind::Objects(_)) && !kind.holds(value);
    if wanted { only(readings(value), |reading| kind.holds(reading)) } else { None }
}
