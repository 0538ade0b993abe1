//! K2 Horizon, as SGLang's parser `k2_horizon` documents its format: tags like those of GLM, the type of a value perhaps named
//! beside it, or JSON between the tags.
//!
//! ```text
//! <ifm|tool_calls>
//! <ifm|tool_call>read_file
//! <ifm|arg_key>path</ifm|arg_key>
//! <ifm|arg_value>a.txt</ifm|arg_value>
//! </ifm|tool_call>
//! </ifm|tool_calls>
//! ```

use super::Row;
use super::glm::{self, Marks};
use super::scan::{Read, Scan};
use crate::Dialect;

const CALL: &str = "<ifm|tool_call>";
const CALL_END: &str = "</ifm|tool_call>";
const END: &str = "</ifm|tool_calls>";

const MARKS: Marks<'_> = Marks {
    key: "<ifm|arg_key>",
    key_end: "</ifm|arg_key>",
    kind: Some(("<ifm|arg_type>", "</ifm|arg_type>")),
    value: "<ifm|arg_value>",
    value_end: "</ifm|arg_value>",
    end: CALL_END,
};

pub(super) const ROWS: &[Row] = &[
    Row { dialect: Dialect::K2Horizon, opener: "<ifm|tool_calls>", special: true, read: calls, closers: &[END] },
    Row { dialect: Dialect::K2Horizon, opener: CALL, special: true, read: call, closers: &[CALL_END] },
];

fn calls(scan: &mut Scan<'_>) -> Read {
    loop {
        scan.skip_whitespace();
        scan.want(CALL)?;
        call(scan)?;
        let end = scan.at;
        scan.skip_whitespace();
        if scan.take(END)? {
            return Ok(());
        }
        if !scan.sees(CALL)? {
            return scan.missing_end(end, true);
        }
    }
}

fn call(scan: &mut Scan<'_>) -> Read {
    scan.skip_whitespace();
    if scan.peek().is_some_and(|byte| matches!(byte, b'{' | b'[')) {
        return scan.json_calls(&[CALL_END]);
    }
    glm::named(scan, &MARKS)
}
