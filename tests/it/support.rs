//! What several tests need.

use toolfence::policy::{Mode, Policy};

/// The policy with nothing set but its mode.
pub(crate) fn policy(mode: Mode) -> Policy {
    Policy::default().mode(mode)
}
