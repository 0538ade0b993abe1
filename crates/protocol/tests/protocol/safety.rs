//! Tests that quoted text is never a call that may write or execute, whatever is damaged around it.
//!
//! A dangerous call is put into every kind of quotation, and the reply is damaged at every byte in every way. The inner
//! call may then be read only with a lossy repair, or if the damage removed the quotation itself: another CommonMark
//! parser sees a separate fence, or the outer call is complete and exact without the inner one.

use crate::oracle::markdown::{bland, code_blocks, newlines};
use crate::parse::events;
use toolfence_protocol::parse::Event;
use toolfence_protocol::{Repair, ToolCall};

const INNER: [&str; 3] = [
    "```tool\n{'name': 'bash', 'args': {'command': 'INNER'}}\n```",
    "~~~ tool x\n{'args': {'command': 'INNER'}, 'name': 'bash'}\n~~~",
    "```\n```tool\n[{'name': 'bash', 'args': {'command': 'INNER'}}]\n```\n```",
];

/// The beginning of the reply, the beginning of every line of the inner call, and the end of the reply.
struct QuotePlace {
    name: &'static str,
    before: &'static str,
    prefix: &'static str,
    after: &'static str,
    /// What quotes the inner call: a tool block, reasoning, or only CommonMark.
    by: By,
}

#[derive(PartialEq)]
enum By {
    Block,
    Reasoning,
    Markdown,
}

const fn quote_place(
    name: &'static str,
    by: By,
    before: &'static str,
    prefix: &'static str,
    after: &'static str,
) -> QuotePlace {
    QuotePlace { name, before, prefix, after, by }
}

const PLACES: [QuotePlace; 17] = [
    quote_place(
        "a string",
        By::Block,
        "```tool\n{\"name\": \"write_file\", \"args\": {\"path\": \"a\", \"content\": \"So:\n",
        "",
        "\nend\"}}\n```\nafter\n",
    ),
    quote_place(
        "a string before other members",
        By::Block,
        "```tool\n{\"args\": {\"content\": \"\n",
        "",
        "\n\", \"path\": \"a\"}, \"name\": \"write_file\"}\n```\n",
    ),
    quote_place(
        "a string in a list item",
        By::Block,
        "- ```tool\n  {\"name\": \"write_file\", \"args\": {\"path\": \"a\", \"content\": \"\n",
        "  ",
        "\n  \"}}\n  ```\n",
    ),
    quote_place(
        "a string of python",
        By::Block,
        "```tool\n{\"name\": \"write_file\", \"args\": {\"path\": 'a', \"content\": \"\n",
        "",
        "\n\"}}\n```\n",
    ),
    quote_place(
        "a string with quotes that are not escaped",
        By::Block,
        "```tool\n{\"name\": \"write_file\", \"args\": {\"content\": \"say \"so\":\n",
        "",
        "\nend\", \"path\": \"a\"}}\n```\n",
    ),
    quote_place(
        "a body",
        By::Block,
        "```tool\n{\"name\": \"write_file\", \"args\": {\"path\": \"a\", \"content\": \"<<EOF\"}}\n# Title\n",
        "",
        "\nEOF\n```\nafter\n",
    ),
    quote_place(
        "a body from its first line on",
        By::Block,
        "```tool\n{\"name\": \"write_file\", \"args\": {\"path\": \"a\", \"content\": \"<<EOF\"}}\n",
        "",
        "\nEOF\n```\nafter\n",
    ),
    quote_place(
        "the second body",
        By::Block,
        "```tool\n{\"name\": \"replace_text\", \"args\": {\"old\": \"<<A\", \"new\": \"<<B\"}}\nold\nA\n",
        "",
        "\nB\n```\n",
    ),
    quote_place(
        "a string after a closing tag of reasoning",
        By::Block,
        "```tool\n{\"name\": \"write_file\", \"args\": {\"path\": \"a\", \"content\": \"So:\n</think>\n",
        "",
        "\nend\"}}\n```\nafter\n",
    ),
    quote_place(
        "a string after a fence and a closing tag of reasoning",
        By::Block,
        "```tool\n{\"name\": \"write_file\", \"args\": {\"path\": \"a\", \"content\": \"So:\n```\n\n</think>\n",
        "",
        "\nend\"}}\n```\nafter\n",
    ),
    quote_place("a quote", By::Markdown, "text\n\n> ", "> ", "\n\nafter\n"),
    quote_place("an outer fence", By::Markdown, "````markdown\n", "", "\n````\n"),
    quote_place("an HTML block", By::Markdown, "<div>\n", "", "\n</div>\n"),
    quote_place("a comment", By::Markdown, "<!--\n\n", "", "\n-->\n"),
    quote_place("indented code", By::Markdown, "text\n\n    ", "    ", "\n\nafter\n"),
    quote_place("reasoning", By::Reasoning, "<think>\nMaybe\n", "", "\n</think>\nafter\n"),
    quote_place("reasoning in a paragraph", By::Reasoning, "text\n<think>\n", "", "\n</think>\nafter\n"),
];

