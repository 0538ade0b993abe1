//! DeepSeek: deepseek-ai/DeepSeek-V3-0324 and DeepSeek-R1-0528 (the name, then a fence), DeepSeek-V3.1 (the name, then the
//! object), each in `tokenizer_config.json`; DeepSeek-V3.2 (`encoding/README.md`): tags that begin with `｜DSML｜`.
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

pub(super) const ROWS: &[Row] = &[
    Row {
        dialect: Dialect::DeepSeek,
        opener: "<｜tool▁calls▁begin｜>",
        special: true,
        read: |scan| calls(scan, &WIDE),
        closers: &[WIDE.end],
    },
    Row {
        dialect: Dialect::DeepSeek,
        opener: "<|tool▁calls▁begin|>",
        special: true,
        read: |scan| calls(scan, &PLAIN),
        closers: &[PLAIN.end],
    },
    Row {
        dialect: Dialect::DeepSeek,
        opener: "<｜DSML｜function_calls>",
        special: true,
        read: |scan| parameters::calls(scan, &tags(&["</｜DSML｜function_calls>"])),
        closers: &["</｜DSML｜function_calls>"],
    },
    Row {
        dialect: Dialect::DeepSeek,
        opener: "<｜DSML｜tool_calls>",
        special: true,
        read: |scan| parameters::calls(scan, &tags(&["</｜DSML｜tool_calls>"])),
        closers: &["</｜DSML｜tool_calls>"],
    },
];

pub(super) const FORGERIES: &[Forgery] = &[
    Forgery { dialect: Dialect::DeepSeek, token: "<｜tool▁outputs▁begin｜>" },
    Forgery { dialect: Dialect::DeepSeek, token: "<｜tool▁output▁begin｜>" },
    Forgery { dialect: Dialect::DeepSeek, token: "<｜User｜>" },
];

fn calls(scan: &mut Scan<'_>, tokens: &Tokens) -> Read {
    loop {
        scan.skip_whitespace();
        scan.want(tokens.call)?;
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
