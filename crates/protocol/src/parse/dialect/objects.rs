//! Calls whose arguments are one JSON object, or that consist of JSON.

use super::Sketch;
use super::scan::{Read, Scan, Stop};
use crate::json::Problem;
use crate::text;
use serde_json::Value;

/// Reads calls in a tag that other texts also begin with. They count only if they are valid, closed, and of offered
/// tools: anything else is an answer in tags.
pub(super) fn loose(scan: &mut Scan<'_>, closers: &[&str]) -> Read {
    let read = scan.json_calls(closers);
    // Nothing is announced before the tag is complete, because the tag may contain an answer.
    scan.sketch = Sketch::default();
    match read {
        Err(Stop::More) => Err(Stop::More),
        Ok(()) if scan.drafts.iter().all(|draft| draft.repairs.is_empty() && scan.offers(&draft.name)) => Ok(()),
        Ok(()) | Err(Stop::Not | Stop::Incomplete | Stop::Bad(_)) => Err(Stop::Not),
    }
}

/// Reads one call: the name, a separator, and the object.
pub(super) fn read_named(scan: &mut Scan<'_>, separator: &str, close: &str) -> Read {
    scan.skip_whitespace();
    let name = scan.name()?;
    scan.skip_whitespace();
    scan.want(separator)?;
    let (args, repairs) = scan.args(name, &[close])?;
    scan.call(name, args, repairs);
    scan.want_end(close)
}

/// Reads a call of Mistral's later models: the name, an optional id, then the object.
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
    let (values, repairs) = scan.json(&[END])?;
    for value in values.iter().flat_map(|value| value.as_array().map_or(&[][..], Vec::as_slice)) {
        let mut members = value.as_object().into_iter().flatten();
        match (members.next(), members.next()) {
            (Some((name, Value::Object(args))), None) => scan.call(name, args.clone(), repairs.clone()),
            _ => return Err(Stop::Bad(Problem::new(start, text!("a call is an object with name and args")))),
        }
    }
    if scan.drafts.is_empty() {
        return Err(Stop::Bad(Problem::new(start, text!("a call is an object with name and args"))));
    }
    scan.want_end(END)
}
