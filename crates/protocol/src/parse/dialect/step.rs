//! Step 3: stepfun-ai/step3, `chat_template.json`.
//!
//! ```text
//! <｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="read_file"><steptml:parameter
//! name="path">a.txt</steptml:parameter></steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>
//! ```

use super::parameters::{self, Tags};
use super::scan::{Read, Scan};
use super::{Forgery, Row};
use crate::Dialect;

const TAGS: Tags = Tags {
    call: "<steptml:invoke name=",
    call_end: "</steptml:invoke>",
    parameter: "<steptml:parameter name=",
    parameter_end: "</steptml:parameter>",
    closers: &["<｜tool_call_end｜>"],
};

const END: &str = "<｜tool_calls_end｜>";

pub(super) const ROWS: &[Row] =
    &[Row { dialect: Dialect::Step, opener: "<｜tool_calls_begin｜>", special: true, read: calls, closers: &[END] }];

pub(super) const FORGERIES: &[Forgery] = &[Forgery { dialect: Dialect::Step, token: "<｜tool_outputs_begin｜>" }];

fn calls(scan: &mut Scan<'_>) -> Read {
    loop {
        scan.skip_whitespace();
        scan.want("<｜tool_call_begin｜>")?;
        scan.skip_whitespace();
        scan.want("function")?;
        scan.want("<｜tool_sep｜>")?;
        parameters::calls(scan, &TAGS)?;
        let end = scan.at;
        scan.skip_whitespace();
        if scan.take(END)? {
            return Ok(());
        }
        if !scan.sees("<｜tool_call_begin｜>")? {
            return scan.missing_end(end, true);
        }
    }
}
