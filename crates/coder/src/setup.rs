//! What the options ask for, built: persona, workspace, tools, policy, backend, agent.

use crate::agents_files;
use crate::args::Options;
use crate::choices::{BackendKind, Engine, Instructions, Recording, Sandbox, Switch};
use crate::config::name_of;
use crate::config::places::Places;
use crate::config::profile::{self, Known, Profile, Profiles, counting};
use crate::config::rules::Check;
use crate::config::value::Layer;
use crate::config::{Config, Layers, redactor};
use crate::debug;
use crate::failure::Failure;
use crate::messages;
use crate::not_kept::NotKept;
use crate::personas::{self, Folders, Place};
use crate::program;
use crate::server::{Server, model_of};
use crate::servers::{self, Found};
use crate::shown;
use crate::terminal::{self, tell};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};
use toolfence_agent::agent::Agent;
use toolfence_agent::backend::Adapted;
use toolfence_agent::backend::http::Http;
use toolfence_agent::backend::{Backend, Replay, Usage};
use toolfence_agent::redact::Redactor;
use toolfence_agent::transcript::Transcript;
use toolfence_agent::transcript::{Store, rfc3339};
use toolfence_mcp::ServedTool;
use toolfence_policy::Policy;
use toolfence_policy::rules::PathRules;
use toolfence_policy::toolbox::{Tool, Toolbox};
use toolfence_protocol::format::Format;
use toolfence_protocol::grammar::{self, GrammarOptions};
use toolfence_protocol::text;
use toolfence_protocol::{Catalog, Dialect, Dialects, Language, Learned, Text, prompt};
use toolfence_sandbox::isolation::Container;
use toolfence_session::persona::Persona;
use toolfence_session::{Session, SessionOptions};
use toolfence_tools::complete;
use toolfence_tools::validate::Checker;
use toolfence_tools::{self as tools, CommandRunner, ProjectChecks};
use toolfence_workspace::Workspace;
use toolfence_workspace::undo::{History, Limits};

/// Everything a command needs but the backend.
pub(crate) struct Setup {
    pub(crate) config: Config,
    pub(crate) persona: Persona,
    pub(crate) language: Language,
    pub(crate) workspace: Arc<Workspace>,
    /// What runs commands in the workspace, and what the policy asks about the project.
    pub(crate) commands: Arc<CommandRunner>,
    pub(crate) toolbox: Toolbox,
    pub(crate) policy: Policy,
    /// How results are written for the model.
    pub(crate) format: Format,
    /// The conversations that were written down, if there is a place for them.
    pub(crate) sessions: Option<Store>,
    /// Whether this one is.
    transcripts: bool,
    /// What turns changed, if it is kept.
    pub(crate) history: Option<Arc<History>>,
    /// Where it is kept what replies have shown of backends.
    pub(crate) profiles: Option<Profiles>,
    /// Whether it is told below each turn what the replies cost.
    stats: bool,
    /// The server that answers, once it is known.
    server: OnceLock<Option<Server>>,
    /// What the project says to agents, as the model is told it.
    agents_files: Option<String>,
    /// Where files of settings are; none for the demo.
    pub(crate) places: Option<Places>,
    /// The servers of the settings, where they were started. Those that are trusted have tools on offer too.
    servers: Arc<Vec<Found>>,
}

/// If this variable is set, commands run on the project itself instead of on private copies.
const NO_OVERLAY: &str = "TOOLFENCE_NO_OVERLAY";

impl Setup {
    /// What files of settings and options ask for.
    pub(crate) fn new(options: &Options) -> Result<Setup, Failure> {
        let setup = Setup::of(Layers::read(options)?, options)?;
        setup.config.notes.iter().for_each(tell);
        Ok(setup)
    }

    /// What other options ask for: another persona with its tools, its model and what it tightens, or another model. What turns
    /// changed stays one history.
    pub(crate) fn changed(&self, options: &Options) -> Result<Setup, Failure> {
        let mut setup = Setup::with_history(Layers::read(options)?, options, Some(self.history.clone()))?;
        setup.config.notes.iter().for_each(tell);
        // Those that run go on.
        setup.servers = Arc::clone(&self.servers);
        setup.offer_servers();
        Ok(setup)
    }

