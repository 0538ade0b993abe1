//! The host's side of the sandbox: the enclosure around the commands of one project.

mod probe;

use super::bubblewrap::Bubblewrap;
use super::layout::{HostFacts, Layout};
use super::plan::{Guard, Masking, Name, Plan, Spot, Step, Supervised, Task, part};
use super::{Entry, Kind, Mode, Report, Request, Settings, SharedPaths, container, enter, helper, session, supervise};
use crate::process::Message;
use crate::project::{Identity, MaskKind, Project};
use std::ffi::{OsStr, OsString};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use toolfence_protocol::{Text, text};

/// Runs this program as the helper if it was started as one. In that case the process runs the command and exits with
/// it; otherwise this function returns. A `main` whose program sets up its own sandbox must call it first.
pub fn enter_if_asked() {
    match std::env::args_os().nth(1) {
        Some(argument) if argument == helper::ENTER => std::process::exit(enter::main()),
        Some(argument) if argument == helper::BEGIN_SESSION => std::process::exit(session::main()),
        Some(argument) if argument == helper::KEEP_CONTAINER => std::process::exit(container::main()),
        Some(argument) if argument == helper::SUPERVISE => std::process::exit(supervise::main()),
        _ => {}
    }
    // This process is not a helper, but its program can be started as one from now on.
    helper::is_hooked();
}

/// Returns the supervised process to start for a program of the host that runs without a sandbox and outside of any
/// project. The supervisor ends all its processes and does not limit its memory. Returns `None` if no helper can
/// supervise it.
pub fn supervised(command: &[&OsStr]) -> Option<Entry> {
    let search_path = std::env::var_os("PATH").unwrap_or_default();
    // A relative folder of the PATH is another one in each working folder, so any folder could provide the helper.
    let absolute = std::env::split_paths(&search_path).filter(|folder| folder.is_absolute());
    supervised_by(&helper::find(&std::env::join_paths(absolute).unwrap_or_default())?, 0, command)
}

fn supervised_by(helper: &Path, memory: u64, command: &[&OsStr]) -> Option<Entry> {
    let command = command.iter().map(|word| Name::from(*word)).collect();
    let message = Supervised { version: env!("CARGO_PKG_VERSION").into(), memory, command };
    Some(Entry { program: helper.into(), arguments: vec![helper::SUPERVISE.into()], message: part(&message)?.into() })
}

/// A running command of a session.
#[derive(Debug)]
pub struct InSession {
    count: Arc<AtomicUsize>,
    is_alone: bool,
}

impl InSession {
    /// Returns `true` if no other command of the session ran when this one began, so that it may use unix sockets with
    /// names.
    pub fn is_alone(&self) -> bool {
        self.is_alone
    }
}

