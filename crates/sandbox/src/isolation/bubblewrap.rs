//! The sandbox of namespaces that the system's `bwrap` sets up, if it is permitted more than this program: it can be
//! set-user-id, or have a profile of its own. The helper inside adds the barriers that it lacks (Landlock, the filter
//! of system calls, the socket to the host).
//!
//! Bubblewrap identifies files by their names alone: a file that is replaced while the sandbox is set up is not
//! detected.

use super::plan::{Guard, Masking, Plan, Step};
use crate::project::random_name;
use rustix::fs::{Mode, OFlags};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use toolfence_protocol::{Text, text};

/// Paths of the program. The PATH is not searched, because it may contain any folder.
const PLACES: &[&str] = &["/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap", "/run/wrappers/bin/bwrap"];

/// The path of the helper inside.
const HELPER: &str = "/.toolfence-sandbox";

/// The system's program that sets up a sandbox, and the file that is mounted over hidden files.
#[derive(Debug)]
pub(super) struct Bubblewrap {
    pub(super) program: PathBuf,
    blank: Blank,
}

/// A file without any permission, in a folder of its own that is removed with it.
#[derive(Debug)]
pub(super) struct Blank {
    folder: PathBuf,
}

impl Bubblewrap {
    /// # Errors
    /// It is not installed, or no file can be created.
    pub(super) fn find() -> Result<Bubblewrap, Text> {
        let program = PLACES.iter().map(PathBuf::from).find(|path| path.is_file());
        let program = program.ok_or_else(|| text!("there is no bwrap on this system"))?;
        let blank = Blank::new().map_err(|error| error.to_string())?;
        Ok(Bubblewrap { program, blank })
    }

    /// Returns the arguments of bubblewrap, up to the path of the helper; the helper's arguments follow.
    pub(super) fn arguments(&self, plan: &Plan, masking: &Masking, helper: &Path) -> Vec<OsString> {
        let mut line = BubblewrapLine::default();
        // `--die-with-parent` ends the sandbox with its host; `--new-session` keeps the command from typing into the
        // host's terminal (bwrap(1)).
        line.options(&["--unshare-user-try", "--unshare-pid", "--unshare-ipc", "--die-with-parent", "--new-session"]);
        if !plan.network {
            line.options(&["--unshare-net"]);
        }
        plan.steps.iter().for_each(|step| line.step(step, plan));
        // The tree may not have the path of the helper on the host, so it gets a path of its own.
        line.pair("--ro-bind", helper, HELPER);
        line.options(&["--proc", "/proc"]);
        // A later option covers an earlier one, so the guards and masks follow the folders that contain them.
        masking.guards.iter().for_each(|guard| line.guard(guard, plan));
        // Bubblewrap has no removable masks, so the command cannot remove any masked file.
        let masks = plan.masks.iter().chain(masking.masks.iter().chain(&masking.removable).map(|spot| &spot.at));
        masks.for_each(|at| line.mask(at.path(), &self.blank.file()));
        // The root becomes read-only last, because bubblewrap creates the mount points in it.
        line.options(&["--remount-ro", "/", "--chdir", "/", "--", HELPER]);
        line.0
    }
}

#[derive(Default)]
struct BubblewrapLine(Vec<OsString>);

impl BubblewrapLine {
    fn options(&mut self, words: &[&str]) {
        self.0.extend(words.iter().map(OsString::from));
    }

    fn pair(&mut self, option: &str, from: impl Into<OsString>, to: impl Into<OsString>) {
        self.0.extend([option.into(), from.into(), to.into()]);
    }

    fn step(&mut self, step: &Step, plan: &Plan) {
        match step {
            Step::Link { at, to } => self.pair("--symlink", to.path(), at.path()),
            // Bubblewrap mounts no private layers, so these toolchains are read-only.
            Step::Show { at } | Step::Layer { at } => self.pair("--ro-bind", at.path(), at.path()),
            Step::ShowIfThere { at } => self.pair("--ro-bind-try", at.path(), at.path()),
            Step::Private { at, mode, .. } => {
                self.pair("--perms", format!("{mode:o}"), "--tmpfs");
                self.0.push(at.path().into());
            }
            Step::Device { at } => self.pair("--dev-bind", at.path(), at.path()),
            Step::Project => {
                self.pair(writable(plan.writable), plan.root.path(), plan.root.path());
                plan.writable_folders.iter().for_each(|at| self.pair(writable(true), at.path(), at.path()));
            }
            Step::Share { at } => self.pair(writable(true), at.path(), at.path()),
        }
    }

    fn guard(&mut self, guard: &Guard, plan: &Plan) {
        self.pair(writable(plan.writable && !guard.frozen), guard.at.path(), guard.at.path());
    }

    fn mask(&mut self, at: &Path, blank: &Path) {
        if at.is_dir() {
            // The command owns the new folder; if it were writable, the command could change its mode.
            self.pair("--perms", "0000", "--tmpfs");
            self.0.push(at.into());
            self.0.extend(["--remount-ro".into(), at.into()]);
        } else if at.exists() {
            self.pair("--ro-bind", blank, at);
        }
    }
}

fn writable(yes: bool) -> &'static str {
    if yes { "--bind" } else { "--ro-bind" }
}

impl Blank {
    pub(super) fn new() -> io::Result<Blank> {
        let folder = std::env::temp_dir().join(format!("toolfence-{}", random_name()?));
        rustix::fs::mkdir(&folder, Mode::from(0o700))?;
        let blank = Blank { folder };
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        drop(rustix::fs::open(blank.file(), flags, Mode::empty())?);
        Ok(blank)
    }

    pub(super) fn file(&self) -> PathBuf {
        self.folder.join("blank")
    }
}

impl Drop for Blank {
    fn drop(&mut self) {
        // If the file cannot be removed, an empty file is left.
        let _ = std::fs::remove_file(self.file());
        let _ = std::fs::remove_dir(&self.folder);
    }
}