    /// This setup with the tools of the servers that the settings name, which run from here on. With `asks`, `coder` asks the person at
    /// the terminal about each server that the person has not trusted yet; without it such a server is left out.
    pub(crate) fn with_servers(mut self, asks: bool) -> Result<Setup, Failure> {
        let Some(places) = &self.places else { return Ok(self) };
        let mut found = servers::start(&self.config, places, &self.commands, None);
        servers::settle(&mut found, places, asks)?;
        self.servers = Arc::new(found);
        self.offer_servers();
        Ok(self)
    }

    fn offer_servers(&mut self) {
        self.toolbox = with_tools_of(std::mem::take(&mut self.toolbox), &self.servers, &self.persona);
        self.policy = self.policy.clone().allow_served(self.servers.iter().flat_map(Found::allowed));
    }

    /// The servers of the settings, where they were started.
    pub(crate) fn servers(&self) -> &[Found] {
        &self.servers
    }

    /// Puts a server that was started again in the place of the one that had its name, with its tools and with what the settings
    /// allow of it now. Gives the tools that have to ask again, unless the settings allow them now: those that they allowed before,
    /// and all where the server is another one than the person had trusted. Another policy has to forget them too.
    pub(crate) fn put_server(&mut self, server: Found) -> Vec<String> {
        let old = self.servers.iter().find(|old| old.key == server.key);
        let were = match old {
            None => Vec::new(),
            Some(old) if old.told() == server.told() => old.allowed(),
            // What a person has allowed always was a call of the server as it was.
            Some(old) => old.tools().collect(),
        };
        self.policy = self.policy.clone().forget_served(&were);
        let mut all: Vec<Found> = self.servers.iter().filter(|old| old.key != server.key).cloned().collect();
        let before = format!("{}.", server.rule.name);
        let others = |name: &String| !name.starts_with(&before);
        let kept: Vec<String> =
            self.toolbox.catalog().specs().iter().map(|spec| spec.name.to_string()).filter(others).collect();
        self.toolbox = std::mem::take(&mut self.toolbox).only(&kept);
        let at = self.servers.iter().position(|old| old.key == server.key).unwrap_or(all.len());
        all.insert(at, server);
        self.servers = Arc::new(all);
        self.offer_servers();
        were
    }

    /// The servers whose tools are on offer, and how many each has; `None` where there is no server.
    pub(crate) fn serving(&self) -> Option<Text> {
        let told =
            |server: &Arc<toolfence_mcp::Server>| messages::server_with_tools(server.name(), server.tools().count());
        let all: Vec<Text> = self.servers.iter().filter_map(Found::on_offer).map(told).collect();
        (!all.is_empty()).then(|| messages::servers_offer(Text::join(all, ", ")))
    }

    /// What these layers ask for.
    pub(crate) fn of(layers: Layers, options: &Options) -> Result<Setup, Failure> {
        Setup::with_history(layers, options, None)
    }

    /// What these layers ask for, with the history of turns where there is one already.
    fn with_history(layers: Layers, options: &Options, known: Option<Option<Arc<History>>>) -> Result<Setup, Failure> {
        let root = &options.root;
        let (layers, persona) = with_persona(layers)?;
        let config = layers.merged();
        config.settle_looks();
        terminal::set_notice(config.notify.value(), config.notify_after.value());
        let policy = Policy::new(config.policy()).map_err(Failure::wrong_use)?;
        let history = match known {
            Some(known) => known,
            None => history(&config, layers.places.state.as_deref(), root)?,
        };
        let policy = policy.protect(layers.places.inside_the_root());
        let profiles = Profiles::of(&layers.places);
        let setup = Setup::build(config, persona, root, policy, history, layers.places.state.as_deref())?;
        let sessions = layers.places.state.as_deref().map(Store::new);
        let transcripts = setup.config.sessions.transcripts.value() == Recording::On && !options.no_transcript;
        let agents_files = (setup.config.agents_files.value() == Switch::On)
            .then(|| agents_files::told(&layers.places, setup.language, setup.most_of_agents_files()))
            .flatten();
        let places = Some(layers.places);
        Ok(Setup { profiles, sessions, transcripts, stats: options.stats, agents_files, places, ..setup })
    }

    /// The demo's own: its folder, its persona, and every question asked, whatever options and files say.
    pub(crate) fn for_demo(options: &Options, root: &Path) -> Result<Setup, Failure> {
        let config = Config::typed(options)?;
        config.settle_looks();
        let persona = personas::default(shown::language())?;
        Setup::build(config, persona, root, Policy::default(), None, None)
    }

