//! A message of the conversation, as every backend understands it.

use crate::Image;
use serde::{Deserialize, Serialize};

/// The author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The instructions.
    System,
    /// The user, or the results of the model's calls.
    User,
    /// The model.
    Assistant,
}

/// One message: plain text, and the images that a user attaches. Results are user messages, so a backend needs no
/// support for tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// The author.
    pub role: Role,
    /// The text.
    pub content: String,
    /// The images that the user attached.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
}

impl Message {
    /// Creates a message with the given role, without images.
    pub fn new(role: Role, content: impl Into<String>) -> Message {
        Message { role, content: content.into(), images: Vec::new() }
    }
}

/// How a model's reply ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum FinishReason {
    /// The model stopped by itself.
    Stop,
    /// The backend's length limit was reached.
    Length,
    /// The stream broke off because of the connection, a timeout or a cancellation.
    Cut,
}

impl FinishReason {
    /// Returns `true` if the reply may have been cut off.
    pub(crate) fn is_early(self) -> bool {
        matches!(self, FinishReason::Length | FinishReason::Cut)
    }
}
