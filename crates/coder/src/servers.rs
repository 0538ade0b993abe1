//! The servers of the Model Context Protocol that the settings name: started, trusted, and their tools.
//!
//! What a server says of its tools reaches the model only where the person has trusted exactly that, together with the command
//! and what the command may do. No file of a project names servers.

use crate::commands::config::ask_for_trust;
use crate::config::places::Places;
use crate::config::rules::ServerRule;
use crate::config::value::Origin;
use crate::config::{Config, trust};
use crate::failure::Failure;
use crate::shown::{Words, escaped};
use crate::terminal::tell;
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

/// What allows every tool of a server.
const EVERY: &str = "*";

/// How long a person at a terminal waits for servers before it is said what is waited for.
const SILENCE: Duration = Duration::from_secs(1);

/// A server of the settings that has not been started.
pub(crate) struct Wanted {
    rule: ServerRule,
    origin: Origin,
    options: Result<ServerOptions, Text>,
}

/// A server of the settings, and what came of starting it.
#[derive(Clone)]
pub(crate) struct Found {
    pub(crate) rule: ServerRule,
    pub(crate) origin: Origin,
    /// By which it is trusted.
    pub(crate) key: PathBuf,
    pub(crate) started: Result<Arc<Server>, Text>,
    /// Whether the model is told of its tools: they were trusted when it was started.
    pub(crate) offered: bool,
}

impl Wanted {
    /// What the settings say of it.
    pub(crate) fn rule(&self) -> &ServerRule {
        &self.rule
    }

    /// Starts it and waits until it has told its tools, or will not.
    pub(crate) fn start(self, commands: Arc<CommandRunner>) -> Found {
        let Wanted { rule, origin, options } = self;
        let started = options
            .and_then(|options| Server::start(options, commands, &toolfence_policy::toolset::catalog()).map(Arc::new));
        Found { key: key(&rule.name), rule, origin, started, offered: false }
    }
}

impl Found {
    /// Whether the person trusts the server with what it says now.
    pub(crate) fn is_trusted(&self, places: &Places) -> bool {
        self.started.as_ref().is_ok_and(|server| trust::holds(places, &self.key, server.told()))
    }

    /// Shows what the server says and asks about it. What is agreed to is kept.
    pub(crate) fn ask(&self, places: &Places) -> Result<bool, Failure> {
        let Some(told) = self.told() else { return Ok(false) };
        let files = [told];
        if !ask_for_trust(&files, &self.allows())? {
            return Ok(false);
        }
        trust::store(places, &files)?;
        Ok(true)
    }

    /// What a person has to agree to, under its key; `None` where the server has not started.
    pub(crate) fn told(&self) -> Option<(PathBuf, String)> {
        let server = self.started.as_ref().ok()?;
        Some((self.key.clone(), server.told().to_owned()))
    }

    /// What a person agrees to, in short: all that the server says may be longer than the terminal, and begins with what it may do.
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

    /// The server, where the model is told of its tools.
    pub(crate) fn on_offer(&self) -> Option<&Arc<Server>> {
        self.started.as_ref().ok().filter(|_| self.offered)
    }

    /// The tools of it that are on offer, by the name that the model has for them.
    pub(crate) fn tools(&self) -> impl Iterator<Item = String> {
        self.on_offer().into_iter().flat_map(Server::tools).map(|tool| tool.spec().name.to_string())
    }

    /// Those of its tools that run without a question because the settings say so.
    pub(crate) fn allowed(&self) -> Vec<String> {
        let every = self.rule.allow.iter().any(|name| name == EVERY);
        let wanted = |name: &str| every || self.rule.allow.iter().any(|allowed| allowed == name);
        let own = |full: &String| full.strip_prefix(&format!("{}.", self.rule.name)).is_some_and(wanted);
        self.tools().filter(own).collect()
    }
}

/// The servers of the settings. Of two of one name the stronger layer's counts.
pub(crate) fn rules(config: &Config) -> Vec<(ServerRule, Origin)> {
    let mut rules: Vec<(ServerRule, Origin)> = Vec::new();
    for item in config.mcp.items() {
        rules.retain(|(known, _)| known.name != item.value.name);
        rules.push((item.value.clone(), item.origin()));
    }
    rules
}

/// The values of variables of servers that are written in the settings, which nobody has to read elsewhere.
pub(crate) fn secrets(config: &Config) -> impl Iterator<Item = (String, String)> {
    let value = |(name, value): (String, String)| match other_variable(&value) {
        Some(other) => Some((name, std::env::var(other).ok()?)),
        None => Some((name, value)),
    };
    rules(config).into_iter().flat_map(|(rule, _)| rule.env).filter_map(value)
}

