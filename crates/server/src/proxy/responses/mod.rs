//! The API Responses of OpenAI.

pub(super) mod reader;
pub(super) mod texts;
pub(super) mod writer;

/// The only argument of a custom tool, as the model is taught it. Its name says that it is a long text, so that it is written below
/// the object of the call.
const CUSTOM_INPUT: &str = "text";

/// The beginning of the id of an item of reasoning.
const REASONING_ID: &str = "rs";

/// The tool of a request that the model knows by another name than the client, or that is called in another way.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Origin {
    namespace: Option<String>,
    name: String,
    /// It takes one text and no object.
    is_custom: bool,
}

/// The name by which the model knows a tool of a namespace.
fn joined(namespace: &str, name: &str) -> String {
    format!("{namespace}__{name}")
}
