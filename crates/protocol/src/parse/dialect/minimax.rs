//! MiniMax M2: MiniMaxAI/MiniMax-M2, `chat_template.jinja` and its tool calling guide.

use super::Row;
use super::parameters::{self, Tags};
use crate::Dialect;

const TAGS: Tags = Tags {
    call: "<invoke name=",
    call_end: "</invoke>",
    parameter: "<parameter name=",
    parameter_end: "</parameter>",
    closers: &["</minimax:tool_call>"],
};

pub(super) const ROWS: &[Row] = &[Row {
    dialect: Dialect::MiniMax,
    opener: "<minimax:tool_call>",
    special: true,
    read: |scan| parameters::calls(scan, &TAGS),
    closers: &["</minimax:tool_call>"],
}];
