//! The tree a command sees: made of an empty one, so that what is not named is not there.
//!
//! The old root is kept at one place while the new one is built from it and is then taken away. Links in paths of the host
//! are never followed: the host has resolved them.

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

/// Where private folders, layers and masks have their store.
const STORE: &str = "/.store";

/// Where the old root is while the new one is built: in the store, so that both go at once, which the kernel is slow at.
const OLD: &str = "/.store/old";

/// Where private folders are in the store.
const PRIVATE: &str = "/.store/private";

/// Devices that are nothing but a function.
pub(super) const DEVICES: &[&str] = &["null", "zero", "full", "random", "urandom"];

const READ_ONLY: Attributes = Attributes { read_only: true, devices: false };

/// Builds the tree; what needs the new process namespace (/proc) comes later, with [`finish`], and what depends on the command
/// last, with [`mask`].
///
/// `shared` is what a session has: its mounts take the place of new private folders and layers.
pub(super) fn build(plan: &Plan, shared: Option<SharedMounts>) -> Result<Tree, Trouble> {
    let barrier = Barrier::Tree;
    enter_an_empty_root(plan.temporary).map_err(|error| Trouble::new(barrier, error))?;
    // The old root is unmounted later; the open folder stays usable.
    let below_layer = match plan.layer {
        Some(_) => Some(open_old(plan.root.path()).map_err(|error| Trouble::at(barrier, plan.root.path(), error))?),
        None => None,
    };
    let mut building = Building { plan, layers: 0, shared };
    for step in &plan.steps {
        building.take(step).map_err(|error| Trouble::at(barrier, step.at(plan), error))?;
    }
    let blanks = Blanks::new().map_err(|error| Trouble::new(barrier, error))?;
    // What is in the project waits for its guards: they have to find what they guard, and not what lies over it.
    let outside = plan.masks.iter().filter(|at| !at.path().starts_with(plan.root.path()));
    hide_of_host(outside, &open_root()?, &blanks)?;
    Ok(Tree { blanks, below_layer })
}

/// Builds the tree of a session: its private folders and, at [`layer_of_session`], its layers.
///
/// In the private folders it creates everything over which the commands of the session have mounts, so that their helpers create
/// nothing there. A folder above such a place is mounted onto itself: what is a mount cannot be renamed or removed.
pub(super) fn build_session(plan: &Plan) -> Result<(), Trouble> {
    let barrier = Barrier::Tree;
    enter_an_empty_root(plan.temporary).map_err(|error| Trouble::new(barrier, error))?;
    let mut building = Building { plan, layers: 0, shared: None };
    for step in &plan.steps {
        building.take_for_session(step).map_err(|error| Trouble::at(barrier, step.at(plan), error))?;
    }
    leave_the_old_root().map_err(|error| Trouble::new(barrier, error))
}

/// What a session has mounted, copied for one command.
pub(super) struct SharedMounts {
    /// The private folders, each with its place. One in another comes with that one.
    folders: Vec<(PathBuf, Loose)>,
    /// The layers in the order of their steps; `None` where no overlay could be mounted.
    layers: Vec<Option<Loose>>,
}

