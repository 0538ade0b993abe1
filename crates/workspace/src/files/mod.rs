//! Reading, searching and listing files.

mod globs;
pub(crate) mod list;
pub(crate) mod read;
pub(crate) mod search;
