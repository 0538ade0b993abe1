//! The root of a project as an open folder: from a string of the model to an open file below it.

pub(crate) mod checked;
pub(crate) mod failures;
pub(crate) mod folder;
pub(crate) mod hops;
pub(crate) mod ignores;
pub(crate) mod path_arg;
pub(crate) mod resolve;
pub(crate) mod secrets;
mod suggest;
pub(crate) mod twins;
pub(crate) mod walk;
