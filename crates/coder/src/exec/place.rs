//! The files of an exec session in the state folder: a lock, which its host holds, and a socket.

use crate::failure::Failure;
use rustix::fs::{FlockOperation, OFlags};
use rustix::io::fcntl_dupfd_cloexec;
use std::fs::{DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tokio::net::{UnixListener, UnixStream};
use toolfence_protocol::{Text, text};
use toolfence_workspace::Digest;

/// Maximum length of a path that fits in a socket address on every system.
const MOST_PATH_BYTES: usize = 100;

/// The location of the files of one session.
pub(crate) struct SessionFiles {
    /// The folder of all sessions, which only this user can open.
    folder: PathBuf,
    /// An open handle of the folder, through which its path fits in a socket address.
    handle: OwnedFd,
    /// A hash of the project's path and the session's name.
    key: String,
}

impl SessionFiles {
    /// Creates the folder of all sessions.
    ///
    /// # Errors
    /// There is no state folder, or it belongs to another user.
    pub(crate) fn new(state: Option<&Path>, root: &Path, session: &str) -> Result<SessionFiles, Failure> {
        let Some(state) = state else {
            return Err(Failure::wrong_use(text!(
                "There is no state folder for an exec session: set HOME or XDG_STATE_HOME, or use --no-session."
            )));
        };
        let folder = state.join("exec");
        // The NUL, which no path contains, separates the two parts.
        let key = [root.as_os_str().as_encoded_bytes(), b"\0", session.as_bytes()].concat();
        let handle = open_folder(&folder).map_err(|error| failure(&folder, &error))?;
        let mut key = Digest::compute(&key).to_string();
        key.truncate(16);
        Ok(SessionFiles { folder, handle, key })
    }

    fn socket(&self) -> PathBuf {
        self.folder.join(format!("{}.sock", self.key))
    }

    fn lock(&self) -> PathBuf {
        self.folder.join(format!("{}.lock", self.key))
    }

    /// Returns a path of the socket that fits in a socket address.
    fn address(&self) -> PathBuf {
        let socket = self.socket();
        if socket.as_os_str().len() <= MOST_PATH_BYTES {
            return socket;
        }
        PathBuf::from(format!("/proc/self/fd/{}/{}.sock", self.handle.as_raw_fd(), self.key))
    }

    /// Takes the lock of the session; `None` if a host holds it or another client is starting one.
    pub(crate) fn try_lock(&self) -> Result<Option<File>, Failure> {
        let path = self.lock();
        let lock = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
        let lock = lock.map_err(|error| failure(&path, &error))?;
        match lock.try_lock() {
            Ok(()) => Ok(Some(lock)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(failure(&path, &error)),
        }
    }

    /// Takes over the lock that the client has passed as standard input.
    ///
    /// # Errors
    /// Standard input is not the lock of this session.
    pub(crate) fn inherit_lock(&self) -> Result<File, Failure> {
        let path = self.lock();
        let inherit = || {
            let lock = File::from(fcntl_dupfd_cloexec(io::stdin(), 3)?);
            let (inherited, named) = (lock.metadata()?, path.metadata()?);
            if (inherited.dev(), inherited.ino()) != (named.dev(), named.ino()) {
                return Err(io::ErrorKind::InvalidInput.into());
            }
            rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
            // Child processes must not inherit the lock.
            rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
            Ok(lock)
        };
        inherit().map_err(|error| failure(&path, &error))
    }

    /// Binds the socket. The caller holds the lock, so an existing socket belonged to a host that was killed.
    pub(crate) fn listen(&self) -> Result<UnixListener, Failure> {
        let listen = || {
            self.remove_socket();
            let listener = UnixListener::bind(self.address())?;
            std::fs::set_permissions(self.socket(), Permissions::from_mode(0o600))?;
            Ok(listener)
        };
        listen().map_err(|error| failure(&self.socket(), &error))
    }

    /// Connects to the host; `None` if no host listens.
    pub(crate) async fn connect(&self) -> Result<Option<UnixStream>, Failure> {
        match UnixStream::connect(self.address()).await {
            Ok(stream) if is_of_this_user(&stream) => Ok(Some(stream)),
            Ok(_) => Err(failure(&self.socket(), &io::ErrorKind::PermissionDenied.into())),
            Err(error) => match error.kind() {
                // `WouldBlock` means that the queue of the socket is full; the caller tries again.
                io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused | io::ErrorKind::WouldBlock => Ok(None),
                _ => Err(failure(&self.socket(), &error)),
            },
        }
    }

    /// Returns `true` if the socket exists. If no process holds the lock, it belonged to a host that was killed.
    pub(crate) fn has_socket(&self) -> bool {
        self.socket().exists()
    }

    /// Removes the socket. The caller holds the lock.
    pub(crate) fn remove_socket(&self) {
        // The socket may not exist, and binding reports every other error.
        let _ = std::fs::remove_file(self.socket());
    }
}

/// Returns `true` if the process at the other end runs as this user.
pub(crate) fn is_of_this_user(stream: &UnixStream) -> bool {
    stream.peer_cred().is_ok_and(|peer| peer.uid() == rustix::process::geteuid().as_raw())
}

fn open_folder(folder: &Path) -> io::Result<OwnedFd> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let handle = rustix::fs::open(folder, flags, rustix::fs::Mode::empty())?;
    let stat = rustix::fs::fstat(&handle)?;
    if stat.st_uid != rustix::process::geteuid().as_raw() {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    // The mode above applies only to a new folder; an existing one may be open to other users.
    if stat.st_mode & 0o077 != 0 {
        rustix::fs::fchmod(&handle, rustix::fs::Mode::RWXU)?;
    }
    Ok(handle)
}

fn failure(path: &Path, error: &io::Error) -> Failure {
    Failure::broken(text!(
        "cannot use {path} for the exec session: {error}",
        path = path.display().to_string(),
        error = Text::from(error)
    ))
}
