//! The protocol of `toolfence`: what calls and results are, and how they are written in and read from the plain text of
//! a chat model.
//!
//! This crate parses replies while they stream, repairs broken JSON, writes results and instructions, and builds
//! grammars for constrained models. It does not decide whether a call may run and it runs nothing: it touches no file,
//! no process, no clock, no environment and no network.
//!
//! It is internal and may change in any version. Users depend on the crate `toolfence`, which re-exports the public
//! items.

#![forbid(unsafe_code)]

pub mod call;
pub mod clip;
pub mod dialect;
pub mod error;
pub mod fence;
pub mod format;
pub mod grammar;
pub mod image;
pub mod invisible;
pub mod json;
pub mod learned;
pub mod limits;
pub mod message;
pub mod outcome;
pub mod parse;
pub mod prompt;
mod readings;
pub mod reply;
mod schema;
pub mod search_replace;
pub mod text;
pub mod tool;

pub use call::{Args, Repair, ToolCall};
pub use dialect::{Dialect, Dialects};
pub use error::{Error, ErrorKind, Result};
pub use image::Image;
pub use learned::Learned;
pub use limits::Limits;
pub use message::{FinishReason, Message, Role};
pub use outcome::{ErrorCode, Output, ToolFailure, ToolResult, close_names};
pub use text::{Language, Text};
pub use tool::{Catalog, Effect, Param, ParamKind, Request, ToolSpec};
