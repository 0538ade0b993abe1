//! Reads the call that a model meant in a form that does not count, so that a reminder can show it in the correct form.
//!
//! Nothing that is read here ever runs. Unreadable arguments are left out.

use super::call::{self, is_args};
use super::dialect;
use crate::{Args, Catalog, ToolCall, ToolSpec, json};
use serde_json::Value;

/// The maximum number of objects and names that are tried in a text, and the maximum number of bytes between a name and
/// its arguments.
const MOST_TRIED: usize = 8;
const MOST_GAP: usize = 64;

/// Reads the first call of an offered tool in a text, as far as its name and arguments can be recognised.
pub(crate) fn meant_call(text: &str, catalog: &Catalog) -> Option<ToolCall> {
    let (name, args) = read_object(text, catalog).or_else(|| read_after_name(text, catalog))?;
    let mut call = ToolCall::new("", name, args);
    // Replaces tool and argument names with the canonical ones and coerces types. The call may still lack arguments.
    let _ = catalog.resolve(&mut call);
    Some(call)
}

/// Reads an object that has both the name and the arguments.
fn read_object(text: &str, catalog: &Catalog) -> Option<(String, Args)> {
    for (at, _) in text.match_indices('{').take(MOST_TRIED) {
        let Some(value) = dialect::first_object(&text[at..]) else { continue };
        let Ok(drafts) = call::drafts(vec![value], &[], Some(catalog)) else { continue };
        for draft in drafts {
            if call::spec(Some(catalog), &draft.name).is_some() {
                return Some((draft.name, draft.args));
            }
        }
    }
    None
}

/// Reads the arguments that follow a tool's name: in parentheses, as an object, in tags or attributes.
fn read_after_name(text: &str, catalog: &Catalog) -> Option<(String, Args)> {
    let mut first = None;
    let mut tried = 0;
    for (at, word) in words(text) {
        let name = word.trim_end_matches(['.', '/', '-', ':']);
        let Some(spec) = call::spec(Some(catalog), name) else { continue };
        let args = read_arguments(&text[at + name.len()..], spec, name, catalog);
        if !args.is_empty() {
            return Some((spec.name.clone().into_owned(), args));
        }
        first.get_or_insert_with(|| (spec.name.clone().into_owned(), args));
        tried += 1;
        if tried == MOST_TRIED {
            break;
        }
    }
    first
}

fn read_arguments(rest: &str, spec: &ToolSpec, name: &str, catalog: &Catalog) -> Args {
    // An object in parentheses has all the arguments; it is not the first argument.
    if !rest.starts_with("({")
        && let Some(args) = dialect::python_arguments(rest, name, catalog)
    {
        return args;
    }
    if let Some(at) = rest.find('{').filter(|at| *at <= MOST_GAP)
        && let Some(Value::Object(mut object)) = dialect::first_object(&rest[at..])
    {
        let key = object.keys().find(|key| is_args(key)).cloned();
        return match key.and_then(|key| object.remove(&key)) {
            Some(Value::Object(args)) => args,
            _ => object,
        };
    }
    // Otherwise each argument is searched by its name.
    let mut args = Args::new();
    for param in &spec.params {
        if let Some(text) = read_value(rest, &param.name) {
            args.insert(param.name.clone().into_owned(), text);
        }
    }
    // The only required argument may be alone between the tags: `<bash>ls</bash>`.
    let mut required = spec.params.iter().filter(|param| param.required);
    if args.is_empty()
        && let (Some(param), None) = (required.next(), required.next())
        && let Some(inside) = rest.strip_prefix('>')
        && let Some((text, _)) = inside.split_once("</")
        && !text.trim().is_empty()
    {
        args.insert(param.name.clone().into_owned(), text.trim().into());
    }
    args
}

