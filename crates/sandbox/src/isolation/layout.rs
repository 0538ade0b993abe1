//! Determines which parts of this machine a command may see in addition to the project: the system, read-only, and
//! toolchains in the home folder.
//!
//! The host determines everything once. A folder that is not named here does not exist in the new tree.

use super::beside::{FolderWalk, Hides, is_of_the_user, parts_of};
use super::mounts::DEVICES;
use super::plan::{Name, Step};
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Instant;
use toolfence_protocol::{Text, text};

/// Folders of the system at the root. Those with the state of the machine (`/var`, `/run`, `/srv`, `/sys`) are not
/// among them: they contain sockets of daemons, and a read-only mount does not prevent a connection.
const SYSTEM: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
    "/opt",
    "/nix/store",
    "/gnu/store",
    "/snap",
];

/// Folders in which store-based systems (NixOS, Guix) link the installed packages.
const NAMES_OF_STORES: &[&str] = &["/run/current-system", "/nix/var/nix/profiles"];

/// Folders of a home that contain toolchains. Writes of a tool go to a private layer.
const TOOLCHAINS: &[&str] = &[
    ".cargo",
    ".rustup",
    ".nvm",
    ".pyenv",
    ".rbenv",
    ".nodenv",
    ".volta",
    ".bun",
    ".deno",
    ".sdkman",
    ".asdf",
    ".ghcup",
    ".opam",
    ".npm",
    ".m2/repository",
    ".gradle/caches",
    ".gradle/wrapper",
    ".local/bin",
    ".local/lib",
    ".local/pipx",
    ".local/share/uv/python",
    ".local/share/uv/tools",
    ".local/share/mise",
    ".local/share/fnm",
    ".local/share/pnpm",
    ".local/share/pipx",
    ".cache/pip",
    ".cache/uv",
    ".cache/go-build",
    ".cache/yarn",
    ".cache/node-gyp",
    "go/bin",
    "go/pkg",
];

/// The toolchain folders to which builds and package managers write.
const LAYERED: &[&str] = &[
    ".cargo",
    ".npm",
    ".m2/repository",
    ".gradle/caches",
    ".cache/pip",
    ".cache/uv",
    ".cache/go-build",
    ".cache/yarn",
    ".cache/node-gyp",
    "go/bin",
    "go/pkg",
];

/// Environment variables that may name a toolchain outside of these folders.
const VARIABLES: &[&str] =
    &["CARGO_HOME", "RUSTUP_HOME", "NVM_DIR", "PYENV_ROOT", "GOROOT", "GOPATH", "JAVA_HOME", "VIRTUAL_ENV"];

/// Files below a toolchain that contain credentials.
const CREDENTIALS: &[&str] = &[
    "credentials",
    "credentials.toml",
    "credentials.json",
    ".npmrc",
    ".netrc",
    "settings.xml",
    "gradle.properties",
    "auth.json",
];

/// Settings files that toolchains need, but that may also contain a token. They are hidden only if they mention one.
const SETTINGS: &[&str] = &["config", "config.toml"];

/// The most entries of /etc that are checked.
const MOST_ENTRIES: usize = 50_000;

/// The parts of the new tree.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    pub(super) steps: Vec<Step>,
    pub(super) masks: Vec<Name>,
    pub(super) scratch: Vec<Name>,
}

/// The facts about the host.
pub(super) struct HostFacts<'a> {
    /// The real path of the project.
    pub(super) root: &'a Path,
    pub(super) home: Option<PathBuf>,
    /// The folders that are searched for programs.
    pub(super) search_path: &'a OsStr,
    /// The environment.
    pub(super) variable: &'a dyn Fn(&str) -> Option<OsString>,
    /// Determines which names are blocked.
    pub(super) hides: Hides<'a>,
}

