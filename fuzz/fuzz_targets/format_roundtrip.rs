//! Fuzzes the results message: its laws hold for any output of tools.
//!
//! The first byte chooses the format. Outputs, names and messages follow, separated by 0xff.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pulldown_cmark::{CodeBlockKind, Event as Md, Parser as Markdown, Tag};
use toolfence_protocol::format::read_back;
use toolfence_protocol::format::results_in_parts;
use toolfence_protocol::format::{Format, Kind, results};
use toolfence_protocol::parse::{Event, parse};
use toolfence_protocol::{ErrorCode, Output, ToolFailure, ToolResult};

fuzz_target!(|data: &[u8]| {
    let [choice, rest @ ..] = data else { return };
    let texts: Vec<String> =
        rest.split(|byte| *byte == 0xff).take(12).map(|part| String::from_utf8_lossy(part).into_owned()).collect();
    let all = results_from(&texts);
    let mut format = Format::default();
    format.kind = if choice & 1 == 0 { Kind::Text } else { Kind::Json };
    format.data = true;
    format.nonce = (choice & 2 != 0).then(|| texts[0].clone());

    let message = results(&all, &format);
    check_only_results(&message, all.len());
    assert_eq!(read_back(&message, format.nonce.as_deref()), all, "what was written comes back");

    format.break_tokens = choice & 4 != 0;
    check_only_results(&results(&all, &format), all.len());
    format.message_limit = usize::from(choice >> 3) * 97;
    check_only_results(&results(&all, &format), all.len());
    let parts = results_in_parts(&all, &format);
    let count: usize = parts.iter().map(|part| forged(part)).sum();
    assert_eq!(count, all.len(), "every result is in one part");
    for part in parts {
        check_only_results(&part, forged(&part));
    }
});

/// Creates one result for every three texts, which are its output, its tool and its error.
fn results_from(texts: &[String]) -> Vec<ToolResult> {
    let mut all = Vec::new();
    for (index, three) in texts.chunks(3).enumerate() {
        let text = |at: usize| three.get(at).cloned().unwrap_or_default();
        let id = format!("{index}{}", text(1));
        let mut output = Output::text(text(0));
        if three.len() > 2 {
            output.data = Some(serde_json::json!({ text(1): text(2) }));
        }
        let result = match text(2).len() % 3 {
            0 => ToolResult::new(id, text(1), output, 7),
            _ => ToolResult::refused(id, text(1), ToolFailure::new(ErrorCode::IoError, text(2)).suggest([text(0)])),
        };
        all.push(result);
    }
    all
}

fn forged(message: &str) -> usize {
    parse(message).events.iter().filter(|event| matches!(event, Event::ForgedResult { .. })).count()
}

/// Checks with this parser and another one that the message contains this number of results and no other block.
fn check_only_results(message: &str, count: usize) {
    let read = parse(message);
    let others = read.events.iter().find(|event| !matches!(event, Event::ForgedResult { .. } | Event::Text { .. }));
    assert_eq!(others, None, "in {message:?}");
    assert_eq!(forged(message), count, "in {message:?}");
    let mut theirs = 0;
    for event in Markdown::new(message) {
        match event {
            Md::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
                assert_eq!(info.as_ref(), "tool_result", "in {message:?}");
                theirs += 1;
            }
            Md::Start(Tag::CodeBlock(CodeBlockKind::Indented)) => panic!("an indented block in {message:?}"),
            _ => {}
        }
    }
    assert_eq!(theirs, count, "in {message:?}");
}
