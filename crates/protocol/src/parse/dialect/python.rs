//! Calls as Python writes them: `read_file(path="a.txt", start_line=3)`.
//!
//! Only literals are read: no name, no operator, no call inside of a call. What Python would compute is not computed.

use super::scan::{Read, Scan, Stop};
use crate::parse::call;
use crate::{Args, Repair, messages};
use serde_json::{Map, Number, Value};

/// Levels of lists and dictionaries.
const MOST_DEPTH: usize = 64;

/// Calls in brackets, `[f(a=1), g()]`.
pub(super) fn list(scan: &mut Scan<'_>) -> Read {
    scan.want("[")?;
    loop {
        scan.skip_whitespace();
        if !scan.drafts.is_empty() && scan.take("]")? {
            return Ok(());
        }
        one(scan)?;
        scan.skip_whitespace();
        match scan.peek() {
            Some(b',') => scan.at += 1,
            Some(b']') => {}
            Some(_) if scan.drafts.len() == 1 => return Err(Stop::Not),
            Some(_) => return scan.bad(messages::python_call_unreadable()),
            None => return scan.wait(),
        }
    }
}

/// Reads calls up to the token `end`: a list, or one call a line, perhaps in a fence.
pub(super) fn calls(scan: &mut Scan<'_>, end: &str) -> Read {
    scan.skip_whitespace();
    let fenced = scan.take("```python")?;
    scan.skip_whitespace();
    let is_list = scan.peek() == Some(b'[');
    if is_list {
        list(scan)?;
    } else {
        one(scan)?;
    };
    let mut last = scan.at;
    loop {
        scan.skip_whitespace();
        if scan.take(end)? {
            return Ok(());
        }
        if fenced && scan.take("```")? {
            continue;
        }
        if is_list || scan.peek().is_none_or(|byte| !byte.is_ascii_alphabetic()) {
            return scan.missing_end(last, true);
        }
        one(scan)?;
        last = scan.at;
    }
}

/// Reads a call of one of Llama's built-in tools: `brave_search.call(query="..")`. Code for an interpreter is no call.
pub(super) fn built_in(scan: &mut Scan<'_>) -> Read {
    scan.skip_whitespace();
    let written = scan.name()?;
    match written.strip_suffix(".call") {
        Some(name) if !name.is_empty() => arguments(scan, name),
        _ => scan.no(),
    }
}

/// Reads calls that are a list of dictionaries: `[{'name': 'read_file', 'arguments': {'path': 'a.txt'}}]`. Some servers leave out
/// the token before it: then it counts only as the whole reply.
pub(super) fn dictionaries(scan: &mut Scan<'_>) -> Read {
    scan.skip_whitespace();
    let start = scan.at;
    match scan.peek() {
        None => return scan.wait(),
        Some(b'[') => {}
        Some(_) => return Err(Stop::Not),
    }
    let list = value(scan, 0)?;
    if list.as_array().is_none_or(|items| !items.iter().all(Value::is_object)) {
        return Err(Stop::Not);
    }
    scan.calls(start, vec![list], &[])
}

/// One call: a name and its arguments in parentheses.
pub(super) fn one(scan: &mut Scan<'_>) -> Read {
    let printed = scan.take("print(")?;
    let written = scan.name()?;
    let known = |name: &str| scan.catalog().is_some_and(|catalog| catalog.find(name).is_some());
    // `default_api.read_file` is the tool in the namespace that the model was taught.
    let name = match written.rsplit_once('.') {
        Some((_, last)) if !known(written) && !last.is_empty() => last,
        _ => written,
    };
    arguments(scan, name)?;
    if printed {
        scan.skip_whitespace();
        scan.want(")")?;
    }
    Ok(())
}

/// The arguments in parentheses of a call of the tool `name`.
pub(super) fn arguments(scan: &mut Scan<'_>, name: &str) -> Read {
    scan.want("(")?;
    let (mut args, mut repairs) = (Args::new(), Vec::new());
    let mut positions = 0;
    loop {
        scan.skip_whitespace();
        if scan.take(")")? {
            break;
        }
        let (key, value) = argument(scan, name)?;
        let key = match key {
            Some(key) => key.to_owned(),
            None => {
                let spec = call::spec(scan.catalog(), name);
                let Some(param) = spec.and_then(|spec| spec.params.get(positions)) else {
                    return scan.bad(messages::python_argument_without_name());
                };
                positions += 1;
                repairs.push(Repair::PositionalArgument);
                param.name.clone().into_owned()
            }
        };
        if args.contains_key(&key) {
            return scan.bad(messages::parameter_given_twice(key));
        }
        args.insert(key, value);
        scan.skip_whitespace();
        match scan.peek() {
            Some(b',') => scan.at += 1,
            Some(b')') => {}
            Some(_) => return scan.bad(messages::python_call_unreadable()),
            None => return scan.wait(),
        }
    }
    repairs.dedup();
    scan.begins(name);
    scan.call(name, args, repairs);
    Ok(())
}

