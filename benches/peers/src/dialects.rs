//! Compares this parser with `tool-parser` on the case files of each dialect, and lists the cases in which they read
//! different calls. If both read a call, they must read the same one, except for known errors of the peer.

use crate::at_once;
use openai_protocol::common::Tool;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use tool_parser::parsers::QwenXmlParser;
use tool_parser::parsers::SarashinaParser;
use tool_parser::{
    CohereParser, DeepSeek31Parser, DeepSeekDsmlParser, DeepSeekParser, Gemma4Parser, Glm4MoeParser, HyV4Parser,
    JsonParser, KimiK2Parser, KimiK3Parser, LlamaParser, MinimaxM2Parser, MinimaxM3Parser, MistralParser,
    ParserFactory, PythonicParser, QwenParser, Step3Parser, ToolParser,
};
use toolfence_protocol::parse::{self, Event, Options};
use toolfence_protocol::{Catalog, Dialects, FinishReason, ToolSpec};

type Calls = Vec<(String, Value)>;

/// Returns the parsers of the peer that read a dialect. The peer chooses a parser by the name of the model.
fn peers(dialect: &str) -> Vec<Box<dyn ToolParser>> {
    match dialect {
        "hermes" => vec![Box::new(QwenParser::new())],
        "qwen3_coder" => vec![Box::new(QwenXmlParser::new())],
        "llama" => vec![Box::new(LlamaParser::new())],
        "mistral" => vec![Box::new(MistralParser::new())],
        "deepseek" => vec![
            Box::new(DeepSeekParser::new()),
            Box::new(DeepSeek31Parser::new()),
            Box::new(DeepSeekDsmlParser::v32()),
            Box::new(DeepSeekDsmlParser::v4()),
            Box::new(DeepSeekDsmlParser::v41()),
        ],
        "kimi" => vec![Box::new(KimiK2Parser::new()), Box::new(KimiK3Parser::new())],
        "glm" => vec![Box::new(Glm4MoeParser::glm45()), Box::new(Glm4MoeParser::glm47())],
        "minimax" => vec![Box::new(MinimaxM2Parser::new()), Box::new(MinimaxM3Parser::new())],
        "hunyuan" => vec![Box::new(HyV4Parser::new())],
        "sarashina" => vec![Box::new(SarashinaParser::new())],
        "gemma" => vec![Box::new(Gemma4Parser::new())],
        "cohere" => vec![Box::new(CohereParser::new())],
        "step" => vec![Box::new(Step3Parser::new())],
        "pythonic" => vec![Box::new(PythonicParser::new())],
        "bare_json" => vec![Box::new(JsonParser::new())],
        _ => Vec::new(),
    }
}

/// Known cases in which both parsers read a call and that of the peer is wrong. The peer removes every line break at
/// the end of a value, although the template of Qwen3-Coder adds one and that of Step 3 none. It omits the object that
/// the template of Kimi K3 writes for arguments in JSON. For a tool that is not offered, it reads the items of a list
/// as members of an object. It keeps the `<<EOF` of a here-document that a model wrote into a string.
const KNOWN: [(&str, &str); 6] = [
    ("qwen3_coder", "code in an argument"),
    ("step", "code in an argument"),
    ("kimi", "K3: an object"),
    ("minimax", "M3: lists and objects"),
    ("pythonic", "an announcement is not told"),
    ("pythonic", "an announcement behind an empty literal"),
];

const TOOLS: [(&str, &[&str]); 3] =
    [("read_file", &["path", "start_line"]), ("write_file", &["path", "content"]), ("list_files", &[])];

fn schema(arguments: &[&str]) -> Value {
    let kind = |name: &str| if name == "start_line" { "integer" } else { "string" };
    let properties: BTreeMap<&str, Value> = arguments.iter().map(|name| (*name, json!({"type": kind(name)}))).collect();
    json!({"type": "object", "properties": properties})
}

fn tools() -> Vec<Tool> {
    let tool = |(name, arguments): &(&str, &[&str])| {
        let function = json!({"name": name, "parameters": schema(arguments)});
        serde_json::from_value(json!({"type": "function", "function": function})).expect("the tool fits its type")
    };
    TOOLS.iter().map(tool).collect()
}

