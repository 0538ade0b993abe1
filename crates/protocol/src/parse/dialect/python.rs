//! Calls in Python syntax: `read_file(path="a.txt", start_line=3)`.
//!
//! Only literals are read: no names, operators or nested calls. Expressions are not evaluated.

use super::scan::{Read, Scan, Stop};
use crate::parse::call;
use crate::{Args, Repair, Text, text};
use serde_json::{Number, Value};

/// Reads calls in brackets: `[f(a=1), g()]`.
pub(super) fn list(scan: &mut Scan<'_>) -> Read {
    scan.want("[")?;
    loop {
        scan.skip_whitespace();
        // An empty list is no call.
        if !scan.drafts.is_empty() && scan.take("]")? {
            return Ok(());
        }
        one(scan)?;
        scan.skip_whitespace();
        match scan.peek() {
            Some(b',') => scan.at += 1,
            Some(b']') => {}
            Some(_) if scan.drafts.len() == 1 => return Err(Stop::Not),
            Some(_) => return scan.bad(python_call_unreadable()),
            None => return scan.wait(),
        }
    }
}

/// Reads calls up to the token `end`: a list, or one call per line, optionally in a fence.
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
        // A list is complete by itself, and any further call begins with a letter.
        if is_list || scan.peek().is_none_or(|byte| !byte.is_ascii_alphabetic()) {
            return scan.missing_end(last, true);
        }
        one(scan)?;
        last = scan.at;
    }
}

/// Reads a call of one of Llama's built-in tools: `brave_search.call(query="..")`. Code for an interpreter is not a
/// call.
pub(super) fn built_in(scan: &mut Scan<'_>) -> Read {
    scan.skip_whitespace();
    let written = scan.name()?;
    match written.strip_suffix(".call") {
        Some(name) if !name.is_empty() => arguments(scan, name),
        _ => scan.no(),
    }
}

/// Reads calls that are a list of dictionaries: `[{'name': 'read_file', 'arguments': {'path': 'a.txt'}}]`. Some servers
/// omit the token before it; then it counts only as the whole reply.
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

/// Reads one call: a name and its arguments in parentheses.
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

/// Reads the arguments in parentheses of a call of the tool `name`.
pub(super) fn arguments(scan: &mut Scan<'_>, name: &str) -> Read {
    scan.want("(")?;
    let (mut args, mut repairs) = (Args::new(), Vec::new());
    let mut positions = 0;
    scan.items(")", python_call_unreadable, |scan| {
        let (key, value) = argument(scan, name)?;
        let spec = call::spec(scan.catalog(), name);
        let key = match (key, spec.and_then(|spec| spec.params.get(positions))) {
            (Some(key), _) => key,
            (None, Some(param)) => {
                positions += 1;
                repairs.push(Repair::PositionalArgument);
                &param.name
            }
            (None, None) => return scan.bad(text!("an argument has no name; write name=value")),
        };
        scan.insert(&mut args, key, value)
    })?;
    repairs.dedup();
    scan.begins(name);
    scan.call(name, args, repairs);
    Ok(())
}

/// Reads `key=value` or a value alone. A string after a key shows that a call of the tool `name` has begun.
fn argument<'a>(scan: &mut Scan<'a>, name: &str) -> Read<(Option<&'a str>, Value)> {
    let rest = scan.rest();
    let length = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
    let after = rest[length..].trim_start_matches([' ', '\t']);
    // Whether this word is a key depends on the following character.
    if length > 0 && after.is_empty() && !scan.is_over() {
        return scan.wait();
    }
    if length > 0 && after.starts_with('=') {
        scan.at += rest.len() - after.len() + 1;
        scan.skip_whitespace();
        let key = &rest[..length];
        if is_string(scan) {
            scan.begins(name);
        }
        return Ok((Some(key), value(scan, 0)?));
    }
    Ok((None, value(scan, 0)?))
}

/// Reads a literal.
pub(super) fn value(scan: &mut Scan<'_>, depth: usize) -> Read<Value> {
    scan.limit_depth(depth)?;
    match scan.peek() {
        None => scan.wait(),
        Some(b'[') => list_of(scan, "]", depth),
        Some(b'(') => list_of(scan, ")", depth),
        Some(b'{') => dictionary(scan, depth),
        Some(_) if is_string(scan) => strings(scan),
        Some(_) => word(scan),
    }
}

/// Returns `true` if a string literal begins here.
fn is_string(scan: &Scan<'_>) -> bool {
    let bytes = scan.rest().as_bytes();
    let quote = |byte: Option<&u8>| matches!(byte, Some(b'"' | b'\''));
    quote(bytes.first())
        || matches!(bytes.first(), Some(b'r' | b'R' | b'b' | b'u' | b'f' | b'F')) && quote(bytes.get(1))
}

fn list_of(scan: &mut Scan<'_>, close: &str, depth: usize) -> Read<Value> {
    scan.at += 1;
    let mut items = Vec::new();
    scan.items(close, python_call_unreadable, |scan| {
        items.push(value(scan, depth + 1)?);
        Ok(())
    })?;
    Ok(Value::Array(items))
}

