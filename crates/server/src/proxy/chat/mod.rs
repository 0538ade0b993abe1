//! OpenAI's Chat Completions API, which the upstream uses too.

pub(super) mod reader;
pub(super) mod writer;
