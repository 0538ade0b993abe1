//! An open file below the root, with the checks of its content that rules need.

use crate::root::resolve::LOOK;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::path::{Path, PathBuf};

/// The maximum size in bytes of a file that is read to check whether it has only certificates. Usual bundles have a
/// quarter of that.
const MOST_BYTES: usize = 1 << 20;

/// Types of PEM blocks (RFC 7468) that are not secret.
const PUBLIC: &[&str] = &[
    "CERTIFICATE",
    "TRUSTED CERTIFICATE",
    "X509 CERTIFICATE",
    "X509 CRL",
    "CERTIFICATE REQUEST",
    "NEW CERTIFICATE REQUEST",
    "ATTRIBUTE CERTIFICATE",
    "PUBLIC KEY",
    "RSA PUBLIC KEY",
    "DH PARAMETERS",
    "X9.42 DH PARAMETERS",
    "EC PARAMETERS",
    "PKCS7",
];

/// An open file or folder with its status and its real name.
#[derive(Debug)]
pub(crate) struct OpenEntry {
    pub(crate) fd: OwnedFd,
    pub(crate) stat: Stat,
    /// Relative to the root, without links; "" is the root.
    pub(crate) name: PathBuf,
}

impl OpenEntry {
    /// Opens a file outside of the project.
    pub(crate) fn open_outside(path: &Path) -> Option<OpenEntry> {
        let fd = rustix::fs::open(path, LOOK | OFlags::NOFOLLOW, Mode::empty()).ok()?;
        let stat = rustix::fs::fstat(&fd).ok()?;
        Some(OpenEntry { fd, stat, name: path.to_owned() })
    }

    pub(crate) fn kind(&self) -> FileType {
        FileType::from_raw_mode(self.stat.st_mode)
    }

    pub(crate) fn size(&self) -> u64 {
        u64::try_from(self.stat.st_size).unwrap_or(0)
    }

    /// Returns `true` if this is a PEM file (RFC 7468) with nothing but public data.
    pub(crate) fn is_public_pem(&self) -> bool {
        self.kind() == FileType::RegularFile
            && self.size() <= MOST_BYTES as u64
            && content(self.fd.as_fd()).is_ok_and(|content| content.is_some_and(|content| is_public_pem(&content)))
    }
}

/// Reads the whole file without moving its position. Returns `None` if it is too long.
fn content(file: BorrowedFd<'_>) -> Result<Option<Vec<u8>>, Errno> {
    let (mut content, mut piece) = (Vec::new(), vec![0; 64 << 10]);
    loop {
        match rustix::io::pread(file, &mut piece, content.len() as u64) {
            Ok(0) => return Ok(Some(content)),
            Ok(read) if content.len() + read > MOST_BYTES => return Ok(None),
            Ok(read) => content.extend_from_slice(&piece[..read]),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
}

fn is_public_pem(content: &[u8]) -> bool {
    const BEGIN: &[u8] = b"-----BEGIN ";
    let content = content.to_ascii_uppercase();
    let mut labels = memchr::memmem::find_iter(&content, BEGIN).map(|at| {
        let rest = &content[at + BEGIN.len()..];
        // No known label is as long as the searched part.
        memchr::memmem::find(&rest[..rest.len().min(64)], b"-----").map(|end| &rest[..end])
    });
    let is_known =
        |label: Option<&[u8]>| label.is_some_and(|label| PUBLIC.iter().any(|known| known.as_bytes() == label));
    let has_private = memchr::memmem::find(&content, b"PRIVATE KEY").is_some();
    // A file without any label is not a PEM file.
    !has_private && labels.next().is_some_and(is_known) && labels.all(is_known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pem_is_public_if_every_block_is() {
        for (content, want) in [
            ("-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----\n", true),
            ("# of whom\n-----BEGIN CERTIFICATE-----\nx\n-----BEGIN PUBLIC KEY-----\n", true),
            ("-----BEGIN CERTIFICATE-----\n-----BEGIN RSA PRIVATE KEY-----\n", false),
            ("-----BEGIN CERTIFICATE-----\n-----begin private key-----\n", false),
            ("-----BEGIN CERTIFICATE-----\n---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\n", false),
            ("-----BEGIN OPENSSH PRIVATE KEY-----\n", false),
            ("-----BEGIN PGP MESSAGE-----\n", false),
            ("-----BEGIN CERTIFICATE", false),
            ("", false),
            ("MIIEowIBAAKCAQEA", false),
        ] {
            assert_eq!(is_public_pem(content.as_bytes()), want, "{content}");
        }
    }
}
