//! The types in which a host speaks of the sandbox.

use crate::process::Message;
use crate::project::Mask;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use toolfence_protocol::Text;

/// Which sandbox is wanted around every command.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Settings {
    /// How much a command may change.
    pub mode: Mode,
    /// Whether every command may use the network. A sandbox with an open network is not said to hold.
    pub network: bool,
    /// The most processes and threads a command may have at a time: 301 at least, which is the kernel's own least.
    pub processes: u32,
    /// The most bytes of memory a command may use with all it starts, with the sandbox or without; 0 for no limit. The default is
    /// half of what the machine has, and 8 GiB at the most. Files in its private folders are not in it: they may take half as
    /// much again.
    pub memory: u64,
    /// The helper, where it is another one than would be found.
    pub helper: Option<PathBuf>,
    /// The best kind that is tried.
    pub at_most: Kind,
    /// A container in the place of all other kinds: then a command runs in it or, within the sandbox, not at all.
    pub container: Option<Container>,
}

/// A container to run commands in.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Container {
    /// Whose.
    pub(super) engine: Engine,
    /// The image, which must be there: nothing is fetched. It needs bash.
    pub image: String,
    /// The engine's client, where it is another one than the PATH has.
    pub program: Option<PathBuf>,
}

impl Container {
    /// A container of Podman, of an image that Podman has.
    pub fn podman(image: impl Into<String>) -> Container {
        Container { engine: Engine::Podman, image: image.into(), program: None }
    }

    /// A container of Docker, of an image that Docker has.
    pub fn docker(image: impl Into<String>) -> Container {
        Container { engine: Engine::Docker, image: image.into(), program: None }
    }

    /// The name of the engine's client: `podman` or `docker`.
    pub fn engine(&self) -> &'static str {
        self.engine.name()
    }

    /// Sets the client of the engine.
    #[must_use]
    pub fn program(self, program: impl Into<PathBuf>) -> Container {
        Container { program: Some(program.into()), ..self }
    }
}

/// Who runs containers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Engine {
    /// Podman.
    Podman,
    /// Docker.
    Docker,
}

impl Engine {
    /// The name of its client.
    pub(super) fn name(self) -> &'static str {
        match self {
            Engine::Podman => "podman",
            Engine::Docker => "docker",
        }
    }
}

/// Enough for a build on a hundred processors, and few enough for the machine to stay usable.
const PROCESSES: u32 = 2048;

/// What most builds never need, in bytes.
const MEMORY: u64 = 8 << 30;

/// Bytes for files: what a program wants to write may be little, but nothing is too little.
#[cfg(target_os = "linux")]
const LEAST_TEMPORARY: u64 = 64 << 20;

/// Half of the machine's memory, so that the other half is left for everything else, but not more than [`MEMORY`].
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
    /// The default: the project can be written, the network is off.
    pub fn new() -> Settings {
        Settings::default()
    }

    /// Sets how much a command may change.
    #[must_use]
    pub fn mode(self, mode: Mode) -> Settings {
        Settings { mode, ..self }
    }

    /// Sets whether every command may use the network.
    #[must_use]
    pub fn network(self, network: bool) -> Settings {
        Settings { network, ..self }
    }

    /// Sets the most processes and threads of a command.
    #[must_use]
    pub fn processes(self, processes: u32) -> Settings {
        Settings { processes, ..self }
    }

    /// Sets the most bytes of memory of a command; 0 for no limit.
    #[must_use]
    pub fn memory(self, memory: u64) -> Settings {
        Settings { memory, ..self }
    }

    /// The most bytes of files in the private folders of a command.
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

    /// Runs every command in this container, in the place of all other kinds of sandbox.
    #[must_use]
    pub fn container(self, container: Container) -> Settings {
        Settings { container: Some(container), ..self }
    }

    /// Sets the helper, a program whose `main` begins as a helper must: see [`enter_if_asked`](super::enter_if_asked).
    #[must_use]
    pub fn helper(self, helper: impl Into<PathBuf>) -> Settings {
        Settings { helper: Some(helper.into()), ..self }
    }
}

/// How much a command may change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mode {
    /// There is no sandbox.
    Off,
    /// Nothing but what is private to the command.
    ReadOnly,
    /// The project, but for its hooks, its settings of git and what is blocked.
    #[default]
    ProjectWrite,
}

/// Which sandbox is available.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Kind {
    /// None.
    Nothing,
    /// What a process can do to itself: Landlock and a filter of system calls.
    Landlock,
    /// The sandbox of a container.
    Container,
    /// All of them, raised by `bwrap` of the system.
    Bubblewrap,
    /// All of them, raised by the helper itself.
    Namespaces,
}

/// Which sandbox can be set up on this machine around one project.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// The best that was raised when it was tried.
    pub kind: Kind,
    /// Why nothing better stands: one sentence for each kind that was tried in vain.
    pub why: Vec<Text>,
    /// The program that raises them.
    pub helper: Option<PathBuf>,
    /// Whether they fully hold: files, processes and network.
    pub holds: bool,
}

/// A command that is to run inside.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The program by its absolute path, and its arguments. Without any, the helper itself tries what must be refused and
    /// writes a line for each: `refused NAME` or `allowed NAME`.
    pub command: &'a [&'a OsStr],
    /// The folder the command runs in, relative to the root.
    pub folder: &'a Path,
    /// What of the project is hidden, frozen or kept; a folder before what is in it.
    pub masks: &'a [Mask],
    /// The folder of the command's private layer, which has the empty folders `upper` and `work`. The command then sees the
    /// project through an overlay, and everything it writes goes to `upper`. Only [`Kind::Namespaces`] mounts layers.
    pub layer: Option<&'a Path>,
    /// Whether it may use the network.
    pub network: bool,
    /// Whether it only looks: it may not write in the project, whatever the settings allow.
    pub looks: bool,
    /// Folders of the project, relative to the root and without links, that the command may write although it only looks. One that is
    /// gone or a link when the sandbox is set up counts as a change of the project. Only a sandbox with a tree of its own has them.
    pub writable_folders: &'a [PathBuf],
    /// Whether the command uses the home, `/tmp`, toolchain layers and loopback network of the session. Any other command has its
    /// own, which end with it. Only [`Kind::Namespaces`] has sessions.
    pub session: bool,
    /// Whether the command of a session may use unix sockets with names: see [`Enclosure::enter_session`](super::Enclosure::enter_session).
    pub sockets: bool,
    /// The names of the variables that the command has. A container gets only those that its engine is told of.
    pub variables: &'a [&'a OsStr],
}

/// What has to be started for a command: a helper, and the message that it gets on a socket that is its stdin.
///
/// The helper answers with one line: `status N`, `signal N`, `failed WHY`, or `changed WHY` where the masked files are not as they
/// were said to be. It ends everything when the socket is closed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry {
    /// The helper.
    pub program: OsString,
    /// The arguments of the helper.
    pub arguments: Vec<OsString>,
    /// The whole message to the helper.
    pub told: Message,
}
