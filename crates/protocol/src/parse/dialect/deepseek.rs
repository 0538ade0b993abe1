//! DeepSeek V3 and R1 (the name, then a fence), and V3.1 (the name, then the object). Some servers print the tokens
//! with plain bars.
//!
//! ```text
//! <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read_file
//! ```json
//! {"path": "a.txt"}
//! ```<｜tool▁call▁end｜><｜tool▁calls▁end｜>
//! ```

use super::scan::{Read, Scan};

/// Reads calls up to the closing token, whose bars are those of the opening token.
pub(super) fn calls(scan: &mut Scan<'_>) -> Read {
    let bar = if scan.text.starts_with("<|") { '|' } else { '｜' };
    let [open, separator, close, end] =
        ["call▁begin", "sep", "call▁end", "calls▁end"].map(|word| format!("<{bar}tool▁{word}{bar}>"));
    scan.skip_whitespace();
    if scan.sees("function")? {
        // The distilled models leave this token out of the first call.
        call(scan, &separator, &close)?;
        if !scan.another_call(&open, &end)? {
            return Ok(());
        }
    }
    scan.section(&open, &end, |scan| call(scan, &separator, &close))
}

fn call(scan: &mut Scan<'_>, separator: &str, close: &str) -> Read {
    scan.skip_whitespace();
    let mut name = scan.name()?;
    scan.want(separator)?;
    scan.skip_whitespace();
    let mut fenced = false;
    if name == "function" && scan.peek() != Some(b'{') {
        name = scan.name()?;
        scan.skip_whitespace();
        fenced = scan.take("```json")?;
    }
    let (args, repairs) = scan.args(name, if fenced { &["\n```"] } else { &[] })?;
    scan.call(name, args, repairs);
    let end = scan.at;
    scan.skip_whitespace();
    if fenced && scan.take("```")? {
        scan.skip_whitespace();
    }
    if scan.take(close)? { Ok(()) } else { scan.missing_end(end, true) }
}
