//! Builds the file tree that a command sees. It starts with an empty tree, so a path that is not listed does not exist.
//!
//! The old root stays mounted while the new one is built from it and is then unmounted. Links in paths of the host are
//! never followed: the host has resolved them.

use super::plan::{Guard, Masking, Name, Plan, Spot, Step, Task};
use super::sys::{self, Attributes};
use super::{Barrier, Cause, Trouble, memory, rights};
use crate::project::{Identity, identity_at};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use rustix::mount::{MountFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags};
use std::io;
use std::path::{Path, PathBuf};

/// The folder for private folders, layers and masks.
const STORE: &str = "/.store";

/// The mount point of the old root while the new one is built. It is in the store because unmounting is slow in the
/// kernel: one call unmounts both.
const OLD: &str = "/.store/old";

/// The private folders in the store.
const PRIVATE: &str = "/.store/private";

/// Device files that hold no state of the machine.
pub(super) const DEVICES: &[&str] = &["null", "zero", "full", "random", "urandom"];

const READ_ONLY: Attributes = Attributes { read_only: true, devices: false };

/// Builds the tree. [`finish`] adds the parts that need the new process namespace (/proc), and [`mask`] adds those that
/// depend on the command.
///
/// `shared` has the mounts of a session, which replace new private folders and layers.
pub(super) fn build(plan: &Plan, shared: Option<SharedMounts>) -> Result<Tree, Trouble> {
    let barrier = Barrier::Tree;
    enter_an_empty_root(plan.temporary).map_err(|error| Trouble::new(barrier, error))?;
    // The old root is unmounted before the masks are mounted, but an open folder stays usable.
    let below_layer = match plan.layer {
        Some(_) => Some(open_old(plan.root.path()).map_err(|error| Trouble::at(barrier, plan.root.path(), error))?),
        None => None,
    };
    let mut building = TreeBuilder { plan, layers: 0, shared };
    for step in &plan.steps {
        building.apply_step(step).map_err(|error| Trouble::at(barrier, step.at(plan), error))?;
    }
    let blanks = Blanks::new().map_err(|error| Trouble::new(barrier, error))?;
    // `raise` masks the files in the project, after the guards: these must find the files that they guard, not masks
    // over them.
    let outside = plan.masks.iter().filter(|at| !at.path().starts_with(plan.root.path()));
    hide_of_host(outside, &open_root()?, &blanks)?;
    Ok(Tree { blanks, below_layer })
}

/// Builds the tree of a session: its private folders, and its layers at [`layer_of_session`].
///
/// It creates all mount points of the session's commands in the private folders, so that their helpers create nothing
/// there. A folder above such a mount point is mounted onto itself, because a mount cannot be renamed or removed.
pub(super) fn build_session(plan: &Plan) -> Result<(), Trouble> {
    let barrier = Barrier::Tree;
    enter_an_empty_root(plan.temporary).map_err(|error| Trouble::new(barrier, error))?;
    let mut building = TreeBuilder { plan, layers: 0, shared: None };
    for step in &plan.steps {
        building.apply_session_step(step).map_err(|error| Trouble::at(barrier, step.at(plan), error))?;
    }
    leave_the_old_root().map_err(|error| Trouble::new(barrier, error))
}

/// Copies of the session's mounts for one command.
pub(super) struct SharedMounts {
    /// The private folders with their paths. A folder inside another one is copied as part of that one.
    folders: Vec<(PathBuf, DetachedMount)>,
    /// The layers in the order of their steps; `None` if no overlay could be mounted.
    layers: Vec<Option<DetachedMount>>,
}

