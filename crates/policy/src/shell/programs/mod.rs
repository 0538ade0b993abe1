//! What is known of programs.

pub(crate) mod advice;
pub(crate) mod arguments;
mod languages;
pub(crate) mod options;
mod shells;
pub(crate) mod table;
mod wrapper_table;
pub(crate) mod wrappers;
