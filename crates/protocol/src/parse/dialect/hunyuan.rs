//! Hunyuan: tencent/Hunyuan-A13B-Instruct (an array of calls); the same tokens are used by ai21labs/AI21-Jamba-1.5-Mini,
//! ServiceNow-AI/Apriel-1.5-15b-Thinker and MiniMaxAI/MiniMax-M1. Hunyuan 3 and 4, as the parsers `hy_v3` of vLLM and `hy_v4`
//! of the crate `tool-parser` document them: tags like those of GLM, which may all bear one suffix that the checkpoint names.
//!
//! ```text
//! <tool_calls>
//! <tool_call>read_file<tool_sep>
//! <arg_key>path</arg_key>
//! <arg_value>a.txt</arg_value>
//! </tool_call>
//! </tool_calls>
//! ```

use super::glm::{self, Marks};
use super::scan::{Read, Scan};
use super::{Forgery, Row};
use crate::Dialect;

pub(super) const ROWS: &[Row] = &[
    Row { dialect: Dialect::Hunyuan, opener: "<tool_calls>", special: true, read: calls, closers: &["</tool_calls>"] },
    Row {
        dialect: Dialect::Hunyuan,
        opener: "<tool_calls:",
        special: true,
        read: suffixed,
        closers: &["</tool_calls:"],
    },
];

pub(super) const FORGERIES: &[Forgery] = &[Forgery { dialect: Dialect::Hunyuan, token: "<tool_responses>" }];

/// Bytes of a suffix.
const MOST_SUFFIX: usize = 64;

fn calls(scan: &mut Scan<'_>) -> Read {
    scan.skip_whitespace();
    if scan.sees("<tool_call>")? { tagged(scan, "") } else { scan.json_calls(&["</tool_calls>"]) }
}

/// Calls in tags with a suffix, which stands here.
fn suffixed(scan: &mut Scan<'_>) -> Read {
    let is_suffix = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let length = scan.rest().find(|c| !is_suffix(c)).unwrap_or(scan.rest().len());
    if length > MOST_SUFFIX {
        return scan.no();
    }
    let suffix = format!(":{}", &scan.rest()[..length]);
    scan.at += length;
    scan.want(">")?;
    tagged(scan, &suffix)
}

fn tagged(scan: &mut Scan<'_>, suffix: &str) -> Read {
    let tag = |name: &str| format!("<{name}{suffix}>");
    let (call, end, sep) = (tag("tool_call"), tag("/tool_calls"), tag("tool_sep"));
    let (key, key_end, value, value_end) = (tag("arg_key"), tag("/arg_key"), tag("arg_value"), tag("/arg_value"));
    let call_end = tag("/tool_call");
    let marks =
        Marks { key: &key, key_end: &key_end, kind: None, value: &value, value_end: &value_end, end: &call_end };
    loop {
        scan.skip_whitespace();
        scan.want(&call)?;
        scan.skip_whitespace();
        let name = scan.name()?;
        scan.skip_whitespace();
        scan.take(&sep)?;
        glm::arguments(scan, name, &marks)?;
        let stop = scan.at;
        scan.skip_whitespace();
        if scan.take(&end)? {
            return Ok(());
        }
        if !scan.sees(&call)? {
            return scan.missing_end(stop, true);
        }
    }
}