/// Copies the mounts of the session, whose mount namespace the caller has entered.
pub(super) fn copy_shared(plan: &Plan) -> io::Result<SharedMounts> {
    let root = open_path(CWD, Path::new("/"), OFlags::DIRECTORY)?;
    let (mut folders, mut layers) = (Vec::new(), Vec::new());
    for step in &plan.steps {
        let at = step.at(plan);
        // An earlier command may have removed its own permissions for a shared folder. It cannot have replaced the
        // folder by a link, because the folder is a mount point for every command.
        if let Step::Private { mode, shared: true, .. } = step {
            rustix::fs::chmod(at, Mode::from(*mode))?;
        }
        for folder in pinned_above(plan, at) {
            rustix::fs::chmod(folder, Mode::from(0o755))?;
        }
        if step.is_shared() && !is_in_shared(plan, at) {
            folders.push((at.to_owned(), clone_of(beneath(&root, at)?.as_fd())?));
        } else if matches!(step, Step::Layer { .. }) {
            layers.push(copy_of_layer(&root, layers.len() + 1)?);
        }
    }
    Ok(SharedMounts { folders, layers })
}

/// Copies a layer of the session, and makes the kernel forget the names that it has cached from the lower folder: the
/// user may have changed them since the last command. A remount does so and changes nothing else.
fn copy_of_layer(root: &OwnedFd, number: usize) -> io::Result<Option<DetachedMount>> {
    let at = layer_of_session(number);
    let layer = match beneath(root, Path::new(&at)) {
        // The kernel could not mount this overlay when the session began.
        Err(Errno::NOENT) => return Ok(None),
        layer => layer?,
    };
    // If this fails, the command may see an outdated list of names, which breaks no barrier.
    let _ = rustix::mount::mount_remount(&at, MountFlags::NOSUID | MountFlags::NODEV, "");
    clone_of(layer.as_fd()).map(Some)
}

/// Returns the path of a layer in the tree of a session. It is not in a folder that its commands see.
fn layer_of_session(number: usize) -> String {
    format!("/.layer-{number}")
}

/// Returns `true` if the path is in a folder that the session's commands share, so that a command can change the
/// folders above the path.
fn is_in_shared(plan: &Plan, at: &Path) -> bool {
    let mut shared = plan.steps.iter().filter(|step| step.is_shared()).map(|step| step.at(plan));
    shared.any(|top| at.starts_with(top) && at != top)
}

/// Returns the folders between the shared folder and this path, the outermost first, without those that an earlier step
/// has pinned.
fn pinned_above<'p>(plan: &'p Plan, at: &'p Path) -> Vec<&'p Path> {
    let earlier = || plan.steps.iter().map(|step| step.at(plan)).take_while(|earlier| *earlier != at);
    let is_pinned = |folder: &Path| earlier().any(|other| other.starts_with(folder));
    let above: Vec<&Path> = at.ancestors().skip(1).filter(|folder| is_in_shared(plan, folder)).collect();
    above.into_iter().rev().filter(|folder| !is_pinned(folder)).collect()
}

/// The sources of the masks, and the folder in which guarded files are identified.
pub(super) struct Tree {
    blanks: Blanks,
    /// The project's own folder, if the command sees the project through a layer.
    below_layer: Option<OwnedFd>,
}

/// Mounts the /proc of the new process namespace, unmounts the old root and makes the new one read-only. The kernel
/// permits mounting /proc only to processes that see another complete one, so the old root must still be there.
pub(super) fn finish(plan: &Plan) -> io::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    rustix::mount::mount("proc", "/proc", "proc", flags, None)?;
    // Both write to /proc, so they precede the read-only remount.
    rights::bound_processes(plan.processes)?;
    memory::prefer_for_oom_kill();
    // With `BIND`, a remount changes only this mount and not the file system (mount(2)).
    rustix::mount::mount_remount("/proc", flags | MountFlags::RDONLY | MountFlags::BIND, "")?;
    leave_the_old_root()?;
    let shut = MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV | MountFlags::BIND;
    Ok(rustix::mount::mount_remount("/", shut, "")?)
}

