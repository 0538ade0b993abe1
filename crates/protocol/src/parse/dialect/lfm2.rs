//! LFM2: LiquidAI/LFM2-1.2B, `chat_template.jinja` and its model card. MiniCPM3 writes the same tokens around a fence.

use super::Row;
use super::python;
use super::scan::{Read, Scan};
use crate::Dialect;

const END: &str = "<|tool_call_end|>";

pub(super) const ROWS: &[Row] =
    &[Row { dialect: Dialect::Lfm2, opener: "<|tool_call_start|>", special: true, read: calls, closers: &[END] }];

fn calls(scan: &mut Scan<'_>) -> Read {
    scan.skip_whitespace();
    let fenced = scan.take("```python")?;
    scan.skip_whitespace();
    let bytes = scan.rest().as_bytes();
    let json = match bytes.first() {
        None => return scan.wait(),
        Some(b'{') => true,
        Some(b'[') => match scan.rest()[1..].trim_start().bytes().next() {
            None => return scan.wait(),
            Some(next) => next == b'{',
        },
        Some(_) => false,
    };
    if json {
        return scan.json_calls(&[END]);
    }
    if bytes.first() == Some(&b'[') {
        python::list(scan)?;
    } else {
        python::one(scan)?;
    }
    let mut end = scan.at;
    loop {
        scan.skip_whitespace();
        if scan.take(END)? {
            return Ok(());
        }
        if fenced && scan.take("```")? {
            continue;
        }
        if !fenced || scan.peek().is_none_or(|byte| !byte.is_ascii_alphabetic()) {
            return scan.missing_end(end, true);
        }
        python::one(scan)?;
        end = scan.at;
    }
}
