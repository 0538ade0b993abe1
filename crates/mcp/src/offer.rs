//! What a server says of its tools: names and schemas that can be used, and the text that a person has to trust.

use crate::server::ServerOptions;
use serde_json::{Value, json};
use std::collections::HashSet;
use toolfence_protocol::{Catalog, Effect, Text, ToolSpec, clip, invisible, text};

/// The most tools of a server: the model reads about all of them with every request.
pub(crate) const MOST_TOOLS: usize = 128;
/// The most bytes that a server may say of its tools, all together: a person has to read it.
pub(crate) const MOST_BYTES: usize = 256 << 10;
/// The most tools that are left out one by one; what stands behind them is left out, too.
const MOST_NOTES: usize = 16;
/// The longest name of a tool.
const LONGEST_NAME: usize = 64;
/// Bytes of a description that the model is told, and of a name that is shown.
const LONGEST_PURPOSE: usize = 1000;
const SHOWN: usize = 64;

/// The tools of a server that can be offered.
#[derive(Debug, Default)]
pub(crate) struct Offer {
    /// The name that the server has for each, and its spec.
    pub(crate) tools: Vec<(String, ToolSpec)>,
    /// All that is to be trusted, as JSON for people. The same text says the same of the same program.
    pub(crate) told: String,
    /// What was left out, and why, and the patterns that no argument is checked against.
    pub(crate) notes: Vec<Text>,
}

impl Offer {
    /// What a list of tools says. `taken` has the tools whose names and aliases must stay theirs.
    pub(crate) fn read(options: &ServerOptions, list: Vec<Value>, taken: &Catalog) -> Offer {
        let (mut offer, mut said, mut names) = (Offer::default(), Vec::new(), HashSet::new());
        let server = &options.name;
        for tool in list {
            if offer.tools.len() == MOST_TOOLS || offer.notes.len() == MOST_NOTES {
                offer.notes.push(text!(
                    "The MCP server {server} has more than {most} tools. The others are left out.",
                    server,
                    most = MOST_TOOLS
                ));
                break;
            }
            let name = tool.get("name").and_then(Value::as_str).unwrap_or_default();
            let shown = || format!("{:?}", clip::middle(name, SHOWN));
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
            if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(plain) {
                offer.notes.push(text!(
                    "The tool {name} of the MCP server {server} is left out: its name is not up to 64 letters, digits, \
                     _, - and dots.",
                    server,
                    name = shown()
                ));
                continue;
            }
            let full = format!("{server}.{name}");
            if taken.find(&full).is_some() {
                offer.notes.push(text!(
                    "The tool {name} of the MCP server {server} is left out: another tool has its name.",
                    server,
                    name = shown()
                ));
                continue;
            }
            if !names.insert(name.to_owned()) {
                offer.notes.push(text!(
                    "The tool {name} of the MCP server {server} comes twice. The second one is left out.",
                    server,
                    name = shown()
                ));
                continue;
            }
            let schema = tool.get("inputSchema").filter(|schema| schema.is_object());
            let schema = schema.filter(|schema| schema.get("type").is_none_or(|kind| kind == "object"));
            let Some(schema) = schema else {
                offer.notes.push(text!(
                    "The tool {name} of the MCP server {server} is left out: it has no schema of an object for its \
                     arguments.",
                    server,
                    name = shown()
                ));
                continue;
            };
            if !is_shown_as_it_is(schema) {
                offer.notes.push(text!(
                    "The tool {name} of the MCP server {server} is left out: its arguments have names or words that \
                     are not shown as they are.",
                    server,
                    name = shown()
                ));
                continue;
            }
            let description = tool.get("description").and_then(Value::as_str).unwrap_or_default();
            let mut spec = ToolSpec::from_json_schema(full, purpose(description), schema);
            spec.served = true;
            let mut shown = json!({"name": name, "description": description, "inputSchema": schema});
            // A hint of a server that the user trusts: such calls run in parallel and do not cancel others. They still ask.
            if tool.pointer("/annotations/readOnlyHint") == Some(&Value::Bool(true)) {
                spec = spec.effect(|_| Effect::Read);
                shown["annotations"] = json!({"readOnlyHint": true});
            }
            said.push(shown);
            offer.tools.push((name.to_owned(), spec));
        }
        let catalog: Catalog = offer.tools.iter().map(|(_, spec)| spec.clone()).collect();
        for (tool, pattern) in catalog.unchecked_patterns().into_iter().take(MOST_NOTES) {
            let pattern = format!("{:?}", clip::middle(pattern, SHOWN));
            offer.notes.push(text!(
                "The arguments of the MCP tool {tool} are not checked against the pattern {pattern}: it is too large, \
                 or needs a lookaround or a backreference.",
                tool,
                pattern
            ));
        }
        let env: Vec<&String> = options.env.iter().map(|(name, _)| name).collect();
        let told = json!({
            "command": options.command, "network": options.network, "paths": options.paths, "env": env, "tools": said,
        });
        offer.told = format!("{told:#}");
        offer
    }
}

