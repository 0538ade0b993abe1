//! What of a change is new, and what no text may do to the checks.

mod cases;
mod hostile;