impl Drop for InSession {
    fn drop(&mut self) {
        self.count.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The namespaces of a session: see [`session`].
type Session = Arc<[OwnedFd]>;

/// The sandbox around the commands of one project. Detection runs once, and setup runs for each command.
///
/// It owns the session that commands share if they request it: the session ends when the enclosure and every [`Entry`]
/// that it returned are dropped.
#[derive(Debug)]
pub struct Enclosure {
    settings: Settings,
    root: PathBuf,
    identity: Identity,
    helper: Option<PathBuf>,
    layout: Result<Layout, Text>,
    search_path: OsString,
    bubblewrap: OnceLock<Result<Bubblewrap, Text>>,
    container: OnceLock<Result<container::FoundEngine, Text>>,
    report: OnceLock<Report>,
    session: OnceLock<Option<Session>>,
    /// The number of running commands of the session.
    in_session: Arc<AtomicUsize>,
}

impl Enclosure {
    /// Returns the enclosure for the commands of this project.
    pub fn new(settings: Settings, project: &dyn Project) -> Enclosure {
        let variable = |name: &str| std::env::var_os(name);
        let home = variable("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
        let hides = |shown: &Path, below: &Path, is_folder: bool| project.hides_outside(shown, below, is_folder);
        let (root, search_path) = (project.path(), project.search_path());
        let layout = Layout::new(&HostFacts { root, home, search_path, variable: &variable, hides: &hides });
        let helper = settings.helper.clone().or_else(|| helper::find(search_path));
        Enclosure {
            settings,
            root: root.to_owned(),
            identity: project.identity(),
            helper,
            layout,
            search_path: search_path.to_owned(),
            bubblewrap: OnceLock::new(),
            container: OnceLock::new(),
            report: OnceLock::new(),
            session: OnceLock::new(),
            in_session: Arc::default(),
        }
    }

    /// Returns which sandbox is available here. The first call tries it out, which takes some milliseconds.
    pub fn report(&self) -> &Report {
        self.report.get_or_init(|| probe::report(self))
    }

    /// Returns the settings of the enclosure.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the helper that runs a command in the sandbox that is available here, with its message; `None` if there
    /// is no sandbox, or if it cannot mount the layer of the request.
    ///
    /// The first command of a session creates the session, which takes some milliseconds.
    pub fn entry(&self, request: &Request<'_>) -> Option<Entry> {
        let kind = self.report().kind;
        let session = if request.session && kind == Kind::Namespaces { self.session() } else { None };
        self.entry_with(kind, request, &SharedPaths::default(), session)
    }

    /// Returns the process to start for a program that may also change shared paths outside of the project. Returns
    /// `None` if there is no sandbox, or one that cannot show the paths: a container has only the project. The program
    /// is not part of the session.
    pub fn entry_sharing(&self, request: &Request<'_>, shared: &SharedPaths) -> Option<Entry> {
        let kind = self.report().kind;
        if kind == Kind::Container && !shared.is_empty() {
            return None;
        }
        self.entry_with(kind, request, shared, None)
    }

    /// Returns `true` if a program in the sandbox can see this absolute path of the host, without regard to masks.
    pub fn is_visible(&self, path: &Path, shared: &SharedPaths) -> bool {
        let Ok(layout) = &self.layout else { return true };
        // The steps of the layout have real paths.
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let within = |at: &Name| real.starts_with(at.path());
        let shows = |step: &Step| match step {
            Step::Show { at } | Step::ShowIfThere { at } | Step::Layer { at } | Step::Device { at } => within(at),
            _ => false,
        };
        real.starts_with(&self.root)
            || self.report().kind == Kind::Landlock
            || layout.steps.iter().any(shows)
            || shared.contains(&real)
    }

    /// Returns the supervised process to start for a command that runs without a sandbox. The supervisor ends all its
    /// processes and limits its memory. Returns `None` if no helper can supervise it.
    pub fn supervised(&self, command: &[&OsStr]) -> Option<Entry> {
        supervised_by(self.helper()?, self.settings.memory, command)
    }

    /// Returns why no command may run outside of the sandbox either: the settings require a container that is not
    /// available.
    pub fn refusal(&self) -> Option<Text> {
        let report = self.report();
        // With a container in the settings, no other kind is tried, so `Nothing` means that the container is missing.
        let refuses =
            self.settings.container.is_some() && self.settings.mode != Mode::Off && report.kind == Kind::Nothing;
        refuses.then(|| Text::join(report.why.clone(), " "))
    }

    /// Returns the program that sets up the sandbox: this one, if its `main` calls
    /// [`enter_if_asked`], or another one that was found.
    pub fn helper(&self) -> Option<&Path> {
        self.helper.as_deref()
    }

    /// Returns why no sandbox can be set up around this project on any machine.
    pub(super) fn hindrance(&self) -> Option<&Text> {
        self.layout.as_ref().err()
    }

    pub(super) fn entry_of(&self, kind: Kind, request: &Request<'_>) -> Option<Entry> {
        self.entry_with(kind, request, &SharedPaths::default(), None)
    }

    /// Registers a command of the session. The guard must live until all processes of the command have ended.
    ///
    /// Only the first of several concurrent commands may use named unix sockets. Through such a socket, a command could
    /// pass an open file of its layer to another command, which could then change the file after it was put into the
    /// project.
    pub fn enter_session(&self) -> InSession {
        let is_alone = self.in_session.fetch_add(1, Ordering::SeqCst) == 0;
        InSession { count: Arc::clone(&self.in_session), is_alone }
    }

    /// Returns the session of the commands, and creates it on the first call. Returns `None` if this machine cannot
    /// have one.
    fn session(&self) -> Option<&Session> {
        let session = self.session.get_or_init(|| {
            let (layout, helper) = (self.layout.as_ref().ok()?, self.helper.as_ref()?);
            // The private folders and layers are the same for every command, so the plan of any request serves for the
            // session.
            let plan = probe::nothing(|request| self.plan(layout, Kind::Namespaces, request));
            let (program, arguments) = (helper.into(), vec![helper::BEGIN_SESSION.into()]);
            let begin = Entry { program, arguments, message: part(&plan)?.into() };
            let entry = |request: &Request<'_>, session: &Session| {
                self.entry_with(Kind::Namespaces, request, &SharedPaths::default(), Some(session))
            };
            probe::begin_session(&begin, entry)
                .inspect_err(|why| tracing::debug!(%why, "no session could be begun"))
                .ok()
        });
        session.as_ref()
    }

    fn entry_with(
        &self,
        kind: Kind,
        request: &Request<'_>,
        shared: &SharedPaths,
        session: Option<&Session>,
    ) -> Option<Entry> {
        let cannot_mount = request.layer.is_some() && kind != Kind::Namespaces;
        if kind == Kind::Nothing || self.settings.mode == Mode::Off || cannot_mount {
            return None;
        }
        let layout = self.layout.as_ref().ok()?;
        let (mut plan, masking) = (self.plan(layout, kind, request), self.masking(request));
        shared.put_into(&mut plan);
        // A session has at most four descriptors.
        plan.session = session.map_or(0, |session| session.len() as u8);
        let command = request.command.iter().map(|word| Name::from(*word)).collect();
        let task = Task { folder: request.folder.into(), command };
        if kind == Kind::Container {
            return self.container().ok()?.entry(self.helper.as_ref()?, &plan, &masking, &task, request.variables);
        }
        // The parts are in the order in which the helper reads them.
        let mut message = part(&plan)?;
        message.extend(part(&masking)?);
        message.extend(part(&task)?);
        let helper = self.helper.as_ref()?;
        let (program, mut arguments) = match kind {
            Kind::Bubblewrap => {
                let bubblewrap = self.bubblewrap().ok()?;
                // The helper may be `/proc/self/exe`, which would be bubblewrap's own program there.
                let arguments = bubblewrap.arguments(&plan, &masking, &helper.canonicalize().ok()?);
                (bubblewrap.program.clone(), arguments)
            }
            _ => (helper.clone(), Vec::new()),
        };
        arguments.push(helper::ENTER.into());
        let message = Message::new(message, session.cloned().unwrap_or_default());
        Some(Entry { program: program.into(), arguments, message })
    }

    /// Returns the container's engine, which is searched on the first call.
    pub(super) fn container(&self) -> Result<&container::FoundEngine, &Text> {
        let found = self.container.get_or_init(|| match &self.settings.container {
            Some(wanted) => container::FoundEngine::find(wanted, &self.search_path),
            None => Err(text!("none was requested")),
        });
        found.as_ref()
    }

    /// Returns the system's `bwrap`, which is searched on the first call.
    pub(super) fn bubblewrap(&self) -> Result<&Bubblewrap, &Text> {
        self.bubblewrap.get_or_init(Bubblewrap::find).as_ref()
    }

    fn plan(&self, layout: &Layout, kind: Kind, request: &Request<'_>) -> Plan {
        let network = request.network || self.settings.network;
        let mut steps = layout.steps.clone();
        if network {
            steps.extend(names_of_the_network());
        }
        Plan {
            version: env!("CARGO_PKG_VERSION").into(),
            session: 0,
            namespaces: kind == Kind::Namespaces,
            tree: kind > Kind::Landlock,
            network,
            writable: self.settings.mode == Mode::ProjectWrite && !request.looks,
            writable_folders: request.writable_folders.iter().map(|folder| self.root.join(folder).into()).collect(),
            // The changes of a read-only command are not checked, so no other command of the session may pass it an
            // open folder that is writable.
            named_sockets: !request.session || request.sockets && !request.looks,
            removable: request.masks.iter().any(|mask| mask.how == MaskKind::HideRemovable),
            processes: self.settings.processes,
            memory: self.settings.memory,
            temporary: self.settings.temporary(),
            root: self.root.as_path().into(),
            root_is: self.identity,
            layer: request.layer.map(Name::from),
            steps,
            masks: layout.masks.clone(),
            // Landlock alone creates no private folders, so outside of the project only /dev/null is writable.
            scratch: if kind > Kind::Landlock { layout.scratch.clone() } else { vec!["/dev/null".into()] },
        }
    }

    fn masking(&self, request: &Request<'_>) -> Masking {
        Masking {
            masks: self.masks(request, MaskKind::Hide),
            removable: self.masks(request, MaskKind::HideRemovable),
            guards: self.guards(request),
        }
    }

    fn masks(&self, request: &Request<'_>, how: MaskKind) -> Vec<Spot> {
        let hidden = request.masks.iter().filter(|mask| mask.how == how);
        hidden.map(|mask| Spot { at: self.root.join(&mask.path).into(), identity: mask.identity }).collect()
    }

    fn guards(&self, request: &Request<'_>) -> Vec<Guard> {
        let guarded = request.masks.iter().filter(|mask| matches!(mask.how, MaskKind::Keep | MaskKind::Freeze));
        let guard = |at: &Path, identity, how| Guard {
            at: self.root.join(at).into(),
            identity,
            frozen: how == MaskKind::Freeze,
        };
        guarded.map(|mask| guard(&mask.path, mask.identity, mask.how)).collect()
    }
}

/// Shows the target of the file that lists the name servers, which is often a link into a folder that is not visible.
fn names_of_the_network() -> Option<Step> {
    let real = Path::new("/etc/resolv.conf").canonicalize().ok()?;
    (!real.starts_with("/etc")).then(|| Step::ShowIfThere { at: real.into() })
}
