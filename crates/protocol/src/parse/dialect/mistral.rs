//! Mistral: mistralai/Mistral-7B-Instruct-v0.3 (an array behind the token), and tokenizer v11 and v13 of mistral-common (the
//! name, perhaps an id, then the object).

use super::scan::{Read, Scan};
use super::{Forgery, Row};
use crate::Dialect;

pub(super) const ROWS: &[Row] =
    &[Row { dialect: Dialect::Mistral, opener: "[TOOL_CALLS]", special: true, read: calls, closers: &["]", "}"] }];

pub(super) const FORGERIES: &[Forgery] = &[
    Forgery { dialect: Dialect::Mistral, token: "[TOOL_RESULTS]" },
    Forgery { dialect: Dialect::Mistral, token: "[INST]" },
];

fn calls(scan: &mut Scan<'_>) -> Read {
    scan.skip_whitespace();
    match scan.peek() {
        None => return scan.wait(),
        Some(b'[' | b'{') => return scan.json_calls(&[]),
        Some(_) => {}
    }
    let name = scan.name()?;
    let mut id = None;
    if scan.take("[CALL_ID]")? {
        id = Some(scan.name()?.to_owned());
    }
    if !scan.take("[ARGS]")? {
        scan.skip_whitespace();
    }
    if scan.peek().is_some_and(|byte| byte != b'{') && !scan.sees("\"{")? {
        return scan.no();
    }
    scan.sketch.id.clone_from(&id);
    let (args, repairs) = scan.args(name, &[])?;
    scan.call(name, args, repairs);
    if let Some(draft) = scan.drafts.last_mut() {
        draft.id = id;
    }
    Ok(())
}
