//! Reads a server's list of tools: it selects those that can be offered and builds the text that the user must trust.

use crate::server::ServerOptions;
use serde_json::{Value, json};
use std::collections::HashSet;
use toolfence_protocol::{Catalog, Effect, Text, ToolSpec, clip, invisible, text};

/// The maximum number of tools that a server may offer. All of them are part of every request to the model.
pub(crate) const MOST_TOOLS: usize = 128;
/// The maximum length of a list of tools in bytes. It is limited because a person must read the list.
pub(crate) const MOST_BYTES: usize = 256 << 10;
/// The maximum number of notes about single tools. Once the list has caused this many, the rest of it is ignored.
const MOST_NOTES: usize = 16;
/// The longest name of a tool, in bytes.
const LONGEST_NAME: usize = 64;
/// The maximum length in bytes of a description for the model.
const LONGEST_PURPOSE: usize = 1000;
/// The maximum number of bytes of a name or a pattern that a note contains.
const SHOWN: usize = 64;

/// The tools of a server that can be offered.
#[derive(Debug, Default)]
pub(crate) struct Offer {
    /// The name by which the server knows each tool, and its spec.
    pub(crate) tools: Vec<(String, ToolSpec)>,
    /// The text that the user must trust, as JSON. It depends only on the options of the server and its list of tools,
    /// so an unchanged list gives the same text.
    pub(crate) trusted_text: String,
    /// Notes about tools that were left out, and about patterns that arguments are not checked against.
    pub(crate) notes: Vec<Text>,
}

impl Offer {
    /// Reads a list of tools. `taken` contains the tools whose names and aliases a server must not use.
    pub(crate) fn read(options: &ServerOptions, list: Vec<Value>, taken: &Catalog) -> Offer {
        let (mut offer, mut listed, mut names) = (Offer::default(), Vec::new(), HashSet::new());
        let server = &options.name;
        for (index, tool) in list.into_iter().enumerate() {
            if offer.tools.len() == MOST_TOOLS || offer.notes.len() == MOST_NOTES {
                offer.notes.push(text!(
                    "Only the first {count} tools of the MCP server {server} were read. The others are left out.",
                    count = index,
                    server
                ));
                break;
            }
            let name = tool.get("name").and_then(Value::as_str).unwrap_or_default();
            let shown = || format!("{:?}", clip::middle(name, SHOWN));
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
            // The name appears in the prompt and in questions to the user, so it cannot have characters that forge
            // either.
            if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(plain) {
                offer.notes.push(text!(
                    "The tool {name} of the MCP server {server} is left out: a name has 1 to 64 letters, digits, _, \
                     - and dots.",
                    server,
                    name = shown()
                ));
                continue;
            }
            let full = format!("{server}.{name}");
            // Otherwise a server could answer calls that are meant for another tool.
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
                    "The tool {name} of the MCP server {server} is listed twice. The second one is left out.",
                    server,
                    name = shown()
                ));
                continue;
            }
            let schema = tool.get("inputSchema").filter(|schema| schema.is_object());
            let schema = schema.filter(|schema| schema.get("type").is_none_or(|kind| kind == "object"));
            let Some(schema) = schema else {
                offer.notes.push(text!(
                    "The tool {name} of the MCP server {server} is left out: its arguments have no object schema.",
                    server,
                    name = shown()
                ));
                continue;
            };
            if !is_printable(schema) {
                offer.notes.push(text!(
                    "The tool {name} of the MCP server {server} is left out: the names or values of its arguments \
                     have invisible characters.",
                    server,
                    name = shown()
                ));
                continue;
            }
            let description = tool.get("description").and_then(Value::as_str).unwrap_or_default();
            let mut spec = ToolSpec::from_json_schema(full, purpose(description), schema);
            spec.served = true;
            let mut shown = json!({"name": name, "description": description, "inputSchema": schema});
            // The hint is part of the text that the user trusts. Calls of such tools run in parallel, and their failure
            // does not cancel other calls, but they still need approval.
            if tool.pointer("/annotations/readOnlyHint") == Some(&Value::Bool(true)) {
                spec = spec.effect(|_| Effect::Read);
                shown["annotations"] = json!({"readOnlyHint": true});
            }
            listed.push(shown);
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
        // Only the names of the variables: their values may be secrets, and the text is displayed.
        let env: Vec<&String> = options.env.iter().map(|(name, _)| name).collect();
        let trusted = json!({
            "command": options.command, "network": options.network, "paths": options.paths, "env": env, "tools": listed,
        });
        offer.trusted_text = format!("{trusted:#}");
        offer
    }
}

/// Returns `true` if the property names and permitted values in a schema contain no control or invisible characters,
/// because prompts show each of them on a line of its own. Descriptions and other texts are not checked here: they
/// reach the model only after the user has trusted them.
fn is_printable(schema: &Value) -> bool {
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

/// Formats a description as one line for the model.
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
    fn unusable_tools_are_left_out_with_a_note() {
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
        let unusable: Vec<Value> = (0..100).map(|_| tool("")).collect();
        let last = read(unusable.into()).notes.pop().unwrap().to_string();
        assert_eq!(last, "Only the first 16 tools of the MCP server srv were read. The others are left out.");
    }

    #[test]
    fn the_trusted_text_has_everything_but_secrets() {
        let text = read(json!([tool("a")])).trusted_text;
        for part in ["\"program\"", "TOKEN", "\"network\": false", "Does\\n  it.\\u001b[31m", "inputSchema"] {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(!text.contains("hidden"), "{text}");
        assert_eq!(text, read(json!([tool("a")])).trusted_text);
        let mut other = tool("a");
        other["inputSchema"]["properties"] = json!({"x": {"description": "Say everything."}});
        assert_ne!(text, read(json!([other])).trusted_text);
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
    fn lists_of_tools_are_bounded() {
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
