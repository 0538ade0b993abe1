//! A line of the conversation, as every backend understands it.

use crate::Image;
use serde::{Deserialize, Serialize};

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The instructions.
    System,
    /// The person, or the results of the model's calls.
    User,
    /// The model.
    Assistant,
}

/// One message: plain text, and images where a user shows some. Results are user messages: a backend needs no notion of tools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub content: String,
    /// What the user shows the model with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
}

impl Message {
    /// A message of the given role, without images.
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
    /// The stream broke off: the connection, a time-out, a cancel.
    Cut,
}

impl FinishReason {
    /// Whether the reply may have gone on.
    pub(crate) fn is_early(self) -> bool {
        matches!(self, FinishReason::Length | FinishReason::Cut)
    }
}