/// `key=value`, or a value alone. With a text behind its first key, a call of the tool `name` has begun.
fn argument<'a>(scan: &mut Scan<'a>, name: &str) -> Read<(Option<&'a str>, Value)> {
    let rest = scan.rest();
    let length = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
    let behind = rest[length..].trim_start_matches([' ', '\t']);
    if length > 0 && behind.is_empty() && !scan.is_over() {
        return scan.wait();
    }
    if length > 0 && behind.starts_with('=') {
        scan.at += rest.len() - behind.len() + 1;
        scan.skip_whitespace();
        let key = &rest[..length];
        if is_string(scan) {
            scan.begins(name);
        }
        return Ok((Some(key), value(scan, 0)?));
    }
    Ok((None, value(scan, 0)?))
}

/// A literal.
pub(super) fn value(scan: &mut Scan<'_>, depth: usize) -> Read<Value> {
    if depth > MOST_DEPTH {
        return scan.bad(messages::nested_too_deep());
    }
    match scan.peek() {
        None => scan.wait(),
        Some(b'[') => items(scan, b']', depth),
        Some(b'(') => items(scan, b')', depth),
        Some(b'{') => dictionary(scan, depth),
        Some(_) if is_string(scan) => strings(scan),
        Some(_) => word(scan),
    }
}

/// Whether a string literal begins here.
fn is_string(scan: &Scan<'_>) -> bool {
    let bytes = scan.rest().as_bytes();
    let quote = |byte: Option<&u8>| matches!(byte, Some(b'"' | b'\''));
    quote(bytes.first())
        || matches!(bytes.first(), Some(b'r' | b'R' | b'b' | b'u' | b'f' | b'F')) && quote(bytes.get(1))
}

fn items(scan: &mut Scan<'_>, close: u8, depth: usize) -> Read<Value> {
    scan.at += 1;
    let mut items = Vec::new();
    loop {
        scan.skip_whitespace();
        if scan.peek() == Some(close) {
            scan.at += 1;
            return Ok(Value::Array(items));
        }
        items.push(value(scan, depth + 1)?);
        comma_or(scan, close)?;
    }
}

fn dictionary(scan: &mut Scan<'_>, depth: usize) -> Read<Value> {
    scan.at += 1;
    let mut members = Map::new();
    loop {
        scan.skip_whitespace();
        if scan.peek() == Some(b'}') {
            scan.at += 1;
            return Ok(Value::Object(members));
        }
        let Value::String(key) = value(scan, depth + 1)? else {
            return scan.bad(messages::python_call_unreadable());
        };
        scan.skip_whitespace();
        if !scan.take(":")? {
            return scan.bad(messages::python_call_unreadable());
        }
        scan.skip_whitespace();
        let value = value(scan, depth + 1)?;
        if members.insert(key.clone(), value).is_some() {
            return scan.bad(messages::parameter_given_twice(key));
        }
        comma_or(scan, b'}')?;
    }
}

fn comma_or(scan: &mut Scan<'_>, close: u8) -> Read {
    scan.skip_whitespace();
    match scan.peek() {
        Some(b',') => scan.at += 1,
        Some(byte) if byte == close => {}
        Some(_) => return scan.bad(messages::python_call_unreadable()),
        None => return scan.wait(),
    }
    Ok(())
}

/// A number, or `True`, `False`, `None` and what JSON has for them.
fn word(scan: &mut Scan<'_>) -> Read<Value> {
    let rest = scan.rest();
    let end = rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.' | '+' | '-')));
    let Some(end) = end else { return scan.wait() };
    let value = match &rest[..end] {
        "True" | "true" => Value::Bool(true),
        "False" | "false" => Value::Bool(false),
        "None" | "null" => Value::Null,
        digits => match number(&digits.replace('_', "")) {
            Some(number) => Value::Number(number),
            None => return scan.bad(messages::python_call_unreadable()),
        },
    };
    scan.at += end;
    Ok(value)
}

fn number(text: &str) -> Option<Number> {
    let digit = text.strip_prefix('-').unwrap_or(text).starts_with(|c: char| c.is_ascii_digit());
    // `1e400` is no number, and neither is `inf`.
    digit.then(|| serde_json::from_str(text).ok())?
}

