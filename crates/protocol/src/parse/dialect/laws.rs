//! Properties of all rows of the table, checked with calls that are built from the table itself, and of the dialects of
//! fenced code blocks.

use super::table::ROWS;
use super::tags::TextForm;
use super::{Row, Shape};
use crate::parse::{Event, Options, for_each};
use crate::{Catalog, Dialect, Dialects, FinishReason, Param, ParamKind, ToolSpec};
use serde_json::{Value, json};
use std::sync::Arc;

/// Formats a call of the tool `name` with texts as arguments in the form of the row; `None` for a token that opens no
/// call.
fn format_call(row: &'static Row, name: &str, args: &[(&str, &str)]) -> Option<String> {
    let close = row.shape.closers().next().unwrap_or_default();
    format_shape(row, &row.shape, row.opener, close, name, args)
}

fn format_shape(
    row: &'static Row,
    shape: &Shape,
    open: &str,
    close: &str,
    name: &str,
    args: &[(&str, &str)],
) -> Option<String> {
    let object: Value = args.iter().map(|(key, text)| ((*key).to_owned(), Value::from(*text))).collect();
    let call = json!({"name": name, "arguments": object});
    let each =
        |write: &dyn Fn(&str, &str) -> String| args.iter().map(|(key, text)| write(key, text)).collect::<String>();
    let python: Vec<String> = args.iter().map(|(key, text)| format!("{key}={}", Value::from(*text))).collect();
    let python = python.join(", ");
    let quoted = |tag: &str, word: &str, end: &str| {
        if tag.ends_with('=') && tag.contains(' ') {
            format!("{tag}\"{word}\"{end}")
        } else {
            format!("{tag}{word}{end}")
        }
    };
    Some(match shape {
        Shape::Framing => return None,
        Shape::Json(_) if open.ends_with('[') => format!("{open}{call}]"),
        Shape::Json(closers) => format!("{open}{call}{}", closers.first().unwrap_or(&"")),
        Shape::JsonOrEnd(closers, _) => format!("{open}{call}{}", closers[0]),
        Shape::LooseJson(close) => format!("{open}{call}{close}"),
        Shape::Named { separator, close } => format!("{open}{name}{separator}{object}{close}"),
        Shape::Python(end) => format!("{open}{name}({python}){end}"),
        Shape::Section { open: each, end, call } => {
            format!("{open}{}{end}", format_shape(row, call, each, "", name, args)?)
        }
        Shape::TagAlone(tags) if tags.head_end.is_empty() => {
            let write = |key: &str, text: &str| {
                format!("{}{key}{}{}{text}{}\n", tags.parameter, tags.key_end, tags.value, tags.parameter_end)
            };
            format!("{open}{name}\n{}{}", each(&write), tags.call_end)
        }
        Shape::Tagged(tags) | Shape::TagAlone(tags) => {
            let own = if tags.text == TextForm::Raw { "" } else { "\n" };
            let write = |key: &str, text: &str| {
                format!("{}{own}{text}{own}{}\n", quoted(tags.parameter, key, tags.key_end), tags.parameter_end)
            };
            let inside = format!("{}\n{}{}", quoted(tags.call, name, tags.head_end), each(&write), tags.call_end);
            let close = if close.is_empty() { tags.closers[0] } else { close };
            if matches!(shape, Shape::TagAlone(_)) { inside } else { format!("{open}\n{inside}\n{close}") }
        }
        Shape::Own(..) => format_family(row, open, name, &object, &each, &python)?,
    })
}

type Each<'a> = dyn Fn(&dyn Fn(&str, &str) -> String) -> String + 'a;

