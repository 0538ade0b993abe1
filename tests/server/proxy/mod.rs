//! The proxy on real sockets: an upstream that only talks on one side, a client that insists on function calling on the
//! other.

mod hostile;
mod law;
mod messages;
mod program;
mod requests;
mod responses;
mod streams;
pub(crate) mod support;
mod tool_details;
