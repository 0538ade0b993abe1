//! Finds the tool fences of a document with independent CommonMark parsers and with ours.
//!
//! Fences in block quotes are ignored. The document must not use this parser's extensions of CommonMark: see [`bland`].

use comrak::nodes::{AstNode, NodeValue};
use pulldown_cmark::{CodeBlockKind, Event as Md, Parser as Markdown, Tag, TagEnd};
use toolfence_protocol::FinishReason;
use toolfence_protocol::parse::{Event, Options, Parser, Reasoning};

/// The line of each fence, from 1, and its content.
pub(crate) type Blocks = Vec<(usize, String)>;

/// Returns the document with one final line ending and without this parser's extensions: strings that can contain a
/// closing fence, objects that end at the next opening fence, and reasoning.
pub(crate) fn bland(text: &str) -> String {
    let mut text = without_reasoning(&text.replace('"', "'").replace(['{', '}'], "|"));
    if !text.ends_with(['\n', '\r']) {
        text.push('\n');
    }
    text
}

/// Replaces the word in each tag that opens reasoning.
fn without_reasoning(text: &str) -> String {
    let tags = [
        ("think", "thank"),
        ("reasoning", "seasoning"),
        ("THINK", "THANK"),
        ("inner_prefix", "outer_prefix"),
        ("<|channel>thought", "<|channel>taught"),
    ];
    tags.iter().fold(text.to_owned(), |text, (word, other)| text.replace(word, other))
}

/// Returns the blocks that our parser sees.
pub(crate) fn ours(text: &str) -> Blocks {
    let mut options = Options::default();
    options.reasoning = Reasoning::Known;
    let mut parser = Parser::new(options);
    parser.push(text);
    parser.finish(FinishReason::Stop);
    let mut found = Blocks::new();
    while let Some(event) = parser.poll() {
        if let Event::Call { body, span, .. }
        | Event::Malformed { body, span, .. }
        | Event::Incomplete { body, span, .. } = event
        {
            found.push((line_of(text, span.start), body.to_string()));
        }
    }
    found
}

/// Checks the law of doubtful fences on a reply. Returns the number of calls with the repair `doubtful_fence`, and the
/// number of calls without a guess that follow a block whose end CommonMark does not see.
///
/// The law: a call is lossless only if CommonMark sees its fence too, if it precedes the first end that CommonMark does
/// not see, or if it is canonical. With `strict`, the reply has no fence inside a string or body, and then CommonMark
/// must also see the fences before the first such end.
pub(crate) fn doubtful_fences(text: &str, strict: bool) -> Result<(usize, usize), String> {
    let text = without_reasoning(&newlines(text));
    let mut options = Options::default();
    options.reasoning = Reasoning::Known;
    options.settled_only = true;
    let mut parser = Parser::new(options);
    parser.push(&text);
    parser.finish(FinishReason::Stop);
    let (mut calls, mut ends) = (Vec::new(), Vec::new());
    while let Some(event) = parser.poll() {
        let Event::Call { call, span, .. } = event else { continue };
        let unseen = |name: &str| matches!(name, "missing_fence" | "glued_fence" | "text_after_fence");
        let canonical = call.repairs.is_empty() && text[..span.start].ends_with(['\n', '\r']);
        calls.push((
            span,
            call.is_lossy(),
            canonical,
            call.repairs.iter().any(|repair| repair.name() == "doubtful_fence"),
        ));
        if call.repairs.iter().any(|repair| unseen(repair.name())) {
            ends.push(span.end);
        }
    }
    let seen: Vec<usize> = pulldown(&text).into_iter().chain(comrak(&text)).map(|(line, _)| line).collect();
    let known = pulldown_differs(&text) && comrak_differs(&text);
    let (mut doubtful, mut certain) = (0, 0);
    for (span, lossy, canonical, doubts) in calls {
        let behind_end = ends.iter().any(|end| *end <= span.start);
        doubtful += usize::from(doubts);
        certain += usize::from(!lossy && behind_end);
        let exempt = lossy || known || if behind_end { canonical } else { !strict };
        if !exempt && !seen.contains(&line_of(&text, span.start)) {
            return Err(format!("CommonMark does not see the call at {span:?} of {text:?}"));
        }
    }
    Ok((doubtful, certain))
}

/// Returns the blocks that pulldown-cmark sees. A byte order mark is removed before, because pulldown-cmark treats it
/// as text.
pub(crate) fn pulldown(text: &str) -> Blocks {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let (mut found, mut quotes, mut open) = (Blocks::new(), 0, false);
    for (event, range) in Markdown::new(text).into_offset_iter() {
        match event {
            Md::Start(Tag::BlockQuote(_)) => quotes += 1,
            Md::End(TagEnd::BlockQuote(_)) => quotes -= 1,
            Md::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_))) => {
                open = quotes == 0 && is_tool(&text[range.start..]);
                if open {
                    found.push((line_of(text, range.start), String::new()));
                }
            }
            Md::Text(piece) if open => {
                if let Some((_, body)) = found.last_mut() {
                    *body += &newlines(&piece);
                }
            }
            Md::End(TagEnd::CodeBlock) => open = false,
            _ => {}
        }
    }
    found
}