/// Formats a call in the form of one family.
fn format_family(
    row: &'static Row,
    open: &str,
    name: &str,
    object: &Value,
    each: &Each<'_>,
    python: &str,
) -> Option<String> {
    let call = json!({"name": name, "arguments": object});
    Some(match row.dialect {
        Dialect::Llama => format!("{open}{name}.call({python})"),
        Dialect::Mistral => format!("{open}{name}[ARGS]{object}"),
        Dialect::DeepSeek => {
            let bar = if open.contains('|') { "|" } else { "｜" };
            let token = |word: &str| format!("<{bar}tool▁{word}{bar}>");
            let (begin, separator) = (token("call▁begin"), token("sep"));
            let (call_end, end) = (token("call▁end"), token("calls▁end"));
            format!("{open}{begin}function{separator}{name}\n```json\n{object}\n```{call_end}{end}")
        }
        Dialect::Gemma => {
            let mark = if open.contains('|') { "<|\"|>" } else { "<escape>" };
            let members = each(&|key, text| format!("{key}:{mark}{text}{mark},"));
            format!("{open}call:{name}{{{members}}}{}", row.shape.closers().next()?)
        }
        Dialect::Apertus => format!("{open}{}<|tools_suffix|>", json!([{name: object}])),
        Dialect::MiniMax => {
            let mark = "]<]minimax[>[";
            let inside = each(&|key, text| format!("{mark}<{key}>{text}{mark}</{key}>"));
            format!("{mark}<invoke name=\"{name}\">{inside}{mark}</invoke>")
        }
        Dialect::Harmony if open.contains("channel") => {
            format!("{open}commentary to=functions.{name}<|message|>{object}<|call|>")
        }
        Dialect::Harmony => format!("{open}<|channel|>commentary to=functions.{name}<|message|>{object}<|call|>"),
        Dialect::Hunyuan => {
            let (open, suffix) = if open.ends_with(':') { ("<tool_calls:x>", ":x") } else { (open, "") };
            let tags = |key: &str, text: &str| {
                format!("<arg_key{suffix}>{key}</arg_key{suffix}><arg_value{suffix}>{text}</arg_value{suffix}>")
            };
            let inside = each(&tags);
            format!(
                "{open}<tool_call{suffix}>{name}<tool_sep{suffix}>{inside}</tool_call{suffix}></tool_calls{suffix}>"
            )
        }
        Dialect::Sarashina => format!("{open}[{call}]"),
        _ => return None, // reasoning
    })
}

/// A reply with one call, and the expected call.
struct WrittenCall {
    reply: String,
    name: &'static str,
    args: Value,
}

