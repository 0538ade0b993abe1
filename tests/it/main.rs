//! Everything that is tested from outside, in one binary.

#[cfg(feature = "tools")]
mod tools;
