//! Apertus: swiss-ai/Apertus-8B-Instruct-2509, `chat_template.jinja`: an array of objects whose only key is the name.

use super::Row;
use super::scan::{Read, Scan, Stop};
use crate::json::Problem;
use crate::{Dialect, messages};
use serde_json::Value;

const END: &str = "<|tools_suffix|>";

pub(super) const ROWS: &[Row] =
    &[Row { dialect: Dialect::Apertus, opener: "<|tools_prefix|>", special: true, read: calls, closers: &[END] }];

fn calls(scan: &mut Scan<'_>) -> Read {
    scan.sketch.keyed = true;
    let start = scan.at;
    let unreadable = || Stop::Bad(Problem::new(start, messages::call_not_an_object()));
    let (values, repairs) = scan.json(&[END])?;
    for value in values {
        let Value::Array(items) = value else { return Err(unreadable()) };
        for item in items {
            let Value::Object(object) = item else { return Err(unreadable()) };
            let mut members = object.into_iter();
            match (members.next(), members.next()) {
                (Some((name, Value::Object(args))), None) => scan.call(&name, args, repairs.clone()),
                _ => return Err(unreadable()),
            }
        }
    }
    let end = scan.at;
    scan.skip_whitespace();
    if scan.take(END)? { Ok(()) } else { scan.missing_end(end, true) }
}
