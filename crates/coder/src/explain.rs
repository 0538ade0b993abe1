//! Describes the events of a parsed reply for the user (`coder parse` and `--explain`).

use serde_json::Value;
use toolfence_protocol::parse::{Event, Ignored};
use toolfence_protocol::text;
use toolfence_protocol::{Text, ToolCall};

/// Describes one event.
pub(crate) fn explained(event: &Event<'_>) -> Text {
    match event {
        Event::Text { text, span } => {
            text!("text       {start}..{end}  {text}", start = span.start, end = span.end, text = format!("{text:?}"))
        }
        Event::Reasoning { unopened: true, span, .. } => text!(
            "reasoning  {start}..{end}  only a closing tag: everything before it is reasoning",
            start = span.start,
            end = span.end
        ),
        Event::Reasoning { text, span, closed: Some(false), .. } => {
            text!(
                "reasoning  {start}..{end}, never closed  {text}",
                start = span.start,
                end = span.end,
                text = format!("{text:?}")
            )
        }
        Event::Reasoning { text, span, .. } => {
            text!("reasoning  {start}..{end}  {text}", start = span.start, end = span.end, text = format!("{text:?}"))
        }
        Event::Started { id, name } => text!("started    {id}: {tool}", id = &**id, tool = &**name),
        Event::Progress { id, arg, text } => {
            text!("progress   {id}: {argument} {text}", id = &**id, argument = &**arg, text = format!("{text:?}"))
        }
        Event::Call { call, index, span, .. } => {
            let args = Value::Object(call.args.clone()).to_string();
            text!(
                "call       {start}..{end} [{index}]  {id}: {tool} {args}\n           {repairs}",
                start = span.start,
                end = span.end,
                index = *index,
                id = &call.id,
                tool = &call.name,
                args,
                repairs = repairs(call)
            )
        }
        Event::Malformed { error, span, .. } => {
            text!(
                "malformed  {start}..{end}  line {line}, column {column}: {error}",
                start = span.start,
                end = span.end,
                line = error.line,
                column = error.column,
                error = error.message.clone()
            )
        }
        Event::Incomplete { span, .. } => {
            text!("incomplete {start}..{end}  the reply ended inside this block", start = span.start, end = span.end)
        }
        Event::Ignored { why, span, .. } => text!(
            "ignored    {start}..{end}  a call, but it does not count: {why}",
            start = span.start,
            end = span.end,
            why = why_ignored(*why)
        ),
        Event::ForgedResult { span, .. } => {
            text!("forged     {start}..{end}  a result invented by the model", start = span.start, end = span.end)
        }
        other => format!("{other:?}").into(),
    }
}

/// Explains why a call at this position is ignored.
fn why_ignored(why: Ignored) -> Text {
    match why {
        Ignored::Quote => text!("it is inside a block quote"),
        Ignored::OuterFence => text!("it is inside another fence"),
        Ignored::Html => text!("it is inside HTML"),
        Ignored::Indentation => text!("it is indented by four columns or more"),
        Ignored::InfoWord => {
            text!("the info word of its fence is not `tool`, and it is not exactly a call of this form")
        }
        Ignored::Unfenced => text!("it is in no fence and in no dialect that is enabled"),
        Ignored::NotAtLineStart => {
            text!("there is text before it on its line: a call counts only at the beginning of a line")
        }
        Ignored::WrongForm => text!("it names a tool in a form that neither a tool block nor a dialect has"),
        Ignored::Reasoning => text!("it is in the reasoning"),
        Ignored::LastRound => text!("the last round is over: no call runs"),
        other => format!("{other:?}").into(),
    }
}

fn repairs(call: &ToolCall) -> Text {
    match call.dialect {
        Some(dialect) => {
            text!("in the dialect {dialect}; {repairs}", dialect = dialect.name(), repairs = repaired(call))
        }
        None => repaired(call),
    }
}

fn repaired(call: &ToolCall) -> Text {
    if call.repairs.is_empty() {
        return text!("read as written");
    }
    let named = call.repairs.iter().map(|repair| match repair.lossless() {
        true => text!("{name} (lossless)", name = repair.name()),
        false => text!("{name} (a guess)", name = repair.name()),
    });
    text!("repaired: {repairs}", repairs = Text::join(named, ", "))
}
