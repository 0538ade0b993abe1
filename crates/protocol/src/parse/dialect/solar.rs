//! Solar Open 2, as vLLM's parser `solar_open2` documents its format.
//!
//! ```text
//! <|tool_call:start|>read_file
//! <|tool_arg:start|>path<|tool_arg:value|>a.txt<|tool_arg:end|>
//! <|tool_call:end|>
//! ```

use super::Row;
use super::glm::{self, Marks};
use crate::Dialect;

const MARKS: Marks<'_> = Marks {
    key: "<|tool_arg:start|>",
    key_end: "<|tool_arg:value|>",
    kind: None,
    value: "",
    value_end: "<|tool_arg:end|>",
    end: "<|tool_call:end|>",
};

pub(super) const ROWS: &[Row] = &[Row {
    dialect: Dialect::Solar,
    opener: "<|tool_call:start|>",
    special: true,
    read: |scan| glm::named(scan, &MARKS),
    closers: &["<|tool_call:end|>"],
}];