/// Whether the variables of a server are those that the settings of a conversation give it, so that they are taken out of all that is
/// written down.
pub(crate) fn has_secrets_of(rule: &ServerRule, config: &Config) -> bool {
    rule.env.is_empty() || rules(config).iter().any(|(known, _)| known.name == rule.name && known.env == rule.env)
}

/// The variable of the person's that stands for a value: `$` and its name, and nothing else.
fn other_variable(value: &str) -> Option<&str> {
    let name = value.strip_prefix('$')?;
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_name = !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit()) && name.chars().all(plain);
    is_name.then_some(name)
}

/// By which a server is trusted.
pub(crate) fn key(name: &str) -> PathBuf {
    format!("mcp.{name}").into()
}

/// The servers of the settings, all or the one of this name, as they can be started.
pub(crate) fn wanted(config: &Config, places: &Places, only: Option<&str>) -> Vec<Wanted> {
    let mut letters = HashSet::new();
    let all = rules(config).into_iter().map(|(rule, origin)| {
        // A model's spelling of a tool's name is understood without these.
        let is_new = letters.insert(rule.name.replace(['_', '-'], ""));
        let options = if is_new {
            options(&rule, places)
        } else {
            Err(text!("its name differs from that of another server only in _ and -"))
        };
        Wanted { rule, origin, options }
    });
    all.filter(|wanted| only.is_none_or(|name| wanted.rule.name == name)).collect()
}

/// Starts servers side by side, all or the one of this name, and waits until each has told its tools, or will not.
pub(crate) fn start(config: &Config, places: &Places, commands: &Arc<CommandRunner>, only: Option<&str>) -> Vec<Found> {
    let all = wanted(config, places, only);
    let mut waits: Vec<String> = all.iter().map(|wanted| wanted.rule.name.clone()).collect();
    let (done, answers) = mpsc::channel();
    for (at, wanted) in all.into_iter().enumerate() {
        let (commands, done) = (Arc::clone(commands), done.clone());
        let failed = Found {
            key: key(&wanted.rule.name),
            rule: wanted.rule.clone(),
            origin: wanted.origin.clone(),
            started: Err(text!("the thread that starts it ended in a panic")),
            offered: false,
        };
        std::thread::spawn(move || {
            let found = catch_unwind(AssertUnwindSafe(|| wanted.start(commands))).unwrap_or(failed);
            // Whoever asked waits until all have answered.
            let _ = done.send((at, found));
        });
    }
    drop(done);
    let (began, mut told, mut found) = (Instant::now(), !std::io::stderr().is_terminal(), Vec::new());
    loop {
        let next = match told {
            true => answers.recv().map_err(|_| RecvTimeoutError::Disconnected),
            false => answers.recv_timeout(SILENCE.saturating_sub(began.elapsed())),
        };
        match next {
            Ok((at, server)) => {
                waits.retain(|name| *name != server.rule.name);
                found.push((at, server));
            }
            Err(RecvTimeoutError::Timeout) => {
                told = true;
                tell(&text!(
                    "Waiting up to 30 seconds for the tools of MCP servers: {servers}.",
                    servers = waits.join(", ")
                ));
            }
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    found.sort_by_key(|(at, _)| *at);
    found.into_iter().map(|(_, server)| server).collect()
}

/// Settles which of them are on offer: those that the person trusts. Who is there is asked about the others, where `asks` says that
/// somebody is; what is left out is told.
pub(crate) fn settle(all: &mut [Found], places: &Places, asks: bool) -> Result<(), Failure> {
    for found in all {
        let name = found.rule.name.as_str();
        let server = match &found.started {
            Ok(server) => server,
            Err(why) => {
                tell(&text!(
                    "The MCP server {name} was skipped: {why}.",
                    name,
                    why = escaped(&why.words()).into_owned()
                ));
                continue;
            }
        };
        if !server.is_sandboxed() {
            tell(&text!("The MCP server {name} runs without a sandbox.", name));
        }
        server.notes().iter().for_each(tell);
        found.offered = found.is_trusted(places) || asks && found.ask(places)?;
        if !found.offered {
            tell(&text!(
                "The tools of the MCP server {name} are left out: you have not trusted their present descriptions. \
                 `coder mcp trust {name}` shows them and asks.",
                name = found.rule.name.as_str()
            ));
        }
    }
    Ok(())
}

/// What the library wants to know of a server.
///
/// # Errors
/// A variable of the person's is not set; or one of its paths would let it write what is trusted or settled.
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
            "{path} would let it change your settings or what you trust",
            path = path.display().to_string()
        ));
    }
    options.network = rule.network;
    options.seconds = rule.seconds;
    Ok(options)
}
