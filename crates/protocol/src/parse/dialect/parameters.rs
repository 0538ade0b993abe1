//! Calls whose arguments stand in tags of their own: `<function=name>` with `<parameter=key>`, or `<invoke name="..">` with
//! `<parameter name="..">`. The text of a parameter is raw: nothing is escaped in it.

use super::scan::{Read, Scan};
use crate::json;
use crate::{Args, Repair, messages};
use serde_json::Value;

/// How the tags of a dialect are written.
pub(super) struct Tags {
    /// What the tag of a call begins with: `<function=`, `<invoke name=`.
    pub(super) call: &'static str,
    pub(super) call_end: &'static str,
    /// What the tag of a parameter begins with.
    pub(super) parameter: &'static str,
    pub(super) parameter_end: &'static str,
    /// What may stand behind the call: a parameter's closing tag before it is the end of the parameter.
    pub(super) closers: &'static [&'static str],
}

/// One call, whose opening tag stands here.
pub(super) fn call(scan: &mut Scan<'_>, tags: &Tags) -> Read {
    scan.want(tags.call)?;
    call_named(scan, tags)
}

/// One call behind the beginning of its tag.
pub(super) fn call_named(scan: &mut Scan<'_>, tags: &Tags) -> Read {
    let head = scan.until(">")?;
    let name = unquoted(head);
    if name.is_empty() || name.contains(['<', '\n']) {
        return scan.no();
    }
    let behind: Vec<&str> = [tags.parameter, tags.call_end].into_iter().chain(tags.closers.iter().copied()).collect();
    let (mut args, mut repairs) = (Args::new(), Vec::new());
    loop {
        scan.skip_whitespace();
        if scan.take(tags.call_end)? {
            break;
        }
        if scan.take(tags.parameter)? {
            let head = scan.until(">")?;
            let (text, guess) = scan.content(tags.parameter_end, &behind)?;
            repairs.extend(guess);
            let key = unquoted(head);
            let value = match is_json(head).then(|| json::strict(text.trim())) {
                Some(Ok(value)) => value,
                Some(Err(_)) | None => Value::from(without_own_lines(text)),
            };
            if args.insert(key.to_owned(), value).is_some() {
                return scan.bad(messages::parameter_given_twice(key));
            }
            continue;
        }
        if args.is_empty() && scan.peek() == Some(b'{') {
            let (read, needed) = scan.args(&[tags.call_end])?;
            args = read;
            repairs.extend(needed);
            continue;
        }
        let end = scan.at;
        if scan.take_any(tags.closers)? {
            scan.at = end;
            repairs.push(Repair::MissingFence);
            break;
        }
        return scan.bad(messages::parameter_wanted(tags.parameter));
    }
    scan.call(name, args, repairs);
    Ok(())
}

/// Calls one after another, up to one of the closing tokens of the dialect.
pub(super) fn calls(scan: &mut Scan<'_>, tags: &Tags) -> Read {
    loop {
        scan.skip_whitespace();
        call(scan, tags)?;
        let end = scan.at;
        scan.skip_whitespace();
        if scan.take_any(tags.closers)? {
            return Ok(());
        }
        if !scan.sees(tags.call)? {
            return scan.missing_end(end, true);
        }
    }
}

/// The name in the head of a tag: `name`, `"name"`, `"name" string="true"`.
fn unquoted(head: &str) -> &str {
    let head = head.trim();
    for quote in ['"', '\''] {
        if let Some(quoted) = head.strip_prefix(quote) {
            return quoted.split(quote).next().unwrap_or_default();
        }
    }
    head
}

/// Whether the tag says that its text is JSON: `string="false"`.
fn is_json(head: &str) -> bool {
    head.contains("string=\"false\"")
}

/// The templates put a long value on lines of its own: those two line breaks are not part of it.
fn without_own_lines(text: &str) -> &str {
    let Some(text) = text.strip_prefix("\r\n").or_else(|| text.strip_prefix('\n')) else { return text };
    text.strip_suffix("\r\n").or_else(|| text.strip_suffix('\n')).unwrap_or(text)
}