impl Layout {
    /// # Errors
    /// The reason why no sandbox can be set up around this project.
    pub(super) fn new(ground: &HostFacts<'_>) -> Result<Layout, Text> {
        let home =
            ground.home.as_ref().and_then(|home| home.canonicalize().ok()).filter(|home| home.parent().is_some());
        // A command sees the whole project, so a home folder in it could not be hidden.
        let holds_home = home.as_ref().is_some_and(|home| home.starts_with(ground.root));
        if holds_home || ground.root.parent().is_none() {
            return Err(text!("the project root contains the home folder or the whole system"));
        }
        let mut building = LayoutBuilder {
            root: ground.root,
            home,
            steps: Vec::new(),
            masks: Vec::new(),
            seen: HashSet::new(),
            walk: FolderWalk::begin(),
            walks: false,
            hides: ground.hides,
        };
        // The helper mounts the parts in this order. Toolchains go into the private home folder, and the project goes
        // last, because it can be in any of these folders.
        let started = Instant::now();
        building.system();
        building.devices();
        building.private(ground);
        building.toolchains(ground);
        let looked = building.walk.entries();
        let masks = building.walk.masks.len();
        let microseconds = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
        tracing::debug!(looked, masks, microseconds, "folders outside of the project were walked");
        building.masks.append(&mut building.walk.masks);
        building.steps.push(Step::Project);
        building.masks.extend(secrets_of_the_system());
        let scratch = building.scratch();
        Ok(Layout { steps: building.steps, masks: building.masks, scratch })
    }
}

struct LayoutBuilder<'a> {
    root: &'a Path,
    home: Option<PathBuf>,
    steps: Vec<Step>,
    masks: Vec<Name>,
    /// The folders that are visible with everything below them.
    seen: HashSet<PathBuf>,
    walk: FolderWalk,
    /// Whether visible folders are searched for blocked files.
    walks: bool,
    hides: Hides<'a>,
}

impl LayoutBuilder<'_> {
    fn system(&mut self) {
        for path in SYSTEM.iter().chain(NAMES_OF_STORES).map(Path::new) {
            self.show_or_link(path, false);
        }
        // Folders from here on may contain files of the user.
        self.walks = true;
    }

    fn devices(&mut self) {
        let devices = DEVICES.iter().map(|name| Path::new("/dev").join(name));
        self.steps.extend(devices.filter(|at| at.exists()).map(|at| Step::Device { at: at.into() }));
        for (name, to) in [("fd", ""), ("stdin", "/0"), ("stdout", "/1"), ("stderr", "/2")] {
            let to = format!("/proc/self/fd{to}");
            self.steps.push(Step::Link { at: Path::new("/dev").join(name).into(), to: to.as_str().into() });
        }
        self.steps.push(Step::Private { at: "/dev/shm".into(), mode: 0o1777, shared: false });
    }

    fn private(&mut self, ground: &HostFacts<'_>) {
        // These are two folders and not one with a link, because the project or the home folder can be in either.
        for at in ["/tmp", "/var/tmp"] {
            self.steps.push(Step::Private { at: at.into(), mode: 0o1777, shared: true });
        }
        let Some(home) = self.home.clone() else { return };
        // The path in HOME may contain a link. It must lead to the same folder in the new tree.
        if let Some(named) = ground.home.as_ref().filter(|named| **named != home) {
            self.steps.push(Step::Link { at: named.as_path().into(), to: home.as_path().into() });
        }
        self.steps.push(Step::Private { at: home.into(), mode: 0o700, shared: true });
    }

    fn toolchains(&mut self, ground: &HostFacts<'_>) {
        if let Some(home) = self.home.clone() {
            for name in TOOLCHAINS {
                self.show_or_link(&home.join(name), LAYERED.contains(name));
            }
        }
        for name in VARIABLES {
            if let Some(path) = (ground.variable)(name).map(PathBuf::from).filter(|path| path.is_absolute()) {
                // GOPATH also contains the source of other projects, so only these two parts of it are shown.
                let parts = if *name == "GOPATH" { vec![path.join("bin"), path.join("pkg")] } else { vec![path] };
                for part in parts {
                    // Tools write to these two: see `LAYERED`.
                    self.show_or_link(&part, matches!(*name, "CARGO_HOME" | "GOPATH"));
                }
            }
        }
        for folder in std::env::split_paths(ground.search_path) {
            for part in self.parts_with(&folder) {
                self.show_or_link(&part, false);
            }
        }
    }

    /// Returns the folders to show for a folder of programs. That is the parent of a `bin` or `sbin` folder, which also
    /// contains the libraries, or its known parts if the user can write to it. A folder in the home folder, or with any
    /// other name, is shown alone.
    fn parts_with(&self, folder: &Path) -> Vec<PathBuf> {
        let named = folder.file_name().is_some_and(|name| name == "bin" || name == "sbin");
        let parent = folder.parent().filter(|parent| named && parent.parent().is_some());
        let at_home = self.home.as_ref().is_some_and(|home| folder.starts_with(home));
        match parent.filter(|parent| !at_home && !self.reveals(parent)) {
            Some(parent) if is_of_the_user(parent) => parts_of(parent),
            Some(parent) => vec![parent.to_owned()],
            None => vec![folder.to_owned()],
        }
    }

    /// Returns `true` if showing the path would reveal the whole system, or the home folder or the project as a part of
    /// it.
    fn reveals(&self, path: &Path) -> bool {
        let above = |inner: &Path| inner.starts_with(path);
        path.parent().is_none() || above(self.root) || self.home.as_deref().is_some_and(above)
    }

    fn show_or_link(&mut self, path: &Path, layered: bool) {
        let Ok(real) = path.canonicalize() else { return };
        if real != path && !self.is_seen(path) && !path.starts_with(self.root) {
            // The link itself is copied, so that a path through it has the same meaning; its target is shown
            // separately.
            let to = fs::read_link(path).unwrap_or_else(|_| real.clone());
            self.steps.push(Step::Link { at: path.into(), to: to.into() });
        }
        if self.is_seen(&real) || self.reveals(&real) || real.starts_with(self.root) {
            return;
        }
        self.masks.extend(credentials(&real));
        if self.walks {
            self.walk.walk_folder(&real, self.hides);
        }
        let at = Name::from(real.as_path());
        self.steps.push(if layered { Step::Layer { at } } else { Step::Show { at } });
        self.seen.insert(real);
    }

    fn is_seen(&self, path: &Path) -> bool {
        path.ancestors().any(|folder| self.seen.contains(folder))
    }

    fn scratch(&self) -> Vec<Name> {
        let private = self.steps.iter().filter_map(|step| match step {
            Step::Private { at, .. } | Step::Layer { at } => Some(at.clone()),
            _ => None,
        });
        // Landlock must allow writes to devices such as /dev/null.
        private.chain(["/dev".into()]).collect()
    }
}

