//! The API Messages of Anthropic.

pub(super) mod models;
pub(super) mod reader;
pub(super) mod writer;
