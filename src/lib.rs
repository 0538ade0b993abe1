//! Tool calls for chat models that can only talk.
//!
//! A model writes a fenced block in its plain text. This crate finds the block while the text streams, decides whether the
//! call may run, runs it in a sandbox, and writes the result back as plain chat text.
//!
//! There are three uses. The [guide] explains each of them.
//!
//! | you have | you use | example |
//! |---|---|---|
//! | replies of a model, and tools of your own | [`Parser`], or [`parse()`] for a whole reply | `examples/parser_only.rs` |
//! | a chat client that sends messages and gets replies | [`Tools`] | `examples/chat_tools.rs` |
//! | a model, and no client yet | [`Agent`] with a [`Backend`] and a [`Host`] | `examples/whole_loop.rs` |
//!
//! ```
//! let reply = "I will look first.\n\n```tool\n{\"name\": \"read_file\", \"args\": {\"path\": \"src/main.rs\"},}\n```\n";
//! let parsed = toolfence::parse(reply);
//!
//! let call = &parsed.calls[0];
//! assert_eq!(call.name, "read_file");
//! assert_eq!(call.args["path"], "src/main.rs");
//! assert_eq!(call.repairs, [toolfence::Repair::TrailingComma]); // every repair has a name
//! assert!(!call.is_lossy()); // and this one was not a guess
//! ```
//!
//! # Features
//! Without features the crate is the protocol: the parser, the repair of JSON, the instructions and the format of results. `agent`,
//! the default, adds the tools, the rules, the sandbox, undo and the loop. `http-backend` adds `Http`,
//! a backend for model servers. `syntax` checks changed files in more languages in process and needs a C compiler. `pipe` and
//! `proxy` serve clients in other languages. The program `coder` is a package of its own.
//!
//! # What stays stable
//! Versions follow semantic versioning. Until 1.0 a minor version may break; the changelog says where. The crates `toolfence-*`
//! are internal, and anything in them may change in any version.

#![forbid(unsafe_code)]

#[cfg_attr(feature = "agent", doc = include_str!("guide.md"))]
#[cfg_attr(not(feature = "agent"), doc = "A guide to the three uses. It needs the feature `agent`.")]
pub mod guide {}

// The protocol.
pub use toolfence_protocol::format::{Format, results};
pub use toolfence_protocol::parse::{Event, Options, Parser, Reasoning, parse};
pub use toolfence_protocol::prompt::instructions;
pub use toolfence_protocol::{
    Catalog, Effect, Error, ErrorCode, ErrorKind, FinishReason, Language, Limits, Message, Output, Param, ParamKind,
    Repair, Role, ToolCall, ToolFailure, ToolResult, ToolSpec,
};

// The tools of a project, and the rules for them.
#[cfg(feature = "agent")]
pub use toolfence_agent::tools::{PendingReply, Question, ReplyStep, Tools, ToolsBuilder};
#[cfg(feature = "agent")]
pub use toolfence_policy::Settings as Rules;
#[cfg(feature = "agent")]
pub use toolfence_policy::toolbox::{BoxFuture, Permit, Progress, Tool, ToolError, tool_fn};
#[cfg(feature = "agent")]
pub use toolfence_sandbox::isolation::Settings as Sandbox;
#[cfg(feature = "agent")]
pub use toolfence_workspace::undo::Outcome as Undone;

// The whole loop.
#[cfg(feature = "agent")]
pub use toolfence_agent::agent::{Agent, Host};
#[cfg(feature = "http-backend")]
pub use toolfence_agent::backend::http::{Http, HttpOptions};
#[cfg(feature = "agent")]
pub use toolfence_agent::backend::{Backend, Chunk, Sink, backend_fn};
#[cfg(feature = "agent")]
pub use toolfence_policy::Pending;
#[cfg(feature = "agent")]
pub use toolfence_session::{Answer, StopReason};

// Servers for clients in other languages.
#[cfg(feature = "pipe")]
pub use toolfence_server::pipe;
#[cfg(feature = "proxy")]
pub use toolfence_server::proxy;

/// Turns this process into the helper that sets up the sandbox around a command, if it was started as that helper; otherwise does
/// nothing. Call it in the first line of `main`, before other threads exist: without it commands do not run in the sandbox.
///
/// ```
/// toolfence::enter_if_asked();
/// ```
#[cfg(feature = "agent")]
pub fn enter_if_asked() {
    toolfence_sandbox::isolation::enter_if_asked();
}

/// The example of the README, compiled.
#[cfg(all(doctest, feature = "agent"))]
#[doc = include_str!("../README.md")]
pub struct Readme;