/// Copies what is mounted in the session, whose mount namespace the caller has entered.
pub(super) fn copy_shared(plan: &Plan) -> io::Result<SharedMounts> {
    let root = open_path(CWD, Path::new("/"), OFlags::DIRECTORY)?;
    let (mut folders, mut layers) = (Vec::new(), Vec::new());
    for step in &plan.steps {
        let at = step.at(plan);
        // A command that has taken its own permissions away must not stop the next one. Only the session is to be reached here.
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

/// Copies a layer of the session, and has the kernel forget the names that it remembers of what lies below: the user may have changed
/// that since the last command. A remount does so and changes nothing else.
fn copy_of_layer(root: &OwnedFd, number: usize) -> io::Result<Option<Loose>> {
    let at = layer_of_session(number);
    let layer = match beneath(root, Path::new(&at)) {
        Err(Errno::NOENT) => return Ok(None),
        layer => layer?,
    };
    let _ = rustix::mount::mount_remount(&at, MountFlags::NOSUID | MountFlags::NODEV, "");
    clone_of(layer.as_fd()).map(Some)
}

/// Where a layer is in the tree of a session: not in a folder that its commands see.
fn layer_of_session(number: usize) -> String {
    format!("/.layer-{number}")
}

/// Returns `true` if the path is in a folder that the commands of a session share, so that they can write above it.
fn is_in_shared(plan: &Plan, at: &Path) -> bool {
    let mut shared = plan.steps.iter().filter(|step| step.is_shared()).map(|step| step.at(plan));
    shared.any(|top| at.starts_with(top) && at != top)
}

/// The folders between a shared one and this path, from above, but for those that are above the path of an earlier step too.
fn pinned_above<'p>(plan: &'p Plan, at: &'p Path) -> Vec<&'p Path> {
    let earlier = || plan.steps.iter().map(|step| step.at(plan)).take_while(|earlier| *earlier != at);
    let is_pinned = |folder: &Path| earlier().any(|other| other.starts_with(folder));
    let above: Vec<&Path> = at.ancestors().skip(1).filter(|folder| is_in_shared(plan, folder)).collect();
    above.into_iter().rev().filter(|folder| !is_pinned(folder)).collect()
}

/// What masks are made of, and what they are compared with.
pub(super) struct Tree {
    blanks: Blanks,
    /// The project as the host sees it, if the command sees it through a layer.
    below_layer: Option<OwnedFd>,
}

/// Mounts the /proc of the new process namespace, leaves the old root and shuts the new one. The kernel gives a /proc only to
/// those who see another one in full, so the old root has to be there still.
pub(super) fn finish(plan: &Plan) -> io::Result<()> {
    let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    rustix::mount::mount("proc", "/proc", "proc", flags, None)?;
    rights::bound_processes(plan.processes)?;
    memory::be_first_to_go();
    rustix::mount::mount_remount("/proc", flags | MountFlags::RDONLY | MountFlags::BIND, "")?;
    leave_the_old_root()?;
    let shut = MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV | MountFlags::BIND;
    Ok(rustix::mount::mount_remount("/", shut, "")?)
}

/// Raises the masks over what the host has just looked at, or says that something is not there as it was.
pub(super) fn raise(plan: &Plan, masking: &Masking, tree: &Tree) -> Result<(), Trouble> {
    let (root, blanks) = (open_root()?, &tree.blanks);
    guard(plan, masking, &root, tree)?;
    // A file of the host that was replaced since it was hidden is another one, over which nothing lies.
    hide_of_host(plan.masks.iter(), &root, blanks)?;
    mask(&masking.masks, &root, blanks)?;
    if masking.removable.is_empty() {
        return Ok(());
    }
    // From here on mounts stay in this namespace, see `leave_mounts_behind`.
    rustix::mount::mount_change(plan.root.path(), MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .map_err(|errno| Trouble::new(Barrier::Masks, errno.into()))?;
    mask(&masking.removable, &root, blanks)
}

/// Gives the calling process a mount namespace of its own, while its root stays the tree it has.
///
/// The kernel refuses to remove or rename what is a mount point in the namespace of whoever asks (EBUSY; vfs_unlink and
/// vfs_rename ask `is_local_mountpoint`), while a path is resolved by the mounts of the tree it begins in. So a mask that
/// is put into the old namespace alone hides a file from this process and lets it remove the file, which takes the mask
/// away with it; a renamed file keeps its mask. Mounts below the project are shared between the two until
/// [`mask`] ends that: those that must not be removed are made before, in both.
///
/// The process finds its /proc/self/mountinfo empty then, so this is done only where there are such masks.
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
    rustix::mount::mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
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

/// A path of the new tree from its root, before it is the root.
fn inside(path: &str) -> &str {
    path.trim_start_matches('/')
}

fn tmpfs(at: &str, options: &str) -> io::Result<()> {
    let options = std::ffi::CString::new(options)?;
    Ok(rustix::mount::mount("tmpfs", at, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, Some(options.as_c_str()))?)
}

fn leave_the_old_root() -> io::Result<()> {
    rustix::mount::unmount(STORE, UnmountFlags::DETACH)?;
    Ok(rustix::fs::rmdir(STORE)?)
}

/// A tree that is being built.
struct Building<'p> {
    plan: &'p Plan,
    /// The layers so far.
    layers: usize,
    shared: Option<SharedMounts>,
}

impl Building<'_> {
    fn take(&mut self, step: &Step) -> io::Result<()> {
        let at = step.at(self.plan);
        match step {
            // In a session it was created at the beginning, and a command may have removed it.
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

    /// Takes a step of the tree of a session, in which no command runs yet.
    fn take_for_session(&mut self, step: &Step) -> io::Result<()> {
        let at = step.at(self.plan);
        let in_shared = is_in_shared(self.plan, at);
        for folder in pinned_above(self.plan, at) {
            folders(folder)?;
            let spot = beneath(&open_path(CWD, Path::new("/"), OFlags::DIRECTORY)?, folder)?;
            clone_of(spot.as_fd())?.mask(spot.as_fd())?;
        }
        match step {
            Step::Layer { .. } => {
                self.layers += 1;
                // Without it each command sees the folder read-only.
                let _ = self.overlay_on(at, self.layers, Path::new(&layer_of_session(self.layers)));
            }
            Step::Private { mode, shared: true, .. } => self.private(at, *mode, false)?,
            Step::Link { to, .. } if in_shared => return link(at, to.path()),
            _ => {}
        }
        if !in_shared || step.is_shared() {
            return Ok(());
        }
        match open_old(at) {
            Ok(source) => mount_point(at, is_folder(source.as_fd())?),
            Err(error) => unless_missing(Err(error)),
        }
    }

    /// Returns `true` if what is at this path comes with the session.
    fn is_given(&self, at: &Path) -> bool {
        self.shared.is_some() && is_in_shared(self.plan, at)
    }

    /// Mounts a copy at its place. In a shared folder the place is there already, and nothing is created.
    fn put(&self, mount: &Loose, at: &Path) -> io::Result<()> {
        if self.is_given(at) { mount.put_over(at) } else { mount.put(at) }
    }

    fn show(&self, at: &Path, attributes: Attributes) -> io::Result<()> {
        let source = open_old(at)?;
        self.put(&copy_of(source.as_fd(), attributes)?, at)
    }

    fn project(&self) -> io::Result<()> {
        let plan = self.plan;
        let source = open_old(plan.root.path())?;
        if identity(source.as_fd())? != plan.root_is {
            return Err(changed(Cause::OtherRoot));
        }
        if let Some(layer) = &plan.layer {
            let at = format!("{STORE}/layer");
            copy_of(open_old(layer.path())?.as_fd(), Attributes::default())?.put(Path::new(&at))?;
            return self.put(&overlay(source.as_fd(), &at)?, plan.root.path());
        }
        let attributes = Attributes { read_only: !plan.writable, devices: false };
        self.put(&copy_of(source.as_fd(), attributes)?, plan.root.path())?;
        plan.writable_folders.iter().try_for_each(|at| self.writable_folder(at.path()))
    }

    /// Mounts a folder of the project over its place in the read-only project.
    fn writable_folder(&self, at: &Path) -> io::Result<()> {
        let source = match open_old(at) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(changed(Cause::Moved)),
            source => source?,
        };
        let attributes = Attributes { read_only: false, devices: false };
        copy_of(source.as_fd(), attributes)?.put_over(at)
    }

    /// A layer for a folder of toolchains: that of the session, or one whose upper folder is in the store and ends with it.
    fn layer(&mut self, at: &Path) -> io::Result<()> {
        self.layers += 1;
        let Some(shared) = &mut self.shared else {
            return self.overlay_on(at, self.layers, at).or_else(|_| self.show(at, READ_ONLY));
        };
        match shared.layers.get_mut(self.layers - 1).and_then(Option::take) {
            Some(layer) => self.put(&layer, at),
            None => self.show(at, READ_ONLY),
        }
    }

    fn overlay_on(&self, lower: &Path, number: usize, at: &Path) -> io::Result<()> {
        let store = format!("{STORE}/layer-{number}");
        for folder in ["", "/upper", "/work"] {
            rustix::fs::mkdir(format!("{store}{folder}"), Mode::from(0o755))?;
        }
        self.put(&overlay(open_old(lower)?.as_fd(), &store)?, at)
    }

    /// A private folder: that of the session, or an empty one.
    fn private(&mut self, at: &Path, mode: u32, shared: bool) -> io::Result<()> {
        if shared && let Some(mounts) = &self.shared {
            let given = mounts.folders.iter().find(|(place, _)| place == at);
            // One in another shared folder came with that one.
            return given.map_or(Ok(()), |(_, mount)| mount.put(at));
        }
        let store = below(PRIVATE, at);
        folders(&store)?;
        rustix::fs::chmod(&store, Mode::from(mode))?;
        let source = open_path(CWD, &store, OFlags::NOFOLLOW)?;
        copy_of(source.as_fd(), Attributes::default())?.put(at)
    }
}

fn unless_missing(done: io::Result<()>) -> io::Result<()> {
    done.or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

fn link(at: &Path, to: &Path) -> io::Result<()> {
    folders_above(at)?;
    match rustix::fs::symlink(to, at) {
        // A folder that is shown may have it already.
        Err(Errno::EXIST | Errno::ROFS) => Ok(()),
        done => Ok(done?),
    }
}

/// Mounts an overlay of `lower`, which stays as it is, and of the folder `upper` in `store`.
///
/// `lower` is bound at a path of ours first: the kernel reads `:` and `,` in a path as separators. The overlay is mounted in the store
/// too, because mount(2) follows links in the path of a mount point. Without `index` and `xino` the kernel logs no warning about file
/// handles, and without `volatile` it syncs every file that is copied up.
fn overlay(lower: BorrowedFd<'_>, store: &str) -> io::Result<Loose> {
    let (bound, merged) = (format!("{store}.lower"), format!("{store}.merged"));
    copy_of(lower, READ_ONLY)?.put(Path::new(&bound))?;
    rustix::fs::mkdir(&merged, Mode::from(0o755))?;
    let options =
        format!("lowerdir={bound},upperdir={store}/upper,workdir={store}/work,userxattr,index=off,xino=off,volatile");
    let options = std::ffi::CString::new(options)?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    rustix::mount::mount("overlay", &merged, "overlay", flags, Some(options.as_c_str()))?;
    Ok(Loose(open_path(CWD, Path::new(&merged), OFlags::DIRECTORY)?))
}

/// `.git` and its kin are mounted onto themselves: what is a mount cannot be renamed or removed.
fn guard(plan: &Plan, masking: &Masking, root: &OwnedFd, tree: &Tree) -> Result<(), Trouble> {
    for guard in &masking.guards {
        let attributes = Attributes { read_only: guard.frozen || !plan.writable, devices: false };
        guarded(plan, guard, root, tree)
            .and_then(|spot| copy_of(spot.as_fd(), attributes)?.mask(spot.as_fd()))
            .map_err(|error| Trouble::at(Barrier::Guards, guard.at.path(), error))?;
    }
    Ok(())
}

/// Opens what a guard is put over. In an overlay a file has another identity than in the project, so the one below is compared.
fn guarded(plan: &Plan, guard: &Guard, root: &OwnedFd, tree: &Tree) -> io::Result<OwnedFd> {
    let Some(project) = &tree.below_layer else { return meant(root, guard.at.path(), guard.is) };
    let below_root = guard.at.path().strip_prefix(plan.root.path()).unwrap_or(guard.at.path());
    meant(project, below_root, guard.is)?;
    Ok(beneath(root, guard.at.path())?)
}

/// A read-only copy of something nobody may open lies over what is hidden. The copy goes where the masked file goes.
fn mask(masks: &[Spot], root: &OwnedFd, blanks: &Blanks) -> Result<(), Trouble> {
    for spot in masks {
        hide(spot, root, blanks).map_err(|error| Trouble::at(Barrier::Masks, spot.at.path(), error))?;
    }
    Ok(())
}

fn hide(spot: &Spot, root: &OwnedFd, blanks: &Blanks) -> io::Result<()> {
    let target = meant(root, spot.at.path(), spot.is)?;
    // The new root is read-only by now, and so is every copy of a part of it.
    clone_of(blanks.like(&target)?)?.mask(target.as_fd())
}

/// Hides what is not hidden yet.
fn hide_of_host<'p>(masks: impl Iterator<Item = &'p Name>, root: &OwnedFd, blanks: &Blanks) -> Result<(), Trouble> {
    for at in masks.map(Name::path) {
        let done = beneath(root, at).map_err(io::Error::from).and_then(|target| {
            let hidden = blanks.are.contains(&identity(target.as_fd())?);
            if hidden { Ok(()) } else { copy_of(blanks.like(&target)?, READ_ONLY)?.mask(target.as_fd()) }
        });
        unless_missing(done).map_err(|error| Trouble::at(Barrier::Masks, at, error))?;
    }
    Ok(())
}

/// A file and a folder without any permission. They are in the new root, where /proc will lie over them: nobody reaches them by
/// a name, and the kernel copies no mount of what has none.
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

    /// The one that can lie over this.
    fn like(&self, target: &OwnedFd) -> io::Result<BorrowedFd<'_>> {
        Ok(if is_folder(target.as_fd())? { self.folder.as_fd() } else { self.file.as_fd() })
    }
}

