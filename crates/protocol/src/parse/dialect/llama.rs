//! Llama 3: Meta's documentation of the prompt formats of Llama 3.1 to 3.3 ("user-defined custom tool calling" and "built-in
//! tools"); Functionary 3.1 writes the first form too.

use super::scan::{Read, Scan};
use super::{Forgery, Row, python};
use crate::Dialect;

const END: &str = "</function>";

pub(super) const ROWS: &[Row] = &[
    Row { dialect: Dialect::Llama, opener: "<function=", special: false, read: function, closers: &[END] },
    Row { dialect: Dialect::Llama, opener: "<|python_tag|>", special: true, read: tagged, closers: &["}", "]", ")"] },
];

pub(super) const FORGERIES: &[Forgery] = &[
    Forgery { dialect: Dialect::Llama, token: "<|start_header_id|>ipython" },
    Forgery { dialect: Dialect::Llama, token: "<|start_header_id|>user" },
];

/// Calls in JSON, or one of a built-in tool: `brave_search.call(query="..")`. Code for an interpreter is no call.
fn tagged(scan: &mut Scan<'_>) -> Read {
    scan.skip_whitespace();
    if scan.peek().is_none_or(|byte| matches!(byte, b'{' | b'[')) {
        return scan.json_calls(&[]);
    }
    let written = scan.name()?;
    match written.strip_suffix(".call") {
        Some(name) if !name.is_empty() => python::arguments(scan, name),
        _ => scan.no(),
    }
}

fn function(scan: &mut Scan<'_>) -> Read {
    let name = scan.name()?;
    scan.want(">")?;
    let (args, repairs) = scan.args(name, &[END])?;
    scan.call(name, args, repairs);
    let end = scan.at;
    scan.skip_whitespace();
    if scan.take(END)? { Ok(()) } else { scan.missing_end(end, true) }
}
