//! The proxy on real sockets, between an upstream that supports only text and clients that require function calling.

mod hostile;
mod law;
mod messages;
mod program;
mod requests;
mod responses;
mod streams;
pub(crate) mod support;
mod tool_details;
