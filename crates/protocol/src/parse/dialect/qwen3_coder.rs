//! Qwen3-Coder: Qwen/Qwen3-Coder-30B-A3B-Instruct, `chat_template.jinja`.
//!
//! ```text
//! <tool_call>
//! <function=read_file>
//! <parameter=path>
//! a.txt
//! </parameter>
//! </function>
//! </tool_call>
//! ```
//! Smaller models leave the outer tag out.

use super::Row;
use super::parameters::{self, Tags};
use super::scan::{Read, Scan};
use crate::Dialect;

const TAGS: Tags = Tags {
    call: "<function=",
    call_end: "</function>",
    parameter: "<parameter=",
    parameter_end: "</parameter>",
    closers: &["</tool_call>"],
};

pub(super) const ROWS: &[Row] = &[
    Row {
        dialect: Dialect::Qwen3Coder,
        opener: "<tool_call>",
        special: true,
        read: |scan| parameters::calls(scan, &TAGS),
        closers: &["</tool_call>"],
    },
    Row { dialect: Dialect::Qwen3Coder, opener: "<function=", special: false, read: alone, closers: &["</function>"] },
];

/// A call without the outer tag. With arguments in JSON it is Llama's.
fn alone(scan: &mut Scan<'_>) -> Read {
    let start = scan.at;
    scan.head()?;
    scan.skip_whitespace();
    let found = scan.take_any(&[TAGS.parameter, TAGS.call_end])?;
    if !found {
        return scan.no();
    }
    scan.at = start;
    parameters::alone(scan, &TAGS)
}
