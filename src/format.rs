//! Writes the results of a reply as one message of plain chat text, which cannot be read as a call.

pub use toolfence_protocol::format::{Format, Kind, results};