fn dictionary(scan: &mut Scan<'_>, depth: usize) -> Read<Value> {
    scan.at += 1;
    let mut members = Args::new();
    scan.items("}", python_call_unreadable, |scan| {
        let Value::String(key) = value(scan, depth + 1)? else {
            return scan.bad(python_call_unreadable());
        };
        scan.skip_whitespace();
        if !scan.take(":")? {
            return scan.bad(python_call_unreadable());
        }
        scan.skip_whitespace();
        let value = value(scan, depth + 1)?;
        scan.insert(&mut members, key, value)
    })?;
    Ok(Value::Object(members))
}

/// Reads a number, or `True`, `False`, `None` or their JSON forms.
fn word(scan: &mut Scan<'_>) -> Read<Value> {
    let rest = scan.rest();
    let end = rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.' | '+' | '-')));
    let Some(end) = end else { return scan.wait() };
    let value = match &rest[..end] {
        "True" | "true" => Value::Bool(true),
        "False" | "false" => Value::Bool(false),
        "None" | "null" => Value::Null,
        // Python allows underscores between digits.
        digits => match number(&digits.replace('_', "")) {
            Some(number) => Value::Number(number),
            None => return scan.bad(python_call_unreadable()),
        },
    };
    scan.at += end;
    Ok(value)
}

fn number(text: &str) -> Option<Number> {
    let digit = text.strip_prefix('-').unwrap_or(text).starts_with(|c: char| c.is_ascii_digit());
    // Neither `1e400` nor `inf` is a number in JSON.
    digit.then(|| serde_json::from_str(text).ok())?
}

/// Reads string literals, joined if they are adjacent.
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

/// Reads one string literal.
fn string(scan: &mut Scan<'_>, out: &mut String) -> Read {
    let raw = match scan.peek() {
        Some(b'r' | b'R') => true,
        Some(b'f' | b'F') => return scan.bad(text!("an f-string is not computed; write the text itself")),
        _ => false,
    };
    if !matches!(scan.peek(), Some(b'"' | b'\'')) {
        scan.at += 1;
    }
    let rest = scan.rest();
    let quote = &rest[..1];
    let triple = quote.repeat(3);
    if rest.len() < 3 && rest.bytes().all(|byte| byte == quote.as_bytes()[0]) {
        // `""` may be an empty string or the beginning of three quotes.
        return scan.wait();
    }
    let close = if rest.starts_with(&triple) { triple.as_str() } else { quote };
    let start = scan.at + close.len();
    let Some(end) = end_of_string(scan.text, start, close) else { return scan.wait() };
    let text = &scan.text[start..end];
    if raw {
        out.push_str(text);
    } else if let Err(at) = unescape(text, out) {
        return Err(Stop::Bad(crate::json::Problem::new(start + at, python_call_unreadable())));
    }
    scan.at = end + close.len();
    Ok(())
}

/// Returns the position of the closing quotes of a string literal. A quote after a backslash ends nothing, not even in
/// a raw string.
fn end_of_string(text: &str, from: usize, close: &str) -> Option<usize> {
    let mut at = from;
    loop {
        at += memchr::memchr2(close.as_bytes()[0], b'\\', text.as_bytes().get(at..)?)?;
        match text.as_bytes()[at] {
            b'\\' => at += 2,
            _ if text[at..].starts_with(close) => return Some(at),
            _ => at += 1,
        }
    }
}

/// Appends the value of a literal. Unknown escapes stay unchanged, as in Python; so do `\N{..}` and octal escapes,
/// except for `\0`. The error is the position of an escape that means no character. A line break in a plain string is
/// an error in Python, but its meaning is clear.
fn unescape(text: &str, out: &mut String) -> Result<(), usize> {
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let body = &rest[at + 1..];
        let letter = body.chars().next().unwrap_or('\\');
        let after = &body[letter.len_utf8()..];
        // An octal escape has one to three digits, without a letter before them.
        let octal = body.bytes().take(3).take_while(|byte| matches!(byte, b'0'..=b'7')).count();
        let (start, digits, radix) = match letter {
            'x' => (1, 2, 16),
            'u' => (1, 4, 16),
            'U' => (1, 8, 16),
            '0'..='7' => (0, octal, 8),
            _ => (0, 0, 0),
        };
        let plain = match letter {
            'n' => "\n",
            't' => "\t",
            'r' => "\r",
            'b' => "\u{8}",
            'f' => "\u{c}",
            'a' => "\u{7}",
            'v' => "\u{b}",
            '\\' => "\\",
            '\'' => "'",
            '"' => "\"",
            // A backslash at the end of a line joins it with the next line.
            '\n' => "",
            _ => &rest[at..rest.len() - after.len()],
        };
        let position = text.len() - rest.len() + at;
        rest = if digits > 0 {
            let number =
                body.get(start..start + digits).filter(|number| number.bytes().all(|byte| byte.is_ascii_hexdigit()));
            let code = number.and_then(|number| u32::from_str_radix(number, radix).ok());
            out.push(code.and_then(char::from_u32).ok_or(position)?);
            &body[start + digits..]
        } else if letter == 'N' {
            // This names a character, and there is no table of the names here.
            return Err(position);
        } else {
            out.push_str(plain);
            after
        };
    }
    out.push_str(rest);
    Ok(())
}

fn python_call_unreadable() -> Text {
    text!("this is not a call with literal arguments, such as name(key=\"text\", count=3)")
}
