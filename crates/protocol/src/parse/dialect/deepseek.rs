//! DeepSeek: deepseek-ai/DeepSeek-V3-0324 and DeepSeek-R1-0528 (the name, then a fence), DeepSeek-V3.1 (the name, then the
//! object), each in `tokenizer_config.json`; DeepSeek-V3.2, V4 and V4.1 (`encoding/README.md`): tags that begin with `｜DSML｜`.
//!
//! ```text
//! <｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read_file
//! ```json
//! {"path": "a.txt"}
//! ```<｜tool▁call▁end｜><｜tool▁calls▁end｜>
//! ```

use super::parameters::{self, Tags};
use super::scan::{Read, Scan};
use super::{Forgery, Row};
use crate::Dialect;

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

const fn tags(closers: &'static [&'static str]) -> Tags {
    Tags {
        call: "<｜DSML｜invoke name=",
        call_end: "</｜DSML｜invoke>",
        parameter: "<｜DSML｜parameter name=",
        parameter_end: "</｜DSML｜parameter>",
        closers,
    }
}

/// V4.1 has a space behind the marker.
const SPACED: Tags = Tags {
    call: "<｜DSML｜ invoke name=",
    call_end: "</｜DSML｜ invoke>",
    parameter: "<｜DSML｜ parameter name=",
    parameter_end: "</｜DSML｜ parameter>",
    closers: &["</｜DSML｜ calls>"],
};

pub(super) const ROWS: &[Row] = &[
    row("<｜tool▁calls▁begin｜>", |scan| calls(scan, &WIDE), &[WIDE.end]),
    row("<|tool▁calls▁begin|>", |scan| calls(scan, &PLAIN), &[PLAIN.end]),
    // The distilled models misspell their own token, in the ways that llama.cpp has seen.
    row("<｜tool▁calls｜>", |scan| calls(scan, &WIDE), &[WIDE.end]),
    row("<｜tool calls begin｜>", |scan| calls(scan, &WIDE), &[WIDE.end]),
    row("<｜tool_calls_begin｜>", |scan| calls(scan, &WIDE), &[WIDE.end]),
    row("<｜tool\\_calls\\_begin｜>", |scan| calls(scan, &WIDE), &[WIDE.end]),
    row(
        "<｜DSML｜function_calls>",
        |scan| parameters::calls(scan, &tags(&["</｜DSML｜function_calls>"])),
        &["</｜DSML｜function_calls>"],
    ),
    row(
        "<｜DSML｜tool_calls>",
        |scan| parameters::calls(scan, &tags(&["</｜DSML｜tool_calls>"])),
        &["</｜DSML｜tool_calls>"],
    ),
    row("<｜DSML｜ calls>", |scan| parameters::calls(scan, &SPACED), SPACED.closers),
    // A call without the tag around it.
    row("<｜DSML｜invoke name=", |scan| parameters::call_named(scan, &tags(&[])), &["</｜DSML｜invoke>"]),
    row("<｜DSML｜ invoke name=", |scan| parameters::call_named(scan, &SPACED), &[SPACED.call_end]),
];

const fn row(opener: &'static str, read: fn(&mut Scan<'_>) -> Read, closers: &'static [&'static str]) -> Row {
    Row { dialect: Dialect::DeepSeek, opener, special: true, read, closers }
}

pub(super) const FORGERIES: &[Forgery] = &[
    Forgery { dialect: Dialect::DeepSeek, token: "<｜tool▁outputs▁begin｜>" },
    Forgery { dialect: Dialect::DeepSeek, token: "<｜tool▁output▁begin｜>" },
    Forgery { dialect: Dialect::DeepSeek, token: "<｜User｜>" },
];

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
