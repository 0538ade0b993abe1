//! The tags of Claude, in Anthropic's documentation of tool use before function calling, which many models were taught by.
//!
//! ```text
//! <function_calls>
//! <invoke name="read_file">
//! <parameter name="path">a.txt</parameter>
//! </invoke>
//! </function_calls>
//! ```

use super::parameters::{self, Tags};
use super::{Forgery, Row};
use crate::Dialect;

const TAGS: Tags = Tags {
    call: "<invoke name=",
    call_end: "</invoke>",
    parameter: "<parameter name=",
    parameter_end: "</parameter>",
    closers: &["</function_calls>"],
};

pub(super) const ROWS: &[Row] = &[
    Row {
        dialect: Dialect::Anthropic,
        opener: "<function_calls>",
        special: true,
        read: |scan| parameters::calls(scan, &TAGS),
        closers: &["</function_calls>"],
    },
    Row {
        dialect: Dialect::Anthropic,
        opener: "<invoke name=",
        special: false,
        read: |scan| parameters::alone(scan, &TAGS),
        closers: &["</invoke>"],
    },
];

pub(super) const FORGERIES: &[Forgery] = &[
    Forgery { dialect: Dialect::Anthropic, token: "<function_results>" },
    Forgery { dialect: Dialect::Anthropic, token: "<function_result>" },
];
