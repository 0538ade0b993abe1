//! Tool calls for chat models that can only talk.
//!
//! A model writes a fenced block in its plain text. This crate finds it while the text streams, decides whether it may
//! run, runs it, and writes the result back as plain chat text.
//!
//! # The parts
//! | part | feature | what is there |
//! |---|---|---|
//! | the protocol | none | [`parse`], [`json`], [`mod@format`], [`prompt`], [`grammar`], [`tool`], [`redact`] and the words everybody uses |
//! | patches | `patch` | `patch`: patch text to hunks, to where they stand, to new text |
//! | the policy | `policy` | `policy`: allow, ask or deny; `toolbox`: what runs a cleared call; `session`: the agent loop as a machine |
//! | the tools | `tools` | `validate`: what is wrong with a text before and after a change; `workspace`, `walls`, `process`, `tools`; `trial`: breaks the walls to see whether they hold; `audit`: the log; `undo`: what turns changed, to take it back |
//! | the driver | `backend` | `backend`: whoever answers; `agent`: drives a session; `pipe`: JSON lines for a client in any language |
//! | the proxy | `http` | `proxy`: an OpenAI-shaped server in front of one that only talks |
//!
//! The `guide` starts from your problem and leads to the part you need.
//!
//! The parts are crates of their own, named `toolfence-*`. They are internal: what this crate re-exports is what it promises.
//!
//! Nothing of the protocol, the policy or the session touches a disk, a clock, a process or the network; `toolbox` only
//! looks at the clock, to say how long a call took.

#[cfg(feature = "http")]
#[doc = include_str!("guide.md")]
pub mod guide {}

pub mod tool;

pub use toolfence_protocol::{
    call, clip, error, fence, format, grammar, invisible, json, message, outcome, parse, prompt, redact,
};

#[cfg(feature = "patch")]
pub use toolfence_patch as patch;

#[cfg(feature = "policy")]
pub mod policy;
#[cfg(feature = "policy")]
pub mod session;
#[cfg(feature = "policy")]
pub use toolfence_session::persona;
#[cfg(feature = "policy")]
pub use toolfence_toolbox as toolbox;

#[cfg(feature = "tools")]
pub mod process;
#[cfg(feature = "tools")]
pub mod undo;
#[cfg(feature = "tools")]
pub mod validate;
#[cfg(feature = "tools")]
pub mod walls;
#[cfg(feature = "tools")]
pub mod workspace;
#[cfg(feature = "tools")]
pub use toolfence_agent::audit;
#[cfg(feature = "tools")]
pub use toolfence_tools as tools;
#[cfg(feature = "tools")]
pub use toolfence_trial as trial;

#[cfg(feature = "backend")]
pub mod agent;
#[cfg(feature = "backend")]
pub use toolfence_agent::backend;
#[cfg(feature = "backend")]
pub use toolfence_server::pipe;

#[cfg(feature = "http")]
pub use toolfence_server::proxy;

pub use toolfence_protocol::{
    Args, Catalog, Effect, Error, ErrorCode, FinishReason, Message, Output, Param, ParamKind, Repair, Result, Role,
    ToolCall, ToolFailure, ToolResult, ToolSpec, close_names,
};

/// The example of the README, compiled.
#[cfg(all(doctest, feature = "tools"))]
#[doc = include_str!("../README.md")]
pub struct Readme;
