//! Tests with every example of the CommonMark specification that the parser sees the fenced code blocks of its HTML.
//!
//! The parser reports only tool blocks, so the info string of every fence in an example is replaced by `tool`. comrak
//! finds the positions of the fences, and the contents that it finds are checked against the HTML.

use crate::oracle::markdown::{CodeBlock, code_blocks, ours};
use std::fs;
use toolfence_kit::root;

struct Example {
    number: usize,
    markdown: String,
    html: String,
}

fn examples() -> Vec<Example> {
    let file = root().join("tests/data/commonmark/spec.txt");
    let text = fs::read_to_string(file).unwrap();
    let marks = "`".repeat(32);
    let (opening, closing) = (format!("{marks} example\n"), format!("\n{marks}\n"));
    let read = |(index, part): (usize, &str)| {
        let (part, _) = part.split_once(&closing).unwrap();
        let part = format!("\n{part}\n").replace('→', "\t");
        let (markdown, html) = part.split_once("\n.\n").unwrap();
        Example { number: index + 1, markdown: format!("{markdown}\n").split_off(1), html: html.to_owned() }
    };
    text.split(&opening).skip(1).enumerate().map(read).collect()
}

/// Returns the contents of the code blocks in the HTML.
fn contents(html: &str) -> Vec<String> {
    let blocks = html.split("<pre><code").skip(1);
    blocks
        .map(|block| {
            let (_, from) = block.split_once('>').unwrap();
            let (content, _) = from.split_once("</code></pre>").unwrap();
            content.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
        })
        .collect()
}

/// Returns the document with `tool` as the info string of every fence.
fn with_tool_fences(markdown: &str, blocks: &[CodeBlock]) -> String {
    let mut lines: Vec<String> = markdown.split_inclusive('\n').map(str::to_owned).collect();
    for block in blocks.iter().filter(|block| block.fenced) {
        let line = &mut lines[block.line - 1];
        let run = line[block.column - 1..].bytes().take_while(|byte| matches!(byte, b'`' | b'~')).count();
        line.truncate(block.column - 1 + run);
        line.push_str("tool\n");
    }
    lines.concat()
}

#[test]
fn fences_agree_with_every_example_of_the_specification() {
    let examples = examples();
    assert_eq!(examples.len(), 652, "version 0.31.2 has so many");
    let (mut fences, mut quoted) = (0, 0);
    for Example { number, markdown, html } in examples {
        let mut blocks = code_blocks(&markdown);
        let contents = contents(&html);
        let literals: Vec<_> = blocks.iter().map(|block| block.literal.clone()).collect();
        assert_eq!(literals, contents, "example {number}: the code blocks of the HTML are known");

        let reply = with_tool_fences(&markdown, &blocks);
        quoted += blocks.iter().filter(|block| block.fenced && block.quoted).count();
        blocks.retain(|block| block.fenced && !block.quoted);
        let wanted: Vec<_> = blocks.into_iter().map(|block| (block.line, block.literal)).collect();
        fences += wanted.len();
        assert_eq!(ours(&reply), wanted, "example {number}: {reply:?}");
    }
    println!("652 examples, {fences} fences outside of quotes, {quoted} in quotes");
    assert!(fences > 30 && quoted > 1, "the examples hold fences");
}
