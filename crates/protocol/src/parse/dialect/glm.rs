//! GLM 4.5 and later: zai-org/GLM-4.5 and GLM-4.7, `chat_template.jinja`; Ling 3, Laguna and Spark 2.5
//! use the same tags (the parsers `ling3`, `poolside_v1` and `spark25` of SGLang).
//!
//! ```text
//! <tool_call>read_file
//! <arg_key>path</arg_key>
//! <arg_value>a.txt</arg_value>
//! </tool_call>
//! ```

use super::scan::{Read, Scan, Stop};
use super::{Forgery, Row};
use crate::json;
use crate::{Args, Dialect, messages};
use serde_json::Value;

/// How the tags of a call are written.
pub(super) struct Marks<'a> {
    pub(super) key: &'a str,
    pub(super) key_end: &'a str,
    /// The type of the value, where the dialect names it: any but `string` is JSON.
    pub(super) kind: Option<(&'a str, &'a str)>,
    /// Empty where the value stands directly behind the key.
    pub(super) value: &'a str,
    pub(super) value_end: &'a str,
    /// The end of the call.
    pub(super) end: &'a str,
}

const MARKS: Marks<'_> = Marks {
    key: "<arg_key>",
    key_end: "</arg_key>",
    kind: None,
    value: "<arg_value>",
    value_end: "</arg_value>",
    end: "</tool_call>",
};

pub(super) const ROWS: &[Row] =
    &[Row { dialect: Dialect::Glm, opener: "<tool_call>", special: true, read: call, closers: &["</tool_call>"] }];

pub(super) const FORGERIES: &[Forgery] = &[
    Forgery { dialect: Dialect::Glm, token: "<|observation|>" },
    Forgery { dialect: Dialect::Glm, token: "<|user|>" },
];

fn call(scan: &mut Scan<'_>) -> Read {
    if scan.peek() == Some(b'\n') {
        scan.at += 1;
    }
    named(scan, &MARKS)
}

/// A call: the name, then keys and values in tags.
pub(super) fn named(scan: &mut Scan<'_>, marks: &Marks<'_>) -> Read {
    let name = scan.name()?;
    // Prose that speaks of the tags has a space there.
    if scan.peek() == Some(b' ') {
        return Err(Stop::Not);
    }
    arguments(scan, name, marks)
}

/// The arguments of a call behind its name, and the end of the call.
pub(super) fn arguments(scan: &mut Scan<'_>, name: &str, marks: &Marks<'_>) -> Read {
    let (mut args, mut repairs) = (Args::new(), Vec::new());
    loop {
        let end = scan.at;
        scan.skip_whitespace();
        if scan.take(marks.end)? {
            scan.begins(name);
            break;
        }
        if !scan.take(marks.key)? {
            if args.is_empty() {
                return scan.no();
            }
            scan.call(name, args, repairs);
            return scan.missing_end(end, true);
        }
        scan.begins(name);
        let key = scan.until(marks.key_end)?.trim();
        if !marks.value.is_empty() {
            scan.skip_whitespace();
        }
        let mut is_text = true;
        if let Some((kind, kind_end)) = marks.kind
            && scan.take(kind)?
        {
            is_text = scan.until(kind_end)?.trim() == "string";
            scan.skip_whitespace();
        }
        if !scan.take(marks.value)? {
            return scan.bad(messages::parameter_wanted(marks.value));
        }
        let behind = [marks.key, marks.end];
        let (text, guess) = scan.content(marks.value_end, &behind)?;
        repairs.extend(guess);
        let value = match (!is_text).then(|| json::strict(text.trim())) {
            Some(Ok(value)) => value,
            Some(Err(_)) | None => Value::from(text),
        };
        if args.insert(key.to_owned(), value).is_some() {
            return scan.bad(messages::parameter_given_twice(key));
        }
    }
    scan.call(name, args, repairs);
    Ok(())
}