/// String literals, joined if they follow one another.
fn strings(scan: &mut Scan<'_>) -> Read<Value> {
    let mut text = String::new();
    loop {
        string(scan, &mut text)?;
        let end = scan.at;
        scan.skip_whitespace();
        if !matches!(scan.peek(), Some(b'"' | b'\'')) {
            scan.at = end;
            return Ok(Value::String(text));
        }
    }
}

/// One string literal.
fn string(scan: &mut Scan<'_>, out: &mut String) -> Read {
    let raw = match scan.peek() {
        Some(b'r' | b'R') => true,
        Some(b'f' | b'F') => return scan.bad(messages::python_f_string()),
        _ => false,
    };
    if !matches!(scan.peek(), Some(b'"' | b'\'')) {
        scan.at += 1;
    }
    let rest = scan.rest();
    let quote = &rest[..1];
    let triple = quote.repeat(3);
    if rest.len() < 3 && rest.bytes().all(|byte| byte == quote.as_bytes()[0]) {
        // `""` may be an empty string, or the beginning of three quotes.
        return scan.wait();
    }
    let close = if rest.starts_with(&triple) { triple.as_str() } else { quote };
    let mut at = scan.at + close.len();
    let stop = loop {
        match step(scan.text, at, close, raw, out) {
            EscapeStep::On(next) => at = next,
            stop => break stop,
        }
    };
    match stop {
        EscapeStep::Closed => {
            scan.at = at + close.len();
            Ok(())
        }
        EscapeStep::Bad => Err(Stop::Bad(crate::json::Problem::new(at, messages::python_call_unreadable()))),
        EscapeStep::On(_) | EscapeStep::Wait => scan.wait(),
    }
}

/// What stands at a place in a string literal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EscapeStep {
    /// A part of its text, up to this byte.
    On(usize),
    /// The closing quotes.
    Closed,
    /// What depends on more of the text, or the end of what there is.
    Wait,
    /// An escape that means no character.
    Bad,
}

/// Takes the next part of a string literal, which `close` ends, and adds what it means to `out`.
fn step(text: &str, at: usize, close: &str, raw: bool, out: &mut String) -> EscapeStep {
    let bytes = text.as_bytes();
    let found = memchr::memchr2(close.as_bytes()[0], b'\\', &bytes[at..]).map_or(bytes.len(), |found| at + found);
    if found > at {
        // A line break in a plain string is an error in Python, and what every model means by it is clear.
        out.push_str(&text[at..found]);
        return EscapeStep::On(found);
    }
    match bytes.get(at) {
        None => EscapeStep::Wait,
        Some(b'\\') if raw => {
            // In a raw string the backslash stays, and a quote behind it ends nothing.
            let Some(next) = text[at + 1..].chars().next() else { return EscapeStep::Wait };
            out.push('\\');
            out.push(next);
            EscapeStep::On(at + 1 + next.len_utf8())
        }
        Some(b'\\') => escape(text, at, out),
        Some(_) if text[at..].starts_with(close) => EscapeStep::Closed,
        Some(_) if bytes.len() - at < close.len() => EscapeStep::Wait,
        Some(_) => {
            out.push_str(&close[..1]);
            EscapeStep::On(at + 1)
        }
    }
}

/// An escape, whose backslash stands at `at`. One that Python does not know stays as it is.
fn escape(text: &str, at: usize, out: &mut String) -> EscapeStep {
    let Some(letter) = text[at + 1..].chars().next() else { return EscapeStep::Wait };
    let digits = match letter {
        'x' => 2,
        'u' => 4,
        'U' => 8,
        _ => 0,
    };
    if digits > 0 {
        if text.len() < at + 2 + digits {
            return EscapeStep::Wait;
        }
        let hex = text.get(at + 2..at + 2 + digits);
        let Some(c) = hex.and_then(|hex| u32::from_str_radix(hex, 16).ok()).and_then(char::from_u32) else {
            return EscapeStep::Bad;
        };
        out.push(c);
        return EscapeStep::On(at + 2 + digits);
    }
    match letter {
        'n' => out.push('\n'),
        't' => out.push('\t'),
        'r' => out.push('\r'),
        'b' => out.push('\u{8}'),
        'f' => out.push('\u{c}'),
        'a' => out.push('\u{7}'),
        'v' => out.push('\u{b}'),
        '0' => out.push('\0'),
        '\\' | '\'' | '"' => out.push(letter),
        '\n' => {}
        other => {
            out.push('\\');
            out.push(other);
        }
    }
    EscapeStep::On(at + 1 + letter.len_utf8())
}
