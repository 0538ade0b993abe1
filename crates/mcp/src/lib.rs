//! The client for servers of the Model Context Protocol (MCP): programs whose tools a session can call.
//!
//! The command runner starts a [`Server`], in the sandbox if one is available, and the client exchanges lines of
//! JSON-RPC with it over its stdin and stdout. [`Server::tools`] makes a [`Tool`](toolfence_policy::toolbox::Tool) of
//! each of its tools. Before a model sees the tools, the user must trust the command and the list of tools that the
//! server returned. If the server returns another list later, its calls are refused.
//!
//! This crate does not decide whether a server is trusted or whether a call may run, and it reads no settings. The only
//! transport is stdio. The client offers servers no optional features: no roots, no sampling, no elicitation.
//!
//! Architecture invariant: whatever a server writes, the client uses bounded time and memory and reports the outcome.
//!
//! # Why no library
//! A program that uses only the client of `rmcp` 3.11, over a pair of pipes, was compared with the same program on
//! `tokio` and `serde_json`. With `rmcp` the stripped program is 1,110 kB larger (1,588 kB and 475 kB, optimised for
//! size). A first build costs 21 s more CPU time in the dev profile (41 s and 20 s) and 39 s more in the release
//! profile, and it adds ten crates. `rmcp` bounds neither the length of a line nor the length of a list of tools. A
//! client that only calls tools needs four requests and three notifications of the protocol, which take a few hundred
//! lines here.
//!
//! This crate is internal. Only the crate `toolfence`, which re-exports the public API, promises stability.

#![forbid(unsafe_code)]

mod client;
mod content;
mod image_structure;
mod lines;
mod offer;
mod server;
mod tool;
mod wire;

pub use server::{Health, Server, ServerOptions};
pub use tool::ServedTool;