    fn build(
        config: Config,
        persona: Persona,
        root: &Path,
        policy: Policy,
        history: Option<Arc<History>>,
        state: Option<&Path>,
    ) -> Result<Setup, Failure> {
        let workspace = workspace(root, policy.paths().clone())?;
        let workspace = Arc::new(match history.clone() {
            Some(history) => workspace.recorder(history),
            None => workspace,
        });
        debug::root(workspace.root_path());
        let commands = CommandRunner::new(workspace.clone(), sandbox(&config)?);
        let commands = Arc::new(with_copies(commands, state));
        let toolbox = toolbox(&commands, &config, &persona)?;
        let language = shown::language();
        let format = config.format(language);
        Ok(Setup {
            config,
            persona,
            language,
            workspace,
            commands,
            toolbox,
            policy,
            format,
            sessions: None,
            transcripts: false,
            history,
            profiles: None,
            stats: false,
            server: OnceLock::new(),
            agents_files: None,
            places: None,
            servers: Arc::default(),
        })
    }

    /// The backend of the settings, and the profile in which it is kept what its replies show of it.
    pub(crate) fn talking(&self) -> Result<Talk, Failure> {
        self.talking_to(self.backend()?)
    }

    /// The backend of `talk`, with what these settings make of it, where they name the same server and model; another one otherwise.
    pub(crate) fn talking_as(&self, before: &Setup, talk: &Talk) -> Result<Talk, Failure> {
        let place = |setup: &Setup| setup.server().map(|server| server.map(Server::place));
        let same = self.model() == before.model() && place(self)? == place(before)?;
        // A recording goes on where it was, and a program that keeps the conversation is not started for nothing.
        self.talking_to(if same { talk.bare.clone() } else { self.backend()? })
    }

    /// The backend of `talk`, told of the tools that there are now.
    pub(crate) fn talking_again(&self, talk: &Talk) -> Result<Talk, Failure> {
        self.talking_to(talk.bare.clone())
    }

    fn talking_to(&self, bare: Arc<dyn Backend>) -> Result<Talk, Failure> {
        let server = self.server()?.map(Server::place);
        let profile = match (&self.profiles, server) {
            (Some(profiles), Some((base_url, model))) => {
                Some(Profile::open(profiles.clone(), base_url, model, &self.config))
            }
            _ => None,
        };
        let backend = self.adapted(bare.clone(), profile.as_ref(), &self.toolbox.catalog());
        Ok(Talk { backend, bare, profile })
    }

    /// The backend for a turn in which the model can call only these tools. Its grammar has them alone: one of all tools would make the
    /// model call what it does not have.
    pub(crate) fn backend_with(&self, talk: &Talk, tools: &Catalog) -> Arc<dyn Backend> {
        self.adapted(talk.bare.clone(), talk.profile.as_ref(), tools)
    }

    /// A backend, talked to as its profile and the settings say about calls of these tools.
    fn adapted(&self, backend: Arc<dyn Backend>, profile: Option<&Profile>, tools: &Catalog) -> Arc<dyn Backend> {
        let learned = profile.map_or_else(|| counting(Learned::default(), &self.config), Profile::learned);
        let mut adapted = Adapted::new(backend);
        if let Some(form) = learned.grammar {
            let (member, value) = form.member(&grammar_of(tools));
            adapted = adapted.member(member, value);
        }
        if profile.and_then(Profile::known).is_some_and(Known::loses_system) {
            adapted = adapted.without_system();
        }
        Arc::new(adapted)
    }

    /// The tools for one conversation beside others: what its model has read, and the jobs that it began, are its own.
    pub(crate) fn tools_of_one(&self) -> Result<Toolbox, Failure> {
        let toolbox = toolbox(&self.commands, &self.config, &self.persona)?;
        Ok(with_tools_of(toolbox, &self.servers, &self.persona))
    }

    /// The grammar of replies with all tools.
    pub(crate) fn grammar(&self) -> String {
        grammar_of(&self.toolbox.catalog())
    }

    /// An agent in the person's service, with a backend of which nothing is known.
    pub(crate) fn agent(&self, backend: Arc<dyn Backend>) -> Result<Agent, Failure> {
        self.agent_of(Learned::default(), backend, None)
    }

