//! The built-in tools as one toolbox, the runner of their commands, and the checks of what they change.

pub use toolfence_tools::validate::Checker;
pub use toolfence_tools::{Checks, CommandRunner, Plan, ProjectChecks, checked, standard};
