//! Starts the MCP (Model Context Protocol) servers of the settings, and manages their trust and their tools.
//!
//! The model receives a server's tool descriptions only if the user has trusted exactly these descriptions, together
//! with the command and its permissions. Files of a project cannot add servers.

use crate::commands::config::ask_for_trust;
use crate::config::places::Places;
use crate::config::rules::ServerRule;
use crate::config::value::Origin;
use crate::config::{Config, trust};
use crate::failure::Failure;
use crate::shown::{Words, escaped};
use crate::terminal::print_note;
use std::collections::HashSet;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::mpsc::RecvTimeoutError;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};
use toolfence_mcp::{Server, ServerOptions};
use toolfence_policy::toolbox::Tool;
use toolfence_protocol::{Text, text};
use toolfence_tools::CommandRunner;

/// The pattern that matches every tool of a server.
const EVERY: &str = "*";

/// Time before a user at a terminal is informed that the program is waiting for servers.
const SILENCE: Duration = Duration::from_secs(1);

/// A server of the settings that has not been started.
pub(crate) struct ServerToStart {
    rule: ServerRule,
    origin: Origin,
    options: Result<ServerOptions, Text>,
}

/// A server of the settings, and the result of starting it.
#[derive(Clone)]
pub(crate) struct StartedServer {
    pub(crate) rule: ServerRule,
    pub(crate) origin: Origin,
    /// The key under which its trust is stored.
    pub(crate) key: PathBuf,
    pub(crate) started: Result<Arc<Server>, Text>,
    /// Whether the tools of the server are offered to the model, because the user trusted it when it was started.
    pub(crate) offered: bool,
}

impl ServerToStart {
    /// Returns the server's entry in the settings.
    pub(crate) fn rule(&self) -> &ServerRule {
        &self.rule
    }

    /// Starts the server and waits until it has listed its tools or failed.
    pub(crate) fn start(self, commands: Arc<CommandRunner>) -> StartedServer {
        let ServerToStart { rule, origin, options } = self;
        let started = options
            .and_then(|options| Server::start(options, commands, &toolfence_policy::toolset::catalog()).map(Arc::new));
        StartedServer { key: key(&rule.name), rule, origin, started, offered: false }
    }
}

impl StartedServer {
    /// Returns `true` if the user trusts the server's current description.
    pub(crate) fn is_trusted(&self, places: &Places) -> bool {
        self.started.as_ref().is_ok_and(|server| trust::is_trusted(places, &self.key, server.trusted_text()))
    }

    /// Displays the server's description, asks the user whether to trust it, and stores the answer yes.
    pub(crate) fn ask(&self, places: &Places) -> Result<bool, Failure> {
        let Some(text) = self.trusted_text() else { return Ok(false) };
        let files = [text];
        if !ask_for_trust(&files, &self.allows())? {
            return Ok(false);
        }
        trust::store(places, &files)?;
        Ok(true)
    }

    /// Returns the key of the server, and the description that the user has to trust; `None` if the server did not
    /// start.
    pub(crate) fn trusted_text(&self) -> Option<(PathBuf, String)> {
        let server = self.started.as_ref().ok()?;
        Some((self.key.clone(), server.trusted_text().to_owned()))
    }

    /// Summarizes the permissions that trust grants. This is needed because the full description, which begins with
    /// them, may be longer than the terminal.
    pub(crate) fn allows(&self) -> [Text; 2] {
        let rule = &self.rule;
        let paths = match rule.paths.is_empty() {
            true => text!("writes no files of yours"),
            false => text!("may read and write {paths}", paths = escaped(&rule.paths.join(", ")).into_owned()),
        };
        let network = if rule.network { text!("has network access") } else { text!("has no network access") };
        let count = self.started.as_ref().map_or(0, |server| server.tools().count());
        let command = escaped(&rule.command.0.join(" ")).into_owned();
        [
            text!(
                "In short: {name} has {count} {count|tool|tools}. It runs `{command}`, {paths}, and {network}.",
                name = rule.name.as_str(),
                count,
                command,
                paths,
                network
            ),
            text!(
                "If you trust it, the model sees these tools with these descriptions. Each call still asks you, unless \
                 your settings allow it."
            ),
        ]
    }