    /// An agent that goes on with the conversation of a transcript, and knows this of the backend.
    pub(crate) fn agent_of(
        &self,
        learned: Learned,
        backend: Arc<dyn Backend>,
        transcript: Option<Transcript>,
    ) -> Result<Agent, Failure> {
        let agent = self.agent_with(self.toolbox.clone(), learned, backend, transcript)?;
        Ok(match &self.history {
            Some(history) => agent.history(history.clone(), self.workspace.clone()),
            None => agent,
        })
    }

    /// An agent with these tools, whose turns somebody else makes undoable.
    pub(crate) fn agent_with(
        &self,
        toolbox: Toolbox,
        learned: Learned,
        backend: Arc<dyn Backend>,
        transcript: Option<Transcript>,
    ) -> Result<Agent, Failure> {
        let catalog = Arc::new(toolbox.catalog());
        let mut session = SessionOptions::default();
        session.learned = learned;
        session.language = self.language;
        session.format = self.format.clone();
        if let Some(transcript) = &transcript {
            session.history = transcript.history();
        }
        session.limits = self.config.limits();
        session.parser = self.parser()?;
        session.window = self.window();
        if self.config.instructions.value() == Instructions::Inline {
            session.system = self.told(&catalog);
        }
        let session = Session::new(session, catalog, self.policy.clone(), self.commands.clone());
        let agent = Agent::new(session, toolbox, backend);
        let agent = match self.project_checks() {
            Some(checks) => agent.checks(checks),
            None => agent,
        };
        Ok(match transcript {
            Some(transcript) => agent.transcript(transcript),
            None => agent,
        })
    }

    /// Where a new conversation is written down, if it is. Those that nothing was said in for long go.
    pub(crate) fn transcript(&self) -> Result<Option<Transcript>, Failure> {
        self.transcript_in(Store::folder)
    }

    /// The record of a run that is not continued, for the audit.
    pub(crate) fn run_transcript(&self) -> Result<Option<Transcript>, Failure> {
        self.transcript_in(Store::runs)
    }

    fn transcript_in(&self, folder: impl Fn(&Store, &Path) -> PathBuf) -> Result<Option<Transcript>, Failure> {
        let Some(store) = self.sessions.as_ref().filter(|_| self.transcripts) else { return Ok(None) };
        let root = self.workspace.root_path();
        store.drop_older(root, Duration::from_secs(self.config.sessions.keep.value() * 86_400));
        let transcript = Transcript::create(&folder(store, root), root).map_err(Failure::broken)?;
        Ok(Some(self.written(transcript)))
    }

    /// A transcript as this person wants it written from here on.
    pub(crate) fn written(&self, transcript: Transcript) -> Transcript {
        let redact = self.config.sessions.redact.value() == Recording::On;
        transcript.redactor(redact.then(|| self.redactor())).model(self.model())
    }

    /// Whether what is said is written down.
    pub(crate) fn writes_down(&self) -> bool {
        self.transcripts
    }

    /// What takes secrets out of what is written down: those of the environment, and those that go to the server.
    pub(crate) fn redactor(&self) -> Redactor {
        let server = self.server.get().and_then(Option::as_ref);
        let redactor = redactor().environment(server.into_iter().flat_map(Server::secrets));
        redactor.environment(servers::secrets(&self.config))
    }

    /// Whoever answers, by name.
    pub(crate) fn model(&self) -> Option<String> {
        let answers = self.server.get().and_then(Option::as_ref).map(|server| server.model().to_owned());
        answers.or_else(|| model_of(&self.config, &self.persona)).or_else(|| {
            Some(self.config.backend.value()).filter(|kind| *kind != BackendKind::Http).map(|kind| name_of(&kind))
        })
    }

    /// The most bytes of the files that instruct agents: the limit, but no more than a quarter of the window, of 3.5 bytes a token.
    fn most_of_agents_files(&self) -> u64 {
        let most = self.config.limits().agents_bytes;
        self.window().map_or(most, |window| most.min(window.saturating_mul(7) / 8))
    }

    /// Tokens that the model can read, if that is set.
    pub(crate) fn window(&self) -> Option<u64> {
        self.config.window.get().copied()
    }

