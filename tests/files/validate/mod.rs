//! Tests which errors of a changed text are new, and the limits of the checks.

mod cases;
mod hostile;
