//! What of a change is new, and what no text may do to the checks.

#[cfg(feature = "syntax")]
mod cases;
mod hostile;
