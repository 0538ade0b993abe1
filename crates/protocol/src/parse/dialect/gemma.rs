//! FunctionGemma and Gemma 4. Keys have no quotes, and texts are between special tokens:
//! `<start_function_call>call:read_file{path:<escape>a.txt<escape>}<end_function_call>`.

use super::scan::{Read, Scan};
use crate::{Args, Repair, Text, text};
use serde_json::Value;

/// Reads a call of FunctionGemma.
pub(super) fn function_gemma(scan: &mut Scan<'_>) -> Read {
    call(scan, "<escape>", "<end_function_call>")
}

/// Reads a call of Gemma 4.
pub(super) fn gemma_4(scan: &mut Scan<'_>) -> Read {
    call(scan, "<|\"|>", "<tool_call|>")
}

fn call(scan: &mut Scan<'_>, mark: &str, close: &str) -> Read {
    scan.skip_whitespace();
    scan.want("call:")?;
    let rest = scan.rest();
    let end = rest.find('{');
    let name = rest[..end.unwrap_or(rest.len())].trim();
    // Prose that mentions the token has several words there.
    if name.contains(|c: char| c.is_whitespace() || c == '<') {
        return Err(super::scan::Stop::Not);
    }
    let Some(end) = end else { return scan.wait() };
    if name.is_empty() {
        return scan.no();
    }
    scan.at += end;
    scan.begins(name);
    let args = object(scan, mark, 0)?;
    let repairs = if scan.unmarked { vec![Repair::UnquotedValue] } else { Vec::new() };
    scan.call(name, args, repairs);
    scan.want_end(close)
}

fn object(scan: &mut Scan<'_>, mark: &str, depth: usize) -> Read<Args> {
    scan.at += 1;
    let mut members = Args::new();
    scan.items("}", gemma_call_unreadable, |scan| {
        let key = if scan.take(mark)? {
            let key = scan.until(mark)?;
            scan.skip_whitespace();
            key
        } else {
            let rest = scan.rest();
            let Some(end) = rest.find([':', '}', ',', '\n']) else { return scan.wait() };
            scan.at += end;
            rest[..end].trim()
        };
        if !scan.take(":")? {
            return scan.bad(gemma_call_unreadable());
        }
        scan.skip_whitespace();
        let value = value(scan, mark, depth)?;
        scan.insert(&mut members, key, value)
    })?;
    Ok(members)
}

fn value(scan: &mut Scan<'_>, mark: &str, depth: usize) -> Read<Value> {
    scan.limit_depth(depth)?;
    if scan.take(mark)? {
        return Ok(Value::from(scan.content(mark, &[])?.0));
    }
    match scan.peek() {
        None => scan.wait(),
        Some(b'{') => object(scan, mark, depth + 1).map(Value::Object),
        Some(b'[') => {
            scan.at += 1;
            let mut items = Vec::new();
            scan.items("]", gemma_call_unreadable, |scan| {
                items.push(value(scan, mark, depth + 1)?);
                Ok(())
            })?;
            Ok(Value::Array(items))
        }
        Some(_) => {
            let rest = scan.rest();
            let Some(end) = rest.find([',', '}', ']']) else { return scan.wait() };
            let word = rest[..end].trim();
            scan.at += end;
            let value = serde_json::from_str(word).ok();
            scan.unmarked |= value.as_ref().is_none_or(Value::is_string);
            // The model left out one or both marks of a text. A mark is never part of the text.
            Ok(value.unwrap_or_else(|| word.replace(mark, "").into()))
        }
    }
}

fn gemma_call_unreadable() -> Text {
    text!("expected a comma or a closing bracket between arguments; write key:value")
}
