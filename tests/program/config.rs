//! Tests the layers of the settings, and session permissions.

mod answers;
mod profile;
mod program;
mod settings;