    /// How replies of the model are read.
    pub(crate) fn parser(&self) -> Result<toolfence_protocol::parse::Options, Failure> {
        let mut options = toolfence_protocol::parse::Options::default();
        options.reasoning = self.config.reasoning.value().into();
        options.limits = (&self.config.limits()).into();
        read_dialects(&self.config.dialects.value(), &mut options).map_err(Failure::wrong_use)?;
        Ok(options)
    }

    /// What looks at the project after changes, if anything is to.
    pub(crate) fn project_checks(&self) -> Option<ProjectChecks> {
        let rules: Vec<&Check> = self.config.checks.commands.values().collect();
        let lines = rules.iter().map(|rule| rule.command.clone());
        let rolling_back = rules.iter().filter(|rule| rule.rolls_back).map(|rule| rule.command.clone());
        let checks = || ProjectChecks::new(self.commands.clone(), lines).rolling_back(rolling_back);
        (!rules.is_empty()).then(checks)
    }

    /// Says what could not be recorded.
    pub(crate) fn tell_notes(&self) {
        let notes = self.history.iter().flat_map(|history| history.take_notes());
        notes.for_each(|note| tell(&note));
    }

    /// Names what was not kept because no user could be asked, and the option that would keep it.
    pub(crate) fn tell_not_kept(&self, not_kept: &NotKept) {
        not_kept.line(self.policy.settings().ask).iter().for_each(tell);
    }

    /// What replies cost; also in money, where the settings have the price of the model.
    pub(crate) fn cost(&self, usage: &Usage) -> Text {
        let price = self.model().and_then(|model| self.price(&model, usage));
        messages::usage(usage, price)
    }

    /// What replies of this model cost, where the settings have its price.
    pub(crate) fn price(&self, model: &str, usage: &Usage) -> Option<f64> {
        let price = self.config.prices.values().find(|price| price.model == model)?;
        Some(usage.cost(price.input, price.cached.unwrap_or(price.input), price.output))
    }

    /// Says what a turn has cost, where that is wanted.
    pub(crate) fn tell_cost(&self, usage: &Usage) {
        if self.stats {
            tell(&self.cost(usage));
        }
    }

    /// The tools on offer, as the model is told of them.
    pub(crate) fn marked_catalog(&self) -> Catalog {
        self.policy.marked(&self.toolbox.catalog(), &*self.commands)
    }

    /// Persona and instructions, as the model is told them.
    fn told(&self, tools: &Catalog) -> String {
        let instructions = prompt::instructions(&self.policy.marked(tools, &*self.commands), self.language);
        let place = messages::where_the_model_works(
            &rfc3339(SystemTime::now())[..10],
            system(),
            self.workspace.root_path().display().to_string(),
        );
        let parts = [
            Some(self.persona.text.trim().to_owned()),
            Some(place.render(self.language)),
            self.agents_files.clone(),
            Some(instructions.trim_end().to_owned()),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join("\n\n")
    }

    /// Whoever shall answer.
    pub(crate) fn backend(&self) -> Result<Arc<dyn Backend>, Failure> {
        match self.config.backend.value() {
            BackendKind::Replay => self.replay(),
            BackendKind::Command => {
                let model = model_of(&self.config, &self.persona);
                program::backend(&self.config, model, self.workspace.root_path())
            }
            BackendKind::Http | BackendKind::Provider => self.http(),
        }
    }

    /// The server that answers; `None` where none does. What was looked for is looked for once.
    pub(crate) fn server(&self) -> Result<Option<&Server>, Failure> {
        if self.server.get().is_none() {
            let server = Server::of(&self.config, &self.persona)?;
            server.iter().filter_map(|server| server.chosen.as_ref()).for_each(tell);
            let _ = self.server.set(server); // nobody else sets it meanwhile
        }
        Ok(self.server.get().and_then(Option::as_ref))
    }

    /// Who answers, for the beginning of a conversation, where that was not said already.
    pub(crate) fn answering(&self) -> Result<Option<Text>, Failure> {
        let server = self.server()?.filter(|server| server.chosen.is_none());
        Ok(server.map(|server| {
            let (url, model) = server.place();
            match url.strip_prefix(program::PLACE) {
                Some(program) if *program == model => messages::answered_by_program(program),
                Some(program) => messages::answered_through(model, program),
                None => messages::answered_by(model, profile::address(&url)),
            }
        }))
    }

    fn http(&self) -> Result<Arc<dyn Backend>, Failure> {
        let Some(server) = self.server()? else { return Err(Failure::wrong_use(messages::provider_needs_model())) };
        let http = Http::new(server.options()).map_err(Failure::wrong_use)?;
        Ok(Arc::new(http))
    }

    fn replay(&self) -> Result<Arc<dyn Backend>, Failure> {
        let Some(path) = self.config.replies.file() else {
            return Err(Failure::wrong_use(messages::replay_needs_replies()));
        };
        let wrong = |error: Text| Failure::wrong_use(messages::cannot_read(path.display().to_string(), error));
        let text = std::fs::read_to_string(&path).map_err(|error| wrong(Text::from(&error)))?;
        Ok(Arc::new(Replay::parse(&text).map_err(|error| wrong(error.text()))?))
    }
}

/// The system that commands run on, such as `Linux 6.1 (x86_64)`.
fn system() -> String {
    let name = rustix::system::uname();
    let release = name.release().to_string_lossy();
    // Two numbers say which system it is; the rest is the packager's.
    let version = release.split(['.', '-']).take(2).collect::<Vec<_>>().join(".");
    format!("{} {version} ({})", name.sysname().to_string_lossy(), std::env::consts::ARCH)
}

/// Whoever answers, and what is known of them.
pub(crate) struct Talk {
    pub(crate) backend: Arc<dyn Backend>,
    /// The backend without what is known of it.
    bare: Arc<dyn Backend>,
    pub(crate) profile: Option<Profile>,
}

impl Talk {
    /// The backend without a grammar of calls, for a question that has no tools.
    pub(crate) fn bare(&self) -> &dyn Backend {
        &*self.bare
    }

