//! Names that cannot be guessed.

use std::io;

/// Sixteen hexadecimal digits of the system's randomness, for a name that cannot be guessed or taken before.
///
/// # Errors
/// The system has no randomness.
pub fn random_name() -> io::Result<String> {
    let mut random = [0; 8];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    Ok(format!("{:016x}", u64::from_ne_bytes(random)))
}
