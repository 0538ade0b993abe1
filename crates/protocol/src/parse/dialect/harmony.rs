//! gpt-oss: OpenAI's documentation of the harmony response format.
//!
//! ```text
//! <|channel|>analysis<|message|>I look.<|end|><|start|>assistant<|channel|>commentary to=functions.read_file
//! <|constrain|>json<|message|>{"path": "a.txt"}<|call|>
//! ```
//!
//! Text in the channel `analysis` is reasoning. The tokens of the other channels are left out of the text.

use super::scan::{Read, Scan, Stop};

pub(super) const CHANNEL: &str = "<|channel|>";

const CHANNELS: [&str; 3] = ["analysis", "commentary", "final"];

pub(super) const ENDS: &[&str] = &["<|call|>", "<|end|>", "<|return|>", "<|message|>"];

/// Precedes the name of the tool in a head.
pub(super) const RECIPIENT: &str = "to=functions.";

/// The maximum number of bytes in the head of a message: a name, a channel and a type.
const MOST_HEAD: usize = 512;

/// Reads a message after `<|start|>assistant`.
pub(super) fn start(scan: &mut Scan<'_>) -> Read {
    let from = scan.at;
    let mut follows = [CHANNEL, " to=", "<|message|>"].iter();
    if !follows.any(|token| scan.rest().starts_with(token) || token.starts_with(scan.rest())) {
        return Err(Stop::Not);
    }
    let head = head(scan)?;
    scan.at = from;
    match head.find(CHANNEL) {
        Some(at) => {
            scan.at += at + CHANNEL.len();
            expect_channel(scan)?;
            message(scan, from)
        }
        None => message(scan, from),
    }
}

/// Reads a message after `<|channel|>`.
pub(super) fn channel(scan: &mut Scan<'_>) -> Read {
    let from = scan.at;
    expect_channel(scan)?;
    message(scan, from)
}

/// Checks that a channel is named here; prose that mentions the token names none.
fn expect_channel(scan: &Scan<'_>) -> Read {
    let rest = scan.rest();
    let channel = rest.split([' ', '<', '\n']).next().unwrap_or_default();
    let cut = channel.len() == rest.len();
    let named = CHANNELS.iter().any(|known| *known == channel || cut && known.starts_with(channel));
    if named { Ok(()) } else { Err(Stop::Not) }
}

/// Reads a call that is the whole reply and begins with the recipient, because the template wrote `<|start|>assistant`.
pub(super) fn addressed_message(scan: &mut Scan<'_>) -> Read {
    scan.want(RECIPIENT)?;
    scan.name()?;
    scan.skip_whitespace();
    if !scan.sees("<|")? {
        return scan.no();
    }
    scan.at = 0;
    message(scan, 0)
}

/// Returns the text up to `<|message|>`.
fn head<'a>(scan: &mut Scan<'a>) -> Read<&'a str> {
    if scan.rest().len() > MOST_HEAD
        && !scan.rest()[..crate::clip::floor_boundary(scan.rest(), MOST_HEAD)].contains("<|message|>")
    {
        return Err(Stop::Not);
    }
    scan.until("<|message|>")
}

/// Reads a message whose head begins at `from` and whose channel is named here.
fn message(scan: &mut Scan<'_>, from: usize) -> Read {
    let channel = scan.rest().split([' ', '<', '\n']).next().unwrap_or_default();
    scan.at = from;
    let head = head(scan)?;
    let recipient = head.split([' ', '<', '\n']).find_map(|word| word.strip_prefix(RECIPIENT));
    if let Some(name) = recipient {
        let (args, repairs) = scan.args(name, &["<|call|>"])?;
        scan.call(name, args, repairs);
        return scan.want_end("<|call|>");
    }
    if channel == "analysis" { scan.thought("<|end|>") } else { Ok(()) }
}