    /// What earlier replies have shown.
    pub(crate) fn learned(&self) -> Learned {
        self.profile.as_ref().map(Profile::learned).unwrap_or_default()
    }

    /// Keeps what the replies of this agent have shown.
    pub(crate) fn keep(&mut self, agent: &Agent) {
        self.profile.iter_mut().for_each(|profile| profile.keep(agent.session().learned()));
    }
}

/// The grammar of replies with these tools. No bound ends a file; the server has one for a reply.
fn grammar_of(tools: &Catalog) -> String {
    let mut options = GrammarOptions::default();
    (options.endless, options.most_calls, options.most_items) = (true, 32, 64);
    grammar::gbnf(tools, &options)
}

/// The tools that the persona wants, with the person's own checkers around changes.
fn toolbox(commands: &Arc<CommandRunner>, config: &Config, persona: &Persona) -> Result<Toolbox, Failure> {
    let checks = tools::Checks::new(commands.clone()).checkers(checkers(config)?);
    Ok(match &persona.tools {
        // Some tools are offered only if the persona asks for them: the instructions of all are read with every request.
        Some(names) => complete(&checks).with_limits(config.limits()).only(names),
        None => tools::checked(&checks).with_limits(config.limits()),
    })
}

/// The tools with those of servers behind them; of these too only what the persona wants.
fn with_tools_of(toolbox: Toolbox, servers: &[Found], persona: &Persona) -> Toolbox {
    let wanted = |server: &str, tool: &ServedTool| match &persona.tools {
        Some(names) => names.iter().any(|name| *name == tool.spec().name || *name == format!("{server}.*")),
        None => true,
    };
    let tools = servers
        .iter()
        .filter_map(Found::on_offer)
        .flat_map(|server| server.tools().filter(|tool| wanted(server.name(), tool)).collect::<Vec<_>>());
    tools.fold(toolbox, Toolbox::with)
}

/// The files of the project at this root.
pub(crate) fn workspace(root: &Path, paths: PathRules) -> Result<Workspace, Failure> {
    Workspace::open(root, paths).map_err(|error| Failure::wrong_use(messages::give_folder(error.text())))
}

/// What turns changed, unless the person does not want it kept.
fn history(config: &Config, state: Option<&Path>, root: &Path) -> Result<Option<Arc<History>>, Failure> {
    let Some(state) = state.filter(|_| config.undo.journal.value() == Recording::On) else { return Ok(None) };
    let mut limits = Limits::default();
    limits.turns = usize::try_from(config.undo.turns.value()).unwrap_or(usize::MAX);
    limits.bytes = config.undo.megabytes.value() << 20;
    let history = History::open(&History::folder(state, root), limits).map_err(Failure::broken)?;
    Ok(Some(Arc::new(history)))
}

/// The person's own checkers.
pub(crate) fn checkers(config: &Config) -> Result<Vec<Checker>, Failure> {
    let items = config.checks.checkers.items();
    items
        .iter()
        .map(|item| {
            let rule = &item.value;
            let checker = Checker::new(&rule.files, rule.command.iter().cloned());
            let checker = checker
                .map_err(|error| Failure::wrong_use(messages::located(item.origin().to_string(), error.text())))?;
            Ok(match rule.project() {
                Some(file) => checker.in_project(file),
                None => checker,
            })
        })
        .collect()
}

/// The runner with private copies of the project in this folder of the state, unless the user has switched them off.
pub(crate) fn with_copies(commands: CommandRunner, state: Option<&Path>) -> CommandRunner {
    let Some(state) = state else { return commands };
    let commands = commands.private_copies(state);
    match std::env::var_os(NO_OVERLAY) {
        Some(_) => commands.without_private_copies(text!("The variable {name} is set.", name = NO_OVERLAY)),
        None => commands,
    }
}

/// What the layers want around every command.
pub(crate) fn sandbox(config: &Config) -> Result<toolfence_sandbox::isolation::Settings, Failure> {
    let mode = config.sandbox.mode.value();
    let network = config.sandbox.network.value() == Switch::On;
    let settings = toolfence_sandbox::isolation::Settings::new().mode(mode.into()).network(network);
    let wanted = config.sandbox.memory.value() << 20;
    let memory = match config.sandbox.memory.origin().layer {
        Layer::Default => settings.memory,
        // A project or a persona does not know the machine, so its number may be above this machine's default.
        layer if layer.only_tightens() => settings.memory.min(wanted),
        _ => wanted,
    };
    let settings = settings.memory(memory);
    Ok(match container(config)? {
        Some(container) => settings.container(container),
        None if mode == Sandbox::Container => {
            return Err(Failure::wrong_use(messages::container_not_named()));
        }
        None => settings,
    })
}

fn container(config: &Config) -> Result<Option<Container>, Failure> {
    let image = config.sandbox.image.text().filter(|image| !image.is_empty() && !image.starts_with('-'));
    match (config.sandbox.container.value(), image) {
        (Engine::Off, _) => Ok(None),
        (Engine::Podman, Some(image)) => Ok(Some(Container::podman(image))),
        (Engine::Docker, Some(image)) => Ok(Some(Container::docker(image))),
        (_, None) => Err(Failure::wrong_use(messages::container_needs_image())),
    }
}

/// The persona that the layers name, and the layers with what it asks for.
pub(crate) fn with_persona(layers: Layers) -> Result<(Layers, Persona), Failure> {
    let config = layers.merged();
    let persona = persona(&layers, &config)?;
    Ok((layers.with_persona(&persona)?, persona))
}

/// The persona that is wanted: one by its name, or else one in a file.
fn persona(layers: &Layers, config: &Config) -> Result<Persona, Failure> {
    let wanted = &config.persona.value();
    let folders = Folders::of(&layers.places);
    if let Some(found) = folders.find(wanted, shown::language())? {
        return Ok(found.persona);
    }
    let file = config.persona.file().unwrap_or_default();
    match personas::read(&file, Place::File)? {
        Some(found) => Ok(found.persona),
        None => {
            let names = folders.names().into_iter().collect::<Vec<_>>().join(", ");
            Err(Failure::wrong_use(messages::no_persona_of_name(wanted, names)))
        }
    }
}

/// Sets the dialects that `names` says. A single one is the one that the model is known to write.
///
/// # Errors
/// A name that is none, with those there are.
pub(crate) fn read_dialects(names: &str, options: &mut toolfence_protocol::parse::Options) -> Result<(), Text> {
    let dialects: Dialects =
        names.parse().map_err(|name: String| messages::no_such_dialect(format!("{name:?}"), known()))?;
    options.dialects = dialects;
    let mut named = dialects.iter();
    options.dialect = named.next().filter(|_| named.next().is_none());
    Ok(())
}

fn known() -> String {
    Dialect::ALL.iter().map(|dialect| dialect.name()).collect::<Vec<_>>().join(", ")
}