/// Mounts the masks over the files that the host has just checked. Fails if one of them has changed.
pub(super) fn raise(plan: &Plan, masking: &Masking, tree: &Tree) -> Result<(), Trouble> {
    let (root, blanks) = (open_root()?, &tree.blanks);
    guard(plan, masking, &root, tree)?;
    // A mask covers the file that it was mounted over. If another process has replaced that file since `build`, the new
    // file at the path has no mask, so all paths are checked again.
    hide_of_host(plan.masks.iter(), &root, blanks)?;
    mask(&masking.masks, &root, blanks)?;
    if masking.removable.is_empty() {
        return Ok(());
    }
    // The mounts that follow are not propagated to the command's namespace, so the command can remove these masks
    // together with their files; see `leave_mounts_behind`.
    rustix::mount::mount_change(plan.root.path(), MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .map_err(|errno| Trouble::new(Barrier::Masks, errno.into()))?;
    mask(&masking.removable, &root, blanks)
}

/// Moves the calling process into a new mount namespace, but keeps its root in the tree of the old one.
///
/// The kernel refuses to remove or rename a mount point of the caller's namespace (EBUSY; vfs_unlink and vfs_rename
/// call `is_local_mountpoint`), but resolves a path by the mounts of the tree in which the path begins. So a mask that
/// is mounted only in the old namespace hides a file from this process, but does not prevent the process from removing
/// the file together with the mask. A renamed file keeps its mask. Until [`raise`] makes the mounts below the project
/// private, the two namespaces share them. Masks that must not be removed are mounted before that, in both namespaces.
///
/// As a side effect, /proc/self/mountinfo is empty for the process, so the caller does this only if removable masks
/// exist.
pub(super) fn leave_mounts_behind(plan: &Plan) -> io::Result<()> {
    let shared = MountPropagationFlags::SHARED | MountPropagationFlags::REC;
    rustix::mount::mount_change(plan.root.path(), shared)?;
    let root = open_path(CWD, Path::new("/"), OFlags::DIRECTORY)?;
    sys::unshare(rustix::thread::UnshareFlags::NEWNS)?;
    rustix::process::fchdir(&root)?;
    Ok(rustix::process::chroot(".")?)
}

fn open_root() -> Result<OwnedFd, Trouble> {
    let root = open_path(CWD, Path::new("/"), OFlags::DIRECTORY);
    root.map_err(|error| Trouble::new(Barrier::Tree, error))
}

fn enter_an_empty_root(temporary: u64) -> io::Result<()> {
    // As root without a user namespace, mounts would otherwise propagate to the machine (mount_namespaces(7)).
    rustix::mount::mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    // pivot_root(2) requires that the new root is a mount point, so the empty tree is mounted over any existing folder.
    // It only holds mount points and links; files that commands write are in the store.
    let place = ["/tmp", "/usr", "/etc"].into_iter().find(|place| Path::new(place).is_dir()).unwrap_or("/");
    tmpfs(place, "mode=755,size=16m")?;
    rustix::process::chdir(place)?;
    for folder in [STORE, "/proc"] {
        rustix::fs::mkdir(inside(folder), Mode::from(0o755))?;
    }
    tmpfs(inside(STORE), &format!("mode=755,size={temporary}"))?;
    rustix::fs::mkdir(inside(OLD), Mode::from(0o755))?;
    rustix::process::pivot_root(".", inside(OLD))?;
    Ok(rustix::process::chdir("/")?)
}

/// Returns a path of the new tree relative to the current root, before the tree is the root.
fn inside(path: &str) -> &str {
    path.trim_start_matches('/')
}

fn tmpfs(at: &str, options: &str) -> io::Result<()> {
    let options = std::ffi::CString::new(options)?;
    Ok(rustix::mount::mount("tmpfs", at, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, Some(options.as_c_str()))?)
}

fn leave_the_old_root() -> io::Result<()> {
    // A plain unmount fails (EBUSY), because the old root is mounted in the store and open descriptors may use both.
    rustix::mount::unmount(STORE, UnmountFlags::DETACH)?;
    Ok(rustix::fs::rmdir(STORE)?)
}

/// A tree that is being built.
struct TreeBuilder<'p> {
    plan: &'p Plan,
    /// The number of layers that were mounted so far.
    layers: usize,
    shared: Option<SharedMounts>,
}

