//! MiniMax M3: every tag follows a special mark, and lists and objects are nested elements.
//!
//! ```text
//! ]<]minimax[>[<tool_call>
//! ]<]minimax[>[<invoke name="read_file">]<]minimax[>[<path>a.txt]<]minimax[>[</path>]<]minimax[>[</invoke>
//! ]<]minimax[>[</tool_call>
//! ```

use super::scan::{Read, Scan};
use super::tags;
use crate::{Args, Repair, text};
use serde_json::Value;

const MARK: &str = "]<]minimax[>[";
pub(super) const INVOKE: &str = "]<]minimax[>[<invoke name=";
pub(super) const INVOKE_END: &str = "]<]minimax[>[</invoke>";
pub(super) const END: &str = "]<]minimax[>[</tool_call>";

/// Reads one call after the beginning of its opening tag.
pub(super) fn invoke(scan: &mut Scan<'_>) -> Read {
    let name = tags::unquoted(scan.head(">")?);
    if name.is_empty() {
        return scan.no();
    }
    scan.begins(name);
    let mut args = Args::new();
    loop {
        let end = scan.at;
        scan.skip_whitespace();
        if scan.take(INVOKE_END)? {
            scan.call(name, args, Vec::new());
            return Ok(());
        }
        // The closing tag of the list ends a call whose own closing tag is missing.
        if !args.is_empty() && scan.sees(END)? {
            scan.at = end;
            scan.call(name, args, vec![Repair::MissingFence]);
            return Ok(());
        }
        if !scan.take("]<]minimax[>[<")? || scan.peek() == Some(b'/') {
            return scan.bad(text!("{tag} or the closing tag of the call is wanted here", tag = "]<]minimax[>[<"));
        }
        let key = scan.until(">")?;
        let value = element(scan, key, 0)?;
        scan.insert(&mut args, key, value)?;
    }
}

/// Reads the content of an element after its opening tag, and its closing tag: a text, a list of `item` elements, or an
/// object.
fn element(scan: &mut Scan<'_>, name: &str, depth: usize) -> Read<Value> {
    scan.limit_depth(depth)?;
    let text = scan.until(MARK)?;
    scan.sketch.raw = true;
    let mut members: Vec<(&str, Value)> = Vec::new();
    loop {
        if scan.take("</")? {
            if scan.until(">")? != name {
                return scan
                    .bad(text!("{tag} or the closing tag of the call is wanted here", tag = format!("</{name}>")));
            }
            break;
        }
        // An element has a text or members, not both.
        if !text.trim().is_empty() || !scan.take("<")? {
            return scan
                .bad(text!("{tag} or the closing tag of the call is wanted here", tag = format!("{MARK}</{name}>")));
        }
        let member = scan.until(">")?;
        members.push((member, element(scan, member, depth + 1)?));
        scan.skip_whitespace();
        scan.want(MARK)?;
    }
    if members.is_empty() {
        return Ok(Value::from(text));
    }
    if members.iter().all(|(name, _)| *name == "item") {
        return Ok(members.into_iter().map(|(_, value)| value).collect());
    }
    let mut object = Args::new();
    for (name, value) in members {
        scan.insert(&mut object, name, value)?;
    }
    Ok(Value::Object(object))
}
