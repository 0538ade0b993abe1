//! Calls whose arguments stand in tags of their own: `<function=name>` with `<parameter=key>`, or `<invoke name="..">` with
//! `<parameter name="..">`. The text of a parameter is raw: nothing is escaped in it.

use super::scan::{Read, Scan, Stop, without_own_lines};
use super::table::STEP_TAGS;
use crate::json;
use crate::parse::call;
use crate::{Args, Repair, messages};

/// How the tags of a dialect are written.
#[derive(Clone, Copy)]
pub(super) struct Tags {
    /// What the tag of a call begins with: `<function=`, `<invoke name=`.
    pub(super) call: &'static str,
    pub(super) call_end: &'static str,
    /// What the tag of a parameter begins with.
    pub(super) parameter: &'static str,
    pub(super) parameter_end: &'static str,
    /// What may stand behind the call: a parameter's closing tag before it is the end of the parameter.
    pub(super) closers: &'static [&'static str],
    /// A text with markup is in a CDATA section.
    pub(super) cdata: bool,
}

/// What a CDATA section begins with.
const SECTION: &str = "<![CDATA[";

/// One call, whose opening tag stands here.
pub(super) fn tagged(scan: &mut Scan<'_>, tags: &Tags) -> Read {
    scan.want(tags.call)?;
    call_named(scan, tags)
}

/// One call behind the beginning of its tag.
pub(super) fn call_named(scan: &mut Scan<'_>, tags: &Tags) -> Read {
    let head = scan.head()?;
    let name = unquoted(head);
    if name.is_empty() {
        return scan.no();
    }
    // Some templates make every tool a namespace of itself: `read_file.read_file`.
    let name = match name.split_once('.') {
        Some((space, inside)) if space == inside && !scan.offers(name) => inside,
        _ => name,
    };
    let behind: Vec<&str> = [tags.parameter, tags.call_end].into_iter().chain(tags.closers.iter().copied()).collect();
    let (mut args, mut repairs) = (Args::new(), Vec::new());
    loop {
        scan.skip_whitespace();
        if scan.take(tags.call_end)? {
            scan.begins(name);
            break;
        }
        if scan.take(tags.parameter)? {
            scan.begins(name);
            let head = scan.until(">")?;
            let key = unquoted(head);
            let (text, guess) = scan.content(tags.parameter_end, &behind)?;
            let json = if is_json(head) { json::strict(text.trim()).ok() } else { None };
            let inside = text.trim().strip_prefix(SECTION).and_then(|text| text.strip_suffix("]]>"));
            let text = inside.filter(|_| tags.cdata).unwrap_or_else(|| without_own_lines(text));
            let value = json.unwrap_or_else(|| text.into());
            repairs.extend(guess);
            if args.insert(key.to_owned(), value).is_some() {
                return scan.bad(messages::parameter_given_twice(key));
            }
            continue;
        }
        if args.is_empty() && scan.peek() == Some(b'{') {
            let (read, needed) = scan.args(name, &[tags.call_end])?;
            args = read;
            repairs.extend(needed);
            continue;
        }
        let end = scan.at;
        if scan.take_any(tags.closers)? {
            scan.at = end;
            scan.begins(name);
            repairs.push(Repair::MissingFence);
            break;
        }
        // Behind a tag that prose speaks of, which names no tool, anything may stand.
        let unknown = scan.catalog().is_some_and(|catalog| call::spec(Some(catalog), name).is_none());
        if unknown && args.is_empty() && !scan.rest().trim().is_empty() {
            return Err(Stop::Not);
        }
        return scan.bad(messages::parameter_wanted(tags.parameter));
    }
    scan.call(name, args, repairs);
    Ok(())
}

/// Reads one call without the outer tag, whose own tag has begun. The closing token of the outer tag may follow.
pub(super) fn alone(scan: &mut Scan<'_>, tags: &Tags) -> Read {
    let start = scan.at;
    scan.head()?;
    scan.skip_whitespace();
    let is_call = scan.peek() == Some(b'{') || scan.take_any(&[tags.parameter, tags.call_end])?;
    if !is_call {
        return scan.no();
    }
    scan.at = start;
    call_named(scan, tags)?;
    let end = scan.at;
    scan.skip_whitespace();
    if !scan.take_any(tags.closers)? {
        scan.at = end;
    }
    Ok(())
}

/// Calls one after another, up to one of the closing tokens of the dialect.
pub(super) fn calls(scan: &mut Scan<'_>, tags: &Tags) -> Read {
    let mut end = scan.at;
    loop {
        scan.skip_whitespace();
        match tagged(scan, tags) {
            Ok(()) => {}
            // The calls before it are good, unless a text of theirs was cut at its own tags: so they are guesses.
            Err(Stop::Bad(_) | Stop::Incomplete) if !scan.drafts.is_empty() => {
                scan.inner_tag = true;
                scan.at = end;
                return Ok(());
            }
            Err(stop) => return Err(stop),
        }
        end = scan.at;
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
pub(super) fn unquoted(head: &str) -> &str {
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

/// Reads the calls of Step 3, each in tokens of its own.
pub(super) fn step(scan: &mut Scan<'_>) -> Read {
    scan.section("<｜tool_call_begin｜>", "<｜tool_calls_end｜>", |scan| {
        scan.skip_whitespace();
        scan.want("function")?;
        scan.want("<｜tool_sep｜>")?;
        calls(scan, &STEP_TAGS)
    })
}
