//! The digest that identifies stored content.

use crate::encoding::{bytes_of, hex};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::fmt;

/// The SHA-256 of a file's content.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Digest([u8; 32]);

impl Digest {
    /// Returns the digest of these bytes.
    pub fn compute(content: &[u8]) -> Digest {
        Digest(Sha256::digest(content).into())
    }

    /// Returns the first 16 hexadecimal digits, which are enough to name the folder of a project.
    pub(crate) fn short(&self) -> String {
        hex(&self.0[..8])
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> String {
        hex(&digest.0)
    }
}

impl TryFrom<String> for Digest {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Digest, Self::Error> {
        let bytes = bytes_of(&text).and_then(|bytes| bytes.try_into().ok());
        bytes.map(Digest).ok_or("64 hexadecimal digits are wanted")
    }
}