/// Returns the files with credentials at the top of a toolchain's folder.
fn credentials(folder: &Path) -> Vec<Name> {
    let secret = CREDENTIALS.iter().map(|name| folder.join(name)).filter(|path| path.is_file());
    let settings = SETTINGS.iter().map(|name| folder.join(name)).filter(|path| may_have_a_token(path));
    secret.chain(settings).filter_map(|path| path.canonicalize().ok()).map(Name::from).collect()
}

/// Returns `true` if the file is too long to search, or mentions a token.
fn may_have_a_token(path: &Path) -> bool {
    const LONGEST: u64 = 1 << 20;
    let Some(meta) = fs::metadata(path).ok().filter(fs::Metadata::is_file) else { return false };
    let has_word = |text: Vec<u8>| {
        ["token", "password", "secret"].iter().any(|word| memchr::memmem::find(&text, word.as_bytes()).is_some())
    };
    meta.len() > LONGEST || fs::read(path).is_ok_and(has_word)
}

/// Returns the entries of /etc that only root or a group may read. They stay hidden even if the command runs as root.
fn secrets_of_the_system() -> Vec<Name> {
    let (mut found, mut pending, mut looked) = (Vec::new(), vec![PathBuf::from("/etc")], 0);
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            looked += 1;
            if looked > MOST_ENTRIES {
                return found;
            }
            let Ok(meta) = entry.metadata() else { continue };
            // A folder must also be searchable.
            let needed = if meta.is_dir() { 0o005 } else { 0o004 };
            if meta.is_symlink() {
                continue;
            }
            if meta.permissions().mode() & needed != needed {
                found.push(Name::from(entry.path()));
            } else if meta.is_dir() {
                pending.push(entry.path());
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_with_a_token_or_too_long_to_search_are_hidden() {
        let folder = tempfile::tempdir().expect("a temporary folder can be made");
        let file = |text: &str| {
            fs::write(folder.path().join("config"), text).expect("it can be written");
            credentials(folder.path()).len()
        };
        assert_eq!(file("[net]\nretry = 3\n"), 0);
        assert_eq!(file("[registry]\ntoken = \"x\"\n"), 1);
        assert_eq!(file(&"# a comment\n".repeat(100_000)), 1);
    }
}
