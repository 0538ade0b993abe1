//! What was found in a reply, as a person wants to read it.

use crate::messages;
use serde_json::Value;
use toolfence_protocol::parse::{Event, Ignored};
use toolfence_protocol::text;
use toolfence_protocol::{Text, ToolCall};

/// One event as a person wants to read it.
pub(crate) fn explained(event: &Event<'_>) -> Text {
    match event {
        Event::Text { text, span } => messages::found_text(span.start, span.end, format!("{text:?}")),
        Event::Reasoning { unopened: true, span, .. } => messages::found_unopened_reasoning(span.start, span.end),
        Event::Reasoning { text, span, closed: Some(false), .. } => {
            messages::found_open_reasoning(span.start, span.end, format!("{text:?}"))
        }
        Event::Reasoning { text, span, .. } => messages::found_reasoning(span.start, span.end, format!("{text:?}")),
        Event::Started { id, name } => messages::found_start(&**id, &**name),
        Event::Progress { id, arg, text } => messages::found_progress(&**id, &**arg, format!("{text:?}")),
        Event::Call { call, index, span, .. } => {
            let args = Value::Object(call.args.clone()).to_string();
            messages::found_call(span.start, span.end, *index, &call.id, &call.name, args, repairs(call))
        }
        Event::Malformed { error, span, .. } => {
            messages::found_malformed(span.start, span.end, error.line, error.column, error.message.clone())
        }
        Event::Incomplete { span, .. } => messages::found_incomplete(span.start, span.end),
        Event::Ignored { why, span, .. } => messages::found_ignored(span.start, span.end, why_ignored(*why)),
        Event::ForgedResult { span, .. } => messages::found_forged(span.start, span.end),
        other => format!("{other:?}").into(),
    }
}

/// Why a call does not count where it stands.
fn why_ignored(why: Ignored) -> Text {
    match why {
        Ignored::Quote => messages::ignored_in_quote(),
        Ignored::OuterFence => messages::ignored_in_fence(),
        Ignored::Html => messages::ignored_in_html(),
        Ignored::Indentation => messages::ignored_indented(),
        Ignored::InfoWord => messages::ignored_info_word(),
        Ignored::Unfenced => messages::ignored_unfenced(),
        Ignored::NotAtLineStart => messages::ignored_behind_text(),
        Ignored::WrongForm => messages::ignored_wrong_form(),
        Ignored::Reasoning => messages::ignored_thought(),
        Ignored::LastRound => text!("the last round is over: no call runs"),
        other => format!("{other:?}").into(),
    }
}

fn repairs(call: &ToolCall) -> Text {
    match call.dialect {
        Some(dialect) => messages::in_dialect(dialect.name(), repaired(call)),
        None => repaired(call),
    }
}

fn repaired(call: &ToolCall) -> Text {
    if call.repairs.is_empty() {
        return messages::read_as_written();
    }
    let named = call.repairs.iter().map(|repair| match repair.lossless() {
        true => messages::lossless_repair(repair.name()),
        false => messages::guessed_repair(repair.name()),
    });
    messages::mended(Text::join(named, ", "))
}
