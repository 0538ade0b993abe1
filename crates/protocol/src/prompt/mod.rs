//! Writes the instructions that teach a model the protocol and the tools.
//!
//! Everything about a tool comes from its [`ToolSpec`]; the protocol takes a few sentences in each language. This
//! module knows no parser and no persona. The ten built-in tools together take fewer than 900 tokens.

mod words;

use crate::format::{self, Format, tokens};
use crate::schema::Schema;
use crate::{
    Args, Catalog, Dialect, Effect, Language, Output, Param, ParamKind, Request, ToolCall, ToolResult, ToolSpec, clip,
    fence, text,
};
use serde_json::{Value, json};
use words::Words;

/// Suffixes of argument names whose values usually have several lines.
const LONG_TEXTS: [&str; 13] = [
    "content",
    "contents",
    "text",
    "body",
    "code",
    "script",
    "source",
    "patch",
    "diff",
    "command",
    "cmd",
    "newstring",
    "new_str",
];

/// Returns `true` if an argument of this name usually has a text of several lines. Tools of other servers do not
/// declare it.
pub(crate) fn is_long_text(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    LONG_TEXTS.iter().any(|end| name.ends_with(end))
}

/// Suffixes of argument names for a passage of a file or its replacement. Both must be treated alike: if only one of
/// them kept its last line break, the edit would add a line break to the file or remove one.
const PASSAGES: [&str; 6] = ["old_str", "oldstr", "old_string", "oldstring", "new_string", "newstr"];

/// Returns `true` if a verbatim body for an argument of this name keeps its last line break.
pub(crate) fn keeps_last_line_break(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    is_long_text(name) || PASSAGES.iter().any(|end| lower.ends_with(end))
}

/// The maximum number of tools of other servers that get an example call in the list.
const MOST_EXAMPLES: usize = 12;

/// Writes the instructions: how to call a tool, what a result looks like, and the list of tools. Tools that [ask
/// first](ToolSpec::asks_first) are marked. Returns an empty string if there are no tools.
pub fn instructions(catalog: &Catalog, language: Language) -> String {
    let Some(shown) = example_tool(catalog.specs()) else { return String::new() };
    let mut out = protocol(catalog, shown, language);
    write_tools(catalog, language, false, &mut out, |spec| block(spec, None), shown);
    out
}

/// Writes the instructions with one line per tool: its arguments without their types, and the first sentence of its
/// description. `help` is the name of the tool that returns the [`description`] of another tool. Returns an empty
/// string if there is no other tool.
///
/// ```
/// # use toolfence_protocol as toolfence;
/// use serde_json::json;
/// use toolfence::{Catalog, Language, ToolSpec, prompt};
///
/// let path = json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
/// let catalog: Catalog = [
///     ToolSpec::from_json_schema("read", "Reads a file. Much more could be said about it.", &path),
///     ToolSpec::from_json_schema("tool_help", "Describes a tool.", &json!({"properties": {"name": {"type": "string"}}})),
/// ].into_iter().collect();
/// let text = prompt::short_instructions(&catalog, Language::English, "tool_help");
/// assert!(text.ends_with("- `read(path)`: Reads a file.\n- `tool_help(name?)`: Describes a tool.\n"), "{text}");
/// ```
pub fn short_instructions(catalog: &Catalog, language: Language, help: &str) -> String {
    let Some(shown) = example_tool(catalog.specs().iter().filter(|spec| spec.name != help)) else {
        return String::new();
    };
    let mut out = protocol(catalog, shown, language);
    let more = text!(
        "The list only has the beginning of each description. Call `{help}` with the name of a tool to \
         get the full description and the types of its arguments.",
        help
    );
    out.push_str(&format!("{}\n", more.render(language)));
    for spec in catalog.specs() {
        out.push_str(&format!(
            "- `{}`: {}\n",
            short_signature(spec),
            first_sentence(words::for_language(language).purpose(spec))
        ));
    }
    out
}

/// Returns the full description of a tool and its arguments, as in [`instructions`].
pub fn description(spec: &ToolSpec, language: Language) -> String {
    let mut out = String::new();
    write_tool(spec, language, false, &mut out);
    if spec.schema().is_some_and(Schema::is_nested) {
        out.push_str(&format!("\n{}\n", block(spec, None)));
    }
    out
}

/// Writes how to call a tool and what a result looks like, up to the list of tools.
fn protocol(catalog: &Catalog, shown: &ToolSpec, language: Language) -> String {
    let words = words::for_language(language);
    let fields = if catalog.specs().iter().any(does_more_than_read) { words.fields_with_reason } else { words.fields };
    let mut out = format!("{}\n\n{}\n\n{}\n\n{fields}\n", words.call, block(shown, None), example_result(shown, words));
    if let Some((spec, param)) = long_text(catalog) {
        out.push_str(&format!("\n{}\n\n{}\n", words.verbatim, block(spec, Some((param, words.sample)))));
    }
    out.push_str(&format!("\n{}\n\n{}\n", rules(catalog, words, false), words.tools));
    out
}

