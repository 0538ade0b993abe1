//! Changing files: all of a change or nothing.

pub(crate) mod commit;
#[cfg(test)]
mod crash;
pub(crate) mod draft;
pub(crate) mod edit;
pub(crate) mod journal;
pub(crate) mod patch;
pub(crate) mod record;
pub(crate) mod temp;
pub(crate) mod write;
