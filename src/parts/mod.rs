//! The parts that the tools are made of, for hosts with an idea of their own of what a tool is.
//!
//! Each part works without a model and without a protocol: texts or requests in, typed results out. Their documentation is
//! complete and their laws are tested, but their types are many and follow what the tools need. So they are no part of what
//! [the guide](crate::guide#what-stays-stable) promises: a type here may change in any version, and the changelog says so.
//!
//! | part | what it does |
//! |---|---|
//! | `json` | reads JSON, strictly or with the repairs that a model's JSON needs |
//! | `files` | reads, lists, searches and changes the files below one root |
//! | `patch` | turns patch text into hunks, finds where they stand, and makes the new text |
//! | `validate` | says what a change made worse in a text |

#[cfg(feature = "tools")]
pub mod files;
pub mod json;
#[cfg(feature = "patch")]
pub mod patch;
#[cfg(feature = "tools")]
pub mod validate;
