//! Detects whether a file still has the content that was read.

use std::hash::{DefaultHasher, Hasher};

/// The number of bytes that are hashed at once. A reader that hashes a file in pieces must use pieces of this length.
pub(crate) const PIECE: usize = 128 << 10;

/// A 64-bit hash of a file's content, by which a host can detect whether the file changed since it was read. Versions
/// can only be compared within one program and must not be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Version(u64);

impl Version {
    /// Returns the version of these bytes.
    pub fn compute(content: &[u8]) -> Version {
        let mut hashing = Hashing::default();
        content.chunks(PIECE).for_each(|piece| hashing.add(piece));
        hashing.finish()
    }
}

/// An incremental hash. All pieces but the last have the length [`PIECE`].
#[derive(Default)]
pub(crate) struct Hashing(DefaultHasher);

impl Hashing {
    pub(crate) fn add(&mut self, piece: &[u8]) {
        self.0.write(piece);
    }

    pub(crate) fn finish(&self) -> Version {
        Version(self.0.finish())
    }
}
