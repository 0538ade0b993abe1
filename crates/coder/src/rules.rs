//! The rules of a conversation: the persona, the settings, the policy, and the tools that the model has.

use crate::agents_files;
use crate::args::Options;
use crate::choices::{Instructions, Recording, Switch};
use crate::config::places::Places;
use crate::config::rules::Check;
use crate::config::{Config, Layers, redactor};
use crate::failure::Failure;
use crate::model::{Model, name_without_server};
use crate::personas::{self, Folders, Origin};
use crate::project::Project;
use crate::server::{Server, model_of};
use crate::servers::{self, StartedServer};
use crate::shown;
use crate::terminal::{self, print_note};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use toolfence_agent::agent::Agent;
use toolfence_agent::backend::{Backend, Usage};
use toolfence_agent::redact::Redactor;
use toolfence_agent::transcript::{Store, Transcript, rfc3339};
use toolfence_mcp::ServedTool;
use toolfence_policy::Policy;
use toolfence_policy::toolbox::{Tool, Toolbox};
use toolfence_protocol::format::Format;
use toolfence_protocol::{Catalog, Dialect, Dialects, Language, Learned, Text, parse, prompt, text};
use toolfence_session::persona::Persona;
use toolfence_session::{Session, SessionOptions};
use toolfence_tools::validate::Checker;
use toolfence_tools::{self as tools, Checks, ProjectChecks};

/// The rules that apply to the model. Changing the persona replaces them; changing the model does not.
pub(crate) struct Rules {
    pub(crate) config: Config,
    pub(crate) persona: Persona,
    pub(crate) policy: Policy,
    /// The tools of the model. The toolbox is empty until [`Rules::equip`].
    pub(crate) toolbox: Toolbox,
    /// The instructions for agents of the user and of the project, as they appear in the prompt.
    agents_files: Option<String>,
    /// The format of results for the model.
    pub(crate) format: Format,
    pub(crate) language: Language,
    /// Whether conversations are recorded.
    pub(crate) records: bool,
}

/// Opens the project that the options name, with its rules. This starts no MCP server.
pub(crate) fn open(options: &Options) -> Result<(Project, Rules), Failure> {
    let (mut rules, places) = Rules::read(options)?;
    let project = Project::open(&options.root, places, &rules)?;
    rules.equip(&project)?;
    Ok((project, rules))
}

/// Opens the project as [`open`] does, and starts its MCP servers. With `asks`, the user at the terminal is asked about
/// each server that is not trusted yet.
pub(crate) fn open_with_servers(options: &Options, asks: bool) -> Result<(Project, Rules), Failure> {
    let (mut project, mut rules) = open(options)?;
    project.start_servers(&rules.config, asks)?;
    rules.add_tools_of(&project.servers);
    Ok((project, rules))
}

impl Rules {
    /// Reads the settings and the persona that the options name, and prints the notes about the settings.
    pub(crate) fn read(options: &Options) -> Result<(Rules, Places), Failure> {
        let (layers, persona) = with_persona(Layers::read(options)?)?;
        let config = layers.merged();
        terminal::set_notice(config.notify.value(), config.notify_after.value());
        let policy = Policy::new(config.policy()).map_err(Failure::wrong_use)?;
        // If the root contains files of this program, such as the settings, the model must not change them.
        let mut rules = Rules::new(config, persona, policy.protect(layers.places.inside_the_root()));
        rules.records = rules.config.sessions.transcripts.value() == Recording::On && !options.no_transcript;
        if rules.config.agents_files.value() == Switch::On {
            let limit = rules.config.limits().agents_bytes;
            // At most a quarter of the window, at 3.5 bytes a token: many servers silently cut a request that does not
            // fit.
            let most = rules.window().map_or(limit, |window| limit.min(window.saturating_mul(7) / 8));
            rules.agents_files = agents_files::read(&layers.places, rules.language, most);
        }
        rules.config.notes.iter().for_each(print_note);
        Ok((rules, layers.places))
    }

    /// Returns the rules of the demo: the default persona and policy, regardless of the settings.
    pub(crate) fn for_demo(options: &Options) -> Result<Rules, Failure> {
        Ok(Rules::new(Config::typed(options)?, personas::default(shown::language())?, Policy::default()))
    }

    fn new(config: Config, persona: Persona, policy: Policy) -> Rules {
        config.settle_looks();
        let language = shown::language();
        let format = config.format(language);
        let toolbox = Toolbox::default();
        Rules { config, persona, policy, toolbox, agents_files: None, format, language, records: false }
    }

    /// Gives the model new tools, and allows those tools of MCP servers that the settings allow.
    pub(crate) fn equip(&mut self, project: &Project) -> Result<(), Failure> {
        self.toolbox = self.new_tools(project)?;
        self.add_tools_of(&project.servers);
        Ok(())
    }