/// Prefixes of the names of tools that only read.
const READING: [&str; 10] = ["read", "get", "list", "search", "find", "view", "show", "look", "fetch", "query"];

/// Returns the tool for the first example. Models copy it: among tools of other servers it is preferably one that reads
/// and requires few arguments, but at least one. Built-in tools come in a deliberate order, so the first one is used.
fn example_tool<'a>(specs: impl IntoIterator<Item = &'a ToolSpec>) -> Option<&'a ToolSpec> {
    let mut specs = specs.into_iter().peekable();
    let first = *specs.peek()?;
    if !first.is_foreign() {
        return Some(first);
    }
    specs.min_by_key(|spec| {
        let name = spec.name.to_ascii_lowercase();
        let reads = READING.iter().any(|word| name.starts_with(word));
        let needed = spec.params.iter().filter(|param| param.required).count();
        (spec.schema().is_some_and(Schema::is_nested), !reads, needed == 0, needed)
    })
}

/// Bytes of the arguments and characters of the description in a short list.
const SHORT_ARGUMENTS: usize = 160;
const SHORT_PURPOSE: usize = 120;

/// Returns the signature of a tool, cut off after [`SHORT_ARGUMENTS`] bytes of arguments.
fn short_signature(spec: &ToolSpec) -> String {
    let mut params = String::new();
    for param in spec.params.iter().filter(|param| param.taught) {
        let gap = if params.is_empty() { "" } else { ", " };
        let next = param.signature();
        if params.len() + next.len() > SHORT_ARGUMENTS {
            params.push_str(gap);
            params.push_str("...");
            break;
        }
        params.push_str(&format!("{gap}{next}"));
    }
    format!("{}({params})", spec.name)
}

/// Returns the first sentence of a description, shortened if it is long.
fn first_sentence(purpose: &str) -> String {
    let line = purpose.lines().map(|line| line.trim_start_matches(['#', '-', '*', ' ', '\t']).trim_end());
    let line = line.into_iter().find(|line| !line.is_empty()).unwrap_or_default();
    let end = line.find(". ").map_or(line.len(), |at| at + 1);
    let sentence = &line[..end];
    match sentence.char_indices().nth(SHORT_PURPOSE) {
        None => sentence.to_owned(),
        Some((at, _)) => {
            let at = sentence[..at].rfind(' ').unwrap_or(at);
            format!("{}…", sentence[..at].trim_end_matches([',', ';', ':', ' ']))
        }
    }
}

/// Writes the instructions for a model that is known to write this dialect, with calls in its form. `None` for a
/// dialect whose calls are not JSON between two tokens, and if there are no tools.
///
/// Verbatim bodies are not taught, because only blocks of the protocol can have them.
///
/// ```
/// use toolfence_protocol::{Catalog, Dialect, Language, ToolSpec, prompt};
///
/// let catalog: Catalog = [ToolSpec::new("now", "Tell the time.")].into_iter().collect();
/// let text = prompt::instructions_in(&catalog, Language::English, Dialect::Hermes).unwrap();
/// assert!(text.contains("<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>"));
/// assert_eq!(prompt::instructions_in(&catalog, Language::English, Dialect::Pythonic), None);
/// ```
pub fn instructions_in(catalog: &Catalog, language: Language, dialect: Dialect) -> Option<String> {
    let words = words::for_language(language);
    let shown = |spec: &ToolSpec| dialect.example_call(&spec.name, &args(spec, None));
    let first = example_tool(catalog.specs())?;
    let call = shown(first)?;
    let mut out = format!("{}\n\n{call}\n\n{}\n\n{}\n", words.call_in, rules(catalog, words, true), words.tools);
    write_tools(catalog, language, true, &mut out, |spec| shown(spec).unwrap_or_default(), first);
    Some(out)
}

/// Writes the list of tools. With `plain`, calls are not blocks, so the text must not mention blocks. `shown` is the
/// tool of the first example.
fn write_tools(
    catalog: &Catalog,
    language: Language,
    plain: bool,
    out: &mut String,
    example: impl Fn(&ToolSpec) -> String,
    shown: &ToolSpec,
) {
    let mut examples = MOST_EXAMPLES;
    for spec in catalog.specs() {
        write_tool(spec, language, plain, out);
        // Nested arguments get an example, unless the first example already shows the tool.
        let nested = spec.schema().is_some_and(Schema::is_nested) && spec.name != shown.name;
        if nested && examples > 0 {
            examples -= 1;
            out.push_str(&format!("\n{}\n\n", example(spec)));
        }
    }
}