/// Returns the blocks that comrak sees.
pub(crate) fn comrak(text: &str) -> Blocks {
    let starts = line_starts(text);
    let is_tool = |block: &CodeBlock| {
        let fence = starts.get(block.line - 1).and_then(|at| text.get(at + block.column - 1..));
        block.fenced && !block.quoted && fence.is_some_and(is_tool)
    };
    code_blocks(text).into_iter().filter(is_tool).map(|block| (block.line, block.literal)).collect()
}

/// A code block of comrak. Lines and columns are counted from 1, and columns in bytes.
pub(crate) struct CodeBlock {
    pub(crate) line: usize,
    pub(crate) column: usize,
    pub(crate) literal: String,
    pub(crate) fenced: bool,
    pub(crate) quoted: bool,
}

/// Returns every code block, fenced or indented, in quotes or not.
pub(crate) fn code_blocks(text: &str) -> Vec<CodeBlock> {
    let arena = comrak::Arena::new();
    let root = comrak::parse_document(&arena, text, &comrak::Options::default());
    let read = |node: &AstNode<'_>| match &node.data.borrow().value {
        NodeValue::CodeBlock(block) => Some((newlines(&block.literal), block.fenced)),
        _ => None,
    };
    let blocks = root.descendants().filter_map(|node| read(node).map(|found| (node, found)));
    blocks
        .map(|(node, (literal, fenced))| {
            let start = node.data.borrow().sourcepos.start;
            CodeBlock { line: start.line, column: start.column, literal, fenced, quoted: is_quoted(node) }
        })
        .collect()
}

/// Returns whether pulldown-cmark 0.13 is known to violate the specification: at a closing fence with a tab after it;
/// at a complete tag that continues a paragraph lazily; at a vertical tab or a form feed, which it treats as blanks.
pub(crate) fn pulldown_differs(text: &str) -> bool {
    let tab_behind_fence = |line: &str| {
        let marks = line.trim_start_matches([' ', '>', '\t', '-', '+', '*']);
        (marks.starts_with("```") || marks.starts_with("~~~")) && line.trim_end_matches(' ').ends_with('\t')
    };
    has_complete_tag(text) || text.contains(['\u{b}', '\u{c}']) || text.lines().any(tab_behind_fence)
}

/// Returns whether comrak 0.55 is known to violate the specification: at a complete tag that continues a paragraph
/// lazily; at CDATA in any case; at a tab before a fence in a list item, which counts as one column when the fence's
/// indentation is removed from the content; at a vertical tab or a form feed, which it treats as blanks; at a line of
/// blanks that keeps an empty list item open.
pub(crate) fn comrak_differs(text: &str) -> bool {
    let tab_before_fence = |line: &str| {
        let fence = line.find("```").or(line.find("~~~"));
        fence.is_some_and(|at| line[..at].trim_end_matches(' ').contains('\t'))
    };
    has_complete_tag(text)
        || text.to_ascii_uppercase().matches("<![CDATA[").count() > text.matches("<![CDATA[").count()
        || text.contains(['\u{b}', '\u{c}'])
        || text.lines().any(tab_before_fence)
        || has_blanks_after_a_marker(text)
}

fn has_blanks_after_a_marker(text: &str) -> bool {
    let lines: Vec<&str> = text.lines().collect();
    let is_marker = |line: &str| line.trim_end().ends_with(['-', '*', '+', '.', ')']);
    lines.windows(2).any(|two| is_marker(two[0]) && !two[1].is_empty() && two[1].trim().is_empty())
}

fn has_complete_tag(text: &str) -> bool {
    let begins_with_tag = |line: &str| {
        let rest = line.trim_start_matches(|c: char| c.is_ascii_digit() || " \t>-+*.)".contains(c));
        rest.strip_prefix('<').is_some_and(|tag| tag.starts_with(|c: char| c == '/' || c.is_ascii_alphabetic()))
    };
    text.lines().any(begins_with_tag)
}

fn is_quoted<'a>(node: &'a AstNode<'a>) -> bool {
    node.ancestors().any(|node| matches!(node.data.borrow().value, NodeValue::BlockQuote))
}

/// Returns whether the fence that begins here has the raw info word `tool`, or one that is treated like it.
fn is_tool(fence: &str) -> bool {
    let line = fence.split(['\n', '\r']).next().unwrap_or_default();
    let mark = if line.starts_with('~') { '~' } else { '`' };
    let info = line.trim_start_matches(mark).trim_start_matches([' ', '\t']);
    matches!(info.split([' ', '\t']).next(), Some("tool" | "tool_call" | "tool_code"))
}

/// Replaces every line ending by a newline, and NUL as CommonMark does.
pub(crate) fn newlines(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n").replace('\0', "\u{fffd}")
}

/// Returns the offset of each line. A line ends with CR, LF or CRLF.
fn line_starts(text: &str) -> Vec<usize> {
    let bytes = text.as_bytes();
    let ends = |at: &usize| bytes[*at - 1] == b'\n' || (bytes[*at - 1] == b'\r' && bytes.get(*at) != Some(&b'\n'));
    std::iter::once(0).chain((1..=bytes.len()).filter(ends)).collect()
}

fn line_of(text: &str, at: usize) -> usize {
    line_starts(&text[..at]).len()
}