    /// Creates the tools that the persona lists, with the checkers of the settings around changes. They have neither
    /// jobs nor files that were read, so each conversation needs its own.
    pub(crate) fn new_tools(&self, project: &Project) -> Result<Toolbox, Failure> {
        let checks = Checks::new(Arc::clone(&project.commands)).checkers(checkers(&self.config)?);
        let limits = self.config.limits();
        let toolbox = match &self.persona.tools {
            // Offer some tools only if the persona names them, because every request contains the instructions for all
            // tools.
            Some(names) => tools::complete(&checks).with_limits(limits).only(names),
            None => tools::checked(&checks).with_limits(limits),
        };
        Ok(self.with_tools_of(toolbox, &project.servers))
    }

    /// Replaces the tools of this server after a restart. Calls of the tools in `revoked` need approval again, unless
    /// the settings allow them now.
    pub(crate) fn replace_tools_of(&mut self, name: &str, project: &Project, revoked: &[String]) {
        let prefix = format!("{name}.");
        let names = self.toolbox.catalog().specs().iter().map(|spec| spec.name.to_string()).collect::<Vec<_>>();
        let kept: Vec<String> = names.into_iter().filter(|name| !name.starts_with(&prefix)).collect();
        self.toolbox = std::mem::take(&mut self.toolbox).only(&kept);
        self.policy = self.policy.clone().forget_served(revoked);
        self.add_tools_of(&project.servers);
    }

    fn add_tools_of(&mut self, servers: &[StartedServer]) {
        let toolbox = std::mem::take(&mut self.toolbox);
        self.toolbox = self.with_tools_of(toolbox, servers);
        self.policy = self.policy.clone().allow_served(servers.iter().flat_map(StartedServer::allowed));
    }

    /// Adds the tools of trusted servers that the persona does not exclude.
    fn with_tools_of(&self, mut toolbox: Toolbox, servers: &[StartedServer]) -> Toolbox {
        let is_wanted = |server: &str, tool: &ServedTool| match &self.persona.tools {
            Some(names) => names.iter().any(|name| *name == tool.spec().name || *name == format!("{server}.*")),
            None => true,
        };
        for server in servers.iter().filter_map(StartedServer::on_offer) {
            for tool in server.tools().filter(|tool| is_wanted(server.name(), tool)) {
                toolbox = toolbox.with(tool);
            }
        }
        toolbox
    }

    /// Returns an agent with the tools of these rules, whose turns can be undone. With a transcript it continues that
    /// conversation.
    pub(crate) fn agent(
        &self,
        project: &Project,
        learned: Learned,
        backend: Arc<dyn Backend>,
        transcript: Option<Transcript>,
    ) -> Result<Agent, Failure> {
        let agent = self.agent_with(self.toolbox.clone(), project, learned, backend, transcript)?;
        Ok(match &project.history {
            Some(history) => agent.history(history.clone(), project.workspace.clone()),
            None => agent,
        })
    }

    /// Returns an agent with these tools. The caller must record its turns in the history.
    pub(crate) fn agent_with(
        &self,
        toolbox: Toolbox,
        project: &Project,
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
        // Otherwise the user has pasted the instructions into the backend.
        if self.config.instructions.value() == Instructions::Inline {
            session.system = self.system_prompt(project, &catalog);
        }
        let session = Session::new(session, catalog, self.policy.clone(), project.commands.clone());
        let mut agent = Agent::new(session, toolbox, backend);
        if let Some(checks) = self.project_checks(project) {
            agent = agent.checks(checks);
        }
        if let Some(transcript) = transcript {
            agent = agent.transcript(transcript);
        }
        Ok(agent)
    }

