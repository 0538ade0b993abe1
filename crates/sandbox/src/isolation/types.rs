//! The public types of the sandbox.

use crate::process::Message;
use crate::project::Mask;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use toolfence_protocol::Text;

/// The sandbox to set up around every command.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// Which files a command may change.
    pub mode: Mode,
    /// Whether every command may use the network. A sandbox with network does not count as holding.
    pub network: bool,
    /// Processes and threads that a command may have at a time: at least 301, which is the kernel's own minimum.
    pub processes: u32,
    /// Bytes of memory that a command may use with all processes that it starts, with or without the sandbox; 0 for no
    /// limit. The default is half of the machine's memory, but at most 8 GiB. Files in its private folders do not
    /// count: they may use half as much in addition.
    pub memory: u64,
    /// The helper, if it is not the default one.
    pub helper: Option<PathBuf>,
    /// The strongest kind of sandbox that is tried.
    pub at_most: Kind,
    /// A container to use instead of all other kinds. If it is not available, commands cannot run in a sandbox at all.
    pub container: Option<Container>,
}

/// A container to run commands in.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Container {
    /// The engine.
    pub(super) engine: Engine,
    /// The image, which must exist locally, since nothing is downloaded. It needs bash.
    pub image: String,
    /// The engine's client, if it is not the one in the PATH.
    pub program: Option<PathBuf>,
}

impl Container {
    /// Returns a container of Podman with an image that Podman has.
    pub fn podman(image: impl Into<String>) -> Container {
        Container { engine: Engine::Podman, image: image.into(), program: None }
    }

    /// Returns a container of Docker with an image that Docker has.
    pub fn docker(image: impl Into<String>) -> Container {
        Container { engine: Engine::Docker, image: image.into(), program: None }
    }

    /// Returns the name of the engine's client: `podman` or `docker`.
    pub fn engine(&self) -> &'static str {
        self.engine.name()
    }

    /// Sets the client of the engine.
    #[must_use]
    pub fn program(self, program: impl Into<PathBuf>) -> Container {
        Container { program: Some(program.into()), ..self }
    }
}

/// The program that runs containers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Engine {
    /// Podman.
    Podman,
    /// Docker.
    Docker,
}

impl Engine {
    /// Returns the name of its client.
    pub(super) fn name(self) -> &'static str {
        match self {
            Engine::Podman => "podman",
            Engine::Docker => "docker",
        }
    }
}

/// The default limit of processes: enough for a build on a hundred processors, and few enough for the machine to stay
/// usable.
const PROCESSES: u32 = 2048;

/// Bytes of memory that most builds never exceed.
const MEMORY: u64 = 8 << 30;

/// The minimum size of the private folders in bytes: even under a small memory limit, programs need some temporary
/// space.
#[cfg(target_os = "linux")]
const LEAST_TEMPORARY: u64 = 64 << 20;

/// Returns half of the machine's memory, so that the other half is left for everything else, but at most [`MEMORY`].
#[cfg(target_os = "linux")]
fn default_memory() -> u64 {
    let machine = rustix::system::sysinfo();
    let bytes = (machine.totalram as u64).saturating_mul(u64::from(machine.mem_unit.max(1)));
    if bytes == 0 { MEMORY } else { MEMORY.min(bytes / 2) }
}

#[cfg(not(target_os = "linux"))]
fn default_memory() -> u64 {
    MEMORY
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            mode: Mode::default(),
            network: false,
            processes: PROCESSES,
            memory: default_memory(),
            helper: None,
            at_most: Kind::Namespaces,
            container: None,
        }
    }
}

impl Settings {
    /// Returns the default settings: the project can be written, the network is off.
    pub fn new() -> Settings {
        Settings::default()
    }

    /// Sets which files a command may change.
    #[must_use]
    pub fn mode(self, mode: Mode) -> Settings {
        Settings { mode, ..self }
    }

    /// Sets whether every command may use the network.
    #[must_use]
    pub fn network(self, network: bool) -> Settings {
        Settings { network, ..self }
    }

    /// Sets the limit of processes and threads of a command.
    #[must_use]
    pub fn processes(self, processes: u32) -> Settings {
        Settings { processes, ..self }
    }

