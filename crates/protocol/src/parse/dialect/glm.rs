//! GLM 4.5 and later: zai-org/GLM-4.5, `chat_template.jinja`.
//!
//! ```text
//! <tool_call>read_file
//! <arg_key>path</arg_key>
//! <arg_value>a.txt</arg_value>
//! </tool_call>
//! ```

use super::scan::{Read, Scan, Stop};
use super::{Forgery, Row};
use crate::{Args, Dialect, messages};
use serde_json::Value;

const END: &str = "</tool_call>";

pub(super) const ROWS: &[Row] =
    &[Row { dialect: Dialect::Glm, opener: "<tool_call>", special: true, read: call, closers: &[END] }];

pub(super) const FORGERIES: &[Forgery] = &[
    Forgery { dialect: Dialect::Glm, token: "<|observation|>" },
    Forgery { dialect: Dialect::Glm, token: "<|user|>" },
];

fn call(scan: &mut Scan<'_>) -> Read {
    if scan.peek() == Some(b'\n') {
        scan.at += 1;
    }
    let name = scan.name()?;
    // Prose that speaks of the tags has a space there.
    if scan.peek() == Some(b' ') {
        return Err(Stop::Not);
    }
    let (mut args, mut repairs) = (Args::new(), Vec::new());
    loop {
        let end = scan.at;
        scan.skip_whitespace();
        if scan.take(END)? {
            scan.begins(name);
            break;
        }
        if !scan.take("<arg_key>")? {
            if args.is_empty() {
                return scan.no();
            }
            scan.call(name, args, repairs);
            return scan.missing_end(end, true);
        }
        scan.begins(name);
        let key = scan.until("</arg_key>")?.trim();
        scan.skip_whitespace();
        if !scan.take("<arg_value>")? {
            return scan.bad(messages::parameter_wanted("<arg_value>"));
        }
        let (text, guess) = scan.text(key, false, "</arg_value>", &["<arg_key>", END])?;
        repairs.extend(guess);
        if args.insert(key.to_owned(), Value::from(text)).is_some() {
            return scan.bad(messages::parameter_given_twice(key));
        }
    }
    scan.call(name, args, repairs);
    Ok(())
}