    /// Builds the system prompt: the persona, the environment, the instructions for agents, and those for calls.
    fn system_prompt(&self, project: &Project, tools: &Catalog) -> String {
        let instructions = prompt::instructions(&self.policy.marked(tools, &*project.commands), self.language);
        let place = text!(
            "Today is {date}. The system is {system}. The project is the folder {root}; paths are relative to it.",
            date = &rfc3339(SystemTime::now())[..10],
            system = system(),
            root = project.workspace.root_path().display().to_string()
        );
        let parts = [
            Some(self.persona.text.trim().to_owned()),
            Some(place.render(self.language)),
            self.agents_files.clone(),
            Some(instructions.trim_end().to_owned()),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join("\n\n")
    }

    /// Begins a transcript in a folder of the store, if conversations are recorded, and deletes old transcripts. The
    /// folder is [`Store::folder`] for a conversation, or [`Store::runs`] for a run that is recorded only for the
    /// audit.
    pub(crate) fn new_transcript(
        &self,
        project: &Project,
        model: Option<&Model>,
        folder: impl Fn(&Store, &Path) -> PathBuf,
    ) -> Result<Option<Transcript>, Failure> {
        let Some(store) = project.store.as_ref().filter(|_| self.records) else { return Ok(None) };
        let root = project.workspace.root_path();
        store.drop_older(root, Duration::from_secs(self.config.sessions.keep.value() * 86_400));
        let transcript = Transcript::create(&folder(store, root), root).map_err(Failure::broken)?;
        Ok(Some(self.continue_transcript(transcript, model)))
    }

    /// Prepares a transcript for new records: adds the name of the model, and removes secrets unless the settings
    /// disable that.
    pub(crate) fn continue_transcript(&self, transcript: Transcript, model: Option<&Model>) -> Transcript {
        let redact = self.config.sessions.redact.value() == Recording::On;
        let unopened = || name_without_server(self.config.backend.value(), model_of(&self.config, &self.persona));
        transcript.redactor(redact.then(|| self.redactor(model))).model(model.map_or_else(unopened, Model::name))
    }

    /// Returns the redactor for records. It removes the secrets of the environment, of the model's server and of MCP
    /// servers.
    pub(crate) fn redactor(&self, model: Option<&Model>) -> Redactor {
        let server = model.and_then(|model| model.server.as_ref());
        let redactor = redactor().environment(server.into_iter().flat_map(Server::secrets));
        redactor.environment(servers::secrets(&self.config))
    }

    /// Returns the size of the model's context window in tokens, if it is set.
    pub(crate) fn window(&self) -> Option<u64> {
        self.config.window.get().copied()
    }

    /// Returns the options for parsing the model's replies.
    pub(crate) fn parser(&self) -> Result<parse::Options, Failure> {
        let mut options = parse::Options::default();
        options.reasoning = self.config.reasoning.value().into();
        options.limits = (&self.config.limits()).into();
        read_dialects(&self.config.dialects.value(), &mut options).map_err(Failure::wrong_use)?;
        Ok(options)
    }

    /// Returns the commands that check the project after changes, if the settings name any.
    pub(crate) fn project_checks(&self, project: &Project) -> Option<ProjectChecks> {
        let rules: Vec<&Check> = self.config.checks.commands.values().collect();
        if rules.is_empty() {
            return None;
        }
        let lines = rules.iter().map(|rule| rule.command.clone());
        let rolling_back = rules.iter().filter(|rule| rule.rolls_back).map(|rule| rule.command.clone());
        Some(ProjectChecks::new(project.commands.clone(), lines).rolling_back(rolling_back))
    }

    /// Returns the cost of replies of this model, if the settings contain its price.
    pub(crate) fn price(&self, model: &str, usage: &Usage) -> Option<f64> {
        let [input, cached, output] = self.price_of(model)?;
        Some(usage.cost(input, cached, output))
    }

    /// Returns the model's prices for a million tokens in the settings: of input, cached input, and output.
    pub(crate) fn price_of(&self, model: &str) -> Option<[f64; 3]> {
        let price = self.config.prices.values().find(|price| price.model == model)?;
        Some([price.input, price.cached.unwrap_or(price.input), price.output])
    }
}

/// Describes the operating system, such as `Linux 6.1 (x86_64)`.
fn system() -> String {
    let name = rustix::system::uname();
    let release = name.release().to_string_lossy();
    // The first two numbers identify the kernel; the rest is specific to the distribution.
    let version = release.split(['.', '-']).take(2).collect::<Vec<_>>().join(".");
    format!("{} {version} ({})", name.sysname().to_string_lossy(), std::env::consts::ARCH)
}

/// Returns the checkers of the settings.
pub(crate) fn checkers(config: &Config) -> Result<Vec<Checker>, Failure> {
    let items = config.checks.checkers.items();
    items
        .iter()
        .map(|item| {
            let rule = &item.value;
            let checker = Checker::new(&rule.files, rule.command.iter().cloned());
            let checker = checker.map_err(|error| {
                Failure::wrong_use(text!("{place}: {what}", place = item.origin().to_string(), what = error.text()))
            })?;
            Ok(match rule.project() {
                Some(file) => checker.in_project(file),
                None => checker,
            })
        })
        .collect()
}

/// Returns the persona that the layers name, and the layers with the settings of that persona.
pub(crate) fn with_persona(layers: Layers) -> Result<(Layers, Persona), Failure> {
    let config = layers.merged();
    let wanted = &config.persona.value();
    let folders = Folders::new(&layers.places);
    let found = match folders.find(wanted, shown::language())? {
        Some(found) => Some(found),
        // A file is read only if no persona has this name.
        None => personas::read(&config.persona.file().unwrap_or_default(), Origin::File)?,
    };
    let Some(found) = found else {
        let names = folders.names().into_iter().collect::<Vec<_>>().join(", ");
        return Err(Failure::wrong_use(text!(
            "there is no persona {wanted}; give a file or one of {names}. `coder personas` lists them",
            wanted,
            names
        )));
    };
    Ok((layers.with_persona(&found.persona)?, found.persona))
}

/// Sets the dialects that `names` lists. If it is a single one, the model is assumed to write it.
///
/// # Errors
/// A name is not a dialect. The message lists the dialects.
pub(crate) fn read_dialects(names: &str, options: &mut parse::Options) -> Result<(), Text> {
    let known = || Dialect::ALL.iter().map(|dialect| dialect.name()).collect::<Vec<_>>().join(", ");
    let dialects: Dialects = names.parse().map_err(|name: String| {
        text!(
            "there is no dialect {name}; write all, none, or some of these with commas between them: {known}",
            name = format!("{name:?}"),
            known = known()
        )
    })?;
    options.dialects = dialects;
    let mut named = dialects.iter();
    options.dialect = named.next().filter(|_| named.next().is_none());
    Ok(())
}
