//! The client of servers of the Model Context Protocol (MCP): programs whose tools join those of a session.
//!
//! A [`Server`] is started by the command runner, in the sandbox where there is one, and is talked with in lines of JSON-RPC on its
//! stdin and stdout. [`Server::tools`] makes a [`Tool`](toolfence_policy::toolbox::Tool) of each of its tools. [`Server::told`] is all that a
//! person has to trust before a model reads it: the command, and what the server says of its tools. Where a server says something
//! else later, its calls are refused.
//!
//! This crate does not decide whether a server is trusted or whether a call may run, and it reads no settings. It knows no
//! transport but stdio, and gives servers none of a client's abilities: no roots, no sampling, no elicitation.
//!
//! Architecture invariant: whatever a server writes, the outcome is bounded in time and memory, and it is told.
//!
//! # Why no library
//! `rmcp` 3.11 with its client alone, over a pair of pipes, was measured beside the same program with `tokio` and `serde_json` only.
//! It makes the stripped program 1,110 kB larger (1,588 kB and 475 kB, optimised for size), and a first build in the dev profile
//! costs 21 s of CPU more (41 s and 20 s), in the release profile 39 s; ten crates of it are not here otherwise. It bounds neither
//! the length of a line nor the length of a list of tools. What a client of tools needs of the protocol is four requests and three
//! notifications, which this crate has in a few hundred lines.
//!
//! It is internal: only the crate `toolfence`, which re-exports what is for users, makes promises.

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
