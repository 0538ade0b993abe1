//! Settings in their layers, and what a person has allowed for a session.

mod answers;
mod profile;
mod program;
mod settings;
