//! The host's message to the helper, in three parts: the part of the sandbox that is equal for every command, the masks
//! of the project's current files, and the command. This module has only data and opens nothing.

use crate::project::Identity;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// The most bytes of one part of the message.
pub(super) const LONGEST: usize = 16 << 20;

/// The part of the sandbox that does not depend on the command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Plan {
    /// The version of this crate: host and helper must be of one build.
    pub(super) version: String,
    /// How many descriptors of the session are sent with the plan; 0 without a session.
    pub(super) session: u8,
    /// Whether the helper creates namespaces, rather than only the restrictions that a process can put on itself.
    pub(super) namespaces: bool,
    /// Whether the command sees a tree of its own, which the helper or another program builds, rather than the
    /// machine's.
    pub(super) tree: bool,
    /// Whether the command may use the network.
    pub(super) network: bool,
    /// Whether the command may write to the project.
    pub(super) writable: bool,
    /// The folders of the project that stay writable for the command if the rest of the project is read-only.
    pub(super) writable_folders: Vec<Name>,
    /// Whether the command may use named unix sockets, through which other commands can pass it descriptors.
    pub(super) named_sockets: bool,
    /// Whether some masks over files of the project may be removed with the files.
    pub(super) removable: bool,
    /// The most processes and threads of the command at a time.
    pub(super) processes: u32,
    /// The most bytes of memory of the command and all processes that it starts; 0 for no limit.
    pub(super) memory: u64,
    /// The most bytes of all files in private folders.
    pub(super) temporary: u64,
    /// The real path of the project.
    pub(super) root: Name,
    /// The identity of the folder at `root` when the host scanned it.
    pub(super) root_is: Identity,
    /// The folder of the layer through which the command sees the project.
    pub(super) layer: Option<Name>,
    /// The steps that build the tree around the project, in their order.
    pub(super) steps: Vec<Step>,
    /// Host paths that are hidden in visible folders. They need not exist.
    pub(super) masks: Vec<Name>,
    /// The folders that a command may write to.
    pub(super) scratch: Vec<Name>,
}

impl Plan {
    /// Returns `true` if the command may open internet sockets: the network is on, or the command is in a network
    /// namespace of its own, where these sockets reach only the loopback interface. Every sandbox with a tree of its
    /// own has one.
    pub(super) fn has_internet_sockets(&self) -> bool {
        self.network || self.tree
    }
}

/// The masks that are mounted right before the command starts. The files must be as the host has just seen them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Masking {
    /// The files that are hidden, and that the command cannot move or remove.
    pub(super) masks: Vec<Spot>,
    /// The files that are hidden, but that the command may move or remove.
    pub(super) removable: Vec<Spot>,
    /// The entries that the command cannot move or, if they are frozen, change.
    pub(super) guards: Vec<Guard>,
}

/// The third part of the message: the command to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Task {
    /// The folder, relative to the project.
    pub(super) folder: Name,
    /// The command and its arguments.
    pub(super) command: Vec<Name>,
}

/// The message to the helper of a command that runs without a sandbox and is supervised.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Supervised {
    /// The version of this crate: host and helper must be of one build.
    pub(super) version: String,
    /// The most bytes of memory of the command and all processes that it starts; 0 for no limit.
    pub(super) memory: u64,
    /// The command and its arguments.
    pub(super) command: Vec<Name>,
}

/// Encodes a part of a message: its length in four bytes, the lowest first, and JSON.
pub(super) fn part(part: &impl Serialize) -> Option<Vec<u8>> {
    let text = serde_json::to_vec(part).ok().filter(|text| text.len() <= LONGEST)?;
    let length = u32::try_from(text.len()).ok()?;
    Some([length.to_le_bytes().to_vec(), text].concat())
}

/// One step in building the new tree. All paths are absolute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Step {
    /// A symbolic link.
    Link { at: Name, to: Name },
    /// A file or folder of the host at the same path, read-only.
    Show { at: Name },
    /// Shows the path if it exists.
    ShowIfThere { at: Name },
    /// A folder of the host at the same path. Writes go to a private layer, which the commands of a session share.
    Layer { at: Name },
    /// An empty private folder. `shared` means that the commands of a session share it.
    Private { at: Name, mode: u32, shared: bool },
    /// The device with this name.
    Device { at: Name },
    /// The project.
    Project,
    /// A file or folder of the host at the same path, which may be written.
    Share { at: Name },
}

impl Step {
    /// Returns the path of this step.
    pub(super) fn at<'a>(&'a self, plan: &'a Plan) -> &'a Path {
        match self {
            Step::Project => plan.root.path(),
            Step::Link { at, .. }
            | Step::Show { at }
            | Step::ShowIfThere { at }
            | Step::Layer { at }
            | Step::Private { at, .. }
            | Step::Device { at }
            | Step::Share { at } => at.path(),
        }
    }

    /// Returns `true` if this is a private folder that the session's commands share.
    pub(super) fn is_shared(&self) -> bool {
        matches!(self, Step::Private { shared: true, .. })
    }
}

/// A file or folder with its identity.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Spot {
    pub(super) at: Name,
    pub(super) identity: Identity,
}

/// A file or folder that can be used but not be moved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Guard {
    pub(super) at: Name,
    pub(super) identity: Identity,
    pub(super) frozen: bool,
}

/// A path or an argument: text if it is UTF-8, and otherwise its bytes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Name(Vec<u8>);

impl Name {
    pub(super) fn os(&self) -> &OsStr {
        OsStr::from_bytes(&self.0)
    }

    pub(super) fn path(&self) -> &Path {
        Path::new(self.os())
    }
}

impl From<&Path> for Name {
    fn from(path: &Path) -> Name {
        Name(path.as_os_str().as_bytes().to_vec())
    }
}

impl From<PathBuf> for Name {
    fn from(path: PathBuf) -> Name {
        Name(path.into_os_string().into_vec())
    }
}

impl From<OsString> for Name {
    fn from(text: OsString) -> Name {
        Name(text.into_vec())
    }
}

impl From<&OsStr> for Name {
    fn from(text: &OsStr) -> Name {
        Name(text.as_bytes().to_vec())
    }
}

impl From<&str> for Name {
    fn from(text: &str) -> Name {
        Name(text.as_bytes().to_vec())
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.os().fmt(f)
    }
}

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(&self.0) {
            Ok(text) => serializer.serialize_str(text),
            Err(_) => self.0.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Name, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Either {
            Text(String),
            Bytes(Vec<u8>),
        }
        Ok(match Either::deserialize(deserializer)? {
            Either::Text(text) => Name(text.into_bytes()),
            Either::Bytes(bytes) => Name(bytes),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_any_bytes_survive_serialization() {
        for bytes in [&b"/a b"[..], b"caf\xE9", b"", b"\"\n"] {
            let name = Name(bytes.to_vec());
            let text = serde_json::to_string(&name).unwrap();
            assert_eq!(serde_json::from_str::<Name>(&text).unwrap(), name, "{text}");
        }
    }
}