    /// Returns the server if its tools are offered to the model.
    pub(crate) fn on_offer(&self) -> Option<&Arc<Server>> {
        self.started.as_ref().ok().filter(|_| self.offered)
    }

    /// Returns the names of the tools that this server offers to the model.
    pub(crate) fn tools(&self) -> impl Iterator<Item = String> {
        self.on_offer().into_iter().flat_map(Server::tools).map(|tool| tool.spec().name.to_string())
    }

    /// Returns the offered tools that the settings allow to run without a question.
    pub(crate) fn allowed(&self) -> Vec<String> {
        let every = self.rule.allow.iter().any(|name| name == EVERY);
        let wanted = |name: &str| every || self.rule.allow.iter().any(|allowed| allowed == name);
        let own = |full: &String| full.strip_prefix(&format!("{}.", self.rule.name)).is_some_and(wanted);
        self.tools().filter(own).collect()
    }
}

/// Returns the servers of the settings. Of two with the same name, the one of the stronger layer applies.
pub(crate) fn rules(config: &Config) -> Vec<(ServerRule, Origin)> {
    let mut rules: Vec<(ServerRule, Origin)> = Vec::new();
    for item in config.mcp.items() {
        rules.retain(|(known, _)| known.name != item.value.name);
        rules.push((item.value.clone(), item.origin()));
    }
    rules
}

/// Returns the values of the servers' variables in the settings, including those that refer to a variable of the user.
/// They are removed from records.
pub(crate) fn secrets(config: &Config) -> impl Iterator<Item = (String, String)> {
    let value = |(name, value): (String, String)| match other_variable(&value) {
        Some(other) => Some((name, std::env::var(other).ok()?)),
        None => Some((name, value)),
    };
    rules(config).into_iter().flat_map(|(rule, _)| rule.env).filter_map(value)
}

/// Returns `true` if the settings of the conversation give the server the same variables. If so, the conversation
/// already redacts their values from its records.
pub(crate) fn has_secrets_of(rule: &ServerRule, config: &Config) -> bool {
    rule.env.is_empty() || rules(config).iter().any(|(known, _)| known.name == rule.name && known.env == rule.env)
}

/// Returns the name of the user's variable if the value is `$NAME` and nothing else.
fn other_variable(value: &str) -> Option<&str> {
    let name = value.strip_prefix('$')?;
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_name = !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()) && name.chars().all(plain);
    is_name.then_some(name)
}

/// Returns the key under which the trust of a server is stored.
pub(crate) fn key(name: &str) -> PathBuf {
    format!("mcp.{name}").into()
}

/// Prepares the servers of the settings, or only the one of this name, for their start.
pub(crate) fn prepare(config: &Config, places: &Places, only: Option<&str>) -> Vec<ServerToStart> {
    let mut letters = HashSet::new();
    let all = rules(config).into_iter().map(|(rule, origin)| {
        // A model may omit these characters in the name of a tool, so they do not distinguish servers.
        let is_new = letters.insert(rule.name.replace(['_', '-'], ""));
        let options = if is_new {
            options(&rule, places)
        } else {
            Err(text!("its name differs from that of another server only in _ and -"))
        };
        ServerToStart { rule, origin, options }
    });
    all.filter(|wanted| only.is_none_or(|name| wanted.rule.name == name)).collect()
}

