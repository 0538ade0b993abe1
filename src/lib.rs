//! Tool calls for chat models that can only talk.
//!
//! A model writes a fenced block in its plain text. This crate finds it while the text streams, decides whether it may
//! run, runs it, and writes the result back as plain chat text.
//!
//! # The floors
//! | floor | feature | what is there |
//! |---|---|---|
//! | the protocol | none | [`parse`], [`json`], [`mod@format`], [`prompt`], [`grammar`], [`tool`], [`redact`] and the words everybody uses |
//! | patches | `patch` | `patch`: patch text to hunks, to where they stand, to new text |
//! | the policy | `policy` | `policy`: allow, ask or deny; `toolbox`: what runs a cleared call; `session`: the agent loop as a machine |
//! | the hands | `tools` | `validate`: what is wrong with a text before and after a change; `workspace`, `walls`, `process`, `tools`; `trial`: breaks the walls to see whether they hold; `audit`: the log; `undo`: what turns changed, to take it back |
//! | the road | `backend` | `backend`: whoever answers; `agent`: drives a session; `pipe`: JSON lines for a client in any language |
//! | the proxy | `http` | `proxy`: an OpenAI-shaped server in front of one that only talks |
//!
//! The `guide` starts from your problem and leads to the floor you need.
//!
//! Nothing of the protocol, the policy or the session touches a disk, a clock, a process or the network; `toolbox` only
//! looks at the clock, to say how long a call took.

#[cfg(feature = "http")]
#[doc = include_str!("guide.md")]
pub mod guide {}

#[cfg(feature = "tools")]
pub mod audit;
#[cfg(feature = "tools")]
mod git;
#[cfg(feature = "tools")]
pub mod process;
#[cfg(feature = "tools")]
pub mod tools;
#[cfg(feature = "tools")]
pub mod trial;
#[cfg(feature = "tools")]
pub mod undo;
#[cfg(feature = "tools")]
pub mod walls;
#[cfg(feature = "tools")]
pub mod workspace;

#[cfg(feature = "backend")]
pub mod agent;
#[cfg(feature = "backend")]
pub mod backend;
#[cfg(feature = "backend")]
pub mod pipe;

#[cfg(feature = "http")]
pub mod proxy;

/// What the helper does that waits for the end of its host: it is asked for by a module that knows no project.
#[cfg(all(feature = "tools", target_os = "linux"))]
fn settle_for_a_host() -> i32 {
    workspace::settle_for_a_host()
}

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
pub mod validate;
pub use toolfence_protocol::{
    call, clip, error, fence, format, grammar, json, message, outcome, parse, prompt, redact, tool,
};

pub use call::{Args, Repair, ToolCall};
pub use error::{Error, Result};
pub use message::{FinishReason, Message, Role};
pub use outcome::{ErrorCode, Output, ToolFailure, ToolResult, close_names};
pub use tool::{Catalog, Effect, Param, ParamKind, ToolSpec};

/// The example of the README, compiled.
#[cfg(all(doctest, feature = "tools"))]
#[doc = include_str!("../README.md")]
pub struct Readme;
