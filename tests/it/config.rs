//! Settings in their layers, and what a person has allowed for a session.

mod answers;
#[cfg(feature = "cli")]
mod program;
mod settings;
