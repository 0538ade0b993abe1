//! FunctionGemma and Gemma 4. Keys are without quotes, and texts between tokens of their own:
//! `<start_function_call>call:read_file{path:<escape>a.txt<escape>}<end_function_call>`.

use super::scan::{Read, Scan};
use crate::{Args, Repair, messages};
use serde_json::{Map, Value};

/// Levels of lists and objects.
const MOST_DEPTH: usize = 64;

/// Reads a call of FunctionGemma.
pub(super) fn function_gemma(scan: &mut Scan<'_>) -> Read {
    call(scan, "<escape>", "<end_function_call>")
}

/// Reads a call of Gemma 4.
pub(super) fn gemma_4(scan: &mut Scan<'_>) -> Read {
    call(scan, "<|\"|>", "<tool_call|>")
}

fn call(scan: &mut Scan<'_>, mark: &'static str, close: &str) -> Read {
    scan.skip_whitespace();
    scan.want("call:")?;
    let rest = scan.rest();
    let end = rest.find('{');
    let name = rest[..end.unwrap_or(rest.len())].trim();
    // Prose that speaks of the token has several words there.
    if name.contains(|c: char| c.is_whitespace() || c == '<') {
        return Err(super::scan::Stop::Not);
    }
    let Some(end) = end else { return scan.wait() };
    if name.is_empty() {
        return scan.no();
    }
    scan.at += end;
    scan.begins(name);
    let args: Args = object(scan, mark, 0)?;
    let repairs = if scan.unmarked { vec![Repair::UnquotedValue] } else { Vec::new() };
    scan.call(name, args, repairs);
    scan.want_end(close)
}

fn object(scan: &mut Scan<'_>, mark: &'static str, depth: usize) -> Read<Map<String, Value>> {
    scan.at += 1;
    let mut members = Map::new();
    loop {
        scan.skip_whitespace();
        if scan.take("}")? {
            return Ok(members);
        }
        let key = if scan.take(mark)? {
            let key = scan.until(mark)?;
            scan.skip_whitespace();
            scan.want_colon()?;
            key
        } else {
            let rest = scan.rest();
            let Some(end) = rest.find([':', '}', ',', '\n']) else { return scan.wait() };
            scan.at += end;
            scan.want_colon()?;
            rest[..end].trim()
        };
        scan.skip_whitespace();
        let value = value(scan, mark, depth)?;
        if members.insert(key.to_owned(), value).is_some() {
            return scan.bad(messages::parameter_given_twice(key));
        }
        scan.skip_whitespace();
        if !scan.take(",")? && scan.peek() != Some(b'}') {
            return scan.bad(messages::gemma_call_unreadable());
        }
    }
}

fn value(scan: &mut Scan<'_>, mark: &'static str, depth: usize) -> Read<Value> {
    if depth > MOST_DEPTH {
        return scan.bad(messages::nested_too_deep());
    }
    if scan.take(mark)? {
        return Ok(Value::from(scan.content(mark, &[])?.0));
    }
    match scan.peek() {
        None => scan.wait(),
        Some(b'{') => object(scan, mark, depth + 1).map(Value::Object),
        Some(b'[') => {
            scan.at += 1;
            let mut items = Vec::new();
            loop {
                scan.skip_whitespace();
                if scan.take("]")? {
                    return Ok(Value::Array(items));
                }
                items.push(value(scan, mark, depth + 1)?);
                scan.skip_whitespace();
                if !scan.take(",")? && scan.peek() != Some(b']') {
                    return scan.bad(messages::gemma_call_unreadable());
                }
            }
        }
        Some(_) => {
            let rest = scan.rest();
            let Some(end) = rest.find([',', '}', ']']) else { return scan.wait() };
            let word = rest[..end].trim();
            scan.at += end;
            match serde_json::from_str(word) {
                Ok(Value::String(text)) => {
                    scan.unmarked = true;
                    Ok(text.into())
                }
                Ok(value) => Ok(value),
                // The model left out one mark of a text, or both. A mark is never text.
                Err(_) => {
                    scan.unmarked = true;
                    Ok(word.replace(mark, "").into())
                }
            }
        }
    }
}

impl Scan<'_> {
    fn want_colon(&mut self) -> Read {
        if self.take(":")? { Ok(()) } else { self.bad(messages::gemma_call_unreadable()) }
    }
}
