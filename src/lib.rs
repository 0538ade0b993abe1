//! Tool calls for chat models that can only talk.
//!
//! A model writes a fenced block in its plain text. This crate finds the block while the text streams, decides whether the
//! call may run, runs it, and writes the result back as plain chat text.
//!
//! ```
//! let reply = "I will look first.\n\n```tool\n{\"name\": \"read_file\", \"args\": {\"path\": \"src/main.rs\"},}\n```\n";
//! let parsed = toolfence::parse::parse(reply);
//!
//! let call = &parsed.calls[0];
//! assert_eq!(call.name, "read_file");
//! assert_eq!(call.args["path"], "src/main.rs");
//! assert_eq!(call.repairs, [toolfence::Repair::TrailingComma]); // what had to be repaired is named
//! assert!(!call.is_lossy()); // and it was no guess
//! ```
//!
//! The [guide] starts from your problem and leads to the part that you need.
//!
//! # Parts
//! | part | feature | modules |
//! |---|---|---|
//! | the protocol | none | [`parse`] finds calls in a stream, [`mod@format`] writes results, [`prompt`] and [`grammar`] tell the model how to call, [`tool`] describes tools |
//! | the policy | `policy` | [`policy`] allows, asks or denies; [`toolbox`] runs a cleared call |
//! | the session | `session` | [`session`] is the agent loop as a state machine |
//! | the tools | `tools` | [`tools`] has the built-in tools, [`workspace`] is the project they work on, [`sandbox`] what is around commands, [`undo`] takes changes back |
//! | the driver | `agent` | [`agent`] drives a session on tokio, [`backend`] answers from a recording, a program or code of yours, [`transcript`] records each turn, [`redact`] removes secrets |
//! | model servers | `backend-http` | `backend::Http` talks to servers and providers |
//! | the pipe | `pipe` | [`pipe`] speaks JSON lines with a client in any language |
//! | the proxy | `proxy` | [`proxy`] is an OpenAI-shaped server in front of one that only talks |
//!
//! The default feature is `agent`. `syntax` adds in-process checks for more languages and needs a C compiler.
//! The program `coder` and the HTTP API that it serves are packages of their own.
//!
//! # In scope
//! - Finding calls in text, under any chunking, exactly where CommonMark says that a fenced block is.
//! - Judging shell commands and paths before anything runs.
//! - Running commands so that they see little, change little and leave nothing behind; on Linux, by the kernel.
//! - Changing files completely or not at all, and taking that back.
//!
//! # Out of scope
//! - Native function calling of models that have it. The proxy offers its shape to clients, and asks the upstream for text.
//! - Inference, embeddings, memory and retrieval.
//! - User interfaces beyond a terminal.
//! - A sandbox on systems other than Linux.
//!
//! # Promises
//! What this crate re-exports is what it promises, as [the guide](crate::guide#what-stays-stable) says.
//! The crates `toolfence-*` below it are internal.
//!
//! Nothing of the protocol, the policy or the session touches a disk, a clock, a process or the network. `toolbox` looks at
//! the clock to say how long a call took.

#![cfg_attr(
    not(all(feature = "pipe", feature = "proxy")),
    allow(rustdoc::broken_intra_doc_links, reason = "the front page and the guide also name what a feature adds")
)]

// Its examples use every part, so they are tests only where every part is there.
#[cfg_attr(any(all(feature = "pipe", feature = "proxy"), not(doctest)), doc = include_str!("guide.md"))]
#[cfg_attr(
    all(doctest, not(all(feature = "pipe", feature = "proxy"))),
    doc = "A guide for embedders that starts from your problem."
)]
pub mod guide {}

pub mod format;
pub mod text;
pub mod tool;

pub use toolfence_protocol::{grammar, parse, prompt};

#[cfg(feature = "policy")]
pub mod policy;
#[cfg(feature = "session")]
pub mod session;
#[cfg(feature = "policy")]
pub use toolfence_policy::toolbox;

#[cfg(feature = "tools")]
pub mod sandbox;
#[cfg(feature = "tools")]
pub mod tools;
#[cfg(feature = "tools")]
pub mod undo;
#[cfg(feature = "tools")]
pub mod workspace;
#[cfg(feature = "agent")]
pub use toolfence_agent::redact;

#[cfg(feature = "agent")]
pub mod agent;
#[cfg(feature = "agent")]
pub mod backend;
#[cfg(feature = "agent")]
pub mod transcript;
#[cfg(feature = "pipe")]
pub use toolfence_server::pipe;

#[cfg(feature = "proxy")]
pub use toolfence_server::proxy;

pub use toolfence_protocol::{
    Args, Catalog, Dialect, Dialects, Effect, Error, ErrorCode, ErrorKind, FinishReason, Image, Language, Learned,
    Limits, Message, Output, Param, ParamKind, Repair, Result, Role, Text, ToolCall, ToolFailure, ToolResult, ToolSpec,
    close_names,
};

/// The example of the README, compiled.
#[cfg(all(doctest, feature = "tools"))]
#[doc = include_str!("../README.md")]
pub struct Readme;
