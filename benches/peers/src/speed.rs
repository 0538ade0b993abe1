//! Compares the times of this parser and of `tool-parser` for a reply with a call in a dialect, for the whole reply at
//! once and in pieces of 4 bytes.
//!
//! `tool-parser` knows the form in advance, and this parser does not. With dialects, this parser looks for every form
//! at once and respects code, quotations and HTML of CommonMark. Without dialects, it reads the same reply as prose.
//! Both stream the text of the arguments.

use crate::at_once;
use crate::timing::best;
use openai_protocol::common::Tool;
use serde_json::json;
use std::hint::black_box;
use tool_parser::parsers::QwenXmlParser;
use tool_parser::{DeepSeek31Parser, Glm4MoeParser, KimiK2Parser, MinimaxM2Parser, QwenParser, ToolParser};
use toolfence_protocol::parse::{Event, Options, Parser, for_each};
use toolfence_protocol::{Dialects, FinishReason};

const CHUNK: usize = 4;

/// Bytes of the file that the call writes, and of the prose before it.
const FILE: usize = 10_000;
const PROSE: usize = 2_000;

/// The form of a call: the parser of the peer, and the texts before and after the file's text, which is raw or JSON.
struct Form {
    dialect: &'static str,
    parser: fn() -> Box<dyn ToolParser>,
    before: &'static str,
    after: &'static str,
    raw: bool,
}

const FORMS: [Form; 6] = [
    Form {
        dialect: "hermes",
        parser: || Box::new(QwenParser::new()),
        before: "<tool_call>\n{\"name\": \"write_file\", \"arguments\": {\"path\": \"a.py\", \"content\": \"",
        after: "\"}}\n</tool_call>",
        raw: false,
    },
    Form {
        dialect: "qwen3_coder",
        parser: || Box::new(QwenXmlParser::new()),
        before: "<tool_call>\n<function=write_file>\n<parameter=path>\na.py\n</parameter>\n<parameter=content>\n",
        after: "\n</parameter>\n</function>\n</tool_call>",
        raw: true,
    },
    Form {
        dialect: "glm",
        parser: || Box::new(Glm4MoeParser::glm45()),
        before: "<tool_call>write_file\n<arg_key>path</arg_key>\n<arg_value>a.py</arg_value>\n<arg_key>content</arg_key>\n<arg_value>",
        after: "</arg_value>\n</tool_call>",
        raw: true,
    },
    Form {
        dialect: "deepseek",
        parser: || Box::new(DeepSeek31Parser::new()),
        before: "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>write_file<｜tool▁sep｜>{\"path\": \"a.py\", \"content\": \"",
        after: "\"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        raw: false,
    },
    Form {
        dialect: "kimi",
        parser: || Box::new(KimiK2Parser::new()),
        before: "<|tool_calls_section_begin|><|tool_call_begin|>functions.write_file:0<|tool_call_argument_begin|>{\"path\": \"a.py\", \"content\": \"",
        after: "\"}<|tool_call_end|><|tool_calls_section_end|>",
        raw: false,
    },
    Form {
        dialect: "minimax",
        parser: || Box::new(MinimaxM2Parser::new()),
        before: "<minimax:tool_call>\n<invoke name=\"write_file\">\n<parameter name=\"path\">a.py</parameter>\n<parameter name=\"content\">",
        after: "</parameter>\n</invoke>\n</minimax:tool_call>",
        raw: true,
    },
];

impl Form {
    /// Returns the prose before the call, and the text of the file.
    fn texts(&self) -> [String; 2] {
        let prose = "I look at the file first, and then I write it anew with the change that was asked for.\n";
        let line = "    total = total + rate(items, year)  # once more for every item\n";
        let file = line.repeat(FILE / line.len());
        [prose.repeat(PROSE / prose.len()), if self.raw { file } else { file.replace('\n', "\\n") }]
    }
}

/// Prints the table.
pub(crate) fn compare() {
    let tools = [serde_json::from_value(json!({"type": "function", "function": {
        "name": "write_file",
        "parameters": {"type": "object", "properties": {"path": {"type": "string"}, "content": {"type": "string"}}},
    }}))
    .expect("the tool fits its type")];
    println!(
        "\n| µs a reply of 12 KB | toolfence, whole | without dialects | tool-parser | toolfence, in pieces | without dialects | tool-parser |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|");
    for form in &FORMS {
        let [prose, file] = form.texts();
        let reply = format!("{prose}{}{file}{}\n", form.before, form.after);
        // The tokens of a form are not split, as in replies of a server, because the peer misses some tokens that are
        // split.
        let pieces = [pieces(&prose), vec![form.before], pieces(&file), vec![form.after, "\n"]].concat();
        let works: [&dyn Fn() -> usize; 6] = [
            &|| whole(&reply, Dialects::ALL),
            &|| whole(&reply, Dialects::NONE),
            &|| peer_whole(form, &reply, &tools),
            &|| streamed(&pieces, Dialects::ALL),
            &|| streamed(&pieces, Dialects::NONE),
            &|| peer_streamed(form, &pieces, &tools),
        ];
        let found = works.map(|work| work());
        assert_eq!((found[0], found[1], found[3], found[4]), (1, 0, 1, 0), "{}: the call is found", form.dialect);
        let times = best(works);
        let column = |at: usize| {
            if at % 3 == 2 && found[at] != 1 { "no call".into() } else { format!("{:.0}", times[at] * 1e6) }
        };
        let columns: Vec<String> = (0..times.len()).map(column).collect();
        println!("| {} | {} |", form.dialect, columns.join(" | "));
    }
}

fn pieces(text: &str) -> Vec<&str> {
    let ends = (CHUNK..text.len()).step_by(CHUNK).chain([text.len()]);
    ends.map(|end| &text[(end - 1) / CHUNK * CHUNK..end]).collect()
}

fn options(dialects: Dialects) -> Options {
    let mut options = Options::default();
    options.catalog = Some(toolfence_policy::toolset::catalog());
    options.dialects = dialects;
    options
}

fn is_call(event: &Event<'_>) -> usize {
    usize::from(matches!(black_box(event), Event::Call { .. }))
}

fn whole(reply: &str, dialects: Dialects) -> usize {
    let mut calls = 0;
    for_each(reply, options(dialects), FinishReason::Stop, |event| calls += is_call(&event));
    calls
}

fn streamed(pieces: &[&str], dialects: Dialects) -> usize {
    let mut parser = Parser::new(options(dialects));
    let mut calls = 0;
    for piece in pieces {
        parser.push(piece);
        while let Some(event) = parser.poll() {
            calls += is_call(&event);
        }
    }
    parser.finish(FinishReason::Stop);
    while let Some(event) = parser.poll() {
        calls += is_call(&event);
    }
    calls
}

fn peer_whole(form: &Form, reply: &str, tools: &[Tool]) -> usize {
    let parser = (form.parser)();
    at_once(parser.parse_complete_with_tools(reply, tools)).map_or(0, |(_, calls)| black_box(calls).len())
}

fn peer_streamed(form: &Form, pieces: &[&str], tools: &[Tool]) -> usize {
    let mut parser = (form.parser)();
    let mut calls = 0;
    for piece in pieces {
        let read = at_once(parser.parse_incremental(piece, tools)).expect("the peer can read the reply");
        calls += black_box(&read).calls.iter().filter(|call| call.name.is_some()).count();
    }
    calls
}
