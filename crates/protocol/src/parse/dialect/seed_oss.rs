//! Seed-OSS: ByteDance-Seed/Seed-OSS-36B-Instruct, `chat_template.jinja`: the tags of Qwen3-Coder in a tag of its own.

use super::Row;
use super::parameters::{self, Tags};
use crate::Dialect;

const TAGS: Tags = Tags {
    call: "<function=",
    call_end: "</function>",
    parameter: "<parameter=",
    parameter_end: "</parameter>",
    closers: &["</seed:tool_call>"],
};

pub(super) const ROWS: &[Row] = &[Row {
    dialect: Dialect::SeedOss,
    opener: "<seed:tool_call>",
    special: true,
    read: |scan| parameters::calls(scan, &TAGS),
    closers: &["</seed:tool_call>"],
}];