impl TreeBuilder<'_> {
    fn apply_step(&mut self, step: &Step) -> io::Result<()> {
        let at = step.at(self.plan);
        match step {
            // The session created the link at its start. If a command has removed the link since, the helper does not
            // create it again, because helpers write nothing into shared folders.
            Step::Link { .. } if self.is_given(at) => Ok(()),
            Step::Link { to, .. } => link(at, to.path()),
            Step::Show { .. } => self.show(at, READ_ONLY),
            Step::ShowIfThere { .. } => unless_missing(self.show(at, READ_ONLY)),
            Step::Layer { .. } => self.layer(at),
            Step::Private { mode, shared, .. } => self.private(at, *mode, *shared),
            Step::Device { .. } => self.show(at, Attributes { read_only: false, devices: true }),
            Step::Project => self.project(),
            Step::Share { .. } => self.show(at, Attributes { read_only: false, devices: false }),
        }
    }

    /// Applies a step to the tree of a session in which no command runs yet.
    fn apply_session_step(&mut self, step: &Step) -> io::Result<()> {
        let at = step.at(self.plan);
        let in_shared = is_in_shared(self.plan, at);
        // A mount on itself pins each folder, so that no command can put a link in its place.
        for folder in pinned_above(self.plan, at) {
            folders(folder)?;
            let spot = beneath(&open_path(CWD, Path::new("/"), OFlags::DIRECTORY)?, folder)?;
            clone_of(spot.as_fd())?.mask(spot.as_fd())?;
        }
        match step {
            Step::Layer { .. } => {
                self.layers += 1;
                // If the overlay cannot be mounted, each command sees the folder read-only.
                let _ = self.overlay_on(at, self.layers, Path::new(&layer_of_session(self.layers)));
            }
            Step::Private { mode, shared: true, .. } => self.private(at, *mode, false)?,
            Step::Link { to, .. } if in_shared => return link(at, to.path()),
            _ => {}
        }
        if !in_shared || step.is_shared() {
            return Ok(());
        }
        // A folder can be mounted only over a folder, and a file only over a file.
        match open_old(at) {
            Ok(source) => mount_point(at, is_folder(source.as_fd())?),
            Err(error) => unless_missing(Err(error)),
        }
    }

    /// Returns `true` if the session provides the entry at this path.
    fn is_given(&self, at: &Path) -> bool {
        self.shared.is_some() && is_in_shared(self.plan, at)
    }

    /// Mounts a copy. In a shared folder the session has already created the mount point, so this creates nothing.
    fn mount_copy(&self, mount: &DetachedMount, at: &Path) -> io::Result<()> {
        if self.is_given(at) { mount.put_over(at) } else { mount.mount_at(at) }
    }

    fn show(&self, at: &Path, attributes: Attributes) -> io::Result<()> {
        let source = open_old(at)?;
        self.mount_copy(&copy_of(source.as_fd(), attributes)?, at)
    }

    fn project(&self) -> io::Result<()> {
        let plan = self.plan;
        let source = open_old(plan.root.path())?;
        // The masks of the plan belong to the folder that the host scanned; another process may have replaced it since.
        if identity(source.as_fd())? != plan.root_is {
            return Err(changed_error(Cause::OtherRoot));
        }
        if let Some(layer) = &plan.layer {
            let at = format!("{STORE}/layer");
            copy_of(open_old(layer.path())?.as_fd(), Attributes::default())?.mount_at(Path::new(&at))?;
            return self.mount_copy(&overlay(source.as_fd(), &at)?, plan.root.path());
        }
        let attributes = Attributes { read_only: !plan.writable, devices: false };
        self.mount_copy(&copy_of(source.as_fd(), attributes)?, plan.root.path())?;
        plan.writable_folders.iter().try_for_each(|at| self.writable_folder(at.path()))
    }

    /// Mounts a writable folder of the project over its place in the read-only project.
    fn writable_folder(&self, at: &Path) -> io::Result<()> {
        let source = match open_old(at) {
            // The host listed this folder, so it was removed after the scan.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(changed_error(Cause::Moved)),
            source => source?,
        };
        let attributes = Attributes { read_only: false, devices: false };
        copy_of(source.as_fd(), attributes)?.put_over(at)
    }

    /// Mounts a layer over a toolchain folder. It is the session's layer or, without a session, a new one whose upper
    /// folder is in the store and is removed with it.
    fn layer(&mut self, at: &Path) -> io::Result<()> {
        self.layers += 1;
        let Some(shared) = &mut self.shared else {
            return self.overlay_on(at, self.layers, at).or_else(|_| self.show(at, READ_ONLY));
        };
        // `copy_shared` has the layers in the order of the plan's steps.
        match shared.layers.get_mut(self.layers - 1).and_then(Option::take) {
            Some(layer) => self.mount_copy(&layer, at),
            None => self.show(at, READ_ONLY),
        }
    }

    fn overlay_on(&self, lower: &Path, number: usize, at: &Path) -> io::Result<()> {
        let store = format!("{STORE}/layer-{number}");
        for folder in ["", "/upper", "/work"] {
            rustix::fs::mkdir(format!("{store}{folder}"), Mode::from(0o755))?;
        }
        self.mount_copy(&overlay(open_old(lower)?.as_fd(), &store)?, at)
    }

    /// Mounts a private folder: the session's own if it is shared, and otherwise a new empty one.
    fn private(&mut self, at: &Path, mode: u32, shared: bool) -> io::Result<()> {
        if shared && let Some(mounts) = &self.shared {
            let given = mounts.folders.iter().find(|(place, _)| place == at);
            // A folder in another shared folder was mounted with that one.
            return given.map_or(Ok(()), |(_, mount)| mount.mount_at(at));
        }
        let store = below(PRIVATE, at);
        folders(&store)?;
        rustix::fs::chmod(&store, Mode::from(mode))?;
        let source = open_path(CWD, &store, OFlags::NOFOLLOW)?;
        copy_of(source.as_fd(), Attributes::default())?.mount_at(at)
    }
}

