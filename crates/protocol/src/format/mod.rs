//! Formats results as one chat message that cannot be read as a call.
//!
//! Each result is a fenced block with the info word `tool_result`. Its fence is longer than any run of backticks
//! inside, so no output can end it. This module knows no parser, no tools and no conversation.
//!
//! **Text**: the first line of the block is a header, one line of JSON; the raw output follows, byte for byte. The
//! writer adds exactly one newline between a non-empty output and the closing fence, even if the output ends with one;
//! [`read_back`] removes it again. **JSON**: the block holds one line, the [`envelope`].

mod limit;
pub(crate) mod tokens;

use crate::limits::size;
use crate::{ErrorCode, Language, Limits, ToolFailure, ToolResult, fence, text};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::borrow::Cow;

/// The info word of a block with a result.
pub const INFO: &str = "tool_result";

/// The form of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Kind {
    /// A header line, then the raw output, which models read best.
    #[default]
    Text,
    /// One JSON object per result.
    Json,
}

/// How results are written for the model.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Format {
    /// The form of each result.
    pub kind: Kind,
    /// A secret word of the host in every result that distinguishes real results from copies: the model cannot guess
    /// it.
    pub nonce: Option<String>,
    /// Breaks chat-template tokens such as `<|im_end|>` with a space after their first character, for backends whose
    /// template would end the message there. In JSON the first character becomes an escape instead, which loses
    /// nothing.
    pub break_tokens: bool,
    /// Includes `data`, such as the diff of a change. It is off by default: the output has what a model needs most, and
    /// a diff can cost ten times as much. The host finds it in [`ToolResult::data`].
    pub data: bool,
    /// The language of error messages and of notes about omitted text.
    pub language: Language,
    /// The maximum number of bytes in one message. The longest outputs are clipped first, with a note; headers always
    /// stay.
    pub message_limit: usize,
}

impl Default for Format {
    fn default() -> Format {
        Format {
            kind: Kind::Text,
            nonce: None,
            break_tokens: false,
            data: false,
            language: Language::English,
            message_limit: size(Limits::default().message_bytes),
        }
    }
}

/// Formats all results of a reply as one message, in order; returns an empty string without results.
pub fn results(results: &[ToolResult], format: &Format) -> String {
    let blocks: Vec<String> = results.iter().map(|result| block(result, format)).collect();
    // Two more bytes for the line breaks between blocks.
    let whole = blocks.iter().map(|block| block.len() + 2).sum::<usize>();
    if whole <= format.message_limit {
        return blocks.join("\n\n");
    }
    let clipped = fit(results.to_vec(), format);
    clipped.iter().map(|result| block(result, format)).collect::<Vec<_>>().join("\n\n")
}

/// Clips results that exceed the message limit together, so that [`results`] renders them unchanged.
pub fn fit(results: Vec<ToolResult>, format: &Format) -> Vec<ToolResult> {
    let cost = |result: &ToolResult| block(result, format).len() + 2;
    if results.iter().map(cost).sum::<usize>() <= format.message_limit {
        return results;
    }
    let mut clipped = limit::fit(&results, format.message_limit, format.language, cost);
    if !format.data {
        // Without `format.data`, data takes no room in the message, so the host gets all of it.
        for (result, whole) in clipped.iter_mut().zip(results) {
            result.data = whole.data;
        }
    }
    clipped
}

/// Formats results in as many messages as the limit requires, for web chats. A result is never divided, only clipped if
/// it exceeds the limit by itself. Every message except the last one announces the next.
pub fn results_in_parts(results: &[ToolResult], format: &Format) -> Vec<String> {
    const NOTICE: usize = 80;
    let room = format.message_limit.saturating_sub(NOTICE);
    let alone = Format { message_limit: room, ..format.clone() };
    let mut parts: Vec<String> = Vec::new();
    for result in results {
        let block = self::results(std::slice::from_ref(result), &alone);
        match parts.last_mut() {
            Some(part) if part.len() + 2 + block.len() <= room => part.extend(["\n\n", &block]),
            _ => parts.push(block),
        }
    }
    let count = parts.len();
    for (index, part) in parts.iter_mut().enumerate().take(count.saturating_sub(1)) {
        part.push_str("\n\n");
        part.push_str(
            &text!("Part {part} of {count}. The rest follows; wait for it.", part = index + 1, count)
                .render(format.language),
        );
    }
    parts
}

/// Converts a result to the object of the JSON format, with its message in `language`, for hosts that write results as
/// lines of JSON.
pub fn envelope(result: &ToolResult, language: Language) -> Value {
    serde_json::to_value(Envelope::new(result, None, language, true)).unwrap_or_default()
}

/// Parses the results in a message that [`results`] wrote, without the prose between them; with a nonce, only those
/// that carry it.
///
/// Text that was clipped, tokens that were broken and `data` that was not included are not restored. Blocks without a
/// result are skipped.
pub fn read_back(message: &str, nonce: Option<&str>) -> Vec<ToolResult> {
    let results = parts(message, nonce).into_iter().filter_map(|part| part.result);
    results.collect()
}

/// A section of a message that [`results`] wrote: a block with a result, or the text between two of them.
#[derive(Debug, Clone, PartialEq)]
pub struct Part<'a> {
    /// The bytes of the section.
    pub text: &'a str,
    /// The result of the block; `None` for other text.
    pub result: Option<ToolResult>,
}