/// What stands at a path of the new tree, if it is what is meant by it.
fn meant(root: &OwnedFd, at: &Path, is: Identity) -> io::Result<OwnedFd> {
    let spot = match beneath(root, at) {
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Err(changed(Cause::Moved)),
        spot => spot?,
    };
    if identity(spot.as_fd()).ok() != Some(is) {
        return Err(changed(Cause::Replaced));
    }
    Ok(spot)
}

/// The host looked at the project and it is not as it was: it has to look again.
fn changed(how: Cause) -> io::Error {
    io::Error::new(io::ErrorKind::StaleNetworkFileHandle, how)
}

/// A mount that is nowhere yet, or one in the store that can be moved.
struct Loose(OwnedFd);

/// A copy of a tree of files with all that is mounted in it.
fn copy_of(source: BorrowedFd<'_>, attributes: Attributes) -> io::Result<Loose> {
    let copy = clone_of(source)?;
    sys::set_attributes(copy.0.as_fd(), attributes)?;
    Ok(copy)
}

/// A copy of the mount with the attributes that the original has.
fn clone_of(source: BorrowedFd<'_>) -> io::Result<Loose> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_EMPTY_PATH
        | OpenTreeFlags::AT_RECURSIVE;
    Ok(Loose(rustix::mount::open_tree(source, "", flags)?))
}

