//! What several tests need.

use toolfence::policy::{Mode, Policy};

/// The policy with nothing set but its mode.
pub fn policy(mode: Mode) -> Policy {
    Policy(mode)
}
