//! What the proxy itself says to the model, and to the client where the model's reply is of no use.

use super::offer::Choice;
use toolfence_protocol::Language;
use toolfence_protocol::parse::ReadError;
use toolfence_protocol::{ErrorCode, ToolCall, ToolFailure, ToolResult};

/// Below the instructions, where the request narrows what may be called.
pub(super) fn choice(choice: &Choice, several: bool, language: Language) -> String {
    let (must, this, one) = match language {
        Language::Portuguese => (
            "- Sua próxima resposta tem de chamar uma ferramenta.\n",
            "- Sua próxima resposta tem de chamar a ferramenta",
            "- Escreva só uma chamada por resposta.\n",
        ),
        _ => (
            "- Your next reply must call a tool.\n",
            "- Your next reply must call the tool",
            "- Write only one call a reply.\n",
        ),
    };
    let wanted = match choice {
        Choice::Auto | Choice::None => String::new(),
        Choice::Required => must.to_owned(),
        Choice::This(name) => format!("{this} `{name}`.\n"),
    };
    format!("{wanted}{}", if several { "" } else { one })
}

/// The reply had to hold a call and holds none.
pub(super) fn no_call(choice: &Choice) -> String {
    match choice {
        Choice::This(name) => format!("Your reply calls no tool. It must call the tool `{name}`: write that call now."),
        _ => "Your reply calls no tool. It must call one: write that call now.".to_owned(),
    }
}

/// The answer to a block that could not be read.
pub(super) fn malformed(error: &ReadError) -> String {
    let ReadError { message, line, column, .. } = error;
    format!("This block could not be read, at line {line}, column {column} of your reply: {message}")
}

/// The answer to a call that was read by a guess.
pub(super) fn lossy(call: &ToolCall) -> String {
    let named: Vec<&str> =
        call.repairs.iter().filter(|repair| !repair.lossless()).map(|repair| repair.name()).collect();
    let (reading, repairs) = (serde_json::to_string(&call.args).unwrap_or_default(), named.join(", "));
    let mut short: String = reading.chars().take(400).collect();
    if short.len() < reading.len() {
        short.push_str("...");
    }
    format!(
        "This block is not exact JSON ({repairs}). It may mean {short}, but that is a guess. Send the call again, exactly."
    )
}

pub(super) const BROKE_OFF: &str =
    "The reply ended inside this block. Send the whole block again from its opening fence.";

pub(super) const NOT_RUN: &str =
    "Not run: another block of this reply could not be used. Send this call again too if it is still right.";

/// A result that says why a call was not passed on.
pub(super) fn refused(
    id: &str,
    tool: &str,
    code: ErrorCode,
    message: impl Into<toolfence_protocol::Text>,
) -> ToolResult {
    ToolResult::refused(id, tool, ToolFailure::new(code, message))
}