/// Starts all servers, or only the one of this name, in parallel, and waits until each has listed its tools or failed.
pub(crate) fn start(
    config: &Config,
    places: &Places,
    commands: &Arc<CommandRunner>,
    only: Option<&str>,
) -> Vec<StartedServer> {
    let all = prepare(config, places, only);
    let mut waits: Vec<String> = all.iter().map(|wanted| wanted.rule.name.clone()).collect();
    let (done, answers) = mpsc::channel();
    for (at, wanted) in all.into_iter().enumerate() {
        let (commands, done) = (Arc::clone(commands), done.clone());
        let failed = StartedServer {
            key: key(&wanted.rule.name),
            rule: wanted.rule.clone(),
            origin: wanted.origin.clone(),
            started: Err(text!("the thread that starts it ended in a panic")),
            offered: false,
        };
        std::thread::spawn(move || {
            // A panic must not make the server disappear from the list.
            let found = catch_unwind(AssertUnwindSafe(|| wanted.start(commands))).unwrap_or(failed);
            // Sending cannot fail: the receiver exists until all servers have answered.
            let _ = done.send((at, found));
        });
    }
    // The loop below ends when the threads have dropped their senders.
    drop(done);
    let (began, mut is_announced, mut found) = (Instant::now(), !std::io::stderr().is_terminal(), Vec::new());
    loop {
        let next = match is_announced {
            true => answers.recv().map_err(|_| RecvTimeoutError::Disconnected),
            false => answers.recv_timeout(SILENCE.saturating_sub(began.elapsed())),
        };
        match next {
            Ok((at, server)) => {
                waits.retain(|name| *name != server.rule.name);
                found.push((at, server));
            }
            Err(RecvTimeoutError::Timeout) => {
                is_announced = true;
                print_note(&text!(
                    "Waiting up to 30 seconds for the tools of MCP servers: {servers}.",
                    servers = waits.join(", ")
                ));
            }
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    // The servers answered in any order; lists show them in the order of the settings.
    found.sort_by_key(|(at, _)| *at);
    found.into_iter().map(|(_, server)| server).collect()
}

/// Offers the tools of trusted servers to the model. With `asks`, the user is asked about the other servers. Prints the
/// servers that are left out.
pub(crate) fn offer_trusted(all: &mut [StartedServer], places: &Places, asks: bool) -> Result<(), Failure> {
    for found in all {
        let name = found.rule.name.as_str();
        let server = match &found.started {
            Ok(server) => server,
            Err(why) => {
                print_note(&text!(
                    "The MCP server {name} was skipped: {why}.",
                    name,
                    why = escaped(&why.words()).into_owned()
                ));
                continue;
            }
        };
        if !server.is_sandboxed() {
            print_note(&text!("The MCP server {name} runs without a sandbox.", name));
        }
        server.notes().iter().for_each(print_note);
        found.offered = found.is_trusted(places) || asks && found.ask(places)?;
        if !found.offered {
            print_note(&text!(
                "The tools of the MCP server {name} are left out: you have not trusted their present descriptions. \
                 `coder mcp trust {name}` shows them and asks.",
                name = found.rule.name.as_str()
            ));
        }
    }
    Ok(())
}

/// Builds the options for starting a server.
///
/// # Errors
/// A variable of the user is not set, or one of the paths would let the server write records of trust or settings.
fn options(rule: &ServerRule, places: &Places) -> Result<ServerOptions, Text> {
    let mut options = ServerOptions::new(&rule.name, &rule.command.0);
    for (name, value) in &rule.env {
        let value = match other_variable(value) {
            Some(other) => {
                std::env::var_os(other).ok_or_else(|| text!("the variable {name} is not set", name = other))?
            }
            None => OsString::from(value),
        };
        options.env.push((name.clone(), value));
    }
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let path = |path: &String| path.strip_prefix("~/").map_or_else(|| PathBuf::from(path), |rest| home.join(rest));
    options.paths = rule.paths.iter().map(path).collect();
    if let Some(path) = options.paths.iter().find(|path| places.are_reached_through(path)) {
        return Err(text!(
            "{path} would let it change your settings or your trusted files",
            path = path.display().to_string()
        ));
    }
    options.network = rule.network;
    options.seconds = rule.seconds;
    Ok(options)
}