fn unless_missing(done: io::Result<()>) -> io::Result<()> {
    done.or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

fn link(at: &Path, to: &Path) -> io::Result<()> {
    folders_above(at)?;
    match rustix::fs::symlink(to, at) {
        // A folder that is shown may already contain the link.
        Err(Errno::EXIST | Errno::ROFS) => Ok(()),
        done => Ok(done?),
    }
}

/// Mounts an overlay of `lower`, which is not changed, and of the folder `upper` in `store`.
///
/// `lower` is first bound at a path in the store, because the kernel reads `:` and `,` in a path as separators. The
/// overlay is mounted in the store, too, because mount(2) follows links in the path of a mount point. With `userxattr`,
/// the kernel uses marks that need no privilege (`user.overlay.*`). Without `index` and `xino` it logs no warning about
/// file handles. With `volatile` it does not sync every file that is copied up.
fn overlay(lower: BorrowedFd<'_>, store: &str) -> io::Result<DetachedMount> {
    let (bound, merged) = (format!("{store}.lower"), format!("{store}.merged"));
    copy_of(lower, READ_ONLY)?.mount_at(Path::new(&bound))?;
    rustix::fs::mkdir(&merged, Mode::from(0o755))?;
    let options =
        format!("lowerdir={bound},upperdir={store}/upper,workdir={store}/work,userxattr,index=off,xino=off,volatile");
    let options = std::ffi::CString::new(options)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    rustix::mount::mount("overlay", &merged, "overlay", flags, Some(options.as_c_str()))?;
    Ok(DetachedMount(open_path(CWD, Path::new(&merged), OFlags::DIRECTORY)?))
}

/// Mounts `.git` and similar entries onto themselves, because a mount cannot be renamed or removed.
fn guard(plan: &Plan, masking: &Masking, root: &OwnedFd, tree: &Tree) -> Result<(), Trouble> {
    for guard in &masking.guards {
        let attributes = Attributes { read_only: guard.frozen || !plan.writable, devices: false };
        guarded(plan, guard, root, tree)
            .and_then(|spot| copy_of(spot.as_fd(), attributes)?.mask(spot.as_fd()))
            .map_err(|error| Trouble::at(Barrier::Guards, guard.at.path(), error))?;
    }
    Ok(())
}

/// Opens the entry to be guarded. In an overlay a file has another identity than in the project, so the file below it
/// is compared.
fn guarded(plan: &Plan, guard: &Guard, root: &OwnedFd, tree: &Tree) -> io::Result<OwnedFd> {
    let Some(project) = &tree.below_layer else { return open_expected(root, guard.at.path(), guard.identity) };
    let below_root = guard.at.path().strip_prefix(plan.root.path()).unwrap_or(guard.at.path());
    open_expected(project, below_root, guard.identity)?;
    Ok(beneath(root, guard.at.path())?)
}

/// Mounts a read-only copy of an entry that no user may open over each hidden file. The mount moves with the masked
/// file.
fn mask(masks: &[Spot], root: &OwnedFd, blanks: &Blanks) -> Result<(), Trouble> {
    for spot in masks {
        hide(spot, root, blanks).map_err(|error| Trouble::at(Barrier::Masks, spot.at.path(), error))?;
    }
    Ok(())
}

fn hide(spot: &Spot, root: &OwnedFd, blanks: &Blanks) -> io::Result<()> {
    let target = open_expected(root, spot.at.path(), spot.identity)?;
    // No attributes are set: the blanks are on the new root, which `finish` has made read-only, and a copy inherits
    // that.
    clone_of(blanks.blank_for(&target)?)?.mask(target.as_fd())
}

/// Hides the listed files that no blank covers yet.
fn hide_of_host<'p>(masks: impl Iterator<Item = &'p Name>, root: &OwnedFd, blanks: &Blanks) -> Result<(), Trouble> {
    for at in masks.map(Name::path) {
        let done = beneath(root, at).map_err(io::Error::from).and_then(|target| {
            // If a blank is already mounted there, its identity is that of the opened path.
            let hidden = blanks.are.contains(&identity(target.as_fd())?);
            if hidden { Ok(()) } else { copy_of(blanks.blank_for(&target)?, READ_ONLY)?.mask(target.as_fd()) }
        });
        unless_missing(done).map_err(|error| Trouble::at(Barrier::Masks, at, error))?;
    }
    Ok(())
}