/// Reads the value of the argument `key`: `key="v"`, `"key": "v"`, `<key>v</key>`,
/// `<parameter name="key">v</parameter>`, or `<arg_key>key</arg_key><arg_value>v</arg_value>`.
fn read_value(text: &str, key: &str) -> Option<Value> {
    let (at, _) = words(text).find(|(_, word)| *word == key)?;
    let mut rest = text[at + key.len()..].trim_start_matches(['"', '\'', ' ']);
    if rest.starts_with("</") {
        rest = rest.split_once('>')?.1.trim_start();
        rest = &rest[rest.strip_prefix('<')?.find('>')? + 1..];
    }
    if let Some(inside) = rest.strip_prefix('>') {
        let text = inside.split_once("</")?.0;
        return Some(text.strip_prefix('\n').map_or(text, |text| text.trim_end_matches('\n')).into());
    }
    let value = rest.strip_prefix(['=', ':'])?.trim_start();
    if value.starts_with('"')
        && let Some(Ok(text)) = serde_json::Deserializer::from_str(value).into_iter::<String>().next()
    {
        return Some(text.into());
    }
    if let Some(quote) = value.chars().next().filter(|c| matches!(c, '"' | '\'')) {
        return Some(value[1..].split_once(quote)?.0.into());
    }
    let end = value.find(|c: char| c.is_whitespace() || matches!(c, ',' | '>' | '<' | ')' | '}' | ']'));
    let word = value[..end.unwrap_or(value.len())].trim_end_matches('/');
    (!word.is_empty()).then(|| json::strict(word).unwrap_or_else(|_| word.into()))
}

/// Returns the words that may be names of tools and arguments, each with its position.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | ':');
    let mut at = 0;
    std::iter::from_fn(move || {
        at += text[at..].find(is_name)?;
        let start = at;
        at += text[at..].find(|c| !is_name(c)).unwrap_or(text.len() - at);
        Some((start, &text[start..at]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Param, ParamKind};
    use serde_json::json;

    fn catalog() -> Catalog {
        let text = ParamKind::Text { content: false };
        let read = ToolSpec::new("read_file", "Reads.")
            .param(Param::new("path", text.clone(), "").required())
            .param(Param::new("lines", ParamKind::Integer { least: 1, most: 9 }, ""));
        let bash = ToolSpec::new("bash", "Runs.").param(Param::new("command", text, "").required());
        [read, bash].into_iter().collect()
    }

    #[test]
    fn the_call_of_a_wrong_form_is_read_as_far_as_possible() {
        for (text, name, args) in [
            ("<tool_call>read_file {\"path\": \"a\"}</tool_call>", "read_file", json!({"path": "a"})),
            ("<toolcall>{\"name\": \"bash\", \"arguments\": {\"command\": \"ls\"}}", "bash", json!({"command": "ls"})),
            ("<bash>ls -l</bash>", "bash", json!({"command": "ls -l"})),
            ("<read_file path=\"a\" lines=\"3\" />", "read_file", json!({"path": "a", "lines": 3})),
            ("<read_file><path>a b</path></read_file>", "read_file", json!({"path": "a b"})),
            (
                "<x:invoke name=\"bash\">\n<x:parameter name=\"command\">ls</x:parameter>",
                "bash",
                json!({"command": "ls"}),
            ),
            ("[Calling tool: read_file({\"path\": \"a\"})]", "read_file", json!({"path": "a"})),
            ("TOOL_CALL: read_file(path=\"a\", lines=3)", "read_file", json!({"path": "a", "lines": 3})),
            ("Action: bash\nAction Input: {\"command\": \"ls\"}", "bash", json!({"command": "ls"})),
            ("<t>bash<arg_key>command</arg_key>\n<arg_value>ls</arg_value>", "bash", json!({"command": "ls"})),
            ("<function=bash><parameter=command>\nls\n</parameter></function>", "bash", json!({"command": "ls"})),
            ("<tool_call>read_file</tool_call>", "read_file", json!({})),
            ("read_file(path=\"a", "read_file", json!({})),
        ] {
            let call = meant_call(text, &catalog()).unwrap_or_else(|| panic!("{text}"));
            assert_eq!((call.name.as_str(), Value::Object(call.args)), (name, args), "{text}");
        }
        assert_eq!(meant_call("</tool_call>", &catalog()).map(|call| call.name), None);
    }
}
