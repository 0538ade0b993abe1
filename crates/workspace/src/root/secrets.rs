//! Which names are blocked once what they name has been looked at. The rules know names alone; every tool, walk and mask asks
//! here, so that all of them agree.

use crate::root::checked::Opened;
use crate::root::resolve;
use crate::root::resolve::Last;
use crate::{Workspace, names};
use rustix::fd::{AsFd, BorrowedFd};
use rustix::fs::{FileType, Mode, OFlags};
use rustix::io::Errno;
use std::path::{Path, PathBuf};
use toolfence_rules::{Blocked, Harmless};
use toolfence_sandbox::walls::identity_of;

/// The most bytes of a file that are read to tell whether it holds certificates: bundles have a quarter of that.
const MOST_BYTES: usize = 1 << 20;

/// What PEM (RFC 7468) may hold that is no secret.
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

impl Workspace {
    /// The rule that blocks a name, in any spelling.
    pub(crate) fn blocks(&self, name: &str) -> Option<String> {
        self.blocked_by(name, None)
    }

    /// The rule that blocks a file that is open: what is looked at is the open file, whatever stands at its name by now.
    pub(crate) fn blocks_opened(&self, opened: &Opened) -> Option<String> {
        self.blocked_by(&names::text_of(&opened.name), Some(opened))
    }

    /// Whether a name is blocked, and whether only the content of the file tells, so that it has to be looked at again when it
    /// changed. Most names of a tree are answered by the rules alone.
    pub(crate) fn is_blocked(&self, name: &str) -> (bool, bool) {
        let mut judged = self.judged(name).peekable();
        if judged.peek().is_none() {
            return (false, false);
        }
        let by_content = judged.any(|blocked| blocked.unless == Some(Harmless::Certificates));
        (self.blocks(name).is_some(), by_content)
    }

    /// How many folders above a blocked file it is blocked by: moved out of these, it would not be blocked.
    pub(crate) fn folders_of_rule(&self, path: &Path) -> usize {
        let names: Vec<_> = path.iter().collect();
        let below = |from: usize| names[from..].iter().collect::<PathBuf>();
        let shortest = (0..names.len()).rev().find(|&from| self.judged(&names::text_of(&below(from))).next().is_some());
        shortest.map_or(0, |from| names.len() - 1 - from)
    }

    /// Whether what stands at this name below a folder beside the project is blocked there as it would be in the project.
    pub(crate) fn hides_beside(&self, shown: &Path, below: &Path, is_folder: bool) -> bool {
        // A toolchain has a hundred thousand files. What is above this one was asked about before it, so only rules that end
        // in its own name can block it; the longest built-in one has three names.
        let last = |count: usize| below.iter().skip(below.iter().count().saturating_sub(count)).collect::<PathBuf>();
        let near = if below.iter().nth(2).is_some() {
            last(3)
        } else {
            Path::new(shown.file_name().unwrap_or_default()).join(below)
        };
        if self.rules.is_built_in() && self.judged(&names::text_of(&near)).next().is_none() {
            return false;
        }
        // The name of the shown folder is part of rules such as `.cargo/credentials`.
        let name = shown.file_name().map_or_else(|| below.to_owned(), |name| Path::new(name).join(below));
        let is_harmless = |harmless| match harmless {
            Harmless::Certificates => open_file(&shown.join(below)).is_some_and(|opened| is_public(&opened)),
            Harmless::NoFile => is_folder,
            Harmless::Package => true,
        };
        self.judged(&names::text_of(&name)).any(|blocked| !blocked.unless.is_some_and(is_harmless))
    }

    fn judged<'r>(&'r self, name: &str) -> impl Iterator<Item = Blocked<'r>> {
        let folded = names::folded(name).and_then(|folded| self.rules.judge(&folded));
        self.rules.judge(name).into_iter().chain(folded)
    }

    fn blocked_by(&self, name: &str, opened: Option<&Opened>) -> Option<String> {
        let is_harmless = |harmless| self.is_harmless(Path::new(name), harmless, opened);
        self.judged(name)
            .find(|blocked| !blocked.unless.is_some_and(is_harmless))
            .map(|blocked| blocked.rule.to_owned())
    }

    fn is_harmless(&self, name: &Path, harmless: Harmless, opened: Option<&Opened>) -> bool {
        match (harmless, opened) {
            (Harmless::Certificates, Some(opened)) => is_public(opened),
            (Harmless::Certificates, None) => self.open_relative(name).is_ok_and(|opened| is_public(&opened)),
            (Harmless::NoFile, Some(opened)) => opened.kind() == FileType::Directory,
            (Harmless::NoFile, None) => self.follow(name).is_ok_and(|spot| spot.last == Last::Folder),
            (Harmless::Package, Some(opened)) => !self.memory.was_hidden(&identity_of(&opened.stat)),
            (Harmless::Package, None) => match resolve::stat_exact(self.root.as_fd(), name) {
                Ok(stat) => !self.memory.was_hidden(&identity_of(&stat)),
                Err(_) => true, // a link, whose target is judged by itself, or nothing
            },
        }
    }
}

/// Opens a file that is beside the project.
fn open_file(path: &Path) -> Option<Opened> {
    let fd = rustix::fs::open(path, resolve::LOOK | OFlags::NOFOLLOW, Mode::empty()).ok()?;
    let stat = rustix::fs::fstat(&fd).ok()?;
    Some(Opened { fd, stat, name: path.to_owned() })
}

/// Whether this is a file in PEM that holds nothing but what is public.
pub(crate) fn is_public(opened: &Opened) -> bool {
    opened.kind() == FileType::RegularFile
        && opened.size() <= MOST_BYTES as u64
        && content(opened.fd.as_fd()).is_ok_and(|content| content.is_some_and(|content| is_public_pem(&content)))
}

/// All of a file without moving its position; `None` where it is too long.
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
        memchr::memmem::find(&rest[..rest.len().min(64)], b"-----").map(|end| &rest[..end])
    });
    let is_known =
        |label: Option<&[u8]>| label.is_some_and(|label| PUBLIC.iter().any(|known| known.as_bytes() == label));
    let has_private = memchr::memmem::find(&content, b"PRIVATE KEY").is_some();
    !has_private && labels.next().is_some_and(is_known) && labels.all(is_known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pem_is_public_where_all_of_it_is() {
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
