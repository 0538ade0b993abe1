//! What a tool is: its name, its arguments, its effect; and the catalog of those a session offers.
//!
//! This module runs nothing and knows no files. One [`ToolSpec`] feeds validation, instructions, help and grammar.
//! [`catalog()`] has the tools that come with this crate; the parser, the policy and the instructions know them only where they
//! are given a catalog with them.

#[cfg(feature = "policy")]
pub use toolfence_policy::toolset::catalog;
pub use toolfence_protocol::tool::{Catalog, Effect, Param, ParamKind, Request, ToolSpec};