/// Whether the names in a schema and the words that a value may be, which stand in lines of their own, hold nothing that a line does not
/// show. Other texts are for the model only as they are trusted.
fn is_shown_as_it_is(schema: &Value) -> bool {
    let plain = |text: &str| !text.chars().any(|c| c.is_control() || invisible::kind(c).is_some());
    let mut pending = vec![schema];
    while let Some(value) = pending.pop() {
        match value {
            Value::Object(fields) => {
                let words =
                    fields.get("enum").and_then(Value::as_array).into_iter().flatten().chain(fields.get("const"));
                if !fields.keys().all(|name| plain(name)) || !words.filter_map(Value::as_str).all(plain) {
                    return false;
                }
                pending.extend(fields.values());
            }
            Value::Array(elements) => pending.extend(elements),
            _ => {}
        }
    }
    true
}

/// A description as one line for the model.
fn purpose(description: &str) -> String {
    let words: Vec<&str> = description.split_whitespace().collect();
    let line: String = words.join(" ").chars().filter(|c| !c.is_control() && invisible::kind(*c).is_none()).collect();
    clip::middle(&line, LONGEST_PURPOSE).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(list: Value) -> Offer {
        let mut options = ServerOptions::new("srv", ["program"]);
        options.env = vec![("TOKEN".to_owned(), "hidden".into())];
        let Value::Array(list) = list else { panic!("a list") };
        let taken: Catalog = [ToolSpec::new("srv.known", "").aliases(["srv.other"])].into_iter().collect();
        Offer::read(&options, list, &taken)
    }

    fn tool(name: &str) -> Value {
        json!({"name": name, "description": "Does\n  it.\u{1b}[31m", "inputSchema": {"type": "object"}})
    }

    #[test]
    fn what_can_be_offered_is_and_the_rest_is_told() {
        let bad = json!({"name": "d", "inputSchema": "x"});
        let list = json!([
            tool("a"), tool("a"), tool("b\u{1b}[2J"), tool(""), tool(&"c".repeat(65)), bad, tool("known"), tool("O_ther"),
            {"name": "e", "inputSchema": {"type": "string"}}, {"name": "f"}, 7, tool("g.h-I_1"),
        ]);
        let offer = read(list);
        let names: Vec<&str> = offer.tools.iter().map(|(_, spec)| spec.name.as_ref()).collect();
        assert_eq!(names, ["srv.a", "srv.g.h-I_1"]);
        assert_eq!(offer.tools[0].1.purpose, "Does it.[31m");
        assert_eq!(offer.notes.len(), 10, "{:?}", offer.notes);
        let notes = Text::join(offer.notes, "\n").to_string();
        assert!(!notes.contains('\u{1b}') && notes.contains("\"b\\u{1b}[2J\""), "{notes}");
    }

    #[test]
    fn what_is_trusted_says_everything_but_secrets() {
        let told = read(json!([tool("a")])).told;
        for part in ["\"program\"", "TOKEN", "\"network\": false", "Does\\n  it.\\u001b[31m", "inputSchema"] {
            assert!(told.contains(part), "{part}: {told}");
        }
        assert!(!told.contains("hidden"), "{told}");
        assert_eq!(told, read(json!([tool("a")])).told);
        let mut other = tool("a");
        other["inputSchema"]["properties"] = json!({"x": {"description": "Say everything."}});
        assert_ne!(told, read(json!([other])).told);
    }

    #[test]
    fn unchecked_patterns_are_reported() {
        let schema =
            |pattern: &str| json!({"type": "object", "properties": {"x": {"type": "string", "pattern": pattern}}});
        let offer = read(json!([
            {"name": "a", "inputSchema": schema(r"^\p{L}+$")}, {"name": "b", "inputSchema": schema("^(?!\n)\u{1b}")},
        ]));
        assert_eq!(offer.tools.len(), 2);
        let notes = Text::join(offer.notes, "\n").to_string();
        assert!(notes.contains("srv.b") && notes.contains(r#""^(?!\n)\u{1b}""#) && !notes.contains("srv.a"), "{notes}");
        let many: Vec<Value> =
            (0..100).map(|n| json!({"name": format!("t{n}"), "inputSchema": schema("(?=a)")})).collect();
        assert_eq!(read(many.into()).notes.len(), MOST_NOTES);
    }

    #[test]
    fn a_list_has_an_end() {
        let list: Vec<Value> = (0..1000).map(|number| tool(&format!("t{number}"))).collect();
        let offer = read(list.into());
        assert_eq!((offer.tools.len(), offer.notes.len()), (MOST_TOOLS, 1));
        assert_eq!(read((0..1000).collect()).notes.len(), MOST_NOTES + 1);
        for schema in
            [json!({"properties": {"x)\n  read(path": {}}}), json!({"properties": {"x": {"enum": ["a\n```"]}}})]
        {
            let offer = read(json!([{"name": "a", "inputSchema": schema}]));
            assert_eq!((offer.tools.len(), offer.notes.len()), (0, 1));
        }
    }
}
