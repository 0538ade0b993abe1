//! The servers of the Model Context Protocol that the settings name: started, trusted, and their tools.
//!
//! What a server says of its tools reaches the model only where the person has trusted exactly that, together with the command
//! and what the command may do. No file of a project names servers.

use crate::commands::config::agreed;
use crate::config::places::Places;
use crate::config::{Config, trust};
use crate::failure::Failure;
use crate::messages;
use crate::shown::{Words, escaped};
use crate::terminal::tell;
use std::collections::HashSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use toolfence::program::mcp::{Server, ServerOptions};
use toolfence::program::settings::{Origin, ServerRule, Value};
use toolfence::toolbox::Tool;
use toolfence::tools::CommandRunner;
use toolfence::{Text, tool};

/// What allows every tool of a server.
const EVERY: &str = "*";

/// A server of the settings, and what came of starting it.
pub(crate) struct Found {
    pub(crate) rule: ServerRule,
    pub(crate) origin: Origin,
    /// By which it is trusted.
    pub(crate) key: PathBuf,
    pub(crate) started: Result<Arc<Server>, Text>,
}

/// A server whose tools the model is told of.
pub(crate) struct Trusted {
    pub(crate) server: Arc<Server>,
    /// Its tools that run without a question, by the name that the model has for them.
    pub(crate) allowed: Vec<String>,
}

impl Found {
    /// Whether the person trusts the server with what it says now.
    pub(crate) fn is_trusted(&self, places: &Places) -> bool {
        self.started.as_ref().is_ok_and(|server| trust::holds(places, &self.key, server.told()))
    }

    /// Shows what the server says and asks about it. What is agreed to is kept.
    pub(crate) fn ask(&self, places: &Places) -> Result<bool, Failure> {
        let Ok(server) = &self.started else { return Ok(false) };
        let files = [(self.key.clone(), server.told().to_owned())];
        if !agreed(&files, &[messages::trust_allows_server()])? {
            return Ok(false);
        }
        trust::store(places, &files)?;
        Ok(true)
    }

    fn trusted(&self) -> Option<Trusted> {
        let server = self.started.as_ref().ok()?;
        let every = self.rule.allow.iter().any(|name| name == EVERY);
        let wanted = |name: &str| every || self.rule.allow.iter().any(|allowed| allowed == name);
        let tools = server.tools().map(|tool| tool.spec().name.to_string());
        let own = |full: &String| full.strip_prefix(&format!("{}.", self.rule.name)).is_some_and(wanted);
        Some(Trusted { server: Arc::clone(server), allowed: tools.filter(own).collect() })
    }
}

/// The servers of the settings. Of two of one name the stronger layer's counts.
pub(crate) fn rules(config: &Config) -> Vec<(ServerRule, Origin)> {
    let mut rules: Vec<(ServerRule, Origin)> = Vec::new();
    for entry in config.merged.entries("mcp") {
        let Value::Server(rule) = &entry.value else { continue };
        rules.retain(|(known, _)| known.name != rule.name);
        rules.push((rule.clone(), entry.origin.clone()));
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

/// Starts servers side by side, all or the one of this name, and waits until each has told its tools, or will not.
pub(crate) fn start(config: &Config, places: &Places, commands: &Arc<CommandRunner>, only: Option<&str>) -> Vec<Found> {
    let mut letters = HashSet::new();
    let all: Vec<(ServerRule, Origin, Result<ServerOptions, Text>)> = rules(config)
        .into_iter()
        .filter(|(rule, _)| only.is_none_or(|name| rule.name == name))
        .map(|(rule, origin)| {
            // A model's spelling of a tool's name is understood without these.
            let is_new = letters.insert(rule.name.replace(['_', '-'], ""));
            let options = if is_new { options(&rule, places) } else { Err(messages::server_name_like_another()) };
            (rule, origin, options)
        })
        .collect();
    let taken = tool::catalog();
    std::thread::scope(|scope| {
        let begun: Vec<_> = all
            .into_iter()
            .map(|(rule, origin, options)| {
                let (commands, taken) = (Arc::clone(commands), &taken);
                let start = move || Server::start(options?, commands, taken).map(Arc::new);
                (rule, origin, scope.spawn(start))
            })
            .collect();
        begun
            .into_iter()
            .map(|(rule, origin, thread)| {
                let started = thread.join().unwrap_or_else(|_| Err(messages::server_thread_died()));
                let key = key(&rule.name);
                Found { rule, origin, key, started }
            })
            .collect()
    })
}

/// Those of them that the person trusts. Who is there is asked about the others, where `asks` says that somebody is; what is left out is
/// told.
pub(crate) fn trusted(all: Vec<Found>, places: &Places, asks: bool) -> Result<Vec<Trusted>, Failure> {
    let mut trusted = Vec::new();
    for found in all {
        let name = found.rule.name.as_str();
        let server = match &found.started {
            Ok(server) => server,
            Err(why) => {
                tell(&messages::server_not_used(name, escaped(&why.words()).into_owned()));
                continue;
            }
        };
        if !server.is_sandboxed() {
            tell(&messages::server_outside(name));
        }
        server.notes().iter().for_each(tell);
        if found.is_trusted(places) || asks && found.ask(places)? {
            trusted.extend(found.trusted());
        } else {
            tell(&messages::server_not_trusted(name));
        }
    }
    Ok(trusted)
}

/// What the library wants to know of a server.
///
/// # Errors
/// A variable of the person's is not set; or one of its paths would let it write what is trusted or settled.
fn options(rule: &ServerRule, places: &Places) -> Result<ServerOptions, Text> {
    let mut options = ServerOptions::new(&rule.name, &rule.command);
    for (name, value) in &rule.env {
        let value = match other_variable(value) {
            Some(other) => std::env::var_os(other).ok_or_else(|| messages::variable_not_set(other))?,
            None => OsString::from(value),
        };
        options.env.push((name.clone(), value));
    }
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let path = |path: &String| path.strip_prefix("~/").map_or_else(|| PathBuf::from(path), |rest| home.join(rest));
    options.paths = rule.paths.iter().map(path).collect();
    if let Some(path) = options.paths.iter().find(|path| places.are_reached_through(path)) {
        return Err(messages::path_holds_settings(path.display().to_string()));
    }
    options.network = rule.network;
    options.seconds = rule.seconds;
    Ok(options)
}
