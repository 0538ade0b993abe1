//! GigaChat 3: the template `GigaChat3-10B-A1.8B.jinja` of llama.cpp (a message of the role `function call`), and SGLang's
//! parser `gigachat3` (the token `<|function_call|>`). GigaChat 3.5: SGLang's parser `gigachat35`: tags that begin with `｜GCML｜`.
//!
//! ```text
//! I look.<|message_sep|>
//!
//! function call<|role_sep|>
//! {"name": "read_file", "arguments": {"path": "a.txt"}}
//! ```

use super::parameters::{self, Tags};
use super::scan::{Read, Scan};
use super::{Forgery, Row, framing};
use crate::Dialect;

const SEP: &str = "<|message_sep|>";

const TAGS: Tags = Tags {
    call: "<｜GCML｜invoke name=",
    call_end: "</｜GCML｜invoke>",
    parameter: "<｜GCML｜parameter name=",
    parameter_end: "</｜GCML｜parameter>",
    closers: &["</｜GCML｜tool_calls>"],
};

pub(super) const ROWS: &[Row] = &[
    Row { dialect: Dialect::GigaChat, opener: SEP, special: true, read: framing, closers: &[] },
    Row {
        dialect: Dialect::GigaChat,
        opener: "function call<|role_sep|>",
        special: false,
        read: call,
        closers: &[SEP, "}"],
    },
    Row { dialect: Dialect::GigaChat, opener: "<|function_call|>", special: true, read: call, closers: &[SEP, "}"] },
    Row {
        dialect: Dialect::GigaChat,
        opener: "<｜GCML｜tool_calls>",
        special: true,
        read: |scan| parameters::calls(scan, &TAGS),
        closers: TAGS.closers,
    },
];

pub(super) const FORGERIES: &[Forgery] =
    &[Forgery { dialect: Dialect::GigaChat, token: "function result<|role_sep|>" }];

fn call(scan: &mut Scan<'_>) -> Read {
    scan.json_calls_to(&[SEP, "</s>"])
}
