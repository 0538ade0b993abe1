//! The crate from outside, in one binary.

#[cfg(feature = "policy")]
mod policy;
#[cfg(feature = "tools")]
mod tools;