impl Loose {
    /// Mounts it at a path of the new tree, which is made where it is missing.
    fn put(&self, at: &Path) -> io::Result<()> {
        mount_point(at, is_folder(self.0.as_fd())?)?;
        self.put_over(at)
    }

    /// Mounts it over what is at a path of the new tree. A link in the path is an error.
    fn put_over(&self, at: &Path) -> io::Result<()> {
        let root = open_path(CWD, Path::new("/"), OFlags::DIRECTORY)?;
        self.mask(beneath(&root, at)?.as_fd())
    }

    /// Mounts it over what is open.
    fn mask(&self, target: BorrowedFd<'_>) -> io::Result<()> {
        let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
        Ok(rustix::mount::move_mount(&self.0, "", target, "", flags)?)
    }
}

/// Creates the folder or file over which something is mounted.
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

/// The folder and those above it.
fn folders(at: &Path) -> io::Result<()> {
    for folder in at.ancestors().collect::<Vec<_>>().into_iter().rev().skip(1) {
        unless_shut(rustix::fs::mkdir(folder, Mode::from(0o755)))?;
    }
    Ok(())
}

fn folders_above(at: &Path) -> io::Result<()> {
    at.parent().map_or(Ok(()), folders)
}

/// What is there already need not be made, even where nothing can be made.
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

/// A path below a folder, in which no link is accepted.
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

/// Enters a folder of the project, wherever the names of the path lead now: there is nothing else to be reached.
pub(super) fn enter_folder(plan: &Plan, task: &Task) -> io::Result<()> {
    let at = plan.root.path().join(task.folder.path());
    Ok(rustix::process::chdir(&at)?)
}
