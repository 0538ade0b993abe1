//! New errors of a change, and limits of the checks.

mod cases;
mod hostile;