/// Returns `true` if the instructions for these tools teach verbatim bodies. Callers that replay earlier calls to the
/// model use the taught form.
pub fn teaches_bodies(catalog: &Catalog) -> bool {
    long_text(catalog).is_some()
}

/// Returns `true` if a built-in tool can do more than read. The effects of other servers' tools are unknown, so every
/// call of such a tool would need a reason.
fn does_more_than_read(spec: &ToolSpec) -> bool {
    !spec.is_foreign() && spec.effect_of(&Args::new()) != Effect::Read
}

/// Returns the rules for these tools. A model that only has tools of other servers gets no rules about the session and
/// files.
fn rules(catalog: &Catalog, words: &Words, plain: bool) -> String {
    let ours = catalog.specs().iter().any(|spec| !spec.is_foreign());
    let kinds = || catalog.specs().iter().flat_map(|spec| &spec.params).map(|param| &param.kind);
    let paths = kinds().any(|kind| matches!(kind, ParamKind::Path | ParamKind::Patch));
    let cancelled = if ours { words.cancelled } else { "" };
    let paths = if paths { words.paths } else { "" };
    let asking = if catalog.specs().iter().any(|spec| spec.asks_first) { words.asking } else { "" };
    let is_on_copy = catalog.specs().iter().any(|spec| spec.on_private_copy);
    let on_copy = if is_on_copy { words.on_private_copy } else { "" };
    let params = || catalog.specs().iter().flat_map(|spec| &spec.params);
    let can_ask = params().any(|param| param.request == Some(Request::Write));
    // Tools have such an argument only in a project that is read-only for commands.
    let on_copy = if can_ask { words.read_only } else { on_copy };
    let (several, quoting) = if plain { (words.several_in, words.quoting_in) } else { (words.several, words.quoting) };
    format!("{several}{}{cancelled}{asking}{on_copy}{quoting}{paths}", words.rules)
}

/// The maximum number of bytes of the call in a reminder, and the maximum number of characters of an argument if the
/// call is longer.
const MOST_SHOWN: usize = 2_000;
const MOST_SHOWN_VALUE: usize = 200;

/// Returns the reminder for a model after a reply whose call could not be found or read. It shows the model's `own`
/// call in the correct form, if that could be recognised.
pub fn reminder(language: Language, own: Option<&ToolCall>) -> String {
    let (body, shortened) = match own {
        Some(call) => shown_call(call),
        None => (format!("{{\"name\": \"{}\", \"args\": {{}}}}", words::for_language(language).placeholder), false),
    };
    let fence = "`".repeat(fence::safe_length(&body));
    let mut reminder =
        words::for_language(language).reminder.replacen("@CALL@", &format!("{fence}tool\n{body}\n{fence}"), 1);
    if shortened {
        let note = text!("Long values are shortened with `…` here: write them in full.");
        reminder.push(' ');
        reminder.push_str(&note.render(language));
    }
    reminder
}

/// Formats a call as the object of a block, on one line. Returns `true` with it if values were shortened.
fn shown_call(call: &ToolCall) -> (String, bool) {
    let object = |args: &Args| {
        let (name, args) = (Value::from(call.name.as_str()), Value::Object(args.clone()));
        // Template tokens in the model's own text must not reach the chat template unescaped.
        tokens::escape_tokens(&format!("{{\"name\": {name}, \"args\": {args}}}")).into_owned()
    };
    let whole = object(&call.args);
    if whole.len() <= MOST_SHOWN {
        return (whole, false);
    }
    let mut args = Args::new();
    for (key, value) in &call.args {
        let short = match value.as_str() {
            Some(text) => clip::middle(text, MOST_SHOWN_VALUE).into(),
            None if value.to_string().len() <= MOST_SHOWN_VALUE => value.clone(),
            None => "…".into(),
        };
        args.insert(key.clone(), short);
        // An argument that does not fit is left out; a later one may be shorter.
        if object(&args).len() > MOST_SHOWN {
            args.remove(key);
        }
    }
    (object(&args), true)
}

fn write_tool(spec: &ToolSpec, language: Language, plain: bool, out: &mut String) {
    let words = words::for_language(language);
    let purpose = words.purpose(spec).trim();
    // A call in a dialect has no text below the object.
    let purpose = purpose.strip_suffix(words.below).filter(|_| plain).unwrap_or(purpose);
    let mark = if spec.asks_first { words.asks_first } else { "" };
    out.push_str(&format!("- `{}`: {}{mark}\n", spec.signature(), purpose.replace('\n', "\n  ")));
    if let Some(schema) = spec.schema() {
        out.push_str(&schema.outline(language));
    }
    if let Some(example) = spec.example.as_ref().filter(|_| !plain) {
        out.push_str(&format!("\n{example}\n\n"));
    }
}

