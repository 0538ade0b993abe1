//! Whether a file still has the content that was read.

use std::hash::{DefaultHasher, Hasher};

/// Bytes that go into the hash at once. A reader that hashes a file piece by piece takes pieces of this length.
pub(crate) const PIECE: usize = 128 << 10;

/// The content of a file, told from others by a hash of 64 bits: for a host that wants to know whether a file changed since
/// it was read. Versions of one program compare; they are not to be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Version(u64);

impl Version {
    /// The version of these bytes.
    pub fn of(content: &[u8]) -> Version {
        let mut hashing = Hashing::default();
        content.chunks(PIECE).for_each(|piece| hashing.add(piece));
        hashing.finish()
    }
}

/// The hash as it grows. All pieces but the last have the same length.
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
