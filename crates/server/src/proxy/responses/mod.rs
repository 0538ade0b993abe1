//! OpenAI's Responses API.

pub(super) mod reader;
pub(super) mod texts;
pub(super) mod writer;

/// The only argument of a custom tool in the instructions. Arguments of this name hold long texts, which are written
/// below the object of the call.
const CUSTOM_INPUT: &str = "text";

/// The prefix of the ids of reasoning items.
const REASONING_ID: &str = "rs";

/// The client's view of a tool that has another name or another form of call for the model.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Origin {
    namespace: Option<String>,
    name: String,
    /// Whether its input is a text instead of an object.
    is_custom: bool,
}

/// Returns the name of a namespace's tool for the model.
fn joined(namespace: &str, name: &str) -> String {
    format!("{namespace}__{name}")
}
