//! Calls whose arguments are in tags: `<function=name>` with `<parameter=key>`, `<invoke name="..">` with `<parameter
//! name="..">`, or a name with `<arg_key>` and `<arg_value>`. The text of an argument is raw: nothing in it is escaped.

use super::scan::{Read, Scan, Stop, without_own_lines};
use crate::json;
use crate::parse::call;
use crate::{Args, Repair, text};

/// The tags of a dialect.
#[derive(Clone, Copy)]
pub(super) struct Tags<'a> {
    /// The text before the name of a call: `<function=`, `<invoke name=`. Empty if the name directly follows the
    /// opening token of the row.
    pub(super) call: &'a str,
    /// The end of the head of a call. Empty if the name is a word by itself.
    pub(super) head_end: &'a str,
    pub(super) call_end: &'a str,
    /// The text before the key of a parameter, and the text after it.
    pub(super) parameter: &'a str,
    pub(super) key_end: &'a str,
    /// The tags around the type of the value, if the dialect has them. Values of any type but `string` are JSON.
    pub(super) kind: Option<(&'a str, &'a str)>,
    /// The tag between key and value, if there is one.
    pub(super) value: &'a str,
    pub(super) parameter_end: &'a str,
    /// The tags around arguments that are one object. Without such tags, an object may replace the parameters.
    pub(super) object: Option<(&'a str, &'a str)>,
    /// The tokens that may follow the call: a parameter's closing tag before one of them ends the parameter.
    pub(super) closers: &'a [&'a str],
    pub(super) text: TextForm,
}

/// The form of an argument's text.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TextForm {
    /// The text is used unchanged.
    Raw,
    /// The line break after the opening tag and the one before the closing tag do not belong to the text: templates put
    /// a long text on separate lines.
    OwnLines,
    /// A text with markup is in a CDATA section; any other text has the form [`OwnLines`](TextForm::OwnLines).
    Cdata,
}