/// A file and a folder without any permission. They are in the new root, where /proc is mounted over them, so no path
/// leads to them, and the kernel copies no mount of an entry without permissions.
pub(super) struct Blanks {
    file: OwnedFd,
    folder: OwnedFd,
    are: [Identity; 2],
}

impl Blanks {
    fn new() -> io::Result<Blanks> {
        let (file, folder) = ("/proc/blank", "/proc/blanks");
        drop(rustix::fs::open(file, OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC, Mode::empty())?);
        rustix::fs::mkdir(folder, Mode::empty())?;
        let open = |path: &str| open_path(CWD, Path::new(path), OFlags::NOFOLLOW);
        let (file, folder) = (open(file)?, open(folder)?);
        Ok(Blanks { are: [identity(file.as_fd())?, identity(folder.as_fd())?], file, folder })
    }

    /// Returns the blank file or the blank folder, whichever can be mounted over this entry.
    fn blank_for(&self, target: &OwnedFd) -> io::Result<BorrowedFd<'_>> {
        Ok(if is_folder(target.as_fd())? { self.folder.as_fd() } else { self.file.as_fd() })
    }
}

/// Opens a path of the new tree, if it has the expected identity.
fn open_expected(root: &OwnedFd, at: &Path, expected: Identity) -> io::Result<OwnedFd> {
    let spot = match beneath(root, at) {
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Err(changed_error(Cause::Moved)),
        spot => spot?,
    };
    if identity(spot.as_fd()).ok() != Some(expected) {
        return Err(changed_error(Cause::Replaced));
    }
    Ok(spot)
}

/// Returns the error for a project that changed since the host checked it: the host must scan it again.
fn changed_error(how: Cause) -> io::Error {
    io::Error::new(io::ErrorKind::StaleNetworkFileHandle, how)
}

/// A detached mount, or one in the store that can be moved.
struct DetachedMount(OwnedFd);

