//! What several tests need.

use toolfence::policy::{Mode, Policy};

/// The policy with nothing set but its mode.
pub fn policy(_mode: Mode) -> Policy {
    Policy
}
