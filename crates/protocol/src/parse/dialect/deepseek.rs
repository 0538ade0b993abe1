//! DeepSeek V3 and R1 (the name, then a fence), and V3.1 (the name, then the object).
//!
//! ```text
//! <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read_file
//! ```json
//! {"path": "a.txt"}
//! ```<｜tool▁call▁end｜><｜tool▁calls▁end｜>
//! ```

use super::scan::{Read, Scan};

/// The tokens, as the templates have them; some servers print them with plain bars.
struct Tokens {
    call: &'static str,
    sep: &'static str,
    call_end: &'static str,
    end: &'static str,
}

const WIDE: Tokens = Tokens {
    call: "<｜tool▁call▁begin｜>",
    sep: "<｜tool▁sep｜>",
    call_end: "<｜tool▁call▁end｜>",
    end: "<｜tool▁calls▁end｜>",
};

const PLAIN: Tokens = Tokens {
    call: "<|tool▁call▁begin|>",
    sep: "<|tool▁sep|>",
    call_end: "<|tool▁call▁end|>",
    end: "<|tool▁calls▁end|>",
};

/// Reads calls between the tokens of the templates.
pub(super) fn wide(scan: &mut Scan<'_>) -> Read {
    calls(scan, &WIDE)
}

/// Reads calls between the tokens that some servers print.
pub(super) fn with_plain_bars(scan: &mut Scan<'_>) -> Read {
    calls(scan, &PLAIN)
}

fn calls(scan: &mut Scan<'_>, tokens: &Tokens) -> Read {
    loop {
        scan.skip_whitespace();
        // The distilled models leave this token out of the first call.
        if !scan.take(tokens.call)? && !scan.sees("function")? {
            return scan.no();
        }
        call(scan, tokens)?;
        let end = scan.at;
        scan.skip_whitespace();
        if scan.take(tokens.end)? {
            return Ok(());
        }
        if !scan.sees(tokens.call)? {
            return scan.missing_end(end, true);
        }
    }
}

fn call(scan: &mut Scan<'_>, tokens: &Tokens) -> Read {
    scan.skip_whitespace();
    let first = scan.name()?;
    scan.want(tokens.sep)?;
    scan.skip_whitespace();
    let (name, fenced) = if first == "function" && scan.peek() != Some(b'{') {
        let name = scan.name()?;
        scan.skip_whitespace();
        (name, scan.take("```json")?)
    } else {
        (first, false)
    };
    let (args, repairs) = scan.args(name, if fenced { &["\n```"] } else { &[] })?;
    scan.call(name, args, repairs);
    let end = scan.at;
    scan.skip_whitespace();
    if fenced && scan.take("```")? {
        scan.skip_whitespace();
    }
    if scan.take(tokens.call_end)? { Ok(()) } else { scan.missing_end(end, true) }
}
