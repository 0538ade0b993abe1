//! Texts for people and models as data: a key, fields, and the words of each language.
//!
//! A [`Text`] is shown in a [`Language`]; what shows it without one shows English.

pub use toolfence_protocol::text::{Language, Text};