    /// Sets the limit of a command's memory in bytes; 0 for no limit.
    #[must_use]
    pub fn memory(self, memory: u64) -> Settings {
        Settings { memory, ..self }
    }

    /// Returns the limit for files in the private folders of a command, in bytes.
    #[cfg(target_os = "linux")]
    pub(super) fn temporary(&self) -> u64 {
        let memory = if self.memory > 0 { self.memory } else { default_memory() };
        (memory / 2).max(LEAST_TEMPORARY)
    }

    /// Caps the isolation that is attempted at this kind.
    #[must_use]
    pub fn at_most(self, at_most: Kind) -> Settings {
        Settings { at_most, ..self }
    }

    /// Runs every command in this container instead of any other kind of sandbox.
    #[must_use]
    pub fn container(self, container: Container) -> Settings {
        Settings { container: Some(container), ..self }
    }

    /// Sets the helper, a program whose `main` calls [`enter_if_asked`](super::enter_if_asked) first.
    #[must_use]
    pub fn helper(self, helper: impl Into<PathBuf>) -> Settings {
        Settings { helper: Some(helper.into()), ..self }
    }
}

/// Which files a command may change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mode {
    /// There is no sandbox.
    Off,
    /// The command may write only files that are private to it.
    ReadOnly,
    /// The command may change the project, except for its hooks, its git settings and blocked files.
    #[default]
    ProjectWrite,
}

/// A kind of sandbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Kind {
    /// No sandbox.
    Nothing,
    /// The restrictions that a process can put on itself: Landlock and a filter of system calls.
    Landlock,
    /// The sandbox of a container.
    Container,
    /// All barriers, set up by the system's `bwrap`.
    Bubblewrap,
    /// All barriers, set up by the helper itself.
    Namespaces,
}

/// The sandbox that can be set up on this machine around one project.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// The best kind that worked when it was tried.
    pub kind: Kind,
    /// Why no better kind works: one sentence for each kind that failed.
    pub why: Vec<Text>,
    /// The program that sets up the sandbox.
    pub helper: Option<PathBuf>,
    /// Whether it fully confines files, processes and network.
    pub holds: bool,
}

/// A command to run in the sandbox.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The absolute path of the program with its arguments. If it is empty, the helper itself tries the calls that must
    /// be refused and writes a line for each: `refused NAME` or `allowed NAME`.
    pub command: &'a [&'a OsStr],
    /// The folder the command runs in, relative to the root.
    pub folder: &'a Path,
    /// The masks over files of the project, a folder before its entries.
    pub masks: &'a [Mask],
    /// The folder of the command's private layer, which has the empty folders `upper` and `work`. The command then sees
    /// the project through an overlay, and everything it writes goes to `upper`. Only [`Kind::Namespaces`] mounts
    /// layers.
    pub layer: Option<&'a Path>,
    /// Whether it may use the network.
    pub network: bool,
    /// Whether the project is read-only for the command, regardless of the settings.
    pub looks: bool,
    /// Folders of the project, relative to the root and without links, that stay writable for the command when the rest
    /// of the project is read-only. If one is missing or a link when the sandbox is set up, the project counts as
    /// changed. Only a sandbox with a tree of its own supports them.
    pub writable_folders: &'a [PathBuf],
    /// Whether the command uses the home folder, `/tmp`, toolchain layers and loopback network of the session. Any
    /// other command has its own, which are removed with it. Only [`Kind::Namespaces`] has sessions.
    pub session: bool,
    /// Whether the command of a session may use named unix sockets: see
    /// [`Enclosure::enter_session`](super::Enclosure::enter_session).
    pub sockets: bool,
    /// The names of the command's variables. A container gets only those that are passed to its engine.
    pub variables: &'a [&'a OsStr],
}

/// The process to start for a command: a helper, and the message for it. The helper's stdin is a socket, from which it
/// reads the message.
///
/// The helper answers with one line: `status N`, `signal N`, `failed WHY`, or `changed WHY` if the masked files are not
/// those of the message. The helper ends all processes of the command when the socket is closed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry {
    /// The helper.
    pub program: OsString,
    /// The arguments of the helper.
    pub arguments: Vec<OsString>,
    /// The whole message to the helper.
    pub message: Message,
}