/// Returns the tool and the argument that best illustrate a verbatim body: file content before patches before commands.
fn long_text(catalog: &Catalog) -> Option<(&ToolSpec, &Param)> {
    let pairs = || catalog.specs().iter().flat_map(|spec| spec.params.iter().map(move |param| (spec, param)));
    let first_required =
        |wanted: fn(&ParamKind) -> bool| pairs().find(|(_, param)| param.required && wanted(&param.kind));
    first_required(|kind| matches!(kind, ParamKind::Text { content: true }))
        .or_else(|| first_required(|kind| matches!(kind, ParamKind::Patch)))
        .or_else(|| first_required(|kind| matches!(kind, ParamKind::Command)))
        .or_else(|| {
            let plain = |spec: &ToolSpec, param: &Param| {
                let allowed = |schema: &Schema| schema.sample_with(&param.name, "a\nb\n").is_some();
                spec.takes_text(&param.name) && spec.schema().is_some_and(allowed)
            };
            let text = |param: &Param| matches!(param.kind, ParamKind::Text { .. });
            let found = pairs().filter(|(spec, param)| text(param) && is_long_text(&param.name) && plain(spec, param));
            // The content of a file is a better example than a command.
            found.min_by_key(|(_, param)| {
                let name = param.name.to_ascii_lowercase();
                (!param.required, LONG_TEXTS.iter().position(|end| name.ends_with(end)))
            })
        })
}

/// Formats the result of the first example call and the answer to it, so that the model sees a complete turn.
fn example_result(spec: &ToolSpec, words: &Words) -> String {
    let reads_file = !spec.is_foreign() && spec.name == "read_file";
    let (output, answer) = if reads_file { words.worked } else { ("...\n", words.answer) };
    let result = ToolResult::new("call_1", spec.name.as_ref(), Output::text(output), 1);
    format!("{}\n\n{}\n\n{answer}", words.result, format::results(&[result], &Format::default()).trim_end())
}

/// Formats an example call as a block, with the text of one argument below the object.
fn block(spec: &ToolSpec, body: Option<(&Param, &str)>) -> String {
    let below = body.map(|(_, text)| format!("\n{text}\nEOF")).unwrap_or_default();
    format!("```tool\n{{\"name\": {}, \"args\": {}}}{below}\n```", json!(spec.name), args(spec, body))
}

/// Returns valid example arguments as the text of a JSON object. The argument with a text below the object gets its
/// announcement.
fn args(spec: &ToolSpec, body: Option<(&Param, &str)>) -> String {
    let value = |param: &Param| match body {
        Some((long, _)) if long.name == param.name => "<<EOF".into(),
        // Small models copy paths; a different path makes clear that it is an example.
        Some(_) if param.kind == ParamKind::Path => "docs/todo.md".into(),
        _ => sample(param),
    };
    let args: Vec<String> = match spec.schema().map(Schema::sample) {
        Some(sample) => {
            let mut args = sample.and_then(|sample| sample.as_object().cloned()).unwrap_or_default();
            if let Some((long, _)) = body {
                args.insert(long.name.clone().into(), "<<EOF".into());
            }
            args.iter().map(|(name, value)| format!("{}: {value}", json!(name))).collect()
        }
        None => {
            let required = spec.params.iter().filter(|param| param.required);
            required.map(|param| format!("{}: {}", json!(param.name), value(param))).collect()
        }
    };
    format!("{{{}}}", args.join(", "))
}

/// Returns an example value for an argument.
fn sample(param: &Param) -> Value {
    match &param.kind {
        ParamKind::Path => "docs/notes.md".into(),
        ParamKind::Command => "ls -la".into(),
        ParamKind::Patch | ParamKind::Text { .. } | ParamKind::Any => "...".into(),
        ParamKind::Integer { least, .. } => (*least).into(),
        ParamKind::Flag => true.into(),
        ParamKind::Choice(choices) => choices.first().map(AsRef::<str>::as_ref).into(),
        ParamKind::Texts => json!(["..."]),
        ParamKind::Objects(fields) => {
            let fields: Args = fields.iter().map(|field| (field.name.clone().into(), sample(field))).collect();
            json!([fields])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_use_offered_tools() {
        let city = Param::new("city", ParamKind::Text { content: false }, "where").required();
        let own: Catalog =
            [ToolSpec::new("weather", "Tell it.").param(city).example("an example")].into_iter().collect();
        let instructions_text = instructions(&own, Language::English);
        assert!(
            instructions_text.contains("{\"name\": \"weather\", \"args\": {\"city\": \"...\"}}"),
            "{instructions_text}"
        );
        assert!(
            !instructions_text.contains("<<EOF")
                && !instructions_text.contains("read_file")
                && instructions_text.contains("\nan example\n"),
            "{instructions_text}"
        );
        assert_eq!(instructions(&Catalog::new(), Language::English), "");
    }
}
