//! Settings in their layers, and what a person has allowed for a session.

#[cfg(feature = "session")]
mod answers;
#[cfg(feature = "cli")]
mod profile;
#[cfg(feature = "cli")]
mod program;
mod settings;
