//! Calls whose arguments are one JSON object, or that are JSON altogether.

use super::Sketch;
use super::scan::{Read, Scan, Stop};
use crate::json::Problem;
use crate::messages;
use serde_json::Value;

/// Reads calls in a tag that texts also begin with. They count only if they are valid, closed, and of offered tools: anything else
/// is an answer in tags.
pub(super) fn loose(scan: &mut Scan<'_>, closers: &[&str]) -> Read {
    let read = scan.json_calls(closers);
    // Nothing is announced before the tag is complete.
    scan.sketch = Sketch::default();
    match read {
        Err(Stop::More) => Err(Stop::More),
        Ok(()) if scan.drafts.iter().all(|draft| draft.repairs.is_empty() && scan.offers(&draft.name)) => Ok(()),
        Ok(()) | Err(Stop::Not | Stop::Incomplete | Stop::Bad(_)) => Err(Stop::Not),
    }
}

/// Reads one call: the name, a separator, and the object.
pub(super) fn named(scan: &mut Scan<'_>, separator: &str, close: &str) -> Read {
    scan.skip_whitespace();
    let name = scan.name()?;
    scan.skip_whitespace();
    scan.want(separator)?;
    let (args, repairs) = scan.args(name, &[close])?;
    scan.call(name, args, repairs);
    scan.want_end(close)
}

/// Reads a call of Mistral's later models: the name, perhaps an id, then the object.
pub(super) fn mistral(scan: &mut Scan<'_>) -> Read {
    scan.skip_whitespace();
    let name = scan.name()?;
    let mut id = None;
    if scan.take("[CALL_ID]")? {
        id = Some(scan.name()?.to_owned());
    }
    if !scan.take("[ARGS]")? {
        scan.skip_whitespace();
    }
    if scan.peek().is_some_and(|byte| byte != b'{') && !scan.sees("\"{")? {
        return scan.no();
    }
    scan.sketch.id.clone_from(&id);
    let (args, repairs) = scan.args(name, &[])?;
    scan.call(name, args, repairs);
    if let Some(draft) = scan.drafts.last_mut() {
        draft.id = id;
    }
    Ok(())
}

/// Reads an array of objects whose only key is the name.
pub(super) fn apertus(scan: &mut Scan<'_>) -> Read {
    const END: &str = "<|tools_suffix|>";
    scan.sketch.keyed = true;
    let start = scan.at;
    let unreadable = || Stop::Bad(Problem::new(start, messages::call_not_an_object()));
    let (values, repairs) = scan.json(&[END])?;
    for value in values {
        let Value::Array(items) = value else { return Err(unreadable()) };
        for item in items {
            let Value::Object(object) = item else { return Err(unreadable()) };
            let mut members = object.into_iter();
            match (members.next(), members.next()) {
                (Some((name, Value::Object(args))), None) => scan.call(&name, args, repairs.clone()),
                _ => return Err(unreadable()),
            }
        }
    }
    scan.want_end(END)
}

/// Reads an array whose bracket is part of the opening token.
pub(super) fn functools(scan: &mut Scan<'_>) -> Read {
    scan.at -= 1;
    scan.json_calls(&[])
}

/// Reads the object after `<|plugin|>`. After `<|interpreter|>` there is code, which is no call.
pub(super) fn internlm(scan: &mut Scan<'_>) -> Read {
    scan.skip_whitespace();
    scan.want("<|plugin|>")?;
    scan.json_calls(&["<|action_end|>"])
}
