//! Anthropic's Messages API.

pub(super) mod models;
pub(super) mod reader;
pub(super) mod writer;