fn ours(reply: &str, catalog: &Catalog) -> Calls {
    let mut options = Options::default();
    options.dialects = Dialects::ALL;
    options.catalog = Some(catalog.clone().into());
    let mut calls = Calls::new();
    parse::for_each(reply, options, FinishReason::Stop, |event| {
        if let Event::Call { call, .. } = event {
            let mut call = *call;
            // Fit the arguments to the schema, as a session does.
            let _ = catalog.resolve(&mut call);
            calls.push((call.name, Value::Object(call.args)));
        }
    });
    calls
}

fn theirs(reply: &str, dialect: &str, tools: &[Tool]) -> Calls {
    let read = |parser: &dyn ToolParser| at_once(parser.parse_complete_with_tools(reply, tools)).ok();
    let parsers = peers(dialect);
    let calls = parsers.iter().filter_map(|parser| read(parser.as_ref())).map(|(_, calls)| calls);
    let best = calls.max_by_key(Vec::len).unwrap_or_default();
    let args = |text: &str| serde_json::from_str(text).unwrap_or(Value::Null);
    best.into_iter().map(|call| (call.function.name, args(&call.function.arguments))).collect()
}

/// Returns the parsers of the peer that docs/dialect-parsers.md does not mention.
fn unnamed(root: &Path) -> Vec<String> {
    let page = std::fs::read_to_string(root.join("docs/dialect-parsers.md")).expect("the page exists");
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| tool-parser ")).collect();
    let named = |name: &String| rows.iter().any(|row| row.contains(&format!("`{name}`")));
    ParserFactory::new().list_parsers().into_iter().filter(|name| !named(name)).collect()
}

/// Prints the comparison. Returns `false` if there is an unknown case in which both read different calls, or if
/// docs/dialect-parsers.md does not mention a parser of the peer.
pub(crate) fn compare(root: &Path) -> bool {
    let cases = root.join("tests/cases/parse");
    let catalog: Catalog =
        TOOLS.iter().map(|(name, arguments)| ToolSpec::from_json_schema(*name, "", &schema(arguments))).collect();
    let tools = tools();
    let mut files: Vec<_> =
        std::fs::read_dir(cases).expect("the case files exist").flatten().map(|entry| entry.path()).collect();
    files.sort();
    let (mut rows, mut differences) = (Vec::new(), Vec::new());
    let unnamed = unnamed(root);
    println!("parsers that docs/dialect-parsers.md does not mention: {unnamed:?}\n");
    let mut sound = unnamed.is_empty();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for file in files {
        let Some(dialect) = file.file_stem().and_then(|stem| stem.to_str()?.strip_prefix("dialect_")) else { continue };
        if peers(dialect).is_empty() {
            continue;
        }
        let text = std::fs::read_to_string(&file).expect("the case file is text");
        let (mut same, mut cases) = (0, 0);
        for case in text.split("%%% ").skip(1) {
            let Some((head, rest)) = case.split_once('\n') else { continue };
            let title = head.split('|').next().unwrap_or_default().trim();
            let reply = rest.split("%%%\n").next().unwrap_or_default();
            // Truncated replies, and those without a call, do not depend on the dialect.
            if head.ends_with("length") || head.ends_with("none") {
                continue;
            }
            cases += 1;
            let (own, other) = (ours(reply, &catalog), theirs(reply, dialect, &tools));
            let own: Calls =
                if title.ends_with("behind a block of the protocol") { own.into_iter().skip(1).collect() } else { own };
            if own == other {
                same += 1;
                *counts.entry("the same calls, or none").or_default() += 1;
                continue;
            }
            let what = match (own.len(), other.len()) {
                (own, other) if own > other => "only ours",
                (own, other) if own < other => "only theirs",
                _ if KNOWN.contains(&(dialect, title)) => "another call, ours is right",
                _ => {
                    sound = false;
                    "another call"
                }
            };
            *counts.entry(what).or_default() += 1;
            differences.push(format!(
                "| {dialect} | {title} | {what} | {} | {} |",
                format_calls(&own),
                format_calls(&other)
            ));
        }
        rows.push(format!("| {dialect} | {cases} | {same} |"));
    }
    println!("| dialect | cases | the same calls |\n|---|---:|---:|\n{}", rows.join("\n"));
    println!(
        "\n| dialect | case | who reads a call | ours | theirs |\n|---|---|---|---|---|\n{}",
        differences.join("\n")
    );
    println!("\n{counts:?}");
    sound
}

fn format_calls(calls: &Calls) -> String {
    let calls: Vec<String> = calls.iter().map(|(name, args)| format!("`{name} {args}`").replace('|', "\\|")).collect();
    if calls.is_empty() { "none".to_owned() } else { calls.join(", ") }
}