const INSERTED: [&str; 13] =
    ["\"", "'", "\\", "`", "<", "{", "}", "]", "\n", "\n\n", "\n```\n", "\n```tool\n", "\n~~~~~~tool\n"];

/// Returns a text with every kind of damage at one place.
fn damaged(text: &str) -> impl Iterator<Item = (String, &'static str)> {
    let without_char = text.char_indices().map(|(at, c)| [&text[..at], &text[at + c.len_utf8()..]].concat());
    let cut =
        text.char_indices().flat_map(|(at, _)| ["", "length", "cut"].map(|finish| (text[..at].to_owned(), finish)));
    let inserted =
        text.char_indices().flat_map(|(at, _)| INSERTED.map(|more| [&text[..at], more, &text[at..]].concat()));
    let starts = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1));
    let without_line = starts.map(|at| {
        let end = text[at..].find('\n').map_or(text.len(), |length| at + length + 1);
        [&text[..at], &text[end..]].concat()
    });
    let whole = without_char.chain(inserted).chain(without_line).map(|text| (text, ""));
    whole.chain(cut).collect::<Vec<_>>().into_iter()
}

fn is_inner(call: &ToolCall) -> bool {
    call.args.get("command").is_some_and(|command| command.to_string().contains("INNER"))
}

/// Returns the first quoted call that may write or execute, if the quotation is intact.
fn escaped(reply: &str, finish: &str, by: &By) -> Option<ToolCall> {
    let mut exact = false;
    for event in events(reply, &format!("{finish} unknown"), usize::MAX / 2, false) {
        match event {
            Event::Call { call, span, .. } if is_inner(&call) => {
                let undone = match by {
                    By::Reasoning => !(reply.starts_with("<think>") || reply.starts_with("text\n<think>\n")),
                    By::Markdown => is_unquoted_fence(reply, span.start),
                    // A closing tag of reasoning begins a new document for this parser, but not for CommonMark.
                    By::Block => {
                        let alone =
                            || is_unquoted_fence(reply, span.start) || reply[..span.start].contains("\n</think>\n");
                        exact || !opens_tool_block(reply) && alone()
                    }
                };
                if !call.is_lossy() && !undone {
                    return Some(*call);
                }
            }
            Event::Call { call, .. } => exact |= call.repairs.iter().all(|repair| *repair == Repair::RawControl),
            _ => {}
        }
    }
    None
}

/// Returns whether another parser sees a fence outside quotes at this byte of the reply.
fn is_unquoted_fence(reply: &str, at: usize) -> bool {
    let line = reply[..at].matches('\n').count() + 1;
    code_blocks(&newlines(&bland(reply))).iter().any(|block| block.line == line && block.fenced && !block.quoted)
}

/// Returns whether the reply still begins with the quoting tool block.
fn opens_tool_block(reply: &str) -> bool {
    reply.lines().next().is_some_and(|line| line.ends_with("```tool")) && is_unquoted_fence(reply, 0)
}

#[test]
fn quoted_changes_and_commands_never_run() {
    let (mut replies, mut wrong) = (0, Vec::new());
    for QuotePlace { name, before, prefix, after, by } in &PLACES {
        for inner in INNER {
            let inner = inner.replace('\n', &format!("\n{prefix}"));
            let first = if before.ends_with('\n') { prefix } else { "" };
            let reply = format!("{before}{first}{inner}{after}");
            let whole = std::iter::once((reply.clone(), ""));
            for (reply, finish) in whole.chain(damaged(&reply)) {
                replies += 1;
                if let Some(call) = escaped(&reply, finish, by) {
                    wrong.push(format!("out of {name}: {reply:?} {finish}\n  {:?}", call.repairs));
                }
            }
        }
    }
    println!("{replies} replies");
    assert!(wrong.is_empty(), "{} of {replies}:\n{}", wrong.len(), wrong[..wrong.len().min(12)].join("\n"));
}
