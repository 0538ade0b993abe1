//! Kimi K2: moonshotai/Kimi-K2-Instruct, `docs/tool_call_guidance.md`. Kimi K3: the template
//! `Kimi-K3.jinja` of llama.cpp.
//!
//! ```text
//! <|tool_calls_section_begin|><|tool_call_begin|>functions.read_file:0<|tool_call_argument_begin|>{"path": "a.txt"}
//! <|tool_call_end|><|tool_calls_section_end|>
//!
//! <|open|>response<|sep|>I look.<|close|>response<|sep|><|open|>tools<|sep|><|open|>call tool="read_file" index="1"<|sep|>
//! <|open|>argument key="path" type="string"<|sep|>a.txt<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>
//! ```

use super::scan::{Read, Scan};
use super::{Forgery, Row, framing};
use crate::json;
use crate::{Args, Dialect, messages};
use serde_json::Value;

const BEGIN: &str = "<|tool_call_begin|>";
const END: &str = "<|tool_calls_section_end|>";

pub(super) const ROWS: &[Row] = &[
    Row {
        dialect: Dialect::Kimi,
        opener: "<|tool_calls_section_begin|>",
        special: true,
        read: section,
        closers: &[END],
    },
    Row { dialect: Dialect::Kimi, opener: BEGIN, special: true, read: call, closers: &["<|tool_call_end|>"] },
    Row { dialect: Dialect::Kimi, opener: "<|open|>tools<|sep|>", special: true, read: tools, closers: &[TOOLS_END] },
    around_text("<|open|>response<|sep|>"),
    around_text("<|close|>response<|sep|>"),
    around_text("<|close|>message<|sep|>"),
    around_text("<|end_of_msg|>"),
];

const fn around_text(opener: &'static str) -> Row {
    Row { dialect: Dialect::Kimi, opener, special: true, read: framing, closers: &[] }
}

const TOOLS_END: &str = "<|close|>tools<|sep|>";
const CALL: &str = "<|open|>call ";
const CALL_END: &str = "<|close|>call<|sep|>";
const ARGUMENT: &str = "<|open|>argument ";
const JSON: &str = "<|open|>json ";

pub(super) const FORGERIES: &[Forgery] = &[
    Forgery { dialect: Dialect::Kimi, token: "<|im_user|>" },
    Forgery { dialect: Dialect::Kimi, token: "<|im_system|>" },
];

fn section(scan: &mut Scan<'_>) -> Read {
    loop {
        scan.skip_whitespace();
        scan.want(BEGIN)?;
        call(scan)?;
        let end = scan.at;
        scan.skip_whitespace();
        if scan.take(END)? {
            return Ok(());
        }
        if !scan.sees(BEGIN)? {
            return scan.missing_end(end, true);
        }
    }
}

/// One call, behind its opening token.
fn call(scan: &mut Scan<'_>) -> Read {
    scan.skip_whitespace();
    let name = scan.name()?;
    scan.skip_whitespace();
    scan.want("<|tool_call_argument_begin|>")?;
    let (args, repairs) = scan.args(name, &["<|tool_call_end|>"])?;
    scan.call(name, args, repairs);
    let end = scan.at;
    scan.skip_whitespace();
    if scan.take("<|tool_call_end|>")? { Ok(()) } else { scan.missing_end(end, true) }
}

/// The channel `tools` of K3.
fn tools(scan: &mut Scan<'_>) -> Read {
    loop {
        scan.skip_whitespace();
        scan.want(CALL)?;
        tools_call(scan)?;
        let end = scan.at;
        scan.skip_whitespace();
        if scan.take(TOOLS_END)? {
            return Ok(());
        }
        if !scan.sees(CALL)? {
            return scan.missing_end(end, true);
        }
    }
}

/// One call of K3, behind the beginning of its opening tag.
fn tools_call(scan: &mut Scan<'_>) -> Read {
    let head = scan.until("<|sep|>")?;
    let Some(name) = attribute(head, "tool").filter(|name| !name.is_empty()) else { return scan.no() };
    scan.begins(&name);
    let (mut args, mut repairs) = (Args::new(), Vec::new());
    loop {
        scan.skip_whitespace();
        if scan.take(CALL_END)? {
            break;
        }
        if scan.take(ARGUMENT)? {
            let head = scan.until("<|sep|>")?;
            let Some(key) = attribute(head, "key") else { return scan.bad(messages::parameter_wanted("key=")) };
            let is_text = attribute(head, "type").is_none_or(|kind| kind == "string");
            let (close, behind) = ("<|close|>argument<|sep|>", [ARGUMENT, CALL_END]);
            let (text, guess) = scan.content(close, &behind)?;
            repairs.extend(guess);
            let value = match (!is_text).then(|| json::strict(text.trim())) {
                Some(Ok(value)) => value,
                Some(Err(_)) | None => Value::from(text),
            };
            if args.contains_key(&key) {
                return scan.bad(messages::parameter_given_twice(key));
            }
            args.insert(key, value);
        } else if args.is_empty() && scan.take(JSON)? {
            scan.until("<|sep|>")?;
            let (read, needed) = scan.args(&name, &["<|close|>json<|sep|>"])?;
            args = read;
            repairs.extend(needed);
            scan.skip_whitespace();
            scan.want("<|close|>json<|sep|>")?;
        } else {
            return scan.bad(messages::parameter_wanted(ARGUMENT.trim_end()));
        }
    }
    scan.call(&name, args, repairs);
    Ok(())
}

/// The value of an attribute in the head of a tag, in which quotes and ampersands are escaped.
fn attribute(head: &str, name: &str) -> Option<String> {
    let mut rest = head.trim_start();
    loop {
        let (key, behind) = rest.split_once("=\"")?;
        let (value, behind) = behind.split_once('"')?;
        if key.trim() == name {
            return Some(value.replace("&quot;", "\"").replace("&amp;", "&"));
        }
        rest = behind;
    }
}
