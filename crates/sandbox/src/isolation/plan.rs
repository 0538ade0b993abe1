//! What the host tells the helper, in three parts: the part of the sandbox that is the same for every command, what has to be masked of
//! the project as it is now, and the command. Data only: this module opens nothing.

use crate::project::Identity;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// The most bytes of a part.
pub(super) const LONGEST: usize = 16 << 20;

/// What can be raised before there is a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Plan {
    /// Of this crate: host and helper must be of one build.
    pub(super) version: String,
    /// How many of the descriptors that come with the plan are those of a session; 0 for none.
    pub(super) session: u8,
    /// Whether there are namespaces, or only what a process can do to itself.
    pub(super) namespaces: bool,
    /// Whether the command sees a tree of its own, and not that of the machine: ours, or that of another program.
    pub(super) tree: bool,
    /// Whether the command may use the network.
    pub(super) network: bool,
    /// Whether it may write in the project.
    pub(super) writable: bool,
    /// The folders of the project that it may write even if it may not write in the project.
    pub(super) writable_folders: Vec<Name>,
    /// Whether other commands can pass it descriptors, which they do by unix sockets that have a name.
    pub(super) named_sockets: bool,
    /// Whether some masks over files of the project may be removed with the files.
    pub(super) removable: bool,
    /// The most processes and threads it may have at a time.
    pub(super) processes: u32,
    /// The most bytes of memory it may use, with all it starts; 0 where only the machine limits it.
    pub(super) memory: u64,
    /// The most bytes in private folders.
    pub(super) temporary: u64,
    /// The real path of the project, and which folder is meant by it.
    pub(super) root: Name,
    pub(super) root_is: Identity,
    /// The folder of the layer through which the command sees the project.
    pub(super) layer: Option<Name>,
    /// What there is besides the project, in the order in which it is made.
    pub(super) steps: Vec<Step>,
    /// What of the host is hidden where it is shown, and need not be there.
    pub(super) masks: Vec<Name>,
    /// The folders a command may write into.
    pub(super) scratch: Vec<Name>,
}

impl Plan {
    /// Returns `true` if the command may open internet sockets: the network is on, or the command is in a network namespace
    /// of its own, where these sockets reach only the loopback interface. Every sandbox with a tree of its own has one.
    pub(super) fn has_internet_sockets(&self) -> bool {
        self.network || self.tree
    }
}

/// What is masked right before the command starts: it must be as the host has just seen it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Masking {
    /// What is hidden of the project, and can be neither moved nor removed.
    pub(super) masks: Vec<Spot>,
    /// What is hidden of the project and may be moved or removed.
    pub(super) removable: Vec<Spot>,
    /// What stays where it is and as it is.
    pub(super) guards: Vec<Guard>,
}

/// What runs.
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
    /// Of this crate: host and helper must be of one build.
    pub(super) version: String,
    /// The most bytes of memory it may use, with all it starts; 0 where only the machine limits it.
    pub(super) memory: u64,
    /// The command and its arguments.
    pub(super) command: Vec<Name>,
}

/// A part of a message: its length in four bytes, the lowest first, and JSON.
pub(super) fn part(part: &impl Serialize) -> Option<Vec<u8>> {
    let text = serde_json::to_vec(part).ok().filter(|text| text.len() <= LONGEST)?;
    let length = u32::try_from(text.len()).ok()?;
    Some([length.to_le_bytes().to_vec(), text].concat())
}

/// One thing that is made in the new tree. All paths are absolute.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Step {
    /// A symbolic link.
    Link { at: Name, to: Name },
    /// A file or folder of the host at the same place, read-only.
    Show { at: Name },
    /// Shows the path where it is there, and nothing where it is not.
    ShowIfThere { at: Name },
    /// A folder of the host at the same place; what is written goes to a private layer, which the commands of a session share.
    Layer { at: Name },
    /// An empty private folder. `shared` means that the commands of a session share it.
    Private { at: Name, mode: u32, shared: bool },
    /// The device of this name.
    Device { at: Name },
    /// The project.
    Project,
    /// A file or folder of the host at the same place, which may be written.
    Share { at: Name },
}

impl Step {
    /// The path at which this is made.
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

    /// Returns `true` if this is a private folder that the commands of a session share.
    pub(super) fn is_shared(&self) -> bool {
        matches!(self, Step::Private { shared: true, .. })
    }
}

/// A file or folder, and which one is meant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Spot {
    pub(super) at: Name,
    pub(super) is: Identity,
}

/// A file or folder that can be used but not be moved away.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Guard {
    pub(super) at: Name,
    pub(super) is: Identity,
    pub(super) frozen: bool,
}

/// A path or an argument: text where it is text, or else its bytes.
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
    fn a_name_of_any_bytes_comes_back() {
        for bytes in [&b"/a b"[..], b"caf\xE9", b"", b"\"\n"] {
            let name = Name(bytes.to_vec());
            let text = serde_json::to_string(&name).unwrap();
            assert_eq!(serde_json::from_str::<Name>(&text).unwrap(), name, "{text}");
        }
    }
}
