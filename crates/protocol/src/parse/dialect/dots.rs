//! dots, as SGLang's parser `dots` documents its format: the tags of Claude in a tag of its own, or an object.

use super::Row;
use super::parameters::{self, Tags};
use super::scan::{Read, Scan};
use crate::Dialect;

const TAGS: Tags = Tags {
    call: "<invoke name=",
    call_end: "</invoke>",
    parameter: "<parameter name=",
    parameter_end: "</parameter>",
    closers: &["</dots_function_call>"],
};

pub(super) const ROWS: &[Row] = &[Row {
    dialect: Dialect::Dots,
    opener: "<dots_function_call>",
    special: true,
    read: calls,
    closers: TAGS.closers,
}];

fn calls(scan: &mut Scan<'_>) -> Read {
    scan.skip_whitespace();
    if scan.peek() == Some(b'{') { scan.json_calls(TAGS.closers) } else { parameters::calls(scan, &TAGS) }
}
