//! Calls with the name first, then keys and values in tags of their own, as GLM writes them.

use super::scan::{Read, Scan, Stop};
use super::table::K2_KEYS;
use crate::json;
use crate::{Args, messages};
use serde_json::Value;

/// How the tags of a call are written.
#[derive(Clone, Copy)]
pub(super) struct Keys<'a> {
    pub(super) key: &'a str,
    pub(super) key_end: &'a str,
    /// The type of the value, if the dialect names it: any but `string` is JSON.
    pub(super) kind: Option<(&'a str, &'a str)>,
    /// Empty if the value directly follows the key.
    pub(super) value: &'a str,
    pub(super) value_end: &'a str,
    /// The end of the call.
    pub(super) end: &'a str,
}

/// Reads one call: the name, then keys and values in tags.
pub(super) fn named(scan: &mut Scan<'_>, keys: &Keys<'_>) -> Read {
    if scan.peek() == Some(b'\n') {
        scan.at += 1;
    }
    let name = scan.name()?;
    // Prose that speaks of the tags has a space there.
    if scan.peek() == Some(b' ') {
        return Err(Stop::Not);
    }
    arguments(scan, name, keys)
}

/// The arguments of a call after its name, and the end of the call.
pub(super) fn arguments(scan: &mut Scan<'_>, name: &str, keys: &Keys<'_>) -> Read {
    let (mut args, mut repairs) = (Args::new(), Vec::new());
    loop {
        let end = scan.at;
        scan.skip_whitespace();
        if scan.take(keys.end)? {
            scan.begins(name);
            break;
        }
        if !scan.take(keys.key)? {
            if args.is_empty() {
                return scan.no();
            }
            scan.call(name, args, repairs);
            return scan.missing_end(end, true);
        }
        scan.begins(name);
        let key = scan.until(keys.key_end)?.trim();
        if !keys.value.is_empty() {
            scan.skip_whitespace();
        }
        let mut is_text = true;
        if let Some((kind, kind_end)) = keys.kind
            && scan.take(kind)?
        {
            is_text = scan.until(kind_end)?.trim() == "string";
            scan.skip_whitespace();
        }
        if !scan.take(keys.value)? {
            return scan.bad(messages::parameter_wanted(keys.value));
        }
        let behind = [keys.key, keys.end];
        let (text, guess) = scan.content(keys.value_end, &behind)?;
        repairs.extend(guess);
        let value = match (!is_text).then(|| json::strict(text.trim())) {
            Some(Ok(value)) => value,
            Some(Err(_)) | None => Value::from(text),
        };
        if args.insert(key.to_owned(), value).is_some() {
            return scan.bad(messages::parameter_given_twice(key));
        }
    }
    scan.call(name, args, repairs);
    Ok(())
}

/// Reads the calls of K2 Horizon in their outer tag.
pub(super) fn k2_section(scan: &mut Scan<'_>) -> Read {
    scan.section("<ifm|tool_call>", "</ifm|tool_calls>", k2_call)
}

/// Reads one call of K2 Horizon, in tags or in JSON.
pub(super) fn k2_call(scan: &mut Scan<'_>) -> Read {
    scan.skip_whitespace();
    match scan.peek() {
        Some(b'{' | b'[') => scan.json_calls(&[K2_KEYS.end]),
        _ => named(scan, &K2_KEYS),
    }
}

/// Bytes of a suffix.
const MOST_SUFFIX: usize = 64;

/// Reads calls of Hunyuan whose tags all have a suffix that the checkpoint chooses: `<tool_calls:x>`.
pub(super) fn with_suffix(scan: &mut Scan<'_>) -> Read {
    let is_suffix = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let length = scan.rest().find(|c| !is_suffix(c)).unwrap_or(scan.rest().len());
    if length > MOST_SUFFIX {
        return scan.no();
    }
    let suffix = format!(":{}", &scan.rest()[..length]);
    scan.at += length;
    scan.want(">")?;
    with_tags(scan, &suffix)
}

/// Reads calls of Hunyuan without a suffix.
pub(super) fn without_suffix(scan: &mut Scan<'_>) -> Read {
    with_tags(scan, "")
}

fn with_tags(scan: &mut Scan<'_>, suffix: &str) -> Read {
    let tag = |name: &str| format!("<{name}{suffix}>");
    let (call, separator, end) = (tag("tool_call"), tag("tool_sep"), tag("/tool_call"));
    let (key, key_end, value, value_end) = (tag("arg_key"), tag("/arg_key"), tag("arg_value"), tag("/arg_value"));
    let keys = Keys { key: &key, key_end: &key_end, kind: None, value: &value, value_end: &value_end, end: &end };
    scan.section(&call, &tag("/tool_calls"), |scan| {
        scan.skip_whitespace();
        let name = scan.name()?;
        scan.skip_whitespace();
        scan.take(&separator)?;
        arguments(scan, name, &keys)
    })
}
