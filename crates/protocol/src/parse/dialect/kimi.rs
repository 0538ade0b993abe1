//! Kimi K2: moonshotai/Kimi-K2-Instruct, `docs/tool_call_guidance.md`.
//!
//! ```text
//! <|tool_calls_section_begin|><|tool_call_begin|>functions.read_file:0<|tool_call_argument_begin|>{"path": "a.txt"}
//! <|tool_call_end|><|tool_calls_section_end|>
//! ```

use super::scan::{Read, Scan};
use super::{Forgery, Row};
use crate::Dialect;

const BEGIN: &str = "<|tool_call_begin|>";
const END: &str = "<|tool_calls_section_end|>";

pub(super) const ROWS: &[Row] = &[
    Row {
        dialect: Dialect::Kimi,
        opener: "<|tool_calls_section_begin|>",
        special: true,
        read: section,
        closers: &[END],
    },
    Row { dialect: Dialect::Kimi, opener: BEGIN, special: true, read: call, closers: &["<|tool_call_end|>"] },
];

pub(super) const FORGERIES: &[Forgery] = &[
    Forgery { dialect: Dialect::Kimi, token: "<|im_user|>" },
    Forgery { dialect: Dialect::Kimi, token: "<|im_system|>" },
];

fn section(scan: &mut Scan<'_>) -> Read {
    loop {
        scan.skip_whitespace();
        scan.want(BEGIN)?;
        call(scan)?;
        let end = scan.at;
        scan.skip_whitespace();
        if scan.take(END)? {
            return Ok(());
        }
        if !scan.sees(BEGIN)? {
            return scan.missing_end(end, true);
        }
    }
}

/// One call, behind its opening token.
fn call(scan: &mut Scan<'_>) -> Read {
    scan.skip_whitespace();
    let name = scan.name()?;
    scan.skip_whitespace();
    scan.want("<|tool_call_argument_begin|>")?;
    let (args, repairs) = scan.args(name, &["<|tool_call_end|>"])?;
    scan.call(name, args, repairs);
    let end = scan.at;
    scan.skip_whitespace();
    if scan.take("<|tool_call_end|>")? { Ok(()) } else { scan.missing_end(end, true) }
}
