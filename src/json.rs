//! Reads JSON, strictly or with the repairs that a model's JSON needs, and names each repair.

pub use toolfence_protocol::json::{Problem, Reading, Status, read, strict};
