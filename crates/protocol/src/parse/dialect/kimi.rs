//! Kimi K2 and K3.
//!
//! ```text
//! <|tool_calls_section_begin|><|tool_call_begin|>functions.read_file:0<|tool_call_argument_begin|>{"path": "a.txt"}
//! <|tool_call_end|><|tool_calls_section_end|>
//!
//! <|open|>response<|sep|>I look.<|close|>response<|sep|><|open|>tools<|sep|><|open|>call tool="read_file" index="1"<|sep|>
//! <|open|>argument key="path" type="string"<|sep|>a.txt<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>
//! ```

use super::objects;
use super::scan::{Read, Scan};
use crate::json;
use crate::{Args, messages};
use serde_json::Value;

pub(super) const TOOLS_END: &str = "<|close|>tools<|sep|>";
const CALL_END: &str = "<|close|>call<|sep|>";
const ARGUMENT: &str = "<|open|>argument ";
const JSON: &str = "<|open|>json ";

/// Reads the calls of K2 in their section.
pub(super) fn section(scan: &mut Scan<'_>) -> Read {
    scan.section("<|tool_call_begin|>", "<|tool_calls_section_end|>", |scan| {
        objects::named(scan, "<|tool_call_argument_begin|>", "<|tool_call_end|>")
    })
}

/// Reads the channel `tools` of K3.
pub(super) fn tools(scan: &mut Scan<'_>) -> Read {
    scan.section("<|open|>call ", TOOLS_END, tools_call)
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