/// The form of a call.
#[derive(Clone, Copy)]
enum WrittenForm {
    Row(&'static Row),
    ShellBlock,
    SearchReplace,
}

/// Returns all forms.
fn forms() -> impl Iterator<Item = WrittenForm> {
    ROWS.iter().map(WrittenForm::Row).chain([WrittenForm::ShellBlock, WrittenForm::SearchReplace])
}

/// Formats a call of `bash`, if the form can call it.
fn command_call(form: WrittenForm) -> Option<WrittenCall> {
    let reply = match form {
        WrittenForm::Row(row) => format_call(row, "bash", &[("command", "ls")])?,
        WrittenForm::ShellBlock => "```bash\nls\n```\n".to_owned(),
        WrittenForm::SearchReplace => return None,
    };
    Some(WrittenCall { reply, name: "bash", args: json!({"command": "ls"}) })
}

/// Formats a call that writes the text to a file.
fn file_call(form: WrittenForm, text: &str) -> Option<WrittenCall> {
    Some(match form {
        WrittenForm::Row(row) => {
            let reply = format_call(row, "write_file", &[("path", "a"), ("content", text)])?;
            WrittenCall { reply, name: "write_file", args: json!({"path": "a", "content": text}) }
        }
        WrittenForm::ShellBlock => {
            let script = format!("cat > a <<'EOF'\n{text}\nEOF");
            WrittenCall { reply: format!("```bash\n{script}\n```\n"), name: "bash", args: json!({"command": script}) }
        }
        WrittenForm::SearchReplace => {
            let block = format!("<<<<<<< SEARCH\n=======\n{text}\n>>>>>>> REPLACE\n");
            let patch = json!({"patch": format!("a\n{block}")});
            WrittenCall { reply: format!("a\n```text\n{block}```\n"), name: "apply_patch", args: patch }
        }
    })
}

/// Returns calls that a text may quote.
fn quoted_calls() -> Vec<String> {
    let block = "<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n";
    let blocks = [format!("b.py\n```python\n{block}```"), format!("```\nb.py\n{block}```")];
    forms().filter_map(|form| command_call(form).map(|written| written.reply)).chain(blocks).collect()
}

fn events(reply: &str) -> Vec<Event<'static>> {
    let text = || ParamKind::Text { content: true };
    let write = ToolSpec::new("write_file", "Writes.")
        .param(Param::new("path", text(), "").required())
        .param(Param::new("content", text(), "").required());
    let bash = ToolSpec::new("bash", "Runs.").param(Param::new("command", text(), "").required());
    let patch = ToolSpec::new("apply_patch", "Patches.").param(Param::new("patch", ParamKind::Patch, "").required());
    let catalog: Catalog = [write, bash, patch].into_iter().collect();
    let dialects = Dialects::ALL.with(Dialect::ShellBlock).with(Dialect::SearchReplace);
    let options = Options { dialects, catalog: Some(Arc::new(catalog)), ..Options::default() };
    let mut events = Vec::new();
    for_each(reply, options, FinishReason::Stop, |event| events.push(event.into_owned()));
    events
}

#[test]
fn every_form_is_read_as_the_call_that_it_describes() {
    for WrittenCall { reply, name, args } in
        forms().flat_map(|form| [command_call(form), file_call(form, "text")]).flatten()
    {
        let called = events(&reply).into_iter().any(|event| match event {
            Event::Call { call, .. } => call.name == name && Value::Object(call.args.clone()) == args,
            _ => false,
        });
        assert!(called, "{reply}: {:?}", events(&reply));
    }
}

#[test]
fn a_text_with_a_call_of_any_form_survives_in_every_form_or_the_call_is_lossy() {
    let inner = quoted_calls();
    let (mut exact, mut lossy) = (0, 0);
    for form in forms() {
        for inner in &inner {
            let Some(WrittenCall { reply, name, args }) = file_call(form, &format!("See\n{inner}\nabove.")) else {
                continue;
            };
            for event in events(&reply) {
                let Event::Call { call, .. } = event else { continue };
                let right = call.name == name && Value::Object(call.args.clone()) == args;
                assert!(right || call.is_lossy(), "{call:?} of {reply}");
                exact += usize::from(!call.is_lossy());
                lossy += usize::from(call.is_lossy());
            }
        }
    }
    assert!(exact > 3_000 && lossy > 50, "{exact} exact, {lossy} lossy");
}

#[test]
fn the_name_of_an_offered_tool_in_the_markup_of_any_form_gives_a_call_or_an_event() {
    let mut silent = Vec::new();
    for form in forms() {
        let Some(WrittenCall { reply: call, .. }) = command_call(form) else { continue };
        // After HTML, a quotation or an unclosed code span the call does not count, but it is reported.
        for prefix in ["", "I look.\n", "I look.\n\n", "- ", "<br>\n", "> You asked.\n", "See `x.\n"] {
            // Without markup, such as in `functools[..]`, a line of a quotation is prose.
            if prefix.starts_with(['>', 'S']) && !call.starts_with(['<', '[', ']', '`']) {
                continue;
            }
            let reply = format!("{prefix}{call}");
            let noticed = |event: &Event<'_>| !matches!(event, Event::Text { .. } | Event::Started { .. });
            if !events(&reply).iter().any(noticed) {
                silent.push(reply);
            }
        }
    }
    assert_eq!(silent, [""; 0]);
}