/// Divides a message into sections that together are the message. With a nonce, only blocks that carry it are results.
pub fn parts<'a>(message: &'a str, nonce: Option<&str>) -> Vec<Part<'a>> {
    let mut found = Vec::new();
    let (mut rest, mut written_to) = (message, 0);
    while let Some((line, after)) = next_line(rest) {
        let start = message.len() - rest.len();
        rest = after;
        let Some(opening) = fence::opening(line) else { continue };
        let (body, after_block) = until_closed(after, opening.mark, opening.length);
        // The whole block is skipped even if it is not a result: a result that is quoted in it does not count.
        rest = after_block;
        let result = if opening.word() == INFO { read_block(body, nonce) } else { None };
        if result.is_some() {
            let end = message.len() - after_block.len();
            if written_to < start {
                found.push(Part { text: &message[written_to..start], result: None });
            }
            found.push(Part { text: &message[start..end], result });
            written_to = end;
        }
    }
    if written_to < message.len() {
        found.push(Part { text: &message[written_to..], result: None });
    }
    found
}

#[derive(Serialize)]
struct Header<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    nonce: Option<&'a str>,
    id: &'a str,
    tool: &'a str,
    success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    truncated: bool,
    output_bytes: u64,
    execution_time_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Failure<'a>>,
}

#[derive(Serialize)]
struct Envelope<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    nonce: Option<&'a str>,
    id: &'a str,
    tool: &'a str,
    success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    output: &'a str,
    truncated: bool,
    output_bytes: u64,
    execution_time_ms: u64,
    error: Option<Failure<'a>>,
    data: Option<&'a Value>,
}

/// A [`ToolFailure`] rendered in one language.
#[derive(Serialize)]
struct Failure<'a> {
    code: ErrorCode,
    message: String,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    suggestions: &'a [String],
}

impl<'a> Failure<'a> {
    fn new(result: &'a ToolResult, language: Language) -> Option<Failure<'a>> {
        let ToolFailure { code, message, suggestions } = result.error.as_ref()?;
        Some(Failure { code: *code, message: message.render(language), suggestions })
    }
}

impl<'a> Header<'a> {
    fn new(result: &'a ToolResult, format: &'a Format) -> Header<'a> {
        Header {
            nonce: format.nonce.as_deref(),
            id: &result.id,
            tool: &result.tool,
            success: result.success,
            exit_code: result.exit_code,
            truncated: result.truncated,
            output_bytes: result.output_bytes,
            execution_time_ms: result.execution_time_ms,
            data: result.data.as_ref().filter(|_| format.data),
            error: Failure::new(result, format.language),
        }
    }
}

impl<'a> Envelope<'a> {
    fn new(result: &'a ToolResult, nonce: Option<&'a str>, language: Language, data: bool) -> Envelope<'a> {
        Envelope {
            nonce,
            id: &result.id,
            tool: &result.tool,
            success: result.success,
            exit_code: result.exit_code,
            output: &result.output,
            truncated: result.truncated,
            output_bytes: result.output_bytes,
            execution_time_ms: result.execution_time_ms,
            error: Failure::new(result, language),
            data: result.data.as_ref().filter(|_| data),
        }
    }
}

fn block(result: &ToolResult, format: &Format) -> String {
    let (line, output) = match format.kind {
        Kind::Text => (one_line(&Header::new(result, format)), result.output.as_str()),
        Kind::Json => {
            let envelope = Envelope::new(result, format.nonce.as_deref(), format.language, format.data);
            (one_line(&envelope), "")
        }
    };
    let (line, output) = match format.break_tokens {
        true => (tokens::escape_tokens(&line).into(), tokens::break_tokens(output)),
        false => (line, Cow::Borrowed(output)),
    };
    // The header may have backticks too, for example in an error message.
    let marks = "`".repeat(fence::safe_length(&line).max(fence::safe_length(&output)));
    let newline = if output.is_empty() { "" } else { "\n" };
    format!("{marks}{INFO}\n{line}\n{output}{newline}{marks}")
}

/// Serialises to JSON without a raw newline: serde_json writes none between tokens and escapes those in strings.
fn one_line(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

fn next_line(text: &str) -> Option<(&str, &str)> {
    (!text.is_empty()).then(|| text.split_once('\n').unwrap_or((text, "")))
}

/// Returns the content of a block and the text after its closing line. Only `\n` ends a line here, since the writer
/// uses nothing else, and no run of backticks in an output is long enough to close its own fence after a lone CR.
fn until_closed(text: &str, mark: u8, length: usize) -> (&str, &str) {
    let mut rest = text;
    while let Some((line, after)) = next_line(rest) {
        if fence::closes(line, mark, length) {
            return (&text[..text.len() - rest.len()], after);
        }
        rest = after;
    }
    (text, "")
}

fn read_block(body: &str, nonce: Option<&str>) -> Option<ToolResult> {
    let (line, output) = body.split_once('\n')?;
    let mut value: Value = serde_json::from_str(line).ok()?;
    let fields = value.as_object_mut()?;
    if nonce.is_some() && fields.get("nonce").and_then(Value::as_str) != nonce {
        return None;
    }
    let output = output.strip_suffix('\n').unwrap_or(output);
    // In the JSON form, the object already has the output.
    fields.entry("output").or_insert_with(|| output.into());
    serde_json::from_value(value).ok()
}