/// Copies a tree of files with all mounts in it.
fn copy_of(source: BorrowedFd<'_>, attributes: Attributes) -> io::Result<DetachedMount> {
    let copy = clone_of(source)?;
    sys::set_attributes(copy.0.as_fd(), attributes)?;
    Ok(copy)
}

/// Copies the mount with the attributes of the original.
fn clone_of(source: BorrowedFd<'_>) -> io::Result<DetachedMount> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH
        | OpenTreeFlags::AT_RECURSIVE;
    Ok(DetachedMount(rustix::mount::open_tree(source, "", flags)?))
}

impl DetachedMount {
    /// Mounts it at a path of the new tree, and creates the mount point if it is missing.
    fn mount_at(&self, at: &Path) -> io::Result<()> {
        mount_point(at, is_folder(self.0.as_fd())?)?;
        self.put_over(at)
    }

    /// Mounts it over an existing entry of the new tree. Returns an error if the path contains a link.
    fn put_over(&self, at: &Path) -> io::Result<()> {
        let root = open_path(CWD, Path::new("/"), OFlags::DIRECTORY)?;
        self.mask(beneath(&root, at)?.as_fd())
    }

    /// Mounts it over an open entry.
    fn mask(&self, target: BorrowedFd<'_>) -> io::Result<()> {
        let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
        Ok(rustix::mount::move_mount(&self.0, "", target, "", flags)?)
    }
}

/// Creates the folder or file for a mount point.
fn mount_point(at: &Path, is_folder: bool) -> io::Result<()> {
    if is_folder {
        return folders(at);
    }
    folders_above(at)?;
    unless_shut(rustix::fs::open(at, OFlags::CREATE | OFlags::CLOEXEC, Mode::from(0o600)).map(drop))
}

fn is_folder(file: BorrowedFd<'_>) -> io::Result<bool> {
    Ok(FileType::from_raw_mode(rustix::fs::fstat(file)?.st_mode) == FileType::Directory)
}

/// Creates the folder and those above it.
fn folders(at: &Path) -> io::Result<()> {
    for folder in at.ancestors().collect::<Vec<_>>().into_iter().rev().skip(1) {
        unless_shut(rustix::fs::mkdir(folder, Mode::from(0o755)))?;
    }
    Ok(())
}

fn folders_above(at: &Path) -> io::Result<()> {
    at.parent().map_or(Ok(()), folders)
}

/// Ignores the errors for an entry that exists already, also in a folder that is read-only or not accessible.
fn unless_shut(done: rustix::io::Result<()>) -> io::Result<()> {
    match done {
        Err(Errno::EXIST | Errno::ROFS | Errno::ACCESS) => Ok(()),
        done => Ok(done?),
    }
}

fn below(top: &str, path: &Path) -> PathBuf {
    Path::new(top).join(path.strip_prefix("/").unwrap_or(path))
}

fn open_old(path: &Path) -> io::Result<OwnedFd> {
    let old = open_path(CWD, Path::new(OLD), OFlags::DIRECTORY)?;
    Ok(beneath(&old, path)?)
}

/// Opens a path below a folder. A link in the path is an error.
fn beneath(top: &OwnedFd, path: &Path) -> rustix::io::Result<OwnedFd> {
    let path = path.strip_prefix("/").unwrap_or(path);
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    rustix::fs::openat2(top, path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty(), resolve)
}

fn open_path(folder: BorrowedFd<'_>, path: &Path, flags: OFlags) -> io::Result<OwnedFd> {
    Ok(rustix::fs::openat(folder, path, OFlags::PATH | OFlags::CLOEXEC | flags, Mode::empty())?)
}

fn identity(file: BorrowedFd<'_>) -> io::Result<Identity> {
    Ok(identity_at(file, Path::new(""))?)
}

/// Enters the working folder of the command. Another process may have replaced a folder on the path by a link, but a
/// link leads only to places in the command's tree.
pub(super) fn enter_folder(plan: &Plan, task: &Task) -> io::Result<()> {
    let at = plan.root.path().join(task.folder.path());
    Ok(rustix::process::chdir(&at)?)
}
