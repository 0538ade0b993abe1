//! The API Chat Completions of OpenAI, which is that of the upstream too.

pub(super) mod reader;
pub(super) mod writer;
