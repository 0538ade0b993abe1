//! Reads JSON, strictly or with the repairs that a model's JSON needs, and names each repair.
//!
//! ```
//! use toolfence::parts::json::{read, strict};
//!
//! assert!(strict("{'path': 'a',}").is_err());
//! let reading = read("{'path': 'a',}", true)?;
//! assert_eq!(reading.values[0]["path"], "a");
//! assert!(!reading.repairs.is_empty() && reading.is_lossless());
//! # Ok::<(), toolfence::parts::json::Problem>(())
//! ```

pub use toolfence_protocol::json::{Problem, Reading, Status, read, strict};
