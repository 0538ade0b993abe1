//! What was found in a reply, as a person wants to read it.

use serde_json::Value;
use toolfence::ToolCall;
use toolfence::parse::Event;

/// One event as a person wants to read it.
pub(crate) fn explained(event: &Event<'_>) -> String {
    match event {
        Event::Text { text, span } => format!("text       {}..{}  {text:?}", span.start, span.end),
        Event::Reasoning { text, span, closed } => {
            let open = if *closed == Some(false) { ", never closed" } else { "" };
            format!("reasoning  {}..{}{open}  {text:?}", span.start, span.end)
        }
        Event::Started { id, name } => format!("started    {id}: {name}"),
        Event::Progress { id, arg, text } => format!("progress   {id}: {arg} {text:?}"),
        Event::Call { call, index, span, .. } => {
            let args = Value::Object(call.args.clone());
            let head = format!("call       {}..{} [{index}]  {}: {} {args}", span.start, span.end, call.id, call.name);
            format!("{head}\n           {}", repairs(call))
        }
        Event::Malformed { error, span, .. } => {
            format!(
                "malformed  {}..{}  line {}, column {}: {}",
                span.start, span.end, error.line, error.column, error.message
            )
        }
        Event::Incomplete { span, .. } => {
            format!("incomplete {}..{}  the reply ended inside this block", span.start, span.end)
        }
        Event::Ignored { why, span, .. } => {
            format!("ignored    {}..{}  a call, but it does not count: {why:?}", span.start, span.end)
        }
        Event::ForgedResult { span, .. } => {
            format!("forged     {}..{}  a result the model made up", span.start, span.end)
        }
        other => format!("{other:?}"),
    }
}

fn repairs(call: &ToolCall) -> String {
    if call.repairs.is_empty() {
        return "read as written".into();
    }
    let named = call.repairs.iter().map(|repair| {
        let kind = if repair.lossless() { "lossless" } else { "a guess" };
        format!("{} ({kind})", repair.name())
    });
    format!("mended: {}", named.collect::<Vec<_>>().join(", "))
}
