//! The message to a supervisor: text with descriptors.

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags};
use std::io::{self, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use toolfence_protocol::text;

/// The most descriptors of a message: four of a session, and the stdin of the command.
pub(crate) const MOST_DESCRIPTORS: usize = 5;

/// A message to a supervisor, which reads it from the socket that is its stdin.
///
/// Two messages are equal if they have the same text and share one list of descriptors.
#[derive(Debug, Clone)]
pub struct Message {
    text: Vec<u8>,
    descriptors: Arc<[OwnedFd]>,
}

impl Message {
    /// Creates a message with descriptors that the supervisor keeps for itself.
    pub fn new(text: Vec<u8>, descriptors: Arc<[OwnedFd]>) -> Message {
        Message { text, descriptors }
    }

    /// Returns the text of the message.
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// Sends the first byte of the text together with all descriptors: those of the message, followed by the stdin of
    /// the command. Returns the rest of the text. The socket must be new, so that it takes a byte without waiting. See
    /// unix(7) for `SCM_RIGHTS`.
    pub(crate) fn begin(&self, line: BorrowedFd<'_>, of_command: Option<BorrowedFd<'_>>) -> io::Result<&[u8]> {
        let (first, rest) = self.text.split_at(self.text.len().min(1));
        let own = self.descriptors.iter().map(AsFd::as_fd);
        let descriptors: Vec<BorrowedFd<'_>> = own.chain(of_command).collect();
        send_with(line, first, &descriptors)?;
        Ok(rest)
    }
}

impl From<Vec<u8>> for Message {
    fn from(text: Vec<u8>) -> Message {
        Message { text, descriptors: Arc::default() }
    }
}

impl PartialEq for Message {
    fn eq(&self, other: &Message) -> bool {
        let none = self.descriptors.is_empty() && other.descriptors.is_empty();
        self.text == other.text && (none || Arc::ptr_eq(&self.descriptors, &other.descriptors))
    }
}

impl Eq for Message {}

/// Sends bytes and descriptors in one call.
pub(crate) fn send_with(line: BorrowedFd<'_>, bytes: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() && !control.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(io::Error::other(text!("there is no room for a descriptor")));
    }
    rustix::net::sendmsg(line, &[IoSlice::new(bytes)], &mut control, SendFlags::empty())?;
    Ok(())
}