/// Reads consecutive calls up to one of the closing tokens of the dialect.
pub(super) fn calls(scan: &mut Scan<'_>, tags: &Tags<'_>) -> Read {
    let mut end = scan.at;
    loop {
        scan.skip_whitespace();
        match scan.want(tags.call).and_then(|()| call_named(scan, tags)) {
            Ok(()) => {}
            // The earlier calls are good unless one of their texts was cut at its own tags, so they are guesses.
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

/// Reads one call without the outer tag, after the beginning of its own tag. The closing token of the outer tag may
/// follow.
pub(super) fn read_single(scan: &mut Scan<'_>, tags: &Tags<'_>) -> Read {
    let start = scan.at;
    scan.head(tags.head_end)?;
    scan.skip_whitespace();
    // Without the outer tag, the tag of a function may be prose; a parameter, an object or the end of a call is not.
    let is_call = scan.peek() == Some(b'{') || scan.take_any(&[tags.parameter, tags.call_end])?;
    if !is_call {
        return scan.no();
    }
    scan.at = start;
    call_named(scan, tags)?;
    scan.take_after_whitespace(tags.closers)
}

/// Reads one call after the beginning of its tag.
pub(super) fn call_named(scan: &mut Scan<'_>, tags: &Tags<'_>) -> Read {
    let name = if tags.head_end.is_empty() {
        if scan.peek() == Some(b'\n') {
            scan.at += 1;
        }
        let name = scan.name()?;
        // Prose about the tags has a space there.
        if scan.peek() == Some(b' ') {
            return Err(Stop::Not);
        }
        name
    } else {
        unquoted(scan.head(tags.head_end)?)
    };
    if name.is_empty() {
        return scan.no();
    }
    // Some templates make every tool its own namespace: `read_file.read_file`.
    let name = match name.split_once('.') {
        Some((space, inside)) if space == inside && !scan.offers(name) => inside,
        _ => name,
    };
    arguments(scan, name, tags)
}

/// Reads the arguments of a call after its name, and the end of the call.
pub(super) fn arguments(scan: &mut Scan<'_>, name: &str, tags: &Tags<'_>) -> Read {
    let following: Vec<&str> =
        [tags.parameter, tags.call_end].into_iter().chain(tags.closers.iter().copied()).collect();
    let (mut args, mut repairs) = (Args::new(), Vec::new());
    loop {
        let end = scan.at;
        scan.skip_whitespace();
        if scan.take(tags.call_end)? {
            scan.begins(name);
            break;
        }
        if scan.take(tags.parameter)? {
            scan.begins(name);
            let head = scan.until(tags.key_end)?;
            let key = unquoted(head);
            let mut is_json = holds_json(head);
            if !tags.value.is_empty() {
                scan.skip_whitespace();
                if let Some((kind, kind_end)) = tags.kind
                    && scan.take(kind)?
                {
                    is_json = scan.until(kind_end)?.trim() != "string";
                    scan.skip_whitespace();
                }
                if !scan.take(tags.value)? {
                    return scan.bad(text!("{tag} or the closing tag of the call is wanted here", tag = tags.value));
                }
            }
            let (text, guess) = scan.content(tags.parameter_end, &following)?;
            repairs.extend(guess);
            // A value that is not the JSON that its tag declares stays text.
            let json = if is_json { json::strict(text.trim()).ok() } else { None };
            let value = json.unwrap_or_else(|| text_value(text, tags.text).into());
            scan.insert(&mut args, key, value)?;
            continue;
        }
        if args.is_empty() && takes_object(scan, tags)? {
            let close = tags.object.map_or(tags.call_end, |(_, close)| close);
            let (read, needed) = scan.args(name, &[close])?;
            args = read;
            repairs.extend(needed);
            if tags.object.is_some() {
                scan.skip_whitespace();
                scan.want(close)?;
            }
            continue;
        }
        let at = scan.at;
        // The outer tag ends a call whose own closing tag is missing. The caller consumes the outer tag.
        if scan.take_any(tags.closers)? {
            scan.at = at;
            scan.begins(name);
            repairs.push(Repair::MissingFence);
            break;
        }
        if tags.head_end.is_empty() {
            // Only its first key distinguishes such a call from prose.
            if args.is_empty() {
                return scan.no();
            }
            scan.call(name, args, repairs);
            return scan.missing_end(end, true);
        }
        // A tag in prose names no tool, and any text may follow it.
        let unknown = scan.catalog().is_some_and(|catalog| call::spec(Some(catalog), name).is_none());
        if unknown && args.is_empty() && !scan.rest().trim().is_empty() {
            return Err(Stop::Not);
        }
        return scan.bad(text!("{tag} or the closing tag of the call is wanted here", tag = tags.parameter.trim_end()));
    }
    scan.call(name, args, repairs);
    Ok(())
}

/// Returns `true` if the arguments are one object, which begins here.
fn takes_object(scan: &mut Scan<'_>, tags: &Tags<'_>) -> Read<bool> {
    match tags.object {
        Some((open, _)) if scan.take(open)? => scan.until(tags.key_end).map(|_| true),
        Some(_) => Ok(false),
        None => Ok(!tags.head_end.is_empty() && scan.peek() == Some(b'{')),
    }
}

/// Returns the value of the text between the tags.
fn text_value(text: &str, form: TextForm) -> &str {
    match form {
        TextForm::Raw => text,
        TextForm::OwnLines => without_own_lines(text),
        TextForm::Cdata => {
            let inside = text.trim().strip_prefix("<![CDATA[").and_then(|text| text.strip_suffix("]]>"));
            inside.unwrap_or_else(|| without_own_lines(text))
        }
    }
}

/// Returns the name in the head of a tag: `name`, `"name"`, `"name" string="true"`.
pub(super) fn unquoted(head: &str) -> &str {
    let head = head.trim();
    for quote in ['"', '\''] {
        if let Some(quoted) = head.strip_prefix(quote) {
            return quoted.split(quote).next().unwrap_or_default();
        }
    }
    head
}

/// Returns `true` if the tag declares its text as JSON: `string="false"`, `type="number"`.
fn holds_json(head: &str) -> bool {
    head.contains("string=\"false\"") || head.contains("type=\"") && !head.contains("type=\"string\"")
}

/// The maximum number of bytes in a suffix.
const MOST_SUFFIX: usize = 64;

/// Reads calls of Hunyuan whose tags all have a suffix chosen by the checkpoint: `<tool_calls:x>`.
pub(super) fn with_suffix(scan: &mut Scan<'_>) -> Read {
    let is_suffix = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let length = scan.rest().find(|c| !is_suffix(c)).unwrap_or(scan.rest().len());
    if length > MOST_SUFFIX {
        return scan.no();
    }
    let suffix = format!(":{}", &scan.rest()[..length]);
    scan.at += length;
    scan.want(">")?;
    hunyuan(scan, &suffix)
}

/// Reads calls of Hunyuan without a suffix.
pub(super) fn without_suffix(scan: &mut Scan<'_>) -> Read {
    hunyuan(scan, "")
}

fn hunyuan(scan: &mut Scan<'_>, suffix: &str) -> Read {
    let names = ["tool_call", "tool_sep", "/tool_call", "arg_key", "/arg_key", "arg_value", "/arg_value"];
    let [call, separator, call_end, parameter, key_end, value, parameter_end] =
        &names.map(|name| format!("<{name}{suffix}>"));
    let tags = Tags { call_end, parameter, key_end, value, parameter_end, ..KEYS };
    scan.section(call, &format!("</tool_calls{suffix}>"), |scan| {
        scan.skip_whitespace();
        let name = scan.name()?;
        scan.skip_whitespace();
        scan.take(separator)?;
        arguments(scan, name, &tags)
    })
}

/// The tags of GLM: the name, then keys and values in tags of their own.
pub(super) const KEYS: Tags<'_> = Tags {
    call: "",
    head_end: "",
    call_end: "</tool_call>",
    parameter: "<arg_key>",
    key_end: "</arg_key>",
    kind: None,
    value: "<arg_value>",
    parameter_end: "</arg_value>",
    object: None,
    closers: &[],
    text: TextForm::Raw,
};
