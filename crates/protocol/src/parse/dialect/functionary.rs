//! Functionary 3.2: meetkai/functionary-medium-v3.2, `tokenizer_config.json`: messages to a recipient, `all` or a tool. The
//! template writes the first `>>>`, so a reply begins with the recipient.
//!
//! ```text
//! all
//! I look.>>>read_file
//! {"path": "a.txt"}
//! ```
//!
//! In Markdown, `>>>` at the beginning of a line is a quotation. So only a reply counts that ends with calls, of tools on
//! offer, and holds nothing but a text to `all` before them.

use super::scan::{Read, Scan, Stop};

const NEXT: &str = ">>>";
const ALL: &str = "all\n";

/// Bytes in which a recipient ends: of a text full of marks each is looked at only so far.
const MOST_NAME: usize = 512;

/// Calls up to the end of the reply, behind a text to `all`. Gives where the calls begin.
pub(super) fn calls(scan: &mut Scan<'_>) -> Read<usize> {
    let mut start = 0;
    scan.take(NEXT)?;
    if scan.take(ALL)? {
        // Where the first call begins is certain only at the end.
        let text = scan.rest();
        let recipient = |at: usize| {
            let behind = &text[at + NEXT.len()..];
            let line = &behind[..crate::clip::floor_boundary(behind, MOST_NAME)];
            line.split_once('\n').is_some_and(|(name, _)| is_tool(scan, name))
        };
        let Some(at) = text.match_indices(NEXT).map(|(at, _)| at).find(|at| recipient(*at)) else {
            return if scan.has_ended() { Err(Stop::Not) } else { Err(Stop::More) };
        };
        if text[..at].contains("```") || text[..at].contains("~~~") {
            return Err(Stop::Not); // it may be an example in a fence that was not closed
        }
        start = scan.at + at;
        scan.at = start + NEXT.len();
    }
    loop {
        let Some((name, _)) = scan.rest().split_once('\n') else { return may_be_name(scan) };
        if !is_tool(scan, name) {
            return Err(Stop::Not);
        }
        scan.at += name.len() + 1;
        scan.skip_whitespace();
        match scan.peek() {
            Some(b'{') => {}
            None if !scan.has_ended() => return Err(Stop::More),
            _ => return Err(Stop::Not),
        }
        let (args, repairs) = scan.args(name, &[])?;
        scan.call(name, args, repairs);
        scan.skip_whitespace();
        if scan.rest().is_empty() {
            return Ok(start);
        }
        scan.want(NEXT)?;
    }
}

/// Whether this is a tool on offer, to the letter: another spelling may be the first line of a text.
fn is_tool(scan: &Scan<'_>, name: &str) -> bool {
    scan.catalog().is_some_and(|catalog| catalog.specs().iter().any(|spec| spec.name == name))
}

/// Decides about a line of a name that has no end yet: the reader waits for more of it where the name of a tool on offer
/// begins so; otherwise the text is no call.
fn may_be_name<T>(scan: &Scan<'_>) -> Read<T> {
    let text = scan.rest();
    let begins = |catalog: &crate::Catalog| catalog.specs().iter().any(|spec| spec.name.starts_with(text));
    if !scan.has_ended() && scan.catalog().is_some_and(begins) { Err(Stop::More) } else { Err(Stop::Not) }
}
