//! Names that cannot be guessed.

use std::io;

/// Returns sixteen random hexadecimal digits for a name that cannot be guessed.
///
/// # Errors
/// The system has no random numbers.
pub fn random_name() -> io::Result<String> {
    let mut random = [0; 8];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    Ok(format!("{:016x}", u64::from_ne_bytes(random)))
}
