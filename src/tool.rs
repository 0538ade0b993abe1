//! What a tool is: its name, its arguments, its effect; and the catalog of those a session offers.
//!
//! This module runs nothing and knows no files. One [`ToolSpec`] feeds validation, instructions, help and grammar.
//! [`builtins`] are the tools that come with this crate; the parser, the policy and the instructions know them only where
//! they are given a catalog with them, such as [`catalog()`].

pub use toolfence_protocol::tool::{Catalog, Effect, Param, ParamKind, Request, ToolSpec};
pub use toolfence_toolset::{builtins, catalog};
