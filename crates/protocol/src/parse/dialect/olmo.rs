//! OLMo 3: allenai/Olmo-3-7B-Instruct, `chat_template.jinja`: calls as Python writes them, one a line.

use super::Row;
use super::python;
use super::scan::{Read, Scan};
use crate::Dialect;

const END: &str = "</function_calls>";

pub(super) const ROWS: &[Row] =
    &[Row { dialect: Dialect::Olmo, opener: "<function_calls>", special: true, read: calls, closers: &[END] }];

fn calls(scan: &mut Scan<'_>) -> Read {
    loop {
        scan.skip_whitespace();
        python::one(scan)?;
        let end = scan.at;
        scan.skip_whitespace();
        if scan.take(END)? {
            return Ok(());
        }
        if scan.peek().is_none_or(|byte| !byte.is_ascii_alphabetic()) {
            return scan.missing_end(end, true);
        }
    }
}
